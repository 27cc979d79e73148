//! Findings: each rule tells its numbers, and is silent where the data cannot carry it.

use crate::samples;
use inferometer_core::doubt::{DoubtCode, Severity};
use inferometer_core::point::Point;
use inferometer_core::record::{FailureClass, Phase};
use inferometer_core::summary::{
    CheckResult, Distribution, FailureCount, ModelResult, ObjectiveResult, Outage, SloResult,
    StatedDoubt, Summary,
};
use inferometer_page::{markdown, text};
use inferometer_report::findings::{Finding, FindingKind, of_run};
use inferometer_report::sweep::{
    SweepReport, Visited, compose, compose_for_notes, figures, findings,
};
use inferometer_store::sweep_dir::{PLAN_SCHEMA, PlannedPoint, SweepPlan, Trial, TrialState};
use inferometer_text::Lang;
use serde_json::json;
use std::path::Path;

/// A sweep that is made up: points with the summaries of their repeats.
struct MadeUp {
    plan: SweepPlan,
    visited: Vec<Visited>,
}

impl MadeUp {
    fn new(axes: &[&str], points: Vec<(serde_json::Value, Vec<Summary>)>) -> Self {
        let mut visited = Vec::new();
        let mut planned = Vec::new();
        let mut visits = Vec::new();
        let repeat = points.iter().map(|(_, runs)| runs.len()).max().unwrap();
        for (at, (point, runs)) in points.into_iter().enumerate() {
            let id = format!("p{at}");
            planned.push(PlannedPoint {
                flags: Default::default(),
                id: id.clone(),
                point: serde_json::from_value::<Point>(point).unwrap(),
                options: Default::default(),
            });
            for (repeat, summary) in runs.into_iter().enumerate() {
                visits.push((at, repeat as u32));
                visited.push(Visited {
                    trial: Trial {
                        class: None,
                        id: id.clone(),
                        repeat: repeat as u32,
                        state: TrialState::Done,
                        directory: None,
                        reason: None,
                        ended: "2026-11-15T02:23:34Z".to_owned(),
                    },
                    summary: Some(summary),
                });
            }
        }
        MadeUp {
            plan: SweepPlan {
                engine_options: Vec::new(),
                engine: Vec::new(),
                schema: PLAN_SCHEMA.to_owned(),
                label: None,
                tags: Vec::new(),
                axes: axes.iter().map(|axis| (*axis).to_owned()).collect(),
                typed: Vec::new(),
                repeat: repeat as u32,
                visits,
                points: planned,
                seeds: Vec::new(),
            },
            visited,
        }
    }

    fn report(&self, lang: Lang) -> SweepReport<'_> {
        SweepReport {
            plan: &self.plan,
            visited: &self.visited,
            directory: Path::new("sweep"),
            environment: None,
            columns: None,
            lang,
        }
    }

    fn findings(&self) -> Vec<Finding> {
        findings(&self.report(Lang::En))
    }

    fn of(&self, kind: FindingKind) -> Vec<Finding> {
        let mut findings = self.findings();
        findings.retain(|finding| finding.kind == kind);
        findings
    }
}

/// A run with a throughput known to ± 1 %, and nothing else.
fn run(tokens_per_s: f64) -> Summary {
    let mut summary = samples::empty_summary();
    summary.requests.planned = 100;
    summary.requests.ok = 100;
    summary.throughput.output_tokens_per_s = Some(tokens_per_s);
    summary.throughput.output_tokens_per_s_interval =
        Some([tokens_per_s * 0.99, tokens_per_s * 1.01]);
    summary
}

fn with_times(mut summary: Summary, ttft: f64, itl: f64) -> Summary {
    let sample = |mean: f64| Distribution {
        mean,
        mean_interval: Some([mean * 0.98, mean * 1.02]),
        ..samples::around(100, mean)
    };
    summary.latency.ttft_ms = Some(sample(ttft));
    summary.latency.itl_ms = Some(sample(itl));
    summary.latency.itl_is_per_token = true;
    summary
}

fn failing(mut summary: Summary, failed: u64) -> Summary {
    summary.requests.ok -= failed;
    summary.requests.failed = failed;
    summary.failures = vec![FailureCount {
        phase: Phase::Stream,
        class: FailureClass::ReadTimeout,
        count: failed,
        status: None,
        sample: "<script>alert(1)</script>".to_owned(),
    }];
    summary
}

#[test]
fn seeds_are_repeats_of_a_setting() {
    let rates = [
        ("auto", 11, 1121.6),
        ("auto", 12, 1121.3),
        ("fp8", 11, 1179.7),
        ("fp8", 12, 1179.3),
    ];
    let points = rates.map(|(kv, seed, rate)| {
        let point = json!({"kv-cache-dtype": kv, "seed": seed});
        (point, vec![run(rate)])
    });
    let typed = MadeUp::new(&["kv-cache-dtype", "seed"], points.to_vec());
    let (plan, visited) = typed.plan.with_seeds_as_repeats(&typed.visited);
    let read = MadeUp {
        plan: plan.into_owned(),
        visited: visited.into_owned(),
    };
    let won = read.of(FindingKind::Winner);
    assert!(
        won[0].text.ends_with("is best with kv-cache-dtype=fp8"),
        "{won:?}"
    );
    assert!(won[0].evidence.contains("+5.2 %"), "{won:?}");
    let shown = text::render(&compose(&read.report(Lang::En)), Default::default());
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    for expected in [
        "kv-cache-dtype (points: 2, each measured 2 times, with the seeds 11, 12)",
        "Measured 4 of 4; valid: 4",
    ] {
        assert!(words.contains(expected), "{expected}: {shown}");
    }
    assert!(!shown.contains("seed="), "{shown}");
    let json: serde_json::Value =
        serde_json::from_str(&inferometer_report::sweep::json(&read.report(Lang::En))).unwrap();
    let seeds = json["points"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["seed"]);
    assert_eq!(Vec::from_iter(seeds), [11, 12, 11, 12]);

    // A sweep over nothing but seeds is one point.
    let points = [(11, 100.0), (12, 101.0), (13, 99.0)];
    let points = points.map(|(seed, rate)| (json!({"seed": seed}), vec![run(rate)]));
    let typed = MadeUp::new(&["seed"], points.to_vec());
    let (plan, visited) = typed.plan.with_seeds_as_repeats(&typed.visited);
    assert_eq!((plan.axes.len(), plan.points.len(), plan.repeat), (0, 1, 3));
    let repeats: Vec<u32> = visited.iter().map(|it| it.trial.repeat).collect();
    assert_eq!(repeats, [0, 1, 2]);

    // Lists side by side give each setting a seed of its own, and nothing is repeated.
    let points = [(1, 11), (2, 12)]
        .map(|(load, seed)| (json!({"concurrency": load, "seed": seed}), vec![run(10.0)]));
    let zipped = MadeUp::new(&["concurrency", "seed"], points.to_vec());
    let (plan, _) = zipped.plan.with_seeds_as_repeats(&zipped.visited);
    assert_eq!(plan.points.len(), 2);
}

