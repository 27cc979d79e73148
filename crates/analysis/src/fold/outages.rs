//! Times in which the server could not be reached: refusals without an answer in between.

use crate::context::RunContext;
use inferometer_core::environment::EndCause;
use inferometer_core::record::Record;
use inferometer_core::summary::Outage;
use inferometer_core::units::Offset;

/// Refusals in a row, and how long they last, from which they are an outage: a single one may be
/// a full queue of connections.
const LEAST_REFUSALS: u64 = 3;
const LEAST_S: f64 = 0.1;

/// Moments that are kept as they are; of more, one in each millisecond, or in each stretch of a
/// longer time.
const MOST_HEARD: usize = 1 << 18;
const FINEST: u64 = 1_000_000;

/// When anything was heard of the server, and when nobody was there.
#[derive(Clone, Debug, Default)]
pub(super) struct Contacts {
    heard: Vec<Offset>,
    refused: Vec<Offset>,
    /// Nanoseconds of a stretch of which one moment is kept.
    apart: u64,
}

impl Contacts {
    pub(super) fn add(&mut self, record: &Record) {
        self.heard.extend(record.first_byte);
        self.refused
            .extend(record.end.filter(|_| record.found_nobody()));
        if self.heard.len() > MOST_HEARD {
            self.thin();
        }
    }

    /// An outage is much longer than the time in which one moment stands for all.
    fn thin(&mut self) {
        self.heard.sort_unstable();
        if self.apart > 0 {
            self.heard.dedup_by_key(|at| at.0 / self.apart);
        }
        while self.heard.len() > MOST_HEARD / 2 {
            self.apart = (self.apart * 2).max(FINEST);
            self.heard.dedup_by_key(|at| at.0 / self.apart);
        }
    }

    /// Takes what another part of the same run heard.
    pub(super) fn merge(&mut self, other: Self) {
        self.heard.extend(other.heard);
        self.refused.extend(other.refused);
        self.apart = self.apart.max(other.apart);
        if self.heard.len() > MOST_HEARD {
            self.thin();
        }
    }

    /// The outages of a run. One that ended it lasted as long as the run was to wait, although the
    /// last that was refused came before.
    pub(super) fn outages(self, context: &RunContext<'_>) -> Vec<Outage> {
        let mut outages = self.between(context.ending.measured_from);
        if context.ending.cause == EndCause::ServerAway
            && let Some(last) = outages.last_mut().filter(|last| !last.ended)
        {
            let waited = context.scenario.connection.give_up_after;
            last.length_s = last.length_s.max(waited.0.as_secs_f64());
        }
        outages
    }

    fn between(mut self, measured_from: Offset) -> Vec<Outage> {
        // Once more, so that it does not matter when that was last done.
        if self.apart > 0 {
            self.thin();
        }
        self.heard.sort_unstable();
        self.refused.sort_unstable();
        let mut outages: Vec<Outage> = Vec::new();
        let mut rest = &self.refused[..];
        while let Some(&first) = rest.first() {
            let later = self.heard.partition_point(|&at| at <= first);
            let back = self.heard.get(later).copied();
            let until = back.map_or(rest.len(), |back| rest.partition_point(|&at| at < back));
            let last = rest[until - 1];
            let outage = Outage {
                start_s: first.since(measured_from).as_secs_f64(),
                length_s: back.unwrap_or(last).since(first).as_secs_f64(),
                requests: until as u64,
                ended: back.is_some(),
            };
            if outage.requests >= LEAST_REFUSALS && outage.length_s >= LEAST_S {
                outages.push(outage);
            }
            rest = &rest[until..];
        }
        outages
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outages(heard: &[u64], refused: &[u64]) -> Vec<Outage> {
        let at = |ms: &u64| Offset(ms * 1_000_000);
        let contacts = Contacts {
            heard: heard.iter().map(at).collect(),
            refused: refused.iter().map(at).collect(),
            apart: 0,
        };
        contacts.between(Offset(0))
    }

    #[test]
    fn refusals_in_a_row_are_one_outage_until_the_server_answers() {
        let found = outages(
            &[100, 3_000, 4_200, 4_300],
            &[3_200, 3_210, 3_230, 3_270, 4_100],
        );
        let expected = Outage {
            start_s: 3.2,
            length_s: 1.0,
            requests: 5,
            ended: true,
        };
        assert_eq!(found, [expected]);
        let never_back = outages(&[100], &[500, 600, 700]);
        assert!(!never_back[0].ended && never_back[0].length_s == 0.2);
    }

    #[test]
    fn single_refusals_are_no_outage() {
        assert_eq!(outages(&[1, 3, 5, 7], &[2, 4, 6]), []);
        assert_eq!(outages(&[1, 400], &[2, 300]), []);
        assert_eq!(outages(&[1, 9], &[2, 3, 4, 5]), []);
    }
}
