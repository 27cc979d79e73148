//! What the report of a study of launch flags says.

use inferometer_campaign::space::{Point, RefusedValue, Value};
use inferometer_campaign::study::{
    Best, Change, ChangeEffect, Comparison, Direction, Effect, FailureCount, FigureChange,
    FigurePair, Finding, Importance, NeededFlag, Objective, Refuted, Spread, Standing, StartPair,
    StartsInStep, Study, StudyResult, TrialRow, Trimming,
};
use inferometer_campaign::trial::{Bed, Level, Measurement, Origin, State};
use inferometer_page::doc::{Block, Tone, Verdict};
use inferometer_page::text;
use inferometer_report::study::{StudyReport, compose};
use inferometer_text::Lang;
use serde_json::json;
use std::collections::BTreeSet;
use std::path::Path;

mod figures;

const STUDY: &str = r#"
[engine]
command = "vllm serve m"
[space]
max-num-seqs = { int = [16, 1024], log = true }
[work]
input-tokens = "512"
output-tokens = "128"
[load]
concurrency = [64]
[goal]
maximize = "throughput.output_tokens_per_s"
slo = ["ttft.p99=1s"]
[budget]
trials = 30
"#;

/// A study and its result, which a report borrows.
struct Sample {
    study: Study,
    result: StudyResult,
}

impl Sample {
    fn report(&self, lang: Lang) -> StudyReport<'_> {
        StudyReport {
            study: &self.study,
            result: &self.result,
            directory: Path::new("out"),
            lang,
        }
    }

    fn shown(&self, lang: Lang) -> String {
        text::render(&compose(&self.report(lang)), text::TextStyle::default())
    }
}

fn trial(id: u64, origin: Origin, state: State, figure: Option<f64>) -> TrialRow {
    TrialRow {
        id,
        origin,
        flags: seqs(16 << id),
        implied: None,
        state,
        class: None,
        evidence: None,
        objective: figure,
        objectives: vec![figure],
        slo_figures: vec![figure.map(|_| 812.5)],
        violation: figure.map(|_| 0.0),
        valid: figure.map(|_| true),
        failed_requests: None,
        device_memory_gib: None,
        summary: None,
        levels: Vec::new(),
    }
}

fn seqs(count: i64) -> Point {
    [("max-num-seqs", Value::Int(count))].into_iter().collect()
}

fn change(metric: &str, value: f64, [low, high]: [f64; 2]) -> Change {
    Change {
        metric: metric.into(),
        value,
        low,
        high,
        effect: ChangeEffect::Better,
    }
}

fn minimize(path: &str) -> Objective {
    Objective {
        path: path.into(),
        direction: Direction::Minimize,
    }
}

fn sample() -> Sample {
    let crashed = TrialRow {
        class: Some("no-room-for-kv-cache".into()),
        evidence: Some("ValueError".into()),
        ..trial(1, Origin::Search, State::Crashed, None)
    };
    let mut study: Study = STUDY.parse().unwrap();
    study.last_stage.repeats = 4;
    let result = StudyResult {
        trials: vec![
            trial(0, Origin::Default, State::Done, Some(1000.0)),
            crashed,
            trial(2, Origin::Search, State::Done, Some(1200.0)),
            trial(
                3,
                Origin::Confirm { of: 2, round: None },
                State::Done,
                Some(1190.0),
            ),
        ],
        best: Some(Best {
            trial: 2,
            flags: seqs(64),
            command: String::new(),
            confirmed: true,
            standing: Standing::Decided,
        }),
        finding: Finding::Better,
        comparison: Some(Comparison {
            trial: 2,
            changes: vec![change("throughput.output_tokens_per_s", 0.19, [0.15, 0.23])],
            pairs: Vec::new(),
            figures: Vec::new(),
            in_step: None,
        }),
        failures: vec![FailureCount {
            class: "no-room-for-kv-cache".into(),
            count: 1,
            words: Some("ValueError".into()),
        }],
        ..study.result(&[], false)
    };
    Sample { study, result }
}

#[test]
fn what_is_not_certain_is_not_called_the_best() {
    let mut sample = sample();
    sample.result.finding = Finding::NoCertainGain;
    sample.result.best.as_mut().unwrap().standing = Standing::Uncertain;
    let shown = sample.shown(Lang::En);
    assert!(shown.contains("Gain not certain (trial 2)"), "{shown}");
    assert!(!shown.contains("Best (trial"), "{shown}");
    sample.result.finding = Finding::NoneHeld;
    sample.result.best.as_mut().unwrap().standing = Standing::SeenOnce;
    let shown = sample.shown(Lang::En);
    assert!(
        shown.contains("Not confirmed (trial 2)") && !shown.contains("Best (trial"),
        "{shown}"
    );
}

