//! The page of a study of launch flags.

use super::name;
use inferometer_campaign::study::Standing;
use inferometer_chart::metric_name::name_and_unit;
use inferometer_message::StudyText;
use inferometer_page::html::{Edition, Headline, Page, page};
use inferometer_page::number;
use inferometer_report::study::{StudyReport, changed, compose, figures, figures_of_best};

/// The page of a study, which opens in the report's language.
pub fn compose_page(report: &StudyReport<'_>) -> Page {
    let numbers = serde_json::to_value(report.result).unwrap_or_default();
    page(report.lang, numbers, |lang| {
        let report = StudyReport { lang, ..*report };
        Edition {
            above: 1,
            glossary: super::glossary(lang),
            lang,
            title: match name(None, Some(report.directory)) {
                Some(name) => format!("{name} · {}", StudyText::Title.text(lang)),
                None => StudyText::Title.text(lang).to_owned(),
            },
            headlines: headlines(&report),
            doc: compose(&report),
            figures: figures(&report),
        }
    })
}

fn headlines(report: &StudyReport<'_>) -> Vec<Headline> {
    let lang = report.lang;
    let mut headlines = Vec::new();
    // Beside the best stands what it changes; a default that won changes nothing.
    let best = report.result.best.as_ref().map(|best| best.trial);
    let changes = (report.result.comparison.iter())
        .filter(|comparison| Some(comparison.trial) == best)
        .flat_map(|comparison| &comparison.changes);
    for change in changes {
        let (metric, _) = name_and_unit(&change.metric, lang);
        let name = StudyText::ChangeName.with(lang, &[("metric", metric)]);
        headlines.push(Headline::new(name, changed(change.value), ""));
        if !report.result.computed {
            let ends = format!("{} … {}", changed(change.low), changed(change.high));
            headlines.push(Headline::new(StudyText::GainInterval.text(lang), ends, ""));
        }
    }
    if let Some(best) = report.result.best.as_ref() {
        let named = match best.standing {
            Standing::Decided => StudyText::BestFigure,
            Standing::Uncertain => StudyText::UncertainFigure,
            Standing::SeenOnce => StudyText::SeenOnceFigure,
        };
        let figures = figures_of_best(report);
        for (objective, figure) in report.study.goal.objectives.iter().zip(figures) {
            let (name, unit) = name_and_unit(&objective.path, lang);
            let value = figure.map_or(number::ABSENT.to_owned(), number::brief);
            let name = named.with(lang, &[("path", name)]);
            headlines.push(Headline::new(name, value, unit));
        }
    }
    let trials = report.result.trials.len().to_string();
    headlines.push(Headline::new(StudyText::Trials.text(lang), trials, ""));
    headlines
}
