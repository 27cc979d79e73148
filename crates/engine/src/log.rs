//! Logs of engines, read within bounds: they may be gigabytes long and hold any bytes.

use inferometer_text::hostile::printable;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Bytes of the beginning and of the end that are read: the beginning has the facts, the end
/// the cause.
const EXCERPT: u64 = 2 << 20;

/// Longest line that is kept, in characters.
const LONGEST_LINE: usize = 2000;

/// Most bytes that one look takes in.
const MOST_AT_ONCE: u64 = 4 << 20;

/// The lines of the beginning and of the end of a log, printable and cut; none if it cannot be
/// read.
pub fn excerpt(path: &Path) -> Vec<String> {
    let Ok(mut file) = File::open(path) else {
        return Vec::new();
    };
    let length = file.metadata().map_or(0, |data| data.len());
    let mut found = lines(&read_from(&mut file, 0, EXCERPT));
    if length > EXCERPT {
        let from = EXCERPT.max(length - EXCERPT.min(length));
        found.extend(lines(&read_from(&mut file, from, EXCERPT)));
    }
    found
}

fn read_from(file: &mut File, from: u64, most: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    if file.seek(SeekFrom::Start(from)).is_ok() {
        let _ = file.take(most).read_to_end(&mut bytes);
    }
    bytes
}

/// Progress bars end their lines with a carriage return.
fn lines(bytes: &[u8]) -> Vec<String> {
    bytes
        .split(|byte| matches!(byte, b'\n' | b'\r'))
        .filter(|line| !line.iter().all(u8::is_ascii_whitespace))
        .map(|line| {
            let cut = &line[..line.len().min(4 * LONGEST_LINE)];
            printable(&String::from_utf8_lossy(cut), LONGEST_LINE)
        })
        .collect()
}

#[derive(Debug)]
pub struct LogFollower {
    path: PathBuf,
    at: u64,
    /// A line that is not complete yet.
    rest: Vec<u8>,
}

impl LogFollower {
    /// Follows a log from its beginning; it need not exist yet.
    pub fn new(path: &Path) -> Self {
        LogFollower {
            path: path.to_owned(),
            at: 0,
            rest: Vec::new(),
        }
    }

    /// Complete lines since the last look. Of a flood only the end is read.
    pub fn look(&mut self) -> Vec<String> {
        let Ok(mut file) = File::open(&self.path) else {
            return Vec::new();
        };
        let length = file.metadata().map_or(0, |data| data.len());
        if length < self.at {
            // Cut or replaced.
            self.at = 0;
            self.rest.clear();
        }
        if length - self.at > MOST_AT_ONCE {
            self.at = length - MOST_AT_ONCE;
            self.rest.clear();
        }
        let new = read_from(&mut file, self.at, MOST_AT_ONCE);
        self.at += new.len() as u64;
        self.rest.extend(new);
        let complete = self
            .rest
            .iter()
            .rposition(|byte| matches!(byte, b'\n' | b'\r'));
        let Some(end) = complete else {
            if self.rest.len() as u64 > MOST_AT_ONCE {
                self.rest.clear();
            }
            return Vec::new();
        };
        let found = lines(&self.rest[..end]);
        self.rest.drain(..=end);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_growing_log_is_read_line_by_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("engine.log");
        let mut follower = LogFollower::new(&path);
        assert!(follower.look().is_empty());
        let mut file = File::create(&path).unwrap();
        file.write_all(b"one\ntw").unwrap();
        assert_eq!(follower.look(), ["one"]);
        file.write_all(b"o\r\n\xff\x1b[31mthree\n").unwrap();
        let more = follower.look();
        assert_eq!(more[0], "two");
        assert!(more[1].ends_with("[31mthree") && !more[1].contains('\u{1b}'));
        assert!(follower.look().is_empty());
    }

    #[test]
    fn of_a_huge_log_the_beginning_and_the_end_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("engine.log");
        let mut file = File::create(&path).unwrap();
        file.write_all(b"first line\n").unwrap();
        // A hole: as long as a real log, without the disk.
        file.seek(SeekFrom::Start(3 << 30)).unwrap();
        file.write_all(b"\nlast line\n").unwrap();
        let found = excerpt(&path);
        assert_eq!(found.first().unwrap(), "first line");
        assert_eq!(found.last().unwrap(), "last line");
        assert!(
            found
                .iter()
                .all(|line| line.chars().count() <= LONGEST_LINE + 1)
        );
        let mut follower = LogFollower::new(&path);
        assert_eq!(follower.look().last().unwrap(), "last line");
    }
}