#[test]
fn the_best_command_and_its_gain_come_first() {
    let shown = sample().shown(Lang::En);
    let first = shown.lines().next().unwrap();
    assert!(
        first.contains("BETTER") && first.contains("+19.0 %"),
        "{shown}"
    );
    assert!(shown.contains("vllm serve m --max-num-seqs 64"), "{shown}");
    assert!(shown.contains("2 measured, 1 failed"), "{shown}");
    assert!(shown.contains("no-room-for-kv-cache"), "{shown}");
    assert!(
        shown.contains("ttft.p99  changed") && shown.contains("812.5"),
        "the column, its unit below: {shown}"
    );
}

#[test]
fn the_table_of_flags_names_its_objective_and_what_cannot_be_told_apart() {
    let mut sample = sample();
    let flag = |name: &str, effect, other: Option<&str>| Importance {
        flag: name.into(),
        share: 0.5,
        gain: None,
        spread: None,
        effect,
        best_at: None,
        beside: None,
        changed_with: other.into_iter().map(str::to_owned).collect(),
    };
    sample.result.importance = vec![
        flag("mode", Effect::Choice, Some("a")),
        flag("a", Effect::Falls, Some("mode")),
        flag("b", Effect::NotVaried, None),
    ];
    let shown = sample.shown(Lang::En);
    assert_eq!(
        shown.matches("a, mode changed together").count(),
        1,
        "{shown}"
    );
    assert!(shown.contains("not varied"), "{shown}");
    assert!(!shown.contains("trials that met the SLOs"), "{shown}");
    sample.result.importance_of_met = Some(9);
    let shown = sample.shown(Lang::En);
    assert!(shown.contains("the 9 trials that met the SLOs"), "{shown}");
    // With one objective there is no doubt which is meant.
    assert!(!shown.contains("first of the objectives"), "{shown}");
    let objectives = &mut sample.study.goal.objectives;
    objectives.push(minimize("latency.ttft_ms.p99"));
    let shown = sample.shown(Lang::En);
    assert!(
        shown.contains("What moves throughput.output_tokens_per_s"),
        "{shown}"
    );
}

#[test]
fn every_figure_is_named_with_its_own_change() {
    let mut sample = sample();
    sample.result.finding = Finding::TradeOff;
    let comparison = sample.result.comparison.as_mut().unwrap();
    let ttft = change("latency.ttft_ms.p99", -0.732, [-0.74, -0.72]);
    comparison.changes.push(ttft);
    let said = verdict(&sample.report(Lang::En));
    assert_eq!(
        (said.word.as_str(), said.tone),
        ("TRADE-OFF", Tone::Caution)
    );
    assert!(
        said.reason.starts_with("trial 2 against"),
        "{}",
        said.reason
    );
    let throughput = said.reason.find("+19.0 %").unwrap();
    let ttft = said.reason.find("TTFT, p99 -73.2 %").unwrap();
    assert!(throughput < ttft, "{}", said.reason);
}

#[test]
fn invalid_trials_show_their_failed_requests_and_several_loads_their_figures() {
    let mut sample = sample();
    sample.study.levels = vec![Level::Concurrency(16), Level::Concurrency(64)];
    let trial = &mut sample.result.trials[2];
    trial.valid = Some(false);
    trial.failed_requests = Some(36);
    trial.levels = [(16, 400.0), (64, 3600.0)]
        .map(|(streams, tokens_per_s)| Measurement {
            load: Level::Concurrency(streams),
            summary: json!({"throughput": {"output_tokens_per_s": tokens_per_s}}),
            seconds: None,
        })
        .to_vec();
    let shown = sample.shown(Lang::En);
    let head = shown.lines().find(|line| line.contains("at 16")).unwrap();
    assert!(
        head.contains("at 64") && head.contains("failed req"),
        "{shown}"
    );
    let row = shown.lines().find(|line| line.contains("invalid")).unwrap();
    assert!(row.contains("3,600") && row.contains("36"), "{shown}");
    assert!(shown.contains("geometric mean"), "{shown}");
}

