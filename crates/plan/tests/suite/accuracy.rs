//! How well a calibration predicts what it has not seen.

use inferometer_catalog::device::Device;
use inferometer_catalog::engine::EngineKind;
use inferometer_catalog::model::Model;
use inferometer_catalog::timing::Timing;
use inferometer_core::length::Distribution as Lengths;
use inferometer_core::quantile::{quantile, sort};
use inferometer_plan::calibrate::{CalibrateError, Calibration, Doubtful, calibrate};
use inferometer_plan::flags::Flag;
use inferometer_plan::means::{MeanMetric, Means};
use inferometer_plan::observation::{Assumed, Observation, Origin, read_sources};
use inferometer_plan::predict::{Subject, simulate};
use inferometer_plan::what_if::{Objectives, Outcome, PredictedVerdict, Question, ask, to_json};
use inferometer_plan::work::{Load, Start, Work};
use inferometer_sim::engine::{Noise, virtual_time::Served};
use std::collections::BTreeMap;
use std::fmt::Write as _;

fn subject(model: &str, device: &str) -> Subject {
    Subject {
        model: Model::named(model).expect("as set up"),
        device: Device::named(device).expect("as set up").clone(),
        cards: 8,
        engine: EngineKind::Vllm,
        version: None,
        split: None,
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    sort(&mut values);
    quantile(&values, 0.5).expect("there are some")
}

/// A server that nobody calibrated on: slower memory, dearer host.
fn hidden(device: &Device) -> Timing {
    let mut timing = Timing::shipped(device);
    timing.linear *= 1.25;
    timing.weights *= 1.3;
    timing.kv *= 0.8;
    timing.sequence_us *= 1.8;
    timing.step_us *= 1.6;
    timing.api.chunk_us *= 0.6;
    timing
}

fn noise() -> Noise {
    Noise {
        restart: 0.02,
        ..Noise::usual()
    }
}

fn measured(subject: &Subject, streams: u32, requests: u32, seed: u64) -> Observation {
    let mut config = subject
        .start(&[], &hidden(&subject.device))
        .expect("as set up");
    config.noise = noise();
    let work = work(streams, requests);
    let figures = Means::of(&simulate(config, &work, seed));
    Observation {
        name: format!("{streams} streams"),
        load: work.load,
        start: work.start,
        requests: Some(requests),
        input: Some(work.input),
        output: Some(work.output),
        spread: None,
        seed: None,
        flags: Vec::new(),
        on: Default::default(),
        version: None,
        figures,
        left_out: None,
        origin: Origin::Run,
        invalid: Vec::new(),
    }
}

fn work(streams: u32, requests: u32) -> Work {
    Work {
        load: Load::Closed(streams),
        start: Start::AtOnce,
        input: Lengths::Fixed(256),
        output: Lengths::Normal(128.0, 40.0),
        requests,
        trace: None,
    }
}

fn predicted(calibration: &Calibration, flags: &[Flag], work: &Work) -> Means {
    let subject = calibration.subject().expect("as set up");
    let config = subject
        .start(flags, &calibration.timing)
        .expect("as set up");
    Means::of(&simulate(config, work, 99))
}

#[test]
fn the_stated_error_covers_the_true_one_in_nine_of_ten_seeds() {
    let subject = subject("qwen2.5-7b", "a100-80g");
    let mut covered = [0; 4];
    let metrics = [
        MeanMetric::Throughput,
        MeanMetric::Ttft,
        MeanMetric::Tpot,
        MeanMetric::E2e,
    ];
    for seed in 0..10 {
        let points: Vec<Observation> = [2, 8, 32, 96]
            .into_iter()
            .map(|streams| measured(&subject, streams, 240, 100 * seed + u64::from(streams)))
            .collect();
        let calibration =
            calibrate(&subject, "a100-80g", &points, Doubtful::Refuse).expect("as set up");
        // A point inside that nobody measured, without noise: the truth.
        let work = work(48, 240);
        let truth = subject
            .start(&[], &hidden(&subject.device))
            .expect("as set up");
        let truth = Means::of(&simulate(truth, &work, 7));
        let said = predicted(&calibration, &[], &work);
        for (metric, covered) in metrics.into_iter().zip(&mut covered) {
            let error = (said.get(metric).expect("as set up")
                / truth.get(metric).expect("as set up"))
            .ln()
            .abs();
            let stated = calibration
                .held_out
                .iter()
                .find(|known| known.metric == metric);
            *covered += usize::from(error.exp_m1() <= stated.expect("as set up").bound);
        }
    }
    assert!(covered.iter().all(|&covered| covered >= 9), "{covered:?}");
}

/// A table by concurrency, as engineers keep it in notes, of a server with a hidden profile.
fn ladder(subject: &Subject, columns: &[u32]) -> String {
    let mut rows: [String; 7] = [
        "| 指标 |",
        "| --- |",
        "| 用时 |",
        "| QPS |",
        "| 延迟 |",
        "| p50 |",
        "| p90 |",
    ]
    .map(str::to_owned);
    for &streams in columns {
        let mut config = subject
            .start(&[], &hidden(&subject.device))
            .expect("as set up");
        config.noise = noise();
        let run = simulate(config, &ladder_work(streams), u64::from(streams));
        let mut latency: Vec<f64> = run.served.iter().filter_map(Served::latency_ms).collect();
        sort(&mut latency);
        let rate = run.requests_per_second();
        let seconds = |p: f64| quantile(&latency, p).expect("as set up") / 1e3;
        let mean = latency.iter().sum::<f64>() / latency.len() as f64 / 1e3;
        let cells = [
            streams.to_string(),
            "---".to_owned(),
            format!("{:.3}", 600.0 / rate),
            format!("{rate:.3}"),
            format!("{mean:.3}"),
            format!("{:.4}", seconds(0.5)),
            format!("{:.4}", seconds(0.9)),
        ];
        for (row, cell) in rows.iter_mut().zip(cells) {
            write!(row, " {cell} |").expect("as set up");
        }
    }
    rows.join("\n") + "\n"
}

fn ladder_work(streams: u32) -> Work {
    Work {
        load: Load::Closed(streams),
        start: Start::AtOnce,
        input: Lengths::Fixed(60),
        output: Lengths::Normal(200.0, 70.0),
        requests: 600,
        trace: None,
    }
}

#[test]
fn three_columns_of_a_ladder_predict_the_others_within_ten_percent() {
    let subject = subject("qwen1.5-7b", "a100-80g");
    let folder = tempfile::tempdir().expect("as set up");
    let file = folder.path().join("notes.md");
    std::fs::write(&file, ladder(&subject, &[8, 48, 200])).expect("as set up");
    let assumed = Assumed {
        input: Some(Lengths::Fixed(60)),
        output: Some(Lengths::Fixed(200)),
        flags: Vec::new(),
    };
    let points = read_sources(&[&file], &assumed).expect("as set up");
    assert_eq!(points.len(), 3);
    let calibration =
        calibrate(&subject, "a100-80g", &points, Doubtful::Refuse).expect("as set up");
    let (mut rates, mut latencies) = (Vec::new(), Vec::new());
    for streams in [4, 16, 32, 96, 150, 256, 400] {
        let truth = subject
            .start(&[], &hidden(&subject.device))
            .expect("as set up");
        let truth = Means::of(&simulate(truth, &ladder_work(streams), 5));
        let output = calibration.workload.output(Lengths::Fixed(200));
        let work = Work {
            output,
            ..ladder_work(streams)
        };
        let said = predicted(&calibration, &[], &work);
        let error = |metric| {
            (said.get(metric).expect("as set up") / truth.get(metric).expect("as set up") - 1.0)
                .abs()
        };
        rates.push(error(MeanMetric::Requests));
        latencies.push(error(MeanMetric::E2e));
    }
    let (rate, latency) = (median(rates), median(latencies));
    assert!(rate < 0.1 && latency < 0.1, "{rate} {latency}");
}

/// Six points of vLLM 0.26 on one H200: a Qwen2.5-7B shape with a vocabulary of 8192.
fn h200_points() -> Vec<Observation> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/plan/h200.md");
    let assumed = Assumed {
        flags: vec![("max-model-len".to_owned(), Some("8192".to_owned()))],
        ..Assumed::default()
    };
    let points = read_sources(&[file], &assumed).expect("as set up");
    assert_eq!(points.len(), 6);
    points
}

