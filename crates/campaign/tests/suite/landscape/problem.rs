//! A search on a landscape, as a study would do it.

use super::{Cell, Flag, Landscape, place};
use inferometer_campaign::search::{Ask, Observation, Outcome, Searcher};
use inferometer_campaign::space::{
    Dimension, Domain, FlagRules, Point, Rules, Space, Spacing, Value,
};
use inferometer_catalog::device::Device;
use inferometer_catalog::engine::{DeviceClass, DeviceKind, LaunchCommand, ModelLimits};
use inferometer_catalog::model::Model;
use inferometer_catalog::units::GIB;

/// A search on a landscape: the flags as a space, the engine's rules, and limits where there
/// are any.
pub struct Problem<'a> {
    pub landscape: &'a Landscape,
    pub space: Space,
    pub rules: FlagRules,
    /// Limits of TTFT and TPOT (99th percentiles), in milliseconds.
    pub limits: Option<[f64; 2]>,
}

impl<'a> Problem<'a> {
    pub fn new(landscape: &'a Landscape, limits: Option<[f64; 2]>) -> Self {
        let command = LaunchCommand::parse_line(&landscape.command).expect("our own command");
        let model =
            Model::named(command.model.as_deref().expect("it names one")).expect("a preset");
        let device = Device::named(&landscape.device).expect("a preset");
        let rules = FlagRules {
            version: command.engine.newest(),
            command,
            device: DeviceClass {
                kind: DeviceKind::Gpu,
                name: device.title.clone(),
                memory_gib: device.memory_bytes() / GIB,
                count: landscape.cards,
            },
            model: ModelLimits::of(&model),
        };
        let dimensions = landscape.flags.iter().map(|flag| Dimension {
            name: flag.name.clone(),
            domain: domain(flag),
        });
        let space = Space::new(dimensions.collect(), Vec::new()).expect("flags");
        Problem {
            landscape,
            space,
            rules,
            limits,
        }
    }

    pub fn outcome(&self, point: &Point) -> Outcome {
        match self.cell(point) {
            Cell::Refused | Cell::Crashed => Outcome::Failed,
            cell => Outcome::Measured {
                objectives: vec![self.objective(cell)],
                violation: self.violation(cell),
            },
        }
    }

    fn cell(&self, point: &Point) -> Cell {
        let flags = self.landscape.flags.iter();
        let at = flags.fold(0, |at, flag| at * flag.values.len() + place(flag, point));
        self.landscape.cells[at]
    }

    fn objective(&self, cell: Cell) -> f64 {
        match cell {
            Cell::Served { tokens_per_s, .. } => tokens_per_s,
            Cell::Refused | Cell::Crashed => 0.0,
        }
    }

    pub fn violation(&self, cell: Cell) -> f64 {
        let (
            Some([ttft, tpot]),
            Cell::Served {
                ttft_ms, tpot_ms, ..
            },
        ) = (self.limits, cell)
        else {
            return 0.0;
        };
        let missed = |value: f64, limit: f64| (value / limit - 1.0).max(0.0);
        missed(ttft_ms, ttft) + missed(tpot_ms, tpot)
    }

    /// The best of all cells.
    pub fn optimum(&self) -> f64 {
        let met =
            |cell: &&Cell| matches!(cell, Cell::Served { .. }) && self.violation(**cell) == 0.0;
        let values = self
            .landscape
            .cells
            .iter()
            .filter(met)
            .map(|cell| self.objective(*cell));
        values.max_by(f64::total_cmp).expect("some cell is good")
    }

    /// The best so far after each trial, 0 while nothing met the limits; goes on while `longer`
    /// says so. Trial 0 is the engine's default, as in a study; no presets, which know the
    /// answer of such landscapes.
    pub fn search_while(
        &self,
        searcher: &dyn Searcher,
        seed: u64,
        longer: impl Fn(&[f64]) -> bool,
    ) -> Vec<f64> {
        let mut past: Vec<Observation> = Vec::new();
        let mut course: Vec<f64> = Vec::new();
        while longer(&course) {
            let ask = Ask {
                space: &self.space,
                rules: &self.rules,
                past: &past,
                pending: &[],
                seed,
            };
            let point = if past.is_empty() {
                Some(self.rules.defaults(&self.space))
            } else {
                searcher.next(&ask)
            };
            let Some(point) = point else { break };
            let outcome = self.outcome(&point);
            let value = match &outcome {
                Outcome::Measured {
                    objectives,
                    violation,
                } if *violation <= 0.0 => objectives[0],
                _ => 0.0,
            };
            course.push(course.last().map_or(value, |best| best.max(value)));
            past.push(Observation { outcome, point });
        }
        course
    }
}

fn domain(flag: &Flag) -> Domain {
    let numbers: Vec<f64> = flag
        .values
        .iter()
        .filter_map(|value| value.parse().ok())
        .collect();
    let domain = match (flag.ordered, flag.values[0].as_str()) {
        (true, value) if value.contains('.') => Domain::float(
            numbers[0],
            *numbers.last().expect("values"),
            Spacing::Linear(Some(numbers[1] - numbers[0])),
        ),
        (true, _) => Domain::int(
            numbers[0] as i64,
            *numbers.last().expect("values") as i64,
            Spacing::Log(Some(numbers[1] / numbers[0])),
        ),
        (false, "false") => Ok(Domain::bool()),
        (false, _) => Domain::choice(
            flag.values
                .iter()
                .map(|value| Value::Text(value.clone()))
                .collect(),
        ),
    };
    domain.expect("a legal range")
}
