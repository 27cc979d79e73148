//! How well three columns of a ladder predict the others.
//!
//! `cargo bench -p inferometer-plan --bench leave_out -- ARGUMENTS`:
//! `FILE MODEL DEVICE INPUT OUTPUT [EVERY]` calibrates on every EVERYth triple of columns
//! of a table by concurrency and predicts the other columns. `synthetic LADDERS` (5 without arguments) does
//! so with ladders of the simulated engine, each with a truth of its own: every coefficient off by
//! chance, every column spoilt by 4 % of noise. Printed are the median errors of each triple, and
//! over all of them.

#![allow(clippy::print_stdout, reason = "it prints its figures")]

use inferometer_catalog::engine::EngineKind;
use inferometer_catalog::timing::Timing;
use inferometer_core::length::Distribution as Lengths;
use inferometer_core::quantile::{quantile, sort};
use inferometer_fetch::HubAccess;
use inferometer_plan::calibrate::{Calibration, Doubtful, calibrate};
use inferometer_plan::device::Card;
use inferometer_plan::means::{MeanMetric, Means};
use inferometer_plan::model;
use inferometer_plan::observation::{Assumed, Observation, Origin, read_sources};
use inferometer_plan::predict::{Subject, simulate};
use inferometer_plan::work::{Load, Start, Work};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::error::Error;

type Failed = Box<dyn Error>;

fn main() -> Result<(), Failed> {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| word != "--bench")
        .collect();
    let mut tally = Tally::default();
    match words.as_slice() {
        [] => ladders(5, &mut tally)?,
        [mode, count] if mode == "synthetic" => ladders(count.parse()?, &mut tally)?,
        [file, model, device, input, output, rest @ ..] => {
            let assumed = Assumed {
                input: Some(input.parse::<Lengths>()?),
                output: Some(output.parse::<Lengths>()?),
                flags: Vec::new(),
            };
            let points = read_sources(&[file], &assumed)?;
            let every: usize = rest.first().map_or(Ok(1), |every| every.parse())?;
            let triples = triples(points.len());
            for triple in triples.iter().skip(every / 2).step_by(every) {
                judge(
                    &subject(model, device)?,
                    device,
                    &points,
                    *triple,
                    &mut tally,
                )?;
            }
        }
        _ => {
            return Err("FILE MODEL DEVICE INPUT OUTPUT [EVERY] | synthetic LADDERS".into());
        }
    }
    tally.print();
    Ok(())
}

fn ladders(count: u64, tally: &mut Tally) -> Result<(), Failed> {
    (0..count).try_for_each(|seed| synthetic(seed, tally))
}

fn subject(model: &str, device: &str) -> Result<Subject, Failed> {
    let card: Card = device.parse()?;
    Ok(Subject {
        model: model::find(model, &HubAccess::default())?.model,
        device: card.device,
        cards: 1,
        engine: EngineKind::Vllm,
        version: None,
        split: None,
    })
}

fn triples(count: usize) -> Vec<[usize; 3]> {
    let mut all = Vec::new();
    for a in 0..count {
        for b in a + 1..count {
            all.extend((b + 1..count).map(|c| [a, b, c]));
        }
    }
    all
}

/// A ladder of a server that nobody knows, and two triples of its columns.
fn synthetic(seed: u64, tally: &mut Tally) -> Result<(), Failed> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut deviate = move || -> f64 {
        // The sum of twelve is near enough to a normal deviate.
        (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0
    };
    let place = |deviate: f64, count: usize| (deviate.abs() * 1e3) as usize % count;
    let model = ["qwen2.5-7b", "qwen1.5-7b", "llama-3.1-8b", "qwen2.5-14b"][place(deviate(), 4)];
    let device = ["a100-80g", "l40s", "h100", "a100-40g"][place(deviate(), 4)];
    let (input, output) = [(40, 240), (512, 128), (1200, 200), (200, 400)][place(deviate(), 4)];
    let subject = subject(model, device)?;
    let mut timing = Timing::shipped(&subject.device);
    let mut off = |coefficients: &mut [&mut f64], deviation: f64| {
        let factor = (deviate() * deviation).exp();
        coefficients.iter_mut().for_each(|it| **it *= factor);
    };
    let t = &mut timing;
    off(
        &mut [&mut t.linear, &mut t.attention, &mut t.weights, &mut t.kv],
        0.2,
    );
    off(&mut [&mut t.linear, &mut t.attention], 0.15);
    off(&mut [&mut t.weights], 0.1);
    off(&mut [&mut t.kv], 0.25);
    off(&mut [&mut t.step_us, &mut t.layer_us], 0.5);
    off(&mut [&mut t.sequence_us], 0.6);
    off(&mut [&mut t.api.chunk_us, &mut t.api.token_us], 0.6);
    let columns = [4, 8, 16, 32, 64, 128, 192, 256, 400];
    let mut points = Vec::new();
    for streams in columns {
        let work = Work {
            load: Load::Closed(streams),
            start: Start::AtOnce,
            input: Lengths::Fixed(input),
            output: Lengths::Normal(f64::from(output), f64::from(output) * 0.35),
            requests: 600,
            trace: None,
        };
        let run = simulate(subject.start(&[], &timing)?, &work, 1000 + seed);
        let noise = (deviate() * 0.04).exp();
        let figures = Means::of(&run);
        points.push(Observation {
            name: format!("{streams} streams"),
            load: work.load,
            start: work.start,
            requests: Some(600),
            input: Some(work.input),
            output: Some(work.output),
            spread: None,
            seed: None,
            flags: Vec::new(),
            on: Default::default(),
            version: None,
            figures: Means {
                requests_per_s: figures.requests_per_s.map(|rate| rate / noise),
                e2e_ms: figures.e2e_ms.map(|ms| ms * noise),
                ..Means::default()
            },
            left_out: None,
            origin: Origin::Import,
            invalid: Vec::new(),
        });
    }
    for triple in [[1, 4, 7], [1, 2, 3], [2, 3, 4], [3, 4, 5]] {
        judge(&subject, device, &points, triple, tally)?;
    }
    Ok(())
}

