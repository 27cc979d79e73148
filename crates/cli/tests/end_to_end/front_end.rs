//! What stands between the engine and the client, on the simulated engine: told where its API
//! server is what holds tokens up, by averages and request by request, and not where it is free.

use crate::support::{Place, Run, Sim};
use inferometer_core::doubt::DoubtCode;
use inferometer_core::server::{Between, Cause, Evidence, Explained};
use std::net::TcpListener;

/// Long enough for several looks at the server's metrics.
const LOAD: [&str; 6] = ["--concurrency", "4", "--requests", "12", "--warmup", "0"];

fn between(run: &Run) -> Between {
    let server = run.summary.server.as_ref().expect("it was watched");
    server.between.expect("both sides are known")
}

fn mean_tpot(run: &Run) -> f64 {
    run.summary.latency.tpot_ms.expect("all were streamed").mean
}

/// A port that nobody has; the exporter must know it before the receiver is there.
fn free_port() -> u16 {
    let taken = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    taken.local_addr().unwrap().port()
}

#[test]
fn a_full_api_server_is_told_with_its_share_and_seen_in_each_trace() {
    let place = Place::new();
    let traces = format!("127.0.0.1:{}", free_port());
    let endpoint = format!("http://{traces}/v1/traces");
    let sim = Sim::scheduled(&[
        "--device",
        "h100",
        "--front-end",
        "token=50ms",
        "--",
        "vllm",
        "serve",
        "qwen2-0.5b",
        "--otlp-traces-endpoint",
        &endpoint,
    ]);
    let asked = ["--output-tokens", "16", "--server-traces", &traces];
    let asked = [&LOAD[..], &asked].concat();
    let run = place.measure(&sim.url, &asked);
    run.assert_all_ok(12);
    // Four streams share a core that takes 50 ms for a token; the engine takes a few.
    let share = between(&run).tpot_ms.unwrap() / mean_tpot(&run);
    assert!(share > 0.8, "{share}");
    let mut doubts = run.summary.doubts.iter();
    let doubt = doubts.find(|doubt| doubt.code == DoubtCode::FrontEnd);
    let doubt = doubt.expect("it is told");
    assert!(doubt.text.contains("a chunk holds"), "{doubt:?}");
    assert!(doubt.remedy.contains("--api-server-count"), "{doubt:?}");
    let cores = run
        .summary
        .server
        .as_ref()
        .and_then(|it| it.front_end_cores);
    assert!(cores.is_some_and(|cores| cores > 0.5), "{cores:?}");
    assert!(doubt.text.contains("of a core"), "{doubt:?}");

    let spans = std::fs::read_to_string(run.path.join("server/spans.jsonl")).unwrap();
    assert_eq!(
        spans.lines().count(),
        12,
        "of measured requests alone: {spans}"
    );
    let server = run.summary.server.as_ref().unwrap();
    let of_all = server.slowest.iter().find(|it| it.of == Explained::E2e);
    let why = of_all.expect("it is explained");
    assert_eq!(why.main(), Some(Cause::FrontEnd), "{why:?}");
    let traced = Evidence::Traced {
        requests: why.requests,
    };
    assert!(why.evidence.contains(&traced), "{why:?}");
}

#[test]
fn a_free_front_end_raises_no_doubt() {
    let place = Place::new();
    // Slow enough that what this host adds is little beside it.
    let sim = Sim::scheduled(&[
        "--device",
        "t4",
        "--front-end",
        "ideal",
        "--",
        "vllm",
        "serve",
        "qwen2.5-7b",
        "--dtype",
        "half",
        "--max-model-len",
        "512",
        "--tensor-parallel-size",
        "2",
    ]);
    let asked = ["--input-tokens", "256", "--output-tokens", "48"];
    let run = place.measure(&sim.url, &[&LOAD[..], &asked].concat());
    run.assert_all_ok(12);
    let server = run.summary.server.as_ref().expect("it was watched");
    assert!(server.samples >= 3, "too few to tell: {}", server.samples);
    let share = between(&run).tpot_ms.unwrap() / mean_tpot(&run);
    assert!(share.abs() < 0.1, "{share}");
    assert!(!run.doubts(DoubtCode::FrontEnd), "{:?}", run.summary.doubts);
}
