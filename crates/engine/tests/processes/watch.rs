//! Watching a server, and its profiler.

use crate::stand_in::{eventually, serve};
use inferometer_engine::{Access, Client, Devices, Profiler, Watch, WatchPlan, discover};
use inferometer_store::samples_file::read_samples;
use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

const METRICS: &str = include_str!("../../../../fixtures/engine/vllm/metrics.txt");

fn plan(url: Option<String>, samples: &Path) -> WatchPlan {
    WatchPlan {
        origin_monotonic_ns: 0,
        every: Duration::from_millis(10),
        metrics: url,
        access: Access::default(),
        devices: Devices::None,
        samples: samples.to_owned(),
    }
}

fn listener() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").unwrap()
}

#[test]
fn metrics_are_found_beside_the_api_and_stored_on_the_runs_clock() {
    let folder = tempfile::tempdir().unwrap();
    let url = serve(listener(), |path| match path {
        "/metrics" => (200, METRICS.to_owned()),
        _ => (404, String::new()),
    });
    let client = Client::for_server(Access::default(), Duration::from_secs(30)).unwrap();
    let found = discover(&client, &format!("{url}/v1/chat/completions")).unwrap();
    assert_eq!(found, format!("{url}/metrics"));
    let path = folder.path().join("server/samples.jsonl");
    let watch = Watch::start(plan(Some(found), &path)).unwrap();
    assert!(eventually(|| read_samples(&path).is_ok_and(|samples| {
        samples
            .iter()
            .filter(|sample| sample.engine.is_some())
            .count()
            >= 3
            && samples
                .iter()
                .any(|sample| sample.host.is_some_and(|host| host.cpu.is_some()))
    })));
    drop(watch);
    let samples = read_samples(&path).unwrap();
    assert!(samples.windows(2).all(|pair| pair[0].at <= pair[1].at));
    let state = samples
        .iter()
        .find_map(|sample| sample.engine.clone())
        .unwrap();
    assert_eq!(state.queue_s.unwrap().count, 2.0);
}

#[test]
fn a_server_without_metrics_or_with_rubbish_is_missed_and_harms_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let url = serve(listener(), |_| {
        (200, "\0\u{fffd}{{{ 1e999 NaN".repeat(1000))
    });
    let client = Client::for_server(Access::default(), Duration::from_secs(30)).unwrap();
    assert_eq!(discover(&client, &url), None);
    let path = folder.path().join("samples.jsonl");
    drop(Watch::start(plan(Some(format!("{url}/metrics")), &path)).unwrap());
    let samples = read_samples(&path).unwrap();
    assert!(!samples.is_empty() && samples.iter().all(|sample| sample.engine.is_none()));
}

#[test]
fn the_profiler_is_started_and_stopped_and_its_absence_is_explained() {
    let url = serve(listener(), |path| match path {
        "/start_profile" | "/stop_profile" => (200, String::new()),
        _ => (404, String::new()),
    });
    let profiler = Profiler::new(&format!("{url}/v1"), Access::default()).unwrap();
    profiler.start().unwrap();
    profiler.stop().unwrap();
    let without = serve(listener(), |_| (404, "{\"detail\":\"Not Found\"}".into()));
    let error = Profiler::new(&without, Access::default())
        .unwrap()
        .start()
        .unwrap_err();
    assert!(error.to_string().contains("--profiler-config"), "{error}");
}
