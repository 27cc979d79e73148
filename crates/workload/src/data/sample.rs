//! Rows that are kept: the first ones, or a fair sample of all that pass by.

use super::row::Picked;
use inferometer_core::seed::{Dimension, rng};
use rand::Rng;

pub struct KeptRows {
    rows: Vec<Picked>,
    bytes: usize,
    wanted: Option<u64>,
    offered: u64,
    draw: Option<Draw>,
}

/// Decides what stays in the sample and in which order.
struct Draw {
    seed: u64,
    rng: Box<dyn Rng + Send>,
}

impl KeptRows {
    /// Keeps the first rows, or with a seed a sample of all. Without a number, all are kept.
    pub fn new(wanted: Option<u64>, seed: Option<u64>) -> Self {
        KeptRows {
            rows: Vec::new(),
            bytes: 0,
            wanted: wanted.map(|wanted| wanted.max(1)),
            offered: 0,
            draw: seed.map(|seed| Draw {
                seed,
                rng: Box::new(rng(seed, Dimension::Shuffle, 0)),
            }),
        }
    }

    /// Keeps a row or lets it go. Each row that was ever offered is as likely to stay as any
    /// other: the n-th takes the place of one of the k that are kept with chance k/n.
    pub fn offer(&mut self, row: Picked) {
        self.offered += 1;
        let room = self
            .wanted
            .is_none_or(|wanted| (self.rows.len() as u64) < wanted);
        if room {
            self.bytes += row.row.held_bytes();
            self.rows.push(row);
        } else if let Some(draw) = &mut self.draw
            && let Some(place) = self
                .rows
                .get_mut(below(&mut *draw.rng, self.offered) as usize)
        {
            self.bytes += row.row.held_bytes();
            self.bytes -= place.row.held_bytes();
            *place = row;
        }
    }

    /// Further rows cannot change anything.
    pub fn is_enough(&self) -> bool {
        let full = self
            .wanted
            .is_some_and(|wanted| self.rows.len() as u64 >= wanted);
        self.draw.is_none() && full
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The rows in the order in which they are sent.
    pub fn take_rows(&mut self) -> Vec<Picked> {
        let mut rows = std::mem::take(&mut self.rows);
        if let Some(draw) = &self.draw {
            let mut order = rng(draw.seed, Dimension::Shuffle, 1);
            for last in (1..rows.len()).rev() {
                let other = below(&mut order, last as u64 + 1) as usize;
                rows.swap(last, other);
            }
        }
        rows
    }
}

/// A number below `limit`, the same in every version of this program.
fn below(rng: &mut (impl Rng + ?Sized), limit: u64) -> u64 {
    ((u128::from(rng.next_u64()) * u128::from(limit)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::row::Row;

    fn kept(rows: u64, wanted: Option<u64>, seed: Option<u64>) -> Vec<u64> {
        let mut kept = KeptRows::new(wanted, seed);
        for line in 0..rows {
            kept.offer(Picked {
                row: Row::of_text("row"),
                line,
                prompt_tokens: None,
                reference_tokens: None,
                turns: Box::default(),
            });
        }
        kept.take_rows().iter().map(|row| row.line).collect()
    }

    #[test]
    fn without_a_seed_the_first_rows_stay_in_order() {
        assert_eq!(kept(9, Some(3), None), [0, 1, 2]);
        assert_eq!(kept(2, Some(3), None), [0, 1]);
    }

    #[test]
    fn a_seed_decides_rows_and_order() {
        let first = kept(1000, Some(10), Some(1));
        assert_eq!(first, kept(1000, Some(10), Some(1)));
        assert_ne!(first, kept(1000, Some(10), Some(2)));
        let mut all = kept(50, None, Some(1));
        assert_ne!(all, (0..50).collect::<Vec<_>>());
        all.sort_unstable();
        assert_eq!(all, (0..50).collect::<Vec<_>>());
    }

    #[test]
    fn every_row_is_as_likely_and_in_every_place() {
        let (rows, wanted, runs) = (12, 4, 6_000);
        let mut counts = vec![[0u32; 12]; 4];
        for seed in 0..runs {
            let sample = kept(rows, Some(wanted), Some(seed));
            for (place, row) in sample.iter().enumerate() {
                counts[place][*row as usize] += 1;
            }
        }
        // 500 expected of each; five standard deviations are about 107.
        for count in counts.iter().flatten() {
            assert!((390..610).contains(count), "{counts:?}");
        }
    }
}
