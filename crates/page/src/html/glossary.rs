//! What the names on a page mean, shown where a name stands.

use super::escape::escaped;
use crate::doc::{Block, Doc};

/// Characters by which definitions of one term begin alike.
const SAME_BEGIN: usize = 8;

/// Names and what they mean, the longest first.
#[derive(Clone, Debug, Default)]
pub struct Glossary {
    terms: Vec<(&'static str, String)>,
}

impl Glossary {
    pub fn new(mut terms: Vec<(&'static str, String)>) -> Self {
        terms.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        Glossary { terms }
    }

    /// The same, with the meanings that a document gives itself: those of an open loop differ.
    pub(super) fn with_definitions_of(mut self, doc: &Doc) -> Self {
        let blocks = doc.sections.iter().flat_map(|section| &section.blocks);
        let pairs = blocks.filter_map(|block| match block {
            Block::Pairs(pairs) => Some(pairs),
            _ => None,
        });
        for pair in pairs.flatten() {
            let known = self.terms.iter().find(|(term, _)| *term == pair.key);
            let Some(before) = known.map(|(_, meaning)| meaning.clone()) else {
                continue;
            };
            // A fact may share its key with a metric; a definition begins as ours does.
            let begins = |text: &str| text.chars().take(SAME_BEGIN).collect::<String>();
            if begins(&pair.value) != begins(&before) {
                continue;
            }
            for (_, meaning) in &mut self.terms {
                if *meaning == before {
                    meaning.clone_from(&pair.value);
                }
            }
        }
        self
    }

    /// The text, with the meaning of the metric that it names.
    pub(super) fn explained(&self, text: &str) -> String {
        match self.meaning(text) {
            Some(meaning) => format!(
                "<abbr tabindex=\"0\" title=\"{0}\" data-meaning=\"{0}\">{1}</abbr>",
                escaped(meaning),
                escaped(text)
            ),
            None => escaped(text),
        }
    }

    pub fn meaning(&self, text: &str) -> Option<&str> {
        // Within a longer name a metric begins with a small letter.
        let text = text.to_ascii_lowercase();
        let names = |term: &str| {
            let inside = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
            let term = term.to_ascii_lowercase();
            text.match_indices(&term).any(|(at, _)| {
                let before = text[..at].chars().next_back();
                let after = text[at + term.len()..].chars().next();
                !inside(before) && !inside(after)
            })
        };
        let found = self.terms.iter().find(|(term, _)| names(term));
        found.map(|(_, meaning)| meaning.as_str())
    }
}
