//! Where the streams of a closed loop stand to each other.
//!
//! A stream sends its next request when the last one is answered. Where all answers last about as
//! long, it keeps its place in the round of the others for longer than a run lasts: one that always
//! sends together with others always waits, and no part of the run differs from the next. What
//! neighbours in the round have in common shows it instead.

use inferometer_core::units::Offset;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Parts of the round, of streams that stand beside each other.
const PARTS: usize = 7;

/// A request of a stream while under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    pub(super) from: Offset,
    /// When its stream was free again.
    pub(super) to: Offset,
    /// Its number among the measured ones.
    pub(super) measured: Option<usize>,
}

/// The part of the round in which each of `measured` requests was sent; absent where streams are
/// too few to have neighbours.
pub(super) fn places(mut turns: Vec<Turn>, streams: usize, measured: usize) -> Option<Vec<u8>> {
    if streams < PARTS || measured == 0 {
        return None;
    }
    turns.sort_by_key(|turn| (turn.from, turn.to));
    let senders = senders(&turns, streams);
    // Streams in the order in which they sent in the middle of the run.
    let middle = turns
        .iter()
        .position(|turn| turn.measured == Some(measured / 2))?;
    let from = middle.saturating_sub(streams / 2);
    let mut order = vec![None; streams];
    let mut next = 0;
    for &sender in senders[from..].iter().chain(&senders[..from]) {
        if order[sender].is_none() {
            order[sender] = Some(next);
            next += 1;
        }
    }
    let mut places = vec![0; measured];
    for (turn, &sender) in turns.iter().zip(&senders) {
        if let Some(place) = turn.measured.and_then(|number| places.get_mut(number)) {
            let order = order[sender].unwrap_or_default();
            *place = (order * PARTS / streams) as u8;
        }
    }
    Some(places)
}

/// Which stream sent each request, in the order of their sending: that which was free for longest.
/// Streams that were free at the same time stand in the same place.
fn senders(turns: &[Turn], streams: usize) -> Vec<usize> {
    let mut free: BinaryHeap<Reverse<(Offset, usize)>> = BinaryHeap::new();
    let mut begun = 0;
    let mut sender = |turn: &Turn| {
        let is_free = free
            .peek()
            .is_some_and(|Reverse((since, _))| *since <= turn.from);
        let stream = if !is_free && begun < streams {
            begun += 1;
            begun - 1
        } else {
            free.pop().map_or(0, |Reverse((_, stream))| stream)
        };
        free.push(Reverse((turn.to, stream)));
        stream
    };
    turns.iter().map(&mut sender).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_that_send_beside_each_other_are_of_one_part() {
        // Fourteen streams with answers of one length, each at its own moment of the round.
        let turn = |round: u64, stream: u64| Turn {
            from: Offset(round * 1400 + stream * 100),
            to: Offset((round + 1) * 1400 + stream * 100),
            measured: (round > 0).then(|| ((round - 1) * 14 + stream) as usize),
        };
        let turns = (0..11).flat_map(|round| (0..14).map(move |stream| turn(round, stream)));
        let places = places(turns.collect(), 14, 140).unwrap();
        for stream in 0..14 {
            let own = || places.iter().skip(stream).step_by(14);
            assert!(own().all(|place| *place == places[stream]), "{places:?}");
        }
        for part in 0..7 {
            assert_eq!(places.iter().filter(|place| **place == part).count(), 20);
        }
        assert_eq!(super::places(Vec::new(), 14, 0), None);
    }
}
