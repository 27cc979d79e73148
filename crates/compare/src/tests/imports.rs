//! Figures of other tools, whose requests are not known one by one.

use super::*;

#[test]
fn imports_of_a_closed_loop_whose_rate_is_infinite_are_compared_by_throughput() {
    let load = r#"{"concurrency": 4, "rate": "inf"}"#;
    let import = |latency, seed| {
        let mut summary = run(2000, latency, 0.0, seed).summary;
        summary.throughput.output_tokens_per_s_interval = None;
        RunSample::imported("vllm", serde_json::from_str(load).unwrap(), summary)
    };
    let row = primary(&[
        group("a", vec![import(100.0, 1)]),
        group("b", vec![import(50.0, 2)]),
    ]);
    assert_eq!(row.metric, Metric::OutputTokensPerS);
}

#[test]
fn figures_alone_tell_large_differences_if_their_requests_are_known() {
    let import = |latency, seed, requests| {
        let mut summary = run(2000, latency, 0.0, seed).summary;
        summary.throughput.output_tokens_per_s_interval = None;
        without_deviations(&mut summary);
        summary.concurrency.configured = None;
        summary.requests.ok = requests;
        RunSample::imported("vllm", point(8), summary)
    };
    let one = |other, requests| {
        primary(&[
            group("a", vec![import(100.0, 1, requests)]),
            group("b", vec![import(other, 2, requests)]),
        ])
    };
    let unknown = one(50.0, 0);
    assert_eq!(
        (unknown.verdict, unknown.low, unknown.basis),
        (Verdict::Unknown, None, Basis::Nothing)
    );
    assert!((unknown.ratio.unwrap() - 2.0).abs() < 0.1);
    let told = |other, requests| {
        let row = one(other, requests);
        assert_eq!(row.basis, Basis::Assumed);
        row.verdict
    };
    assert_eq!(told(30.0, 1000), Verdict::Better);
    assert_eq!(told(300.0, 1000), Verdict::Worse);
    assert_eq!(told(90.0, 1000), Verdict::Unknown, "noise may explain it");
    assert_eq!(told(50.0, 40), Verdict::Unknown, "too few requests");
    let many = [
        group("a", (0..3).map(|seed| import(100.0, seed, 0)).collect()),
        group("b", (5..8).map(|seed| import(50.0, seed, 0)).collect()),
    ];
    assert_eq!(primary(&many).verdict, Verdict::Better);
}

fn without_deviations(summary: &mut Summary) {
    let latency = &mut summary.latency;
    for sample in [
        &mut latency.ttft_ms,
        &mut latency.tpot_ms,
        &mut latency.e2e_ms,
    ] {
        let sample = sample.as_mut().unwrap();
        (sample.std, sample.p95, sample.p99) = (None, f64::NAN, f64::NAN);
    }
}

#[test]
fn percentiles_of_one_side_tell_how_unlike_the_answers_of_both_are() {
    let import = |latency, seed, keeps_tail: bool| {
        let mut summary = run(400, latency, 0.0, seed).summary;
        summary.throughput.output_tokens_per_s_interval = None;
        summary.throughput.requests_per_s_interval = None;
        summary.concurrency.configured = Some(8);
        summary.throughput.requests_per_s = summary.throughput.requests_per_s.map(|it| 8.0 * it);
        let tail = summary.latency.e2e_ms.unwrap().p99;
        without_deviations(&mut summary);
        if keeps_tail {
            summary.latency.e2e_ms.as_mut().unwrap().p99 = tail;
        }
        RunSample::imported("vllm", point(8), summary)
    };
    let told = |other, seed, keeps_tail| {
        let a = group("a", vec![import(100.0, seed, false)]);
        primary(&[a, group("b", vec![import(other, seed + 1, keeps_tail)])])
    };
    assert_eq!(told(150.0, 1, false).verdict, Verdict::Unknown);
    let slower = told(150.0, 1, true);
    assert_eq!(
        (slower.verdict, slower.basis),
        (Verdict::Worse, Basis::Deviations)
    );
    let pairs = 200;
    let differ =
        (0..pairs).filter(|pair| told(100.0, 1000 + 2 * pair, true).verdict != Verdict::Unknown);
    assert!(differ.count() as f64 <= 0.05 * pairs as f64);
}

#[test]
fn deviations_that_a_tool_states_tell_smaller_differences_and_equal_servers_seldom_differ() {
    let import = |latency, seed| {
        let mut summary = run(500, latency, 0.0, seed).summary;
        summary.throughput.output_tokens_per_s_interval = None;
        summary.throughput.requests_per_s_interval = None;
        summary.requests.ok = 500;
        summary.concurrency.configured = Some(16);
        summary.latency.e2e_ms = None;
        RunSample::imported("vllm", point(16), summary)
    };
    let told = |other, seed| {
        let a = group("a", vec![import(100.0, seed)]);
        primary(&[a, group("b", vec![import(other, seed + 1)])])
    };
    let slower = told(119.0, 1);
    assert_eq!(
        (slower.verdict, slower.basis),
        (Verdict::Worse, Basis::Deviations)
    );
    assert_eq!(told(103.0, 1).verdict, Verdict::Unknown);
    let pairs = 200;
    let differ = (0..pairs).filter(|pair| told(100.0, 1000 + 2 * pair).verdict != Verdict::Unknown);
    assert!(differ.count() as f64 <= 0.05 * pairs as f64);
}

