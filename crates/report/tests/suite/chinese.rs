//! Reports as people see them in Chinese.

use crate::samples;
use crate::samples::Sample;
use inferometer_analysis::judge::Doubt;
use inferometer_compare::{ForeignDoubt, Group, RunSample, Settings, compare};
use inferometer_core::doubt::Severity;
use inferometer_core::environment::EndCause;
use inferometer_core::note::Known;
use inferometer_core::point::Point;
use inferometer_core::summary::Distribution;
use inferometer_page::text::{TextStyle, render};
use inferometer_report::compare::{CompareReport, compose as compared};
use inferometer_report::run::{Detail, compose};
use inferometer_report::runs::{self, KnownResult, Listed, RunState};
use inferometer_text::Lang;
use serde_json::json;

fn text(sample: &Sample, detail: Detail) -> String {
    let report = sample.report_in(Lang::Zh, detail);
    render(&compose(&report), TextStyle::default())
}

/// The samples have doubts in English, as a run of an English locale stores them.
fn judged(mut sample: Sample, doubts: &[Doubt]) -> Sample {
    let stated = doubts.iter().map(|doubt| doubt.state(Lang::Zh));
    sample.summary.doubts = stated.collect();
    sample
}

#[test]
fn a_healthy_run() {
    let mut sample = judged(
        samples::healthy(),
        &[Doubt::OutputCapped {
            tokens: 128,
            at: 512,
            of: 512,
            by_server: false,
        }],
    );
    sample.environment.notes = vec![Known::NoChatApi.into()];
    insta::assert_snapshot!(text(&sample, Detail::Numbers));
}

#[test]
fn an_invalid_run() {
    let sample = judged(
        samples::invalid(),
        &[
            Doubt::Interrupted {
                cause: EndCause::Signal,
            },
            Doubt::FewSamples {
                n: 137,
                lacking: vec![(99, 459, "TTFT")],
            },
        ],
    );
    insta::assert_snapshot!(text(&sample, Detail::Numbers));
}

#[test]
fn definitions_of_an_open_loop() {
    let sample = judged(samples::open_loop(), &[Doubt::AllAtOnce { streams: None }]);
    insta::assert_snapshot!(text(&sample, Detail::Definitions));
}

#[test]
fn answers_by_length() {
    insta::assert_snapshot!(text(&judged(samples::continuation(), &[]), Detail::Numbers));
}

#[test]
fn the_list_of_runs() {
    let mut figures = samples::empty_summary();
    figures.throughput.requests_per_s = Some(21.6);
    figures.throughput.output_tokens_per_s = None;
    figures.latency.ttft_ms = Some(Distribution {
        p50: 171.0,
        ..samples::around(100, 171.0)
    });
    let name = "20261115-022334-基线";
    let run = KnownResult {
        label: Some("基线".to_owned()),
        started: Some("2026-11-15T02:23:34Z".to_owned()),
        figures: Some(figures),
        ..KnownResult::new(name, Listed::Run(None), RunState::Invalid)
    };
    insta::assert_snapshot!(render(
        &runs::compose(&[run], 1, None, Lang::Zh),
        TextStyle::default()
    ));
}

#[test]
fn of_two_doubts_of_one_code_a_comparison_tells_the_same_one_in_both_languages() {
    let run = |name: &str, valid: bool| {
        let mut summary = samples::empty_summary();
        summary.valid = valid;
        summary.throughput.output_tokens_per_s = Some(100.0);
        let point = Point([("concurrency".to_owned(), json!(16))].into());
        let mut run = RunSample::imported("markdown-table", point, summary);
        run.name = name.to_owned();
        run
    };
    let mut copied = run("note.md#3", false);
    copied.foreign_doubts = [
        (Severity::Invalid, "a copy; of line 9", "use neither"),
        (Severity::Warn, "measured twice", "measure again"),
    ]
    .map(|(severity, text, remedy)| ForeignDoubt {
        code: "inconsistent-import".to_owned(),
        severity,
        text: text.to_owned(),
        remedy: remedy.to_owned(),
    })
    .into();
    copied.in_chinese = [
        ("a copy; of line 9", "系复制"),
        ("use neither", "两者都不可用"),
        ("measured twice", "测了两次"),
        ("measure again", "重新测量"),
    ]
    .map(|(english, chinese)| (english.to_owned(), chinese.to_owned()))
    .into();
    let group = |name: &str, runs: Vec<RunSample>| Group {
        name: name.to_owned(),
        runs,
        ..Group::default()
    };
    let said = |b: Vec<RunSample>| {
        let groups = [group("a", vec![run("note.md#1", true)]), group("b", b)];
        let comparison = compare(&groups, &Settings::default());
        let report = CompareReport {
            comparison: &comparison,
            groups: &groups,
            run_deviation: 0.01,
            columns: None,
            lang: Lang::Zh,
        };
        let shown = render(&compared(&report), TextStyle::default());
        shown.split_whitespace().collect::<String>()
    };
    // Beside a valid run it is left out, alone it is why nothing is compared.
    let beside = said(vec![run("note.md#2", true), copied.clone()]);
    assert!(
        beside.contains("系复制") && beside.contains("两者都不可用"),
        "{beside}"
    );
    for said in [beside, said(vec![copied])] {
        assert!(said.contains("两者都不可用"), "{said}");
        assert!(
            !said.contains("重新测量") && !said.contains("useneither"),
            "{said}"
        );
    }
}
