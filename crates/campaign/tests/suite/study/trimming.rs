//! Which flags of the best a study keeps.

use super::*;
use inferometer_campaign::space::{Admission, Rules};

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
    while let Some(proposal) = study.confirm(&NoRules, &trials, trials.len() as u64) {
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
        let next = study.confirm(&NoRules, &trials[..at], at as u64).unwrap();
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
        while let Some(proposal) = study.confirm(&NoRules, &trials, trials.len() as u64) {
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
    assert_eq!(study.confirm(&NoRules, &trials, 99), None);
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

/// The same with figures of its own for each start.
fn measured(study: &Study, of: impl Fn(&Point) -> serde_json::Value) -> StudyResult {
    let mut trials = found();
    while let Some(proposal) = study.confirm(&NoRules, &trials, trials.len() as u64) {
        let rate = if has(&proposal.flags, "max-num-seqs") {
            130.0
        } else {
            100.0
        };
        let mut ending = served(rate, 500.0);
        ending.measurements[0].summary["latency"] = of(&proposal.flags);
        trials.push(Trial { proposal, ending });
        assert!(trials.len() < 50, "the last stage does not end");
    }
    study.result(&trials, false)
}

#[test]
fn a_flag_that_halves_what_an_slo_is_about_is_needed_though_the_limit_is_met_without_it() {
    let study: Study = STUDY.parse().unwrap();
    let result = measured(&study, |flags| {
        let ttft = if has(flags, "block-size") {
            400.0
        } else {
            800.0
        };
        json!({"ttft_ms": {"p99": ttft}, "tpot_ms": {"p99": 20.0}})
    });
    let trimming = result.trimming.unwrap();
    let names: Vec<&str> = trimming.needed.iter().map(|it| it.flag.as_str()).collect();
    assert_eq!(names, ["block-size", "max-num-seqs"]);
    let worsens = trimming.needed[0].worsens.as_ref().unwrap();
    assert_eq!(worsens.metric, "latency.ttft_ms.p99");
    assert!((worsens.value - 1.0).abs() < 1e-9, "{worsens:?}");
    assert_eq!(trimming.needed[1].worsens, None);
}

#[test]
fn what_else_changes_notably_without_a_flag_is_told() {
    let study: Study = STUDY.parse().unwrap();
    let result = measured(&study, |flags| {
        let wait = if has(flags, "block-size") { 1.0 } else { 2.0 };
        json!({"ttft_ms": {"p99": 500.0, "p50": 100.0 * wait}, "tpot_ms": {"p99": 20.0},
            "e2e_ms": {"p99": 3000.0 + 50.0 * wait}})
    });
    let trimming = result.trimming.unwrap();
    assert!(trimming.left_out.0.contains_key("block-size"));
    let also: Vec<(&str, f64)> = (trimming.also.iter())
        .map(|it| (it.metric.as_str(), (it.value * 100.0).round()))
        .collect();
    assert_eq!(
        also,
        [("latency.ttft_ms.p50", 100.0)],
        "1.6 % of E2E is not notable"
    );
}

#[test]
fn no_last_stage_starts_more_often_than_it_says() {
    let study: Study = STUDY.parse().unwrap();
    let mut trials: Vec<Trial> = (1..4)
        .map(|id| trial(id, Origin::Search, served(130.0 - id as f64, 500.0)))
        .collect();
    trials.insert(0, found().remove(0));
    let searched = trials.len();
    while let Some(proposal) = study.confirm(&NoRules, &trials, trials.len() as u64) {
        // Every challenger misses its SLO in the last of its pairs.
        let is_last = |round: usize| {
            round >= LastStage::SELECTION_ROUNDS
                && (round - LastStage::SELECTION_ROUNDS) % study.last_stage.repeats
                    == study.last_stage.repeats - 1
        };
        let misses = matches!(proposal.origin, Origin::Confirm { of, round: Some(round) }
            if of != 0 && is_last(round));
        let ending = served(120.0, if misses { 5000.0 } else { 500.0 });
        trials.push(Trial { proposal, ending });
        assert!(trials.len() < 200, "the last stage does not end");
    }
    let starts = trials.len() - searched;
    let flags = study.space.dimensions().len();
    let (usual, most) = (
        study.last_stage.starts(flags),
        study.last_stage.most_starts(flags),
    );
    assert!(
        usual < starts && starts <= most,
        "{starts}: {usual} to {most}"
    );
}

/// A trial that sets these flags only.
fn with_flags(id: u64, flags: &[(&str, i64)], ending: Ending) -> Trial {
    let flags = flags
        .iter()
        .map(|(name, value)| (*name, Value::Int(*value)));
    let flags: Point = flags.collect();
    let mut trial = trial(id, Origin::Search, ending);
    trial.proposal.point = flags.clone();
    trial.proposal.flags = flags;
    trial
}

#[test]
fn a_configuration_that_was_refuted_does_not_come_back_under_another_number() {
    let study: Study = STUDY.parse().unwrap();
    let mut trials = vec![
        found().remove(0),
        with_flags(
            1,
            &[("max-num-seqs", 64), ("block-size", 16)],
            served(130.0, 500.0),
        ),
        with_flags(
            2,
            &[("max-num-seqs", 64), ("block-size", 32)],
            served(129.0, 500.0),
        ),
    ];
    // Both are as good without their block size, and that command misses its SLO once.
    let mut pairs = 0;
    while let Some(proposal) = study.confirm(&NoRules, &trials, trials.len() as u64) {
        let is_alone = proposal.flags.0.len() == 1 && has(&proposal.flags, "max-num-seqs");
        let is_pair = is_alone && proposal.origin.confirms().is_some();
        pairs += usize::from(is_pair);
        let rate = if has(&proposal.flags, "max-num-seqs") {
            130.0
        } else {
            100.0
        };
        let ttft = if is_pair && pairs == 4 { 5000.0 } else { 500.0 };
        trials.push(Trial {
            proposal,
            ending: served(rate, ttft),
        });
        assert!(trials.len() < 60, "the last stage does not end");
    }
    assert_eq!(pairs, 4, "nothing is started again after its refutation");
    let alone = |trial: &&Trial| trial.proposal.flags.0.len() == 1;
    let parts = trials
        .iter()
        .filter(|it| matches!(it.proposal.origin, Origin::Trim { .. }));
    let parts = parts
        .filter(alone)
        .filter(|it| has(&it.proposal.flags, "max-num-seqs"));
    assert_eq!(parts.count(), 1, "one command is one start");
    let result = study.result(&trials, false);
    assert_eq!(result.finding, Finding::DefaultBest);
    assert_eq!(result.best.unwrap().trial, 0);
}

#[test]
fn what_was_needed_for_a_flag_that_could_go_later_is_tried_again() {
    let study: Study = STUDY.parse().unwrap();
    let mut trials = found();
    while let Some(proposal) = study.confirm(&NoRules, &trials, trials.len() as u64) {
        let flags = &proposal.flags;
        // The prefix cache needs small blocks; the gain needs neither.
        let is_refused = has(flags, "enable-prefix-caching") && !has(flags, "block-size");
        let ending = match (is_refused, has(flags, "max-num-seqs")) {
            (true, _) => Ending::failed(State::Refused, "illegal-flags", None),
            (false, true) => served(130.0, 500.0),
            (false, false) => served(100.0, 500.0),
        };
        trials.push(Trial { proposal, ending });
        assert!(trials.len() < 60, "the last stage does not end");
    }
    let result = study.result(&trials, false);
    let names: Vec<String> = result.best.unwrap().flags.0.into_keys().collect();
    assert_eq!(names, ["max-num-seqs"]);
    let trimming = result.trimming.unwrap();
    assert!(
        trimming.needed.iter().all(|it| !it.fails_without),
        "{trimming:?}"
    );
    assert!(trimming.left_out.0.contains_key("block-size"));
}

#[test]
fn a_study_that_an_earlier_version_finished_stays_finished() {
    let study: Study = STUDY.parse().unwrap();
    let mut trials = found();
    let of = |flags: &Point| {
        let is_refused = has(flags, "enable-prefix-caching") && !has(flags, "block-size");
        match (is_refused, has(flags, "max-num-seqs")) {
            (true, _) => Ending::failed(State::Refused, "illegal-flags", None),
            (false, true) => served(130.0, 500.0),
            (false, false) => served(100.0, 500.0),
        }
    };
    // Nothing was tried again after another flag could go.
    while let Some(mut proposal) = study.confirm(&NoRules, &trials, trials.len() as u64) {
        let is_again = proposal.flags.0.len() == 1 && has(&proposal.flags, "max-num-seqs");
        if is_again && matches!(proposal.origin, Origin::Trim { .. }) {
            break;
        }
        let ending = of(&proposal.flags);
        proposal.repaired = None;
        trials.push(Trial { proposal, ending });
    }
    let part = trials.iter().rfind(|it| it.proposal.flags.0.len() == 2);
    let part = part.unwrap().proposal.id;
    for round in 2..7 {
        for (id, rate) in [(part, 130.0), (0, 100.0)] {
            let origin = Origin::Confirm {
                of: id,
                round: Some(round),
            };
            let at = trials.len() as u64;
            trials.push(trial(at, origin, served(rate, 500.0)));
        }
    }
    let result = |complete| {
        let mut log = TrialLog {
            header: Header::new(STUDY, None),
            trials: trials.clone(),
            pending: Vec::new(),
            complete,
            whole_bytes: 0,
        };
        log.trials.sort_by_key(|it| it.proposal.id);
        study.result_of(&log, false)
    };
    assert_eq!(result(false).finding, Finding::Unconfirmed);
    let over = result(true);
    assert_eq!(over.finding, Finding::Better);
    let names: Vec<String> = over
        .trimming
        .unwrap()
        .needed
        .into_iter()
        .map(|it| it.flag)
        .collect();
    assert_eq!(names, ["block-size", "max-num-seqs"]);
}

/// An engine whose tokens in a step are few with the prefix cache, where nobody says how many.
struct Dependent;

impl Rules for Dependent {
    fn admit(&self, _: &Space, point: Point) -> Admission {
        Admission::Legal(point)
    }

    fn defaults(&self, space: &Space) -> Point {
        self.values(space, &Point::default())
    }

    fn values(&self, _: &Space, flags: &Point) -> Point {
        let cached = flags.get("enable-prefix-caching") == Some(&Value::Bool(true));
        let mut values: Point = [
            ("max-num-seqs", Value::Int(256)),
            (
                "max-num-batched-tokens",
                Value::Int(if cached { 512 } else { 8192 }),
            ),
            ("enable-prefix-caching", Value::Bool(false)),
            ("block-size", Value::Int(16)),
        ]
        .into_iter()
        .collect();
        values.0.extend(flags.0.clone());
        values
    }
}

#[test]
fn a_flag_that_says_the_default_is_kept_where_another_flag_changes_that() {
    let study: Study = STUDY.parse().unwrap();
    let default = study.propose(&Tpe, &Dependent, &[], &[], 0).unwrap();
    let mut point = default.point.clone();
    (point.0).insert("enable-prefix-caching".into(), Value::Bool(true));
    let found = study.admit(&Dependent, point, 1).unwrap();
    let implied: Vec<&String> = found.implied.as_ref().unwrap().iter().collect();
    assert_eq!(implied, ["block-size", "max-num-seqs"]);
    let serve = |proposal: &Proposal| {
        let values = Dependent.values(&study.space, &proposal.flags);
        let cached = values.get("enable-prefix-caching") == Some(&Value::Bool(true));
        let few = values.get("max-num-batched-tokens") == Some(&Value::Int(512));
        served(
            if cached { 130.0 } else { 100.0 },
            if few { 5000.0 } else { 500.0 },
        )
    };
    let ended = |proposal: Proposal| Trial {
        ending: serve(&proposal),
        proposal,
    };
    let mut trials = vec![ended(default), ended(found)];
    while let Some(proposal) = study.confirm(&Dependent, &trials, trials.len() as u64) {
        trials.push(ended(proposal));
        assert!(trials.len() < 50, "the last stage does not end");
    }
    let result = study.result(&trials, false);
    assert_eq!(result.finding, Finding::Better);
    assert!((result.gain.unwrap().value - 0.3).abs() < 1e-6);
    let names: Vec<String> = result.best.unwrap().flags.0.into_keys().collect();
    assert_eq!(names, ["enable-prefix-caching", "max-num-batched-tokens"]);
}

#[test]
fn flags_that_cannot_go_at_once_are_tried_one_by_one() {
    let study: Study = STUDY.parse().unwrap();
    let mut trials = found();
    trials[0].proposal.point = trials[1].proposal.point.clone();
    // All but the sequences say what the engine does by itself, as far as that is known.
    let point = &mut trials[0].proposal.point;
    point.0.insert("max-num-seqs".into(), Value::Int(256));
    let trials = trimmed(&study, trials, |flags| {
        let needed = ["max-num-seqs", "max-num-batched-tokens"];
        let kept = needed.iter().filter(|name| has(flags, name)).count();
        100.0 + 15.0 * kept as f64
    });
    let result = study.result(&trials, false);
    let names: Vec<String> = result.best.unwrap().flags.0.into_keys().collect();
    assert_eq!(names, ["max-num-batched-tokens", "max-num-seqs"]);
}

#[test]
fn a_loss_with_the_same_prompts_is_no_loss_to_what_other_prompts_do() {
    let study: Study = STUDY.parse().unwrap();
    let mut trials = found();
    trials.push(trial(2, Origin::Search, served(128.0, 500.0)));
    while let Some(proposal) = study.confirm(&NoRules, &trials, trials.len() as u64) {
        let losses = [("block-size", 0.014), ("max-num-seqs", 0.2)];
        let lost = losses
            .iter()
            .filter(|(name, _)| !has(&proposal.flags, name));
        let rate = 130.0 * (1.0 - lost.map(|(_, lost)| lost).sum::<f64>());
        // The prompts of a round do the same to all that see them.
        let of_round = match proposal.origin {
            Origin::Confirm { round: Some(1), .. } => 0.97,
            _ => 1.0,
        };
        let ending = served(rate * of_round, 500.0);
        trials.push(Trial { proposal, ending });
        assert!(trials.len() < 60, "the last stage does not end");
    }
    let names: Vec<String> = (study.result(&trials, true).best.unwrap().flags.0)
        .into_keys()
        .collect();
    assert_eq!(names, ["block-size", "max-num-seqs"]);
}
