//! The length of sounds in boxes: an M4A states it in one of them, a WebM in an element of its own.

use super::millis;

/// In units that the same box states.
pub(super) fn m4a_millis(bytes: &[u8]) -> Option<u32> {
    let film = find(find(bytes, b"moov")?, b"mvhd")?;
    let number = |at: usize, length: usize| {
        let bytes = film.get(at..at + length)?.iter();
        Some(bytes.fold(0, |number, byte| number << 8 | u64::from(*byte)))
    };
    match film.first()? {
        // The second version has longer times.
        1 => millis(number(24, 8)?, number(20, 4)?),
        _ => millis(number(16, 4)?, number(12, 4)?),
    }
}

fn find<'a>(mut rest: &'a [u8], name: &[u8; 4]) -> Option<&'a [u8]> {
    loop {
        let number = |from: usize, to: usize| {
            let bytes = rest.get(from..to)?.iter();
            Some(bytes.fold(0, |number, byte| number << 8 | usize::from(*byte)))
        };
        let (head, length) = match number(0, 4)? {
            0 => (8, rest.len()),
            1 => (16, number(8, 16)?),
            length => (8, length),
        };
        if rest.get(4..8)? == name {
            return rest.get(head..length.min(rest.len()));
        }
        rest = rest.get(length.max(head)..)?;
    }
}

const SEGMENT: u64 = 0x1853_8067;
const INFO: u64 = 0x1549_a966;
const SCALE: u64 = 0x2a_d7b1;
const DURATION: u64 = 0x4489;

/// A number of ticks, of a millisecond each unless the file says otherwise; live recordings state
/// none.
pub(super) fn webm_millis(bytes: &[u8]) -> Option<u32> {
    let info = element(element(bytes, SEGMENT)?, INFO)?;
    let nanos = match element(info, SCALE) {
        Some(scale) => scale
            .iter()
            .fold(0, |number, byte| number << 8 | u64::from(*byte)),
        None => 1_000_000,
    };
    let duration = element(info, DURATION)?;
    let ticks = match duration.len() {
        4 => f64::from(f32::from_be_bytes(duration.try_into().ok()?)),
        8 => f64::from_be_bytes(duration.try_into().ok()?),
        _ => return None,
    };
    let all = ticks * nanos as f64;
    (all >= 0.0).then(|| millis(all as u64, 1_000_000_000))?
}

/// The content of the first element of a name.
fn element(mut rest: &[u8], name: u64) -> Option<&[u8]> {
    loop {
        let (found, after) = number(rest, Mark::Kept)?;
        let (length, content) = number(after, Mark::Taken)?;
        let length = usize::try_from(length).ok()?.min(content.len());
        if found == name {
            return Some(&content[..length]);
        }
        rest = &content[length..];
    }
}

/// Whether the bit that tells the length of a number is part of it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Kept,
    Taken,
}

/// A number of one to eight bytes, and what is behind it. All ones stand for a length that nobody
/// knew, which is more than there is.
fn number(bytes: &[u8], mark: Mark) -> Option<(u64, &[u8])> {
    let length = bytes.first()?.leading_zeros() as usize + 1;
    let (own, rest) = bytes.split_at_checked(length)?;
    let number = own
        .iter()
        .fold(0, |number, byte| number << 8 | u64::from(*byte));
    match mark {
        _ if length > 8 => None,
        Mark::Kept => Some((number, rest)),
        Mark::Taken => Some((number & ((1 << (7 * length)) - 1), rest)),
    }
}
