//! What a calibrated profile would expect of a landscape: the same engine with step times of its
//! own, which knows the load's mean lengths and nothing of beginnings that prompts share.

use crate::landscape::{Cell, Ground, Landscape, Problem, digits};
use inferometer_campaign::search::{Expected, Prior};
use inferometer_campaign::space::{Point, Value};
use inferometer_catalog::device::Device;
use inferometer_catalog::timing::Timing;

/// Signs by which the coefficients of a wrong profile are off.
pub const WRONG: [u32; 4] = [
    0b00_1011_0110,
    0b11_0100_1001,
    0b01_0001_1100,
    0b10_1110_0011,
];

/// The step times of a device, each off by 30 %: up or down as the bits of `signs` say.
pub fn off_by_thirty_percent(device: &str, signs: u32) -> Timing {
    let mut timing = Timing::shipped(Device::named(device).expect("a preset"));
    let coefficients = [
        &mut timing.linear,
        &mut timing.attention,
        &mut timing.weights,
        &mut timing.kv,
        &mut timing.layer_us,
        &mut timing.step_us,
        &mut timing.sequence_us,
        &mut timing.prefill_us,
        &mut timing.api.chunk_us,
        &mut timing.api.request_us,
    ];
    for (bit, coefficient) in coefficients.into_iter().enumerate() {
        *coefficient *= if signs >> bit & 1 == 1 { 1.3 } else { 0.7 };
    }
    timing
}

/// How far settings that miss the limits are expected to stand behind those that meet them.
const BEHIND: f64 = 1e-9;

/// The landscape that a profile expects.
pub fn guessed(ground: &Ground, truth: &Landscape, timing: Option<Timing>) -> Landscape {
    let guess = Ground {
        timing,
        shared: 0,
        requests: 2 * ground.streams as u64,
        ..ground.clone()
    };
    guess.landscape(truth.flags.clone())
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
