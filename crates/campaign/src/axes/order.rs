//! The order in which points are measured: repeats are spread over the campaign, so that a
//! drift of the server or the machine falls on all points alike.

use inferometer_core::seed::{Dimension, rng};
use rand::RngExt;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Forward, backward, forward …: ABBA. A steady drift cancels over each pair.
    #[default]
    Mirrored,
    /// Each round in an order of its own, drawn from the seed.
    Random { seed: u64 },
    /// Each point as often as it is repeated, then the next.
    Sequential,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visit {
    pub point: usize,
    /// Which repeat it is, from 0.
    pub repeat: usize,
}

pub fn visits(points: usize, repeats: usize, order: Order) -> Vec<Visit> {
    if order == Order::Sequential {
        let all = |point| (0..repeats).map(move |repeat| Visit { point, repeat });
        return (0..points).flat_map(all).collect();
    }
    let mut visits = Vec::with_capacity(points.saturating_mul(repeats).min(1 << 20));
    for repeat in 0..repeats {
        let mut round: Vec<usize> = (0..points).collect();
        match order {
            Order::Mirrored if repeat % 2 == 1 => round.reverse(),
            Order::Random { seed } => {
                let mut random = rng(seed, Dimension::Shuffle, repeat as u64);
                for at in (1..points).rev() {
                    round.swap(at, random.random_range(0..=at as u64) as usize);
                }
            }
            Order::Mirrored | Order::Sequential => {}
        }
        visits.extend(round.into_iter().map(|point| Visit { point, repeat }));
    }
    visits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(order: Order) -> Vec<usize> {
        visits(3, 4, order)
            .iter()
            .map(|visit| visit.point)
            .collect()
    }

    #[test]
    fn mirrored_rounds_go_there_and_back() {
        assert_eq!(
            points(Order::Mirrored),
            [0, 1, 2, 2, 1, 0, 0, 1, 2, 2, 1, 0]
        );
        assert_eq!(
            points(Order::Sequential),
            [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]
        );
    }

    #[test]
    fn random_rounds_are_whole_and_repeat_by_seed() {
        let order = Order::Random { seed: 7 };
        let found = visits(10, 5, order);
        assert_eq!(found, visits(10, 5, order));
        assert_ne!(found, visits(10, 5, Order::Random { seed: 8 }));
        for (repeat, round) in found.chunks(10).enumerate() {
            let mut seen: Vec<usize> = round.iter().map(|visit| visit.point).collect();
            seen.sort_unstable();
            assert_eq!(seen, Vec::from_iter(0..10));
            assert!(round.iter().all(|visit| visit.repeat == repeat));
        }
    }
}