#[test]
fn points_of_a_real_h200_are_predicted_from_the_others() {
    let mut subject = subject("qwen2.5-7b", "h200");
    subject.model.vocabulary = 8192;
    let points = h200_points();
    let calibration = calibrate(&subject, "h200", &points, Doubtful::Refuse).expect("as set up");
    for metric in [MeanMetric::Requests, MeanMetric::Tpot] {
        let stated = calibration
            .held_out
            .iter()
            .find(|known| known.metric == metric)
            .expect("as set up");
        assert!(stated.median < 0.15, "{stated:?}");
    }
    for metric in ["requests", "tpot"] {
        let order = spearman(&calibration, &points, metric);
        assert!(order >= 0.8, "{metric}: {order}");
    }
}

/// How far the order of held-out predictions is that of the measurements.
fn spearman(calibration: &Calibration, points: &[Observation], metric: &str) -> f64 {
    let measured: Vec<f64> = points
        .iter()
        .map(|point| match metric {
            "requests" => point.figures.requests_per_s.expect("as set up"),
            _ => point.figures.tpot_ms.expect("as set up"),
        })
        .collect();
    let predicted: Vec<f64> = measured
        .iter()
        .zip(&calibration.points)
        .map(|(measured, point)| measured * (1.0 + point.errors[metric]))
        .collect();
    let place = |values: &[f64], value: f64| values.iter().filter(|&&v| v < value).count() as f64;
    let count = measured.len() as f64;
    let squares: f64 = measured
        .iter()
        .zip(&predicted)
        .map(|(&m, &p)| (place(&measured, m) - place(&predicted, p)).powi(2))
        .sum();
    1.0 - 6.0 * squares / (count * (count * count - 1.0))
}

