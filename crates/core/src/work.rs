//! What to send: prompts, the lengths of their answers, and the fields of a request.

use crate::length::{Distribution, LONGEST, LengthSpec};
use crate::record::words;
use crate::scenario::{BadValue, JsonObject, from_words};
use crate::units::{Span, serde_as_text};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// What to send.
#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    /// Prompts.
    pub prompts: PromptSource,
    /// Length of answers.
    pub output: Output,
    /// Counts tokens before the run; absent: only what needs no tokenizer is known.
    pub tokenizer: Option<TokenizerName>,
    /// Several turns with the user thinking between them.
    pub conversation: Option<Conversation>,
    /// Send token ids in place of text.
    pub as_token_ids: bool,
    /// Tell the server to ignore end-of-sequence, so that answers have the asked length.
    pub ignore_eos: bool,
    /// Least number of output tokens.
    pub min_tokens: Option<u32>,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// Nucleus sampling.
    pub top_p: Option<f64>,
    /// Stop sequences.
    pub stop: Vec<String>,
    /// Further fields of the body, as a JSON object.
    pub extra: Option<JsonObject>,
    /// Begin synthetic prompts with words that are new in each run.
    pub cache_nonce: bool,
}

impl Work {
    /// Answers are meant to have exactly the asked length.
    pub fn wants_exact_lengths(&self) -> bool {
        self.ignore_eos && matches!(self.output, Output::Tokens(_) | Output::FromWork)
    }

    /// Prompts begin alike by intention, so that a prefix cache is meant to know them.
    pub fn shares_beginnings(&self) -> bool {
        let by_source = match &self.prompts {
            PromptSource::Synthetic(synthetic) => synthetic.prefix.is_some(),
            PromptSource::Data(data) => data.format == Some(DataFormat::Mooncake),
            PromptSource::Text(_) | PromptSource::Continuation(_) => false,
        };
        by_source || self.conversation.is_some()
    }
}

/// Where prompts come from.
#[derive(Clone, Debug, PartialEq)]
pub enum PromptSource {
    /// Always this text.
    Text(String),
    /// A data set or a trace.
    Data(DataSource),
    /// A text in pieces, each put into a template that asks to continue it.
    Continuation(Continuation),
    /// Words of a known number of tokens.
    Synthetic(Synthetic),
}

impl PromptSource {
    /// The text is made by us: from words, or for the lengths of a trace.
    pub fn is_synthetic(&self) -> bool {
        match self {
            PromptSource::Synthetic(_) => true,
            PromptSource::Data(data) => data.format.is_some_and(DataFormat::is_trace),
            PromptSource::Text(_) | PromptSource::Continuation(_) => false,
        }
    }
}

/// Length of answers.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// Drawn for each request, sent as the limit, and as the exact length with `ignore_eos`.
    Tokens(LengthSpec),
    /// What the work itself says, row by row or pair by pair; the length of the reference
    /// answer where it says nothing else; a limit of [`Output::UNSAID`] where there is neither.
    FromWork,
    /// Just a limit.
    AtMost(u32),
    /// The server's own limit.
    Free,
}

impl Output {
    /// Limit of answers about whose length the data says nothing.
    pub const UNSAID: u32 = 128;
}

/// A data set or a trace, and which of its rows to take.
#[derive(Clone, Debug, PartialEq)]
pub struct DataSource {
    /// A path, `hf://…`, `ms://…` or `https://…`.
    pub location: String,
    /// Its format; absent: found from the content.
    pub format: Option<DataFormat>,
    /// Field that holds the prompt, where it has another name than usual.
    pub field: Option<String>,
    /// A rule for which rows to take.
    pub filter: Option<Filter>,
    /// Only the first rows.
    pub limit: Option<u64>,
    /// Take rows in an order drawn from the seed.
    pub shuffle: bool,
    /// Shortest prompt to take.
    pub min_prompt: Option<PromptLength>,
    /// Longest prompt to take.
    pub max_prompt: Option<PromptLength>,
    /// Go on after bad rows and count them.
    pub skip_bad: bool,
    /// Part of a trace.
    pub window: Window,
}

