//! Runs that reports are looked at with. The numbers are invented.

use inferometer_core::doubt::{DoubtCode, Severity};
use inferometer_core::environment::{EndCause, Ending, Environment, Probe};
use inferometer_core::note::{Known, Note};
use inferometer_core::options::Options;
use inferometer_core::record::{FailureClass, Phase, TokenSource};
use inferometer_core::scenario::Scenario;
use inferometer_core::summary::{
    Accounts, Client, Concurrency, ContinuationGroup, ContinuationResult, Distribution, DriftPart,
    FailureCount, Latencies, ObjectiveResult, SCHEMA, SloResult, Speed, StatedDoubt,
    SteadyThroughput, Summary, Throughput, Tokens, WindowSpan,
};
use inferometer_core::units::Offset;
use inferometer_report::run::{Detail, RunReport};
use inferometer_text::Lang;
use inferometer_text::secret::Secrets;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Everything that a report needs.
pub struct Sample {
    pub summary: Summary,
    pub scenario: Scenario,
    pub environment: Environment,
    pub ending: Ending,
    pub directory: PathBuf,
}

impl Sample {
    pub fn report(&self, detail: Detail) -> RunReport<'_> {
        self.report_in(Lang::En, detail)
    }

    pub fn report_in(&self, lang: Lang, detail: Detail) -> RunReport<'_> {
        RunReport {
            summary: &self.summary,
            scenario: &self.scenario,
            environment: &self.environment,
            ending: &self.ending,
            directory: Some(Path::new(&self.directory)),
            lang,
            detail,
        }
    }
}

pub fn scenario(toml: &str) -> Scenario {
    Options::from_toml(toml).unwrap().resolve().unwrap()
}

/// A sample around a median with a tail.
pub fn around(n: u64, median: f64) -> Distribution {
    Distribution {
        n,
        mean: median * 1.07,
        std: Some(median * 0.3),
        min: median * 0.6,
        p50: median,
        p75: median * 1.2,
        p90: median * 1.5,
        p95: median * 1.8,
        p99: median * 2.9,
        max: median * 3.4,
        independent: None,
        answers: None,
        mean_interval: Some([median * 1.04, median * 1.1]),
        p50_interval: Some([median * 0.97, median * 1.03]),
        p99_interval: None,
        requests_needed: None,
    }
}

fn doubt(code: DoubtCode, severity: Severity, text: &str, remedy: &str) -> StatedDoubt {
    StatedDoubt {
        code,
        severity,
        text: text.to_owned(),
        remedy: remedy.to_owned(),
    }
}

pub fn empty_summary() -> Summary {
    Summary {
        schema: SCHEMA.to_owned(),
        label: None,
        tags: BTreeMap::new(),
        valid: true,
        doubts: Vec::new(),
        requests: Accounts::default(),
        window_s: None,
        window: None,
        outages: Vec::new(),
        steady_s: None,
        throughput: Throughput::default(),
        steady: None,
        concurrency: Concurrency::default(),
        latency: Latencies::default(),
        speed: Speed::default(),
        tokens: Tokens {
            input: None,
            output: None,
            source: TokenSource::None,
            cached: None,
            input_asked_mean: None,
            input_mean: None,
            output_asked_mean: None,
            output_mean: None,
            chars_per_token: None,
        },
        items: None,
        failures: Vec::new(),
        slo: None,
        client: Client::default(),
        server: None,
        drift: None,
        continuation: None,
        check: None,
        models: Vec::new(),
        sessions: None,
        cost: None,
        structured: None,
        media: None,
    }
}

fn environment() -> Environment {
    Environment {
        inferometer: "0.1.0".to_owned(),
        started: "2026-11-15T02:23:34+08:00".to_owned(),
        nonce: Some("amber-lake".to_owned()),
        server: Probe {
            endpoints: vec!["http://127.0.0.1:8000/v1/chat/completions".to_owned()],
            api: "chat".to_owned(),
            model: "Qwen/Qwen2.5-7B-Instruct".to_owned(),
            software: Some("vLLM 0.32.0".to_owned()),
            stream_usage: true,
            ignore_eos: Some(true),
            ..Probe::default()
        },
        workers: 1,
        ..Environment::default()
    }
}

