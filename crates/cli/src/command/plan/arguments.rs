//! The options of `inferometer plan`.

use super::verify::Bench;
use crate::command::split::{SplitArguments, positive};
use crate::options::{Format, ViewArguments, lang, theme};
use clap::{Args, Subcommand};
use inferometer_catalog::engine::{EngineKind, Version};
use inferometer_core::length::Distribution;
use inferometer_core::slo::Slo;
use inferometer_page::figure::theme::Theme;
use inferometer_plan::what_if::SizeBy;
use inferometer_text::Lang;
use std::path::PathBuf;

#[derive(Args)]
pub struct PlanArguments {
    /// What to plan.
    #[command(subcommand)]
    pub question: PlanQuestion,
}

/// What can be planned.
#[derive(Subcommand)]
pub enum PlanQuestion {
    /// Will it fit: weights, KV cache, concurrency, the largest max-model-len
    #[command(
        override_usage = "inferometer plan memory --device <DEVICE[:COUNT]> [OPTIONS]\n       [-- <ENGINE COMMAND>...]",
        after_help = "Example: inferometer plan memory --model Qwen/Qwen2.5-7B-Instruct --device h100 --device l20 \\\n         --engine vllm,sglang --flag max-model-len=8192\n         inferometer plan memory --device h100 \\\n         -- vllm serve Qwen/Qwen2.5-7B-Instruct --max-model-len 8192\n         inferometer plan memory --device 910b4 --mindie-config conf/config.json"
    )]
    Memory(Box<MemoryArguments>),
    /// Fit the simulated engine's timing to measured load points
    #[command(
        override_usage = "inferometer plan calibrate <SOURCE>... --model <PRESET|PATH|URL>\n       --device <PRESET|NUMBERS> [OPTIONS]",
        after_help = "Example: inferometer plan calibrate notes.md --model qwen1.5-7b --device a100-80g \\\n         --input-tokens 40 --output-tokens 240 -o calibration.toml"
    )]
    Calibrate(Box<CalibrateArguments>),
    /// Predict settings that nobody has measured
    #[command(
        after_help = "Example: inferometer plan what-if --calibration calibration.toml --flag max-num-seqs=64,256 \\\n         --concurrency 32,128 --slo ttft.p99=1s --price-per-hour 2.5"
    )]
    WhatIf(Box<WhatIfArguments>),
    /// Predict a deployment without any measurement
    #[command(
        override_usage = "inferometer plan predict --device <DEVICE[:COUNT][@PRICE]>\n       --input-tokens <SPEC> --output-tokens <SPEC> [OPTIONS]\n       [-- <ENGINE COMMAND>...]",
        after_help = "Example: inferometer plan predict --model qwen3-32b --device h100:4 --concurrency 16,64 \\\n         --input-tokens 1024 --output-tokens 256\n         inferometer plan predict --device h200:8 --rate 2 --input-tokens 4000 --output-tokens 500 \\\n         -- vllm serve meta-llama/Llama-3.1-70B-Instruct --tensor-parallel-size 8"
    )]
    Predict(Box<PredictArguments>),
    /// The cheapest deployments for a traffic within objectives
    #[command(
        override_usage = "inferometer plan choose --device <DEVICE[:COUNT]@PRICE> --traffic <RATE>\n       --input-tokens <SPEC> --output-tokens <SPEC> --slo <METRIC[.pNN]=TIME>\n       [OPTIONS]\n       inferometer plan choose --device <DEVICE[:COUNT]@PRICE> --data <TRACE>\n       --slo <METRIC[.pNN]=TIME> [OPTIONS]",
        after_help = "Example: inferometer plan choose --model qwen3-32b --device h20:8@1.2 --device h100@2.5 \\\n         --input-tokens 2000 --output-tokens 300 --slo ttft.p99=2s --slo tpot.p99=50ms --traffic 4"
    )]
    Choose(Box<ChooseArguments>),
    /// Predict every row of a table of measurements and report the errors
    #[command(
        after_help = "Example: inferometer plan validate silicon_sample.csv --sample 200\n         inferometer plan validate runs/ notes.md --model qwen3-32b --device h20 --engine vllm\n         The table is systems/silicon_sample.csv of the wheel aiconfigurator-core on PyPI."
    )]
    Validate(Box<ValidateArguments>),
}