fn ladder(rates: &[f64]) -> MadeUp {
    let points = rates.iter().enumerate().map(|(step, rate)| {
        let load = json!({"concurrency": 1u64 << step});
        (load, vec![run(*rate)])
    });
    MadeUp::new(&["concurrency"], points.collect())
}

#[test]
fn a_ladder_tells_where_throughput_stops_rising_with_its_numbers() {
    let found = ladder(&[100.0, 300.0, 500.0, 700.0, 800.0, 805.0, 802.0]);
    let [knee] = found.of(FindingKind::Knee).try_into().unwrap();
    assert!(knee.text.contains("(between 8 and 16)"), "{}", knee.text);
    for number in ["700.0 tok/s at 8", "800.0 tok/s at 16", "805.0 tok/s at 32"] {
        assert!(knee.evidence.contains(number), "{}", knee.evidence);
    }
}

#[test]
fn a_load_in_waves_or_with_failures_decides_no_saturation_and_is_not_the_best() {
    let rates = [100.0, 300.0, 500.0, 700.0, 800.0, 805.0, 1100.0];
    let known = ladder(&rates).of(FindingKind::Knee);
    let there = known
        .iter()
        .any(|it| it.text.contains("(between 8 and 16)"));
    assert!(!there, "{known:?}");
    let mut in_waves = ladder(&rates);
    let last = in_waves.visited.last_mut().unwrap();
    last.summary.as_mut().unwrap().doubts = vec![StatedDoubt {
        code: DoubtCode::InStep,
        severity: Severity::Note,
        text: String::new(),
        remedy: String::new(),
    }];
    let mut with_failures = ladder(&rates);
    let last = with_failures.visited.last_mut().unwrap();
    last.summary = last.summary.take().map(|summary| failing(summary, 15));
    let reasons = ["its streams sent in waves", "requests failed there"];
    for (sweep, why) in [&in_waves, &with_failures].into_iter().zip(reasons) {
        let [knee] = sweep.of(FindingKind::Knee).try_into().unwrap();
        assert!(knee.text.contains("(between 8 and 16)"), "{}", knee.text);
        // The table shows more, which is no secret.
        let told = format!("; 1,100.0 tok/s at 64 does not count: {why}");
        assert!(knee.evidence.ends_with(&told), "{}", knee.evidence);
        let report = text::render(&compose(&sweep.report(Lang::En)), Default::default());
        let best = "highest output throughput: 805.0 tok/s";
        assert!(report.contains(best), "{report}");
    }
}

#[test]
fn loads_whose_prompts_are_of_another_length_are_no_part_of_a_ladder() {
    let with_prompts = |rates: &[f64], lengths: &[f64]| {
        let mut made = ladder(rates);
        for (visited, length) in made.visited.iter_mut().zip(lengths) {
            let summary = visited.summary.as_mut().unwrap();
            summary.tokens.input_mean = Some(*length);
            summary.requests.ok = 1000;
        }
        made.of(FindingKind::Knee)
    };
    // Shorter prompts made it faster, not the load.
    let rates = [100.0, 200.0, 400.0, 790.0, 1500.0, 1605.0];
    let short = [1024.0, 1024.0, 1024.0, 128.0, 128.0, 128.0];
    assert!(with_prompts(&rates, &short).is_empty());
    let one = [1024.0, 1040.0, 1010.0, 1024.0, 1024.0, 128.0];
    let [rising] = with_prompts(&rates, &one).try_into().unwrap();
    assert!(
        rising.text.starts_with("none up to concurrency 16"),
        "{rising:?}"
    );
    let told = "1,605.0 tok/s at 32 does not count: its prompts have another mean length";
    assert!(rising.evidence.contains(told), "{rising:?}");
    let rates = [100.0, 300.0, 500.0, 700.0, 800.0, 805.0];
    let by_chance = [1024.0, 1060.0, 990.0, 1024.0, 1090.0, 1024.0];
    let [knee] = with_prompts(&rates, &by_chance).try_into().unwrap();
    assert!(knee.text.contains("(between 8 and 16)"), "{knee:?}");
}

#[test]
fn no_knee_is_told_of_a_ladder_that_rises_or_is_invalid() {
    let [rising] = ladder(&[100.0, 200.0, 400.0, 790.0, 1500.0])
        .of(FindingKind::Knee)
        .try_into()
        .unwrap();
    assert_eq!(
        rising.text,
        "none up to concurrency 16, where output throughput still rises"
    );
    assert_eq!(
        rising.evidence,
        "790.0 tok/s at 8, 1,500.0 tok/s at 16: +89.9 %"
    );
    assert!(
        ladder(&[100.0, 200.0, 200.0])
            .of(FindingKind::Knee)
            .is_empty()
    );
    let collapsed = ladder(&[100.0, 300.0, 500.0, 700.0, 800.0, 805.0, 200.0]);
    let [collapsed] = collapsed.of(FindingKind::Knee).try_into().unwrap();
    let fall = "; at concurrency 64 it has fallen by 75 %";
    assert!(collapsed.text.ends_with(fall), "{}", collapsed.text);
    let mut bad = ladder(&[100.0, 300.0, 500.0, 700.0, 800.0, 805.0, 802.0]);
    for visited in &mut bad.visited[3..] {
        visited.summary.as_mut().unwrap().valid = false;
    }
    assert!(bad.of(FindingKind::Knee).is_empty());
}

