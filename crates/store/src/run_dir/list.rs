//! The runs in a folder, newest first. One that cannot be read is listed with its error.

use super::{ENDING, RunDir, SCENARIO, SUMMARY, StorageError};
use inferometer_core::environment::{EndCause, Ending};
use serde::Deserialize;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedRun {
    pub path: PathBuf,
    pub label: Option<String>,
    /// Wall time of its beginning, RFC 3339.
    pub started: Option<String>,
    /// Valid or not; absent without a summary.
    pub valid: Option<bool>,
    /// Why it ended; absent while it goes on.
    pub cause: Option<EndCause>,
    /// Why it cannot be read, if it cannot.
    pub error: Option<String>,
}

/// Lists the run directories of a folder, the newest first; a folder that does not exist holds
/// none.
pub fn list(folder: &Path) -> Result<Vec<ListedRun>, StorageError> {
    let content = match fs::read_dir(folder) {
        Ok(content) => content,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(StorageError::io("read", folder, error)),
    };
    let mut runs = Vec::new();
    for entry in content {
        let path = entry
            .map_err(|e| StorageError::io("read", folder, e))?
            .path();
        if path.join(SCENARIO).is_file() {
            let run = listed(path);
            runs.push((began(&run), run));
        }
    }
    runs.sort_by(|(a, left), (b, right)| (b, &right.path).cmp(&(a, &left.path)));
    Ok(runs.into_iter().map(|(_, run)| run).collect())
}

/// The part of a summary that a list needs; the rest may be of any version.
#[derive(Deserialize)]
struct Verdict {
    valid: bool,
}

fn listed(path: PathBuf) -> ListedRun {
    let run = RunDir { path: path.clone() };
    let mut error = None;
    let mut note = |problem: StorageError| {
        error.get_or_insert(problem.to_string());
    };
    let label = run.options().map(|options| options.run.label);
    let started = run.environment().map(|environment| environment.started);
    let valid = if path.join(SUMMARY).exists() {
        run.read_json::<Verdict>(SUMMARY)
            .map(|verdict| Some(verdict.valid))
    } else {
        Ok(None)
    };
    let cause = if path.join(ENDING).exists() {
        run.read_json::<Ending>(ENDING)
            .map(|ending| Some(ending.cause))
    } else {
        Ok((!run.is_running()).then_some(EndCause::Killed))
    };
    ListedRun {
        label: label.map_err(&mut note).unwrap_or_default(),
        started: started.map_err(&mut note).ok(),
        valid: valid.map_err(&mut note).unwrap_or_default(),
        cause: cause.map_err(&mut note).unwrap_or_default(),
        error,
        path,
    }
}

/// When a run began, in nanoseconds since 1970: as it says, else by the age of its settings.
fn began(run: &ListedRun) -> Option<i128> {
    let stated = run.started.as_deref().and_then(instant);
    let by_file = || {
        let changed = fs::metadata(run.path.join(SCENARIO))
            .ok()?
            .modified()
            .ok()?;
        let since = changed.duration_since(UNIX_EPOCH).ok()?;
        i128::try_from(since.as_nanos()).ok()
    };
    stated.or_else(by_file)
}

/// An RFC 3339 time in nanoseconds since 1970. Runs of one folder may come from places with
/// different clocks, so the text itself does not sort.
pub(crate) fn instant(text: &str) -> Option<i128> {
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
        for text in [
            "",
            "yesterday",
            "2026-11-15",
            "2026-11-15T02:30:00",
            "2026-11-15T02:30:00+8",
        ] {
            assert_eq!(instant(text), None, "{text}");
        }
    }
}
