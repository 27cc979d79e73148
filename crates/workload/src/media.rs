//! Media that we make for requests: images, videos and sounds, new for each request.

mod images;
mod jpeg;
mod sounds;
mod video;

pub use images::png;
pub use sounds::wav;
pub use video::{Clip, mp4};

use crate::{LengthError, Nonce};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use images::Images;
use inferometer_core::medium::Medium;
use inferometer_core::seed::{Dimension, rng};
use inferometer_core::sound::Sound;
use inferometer_core::work::MediaSpec;
use rand::Rng;
use sounds::Sounds;
use std::cell::RefCell;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use video::Videos;

pub struct Media {
    images: Option<Images>,
    videos: Option<Videos>,
    sounds: Option<Sounds>,
    seed: u64,
}

impl Media {
    pub fn new(spec: &MediaSpec, seed: u64, nonce: Option<Nonce>) -> Result<Self, LengthError> {
        let mut mixed = DefaultHasher::new();
        nonce.map(|nonce| nonce.to_string()).hash(&mut mixed);
        Ok(Media {
            images: spec.images.as_ref().map(Images::new).transpose()?,
            videos: spec.video.as_ref().map(Videos::new).transpose()?,
            sounds: spec.audio.as_ref().map(Sounds::new).transpose()?,
            seed: match nonce {
                Some(_) => seed ^ mixed.finish(),
                None => seed,
            },
        })
    }

    pub fn is_empty(&self) -> bool {
        self.images.is_none() && self.videos.is_none() && self.sounds.is_none()
    }

    /// Those of a turn of a session.
    pub fn of(&self, session: u64, turn: u32) -> Vec<Medium> {
        self.sketches(session, turn)
            .iter()
            .map(Sketch::made)
            .collect()
    }

    /// What they are like, for whoever needs no bytes.
    pub fn sketches(&self, session: u64, turn: u32) -> Vec<Sketch> {
        let random = |dimension| rng(self.seed, dimension, session ^ (u64::from(turn) << 40));
        let mut all = Vec::new();
        if let Some(images) = &self.images {
            all.extend(images.draw(&mut random(Dimension::Images)));
        }
        if let Some(videos) = &self.videos {
            all.extend(videos.draw(&mut random(Dimension::Video)));
        }
        if let Some(sounds) = &self.sounds {
            all.extend(sounds.draw(&mut random(Dimension::Audio)));
        }
        all
    }
}

/// A medium that can be made, whose noise a seed decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sketch {
    /// Width and height in pixels.
    Image {
        size: (u32, u32),
        seed: u64,
    },
    Video {
        clip: Clip,
        seed: u64,
    },
    Sound {
        seconds: u32,
        seed: u64,
    },
}

impl Sketch {
    /// Images and videos as data URLs.
    fn made(&self) -> Medium {
        match *self {
            Sketch::Image { size, seed } => Medium::Image(IMAGE.with_borrow_mut(|image| {
                image.clear();
                images::write_png(image, size, seed);
                let url = data_url("image/png", image);
                image.shrink_to(MOST_KEPT);
                url
            })),
            Sketch::Video { clip, seed } => Medium::Video(data_url("video/mp4", &mp4(&clip, seed))),
            Sketch::Sound { seconds, seed } => {
                Medium::Sound(Sound::new(wav(seconds, seed)).expect("it is a WAV"))
            }
        }
    }
}

/// Memory that a thread keeps for the next image.
const MOST_KEPT: usize = 8 << 20;

thread_local! {
    // Where an image and its base64 are written. Memory that is new each time costs as much as all
    // the rest.
    static IMAGE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static URL: RefCell<String> = const { RefCell::new(String::new()) };
}

fn data_url(kind: &str, bytes: &[u8]) -> Arc<str> {
    URL.with_borrow_mut(|url| {
        url.clear();
        url.reserve(kind.len() + 16 + bytes.len().div_ceil(3) * 4);
        url.extend(["data:", kind, ";base64,"]);
        STANDARD.encode_string(bytes, url);
        let made = Arc::from(url.as_str());
        url.shrink_to(MOST_KEPT);
        made
    })
}

/// One of several, all as often.
fn one_of<T: Copy>(several: &[T], random: &mut impl Rng) -> T {
    several[(random.next_u64() % several.len() as u64) as usize]
}

/// Xorshift: noise for the eye and the ear, and nothing that a cache has seen.
struct Noise(u64);

impl Noise {
    fn new(seed: u64) -> Self {
        Noise(seed | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_core::work::{AudioSpec, ImageSpec, VideoSpec};

    fn made(nonce: Option<Nonce>) -> Media {
        let spec = MediaSpec {
            images: Some(
                "n=uniform(1,3),size=16x16|32x8"
                    .parse::<ImageSpec>()
                    .unwrap(),
            ),
            video: Some(
                "n=1,frames=uniform(1,4),size=16x16"
                    .parse::<VideoSpec>()
                    .unwrap(),
            ),
            audio: Some("n=1,seconds=uniform(1,3)".parse::<AudioSpec>().unwrap()),
        };
        Media::new(&spec, 7, nonce).unwrap()
    }

    #[test]
    fn the_same_place_has_the_same_media_and_another_run_has_others() {
        let [one, other] = [1, 2].map(|random| Some(Nonce::from_random(random)));
        let media = made(one);
        let counts: Vec<usize> = (0..60).map(|session| media.of(session, 0).len()).collect();
        assert!((3..=5).all(|count| counts.contains(&count)), "{counts:?}");
        assert_eq!(media.of(3, 1), media.of(3, 1));
        let all = |media: &Media, session, turn| media.of(session, turn);
        for others in [
            all(&media, 3, 2),
            all(&media, 4, 1),
            all(&made(other), 3, 1),
            all(&made(None), 3, 1),
        ] {
            for medium in media.of(3, 1) {
                assert!(!others.contains(&medium), "{medium:?}");
            }
        }
    }
}
