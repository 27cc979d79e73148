//! What every format does: a raw row in, its meaning out.

use crate::data::error::Fault;
use crate::data::row::Row;
use std::sync::Arc;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reading {
    Row(Row),
    /// Several requests: those of a session.
    Rows(Vec<Row>),
    /// Sound, but nothing to send: a conversation without an answer, a failed request.
    Unusable,
    /// Not a row at all: the header of a table.
    Header,
}

impl Reading {
    /// The same row, of which this is expected.
    pub fn expecting(mut self, expected: Option<Arc<str>>) -> Self {
        if let Reading::Row(row) = &mut self {
            row.expected = expected;
        }
        self
    }
}

/// Gives raw rows their meaning, in the order of the file.
pub trait Reader: Send {
    fn read(&mut self, row: &str) -> Result<Reading, Fault>;
}

/// A row with this prompt; unusable if that is blank.
pub fn text_row(prompt: &str, output_tokens: Option<u32>, reference: Option<&str>) -> Reading {
    if prompt.trim().is_empty() {
        return Reading::Unusable;
    }
    Reading::Row(Row {
        output_tokens,
        reference: reference.map(Into::into),
        ..Row::of_text(prompt)
    })
}
