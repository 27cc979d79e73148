//! Tables that contradict themselves, and tables that say the same in another form.

use inferometer_catalog::device::Device;
use inferometer_catalog::engine::EngineKind;
use inferometer_catalog::model::Model;
use inferometer_core::length::Distribution as Lengths;
use inferometer_plan::calibrate::{CalibrateError, Calibration, Doubtful, calibrate};
use inferometer_plan::observation::{Assumed, LeftOut, Observation, read_sources};
use inferometer_plan::predict::Subject;
use inferometer_plan::work::Start;

const HEAD: &str = "concurrency,input_tokens,output_tokens,requests_per_s,ttft_ms,tpot_ms\n";

fn read(name: &str, text: &str, assumed: &Assumed) -> Vec<Observation> {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join(name);
    std::fs::write(&file, text).expect("a file");
    read_sources(&[file], assumed).expect("a table of points")
}

fn points(rows: &str) -> Vec<Observation> {
    read("points.csv", &format!("{HEAD}{rows}"), &Assumed::default())
}

fn fitted(points: &[Observation]) -> Result<Calibration, CalibrateError> {
    calibrated(points, Doubtful::Refuse)
}

fn calibrated(points: &[Observation], doubtful: Doubtful) -> Result<Calibration, CalibrateError> {
    let mut model = Model::named("qwen2.5-7b").expect("a preset");
    model.vocabulary = 8192;
    let subject = Subject {
        model,
        device: Device::named("h200").expect("a preset").clone(),
        cards: 1,
        engine: EngineKind::Vllm,
        version: None,
        split: None,
    };
    calibrate(&subject, "h200", points, doubtful)
}

