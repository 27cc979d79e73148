//! The numbers that are looked at first.

use super::escape::escaped;
use super::glossary::Glossary;
use crate::doc::Tone;

#[derive(Clone, Debug, PartialEq)]
pub struct Headline {
    pub name: String,
    /// The number in words, `n/a` where there is none.
    pub value: String,
    pub unit: String,
    pub tone: Tone,
}

impl Headline {
    pub fn new(name: impl Into<String>, value: String, unit: impl Into<String>) -> Self {
        Headline {
            name: name.into(),
            value,
            unit: unit.into(),
            tone: Tone::Plain,
        }
    }
}

pub(super) fn html(headlines: &[Headline], glossary: &Glossary) -> String {
    if headlines.is_empty() {
        return String::new();
    }
    let tiles = headlines.iter().map(|it| {
        let tone = match it.tone {
            Tone::Bad => " bad",
            _ => "",
        };
        format!(
            "<div class=\"tile{tone}\"><span>{}</span><b>{}</b> <i>{}</i></div>\n",
            glossary.explained(&it.name),
            escaped(&it.value),
            escaped(&it.unit)
        )
    });
    format!(
        "<div class=\"tiles\">\n{}</div>\n",
        tiles.collect::<String>()
    )
}