/// The calibrated H200 beyond its points: no figure may jump or turn without a reason.
#[test]
fn predictions_of_the_h200_change_as_those_of_a_server_do() {
    let mut subject = subject("qwen2.5-7b", "h200");
    subject.model.vocabulary = 8192;
    let calibration =
        calibrate(&subject, "h200", &h200_points(), Doubtful::Refuse).expect("as set up");
    let figures = |streams: u32, input: u32, tokens: u32, sequences: u32| {
        let flag = |name: &str, value: u32| (name.to_owned(), Some(value.to_string()));
        let flags = [
            flag("max-model-len", 8192),
            flag("max-num-batched-tokens", tokens),
            flag("max-num-seqs", sequences),
        ];
        let work = Work {
            load: Load::Closed(streams),
            start: Start::AtOnce,
            input: Lengths::Fixed(input),
            output: Lengths::Fixed(128),
            requests: streams.max(16) * 4,
            trace: None,
        };
        let said = predicted(&calibration, &flags, &work);
        let all = [said.requests_per_s, said.ttft_ms, said.tpot_ms];
        all.map(|figure| figure.expect("as set up"))
    };
    let streams: Vec<[f64; 3]> = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]
        .map(|streams| figures(streams, 512, 8192, 1024))
        .to_vec();
    let lengths: Vec<[f64; 3]> = [128, 256, 512, 1024, 2048, 4096]
        .map(|input| figures(32, input, 8192, 1024))
        .to_vec();
    let sequences: Vec<[f64; 3]> = [8, 16, 32, 64, 128]
        .map(|sequences| figures(64, 512, 8192, sequences))
        .to_vec();
    let tokens: Vec<[f64; 3]> = [512, 1024, 2048, 4096, 8192]
        .map(|tokens| figures(64, 512, tokens, 256))
        .to_vec();
    println!(
        "streams {streams:.1?}\nlengths {lengths:.1?}\nsequences {sequences:.1?}\ntokens {tokens:.1?}"
    );
    for (place, pair) in streams.windows(2).enumerate() {
        // From 128 to 256 streams the API server stops merging tokens that are late, and the real
        // server fell from 56.3 to 50.4 requests/s.
        let least = if place == 7 { 0.8 } else { 0.97 };
        assert!(
            pair[1][0] > pair[0][0] * least,
            "more streams, fewer answers: {pair:?}"
        );
        assert!(
            pair[1][2] > pair[0][2] * 0.97,
            "more streams, faster tokens: {pair:?}"
        );
    }
    for pair in lengths.windows(2) {
        assert!(
            pair[1][0] < pair[0][0],
            "longer prompts, more answers: {pair:?}"
        );
        assert!(
            pair[1][1] > pair[0][1],
            "longer prompts, sooner tokens: {pair:?}"
        );
    }
    for pair in sequences.windows(2) {
        assert!(
            pair[1][0] > pair[0][0] * 0.97,
            "more sequences, fewer answers: {pair:?}"
        );
        assert!(
            pair[1][1] < pair[0][1] * 1.03,
            "more sequences, a longer queue: {pair:?}"
        );
    }
    for pair in tokens.windows(2) {
        let factor = pair[1][0] / pair[0][0];
        assert!((0.7..1.4).contains(&factor), "twice the budget: {pair:?}");
    }
}

