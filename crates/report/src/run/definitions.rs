//! The definition of every metric that the report shows, beside its name.

use super::{RunReport, latency};
use inferometer_core::check::Check;
use inferometer_message::{DefinitionText, MetricText, NumbersText};
use inferometer_page::doc::{Block, Pair, Section};

pub(super) fn section(report: &RunReport<'_>) -> Section {
    let throughput = if report.has_steady_window() {
        [
            DefinitionText::RequestsInWindow,
            DefinitionText::OutputTokensInWindow,
            DefinitionText::TotalTokensInWindow,
        ]
    } else {
        [
            DefinitionText::Requests,
            DefinitionText::OutputTokens,
            DefinitionText::TotalTokens,
        ]
    };
    let names = [
        MetricText::Requests,
        MetricText::OutputTokens,
        MetricText::TotalTokens,
    ];
    let mut defined: Vec<_> = names.into_iter().zip(throughput).collect();
    if report.is_of_items() {
        defined.truncate(1);
        defined.push((MetricText::Items, DefinitionText::Items));
        defined.push((MetricText::InputTokens, DefinitionText::InputTokens));
    }
    if report.summary.throughput.audio_s_per_s.is_some() {
        defined.push((MetricText::Audio, DefinitionText::Audio));
    }
    defined.push((MetricText::InFlight, DefinitionText::InFlight));
    if report.summary.speed.per_user_tokens_per_s.is_some() {
        defined.push((MetricText::PerUser, DefinitionText::PerUser));
    }
    if report.summary.slo.is_some() {
        defined.push((MetricText::Goodput, DefinitionText::Goodput));
        defined.push((MetricText::Attainment, DefinitionText::Attainment));
    }
    if report.summary.sessions.is_some() {
        defined.push((MetricText::JobTime, DefinitionText::JobTime));
        defined.push((MetricText::SessionsPerHour, DefinitionText::SessionsPerHour));
    }
    if (report.summary.slo.as_ref()).is_some_and(|slo| slo.jobs.is_some()) {
        defined.push((MetricText::JobAttainment, DefinitionText::JobAttainment));
    }
    match (&report.summary.check, &report.scenario.objectives.check) {
        (Some(_), Some(Check::SameAs(_))) => {
            defined.push((MetricText::Identical, DefinitionText::Identical));
        }
        (Some(_), _) => defined.push((MetricText::Score, DefinitionText::Score)),
        (None, _) => {}
    }
    let structured = report.summary.structured.unwrap_or_default();
    if structured.valid_json.is_some() {
        defined.push((MetricText::ValidJson, DefinitionText::ValidJson));
    }
    if structured.valid_tool_calls.is_some() {
        defined.push((MetricText::ValidCalls, DefinitionText::ValidCalls));
    }
    let rows = latency::rows(report);
    let metrics = rows.into_iter().map(|(metric, _)| metric);
    defined.extend(metrics.filter_map(|metric| Some((metric, meaning(report, metric)?))));
    defined.push((MetricText::Percentiles, DefinitionText::Percentiles));
    defined.push((MetricText::Interval, DefinitionText::Interval));
    let pairs = defined
        .into_iter()
        .map(|(name, meaning)| Pair::new(report.say(name), report.say(meaning)));
    let heading = report.say(NumbersText::Definitions);
    Section::headed(heading, [Block::Pairs(pairs.collect())])
}

fn meaning(report: &RunReport<'_>, metric: MetricText) -> Option<DefinitionText> {
    let open = report.is_open();
    Some(match metric {
        MetricText::Ttft if open => DefinitionText::TtftOpen,
        MetricText::Ttft => DefinitionText::TtftClosed,
        MetricText::TtftFromSent => DefinitionText::TtftFromSent,
        MetricText::FirstAnswer => DefinitionText::FirstAnswer,
        MetricText::SecondToken => DefinitionText::SecondToken,
        MetricText::Tpot => DefinitionText::Tpot,
        MetricText::Itl => DefinitionText::Itl,
        MetricText::InterChunk => DefinitionText::InterChunk,
        MetricText::MaxGap => DefinitionText::MaxGap,
        MetricText::E2e if open => DefinitionText::E2eOpen,
        MetricText::E2e => DefinitionText::E2eClosed,
        MetricText::RealTimeFactor => DefinitionText::RealTimeFactor,
        MetricText::Connect => DefinitionText::Connect,
        MetricText::Lag => DefinitionText::Lag,
        MetricText::CapWait => DefinitionText::CapWait,
        _ => return None,
    })
}
