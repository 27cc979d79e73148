//! The ending of a run that has not written one: it goes on, or was killed. It is made from the
//! records that there are.

use crate::journal::ClientPulse;
use inferometer_core::environment::{EndCause, Ending};
use inferometer_core::record::Record;
use inferometer_core::units::Offset;

/// What the records so far say of it.
#[derive(Clone, Debug, Default)]
pub struct Unended {
    measured: u64,
    measured_from: Option<Offset>,
    sending_ended: Option<Offset>,
}

impl Unended {
    pub fn add(&mut self, record: &Record) {
        if !record.is_measured() {
            return;
        }
        self.measured += 1;
        if let Some(start) = record.start() {
            self.measured_from = Some(self.measured_from.map_or(start, |first| start.min(first)));
        }
        self.sending_ended = record.sent.or(record.end).max(self.sending_ended);
    }

    /// When the window opened, as far as is known.
    pub fn opening(&self) -> Offset {
        self.measured_from.unwrap_or_default()
    }

    /// The ending, beside what its plan and the client's own word say.
    pub fn ending(
        &self,
        cause: EndCause,
        planned: Option<u64>,
        client: Option<ClientPulse>,
    ) -> Ending {
        let planned = planned.unwrap_or(self.measured).max(self.measured);
        Ending {
            cause,
            planned,
            unsent: planned - self.measured,
            measured_from: self.opening(),
            sending_ended: self.sending_ended.unwrap_or_default(),
            pulse_p99_ms: client.map(|it| it.p99_ms),
            longest_pause_ms: client.map(|it| it.longest_ms),
            ..Ending::default()
        }
    }
}
