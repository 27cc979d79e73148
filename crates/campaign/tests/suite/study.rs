//! What a study proposes, decides and says.

use inferometer_campaign::search::{Ask, Observation, Outcome, Random, Searcher, Tpe};
use inferometer_campaign::space::{Dimension, Domain, NoRules, Point, Space, Spacing, Value};
use inferometer_campaign::study::*;
use inferometer_campaign::trial::{
    Ending, Header, Level, Measurement, Origin, Proposal, State, Trial, TrialLog,
};
use inferometer_catalog::engine::EngineKind;
use serde_json::json;

mod importance;
mod trimming;
mod verdict;

pub(crate) const STUDY: &str = r#"
[engine]
command = "vllm serve Qwen/Qwen2.5-7B-Instruct --port {port}"
[space]
max-num-seqs = { int = [16, 1024], log = true }
max-num-batched-tokens = { int = [256, 16384], log = true }
enable-prefix-caching = { bool = true }
block-size = { choice = [16, 32] }
[work]
input-tokens = "normal(512,100)"
output-tokens = "128"
[load]
concurrency = [64]            # or: capacity = true
[goal]
maximize = "throughput.output_tokens_per_s"
slo = ["ttft.p99=1s", "tpot.p99=50ms"]
[budget]
trials = 30
hours = 3
"#;

/// A second objective.
const TTFT: (&str, &str) = ("[budget]", "minimize = \"latency.ttft_ms.p99\"\n[budget]");
/// Two limits, in the words of the study.
pub(crate) const SLOS: &str = r#"slo = ["ttft.p99=1s", "tpot.p99=50ms"]"#;

/// The study without the trimming of its last stage, which has tests of its own.
fn study() -> Study {
    let mut study: Study = STUDY.parse().unwrap();
    study.last_stage.trim = false;
    study
}

/// The study with other texts in place of some.
fn changed<const N: usize>(changes: [(&str, &str); N]) -> Result<Study, String> {
    let text = changes.iter().fold(STUDY.to_owned(), |text, (old, new)| {
        assert!(text.contains(old), "{old}");
        text.replace(old, new)
    });
    let parsed: Result<Study, StudyError> = text.parse();
    let mut study = parsed.map_err(|error| error.to_string())?;
    study.last_stage.trim = false;
    Ok(study)
}

fn observed(point: Point, objective: f64, violation: f64) -> Observation {
    Observation {
        point,
        outcome: Outcome::Measured {
            objectives: vec![objective],
            violation,
        },
    }
}

fn of<'a>(found: &'a [Importance], flag: &str) -> &'a Importance {
    found.iter().find(|one| one.flag == flag).unwrap()
}

#[test]
fn the_study_of_the_manual_is_read() {
    let study = study();
    assert_eq!(study.engine.kind(), EngineKind::Vllm);
    assert_eq!(study.space.dimensions().len(), 4);
    assert_eq!(study.levels, [Level::Concurrency(64)]);
    assert_eq!(study.goal.slos.len(), 2);
    assert_eq!((study.budget.trials, study.budget.hours), (30, Some(3.0)));
    assert_eq!(study.searcher, SearcherName::Tpe);
    assert!(
        study.budget.allows(29, 2.9)
            && !study.budget.allows(30, 0.0)
            && !study.budget.allows(0, 3.0)
    );
}

fn point(seqs: i64) -> Point {
    [
        ("max-num-seqs", Value::Int(seqs)),
        ("max-num-batched-tokens", Value::Int(1024)),
        ("enable-prefix-caching", Value::Bool(true)),
        ("block-size", Value::Int(16)),
    ]
    .into_iter()
    .collect()
}

fn served(rate: f64, ttft: f64) -> Ending {
    Ending::done(vec![Measurement {
        load: Level::Concurrency(64),
        summary: json!({"throughput": {"output_tokens_per_s": rate},
            "latency": {"ttft_ms": {"p99": ttft}, "tpot_ms": {"p99": 10.0}}}),
        seconds: None,
    }])
}

fn trial(id: u64, origin: Origin, ending: Ending) -> Trial {
    let point = point(16 + id as i64);
    let flags = if origin == Origin::Default {
        Point::default()
    } else {
        point.clone()
    };
    Trial {
        proposal: Proposal {
            id,
            origin,
            flags,
            point,
            implied: None,
            repaired: None,
        },
        ending,
    }
}

