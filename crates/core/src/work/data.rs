//! Data sets and traces: which rows of which file.

use crate::length::LONGEST;
use crate::units::Span;
use crate::value::BadValue;
use crate::value::serde_as_text;
use std::str::FromStr;

/// A data set or a trace, and which of its rows to take.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DataSource {
    /// A path, `hf://…`, `ms://…` or `https://…`.
    pub location: String,
    /// Its format; absent: found from the content.
    pub format: Option<DataFormat>,
    /// Field that holds the prompt, where it has another name than usual.
    pub field: Option<String>,
    /// A rule for which rows to take.
    pub filter: Option<Filter>,
    pub limit: Option<u64>,
    /// Take rows in an order drawn from the seed.
    pub shuffle: bool,
    pub min_prompt: Option<PromptLength>,
    pub max_prompt: Option<PromptLength>,
    /// Go on after bad rows and count them.
    pub skip_bad: bool,
    pub window: Window,
    /// Tokens of a block of a trace's prompts; absent: as the trace says, or as its format has it.
    pub block_tokens: Option<u32>,
}

/// Part of a trace, on the trace's own clock.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Window {
    pub from: Span,
    /// How much of it to take; absent: all.
    pub length: Option<Span>,
}

#[derive(strum::Display, strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str, parse_err_ty = BadValue, parse_err_fn = BadValue::choose::<DataFormat>)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataFormat {
    /// `[{"conversations": [{"from", "value"}, …]}, …]`.
    #[strum(serialize = "sharegpt")]
    ShareGpt,
    /// `{"question": …}` a line.
    #[strum(serialize = "openqa")]
    OpenQa,
    /// A prompt, an array of messages or a request body a line.
    Line,
    /// `{"prompt", "output_tokens"?}` a line.
    Custom,
    /// `{"instruction", "input"?, "output"?}`.
    /// Also known by the names of data sets in this layout.
    #[strum(to_string = "instruct", serialize = "longalpaca", serialize = "alpaca")]
    Instruct,
    /// `{"question", "answer"}`, where the answer ends in `#### N`.
    Gsm8k,
    /// Mooncake's trace: `timestamp`, `input_length`, `output_length`, `hash_ids`.
    Mooncake,
    #[strum(serialize = "burstgpt")]
    BurstGpt,
    Azure,
    /// Mooncake's rows with sessions: `session_id`, `after`, `delay`, `block_size`.
    Trace,
    /// The trace that `vllm bench serve` replays: Mooncake's rows, but times in seconds.
    TimedTrace,
    /// Traces of Alibaba's Bailian: seconds, `chat_id` and `parent_chat_id`.
    #[strum(to_string = "bailian", serialize = "qwen")]
    Bailian,
    /// Sessions of coding agents with their sub-agents: `requests` of `t`, `in`, `out`, `hash_ids`.
    Agentic,
    /// OpenTelemetry's GenAI spans as JSON.
    Otel,
    /// The request log of LiteLLM.
    #[strum(serialize = "litellm")]
    LiteLlm,
    /// The request log of vLLM.
    VllmLog,
    /// Any text, cut into pieces.
    Text,
    /// `{"messages": […]}` or ShareGPT rows, replayed turn by turn.
    Conversations,
}

impl DataFormat {
    /// Lengths, and when requests came.
    pub fn is_trace(self) -> bool {
        self.has_sessions()
            || matches!(
                self,
                DataFormat::Mooncake
                    | DataFormat::BurstGpt
                    | DataFormat::Azure
                    | DataFormat::TimedTrace
            )
    }

    /// A trace whose requests belong together and wait for each other.
    pub fn has_sessions(self) -> bool {
        self.is_log()
            || matches!(
                self,
                DataFormat::Trace | DataFormat::Bailian | DataFormat::Agentic
            )
    }

    /// What a server or a gateway wrote about its requests; their texts become lengths and blocks.
    pub fn is_log(self) -> bool {
        matches!(
            self,
            DataFormat::Otel | DataFormat::LiteLlm | DataFormat::VllmLog
        )
    }

    /// All of its requests lie on one clock; else each session has its own.
    pub fn has_clock(self) -> bool {
        self.is_trace() && self != DataFormat::Agentic
    }

    /// Its rows say which parts of prompts are the same.
    pub fn names_blocks(self) -> bool {
        self.has_sessions() || matches!(self, DataFormat::Mooncake | DataFormat::TimedTrace)
    }
}

serde_as_text!(DataFormat);

/// Rules for which rows to take.
#[derive(strum::Display, strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case", const_into_str, parse_err_ty = BadValue, parse_err_fn = BadValue::choose::<Filter>)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filter {
    /// As vLLM's benchmark does with ShareGPT: prompt and answer of at least 4 tokens, a prompt
    /// of at most 1024, both together at most 2048.
    Vllm,
}
serde_as_text!(Filter);

/// A length of prompts in tokens or characters: `512` or `8000chars`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display)]
pub enum PromptLength {
    /// In tokens of the chosen tokenizer.
    #[strum(to_string = "{0}")]
    Tokens(u32),
    #[strum(to_string = "{0}chars")]
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

serde_as_text!(PromptLength);