#[test]
fn what_cannot_be_fitted_is_refused_by_name() {
    let subject = subject("qwen2.5-7b", "h200");
    let try_with =
        |points: &[Observation]| calibrate(&subject, "h200", points, Doubtful::Refuse).unwrap_err();
    let points = h200_points();
    assert!(matches!(
        try_with(&points[..1]),
        CalibrateError::FewPoints(1)
    ));
    let mut invalid = points.clone();
    invalid[2].invalid = vec!["lost-requests".to_owned()];
    let error = try_with(&invalid).to_string();
    assert!(
        error.contains(&points[2].name) && error.contains("lost-requests"),
        "{error}"
    );
    let mut contrary = points.clone();
    contrary.push(Observation {
        name: "the other".to_owned(),
        figures: Means {
            requests_per_s: Some(3.4),
            ..points[0].figures
        },
        ..points[0].clone()
    });
    let error = try_with(&contrary).to_string();
    assert!(
        error.contains("the other") && error.contains(&points[0].name),
        "{error}"
    );
    let mut impossible = points.clone();
    impossible[1].figures.e2e_ms = Some(5000.0);
    assert!(matches!(
        try_with(&impossible),
        CalibrateError::Impossible { .. }
    ));
    let mut unknown = points;
    unknown[0].output = None;
    assert!(try_with(&unknown).to_string().contains("--output-tokens"));
}