#[test]
fn more_requests_under_way_than_streams_are_found_by_ttft_and_tpot_too() {
    let points = points("1,512,128,1.7,27,4.4\n16,512,128,60,150,5\n128,512,128,56,788,11.6\n");
    let error = fitted(&points).unwrap_err().to_string();
    for part in ["concurrency 16", "47 at a time", "16 streams"] {
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn a_rate_that_leaves_streams_idle_is_left_out_and_named() {
    let points = points("1,512,128,1.7,27,4.4\n16,512,128,20,150,5\n128,512,128,10,788,11.6\n");
    assert_eq!(points[1].left_out, None);
    let Some(LeftOut::Idle {
        in_flight: Some(in_flight),
    }) = points[2].left_out
    else {
        panic!("{:?}", points[2].left_out);
    };
    assert_eq!(in_flight.round(), 23.0);
    let calibration = fitted(&points).expect("latencies are left");
    assert_eq!(calibration.points[2].left_out, points[2].left_out);
    assert!(!calibration.points[2].errors.contains_key("requests"));
    let again = Calibration::from_toml(&calibration.to_toml()).expect("a calibration");
    assert_eq!(again, calibration);
}

#[test]
fn a_point_far_off_the_others_is_named_and_nothing_is_trusted() {
    let sound = "1,512,128,1.7,,\n16,512,128,20,,\n128,512,128,56,,\n";
    let calibration = fitted(&points(sound)).expect("three points");
    assert!(calibration.distrusted().is_none());
    let spoilt = format!("{sound}64,512,128,8,,\n");
    let calibration = fitted(&points(&spoilt)).expect("four points");
    let worst = calibration.distrusted().expect("8 req/s cannot be");
    assert_eq!(worst.point.load, "concurrency 64");
    assert!(worst.error > 1.0, "{worst:?}");
}

#[test]
fn requests_longer_than_the_engine_takes_are_no_point() {
    let mut points = points("1,9000,128,1.7,27,4.4\n16,512,128,20,150,5\n64,512,128,40,200,8\n");
    for point in &mut points {
        let flag = ("max-model-len".to_owned(), Some("8192".to_owned()));
        point.flags.push(flag);
    }
    let error = fitted(&points).unwrap_err().to_string();
    assert!(error.contains("9128") && error.contains("8192"), "{error}");
}

#[test]
fn one_stream_does_not_say_how_several_begin() {
    let mut points = points("1,512,128,1.7,27,4.4\n16,512,128,20,150,5\n128,512,128,56,788,11.6\n");
    let start = |points: &[Observation]| fitted(points).expect("three points").workload.start;
    assert_eq!(start(&points), Start::AtOnce);
    points[1].start = Start::Over(800_000_000);
    assert_eq!(start(&points), Start::Spread);
}

#[test]
fn streams_without_a_request_were_not_measured() {
    let mut points = points("1,512,128,1.7,27,4.4\n16,512,128,20,150,5\n256,512,128,45,700,10\n");
    points[2].requests = Some(100);
    let calibration = fitted(&points).expect("three points");
    assert_eq!(calibration.envelope.concurrency, Some([1.0, 100.0]));
}

#[test]
fn a_ladder_says_the_same_as_markdown_csv_and_json() {
    let assumed = Assumed {
        input: Some(Lengths::Fixed(40)),
        output: Some(Lengths::Fixed(240)),
        flags: Vec::new(),
    };
    // The last rate is of a measurement that waited for a straggler.
    let forms = [
        (
            "ladder.md",
            "| concurrency | requests_per_s | e2e_ms |\n|---|---|---|\n| 1 | 0.333 | 3007 |\n| 32 | 7.79 | 3696 |\n| 128 | 6.1 | 6945 |\n",
        ),
        (
            "ladder.csv",
            "concurrency,requests_per_s,e2e_ms\n1,0.333,3007\n32,7.79,3696\n128,6.1,6945\n",
        ),
        (
            "excel.csv",
            "并发数;QPS;平均延迟(ms)\n1;0,333;3007\n32;7,79;3696\n128;6,1;6945\n",
        ),
        (
            "ladder.json",
            r#"[{"concurrency": 1, "requests_per_s": 0.333, "e2e_ms": 3007},
                {"concurrency": 32, "requests_per_s": 7.79, "e2e_ms": 3696},
                {"concurrency": 128, "requests_per_s": 6.1, "e2e_ms": 6945}]"#,
        ),
    ];
    for (name, text) in forms {
        let points = read(name, text, &assumed);
        let rates: Vec<_> = points.iter().map(|it| it.figures.requests_per_s).collect();
        assert_eq!(rates, [Some(0.333), Some(7.79), None], "{name}");
        let latencies: Vec<_> = points.iter().map(|it| it.figures.e2e_ms).collect();
        assert_eq!(
            latencies,
            [Some(3007.0), Some(3696.0), Some(6945.0)],
            "{name}"
        );
        assert!(
            matches!(points[2].left_out, Some(LeftOut::Idle { .. })),
            "{name}"
        );
        assert!(points[2].invalid.is_empty(), "{name}");
    }
    // With lengths of its own it is a table of points, and the rule is the same.
    let own = "concurrency,input_tokens,output_tokens,requests_per_s,e2e_ms\n128,40,240,6.1,6945\n";
    let points = read("own.csv", own, &assumed);
    assert_eq!(points[0].figures.requests_per_s, None);
}

#[test]
fn more_streams_than_can_be_simulated_are_refused_before_they_take_memory() {
    let points =
        points("1,512,128,1.7,27,4.4\n16,512,128,20,150,5\n2147483648,512,128,56,788,11.6\n");
    let error = calibrated(&points, Doubtful::Use).unwrap_err().to_string();
    for part in ["2147483648 streams", "at most 65536"] {
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn first_tokens_that_are_one_number_do_not_cost_the_time_per_token() {
    let block = |ttft: &str, tpot: &str| {
        format!(
            "============ Serving Benchmark Result ============\n\
             Maximum request concurrency:             8\n\
             Successful requests:                     200\n\
             Benchmark duration (s):                  100.00\n\
             Total input tokens:                      102400\n\
             Total generated tokens:                  25600\n\
             Request throughput (req/s):              2.00\n\
             Output token throughput (tok/s):         256.00\n\
             ---------------Time to First Token----------------\n{ttft}\
             -----Time per Output Token (excl. 1st token)------\n{tpot}\
             ==================================================\n"
        )
    };
    let figures = |name: &str, [mean, median, p90, p99]: [f64; 4]| {
        format!(
            "Mean {name} (ms):    {mean:.2}\nMedian {name} (ms):    {median:.2}\n\
             P90 {name} (ms):    {p90:.2}\nP99 {name} (ms):    {p99:.2}\n"
        )
    };
    let tpot = |ttft, tpot| {
        let text = block(&figures("TTFT", ttft), &figures("TPOT", tpot));
        read("block.txt", &text, &Assumed::default())[0]
            .figures
            .tpot_ms
    };
    let spread = [30.0, 29.0, 33.0, 41.0];
    assert_eq!(tpot([190.0; 4], spread), Some(30.0));
    assert_eq!(tpot([190.0, 180.0, 230.0, 260.0], [30.0; 4]), None);
}
