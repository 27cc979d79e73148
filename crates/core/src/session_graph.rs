//! Which turns of a session wait for which: when each is due, as the others end.

use crate::units::Offset;
use crate::work::{Follows, Wait};

/// Turns that wait for others, and since when.
#[derive(Clone, Debug)]
pub struct SessionGraph {
    turns: Vec<Turn>,
}

#[derive(Clone, Debug)]
struct Turn {
    follows: Follows,
    /// Turns that it still waits for.
    missing: usize,
    /// When the last of those before it was due, and when it ended.
    sent: Offset,
    ended: Offset,
}

impl SessionGraph {
    /// A session of so many turns; `follows` says of each, counted from 0, what it waits for.
    pub fn new(turns: u32, follows: impl Fn(u32) -> Follows) -> Self {
        let turn = |turn: u32| {
            let follows = follows(turn);
            Turn {
                missing: follows.after.len(),
                follows,
                sent: Offset::default(),
                ended: Offset::default(),
            }
        };
        SessionGraph {
            turns: (0..turns).map(turn).collect(),
        }
    }

    /// Turns that wait for none but begin later than the first.
    pub fn at_the_beginning(&self, began: Offset) -> Vec<(u32, Offset)> {
        let turns = (0..).zip(&self.turns).skip(1);
        turns
            .filter(|(_, turn)| turn.missing == 0)
            .map(|(place, turn)| (place, due(turn.follows.wait, began, began)))
            .collect()
    }

    /// Turns that nothing holds any more, with their due times.
    pub fn ended(&mut self, ended: u32, sent: Offset, at: Offset) -> Vec<(u32, Offset)> {
        let mut ready = Vec::new();
        for (place, turn) in (0..).zip(&mut self.turns) {
            if !turn.follows.after.contains(&ended) {
                continue;
            }
            turn.missing -= 1;
            turn.sent = turn.sent.max(sent);
            turn.ended = turn.ended.max(at);
            if turn.missing == 0 {
                ready.push((place, due(turn.follows.wait, turn.sent, turn.ended)));
            }
        }
        ready
    }
}

/// When a turn is due, of whose predecessors the last was sent and has ended at these times.
fn due(wait: Wait, sent: Offset, ended: Offset) -> Offset {
    match wait {
        Wait::SinceEnd(wait) => ended + wait,
        Wait::SinceStart(wait) => ended.max(sent + wait),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn at(seconds: u64) -> Offset {
        Offset::after(Duration::from_secs(seconds))
    }

    #[test]
    fn a_turn_is_due_when_all_it_waits_for_have_ended() {
        let second = Duration::from_secs(1);
        let mut graph = SessionGraph::new(5, |turn| {
            let after: &[u32] = match turn {
                0 | 4 => &[],
                1 | 2 => &[0],
                _ => &[1, 2],
            };
            let wait = match turn {
                2 => Wait::SinceStart(9 * second),
                _ => Wait::SinceEnd(second),
            };
            let after = after.into();
            Follows { after, wait }
        });
        assert_eq!(graph.at_the_beginning(at(10)), [(4, at(11))]);
        // The second waits since the end, the third since the start of the first.
        assert_eq!(graph.ended(0, at(10), at(12)), [(1, at(13)), (2, at(19))]);
        assert_eq!(graph.ended(2, at(19), at(30)), []);
        assert_eq!(graph.ended(1, at(13), at(20)), [(3, at(31))]);
        assert_eq!(graph.ended(3, at(31), at(33)), []);
    }
}
