//! Synthetic videos: MP4 with Motion JPEG, frames of noise in squares, each unlike the one before.
//! Every decoder reads both, frames are written as quickly as they are sent, and a server decodes
//! each by itself.

use super::jpeg::jpeg;
use super::{Noise, Sketch, one_of};
use crate::{LengthError, Sampler};
use inferometer_core::work::VideoSpec;
use rand::Rng;

pub(super) struct Videos {
    count: Sampler,
    frames: Sampler,
    sizes: Vec<(u32, u32)>,
    fps: u32,
}

impl Videos {
    pub(super) fn new(spec: &VideoSpec) -> Result<Self, LengthError> {
        Ok(Videos {
            count: Sampler::new(&spec.count)?,
            frames: Sampler::new(&spec.frames)?,
            sizes: spec.sizes.clone(),
            fps: spec.fps,
        })
    }

    pub(super) fn draw(&self, random: &mut impl Rng) -> Vec<Sketch> {
        let count = self.count.sample(random);
        let video = |_| Sketch::Video {
            clip: Clip {
                size: one_of(&self.sizes, random),
                frames: self.frames.sample(random),
                fps: self.fps,
            },
            seed: random.next_u64(),
        };
        (0..count).map(video).collect()
    }
}

/// What a video is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Clip {
    /// Width and height, each at most 65,535.
    pub size: (u32, u32),
    pub frames: u32,
    pub fps: u32,
}

/// A video that a seed decides.
pub fn mp4(clip: &Clip, seed: u64) -> Vec<u8> {
    let mut noise = Noise::new(seed);
    let mut frames = Vec::new();
    let mut sizes = Vec::with_capacity(clip.frames as usize);
    for _ in 0..clip.frames {
        let before = frames.len();
        jpeg(clip.size, &mut noise, &mut frames);
        sizes.push((frames.len() - before) as u32);
    }
    let kind = b"isom\0\0\x02\0isomiso2mp41";
    // The index says where the frames begin, which depends on how long it is; a place is as long as
    // any other.
    let index = |place: u32| index(clip, &sizes, place);
    let place = 8 + kind.len() + 8 + index(0).len() + 8;
    let mut file = Vec::with_capacity(place + frames.len());
    file.extend_from_slice(&atom(b"ftyp", kind));
    file.extend_from_slice(&atom(b"moov", &index(place as u32)));
    file.extend_from_slice(&(frames.len() as u32 + 8).to_be_bytes());
    file.extend_from_slice(b"mdat");
    file.extend_from_slice(&frames);
    file
}

fn atom(name: &[u8; 4], content: &[u8]) -> Vec<u8> {
    let length = content.len() as u32 + 8;
    [&length.to_be_bytes(), name.as_slice(), content].concat()
}

fn numbers(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|it| it.to_be_bytes()).collect()
}

/// Neither turned nor stretched.
const AS_IT_IS: [u32; 9] = [0x1_0000, 0, 0, 0, 0x1_0000, 0, 0, 0, 0x4000_0000];

/// One track with all frames, each as long as the other.
fn index(clip: &Clip, sizes: &[u32], place: u32) -> Vec<u8> {
    let Clip {
        size: (width, height),
        frames,
        fps,
    } = *clip;
    // Times are in frames.
    let film = [0, 0, 0, fps, frames, 0x1_0000, 0x0100_0000, 0, 0];
    let film = [film.as_slice(), &AS_IT_IS, &[0; 6], &[2]].concat();
    // Enabled, and used.
    let track = [3, 0, 0, 1, 0, frames, 0, 0, 0, 0];
    let track = [track.as_slice(), &AS_IT_IS, &[width << 16, height << 16]].concat();
    // No language.
    let media = [0, 0, 0, fps, frames, 0x55c4_0000];
    let handler = [
        numbers(&[0, 0]).as_slice(),
        b"vide",
        &numbers(&[0; 3]),
        b"video\0",
    ]
    .concat();
    let place_of_data = atom(b"url ", &numbers(&[1]));
    let data = atom(
        b"dref",
        &[numbers(&[0, 1]).as_slice(), &place_of_data].concat(),
    );
    let table = [
        atom(
            b"stsd",
            &[numbers(&[0, 1]).as_slice(), &coding(width, height)].concat(),
        ),
        atom(b"stts", &numbers(&[0, 1, frames, 1])),
        atom(b"stsc", &numbers(&[0, 1, 1, frames, 1])),
        atom(
            b"stsz",
            &[numbers(&[0, 0, frames]).as_slice(), &numbers(sizes)].concat(),
        ),
        atom(b"stco", &numbers(&[0, 1, place])),
    ]
    .concat();
    let about = [
        atom(b"vmhd", &numbers(&[1, 0, 0])),
        atom(b"dinf", &data),
        atom(b"stbl", &table),
    ]
    .concat();
    let media = [
        atom(b"mdhd", &numbers(&media)),
        atom(b"hdlr", &handler),
        atom(b"minf", &about),
    ]
    .concat();
    let track = [atom(b"tkhd", &numbers(&track)), atom(b"mdia", &media)].concat();
    [atom(b"mvhd", &numbers(&film)), atom(b"trak", &track)].concat()
}