#[test]
fn where_a_side_tells_no_requests_more_of_them_are_no_remedy() {
    let told = short(100.0, 1);
    let mut summary = short(101.0, 2).summary;
    summary.throughput.requests_needed = None;
    let untold = RunSample::imported("vllm", point(8), summary);
    let mut told_too = told.clone();
    told_too.definition.tool = Some("vllm".to_owned());
    let one = |other: RunSample| {
        let mut told = told_too.clone();
        told.definition = other.definition.clone();
        primary(&[group("a", vec![told]), group("b", vec![other])])
    };
    let row = one(untold);
    assert_eq!((row.verdict, row.requests_needed), (Verdict::Unknown, None));
    assert!(one(short(101.0, 3)).requests_needed.is_some());
}

#[test]
fn a_figure_that_its_own_result_contradicts_decides_nothing() {
    let side = |latency, seed| {
        let mut side = repeats("side", 4, latency, 0.005, seed);
        side.name = format!("side {seed}");
        side
    };
    let (a, mut b) = (side(100.0, 1), side(50.0, 2));
    b.runs[0].contradicted = vec![Metric::OutputTokensPerS];
    let found = compare(&[a, b], &Settings::default());
    let row = |metric| found.rows.iter().find(|row| row.metric == metric).unwrap();
    let doubted = row(Metric::OutputTokensPerS);
    assert_eq!(
        (doubted.verdict, doubted.basis),
        (Verdict::Unknown, Basis::Contradicted)
    );
    assert_eq!(
        doubted.repeats_to_decide, None,
        "no repeat of it would decide"
    );
    assert_eq!(row(Metric::RequestsPerS).verdict, Verdict::Better);
    assert!(found.comparable && found.is_answered());
}

#[test]
fn single_runs_of_a_note_differ_as_much_as_those_that_it_repeats() {
    let import = |latency, seed, streams| {
        let mut summary = run(2000, latency, 0.0, seed).summary;
        summary.throughput.output_tokens_per_s_interval = None;
        without_deviations(&mut summary);
        summary.concurrency.configured = None;
        summary.requests.ok = 20_000;
        RunSample::imported("vllm", point(streams), summary)
    };
    let sides = |again: f64| {
        let a = vec![
            import(100.0, 1, 8),
            import(100.0, 2, 16),
            import(again, 3, 16),
        ];
        let b = vec![import(125.0, 4, 8), import(125.0, 5, 16)];
        compare(&[group("a", a), group("b", b)], &Settings::default())
    };
    let at_8 = |found: &Comparison| {
        let mut rows = found.rows.iter();
        let row = rows.find(|row| row.primary && row.point == point(8));
        row.unwrap().verdict
    };
    let alike = sides(101.0);
    assert_eq!((at_8(&alike), alike.repeated.len()), (Verdict::Worse, 0));
    let apart = sides(120.0);
    assert_eq!(
        at_8(&apart),
        Verdict::Unknown,
        "within what repeats differ by"
    );
    let [repeat] = &apart.repeated[..] else {
        panic!("{:?}", apart.repeated);
    };
    assert_eq!((repeat.group.as_str(), repeat.runs), ("a", 2));
    assert!((repeat.high / repeat.low - 1.2).abs() < 0.02);
}

/// Single results of a ladder with these logarithms of their speeds, and one more at its third load.
fn ladder_with_a_repeat(a: [f64; 6], again: f64, b: [f64; 6]) -> Comparison {
    let import = |luck: f64, at: usize| {
        let mut summary = run(300, 100.0, luck, 1).summary;
        summary.throughput.output_tokens_per_s_interval = None;
        without_deviations(&mut summary);
        summary.concurrency.configured = None;
        summary.requests.ok = 20_000;
        RunSample::imported("vllm", point(1 << at), summary)
    };
    let side = |speeds: [f64; 6]| -> Vec<RunSample> {
        let speeds = speeds.into_iter().enumerate();
        speeds.map(|(at, luck)| import(luck, at)).collect()
    };
    let mut a = side(a);
    a.push(import(again, 2));
    compare(&[group("a", a), group("b", side(b))], &Settings::default())
}

#[test]
fn one_repeat_that_is_off_leaves_large_differences_that_are_the_same_at_all_loads() {
    let slower = f64::ln(1.5);
    let b = [0.01, -0.01, 0.0, 0.02, -0.02, 0.01].map(|luck| slower + luck);
    let found = ladder_with_a_repeat([0.0; 6], f64::ln(1.25), b);
    let told = found.rows.iter().filter(|row| row.primary);
    let verdicts: Vec<Verdict> = told.map(|row| row.verdict).collect();
    assert_eq!(verdicts, [Verdict::Worse; 6]);
    let unsteady = [0.4, 0.0, 0.3, 0.1, 0.6, 0.1];
    let found = ladder_with_a_repeat([0.0; 6], f64::ln(1.25), unsteady);
    let mut told = found.rows.iter().filter(|row| row.primary);
    assert!(told.all(|row| row.verdict == Verdict::Unknown));
}

#[test]
fn equal_servers_whose_repeats_scatter_seldom_differ_where_they_were_measured_once() {
    let mut random = rng(7, Dimension::Words, 5);
    let mut luck = || {
        let luck: f64 = StandardNormal.sample(&mut random);
        0.05 * luck
    };
    let mut scattered = 0;
    let mut wrong = 0;
    for _ in 0..150 {
        let [a, b] = [[0.0; 6]; 2].map(|side| side.map(|_| luck()));
        let found = ladder_with_a_repeat(a, luck(), b);
        let mut rows = found.rows.iter().filter(|row| row.primary);
        scattered += found.repeated.len();
        wrong += usize::from(
            !found.repeated.is_empty() && rows.any(|row| row.verdict != Verdict::Unknown),
        );
    }
    assert!(
        wrong as f64 <= 0.08 * scattered as f64,
        "{wrong} of {scattered}"
    );
}