#[test]
fn failures_are_told_from_the_load_at_which_they_start_and_by_class() {
    let mut found = ladder(&[100.0, 200.0, 300.0, 400.0]);
    for (at, failed) in [(2, 5), (3, 40)] {
        let summary = found.visited[at].summary.take().unwrap();
        found.visited[at].summary = Some(failing(summary, failed));
    }
    let [told] = found.of(FindingKind::FailuresFrom).try_into().unwrap();
    assert_eq!(told.text, "failures start at concurrency 4");
    assert_eq!(
        told.evidence,
        "none of 200 at lower loads; 5 of 100 failed at 4: read-timeout 5; 40 of 100 failed at 8: read-timeout 40"
    );
    // A higher load without failures: no beginning can be told.
    let summary = found.visited[3].summary.take().unwrap();
    found.visited[3].summary = Some(run(summary.throughput.output_tokens_per_s.unwrap()));
    let [told] = found.of(FindingKind::FailuresFrom).try_into().unwrap();
    assert!(!told.text.contains("start"), "{}", told.text);
    assert!(ladder(&[1.0, 2.0]).of(FindingKind::FailuresFrom).is_empty());
    // Whether those failed of which nothing is known cannot be said.
    let mut lost = ladder(&[100.0, 200.0, 300.0]);
    let summary = |visited: &mut Visited, change: fn(&mut Summary)| {
        change(visited.summary.as_mut().unwrap());
    };
    summary(&mut lost.visited[1], |it| it.requests.ok -= 20);
    summary(&mut lost.visited[2], |it| *it = failing(it.clone(), 30));
    let [told] = lost.of(FindingKind::FailuresFrom).try_into().unwrap();
    assert!(
        told.evidence.starts_with("none of 100 at"),
        "{}",
        told.evidence
    );
}

#[test]
fn failures_start_nowhere_where_too_few_requests_ended_below() {
    let requests = |ended: u64, failed: u64| {
        let mut summary = run(100.0);
        summary.requests.planned = ended;
        summary.requests.ok = ended;
        failing(summary, failed)
    };
    let ladder = |below: u64| {
        MadeUp::new(
            &["concurrency"],
            vec![
                (json!({"concurrency": 1}), vec![requests(below, 0)]),
                (json!({"concurrency": 2}), vec![requests(24, 3)]),
            ],
        )
    };
    let [few] = ladder(12).of(FindingKind::FailuresFrom).try_into().unwrap();
    assert!(
        few.text.contains("too few requests ended at lower loads"),
        "{}",
        few.text
    );
    assert!(few.evidence.starts_with("none of 12"), "{}", few.evidence);
    let [many] = ladder(100)
        .of(FindingKind::FailuresFrom)
        .try_into()
        .unwrap();
    assert_eq!(many.text, "failures start at concurrency 2");
}

#[test]
fn a_flag_wins_beside_one_that_does_nothing_and_that_one_is_said_to_do_nothing() {
    let point = |seqs: u32, inert: u32| json!({"max-num-seqs": seqs, "inert": inert});
    let sweep = MadeUp::new(
        &["max-num-seqs", "inert"],
        vec![
            (point(64, 0), vec![run(1000.0)]),
            (point(64, 1), vec![run(1003.0)]),
            (point(128, 0), vec![run(1500.0)]),
            (point(128, 1), vec![run(1497.0)]),
        ],
    );
    let [winner] = sweep.of(FindingKind::Winner).try_into().unwrap();
    assert_eq!(
        winner.text,
        "output throughput is better with max-num-seqs=128 at all 2 compared points"
    );
    let [same] = sweep.of(FindingKind::NoDifference).try_into().unwrap();
    assert_eq!(
        same.text,
        "in output throughput between inert=0 and inert=1 (compared points: 2)"
    );
}

#[test]
fn of_equal_points_the_first_is_called_the_best() {
    let sweep = ladder(&[100.0, 200.0, 300.0, 300.0, 300.0, 300.0]);
    let shown = text::render(
        &compose(&sweep.report(Lang::En)),
        text::TextStyle::default(),
    );
    assert!(shown.contains("300.0 tok/s at concurrency=4"), "{shown}");
    let [knee] = sweep.of(FindingKind::Knee).try_into().unwrap();
    assert!(
        knee.evidence.contains("highest 300.0 tok/s at 4"),
        "{}",
        knee.evidence
    );
}

#[test]
fn a_load_that_follows_the_length_makes_no_ladder_and_leaves_one_heat_map_in_characters() {
    let mut points = Vec::new();
    for (chars, streams) in [(500, 32), (2000, 16), (8000, 8)] {
        for asked in [100, 500] {
            let point = json!({"input-chars": chars, "ask-chars": asked, "concurrency": streams});
            points.push((point, vec![run(f64::from(100_000 / chars + asked))]));
        }
    }
    let sweep = MadeUp::new(&["input-chars", "ask-chars", "concurrency"], points);
    let figures = figures(&sweep.report(Lang::En));
    let ids: Vec<&str> = figures.iter().map(|figure| figure.id.as_str()).collect();
    assert_eq!(ids, ["grid"]);
    let panel = &figures[0].panels[0];
    assert_eq!(panel.x.caption(), "Input length (characters)");
    assert_eq!(panel.y.caption(), "Asked length (characters)");
    let notes = figures[0].footnotes.join("\n");
    assert!(
        notes.contains("concurrency changes only together with input-chars"),
        "{notes}"
    );
}

fn grid(rates: [f64; 4]) -> MadeUp {
    let cells = [(100, 100), (100, 500), (500, 100), (500, 500)];
    let points = cells.iter().zip(rates).map(|((input, output), rate)| {
        let point = json!({"input-tokens": input, "output-tokens": output});
        (point, vec![run(rate)])
    });
    MadeUp::new(&["input-tokens", "output-tokens"], points.collect())
}

#[test]
fn the_least_efficient_cell_is_told_with_its_factor_only_where_it_stands_apart() {
    let [told] = grid([800.0, 1000.0, 250.0, 600.0])
        .of(FindingKind::LeastEfficient)
        .try_into()
        .unwrap();
    assert!(
        told.text
            .starts_with("input-tokens=500, output-tokens=100 has the lowest"),
        "{}",
        told.text
    );
    assert!(told.text.contains("4.00 times below"), "{}", told.text);
    assert_eq!(told.evidence, "250.0 tok/s against 1,000.0 tok/s");
    let close = grid([800.0, 1000.0, 250.0, 252.0]).of(FindingKind::LeastEfficient);
    assert!(close[0].text.contains("are indistinguishable"), "{close:?}");
    assert!(
        grid([1000.0, 1001.0, 999.0, 1002.0])
            .of(FindingKind::LeastEfficient)
            .is_empty()
    );
    // Without intervals a cell stands apart by a factor of two, as a large difference does.
    let blind = |rates: [f64; 4]| {
        let mut blind = grid(rates);
        for visited in &mut blind.visited {
            let summary = visited.summary.as_mut().unwrap();
            summary.throughput.output_tokens_per_s_interval = None;
        }
        blind.of(FindingKind::LeastEfficient).len()
    };
    assert_eq!(blind([800.0, 1000.0, 250.0, 600.0]), 1);
    assert_eq!(blind([800.0, 1000.0, 550.0, 600.0]), 0);
}

