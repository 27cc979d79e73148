//! What one run shows, and the same over the points of a sweep.

use super::{Finding, FindingKind, some};
use inferometer_chart::measured::MeasuredPoint;
use inferometer_core::doubt::DoubtCode;
use inferometer_core::summary::{Distribution, ModelResult, Outage, Summary};
use inferometer_core::thresholds::Thresholds;
use inferometer_message::{FindingText as Text, NumbersText};
use inferometer_page::number;
use inferometer_text::Lang;
use inferometer_text::punctuation::PunctuationText;

/// Requests that were planned and are in no account, as in a table that leaves some out.
pub(super) fn lost(summary: &Summary, lang: Lang) -> Option<Finding> {
    let known = summary.requests;
    let ended = known.ok + known.failed + known.cut + known.cancelled + known.unsent;
    let lost = known.planned.checked_sub(ended).filter(|lost| *lost > 0)?;
    let count = number::count;
    let text = [("lost", count(lost)), ("planned", count(known.planned))];
    let evidence = [
        ("ok", count(known.ok)),
        ("failed", count(known.failed)),
        ("cut", count(known.cut)),
        ("unsent", count(known.unsent)),
    ];
    Some(Finding {
        kind: FindingKind::LostRequests,
        text: Text::Lost.with(lang, &text),
        evidence: Text::LostEvidence.with(lang, &evidence),
    })
}

/// The longest time in which the server could not be reached.
pub(super) fn away(summary: &Summary, lang: Lang) -> Option<Finding> {
    let by_length = |a: &&Outage, b: &&Outage| a.length_s.total_cmp(&b.length_s);
    let longest = summary.outages.iter().max_by(by_length)?;
    let total: f64 = summary.outages.iter().map(|outage| outage.length_s).sum();
    let requests = summary.outages.iter().map(|outage| outage.requests).sum();
    let text = if longest.ended {
        Text::Away
    } else {
        Text::AwayToTheEnd
    };
    let values = [
        ("length", number::seconds(longest.length_s)),
        ("start", number::seconds(longest.start_s)),
    ];
    let evidence = [
        ("requests", number::count(requests)),
        ("outages", number::count(summary.outages.len() as u64)),
        ("total", number::seconds(total)),
    ];
    Some(Finding {
        kind: FindingKind::ServerAway,
        text: text.with(lang, &values),
        evidence: Text::AwayEvidence.with(lang, &evidence),
    })
}

/// Whether the server goes on with requests that nobody waits for.
pub(super) fn cancelled(summary: &Summary, lang: Lang) -> Option<Finding> {
    /// Share of a whole answer's time for which a request is held after it was given up. Servers
    /// notice that a client has gone when they next write to it, so that a little is no evidence.
    const KEPT: f64 = 1.0 / 3.0;
    let cancelled = summary.requests.cancelled;
    if cancelled == 0 {
        return None;
    }
    let running = summary.server.as_ref()?.running?.mean;
    let in_flight = summary.concurrency.mean?;
    let held_s = (running - in_flight) * summary.window_s? / cancelled as f64;
    let keeps = held_s > KEPT * summary.latency.e2e_ms?.mean / 1e3;
    let text = if keeps {
        Text::CancelKept
    } else {
        Text::CancelFreed
    };
    let values = [
        ("count", number::count(cancelled)),
        ("running", number::mean(running)),
        ("waited", number::mean(in_flight)),
    ];
    Some(Finding {
        kind: FindingKind::Cancelled,
        text: text.with(lang, &values),
        evidence: Text::CancelEvidence.with(lang, &values),
    })
}

/// Models whose first request waited far longer than the later ones.
pub(super) fn cold(summary: &Summary, lang: Lang) -> Option<Finding> {
    let cold = |model: &ModelResult| Some((model.cold_ttft_ms?, model.ttft_p50_ms?));
    let seen: Vec<String> = (summary.models.iter())
        .filter_map(|model| {
            let (first, later) = cold(model)?;
            let values = [
                ("first", number::millis(first)),
                ("later", number::millis(later)),
                ("model", model.model.clone()),
            ];
            Some(Text::ColdEvidence.with(lang, &values))
        })
        .collect();
    let count = [("count", number::count(seen.len() as u64))];
    (!seen.is_empty()).then(|| Finding {
        kind: FindingKind::ColdModel,
        text: Text::Cold.with(lang, &count),
        evidence: some(&seen, 4, PunctuationText::Semicolon, lang),
    })
}

/// A client that the judge found busy or late, with the numbers that say so.
pub(super) fn client(summary: &Summary, lang: Lang) -> Option<Finding> {
    let has = |code| summary.doubts.iter().any(|doubt| doubt.code == code);
    let (busy, late) = (has(DoubtCode::ClientBusy), has(DoubtCode::ClientLate));
    let client = &summary.client;
    let share = |text: NumbersText, share: Option<f64>| {
        (share.filter(|_| busy)).map(|share| text.with(lang, &[("share", number::percent(share))]))
    };
    let lag = client.lag_p99_ms.filter(|_| late);
    let lag = lag.map(|lag| NumbersText::ClientLag.with(lang, &[("lag", number::millis(lag))]));
    let woken = (client.pulse_p99_ms).filter(|_| late && lag.is_none());
    let woken =
        woken.map(|late| NumbersText::ClientPulse.with(lang, &[("late", number::millis(late))]));
    let pause = (client.longest_pause_ms).filter(|_| late);
    let pause =
        pause.map(|ms| NumbersText::ClientPause.with(lang, &[("pause", number::millis(ms))]));
    let pieces: Vec<String> = [
        share(NumbersText::ClientCpu, client.cpu_share),
        share(NumbersText::ClientCeiling, client.ceiling_share),
        lag,
        woken.clone(),
        pause,
    ]
    .into_iter()
    .flatten()
    .collect();
    let text = match (busy, woken) {
        (true, _) => Text::Client,
        (false, Some(_)) => Text::ClientWoken,
        (false, None) => Text::ClientLate,
    };
    (!pieces.is_empty()).then(|| Finding {
        kind: FindingKind::ClientBottleneck,
        text: text.text(lang).to_owned(),
        evidence: PunctuationText::Comma.join(lang, &pieces),
    })
}

