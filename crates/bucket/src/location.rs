//! Places in object stores, as they are typed: `s3://BUCKET/PREFIX`.

use crate::error::BucketError;
use std::fmt;
use std::str::FromStr;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// S3, or what speaks like it.
    S3,
    /// Google Cloud Storage, by its S3 interface.
    Gs,
    /// Azure Blob Storage.
    Az,
}

const SCHEMES: [Scheme; 3] = [Scheme::S3, Scheme::Gs, Scheme::Az];

/// Longest key that stores take.
const LONGEST: usize = 900;

impl Scheme {
    pub fn word(self) -> &'static str {
        match self {
            Scheme::S3 => "s3",
            Scheme::Gs => "gs",
            Scheme::Az => "az",
        }
    }

    fn of(text: &str) -> Option<(Scheme, &str)> {
        let (word, rest) = text.split_once("://")?;
        let known = SCHEMES.into_iter().find(|scheme| scheme.word() == word)?;
        Some((known, rest))
    }
}

/// A bucket, or container, and what names in it begin with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    pub scheme: Scheme,
    pub bucket: String,
    /// Segments between slashes, none of them empty; may be none.
    segments: Vec<String>,
    /// It ends in a slash, or names nothing but a bucket: a place for many results.
    is_folder: bool,
}

impl Location {
    /// Whether a text is meant for an object store.
    pub fn is_meant_by(text: &str) -> bool {
        Scheme::of(text).is_some()
    }

    /// Whether it is a place for many: `s3://bucket` or `s3://bucket/nightly/`.
    pub fn is_folder(&self) -> bool {
        self.is_folder
    }

    /// The last segment.
    pub fn name(&self) -> Option<&str> {
        self.segments.last().map(String::as_str)
    }

    /// A result of this name below it.
    pub fn below(&self, name: &str) -> Result<Location, BucketError> {
        format!("{}/{name}", self.to_string().trim_end_matches('/')).parse()
    }

    /// The key of a file below it; with an empty name, what all of them begin with.
    pub fn key(&self, file: &str) -> String {
        let prefix = self.segments.iter().map(|segment| format!("{segment}/"));
        prefix.collect::<String>() + file
    }
}

impl FromStr for Location {
    type Err = BucketError;

    fn from_str(text: &str) -> Result<Self, BucketError> {
        let refused = |why| BucketError::NotALocation {
            text: inferometer_text::hostile::printable(text, 200),
            why,
        };
        let (scheme, rest) = Scheme::of(text).ok_or_else(|| refused("its beginning is unknown"))?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let of_name = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if !(3..=63).contains(&bucket.len()) || !bucket.chars().all(of_name) {
            return Err(refused(
                "a bucket has 3 to 63 letters, digits, dots, dashes and underscores",
            ));
        }
        let is_folder = prefix.is_empty() || prefix.ends_with('/');
        let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
        let segments: Vec<String> = match prefix {
            "" => Vec::new(),
            prefix => prefix.split('/').map(str::to_owned).collect(),
        };
        if !segments.iter().all(|segment| is_segment(segment)) {
            return Err(refused(
                "a segment of the path is empty, '.', '..', or has control characters or one of \\ ? # @",
            ));
        }
        if prefix.len() > LONGEST {
            return Err(refused("the path is longer than stores take"));
        }
        Ok(Location {
            scheme,
            bucket: bucket.to_owned(),
            segments,
            is_folder,
        })
    }
}

/// Whether a segment of a key can be the name of a file on any disk.
fn is_segment(segment: &str) -> bool {
    let odd = |c: char| c.is_control() || "\\?#@".contains(c);
    !segment.is_empty()
        && segment.len() <= 255
        && ![".", ".."].contains(&segment)
        && !segment.contains(odd)
}

/// Whether the rest of a key can be a path below a folder: others are none of ours.
pub(crate) fn is_path(rest: &str) -> bool {
    rest.len() <= 1024 && rest.split('/').count() <= 32 && rest.split('/').all(is_segment)
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme.word(), self.bucket)?;
        for segment in &self.segments {
            write!(f, "/{segment}")?;
        }
        f.write_str(if self.is_folder { "/" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_bucket_and_a_path() {
        let place: Location = "s3://lab-1/nightly/run=7".parse().unwrap();
        assert_eq!((place.scheme, place.bucket.as_str()), (Scheme::S3, "lab-1"));
        assert_eq!(place.name(), Some("run=7"));
        assert_eq!(
            place.key("records/a.parquet"),
            "nightly/run=7/records/a.parquet"
        );
        assert_eq!(place.key(""), "nightly/run=7/");
        assert_eq!(place.to_string(), "s3://lab-1/nightly/run=7");
        assert!(!place.is_folder());
    }

    #[test]
    fn a_slash_at_the_end_makes_room_for_many() {
        for (text, key) in [
            ("gs://lab", ""),
            ("gs://lab/", ""),
            ("az://lab/nightly/", "nightly/"),
        ] {
            let place: Location = text.parse().unwrap();
            assert!(place.is_folder(), "{text}");
            assert_eq!(place.key(""), key);
            let one = place.below("first").unwrap();
            assert!(!one.is_folder());
            assert_eq!(one.key(""), format!("{key}first/"));
        }
    }

    #[test]
    fn what_is_no_place_is_refused() {
        let of_s3 = "|ab|/x|a b c/x|key:secret@bucket/x|bucket//x|bucket/../x|bucket/a/./b|\
                     bucket/a?b|bucket/a\u{1b}b";
        let of_s3 = of_s3.split('|').map(|place| format!("s3://{place}"));
        for bad in of_s3.chain(["ftp://bucket/x", "bucket/x"].map(str::to_owned)) {
            assert!(bad.parse::<Location>().is_err(), "{bad}");
        }
        assert!(!is_path("a/../b") && !is_path("/a") && !is_path("a//b") && is_path("a/b.c"));
    }
}
