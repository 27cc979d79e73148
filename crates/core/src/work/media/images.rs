//! Synthetic images: how many a request has, and of which sizes.

use super::{fields, sizes, written};
use crate::length::LengthSpec;
use crate::value::{BadValue, serde_as_text};
use std::fmt;
use std::str::FromStr;

/// `n=uniform(1,3),size=512x512|1280x720`.
#[derive(Clone, Debug, PartialEq)]
pub struct ImageSpec {
    /// Images of a request.
    pub count: LengthSpec,
    /// Width and height in pixels; each image has one of them, all as often.
    pub sizes: Vec<(u32, u32)>,
}

/// Most pixels of a side: beyond, a request would be hundreds of megabytes.
const LONGEST_SIDE: u32 = 8192;
/// Most images of a request.
const MOST: u32 = 64;

const TAKES: &str = "write n=2,size=512x512 (n from 1 to 64, or as in uniform(1,3); sides from 1 to 8192 pixels, several sizes are parted by |)";

impl FromStr for ImageSpec {
    type Err = BadValue;

    fn from_str(text: &str) -> Result<Self, BadValue> {
        let bad = || BadValue::new(text, TAKES);
        let mut spec = ImageSpec {
            count: LengthSpec::fixed(1),
            sizes: vec![(512, 512)],
        };
        for (name, value) in fields(text) {
            match name {
                "n" => spec.count = value.parse().map_err(|_| bad())?,
                "size" => spec.sizes = sizes(value, LONGEST_SIDE).ok_or_else(bad)?,
                _ => return Err(bad()),
            }
        }
        if spec.count.longest().is_none_or(|most| most > MOST) {
            return Err(bad());
        }
        Ok(spec)
    }
}

impl fmt::Display for ImageSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "n={},size={}", self.count, written(&self.sizes))
    }
}

serde_as_text!(ImageSpec);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_sizes_read_back_and_impossible_ones_are_refused() {
        for text in ["n=uniform(1,3),size=512x512|1280x720", "n=2,size=64x64"] {
            assert_eq!(text.parse::<ImageSpec>().unwrap().to_string(), text);
        }
        let usual: ImageSpec = "2".parse().unwrap();
        assert_eq!(usual.to_string(), "n=2,size=512x512");
        for bad in "n=0 n=1,size=0x5 n=1,size=9000x9000 size=5 n=100 n=normal(2,1)".split(' ') {
            assert!(bad.parse::<ImageSpec>().is_err(), "{bad}");
        }
    }
}