#[derive(Args)]
pub struct PredictArguments {
    #[command(flatten)]
    pub subject: SubjectArguments,
    /// MindIE's config.json, in place of a command
    #[arg(long, value_name = "FILE", conflicts_with_all = ["command", "engine", "prefill"])]
    pub mindie_config: Option<PathBuf>,
    /// Card: a preset or numbers as in memory=80GiB,bandwidth=2039,half=312, how many of them, and
    /// what one costs in an hour, as in h200:8@3.5; presets several with commas; may be repeated
    #[arg(long, value_name = "DEVICE[:COUNT][@PRICE]", required = true)]
    pub device: Vec<String>,
    /// Flag of the engine and the values to try: max-num-seqs=64,128 or 64..1024:x2
    #[arg(long, value_name = "NAME=LIST")]
    pub flag: Vec<String>,
    #[command(flatten)]
    pub load: LoadArguments,
    /// Prompt tokens
    #[arg(long, value_name = "SPEC", required = true)]
    pub input_tokens: Distribution,
    /// Output tokens
    #[arg(long, value_name = "SPEC", required = true)]
    pub output_tokens: Distribution,
    /// Requests of each simulation [four a stream]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub requests: Option<u32>,
    #[command(flatten)]
    pub goal: GoalArguments,
    /// Price of a card in an hour, of those that --device names without one
    #[arg(long, value_name = "MONEY", value_parser = positive)]
    pub price_per_hour: Option<f64>,
    /// Power of a card under load, W
    #[arg(long, value_name = "W", value_parser = positive)]
    pub watts: Option<f64>,
    #[command(flatten)]
    pub split: SplitArguments,
    /// Write what the prediction rests on as a calibration, for plan what-if and sim --timing
    #[arg(long, value_name = "FILE")]
    pub save_calibration: Option<PathBuf>,
    #[command(flatten)]
    pub view: SheetArguments,
    /// The command that would start the engine: vllm serve MODEL …
    #[arg(last = true, value_name = "ENGINE COMMAND")]
    pub command: Vec<String>,
}

#[derive(Args)]
pub struct ChooseArguments {
    #[command(flatten)]
    pub subject: SubjectArguments,
    /// Card on offer, how many there are, and what one costs in an hour, as in h20:8@1.2; presets
    /// several with commas; may be repeated
    #[arg(long, value_name = "DEVICE[:COUNT]@PRICE", required = true)]
    pub device: Vec<String>,
    /// Flag of the engine that every deployment has
    #[arg(long, value_name = "NAME=VALUE", value_parser = flag)]
    pub flag: Vec<(String, Option<String>)>,
    /// Lengths from a trace (mooncake, burstgpt, azure)
    #[arg(long, value_name = "TRACE", conflicts_with_all = ["input_tokens", "output_tokens"])]
    pub data: Option<String>,
    /// Prompt tokens
    #[arg(long, value_name = "SPEC", required_unless_present = "data")]
    pub input_tokens: Option<Distribution>,
    /// Output tokens
    #[arg(long, value_name = "SPEC", required_unless_present = "data")]
    pub output_tokens: Option<Distribution>,
    /// Objective; may be given several times
    #[arg(long, value_name = "METRIC[.pNN]=TIME", required = true)]
    pub slo: Vec<Slo>,
    /// Share of requests that must meet the objectives of a request [1]
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub attainment: Option<f64>,
    /// Requests a second to carry [a trace's mean rate]
    #[arg(long, value_name = "RATE", value_parser = positive, required_unless_present = "data")]
    pub traffic: Option<f64>,
    /// What replicas are counted by: the estimate, or the slow end of its interval
    #[arg(long, value_name = "estimate|interval", default_value = "estimate", value_parser = size_by)]
    pub size_by: SizeBy,
    /// Deployments to show
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub top: usize,
    /// Simulate until nothing that is not listed may be as cheap, however long it takes
    #[arg(long)]
    pub complete: bool,
    #[command(flatten)]
    pub view: SheetArguments,
}