#[test]
fn the_default_comes_first_and_presets_before_the_search() {
    let study = study();
    let mut trials: Vec<Trial> = Vec::new();
    let mut origins = Vec::new();
    for id in 0..5 {
        let proposal = study.propose(&Tpe, &NoRules, &trials, &[], id).unwrap();
        origins.push(proposal.origin.clone());
        trials.push(Trial {
            proposal,
            ending: served(1.0, 1.0),
        });
    }
    let presets = ["throughput", "latency"].map(|name| Origin::Preset(name.into()));
    assert_eq!(origins[0], Origin::Default);
    assert_eq!(origins[1..3], presets);
    assert_eq!(origins[3], Origin::Search);
    assert!(trials[0].proposal.flags.0.is_empty());
    // A pending trial is not proposed again.
    let pending = study.propose(&Tpe, &NoRules, &trials, &[], 5).unwrap();
    let next = study
        .propose(&Tpe, &NoRules, &trials, std::slice::from_ref(&pending), 6)
        .unwrap();
    assert!(!next.point.same(&pending.point));
}

/// Searched trials: the best three are 1, 2 and 3.
fn searched() -> Vec<Trial> {
    let mut trials = vec![trial(0, Origin::Default, served(100.0, 500.0))];
    for (id, rate) in [(1, 130.0), (2, 120.0), (3, 110.0), (4, 90.0)] {
        trials.push(trial(id, Origin::Search, served(rate, 500.0)));
    }
    let crash = Ending::failed(State::Crashed, "no-room-for-kv-cache", None);
    trials.push(trial(5, Origin::Search, crash));
    trials.push(trial(6, Origin::Search, served(999.0, 5000.0)));
    trials
}

/// Goes through the last stage with what each fresh start gives.
fn finished(
    study: &Study,
    mut trials: Vec<Trial>,
    ending: impl Fn(FreshStart) -> Ending,
) -> Vec<Trial> {
    while let Some(NextStart::Repeat(start)) = study.last_stage.next(&trials, &study.goal) {
        let FreshStart { of, round } = start;
        let round = Some(round);
        let id = trials.len() as u64;
        trials.push(trial(id, Origin::Confirm { of, round }, ending(start)));
    }
    trials
}

/// The last stage with a rate of each candidate, changed by what a round does to all of them
/// and by a little of each start.
fn confirmed(rates: [f64; 4], of_rounds: f64) -> Vec<Trial> {
    finished(&study(), searched(), |start| {
        let sign = |bit: usize| {
            if (start.round >> bit).is_multiple_of(2) {
                1.0
            } else {
                -1.0
            }
        };
        let little = 1.0 + 0.001 * sign(1) * (start.of as f64 - 1.5);
        let rate = rates[start.of as usize] * (1.0 + of_rounds * sign(0)) * little;
        served(rate, 500.0)
    })
}

#[test]
fn the_best_few_meet_each_other_and_the_first_of_them_meets_the_default_in_pairs() {
    let study = study();
    let trials = confirmed([100.0, 104.0, 120.0, 110.0], 0.05);
    let starts: Vec<(u64, Option<usize>)> = (trials.iter())
        .filter_map(|trial| match trial.proposal.origin {
            Origin::Confirm { of, round } => Some((of, round)),
            _ => None,
        })
        .collect();
    let selection = [(1, 0), (2, 0), (3, 0), (2, 1), (3, 1), (1, 1)];
    let pairs = [2, 3, 4, 5, 6].map(|round| match round % 2 {
        0 => [(2, round), (0, round)],
        _ => [(0, round), (2, round)],
    });
    let planned = selection.iter().chain(pairs.iter().flatten());
    let planned: Vec<_> = planned.map(|&(of, round)| (of, Some(round))).collect();
    assert_eq!(starts, planned);
    assert_eq!(starts.len(), study.last_stage.starts(4));
    // A killed study goes on where it was.
    let next = study.last_stage.next(&trials[..7 + 9], &study.goal);
    let start = FreshStart { of: 2, round: 3 };
    assert_eq!(next, Some(NextStart::Repeat(start)));
}

#[test]
fn a_round_that_changes_both_alike_does_not_widen_the_gain() {
    for of_rounds in [0.0, 0.05, 0.3] {
        let result = study().result(&confirmed([100.0, 104.0, 120.0, 110.0], of_rounds), false);
        let best = result.best.unwrap();
        assert_eq!(
            (best.trial, best.confirmed),
            (2, true),
            "fresh starts decide, not the search"
        );
        let gain = result.gain.unwrap();
        assert!(
            gain.certified && (gain.value - 0.2).abs() < 0.002,
            "{gain:?}"
        );
        assert!(gain.high - gain.low < 0.01, "{of_rounds}: {gain:?}");
    }
}

