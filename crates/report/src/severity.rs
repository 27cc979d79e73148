//! How much a doubt matters, as a word and as a tone.

use inferometer_core::doubt::Severity;
use inferometer_core::summary::StatedDoubt;
use inferometer_message::VerdictText;
use inferometer_page::doc::{Follow, Note, Tone};
use inferometer_text::Lang;

pub(crate) fn word(severity: Severity) -> VerdictText {
    match severity {
        Severity::Note => VerdictText::SeverityNote,
        Severity::Warn => VerdictText::SeverityWarn,
        Severity::Invalid => VerdictText::SeverityInvalid,
    }
}

pub(crate) fn tone(severity: Severity) -> Tone {
    match severity {
        Severity::Note => Tone::Plain,
        Severity::Warn => Tone::Caution,
        Severity::Invalid => Tone::Bad,
    }
}

/// A doubt as it is listed below the numbers that it is about.
pub(crate) fn note(doubt: &StatedDoubt, lang: Lang) -> Note {
    Note {
        tag: word(doubt.severity).text(lang).to_owned(),
        tone: tone(doubt.severity),
        subject: doubt.code.into_str().to_owned(),
        text: doubt.text.clone(),
        follow: (!doubt.remedy.is_empty()).then(|| Follow::Remedy(doubt.remedy.clone())),
    }
}
