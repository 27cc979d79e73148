//! How long a what-if of 100 settings takes, with 2,000 requests each:
//! `cargo bench -p inferometer-plan --bench what_if`.

#![allow(clippy::print_stdout, reason = "it prints its figures")]

use inferometer_catalog::device::Device;
use inferometer_catalog::engine::EngineKind;
use inferometer_catalog::model::Model;
use inferometer_catalog::timing::Timing;
use inferometer_core::length::Distribution as Lengths;
use inferometer_plan::calibrate::{Doubtful, calibrate};
use inferometer_plan::means::Means;
use inferometer_plan::observation::{Observation, Origin};
use inferometer_plan::predict::{Subject, simulate};
use inferometer_plan::what_if::{Objectives, Question, ask};
use inferometer_plan::work::{Load, Start, Work};
use std::collections::BTreeMap;
use std::error::Error;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let subject = Subject {
        model: Model::named("qwen2.5-7b").ok_or("a preset")?,
        device: Device::named("a100-80g").ok_or("a preset")?.clone(),
        cards: 1,
        engine: EngineKind::Vllm,
        version: None,
        split: None,
    };
    let points = [4, 32, 128].map(|streams| measured(&subject, streams));
    let points = points.into_iter().collect::<Result<Vec<_>, _>>()?;
    let began = Instant::now();
    let calibration = calibrate(&subject, "a100-80g", &points, Doubtful::Refuse)?;
    println!("calibrated in {:.1} s", began.elapsed().as_secs_f64());
    let values = |all: &[&str]| all.iter().map(|it| Some((*it).to_owned())).collect();
    let question = Question {
        calibration: &calibration,
        cards: Vec::new(),
        flags: vec![
            (
                "max-num-seqs".to_owned(),
                values(&["16", "32", "64", "128", "256"]),
            ),
            (
                "max-num-batched-tokens".to_owned(),
                values(&["512", "1024", "2048", "8192"]),
            ),
        ],
        loads: [8, 32, 64, 128, 256].map(Load::Closed).to_vec(),
        input: Lengths::Fixed(512),
        output: Lengths::Fixed(128),
        trace: None,
        requests: Some(2000),
        objectives: Objectives::default(),
        price_per_hour: None,
        card_prices: BTreeMap::new(),
        traffic: None,
        watts: None,
    };
    let began = Instant::now();
    let answers = ask(&question)?;
    let took = began.elapsed().as_secs_f64();
    println!("{} settings in {took:.1} s", answers.settings.len());
    Ok(())
}

fn measured(subject: &Subject, streams: u32) -> Result<Observation, Box<dyn Error>> {
    let work = Work {
        load: Load::Closed(streams),
        start: Start::Spread,
        input: Lengths::Fixed(512),
        output: Lengths::Fixed(128),
        requests: 4 * streams,
        trace: None,
    };
    let config = subject.start(&[], &Timing::shipped(&subject.device))?;
    Ok(Observation {
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
        figures: Means::of(&simulate(config, &work, 1)),
        left_out: None,
        origin: Origin::Run,
        invalid: Vec::new(),
    })
}