/// A closed loop in which nothing went wrong.
pub fn healthy() -> Sample {
    let mut summary = Summary {
        label: Some("baseline".to_owned()),
        tags: BTreeMap::from([("cards".to_owned(), "1".to_owned())]),
        requests: Accounts {
            planned: 512,
            ok: 512,
            warmup: 131,
            hold: 64,
            ..Accounts::default()
        },
        window_s: Some(23.71),
        window: Some(WindowSpan {
            start_s: 3.02,
            end_s: 26.73,
            steady_by_construction: true,
        }),
        steady_s: Some(18.02),
        throughput: Throughput {
            requests_per_s: Some(21.59),
            input_tokens_per_s: Some(11_140.0),
            output_tokens_per_s: Some(2_763.9),
            total_tokens_per_s: Some(13_903.9),
            requests_per_s_interval: Some([20.94, 22.18]),
            output_tokens_per_s_interval: Some([2_690.2, 2_839.7]),
            ..Throughput::default()
        },
        steady: Some(SteadyThroughput {
            requests_per_s: Some(22.41),
            output_tokens_per_s: Some(2_861.3),
            span_s: [3.1, 21.1],
        }),
        concurrency: Concurrency {
            configured: Some(64),
            mean: Some(61.84),
            peak: Some(64),
        },
        latency: Latencies {
            ttft_ms: Some(around(512, 171.2)),
            second_token_ms: Some(around(512, 22.9)),
            tpot_ms: Some(around(512, 21.34)),
            itl_ms: Some(around(65_024, 20.9)),
            max_gap_ms: Some(around(512, 61.7)),
            e2e_ms: Some(around(512, 2_871.0)),
            itl_is_per_token: true,
            ..Latencies::default()
        },
        speed: Speed {
            per_user_tokens_per_s: Some(around(512, 43.7)),
            decode_tokens_per_s: Some(around(512, 46.86)),
        },
        tokens: Tokens {
            input: Some(264_143),
            output: Some(65_536),
            source: TokenSource::Usage,
            cached: Some(1_024),
            input_asked_mean: Some(512.0),
            input_mean: Some(515.9),
            output_asked_mean: Some(128.0),
            output_mean: Some(128.0),
            chars_per_token: Some(4.213),
        },
        client: Client {
            cpu_share: Some(0.117),
            lag_p99_ms: None,
            pulse_p99_ms: None,
            longest_pause_ms: None,
            ceiling_tokens_per_s: Some(900_000.0),
            ceiling_share: Some(0.031),
        },
        ..empty_summary()
    };
    summary.doubts.push(doubt(
        DoubtCode::OutputCapped,
        Severity::Note,
        "100 % of the answers end at exactly 128 tokens.",
        "Fine if that length was meant; otherwise raise --output-tokens.",
    ));
    Sample {
        summary,
        scenario: scenario(
            "[connection]\nurl = [\"http://127.0.0.1:8000\"]\n[load]\nconcurrency = 64\n\
             requests = 512\nwarmup = 64\n[work]\ninput-tokens = \"512\"\noutput-tokens = \"128\"\n",
        ),
        environment: environment(),
        ending: Ending {
            planned: 512,
            measured_from: Offset(3_000_000_000),
            steady_window: true,
            ..Ending::default()
        },
        directory: PathBuf::from("inferometer-runs/20261115-022334-baseline"),
    }
}

