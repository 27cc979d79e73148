//! The cheapest deployments that carry a traffic within objectives: every division of a model among
//! the cards on offer is judged by a formula, and what looks cheapest is simulated.

mod candidate;
mod json;

pub use json::{SCHEMA, to_json};

use crate::cores::on_all;
use crate::device::Card;
use crate::flags::{Flag, command};
use crate::predict::Subject;
use crate::split::{Side, Split};
use crate::unmeasured::{Grounds, stand_in};
use crate::what_if::{Objectives, Outcome, PredictedVerdict, Prediction, Question, Setting, ask};
use crate::work::Load;
use candidate::{Candidate, candidates};
use inferometer_catalog::engine::{EngineKind, Version, words};
use inferometer_catalog::model::Model;
use inferometer_core::length::Distribution as Lengths;
use thiserror::Error;

/// A kind of card that may be had.
#[derive(Clone, Debug, PartialEq)]
pub struct Offer {
    /// As it was named.
    pub name: String,
    pub card: Card,
    pub price_per_hour: f64,
    /// How many there are; absent: as many as are needed.
    pub most: Option<u32>,
}

#[derive(Clone, Debug)]
pub struct Wish<'a> {
    pub model: &'a Model,
    /// As it was named, for launch commands.
    pub name: &'a str,
    pub engines: &'a [(EngineKind, Option<Version>)],
    pub offers: &'a [Offer],
    /// Flags that every deployment has.
    pub flags: &'a [Flag],
    pub input: Lengths,
    pub output: Lengths,
    pub objectives: &'a Objectives,
    /// Requests/s to carry.
    pub traffic: f64,
    /// Deployments to name.
    pub wanted: usize,
}

#[derive(Clone, Debug)]
pub struct Deployment {
    pub engine: EngineKind,
    pub setting: Setting,
    /// Of one replica at the greatest load that meets the objectives.
    pub prediction: Prediction,
    pub grounds: Grounds,
    /// Servers alike, each with `prediction.cards` cards.
    pub replicas: u64,
    pub cost_per_hour: f64,
    /// Of output tokens, at the traffic.
    pub cost_per_million: f64,
    /// What all replicas carry beyond the traffic, as a share.
    pub headroom: f64,
    /// What starts one replica; where prompts are computed apart, a worker that answers.
    pub command: String,
    /// What starts a worker that computes prompts, where those are others.
    pub prefill_command: Option<String>,
    pub split: Option<Split>,
    /// Loads from one stream to beyond the greatest that meets the objectives.
    pub curve: Vec<Prediction>,
}

impl Deployment {
    pub fn cards(&self) -> u64 {
        self.replicas * u64::from(self.prediction.cards)
    }

    /// Requests/s that a card carries.
    pub fn rate_per_card(&self) -> f64 {
        self.prediction.requests_per_s / f64::from(self.prediction.cards)
    }
}

#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// The cheapest first.
    pub deployments: Vec<Deployment>,
    pub considered: usize,
    /// Those that no engine starts, and the first reason.
    pub refused: usize,
    pub first_refusal: Option<String>,
    /// Those that miss the objectives with a single stream.
    pub never_met: usize,
    /// Those that need more cards than there are.
    pub too_few_cards: usize,
    pub simulated: usize,
}

#[derive(Debug, Error)]
pub enum ChooseError {
    #[error(
        "give at least one objective (--slo): without any, the slowest deployment is the cheapest"
    )]
    NoObjective,
    #[error("no engine starts with this model on these cards: {0}")]
    NothingStarts(String),
}

/// Deployments that are simulated, at most, and how many at a time.
const MOST_SIMULATED: usize = 48;
const AT_A_TIME: usize = 8;
/// Loads of a curve, each twice the one before.
const MOST_OF_CURVE: u32 = 12;
const BUDGET: &str = "max-num-batched-tokens";

