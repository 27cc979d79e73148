//! One file per format: what a row on disk means.

mod chat;
pub mod csv;
pub mod line;
mod question;
pub mod reader;
mod trace;

use inferometer_core::work::DataFormat;
use question::{Question, QuestionKind};
use reader::Reader;

/// The reader of a format. `field` takes the place of the usual field of the prompt; `json` says
/// whether rows of the format `line` are JSON.
pub fn reader(format: DataFormat, field: Option<&str>, json: bool) -> Box<dyn Reader> {
    let field = field.map(str::to_owned);
    let question = |kind, field| Box::new(Question { kind, field });
    match format {
        DataFormat::ShareGpt => Box::new(chat::ShareGpt),
        DataFormat::Conversations => Box::new(chat::Conversations),
        DataFormat::OpenQa => question(QuestionKind::OpenQa, field),
        DataFormat::Custom => question(QuestionKind::Custom, field),
        DataFormat::Instruct => question(QuestionKind::Instruct, field),
        DataFormat::Gsm8k => question(QuestionKind::Gsm8k, field),
        DataFormat::Line if json => Box::new(line::Json { field }),
        // A text is cut into pieces elsewhere; its lines are what a reader can make of it.
        DataFormat::Line | DataFormat::Text => Box::new(line::Plain),
        DataFormat::Mooncake => Box::new(trace::Mooncake::default()),
        DataFormat::BurstGpt => Box::new(csv::BurstGpt::default()),
        DataFormat::Azure => Box::new(csv::Azure::default()),
    }
}
