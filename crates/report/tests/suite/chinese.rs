//! Reports as people see them in Chinese.

use crate::samples;
use crate::samples::Sample;
use inferometer_analysis::judge::Doubt;
use inferometer_core::environment::EndCause;
use inferometer_core::note::Known;
use inferometer_core::summary::Distribution;
use inferometer_page::text::{TextStyle, render};
use inferometer_report::run::{Detail, compose};
use inferometer_report::runs::{self, KnownResult, Listed, RunState};
use inferometer_text::Lang;

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