pub fn choose(wish: &Wish<'_>) -> Result<Choice, ChooseError> {
    if wish.objectives.is_empty() {
        return Err(ChooseError::NoObjective);
    }
    let found = candidates(wish);
    let mut choice = Choice {
        considered: found.considered,
        refused: found.refused,
        first_refusal: found.first_refusal,
        never_met: found.never_met,
        too_few_cards: found.too_few_cards,
        ..Choice::default()
    };
    if choice.refused == choice.considered {
        let reason = choice.first_refusal.clone().unwrap_or_default();
        return Err(ChooseError::NothingStarts(reason));
    }
    for some in found.hopeful.chunks(AT_A_TIME) {
        only_best_budgets(&mut choice.deployments);
        let enough = choice.deployments.get(wish.wanted.saturating_sub(1));
        let hope = some.first().map_or(f64::INFINITY, |first| first.least_cost);
        if choice.simulated >= MOST_SIMULATED
            || enough.is_some_and(|last| last.cost_per_hour < hope)
        {
            break;
        }
        let outcomes = on_all(some.len(), |place| deployment(wish, &some[place]));
        choice.simulated += some.len();
        for outcome in outcomes {
            match outcome {
                Found::Deployment(deployment) => choice.deployments.push(*deployment),
                Found::NeverMet => choice.never_met += 1,
                Found::TooFewCards => choice.too_few_cards += 1,
            }
        }
        choice.deployments.sort_by(|a, b| {
            let cost = a.cost_per_hour.total_cmp(&b.cost_per_hour);
            cost.then(b.headroom.total_cmp(&a.headroom))
        });
    }
    only_best_budgets(&mut choice.deployments);
    choice.deployments.truncate(wish.wanted);
    let curves = on_all(choice.deployments.len(), |place| {
        curve(wish, &choice.deployments[place])
    });
    for (deployment, curve) in choice.deployments.iter_mut().zip(curves) {
        deployment.curve = curve;
    }
    Ok(choice)
}

/// Of deployments that differ in their token budget alone, the best stays.
fn only_best_budgets(deployments: &mut Vec<Deployment>) {
    let mut seen: Vec<(String, EngineKind, bool, Vec<Flag>)> = Vec::new();
    deployments.retain(|chosen| {
        let flags = chosen.setting.flags.iter();
        let flags = flags.filter(|(name, _)| name != BUDGET).cloned().collect();
        let apart = chosen.split.is_some();
        let kind = (chosen.setting.device.clone(), chosen.engine, apart, flags);
        let is_new = !seen.contains(&kind);
        seen.push(kind);
        is_new
    });
}

enum Found {
    Deployment(Box<Deployment>),
    NeverMet,
    TooFewCards,
}

/// What was predicted at a load, or at the greatest that meets the objectives.
fn predicted(
    wish: &Wish<'_>,
    offer: &Offer,
    subject: &Subject,
    flags: &[Flag],
    loads: Vec<Load>,
) -> (Vec<(Setting, Outcome)>, Grounds) {
    let lengths = [wish.input, wish.output];
    let (calibration, grounds) = stand_in(subject, &offer.name, flags, &[], lengths);
    let question = Question {
        calibration: &calibration,
        cards: Vec::new(),
        flags: Vec::new(),
        loads,
        input: wish.input,
        output: wish.output,
        trace: None,
        requests: None,
        objectives: wish.objectives.clone(),
        price_per_hour: Some(offer.price_per_hour),
        traffic: Some(wish.traffic),
        watts: None,
    };
    let answers = ask(&question).map_or(Vec::new(), |answers| answers.settings);
    (answers, grounds)
}