#[test]
fn a_challenger_that_fails_against_the_default_leaves_its_place_to_the_next() {
    let study = study();
    let trials = finished(&study, searched(), |start| match start {
        FreshStart { of: 1, round: 4 } => served(130.0, 5000.0),
        FreshStart { of, .. } => served([100.0, 130.0, 120.0, 110.0][of as usize], 500.0),
    });
    let result = study.result(&trials, false);
    assert_eq!(result.best.unwrap().trial, 2);
    assert!((result.gain.unwrap().value - 0.2).abs() < 1e-6);
}

#[test]
fn a_default_that_wins_says_by_how_much_and_a_trifle_is_no_gain() {
    let close = confirmed([102.0, 101.95, 80.0, 70.0], 0.02);
    let result = study().result(&close, false);
    assert_eq!(result.best.unwrap().trial, 0);
    let runner_up = result.runner_up.unwrap();
    assert!(
        runner_up.value < 0.0 && runner_up.high > 0.0,
        "{runner_up:?}"
    );
    assert_eq!(result.finding, Finding::DefaultFirst);
    let trifle = confirmed([100.0, 100.3, 80.0, 70.0], 0.0);
    let gain = study().result(&trifle, false).gain.unwrap();
    assert!(gain.low > 0.0 && !gain.certified, "{gain:?}");
}

#[test]
fn the_best_of_noise_is_no_gain() {
    let mut state = 1u64;
    let mut noise = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        100.0 * (1.0 + 0.05 * ((state >> 33) as f64 / (1u64 << 31) as f64 - 0.5))
    };
    let mut certified = 0;
    for _ in 0..200 {
        let rates = [(); 4].map(|()| [(); 7].map(|()| noise()));
        let trials = finished(&study(), searched(), |start| {
            served(rates[start.of as usize][start.round], 500.0)
        });
        let gain = study().result(&trials, false).gain;
        certified += usize::from(gain.is_some_and(|gain| gain.certified));
    }
    assert!(
        certified <= 12,
        "{certified} of 200 at a risk of 1 in 20, one-sided"
    );
}

#[test]
fn the_result_has_the_command_and_the_failures_by_class() {
    let trials = confirmed([100.0, 130.0, 120.0, 110.0], 0.0);
    let result = study().result(&trials, false);
    let best = result.best.as_ref().unwrap();
    let command = &best.command;
    assert!(
        command.starts_with("vllm serve Qwen/Qwen2.5-7B-Instruct --port"),
        "{command}"
    );
    assert!(command.contains("--max-num-seqs 17"), "{command}");
    assert_eq!(
        result.failures,
        [FailureCount {
            class: "no-room-for-kv-cache".into(),
            count: 1,
            words: None,
        }]
    );
    let json = serde_json::to_value(&result).unwrap();
    assert_eq!(json["schema"], "inferometer.study/1");
    assert_eq!(json["trials"][5]["state"], "crashed");
    assert_eq!(json["trials"][5]["objective"], serde_json::Value::Null);
    assert_eq!(json["trials"][1]["objective"], 130.0);
    assert_eq!(json["gain"]["certified"], true);
}

#[test]
fn failures_are_told_apart_by_their_rule_and_not_by_their_numbers() {
    let mut trials = searched();
    let refusals = [
        "max_num_batched_tokens (512) is smaller than max_model_len (32768). Please raise it.",
        "max_num_batched_tokens (8192) is smaller than max_model_len (32768). Please raise it.",
        "max_num_batched_tokens (512) must be at least max_num_seqs (1024).",
    ];
    for (at, words) in refusals.into_iter().enumerate() {
        let refused = Ending::failed(State::Refused, "illegal-flags", Some(words.into()));
        trials.push(trial(7 + at as u64, Origin::Search, refused));
    }
    let failures = study().result(&trials, false).failures;
    let illegal: Vec<(usize, &str)> = (failures.iter())
        .filter(|failure| failure.class == "illegal-flags")
        .map(|failure| (failure.count, failure.words.as_deref().unwrap()))
        .collect();
    assert_eq!(illegal, [(2, refusals[0]), (1, refusals[2])]);
}

