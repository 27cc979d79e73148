//! The length of an MP3: by the number of frames that its first one states, or by counting them.

use super::millis;

/// What the four bytes at the head of a frame say.
struct Frame {
    /// Bytes, the head included.
    length: usize,
    samples: u64,
    rate: u64,
    /// Bytes from its beginning to a table of contents, where there is one.
    table: usize,
}

/// kbit/s by place: of layers 1, 2 and 3 of MPEG 1, and of layer 1 and the others of MPEG 2.
const KBITS: [[u64; 14]; 5] = [
    [
        32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448,
    ],
    [
        32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384,
    ],
    [
        32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320,
    ],
    [
        32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256,
    ],
    [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
];

impl Frame {
    fn at(bytes: &[u8]) -> Option<Self> {
        let head = u32::from_be_bytes(bytes.get(..4)?.try_into().ok()?);
        let bits = |from: u32, count: u32| (head >> from & ((1 << count) - 1)) as usize;
        if bits(21, 11) != 0x7ff {
            return None;
        }
        // Halved rates are of MPEG 2, quartered ones of what came after it.
        let (is_first, halvings) = match bits(19, 2) {
            3 => (true, 0),
            2 => (false, 1),
            0 => (false, 2),
            _ => return None,
        };
        let layer = 4 - bits(17, 2);
        let table = match (is_first, layer) {
            (true, 1..=3) => layer - 1,
            (false, 1) => 3,
            (false, 2 | 3) => 4,
            _ => return None,
        };
        // The first is of a length that nobody states, the last is none.
        let kbits = *KBITS[table].get(bits(12, 4).checked_sub(1)?)?;
        let rate = [44_100, 48_000, 32_000].get(bits(10, 2))? >> halvings;
        let samples = match (is_first, layer) {
            (_, 1) => 384,
            (false, 3) => 576,
            _ => 1152,
        };
        let padding = bits(9, 1) as u64;
        let length = match layer {
            1 => (12_000 * kbits / rate + padding) * 4,
            _ => samples / 8 * 1000 * kbits / rate + padding,
        };
        let is_mono = bits(6, 2) == 3;
        Some(Frame {
            length: length as usize,
            samples,
            rate,
            table: match (is_first, is_mono) {
                (true, false) => 36,
                (true, true) | (false, false) => 21,
                (false, true) => 13,
            },
        })
    }

    /// The number of frames, where this one says it.
    fn stated(&self, bytes: &[u8]) -> Option<u64> {
        let number = |at: usize| {
            let four = bytes.get(at..at + 4)?.try_into().ok()?;
            Some(u64::from(u32::from_be_bytes(four)))
        };
        let mark = |at: usize| bytes.get(at..at + 4);
        if matches!(mark(self.table)?, b"Xing" | b"Info") && number(self.table + 4)? & 1 == 1 {
            return number(self.table + 8);
        }
        (mark(36)? == b"VBRI").then(|| number(50))?
    }
}

/// What may stand behind the last frame.
const TAGS: [&[u8]; 4] = [b"TAG", b"APETAGEX", b"LYRICSBEGIN", b"ID3"];

pub(super) fn mp3_millis(bytes: &[u8]) -> Option<u32> {
    let mut rest = bytes.get(tag_length(bytes)?..)?;
    let first = Frame::at(rest)?;
    if let Some(frames) = first.stated(rest) {
        return millis(frames * first.samples, first.rate);
    }
    let mut samples = 0;
    while let Some(frame) = Frame::at(rest).filter(|frame| frame.length <= rest.len()) {
        samples += frame.samples;
        rest = &rest[frame.length..];
    }
    // A last frame may be cut short; anything else means that more is there than was counted.
    let is_end = rest.iter().all(|byte| *byte == 0)
        || Frame::at(rest).is_some()
        || TAGS.iter().any(|tag| rest.starts_with(tag));
    is_end.then(|| millis(samples, first.rate))?
}

/// Bytes of what is said of the sound before it begins.
fn tag_length(bytes: &[u8]) -> Option<usize> {
    if !bytes.starts_with(b"ID3") {
        return Some(0);
    }
    // Seven bits of each byte, behind the versions and the marks; the last mark is a tail.
    let size = bytes.get(6..10)?.iter();
    let size = size.fold(0, |size, byte| size << 7 | usize::from(byte & 0x7f));
    let has_tail = bytes[5] & 0x10 != 0;
    Some(10 + size + if has_tail { 10 } else { 0 })
}
