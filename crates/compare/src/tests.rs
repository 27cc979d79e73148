mod decisions;
mod imports;
mod pairing;

use super::*;
use inferometer_analysis::fold::precision::{Precision, RestsOn, Sample};
use inferometer_analysis::fold::testing::MadeUp;
use inferometer_core::doubt::{DoubtCode, Severity};
use inferometer_core::point::GROUP;
use inferometer_core::record::TokenSource;
use inferometer_core::seed::{Dimension, rng};
use inferometer_core::summary::{StatedDoubt, Summary, WindowSpan};
use rand_distr::{Distribution as _, StandardNormal};
use std::collections::BTreeMap;

fn point(concurrency: u32) -> Point {
    Point([("concurrency".to_owned(), concurrency.into())].into())
}

/// A run of `n` requests of about `latency_ms`, one after the other, whose whole speed is off
/// by `luck`.
fn run(n: u64, latency_ms: f64, luck: f64, seed: u64) -> RunSample {
    let mut random = rng(seed, Dimension::Words, 9);
    let mean = latency_ms * luck.exp();
    let latencies: Vec<f64> = (0..n)
        .map(|_| {
            let noise: f64 = StandardNormal.sample(&mut random);
            mean * (0.2 * noise).exp()
        })
        .collect();
    let seconds = latencies.iter().sum::<f64>() / 1e3;
    let mut summary: Summary = MadeUp::closed(1, 30).summary();
    summary.valid = true;
    summary.doubts.clear();
    summary.throughput.requests_per_s = Some(n as f64 / seconds);
    summary.throughput.output_tokens_per_s = Some(100.0 * n as f64 / seconds);
    summary.throughput.total_tokens_per_s = Some(300.0 * n as f64 / seconds);
    let precision = Precision {
        requests: n as f64,
        waves: n as f64,
        is_open: false,
        effect: 1.0,
        spread: 0.0,
        bunching: 1.0,
        streams: 1.0,
        memory: 0.0,
        weight: 1.0,
    };
    let of = |share: f64| {
        let sample = Sample {
            values: latencies.iter().map(|ms| ms * share).collect(),
            places: Vec::new(),
        };
        precision.described(&sample, None, RestsOn::Requests)
    };
    let batches = precision.batches(RestsOn::Requests).ok();
    let per_s: Vec<f64> = latencies.iter().map(|_| 1e3).collect();
    let rate = batches.and_then(|batches| batches.ratio(&per_s, &latencies));
    summary.throughput.requests_per_s_interval = rate;
    summary.throughput.output_tokens_per_s_interval = rate.map(|ends| ends.map(|end| 100.0 * end));
    summary.latency.ttft_ms = of(0.25);
    summary.latency.tpot_ms = of(0.01);
    summary.latency.e2e_ms = of(1.0);
    summary.latency.max_gap_ms = of(0.1);
    RunSample {
        name: String::new(),
        point: point(8),
        answered: Some(summary.requests.ok),
        summary,
        definition: Definition::default(),
        system: System::default(),
        foreign_doubts: Vec::new(),
        in_chinese: BTreeMap::new(),
        contradicted: Vec::new(),
        series: Some(Series::of_latencies(latencies)),
    }
}

fn group(name: &str, runs: Vec<RunSample>) -> Group {
    Group {
        name: name.to_owned(),
        runs,
        ..Group::default()
    }
}

/// `count` runs whose speed varies by `deviation` from one to the next.
fn repeats(name: &str, count: u64, latency_ms: f64, deviation: f64, seed: u64) -> Group {
    let mut random = rng(seed, Dimension::Words, 77);
    let runs = (0..count).map(|at| {
        let luck: f64 = StandardNormal.sample(&mut random);
        run(2000, latency_ms, deviation * luck, seed * 1000 + at)
    });
    group(name, runs.collect())
}

