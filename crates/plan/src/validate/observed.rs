//! Our own runs and the results of other tools, as far as they, or the user, say what was measured.

use super::{Identity, Latencies, NotPredicted};
use crate::device::Card;
use crate::flags;
use crate::means::Means;
use crate::observation::{MeasuredOn, Observation, assume_longest_request};
use crate::predict::{Subject, simulate};
use crate::work::Work;
use inferometer_catalog::engine::{EngineKind, Version};
use inferometer_catalog::model::{KnownModel, Model};
use inferometer_catalog::timing::Profiles;

/// Seed of a simulation whose own is not known.
const SEED: u64 = 1;

/// What the user says of sources that do not say it.
#[derive(Clone, Debug, Default)]
pub struct Unsaid {
    pub on: MeasuredOn,
    /// The model that `on` names, where it had to be looked up.
    pub model: Option<Model>,
    pub version: Option<Version>,
}

/// A load point, and what it was measured on.
#[derive(Clone, Debug, PartialEq)]
pub struct Observed {
    observation: Observation,
    on: MeasuredOn,
    /// A model that is known by more than its name.
    model: Option<Model>,
    version: Option<Version>,
}

impl Observed {
    pub fn new(observation: Observation, unsaid: &Unsaid) -> Observed {
        // What was looked up is of that name alone.
        let is_own = observation.on.model.is_some() && observation.on.model != unsaid.on.model;
        Observed {
            on: observation.on.or(&unsaid.on),
            model: unsaid.model.clone().filter(|_| !is_own),
            version: observation.version.or(unsaid.version),
            observation,
        }
    }

    pub(super) fn identity(&self) -> Identity {
        let name = |said: &Option<String>| said.clone().unwrap_or_else(|| "?".to_owned());
        let engine = self.on.engine.map(|engine| engine.word().to_owned());
        Identity {
            id: self.observation.name.clone(),
            engine: name(&engine),
            split: false,
            card: self
                .card()
                .map_or_else(|_| name(&self.on.card), |card| card.device.name),
            model: self
                .model()
                .map_or_else(|_| name(&self.on.model), |model| model.name),
            half: None,
        }
    }

    /// Of what was measured, so that a sample is the same whatever the order.
    pub(super) fn fingerprint(&self) -> String {
        format!("{} {:?}", self.observation.load, self.observation.figures)
    }

    pub(super) fn measured(&self) -> Latencies {
        let figures = &self.observation.figures;
        Latencies {
            ttft_ms: figures.ttft_ms,
            tpot_ms: figures.tpot_ms,
            e2e_ms: self.observation.latency_ms(),
        }
    }

    fn model(&self) -> Result<Model, NotPredicted> {
        if let Some(model) = &self.model {
            return Ok(model.clone());
        }
        let name = self.on.model.as_deref().ok_or(NotPredicted::NoModel)?;
        let found = KnownModel::find(name).map(|known| known.model);
        found.map_err(|_| NotPredicted::Model(name.to_owned()))
    }

    fn card(&self) -> Result<Card, NotPredicted> {
        let name = self.on.card.as_deref().ok_or(NotPredicted::NoCard)?;
        // As `H20 × 8` and as drivers report it.
        let own = name.split(['×', '*']).next().unwrap_or(name).trim();
        own.parse().map_err(|_| NotPredicted::Card(name.to_owned()))
    }

    pub(super) fn predict(&self, profiles: &Profiles) -> Result<Latencies, NotPredicted> {
        if self.measured() == Latencies::default() {
            return Err(NotPredicted::NoLatency);
        }
        if !self.observation.invalid.is_empty() {
            let codes = self.observation.invalid.join(", ");
            return Err(NotPredicted::Invalid(codes));
        }
        let engine = self.on.engine.ok_or(NotPredicted::NoEngine)?;
        if matches!(engine, EngineKind::Custom | EngineKind::LlamaServer) {
            return Err(NotPredicted::Engine(engine.word().to_owned()));
        }
        let (model, device) = (self.model()?, self.card()?.device);
        let mut observation = self.observation.clone();
        let (Some(input), Some(output)) = (observation.input, observation.output) else {
            return Err(NotPredicted::NoLengths);
        };
        let subject = Subject {
            cards: flags::cards(engine, &observation.flags),
            model,
            device,
            engine,
            version: self.version,
            split: None,
        };
        assume_longest_request(&subject, std::slice::from_mut(&mut observation));
        let timing = profiles.of(&subject.device, Some(engine));
        let timing = timing.ok_or_else(|| NotPredicted::Card(subject.device.name.clone()))?;
        let config = subject.start(&observation.flags, timing);
        let config = config.map_err(|error| NotPredicted::Refused(subject.refusal(&error)))?;
        let work = Work {
            load: observation.load,
            start: observation.start,
            input,
            output,
            requests: match observation.requests {
                Some(sent) => sent.min(observation.load.most_requests()),
                None => observation.load.requests(None),
            },
            trace: None,
        };
        let means = Means::of(&simulate(config, &work, observation.seed.unwrap_or(SEED)));
        let found = Latencies {
            ttft_ms: means.ttft_ms,
            tpot_ms: means.tpot_ms,
            e2e_ms: means.e2e_ms,
        };
        found
            .e2e_ms
            .map(|_| found)
            .ok_or(NotPredicted::NothingServed)
    }
}