/// Too many failures, with a body that fights back, and few samples.
pub fn invalid() -> Sample {
    let mut sample = healthy();
    let body = format!(
        "{{\"error\":{{\"message\":\"\u{1b}[2J\u{1b}]0;owned\u{7}请求失败：显存不足，\
         无法为该请求分配更多的键值缓存块\u{202e}，请稍后重试。{}\r\n\"}}}}",
        "x".repeat(3_000)
    );
    let summary = &mut sample.summary;
    summary.valid = false;
    summary.requests = Accounts {
        planned: 200,
        ok: 137,
        failed: 55,
        cut: 3,
        unsent: 5,
        resent: 0,
        ..Accounts::default()
    };
    summary.steady = None;
    summary.steady_s = None;
    summary.throughput.requests_per_s_interval = None;
    summary.throughput.output_tokens_per_s_interval = None;
    summary.latency = Latencies {
        ttft_ms: Some(around(137, 12_841.0)),
        first_answer_ms: Some(around(137, 14_200.0)),
        second_token_ms: Some(around(137, 31.0)),
        tpot_ms: Some(around(137, 44.8)),
        itl_ms: Some(around(9_000, 90.2)),
        inter_chunk_ms: Some(around(9_000, 90.2)),
        max_gap_ms: Some(around(40, 1_820.0)),
        e2e_ms: Some(around(137, 18_871.0)),
        itl_is_per_token: false,
        ..Latencies::default()
    };
    summary.failures = vec![
        FailureCount {
            phase: Phase::Status,
            class: FailureClass::ServerError,
            count: 48,
            status: Some(500),
            sample: Secrets::default().keep(&body),
        },
        FailureCount {
            phase: Phase::Connect,
            class: FailureClass::Refused,
            count: 7,
            status: None,
            sample: "connection refused (os error 111)".to_owned(),
        },
    ];
    summary.doubts = vec![
        doubt(
            DoubtCode::Failures,
            Severity::Invalid,
            "55 of 195 requests failed (28.2 %); the limit is 20 %.",
            "Look at the bodies under Failures; lower the load, or fix the server first.",
        ),
        doubt(
            DoubtCode::Interrupted,
            Severity::Invalid,
            "The run was stopped by the user after 192 of 200 requests.",
            "Let it end, or give --duration.",
        ),
        doubt(
            DoubtCode::ShrunkConcurrency,
            Severity::Invalid,
            "Only 41.2 requests were in flight on average, where 64 were configured.",
            "Find out which requests ended early; the throughput is not that of 64 streams.",
        ),
        doubt(
            DoubtCode::OutputLengths,
            Severity::Warn,
            "Answers have 96.4 tokens on average where 128 were asked for (-24.7 %).",
            "Check that the server takes ignore_eos, or give --no-ignore-eos to accept it.",
        ),
        doubt(
            DoubtCode::FewSamples,
            Severity::Note,
            "p99 rests on 137 samples; 459 are needed.",
            "Send --requests 459 or more.",
        ),
    ];
    sample.scenario = scenario(
        "[connection]\nurl = [\"http://127.0.0.1:8000\"]\n\
         [load]\nconcurrency = 64\n\
         requests = 200\nwarmup = 0\nstagger = \"none\"\n[work]\ninput-tokens = \"uniform(256,1024)\"\n",
    );
    sample.environment.notes = vec![Note::from(Known::RefusesField {
        field: "min_tokens".to_owned(),
    })];
    sample.environment.server.model =
        "/data/models/production/2026/qwen/Qwen2.5-72B-Instruct-GPTQ-Int4-with-a-very-long-suffix-模型"
            .to_owned();
    sample.environment.server.endpoints = (0..3)
        .map(|node| {
            format!("https://inference-gateway-{node}.cluster-a.example.internal:8443/v1/chat/completions")
        })
        .collect();
    sample.ending.cause = EndCause::Signal;
    sample.ending.stagger_ns = None;
    sample.directory = PathBuf::from(
        "/data/shared/benchmarks/2026-11/experiments/gptq vs awq/20261115-022334-baseline",
    );
    sample
}

/// An open loop with a cap and objectives of which one is missed.
pub fn open_loop() -> Sample {
    let mut sample = healthy();
    let summary = &mut sample.summary;
    summary.label = Some("open".to_owned());
    summary.doubts = vec![doubt(
        DoubtCode::ClientLate,
        Severity::Warn,
        "The client sent 6.2 ms late at p99; the limit is 5 ms.",
        "Use a quieter host or more --workers.",
    )];
    summary.requests = Accounts {
        planned: 3_000,
        ok: 2_996,
        failed: 4,
        ..Accounts::default()
    };
    summary.window_s = Some(601.3);
    summary.steady_s = Some(540.0);
    summary.concurrency = Concurrency {
        configured: Some(32),
        mean: Some(14.36),
        peak: Some(32),
    };
    summary.throughput.requests_per_s = Some(4.983);
    summary.throughput.requests_per_s_interval = Some([4.91, 5.06]);
    summary.latency.ttft_ms = Some(around(2_996, 212.0));
    summary.latency.ttft_from_sent_ms = Some(around(2_996, 188.0));
    summary.latency.connect_ms = Some(around(32, 0.412));
    summary.latency.lag_ms = Some(around(2_996, 0.084));
    summary.latency.cap_wait_ms = Some(Distribution {
        p50: 0.0,
        ..around(2_996, 21.0)
    });
    summary.failures = vec![FailureCount {
        phase: Phase::Stream,
        class: FailureClass::InBandError,
        count: 4,
        status: Some(200),
        sample: "{\"error\":{\"message\":\"engine restarted\",\"code\":503}}".to_owned(),
    }];
    summary.slo = Some(SloResult {
        attainment: Some(0.9312),
        attainment_interval: None,
        goodput_per_s: Some(4.641),
        jobs: None,
        objectives: vec![
            ObjectiveResult {
                objective: "ttft=500ms".to_owned(),
                value_ms: None,
                share: Some(0.9409),
                met: Some(false),
            },
            ObjectiveResult {
                objective: "tpot.p99=50ms".to_owned(),
                value_ms: Some(61.9),
                share: None,
                met: Some(false),
            },
            ObjectiveResult {
                objective: "e2e.mean=10s".to_owned(),
                value_ms: Some(3_072.0),
                share: None,
                met: Some(true),
            },
        ],
        met: Some(false),
    });
    summary.client.lag_p99_ms = Some(6.21);
    sample.scenario = scenario(
        "[connection]\nurl = [\"http://127.0.0.1:8000\"]\n[load]\nrate = 5\n\
         arrival = \"poisson\"\nmax-concurrency = 32\nrequests = 3000\nwarmup = \"10s\"\n\
         [objectives]\nslo = [\"ttft=500ms\", \"tpot.p99=50ms\", \"e2e.mean=10s\"]\n\
         attainment = 0.95\n",
    );
    sample.ending.stagger_ns = None;
    sample.directory = PathBuf::from("inferometer-runs/20261115-022334-open");
    sample
}