fn verdicts(groups: &[Group]) -> BTreeMap<Metric, Verdict> {
    let found = compare(groups, &Settings::default());
    found
        .rows
        .iter()
        .map(|row| (row.metric, row.verdict))
        .collect()
}

fn primary(groups: &[Group]) -> Row {
    let found = compare(groups, &Settings::default());
    found.rows.into_iter().find(|row| row.primary).unwrap()
}

#[test]
fn a_faster_server_is_better_in_throughput_and_in_latency() {
    let a = repeats("a", 5, 100.0, 0.005, 1);
    let b = repeats("b", 5, 90.0, 0.005, 2);
    let found = compare(&[a.clone(), b.clone()], &Settings::default());
    assert!(found.comparable && found.why_not.is_empty());
    assert!(
        found.rows.iter().all(|row| row.verdict == Verdict::Better),
        "{found:#?}"
    );
    let row = &found.rows[0];
    assert!(row.primary && row.metric == Metric::OutputTokensPerS);
    assert_eq!((row.basis, row.runs), (Basis::Permutation, [5, 5]));
    let (low, high) = (row.low.unwrap(), row.high.unwrap());
    assert!(low < 100.0 / 90.0 && 100.0 / 90.0 < high && high - low < 0.05);
    assert!(compare(&[b, a], &Settings::default()).is_worse(true));
}

#[test]
fn equal_servers_are_the_same_with_enough_runs_and_unknown_with_few_noisy_ones() {
    let groups = |count, deviation| {
        [
            repeats("a", count, 100.0, deviation, 3),
            repeats("b", count, 100.0, deviation, 4),
        ]
    };
    let row = primary(&groups(6, 0.004));
    assert_eq!((row.verdict, row.within_margin), (Verdict::Same, None));
    let row = primary(&groups(2, 0.05));
    assert_eq!(row.verdict, Verdict::Unknown);
    assert!(row.minimum_detectable.unwrap() > 0.05);
    assert!(row.repeats_to_decide.unwrap() > 5, "{row:?}");
}

#[test]
fn a_certain_difference_inside_the_margin_is_told_as_one() {
    let against = |latency: f64| {
        let a = repeats("a", 5, 100.0, 0.002, 3);
        primary(&[a, repeats("b", 5, 100.0 * latency, 0.002, 4)])
    };
    for (latency, verdict, within) in [
        (0.985, Verdict::Same, Some(Direction::Better)),
        (1.015, Verdict::Same, Some(Direction::Worse)),
        (0.95, Verdict::Better, None),
        (1.05, Verdict::Worse, None),
    ] {
        let row = against(latency);
        assert_eq!(
            (row.verdict, row.within_margin),
            (verdict, within),
            "{row:?}"
        );
    }
}

#[test]
fn a_difference_that_nobody_could_see_is_none_however_certain() {
    let a = repeats("a", 5, 100.0, 1e-8, 3);
    let row = primary(&[a, repeats("b", 5, 100.001, 1e-8, 4)]);
    assert_eq!(
        (row.verdict, row.within_margin),
        (Verdict::Same, None),
        "{row:?}"
    );
}

#[test]
fn a_difference_that_is_not_there_is_seldom_found() {
    for count in [1, 2, 4] {
        let wrong = (0..60)
            .filter(|&seed| {
                let a = repeats("a", count, 100.0, 0.01, 2 * seed);
                let b = repeats("b", count, 100.0, 0.01, 2 * seed + 1);
                matches!(primary(&[a, b]).verdict, Verdict::Better | Verdict::Worse)
            })
            .count();
        assert!(wrong <= 7, "{wrong} of 60 with {count} runs");
    }
}