/// The model, and the engine that serves it.
#[derive(Args)]
pub struct SubjectArguments {
    /// Model: a preset, a config.json, a model folder, a .safetensors file, hf://ORG/NAME, or a URL
    /// [the command's]
    #[arg(long, value_name = "PRESET|PATH|URL")]
    pub model: Option<String>,
    /// Look models up through this HTTP proxy [none; the environment's proxies are not used]
    #[arg(long, value_name = "URL")]
    pub proxy: Option<String>,
    /// Engine: vllm, sglang, trtllm or mindie; several with commas [the command's, or vllm; choose: vllm and
    /// sglang]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = engine)]
    pub engine: Vec<EngineKind>,
    /// Version of the engine [as the command's image says, or the newest known]
    #[arg(long, value_name = "VERSION", value_parser = version)]
    pub as_version: Option<Version>,
}

/// Loads to predict.
#[derive(Args)]
pub struct LoadArguments {
    /// Streams of closed loops
    #[arg(long, value_name = "LIST", conflicts_with = "rate")]
    pub concurrency: Option<String>,
    /// Requests a second of open loops
    #[arg(long, value_name = "LIST")]
    pub rate: Option<String>,
}

/// What must be met, and how much of it is needed.
#[derive(Args)]
pub struct GoalArguments {
    /// Objective; without a load, the replicas that --traffic needs are found, or without that the
    /// greatest concurrency that meets all
    #[arg(long, value_name = "METRIC[.pNN]=TIME")]
    pub slo: Vec<Slo>,
    /// Share of requests that must meet the objectives of a request [1]
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub attainment: Option<f64>,
    /// Requests a second to count replicas for
    #[arg(long, value_name = "RATE", value_parser = positive)]
    pub traffic: Option<f64>,
}

#[derive(Args)]
pub struct ValidateArguments {
    /// Tables (aiconfigurator's silicon_sample.csv, or a column for each setting and figure), runs,
    /// sweeps, folders of runs, or files that `import` reads
    #[arg(value_name = "SOURCE", required = true)]
    pub source: Vec<PathBuf>,
    /// Predict only N rows, those with the lowest hashes of what was measured
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub sample: Option<u32>,
    /// Predict only rows by which no coefficient was chosen
    #[arg(long)]
    pub held_out: bool,
    /// Coefficients of step times in place of the shipped ones
    #[arg(long, value_name = "FILE.toml")]
    pub timing: Option<PathBuf>,
    /// Model, for sources that do not say
    #[arg(long, value_name = "PRESET|PATH|URL")]
    pub model: Option<String>,
    /// Look models up through this HTTP proxy [none; the environment's proxies are not used]
    #[arg(long, value_name = "URL")]
    pub proxy: Option<String>,
    /// Card, for sources that do not say: a preset, or numbers as in memory=80GiB,bandwidth=2039,half=312
    #[arg(long, value_name = "PRESET|NUMBERS")]
    pub device: Option<String>,
    /// Engine, for sources that do not say: vllm, sglang, trtllm or mindie
    #[arg(long, value_name = "ENGINE", value_parser = engine)]
    pub engine: Option<EngineKind>,
    /// Version of the engine, for sources that do not say [the newest known]
    #[arg(long, value_name = "VERSION", value_parser = version)]
    pub as_version: Option<Version>,
    /// Flag of the engine, for sources that do not say how it was started
    #[arg(long, value_name = "NAME=VALUE", value_parser = flag)]
    pub flag: Vec<(String, Option<String>)>,
    /// Prompt tokens, for sources that do not say
    #[arg(long, value_name = "SPEC")]
    pub input_tokens: Option<Distribution>,
    /// Output tokens, for sources that do not say
    #[arg(long, value_name = "SPEC")]
    pub output_tokens: Option<Distribution>,
    #[command(flatten)]
    pub view: SheetArguments,
}