#[test]
fn the_front_holds_what_nothing_beats_in_everything() {
    let study = changed([TTFT, (SLOS, "")]).unwrap();
    let figures = [
        (100.0, 50.0),
        (120.0, 80.0),
        (110.0, 90.0),
        (130.0, 200.0),
        (90.0, 60.0),
    ];
    let trials: Vec<Trial> = (figures.iter().enumerate())
        .map(|(id, &(rate, ttft))| trial(id as u64, Origin::Search, served(rate, ttft)))
        .collect();
    assert_eq!(study.result(&trials, false).pareto, [0, 1, 3]);
}

#[test]
fn importance_finds_the_flags_of_a_known_function() {
    let study = study();
    let mut past = Vec::new();
    for seed in 0..60 {
        let ask = Ask {
            space: &study.space,
            rules: &NoRules,
            past: &past,
            pending: &[],
            seed,
        };
        let point = Random.next(&ask).unwrap();
        let log = |flag: &str| point.get(flag).and_then(Value::number).unwrap().log2();
        let caching = f64::from(point.get("enable-prefix-caching") == Some(&Value::Bool(true)));
        // Tokens matter most and have a best place in the middle; seqs should be few.
        let value =
            100.0 - 6.0 * (log("max-num-batched-tokens") - 11.0).abs() - 2.0 * log("max-num-seqs")
                + 3.0 * caching;
        past.push(observed(point, value, 0.0));
    }
    let found = importance(&study.space, &past, None, 1);
    let order: Vec<&str> = found.iter().map(|one| one.flag.as_str()).collect();
    assert_eq!(
        order[..2],
        ["max-num-batched-tokens", "max-num-seqs"],
        "{found:?}"
    );
    let of = |flag| of(&found, flag);
    assert_eq!(of("max-num-batched-tokens").effect, Effect::Mixed);
    assert!(matches!(
        of("max-num-batched-tokens").best_at,
        Some(Value::Int(1024..=4096))
    ));
    assert_eq!(of("max-num-seqs").effect, Effect::Falls);
    assert_eq!(of("enable-prefix-caching").effect, Effect::Choice);
    assert_eq!(of("enable-prefix-caching").best_at, Some(Value::Bool(true)));
    assert!(of("block-size").share < 0.05, "{found:?}");
    assert!(importance(&study.space, &past[..3], None, 1).is_empty());
    // Fresh starts that differ by more than all flags together make every effect a chance.
    let drowned = importance(&study.space, &past, Some(10.0), 1);
    assert!(
        drowned
            .iter()
            .all(|one| one.effect == Effect::None && one.share == 0.0 && one.best_at.is_none())
    );
}

#[test]
fn a_trial_replaces_what_the_command_sets_and_the_first_keeps_it() {
    let study = changed([("--port {port}", "--port {port} --max-num-seqs 4")]).unwrap();
    let default = study.propose(&Tpe, &NoRules, &[], &[], 0).unwrap();
    let line = study.engine.command_line(&default.flags);
    assert!(line.contains("--max-num-seqs 4"), "{line}");
    let line = study.engine.command_line(&point(64));
    assert!(line.contains("--max-num-seqs 64") && !line.contains("--max-num-seqs 4 "));
    assert_eq!(
        inferometer_campaign::space::value_in(&study.engine.command, "max-num-seqs"),
        Some(Value::Int(4))
    );
}

#[test]
fn flags_that_the_simulated_engine_does_not_act_on_are_not_searched_there() {
    let study = changed([(
        "block-size = { choice = [16, 32] }",
        "disable-custom-all-reduce = { bool = true }",
    )])
    .unwrap();
    let computed = study.clone().computed();
    assert_eq!(computed.unmodelled, ["disable-custom-all-reduce"]);
    let names: Vec<&str> = (computed.space.dimensions().iter())
        .map(|dimension| dimension.name.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "enable-prefix-caching",
            "max-num-batched-tokens",
            "max-num-seqs"
        ]
    );
    let found = computed.result(&confirmed([100.0, 104.0, 120.0, 110.0], 0.05), true);
    let line = of(&found.importance, "disable-custom-all-reduce");
    assert_eq!((line.effect, line.gain), (Effect::NotModelled, None));
    // A flag that another follows stays, and so do all where there are no others.
    let followed = changed([
        (
            "block-size = { choice = [16, 32] }",
            "max-parallel-loading-workers = { int = [1, 8] }",
        ),
        (
            "max-num-seqs = { int = [16, 1024], log = true }",
            "max-num-seqs = \"max-parallel-loading-workers*2\"",
        ),
    ]);
    let followed = followed.unwrap().computed();
    assert_eq!(followed.space.derived().len(), 1);
    assert_eq!(followed.space.dimensions().len(), 3);
}