#[test]
fn three_runs_a_side_decide_by_how_runs_differ_and_not_by_their_requests() {
    // Requests vary so much that a run's own noise would hide the difference.
    let side = |name: &str, rates: [f64; 3], seed: u64| {
        let runs = (seed..).zip(rates).map(|(seed, rate)| {
            let mut run = run(60, 100.0, 0.0, seed);
            run.summary.throughput.output_tokens_per_s = Some(rate);
            run
        });
        group(name, runs.collect())
    };
    let (a, b) = ([1000.0, 1004.0, 996.0], [1049.0, 1053.0, 1045.0]);
    let row = primary(&[side("a", a, 1), side("b", b, 11)]);
    assert_eq!(row.verdict, Verdict::Better, "{row:?}");
    let row = primary(&[side("a", a, 1), side("b", [1003.0, 999.0, 995.0], 11)]);
    assert_ne!(row.verdict, Verdict::Better, "{row:?}");
}

/// Sides of three runs with these rates, seeds alike where pairs are to be compared.
fn noisy(rates: [[f64; 3]; 2], is_paired: bool) -> [Group; 2] {
    [0, 1].map(|side| {
        let runs = (1..).zip(rates[side]).map(|(seed, rate)| {
            let mut run = run(60, 100.0, 0.0, seed + 10 * side as u64);
            run.summary.throughput.output_tokens_per_s = Some(rate);
            run.definition.seed = is_paired.then_some(seed);
            run
        });
        group(["a", "b"][side], runs.collect())
    })
}

#[test]
fn three_runs_that_scatter_still_show_a_difference_that_no_noise_explains() {
    for is_paired in [false, true] {
        let scattered = |faster: f64| {
            let fast = [400.0, 900.0, 1_500.0].map(|rate| rate * faster);
            primary(&noisy([[100.0, 103.0, 98.0], fast], is_paired))
        };
        let row = scattered(3.0);
        assert_eq!(row.verdict, Verdict::Better, "{row:?}");
        assert!(row.low.unwrap() > 4.0, "{row:?}");
        let row = scattered(0.2);
        assert_eq!(row.verdict, Verdict::Unknown, "{row:?}");
    }
}

#[test]
fn equal_servers_whose_runs_scatter_seldom_differ() {
    for deviation in [0.1, 0.5] {
        let pairs = 400;
        let wrong = (0..pairs).filter(|pair| {
            let mut random = rng(*pair, Dimension::Words, 5);
            let mut rate = || {
                let luck: f64 = StandardNormal.sample(&mut random);
                1_000.0 * (deviation * luck).exp()
            };
            let rates = [0, 1].map(|_| [0; 3].map(|_| rate()));
            let row = primary(&noisy(rates, pair % 2 == 0));
            matches!(row.verdict, Verdict::Better | Verdict::Worse)
        });
        assert!(wrong.count() as f64 <= 0.065 * pairs as f64);
    }
}

#[test]
fn single_runs_need_a_difference_beyond_what_runs_usually_vary() {
    let verdict = |latency| {
        let (a, b) = (run(2000, 100.0, 0.0, 1), run(2000, latency, 0.0, 2));
        primary(&[group("a", vec![a]), group("b", vec![b])])
    };
    assert_eq!(verdict(102.5).verdict, Verdict::Unknown);
    let row = verdict(115.0);
    assert_eq!(
        (row.verdict, row.basis),
        (Verdict::Worse, Basis::OneRunEach)
    );
}

#[test]
fn runs_of_too_few_requests_are_not_figures_alone() {
    let short = [
        group("a", vec![run(8, 100.0, 0.0, 1)]),
        group("b", vec![run(8, 50.0, 0.0, 2)]),
    ];
    let row = primary(&short);
    assert_eq!(
        (row.verdict, row.low, row.basis),
        (Verdict::Unknown, None, Basis::FewWaves)
    );
}

