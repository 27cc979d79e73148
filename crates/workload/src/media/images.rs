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
pub fn png((width, height): (u32, u32), seed: u64) -> Vec<u8> {
    let row = width as usize + 1;
    let pixels = row * height as usize;
    let mut raw = vec![0; pixels.next_multiple_of(8)];
    let mut noise = Noise::new(seed);
    for eight in raw.chunks_exact_mut(8) {
        eight.copy_from_slice(&noise.next().to_le_bytes());
    }
    raw.truncate(pixels);
    // Each row begins with its filter: none.
    raw.iter_mut().step_by(row).for_each(|filter| *filter = 0);
    let mut data = Vec::with_capacity(pixels + pixels / BLOCK * 5 + 16);
    data.extend_from_slice(&[0x78, 0x01]);
    let blocks = raw.chunks(BLOCK);
    let last = blocks.len().saturating_sub(1);
    for (place, block) in blocks.enumerate() {
        let length = block.len() as u16;
        data.push(u8::from(place == last));
        data.extend_from_slice(&length.to_le_bytes());
        data.extend_from_slice(&(!length).to_le_bytes());
        data.extend_from_slice(block);
    }
    data.extend_from_slice(&adler32(&raw).to_be_bytes());
    let mut image = Vec::with_capacity(data.len() + 64);
    image.extend_from_slice(b"\x89PNG\r\n\x1a\n");
    let mut header = Vec::from(width.to_be_bytes());
    header.extend_from_slice(&height.to_be_bytes());
    // Eight bits of grey, the usual compression and filters, not interlaced.
    header.extend_from_slice(&[8, 0, 0, 0, 0]);
    chunk(&mut image, b"IHDR", &header);
    chunk(&mut image, b"IDAT", &data);
    chunk(&mut image, b"IEND", &[]);
    image
}

fn chunk(image: &mut Vec<u8>, kind: &[u8; 4], data: &[u8]) {
    image.extend_from_slice(&(data.len() as u32).to_be_bytes());
    let start = image.len();
    image.extend_from_slice(kind);
    image.extend_from_slice(data);
    let sum = crc32fast::hash(&image[start..]);
    image.extend_from_slice(&sum.to_be_bytes());
}

/// The checksum of zlib. Sums are reduced only before they could overflow.
fn adler32(bytes: &[u8]) -> u32 {
    const MOD: u32 = 65_521;
    let (mut low, mut high) = (1, 0);
    for piece in bytes.chunks(5_552) {
        for &byte in piece {
            low += u32::from(byte);
            high += low;
        }
        low %= MOD;
        high %= MOD;
    }
    high << 16 | low
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
