//! The page of an import.

use super::run::duration;
use super::title;
use inferometer_core::doubt::Severity;
use inferometer_import::Stored;
use inferometer_message::{ImportText, PageText};
use inferometer_page::doc::Tone;
use inferometer_page::html::{Edition, Headline, Page, page};
use inferometer_page::number;
use inferometer_report::import::{ImportReport, ReportedResult, compose, figures};
use inferometer_text::Lang;
use serde_json::json;

/// The page of an import, which opens in a language; the report is made once in each.
pub fn compose_page<'a>(
    stored: &Stored,
    lang: Lang,
    report: impl Fn(Lang) -> ImportReport<'a>,
) -> Page {
    page(lang, json!({"import": stored}), |lang| {
        let report = report(lang);
        Edition {
            above: 1,
            glossary: super::glossary(lang),
            lang,
            title: title(name(&report), PageText::Import, lang),
            headlines: headlines(&report),
            figures: figures(&report),
            doc: compose(&report),
        }
    })
}

/// Its own heading, else the name of the file.
fn name<'a>(report: &ImportReport<'a>) -> Option<&'a str> {
    let file = || report.stored.source.rsplit('/').next();
    report.stored.title.as_deref().or_else(file)
}

fn headlines(report: &ImportReport<'_>) -> Vec<Headline> {
    let lang = report.lang;
    // What may not be called the best is not a headline, and over several groups there is none:
    // they measured different things.
    let is_sound = |line: &&ReportedResult<'_>| {
        let measured = line.measured.as_ref();
        measured.is_some_and(|(_, summary)| summary.can_win()) && !line.misses()
    };
    let one_group = report.groups.len() == 1;
    let measured = || report.results.iter().filter(|it| one_group && is_sound(it));
    let best = |values: Vec<f64>, sign: f64| {
        let values = values.into_iter().filter(|value| value.is_finite());
        values.max_by(|a, b| (sign * a).total_cmp(&(sign * b)))
    };
    let shown = || report.results.iter().filter(|line| !line.is_repeat);
    let left_out = shown().filter(|it| it.found.summary.is_some() && !is_sound(it));
    let left_out = left_out.count();
    let named = |name: &str| match left_out {
        0 => name.to_owned(),
        count => {
            let values = [("count", count.to_string()), ("name", name.to_owned())];
            ImportText::WithoutBad.with(lang, &values)
        }
    };
    let rate = |name: PageText, values: Vec<f64>, unit: &str| {
        let value = best(values, 1.0)?;
        Some(Headline::new(
            named(name.text(lang)),
            number::brief(value),
            unit,
        ))
    };
    let e2e = measured().filter_map(|line| line.mean("E2E")).collect();
    let latency = best(e2e, -1.0).map(|ms| {
        let (value, unit) = duration(Some(ms));
        Headline::new(named(ImportText::LeastLatency.text(lang)), value, unit)
    });
    let invalid = |severity: Severity| {
        let grave = |line: &&ReportedResult<'_>| line.severity() == Some(severity);
        shown().filter(grave).count() as u64
    };
    let with_figures = shown().filter(|line| line.found.summary.is_some());
    let count = number::count(with_figures.count() as u64);
    let all = PageText::OfAll.with(lang, &[("count", count)]);
    let counted = |name: ImportText, severity: Severity, tone: Tone| {
        let count = invalid(severity);
        let headline = Headline::new(name.text(lang), number::count(count), all.clone());
        Headline {
            tone: if count > 0 { tone } else { Tone::Plain },
            ..headline
        }
    };
    let tokens = measured()
        .filter_map(|line| line.throughput().output_tokens_per_s)
        .collect();
    let requests = measured()
        .filter_map(|line| line.throughput().requests_per_s)
        .collect();
    let mut headlines: Vec<Headline> = [
        rate(PageText::BestThroughput, tokens, "tok/s"),
        rate(PageText::BestQps, requests, "req/s"),
        latency,
    ]
    .into_iter()
    .flatten()
    .collect();
    headlines.push(counted(
        ImportText::InvalidResults,
        Severity::Invalid,
        Tone::Bad,
    ));
    headlines.push(counted(
        ImportText::DoubtfulResults,
        Severity::Warn,
        Tone::Caution,
    ));
    headlines
}
