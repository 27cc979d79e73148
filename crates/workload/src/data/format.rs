//! One file per format: what a row on disk means.

mod chat;
pub mod csv;
pub mod line;
mod question;
pub mod reader;
mod trace;

use inferometer_core::work::DataFormat;
use reader::Reader;

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
