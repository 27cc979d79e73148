//! Pictures of the view, at the least size and at a larger one.

use super::Said;
use super::screen::{Footer, Screen};
use inferometer_core::doubt::{DoubtCode, Severity};
use inferometer_core::record::Stage;
use inferometer_core::summary::StatedDoubt;
use inferometer_page::text::width;
use inferometer_runner::now::course::{Course, Gauges, Middle, Part};
use inferometer_runner::now::{About, Doubts, Ladder, Now, Phase, RunNow, Step, StepState};
use inferometer_text::Lang;
use ratatui_core::backend::TestBackend;
use ratatui_core::terminal::Terminal;

fn doubt(severity: Severity, code: DoubtCode, text: &str, remedy: &str) -> StatedDoubt {
    StatedDoubt {
        code,
        severity,
        text: text.to_owned(),
        remedy: remedy.to_owned(),
    }
}

fn middle(p50: f64, p99: f64) -> Option<Middle> {
    Some(Middle { p50, p99 })
}

/// A run in its 40th second.
fn run() -> RunNow {
    let part = |at: u32| {
        let wave = f64::from(at % 10);
        Part {
            requests_per_s: 10.0 + wave,
            output_tokens_per_s: 1_200.0 + 100.0 * wave,
            failed: u64::from(at == 30) * 2,
            in_flight: 8.min(u64::from(at) + 1),
            ttft_ms: middle(80.0 + wave, 190.0 + wave).filter(|_| at > 1),
            tpot_ms: middle(12.0, 15.0 + wave),
        }
    };
    RunNow {
        name: "20261117-123456-chat".to_owned(),
        about: About {
            is_simulated: false,
            facts: [
                "vLLM 0.32.0",
                "http://10.0.0.7:8000",
                "Qwen2.5-7B-Instruct",
                "concurrency=8",
            ]
            .map(str::to_owned)
            .to_vec(),
        },
        phases: vec![
            Phase {
                stage: Stage::Warmup,
                from_s: 0.0,
            },
            Phase {
                stage: Stage::Measured,
                from_s: 4.2,
            },
        ],
        left_s: Some(82.4),
        elapsed_s: 40.2,
        planned: Some(1_500),
        measured: 438,
        failed: 2,
        in_flight: 8,
        course: Course {
            part_s: 1.0,
            parts: (0..41).map(part).collect(),
            whole: 40,
            ok: 480,
            failed: 2,
            cut: 0,
            output_tokens: 61_440,
        },
        gauges: Gauges {
            running: (0..41).map(|at| Some(f64::from(at % 8 + 1))).collect(),
            waiting: (0..41).map(|_| Some(0.5)).collect(),
            kv_use: (0..41).map(|at| Some(f64::from(at) / 100.0)).collect(),
            power_w: (0..41).map(|at| (at > 5).then_some(312.0)).collect(),
        },
        ttft_ms: middle(84.1, 198.0),
        tpot_ms: middle(12.0, 22.4),
        objectives: Vec::new(),
        doubts: Doubts {
            en: vec![
                doubt(
                    Severity::Warn,
                    DoubtCode::FewSamples,
                    "438 requests are few for a p99: its interval is wide, and it may be off by a third of its value",
                    "measure 2,000 requests or more",
                ),
                doubt(
                    Severity::Invalid,
                    DoubtCode::Failures,
                    "2 of 440 requests failed: \u{1b}[31mconnection reset",
                    "look at the server's log",
                ),
            ],
            zh: vec![doubt(
                Severity::Warn,
                DoubtCode::FewSamples,
                "438 个请求对 p99 来说太少：其区间很宽，可能偏离真实值三分之一",
                "测量 2,000 个或更多请求",
            )],
        },
    }
}

