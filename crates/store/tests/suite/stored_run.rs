//! A run that was stored by version 1 of the files, and that every later version must read.
//! The folder is never made anew: a change that cannot read it needs a new version of the
//! files, and a way to read the old one.

use inferometer_analysis::context::RunContext;
use inferometer_analysis::fold::summarize;
use inferometer_core::environment::EndCause;
use inferometer_core::record::Record;
use inferometer_core::summary::{Accounts, Distribution, Latencies, Summary};
use inferometer_store::run_dir::RunDir;
use inferometer_text::Lang;

fn stored() -> RunDir {
    let root = env!("CARGO_MANIFEST_DIR");
    RunDir::open(format!("{root}/../../fixtures/run-v1")).unwrap()
}

fn folded(run: &RunDir) -> Summary {
    let records: Result<Vec<Record>, _> = run.records().unwrap().collect();
    let (scenario, environment) = (run.scenario().unwrap(), run.environment().unwrap());
    let ending = run.ending().unwrap();
    assert_eq!(ending.cause, EndCause::Complete);
    let context = RunContext {
        scenario: &scenario,
        environment: &environment,
        ending: &ending,
        lang: Lang::En,
    };
    summarize(&context, records.unwrap())
}

#[test]
fn a_run_of_version_one_gives_the_numbers_that_it_gave() {
    let run = stored();
    let (before, now) = (run.summary().unwrap(), folded(&run));
    assert_eq!(before.schema, "inferometer.summary/1");
    assert_eq!((now.requests.ok, now.requests.planned), (12, 12));
    // Its warm-up was not counted then, and its window was none by construction.
    let warmup = now.requests.warmup;
    assert_eq!((warmup, now.requests.hold), (3, 0));
    assert_eq!(
        now.requests,
        Accounts {
            warmup,
            ..before.requests
        }
    );
    assert!(!now.window.unwrap().steady_by_construction);
    assert_eq!(
        now.throughput.requests_per_s,
        before.throughput.requests_per_s
    );
    assert_eq!(now.window_s, before.window_s);
    assert_eq!(now.tokens, before.tokens);
    let median = |found: Option<Distribution>| found.unwrap().p50;
    let medians = |of: &Latencies| [of.ttft_ms, of.tpot_ms, of.e2e_ms].map(median);
    assert_eq!(medians(&now.latency), medians(&before.latency));
}

#[test]
fn its_records_hold_what_was_seen() {
    let records: Vec<Record> = stored().records().unwrap().map(Result::unwrap).collect();
    let measured = records.iter().filter(|record| record.is_measured());
    for record in measured.clone() {
        assert!(record.is_done() && record.streamed && record.output_exact);
        assert_eq!((record.chunks.len(), record.output_tokens()), (8, Some(8)));
        assert_eq!(record.output_tokens_asked, Some(8));
    }
    assert_eq!(measured.count(), 12);
}