/// How a frame is coded: as JPEG.
fn coding(width: u32, height: u32) -> Vec<u8> {
    // Descriptors of MPEG-4: of a stream, its decoder (6C: JPEG, 11: what is seen), its packets.
    let decoder = b"\x03\x15\0\x01\0\x04\x0d\x6c\x11\0\0\0\0\0\0\0\0\0\0\0\x06\x01\x02";
    let decoder = atom(b"esds", &[[0; 4].as_slice(), decoder].concat());
    let mut entry = vec![0; 78];
    // Of the only place of data.
    entry[7] = 1;
    entry[24..26].copy_from_slice(&(width as u16).to_be_bytes());
    entry[26..28].copy_from_slice(&(height as u16).to_be_bytes());
    // 72 pixels per inch, one frame per sample, 24 bits of colour.
    entry[29] = 72;
    entry[33] = 72;
    entry[41] = 1;
    entry[75] = 24;
    entry[76..78].copy_from_slice(&[0xff; 2]);
    entry.extend_from_slice(&decoder);
    atom(b"mp4v", &entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boxes(mut rest: &[u8]) -> Vec<(&[u8], &[u8])> {
        let mut found = Vec::new();
        while let Some((head, after)) = rest.split_at_checked(8) {
            let length = u32::from_be_bytes(head[..4].try_into().unwrap()) as usize;
            found.push((&head[4..], &after[..length - 8]));
            rest = &after[length - 8..];
        }
        found
    }

    fn numbers_of(bytes: &[u8]) -> Vec<usize> {
        let number = |four: &[u8]| u32::from_be_bytes(four.try_into().unwrap()) as usize;
        bytes.chunks_exact(4).map(number).collect()
    }

    #[test]
    fn a_video_says_where_each_of_its_frames_lies_and_each_is_a_picture_of_its_own() {
        for size in [(640, 360), (50, 37), (1, 1)] {
            let clip = Clip {
                size,
                frames: 3,
                fps: 4,
            };
            let file = mp4(&clip, 5);
            let names: Vec<&[u8]> = boxes(&file).iter().map(|(name, _)| *name).collect();
            assert_eq!(names, [b"ftyp", b"moov", b"mdat"]);
            let mut table = boxes(&file)[1].1;
            for name in [b"trak", b"mdia", b"minf", b"stbl"] {
                table = boxes(table)
                    .into_iter()
                    .find(|(it, _)| it == name)
                    .unwrap()
                    .1;
            }
            let of = |name: &[u8]| {
                boxes(table)
                    .into_iter()
                    .find(|(it, _)| *it == name)
                    .unwrap()
                    .1
            };
            let sizes = &numbers_of(of(b"stsz"))[3..];
            assert_eq!(sizes.len(), 3);
            let mut place = numbers_of(of(b"stco"))[2];
            let mut frames = Vec::new();
            for length in sizes {
                let frame = &file[place..place + length];
                assert!(frame.starts_with(b"\xff\xd8") && frame.ends_with(b"\xff\xd9"));
                let at = frame.windows(2).position(|two| two == b"\xff\xc0").unwrap();
                let [high, low, wide, narrow] = frame[at + 5..at + 9] else {
                    panic!("a size");
                };
                let stated = [[wide, narrow], [high, low]].map(u16::from_be_bytes);
                assert_eq!((u32::from(stated[0]), u32::from(stated[1])), size);
                frames.push(frame);
                place += length;
            }
            assert_eq!(place, file.len());
            assert!(frames[0] != frames[1] && frames[1] != frames[2]);
        }
    }

    #[test]
    fn a_seed_decides_a_video() {
        let clip = Clip {
            size: (64, 64),
            frames: 2,
            fps: 4,
        };
        assert_eq!(mp4(&clip, 5), mp4(&clip, 5));
        assert_ne!(mp4(&clip, 5), mp4(&clip, 7));
    }
}
