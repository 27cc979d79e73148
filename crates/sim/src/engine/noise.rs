//! What makes two runs of the same server differ: all seeded, all off by default.

use serde::{Deserialize, Serialize};

use super::Nanos;
use crate::random::{Purpose, RandomStream};

/// Deviations of the step time from what the profile says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Noise {
    /// Standard deviation of the factor that an engine keeps from its start to its end.
    pub restart: f64,
    /// Amplitude of a slow swing of the step time.
    pub drift: f64,
    /// Period of that swing, seconds.
    pub drift_period_s: f64,
    /// Standard deviation of each step's factor.
    pub jitter: f64,
    /// Share of steps that are stragglers.
    pub stragglers: f64,
    /// How many times longer a straggler takes.
    pub straggler_factor: f64,
}

impl Noise {
    /// About what a real server on a quiet machine shows.
    pub fn usual() -> Noise {
        Noise {
            restart: 0.01,
            drift: 0.01,
            drift_period_s: 60.0,
            jitter: 0.01,
            stragglers: 0.001,
            straggler_factor: 3.0,
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct NoiseSource {
    noise: Noise,
    restart: f64,
    phase: f64,
    draw: RandomStream,
    silent: bool,
}

impl NoiseSource {
    pub(super) fn new(noise: Noise, seed: u64) -> NoiseSource {
        let mut draw = RandomStream::new(seed, 0, Purpose::Pace);
        let restart = factor(&mut draw, noise.restart);
        let phase = unit(&mut draw);
        NoiseSource {
            noise,
            restart,
            phase,
            draw,
            silent: noise == Noise::default(),
        }
    }

    /// The factor of a step that begins now.
    pub(super) fn step(&mut self, now: Nanos) -> f64 {
        if self.silent {
            return 1.0;
        }
        let noise = self.noise;
        let mut factor = self.restart * factor(&mut self.draw, noise.jitter);
        if noise.drift != 0.0 && noise.drift_period_s > 0.0 {
            let turn = now as f64 * 1e-9 / noise.drift_period_s + self.phase;
            factor *= 1.0 + noise.drift * (turn * std::f64::consts::TAU).sin();
        }
        if noise.stragglers > 0.0 && unit(&mut self.draw) < noise.stragglers {
            factor *= noise.straggler_factor.max(1.0);
        }
        factor.max(0.1)
    }
}

/// Uniform in 0..1.
pub(super) fn unit(draw: &mut RandomStream) -> f64 {
    (draw.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// A factor around 1 with this standard deviation: a sum of uniforms is normal enough, and
/// bounded.
fn factor(draw: &mut RandomStream, deviation: f64) -> f64 {
    let sum: f64 = (0..12).map(|_| unit(draw)).sum();
    1.0 + deviation * (sum - 6.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_noise_every_step_takes_what_the_profile_says() {
        let mut source = NoiseSource::new(Noise::default(), 1);
        assert!((0..100).all(|step| source.step(step) == 1.0));
    }

    #[test]
    fn a_restart_changes_all_steps_alike_and_a_seed_repeats_it() {
        let noise = Noise {
            restart: 0.05,
            ..Noise::default()
        };
        let step = |seed, now| NoiseSource::new(noise, seed).step(now);
        assert_eq!(step(1, 0), step(1, 1_000_000));
        assert_ne!(step(1, 0), step(2, 0));
        assert!((step(1, 0) - 1.0).abs() < 0.3);
    }

    #[test]
    fn stragglers_come_as_often_as_asked() {
        let noise = Noise {
            stragglers: 0.1,
            straggler_factor: 5.0,
            ..Noise::default()
        };
        let mut source = NoiseSource::new(noise, 3);
        let slow = (0..10_000).filter(|&now| source.step(now) > 4.0).count();
        assert!((900..1100).contains(&slow), "{slow}");
    }
}