/// A closed loop of 64 streams that ended before its fifth wave.
fn short(latency_ms: f64, seed: u64) -> RunSample {
    let mut run = run(256, latency_ms, 0.0, seed);
    let Summary {
        throughput,
        latency,
        requests,
        concurrency,
        ..
    } = &mut run.summary;
    requests.ok = 256;
    concurrency.configured = Some(64);
    throughput.requests_per_s_interval = None;
    throughput.output_tokens_per_s_interval = None;
    throughput.requests_needed = Some(320);
    let samples = [
        &mut latency.ttft_ms,
        &mut latency.tpot_ms,
        &mut latency.e2e_ms,
        &mut latency.max_gap_ms,
    ];
    for sample in samples.into_iter().flatten() {
        sample.mean_interval = None;
        sample.p50_interval = None;
        sample.p99_interval = None;
        sample.requests_needed = Some(320);
    }
    run.definition.from_due = Some(false);
    run
}

#[test]
fn a_large_difference_between_short_runs_is_told_and_a_small_one_is_not() {
    let compared = |latency| {
        let sides = [
            group("a", vec![short(100.0, 1)]),
            group("b", vec![short(latency, 2)]),
        ];
        compare(&sides, &Settings::default()).rows
    };
    let rows = compared(100.0 / 1.89);
    let primary = rows.iter().find(|row| row.primary).unwrap();
    assert_eq!(
        (primary.verdict, primary.basis, primary.requests_needed),
        (Verdict::Better, Basis::ShortRuns, None)
    );
    assert!(primary.low.unwrap() > 1.4 && primary.high.unwrap() < 2.6);
    for row in compared(100.0 / 1.05) {
        assert_eq!(row.verdict, Verdict::Unknown, "{row:?}");
        assert_eq!(row.requests_needed, Some(320), "{row:?}");
    }
}

#[test]
fn equal_servers_seldom_differ_by_short_runs() {
    let pairs = 300;
    let told = (0..pairs).filter(|pair| {
        let [a, b] = [2 * pair, 2 * pair + 1].map(|seed| short(100.0, 1000 + seed));
        let row = primary(&[group("a", vec![a]), group("b", vec![b])]);
        row.verdict != Verdict::Unknown
    });
    assert!(told.count() as f64 <= 0.05 * pairs as f64);
}

#[test]
fn a_percentile_without_its_least_sample_has_no_verdict() {
    let few = |latency, seed| group("g", vec![run(300, latency, 0.0, seed)]);
    let found = verdicts(&[few(100.0, 1), few(200.0, 2)]);
    assert_eq!(found[&Metric::TtftP99], Verdict::Unknown);
    assert_eq!(found[&Metric::TtftP50], Verdict::Worse);
}

/// The reason against a comparison after a change to the second run.
fn reason(change: impl Fn(&mut RunSample)) -> String {
    let a = run(500, 100.0, 0.0, 1);
    let mut b = run(500, 150.0, 0.0, 2);
    change(&mut b);
    let found = compare(
        &[group("a", vec![a]), group("b", vec![b])],
        &Settings::default(),
    );
    assert!(!found.comparable);
    let is_unlike = |row: &Row| row.verdict == Verdict::NotComparable;
    assert!(found.rows.iter().all(is_unlike));
    found.why_not.join("\n")
}

#[test]
fn a_side_that_fails_requests_is_not_faster_by_that() {
    let failing = reason(|run| (run.summary.requests.ok, run.summary.requests.failed) = (810, 190));
    assert!(failing.contains("190/1000"), "{failing}");
}

#[test]
fn the_same_loads_under_other_headings_are_named_with_the_remedy() {
    let under = |name: &str, headings: &[&str]| {
        let runs = headings.iter().flat_map(|heading| {
            [1, 8].map(|load| {
                let mut sample = run(500, 100.0, 0.0, 1);
                sample.point = point(load);
                sample.point.0.insert(GROUP.to_owned(), (*heading).into());
                sample
            })
        });
        group(name, runs.collect())
    };
    let groups = [
        under("a.md", &["7B / openqa", "14B"]),
        under("b.md", &["7B"]),
    ];
    let found = compare(&groups, &Settings::default());
    assert_eq!(found.why_not.len(), 1);
    let reason = &found.why_not[0];
    assert!(reason.contains("14B, 7B / openqa against 7B"), "{reason}");
    assert!(reason.contains("FILE#"), "{reason}");
}

