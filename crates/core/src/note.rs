//! What a reader of a run should know and need not doubt: stored by key, told in any language.

use crate::message::Lang;
use crate::message::notes::NoteText;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "note", rename_all = "kebab-case")]
pub enum Known {
    /// The server lists several models.
    ManyModels {
        count: u64,
        /// The one that is measured.
        model: String,
    },
    /// There is no chat API.
    NoChatApi,
    /// A field of the request is refused.
    RefusesField { field: String },
    /// The server was told to go on and ended before the asked length.
    EndsEarly { asked: u32, received: u32 },
    /// No stream came where one was asked for.
    AnswersWhole,
    /// The limit of open files was too low.
    RaisedOpenFiles { from: u64, to: u64 },
    /// The work is shorter than the run.
    CyclesPrompts { distinct: u64 },
    /// What was found in the data.
    DataFormat { format: String, rows: u64 },
    /// Rows that could not be read.
    BadRows {
        count: u64,
        line: u64,
        /// What was wrong with it.
        reason: String,
    },
    /// Rows that have no prompt, or no answer where one is needed.
    UnusableRows { count: u64 },
    /// Rows that the filters left out.
    FilteredRows {
        count: u64,
        /// Of so many.
        seen: u64,
    },
    /// Only part of the data was read, since more would not fit into memory.
    DataTooLarge,
    /// Lengths were counted with a tokenizer that nobody chose.
    DefaultTokenizer { tokenizer: String },
    /// A byte is not a token.
    BytesAsTokens,
    /// The server's own tokenizer and ours agree.
    TokenizerAgrees { samples: u64 },
    /// They do not.
    TokenizerDiffers { ours: u64, servers: u64 },
    /// A chat template surrounds each prompt.
    ChatTemplate { tokens: u32 },
    /// Ours surrounds each piece of text.
    Template {
        chars: u64,
        /// Its tokens, where they were counted.
        tokens: Option<u32>,
    },
    /// Nothing was measured: the simulated engine was computed.
    VirtualTime,
    /// The server forgot earlier prompts before the run.
    CacheEmptied,
    /// Rows of a trace are sent at other times than its own.
    TraceLengthsOnly,
    /// Lines of the journal cannot be read.
    DamagedLines { lines: u64 },
}

/// A fact by its key, or as text from a run of an earlier version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Note {
    Known(Known),
    Text(String),
}

impl From<Known> for Note {
    fn from(known: Known) -> Self {
        Note::Known(known)
    }
}

impl Note {
    pub fn text(&self, lang: Lang) -> String {
        match self {
            Note::Known(known) => known.text(lang),
            Note::Text(text) => text.clone(),
        }
    }
}

impl Known {
    fn text(&self, lang: Lang) -> String {
        self.key().with(lang, &self.values())
    }

    fn key(&self) -> NoteText {
        match self {
            Known::ManyModels { .. } => NoteText::ManyModels,
            Known::NoChatApi => NoteText::NoChatApi,
            Known::RefusesField { field } => match field.as_str() {
                "ignore_eos" => NoteText::RefusesIgnoreEos,
                "stream_options" => NoteText::RefusesStreamOptions,
                _ => NoteText::RefusesField,
            },
            Known::EndsEarly { .. } => NoteText::EndsEarly,
            Known::AnswersWhole => NoteText::AnswersWhole,
            Known::RaisedOpenFiles { .. } => NoteText::RaisedOpenFiles,
            Known::CyclesPrompts { .. } => NoteText::CyclesPrompts,
            Known::DataFormat { .. } => NoteText::DataFormat,
            Known::BadRows { .. } => NoteText::BadRows,
            Known::UnusableRows { .. } => NoteText::UnusableRows,
            Known::FilteredRows { .. } => NoteText::FilteredRows,
            Known::DataTooLarge => NoteText::DataTooLarge,
            Known::DefaultTokenizer { .. } => NoteText::DefaultTokenizer,
            Known::BytesAsTokens => NoteText::BytesAsTokens,
            Known::TokenizerAgrees { .. } => NoteText::TokenizerAgrees,
            Known::TokenizerDiffers { .. } => NoteText::TokenizerDiffers,
            Known::ChatTemplate { .. } => NoteText::ChatTemplate,
            Known::Template { tokens: None, .. } => NoteText::TemplateChars,
            Known::Template { .. } => NoteText::TemplateCharsTokens,
            Known::VirtualTime => NoteText::VirtualTime,
            Known::CacheEmptied => NoteText::CacheEmptied,
            Known::TraceLengthsOnly => NoteText::TraceLengthsOnly,
            Known::DamagedLines { .. } => NoteText::DamagedLines,
        }
    }

    fn values(&self) -> Vec<(&'static str, String)> {
        match self {
            Known::ManyModels { count, model } => {
                vec![("count", count.to_string()), ("model", model.clone())]
            }
            Known::RefusesField { field } => vec![("field", field.clone())],
            Known::EndsEarly { asked, received } => vec![
                ("asked", asked.to_string()),
                ("received", received.to_string()),
            ],
            Known::RaisedOpenFiles { from, to } => {
                vec![("from", from.to_string()), ("to", to.to_string())]
            }
            Known::CyclesPrompts { distinct } => vec![("distinct", distinct.to_string())],
            Known::DataFormat { format, rows } => {
                vec![("format", format.clone()), ("rows", rows.to_string())]
            }
            Known::BadRows {
                count,
                line,
                reason,
            } => vec![
                ("count", count.to_string()),
                ("line", line.to_string()),
                ("reason", reason.clone()),
            ],
            Known::UnusableRows { count } => vec![("count", count.to_string())],
            Known::FilteredRows { count, seen } => {
                vec![("count", count.to_string()), ("seen", seen.to_string())]
            }
            Known::DefaultTokenizer { tokenizer } => vec![("tokenizer", tokenizer.clone())],
            Known::TokenizerAgrees { samples } => vec![("samples", samples.to_string())],
            Known::TokenizerDiffers { ours, servers } => {
                vec![("ours", ours.to_string()), ("servers", servers.to_string())]
            }
            Known::DamagedLines { lines } => vec![("lines", lines.to_string())],
            Known::ChatTemplate { tokens } => vec![("tokens", tokens.to_string())],
            Known::Template { chars, tokens } => vec![
                ("chars", chars.to_string()),
                ("tokens", tokens.unwrap_or_default().to_string()),
            ],
            Known::NoChatApi
            | Known::AnswersWhole
            | Known::DataTooLarge
            | Known::BytesAsTokens
            | Known::CacheEmptied
            | Known::VirtualTime
            | Known::TraceLengthsOnly => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_stored_by_key_and_texts_of_old_runs_stay_readable() {
        let note = Note::from(Known::CyclesPrompts { distinct: 7 });
        let json = serde_json::to_string(&note).unwrap();
        assert_eq!(json, r#"{"note":"cycles-prompts","distinct":7}"#);
        assert_eq!(serde_json::from_str::<Note>(&json).unwrap(), note);
        let old: Note = serde_json::from_str(r#""as it was""#).unwrap();
        assert_eq!(old.text(Lang::En), "as it was");
        assert!(note.text(Lang::En).contains("7 distinct prompts"));
        assert!(note.text(Lang::Zh).contains("7 条不同的提示词"));
    }
}
