//! The cheapest deployments for a traffic, and predictions without a measurement.

use inferometer_catalog::engine::EngineKind;
use inferometer_catalog::model::Model;
use inferometer_catalog::timing::Basis;
use inferometer_core::length::Distribution as Lengths;
use inferometer_plan::choose::{Choice, ChooseError, Deployment, Effort, Offer, Wish, choose};
use inferometer_plan::means::MeanMetric;
use inferometer_plan::predict::Subject;
use inferometer_plan::unmeasured::{Forecast, stand_in};
use inferometer_plan::what_if::{
    Objectives, Outcome, PredictedVerdict, Prediction, Question, SizeBy,
};
use inferometer_plan::work::Load;
use std::collections::BTreeMap;

fn offer(name: &str, most: Option<u32>, price_per_hour: f64) -> Offer {
    Offer {
        name: name.to_owned(),
        card: name.parse().expect("a card"),
        price_per_hour,
        most,
    }
}

fn chosen(offers: &[Offer], slos: &[&str], traffic: f64) -> Result<Choice, ChooseError> {
    sized(offers, slos, traffic, SizeBy::Estimate)
}

fn sized(
    offers: &[Offer],
    slos: &[&str],
    traffic: f64,
    size_by: SizeBy,
) -> Result<Choice, ChooseError> {
    let objectives = Objectives {
        slos: slos
            .iter()
            .map(|slo| slo.parse().expect("an objective"))
            .collect(),
        attainment: None,
    };
    choose(&Wish {
        model: &Model::named("llama-3.1-8b").expect("a preset"),
        name: "llama-3.1-8b",
        engines: &[(EngineKind::Vllm, None)],
        offers,
        flags: &[("max-num-batched-tokens".to_owned(), Some("8192".to_owned()))],
        input: Lengths::Fixed(512),
        output: Lengths::Fixed(64),
        trace: None,
        objectives: &objectives,
        traffic,
        size_by,
        wanted: 3,
        effort: Effort::Limited,
    })
}

#[test]
fn the_cheapest_card_is_taken_as_long_as_there_are_enough_of_it() {
    let slos = ["tpot.p90=60ms", "ttft.p90=4s"];
    let offers = |h100| [offer("h100", None, h100), offer("h200", Some(1), 1.0)];
    let first = |choice: &Choice| choice.deployments[0].clone();
    let cheap = chosen(&offers(30.0), &slos, 2.0).unwrap();
    assert_eq!(first(&cheap).setting.device, "h200");
    assert_eq!(first(&cheap).cards(), 1);
    for pair in cheap.deployments.windows(2) {
        assert!(pair[0].cost_per_hour <= pair[1].cost_per_hour);
    }
    let carried = |it: &Deployment| it.cards() as f64 * it.rate_per_card();
    let other = chosen(&offers(0.5), &slos, 2.0).unwrap();
    assert_eq!(first(&other).setting.device, "h100");
    let more = carried(&first(&cheap)) * 3.0;
    let many = chosen(&offers(30.0), &slos, more).unwrap();
    assert_eq!(
        first(&many).setting.device,
        "h100",
        "one h200 is not enough"
    );
    assert!(first(&many).replicas.count > 1 && carried(&first(&many)) >= more);
    assert!(first(&many).command.starts_with("vllm serve llama-3.1-8b"));
    assert!(first(&many).curve.len() > 2);
    assert!(many.too_few_cards > 0);
}

#[test]
fn what_cannot_be_had_is_said() {
    let offers = [offer("h100", None, 2.0)];
    assert!(matches!(
        chosen(&offers, &[], 1.0),
        Err(ChooseError::NoObjective)
    ));
    let never = chosen(&offers, &["ttft=1us"], 1.0).unwrap();
    assert!(never.deployments.is_empty());
    assert_eq!(never.never_met, never.considered - never.refused);
    let small = [offer("memory=8GiB,bandwidth=300,half=60", Some(1), 1.0)];
    let nothing = chosen(&small, &["ttft=10s"], 1.0).unwrap_err().to_string();
    assert!(nothing.contains("GiB"), "{nothing}");
}

