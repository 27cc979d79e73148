//! Synthetic videos: how many a request has, of how many frames, and of which sizes.

use super::{fields, sizes, written};
use crate::length::LengthSpec;
use crate::value::{BadValue, serde_as_text};
use std::fmt;
use std::str::FromStr;

/// `n=1,frames=uniform(8,32),size=640x360|1280x720,fps=4`.
#[derive(Clone, Debug, PartialEq)]
pub struct VideoSpec {
    /// Videos of a request.
    pub count: LengthSpec,
    /// Frames of each.
    pub frames: LengthSpec,
    /// Width and height in pixels; each video has one of them, all as often.
    pub sizes: Vec<(u32, u32)>,
    /// Frames per second.
    pub fps: u32,
}

/// Most videos of a request.
const MOST: u32 = 16;
/// Most pixels of a side.
const LONGEST_SIDE: u32 = 4096;
/// Most pixels of all frames of a request: beyond, it would be tens of megabytes.
const MOST_PIXELS: u64 = 1 << 31;
/// Most frames per second.
const FASTEST: u32 = 240;

const TAKES: &str = "write n=1,frames=16,size=640x360,fps=4 (n from 1 to 16; n and frames may be uniform(8,32), several sizes are parted by |; at most a thousand frames of 1920x1080 in all, or as many pixels)";

impl FromStr for VideoSpec {
    type Err = BadValue;

    fn from_str(text: &str) -> Result<Self, BadValue> {
        let bad = || BadValue::new(text, TAKES);
        let mut spec = VideoSpec {
            count: LengthSpec::fixed(1),
            frames: LengthSpec::fixed(16),
            sizes: vec![(640, 360)],
            fps: 4,
        };
        let given = fields(text);
        for (name, value) in &given {
            match *name {
                "n" => spec.count = value.parse().map_err(|_| bad())?,
                "frames" => spec.frames = value.parse().map_err(|_| bad())?,
                "size" => spec.sizes = sizes(value, LONGEST_SIDE).ok_or_else(bad)?,
                "fps" => spec.fps = value.parse().map_err(|_| bad())?,
                _ => return Err(bad()),
            }
        }
        let [most, longest] = [&spec.count, &spec.frames].map(LengthSpec::longest);
        let area = |&(width, height): &(u32, u32)| u64::from(width) * u64::from(height);
        let largest = spec.sizes.iter().map(area).max().unwrap_or_default();
        let fits = |(most, longest): (u32, u32)| {
            let frames = u64::from(most) * u64::from(longest);
            most <= MOST && frames.saturating_mul(largest) <= MOST_PIXELS
        };
        let moves = (1..=FASTEST).contains(&spec.fps);
        if given.is_empty() || !moves || !most.zip(longest).is_some_and(fits) {
            return Err(bad());
        }
        Ok(spec)
    }
}

impl fmt::Display for VideoSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes = written(&self.sizes);
        let VideoSpec {
            count, frames, fps, ..
        } = self;
        write!(f, "n={count},frames={frames},size={sizes},fps={fps}")
    }
}

serde_as_text!(VideoSpec);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back_and_what_is_left_out_is_usual() {
        let usual = "n=1,frames=16,size=640x360,fps=4";
        let drawn = "n=uniform(1,2),frames=uniform(8,32),size=64x64|1280x720,fps=30";
        let small = "n=1,frames=8,size=320x240,fps=30";
        for (text, whole) in [
            (usual, usual),
            (drawn, drawn),
            ("2", "n=2,frames=16,size=640x360,fps=4"),
            ("fps=30, size=320x240,frames=8", small),
        ] {
            assert_eq!(text.parse::<VideoSpec>().unwrap().to_string(), whole);
        }
    }

    #[test]
    fn impossible_ones_are_refused() {
        let bad = " n=0 n=17,frames=1,size=8x8 frames=0 frames=2.5 frames=normal(16,2) size=640 \
                   size=5000x10 fps=0 fps=241 frames=1100,size=1920x1080 n=16,frames=4000000000 \
                   seconds=3";
        for bad in bad.split(' ') {
            let error = bad.parse::<VideoSpec>().unwrap_err().to_string();
            assert!(error.contains("write n=1,frames=16"), "{bad}: {error}");
        }
    }
}
