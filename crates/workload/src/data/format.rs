//! One file per format: what a row on disk means.

mod agentic;
mod chat;
pub mod csv;
pub mod line;
mod litellm;
pub mod logged;
mod otel;
mod question;
pub mod reader;
mod trace;
pub mod vllm_log;

use crate::tokenizer::Tokenizer;
use inferometer_core::work::DataFormat;
use logged::LogReader;
use question::{Question, QuestionKind};
use reader::Reader;

/// How the rows of a file are to be understood.
#[derive(Clone, Copy, Default)]
pub struct Manner<'a> {
    /// Takes the place of the usual field of the prompt.
    pub field: Option<&'a str>,
    /// Tokens of a block, whatever the rows say.
    pub block_tokens: Option<u32>,
    /// Counts the prompts of a log; absent: a common one.
    pub tokenizer: Option<&'a dyn Tokenizer>,
}

/// The reader of a format. `json` says whether rows of the format `line` are JSON.
pub fn reader(format: DataFormat, manner: Manner<'_>, json: bool) -> Box<dyn Reader> {
    let Manner {
        field,
        block_tokens,
        ..
    } = manner;
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
        DataFormat::Mooncake | DataFormat::TimedTrace | DataFormat::Trace | DataFormat::Bailian => {
            Box::new(trace::Hashed::new(format, block_tokens))
        }
        DataFormat::Agentic => Box::new(agentic::Agentic::new(block_tokens)),
        // Logs are read by a [`LogReader`]; alone, their rows are nothing to send.
        DataFormat::Otel | DataFormat::LiteLlm | DataFormat::VllmLog => Box::new(line::Plain),
        DataFormat::BurstGpt => Box::new(csv::BurstGpt::default()),
        DataFormat::Azure => Box::new(csv::Azure::default()),
    }
}

/// The reader of a log, if the format is one.
pub fn log_reader(format: DataFormat) -> Option<Box<dyn LogReader>> {
    match format {
        DataFormat::Otel => Some(Box::new(otel::Otel::default())),
        DataFormat::LiteLlm => Some(Box::new(litellm::LiteLlm::default())),
        DataFormat::VllmLog => Some(Box::new(vllm_log::VllmLog::default())),
        _ => None,
    }
}
