//! API dialects: path, body and event. Bytes in, values out, no I/O.

mod chat;
mod completions;
mod decoder;
mod dialect;
mod template;
mod wire;

pub use decoder::Decoder;
pub use dialect::{AnswerText, BadMessage, Dialect, Message, Prompt, RequestOptions};
pub use template::BodyTemplates;

pub static CHAT: &dyn Dialect = &chat::Chat;

pub static COMPLETIONS: &dyn Dialect = &completions::Completions;