fn deployment(wish: &Wish<'_>, candidate: &Candidate<'_>) -> Found {
    let (subject, flags) = (&candidate.subject, &candidate.flags);
    let (answers, grounds) = predicted(wish, candidate.offer, subject, flags, Vec::new());
    let Some((setting, Outcome::Predicted(prediction))) = answers.into_iter().next() else {
        return Found::NeverMet;
    };
    let Some(replicas) = prediction.replicas else {
        return Found::NeverMet;
    };
    // As many as are needed where one carries the least of its interval.
    let replicas = replicas.most;
    let cards = replicas.saturating_mul(u64::from(prediction.cards));
    if (candidate.offer.most).is_some_and(|most| cards > u64::from(most)) {
        return Found::TooFewCards;
    }
    let cost_per_hour = cards as f64 * candidate.offer.price_per_hour;
    let tokens_per_hour = wish.traffic * prediction.output_mean * 3600.0;
    let launch = |flags: &[Flag], side| launch(subject.engine, wish.name, flags, side);
    let side = subject.split.as_ref().map(|_| Side::Decode);
    let prefill = subject.split.as_ref().map(Split::prefill_flags);
    Found::Deployment(Box::new(Deployment {
        engine: subject.engine,
        command: launch(flags, side),
        prefill_command: prefill.map(|flags| launch(&flags, Some(Side::Prefill))),
        split: subject.split.clone(),
        replicas,
        cost_per_hour,
        cost_per_million: cost_per_hour / tokens_per_hour * 1e6,
        headroom: replicas as f64 * prediction.requests_per_s / wish.traffic - 1.0,
        setting,
        prediction: *prediction,
        grounds,
        curve: Vec::new(),
    }))
}

/// The command that starts a server, or a worker of one kind.
fn launch(engine: EngineKind, model: &str, flags: &[Flag], side: Option<Side>) -> String {
    let own = side.and_then(|side| side.flag(engine));
    let flags: Vec<Flag> = flags.iter().cloned().chain(own).collect();
    let started = command(engine, model, &flags);
    started.map_or(String::new(), |command| words::join(command.to_words()))
}

/// From a lone stream to twice the load that meets the objectives.
fn curve(wish: &Wish<'_>, chosen: &Deployment) -> Vec<Prediction> {
    let Load::Closed(streams) = chosen.prediction.work.load else {
        return Vec::new();
    };
    let most = streams.saturating_mul(2).ilog2().min(MOST_OF_CURVE);
    let loads = (0..=most).map(|power| Load::Closed(1 << power)).collect();
    let Some(offer) = wish
        .offers
        .iter()
        .find(|offer| offer.name == chosen.setting.device)
    else {
        return Vec::new();
    };
    let version = wish
        .engines
        .iter()
        .find(|(engine, _)| *engine == chosen.engine);
    let subject = Subject {
        model: wish.model.clone(),
        device: offer.card.device.clone(),
        cards: chosen.prediction.cards,
        engine: chosen.engine,
        version: version.and_then(|(_, version)| *version),
        split: chosen.split.clone(),
    };
    let (answers, _) = predicted(wish, offer, &subject, &chosen.setting.flags, loads);
    let served = answers
        .into_iter()
        .filter_map(|(_, outcome)| match outcome {
            Outcome::Predicted(prediction) => Some(*prediction),
            Outcome::Refused(_) | Outcome::TooLong(_) | Outcome::NeverMet => None,
        });
    served.collect()
}

fn streams(prediction: &Prediction) -> Option<u32> {
    match prediction.work.load {
        Load::Closed(streams) => Some(streams),
        Load::Open(_) => None,
    }
}

/// Output tokens/s of a card.
pub fn per_card(prediction: &Prediction) -> f64 {
    prediction.output_tokens_per_s / f64::from(prediction.cards)
}

/// Output tokens/s that a user sees once the answer has begun.
pub fn per_user(prediction: &Prediction) -> Option<f64> {
    Some(1e3 / prediction.tpot_ms?.mean)
}

impl Deployment {
    /// Whether the whole interval meets the objectives.
    pub fn is_certain(&self) -> bool {
        self.prediction.verdict == Some(PredictedVerdict::Met)
    }
}
