//! Reports as people see them.

use crate::samples;
use crate::samples::Sample;
use inferometer_core::environment::EndCause;
use inferometer_core::note::Note;
use inferometer_core::scenario::{Arrival, Rate, Shape, Stagger};
use inferometer_core::server::{Level, ServerSummary};
use inferometer_core::summary::Distribution;
use inferometer_page::markdown;
use inferometer_page::text::{Paint, TextStyle, render};
use inferometer_report::run::{Detail, compose};
use inferometer_report::runs::{KnownResult, Listed, RunLoad, RunState};
use inferometer_report::{csv, json, runs};
use inferometer_text::Lang;
use strum::VariantArray as _;
use unicode_width::UnicodeWidthStr;

fn text(sample: &Sample, detail: Detail) -> String {
    render(&compose(&sample.report(detail)), TextStyle::default())
}

#[test]
fn reports_look_as_they_did() {
    for (name, sample) in samples::all() {
        insta::assert_snapshot!(name, text(&sample, Detail::Numbers));
    }
}

#[test]
fn markdown_looks_as_it_did() {
    for (name, sample) in [
        ("markdown_invalid", samples::invalid()),
        ("markdown_open_loop", samples::open_loop()),
    ] {
        let doc = compose(&sample.report(Detail::Numbers));
        insta::assert_snapshot!(name, markdown::render(&doc));
    }
}

#[test]
fn a_server_cannot_write_markdown() {
    let mut sample = samples::invalid();
    let nasty = "a|b\n# c <script>alert(1)</script> `d` ![e](http://f)";
    sample.environment.server.model = nasty.to_owned();
    sample.summary.label = Some(nasty.to_owned());
    sample.summary.doubts[0].text = nasty.to_owned();
    sample.summary.failures[0].sample = nasty.to_owned();
    let page = markdown::render(&compose(&sample.report(Detail::Numbers)));
    // Outside of code spans, which hold the server's words as they are.
    let markup: String = page.split("``").step_by(2).collect();
    assert!(
        !markup.contains("<script>") && !markup.contains("\n# c"),
        "{page}"
    );
    assert!(
        !markup.contains("![e]") && !markup.contains("a|b"),
        "{page}"
    );
}

#[test]
fn the_detailed_report_defines_each_metric_beside_its_name() {
    insta::assert_snapshot!(text(&samples::open_loop(), Detail::Definitions));
}

#[test]
fn a_row_of_part_of_the_answers_says_its_n() {
    let mut sample = samples::healthy();
    let all = sample.summary.latency.e2e_ms.unwrap();
    sample.summary.latency.first_answer_ms = Some(Distribution { n: 3, ..all });
    let shown = text(&sample, Detail::Numbers);
    assert!(shown.contains("(n=3)"), "{shown}");
    assert_eq!(shown.matches("(n=").count(), 1, "{shown}");
}

#[test]
fn a_gauge_of_few_samples_says_how_many() {
    let mut sample = samples::healthy();
    let seen = |samples| ServerSummary {
        samples,
        running: Some(Level {
            mean: 6.0,
            max: 8.0,
        }),
        ..ServerSummary::default()
    };
    sample.summary.server = Some(seen(2));
    let shown = text(&sample, Detail::Numbers);
    assert!(shown.contains("max 8 (of only 2 samples)"), "{shown}");
    sample.summary.server = Some(seen(200));
    assert!(!text(&sample, Detail::Numbers).contains("samples)"));
}

#[test]
fn every_line_fits_the_page() {
    for (name, sample) in samples::all() {
        for width in [80, 100, 120] {
            let style = TextStyle {
                width,
                ..TextStyle::default()
            };
            let details = [Detail::Numbers, Detail::Definitions];
            let both = details.map(|detail| Lang::VARIANTS.iter().map(move |lang| (*lang, detail)));
            for (lang, detail) in both.into_iter().flatten() {
                // Words of the command to copy are never broken.
                let mut doc = compose(&sample.report_in(lang, detail));
                if name == "invalid" {
                    doc.sections.pop();
                }
                for line in render(&doc, style).lines() {
                    assert!(line.width() <= width, "{name} at {width}: {line}");
                }
            }
        }
    }
}

