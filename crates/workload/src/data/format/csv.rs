//! Traces as tables: BurstGPT's and Azure's, by the names in their header.

use super::reader::{Reader, Reading};
use super::trace::{Clock, Entry, nanoseconds, tokens};
use crate::data::error::Fault;
use inferometer_text::hostile::printable;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::Offset;
use std::borrow::Cow;

/// BurstGPT: times in seconds, and failed requests as those without an answer.
#[derive(Debug, Default)]
pub struct BurstGpt(Table);

#[derive(Debug, Default)]
pub struct Azure(Table);

/// Names of the columns for time, prompt and answer.
type Names = [&'static str; 3];

pub const BURST_GPT: Names = ["Timestamp", "Request tokens", "Response tokens"];
pub const AZURE: Names = ["TIMESTAMP", "ContextTokens", "GeneratedTokens"];

impl Reader for BurstGpt {
    fn read(&mut self, row: &str) -> Result<Reading, Fault> {
        self.0.read(row, BURST_GPT, |time| {
            time.parse()
                .ok()
                .and_then(|time| nanoseconds(time, 1_000_000_000))
        })
    }
}

impl Reader for Azure {
    fn read(&mut self, row: &str) -> Result<Reading, Fault> {
        self.0.read(row, AZURE, time_of_day)
    }
}

/// `2023-11-16 18:15:46.6805900`, or the same with an offset.
pub fn time_of_day(time: &str) -> Option<i64> {
    // Without an offset it is UTC; which one does not matter, as only differences count.
    let date_only = time.get(..10)?;
    let has_offset = time[date_only.len()..].contains(['Z', 'z', '+', '-']);
    let time: Timestamp = if has_offset {
        time.parse().ok()?
    } else {
        let local: DateTime = time.parse().ok()?;
        Offset::UTC.to_timestamp(local).ok()?
    };
    i64::try_from(time.as_nanosecond()).ok()
}

#[derive(Debug, Default)]
struct Table {
    /// Places of the columns, once the header has been read.
    columns: Option<[usize; 3]>,
    clock: Clock,
}

impl Table {
    fn read(
        &mut self,
        row: &str,
        names: Names,
        time: impl Fn(&str) -> Option<i64>,
    ) -> Result<Reading, Fault> {
        let Some(columns) = self.columns else {
            self.columns = Some(places(row, names)?);
            return Ok(Reading::Header);
        };
        let mut values = [const { None }; 3];
        for (place, value) in fields(row).enumerate() {
            if let Some(which) = columns.iter().position(|column| *column == place) {
                values[which] = Some(value);
            }
        }
        let value = |which: usize| {
            let value = values[which].as_deref().map(str::trim);
            value
                .filter(|text| !text.is_empty())
                .ok_or(Fault::NoValue(names[which]))
        };
        let count = |which: usize| {
            value(which)?
                .parse()
                .ok()
                .and_then(tokens)
                .ok_or_else(|| Fault::WrongType {
                    field: names[which].to_owned(),
                    wanted: "a number of tokens",
                })
        };
        let text = value(0)?;
        let time = time(text).ok_or_else(|| Fault::NoTime(printable(text, 60)))?;
        self.clock
            .row(Entry::of_lengths(time, count(1)?, count(2)?))
    }
}

/// Where a header has the columns.
fn places(header: &str, names: Names) -> Result<[usize; 3], Fault> {
    let mut places = [0; 3];
    for (place, name) in places.iter_mut().zip(names) {
        *place = fields(header)
            .position(|field| field.trim().eq_ignore_ascii_case(name))
            .ok_or(Fault::NoColumn(name))?;
    }
    Ok(places)
}

pub fn is_header(row: &str, names: Names) -> bool {
    places(row, names).is_ok()
}

/// Whether a row is the header of some such table, be it complete or not.
pub fn is_like_header(row: &str) -> bool {
    let known = |field: &str| BURST_GPT.contains(&field) || AZURE.contains(&field);
    fields(row).filter(|field| known(field.trim())).count() > 1
}

/// The fields of a row, without the quotes around them.
fn fields(row: &str) -> impl Iterator<Item = Cow<'_, str>> {
    let mut rest = Some(row);
    std::iter::from_fn(move || {
        let text = rest?;
        let Some(mut quoted) = text.strip_prefix('"') else {
            let (field, after) = match memchr::memchr(b',', text.as_bytes()) {
                Some(comma) => (&text[..comma], Some(&text[comma + 1..])),
                None => (text, None),
            };
            rest = after;
            return Some(Cow::Borrowed(field));
        };
        let mut field = Cow::Borrowed("");
        loop {
            let (piece, after) = quoted.split_once('"').unwrap_or((quoted, ""));
            field += piece;
            match after.strip_prefix('"') {
                // Two quotes stand for one.
                Some(more) => {
                    field += "\"";
                    quoted = more;
                }
                None => {
                    // What stands between the quote and the comma belongs to the field.
                    let (tail, after) = match after.split_once(',') {
                        Some((tail, after)) => (tail, Some(after)),
                        None => (after, None),
                    };
                    field += tail;
                    rest = after;
                    return Some(field);
                }
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::row::RowContent;
    use std::time::Duration;

    fn at(reading: Result<Reading, Fault>) -> Duration {
        match reading {
            Ok(Reading::Row(row)) => match row.content {
                RowContent::Lengths { at, .. } => at,
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn quotes_hold_commas_quotes_and_line_breaks() {
        let split = |row| fields(row).map(Cow::into_owned).collect::<Vec<_>>();
        assert_eq!(split("a,,b "), ["a", "", "b "]);
        assert_eq!(split(r#""a,b","c""d",e"#), ["a,b", "c\"d", "e"]);
        assert_eq!(split("\"a\nb\",\"\""), ["a\nb", ""]);
        assert_eq!(split("\"open, end"), ["open, end"]);
        assert_eq!(split(""), [""]);
        assert_eq!(split("a,"), ["a", ""]);
    }

    #[test]
    fn burst_gpt_is_read_by_the_names_of_its_columns() {
        let mut trace = BurstGpt::default();
        let header = "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type";
        assert_eq!(trace.read(header), Ok(Reading::Header));
        let first = trace.read("5,1,2.5,\"Chat,GPT\",472,18,490,Conversation log");
        assert_eq!(at(first), Duration::ZERO);
        let failed = trace.read("7,,,ChatGPT,300,0,300,API log");
        assert_eq!(failed, Ok(Reading::Unusable));
        let later = trace.read("45.25,,,ChatGPT,1087,230,1317,API log");
        assert_eq!(at(later), Duration::from_millis(40_250));
        assert_eq!(
            trace.read("45,,,GPT-4,1,2,3,API log"),
            Err(Fault::Backwards)
        );
        assert_eq!(trace.read("50,,,GPT-4,0,2,3,API log"), Err(Fault::NoTokens));
        assert_eq!(
            trace.read("50,,,GPT-4"),
            Err(Fault::NoValue("Request tokens"))
        );
        assert!(trace.read("50,,,GPT-4,x,2,3,API log").is_err());
        assert!(trace.read("nan,,,GPT-4,1,2,3,API log").is_err());
    }

    #[test]
    fn azure_has_times_of_day_with_or_without_an_offset() {
        for times in [
            ["2023-11-16 18:15:46.6805900", "2023-11-16 18:15:50.9951690"],
            ["2024-05-10T23:59:58.5Z", "2024-05-11T00:00:02.814579Z"],
            [
                "2024-05-10 23:59:58.500000+00:00",
                "2024-05-11 01:00:02.814579+01:00",
            ],
        ] {
            let mut trace = Azure::default();
            let header = trace.read("TIMESTAMP,ContextTokens,GeneratedTokens");
            assert_eq!(header, Ok(Reading::Header));
            let mut read = |time| at(trace.read(&format!("{time},374,44")));
            assert_eq!(read(times[0]), Duration::ZERO);
            assert_eq!(
                read(times[1]),
                Duration::from_nanos(4_314_579_000),
                "{times:?}"
            );
        }
    }

    #[test]
    fn a_wrong_header_or_time_is_named() {
        let mut trace = Azure::default();
        let fault = trace
            .read("time,ContextTokens,GeneratedTokens")
            .unwrap_err();
        assert_eq!(fault.to_string(), "the header has no column 'TIMESTAMP'");
        assert!(
            trace
                .read("TIMESTAMP,ContextTokens,GeneratedTokens")
                .is_ok()
        );
        let fault = trace.read("yesterday,3,4").unwrap_err();
        assert_eq!(fault.to_string(), "'yesterday' is not a time");
        assert!(trace.read("2023-11-16 18:15:46,3,4").is_ok());
    }
}
