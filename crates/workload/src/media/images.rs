//! Synthetic images: PNG of noise in grey, made new for each request. They are not compressed, which
//! is quick and lets every image of a size have the same bytes to upload.

use super::{Noise, Sketch, one_of};
use crate::{LengthError, Sampler};
use inferometer_core::work::ImageSpec;
use rand::Rng;

pub(super) struct Images {
    count: Sampler,
    sizes: Vec<(u32, u32)>,
}

impl Images {
    pub(super) fn new(spec: &ImageSpec) -> Result<Self, LengthError> {
        Ok(Images {
            count: Sampler::new(&spec.count)?,
            sizes: spec.sizes.clone(),
        })
    }

    pub(super) fn draw(&self, random: &mut impl Rng) -> Vec<Sketch> {
        let count = self.count.sample(random);
        let image = |_| Sketch::Image {
            size: one_of(&self.sizes, random),
            seed: random.next_u64(),
        };
        (0..count).map(image).collect()
    }
}

/// Bytes of one block of a stream that is not compressed.
const BLOCK: usize = 65_535;

/// An image of 8-bit grey noise, which a seed decides.
pub fn png(size: (u32, u32), seed: u64) -> Vec<u8> {
    let mut image = Vec::new();
    write_png(&mut image, size, seed);
    image
}

/// Writes it where it stays: copies of what is this large take longer than the noise.
pub(super) fn write_png(image: &mut Vec<u8>, (width, height): (u32, u32), seed: u64) {
    let row = width as usize + 1;
    let pixels = row * height as usize;
    let length = 2 + pixels + pixels.div_ceil(BLOCK) * 5 + 4;
    image.reserve(length + 64);
    image.extend_from_slice(b"\x89PNG\r\n\x1a\n");
    let mut header = Vec::from(width.to_be_bytes());
    header.extend_from_slice(&height.to_be_bytes());
    // Eight bits of grey, the usual compression and filters, not interlaced.
    header.extend_from_slice(&[8, 0, 0, 0, 0]);
    chunk(image, b"IHDR", |image| {
        image.extend_from_slice(&header);
    });
    chunk(image, b"IDAT", |image| {
        image.extend_from_slice(&[0x78, 0x01]);
        let mut noise = Noise::new(seed);
        let mut sum = Adler32::default();
        for first in (0..pixels).step_by(BLOCK) {
            let length = BLOCK.min(pixels - first);
            image.push(u8::from(first + length == pixels));
            image.extend_from_slice(&(length as u16).to_le_bytes());
            image.extend_from_slice(&(!(length as u16)).to_le_bytes());
            let start = image.len();
            let end = start + length;
            while image.len() < end {
                image.extend_from_slice(&noise.next().to_le_bytes());
            }
            image.truncate(end);
            let block = &mut image[start..];
            // Each row begins with its filter: none.
            let begin = first.next_multiple_of(row) - first;
            let rows = block.iter_mut().skip(begin).step_by(row);
            rows.for_each(|filter| *filter = 0);
            sum.add(block);
        }
        image.extend_from_slice(&sum.value().to_be_bytes());
    });
    chunk(image, b"IEND", |_| {});
}

fn chunk(image: &mut Vec<u8>, kind: &[u8; 4], write: impl FnOnce(&mut Vec<u8>)) {
    let begin = image.len();
    image.extend_from_slice(&[0; 4]);
    image.extend_from_slice(kind);
    let data = image.len();
    write(image);
    let length = (image.len() - data) as u32;
    image[begin..begin + 4].copy_from_slice(&length.to_be_bytes());
    let sum = crc32fast::hash(&image[begin + 4..]);
    image.extend_from_slice(&sum.to_be_bytes());
}

/// The checksum of zlib: the sum of all bytes, and the sum of these sums.
struct Adler32 {
    low: u64,
    high: u64,
}

impl Default for Adler32 {
    fn default() -> Self {
        Adler32 { low: 1, high: 0 }
    }
}

impl Adler32 {
    const MOD: u64 = 65_521;
    /// Every other byte of eight.
    const EVEN: u64 = 0x00ff_00ff_00ff_00ff;

    /// Adds a block, eight bytes at once. The uppermost 16 bits of each product are a sum of four
    /// bytes, each times its weight, which no lower part reaches.
    fn add(&mut self, block: &[u8]) {
        let (words, rest) = block.as_chunks::<8>();
        for &word in words {
            let word = u64::from_le_bytes(word);
            let (even, odd) = (word & Self::EVEN, word >> 8 & Self::EVEN);
            self.high += 8 * self.low
                + (even.wrapping_mul(0x0008_0006_0004_0002) >> 48)
                + (odd.wrapping_mul(0x0007_0005_0003_0001) >> 48);
            self.low += (even + odd).wrapping_mul(0x0001_0001_0001_0001) >> 48;
        }
        for &byte in rest {
            self.low += u64::from(byte);
            self.high += self.low;
        }
        self.low %= Self::MOD;
        self.high %= Self::MOD;
    }

    fn value(&self) -> u32 {
        (self.high << 16 | self.low) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn images_are_png_that_another_reader_takes() {
        for size in [(512, 512), (1280, 720), (1, 1), (3, 70_000 / 4)] {
            let image = png(size, 5);
            let length = u32::from_be_bytes(image[33..37].try_into().unwrap()) as usize;
            assert_eq!(&image[12..16], b"IHDR");
            assert_eq!(&image[37..41], b"IDAT");
            let data = &image[41..41 + length];
            let mut pixels = Vec::new();
            // It checks the sum at the end.
            flate2::read::ZlibDecoder::new(data)
                .read_to_end(&mut pixels)
                .unwrap();
            assert_eq!(pixels.len(), (size.0 as usize + 1) * size.1 as usize);
            let sum = u32::from_be_bytes(image[41 + length..45 + length].try_into().unwrap());
            assert_eq!(sum, crc32fast::hash(&image[37..41 + length]));
            assert!(image.ends_with(b"IEND\xae\x42\x60\x82"));
        }
    }
}