#[test]
fn very_small_and_very_large_latencies_fit_the_page() {
    for median in [0.0, 0.000_4, 0.9, 99.94, 9_999.0, 294_000.0, 9e6, 4e8] {
        let mut sample = samples::invalid();
        let latency = &mut sample.summary.latency;
        for place in [
            &mut latency.ttft_ms,
            &mut latency.tpot_ms,
            &mut latency.e2e_ms,
        ] {
            *place = Some(samples::around(3, median));
        }
        let mut doc = compose(&sample.report(Detail::Definitions));
        doc.sections.pop();
        for line in render(&doc, TextStyle::default()).lines() {
            assert!(line.width() <= 80, "{median}: {line}");
        }
    }
}

#[test]
fn nothing_that_a_server_sends_moves_the_cursor() {
    let mut sample = samples::invalid();
    let nasty = "a\u{1b}[31mb\u{202e}c\r\nd";
    sample.environment.server.model = nasty.to_owned();
    sample.environment.server.software = Some(nasty.to_owned());
    sample.environment.notes = vec![Note::Text(nasty.to_owned())];
    sample.summary.label = Some(nasty.to_owned());
    sample.summary.doubts[0].text = nasty.to_owned();
    sample.summary.failures[0].sample = nasty.to_owned();
    let text = text(&sample, Detail::Numbers);
    assert!(!text.contains(['\u{1b}', '\r', '\u{202e}']));
    assert!(!csv::render(&sample.report(Detail::Numbers), None).contains('\u{1b}'));
}

#[test]
fn an_invalid_run_says_so_and_why_before_anything_else() {
    let text = text(&samples::invalid(), Detail::Numbers);
    let first = text.lines().next().unwrap();
    assert!(
        first.starts_with("INVALID  55 of 195 requests failed"),
        "{first}"
    );
    let place = |word: &str| text.find(word).unwrap();
    assert!(place("shrunk-concurrency") < place("Model"));
    assert!(place("server-error") < place("Result"));
}

#[test]
fn an_undecided_objective_is_told_in_the_first_line() {
    let mut sample = samples::open_loop();
    let slo = sample.summary.slo.as_mut().unwrap();
    slo.objectives.truncate(1);
    slo.objectives[0].objective = "tpot=50ms".to_owned();
    (slo.objectives[0].share, slo.objectives[0].met) = (None, None);
    (slo.attainment, slo.goodput_per_s, slo.met) = (None, None, None);
    let text = text(&sample, Detail::Numbers);
    let first = text.lines().next().unwrap();
    assert!(first.contains("objectives undecided: tpot=50ms"), "{first}");
    assert!(text.contains("tpot=50ms  n/a  undecided"), "{text}");
}

#[test]
fn a_killed_run_does_not_say_how_its_first_wave_was_spread() {
    let mut sample = samples::healthy();
    sample.ending = Default::default();
    sample.summary.window = None;
    assert!(text(&sample, Detail::Numbers).contains("all at once"));
    sample.ending.cause = EndCause::Killed;
    assert!(!text(&sample, Detail::Numbers).contains("all at once"));
}

#[test]
fn braces_in_a_prompt_are_not_taken_for_values() {
    let mut sample = samples::not_streamed();
    sample.scenario = samples::scenario("[work]\nprompt = \"{length} {count}\"\n");
    assert!(text(&sample, Detail::Numbers).contains("“{length} {count}”"));
}