/// Part of a trace, on the trace's own clock.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Window {
    /// Where to begin.
    pub from: Span,
    /// How much of it to take; absent: all.
    pub length: Option<Span>,
}

/// Formats of data sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataFormat {
    /// `[{"conversations": [{"from", "value"}, …]}, …]`.
    ShareGpt,
    /// `{"question": …}` a line.
    OpenQa,
    /// A prompt, an array of messages or a request body a line.
    Line,
    /// `{"prompt", "output_tokens"?}` a line.
    Custom,
    /// `{"instruction", "input"?, "output"?}`.
    Instruct,
    /// `{"question", "answer"}`, where the answer ends in `#### N`.
    Gsm8k,
    /// Mooncake's trace: `timestamp`, `input_length`, `output_length`, `hash_ids`.
    Mooncake,
    /// BurstGPT's trace (CSV).
    BurstGpt,
    /// Azure's trace (CSV).
    Azure,
    /// Any text, cut into pieces.
    Text,
    /// `{"messages": […]}` or ShareGPT rows, replayed turn by turn.
    Conversations,
}

words!(DataFormat {
    ShareGpt => "sharegpt", OpenQa => "openqa", Line => "line", Custom => "custom",
    Instruct => "instruct", Gsm8k => "gsm8k", Mooncake => "mooncake", BurstGpt => "burstgpt",
    Azure => "azure", Text => "text", Conversations => "conversations",
});

impl DataFormat {
    /// Has times of arrival.
    pub fn is_trace(self) -> bool {
        matches!(
            self,
            DataFormat::Mooncake | DataFormat::BurstGpt | DataFormat::Azure
        )
    }
}

impl FromStr for DataFormat {
    type Err = BadValue;
    fn from_str(text: &str) -> Result<Self, BadValue> {
        match text.trim() {
            // A name under which the same layout goes about.
            "longalpaca" | "alpaca" => Ok(DataFormat::Instruct),
            word => Self::from_word(word).ok_or_else(|| {
                BadValue::new(
                    text,
                    "choose auto, sharegpt, openqa, line, custom, instruct, gsm8k, mooncake, burstgpt, azure, text or conversations",
                )
            }),
        }
    }
}

serde_as_text!(DataFormat);

/// Rules for which rows to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filter {
    /// As vLLM's benchmark does with ShareGPT: prompt and answer of at least 4 tokens, a prompt
    /// of at most 1024, both together at most 2048.
    Vllm,
}

words!(Filter { Vllm => "vllm" });
from_words!(Filter, "choose vllm");

/// A length of prompts in tokens or characters: `512` or `8000chars`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptLength {
    /// In tokens of the chosen tokenizer.
    Tokens(u32),
    /// In characters.
    Chars(u32),
}

impl PromptLength {
    /// The number, whatever it counts.
    pub fn number(self) -> u32 {
        match self {
            PromptLength::Tokens(length) | PromptLength::Chars(length) => length,
        }
    }
}

impl FromStr for PromptLength {
    type Err = BadValue;
    fn from_str(text: &str) -> Result<Self, BadValue> {
        let trimmed = text.trim();
        let chars = trimmed.strip_suffix("chars");
        let number = chars.or(trimmed.strip_suffix("tokens")).unwrap_or(trimmed);
        let length: u32 = number
            .trim()
            .parse()
            .ok()
            .filter(|length| (1..=LONGEST).contains(length))
            .ok_or_else(|| {
                BadValue::new(
                    text,
                    "give a number of tokens such as 512, or of characters such as 8000chars",
                )
            })?;
        Ok(match chars {
            Some(_) => PromptLength::Chars(length),
            None => PromptLength::Tokens(length),
        })
    }
}

impl fmt::Display for PromptLength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PromptLength::Tokens(length) => write!(f, "{length}"),
            PromptLength::Chars(length) => write!(f, "{length}chars"),
        }
    }
}

serde_as_text!(PromptLength);

