//! What made the slowest requests slow, on the simulated engine: each load provokes one cause,
//! and that is the one that is told.

use crate::support::{Place, Run, Sim};
use inferometer_core::server::{Cause, Evidence, Explained, Explanation};

fn measured(flags: &str, options: &str) -> Run {
    let place = Place::new();
    let command: Vec<&str> = ["--", "vllm", "serve"]
        .into_iter()
        .chain(flags.split(' '))
        .collect();
    let sim = Sim::scheduled(&command);
    let options: Vec<&str> = options.split(' ').collect();
    place.measure(&sim.url, &[&["--warmup", "0"], &options[..]].concat())
}

fn slowest(run: &Run, of: Explained) -> &Explanation {
    let server = run.summary.server.as_ref().expect("it was watched");
    let found = server.slowest.iter().find(|it| it.of == of);
    found.unwrap_or_else(|| panic!("nothing is explained: {server:?}"))
}

fn share(explanation: &Explanation, cause: Cause) -> f64 {
    let part = explanation.parts.iter().find(|part| part.cause == cause);
    part.map_or(0.0, |part| part.share)
}

#[test]
fn more_streams_than_the_engine_runs_at_once_are_queueing() {
    let run = measured(
        "qwen2-0.5b --max-num-seqs 2",
        "--concurrency 16 --requests 96 --input-tokens 64 --output-tokens 64",
    );
    let why = slowest(&run, Explained::Ttft);
    assert_eq!(why.main(), Some(Cause::Queueing), "{why:?}");
    assert!(share(why, Cause::Queueing) > 0.8, "{why:?}");
    let waited = (why.evidence.iter())
        .any(|seen| matches!(seen, Evidence::ServerQueue { slow_ms, .. } if *slow_ms > 100.0));
    assert!(waited, "{why:?}");
}

#[test]
fn a_cache_too_small_for_the_answers_is_preemption() {
    let run = measured(
        "qwen2-0.5b --max-model-len 640 --num-gpu-blocks-override 60",
        "--concurrency 4 --requests 24 --input-tokens 64 --output-tokens 400",
    );
    let why = slowest(&run, Explained::E2e);
    assert!(share(why, Cause::Preemption) > 0.1, "{why:?}");
    let counted = (why.evidence.iter())
        .any(|seen| matches!(seen, Evidence::Preemptions { count } if *count > 0.0));
    assert!(counted, "{why:?}");
    let none = measured(
        "qwen2-0.5b --max-model-len 640",
        "--concurrency 4 --requests 24 --input-tokens 64 --output-tokens 400",
    );
    assert_eq!(
        share(slowest(&none, Explained::E2e), Cause::Preemption),
        0.0
    );
}

#[test]
fn long_prompts_among_short_ones_stall_the_answers_of_others() {
    let run = measured(
        "qwen2.5-7b --max-model-len 8192",
        "--concurrency 6 --requests 48 --length-pairs 32:128=8,6000:2=1",
    );
    let why = slowest(&run, Explained::E2e);
    assert!(share(why, Cause::Interference) > 0.2, "{why:?}");
    assert!(
        share(why, Cause::Unknown) < share(why, Cause::Interference),
        "{why:?}"
    );
    let first = slowest(&run, Explained::Ttft);
    assert!(share(first, Cause::Unknown) < 0.5, "{first:?}");
}
