//! Pictures in squares of noise, as JPEG: each square of eight pixels has one brightness, so that a
//! picture of any size is written in a few bytes per square, about as many as real video takes, and
//! quickly. Baseline, in the sampling that all decoders know (4:2:0), without colour.

use super::Noise;

/// What a step of brightness is divided by: 128 levels are left.
const QUANTUM: u8 = 16;
/// Bits of a level, and the one in the middle.
const LEVEL_BITS: u32 = 7;
const MIDDLE: i32 = 64;

/// Codes of the sizes of differences, from none to seven bits, as the standard has them: bits and
/// their number.
const SIZES: [(u32, u32); 8] = [
    (0b00, 2),
    (0b010, 3),
    (0b011, 3),
    (0b100, 3),
    (0b101, 3),
    (0b110, 3),
    (0b1110, 4),
    (0b1_1110, 5),
];

/// One picture, which the noise decides.
pub(super) fn jpeg((width, height): (u32, u32), noise: &mut Noise, out: &mut Vec<u8>) {
    head((width as u16, height as u16), out);
    let mut bits = Bits {
        out,
        waiting: 0,
        count: 0,
    };
    let (mut levels, mut left, mut before) = (0, 0, 0);
    for _ in 0..width.div_ceil(16) * height.div_ceil(16) {
        // Four squares of brightness.
        for _ in 0..4 {
            if left == 0 {
                (levels, left) = (noise.next(), u64::BITS / LEVEL_BITS);
            }
            let level = (levels & ((1 << LEVEL_BITS) - 1)) as i32 - MIDDLE;
            (levels, left) = (levels >> LEVEL_BITS, left - 1);
            bits.difference(level - before);
            before = level;
        }
        // Both colours stay as they are: no difference, no detail.
        bits.put(0, 6);
    }
    bits.end();
    out.extend_from_slice(b"\xff\xd9");
}

/// All that stands before the squares.
fn head((width, height): (u16, u16), out: &mut Vec<u8>) {
    // JFIF 1.1, pixels as wide as high.
    out.extend_from_slice(b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0");
    // One table of quantities, all alike.
    out.extend_from_slice(b"\xff\xdb\0\x43\0");
    out.extend_from_slice(&[QUANTUM; 64]);
    out.extend_from_slice(b"\xff\xc0\0\x11\x08");
    out.extend_from_slice(&height.to_be_bytes());
    out.extend_from_slice(&width.to_be_bytes());
    // Brightness twice as fine as the colours in both directions.
    out.extend_from_slice(b"\x03\x01\x22\0\x02\x11\0\x03\x11\0");
    // The standard's codes for sizes of differences, and one for the end of a square.
    out.extend_from_slice(b"\xff\xc4\0\x1f\0\0\x01\x05\x01\x01\x01\x01\x01\x01\0\0\0\0\0\0\0");
    out.extend_from_slice(b"\0\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b");
    out.extend_from_slice(b"\xff\xc4\0\x14\x10\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
    out.extend_from_slice(b"\xff\xda\0\x0c\x03\x01\0\x02\0\x03\0\0\x3f\0");
}

struct Bits<'a> {
    out: &'a mut Vec<u8>,
    waiting: u64,
    count: u32,
}

impl Bits<'_> {
    /// A square whose brightness differs so much from the one before, and that has no detail.
    fn difference(&mut self, difference: i32) {
        let size = i32::BITS - difference.unsigned_abs().leading_zeros();
        let (code, length) = SIZES[size as usize];
        // A negative one is written as one less, of which the lower bits count.
        let written = (difference - i32::from(difference < 0)) as u32 & ((1 << size) - 1);
        self.put(code << (size + 1) | written << 1, length + size + 1);
    }

    fn put(&mut self, bits: u32, count: u32) {
        self.waiting = self.waiting << count | u64::from(bits);
        self.count += count;
        while self.count >= 8 {
            self.count -= 8;
            self.byte((self.waiting >> self.count) as u8);
        }
    }

    fn byte(&mut self, byte: u8) {
        self.out.push(byte);
        if byte == 0xff {
            // Else it would begin a mark.
            self.out.push(0);
        }
    }

    /// Fills the last byte with ones.
    fn end(mut self) {
        let lacks = (8 - self.count % 8) % 8;
        self.put((1 << lacks) - 1, lacks);
    }
}