#[test]
fn a_setting_wins_only_where_the_intervals_separate() {
    let point = |engine: &str, concurrency: u32| json!({"url": engine, "concurrency": concurrency});
    let sweep = MadeUp::new(
        &["url", "concurrency"],
        vec![
            (point("a", 8), vec![with_times(run(1000.0), 100.0, 20.0)]),
            (point("b", 8), vec![with_times(run(1005.0), 200.0, 20.2)]),
            (point("a", 16), vec![with_times(run(1500.0), 150.0, 30.0)]),
            (point("b", 16), vec![with_times(run(1800.0), 260.0, 30.1)]),
        ],
    );
    let winners = sweep.of(FindingKind::Winner);
    let [throughput, ttft] = winners.as_slice() else {
        panic!("{winners:?}")
    };
    assert_eq!(
        ttft.text,
        "mean TTFT is better with url=a at all 2 compared points"
    );
    assert!(
        ttft.evidence
            .contains("100 ms against 200 ms (-50.0 %) at concurrency=8"),
        "{}",
        ttft.evidence
    );
    assert!(
        throughput.text.contains("url=b at 1 of 2"),
        "{}",
        throughput.text
    );
    let [itl] = sweep.of(FindingKind::NoDifference).try_into().unwrap();
    assert_eq!(
        itl.text,
        "in mean ITL between url=a and url=b (compared points: 2)"
    );
    assert!(itl.evidence.contains("1 % at most"), "{}", itl.evidence);
}

#[test]
fn repeats_that_scatter_show_no_difference() {
    let point = |engine: &str| json!({"url": engine});
    let runs = |rates: [f64; 3]| rates.map(run).to_vec();
    let scattered = MadeUp::new(
        &["url"],
        vec![
            (point("a"), runs([800.0, 1000.0, 1300.0])),
            (point("b"), runs([900.0, 1100.0, 1400.0])),
        ],
    );
    assert!(scattered.of(FindingKind::Winner).is_empty());
    assert_eq!(scattered.of(FindingKind::NoDifference).len(), 1);
    let clear = MadeUp::new(
        &["url"],
        vec![
            (point("a"), runs([1000.0, 1001.0, 1002.0])),
            (point("b"), runs([1100.0, 1101.0, 1102.0])),
        ],
    );
    assert_eq!(clear.of(FindingKind::Winner).len(), 1);
}

#[test]
fn a_stall_that_percentiles_hide_is_told_with_the_share_of_answers() {
    let mut summary = with_times(run(100.0), 100.0, 20.0);
    let gap = |p95: f64| Distribution {
        p50: 40.0,
        p75: 45.0,
        p90: 50.0,
        p95,
        p99: 3000.0,
        max: 4000.0,
        ..samples::around(200, 40.0)
    };
    summary.latency.max_gap_ms = Some(gap(2000.0));
    let [told] = of_run(&summary, Lang::En).try_into().unwrap();
    assert_eq!(told.kind, FindingKind::HiddenStalls);
    assert!(
        told.text.contains("5 % of the answers paused for 2.00 s"),
        "{}",
        told.text
    );
    assert!(!told.text.contains("client"), "{}", told.text);
    // A client that did not run for as long may have made the pause.
    summary.client.longest_pause_ms = Some(1_900.0);
    let [told] = of_run(&summary, Lang::En).try_into().unwrap();
    assert!(
        told.text
            .contains("the client itself did not run for up to 1.90 s"),
        "{}",
        told.text
    );
    // The 99th percentile of ITL shows such gaps: nothing is hidden.
    summary.latency.itl_ms.as_mut().unwrap().p99 = 1500.0;
    assert!(of_run(&summary, Lang::En).is_empty());
}

#[test]
fn an_outage_is_told_with_its_length_and_its_begin() {
    let mut summary = run(100.0);
    assert!(of_run(&summary, Lang::En).is_empty());
    summary.outages = vec![Outage {
        start_s: 3.2,
        length_s: 1.04,
        requests: 15,
        ended: true,
    }];
    let [away] = of_run(&summary, Lang::En).try_into().unwrap();
    assert_eq!(away.kind, FindingKind::ServerAway);
    assert!(away.text.contains("away for 1.0"), "{}", away.text);
    assert!(away.text.contains("from 3.2"), "{}", away.text);
    assert!(away.evidence.contains("15"), "{}", away.evidence);
    summary.outages[0].ended = false;
    let [away] = of_run(&summary, Lang::En).try_into().unwrap();
    assert!(away.text.contains("did not come back"), "{}", away.text);
}

#[test]
fn lost_requests_and_a_busy_client_are_told_with_their_counts() {
    let mut summary = run(100.0);
    summary.requests.planned = 500;
    summary.requests.ok = 143;
    summary.client.cpu_share = Some(0.97);
    let doubt = StatedDoubt {
        code: DoubtCode::ClientBusy,
        severity: Severity::Warn,
        text: String::new(),
        remedy: String::new(),
    };
    summary.doubts = vec![doubt];
    let [lost, client] = of_run(&summary, Lang::En).try_into().unwrap();
    assert_eq!(lost.text, "357 of 500 requests are unaccounted for");
    assert_eq!(lost.evidence, "143 ok, 0 failed, 0 cut, 0 not sent");
    assert_eq!(client.kind, FindingKind::ClientBottleneck);
    assert!(client.evidence.contains("97 %"), "{}", client.evidence);
    // A client that was only late was not at its limit.
    summary.doubts[0].code = DoubtCode::ClientLate;
    summary.client.lag_p99_ms = Some(12.0);
    let late = of_run(&summary, Lang::En).pop().unwrap();
    assert!(late.text.contains("sent late"), "{}", late.text);
    assert!(late.evidence.contains("12.0 ms") && !late.evidence.contains("97 %"));
    summary.doubts.clear();
    summary.requests.planned = 143;
    assert!(of_run(&summary, Lang::En).is_empty());
}

