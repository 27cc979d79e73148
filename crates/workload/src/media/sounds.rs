//! Synthetic sounds: WAV, 16 kHz, one channel of 16 bits, made new for each request. They are tones
//! that change five times a second, with some noise: not silence, which servers may skip, and not
//! speech, so that what is transcribed means nothing.

use super::{Noise, Sketch};
use crate::{LengthError, Sampler};
use inferometer_core::work::AudioSpec;
use rand::Rng;
use std::f32::consts::TAU;

pub(super) struct Sounds {
    count: Sampler,
    seconds: Sampler,
}

impl Sounds {
    pub(super) fn new(spec: &AudioSpec) -> Result<Self, LengthError> {
        Ok(Sounds {
            count: Sampler::new(&spec.count)?,
            seconds: Sampler::new(&spec.seconds)?,
        })
    }

    pub(super) fn draw(&self, random: &mut impl Rng) -> Vec<Sketch> {
        let count = self.count.sample(random);
        let sound = |_| Sketch::Sound {
            seconds: self.seconds.sample(random),
            seed: random.next_u64(),
        };
        (0..count).map(sound).collect()
    }
}

/// Samples per second, as models of speech hear them.
const RATE: u32 = 16_000;
/// Samples of a tone: a fifth of a second, as long as a syllable.
const TONE: usize = 3_200;
/// Loudness of tones and noise, of 32,767.
const LOUD: f32 = 8_000.0;
const NOISE: f32 = 400.0;

/// A sound of so many seconds, which a seed decides.
pub fn wav(seconds: u32, seed: u64) -> Vec<u8> {
    let samples = (seconds * RATE) as usize;
    let bytes = samples as u32 * 2;
    let mut wav = Vec::with_capacity(44 + bytes as usize);
    wav.extend_from_slice(b"RIFF");
    wav.extend_from_slice(&(36 + bytes).to_le_bytes());
    // PCM, one channel.
    wav.extend_from_slice(b"WAVEfmt \x10\0\0\0\x01\0\x01\0");
    wav.extend_from_slice(&RATE.to_le_bytes());
    wav.extend_from_slice(&(2 * RATE).to_le_bytes());
    wav.extend_from_slice(b"\x02\0\x10\0data");
    wav.extend_from_slice(&bytes.to_le_bytes());
    let mut noise = Noise::new(seed);
    let mut draw = || (noise.next() >> 40) as f32 / (1 << 24) as f32;
    let mut left = samples;
    while left > 0 {
        // A sine by its recurrence, at the pitch of voices: 100 to 400 Hz.
        let pitch = 100.0 + 300.0 * draw();
        let step = TAU * pitch / RATE as f32;
        let (twice_cosine, mut before, mut now) = (2.0 * step.cos(), -step.sin(), 0.0_f32);
        for _ in 0..left.min(TONE) {
            let sample = now.mul_add(LOUD, (draw() - 0.5) * NOISE);
            wav.extend_from_slice(&(sample as i16).to_le_bytes());
            (before, now) = (now, twice_cosine.mul_add(now, -before));
        }
        left = left.saturating_sub(TONE);
    }
    wav
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_core::sound::{Sound, SoundKind};

    #[test]
    fn a_sound_lasts_as_long_as_asked_and_is_neither_silent_nor_too_loud() {
        for seconds in [1, 7] {
            let sound = Sound::new(wav(seconds, 5)).unwrap();
            assert_eq!(sound.kind, SoundKind::Wav);
            assert_eq!(sound.millis, Some(seconds * 1000));
            assert_eq!(sound.bytes.len(), 44 + seconds as usize * 32_000);
            let samples = sound.bytes[44..].chunks_exact(2);
            let samples = samples.map(|two| i16::from_le_bytes(two.try_into().unwrap()));
            let loudest = samples.map(|sample| sample.unsigned_abs()).max().unwrap();
            assert!((7_000..9_000).contains(&loudest), "{loudest}");
        }
        assert_ne!(wav(1, 5), wav(1, 7));
    }
}