/// How much the client itself was in the way: the gravest doubt first, then how late it was.
fn client_trouble(summary: &Summary) -> f64 {
    let codes = [DoubtCode::ClientBusy, DoubtCode::ClientLate];
    let doubts = summary.doubts.iter();
    let doubts = doubts.filter(|doubt| codes.contains(&doubt.code));
    let gravest = doubts.map(|doubt| doubt.severity as u8).max();
    let client = &summary.client;
    let late_ms = client.lag_p99_ms.into_iter().chain(client.pulse_p99_ms);
    let share = client.ceiling_share.or(client.cpu_share).unwrap_or(0.0);
    f64::from(gravest.unwrap_or(0)) * 1e9 + late_ms.fold(0.0, f64::max) + share
}

/// The largest gap of each answer, far above the 99th percentile of all gaps.
struct Stall {
    /// Share of answers with such a gap; absent for a single one.
    share: Option<f64>,
    gap_ms: f64,
    itl: Distribution,
    answers: u64,
}

fn stall(summary: &Summary) -> Option<Stall> {
    let limits = Thresholds::default();
    let itl = summary.latency.itl_ms.or(summary.latency.inter_chunk_ms)?;
    let largest = summary.latency.max_gap_ms?;
    let hidden = |gap: f64| {
        itl.p99 > 0.0 && gap >= limits.stall_factor * itl.p99 && gap >= limits.stall_floor_ms
    };
    let levels = [
        (Some(0.5), largest.p50),
        (Some(0.25), largest.p75),
        (Some(0.1), largest.p90),
        (Some(0.05), largest.p95),
        (Some(0.01), largest.p99),
        (None, largest.max),
    ];
    let (share, gap_ms) = levels.into_iter().find(|(_, gap)| hidden(*gap))?;
    // Of fewer answers, that share is less than one.
    let share = share.filter(|share| share * largest.n as f64 >= 1.0);
    Some(Stall {
        gap_ms: match share {
            Some(_) => gap_ms,
            None => largest.max,
        },
        share,
        itl,
        answers: largest.n,
    })
}

/// Pauses that the percentiles of gaps hide: one in an answer of a thousand tokens is a
/// thousandth of all gaps.
pub(super) fn stalls(summary: &Summary, lang: Lang) -> Option<Finding> {
    let stall = stall(summary)?;
    let mut values = vec![
        ("gap", number::millis(stall.gap_ms)),
        ("itl", number::millis(stall.itl.p99)),
    ];
    let text = match stall.share {
        Some(share) => {
            values.push(("share", number::percent(share)));
            Text::Stalls
        }
        None => Text::StallOnce,
    };
    let evidence = [
        ("factor", number::brief(stall.gap_ms / stall.itl.p99)),
        ("answers", number::count(stall.answers)),
        ("gaps", number::count(stall.itl.n)),
    ];
    let mut text = text.with(lang, &values);
    if let Some(pause) = summary.client.pause_behind(stall.gap_ms) {
        let pause = [("pause", number::millis(pause))];
        text.push_str(&Text::StallOfClient.with(lang, &pause));
    }
    Some(Finding {
        kind: FindingKind::HiddenStalls,
        text,
        evidence: Text::StallsEvidence.with(lang, &evidence),
    })
}

/// The same rules over the measurements of a sweep, each told once, with its worst place.
pub(super) fn across(rows: &[MeasuredPoint<'_>], lang: Lang) -> Vec<Finding> {
    let measured: Vec<(&MeasuredPoint<'_>, &Summary)> = (rows.iter())
        .flat_map(|row| row.summaries().map(move |summary| (row, summary)))
        .collect();
    type Rule = fn(&Summary, Lang) -> Option<Finding>;
    type Weight = fn(&Summary) -> f64;
    let rules: [(Rule, Weight); 3] = [
        (lost, |summary| {
            let known = summary.requests;
            known.planned as f64
                - (known.ok + known.failed + known.cut + known.cancelled + known.unsent) as f64
        }),
        (client, client_trouble),
        (stalls, |summary| {
            stall(summary).map_or(0.0, |stall| stall.gap_ms / stall.itl.p99)
        }),
    ];
    (rules.into_iter())
        .filter_map(|(rule, weight)| {
            let found: Vec<(&MeasuredPoint<'_>, &Summary, Finding)> = (measured.iter())
                .filter_map(|(row, summary)| Some((*row, *summary, rule(summary, lang)?)))
                .collect();
            let count = found.len();
            let (row, _, worst) = (found.into_iter())
                .max_by(|(_, a, _), (_, b, _)| weight(a).total_cmp(&weight(b)))?;
            let values = [
                ("count", count.to_string()),
                ("all", measured.len().to_string()),
                ("text", worst.text),
                ("point", row.point.to_string()),
            ];
            Some(Finding {
                text: Text::AtPoints.with(lang, &values),
                ..worst
            })
        })
        .collect()
}