#[test]
fn what_cannot_be_compared_is_said_and_gets_no_verdict() {
    let invalid = reason(|run| {
        run.summary.valid = false;
        run.summary.doubts.push(StatedDoubt {
            code: DoubtCode::LostRequests,
            severity: Severity::Invalid,
            text: String::new(),
            remedy: "send it again".to_owned(),
        });
    });
    assert_eq!(
        invalid,
        "at concurrency=8: 'b' has INVALID runs (lost-requests); send it again"
    );
    let tokens = reason(|run| run.summary.tokens.output_mean = Some(20.0));
    assert_eq!(
        tokens,
        "at concurrency=8: the mean output length in tokens differs: 32.0 against 20.0; make them equal (--output-tokens with --ignore-eos), or measure both sides with the same --seed"
    );
    assert!(reason(|run| run.summary.tokens.source = TokenSource::Retokenized).contains("source"));
    let window = WindowSpan {
        start_s: 1.0,
        end_s: 9.0,
        steady_by_construction: true,
    };
    assert_eq!(
        reason(|run| run.summary.window = Some(window)),
        "at concurrency=8: the time over which throughput counts differs: first send to last completion against steady window"
    );
    assert_eq!(
        reason(|run| run.point = point(16)),
        "the loads differ: concurrency=8 against concurrency=16"
    );
}

#[test]
fn lengths_that_differ_by_chance_do_not_forbid_a_comparison() {
    let side = |name: &str, lengths: [f64; 4]| {
        let runs = lengths.into_iter().zip(1..).map(|(length, seed)| {
            let mut sample = run(500, 100.0, 0.0, seed);
            sample.summary.tokens.output_mean = Some(length);
            sample
        });
        group(name, runs.collect())
    };
    let varied = side("a", [180.0, 230.0, 205.0, 190.0]);
    let why_not = |b: [f64; 4]| {
        let groups = [varied.clone(), side("b", b)];
        compare(&groups, &Settings::default()).why_not
    };
    // Means of 201 and 218, among runs that differ as much.
    assert_eq!(why_not([240.0, 195.0, 200.0, 237.0]), Vec::<String>::new());
    assert_eq!(why_not([280.0, 300.0, 310.0, 290.0]).len(), 1);
}

#[test]
fn several_groups_are_each_compared_with_the_first() {
    let one = |name, latency, seed| group(name, vec![run(2000, latency, 0.0, seed)]);
    let groups = [one("a", 100.0, 1), one("b", 80.0, 2), one("c", 130.0, 3)];
    let found = compare(&groups, &Settings::default());
    let verdict = |name: &str| {
        let mut rows = found.rows.iter().filter(|row| row.primary);
        rows.find(|row| row.group == name).unwrap().verdict
    };
    assert_eq!(
        (verdict("b"), verdict("c")),
        (Verdict::Better, Verdict::Worse)
    );
}

#[test]
fn nothing_to_compare_is_said() {
    let message = |groups: &[Group]| compare(groups, &Settings::default()).why_not.join("\n");
    assert!(message(&[]).contains("give two groups"));
    let full = group("a", vec![run(100, 100.0, 0.0, 1)]);
    assert!(message(&[full, group("b", vec![])]).contains("'b' has no runs"));
}

#[test]
fn the_form_is_the_contract_and_the_same_seed_gives_the_same_text() {
    let groups = [
        repeats("a", 2, 100.0, 0.01, 1),
        repeats("b", 2, 90.0, 0.01, 2),
    ];
    let found = compare(&groups, &Settings::default());
    let json = serde_json::to_value(&found).unwrap();
    assert_eq!(json["schema"], "inferometer.compare/1");
    assert_eq!(json["comparable"], true);
    let row = &json["rows"][0];
    assert_eq!(row["metric"], "throughput.output_tokens_per_s");
    assert_eq!(row["point"]["concurrency"], 8);
    for key in ["a", "b", "ratio", "low", "high", "minimum_detectable"] {
        assert!(row[key].is_f64(), "{key}");
    }
    assert!(row["verdict"].is_string());
    assert_eq!(found, compare(&groups, &Settings::default()));
    let text = serde_json::to_string(&found).unwrap();
    assert_eq!(serde_json::from_str::<Comparison>(&text).unwrap(), found);
}