#[test]
fn a_sweep_names_the_points_of_each_severity_apart_and_the_latest_client_as_the_worst() {
    let mut found = ladder(&[100.0, 200.0, 400.0, 700.0]);
    let late = [78.0, 44.0, 43.0, 18.0];
    for (nth, (visited, late)) in found.visited.iter_mut().zip(late).enumerate() {
        let summary = visited.summary.as_mut().unwrap();
        summary.client.pulse_p99_ms = Some(late);
        summary.client.cpu_share = Some(0.01 * nth as f64);
        let severity = if nth == 0 {
            Severity::Invalid
        } else {
            Severity::Warn
        };
        summary.valid = nth > 0;
        let doubt = |code, severity| StatedDoubt {
            code,
            severity,
            text: String::new(),
            remedy: String::new(),
        };
        summary.doubts = vec![
            doubt(DoubtCode::ClientLate, severity),
            doubt(DoubtCode::AllAtOnce, Severity::Note),
        ];
    }
    let page = markdown::render(&compose(&found.report(Lang::En)));
    let invalid = page
        .lines()
        .find(|it| it.contains("INVALID") && it.contains("client-late"));
    let invalid = invalid.unwrap_or_else(|| panic!("{page}"));
    assert!(invalid.contains("concurrency=1:"), "{invalid}");
    let warned = page
        .lines()
        .find(|it| it.contains("**warn**") && it.contains("client-late"));
    let warned = warned.unwrap_or_else(|| panic!("{page}"));
    assert!(
        warned.contains("concurrency=2; concurrency=4; concurrency=8:"),
        "{warned}"
    );
    assert!(page.contains("all-at-once"), "{page}");
    assert!(page.contains("the worst, concurrency=1:"), "{page}");
    assert!(page.contains("78.0 ms"), "{page}");
}

#[test]
fn a_sweep_says_that_an_objective_is_missed_by_failures_alone() {
    let mut found = ladder(&[100.0, 200.0]);
    for (visited, value_ms) in found.visited.iter_mut().zip([50.0, 3000.0]) {
        let summary = visited.summary.as_mut().unwrap();
        summary.slo = Some(SloResult {
            attainment: None,
            attainment_interval: None,
            goodput_per_s: None,
            jobs: None,
            objectives: vec![ObjectiveResult {
                objective: "ttft.p99=2s".to_owned(),
                value_ms: Some(value_ms),
                share: None,
                met: Some(false),
            }],
            met: Some(false),
        });
    }
    let page = markdown::render(&compose(&found.report(Lang::En)));
    assert!(
        page.contains(
            "concurrency=1: misses ttft.p99=2s (50.0 ms of complete answers, but failed \
             requests count as longer)"
        ),
        "{page}"
    );
    assert!(
        page.contains("concurrency=2: misses ttft.p99=2s (3,000 ms)"),
        "{page}"
    );
    // What an objective limits has a column.
    for visited in &mut found.visited {
        let mut summary = with_times(visited.summary.take().unwrap(), 40.0, 5.0);
        summary.slo.as_mut().unwrap().objectives[0].objective = "ttft.p95=2s".to_owned();
        visited.summary = Some(summary);
    }
    let page = markdown::render(&compose(&found.report(Lang::En)));
    assert!(page.contains("| TTFT p99 | TTFT p95 |"), "{page}");
}

#[test]
fn reports_have_findings_only_where_there_is_something_to_say() {
    let found = ladder(&[100.0, 300.0, 500.0, 700.0, 800.0, 805.0, 802.0]);
    for (lang, heading) in [(Lang::En, "Findings"), (Lang::Zh, "发现")] {
        let doc = compose(&found.report(lang));
        assert!(markdown::render(&doc).contains(&format!("## {heading}\n")));
        assert!(text::render(&doc, Default::default()).contains(heading));
    }
    let silent = ladder(&[100.0, 200.0]);
    assert!(!markdown::render(&compose(&silent.report(Lang::En))).contains("Findings"));
}

#[test]
fn notes_have_a_row_a_metric_and_a_column_a_load_with_the_mean_lengths_below() {
    let mut found = ladder(&[100.0, 200.0, 400.0]);
    for visited in &mut found.visited {
        let summary = visited.summary.as_mut().unwrap();
        summary.tokens.input = Some(51_200);
        summary.tokens.output = Some(12_850);
    }
    let page = markdown::render(&compose_for_notes(&found.report(Lang::En)));
    assert!(page.contains("| Concurrency | 1 | 2 | 4 |"), "{page}");
    assert!(
        page.contains("| Output throughput (tok/s) | 100 | 200 | 400 |"),
        "{page}"
    );
    assert_eq!(
        page.matches("mean input tokens: 512.0; mean output tokens: 128.5")
            .count(),
        2,
        "{page}"
    );
    // No point has a TTFT: no row that says nothing.
    assert!(!page.contains("TTFT mean"), "{page}");
    let chinese = markdown::render(&compose_for_notes(&found.report(Lang::Zh)));
    assert!(chinese.contains("| 并发数 | 1 | 2 | 4 |"), "{chinese}");
}

#[test]
fn a_sweep_of_ten_thousand_points_is_composed_in_moments() {
    let points = (0..10_000).map(|at| {
        let point = json!({"concurrency": at % 100 + 1, "input-tokens": at / 100});
        (point, vec![run(100.0 + f64::from(at % 100))])
    });
    let sweep = MadeUp::new(&["input-tokens", "concurrency"], points.collect());
    let begun = std::time::Instant::now();
    let page = markdown::render(&compose_for_notes(&sweep.report(Lang::En)));
    assert!(page.len() > 100_000);
    assert!(begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());
}

#[test]
fn a_point_that_failed_to_run_is_named_under_every_chart() {
    let point = |level: u32| {
        let runs = vec![run(f64::from(level) * 10.0)];
        (json!({ "concurrency": level }), runs)
    };
    let mut sweep = MadeUp::new(&["concurrency"], [1, 2, 4].map(point).into());
    sweep.visited[1].summary = None;
    sweep.visited[1].trial.state = TrialState::Failed;
    let figures = figures(&sweep.report(Lang::En));
    assert!(!figures.is_empty());
    for figure in figures {
        let named = |note: &String| note.starts_with("Not measured: concurrency=2 (");
        assert!(
            figure.footnotes.iter().any(named),
            "{}: {:?}",
            figure.id,
            figure.footnotes
        );
    }
}

