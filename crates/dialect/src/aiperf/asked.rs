//! What the tool would have been asked for: it prints its command below the tables, and the export
//! has the load in it. Nothing else of either says how many requests were sent at once.

use crate::Source;
use crate::object::Object;
use inferometer_core::scenario::{Arrival, Shape};

/// The measured phase of a run, as far as it is a load.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Asked {
    model: String,
    kind: &'static str,
    requests: u64,
    concurrency: Option<u32>,
    rate: Option<f64>,
}

impl Asked {
    pub(super) fn of(source: &Source<'_>, records: usize) -> Self {
        let kind = match &source.scenario.load.shape {
            Shape::Closed { .. } => "concurrency",
            Shape::Open { arrival, .. } => match arrival {
                Arrival::Constant => "constant",
                Arrival::Poisson => "poisson",
                Arrival::Gamma(_) => "gamma",
            },
            Shape::Replay { .. } => "fixed_schedule",
        };
        Asked {
            model: source.model(),
            kind,
            requests: source.ending.planned.max(records as u64),
            concurrency: source.max_concurrency(),
            rate: Some(source.rate()).filter(|rate| rate.is_finite()),
        }
    }

    pub(super) fn command(&self) -> String {
        let mut command = "aiperf profile".to_owned();
        let mut option = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                command += &format!(" --{name} {value}");
            }
        };
        let quoted = format!("'{}'", self.model.replace('\'', ""));
        option("model", Some(quoted).filter(|_| !self.model.is_empty()));
        option("request-rate", self.rate.map(|rate| rate.to_string()));
        let mode = self.rate.map(|_| self.kind.to_owned());
        option("request-rate-mode", mode);
        option("concurrency", self.concurrency.map(|n| n.to_string()));
        option("request-count", Some(self.requests.to_string()));
        command
    }

    pub(super) fn config(&self) -> Object {
        let mut model = Object::default();
        model.put("name", self.model.as_str());
        let mut models = Object::default();
        models.nest_all("items", [model]);
        let mut phase = Object::from_pairs([
            ("name", "profiling".into()),
            ("kind", "profiling".into()),
            ("type", self.kind.into()),
            ("requests", self.requests.into()),
        ]);
        if let Some(concurrency) = self.concurrency {
            phase.put("concurrency", concurrency);
        }
        if let Some(rate) = self.rate {
            phase.put("rate", rate);
        }
        let mut config = Object::default();
        if !self.model.is_empty() {
            config.nest("models", models);
        }
        config.nest_all("phases", [phase]);
        config
    }
}
