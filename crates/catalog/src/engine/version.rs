//! Versions of engines, ordered.

use std::fmt;
use std::str::FromStr;

/// A release: `0.6.3.post1` is after `0.6.3`; what stands behind `+` or `rc` does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    parts: [u32; 4],
}

/// Why a text is not a version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a version; write it as 0.6.3 or 0.32")]
pub struct BadVersion(String);

impl Version {
    /// A version without a post release.
    pub const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self {
            parts: [major, minor, patch, 0],
        }
    }
}

impl FromStr for Version {
    type Err = BadVersion;

    fn from_str(text: &str) -> Result<Self, BadVersion> {
        let bad = || BadVersion(text.chars().take(40).collect());
        let trimmed = text.trim();
        let release = trimmed.strip_prefix('v').unwrap_or(trimmed);
        let release = release.split('+').next().unwrap_or_default();
        let mut parts = [0; 4];
        let mut seen = 0;
        for piece in release.split('.') {
            if let Some(post) = piece.strip_prefix("post") {
                parts[3] = post.parse().map_err(|_| bad())?;
                break;
            }
            // MindIE writes `2.2.RC1`.
            let is_candidate = piece.to_ascii_lowercase().starts_with("rc") && seen > 0;
            if piece.starts_with("dev") || is_candidate {
                break;
            }
            // `0rc2` counts as the release it leads to.
            let digits = piece
                .find(|c: char| !c.is_ascii_digit())
                .map_or(piece, |end| &piece[..end]);
            if digits.is_empty() || seen == 3 {
                return Err(bad());
            }
            parts[seen] = digits.parse().map_err(|_| bad())?;
            seen += 1;
            if digits.len() < piece.len() {
                if !piece[digits.len()..].starts_with("rc") {
                    return Err(bad());
                }
                break;
            }
        }
        if seen == 0 {
            return Err(bad());
        }
        Ok(Self { parts })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch, post] = self.parts;
        write!(f, "{major}.{minor}.{patch}")?;
        if post > 0 {
            write!(f, ".post{post}")?;
        }
        Ok(())
    }
}

impl<'de> serde::Deserialize<'de> for Version {
    fn deserialize<D: serde::Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        String::deserialize(source)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

impl serde::Serialize for Version {
    fn serialize<S: serde::Serializer>(&self, sink: S) -> Result<S::Ok, S::Error> {
        sink.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        text.parse().unwrap()
    }

    #[test]
    fn versions_are_ordered_as_releases_came() {
        let row = ["0.2.7", "0.6.3", "v0.6.3.post1", "0.10.0", "0.32.0+cpu"];
        for pair in row.windows(2) {
            assert!(version(pair[0]) < version(pair[1]), "{pair:?}");
        }
        assert_eq!(version("0.32"), version("0.32.0"));
        assert_eq!(version("0.27.1rc2.dev4+g12"), version("0.27.1"));
        assert_eq!(version("2.2.RC1"), version("2.2"));
        assert!("RC1".parse::<Version>().is_err());
        assert_eq!(version("0.6.3.post1").to_string(), "0.6.3.post1");
    }

    #[test]
    fn what_is_no_version_is_named() {
        for bad in " latest v 1.2.3.4.5 1.x 99999999999.0 0.6b".split(' ') {
            assert!(bad.parse::<Version>().is_err(), "{bad}");
        }
    }
}
