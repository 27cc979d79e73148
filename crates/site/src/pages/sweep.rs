//! The page of a sweep.

use super::run::{duration, failed};
use super::{environment, name, title};
use inferometer_core::summary::Summary;
use inferometer_message::PageText;
use inferometer_page::html::{Edition, Headline, Page, page};
use inferometer_page::number;
use inferometer_report::sweep::{SweepReport, compose, figures, value};

/// The page of a sweep, which opens in the report's language.
pub fn compose_page(report: &SweepReport<'_>) -> Page {
    page(report.lang, value(report), |lang| {
        let report = SweepReport { lang, ..*report };
        let mut doc = compose(&report);
        doc.sections
            .extend(report.environment.map(|it| environment::section(it, lang)));
        Edition {
            above: 1,
            glossary: super::glossary(lang),
            lang,
            title: title(
                name(report.plan.label.as_deref(), Some(report.directory)),
                PageText::Sweep,
                lang,
            ),
            headlines: headlines(&report),
            figures: figures(&report),
            doc,
        }
    })
}

fn headlines(report: &SweepReport<'_>) -> Vec<Headline> {
    let lang = report.lang;
    let measured = || report.visited.iter().filter_map(|it| it.summary.as_ref());
    let valid = || measured().filter(|summary| summary.valid);
    let misses = |summary: &Summary| summary.slo.as_ref().and_then(|slo| slo.met) == Some(false);
    // Where a load misses the objectives, what is best is so within them.
    let some_miss = measured().any(misses);
    let best = |of: fn(&Summary) -> Option<f64>, sign: f64| {
        let sound = measured().filter(|summary| summary.can_win() && !misses(summary));
        let values = sound.filter_map(of).filter(|value| value.is_finite());
        values.max_by(|a, b| (sign * a).total_cmp(&(sign * b)))
    };
    // Where requests failed at every point, none is the best.
    let rate = |name: PageText, value: Option<f64>, unit: &str| {
        let unit = if some_miss {
            PageText::WithinObjectives.with(lang, &[("unit", unit.to_owned())])
        } else {
            unit.to_owned()
        };
        value.map(|value| Headline::new(name.text(lang), number::brief(value), unit))
    };
    let time = |name: PageText, value: Option<f64>| {
        value?;
        let (value, unit) = duration(value);
        Some(Headline::new(name.text(lang), value, unit))
    };
    let all = PageText::OfAll.with(
        lang,
        &[("count", number::count(report.plan.visits.len() as u64))],
    );
    let lost = measured().map(|summary| summary.requests.failed).sum();
    let planned = measured().map(|summary| summary.requests.planned).sum();
    [
        rate(
            PageText::BestThroughput,
            best(|it| it.throughput.output_tokens_per_s, 1.0),
            "tok/s",
        ),
        rate(
            PageText::BestQps,
            best(|it| it.throughput.requests_per_s, 1.0),
            "req/s",
        ),
        time(
            PageText::BestTtft,
            best(|it| it.latency.ttft_ms.map(|ttft| ttft.p50), -1.0),
        ),
        time(
            PageText::BestTpot,
            best(|it| it.latency.tpot_ms.map(|tpot| tpot.p50), -1.0),
        ),
        Some(Headline::new(
            PageText::ValidPoints.text(lang),
            number::count(valid().count() as u64),
            all,
        )),
        Some(failed(lost, planned, lang)),
    ]
    .into_iter()
    .flatten()
    .collect()
}