#[derive(Args)]
pub struct MemoryArguments {
    /// Model: a preset, a config.json, a model folder, a .safetensors file, hf://ORG/NAME, or a URL
    /// [the command's]
    #[arg(
        long,
        value_name = "PRESET|PATH|URL",
        required_unless_present_any = ["command", "mindie_config"]
    )]
    pub model: Option<String>,
    /// Look models up through this HTTP proxy [none; the environment's proxies are not used]
    #[arg(long, value_name = "URL")]
    pub proxy: Option<String>,
    /// MindIE's config.json, in place of a command
    #[arg(long, value_name = "FILE", conflicts_with_all = ["command", "engine"])]
    pub mindie_config: Option<PathBuf>,
    /// Card: a preset, several with commas, or numbers as in memory=80GiB, and how many of them
    /// share the model, as in l40s:4; may be repeated
    #[arg(long, value_name = "DEVICE[:COUNT]", required = true)]
    pub device: Vec<String>,
    /// Engine: vllm, sglang, trtllm or mindie; several with commas [the command's, or vllm]
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with = "command", value_parser = engine)]
    pub engine: Vec<EngineKind>,
    #[command(flatten)]
    pub settings: SettingArguments,
    /// Flag of the engine, under vLLM's name or its own; takes the place of the command's
    #[arg(long, value_name = "NAME=VALUE", value_parser = flag)]
    pub flag: Vec<(String, Option<String>)>,
    /// Prompt tokens at which concurrency is asked for
    #[arg(long, value_name = "N", requires = "output_tokens")]
    pub input_tokens: Option<u32>,
    /// Output tokens at which concurrency is asked for
    #[arg(long, value_name = "N", requires = "input_tokens")]
    pub output_tokens: Option<u32>,
    #[command(flatten)]
    pub view: SheetArguments,
    /// The command that would start the engine: vllm serve MODEL …
    #[arg(last = true, value_name = "ENGINE COMMAND")]
    pub command: Vec<String>,
}

/// The host and the engine's version.
#[derive(Args)]
pub struct SettingArguments {
    /// Cards of the host
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub cards: u32,
    /// Version of the engine [as the command's image says, or the newest known]
    #[arg(long, value_name = "VERSION", value_parser = version)]
    pub as_version: Option<Version>,
}

/// How answers are shown that have pictures too.
#[derive(Args)]
pub struct SheetArguments {
    /// text, md, json, html, svg or png
    #[arg(long, value_name = "text|md|json|html|svg|png", default_value = "text")]
    pub format: Format,
    /// Where to write; pictures, of which there may be several, into a folder
    #[arg(
        short = 'o',
        long = "report-to",
        alias = "output",
        value_name = "FILE|DIR"
    )]
    pub to: Option<PathBuf>,
    /// Colours of svg and png [light]
    #[arg(long, value_name = "light|dark", value_parser = theme)]
    pub theme: Option<Theme>,
    /// Language: en or zh [from the locale]
    #[arg(long, value_name = "en|zh", value_parser = lang)]
    pub lang: Option<Lang>,
}

#[derive(Args)]
pub struct CalibrateArguments {
    /// Runs, sweeps, folders of runs, or files that `import` reads
    #[arg(value_name = "SOURCE", required = true)]
    pub source: Vec<PathBuf>,
    /// Model: a preset, a config.json, a model folder, hf://ORG/NAME, or a URL
    #[arg(long, value_name = "PRESET|PATH|URL")]
    pub model: String,
    /// Look models up through this HTTP proxy [none; the environment's proxies are not used]
    #[arg(long, value_name = "URL")]
    pub proxy: Option<String>,
    /// Card: a preset, or numbers as in memory=80GiB,bandwidth=2039,half=312
    #[arg(long, value_name = "PRESET|NUMBERS")]
    pub device: String,
    /// Engine: vllm, sglang, trtllm or mindie
    #[arg(long, value_name = "ENGINE", default_value = "vllm", value_parser = engine)]
    pub engine: EngineKind,
    #[command(flatten)]
    pub settings: SettingArguments,
    /// Flag of the engine, for sources that do not say how it was started
    #[arg(long, value_name = "NAME=VALUE", value_parser = flag)]
    pub flag: Vec<(String, Option<String>)>,
    /// Prompt tokens, for sources that do not say
    #[arg(long, value_name = "SPEC")]
    pub input_tokens: Option<Distribution>,
    /// Output tokens, for sources that do not say
    #[arg(long, value_name = "SPEC")]
    pub output_tokens: Option<Distribution>,
    /// Use measurements that are not valid or contradict each other
    #[arg(long)]
    pub force: bool,
    /// File for the calibration
    #[arg(
        short,
        long,
        value_name = "FILE.toml",
        default_value = "calibration.toml"
    )]
    pub output: PathBuf,
    #[command(flatten)]
    pub view: ViewArguments,
}

