//! A device by its preset or by its numbers: `h100`, `memory=80GiB,bandwidth=2TB/s,half=312`.

use inferometer_catalog::device::{Device, Kind};
use thiserror::Error;

/// Cards of one host, at most: the links of more are not modelled.
pub(crate) const CARDS_OF_HOST: u32 = 8;

/// A card, and what it draws where that is known.
#[derive(Clone, Debug, PartialEq)]
pub struct Card {
    pub device: Device,
    pub watts: Option<f64>,
    /// Whether speed and bandwidth were given, so that times can be predicted too.
    pub timed: Timed,
}

/// Whether a card's speed is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timed {
    /// Both speed and bandwidth.
    Known,
    MemoryOnly,
}

/// Why a text does not describe a device.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BadDevice {
    #[error(
        "the device '{name}' is not known; choose one of {known} (see inferometer sim --help), or give numbers as in memory=80GiB,bandwidth=2039,half=312"
    )]
    Unknown { name: String, known: String },
    /// Not a number of the unit.
    #[error("'{0}' of the device is not understood; write {1}")]
    Number(String, &'static str),
    #[error("a device by numbers needs its memory, as in memory=80GiB")]
    NoMemory,
}

impl std::str::FromStr for Card {
    type Err = BadDevice;

    fn from_str(text: &str) -> Result<Card, BadDevice> {
        if !text.contains('=') {
            let device = Device::named(text.trim()).ok_or_else(|| BadDevice::Unknown {
                name: text.trim().to_owned(),
                known: Device::presets_near(text.trim()),
            })?;
            return Ok(Card {
                device: device.clone(),
                watts: None,
                timed: Timed::Known,
            });
        }
        by_numbers(text)
    }
}

fn by_numbers(text: &str) -> Result<Card, BadDevice> {
    let mut device = Device {
        name: text.to_owned(),
        title: text.to_owned(),
        kind: Kind::Cuda,
        generation: None,
        memory_mib: 0,
        half_tflops: 1.0,
        fp8_tflops: None,
        fp4_tflops: None,
        bandwidth_gbs: 1.0,
        link_gbs: 32.0,
        link_cards: 8,
        bf16: true,
        capability: None,
        board_watts: None,
    };
    let (mut watts, mut speed, mut bandwidth) = (None, false, false);
    for part in text.split(',').map(str::trim) {
        let bad = |form| BadDevice::Number(part.to_owned(), form);
        let (key, value) = part.split_once('=').unwrap_or(("device", part));
        let number = |unit, usual, form| scaled(value, unit, usual).ok_or_else(|| bad(form));
        match key.trim() {
            // A preset to start from: device=h100,memory=94GiB.
            "device" => {
                let preset = value.parse::<Card>()?;
                device = Device {
                    name: text.to_owned(),
                    ..preset.device
                };
                (speed, bandwidth) = (true, true);
            }
            "memory" => device.memory_mib = mebibytes(value).ok_or_else(|| bad("memory=80GiB"))?,
            "bandwidth" => {
                device.bandwidth_gbs = number("B/s", 1e9, "bandwidth=2039 (GB/s)")?;
                bandwidth = true;
            }
            "half" | "flops" => {
                device.half_tflops = number("FLOPS", 1e12, "half=312 (TFLOP/s)")?;
                speed = true;
            }
            "fp8" => device.fp8_tflops = Some(number("FLOPS", 1e12, "fp8=1979")?),
            "fp4" => device.fp4_tflops = Some(number("FLOPS", 1e12, "fp4=9000")?),
            "link" => device.link_gbs = number("B/s", 1e9, "link=450 (GB/s)")?,
            "power" => watts = Some(number("W", 1.0, "power=700W")?),
            "kind" => {
                device.kind = match value.trim() {
                    "cuda" => Kind::Cuda,
                    "rocm" => Kind::Rocm,
                    "ascend" => Kind::Ascend,
                    _ => return Err(bad("kind=cuda, kind=rocm or kind=ascend")),
                };
            }
            _ => {
                return Err(bad(
                    "device=, memory=, bandwidth=, half=, fp8=, fp4=, link=, power= or kind=",
                ));
            }
        }
    }
    if device.memory_mib == 0 {
        return Err(BadDevice::NoMemory);
    }
    let timed = if speed && bandwidth {
        Timed::Known
    } else {
        Timed::MemoryOnly
    };
    Ok(Card {
        device,
        watts,
        timed,
    })
}

