//! The page of a search for capacity.

use super::{environment, name, title};
use inferometer_campaign::capacity::stored::{Capacity, SearchEnding};
use inferometer_chart::Level;
use inferometer_core::summary::Summary;
use inferometer_message::PageText;
use inferometer_page::html::{Edition, Headline, Page, page};
use inferometer_page::number;
use inferometer_report::capacity::{compose, figures};
use inferometer_report::run::RunReport;
use inferometer_text::Lang;
use serde_json::json;
use std::path::Path;

/// What the page of a search is made of.
#[derive(Clone, Copy)]
pub struct CapacityPage<'a> {
    pub found: &'a Capacity,
    /// The levels of the probes and what was measured at them.
    pub probes: &'a [(f64, Summary)],
    /// One of the probes.
    pub run: Option<&'a RunReport<'a>>,
    pub directory: &'a Path,
}

/// The page of a search, which opens in a language.
pub fn compose_page(search: &CapacityPage<'_>, lang: Lang) -> Page {
    let numbers = json!({"capacity": search.found});
    page(lang, numbers, |lang| {
        let mut doc = compose(search.found, search.run, search.directory, lang);
        let surroundings = search.run.map(|run| run.environment);
        doc.sections
            .extend(surroundings.map(|it| environment::section(it, lang)));
        Edition {
            above: 1,
            glossary: super::glossary(lang),
            lang,
            title: title(
                name(search.found.label.as_deref(), Some(search.directory)),
                PageText::Capacity,
                lang,
            ),
            headlines: headlines(search.found, lang),
            figures: figures(search.found, search.probes, lang),
            doc,
        }
    })
}

fn headlines(found: &Capacity, lang: Lang) -> Vec<Headline> {
    let level = |value: Option<f64>| {
        value.map_or(number::ABSENT.to_owned(), |value| {
            Level::Number(value).text()
        })
    };
    let answer = &found.answer;
    let unit = match found.over.as_str() {
        "rate" => inferometer_report::capacity::unit(found, lang),
        over => over,
    };
    let is_confirmed = answer.ending == SearchEnding::Confirmed;
    let name = match answer.value {
        Some(_) if !is_confirmed => PageText::HighestMet,
        _ => PageText::Answer,
    };
    let mut headlines = vec![Headline::new(name.text(lang), level(answer.value), unit)];
    if answer.low.is_some() || answer.high.is_some() {
        let ends = format!("{} – {}", level(answer.low), level(answer.high));
        headlines.push(Headline::new(PageText::Interval.text(lang), ends, unit));
    }
    headlines
}
