//! The page of one run.

use super::{environment, name, title};

use inferometer_analysis::fold::Folded;
use inferometer_chart::Drawing;
use inferometer_core::summary::{Distribution, Summary};
use inferometer_message::{MetricText, PageText};
use inferometer_page::doc::Tone;
use inferometer_page::html::{Edition, Headline, Page, page};
use inferometer_page::number;
use inferometer_report::run::{Detail, RunReport, compose};
use inferometer_text::Lang;
use serde_json::json;

#[derive(Clone, Copy)]
pub struct RunPage<'a> {
    pub folded: &'a Folded,
    pub drawing: &'a Drawing<'a>,
    /// What is said of it; its summary is made anew in each language.
    pub report: RunReport<'a>,
}

/// The page of a run, which opens in a language.
pub fn compose_page(run: &RunPage<'_>, lang: Lang) -> Page {
    let numbers = json!({
        "summary": run.folded.summary(lang),
        "environment": run.report.environment,
    });
    page(lang, numbers, |lang| edition(run, lang))
}

fn edition(run: &RunPage<'_>, lang: Lang) -> Edition {
    let summary = run.folded.summary(lang);
    let report = RunReport {
        summary: &summary,
        lang,
        detail: Detail::Definitions,
        ..run.report
    };
    let mut doc = compose(&report);
    doc.sections
        .push(environment::section(report.environment, lang));
    Edition {
        above: 1,
        glossary: super::glossary(lang),
        lang,
        title: title(
            name(summary.label.as_deref(), report.directory),
            PageText::Run,
            lang,
        ),
        headlines: headlines(&summary, lang),
        figures: inferometer_chart::run::all(
            &summary,
            run.drawing,
            report.scenario.connection.sim_clock,
            lang,
        ),
        doc,
    }
}

fn headlines(summary: &Summary, lang: Lang) -> Vec<Headline> {
    let rate = |name: MetricText, value: Option<f64>, unit: &str| {
        let value = value.map_or(number::ABSENT.to_owned(), number::brief);
        Headline::new(name.text(lang), value, unit)
    };
    let throughput = &summary.throughput;
    let latency = &summary.latency;
    let few = (latency.ttft_ms).is_some_and(|all| !all.supports(99.0));
    let time = |name: MetricText, p: &str, of: Option<f64>| {
        let (mut value, unit) = duration(of);
        // The table of latencies says what the star is.
        if p == "p99" && few {
            value.push('*');
        }
        Headline::new(format!("{} {p}", name.text(lang)), value, unit)
    };
    let p50 = |found: Option<Distribution>| found.map(|found| found.p50);
    let p99 = |found: Option<Distribution>| found.map(|found| found.p99);
    vec![
        rate(
            MetricText::OutputTokens,
            throughput.output_tokens_per_s,
            "tok/s",
        ),
        rate(MetricText::Requests, throughput.requests_per_s, "req/s"),
        time(MetricText::Ttft, "p50", p50(latency.ttft_ms)),
        time(MetricText::Ttft, "p99", p99(latency.ttft_ms)),
        time(MetricText::Tpot, "p50", p50(latency.tpot_ms)),
        time(MetricText::E2e, "p50", p50(latency.e2e_ms)),
        failed(summary.requests.failed, summary.requests.planned, lang),
    ]
}

pub(super) fn failed(failed: u64, all: u64, lang: Lang) -> Headline {
    let unit = PageText::OfAll.with(lang, &[("count", number::count(all))]);
    let headline = Headline::new(PageText::Failed.text(lang), number::count(failed), unit);
    Headline {
        tone: if failed > 0 { Tone::Bad } else { Tone::Plain },
        ..headline
    }
}

/// Milliseconds in the unit that reads best.
pub(super) fn duration(ms: Option<f64>) -> (String, &'static str) {
    match ms.filter(|ms| ms.is_finite()) {
        None => (number::ABSENT.to_owned(), ""),
        Some(ms) if ms >= 10_000.0 => (number::brief(ms / 1e3), "s"),
        Some(ms) => (number::brief(ms), "ms"),
    }
}
