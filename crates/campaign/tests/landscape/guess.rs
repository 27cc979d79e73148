//! What a calibrated profile would expect of a landscape: the same engine with step times of its
//! own, which knows the load's mean lengths and nothing of beginnings that prompts share.

use crate::landscape::ground::Ground;
use crate::landscape::problem::Problem;
use crate::landscape::{Cell, Landscape, digits};
use inferometer_campaign::search::{Expected, Prior};
use inferometer_campaign::space::{Point, Value};
use inferometer_catalog::timing::Timing;

/// How far settings that miss the limits are expected to stand behind those that meet them.
const BEHIND: f64 = 1e-9;

/// The landscape that a profile with these step times expects.
pub fn guessed(ground: &Ground, timing: Timing) -> Landscape {
    let guess = Ground {
        timing: Some(timing),
        shared: 0,
        requests: 2 * ground.streams as u64,
        ..ground.clone()
    };
    guess.landscape(guess.flags())
}

/// Its expectations as a searcher takes them: what meets the limits goes first.
pub fn prior(guessed: &Landscape, limits: Option<[f64; 2]>) -> Prior {
    let problem = Problem::new(guessed, limits);
    let expected = guessed.cells.iter().enumerate().filter_map(|(at, &cell)| {
        let Cell::Served { tokens_per_s, .. } = cell else {
            return None;
        };
        let missed = problem.violation(cell);
        Some(Expected {
            point: point(guessed, at),
            score: match missed > 0.0 {
                true => tokens_per_s * BEHIND,
                false => tokens_per_s,
            },
        })
    });
    Prior::new(expected.collect())
}

fn point(landscape: &Landscape, at: usize) -> Point {
    let digits = digits(&landscape.flags, at);
    let values = landscape.flags.iter().zip(digits).map(|(flag, digit)| {
        let text = flag.values[digit].as_str();
        let value = match (text, text.parse::<i64>(), text.parse::<f64>()) {
            ("true", ..) => Value::Bool(true),
            ("false", ..) => Value::Bool(false),
            (_, Ok(whole), _) => Value::Int(whole),
            (_, _, Ok(number)) => Value::Float(number),
            _ => Value::Text(text.to_owned()),
        };
        (flag.name.clone(), value)
    });
    Point(values.collect())
}
