//! Times in which the server could not be reached: refusals without an answer in between.

use super::row::Row;
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

/// Stretches of which it is remembered where their moment is kept: requests that end one after the
/// other began to be answered in these.
const REMEMBERED: usize = 64;

/// When anything was heard of the server, and when nobody was there.
#[derive(Clone, Debug)]
pub(super) struct Contacts {
    heard: Vec<Offset>,
    refused: Vec<Offset>,
    /// How often the stretch was doubled of which one moment is kept, the first; absent while all
    /// are kept.
    doublings: Option<u32>,
    /// Stretches with the place of their moment.
    remembered: [Option<(u64, usize)>; REMEMBERED],
}

impl Default for Contacts {
    fn default() -> Self {
        Contacts {
            heard: Vec::new(),
            refused: Vec::new(),
            doublings: None,
            remembered: [None; REMEMBERED],
        }
    }
}

fn stretch(at: Offset, doublings: u32) -> u64 {
    (at.0 / FINEST) >> doublings
}

impl Contacts {
    pub(super) fn add(&mut self, record: &Record) {
        if record.found_nobody() {
            self.refused.extend(record.end);
        } else if let Some(at) = record.first_byte {
            self.hear(at);
        }
    }

    fn hear(&mut self, at: Offset) {
        if let Some(doublings) = self.doublings {
            let stretch = stretch(at, doublings);
            let remembered = &mut self.remembered[stretch as usize % REMEMBERED];
            match *remembered {
                Some((known, place)) if known == stretch => {
                    self.heard[place] = at.min(self.heard[place]);
                    return;
                }
                _ => *remembered = Some((stretch, self.heard.len())),
            }
        }
        self.heard.push(at);
        if self.heard.len() > MOST_HEARD {
            self.thin();
        }
    }

    /// An outage is much longer than the time in which one moment stands for all.
    fn thin(&mut self) {
        self.remembered = [None; REMEMBERED];
        self.heard.sort_unstable();
        if let Some(doublings) = self.doublings {
            self.heard.dedup_by_key(|at| stretch(*at, doublings));
        }
        while self.heard.len() > MOST_HEARD / 2 {
            let doublings = self.doublings.map_or(0, |before| before + 1);
            self.heard.dedup_by_key(|at| stretch(*at, doublings));
            self.doublings = Some(doublings);
        }
    }

    /// Takes what another part of the same run heard.
    pub(super) fn merge(&mut self, other: Self) {
        self.heard.extend(other.heard);
        self.refused.extend(other.refused);
        self.doublings = self.doublings.max(other.doublings);
        self.remembered = [None; REMEMBERED];
        if self.heard.len() > MOST_HEARD {
            self.thin();
        }
    }

    /// The outages of a run, in which none of its answers was under way. One that ended it lasted
    /// as long as the run was to wait, although the last that was refused came before.
    pub(super) fn outages(self, context: &RunContext<'_>, rows: &[Row]) -> Vec<Outage> {
        let answers = rows.iter().filter_map(|row| {
            let answer = row.answer.as_ref()?;
            Some([row.sent.offset()?, answer.completed])
        });
        let mut outages = self.between(context.ending.measured_from, Vec::from_iter(answers));
        if context.ending.cause == EndCause::ServerAway
            && let Some(last) = outages.last_mut().filter(|last| !last.ended)
        {
            let waited = context.scenario.connection.give_up_after;
            last.length_s = last.length_s.max(waited.0.as_secs_f64());
        }
        outages
    }

    fn between(mut self, measured_from: Offset, mut answers: Vec<[Offset; 2]>) -> Vec<Outage> {
        // Whoever refuses some while it answers others is not away. With each answer, the last
        // end of those that were sent before it or with it.
        answers.sort_unstable();
        let mut latest = Offset::default();
        for [_, end] in &mut answers {
            latest = latest.max(*end);
            *end = latest;
        }
        let last_end = |before: Offset| {
            let sent = answers.partition_point(|[sent, _]| *sent < before);
            sent.checked_sub(1)
                .map_or(Offset::default(), |it| answers[it][1])
        };
        // Once more, so that it does not matter when that was last done.
        if self.doublings.is_some() {
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
            let (last, from) = (rest[until - 1], first.max(last_end(first)));
            let to = back.unwrap_or(last);
            let outage = Outage {
                start_s: from.since(measured_from).as_secs_f64(),
                length_s: to.max(from).since(from).as_secs_f64(),
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
        outages_beside(heard, refused, &[])
    }

    fn outages_beside(heard: &[u64], refused: &[u64], answers: &[[u64; 2]]) -> Vec<Outage> {
        let at = |ms: &u64| Offset(ms * 1_000_000);
        let contacts = Contacts {
            heard: heard.iter().map(at).collect(),
            refused: refused.iter().map(at).collect(),
            ..Contacts::default()
        };
        let answers = answers.iter().map(|it| it.each_ref().map(at));
        contacts.between(Offset(0), answers.collect())
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
    fn a_server_that_refuses_some_while_it_answers_others_is_not_away() {
        let refused = [1_000, 1_200, 1_400, 1_600];
        let beside = |answers: &[[u64; 2]]| outages_beside(&[100, 2_000], &refused, answers);
        assert_eq!(beside(&[[50, 2_500], [60, 70]]), []);
        let found = beside(&[[50, 1_500], [60, 70]]);
        assert_eq!((found[0].start_s, found[0].length_s), (1.5, 0.5));
    }

    #[test]
    fn single_refusals_are_no_outage() {
        assert_eq!(outages(&[1, 3, 5, 7], &[2, 4, 6]), []);
        assert_eq!(outages(&[1, 400], &[2, 300]), []);
        assert_eq!(outages(&[1, 9], &[2, 3, 4, 5]), []);
    }
}
