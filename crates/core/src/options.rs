//! What users type, on the command line and in a file alike: one struct a topic, every field
//! optional, the same names in both places.
//!
//! Options are layered (flag over environment over file), then resolved once.

// Comments of options are their help texts, where `[…]` is a default and no link.
#![allow(rustdoc::broken_intra_doc_links)]

mod audio;
mod checks;
mod error;
mod items;
mod layers;
mod raw;
mod resolve;
mod stored;
#[cfg(test)]
mod tests;
mod values;
mod work;

pub use error::OptionError;
pub use values::{ArrivalName, Count, FormatName, OutputSpec, Positive};

use crate::api::Api;
use crate::check::Check;
use crate::length::LengthSpec;
use crate::model_mix::ModelMix;
use crate::raw_form::JsonPath;
use crate::scenario::*;
use crate::slo::Slo;
use crate::units::Span;
use crate::value::{BadValue, JsonObject, Tag};
use crate::work::*;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

/// All options of one measurement; in a file, one table a topic.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Options {
    pub run: RunOptions,
    pub connection: ConnectionOptions,
    pub load: LoadOptions,
    pub work: WorkOptions,
    pub objectives: ObjectiveOptions,
}

/// Name and seed of the measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, clap::Args)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[command(next_help_heading = "Run")]
pub struct RunOptions {
    /// Name of the run, for people and for the folder
    #[arg(long, value_name = "NAME")]
    pub label: Option<String>,
    /// A fact for legends and pairing, such as engine=vllm or cards=2 (repeatable)
    #[arg(long, value_name = "K=V")]
    pub tag: Option<Vec<Tag>>,
    /// Seed of arrivals, lengths and prompts
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Keep the text of measured requests: prompts, answers and what is expected, in
    /// records/texts.jsonl of the run
    #[arg(long, num_args = 0, default_missing_value = "true")]
    pub keep_text: Option<bool>,
    /// Price of a card: adds what tokens and requests cost
    #[arg(long, value_name = "MONEY")]
    pub price_per_hour: Option<Positive>,
}

