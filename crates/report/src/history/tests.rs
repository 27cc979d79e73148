use super::*;
use inferometer_campaign::history::RunOfTimeline;
use inferometer_compare::Metric;
use std::collections::BTreeMap;

/// Scenarios with so many runs each.
fn history(runs: &[usize]) -> History {
    let run = |nth: usize| RunOfTimeline {
        path: format!("runs/{nth}"),
        started: "2026-11-15T02:23:34Z".to_owned(),
        new_facts: BTreeMap::new(),
    };
    let timeline = |(nth, count): (usize, &usize)| Timeline {
        differs: BTreeMap::from([("seed".to_owned(), nth.to_string())]),
        conditions: BTreeMap::new(),
        runs: (0..*count).map(run).collect(),
        invalid: 0,
        broken: None,
        metrics: Vec::new(),
    };
    History {
        schema: String::new(),
        margin: 0.02,
        risk: 0.05,
        timelines: runs.iter().enumerate().map(timeline).collect(),
    }
}

fn headings(history: &History) -> Vec<String> {
    let doc = compose(history, Lang::En);
    doc.sections
        .into_iter()
        .filter_map(|it| it.heading)
        .collect()
}

#[test]
fn of_two_commands_what_differs_is_told() {
    let told = |from: &str, to: &str| {
        let changed = ChangedFact {
            name: "command".to_owned(),
            from: Some(from.to_owned()),
            to: Some(to.to_owned()),
        };
        fact(&changed, Lang::En)
    };
    let plain = "vllm serve m";
    let seqs = "vllm serve m --max-num-seqs 64";
    assert_eq!(told(plain, seqs), "command --max-num-seqs 64 (new)");
    assert_eq!(told(seqs, plain), "command --max-num-seqs 64 (gone)");
    let more = "vllm serve m --max-num-seqs 128";
    let changed = "command --max-num-seqs 64 → --max-num-seqs 128";
    assert_eq!(told(seqs, more), changed);
    assert_eq!(told("a b", "b a"), "command a b → b a");
}

/// A history of one metric that was at these levels for ten runs each.
fn of_levels(metrics: &[(Metric, &[f64])]) -> History {
    let mut history = history(&[10 * metrics[0].1.len()]);
    let of_metric = |(metric, levels): &(Metric, &[f64])| MetricHistory {
        metric: *metric,
        values: (levels.iter())
            .flat_map(|level| std::iter::repeat_n(Some(*level), 10))
            .collect(),
        changes: (levels.windows(2).enumerate())
            .map(|(nth, pair)| Change {
                between: [10 * nth + 9, 10 * nth + 10],
                started: [9, 10].map(|day| format!("2026-11-{:02}T10:00:00Z", day + 2 * nth)),
                ratio: pair[1] / pair[0],
                low: pair[1] / pair[0] - 0.01,
                high: pair[1] / pair[0] + 0.01,
                worse: (pair[1] < pair[0]) == metric.more_is_better(),
                p: 0.001,
                facts: Vec::new(),
                nearby: Vec::new(),
            })
            .collect(),
        found_from: None,
    };
    history.timelines[0].metrics = metrics.iter().map(of_metric).collect();
    history
}

fn told(history: &History) -> String {
    let doc = compose(history, Lang::En);
    inferometer_page::text::render(&doc, inferometer_page::text::TextStyle::default())
}

#[test]
fn a_change_that_is_better_and_worse_is_called_neither() {
    let mixed = told(&of_levels(&[
        (Metric::OutputTokensPerS, &[1_000.0, 1_200.0]),
        (Metric::TtftP99, &[100.0, 110.0]),
    ]));
    assert!(mixed.contains("MIXED"), "{mixed}");
    assert!(mixed.contains("better and worse"), "{mixed}");
    assert!(mixed.contains("worse: TTFT, p99 rose 10.0 %"), "{mixed}");
    // What matters most decides where it is worse.
    for worse in [
        of_levels(&[(Metric::TtftP99, &[100.0, 110.0])]),
        of_levels(&[
            (Metric::OutputTokensPerS, &[1_000.0, 500.0]),
            (Metric::TpotMean, &[10.0, 8.0]),
        ]),
    ] {
        let worse = told(&worse);
        assert!(worse.starts_with("WORSE"), "{worse}");
    }
}

#[test]
fn the_present_level_is_held_against_the_best_one() {
    let fallen = of_levels(&[(Metric::OutputTokensPerS, &[1_000.0, 700.0, 770.0])]);
    let fallen = told(&fallen);
    assert!(fallen.contains("BETTER"), "{fallen}");
    assert!(fallen.contains("vs best"), "{fallen}");
    assert!(fallen.contains("−23.0 %"), "{fallen}");
    // The level just before is told as the change itself.
    for levels in [
        &[1_000.0, 700.0][..],
        &[700.0, 1_000.0, 770.0],
        &[1.0, 2.0, 3.0],
    ] {
        let told = told(&of_levels(&[(Metric::OutputTokensPerS, levels)]));
        assert!(!told.contains("vs best"), "{told}");
    }
}

#[test]
fn many_scenarios_with_too_few_runs_are_one_table() {
    let many = history(&[6, 2, 2, 1, 1]);
    let [told, short] = <[String; 2]>::try_from(headings(&many)).unwrap();
    assert_eq!(told, "seed=0");
    assert_eq!(short, "Scenarios with fewer than 6 runs");
    assert_eq!(figures(&many, Lang::En).len(), 1);
    let few = history(&[6, 2, 1]);
    assert_eq!(headings(&few), ["seed=0", "seed=1", "seed=2"]);
    assert_eq!(figures(&few, Lang::En).len(), 2);
}
