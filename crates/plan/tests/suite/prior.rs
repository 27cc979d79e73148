//! A calibrated profile as the prior of a tuner.

use crate::wrong::{WRONG, off_by_thirty_percent};
use inferometer_catalog::device::Device;
use inferometer_catalog::engine::EngineKind;
use inferometer_catalog::model::Model;
use inferometer_catalog::timing::Timing;
use inferometer_core::length::Distribution as Lengths;
use inferometer_plan::calibrate::{Calibration, Doubtful, calibrate};
use inferometer_plan::flags::Flag;
use inferometer_plan::means::{MeanMetric, Means};
use inferometer_plan::observation::{Observation, Origin};
use inferometer_plan::predict::{Subject, simulate};
use inferometer_plan::rank::{Goal, rank};
use inferometer_plan::what_if::Objectives;
use inferometer_plan::work::{Load, Start, Work};

fn subject() -> Subject {
    Subject {
        model: Model::named("qwen2.5-7b").expect("as set up"),
        device: Device::named("a100-80g").expect("as set up").clone(),
        cards: 1,
        engine: EngineKind::Vllm,
        version: None,
        split: None,
    }
}

fn work(streams: u32) -> Work {
    Work {
        load: Load::Closed(streams),
        start: Start::AtOnce,
        input: Lengths::Normal(900.0, 300.0),
        output: Lengths::Normal(120.0, 40.0),
        requests: 3 * streams,
        trace: None,
    }
}

fn calibrated(subject: &Subject) -> Calibration {
    let timing = Timing::shipped(&subject.device);
    let points: Vec<Observation> = [4, 32, 128]
        .into_iter()
        .map(|streams| {
            let config = subject.start(&[], &timing).expect("as set up");
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
                figures: Means::of(&simulate(config, &work, u64::from(streams))),
                left_out: None,
                origin: Origin::Run,
                invalid: Vec::new(),
            }
        })
        .collect();
    calibrate(subject, "a100-80g", &points, Doubtful::Refuse).expect("as set up")
}

fn candidates() -> Vec<Vec<Flag>> {
    let mut all = Vec::new();
    for sequences in [8, 16, 32, 64, 128, 256] {
        for tokens in [512, 1024, 2048, 8192] {
            let flag = |name: &str, value: u32| (name.to_owned(), Some(value.to_string()));
            all.push(vec![
                flag("max-num-seqs", sequences),
                flag("max-num-batched-tokens", tokens),
            ]);
        }
    }
    all
}

#[test]
fn a_profile_that_is_wrong_by_thirty_percent_keeps_the_best_in_the_first_third() {
    let truth = calibrated(&subject());
    let (work, candidates) = (work(128), candidates());
    let goals = [
        (MeanMetric::Throughput, Objectives::default()),
        (
            MeanMetric::Throughput,
            Objectives {
                slos: vec!["tpot.p90=60ms".parse().expect("as set up")],
                attainment: None,
            },
        ),
        (MeanMetric::E2e, Objectives::default()),
    ];
    for (metric, objectives) in goals {
        let goal = Goal { metric, objectives };
        let best = rank(&truth, &work, &goal, &candidates).expect("as set up")[0].index;
        for signs in WRONG {
            let mut wrong = truth.clone();
            wrong.timing = off_by_thirty_percent(&truth.timing, signs);
            let ranked = rank(&wrong, &work, &goal, &candidates).expect("as set up");
            let place = ranked.iter().position(|ranked| ranked.index == best);
            assert!(
                place.is_some_and(|place| place < candidates.len() / 3),
                "{metric:?} {signs:b}: {place:?}"
            );
        }
    }
}

#[test]
fn what_the_engine_refuses_is_no_candidate_and_what_was_not_measured_is_marked() {
    let calibration = calibrated(&subject());
    let goal = Goal {
        metric: MeanMetric::Throughput,
        objectives: Objectives::default(),
    };
    let refused = vec![("max-num-seqs".to_owned(), Some("0".to_owned()))];
    let never_varied = vec![("max-num-seqs".to_owned(), Some("16".to_owned()))];
    let ranked = rank(
        &calibration,
        &work(32),
        &goal,
        &[refused, never_varied, Vec::new()],
    )
    .expect("as set up");
    let order: Vec<(usize, bool)> = ranked
        .iter()
        .map(|ranked| (ranked.index, ranked.inside_envelope))
        .collect();
    assert_eq!(order, [(2, true), (1, false)]);
}

#[test]
fn a_strain_says_by_how_much_an_objective_is_missed() {
    let calibration = calibrated(&subject());
    let figures = |limit: &str| {
        let slos = ["tpot.p90", "tpot.mean", "tpot"];
        let slos = slos.map(|scope| format!("{scope}={limit}").parse().expect("as set up"));
        let goal = Goal {
            metric: MeanMetric::Throughput,
            objectives: Objectives {
                slos: slos.to_vec(),
                attainment: Some(0.9),
            },
        };
        let ranked = rank(&calibration, &work(32), &goal, &[Vec::new()]).expect("as set up");
        (ranked[0].strains.clone(), ranked[0].met)
    };
    let (strict, loose) = (figures("1ms"), figures("1s"));
    assert!(!strict.1 && strict.0.iter().all(|strain| *strain > 1.0));
    assert!(loose.1 && loose.0.iter().all(|strain| *strain < 1.0));
    for (strict, loose) in strict.0.iter().zip(&loose.0) {
        assert!((strict / loose - 1000.0).abs() < 1e-6);
    }
}