/// Where and how to send.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, clap::Args)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[command(next_help_heading = "Connection")]
pub struct ConnectionOptions {
    /// Servers; several are used in rotation
    #[arg(value_name = "URL")]
    pub url: Option<Vec<String>>,
    /// Without a URL: model of the simulated engine [qwen2.5-7b]
    #[arg(long, value_name = "PRESET|PATH")]
    pub sim_model: Option<String>,
    /// Without a URL: card of the simulated engine [a100-80g]
    #[arg(long, value_name = "PRESET")]
    pub sim_device: Option<String>,
    /// Without a URL: measure the simulated engine as it runs, or compute what it would do
    /// [real]
    #[arg(long, value_name = "real|virtual")]
    pub sim_clock: Option<SimClock>,
    /// API to speak: auto, chat, completions, responses, messages, generate, raw, embeddings,
    /// rerank, score, classify or pooling [auto]
    #[arg(long, value_name = "API")]
    pub api: Option<Api>,
    /// --api raw: the body of a request, with {prompt}, and where wanted "{max_tokens}" and
    /// {model}
    #[arg(long, value_name = "JSON", value_parser = raw::body)]
    pub raw_body: Option<JsonObject>,
    /// --api raw: where a message has its text, such as choices.0.text
    #[arg(long, value_name = "PATH")]
    pub raw_text: Option<JsonPath>,
    /// --api raw: where a message has the number of output tokens so far
    #[arg(long, value_name = "PATH")]
    pub raw_tokens: Option<JsonPath>,
    /// --api raw: what says that the answer is complete [the end of the body]
    #[arg(long, value_name = "PATH")]
    pub raw_end: Option<JsonPath>,
    /// Model as served [the first of /v1/models]; several with their weights, such as
    /// base=2,adapter-a=1 or zipf(1.1):base,a,b: a conversation stays with its own
    #[arg(long, value_name = "NAME|MIX")]
    pub model: Option<ModelMix>,
    /// Whether to ask for a stream (in a file; on the command line: --no-stream)
    #[arg(skip)]
    pub stream: Option<bool>,
    /// Ask for whole answers instead of streams
    #[arg(long)]
    #[serde(skip)]
    pub no_stream: bool,
    /// A further header (repeatable); its value is never stored
    #[arg(long, value_name = "K=V")]
    #[serde(skip)]
    pub header: Option<Vec<Tag>>,
    /// Names of the headers that were sent (in a stored scenario; give the values again)
    #[arg(skip)]
    pub header_names: Option<Vec<String>>,
    /// Environment variable with the API key [OPENAI_API_KEY]
    #[arg(long, value_name = "NAME")]
    pub api_key_env: Option<String>,
    /// File with the API key
    #[arg(long, value_name = "FILE", conflicts_with = "api_key_env")]
    pub api_key_file: Option<PathBuf>,
    /// Trust this certificate authority (PEM)
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,
    /// Show this client certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "client_key")]
    pub client_cert: Option<PathBuf>,
    /// Key of the client certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "client_cert")]
    pub client_key: Option<PathBuf>,
    /// Trust any certificate
    #[arg(long, num_args = 0, default_missing_value = "true")]
    pub insecure: Option<bool>,
    /// Go through this HTTP proxy [none; the environment's proxies are not used]
    #[arg(long, value_name = "URL")]
    pub proxy: Option<String>,
    /// Addresses of this host to send from in turn, as in 10.0.0.5,10.0.0.6: one has ports for
    /// some 28,000 connections to a server [the system's choice]
    #[arg(long, value_name = "A,B,…", value_delimiter = ',')]
    pub source_address: Option<Vec<IpAddr>>,
    /// Limit for connecting [10s]
    #[arg(long, value_name = "TIME")]
    pub connect_timeout: Option<Span>,
    /// Limit for silence between bytes [120s]
    #[arg(long, value_name = "TIME")]
    pub read_timeout: Option<Span>,
    /// Limit for a whole request [10m]
    #[arg(long, value_name = "TIME")]
    pub request_timeout: Option<Span>,
    /// End the run when the server could not be reached, or answered nothing, for so long [60s]
    #[arg(long, value_name = "TIME")]
    pub give_up_after: Option<Span>,
    /// Where the server's own view is read while it is measured: its /metrics, another address,
    /// or nowhere [auto]
    #[arg(long, value_name = "auto|URL|off", help_heading = "Server side")]
    pub server_metrics: Option<ServerMetrics>,
    /// Receive the server's traces here and explain slow requests one by one; start vLLM with
    /// OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf and --otlp-traces-endpoint
    /// http://ADDR:PORT/v1/traces [off]
    #[arg(long, value_name = "ADDR:PORT", value_parser = listen_address, help_heading = "Server side")]
    pub server_traces: Option<SocketAddr>,
    /// Run the engine's own profiler around the measured part
    #[arg(
        long,
        num_args = 0,
        default_missing_value = "true",
        help_heading = "Server side"
    )]
    pub profile: Option<bool>,
    /// Client threads [one for each 256 streams, at most one a core]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub workers: Option<Count>,
}

fn listen_address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        "write the address and port to listen on, such as 127.0.0.1:4318 or 0.0.0.0:4318".to_owned()
    })
}

