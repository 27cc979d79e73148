//! What the engine did with the requests of one class: those of a turn, or of a model.

use super::totals::Sum;
use inferometer_core::record::Record;

/// Of complete answers.
#[derive(Clone, Debug, Default)]
pub(super) struct Treatment {
    input: Sum,
    cached: Sum,
    preempted: Option<u64>,
}

impl Treatment {
    pub(super) fn add(&mut self, record: &Record) {
        self.input.add(record.input_tokens());
        self.cached.add(record.usage.and_then(|usage| usage.cached));
        if let Some(times) = record.preemptions {
            *self.preempted.get_or_insert(0) += u64::from(times > 0);
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.input.merge(other.input);
        self.cached.merge(other.cached);
        if let Some(preempted) = other.preempted {
            *self.preempted.get_or_insert(0) += preempted;
        }
    }

    pub(super) fn input_mean(&self) -> Option<f64> {
        self.input.mean()
    }

    /// Servers leave the count out where it is 0, so that one of any class tells of all.
    pub(super) fn cached_mean(&self, tells_cached: bool) -> Option<f64> {
        let answers = self.input.known as f64;
        (tells_cached && answers > 0.0).then(|| self.cached.sum as f64 / answers)
    }

    /// Answers whose request was preempted, where the engine says so of each.
    pub(super) fn preempted(&self) -> Option<u64> {
        self.preempted
    }
}

pub(super) fn tells_cached(record: &Record) -> bool {
    record.usage.is_some_and(|usage| usage.cached.is_some())
}