#[test]
fn a_calibration_is_a_file_that_the_simulated_engine_reads_too() {
    let subject = subject("qwen2.5-7b", "h200");
    let points: Vec<Observation> = [1, 8, 32]
        .into_iter()
        .map(|streams| measured(&subject, streams, 80, u64::from(streams)))
        .collect();
    let calibration = calibrate(&subject, "h200", &points, Doubtful::Refuse).expect("as set up");
    let text = calibration.to_toml();
    assert_eq!(
        Calibration::from_toml(&text).expect("as set up"),
        calibration
    );
    assert_eq!(
        Timing::from_toml(&text).expect("as set up"),
        calibration.timing
    );
    let later = text.replace("calibration/1", "calibration/9");
    assert!(
        Calibration::from_toml(&later)
            .unwrap_err()
            .to_string()
            .contains("calibration/9")
    );

    let question = Question {
        calibration: &calibration,
        cards: Vec::new(),
        flags: vec![(
            "max-num-seqs".to_owned(),
            vec![
                Some("8".to_owned()),
                Some("64".to_owned()),
                Some("0".to_owned()),
            ],
        )],
        loads: vec![Load::Closed(16), Load::Closed(512)],
        input: Lengths::Fixed(256),
        output: Lengths::Fixed(128),
        trace: None,
        requests: Some(128),
        objectives: Objectives {
            slos: vec!["ttft.p99=20s".parse().expect("as set up")],
            attainment: None,
        },
        price_per_hour: Some(3.6),
        card_prices: BTreeMap::new(),
        traffic: Some(1000.0),
        watts: Some(700.0),
    };
    let answers = ask(&question).expect("as set up");
    assert_eq!(answers.settings.len(), 6);
    let prediction = |index: usize| match &answers.settings[index].1 {
        Outcome::Predicted(prediction) => prediction.clone(),
        other => panic!("{other:?}"),
    };
    let (few, many) = (prediction(0), prediction(2));
    assert!(
        many.requests_per_s > few.requests_per_s,
        "more sequences serve more"
    );
    let cost = 3.6 / 3600.0 / few.output_tokens_per_s * 1e6;
    assert!((few.cost_per_million.expect("as set up") / cost - 1.0).abs() < 1e-9);
    let [low, high] = few
        .interval(MeanMetric::Requests, few.requests_per_s, 1.0)
        .expect("rates were fitted");
    let replicas = few.replicas.expect("the objective is met");
    assert_eq!(replicas.least, (1000.0 / high).ceil() as u64);
    assert_eq!(replicas.most, Some((1000.0 / low).ceil() as u64));
    assert!(Some(replicas.least) < replicas.most);
    for index in 0..4 {
        let prediction = prediction(index);
        let missed = prediction.verdict == Some(PredictedVerdict::Missed);
        assert_eq!(missed, prediction.replicas.is_none(), "{index}");
    }
    assert!(!prediction(1).inside(), "512 streams were never measured");
    assert!(matches!(answers.settings[4].1, Outcome::Refused(_)));
    let json = to_json(&answers);
    assert_eq!(json["schema"], "inferometer.what-if/1");
    assert_eq!(json["settings"][0]["point"]["concurrency"], 16);
    assert_eq!(json["settings"][0]["flags"]["max-num-seqs"], 8);
    assert!(json["settings"][0]["predicted"]["latency"]["ttft_ms"]["p99"].is_number());
    assert!(json["settings"][4]["error"].is_string());

    let judged = |limit: f64, loads: Vec<Load>| {
        let objective = format!("ttft.p99={limit:.3}ms");
        let question = Question {
            loads,
            flags: Vec::new(),
            objectives: Objectives {
                slos: vec![objective.parse().expect("as set up")],
                attainment: None,
            },
            ..question.clone()
        };
        let answers = ask(&question).expect("as set up");
        match &answers.settings[0].1 {
            Outcome::Predicted(prediction) => (prediction.clone(), answers.recommended),
            other => panic!("{other:?}"),
        }
    };
    let closed = || vec![Load::Closed(16)];
    let ttft = judged(1e6, closed()).0.ttft_ms.expect("as set up").p99;
    for (limit, verdict) in [
        (ttft * 20.0, PredictedVerdict::Met),
        (ttft * 1.001, PredictedVerdict::Uncertain),
        (ttft * 0.9, PredictedVerdict::Missed),
    ] {
        let (prediction, recommended) = judged(limit, closed());
        assert_eq!(prediction.verdict, Some(verdict), "{limit}");
        assert_eq!(recommended.is_some(), verdict != PredictedVerdict::Missed);
    }
    let (offered, _) = judged(1e6, vec![Load::Open(7.0)]);
    let each = offered.replicas.expect("as set up");
    assert_eq!(
        (each.least, each.most),
        (143, Some(143)),
        "1000 by what is offered"
    );
    assert!(
        offered.bound(MeanMetric::E2e).is_some(),
        "a latency has its interval"
    );

    let capacity = Question {
        traffic: None,
        loads: Vec::new(),
        flags: Vec::new(),
        requests: None,
        objectives: Objectives {
            slos: vec!["tpot.mean=12ms".parse().expect("as set up")],
            attainment: None,
        },
        ..question
    };
    let answers = ask(&capacity).expect("as set up");
    let Outcome::Predicted(found) = &answers.settings[0].1 else {
        panic!("{:?}", answers.settings[0].1)
    };
    let Load::Closed(streams) = found.work.load else {
        panic!("a closed loop")
    };
    assert!(
        streams > 1 && found.tpot_ms.expect("as set up").mean <= 12.0,
        "{streams}"
    );
}

#[test]
fn a_point_that_the_card_cannot_have_made_is_named() {
    let measured_on = subject("qwen2.5-7b", "h200");
    let points: Vec<Observation> = [1, 4, 16]
        .into_iter()
        .map(|streams| measured(&measured_on, streams, 64, u64::from(streams)))
        .collect();
    let doubt = |device: &str| {
        let said = subject("qwen2.5-7b", device);
        let calibration = calibrate(&said, device, &points, Doubtful::Refuse).expect("as set up");
        calibration.too_fast
    };
    assert_eq!(doubt("h200"), None);
    let doubt = doubt("l20").expect("an L20 needs 17 ms to read the weights");
    assert!(doubt.token_ms < doubt.weights_ms, "{doubt:?}");
    assert_eq!(doubt.point, points[0].name);
}
