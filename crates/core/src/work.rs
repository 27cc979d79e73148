//! What to send: prompts, the lengths of their answers, and the fields of a request.

mod data;
mod media;
mod synthetic;

pub use data::{DataFormat, DataSource, Filter, PromptLength, Window};
pub use media::{AudioSpec, ImageSpec, MediaSpec, VideoSpec};
pub use synthetic::{
    Continuation, Language, LengthPair, LengthPairs, Prefix, PrefixLength, PrefixSpread, Preset,
    Synthetic, SyntheticLengths, Template,
};

use crate::length::LengthSpec;
use crate::units::Span;
use crate::value::serde_as_text;
use crate::value::{BadValue, JsonObject};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    pub prompts: PromptSource,
    pub output: Output,
    /// Counts tokens before the run; absent: only what needs no tokenizer is known.
    pub tokenizer: Option<TokenizerName>,
    /// Several turns with the user thinking between them.
    pub conversation: Option<Conversation>,
    /// Texts of one request, where the API takes several: inputs, or documents of a query.
    pub batch_size: Option<u32>,
    /// Send token ids in place of text.
    pub as_token_ids: bool,
    /// Tell the server to ignore end-of-sequence, so that answers have the asked length.
    pub ignore_eos: bool,
    /// Least number of output tokens.
    pub min_tokens: Option<u32>,
    pub temperature: Option<f64>,
    pub top_p: Option<f64>,
    pub stop: Vec<String>,
    /// Further fields of the body, as a JSON object.
    pub extra: Option<JsonObject>,
    /// What each request has beside its text.
    pub media: MediaSpec,
    /// Tools that each request offers.
    pub tools: Option<PathBuf>,
    /// Schema of the answers that are asked for.
    pub json_schema: Option<PathBuf>,
    /// Begin synthetic prompts with words that are new in each run; make media new, too.
    pub cache_nonce: bool,
}

impl Work {
    /// Answers are meant to have exactly the asked length.
    pub fn wants_exact_lengths(&self) -> bool {
        self.ignore_eos && matches!(self.output, Output::Tokens(_) | Output::FromWork)
    }

    /// Some of what is sent is made by us, and may be new in each run.
    pub fn makes_content(&self) -> bool {
        self.prompts.is_synthetic() || !self.media.is_empty()
    }

    /// Prompts begin alike by intention, so that a prefix cache is meant to know them.
    pub fn shares_beginnings(&self) -> bool {
        let by_source = match &self.prompts {
            PromptSource::Synthetic(synthetic) => synthetic.prefix.is_some(),
            PromptSource::Data(data) => data.format.is_some_and(DataFormat::names_blocks),
            PromptSource::Text(_) | PromptSource::Continuation(_) => false,
        };
        by_source || self.conversation.is_some()
    }
}

/// Where prompts come from.
#[derive(Clone, Debug, PartialEq)]
pub enum PromptSource {
    Text(String),
    Data(DataSource),
    /// A text in pieces, each put into a template that asks to continue it.
    Continuation(Continuation),
    /// Words of a known number of tokens.
    Synthetic(Synthetic),
}

impl PromptSource {
    /// A trace, whose prompts are whole: they hold what was said before.
    pub fn is_synthetic_trace(&self) -> bool {
        matches!(self, PromptSource::Data(_)) && self.is_synthetic()
    }

    /// The text is made by us: from words, or for the lengths of a trace.
    pub fn is_synthetic(&self) -> bool {
        match self {
            PromptSource::Synthetic(_) => true,
            PromptSource::Data(data) => data.format.is_some_and(DataFormat::is_trace),
            PromptSource::Text(_) | PromptSource::Continuation(_) => false,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// Drawn for each request, sent as the limit, and as the exact length with `ignore_eos`.
    Tokens(LengthSpec),
    /// What the work itself says, row by row or pair by pair; the length of the reference
    /// answer where it says nothing else; a limit of [`Output::UNSAID`] where there is neither.
    FromWork,
    AtMost(u32),
    Free,
}

impl Output {
    /// Limit of answers about whose length the data says nothing.
    pub const UNSAID: u32 = 128;
}

/// Several turns with the user thinking between them.
#[derive(Clone, Debug, PartialEq)]
pub struct Conversation {
    /// Turns of a conversation; absent: as many as the data has.
    pub turns: Option<LengthSpec>,
    /// From the end of an answer to the next turn; absent: as the trace says.
    pub think: Option<Span>,
    /// Where the answers in the history come from.
    pub history: History,
}

impl Conversation {
    /// Streams are idle between turns by intention.
    pub fn idles(&self) -> bool {
        self.think.is_none_or(|think| !think.0.is_zero())
    }
}

/// When a turn of a session is sent, where it is not the one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Follows {
    /// Earlier turns that must have ended; none: it begins with the session.
    pub after: Arc<[u32]>,
    pub wait: Wait,
}

impl Follows {
    /// Of turns one after the other, counted from 0.
    pub fn the_one_before(turn: u32, think: Duration) -> Self {
        Follows {
            after: turn.checked_sub(1).into_iter().collect(),
            wait: Wait::SinceEnd(think),
        }
    }
}

/// How long a turn waits for its tools or its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wait {
    /// Since the last of those before it has ended.
    SinceEnd(Duration),
    /// Since the last of those before it was sent, and until they have ended.
    SinceStart(Duration),
}