/// `80GiB`, `80GB` (both as cards are sold: binary and decimal), `81920MiB`.
fn mebibytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let split = text.find(|c: char| c.is_ascii_alphabetic())?;
    let number: f64 = text[..split].trim().parse().ok()?;
    let bytes = match text[split..].to_ascii_lowercase().as_str() {
        "gib" | "g" => 1024.0 * 1024.0 * 1024.0,
        "mib" | "m" => 1024.0 * 1024.0,
        "gb" => 1e9,
        "mb" => 1e6,
        "tib" => 1024.0_f64.powi(4),
        _ => return None,
    };
    let mib = number * bytes / (1024.0 * 1024.0);
    // From a MiB to a PiB: beyond, a typing error is more likely than a card.
    (1.0..=1_073_741_824.0).contains(&mib).then_some(mib as u64)
}

/// A positive number in `unit`s of `usual`: `2039`, `2039GB/s`, `2TB/s`.
fn scaled(text: &str, unit: &str, usual: f64) -> Option<f64> {
    let text = text.trim();
    let split = text
        .find(|c: char| c.is_ascii_alphabetic() && c != 'e')
        .unwrap_or(text.len());
    let number: f64 = text[..split].trim().parse().ok()?;
    let suffix = text[split..].trim().to_ascii_lowercase();
    let prefix = suffix
        .strip_suffix(&unit.to_ascii_lowercase())
        .unwrap_or(&suffix);
    let factor = match prefix {
        "" if suffix.is_empty() => 1.0,
        "" => 1.0 / usual,
        "k" => 1e3 / usual,
        "m" => 1e6 / usual,
        "g" => 1e9 / usual,
        "t" => 1e12 / usual,
        "p" => 1e15 / usual,
        _ => return None,
    };
    let value = number * factor;
    (value.is_finite() && value > 0.0 && value < 1e9).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_is_a_preset_or_its_numbers_or_both() {
        let preset: Card = "h200".parse().unwrap();
        assert_eq!(preset.device.memory_mib, 143156);
        assert_eq!(preset.timed, Timed::Known);
        let card: Card = "memory=80GiB,bandwidth=2TB/s,half=312,power=400W"
            .parse()
            .unwrap();
        assert_eq!(card.device.memory_mib, 81920);
        assert_eq!(card.device.bandwidth_gbs, 2000.0);
        assert_eq!((card.watts, card.timed), (Some(400.0), Timed::Known));
        let card: Card = "memory=24GB".parse().unwrap();
        assert_eq!(card.device.memory_mib, 22888);
        assert_eq!(card.timed, Timed::MemoryOnly);
        let card: Card = "device=h100,memory=94GiB".parse().unwrap();
        assert_eq!(card.device.memory_mib, 96256);
        assert_eq!(card.device.bandwidth_gbs, 3350.0);
    }

    #[test]
    fn anything_else_is_refused_with_the_form_to_use() {
        for (text, said) in [
            ("abacus", "a100-80g"),
            ("memory=-80GiB", "memory=80GiB"),
            ("memory=80", "memory=80GiB"),
            ("memory=nanGiB", "memory=80GiB"),
            ("bandwidth=2000", "needs its memory"),
            ("memory=80GiB,colour=red", "bandwidth="),
            ("memory=80GiB,half=0", "half=312"),
            ("", "is not known"),
        ] {
            let error = text.parse::<Card>().unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