/// When to send.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, clap::Args)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[command(next_help_heading = "Load")]
pub struct LoadOptions {
    /// Closed loop: streams that each send when their last answer is complete [8]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub concurrency: Option<Count>,
    /// Open loop: arrivals per second, or inf
    #[arg(long, value_name = "R|inf", allow_negative_numbers = true)]
    pub rate: Option<Rate>,
    /// Spacing of arrivals [poisson]
    #[arg(long, value_name = "constant|poisson|gamma")]
    pub arrival: Option<ArrivalName>,
    /// Shape of gamma arrivals: below 1 bursty, 1 Poisson, above 1 regular
    #[arg(long, value_name = "G", allow_negative_numbers = true)]
    pub burstiness: Option<Positive>,
    /// Spread of the first wave of a closed loop [auto: over one latency]
    #[arg(long, value_name = "auto|none|TIME")]
    pub stagger: Option<Stagger>,
    /// Let the rate rise at the beginning
    #[arg(long, value_name = "linear|exponential")]
    pub ramp: Option<RampCurve>,
    /// Rate at the beginning of the ramp [a tenth of the rate]
    #[arg(long, value_name = "R", allow_negative_numbers = true)]
    pub ramp_from: Option<Positive>,
    /// Length of the ramp [30s]
    #[arg(long, value_name = "TIME")]
    pub ramp_over: Option<Span>,
    /// How much faster than its own clock a trace is replayed [1]
    #[arg(long, value_name = "FACTOR", allow_negative_numbers = true)]
    pub speed: Option<Positive>,
    /// Cap of an open loop; further requests wait, and the wait is charged to latency
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub max_concurrency: Option<Count>,
    /// Requests to measure [200]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub requests: Option<Count>,
    /// Time to send for
    #[arg(long, value_name = "TIME")]
    pub duration: Option<Span>,
    /// Load before the measured window opens: requests that must have ended, or a time [one wave]
    #[arg(long, value_name = "N|TIME|none")]
    pub warmup: Option<Warmup>,
    /// Keep up the load, unmeasured, until the last measured request has ended [auto]
    #[arg(long, value_name = "auto|none")]
    pub hold: Option<Hold>,
    /// Give up this share of requests so long after they were sent, such as 5%@2s
    #[arg(long, value_name = "SHARE%@TIME")]
    pub cancel: Option<Cancel>,
    /// Time that requests under way get once sending has ended [until they end]
    #[arg(long, value_name = "TIME")]
    pub drain: Option<Span>,
    /// Send for this long and report drift
    #[arg(long, value_name = "TIME", conflicts_with_all = ["requests", "duration"])]
    pub soak: Option<Span>,
    /// End early: 'failures>20%' or slo-missed (repeatable)
    #[arg(long, value_name = "COND")]
    pub stop_when: Option<Vec<StopWhen>>,
    /// End when the result is known well enough: ci=5% (within --requests or --duration, else
    /// 5m)
    #[arg(long, value_name = "ci=P%", conflicts_with = "soak")]
    pub until: Option<Until>,
}

