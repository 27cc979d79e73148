//! Which flags of the best a study keeps.

use super::*;

/// The best that was found sets all four flags; what the engine does by itself is not known.
fn found() -> Vec<Trial> {
    let mut trials = vec![
        trial(0, Origin::Default, served(100.0, 500.0)),
        trial(1, Origin::Search, served(130.0, 500.0)),
    ];
    trials[0].proposal.point = Point::default();
    trials
}

/// Runs a whole last stage on an engine whose rate follows from its flags.
fn trimmed(study: &Study, mut trials: Vec<Trial>, rate: impl Fn(&Point) -> f64) -> Vec<Trial> {
    while let Some(proposal) = study.confirm(&trials, trials.len() as u64) {
        let ending = served(rate(&proposal.flags), 500.0);
        trials.push(Trial { proposal, ending });
        assert!(trials.len() < 50, "the last stage does not end");
    }
    trials
}

fn has(flags: &Point, name: &str) -> bool {
    flags.0.contains_key(name)
}

#[test]
fn the_best_command_has_only_the_flags_that_its_gain_needs() {
    let study: Study = STUDY.parse().unwrap();
    let trials = trimmed(&study, found(), |flags| {
        if has(flags, "max-num-seqs") && has(flags, "max-num-batched-tokens") {
            130.0
        } else if has(flags, "max-num-seqs") {
            117.0
        } else {
            100.0
        }
    });
    let result = study.result(&trials, false);
    let best = result.best.unwrap();
    let names: Vec<&str> = best.flags.0.keys().map(String::as_str).collect();
    assert_eq!(names, ["max-num-batched-tokens", "max-num-seqs"]);
    assert!(!best.command.contains("block-size"), "{}", best.command);
    assert!((result.gain.unwrap().value - 0.3).abs() < 1e-6);
    let trimming = result.trimming.unwrap();
    assert_eq!(trimming.of, 1);
    let left_out: Vec<&str> = trimming.left_out.0.keys().map(String::as_str).collect();
    assert_eq!(left_out, ["block-size", "enable-prefix-caching"]);
    let without = |name: &str| {
        let needed = trimming.needed.iter().find(|it| it.flag == name).unwrap();
        (needed.without.unwrap() * 1e3).round()
    };
    assert_eq!(without("max-num-batched-tokens"), -100.0);
    assert_eq!(without("max-num-seqs"), -231.0);
    // From the log alone: any beginning of it goes on with the start that came next.
    for at in 2..trials.len() {
        let next = study.confirm(&trials[..at], at as u64).unwrap();
        assert_eq!(next, trials[at].proposal);
    }
}

#[test]
fn what_says_the_default_goes_first_and_at_once() {
    let study: Study = STUDY.parse().unwrap();
    let mut trials = found();
    trials[0].proposal.point = trials[1].proposal.point.clone();
    let point = &mut trials[0].proposal.point;
    point.0.insert("max-num-seqs".into(), Value::Int(256));
    let trials = trimmed(&study, trials, |flags| {
        100.0 + 30.0 * f64::from(u8::from(has(flags, "max-num-seqs")))
    });
    let parts: Vec<&Point> = (trials.iter())
        .filter(|trial| trial.proposal.origin == Origin::Trim { of: 1 })
        .map(|trial| &trial.proposal.flags)
        .collect();
    assert_eq!(parts.len(), 1, "one start for three flags");
    assert_eq!(parts[0].0.keys().collect::<Vec<_>>(), ["max-num-seqs"]);
}

#[test]
fn a_flag_stays_where_its_loss_is_more_than_fresh_starts_differ_by() {
    let study: Study = STUDY.parse().unwrap();
    let kept = |noise: f64| -> Vec<String> {
        let mut trials = found();
        while let Some(proposal) = study.confirm(&trials, trials.len() as u64) {
            let losses = [("block-size", 0.01), ("max-num-seqs", 0.1)];
            let lost = losses
                .iter()
                .filter(|(name, _)| !has(&proposal.flags, name));
            let rate = 130.0 * (1.0 - lost.map(|(_, lost)| lost).sum::<f64>());
            let of_round = match proposal.origin {
                Origin::Confirm { round: Some(1), .. } => 1.0 - noise,
                _ => 1.0,
            };
            let ending = served(rate * of_round, 500.0);
            trials.push(Trial { proposal, ending });
        }
        let best = study.result(&trials, false).best.unwrap();
        best.flags.0.into_keys().collect()
    };
    assert_eq!(kept(0.0), ["block-size", "max-num-seqs"]);
    assert_eq!(kept(0.03), ["max-num-seqs"]);
}

#[test]
fn studies_of_earlier_versions_stay_as_they_were_decided() {
    let plain = study();
    let trials = finished(&plain, found(), |start| {
        served(if start.of == 0 { 100.0 } else { 130.0 }, 500.0)
    });
    let study: Study = STUDY.parse().unwrap();
    assert_eq!(study.confirm(&trials, 99), None);
    let result = study.result(&trials, false);
    assert_eq!(result.finding, Finding::Better);
    assert_eq!(result.trimming, None);
}

#[test]
fn a_gain_in_virtual_time_is_computed_and_not_certified() {
    let study = study();
    let trials = finished(&study, found(), |start| {
        served(if start.of == 0 { 100.0 } else { 130.0 }, 500.0)
    });
    assert!(study.result(&trials, false).gain.unwrap().certified);
    let computed = study.result(&trials, true);
    assert!(computed.computed && !computed.gain.unwrap().certified);
}