/// The length-grid study: a text in pieces, and a template that asks for so many characters.
#[derive(Clone, Debug, PartialEq)]
pub struct Continuation {
    /// The text: a file, or an address as in [`DataSource::location`]; absent: an embedded text.
    pub location: Option<String>,
    /// Length of a piece.
    pub piece: PromptLength,
    /// Characters to ask for, in words.
    pub ask_chars: u32,
    /// What goes around a piece.
    pub template: Template,
}

/// What goes around a piece of text: it names `{text}` and `{num_completion}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Template {
    /// Ours, in a language.
    Embedded(Language),
    /// The user's.
    File(PathBuf),
}

impl FromStr for Template {
    type Err = BadValue;
    fn from_str(text: &str) -> Result<Self, BadValue> {
        match text.trim() {
            "" => Err(BadValue::new(text, "give en, zh or a file")),
            word => Ok(match Language::from_word(word) {
                Some(language) => Template::Embedded(language),
                None => Template::File(word.into()),
            }),
        }
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Template::Embedded(language) => language.fmt(f),
            Template::File(file) => file.display().fmt(f),
        }
    }
}

serde_as_text!(Template);

/// Languages of synthetic text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// English.
    #[default]
    En,
    /// Chinese.
    Zh,
}

words!(Language { En => "en", Zh => "zh" });
from_words!(Language, "choose en or zh");

/// Words of a known number of tokens.
#[derive(Clone, Debug, PartialEq)]
pub struct Synthetic {
    /// Lengths.
    pub lengths: SyntheticLengths,
    /// Language of the words.
    pub language: Language,
    /// Beginnings that several prompts share.
    pub prefix: Option<Prefix>,
}

/// Lengths of synthetic prompts.
#[derive(Clone, Debug, PartialEq)]
pub enum SyntheticLengths {
    /// Of prompts alone.
    Input(LengthSpec),
    /// Of prompts and their answers together.
    Pairs(LengthPairs),
}

/// Lengths of prompt and answer that belong together: `512:128`, `512:128=3,4096:64=1` with
/// weights, or a file of lines `input,output[,weight]`.
#[derive(Clone, Debug, PartialEq)]
pub enum LengthPairs {
    /// Given one by one.
    Listed(Vec<LengthPair>),
    /// In a file.
    File(PathBuf),
}

/// One pair of lengths.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LengthPair {
    /// Prompt tokens.
    pub input: u32,
    /// Output tokens.
    pub output: u32,
    /// How often, relative to the others.
    pub weight: f64,
}

impl LengthPair {
    /// A pair whose numbers are possible.
    pub fn new(input: u32, output: u32, weight: f64) -> Option<Self> {
        let possible = (1..=LONGEST).contains(&input)
            && (1..=LONGEST).contains(&output)
            && weight.is_finite()
            && weight > 0.0;
        possible.then_some(LengthPair {
            input,
            output,
            weight,
        })
    }
}

impl FromStr for LengthPair {
    type Err = BadValue;
    fn from_str(text: &str) -> Result<Self, BadValue> {
        let read = || {
            let (pair, weight) = text.split_once('=').unwrap_or((text, "1"));
            let (input, output) = pair.split_once(':')?;
            LengthPair::new(
                input.trim().parse().ok()?,
                output.trim().parse().ok()?,
                weight.trim().parse().ok()?,
            )
        };
        read().ok_or_else(|| {
            BadValue::new(text, "write INPUT:OUTPUT or INPUT:OUTPUT=WEIGHT, or a file")
        })
    }
}

impl FromStr for LengthPairs {
    type Err = BadValue;
    fn from_str(text: &str) -> Result<Self, BadValue> {
        let trimmed = text.trim();
        match trimmed.starts_with(|c: char| c.is_ascii_digit()) && trimmed.contains(':') {
            true => (trimmed.split(',').map(str::parse))
                .collect::<Result<_, _>>()
                .map(LengthPairs::Listed),
            false if trimmed.is_empty() => {
                Err(BadValue::new(text, "write INPUT:OUTPUT, or a file"))
            }
            false => Ok(LengthPairs::File(trimmed.into())),
        }
    }
}