/// What to send.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, clap::Args)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[command(next_help_heading = "Work")]
pub struct WorkOptions {
    /// Send this prompt each time
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["data", "input_tokens"])]
    pub prompt: Option<String>,
    /// Prompts from a data set or a trace: a file (also .gz, .zst), hf://datasets/ORG/NAME/FILE,
    /// ms://datasets/ORG/NAME/FILE or https://…
    #[arg(long, value_name = "FILE")]
    pub data: Option<String>,
    /// Format of the data: sharegpt, openqa, line, custom, instruct, gsm8k, mooncake, burstgpt,
    /// azure, trace, timed-trace, bailian, agentic, otel, litellm, vllm-log, text or conversations
    /// [auto: found from the content]
    #[arg(long, value_name = "FORMAT")]
    pub data_format: Option<FormatName>,
    /// Field that holds the prompt, such as input
    #[arg(long, value_name = "NAME")]
    pub field: Option<String>,
    /// Take rows by a known rule: vllm (as its benchmark filters ShareGPT)
    #[arg(long, value_name = "vllm")]
    pub filter: Option<Filter>,
    /// Only the first N rows
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub limit: Option<Count>,
    /// Take rows in an order drawn from the seed
    #[arg(long, num_args = 0, default_missing_value = "true")]
    pub shuffle: Option<bool>,
    /// Shortest prompt to take: 16 (tokens) or 50chars
    #[arg(long, value_name = "LEN", allow_negative_numbers = true)]
    pub min_prompt: Option<PromptLength>,
    /// Longest prompt to take: 1024 (tokens) or 8000chars
    #[arg(long, value_name = "LEN", allow_negative_numbers = true)]
    pub max_prompt: Option<PromptLength>,
    /// Go on after bad rows and count them
    #[arg(long, num_args = 0, default_missing_value = "true")]
    pub skip_bad: Option<bool>,
    /// Where to begin in a trace, on its own clock [0s]
    #[arg(long, value_name = "TIME")]
    pub from: Option<Span>,
    /// How much of a trace to take, on its own clock [all]
    #[arg(long = "for", value_name = "TIME")]
    #[serde(rename = "for")]
    pub window: Option<Span>,
    /// Tokens of a block that the hash ids of a trace name [as the trace says; mooncake: 512;
    /// agentic: 64; others: 16]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub block_tokens: Option<Count>,
    /// Length of synthetic prompts in tokens [256]
    #[arg(long, value_name = "SPEC", allow_negative_numbers = true)]
    pub input_tokens: Option<LengthSpec>,
    /// Length of answers in tokens [128]: 512, uniform(256,1024), normal(512,100),
    /// histogram(FILE), …; data: as the data set says; free: the server's own limit
    #[arg(long, value_name = "SPEC", allow_negative_numbers = true)]
    pub output_tokens: Option<OutputSpec>,
    /// Lengths of prompt and answer together: 512:128=3,4096:64=1 (weights), or a file of lines
    /// input,output[,weight]
    #[arg(long, value_name = "PAIRS", conflicts_with_all = ["prompt", "data", "input_tokens", "output_tokens", "max_tokens"])]
    pub length_pairs: Option<LengthPairs>,
    /// Lengths as such services have them
    #[arg(long, value_name = "chat|rag|classifier|rewrite|code", conflicts_with_all = ["prompt", "data", "length_pairs"])]
    pub workload: Option<Preset>,
    /// Language of synthetic prompts and of the embedded template [en]
    #[arg(long, value_name = "en|zh")]
    pub text: Option<Language>,
    /// Tokens that synthetic prompts share at their beginning, inside the asked length
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub prefix_tokens: Option<Count>,
    /// Number of different shared beginnings [1]
    #[arg(long, value_name = "G", allow_negative_numbers = true)]
    pub prefix_groups: Option<Count>,
    /// How often each of them is used [uniform]
    #[arg(long, value_name = "uniform|zipf(S)")]
    pub prefix_spread: Option<PrefixSpread>,
    /// Share of each synthetic prompt that a prefix cache can know, from 0 to 1
    #[arg(
        long,
        value_name = "SHARE",
        conflicts_with = "prefix_tokens",
        allow_negative_numbers = true
    )]
    pub cache_hit: Option<f64>,
    /// Texts of one request: inputs to embed or classify, documents to rank or score
    /// [1; 10 documents]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub batch_size: Option<Count>,
    /// Turns of a conversation: 4, uniform(2,8), …; of data: at most so many
    #[arg(long, value_name = "SPEC", allow_negative_numbers = true)]
    pub turns: Option<LengthSpec>,
    /// From the end of an answer to the next turn [0s]
    #[arg(long, value_name = "TIME")]
    pub think: Option<Span>,
    /// Where the answers in a conversation's history come from [server]
    #[arg(long, value_name = "server|data")]
    pub history: Option<History>,
    /// Put pieces of text into a template with {text} and {num_completion}: en, zh or a file
    #[arg(long, value_name = "FILE")]
    pub template: Option<Template>,
    /// Characters of text in each templated prompt [1000]
    #[arg(long, value_name = "N", conflicts_with_all = ["prompt", "input_tokens"], allow_negative_numbers = true)]
    pub input_chars: Option<Count>,
    /// Characters that the template asks for in words; nothing enforces them [1000]
    #[arg(
        long,
        value_name = "N",
        conflicts_with = "prompt",
        allow_negative_numbers = true
    )]
    pub ask_chars: Option<Count>,
    /// Counts tokens: a tokenizer.json, a model folder, cl100k, o200k or bytes
    #[arg(long, value_name = "FILE|DIR|cl100k|o200k|bytes")]
    pub tokenizer: Option<TokenizerName>,
    /// Send token ids in place of text (completions only; needs --tokenizer)
    #[arg(long, num_args = 0, default_missing_value = "true")]
    pub as_token_ids: Option<bool>,
    /// Just a limit for answers
    #[arg(
        long,
        value_name = "N",
        conflicts_with = "output_tokens",
        allow_negative_numbers = true
    )]
    pub max_tokens: Option<Count>,
    /// Least number of output tokens
    #[arg(long, value_name = "N")]
    pub min_tokens: Option<u32>,
    /// Ask for answers of exactly the given length [on for synthetic prompts]
    #[arg(
        long,
        num_args = 0,
        default_missing_value = "true",
        overrides_with = "no_ignore_eos"
    )]
    pub ignore_eos: Option<bool>,
    /// Let answers end by themselves
    #[arg(long, overrides_with = "ignore_eos")]
    #[serde(skip)]
    pub no_ignore_eos: bool,
    /// Sampling temperature
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub temperature: Option<f64>,
    /// Nucleus sampling
    #[arg(long, value_name = "P", allow_negative_numbers = true)]
    pub top_p: Option<f64>,
    /// Stop sequence (repeatable)
    #[arg(long, value_name = "S")]
    pub stop: Option<Vec<String>>,
    /// Further fields of the request body
    #[arg(long, value_name = "JSON")]
    pub extra: Option<JsonObject>,
    /// Synthetic images in each request, new in each run: n=uniform(1,3),size=512x512|1280x720
    #[arg(long, value_name = "SPEC")]
    pub images: Option<ImageSpec>,
    /// Synthetic videos in each request, new in each run: n=1,frames=16,size=640x360|1280x720,fps=4
    #[arg(long, value_name = "SPEC")]
    pub video: Option<VideoSpec>,
    /// Synthetic sounds in each request, new in each run: n=1,seconds=uniform(5,30)
    #[arg(long, value_name = "SPEC")]
    pub audio: Option<AudioSpec>,
    /// Offer these tools with each request: a JSON array as chat takes it
    #[arg(long, value_name = "FILE")]
    pub tools: Option<PathBuf>,
    /// Ask for answers that this JSON schema allows
    #[arg(long, value_name = "FILE", conflicts_with = "tools")]
    pub json_schema: Option<PathBuf>,
    /// Begin synthetic prompts with words that are new in each run [on]
    #[arg(
        long,
        num_args = 0,
        default_missing_value = "true",
        overrides_with = "no_cache_nonce"
    )]
    pub cache_nonce: Option<bool>,
    /// Send the same synthetic prompts in each run with the same seed
    #[arg(long, overrides_with = "cache_nonce")]
    #[serde(skip)]
    pub no_cache_nonce: bool,
}

/// What to judge by.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, clap::Args)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[command(next_help_heading = "Objectives")]
pub struct ObjectiveOptions {
    /// Objective: ttft=500ms for each request, ttft.p99=1s for the run, per_user=20tok/s for the
    /// speed of one user at least (repeatable)
    #[arg(long, value_name = "METRIC[.pNN]=TIME")]
    pub slo: Option<Vec<Slo>>,
    /// Share of requests that must meet all request objectives, such as 0.95
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    pub attainment: Option<f64>,
    /// Check answers after the run: gsm8k, choice, exact or regex against what the data expect,
    /// regex:PATTERN, a JSON schema (FILE.json), command:COMMAND, or same-as:RUN
    #[arg(long, value_name = "KIND|FILE")]
    pub check: Option<Check>,
    /// Another limit for a doubt, such as failures-warn=0.05 (repeatable)
    #[arg(long, value_name = "NAME=VALUE")]
    pub threshold: Option<Vec<Tag>>,
}
