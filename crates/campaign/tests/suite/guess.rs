//! What a calibrated profile would expect of a landscape: the same engine with step times of its
//! own, which knows the load's mean lengths and nothing of beginnings that prompts share.

use crate::landscape::test_bed::TestBed;
use crate::landscape::{Cell, Flag, Landscape, digits};
use inferometer_campaign::search::{Expected, Prior};
use inferometer_campaign::space::{Point, Value};
use inferometer_catalog::timing::Timing;

/// The landscape that a profile with these step times expects.
pub fn guessed(test_bed: &TestBed, flags: Vec<Flag>, timing: Timing) -> Landscape {
    let guess = TestBed {
        timing: Some(timing),
        shared: 0,
        requests: 2 * test_bed.streams as u64,
        ..test_bed.clone()
    };
    guess.landscape(flags)
}

/// Its expectations as a searcher takes them.
pub fn prior(guessed: &Landscape, limits: Option<[f64; 2]>) -> Prior {
    let expected = guessed.cells.iter().enumerate().filter_map(|(at, &cell)| {
        let Cell::Served {
            tokens_per_s,
            ttft_ms,
            tpot_ms,
        } = cell
        else {
            return None;
        };
        let strains = limits.map(|[ttft, tpot]| vec![ttft_ms / ttft, tpot_ms / tpot]);
        Some(Expected {
            point: point(guessed, at),
            objective: tokens_per_s,
            strains: strains.unwrap_or_default(),
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
