//! What speaks against the results of an import.

use super::ImportReport;
use super::points::some;
use crate::message::ImportText;
use crate::severity;
use inferometer_import::StatedImportDoubt;
use inferometer_page::doc::{Follow, Note};
use inferometer_text::Lang;
use inferometer_text::punctuation::PunctuationText;

/// What is said of one result or of several.
struct Said<'a> {
    text: &'a str,
    of: Vec<String>,
}

impl Said<'_> {
    fn shown(&self, lang: Lang) -> String {
        let values = [
            ("result", some(&self.of, PunctuationText::Comma, lang)),
            ("text", self.text.to_owned()),
        ];
        ImportText::OfResult.with(lang, &values)
    }
}

/// What speaks against the results, the worst first, each kind once with the results it is of.
pub(super) fn notes(report: &ImportReport<'_>) -> Vec<Note> {
    let lang = report.lang;
    let mut kinds: Vec<(&StatedImportDoubt, Vec<Said<'_>>)> = Vec::new();
    for (place, result) in report.results.iter().enumerate() {
        for doubt in &result.doubts {
            let load = result.load();
            let place = if load.is_empty() {
                format!("#{}", place + 1)
            } else {
                format!("#{} ({load})", place + 1)
            };
            let same = |(known, _): &&mut (&StatedImportDoubt, Vec<Said<'_>>)| {
                (known.code, &known.remedy, known.severity)
                    == (doubt.code, &doubt.remedy, doubt.severity)
            };
            let said = match kinds.iter_mut().find(same) {
                Some((_, said)) => said,
                None => {
                    kinds.push((doubt, Vec::new()));
                    &mut kinds.last_mut().expect("one was pushed").1
                }
            };
            match said.iter_mut().find(|said| said.text == doubt.text) {
                Some(said) => said.of.push(place),
                None => said.push(Said {
                    text: &doubt.text,
                    of: vec![place],
                }),
            }
        }
    }
    kinds.sort_by_key(|(doubt, _)| std::cmp::Reverse(doubt.severity));
    let notes = kinds.into_iter().map(|(doubt, said)| Note {
        tag: severity::word(doubt.severity).text(lang).to_owned(),
        tone: severity::tone(doubt.severity),
        subject: doubt.code.name().to_owned(),
        text: {
            let said: Vec<String> = said.iter().map(|said| said.shown(lang)).collect();
            some(&said, PunctuationText::Semicolon, lang)
        },
        follow: Some(Follow::Remedy(doubt.remedy.clone())),
    });
    notes.collect()
}