fn ladder() -> Ladder {
    let step = |load: u32, state: StepState| Step {
        place: format!("concurrency={load}"),
        load: Some(f64::from(load)),
        state,
        requests_per_s: Some(f64::from(load) * 1.3),
        output_tokens_per_s: Some(f64::from(load) * 166.0),
        ttft_p50_ms: Some(60.0 + f64::from(load)),
        ttft_p99_ms: Some(90.0 + f64::from(load)),
        tpot_p50_ms: Some(11.5),
        failed: Some(0),
        ..Step::default()
    };
    Ladder {
        steps: vec![
            step(1, StepState::Done),
            Step {
                doubts: vec!["few-samples".to_owned(), "client-late".to_owned()],
                ..step(2, StepState::Invalid)
            },
            step(4, StepState::Done),
            Step {
                why: Some("the server is gone".to_owned()),
                place: "concurrency=8".to_owned(),
                state: StepState::Failed,
                ..Step::default()
            },
        ],
        planned: Some(9),
        left_s: Some(400.0),
        axis: Some("concurrency".to_owned()),
        objective: None,
    }
}

fn study() -> Ladder {
    let step = |place: &str, state: StepState, objective: Option<f64>| Step {
        place: place.to_owned(),
        state,
        objective,
        ..Step::default()
    };
    Ladder {
        steps: vec![
            step("–", StepState::Done, Some(1_533.2)),
            step(
                "max-num-seqs=256 max-num-batched-tokens=8192 block-size=32",
                StepState::SloMissed,
                Some(1_811.0),
            ),
            Step {
                why: Some("no-room-for-kv-cache".to_owned()),
                ..step("max-num-seqs=1024", StepState::Crashed, None)
            },
        ],
        planned: Some(30),
        left_s: None,
        axis: None,
        objective: Some("throughput.output_tokens_per_s".to_owned()),
    }
}

/// The picture as text; no line is wider than the terminal.
fn picture(screen: &Screen<'_>, columns: u16, rows: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    terminal
        .draw(|frame| screen.draw(frame.buffer_mut()))
        .unwrap();
    let buffer = terminal.backend().buffer();
    let mut text = String::new();
    for row in 0..rows {
        let mut line = String::new();
        let mut column = 0;
        // A wide sign stands in the first of its two cells.
        while column < columns {
            let symbol = buffer[(column, row)].symbol();
            line.push_str(symbol);
            column += u16::try_from(width(symbol)).unwrap().max(1);
        }
        assert!(width(&line) <= usize::from(columns), "{line}");
        text.push_str(line.trim_end());
        text.push('\n');
    }
    assert!(!text.contains('\u{1b}'), "{text}");
    text
}

fn screen<'a>(now: Option<&'a Now>, said: &'a Said, lang: Lang) -> Screen<'a> {
    Screen {
        title: "20261117-123456-chat",
        now,
        said,
        footer: Footer::Keys,
        lang,
    }
}

#[test]
fn a_run_a_sweep_and_a_study_at_two_sizes_and_in_two_languages() {
    let said = Said {
        status: String::new(),
        messages: vec!["plan: 8 requests to warm up, 1,500 measured".to_owned()],
    };
    let run_alone = Now {
        run: Some(run()),
        ladder: None,
    };
    let in_sweep = Now {
        run: Some(run()),
        ladder: Some(ladder()),
    };
    let in_study = Now {
        run: None,
        ladder: Some(study()),
    };
    for (columns, rows) in [(80, 24), (120, 40)] {
        for lang in [Lang::En, Lang::Zh] {
            for (name, now) in [
                ("run", &run_alone),
                ("sweep", &in_sweep),
                ("study", &in_study),
            ] {
                let shown = picture(&screen(Some(now), &said, lang), columns, rows);
                insta::assert_snapshot!(format!("{name}-{columns}x{rows}-{lang}"), shown);
            }
        }
    }
}

#[test]
fn before_anything_is_measured_it_says_what_is_waited_for_and_asks_before_it_ends() {
    let said = Said {
        status: "waiting for vllm since 12s: \u{1b}[2Jloading weights".to_owned(),
        messages: Vec::new(),
    };
    let shown = picture(
        &Screen {
            footer: Footer::Sure,
            ..screen(None, &said, Lang::En)
        },
        80,
        24,
    );
    insta::assert_snapshot!("waiting-80x24", shown);
}

#[test]
fn a_terminal_of_any_size_is_drawn_on() {
    let said = Said::default();
    let now = Now {
        run: Some(run()),
        ladder: Some(ladder()),
    };
    for (columns, rows) in [(1, 1), (3, 2), (20, 5), (79, 23), (400, 100)] {
        for lang in [Lang::En, Lang::Zh] {
            picture(&screen(Some(&now), &said, lang), columns, rows);
        }
    }
}
