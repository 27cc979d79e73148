//! One file a format: what a row on disk means.

mod chat;
pub mod csv;
pub mod line;
mod question;
mod trace;

use super::error::Fault;
use super::row::Row;
use inferometer_core::work::DataFormat;

/// What came of reading a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reading {
    Row(Row),
    /// Sound, but nothing to send: a conversation without an answer, a failed request.
    Unusable,
    /// Not a row at all: the header of a table.
    Header,
}

/// Gives raw rows their meaning, in the order of the file.
pub trait Reader: Send {
    fn read(&mut self, row: &str) -> Result<Reading, Fault>;
}

/// The reader of a format. `field` takes the place of the usual field of the prompt; `json` says
/// whether rows of the format `line` are JSON.
pub fn reader(format: DataFormat, field: Option<&str>, json: bool) -> Box<dyn Reader> {
    let field = field.map(str::to_owned);
    match format {
        DataFormat::ShareGpt => Box::new(chat::ShareGpt),
        DataFormat::Conversations => Box::new(chat::Conversations),
        DataFormat::OpenQa => Box::new(question::OpenQa { field }),
        DataFormat::Custom => Box::new(question::Custom { field }),
        DataFormat::Instruct => Box::new(question::Instruct { field }),
        DataFormat::Gsm8k => Box::new(question::Gsm8k { field }),
        DataFormat::Line if json => Box::new(line::Json { field }),
        // A text is cut into pieces elsewhere; its lines are what a reader can make of it.
        DataFormat::Line | DataFormat::Text => Box::new(line::Plain),
        DataFormat::Mooncake => Box::new(trace::Mooncake::default()),
        DataFormat::BurstGpt => Box::new(csv::BurstGpt::default()),
        DataFormat::Azure => Box::new(csv::Azure::default()),
    }
}

/// A row that says this, unless it says nothing.
fn said(prompt: &str, output_tokens: Option<u32>, reference: Option<&str>) -> Reading {
    if prompt.trim().is_empty() {
        return Reading::Unusable;
    }
    Reading::Row(Row {
        output_tokens,
        reference: reference.map(Into::into),
        ..Row::of_text(prompt)
    })
}
