//! Sessions of a run as a search counts them: whole, once their last request has ended.

use inferometer_core::record::Record;
use inferometer_core::units::Offset;
use std::collections::HashMap;
use std::time::Duration;

/// A session whose requests have all ended, or of which no more will come.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WholeSession {
    /// Its place in the order in which sessions began.
    pub number: u64,
    /// When its first request was due, and when it was sent.
    pub began: Option<Offset>,
    pub sent: Option<Offset>,
    pub ended: Offset,
    /// How long it waited for first tokens; absent where one never came.
    pub waited: Option<Duration>,
    turns: u32,
    seen: u32,
    failed: u32,
}

impl WholeSession {
    /// How long it took; absent where it failed or is not over.
    pub fn lasted(&self) -> Option<Duration> {
        let is_over = self.seen >= self.turns && self.failed == 0;
        let began = self.began.filter(|_| is_over)?;
        Some(self.ended.since(began))
    }
}

/// Takes the requests of a run in any order.
#[derive(Clone, Debug, Default)]
pub struct Sessions {
    under_way: HashMap<u64, WholeSession>,
    /// Sessions that have begun.
    pub begun: u64,
    ended: u64,
    turns_of_ended: u64,
}

impl Sessions {
    /// The session that is over with this request.
    pub fn add(&mut self, record: &Record) -> Option<WholeSession> {
        let number = record.session?;
        self.begun = self.begun.max(number + 1);
        let session = self.under_way.entry(number).or_insert(WholeSession {
            number,
            turns: record.turns.unwrap_or(1).max(1),
            waited: Some(Duration::ZERO),
            ..WholeSession::default()
        });
        session.seen += 1;
        session.failed += u32::from(!record.is_done());
        let over = record.completed().or(record.end).or(record.start());
        session.ended = session.ended.max(over.unwrap_or_default());
        let waited = record.ttft().filter(|_| record.is_done());
        session.waited = session
            .waited
            .zip(waited)
            .map(|(before, more)| before + more);
        if record.turn == Some(0) {
            (session.began, session.sent) = (record.start(), record.sent);
        }
        if session.seen < session.turns {
            return None;
        }
        self.ended += 1;
        self.turns_of_ended += u64::from(session.turns);
        self.under_way.remove(&number)
    }

    /// Turns of a session, where some are over.
    pub fn mean_turns(&self) -> Option<f64> {
        (self.ended > 0).then(|| self.turns_of_ended as f64 / self.ended as f64)
    }

    /// Those that the end of the run has cut.
    pub fn into_cut(self) -> impl Iterator<Item = WholeSession> {
        self.under_way.into_values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_core::record::{Failure, FailureClass, Outcome, Phase};

    fn turn(session: u64, turn: u32, from_s: u64, outcome: Outcome) -> Record {
        let at = |s: u64| Some(Offset(s * 1_000_000_000));
        Record {
            session: Some(session),
            turn: Some(turn),
            turns: Some(2),
            sent: at(from_s),
            first_byte: at(from_s + 1),
            end: at(from_s + 2),
            outcome,
            ..Record::default()
        }
    }

    #[test]
    fn a_session_is_over_with_its_last_request_and_lasts_from_its_first() {
        let mut sessions = Sessions::default();
        assert_eq!(sessions.add(&turn(0, 0, 0, Outcome::Done)), None);
        assert_eq!(sessions.add(&turn(1, 0, 1, Outcome::Done)), None);
        let first = sessions.add(&turn(0, 1, 7, Outcome::Done)).unwrap();
        assert_eq!(first.lasted(), Some(Duration::from_secs(9)));
        assert_eq!((sessions.begun, sessions.mean_turns()), (2, Some(2.0)));
        assert_eq!(sessions.into_cut().map(|cut| cut.number).sum::<u64>(), 1);
    }

    #[test]
    fn a_session_with_a_failure_has_no_time() {
        let failure = Outcome::Failed(Failure {
            phase: Phase::Status,
            class: FailureClass::ServerError,
            detail: String::new(),
        });
        let mut sessions = Sessions::default();
        assert_eq!(sessions.add(&turn(0, 0, 0, failure)), None);
        let session = sessions.add(&turn(0, 1, 3, Outcome::Done)).unwrap();
        assert_eq!((session.failed, session.lasted()), (1, None));
    }
}
