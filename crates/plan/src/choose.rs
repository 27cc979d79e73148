//! The cheapest deployments that carry a traffic within objectives: every division of a model among
//! the cards on offer is judged by a formula, and what looks cheapest is simulated with its share of
//! the arrivals.

mod candidate;
mod json;
mod launch;
mod search;
mod sized;

use crate::calibrate::Grounds;
pub use crate::what_if::{Carries, DRAWS, FEW_REQUESTS};
pub use json::{SCHEMA, to_json};
pub use launch::{Process, Role};
pub use search::{MOST_CONFIRMED, MOST_SCREENED};

use crate::cores::on_all;
use crate::device::Card;
use crate::flags::Flag;
use crate::predict::Subject;
use crate::split::Split;
use crate::unmeasured::stand_in;
use crate::what_if::{Objectives, Outcome, Prediction, Replicas, Setting, SizeBy, ask, share};
use crate::work::{Load, Sizes};
use candidate::candidates;
use inferometer_catalog::engine::{EngineKind, Version};
use inferometer_catalog::model::Model;
use inferometer_core::length::Distribution as Lengths;
use search::cheapest;
use sized::question;
use std::sync::Arc;
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
    /// Lengths of one request after another, in place of drawn ones.
    pub trace: Option<Arc<[Sizes]>>,
    pub objectives: &'a Objectives,
    /// Requests/s to carry.
    pub traffic: f64,
    pub size_by: SizeBy,
    /// Deployments to name.
    pub wanted: usize,
    pub effort: Effort,
}

/// How long it is searched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effort {
    /// Until [`MOST_SCREENED`] and [`MOST_CONFIRMED`] are simulated.
    #[default]
    Limited,
    /// Until nothing that is not listed may be as cheap.
    Complete,
}

#[derive(Clone, Debug)]
pub struct Deployment {
    pub engine: EngineKind,
    pub setting: Setting,
    /// Of one replica with its share of the traffic.
    pub prediction: Prediction,
    pub grounds: Grounds,
    /// Servers alike, each with `prediction.cards` cards.
    pub replicas: Replicas,
    /// Requests/s that all replicas are to carry.
    pub traffic: f64,
    /// Of a card.
    pub price_per_hour: f64,
    pub cost_per_hour: f64,
    /// Of output tokens, at the traffic.
    pub cost_per_million: f64,
    /// Joules of the cards for an output token at the traffic, if each drew its board's greatest
    /// power all the time: it is no more. Absent where that power is not known.
    pub most_joules_per_token: Option<f64>,
    pub carried: Carried,
    /// What starts one replica; where prompts are computed apart, a worker that answers, unless the
    /// engine's files tell workers apart.
    pub command: String,
    /// What starts a worker that computes prompts, where those are others with a command.
    pub prefill_command: Option<String>,
    /// All that one replica is made of, with ports and cards where there are several.
    pub processes: Vec<Process>,
    /// Where clients find it.
    pub port: u16,
    pub split: Option<Split>,
    /// Loads from one stream to beyond the greatest that meets the objectives.
    pub curve: Vec<Prediction>,
}

/// Requests/s of the traffic that one server carries within the objectives, at most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Carried {
    pub estimate: f64,
    /// At the slow end of its interval; absent where none is carried.
    pub least: Option<f64>,
    /// At the fast end.
    pub most: Carries,
}

impl Deployment {
    /// What all replicas carry beyond the traffic, as a share.
    pub fn headroom(&self) -> f64 {
        self.beyond(self.carried.estimate)
    }

    /// The same at the slow end of the interval, where it may be below 0; absent where nothing is
    /// carried.
    pub fn least_headroom(&self) -> Option<f64> {
        self.carried.least.map(|rate| self.beyond(rate))
    }

    /// At the fast end, in which it may be more than was tried.
    pub fn most_headroom(&self) -> Carries {
        match self.carried.most {
            Carries::AtMost(rate) => Carries::AtMost(self.beyond(rate)),
            Carries::AtLeast(rate) => Carries::AtLeast(self.beyond(rate)),
        }
    }

    /// Compares with the share as it was simulated, which is rounded up.
    fn beyond(&self, rate: f64) -> f64 {
        rate / share(self.traffic, self.replicas.count) - 1.0
    }

    /// What is paid or drawn for `value` with as many servers as there are, if there were as many
    /// as the fast and as the slow end of the interval need; absent where no number is enough.
    pub fn by_servers(&self, value: f64) -> (f64, Option<f64>) {
        let each = value / self.replicas.count as f64;
        let fewest = (self.traffic / self.carried.most.rate() - 1e-9)
            .ceil()
            .max(1.0);
        let most = self.replicas.most.map(|most| each * most as f64);
        (each * fewest.min(self.replicas.count as f64), most)
    }

    pub fn cards(&self) -> u64 {
        self.replicas.count * u64::from(self.prediction.cards)
    }

    /// Requests/s that a card carries, at most.
    pub fn rate_per_card(&self) -> f64 {
        self.carried.estimate / f64::from(self.prediction.cards)
    }

    /// Whether the whole interval meets the objectives with these replicas.
    pub fn is_certain(&self) -> bool {
        let wholly = self.replicas.most;
        wholly.is_some_and(|wholly| wholly <= self.replicas.count)
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
    /// Those that miss the objectives even when idle.
    pub never_met: usize,
    /// Those that need more cards than there are.
    pub too_few_cards: usize,
    /// Those that would carry the traffic by the estimate, where the interval was asked for.
    pub only_by_estimate: usize,
    /// Those that were simulated with a few requests, and with as many as it takes.
    pub screened: usize,
    pub confirmed: usize,
    /// Those of which no more is known than a formula, or a few requests, say.
    pub left_out: usize,
    /// Those of them that may be as cheap as what is listed, by what is known of them.
    pub in_doubt: usize,
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
    cheapest(wish, found.hopeful, &mut choice);
    let curves = on_all(choice.deployments.len(), |place| {
        curve(wish, &choice.deployments[place])
    });
    for (deployment, curve) in choice.deployments.iter_mut().zip(curves) {
        deployment.curve = curve;
    }
    Ok(choice)
}

/// From a lone stream to twice those that are under way at the greatest load within the objectives.
fn curve(wish: &Wish<'_>, chosen: &Deployment) -> Vec<Prediction> {
    let prediction = &chosen.prediction;
    let in_flight = prediction.figures().in_flight().unwrap_or_default();
    let streams = 2.0 * in_flight * (1.0 + chosen.headroom());
    let most = (streams.max(1.0) as u32).ilog2().min(MOST_OF_CURVE);
    let loads = (0..=most).map(|power| Load::Closed(1 << power)).collect();
    let mut offers = wish.offers.iter();
    let Some(offer) = offers.find(|offer| offer.name == chosen.setting.device) else {
        return Vec::new();
    };
    let mut engines = wish.engines.iter();
    let version = engines.find(|(engine, _)| *engine == chosen.engine);
    let subject = Subject {
        model: wish.model.clone(),
        device: offer.card.device.clone(),
        cards: prediction.cards,
        engine: chosen.engine,
        version: version.and_then(|(_, version)| *version),
        split: chosen.split.clone(),
    };
    let lengths = [wish.input, wish.output];
    let (calibration, _) = stand_in(&subject, &offer.name, &chosen.setting.flags, lengths);
    let question = question(wish, &calibration, offer, loads);
    let answers = ask(&question).map_or(Vec::new(), |answers| answers.settings);
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
