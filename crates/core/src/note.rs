//! What a reader of a run should know and need not doubt: stored by key, told in any language.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "note", rename_all = "kebab-case")]
pub enum Known {
    ManyModels {
        count: u64,
        /// The one that is measured.
        model: String,
    },
    NoChatApi,
    RefusesField {
        field: String,
    },
    /// The server was told to go on and ended before the asked length.
    EndsEarly {
        asked: u32,
        received: u32,
    },
    /// No stream came where one was asked for.
    AnswersWhole,
    /// The limit of open files was too low.
    RaisedOpenFiles {
        from: u64,
        to: u64,
    },
    /// The work is shorter than the run.
    CyclesPrompts {
        distinct: u64,
    },
    /// What was found in the data.
    DataFormat {
        format: String,
        rows: u64,
    },
    BadRows {
        count: u64,
        line: u64,
        reason: String,
    },
    /// Rows that have no prompt, or no answer where one is needed.
    UnusableRows {
        count: u64,
    },
    FilteredRows {
        count: u64,
        /// Of so many.
        seen: u64,
    },
    /// Only part of the data was read, since more would not fit into memory.
    DataTooLarge,
    /// Lengths were counted with a tokenizer that nobody chose.
    DefaultTokenizer {
        tokenizer: String,
    },
    /// A byte is not a token.
    BytesAsTokens,
    /// The server's own tokenizer and ours agree.
    TokenizerAgrees {
        samples: u64,
    },
    /// They do not.
    TokenizerDiffers {
        ours: u64,
        servers: u64,
    },
    /// A chat template surrounds each prompt.
    ChatTemplate {
        tokens: u32,
    },
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
    DamagedLines {
        lines: u64,
    },
    /// The run has no hashes, so that damage would not show.
    NoHashes,
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
        assert_eq!(old, Note::Text("as it was".to_owned()));
    }
}