#[test]
fn what_is_far_worse_is_told_first_and_settings_that_tie_win_together() {
    let setting = |value: u64, rate: f64, itl: f64| {
        let point = json!({"maxPrefillBatchSize": value});
        (point, vec![with_times(run(rate), 100.0, itl)])
    };
    let points = vec![
        setting(1, 40.0, 8.0),
        setting(50, 360.0, 10.0),
        setting(100, 361.0, 10.0),
    ];
    let found = MadeUp::new(&["maxPrefillBatchSize"], points);
    let first = &found.findings()[0];
    assert_eq!(first.kind, FindingKind::LargeDifference);
    assert_eq!(
        first.text,
        "output throughput is 9.03 times worse with maxPrefillBatchSize=1 than with \
         maxPrefillBatchSize=100"
    );
    assert_eq!(first.evidence, "40.0 tok/s against 361.0 tok/s");
    let winners = found.of(FindingKind::Winner);
    assert!(
        winners[0].text.starts_with("output throughput")
            && (winners[0].text).contains("maxPrefillBatchSize=100 or maxPrefillBatchSize=50"),
        "{winners:?}"
    );
    let shown = text::render(&compose(&found.report(Lang::En)), Default::default());
    assert!(
        shown.contains("maxPrefillBatchSize=100: 361.0 tok/s"),
        "{shown}"
    );
}

#[test]
fn a_difference_needs_requests_behind_it_to_be_called_large() {
    let setting = |value: u64, rate: f64| {
        let mut summary = run(rate);
        (summary.requests.planned, summary.requests.ok) = (10, 10);
        (json!({"max-num-seqs": value}), vec![summary])
    };
    let few = MadeUp::new(&["max-num-seqs"], vec![setting(1, 40.0), setting(8, 360.0)]);
    assert_eq!(few.of(FindingKind::LargeDifference), []);
}

#[test]
fn points_with_the_same_highest_throughput_are_all_named() {
    let setting = |value: u64, rate: f64| (json!({"max-num-seqs": value}), vec![run(rate)]);
    let points = vec![setting(1, 40.0), setting(8, 388.41), setting(64, 388.44)];
    let found = MadeUp::new(&["max-num-seqs"], points);
    let shown = text::render(&compose(&found.report(Lang::En)), Default::default());
    assert!(
        shown.contains("max-num-seqs=8; max-num-seqs=64: 388.4 tok/s"),
        "{shown}"
    );
}