fn judge(
    subject: &Subject,
    device: &str,
    points: &[Observation],
    triple: [usize; 3],
    tally: &mut Tally,
) -> Result<(), Failed> {
    let chosen: Vec<Observation> = triple.iter().map(|&at| points[at].clone()).collect();
    let calibration = calibrate(subject, device, &chosen, Doubtful::Use)?;
    let streams = |at: usize| match points[at].load {
        Load::Closed(streams) => streams,
        Load::Open(_) => 0,
    };
    let mut errors = [Vec::new(), Vec::new()];
    for (at, point) in points.iter().enumerate() {
        if triple.contains(&at) {
            continue;
        }
        let (work, said) = predicted(&calibration, point)?;
        let flags = (calibration.subject()?).settled(&point.flags, &calibration.timing)?;
        let beyond = calibration.envelope.beyond(&work, &flags, &said);
        let wider = 1.0 + beyond.iter().map(|beyond| beyond.doublings).sum::<f64>();
        for (metric, errors) in [MeanMetric::Requests, MeanMetric::E2e]
            .into_iter()
            .zip(&mut errors)
        {
            if let (Some(said), Some(measured)) = (said.get(metric), point.figures.get(metric)) {
                let error = (said / measured).ln().abs().exp_m1();
                errors.push(error);
                let stated = calibration.held_out.iter().find(|it| it.metric == metric);
                let covered = stated.is_some_and(|it| error <= it.bound * wider);
                tally.cover(beyond.is_empty(), covered);
            }
        }
    }
    let errors = errors.map(|errors| middle(errors, 0.5));
    let [rate, latency] = errors.map(|error| error * 100.0);
    println!("{:?} {rate:.1} % {latency:.1} %", triple.map(streams));
    tally.add(
        f64::from(streams(triple[2])) / f64::from(streams(triple[0])),
        errors,
    );
    Ok(())
}

fn predicted(calibration: &Calibration, point: &Observation) -> Result<(Work, Means), Failed> {
    let config = calibration
        .subject()?
        .start(&point.flags, &calibration.timing)?;
    let work = Work {
        load: point.load,
        start: point.start,
        input: point.input.ok_or("no lengths of prompts")?,
        output: point.output.ok_or("no lengths of answers")?,
        requests: point.load.requests(point.requests),
        trace: None,
    };
    let figures = Means::of(&simulate(config, &work, 99));
    Ok((work, figures))
}

fn middle(mut values: Vec<f64>, share: f64) -> f64 {
    sort(&mut values);
    quantile(&values, share).unwrap_or(f64::NAN)
}

/// Errors of rate and latency, by how far apart the three columns are.
#[derive(Default)]
struct Tally {
    wide: Vec<[f64; 2]>,
    narrow: Vec<[f64; 2]>,
    /// Means inside the envelope, and how many of them the stated error covers.
    inside: [u32; 2],
    outside: [u32; 2],
}

/// Columns so many times apart are wide.
const WIDE: f64 = 16.0;

impl Tally {
    fn add(&mut self, apart: f64, errors: [f64; 2]) {
        if apart >= WIDE {
            self.wide.push(errors)
        } else {
            self.narrow.push(errors)
        }
    }

    fn cover(&mut self, inside: bool, covered: bool) {
        let counts = if inside {
            &mut self.inside
        } else {
            &mut self.outside
        };
        counts[0] += 1;
        counts[1] += u32::from(covered);
    }

    fn print(&self) {
        let all: Vec<[f64; 2]> = self.wide.iter().chain(&self.narrow).copied().collect();
        for (name, some) in [
            ("all", &all),
            ("16 times apart", &self.wide),
            ("closer", &self.narrow),
        ] {
            let of = |which: usize, share| {
                let values = some.iter().map(|errors| errors[which]).collect();
                middle(values, share) * 100.0
            };
            let within = some
                .iter()
                .filter(|errors| errors.iter().all(|error| *error <= 0.1));
            println!(
                "{name}: {} triples; median rate {:.1} % latency {:.1} %; 9 of 10 below {:.1} % {:.1} %; within 10 %: {}",
                some.len(),
                of(0, 0.5),
                of(1, 0.5),
                of(0, 0.9),
                of(1, 0.9),
                within.count()
            );
        }
        let [[inside, sure], [outside, wide]] = [self.inside, self.outside];
        println!(
            "the stated error covers {sure} of {inside} figures inside the envelope, {wide} of {outside} outside"
        );
    }
}
