//! Rates that one late answer has spoilt.
//!
//! Requests/s are requests over the whole time, and a single straggler of many times the
//! usual latency can double that time. What it does not reach is used instead: tokens/s
//! where they were counted otherwise, and latencies.

use super::{LeftOut, Observation, Origin};
use crate::work::Load;
use inferometer_core::length::Distribution as Lengths;
use inferometer_import::{ImportDoubtCode, ImportedSummary, Spread, shrunk_concurrency};

/// Rates that differ by more than this share were not counted over the same time.
const SAME_TIME: f64 = 0.1;

/// Leaves out the rates of another tool that stragglers have spoilt, and says so; what then
/// speaks against nothing but those rates does not refuse the rest. Our own runs judge
/// that themselves.
pub(super) fn without_spoilt_rates(observation: &mut Observation) {
    if observation.origin != Origin::Import || observation.rate().is_none() {
        return;
    }
    let shrunk = ImportDoubtCode::ShrunkConcurrency.name();
    let judged = observation.invalid.iter().any(|code| code == shrunk);
    let in_flight = observation.in_flight();
    let figures = &mut observation.figures;
    let mean = observation.output.map(Lengths::mean);
    let other_time = match (figures.requests_per_s, figures.output_tokens_per_s, mean) {
        (Some(rate), Some(tokens), Some(mean)) => (tokens / (rate * mean) - 1.0).abs() > SAME_TIME,
        _ => false,
    };
    if other_time {
        figures.requests_per_s = None;
        observation.left_out = Some(LeftOut::OtherTime);
    } else if judged || streams_wait(observation) {
        let figures = &mut observation.figures;
        (figures.requests_per_s, figures.output_tokens_per_s) = (None, None);
        observation.left_out = Some(LeftOut::Idle { in_flight });
    } else {
        return;
    }
    if observation.latency_ms().is_some() {
        observation.invalid.retain(|code| code != shrunk);
    }
}

/// Whether fewer requests are under way than the streams of a closed loop send, by the rule that
/// judges results of other tools: a table of points is judged like a table in notes.
fn streams_wait(observation: &Observation) -> bool {
    let Load::Closed(streams) = observation.load else {
        return false;
    };
    let mut summary = ImportedSummary::default();
    summary.concurrency.configured = Some(u64::from(streams));
    summary.requests.planned = observation.requests.map(u64::from);
    summary.throughput.requests_per_s = observation.rate();
    summary.latency.e2e_ms = observation.latency_ms().map(|mean| Spread {
        mean: Some(mean),
        ..Spread::default()
    });
    shrunk_concurrency(&summary).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::means::Means;

    fn observed(figures: Means) -> Observation {
        Observation {
            requests: Some(1000),
            output: Some(Lengths::Fixed(200)),
            ..Observation::imported("a column".to_owned(), Load::Closed(100), figures)
        }
    }

    fn rates(requests_per_s: f64, output_tokens_per_s: f64) -> Means {
        Means {
            requests_per_s: Some(requests_per_s),
            output_tokens_per_s: Some(output_tokens_per_s),
            e2e_ms: Some(5000.0),
            ..Means::default()
        }
    }

    fn kept(figures: Means) -> Means {
        let mut observation = observed(figures);
        without_spoilt_rates(&mut observation);
        observation.figures
    }

    #[test]
    fn a_sound_column_keeps_all_its_figures() {
        let sound = rates(18.0, 3600.0);
        assert_eq!(kept(sound), sound);
    }

    #[test]
    fn tokens_that_were_counted_over_another_time_stand_for_the_requests() {
        let kept = kept(rates(6.0, 3600.0));
        assert_eq!(kept.requests_per_s, None);
        assert_eq!(kept.output_tokens_per_s, Some(3600.0));
    }

    #[test]
    fn latencies_stand_for_rates_that_a_straggler_spoilt_together() {
        let kept = kept(rates(6.0, 1200.0));
        assert_eq!(kept.requests_per_s, None);
        assert_eq!(kept.output_tokens_per_s, None);
        assert_eq!(kept.e2e_ms, Some(5000.0));
    }

    #[test]
    fn a_doubt_about_a_rate_alone_does_not_refuse_the_latency() {
        let mut observation = observed(Means {
            requests_per_s: Some(14.0),
            e2e_ms: Some(5000.0),
            ..Means::default()
        });
        observation.invalid = vec!["shrunk-concurrency".to_owned(), "lost-requests".to_owned()];
        without_spoilt_rates(&mut observation);
        assert_eq!(observation.figures.requests_per_s, None);
        assert_eq!(observation.invalid, ["lost-requests"]);
    }
}
