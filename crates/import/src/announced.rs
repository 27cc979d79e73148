//! Settings that a line of a log announces for all that follows: a script that runs a grid prints
//! the template of its prompts, the model or the version once, above many results.

use crate::section::{Section, home_of};
use inferometer_notes::Notes;
use inferometer_text::hostile::printable;
use std::collections::BTreeMap;

/// Names of facts, and what a line calls them.
const NAMES: [(&str, &str); 3] = [
    ("model", "model|模型"),
    (
        "template",
        "template|prompt template|prompt|模板|提示词模板|提示模板",
    ),
    (
        "version",
        "version|engine version|server version|vllm version|sglang version|mindie version|版本|\
         引擎版本|vllm 版本|sglang 版本|mindie 版本",
    ),
];
/// Longest line that announces something, in bytes.
const LONGEST: usize = 200;

pub(crate) type Facts = BTreeMap<String, String>;

/// What is announced, by the line from which on it holds.
#[derive(Default)]
pub(crate) struct Announced {
    changes: Vec<(usize, Facts)>,
}

impl Announced {
    /// Every change of the settings. A heading begins with none: what a log says above it is of
    /// something else.
    pub(crate) fn find(notes: &Notes<'_>, sections: &[Section]) -> Self {
        let mut changes: Vec<(usize, Facts)> = Vec::new();
        let (mut now, mut home) = (Facts::new(), 0);
        for line in (0..notes.lines.len()).filter(|line| !notes.is_taken(*line)) {
            let Some(said) = said(notes.bare(line)) else {
                continue;
            };
            let section = home_of(sections, line);
            if std::mem::replace(&mut home, section) != section {
                now.clear();
            }
            now.extend(said);
            changes.push((line, now.clone()));
        }
        Announced { changes }
    }

    /// The place of a line among the changes: lines of one place share their settings.
    pub(crate) fn place(&self, line: usize) -> usize {
        self.changes.partition_point(|(at, _)| *at < line)
    }

    /// What holds at a line that stands in this section.
    pub(crate) fn at(&self, line: usize, sections: &[Section]) -> Option<&Facts> {
        let (at, facts) = self.changes.get(self.place(line).checked_sub(1)?)?;
        (home_of(sections, *at) == home_of(sections, line)).then_some(facts)
    }
}

/// Whether a line announces settings, and is the title of nothing.
pub(crate) fn is_announcement(text: &str) -> bool {
    said(text).is_some()
}

/// `model: m, prompt template: v1`: nothing but known names, of which one is no model, since models
/// are named everywhere.
fn said(text: &str) -> Option<Facts> {
    if text.len() > LONGEST || !text.contains([':', '：', '=']) {
        return None;
    }
    let mut facts = Facts::new();
    for piece in text.split([',', '，', ';', '；']) {
        let (name, value) = piece.split_once([':', '：', '='])?;
        let name = name.trim().to_lowercase().replace(['_', '-'], " ");
        let mut known = NAMES.iter();
        let (fact, _) = known.find(|(_, names)| names.split('|').any(|known| known == name))?;
        let value = printable(value.trim().trim_matches(['"', '\'', '`']), 100);
        let is_name = !value.is_empty() && value.split_whitespace().count() <= 3;
        is_name.then(|| facts.insert((*fact).to_owned(), value))?;
    }
    (facts.contains_key("template") || facts.contains_key("version")).then_some(facts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_known_names_announces_settings() {
        for (line, expected) in [
            (
                "model: Qwen-14B-Chat, prompt template: v1",
                "model=Qwen-14B-Chat template=v1",
            ),
            ("vllm_version=0.8.5", "version=0.8.5"),
            ("提示词模板：续写", "template=续写"),
            ("model: Qwen-14B-Chat", ""),
            ("template: v1, duration: 12", ""),
            ("prompt: write a story about four dragons", ""),
        ] {
            let found = said(line).unwrap_or_default();
            let found: Vec<String> = found.iter().map(|(k, v)| format!("{k}={v}")).collect();
            assert_eq!(found.join(" "), expected, "{line}");
        }
    }
}