impl Wait {
    /// The same at another pace.
    pub fn at_speed(self, speed: f64) -> Self {
        match self {
            Wait::SinceEnd(wait) => Wait::SinceEnd(wait.div_f64(speed)),
            Wait::SinceStart(wait) => Wait::SinceStart(wait.div_f64(speed)),
        }
    }
}

/// Where the answers in a conversation's history come from.
#[derive(strum::Display, strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str, parse_err_ty = BadValue, parse_err_fn = BadValue::choose::<History>)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum History {
    /// What the server itself answered.
    #[default]
    Server,
    Data,
}
serde_as_text!(History);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenizerName {
    Cl100k,
    O200k,
    /// A byte is a token: a last resort.
    Bytes,
    /// A `tokenizer.json`, or a folder that holds one.
    At(PathBuf),
}

impl FromStr for TokenizerName {
    type Err = BadValue;
    fn from_str(text: &str) -> Result<Self, BadValue> {
        match text.trim() {
            "cl100k" | "cl100k_base" => Ok(TokenizerName::Cl100k),
            "o200k" | "o200k_base" => Ok(TokenizerName::O200k),
            "bytes" => Ok(TokenizerName::Bytes),
            "" => Err(BadValue::new(
                text,
                "give a tokenizer.json, a model folder, cl100k, o200k or bytes",
            )),
            place => Ok(TokenizerName::At(place.into())),
        }
    }
}

impl fmt::Display for TokenizerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TokenizerName::Cl100k => f.write_str("cl100k"),
            TokenizerName::O200k => f.write_str("o200k"),
            TokenizerName::Bytes => f.write_str("bytes"),
            TokenizerName::At(place) => place.display().fmt(f),
        }
    }
}

serde_as_text!(TokenizerName);

#[cfg(test)]
mod tests {
    use super::*;

    fn reads_back<T: FromStr<Err = BadValue> + fmt::Display>(texts: &[&str]) {
        for text in texts {
            let value: T = text.parse().unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(value.to_string(), *text);
        }
    }

    #[test]
    fn what_is_written_reads_back_the_same() {
        reads_back::<PromptLength>(&["512", "8000chars"]);
        reads_back::<LengthPairs>(&["512:128", "512:128=3,4096:64=0.5", "pairs.csv"]);
        reads_back::<PrefixSpread>(&["uniform", "zipf(1.5)"]);
        reads_back::<TokenizerName>(&["cl100k", "o200k", "bytes", "models/tokenizer.json"]);
        reads_back::<Template>(&["en", "zh", "ask.txt"]);
        reads_back::<DataFormat>(&["sharegpt", "burstgpt", "conversations"]);
    }

    #[test]
    fn what_is_impossible_is_refused_with_what_is_possible() {
        let refused = |error: Option<BadValue>, takes: &str| {
            let message = error.expect("it is refused").to_string();
            assert!(message.contains(takes), "{message}");
        };
        refused("0".parse::<PromptLength>().err(), "8000chars");
        refused("-4chars".parse::<PromptLength>().err(), "8000chars");
        refused("512:0".parse::<LengthPairs>().err(), "WEIGHT");
        refused("512:3=0".parse::<LengthPairs>().err(), "WEIGHT");
        refused("512:3=nan".parse::<LengthPairs>().err(), "WEIGHT");
        refused("zipf(-1)".parse::<PrefixSpread>().err(), "zipf");
        refused("parquet".parse::<DataFormat>().err(), "sharegpt");
        refused("".parse::<TokenizerName>().err(), "cl100k");
    }
}