#[test]
fn the_chinese_report_has_no_english_headings() {
    let shown = sample().shown(Lang::Zh);
    assert!(
        shown.contains("更好") && shown.contains("全部试验"),
        "{shown}"
    );
    assert!(!shown.contains("All trials"), "{shown}");
}

#[test]
fn a_value_at_the_edge_is_told_to_go_on_only_where_the_load_would_feel_it() {
    let at = |best: i64, concurrency: &str| {
        let mut sample = sample();
        let load = format!("concurrency = [{concurrency}]");
        sample.study = (STUDY.replace("concurrency = [64]", &load).parse()).unwrap();
        sample.result.best.as_mut().unwrap().flags = seqs(best);
        sample.shown(Lang::En).replace("\n", " ")
    };
    let bounded = at(1024, "64, 512");
    assert!(bounded.contains("at most 512 under way"), "{bounded}");
    assert!(!bounded.contains("raise the upper end"), "{bounded}");
    let open = at(1024, "2048");
    assert!(open.contains("raise the upper end"), "{open}");
    assert!(!at(64, "64").contains("At the edge"), "not at an end");
}

#[test]
fn flags_are_needed_for_what_is_worse_without_them_and_what_else_changes_is_told() {
    let figure = |metric: &str, value| FigureChange {
        metric: metric.into(),
        value,
    };
    let mut sample = sample();
    sample.result.trimming = Some(Trimming {
        of: 2,
        left_out: [("block-size", Value::Int(32))].into_iter().collect(),
        also: vec![figure("latency.ttft_ms.p50", 1.04)],
        needed: vec![NeededFlag {
            flag: "max-num-seqs".into(),
            value: Value::Int(64),
            without: Some(-0.001),
            worsens: Some(figure("latency.ttft_ms.p99", 0.9)),
            fails_without: false,
            misses_without: false,
        }],
    });
    let shown = sample.shown(Lang::En);
    let words: Vec<&str> = shown.split_whitespace().collect();
    let shown = words.join(" ");
    for expected in [
        "max-num-seqs=64 (-0.1 %; TTFT, p99 +90.0 % without it)",
        "block-size=32: nothing lost without them beyond what fresh starts differ by, in the goal and its limits; leaving them out changes TTFT, p50 +104 %",
    ] {
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
}

#[test]
fn values_that_are_as_good_as_those_of_the_best_are_named() {
    let mut sample = sample();
    let needed = NeededFlag {
        flag: "max-num-seqs".into(),
        value: Value::Int(64),
        without: Some(-0.2),
        worsens: None,
        fails_without: false,
        misses_without: false,
    };
    sample.result.trimming = Some(Trimming {
        of: 2,
        left_out: [("block-size", Value::Int(32))].into_iter().collect(),
        also: Vec::new(),
        needed: vec![needed],
    });
    let with = |id, flags: &[(&str, i64)], figure| {
        let flags = flags
            .iter()
            .map(|(name, value)| (*name, Value::Int(*value)));
        TrialRow {
            flags: flags.collect(),
            ..trial(id, Origin::Search, State::Done, Some(figure))
        }
    };
    sample.result.trials.extend([
        // A flag that could be left out may have any value.
        with(4, &[("max-num-seqs", 48), ("block-size", 16)], 1199.0),
        // Worse, and another that matters.
        with(5, &[("max-num-seqs", 32)], 1100.0),
        with(
            6,
            &[("max-num-seqs", 24), ("tensor-parallel-size", 2)],
            1200.0,
        ),
    ]);
    let shown = sample.shown(Lang::En);
    let line = shown.lines().find(|line| line.contains("As good"));
    let line = line.unwrap_or_default();
    assert!(line.contains("max-num-seqs=48: within 1 %"), "{shown}");
    // Where that flag does something beside other values, what it is with 48 is its doing too.
    sample.result.importance = vec![Importance {
        flag: "block-size".into(),
        share: 0.0,
        gain: Some(0.0),
        spread: None,
        effect: Effect::OnlyBeside,
        beside: Some([("max-num-seqs", Value::Int(48))].into_iter().collect()),
        best_at: None,
        changed_with: Vec::new(),
    }];
    let shown = sample.shown(Lang::En);
    let line = shown.lines().find(|line| line.contains("As good"));
    assert!(!line.unwrap_or_default().contains("=48"), "{shown}");
    assert!(
        words_of(&sample).contains("block-size only beside max-num-seqs=48"),
        "{shown}"
    );
}

#[test]
fn the_report_says_where_it_ran_what_users_feel_and_which_starts_decided() {
    let mut sample = sample();
    sample.result.bed = Some(Bed {
        computed: true,
        engine: "vllm".into(),
        version: Some("0.6.3".into()),
        model: Some("qwen".into()),
        device: Some("NVIDIA A100".into()),
        cards: Some(4),
        refused: vec![RefusedValue {
            flag: "max-num-seqs".into(),
            value: Value::Text("lots".into()),
            because: "argument --max-num-seqs: invalid int value: 'lots'".into(),
        }],
        legal_points: Some(1),
    });
    sample.result.computed = true;
    for (id, of, figure) in [
        (4, 2, 1190.0),
        (5, 0, 1000.0),
        (6, 2, 1190.0),
        (7, 0, 1000.0),
    ] {
        let origin = Origin::Confirm { of, round: Some(2) };
        let mut start = trial(id, origin, State::Done, Some(figure));
        start.violation = Some(if id == 7 { 0.2 } else { 0.0 });
        sample.result.trials.push(start);
    }
    let comparison = sample.result.comparison.as_mut().unwrap();
    let pair = |trial, default| StartPair { trial, default };
    comparison.pairs = vec![pair(4, 5), pair(6, 7)];
    comparison.figures = vec![FigurePair {
        metric: "latency.ttft_ms.p99".into(),
        trial: 823.0,
        default: 133.0,
    }];
    let words = |lang| {
        let shown = sample.shown(lang);
        shown.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let shown = words(Lang::En);
    for expected in [
        "vllm 0.6.3, 4 × NVIDIA A100",
        "Model qwen",
        "TTFT, p99 ms 133 823 6.2 ×",
        "1 trial 2 4 1,190.00 812.5 SLO met",
        "2 default 7 1,000.00 812.5 SLO missed",
        "all 2 pairs of fresh starts gave the same numbers",
        "only one point of this space",
        "max-num-seqs lots argument --max-num-seqs: invalid int value: 'lots'",
    ] {
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
    assert!(words(Lang::Zh).contains("4 × NVIDIA A100"));
}

#[test]
fn what_misses_the_slo_without_a_flag_is_said_and_engines_words_end_with_a_sentence() {
    let mut sample = sample();
    sample.result.trimming = Some(Trimming {
        of: 2,
        left_out: Point::default(),
        also: Vec::new(),
        needed: vec![NeededFlag {
            flag: "max-num-seqs".into(),
            value: Value::Int(64),
            without: Some(-0.001),
            worsens: Some(FigureChange {
                metric: "latency.ttft_ms.p99".into(),
                value: 0.589,
            }),
            fails_without: false,
            misses_without: true,
        }],
    });
    let long = "It is refused for a reason that takes some words to say. ".repeat(12);
    sample.result.failures[0].words = Some(long);
    let shown = sample.shown(Lang::En);
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    let expected = "the SLO is missed without it: -0.1 %; TTFT, p99 +58.9 %";
    assert!(shown.contains(expected), "{shown}");
    assert!(shown.contains("to say. …"), "{shown}");
}

fn verdict(report: &StudyReport<'_>) -> Verdict {
    match compose(report).sections[0].blocks.first() {
        Some(Block::Verdict(verdict)) => verdict.clone(),
        other => panic!("{other:?}"),
    }
}

fn words_of(sample: &Sample) -> String {
    let shown = sample.shown(Lang::En);
    shown.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn what_was_refuted_is_told_by_the_starts_that_took_place() {
    let mut sample = sample();
    sample.result.finding = Finding::DefaultBest;
    sample.result.comparison = None;
    sample.result.refuted = vec![
        Refuted {
            trial: 2,
            starts: 6,
            held: 5,
            changes: vec![change("throughput.output_tokens_per_s", 0.03, [0.02, 0.04])],
        },
        Refuted {
            trial: 9,
            starts: 2,
            held: 0,
            changes: Vec::new(),
        },
    ];
    let shown = words_of(&sample);
    let expected = "trial 2 in 5 of 6, with Output throughput +3.0 % (95 %: +2.0 % to +4.0 %) against the default; trial 9 in 0 of 2";
    assert!(shown.starts_with("DEFAULT IS BEST"), "{shown}");
    assert!(shown.contains(expected), "{shown}");
    sample.result.finding = Finding::NoneHeld;
    let shown = words_of(&sample);
    let expected = "NO CERTAIN GAIN no setting is confirmed to be better than the default";
    assert!(
        shown.starts_with(expected) && shown.contains("5 of 6"),
        "{shown}"
    );
    sample.result.finding = Finding::DefaultAlone;
    let shown = words_of(&sample);
    assert!(!shown.contains("DEFAULT IS BEST"), "{shown}");
}

#[test]
fn starts_are_counted_and_those_that_are_one_measurement_are_called_so() {
    let mut sample = sample();
    for (id, of) in [(4, 2), (5, 0), (6, 2), (7, 0)] {
        let origin = Origin::Confirm { of, round: Some(2) };
        let figure = if of == 0 { 1000.0 } else { 1190.0 };
        let start = trial(id, origin, State::Done, Some(figure));
        sample.result.trials.push(start);
    }
    let pair = |trial, default| StartPair { trial, default };
    let comparison = sample.result.comparison.as_mut().unwrap();
    comparison.pairs = vec![pair(4, 5), pair(6, 7)];
    let said = verdict(&sample.report(Lang::En)).reason;
    assert!(
        said.ends_with("against the default, 2 starts each"),
        "{said}"
    );
    sample.result.computed = true;
    sample.result.finding = Finding::NoCertainGain;
    let said = verdict(&sample.report(Lang::En)).reason;
    assert!(said.ends_with("which is one measurement"), "{said}");
}

#[test]
fn a_gain_of_streams_that_sent_in_waves_is_told_as_one() {
    let mut sample = sample();
    assert!(!sample.shown(Lang::En).contains("In step"));
    let comparison = sample.result.comparison.as_mut().unwrap();
    comparison.pairs = vec![
        StartPair {
            trial: 3,
            default: 4
        };
        5
    ];
    comparison.in_step = Some(StartsInStep {
        trial: 0,
        default: 5,
    });
    let shown = sample
        .shown(Lang::En)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    let told = "the streams sent in waves in 0 of 5 starts of trial 2 and 5 of 5 of the default";
    assert!(shown.contains(told), "{shown}");
    assert!(sample.shown(Lang::Zh).contains("步调一致"));
}

#[test]
fn of_flags_that_are_not_modelled_nothing_is_said_but_that() {
    let mut sample = sample();
    sample.study.unmodelled = vec!["a.b.swap-space".into()];
    sample.result.trimming = Some(Trimming {
        of: 2,
        left_out: [
            ("a.b.swap-space", Value::Int(8)),
            ("block-size", Value::Int(32)),
        ]
        .into_iter()
        .collect(),
        also: Vec::new(),
        needed: Vec::new(),
    });
    let shown = words_of(&sample);
    assert!(shown.contains("Left out block-size=32: nothing"), "{shown}");
    let expected = "Not modelled swap-space: cannot be told here";
    assert!(shown.contains(expected), "{shown}");
}

#[test]
fn what_a_trial_changed_is_what_must_be_added_to_the_command() {
    let mut sample = sample();
    sample.result.defaults = seqs(64);
    let flags = [("max-num-seqs", Value::Int(64)), ("mode", Value::Int(1))];
    let trial = &mut sample.result.trials[2];
    trial.flags = flags.into_iter().collect();
    let earlier = words_of(&sample);
    assert!(
        earlier.contains(" mode=1") && !earlier.contains("max-num-seqs=64 mode=1"),
        "by the values, in earlier logs: {earlier}"
    );
    // With this mode the engine has fewer sequences, unless it is told otherwise.
    sample.result.trials[2].implied = Some(BTreeSet::new());
    let shown = words_of(&sample);
    assert!(shown.contains("max-num-seqs=64 mode=1"), "{shown}");
}

#[test]
fn losses_that_do_not_add_up_are_said_to_be_of_flags_together() {
    let mut sample = sample();
    let flag = |name: &str, gain| Importance {
        flag: name.into(),
        share: 0.5,
        gain: Some(gain),
        spread: None,
        effect: Effect::Choice,
        best_at: None,
        beside: None,
        changed_with: Vec::new(),
    };
    sample.result.importance = vec![flag("chunks", 0.25), flag("tokens", 0.19)];
    let shown = words_of(&sample);
    for expected in [
        "chunks 50 % -20.0 % one is better",
        "Without it: the change of Output throughput where this flag alone goes",
        "chunks, tokens work together",
    ] {
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
    sample.result.importance = vec![flag("chunks", 0.1), flag("tokens", 0.08)];
    let shown = words_of(&sample);
    assert!(!shown.contains("work together"), "{shown}");
}

#[test]
fn failed_requests_are_explained_in_the_servers_words() {
    let mut sample = sample();
    let trial = &mut sample.result.trials[2];
    trial.failed_requests = Some(7);
    trial.summary = Some(json!({"failures": [
        {"class": "timeout", "count": 1, "sample": "too late"},
        {"class": "context-exceeded", "count": 6, "sample": "the input has 2345 tokens"}]}));
    let shown = words_of(&sample);
    let expected = "failed req, most of them context-exceeded: the input has 2345 tokens";
    assert!(shown.contains(expected), "{shown}");
}

#[test]
fn a_command_that_fresh_starts_refuted_is_not_called_unconfirmed() {
    let mut sample = sample();
    sample.result.finding = Finding::NoneHeld;
    sample.result.best.as_mut().unwrap().standing = Standing::SeenOnce;
    sample.result.refuted = vec![Refuted {
        trial: 2,
        starts: 2,
        held: 1,
        changes: Vec::new(),
    }];
    let shown = sample.shown(Lang::En);
    assert!(shown.contains("Did not hold (trial 2)"), "{shown}");
}

#[test]
fn what_a_flag_does_is_told_whatever_won_and_a_default_between_searched_values_is_not_the_best_of_all()
 {
    let mut sample = sample();
    sample.result.finding = Finding::DefaultBest;
    sample.result.defaults = seqs(50);
    sample.result.importance = vec![Importance {
        flag: "max-num-seqs".into(),
        share: 0.0,
        gain: Some(0.0),
        spread: Some(Spread {
            worst: Value::Int(16),
            best: Value::Int(50),
            change: 0.842,
        }),
        effect: Effect::DefaultBest,
        best_at: Some(Value::Int(50)),
        beside: None,
        changed_with: Vec::new(),
    }];
    let shown = words_of(&sample);
    assert!(
        shown.starts_with("DEFAULT IS BEST of the values searched"),
        "{shown}"
    );
    let expected = "max-num-seqs none better than the default 50 16 → 50: +84.2 %";
    assert!(shown.contains(expected), "{shown}");
    let expected = "the default max-num-seqs=50 lies between 32 and 64";
    assert!(shown.contains(expected), "{shown}");
    // A share of no gain is none.
    assert!(!shown.contains("share"), "{shown}");
}

#[test]
fn where_nothing_meets_the_limits_the_nearest_trial_and_what_is_out_of_reach_are_named() {
    let mut sample = sample();
    sample
        .study
        .goal
        .slos
        .push("tpot.p99=50ms".parse().unwrap());
    sample.result.finding = Finding::Nothing;
    sample.result.trials.truncate(3);
    sample.result.best = None;
    sample.result.comparison = None;
    for (at, figures, violation) in [(0, [2000.0, 60.0], 1.2), (2, [900.0, 75.0], 0.5)] {
        let trial = &mut sample.result.trials[at];
        trial.slo_figures = figures.map(Some).to_vec();
        trial.violation = Some(violation);
    }
    let shown = words_of(&sample);
    for expected in [
        "NOTHING FOUND no trial met all limits; trial 2 came nearest, with 900 ms (ttft.p99=1s), 75.0 ms (tpot.p99=50ms)",
        "Nearest (trial 2) vllm serve m --max-num-seqs 64",
        "In reach ttft.p99=1s: trial 2 has 900 ms",
        "Out of reach tpot.p99=50ms: the best of all trials is 60.0 ms (trial 0)",
    ] {
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
}

#[test]
fn a_default_that_does_not_start_is_said_to_fail_and_the_best_is_named_with_its_figures() {
    let mut sample = sample();
    sample.result.finding = Finding::NoDefault;
    sample.result.comparison = None;
    sample.result.trials[0] = TrialRow {
        class: Some("out-of-memory-loading".into()),
        ..trial(0, Origin::Default, State::Crashed, None)
    };
    let shown = words_of(&sample);
    let expected = "DEFAULT DOES NOT START the default fails (out-of-memory-loading), so no gain can be stated; the best that serves and meets the goal is trial 2: Output throughput 1,190 tok/s";
    assert!(shown.starts_with(expected), "{shown}");
    assert!(shown.contains("Best (trial 2)"), "{shown}");
}