#[test]
fn equal_servers_at_many_loads_are_seldom_called_different() {
    let ladder = |name: &str, seed: u64| {
        let mut random = rng(seed, Dimension::Words, 78);
        let mut runs = Vec::new();
        for load in 1..=8 {
            for at in 0..3 {
                let luck: f64 = StandardNormal.sample(&mut random);
                let mut run = run(60, 100.0, 0.1 * luck, seed * 1000 + at);
                run.point = point(load);
                run.series = None;
                runs.push(run);
            }
        }
        group(name, runs)
    };
    let settings = Settings {
        metrics: vec![Metric::OutputTokensPerS],
        ..Settings::default()
    };
    let differs = |seed: u64| {
        let found = compare(
            &[ladder("a", 2 * seed), ladder("b", 2 * seed + 1)],
            &settings,
        );
        let mut verdicts = found.rows.iter().map(|row| row.verdict);
        verdicts.any(|verdict| matches!(verdict, Verdict::Better | Verdict::Worse))
    };
    // One in twenty is the promise; eight tests without correction would be one in three.
    let wrong = (0..100).filter(|&seed| differs(seed)).count();
    assert!(wrong <= 12, "{wrong} of 100");
}

#[test]
fn repeats_that_are_off_alike_at_all_loads_are_no_evidence_of_each_load() {
    let ladder = |name: &str, seed: u64| {
        let mut random = rng(seed, Dimension::Words, 79);
        let mut runs = Vec::new();
        for at in 0..3 {
            // A repeat sends the same requests at each load.
            let luck: f64 = StandardNormal.sample(&mut random);
            for load in 1..=6 {
                let own: f64 = StandardNormal.sample(&mut random);
                let mut run = run(60, 100.0, 0.03 * luck + 0.01 * own, seed * 1000 + at);
                run.point = point(load);
                run.definition.seed = Some(seed * 1000 + at);
                run.series = None;
                runs.push(run);
            }
        }
        group(name, runs)
    };
    let settings = Settings {
        metrics: vec![Metric::OutputTokensPerS],
        ..Settings::default()
    };
    let differs = |seed: u64| {
        let sides = [ladder("a", 2 * seed), ladder("b", 2 * seed + 1)];
        let found = compare(&sides, &settings);
        let is_off = |it: &Pooled| it.low > 1.0 || it.high < 1.0;
        found.pooled.iter().any(is_off)
    };
    let wrong = (0..100).filter(|&seed| differs(seed)).count();
    assert!(wrong <= 5, "{wrong} of 100");
}

#[test]
fn longer_runs_on_one_side_are_not_taken_to_scatter_as_short_ones_do() {
    let side = |name: &str, count: u64, requests: u64, deviation: f64, seed: u64| {
        let mut random = rng(seed, Dimension::Words, 80);
        let runs = (0..count).map(|at| {
            let luck: f64 = StandardNormal.sample(&mut random);
            let mut run = run(requests, 100.0, deviation * luck, seed * 1000 + at);
            run.summary.requests.ok = requests;
            run
        });
        group(name, runs.collect())
    };
    let differs = |seed: u64| {
        let long = side("long", 6, 1500, 0.005, 2 * seed);
        let short = side("short", 2, 300, 0.03, 2 * seed + 1);
        let row = primary(&[long, short]);
        matches!(row.verdict, Verdict::Better | Verdict::Worse)
    };
    let wrong = (0..100).filter(|&seed| differs(seed)).count();
    assert!(wrong <= 9, "{wrong} of 100");
}
