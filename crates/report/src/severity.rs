//! How much a doubt matters, as a word and as a tone.

use inferometer_core::doubt::Severity;
use inferometer_message::VerdictText;
use inferometer_page::doc::Tone;

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
