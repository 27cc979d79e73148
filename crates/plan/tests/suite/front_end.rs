//! What stands between the engine and the client is fitted where a measurement knows both sides,
//! and what-if answers what would relieve it.

use inferometer_catalog::device::Device;
use inferometer_catalog::engine::EngineKind;
use inferometer_catalog::model::Model;
use inferometer_catalog::timing::Timing;
use inferometer_core::length::Distribution as Lengths;
use inferometer_plan::calibrate::{Doubtful, calibrate};
use inferometer_plan::flags::Flag;
use inferometer_plan::means::Means;
use inferometer_plan::observation::{Assumed, Observation, Origin, read_sources};
use inferometer_plan::predict::{Subject, simulate};
use inferometer_plan::work::{Load, Start, Work};

const OUTPUT: u32 = 48;

fn subject() -> Subject {
    Subject {
        model: Model::named("qwen2.5-7b").expect("a preset"),
        device: Device::named("h200").expect("a preset").clone(),
        cards: 1,
        engine: EngineKind::Vllm,
        version: None,
        split: None,
    }
}

/// A host that is as fast as any but for its API server.
fn dear_front_end() -> Timing {
    let mut timing = Timing::shipped(&subject().device);
    timing.api.chunk_us *= 2.0;
    timing.api.token_us *= 2.0;
    timing
}

fn work(streams: u32) -> Work {
    Work {
        load: Load::Closed(streams),
        start: Start::AtOnce,
        input: Lengths::Fixed(256),
        output: Lengths::Fixed(OUTPUT),
        requests: 3 * streams,
        trace: None,
    }
}

fn means(flags: &[Flag], timing: &Timing, streams: u32) -> Means {
    let config = subject().start(flags, timing).expect("as set up");
    Means::of(&simulate(config, &work(streams), 5))
}

fn observed(streams: u32) -> Observation {
    let work = work(streams);
    Observation {
        name: format!("{streams} streams"),
        load: work.load,
        start: work.start,
        requests: Some(work.requests),
        input: Some(work.input),
        output: Some(work.output),
        spread: None,
        seed: None,
        flags: Vec::new(),
        on: Default::default(),
        version: None,
        figures: means(&[], &dear_front_end(), streams),
        left_out: None,
        origin: Origin::Run,
        invalid: Vec::new(),
    }
}

#[test]
fn the_cost_of_a_chunk_is_found_and_more_api_servers_are_predicted() {
    let points = [4, 32, 192, 320].map(observed);
    let [.., last] = &points;
    let figures = last.figures;
    assert!(
        figures.tpot_ms > figures.engine_tpot_ms.map(|ms| 1.3 * ms),
        "{figures:?}"
    );
    let calibrated = calibrate(&subject(), "h200", &points, Doubtful::Refuse).expect("as set up");
    let cost = |timing: &Timing| timing.api.chunk_us + timing.api.token_us;
    let ratio = cost(&calibrated.timing) / cost(&dear_front_end());
    assert!((0.85..1.15).contains(&ratio), "{ratio}");
    for flag in [("api-server-count", "4"), ("stream-interval", "8")] {
        let flags = [(flag.0.to_owned(), Some(flag.1.to_owned()))];
        let truth = means(&flags, &dear_front_end(), 256);
        let said = means(&flags, &calibrated.timing, 256);
        let before = means(&[], &calibrated.timing, 256);
        let [truth, said, before] =
            [truth, said, before].map(|means| means.output_tokens_per_s.expect("some were served"));
        assert!((said / truth - 1.0).abs() < 0.1, "{flag:?}: {said} {truth}");
        assert!(said > 1.15 * before, "{flag:?}: {said} {before}");
    }
}

#[test]
fn a_table_may_say_what_the_engine_counted() {
    let table = "| streams | in / out | req/s | tpot ms | engine tpot ms | engine ttft ms |\n\
                 | --- | --- | --- | --- | --- | --- |\n\
                 | 256 | 512 / 128 | 46 | 29.7 | 19.5 | 1560 |\n";
    let file = tempfile::NamedTempFile::new().expect("a place for it");
    std::fs::write(file.path(), table).expect("it is writable");
    let points = read_sources(&[file.path()], &Assumed::default()).expect("a table");
    let figures = points[0].figures;
    assert_eq!(figures.engine_tpot_ms, Some(19.5));
    assert_eq!(figures.engine_ttft_ms, Some(1560.0));
}
