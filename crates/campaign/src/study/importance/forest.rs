//! A small forest of regression trees over the trials.

use crate::space::Space;
use inferometer_core::seed::{Dimension, rng};
use rand::{Rng, RngExt};

const TREES: u64 = 256;
const LEAST_LEAF: usize = 2;
const DEEPEST: usize = 8;
/// Spreads that differ by less than this share of the whole are equal but for rounding.
const SAME: f64 = 1e-9;

/// A trial: where its flags lie, and what it was worth.
pub(super) struct Row {
    pub at: Vec<f64>,
    pub value: f64,
}

/// Trees, each grown from a draw of the trials.
pub(super) struct Forest(Vec<Drawn>);

struct Drawn {
    tree: Tree,
    seen: Vec<bool>,
}

impl Forest {
    pub fn grow(space: &Space, rows: &[Row], seed: u64) -> Forest {
        let grown = (0..TREES).map(|tree| {
            let mut random = rng(seed, Dimension::Bootstrap, tree);
            let mut seen = vec![false; rows.len()];
            let drawn: Vec<&Row> = (0..rows.len())
                .map(|_| {
                    let place = random.random_range(0..rows.len());
                    seen[place] = true;
                    &rows[place]
                })
                .collect();
            Drawn {
                tree: Tree::grow(space, &drawn, DEEPEST, &mut random),
                seen,
            }
        });
        Forest(grown.collect())
    }

    pub fn predict(&self, at: &[f64]) -> f64 {
        let predicted: f64 = self.0.iter().map(|drawn| drawn.tree.predict(at)).sum();
        predicted / self.0.len() as f64
    }

    /// The share of the trials' variance that trees predict of trials that they have not seen;
    /// below 0 where the mean of the other trials does better.
    pub fn predicted_share(&self, rows: &[Row]) -> f64 {
        let all: f64 = rows.iter().map(|row| row.value).sum();
        let (mut missed, mut whole) = (0.0, 0.0);
        for (place, row) in rows.iter().enumerate() {
            let unseen = self.0.iter().filter(|drawn| !drawn.seen[place]);
            let predicted: Vec<f64> = unseen.map(|drawn| drawn.tree.predict(&row.at)).collect();
            if predicted.is_empty() {
                continue;
            }
            let predicted = predicted.iter().sum::<f64>() / predicted.len() as f64;
            let others = (all - row.value) / (rows.len() - 1).max(1) as f64;
            missed += (row.value - predicted).powi(2);
            whole += (row.value - others).powi(2);
        }
        if whole > 0.0 {
            1.0 - missed / whole
        } else {
            0.0
        }
    }
}

/// How the best split of all trials by each flag parts them; absent for a flag that has none.
pub(super) fn partings(space: &Space, rows: &[Row]) -> Vec<Option<Vec<bool>>> {
    let all: Vec<&Row> = rows.iter().collect();
    (0..space.dimensions().len())
        .map(|flag| {
            let (_, test) = best_test(space, &all, flag)?;
            Some(rows.iter().map(|row| test.holds(row.at[flag])).collect())
        })
        .collect()
}

fn spread(part: &[&Row]) -> f64 {
    let mean = part.iter().map(|row| row.value).sum::<f64>() / part.len().max(1) as f64;
    part.iter()
        .map(|row| (row.value - mean).powi(2))
        .sum::<f64>()
}

/// The question about a flag that leaves the least spread on both sides, and that spread.
fn best_test(space: &Space, rows: &[&Row], flag: usize) -> Option<(f64, Test)> {
    let is_unordered = space.dimensions()[flag].domain.is_unordered();
    let mut values: Vec<f64> = rows.iter().map(|row| row.at[flag]).collect();
    values.sort_unstable_by(f64::total_cmp);
    values.dedup();
    let tests = values.windows(2).map(|pair| {
        if is_unordered {
            Test::Is(pair[1])
        } else {
            Test::AtMost((pair[0] + pair[1]) / 2.0)
        }
    });
    let left = |test: Test| {
        let (yes, no): (Vec<&Row>, Vec<&Row>) =
            rows.iter().partition(|row| test.holds(row.at[flag]));
        let is_small = yes.len() < LEAST_LEAF || no.len() < LEAST_LEAF;
        (!is_small).then(|| (spread(&yes) + spread(&no), test))
    };
    tests
        .filter_map(left)
        .min_by(|(a, _), (b, _)| a.total_cmp(b))
}

enum Tree {
    Leaf(f64),
    Split {
        flag: usize,
        test: Test,
        yes: Box<Tree>,
        no: Box<Tree>,
    },
}

#[derive(Clone, Copy)]
enum Test {
    AtMost(f64),
    Is(f64),
}

impl Test {
    fn holds(self, value: f64) -> bool {
        match self {
            Test::AtMost(limit) => value <= limit,
            Test::Is(category) => value == category,
        }
    }
}

impl Tree {
    fn grow(space: &Space, rows: &[&Row], depth: usize, random: &mut impl Rng) -> Tree {
        let mean = rows.iter().map(|row| row.value).sum::<f64>() / rows.len().max(1) as f64;
        let whole = spread(rows);
        if depth == 0 || rows.len() < 2 * LEAST_LEAF || whole <= 0.0 {
            return Tree::Leaf(mean);
        }
        let flags = space.dimensions().len();
        let mut best: Option<(f64, usize, Test)> = None;
        let mut tied = 0u32;
        for flag in 0..flags {
            // Each split sees two flags of three, so that the strongest cannot hide the others.
            if random.random_range(0..3) == 0 && flags > 1 {
                continue;
            }
            let Some((left, test)) = best_test(space, rows, flag).filter(|(left, _)| *left < whole)
            else {
                continue;
            };
            let least = best.map_or(f64::INFINITY, |(least, ..)| least);
            let rounding = whole * SAME;
            // Flags that changed together part the trials alike: each gets its turn.
            let is_chosen = if left < least - rounding {
                tied = 1;
                true
            } else if left <= least + rounding {
                tied += 1;
                random.random_range(0..tied) == 0
            } else {
                false
            };
            if is_chosen {
                best = Some((left, flag, test));
            }
        }
        let Some((_, flag, test)) = best else {
            return Tree::Leaf(mean);
        };
        let (yes, no): (Vec<&Row>, Vec<&Row>) =
            rows.iter().partition(|row| test.holds(row.at[flag]));
        Tree::Split {
            flag,
            test,
            yes: Box::new(Tree::grow(space, &yes, depth - 1, random)),
            no: Box::new(Tree::grow(space, &no, depth - 1, random)),
        }
    }

    fn predict(&self, at: &[f64]) -> f64 {
        match self {
            Tree::Leaf(value) => *value,
            Tree::Split {
                flag,
                test,
                yes,
                no,
            } => {
                if test.holds(at[*flag]) {
                    yes.predict(at)
                } else {
                    no.predict(at)
                }
            }
        }
    }
}
