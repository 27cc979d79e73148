//! Verdicts and the intervals that they rest on, and what else a reader is told.

use super::*;

#[test]
fn every_verdict_rests_on_the_interval_beside_it() {
    let ladder = |name: &str, latency: f64, deviation: f64, seed: u64| {
        let runs = (1..=6).flat_map(|load| {
            let mut runs = repeats("", 5, latency, deviation, 10 * seed + u64::from(load)).runs;
            runs.iter_mut().for_each(|run| run.point = point(load));
            runs
        });
        group(name, runs.collect())
    };
    let margin = 1.03;
    let mut told = [0; 3];
    for seed in 0..4 {
        for (latency, deviation) in [(104.0, 0.03), (101.0, 0.003), (103.0, 0.01)] {
            let groups = [
                ladder("a", 100.0, deviation, 2 * seed),
                ladder("b", latency, deviation, 2 * seed + 1),
            ];
            for row in compare(&groups, &Settings::default()).rows {
                let Some(p_value) = row.p_value else {
                    continue;
                };
                let [low, high] = [row.low.unwrap(), row.high.unwrap()];
                let (above, below) = (low > 1.0, high < 1.0);
                let inside = low > 1.0 / margin && high < margin;
                let expected = match row.metric.more_is_better() {
                    _ if inside => Verdict::Same,
                    more if above => [Verdict::Worse, Verdict::Better][usize::from(more)],
                    more if below => [Verdict::Better, Verdict::Worse][usize::from(more)],
                    _ => Verdict::Unknown,
                };
                assert_eq!(row.verdict, expected, "{row:?}");
                let certain = p_value < Settings::default().risk;
                assert_eq!(certain, above || below, "{row:?}");
                if row.primary {
                    let level = row.level.unwrap();
                    let of_seven = (level - (1.0 - 0.05 / 7.0)).abs() < 1e-9;
                    assert!(of_seven, "six loads and their sum: {level}");
                    let place = match expected {
                        Verdict::Same => 0,
                        Verdict::Unknown => 1,
                        _ => 2,
                    };
                    told[place] += 1;
                }
            }
        }
    }
    assert!(told.iter().all(|count| *count > 5), "{told:?}");
}

#[test]
fn doubts_and_other_models_of_the_sides_are_told_though_they_are_compared() {
    let doubt = |code, severity| StatedDoubt {
        code,
        severity,
        text: String::new(),
        remedy: String::new(),
    };
    let side = |name: &str, model: Option<&str>, doubts: &[StatedDoubt]| {
        let mut runs = repeats(name, 3, 100.0, 0.01, 1).runs;
        for run in &mut runs {
            run.system.model = model.map(str::to_owned);
        }
        runs[1].summary.doubts = doubts.to_vec();
        runs[1].foreign_doubts = vec![ForeignDoubt {
            code: "not-a-distribution".to_owned(),
            severity: Severity::Warn,
            text: String::new(),
            remedy: String::new(),
        }];
        group(name, runs)
    };
    let doubts = [
        doubt(DoubtCode::Drift, Severity::Warn),
        doubt(DoubtCode::FewSamples, Severity::Note),
    ];
    let mut plain = side("a", Some("7B"), &[]);
    plain.runs[1].foreign_doubts.clear();
    let found = compare(
        &[plain.clone(), side("b", Some("14B"), &doubts)],
        &Settings::default(),
    );
    assert!(found.comparable);
    let [of_b] = found.doubts.as_slice() else {
        panic!("{:?}", found.doubts)
    };
    assert_eq!((of_b.group.as_str(), of_b.runs, of_b.invalid), ("b", 3, 0));
    let codes: Vec<(&str, usize)> = (of_b.doubts.iter())
        .map(|it| (it.code.as_str(), it.runs))
        .collect();
    assert_eq!(codes, [("drift", 1), ("not-a-distribution", 1)]);
    let models: Vec<&[String]> = found.models.iter().map(|it| it.models.as_slice()).collect();
    assert_eq!(models, [["7B"], ["14B"]]);
    for same in [Some("7B"), None] {
        let found = compare(&[plain.clone(), side("b", same, &[])], &Settings::default());
        assert_eq!(found.models, [], "{same:?}");
    }
}

#[test]
fn two_runs_against_three_find_what_a_t_test_of_these_finds() {
    // Runs that state more noise than they differ by, as short ones do.
    let found = |slower: f64| {
        let is_found = |seed: &u64| {
            let a = repeats("a", 2, 100.0, 0.01, 2 * seed);
            let b = repeats("b", 3, slower, 0.01, 2 * seed + 1);
            let row = primary(&[a, b]);
            row.low.unwrap() > 1.0 || row.high.unwrap() < 1.0
        };
        (0..100).filter(is_found).count()
    };
    let [none, real] = [100.0, 105.0].map(found);
    assert!(none <= 9 && real >= 75, "{none} and {real} of 100");
}

#[test]
fn a_repeat_makes_no_side_longer_and_a_load_of_more_requests_does() {
    let side = |name: &str, loads: &[(u32, u64)]| {
        let runs = loads.iter().zip(1..).map(|(&(streams, requests), seed)| {
            let mut run = run(60, 100.0, 0.0, seed);
            run.point = point(streams);
            run.summary.requests.ok = requests;
            run
        });
        group(name, runs.collect())
    };
    let lengths = |b: &[(u32, u64)]| -> Vec<u64> {
        let a = side("a", &[(8, 100), (16, 200), (32, 400)]);
        let found = compare(&[a, side("b", b)], &Settings::default());
        found.lengths.iter().map(|it| it.requests).collect()
    };
    let repeated = [(8, 100), (16, 200), (32, 400), (32, 400), (32, 400)];
    assert_eq!(lengths(&repeated), [0; 0], "as many at each load");
    assert_eq!(lengths(&[(8, 100), (16, 200), (32, 1200)]), [400, 1200]);
}