#[test]
fn colours_change_nothing_but_colours() {
    for (name, sample) in samples::all() {
        let style = TextStyle {
            paint: Paint::Ansi,
            ..TextStyle::default()
        };
        let painted = render(&compose(&sample.report(Detail::Numbers)), style);
        assert!(painted.contains("\u{1b}[1"), "{name}");
        let mut plain = String::new();
        let mut rest = painted.as_str();
        while let Some((before, after)) = rest.split_once("\u{1b}[") {
            plain.push_str(before);
            rest = after.split_once('m').unwrap().1;
        }
        plain.push_str(rest);
        let trimmed: Vec<&str> = plain.lines().map(str::trim_end).collect();
        let expected = text(&sample, Detail::Numbers);
        assert_eq!(trimmed, expected.lines().collect::<Vec<_>>(), "{name}");
    }
}

#[test]
fn csv_has_one_header_and_one_row_of_the_same_length() {
    let mut sample = samples::open_loop();
    sample.summary.label = Some("=cmd|'/C calc'!A0".to_owned());
    let text = csv::render(&sample.report(Detail::Numbers), None);
    let lines: Vec<&str> = text.split("\r\n").collect();
    assert_eq!((lines.len(), lines[2]), (3, ""));
    let header: Vec<&str> = lines[0].split(',').collect();
    let row: Vec<&str> = lines[1].split(',').collect();
    assert_eq!(header.len(), row.len());
    let value = |name: &str| row[header.iter().position(|&column| column == name).unwrap()];
    assert_eq!(value("label"), "'=cmd|'/C calc'!A0");
    assert_eq!(value("ok"), "2996");
    assert_eq!(value("ttft_ms_p50"), "212");
    assert_eq!(value("first_answer_ms_p50"), "");
    assert_eq!(value("rate_per_s"), "5");
    insta::assert_snapshot!("csv_columns", header.join("\n"));
}

#[test]
fn json_is_the_summary_and_nothing_else() {
    for (_, sample) in samples::all() {
        let text = json::render(&sample.summary);
        let read: inferometer_core::summary::Summary = serde_json::from_str(&text).unwrap();
        assert_eq!(read.requests, sample.summary.requests);
        assert_eq!(read.doubts, sample.summary.doubts);
        assert_eq!(json::render(&read).lines().count(), text.lines().count());
        assert!(text.starts_with('{') && text.ends_with("}\n"));
    }
}

#[test]
fn the_list_of_runs_has_the_newest_first() {
    let mut figures = samples::empty_summary();
    figures.throughput.requests_per_s = Some(21.59);
    figures.throughput.output_tokens_per_s = Some(12_763.9);
    figures.latency.ttft_ms = Some(Distribution {
        p50: 171.2,
        ..samples::around(100, 171.2)
    });
    let line = |name: &str, started: &str, state, load: Shape| KnownResult {
        started: Some(started.to_owned()),
        figures: Some(figures.clone()),
        ..KnownResult::new(name, Listed::Run(Some(RunLoad::from(&load))), state)
    };
    let closed = Shape::Closed {
        concurrency: 64,
        stagger: Stagger::Auto,
    };
    let open = Shape::Open {
        rate: Rate(2.5),
        arrival: Arrival::Poisson,
        ramp: None,
        max_concurrency: Some(32),
    };
    let mut killed = line(
        "20261113-101112-a-much-longer-label-than-others",
        "2026-11-13T10:11:12Z",
        RunState::Unfinished,
        closed.clone(),
    );
    killed.figures = None;
    let list = [
        line(
            "20261114-101112-base",
            "2026-11-14T10:11:12Z",
            RunState::Valid,
            closed,
        ),
        killed,
        line(
            "20261115-022334-open",
            "2026-11-15T02:23:34Z",
            RunState::Invalid,
            open,
        ),
    ];
    let doc = runs::compose(&list, list.len(), None, Lang::En);
    insta::assert_snapshot!("runs", render(&doc, TextStyle::default()));
    let none = render(&runs::compose(&[], 0, None, Lang::En), TextStyle::default());
    assert_eq!(none.trim(), "No runs here yet.");
}
