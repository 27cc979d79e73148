//! What every setting of a grid of launch flags would bring, from the simulated engine in
//! virtual time: what a searcher is tried on without starting anything.

pub mod problem;
pub mod test_bed;

use inferometer_campaign::space::Point;
use serde::{Deserialize, Serialize};

/// A flag and the values of its grid.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Flag {
    pub name: String,
    pub values: Vec<String>,
    /// Numbers have an order; words and switches do not.
    pub ordered: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cell {
    /// The engine refuses the flags: a rule foresees it.
    Refused,
    /// It starts and dies: only a trial shows it.
    Crashed,
    /// Output tokens a second, and the 99th percentiles in milliseconds.
    Served {
        tokens_per_s: f64,
        ttft_ms: f64,
        tpot_ms: f64,
    },
}

/// A grid of flags with the cell of every setting; the last flag changes fastest.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Landscape {
    pub name: String,
    pub command: String,
    pub device: String,
    pub cards: u32,
    /// Limits of TTFT and TPOT (99th percentiles) that few settings keep, in milliseconds.
    pub limits: [f64; 2],
    pub flags: Vec<Flag>,
    pub cells: Vec<Cell>,
}

/// The value of each flag at a place of the grid.
pub fn digits(flags: &[Flag], mut at: usize) -> Vec<usize> {
    let mut digits = vec![0; flags.len()];
    for (digit, flag) in digits.iter_mut().zip(flags).rev() {
        *digit = at % flag.values.len();
        at /= flag.values.len();
    }
    digits
}

/// The place of a point's value in a flag's list. The default need not be on the grid: the
/// nearest value stands for it.
pub fn place(flag: &Flag, point: &Point) -> usize {
    let value = point.get(&flag.name).expect("a whole point").to_string();
    let same = flag.values.iter().position(|one| *one == value);
    same.unwrap_or_else(|| {
        let number: f64 = value.parse().expect("a number");
        let far = |at: &usize| (flag.values[*at].parse::<f64>().expect("a number") - number).abs();
        (0..flag.values.len())
            .min_by(|a, b| far(a).total_cmp(&far(b)))
            .expect("values")
    })
}

/// Trials until 95 % of the optimum; absent if never.
pub fn trials_to_95(course: &[f64], optimum: f64) -> Option<usize> {
    course
        .iter()
        .position(|&best| best >= 0.95 * optimum)
        .map(|at| at + 1)
}

/// The middle of numbers of which some are unknown, and then larger than all others.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let half = values.len() / 2;
    match values.len() % 2 {
        0 => (values[half - 1] + values[half]) / 2.0,
        _ => values[half],
    }
}