/// No stream: only the end of an answer has a time.
pub fn not_streamed() -> Sample {
    let mut sample = healthy();
    sample.summary.doubts.clear();
    sample.summary.latency = Latencies {
        e2e_ms: Some(around(512, 2_871.0)),
        ..Latencies::default()
    };
    sample.scenario = scenario(
        "[connection]\nurl = [\"http://127.0.0.1:8000\"]\nstream = false\n[load]\n\
         concurrency = 64\nrequests = 512\n[work]\nprompt = \"Name three rivers.\"\nmax-tokens = 64\n",
    );
    sample.environment.nonce = None;
    sample
}

pub fn nothing() -> Sample {
    let mut sample = healthy();
    sample.summary = Summary {
        label: Some("baseline".to_owned()),
        valid: false,
        doubts: vec![doubt(
            DoubtCode::NothingMeasured,
            Severity::Invalid,
            "None of 8 requests was answered.",
            "Look at the failures; try one request with curl.",
        )],
        requests: Accounts {
            planned: 8,
            failed: 8,
            ..Accounts::default()
        },
        window_s: Some(0.012),
        failures: vec![FailureCount {
            phase: Phase::Status,
            class: FailureClass::NotFound,
            count: 8,
            status: Some(404),
            sample: "{\"detail\":\"Not Found\"}".to_owned(),
        }],
        ..empty_summary()
    };
    sample
}

/// A long run in ten parts.
pub fn soak() -> Sample {
    let mut sample = healthy();
    sample.scenario = scenario("[load]\nconcurrency = 64\nsoak = \"10h\"\n");
    sample.summary.window_s = Some(36_004.0);
    sample.summary.drift = Some(
        (0..10)
            .map(|part| DriftPart {
                from_s: f64::from(part) * 3_600.0,
                ok: 77_000 - u64::from(part as u32) * 311,
                failed: u64::from(part == 7),
                output_tokens_per_s: Some(2_761.0 - f64::from(part) * 12.0),
                ttft_p50_ms: (part != 9).then(|| 171.0 + f64::from(part) * 4.0),
            })
            .collect(),
    );
    sample
}

/// A template that asks for more than it gets.
pub fn continuation() -> Sample {
    let mut sample = healthy();
    sample.scenario = scenario(
        "[load]\nconcurrency = 16\nrequests = 512\n[work]\ninput-chars = 4000\n\
         ask-chars = 2000\ntemplate = \"zh\"\n",
    );
    sample.environment.nonce = None;
    sample.environment.distinct_prompts = Some(500);
    sample.environment.notes = vec![Note::from(Known::Template {
        chars: 131,
        tokens: Some(118),
    })];
    let group = |from_share, to_share, answers: u64, chars_mean: f64| {
        let known = answers > 0;
        ContinuationGroup {
            from_share,
            to_share,
            answers,
            chars_mean: known.then_some(chars_mean),
            tokens_mean: known.then_some(chars_mean / 1.31),
            tokens_per_s_mean: known.then_some(4.691),
            e2e_mean_ms: known.then_some(chars_mean * 213.0),
        }
    };
    sample.summary.continuation = Some(ContinuationResult {
        asked_chars: 2000,
        chars_mean: Some(911.3),
        tokens_mean: Some(682.5),
        refused: 3,
        very_short: 9,
        template_chars: Some(131),
        template_tokens: Some(118),
        groups: vec![
            group(0.0, Some(0.1), 9, 71.0),
            group(0.1, Some(0.5), 301, 742.0),
            group(0.5, Some(0.9), 202, 1_203.0),
            group(0.9, Some(1.1), 0, 0.0),
            group(1.1, None, 0, 0.0),
        ],
    });
    sample
}

/// All of them, by name.
pub fn all() -> Vec<(&'static str, Sample)> {
    vec![
        ("healthy", healthy()),
        ("invalid", invalid()),
        ("open_loop", open_loop()),
        ("not_streamed", not_streamed()),
        ("nothing", nothing()),
        ("soak", soak()),
        ("continuation", continuation()),
    ]
}