#[test]
fn replicas_are_judged_with_their_share_of_the_arrivals() {
    let offers = [offer("h100", None, 2.0)];
    let traffic = 40.0;
    let choice = chosen(&offers, &["tpot.p99=15ms", "ttft.p99=2s"], traffic).unwrap();
    assert!(!choice.deployments.is_empty());
    for chosen in &choice.deployments {
        let prediction = &chosen.prediction;
        let Load::Open(rate) = prediction.work.load else {
            panic!("{:?}", prediction.work.load)
        };
        let share = traffic / chosen.replicas.count as f64;
        assert!(rate >= share && rate < share * 1.001, "{rate} {share}");
        assert!(prediction.work.requests >= 459, "p99 needs as many");
        assert_ne!(prediction.verdict, Some(PredictedVerdict::Missed));
        for judged in &prediction.judged {
            assert!(judged.ms <= judged.slo.limit.0.as_secs_f64() * 1e3);
        }
    }
}

#[test]
fn an_interval_needs_more_replicas_than_the_estimate_and_either_may_be_counted_by() {
    // Nothing was ever validated on this card: the interval is wide.
    let offers = [offer("l20", None, 1.0)];
    let slos = ["tpot.p90=2s", "ttft.p90=200s"];
    let first = |size_by| sized(&offers, &slos, 12.0, size_by).unwrap().deployments[0].clone();
    let (estimate, interval) = (first(SizeBy::Estimate), first(SizeBy::Interval));
    assert!(!estimate.is_certain() && interval.is_certain());
    assert_eq!(estimate.replicas.count, estimate.replicas.least);
    assert!(estimate.replicas.most > Some(estimate.replicas.count));
    assert_eq!(Some(interval.replicas.count), interval.replicas.most);
    assert!(interval.cost_per_hour > estimate.cost_per_hour);
    // Where no number is certain, that is the reason.
    let never = sized(&offers, &["ttft.p90=150ms"], 2.0, SizeBy::Interval).unwrap();
    assert!(
        never.deployments.is_empty() && never.only_by_estimate > 0,
        "{never:?}"
    );
}

#[test]
fn a_list_says_whether_something_cheaper_may_be_missing() {
    let offers = [offer("h100", None, 2.0), offer("h200", None, 3.0)];
    let choice = chosen(&offers, &["tpot.p99=60ms"], 4.0).unwrap();
    assert_eq!(choice.in_doubt, 0, "{choice:?}");
    let found = choice.deployments.len() + choice.never_met + choice.refused;
    let found = found + choice.too_few_cards + choice.only_by_estimate + choice.left_out;
    // The others differ from one that is listed in their token budget, or cost more.
    assert!(found <= choice.considered);
    assert!(choice.confirmed >= choice.deployments.len());
    assert!(choice.screened >= choice.confirmed);
}

fn forecast(model: &str, device: &str) -> (Prediction, Basis) {
    let subject = Subject {
        model: Model::named(model).expect("a preset"),
        device: inferometer_catalog::device::Device::named(device)
            .expect("it is served")
            .clone(),
        cards: 8,
        engine: EngineKind::Vllm,
        version: None,
        split: None,
    };
    let flags = [("tensor-parallel-size".to_owned(), Some("8".to_owned()))];
    let lengths = [Lengths::Fixed(1024), Lengths::Fixed(256)];
    let stand_ins = [stand_in(&subject, device, &flags, lengths)];
    let forecast = Forecast::of(&stand_ins, |calibration| Question {
        calibration,
        cards: Vec::new(),
        flags: Vec::new(),
        loads: vec![Load::Closed(16)],
        input: lengths[0],
        output: lengths[1],
        trace: None,
        requests: None,
        objectives: Objectives::default(),
        price_per_hour: None,
        card_prices: BTreeMap::new(),
        traffic: None,
        watts: None,
    })
    .expect("it is served");
    let [(_, Outcome::Predicted(prediction))] = forecast.answers.settings.as_slice() else {
        panic!("{forecast:?}");
    };
    ((**prediction).clone(), forecast.grounds[0].basis)
}

#[test]
fn a_forecast_has_an_interval_that_is_wider_where_nothing_was_validated() {
    let (validated, basis) = forecast("qwen3-32b", "h100");
    assert_eq!(basis, Basis::Validated);
    assert!(validated.inside(), "{:?}", validated.beyond);
    let (unknown, basis) = forecast("qwen2.5-72b", "a100-80g");
    assert_eq!(basis, Basis::None);
    for metric in [
        MeanMetric::Throughput,
        MeanMetric::Ttft,
        MeanMetric::Tpot,
        MeanMetric::E2e,
    ] {
        let bound = |it: &Prediction| it.bound(metric).unwrap();
        assert!(bound(&unknown) > bound(&validated), "{metric}");
    }
}
