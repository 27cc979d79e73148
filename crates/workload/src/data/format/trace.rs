//! Traces: when requests came and how long they were. Mooncake's is here, tables are beside it.

use super::reader::{Reader, Reading};
use crate::data::error::Fault;
use crate::data::object::from_json;
use crate::data::row::{Row, RowContent};
use inferometer_core::length::LONGEST;
use serde::Deserialize;
use std::sync::Arc;
use std::time::Duration;

/// The clock of a trace: it begins with the first row and never goes back.
#[derive(Debug, Default)]
pub struct Clock {
    first_ns: Option<i64>,
    last_ns: i64,
}

impl Clock {
    /// A row of the trace; times are nanoseconds since whenever.
    pub fn row(
        &mut self,
        time_ns: i64,
        input_tokens: u32,
        output_tokens: u32,
        blocks: Arc<[u64]>,
    ) -> Result<Reading, Fault> {
        let first = self.first_ns.unwrap_or(time_ns);
        if self.first_ns.is_some() && time_ns < self.last_ns {
            return Err(Fault::Backwards);
        }
        if output_tokens > 0 && input_tokens == 0 {
            return Err(Fault::NoTokens);
        }
        (self.first_ns, self.last_ns) = (Some(first), time_ns);
        if output_tokens == 0 {
            return Ok(Reading::Unusable);
        }
        Ok(Reading::Row(Row {
            content: RowContent::Lengths {
                at: Duration::from_nanos(time_ns.abs_diff(first)),
                input_tokens,
                blocks,
            },
            output_tokens: Some(output_tokens),
            reference: None,
            expected: None,
        }))
    }
}

/// A time as a number of some unit, in nanoseconds; none if it is negative or beyond a century.
pub fn nanoseconds(time: f64, unit_ns: u32) -> Option<i64> {
    let nanoseconds = time * f64::from(unit_ns);
    (0.0..9e18)
        .contains(&nanoseconds)
        .then_some(nanoseconds.round() as i64)
}

/// A number of tokens that a model could take.
pub fn tokens(number: u64) -> Option<u32> {
    u32::try_from(number)
        .ok()
        .filter(|tokens| *tokens <= LONGEST)
}

/// `{"timestamp", "input_length", "output_length", "hash_ids"}`, the first in milliseconds.
#[derive(Debug, Default)]
pub struct Mooncake {
    clock: Clock,
}

#[derive(Deserialize)]
struct Request {
    timestamp: f64,
    input_length: u64,
    output_length: u64,
    #[serde(default)]
    hash_ids: Vec<u64>,
}

impl Reader for Mooncake {
    fn read(&mut self, row: &str) -> Result<Reading, Fault> {
        let request: Request = from_json(row)?;
        let wrong = |field: &str, wanted| Fault::WrongType {
            field: field.to_owned(),
            wanted,
        };
        let time = nanoseconds(request.timestamp, 1_000_000)
            .ok_or_else(|| wrong("timestamp", "a time in milliseconds"))?;
        let input = tokens(request.input_length)
            .ok_or_else(|| wrong("input_length", "a possible number of tokens"))?;
        let output = tokens(request.output_length)
            .ok_or_else(|| wrong("output_length", "a possible number of tokens"))?;
        self.clock.row(time, input, output, request.hash_ids.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(timestamp: &str, input: u32, output: u32) -> String {
        format!(
            r#"{{"timestamp": {timestamp}, "input_length": {input}, "output_length": {output}, "hash_ids": [1, 2]}}"#
        )
    }

    #[test]
    fn times_count_from_the_first_row() {
        let mut trace = Mooncake::default();
        let mut at = |timestamp| match trace.read(&request(timestamp, 600, 5)) {
            Ok(Reading::Row(row)) => {
                assert_eq!(row.output_tokens, Some(5));
                match row.content {
                    RowContent::Lengths { at, blocks, .. } => {
                        assert_eq!(*blocks, [1, 2]);
                        at
                    }
                    other => panic!("{other:?}"),
                }
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(at("27482"), Duration::ZERO);
        assert_eq!(at("27482.5"), Duration::from_micros(500));
        assert_eq!(at("30482"), Duration::from_secs(3));
    }

    #[test]
    fn a_trace_that_goes_back_is_bad_and_its_clock_stays() {
        let mut trace = Mooncake::default();
        assert!(trace.read(&request("10", 6, 5)).is_ok());
        assert_eq!(trace.read(&request("9", 6, 5)), Err(Fault::Backwards));
        assert!(trace.read(&request("10", 6, 5)).is_ok());
    }

    #[test]
    fn requests_without_an_answer_are_unusable_and_without_a_prompt_bad() {
        let mut trace = Mooncake::default();
        assert_eq!(trace.read(&request("1", 6, 0)), Ok(Reading::Unusable));
        assert_eq!(trace.read(&request("1", 0, 6)), Err(Fault::NoTokens));
        for timestamp in ["-1", "1e300", "\"1\"", "null"] {
            assert!(trace.read(&request(timestamp, 6, 5)).is_err());
        }
        assert!(trace.read(&request("1", u32::MAX, 5)).is_err());
    }
}