fn in_one_line(found: &MadeUp) -> String {
    let shown = text::render(&compose(&found.report(Lang::En)), Default::default());
    shown.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_point_with_few_failures_is_named_and_not_called_the_best() {
    let setting = |value: u64, summary| (json!({"concurrency": value}), vec![summary]);
    let points = vec![
        setting(4, run(400.0)),
        setting(8, run(700.0)),
        setting(16, failing(run(900.0), 1)),
    ];
    let found = MadeUp::new(&["concurrency"], points);
    let shown = in_one_line(&found);
    assert!(shown.contains("700.0 tok/s at concurrency=8"), "{shown}");
    assert!(
        shown.contains("so not counted: 900.0 tok/s at concurrency=16"),
        "{shown}"
    );

    // Where every setting has failures, all are named and none is best.
    let setting = |value: u64| {
        (
            json!({"max-num-seqs": value}),
            vec![failing(run(value as f64), 1)],
        )
    };
    let found = MadeUp::new(&["max-num-seqs"], vec![setting(64), setting(128)]);
    let shown = in_one_line(&found);
    assert!(!shown.contains("highest output throughput"), "{shown}");
    assert!(
        shown.contains("max-num-seqs=64; max-num-seqs=128"),
        "{shown}"
    );
}

#[test]
fn columns_follow_what_was_varied_unless_they_are_chosen() {
    let flags = |value: u64| {
        let point = json!({"max-num-seqs": value});
        (point, vec![with_times(run(100.0), 50.0, 10.0)])
    };
    let mut found = MadeUp::new(&["max-num-seqs"], vec![flags(1), flags(8)]);
    for planned in &mut found.plan.points {
        planned
            .flags
            .insert("max-num-seqs".to_owned(), "1".to_owned());
    }
    let wide = |report: &SweepReport<'_>| {
        let style = text::TextStyle {
            width: 200,
            ..Default::default()
        };
        text::render(&compose(report), style)
    };
    let head = |shown: &str| {
        let mut lines = shown.lines().filter(|line| line.contains("max-num-seqs  "));
        lines
            .next()
            .unwrap()
            .split("  ")
            .map(str::trim)
            .filter(|it| !it.is_empty())
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let shown = wide(&found.report(Lang::En));
    assert_eq!(
        head(&shown),
        [
            "max-num-seqs",
            "tok/s",
            "failed",
            "TTFT mean",
            "TTFT p50",
            "TTFT p99",
            "ITL mean",
            "ITL p50",
            "ITL p99"
        ],
        "nothing is known of TPOT and req/s, so they are no columns: {shown}"
    );
    let columns = "itl.p99,ttft.mean,per_user,failed".parse().unwrap();
    let report = SweepReport {
        columns: Some(&columns),
        ..found.report(Lang::En)
    };
    let shown = wide(&report);
    assert_eq!(
        head(&shown),
        ["max-num-seqs", "ITL p99", "TTFT mean", "failed"]
    );
    assert!(shown.contains("no values: tok/s per user"), "{shown}");
    let lengths = (
        json!({"input-chars": 100, "ask-chars": 10}),
        vec![run(100.0)],
    );
    let mut lengths = MadeUp::new(
        &["input-chars", "ask-chars"],
        vec![lengths.clone(), lengths],
    );
    for visited in &mut lengths.visited {
        let throughput = &mut visited.summary.as_mut().unwrap().throughput;
        throughput.output_chars_per_s = Some(420.0);
    }
    assert!(wide(&lengths.report(Lang::En)).contains("chars/s"));
}

fn scored(score: f64, half_width: f64) -> Summary {
    let mut summary = run(100.0);
    summary.check = Some(CheckResult {
        check: "gsm8k".to_owned(),
        score: Some(score),
        score_interval: Some([score - half_width, score + half_width]),
        checked: 100,
        unchecked: 0,
        differs_at_p50: None,
    });
    summary
}

#[test]
fn a_score_that_falls_with_the_load_is_told_and_one_within_its_noise_is_not() {
    let ladder = |half_width: f64| {
        let points = [(8, 0.71), (64, 0.70), (256, 0.55)];
        let points = points.iter().map(|(load, score)| {
            let summaries = vec![scored(*score, half_width)];
            (json!({"concurrency": load}), summaries)
        });
        MadeUp::new(&["concurrency"], points.collect())
    };
    let [told] = ladder(0.03).of(FindingKind::ScoreFalls).try_into().unwrap();
    for word in ["0.710", "0.550", "8", "256"] {
        assert!(told.text.contains(word), "{}", told.text);
    }
    assert!(ladder(0.2).of(FindingKind::ScoreFalls).is_empty());
}

#[test]
fn models_whose_first_request_waited_for_a_load_are_named() {
    let model = |name: &str, cold_ttft_ms| ModelResult {
        model: name.to_owned(),
        ok: 50,
        failed: 0,
        output_tokens: None,
        input_tokens_mean: None,
        cached_tokens_mean: None,
        preempted: None,
        ttft_p50_ms: Some(40.0),
        ttft_p99_ms: None,
        tpot_p50_ms: None,
        e2e_p50_ms: None,
        e2e_p99_ms: None,
        cold_ttft_ms,
    };
    let mut summary = run(100.0);
    summary.models = vec![model("base", None), model("law", Some(2_100.0))];
    let cold = |summary: &Summary| {
        let found = of_run(summary, Lang::En).into_iter();
        found
            .filter(|it| it.kind == FindingKind::ColdModel)
            .collect::<Vec<_>>()
    };
    let [told] = cold(&summary).try_into().unwrap();
    assert!(
        told.evidence.contains("law") && !told.evidence.contains("base"),
        "{told:?}"
    );
    summary.models.truncate(1);
    assert!(cold(&summary).is_empty());
}

/// A run of `requests` that is too short for an interval.
fn short(tokens_per_s: f64, requests: u64) -> Summary {
    let mut summary = with_times(run(tokens_per_s), 100.0, 10.0);
    summary.requests.planned = requests;
    summary.requests.ok = requests;
    summary.concurrency.configured = Some(64);
    summary.throughput.output_tokens_per_s_interval = None;
    summary.throughput.requests_needed = Some(320);
    summary.latency.e2e_ms = Some(samples::around(requests, 1000.0));
    let latency = &mut summary.latency;
    for sample in [
        &mut latency.ttft_ms,
        &mut latency.itl_ms,
        &mut latency.e2e_ms,
    ] {
        let sample = sample.as_mut().unwrap();
        sample.mean_interval = None;
        sample.requests_needed = Some(320);
    }
    summary
}

#[test]
fn large_differences_between_short_runs_are_told() {
    let point =
        |seqs: u32, concurrency: u32| json!({"max-num-seqs": seqs, "concurrency": concurrency});
    let sweep = MadeUp::new(
        &["max-num-seqs", "concurrency"],
        vec![
            (point(16, 64), vec![short(1014.6, 256)]),
            (point(16, 128), vec![short(1008.6, 512)]),
            (point(256, 64), vec![short(1724.4, 256)]),
            (point(256, 128), vec![short(1922.2, 512)]),
        ],
    );
    let won = sweep.of(FindingKind::Winner);
    assert_eq!(
        won[0].text,
        "output throughput is better with max-num-seqs=256 at all 2 compared points"
    );
    let level: Vec<String> = (sweep.of(FindingKind::NoDifference).into_iter())
        .map(|finding| finding.text)
        .collect();
    assert!(
        level.iter().all(|text| !text.contains("throughput")),
        "{level:?}"
    );
}

#[test]
fn a_finding_says_of_how_many_points_it_is_and_why_not_of_the_others() {
    let point =
        |seqs: u32, concurrency: u32| json!({"max-num-seqs": seqs, "concurrency": concurrency});
    let mut points = vec![
        (point(16, 4), vec![run(300.0)]),
        (point(256, 4), vec![run(300.0)]),
    ];
    // So few requests show nothing of their own noise, and say what they need.
    for concurrency in [16, 64, 128] {
        for (seqs, tokens) in [(16, 1000.0), (256, 1900.0)] {
            points.push((point(seqs, concurrency), vec![short(tokens, 24)]));
        }
    }
    let sweep = MadeUp::new(&["max-num-seqs", "concurrency"], points);
    let found = sweep.of(FindingKind::NoDifference);
    let throughput = found
        .iter()
        .find(|it| it.text.contains("throughput"))
        .unwrap();
    assert_eq!(
        throughput.text,
        "in output throughput between max-num-seqs=16 and max-num-seqs=256 (compared points: 1)"
    );
    assert!(
        throughput
            .evidence
            .contains("3 of 4 points were not compared"),
        "{throughput:?}"
    );
    assert!(
        throughput.evidence.contains("320 requests"),
        "{throughput:?}"
    );
}

#[test]
fn the_least_efficient_cell_is_that_of_a_setting() {
    let point = |device: &str, input: u32, asked: u32| json!({"sim-device": device, "input-chars": input, "ask-chars": asked});
    let rates = [
        ("l20", 1000, 500, 421.2),
        ("l20", 1000, 4000, 1134.6),
        ("l20", 4000, 500, 110.0),
        ("l20", 4000, 4000, 396.6),
        ("a100", 1000, 500, 1061.0),
        ("a100", 1000, 4000, 2701.9),
        ("a100", 4000, 500, 282.9),
        ("a100", 4000, 4000, 992.5),
    ];
    let points =
        rates.map(|(device, input, asked, rate)| (point(device, input, asked), vec![run(rate)]));
    let sweep = MadeUp::new(&["sim-device", "input-chars", "ask-chars"], points.into());
    let [least] = &sweep.of(FindingKind::LeastEfficient)[..] else {
        panic!("{:?}", sweep.findings());
    };
    assert!(
        least.text.starts_with(
            "sim-device=l20, input-chars=4000, ask-chars=500 has the lowest output throughput of 8 cells, "
        ),
        "{}",
        least.text
    );
    assert!(
        !least.text.contains("best load") && least.evidence.contains("110.0"),
        "{least:?}"
    );
}

fn judged(mut summary: Summary, met: bool) -> Summary {
    summary.slo = Some(SloResult {
        attainment: None,
        attainment_interval: None,
        goodput_per_s: None,
        jobs: None,
        objectives: Vec::new(),
        met: Some(met),
    });
    summary
}

#[test]
fn a_setting_that_misses_the_objectives_is_no_better_one() {
    let setting = |value: u64, itl: f64, met: bool| {
        let point = json!({"tensor-parallel-size": value});
        (point, vec![judged(with_times(run(360.0), 100.0, itl), met)])
    };
    let points = |met| {
        vec![
            setting(1, 8.0, met),
            setting(2, 10.0, true),
            setting(4, 12.0, true),
        ]
    };
    let winner = |met| {
        let found = MadeUp::new(&["tensor-parallel-size"], points(met));
        let winners = found.of(FindingKind::Winner);
        winners[0].text.clone()
    };
    assert!(
        winner(true).ends_with("with tensor-parallel-size=1"),
        "{}",
        winner(true)
    );
    assert!(
        winner(false).ends_with("with tensor-parallel-size=2"),
        "{}",
        winner(false)
    );
}

#[test]
fn nothing_is_called_far_worse_than_what_is_worse_still_in_another_figure() {
    let setting = |value: u64, ttft: f64, itl: f64| {
        let point = json!({"tensor-parallel-size": value});
        (point, vec![with_times(run(360.0), ttft, itl)])
    };
    let points = vec![setting(1, 228_000.0, 10.0), setting(2, 300.0, 38.0)];
    let large = MadeUp::new(&["tensor-parallel-size"], points).of(FindingKind::LargeDifference);
    let [ttft] = large.as_slice() else {
        panic!("{large:?}")
    };
    assert!(
        ttft.text.starts_with("mean TTFT is 760 times worse"),
        "{ttft:?}"
    );
}

#[test]
fn the_best_is_told_with_its_cards_and_with_what_it_may_do_to_the_answers() {
    let setting = |value: u64, dtype: &str, rate: f64| {
        let mut summary = run(rate);
        summary.tags.insert("cards".into(), value.to_string());
        let point = json!({"tensor-parallel-size": value, "kv-cache-dtype": dtype});
        (point, vec![summary])
    };
    let axes = ["tensor-parallel-size", "kv-cache-dtype"];
    let points = vec![setting(2, "auto", 700.0), setting(4, "fp8", 1000.0)];
    let shown = in_one_line(&MadeUp::new(&axes, points));
    for expected in [
        "Per card tensor-parallel-size=4, kv-cache-dtype=fp8 250.0 tok/s on 4 cards, tensor-parallel-size=2, kv-cache-dtype=auto 350.0 tok/s on 2 cards",
        "Quality kv-cache-dtype=fp8 may change the answers",
    ] {
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
}

#[test]
fn what_may_change_answers_is_named_whether_it_is_the_best_or_not_and_so_is_a_card_without_fp8() {
    let shown = |device: &str| {
        let setting = |dtype: &str, rate: f64| (json!({"kv-cache-dtype": dtype}), vec![run(rate)]);
        let points = vec![setting("auto", 1000.0), setting("fp8", 500.0)];
        let mut made = MadeUp::new(&["kv-cache-dtype"], points);
        made.plan.engine = ["vllm", "serve", "qwen2.5-7b"].map(str::to_owned).into();
        for planned in &mut made.plan.points {
            let dtype = planned.point.0["kv-cache-dtype"].as_str().unwrap();
            planned.flags = [("kv-cache-dtype".to_owned(), dtype.to_owned())].into();
            planned.options.connection.sim_device = Some(device.to_owned());
        }
        in_one_line(&made)
    };
    let ampere = shown("a100-80g");
    for expected in [
        "Quality kv-cache-dtype=fp8 may change the answers",
        "a100-80g does not compute in FP8",
    ] {
        assert!(ampere.contains(expected), "{expected}: {ampere}");
    }
    let hopper = shown("h100");
    assert!(hopper.contains("Quality"), "{hopper}");
    assert!(!hopper.contains("does not compute"), "{hopper}");
}

#[test]
fn a_throughput_that_rises_while_requests_fail_is_no_rise() {
    let rung = |load: u64, rate: f64, failed: u64| {
        let mut summary = run(rate);
        summary.requests.ok -= failed;
        summary.requests.failed = failed;
        (json!({"concurrency": load}), vec![summary])
    };
    let points = vec![
        rung(4, 100.0, 0),
        rung(8, 200.0, 0),
        rung(16, 400.0, 0),
        rung(32, 790.0, 0),
        rung(64, 1500.0, 20),
        rung(128, 2800.0, 40),
    ];
    let made = MadeUp::new(&["concurrency"], points);
    let [knee] = made.of(FindingKind::Knee).try_into().unwrap();
    assert!(
        knee.text.starts_with("none up to concurrency 32,"),
        "{knee:?}"
    );
    let failures = made.of(FindingKind::FailuresFrom);
    assert!(failures[0].text.contains("64"), "{failures:?}");
}

#[test]
fn lengths_have_a_table_of_their_own_where_answers_differ_from_what_was_asked() {
    let shown = |actual: f64| {
        let cell = |asked: f64| {
            let mut summary = run(100.0);
            summary.tokens.output_mean = Some(asked * actual);
            let point = json!({"input-tokens": 512, "output-tokens": asked});
            (point, vec![summary])
        };
        let axes = ["input-tokens", "output-tokens"];
        in_one_line(&MadeUp::new(&axes, vec![cell(64.0), cell(128.0)]))
    };
    assert!(!shown(1.0).contains("Input length 512"), "{}", shown(1.0));
    assert!(shown(0.7).contains("Input length 512"), "{}", shown(0.7));
}

#[test]
fn a_best_setting_that_chance_may_have_made_is_told_as_such() {
    let shown = |rate: f64, requests: u64| {
        let setting = |value: u64, rate: f64| {
            let mut summary = run(rate);
            summary.requests.ok = requests;
            summary.requests.planned = requests;
            summary.throughput.output_tokens_per_s_interval = None;
            (json!({"max-num-seqs": value}), vec![summary])
        };
        let points = vec![setting(64, 1000.0), setting(128, rate)];
        in_one_line(&MadeUp::new(&["max-num-seqs"], points))
    };
    let small = shown(1046.0, 300);
    assert!(small.contains("Best max-num-seqs=128"), "{small}");
    assert!(
        small.contains("(300 and 300) differ by up to 17.4 %"),
        "{small}"
    );
    assert!(!shown(1500.0, 300).contains("may be chance"));
    assert!(!shown(1046.0, 100_000).contains("may be chance"));
}

#[test]
fn a_best_setting_that_was_repeated_with_other_results_is_held_against_others_with_their_spread() {
    let shown = |again: f64| {
        let points = vec![
            (json!({"kv-cache-dtype": "auto"}), vec![run(1000.0)]),
            (
                json!({"kv-cache-dtype": "fp8"}),
                vec![run(1250.0), run(again)],
            ),
            (json!({"kv-cache-dtype": "fp8_e5m2"}), vec![run(700.0)]),
        ];
        in_one_line(&MadeUp::new(&["kv-cache-dtype"], points))
    };
    let apart = shown(1050.0);
    assert!(
        apart.contains("Best kv-cache-dtype=fp8: 1,150.0 tok/s"),
        "{apart}"
    );
    let told = "as good as the best, for all that repeats can tell (those of one setting may \
                differ by up to 34.4 %): kv-cache-dtype=auto (1,000.0 tok/s)";
    assert!(apart.contains(told), "{apart}");
    let alike = shown(1249.0);
    assert!(!alike.contains("as good as the best"), "{alike}");
}
