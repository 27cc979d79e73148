//! Rates that one late answer has spoilt.
//!
//! Requests a second are requests over the whole time, and a single straggler of many times the
//! usual latency can double that time. What it does not reach is used instead: tokens a second
//! where they were counted otherwise, and latencies.

use super::{Load, Observation, Origin};
use inferometer_core::length::Distribution as Lengths;
use inferometer_import::Code;

/// Rates that differ by more than this share were not counted over the same time.
const SAME_TIME: f64 = 0.1;
/// Waves that starting and draining cost a closed loop, with answers of mixed lengths.
const IDLE_WAVES: f64 = 1.5;
/// Streams that are busy less than this part of what is usual wait for a straggler.
const SPOILT: f64 = 0.6;

/// Leaves out the rates of another tool that stragglers have spoilt; what then speaks against
/// nothing but those rates is no reason to refuse the rest. Our own runs judge that themselves.
pub(super) fn without_spoilt_rates(observation: &mut Observation) {
    if observation.origin != Origin::Import {
        return;
    }
    let Some(rate) = observation.figures.requests_per_s else {
        return;
    };
    let shrunk = Code::ShrunkConcurrency.name();
    let judged = observation.invalid.iter().any(|code| code == shrunk);
    let tokens = observation.figures.output_tokens_per_s;
    let mean = observation.output.map(Lengths::mean);
    let other_time = match (tokens, mean) {
        (Some(tokens), Some(mean)) => (tokens / (rate * mean) - 1.0).abs() > SAME_TIME,
        _ => false,
    };
    if !(other_time || judged || streams_wait(observation, rate)) {
        return;
    }
    let figures = &mut observation.figures;
    figures.requests_per_s = None;
    if !other_time {
        figures.output_tokens_per_s = None;
    }
    if figures.e2e_ms.is_some() {
        observation.invalid.retain(|code| code != shrunk);
    }
}

/// Whether the streams of a closed loop are idle more than starting and draining cost.
fn streams_wait(observation: &Observation, rate: f64) -> bool {
    let (Load::Closed(streams), Some(requests), Some(latency)) = (
        observation.load,
        observation.requests,
        observation.figures.e2e_ms,
    ) else {
        return false;
    };
    let streams = f64::from(streams);
    let waves = f64::from(requests) / streams;
    let busy = rate * latency / 1e3 / streams;
    busy < SPOILT * waves / (waves + IDLE_WAVES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::Start;
    use crate::predict::Figures;

    fn observed(figures: Figures) -> Observation {
        Observation {
            name: "a column".to_owned(),
            load: Load::Closed(100),
            start: Start::AtOnce,
            requests: Some(1000),
            input: None,
            output: Some(Lengths::Fixed(200)),
            spread: None,
            flags: Vec::new(),
            version: None,
            figures,
            origin: Origin::Import,
            invalid: Vec::new(),
        }
    }

    fn kept(figures: Figures) -> Figures {
        let mut observation = observed(figures);
        without_spoilt_rates(&mut observation);
        observation.figures
    }

    #[test]
    fn a_sound_column_keeps_all_its_figures() {
        let sound = Figures {
            requests_per_s: Some(18.0),
            output_tokens_per_s: Some(3600.0),
            e2e_ms: Some(5000.0),
            ..Figures::default()
        };
        assert_eq!(kept(sound), sound);
    }

    #[test]
    fn tokens_that_were_counted_over_another_time_stand_for_the_requests() {
        let spoilt = Figures {
            requests_per_s: Some(6.0),
            output_tokens_per_s: Some(3600.0),
            e2e_ms: Some(5000.0),
            ..Figures::default()
        };
        let kept = kept(spoilt);
        assert_eq!(kept.requests_per_s, None);
        assert_eq!(kept.output_tokens_per_s, Some(3600.0));
    }

    #[test]
    fn latencies_stand_for_rates_that_a_straggler_spoilt_together() {
        let spoilt = Figures {
            requests_per_s: Some(6.0),
            output_tokens_per_s: Some(1200.0),
            e2e_ms: Some(5000.0),
            ..Figures::default()
        };
        let kept = kept(spoilt);
        assert_eq!(
            (kept.requests_per_s, kept.output_tokens_per_s),
            (None, None)
        );
        assert_eq!(kept.e2e_ms, Some(5000.0));
    }

    #[test]
    fn a_doubt_about_a_rate_alone_does_not_refuse_the_latency() {
        let mut observation = observed(Figures {
            requests_per_s: Some(14.0),
            e2e_ms: Some(5000.0),
            ..Figures::default()
        });
        observation.invalid = vec!["shrunk-concurrency".to_owned(), "lost-requests".to_owned()];
        without_spoilt_rates(&mut observation);
        assert_eq!(observation.figures.requests_per_s, None);
        assert_eq!(observation.invalid, ["lost-requests"]);
    }
}
