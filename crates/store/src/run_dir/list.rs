//! The runs in a folder, newest first. One that cannot be read is listed with its error.

use super::{RunDir, SCENARIO, SUMMARY, StorageError};
use serde::Deserialize;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedRun {
    pub path: PathBuf,
    /// Why it cannot be read, if it cannot.
    pub error: Option<String>,
}

/// Lists the run directories of a folder, the newest first; a folder that does not exist holds
/// none.
pub fn list(folder: &Path) -> Result<Vec<ListedRun>, StorageError> {
    let paths = folders(folder)?.into_iter();
    let is_run = |path: &PathBuf| path.join(SCENARIO).is_file();
    let mut runs: Vec<_> = paths.filter(is_run).map(listed).collect();
    runs.sort_by(|(a, left), (b, right)| (b, &right.path).cmp(&(a, &left.path)));
    Ok(runs.into_iter().map(|(_, run)| run).collect())
}

/// The folders in a folder; none if it does not exist. A link may lead out of it, to what its owner
/// does not show.
pub(crate) fn folders(folder: &Path) -> Result<Vec<PathBuf>, StorageError> {
    let content = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        content => content.and_then(|entries| {
            let own = entries.filter(|entry| match entry {
                Ok(entry) => entry.file_type().is_ok_and(|it| it.is_dir()),
                Err(_) => true,
            });
            own.map(|entry| Ok(entry?.path())).collect()
        }),
    };
    content.map_err(|e| StorageError::io("read", folder, e))
}

/// The part of a summary that must be readable; the rest may be of any version.
#[derive(Deserialize)]
struct Verdict {
    #[serde(rename = "valid")]
    _valid: bool,
}

/// A run, and when it began: as it says, else by the age of its settings.
fn listed(path: PathBuf) -> (Option<i128>, ListedRun) {
    let run = RunDir { path };
    let environment = run.environment();
    let stated = (environment.as_ref().ok()).and_then(|it| instant(&it.started));
    let began = stated.or_else(|| modified(&run.path.join(SCENARIO)));
    let read = || {
        run.options()?;
        environment?;
        if run.path.join(SUMMARY).exists() {
            run.read_json::<Verdict>(SUMMARY)?;
        }
        run.stored_ending()
    };
    let error = read().err().map(|error| error.to_string());
    let path = run.path;
    (began, ListedRun { path, error })
}

/// When a file was last changed, in nanoseconds since 1970.
pub fn modified(path: &Path) -> Option<i128> {
    let changed = fs::metadata(path).ok()?.modified().ok()?;
    let since = changed.duration_since(UNIX_EPOCH).ok()?;
    i128::try_from(since.as_nanos()).ok()
}

/// An RFC 3339 time in nanoseconds since 1970. Runs of one folder may come from places with
/// different clocks, so the text itself does not sort.
pub fn instant(text: &str) -> Option<i128> {
    let number = |range: std::ops::Range<usize>| -> Option<i128> {
        let digits = text.get(range)?;
        let all_digits = digits.bytes().all(|b| b.is_ascii_digit());
        all_digits.then(|| digits.parse().ok()).flatten()
    };
    let days = days(number(0..4)?, number(5..7)?, number(8..10)?);
    let seconds = (number(11..13)? * 60 + number(14..16)?) * 60 + number(17..19)?;
    let rest = text.get(19..)?;
    let zone_at = rest.find(['Z', 'z', '+', '-'])?;
    let (fraction, zone) = rest.split_at(zone_at);
    let nanos = match fraction.strip_prefix('.') {
        Some(digits) => format!("{digits:0<9}").get(..9)?.parse().ok()?,
        None => 0,
    };
    let offset = match zone.split_at(1) {
        ("Z" | "z", "") => 0,
        (sign, span) => {
            let (hours, minutes) = span.split_once(':')?;
            let minutes = hours.parse::<i128>().ok()? * 60 + minutes.parse::<i128>().ok()?;
            if sign == "-" { -minutes } else { minutes }
        }
    };
    Some(((days * 86_400 + seconds) - offset * 60) * 1_000_000_000 + nanos)
}

/// Days from 1970-01-01 to a date of the Gregorian calendar, counting years from March so that
/// the leap day comes last.
fn days(year: i128, month: i128, day: i128) -> i128 {
    let year = if month <= 2 { year - 1 } else { year };
    let month = (month + 9) % 12;
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    year * 365 + year / 4 - year / 100 + year / 400 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_right_in_every_zone() {
        let cases = [
            ("1970-01-01T00:00:00Z", 0),
            ("2000-02-29T12:30:15.25Z", 951_827_415_250_000_000),
            ("2026-11-15T02:30:00+08:00", 1_794_681_000_000_000_000),
            ("2026-11-14T18:30:00Z", 1_794_681_000_000_000_000),
        ];
        for (text, nanos) in cases {
            assert_eq!(instant(text), Some(nanos), "{text}");
        }
        for text in " yesterday 2026-11-15 2026-11-15T02:30:00 2026-11-15T02:30:00+8".split(' ') {
            assert_eq!(instant(text), None, "{text}");
        }
    }
}
