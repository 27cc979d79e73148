use super::*;
use inferometer_page::text;

fn trial(id: u64, why: Why, state: StudyText, figure: Option<f64>) -> TrialLine {
    TrialLine {
        id,
        why,
        flags: format!("max-num-seqs={}", 16 << id),
        values: vec![(
            "max-num-seqs".into(),
            FlagValue::Number(f64::from(16 << id)),
        )],
        state,
        class: None,
        figures: vec![figure],
        by_load: Vec::new(),
        failed_requests: None,
        limited: vec![figure.map(|_| 812.5)],
        memory_gib: None,
    }
}

fn report(lang: Lang) -> StudyReport<'static> {
    StudyReport {
        objectives: vec![ObjectiveLine {
            path: "throughput.output_tokens_per_s".into(),
            towards: StudyText::Maximize,
        }],
        limits: vec![LimitLine {
            slo: "ttft.p99=1s".into(),
            figure: "ttft.p99 ms".into(),
        }],
        trials: vec![
            trial(0, Why::Default, StudyText::Done, Some(1000.0)),
            trial(1, Why::Search, StudyText::Crashed, None),
            trial(2, Why::Search, StudyText::Done, Some(1200.0)),
            trial(3, Why::Again(2), StudyText::Done, Some(1190.0)),
        ],
        best: Some(BestLine {
            trial: 2,
            command: ["vllm", "serve", "m", "--max-num-seqs", "64"]
                .map(str::to_owned)
                .to_vec(),
            keys: Vec::new(),
        }),
        verdict: VerdictLine {
            word: StudyText::Better,
            reason: StudyText::Gain,
        },
        comparison: Some(ComparisonLine {
            trial: 2,
            changes: vec![ChangeLine {
                path: "throughput.output_tokens_per_s".into(),
                value: 0.19,
                low: 0.15,
                high: 0.23,
            }],
        }),
        loads: Vec::new(),
        repeats: 4,
        pareto: Vec::new(),
        importance: Vec::new(),
        importance_of_met: None,
        failures: vec![("no-room-for-kv-cache".into(), 1, Some("ValueError".into()))],
        is_virtual: false,
        directory: Path::new("out"),
        lang,
    }
}

#[test]
fn the_best_command_and_its_gain_come_first() {
    let shown = text::render(&compose(&report(Lang::En)), text::TextStyle::default());
    let first = shown.lines().next().unwrap();
    assert!(
        first.contains("BETTER") && first.contains("+19.0 %"),
        "{shown}"
    );
    assert!(shown.contains("vllm serve m --max-num-seqs 64"), "{shown}");
    assert!(shown.contains("2 measured, 1 failed"), "{shown}");
    assert!(shown.contains("no-room-for-kv-cache"), "{shown}");
    assert!(
        shown.contains("ttft.p99 ms") && shown.contains("812.5"),
        "{shown}"
    );
}

#[test]
fn the_table_of_flags_names_its_objective_and_what_cannot_be_told_apart() {
    let mut report = report(Lang::En);
    let flag = |name: &str, effect, other: Option<&str>| ImportanceLine {
        flag: name.into(),
        share: 0.5,
        effect,
        best_at: None,
        changed_with: other.into_iter().map(str::to_owned).collect(),
    };
    report.importance = vec![
        flag("mode", StudyText::Choice, Some("a")),
        flag("a", StudyText::Falls, Some("mode")),
        flag("b", StudyText::NotVaried, None),
    ];
    let render = |report: &StudyReport| text::render(&compose(report), text::TextStyle::default());
    let shown = render(&report);
    assert_eq!(
        shown.matches("a, mode changed together").count(),
        1,
        "{shown}"
    );
    assert!(shown.contains("not varied"), "{shown}");
    assert!(!shown.contains("trials that met the SLOs"), "{shown}");
    report.importance_of_met = Some(9);
    let shown = render(&report);
    assert!(shown.contains("the 9 trials that met the SLOs"), "{shown}");
    // With one objective there is no doubt which is meant.
    assert!(!shown.contains("first of the objectives"), "{shown}");
    report.objectives.push(ObjectiveLine {
        path: "latency.ttft_ms.p99".into(),
        towards: StudyText::Minimize,
    });
    let shown = render(&report);
    assert!(
        shown.contains("What moves throughput.output_tokens_per_s"),
        "{shown}"
    );
}

#[test]
fn every_figure_is_named_with_its_own_change() {
    let mut report = report(Lang::En);
    report.verdict = VerdictLine {
        word: StudyText::TradeOff,
        reason: StudyText::Traded,
    };
    let comparison = report.comparison.as_mut().unwrap();
    comparison.changes.push(ChangeLine {
        path: "latency.ttft_ms.p99".into(),
        value: -0.732,
        low: -0.74,
        high: -0.72,
    });
    let said = verdict(&report);
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
    let mut report = report(Lang::En);
    report.loads = vec!["16".into(), "64".into()];
    report.trials[2].state = StudyText::Invalid;
    report.trials[2].failed_requests = Some(36);
    report.trials[2].by_load = vec![vec![Some(400.0), Some(3600.0)]];
    let shown = text::render(&compose(&report), text::TextStyle::default());
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
    let shown = text::render(&compose(&report(Lang::Zh)), text::TextStyle::default());
    assert!(
        shown.contains("有提升") && shown.contains("全部试验"),
        "{shown}"
    );
    assert!(!shown.contains("All trials"), "{shown}");
}
