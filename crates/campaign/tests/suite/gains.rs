//! Whether the interval of a gain holds the true one as often as it says, and is not much wider
//! than what repeated studies differ by: whole last stages on made-up engines whose gains are
//! known. The test and the benchmark `gains` share it.
#![allow(dead_code)]

use inferometer_campaign::space::{Point, Value};
use inferometer_campaign::study::{NextStart, Study};
use inferometer_campaign::trial::{Ending, Level, Measurement, Origin, Proposal, Trial};
use inferometer_core::seed::{Dimension, rng};
use rand::RngExt;

/// What makes measurements of a made-up engine differ, as standard deviations of a logarithm.
#[derive(Clone, Copy)]
pub struct Noise {
    pub name: &'static str,
    /// Between the settings that were searched; their mean gain is as large.
    pub of_settings: f64,
    /// Between the prompts of two rounds, for all settings alike.
    pub of_rounds: f64,
    /// Between two starts of one setting on the same prompts.
    pub of_starts: f64,
    /// Growth from each start to the next.
    pub drift: f64,
    /// One start in ten has three times the spread.
    pub outliers: bool,
}

const CALM: Noise = Noise {
    name: "prompts differ, starts hardly",
    of_settings: 0.03,
    of_rounds: 0.02,
    of_starts: 0.002,
    drift: 0.0,
    outliers: false,
};

pub const NOISES: [Noise; 6] = [
    CALM,
    Noise {
        name: "starts differ as much as prompts",
        of_starts: 0.02,
        ..CALM
    },
    Noise {
        name: "starts differ more than settings",
        of_settings: 0.005,
        of_starts: 0.01,
        ..CALM
    },
    Noise {
        name: "all settings alike",
        of_settings: 0.0,
        of_starts: 0.01,
        ..CALM
    },
    Noise {
        name: "the machine slows by 0.3 % a start",
        of_starts: 0.005,
        drift: -0.003,
        ..CALM
    },
    Noise {
        name: "one start in ten is off",
        of_starts: 0.005,
        outliers: true,
        ..CALM
    },
];

#[derive(Clone, Copy, Debug)]
pub struct Figures {
    /// Share of studies whose interval holds the true gain.
    pub coverage: f64,
    /// Mean half-width, and that of an interval which holds 95 % of repeated studies' gains.
    pub half_width: f64,
    pub spread: f64,
}

impl Figures {
    pub fn width_ratio(&self) -> f64 {
        self.half_width / self.spread
    }
}

const SEARCHED: usize = 20;

pub fn repeated_studies(noise: &Noise, studies: u64) -> Figures {
    let (mut covered, mut widths, mut errors) = (0.0, Vec::new(), Vec::new());
    for seed in 0..studies {
        let (gain, [low, high], truth) = one_study(noise, seed);
        covered += f64::from(u8::from((low..=high).contains(&truth)));
        widths.push((high - low) / 2.0);
        errors.push(gain - truth);
    }
    let n = studies as f64;
    let squares: f64 = errors.iter().map(|error| error * error).sum();
    Figures {
        coverage: covered / n,
        half_width: widths.iter().sum::<f64>() / n,
        spread: 1.96 * (squares / n).sqrt(),
    }
}

/// The gain that a study tells with its interval, and the true one.
fn one_study(noise: &Noise, seed: u64) -> (f64, [f64; 2], f64) {
    let study: Study = STUDY.parse().expect("a study");
    let normal = |index: u64| {
        let mut random = rng(seed, Dimension::Words, index);
        // Twelve uniform values: close enough to a normal one.
        (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0
    };
    let truth = |of: u64| match of {
        0 => 0.0,
        _ => noise.of_settings * (1.0 + normal(of)),
    };
    let figure = |of: u64, round: u64, start: u64| {
        let is_odd = noise.outliers && rng(seed, Dimension::Repeat, start).random::<f64>() < 0.1;
        let of_start = noise.of_starts * if is_odd { 3.0 } else { 1.0 };
        let rounds = noise.of_rounds * normal(1000 + round);
        let log = truth(of) + rounds + of_start * normal(2000 + start) + noise.drift * start as f64;
        1000.0 * log.exp()
    };
    let mut trials: Vec<Trial> = (0..SEARCHED as u64)
        .map(|id| {
            let origin = match id {
                0 => Origin::Default,
                _ => Origin::Search,
            };
            trial(id, origin, figure(id, 0, id))
        })
        .collect();
    while let Some(NextStart::Repeat(start)) = study.last_stage.next(&trials, &study.goal) {
        let id = trials.len() as u64;
        let origin = Origin::Confirm {
            of: start.of,
            round: Some(start.round),
        };
        trials.push(trial(
            id,
            origin,
            figure(start.of, 1 + start.round as u64, id),
        ));
    }
    let comparison = study
        .last_stage
        .verdict(&trials, &study.goal, false)
        .comparison;
    let comparison = comparison.expect("all of them were measured");
    let change = &comparison.changes[0];
    let truth = truth(comparison.trial).exp_m1();
    (change.value, [change.low, change.high], truth)
}

const STUDY: &str = r#"
[engine]
command = "vllm serve m"
[space]
max-num-seqs = { int = [1, 1024] }
[load]
concurrency = [64]
[goal]
maximize = "throughput.output_tokens_per_s"
[budget]
trials = 20
"#;

/// Each setting that was searched has its own value; equal ones would be one candidate.
fn trial(id: u64, origin: Origin, tokens_per_s: f64) -> Trial {
    let value = Value::Int(1 + id as i64);
    let flags = match origin {
        Origin::Search => Point([("max-num-seqs".to_owned(), value)].into()),
        _ => Point::default(),
    };
    Trial {
        proposal: Proposal {
            id,
            origin,
            point: flags.clone(),
            flags,
            implied: None,
            repaired: None,
        },
        ending: Ending::done(vec![Measurement {
            load: Level::Concurrency(64),
            summary: serde_json::json!({"throughput": {"output_tokens_per_s": tokens_per_s}}),
            seconds: None,
        }]),
    }
}

#[test]
fn the_interval_of_a_gain_holds_the_true_one_and_is_at_most_twice_the_spread_of_studies() {
    for noise in &NOISES {
        let figures = repeated_studies(noise, 400);
        let name = noise.name;
        assert!(
            (0.90..=0.98).contains(&figures.coverage),
            "{name}: {figures:?}"
        );
        assert!(figures.width_ratio() <= 2.0, "{name}: {figures:?}");
    }
}
