//! What speaks against the results of an import.

use super::ImportReport;
use super::points::some;
use crate::severity;
use inferometer_import::StatedImportDoubt;
use inferometer_message::ImportText;
use inferometer_page::doc::{Follow, Note, Tone};
use inferometer_text::punctuation::PunctuationText;

/// What is said of one result or of several.
struct Said<'a> {
    text: &'a str,
    /// Places of the results.
    of: Vec<usize>,
}

impl Said<'_> {
    fn shown(&self, report: &ImportReport<'_>) -> String {
        let lang = report.lang;
        let of = named(&self.of, report);
        let values = [
            ("result", some(&of, PunctuationText::Comma, lang)),
            ("text", self.text.to_owned()),
        ];
        ImportText::OfResult.with(lang, &values)
    }
}

/// Results by their numbers and loads.
fn numbered(places: &[usize], report: &ImportReport<'_>) -> Vec<String> {
    let lang = report.lang;
    let results = places.iter().map(|at| &report.results[*at]);
    let named = results.map(|result| match result.load(lang) {
        load if load.is_empty() => format!("#{}", result.number),
        load => format!("#{} ({load})", result.number),
    });
    named.collect()
}

/// Results by their numbers and loads; a group of which all are meant by its title.
fn named(places: &[usize], report: &ImportReport<'_>) -> Vec<String> {
    let lang = report.lang;
    let all = report.results.iter().filter(|it| !it.is_repeat).count();
    if all > 1 && places.len() == all {
        return vec![ImportText::AllResults.with(lang, &[("count", all.to_string())])];
    }
    let mut names = Vec::new();
    for group in &report.groups {
        let rows = report.rows(group);
        let meant: Vec<_> = rows.iter().filter(|(at, _)| places.contains(at)).collect();
        if meant.len() > 1 && meant.len() == rows.len() {
            let count = ("count", rows.len().to_string());
            let title = ("group", group.title.clone());
            names.push(ImportText::AllOfGroup.with(lang, &[count, title]));
            continue;
        }
        let meant: Vec<usize> = meant.into_iter().map(|(at, _)| *at).collect();
        names.extend(numbered(&meant, report));
    }
    names
}

/// What speaks against the results, the worst first, each kind once with the results it is of.
pub(super) fn notes(report: &ImportReport<'_>) -> Vec<Note> {
    let lang = report.lang;
    let mut kinds: Vec<(&StatedImportDoubt, Vec<Said<'_>>)> = Vec::new();
    let results = report.results.iter().enumerate();
    for (place, result) in results.filter(|(_, result)| !result.is_repeat) {
        for doubt in &result.doubts {
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
            let said: Vec<String> = said.iter().map(|said| said.shown(report)).collect();
            some(&said, PunctuationText::Semicolon, lang)
        },
        follow: Some(Follow::Remedy(doubt.remedy.clone())),
    });
    notes.chain(refusals(report)).collect()
}

/// Starts that were refused and loads that exhausted the memory, each reason once, in the engine's words.
fn refusals(report: &ImportReport<'_>) -> Vec<Note> {
    let lang = report.lang;
    let mut reasons: Vec<(ImportText, &str, Vec<usize>)> = Vec::new();
    for (place, result) in report.results.iter().enumerate() {
        let Some((word, error)) = result.failure().zip(result.found.error.as_deref()) else {
            continue;
        };
        // Numbers differ from trial to trial, the reason does not.
        let kind = |text: &str| text.replace(|c: char| c.is_ascii_digit(), "");
        let is_same = |known: ImportText, said: &str| known == word && kind(said) == kind(error);
        match (reasons.iter_mut()).find(|(known, said, _)| is_same(*known, said)) {
            Some((.., places)) => places.push(place),
            None => reasons.push((word, error, vec![place])),
        }
    }
    let note = |(word, error, places): (ImportText, &str, Vec<usize>)| Note {
        tag: word.text(lang).to_owned(),
        tone: Tone::Bad,
        subject: some(&numbered(&places, report), PunctuationText::Comma, lang),
        text: String::new(),
        follow: Some(Follow::Quote(error.to_owned())),
    };
    reasons.into_iter().map(note).collect()
}
