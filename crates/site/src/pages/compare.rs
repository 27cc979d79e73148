//! The page of a comparison.

use super::title;
use inferometer_message::{FigureText, PageText};
use inferometer_page::doc::Tone;
use inferometer_page::html::{Edition, Headline, Page, page};
use inferometer_report::compare::{CompareReport, compose, figures, labels, overviews, tiles};
use serde_json::json;

/// The page of a comparison, which opens in the report's language.
pub fn compose_page(report: &CompareReport<'_>) -> Page {
    let runs = report.groups.iter().map(|group| {
        let runs = group.runs.iter();
        let runs = runs.map(|run| json!({"point": run.point, "summary": run.summary}));
        json!({"name": group.name, "runs": runs.collect::<Vec<_>>()})
    });
    let numbers = json!({
        "comparison": report.comparison,
        "groups": runs.collect::<Vec<_>>(),
    });
    page(report.lang, numbers, |lang| {
        let report = CompareReport { lang, ..*report };
        Edition {
            above: 1 + overviews(&report),
            glossary: super::glossary(lang),
            lang,
            title: title(sides(&report).as_deref(), PageText::Comparison, lang),
            headlines: headlines(&report),
            figures: figures(&report),
            doc: compose(&report),
        }
    })
}

/// Two sides by their names; more have no short one.
fn sides(report: &CompareReport<'_>) -> Option<String> {
    let [baseline, side] = <[String; 2]>::try_from(labels(report.groups)).ok()?;
    let sides = [("side", side), ("baseline", baseline)];
    Some(FigureText::RatiosOf.with(report.lang, &sides))
}

/// The change of the primary metric, for each group and load.
fn headlines(report: &CompareReport<'_>) -> Vec<Headline> {
    let tiles = tiles(report).into_iter();
    tiles
        .map(|tile| Headline {
            tone: match tile.tone {
                Tone::Bad => Tone::Bad,
                _ => Tone::Plain,
            },
            ..Headline::new(tile.name, tile.change, tile.interval)
        })
        .collect()
}
