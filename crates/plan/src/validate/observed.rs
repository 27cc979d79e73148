//! Our own runs and the results of other tools, as far as they, or the user, say what was measured.

use super::{Identity, Latencies, NotPredicted};
use crate::device::Card;
use crate::flags;
use crate::means::Means;
use crate::observation::{MeasuredOn, Observation, assume_longest_request};
use crate::predict::{Subject, simulate};
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
    /// What the user says, where the source names nothing that is known.
    model: Option<Model>,
    card: Option<String>,
    version: Option<Version>,
}

impl Observed {
    pub fn new(observation: Observation, unsaid: &Unsaid) -> Observed {
        Observed {
            on: observation.on.or(&unsaid.on),
            model: unsaid.model.clone(),
            card: unsaid.on.card.clone(),
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

    /// The source's own; what the user says where it has none, or one that is not known, such as
    /// the name under which a server serves it.
    fn model(&self) -> Result<Model, NotPredicted> {
        let own = self.observation.on.model.as_deref();
        let own = own.and_then(|name| KnownModel::find(name).ok());
        let said = || {
            let named = || KnownModel::find(self.on.model.as_deref()?).ok();
            self.model.clone().or_else(|| Some(named()?.model))
        };
        let missing = || match &self.on.model {
            Some(name) => NotPredicted::Model(name.clone()),
            None => NotPredicted::NoModel,
        };
        own.map(|own| own.model).or_else(said).ok_or_else(missing)
    }

    fn card(&self) -> Result<Card, NotPredicted> {
        // As `H20 × 8`, and as drivers report it.
        let read = |name: &String| {
            let own = name.split(['×', '*']).next().unwrap_or(name).trim();
            own.parse::<Card>().ok()
        };
        let own = self.observation.on.card.as_ref().and_then(read);
        let missing = || match &self.on.card {
            Some(name) => NotPredicted::Card(name.clone()),
            None => NotPredicted::NoCard,
        };
        own.or_else(|| self.card.as_ref().and_then(read))
            .ok_or_else(missing)
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
        let work = observation.work(input, output);
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
