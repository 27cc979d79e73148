//! The definition of every metric that the report shows, beside its name.

use super::{RunReport, latency};
use crate::doc::{Block, Pair, Section};
use inferometer_core::message::labels::Label;

pub(super) fn section(report: &RunReport<'_>) -> Section {
    let mut defined = vec![
        (Label::Requests, Label::RequestsMeans),
        (Label::OutputTokens, Label::OutputTokensMeans),
        (Label::TotalTokens, Label::TotalTokensMeans),
        (Label::InFlight, Label::InFlightMeans),
    ];
    if report.summary.speed.per_user_tokens_per_s.is_some() {
        defined.push((Label::PerUser, Label::PerUserMeans));
    }
    if report.summary.slo.is_some() {
        defined.push((Label::Goodput, Label::GoodputMeans));
        defined.push((Label::Attainment, Label::AttainmentMeans));
    }
    let rows = latency::rows(report);
    let metrics = rows.into_iter().map(|(metric, _)| metric);
    defined.extend(metrics.filter_map(|metric| Some((metric, meaning(report, metric)?))));
    defined.push((Label::Percentiles, Label::PercentilesMeans));
    defined.push((Label::Interval, Label::IntervalMeans));
    let pairs = defined
        .into_iter()
        .map(|(name, meaning)| Pair::new(report.say(name), report.say(meaning)));
    let heading = report.say(Label::Definitions);
    Section::headed(heading, vec![Block::Pairs(pairs.collect())])
}

fn meaning(report: &RunReport<'_>, metric: Label) -> Option<Label> {
    let open = report.is_open();
    Some(match metric {
        Label::Ttft if open => Label::TtftMeansOpen,
        Label::Ttft => Label::TtftMeansClosed,
        Label::TtftFromSent => Label::TtftFromSentMeans,
        Label::FirstAnswer => Label::FirstAnswerMeans,
        Label::SecondToken => Label::SecondTokenMeans,
        Label::Tpot => Label::TpotMeans,
        Label::Itl => Label::ItlMeans,
        Label::InterChunk => Label::InterChunkMeans,
        Label::MaxGap => Label::MaxGapMeans,
        Label::E2e if open => Label::E2eMeansOpen,
        Label::E2e => Label::E2eMeansClosed,
        Label::Connect => Label::ConnectMeans,
        Label::Lag => Label::LagMeans,
        Label::CapWait => Label::CapWaitMeans,
        _ => return None,
    })
}