impl fmt::Display for LengthPairs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pairs = match self {
            LengthPairs::Listed(pairs) => pairs,
            LengthPairs::File(file) => return file.display().fmt(f),
        };
        for (place, pair) in pairs.iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            write!(f, "{comma}{}:{}", pair.input, pair.output)?;
            if pair.weight != 1.0 {
                write!(f, "={}", pair.weight)?;
            }
        }
        Ok(())
    }
}

serde_as_text!(LengthPairs);

/// Beginnings that several prompts share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prefix {
    /// How long.
    pub length: PrefixLength,
    /// How many different ones.
    pub groups: u32,
    /// How often each is used.
    pub spread: PrefixSpread,
}

/// Length of a shared beginning.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PrefixLength {
    /// In tokens.
    Tokens(u32),
    /// As a share of each prompt, from 0 to 1: the cache-hit share that is aimed at.
    Share(f64),
}

/// How often each shared beginning is used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum PrefixSpread {
    /// All equally often.
    #[default]
    Uniform,
    /// The n-th one in proportion to n to the power of minus this.
    Zipf(f64),
}

impl FromStr for PrefixSpread {
    type Err = BadValue;
    fn from_str(text: &str) -> Result<Self, BadValue> {
        let exponent = |word: &str| word.parse().ok().filter(|s| (0.0..=10.0).contains(s));
        match text.trim() {
            "uniform" => Ok(PrefixSpread::Uniform),
            "zipf" => Ok(PrefixSpread::Zipf(1.0)),
            other => other
                .strip_prefix("zipf(")
                .and_then(|rest| rest.strip_suffix(')'))
                .and_then(exponent)
                .map(PrefixSpread::Zipf)
                .ok_or_else(|| BadValue::new(text, "choose uniform, zipf or zipf(EXPONENT)")),
        }
    }
}

impl fmt::Display for PrefixSpread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PrefixSpread::Uniform => f.write_str("uniform"),
            PrefixSpread::Zipf(exponent) => write!(f, "zipf({exponent})"),
        }
    }
}

serde_as_text!(PrefixSpread);

/// Several turns with the user thinking between them.
#[derive(Clone, Debug, PartialEq)]
pub struct Conversation {
    /// Turns of a conversation; absent: as many as the data has.
    pub turns: Option<LengthSpec>,
    /// From the end of an answer to the next turn.
    pub think: Span,
    /// Where the answers in the history come from.
    pub history: History,
}

/// Where the answers in a conversation's history come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum History {
    /// What the server itself answered.
    #[default]
    Server,
    /// What the data set holds.
    Data,
}

words!(History { Server => "server", Data => "data" });
from_words!(History, "choose server or data");

/// A tokenizer by name or place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenizerName {
    /// OpenAI's cl100k_base.
    Cl100k,
    /// OpenAI's o200k_base.
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

/// Lengths as services of a kind have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// Short questions, answers of a page.
    Chat,
    /// Long retrieved context, a short answer.
    Rag,
    /// A text in, a label out.
    Classifier,
    /// A text in, about as much out.
    Rewrite,
    /// Much code as context, some code out.
    Code,
}

words!(Preset {
    Chat => "chat", Rag => "rag", Classifier => "classifier", Rewrite => "rewrite", Code => "code",
});
from_words!(Preset, "choose chat, rag, classifier, rewrite or code");

impl Preset {
    /// Lengths of prompts and of answers.
    pub fn lengths(self) -> (LengthSpec, LengthSpec) {
        use Distribution::{Lognormal, Uniform};
        let (input, output) = match self {
            Preset::Chat => (Lognormal(350.0, 350.0), Lognormal(250.0, 200.0)),
            Preset::Rag => (Lognormal(3000.0, 1500.0), Lognormal(200.0, 120.0)),
            Preset::Classifier => (Lognormal(600.0, 400.0), Uniform(4, 8)),
            Preset::Rewrite => (Lognormal(800.0, 400.0), Lognormal(800.0, 400.0)),
            Preset::Code => (Lognormal(2000.0, 1800.0), Lognormal(300.0, 250.0)),
        };
        (LengthSpec::Drawn(input), LengthSpec::Drawn(output))
    }
}

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