#[derive(Args)]
pub struct WhatIfArguments {
    /// What `plan calibrate` wrote
    #[arg(long, value_name = "FILE.toml")]
    pub calibration: PathBuf,
    /// Flag of the engine and the values to try: max-num-seqs=64,128 or 64..1024:x2
    #[arg(long, value_name = "NAME=LIST")]
    pub flag: Vec<String>,
    /// Card in place of the calibrated one, and what one costs in an hour, as in h100@2.5; presets
    /// several with commas; may be repeated
    #[arg(long, value_name = "DEVICE[@PRICE]")]
    pub device: Vec<String>,
    // Hidden: it is taken only to say what answers for another model.
    #[arg(long, value_name = "NAME", hide = true)]
    pub model: Option<String>,
    #[command(flatten)]
    pub load: LoadArguments,
    /// Lengths from a trace (mooncake, burstgpt, azure); without a load, at its mean rate
    #[arg(long, value_name = "TRACE", conflicts_with_all = ["input_tokens", "output_tokens"])]
    pub data: Option<String>,
    /// Prompt tokens [as calibrated]
    #[arg(long, value_name = "SPEC")]
    pub input_tokens: Option<Distribution>,
    /// Output tokens [as calibrated]
    #[arg(long, value_name = "SPEC")]
    pub output_tokens: Option<Distribution>,
    /// Requests of each simulation [as measured, or four a stream]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub requests: Option<u32>,
    #[command(flatten)]
    pub goal: GoalArguments,
    /// Price of a card in an hour, of those that --device names without one
    #[arg(long, value_name = "MONEY", value_parser = positive)]
    pub price_per_hour: Option<f64>,
    /// Measure the recommended setting, on the simulated engine or on a server that was started
    /// with its flags, and keep the error in the calibration
    #[arg(long, value_name = "sim|URL")]
    pub verify: Option<Bench>,
    /// Power of a card under load, W
    #[arg(long, value_name = "W", value_parser = positive)]
    pub watts: Option<f64>,
    #[command(flatten)]
    pub view: SheetArguments,
}

fn engine(text: &str) -> Result<EngineKind, String> {
    let known = [
        EngineKind::Vllm,
        EngineKind::Sglang,
        EngineKind::Trtllm,
        EngineKind::Mindie,
    ];
    let found = known.into_iter().find(|kind| kind.word() == text.trim());
    found.ok_or_else(|| "choose vllm, sglang, trtllm or mindie".to_owned())
}

fn size_by(text: &str) -> Result<SizeBy, String> {
    text.parse()
        .map_err(|_| "choose estimate or interval".to_owned())
}

fn version(text: &str) -> Result<Version, String> {
    text.parse().map_err(|_| "write it as in 0.11.0".to_owned())
}

fn flag(text: &str) -> Result<(String, Option<String>), String> {
    let text = text.trim_start_matches("--");
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (text, None),
    };
    match name.trim() {
        "" => Err("write NAME=VALUE".to_owned()),
        name => Ok((name.to_owned(), value)),
    }
}

fn share(text: &str) -> Result<f64, String> {
    positive(text)
        .ok()
        .filter(|share| *share <= 1.0)
        .ok_or_else(|| "write a share from 0 to 1".to_owned())
}
