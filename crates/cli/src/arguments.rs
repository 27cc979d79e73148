//! The command line. Options of a measurement are core's; here is what only a command has.

// Comments of options are their help texts, where `[…]` is a default and no link.
#![allow(rustdoc::broken_intra_doc_links)]

use crate::command::capacity::CapacityArguments;
use crate::command::compare::CompareArguments;
use crate::command::from::FromArguments;
use crate::command::import::ImportArguments;
use crate::command::sweep::SweepArguments;
use crate::command::tune::TuneArguments;
use crate::launch::EngineArguments;
use anyhow::Context;
use clap::{Args, FromArgMatches, Parser, Subcommand};
use inferometer_core::options::{
    ConnectionOptions, Count, FormatName, LoadOptions, ObjectiveOptions, Options, RunOptions,
    WorkOptions,
};
use inferometer_core::slo::Slo;
use inferometer_core::units::Span;
use inferometer_core::work::{Filter, PromptLength, TokenizerName};
use inferometer_dialect::Dialect;
use inferometer_page::figure::theme::Theme;
use inferometer_text::Lang;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;

/// A measuring instrument for LLM serving.
#[derive(Parser)]
#[command(name = "inferometer", version, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Subcommand)]
pub enum Command {
    /// Measure one load point
    #[command(
        after_help = "Example: inferometer run http://localhost:8000 --concurrency 32 --requests 500 \\\n         --input-tokens 512 --output-tokens 128 --slo ttft.p99=1s\nStart the engine, too: inferometer run --requests 500 -- vllm serve MODEL --port {port}\nWithout a URL or a command, the simulated engine is started and measured."
    )]
    Run(Box<RunArguments>),
    /// Measure a grid of load points: every option that holds a list is an axis
    #[command(
        after_help = "Example: inferometer sweep http://localhost:8000 --concurrency 1..64:x2 --requests 'concurrency*10' \\\n         --input-tokens 256,1024 --repeat 3 --stop-when throughput-falling\nThe same command with the same --out goes on where it was stopped."
    )]
    Sweep(Box<SweepArguments>),
    /// Find the highest load that still meets the objectives
    #[command(
        after_help = "Example: inferometer capacity http://localhost:8000 --slo ttft.p99=1s --slo tpot.p99=50ms \\\n         --input-tokens 512 --output-tokens 128\nWithout a URL, the simulated engine is started and searched."
    )]
    Capacity(Box<CapacityArguments>),
    /// Find the best launch flags of an engine, by trials that start it
    #[command(
        after_help = "Example: inferometer tune --init -- vllm serve Qwen/Qwen2.5-7B-Instruct --port '{port}' > study.toml\n         inferometer tune study.toml --out tuned\nThe same command with the same --out goes on where it was stopped.\nWithout an engine: inferometer tune study.toml --sim-clock virtual --sim-device h100"
    )]
    Tune(Box<TuneArguments>),
    /// Show a stored run or sweep again, in any format, dialect or with other objectives
    #[command(
        after_help = "Example: inferometer report --dialect vllm\nWithout a path, the latest run, sweep or search in inferometer-runs.\nAn index of many: inferometer report inferometer-runs -o site"
    )]
    Report(ReportArguments),
    /// List the stored runs, sweeps and searches
    #[command(after_help = "Example: inferometer runs")]
    Runs(RunsArguments),
    /// Compare runs, sweeps and imports with a baseline
    #[command(
        after_help = "Example: inferometer compare before/ after/ --fail-on worse\nEach folder may hold several runs of one setting: repeats make the verdict surer."
    )]
    Compare(CompareArguments),
    /// Read results of other tools, from files or notes, and keep them as runs
    #[command(after_help = "Example: inferometer import notes.md benchmark_data.db --format md")]
    Import(ImportArguments),
    /// Translate the command line of another benchmark
    #[command(
        after_help = "Example: inferometer from 'vllm bench serve --model Qwen/Qwen2.5-7B-Instruct --dataset-name random --request-rate 4'\nWithout quotes, after --: inferometer from -- evalscope perf --parallel 8 16 --number 80 160"
    )]
    From(FromArguments),
    /// Look at a data set: its format, lengths and bad lines; convert it
    #[command(
        after_help = "Example: inferometer data ShareGPT_V3.json --filter vllm --to custom -o prompts.jsonl"
    )]
    Data(Box<DataArguments>),
    /// Will it fit, how fast will it be, how many cards
    Plan(crate::command::plan::arguments::PlanArguments),
    /// Serve as a simulated engine
    #[command(
        after_help = "Example: inferometer sim --device h100 -- vllm serve Qwen/Qwen2.5-7B-Instruct --max-num-seqs 64\nOn fixed times: inferometer sim --ttft 200ms --itl 20ms --faults 'error500=1%,stall(2s)=1%'"
    )]
    Sim(Box<SimArguments>),
    /// Measure this host's own ceiling and error as a client
    #[command(
        after_help = "Example: inferometer doctor\nWith a URL: what that server understands."
    )]
    Doctor(Box<DoctorArguments>),
    /// Print the JSON Schema of something that is printed or stored
    #[command(
        after_help = "Example: inferometer schema summary\nWithout a name, the names of all forms."
    )]
    Schema(crate::command::schema::SchemaArguments),
    /// Print the man page of a command
    #[command(
        after_help = "Example: inferometer manual run | man -l -\nInstall all: inferometer manual > /usr/local/share/man/man1/inferometer.1, and so on for each command"
    )]
    Manual(crate::command::manual::ManualArguments),
    /// Print a script that completes commands and options in a shell
    #[command(
        after_help = "Example: inferometer completions bash > ~/.local/share/bash-completion/completions/inferometer"
    )]
    Completions(crate::command::completions::CompletionsArguments),
    /// Serve streams as fast as possible; what `doctor` measures the client against
    #[command(hide = true)]
    NullServer(NullServerArguments),
}

/// `inferometer run`.
#[derive(Args)]
pub struct RunArguments {
    #[command(flatten)]
    pub output: OutputOptions,
    #[command(flatten)]
    pub measurement: MeasurementOptions,
    /// Folder for everything that is kept of the run [inferometer-runs/TIME-LABEL]
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub out: Option<PathBuf>,
    /// Do not write the page report.html
    #[arg(long, help_heading = "Output")]
    pub no_html: bool,
    /// Say nothing while it runs
    #[arg(long, help_heading = "Output")]
    pub quiet: bool,
    #[command(flatten)]
    pub engine: EngineArguments,
}

/// The options of a measurement, from flags and from a file.
#[derive(Args)]
pub struct MeasurementOptions {
    #[command(flatten)]
    run: RunOptions,
    #[command(flatten)]
    connection: ConnectionOptions,
    #[command(flatten)]
    pub load: LoadOptions,
    #[command(flatten)]
    work: WorkOptions,
    #[command(flatten)]
    objectives: ObjectiveOptions,
    /// Options from a file, such as the scenario.toml of a stored run; flags win over it
    #[arg(long, value_name = "FILE.toml", help_heading = "Run")]
    config: Option<PathBuf>,
}

impl MeasurementOptions {
    /// Flags over environment over file.
    pub fn layered(self) -> anyhow::Result<Options> {
        let environment = Self::from_environment()?;
        let file = self.config.clone().or(environment.config.clone());
        let options = self.options().over(environment.options());
        let Some(file) = file else {
            return Ok(options);
        };
        let text = std::fs::read_to_string(&file)
            .with_context(|| format!("cannot read --config {}; check the path", file.display()))?;
        let below =
            Options::from_toml(&text).with_context(|| format!("--config {}", file.display()))?;
        Ok(options.over(below))
    }

    /// What `INFEROMETER_…` variables say: a layer of its own, so that a flag silences its
    /// alternatives there as it does in a file.
    fn from_environment() -> anyhow::Result<MeasurementOptions> {
        let command = Self::augment_args(clap::Command::new("inferometer"));
        let matches = command
            .mut_args(from_variable)
            .try_get_matches_from(["inferometer"])
            .map_err(|error| {
                let text = error.render().to_string();
                let said = text.split("\n\n").next().unwrap_or_default();
                let said = said.trim_start_matches("error: ").to_owned();
                anyhow::anyhow!("{said}; it was read from the environment (INFEROMETER_…)")
            })?;
        Ok(Self::from_arg_matches(&matches)?)
    }

    fn options(self) -> Options {
        Options {
            run: self.run,
            connection: self.connection,
            load: self.load,
            work: self.work,
            objectives: self.objectives,
        }
    }
}

/// How results are shown.
#[derive(Args, Clone)]
#[command(next_help_heading = "Output")]
pub struct OutputOptions {
    /// Format, text unless given (repeatable); md, csv, html and pictures go into the run directory unless -o says otherwise
    #[arg(long, value_name = "text|md|json|csv|html|svg|png")]
    pub format: Vec<Format>,
    /// Whose definitions to use
    #[arg(long, value_name = "ours|vllm|sglang|evalscope-2024|evalscope|mindie|grid-log|aiperf|guidellm", default_value = "ours", hide_default_value = true, value_parser = dialect)]
    pub dialect: Dialect,
    /// Language of the report [from the locale]
    #[arg(long, value_name = "en|zh", value_parser = lang)]
    pub lang: Option<Lang>,
    /// Where to write instead; pictures, of which there may be several, into a folder
    #[arg(short = 'o', long = "output", value_name = "FILE|DIR")]
    pub to: Option<PathBuf>,
    /// Colours of svg and png [light]
    #[arg(long, value_name = "light|dark", value_parser = theme)]
    pub theme: Option<Theme>,
    /// Show each metric's definition beside it
    #[arg(long)]
    pub definitions: bool,
}

/// How tables of results that are not ours to measure are shown: imports and comparisons.
#[derive(clap::Args, Clone, Debug)]
pub struct TableOutput {
    /// Format, text unless given (repeatable); pages and pictures go into a folder unless -o says otherwise
    #[arg(long, value_name = "text|md|json|csv|html|svg|png")]
    pub format: Vec<Format>,
    /// Language of the report [from the locale]
    #[arg(long, value_name = "en|zh", value_parser = lang)]
    pub lang: Option<Lang>,
    /// Where to write instead; pictures, of which there may be several, into a folder
    #[arg(short = 'o', long = "output", value_name = "FILE|DIR")]
    pub to: Option<PathBuf>,
    /// Colours of svg and png [light]
    #[arg(long, value_name = "light|dark", value_parser = theme)]
    pub theme: Option<Theme>,
}

impl TableOutput {
    /// The same as options of a report. Without a page or picture among them, tables go to
    /// standard output.
    pub fn options(&self) -> OutputOptions {
        let drawn = |format: &Format| matches!(format, Format::Html | Format::Svg | Format::Png);
        let stdout = || (!self.format.iter().any(drawn)).then(|| PathBuf::from("-"));
        OutputOptions {
            format: self.format.clone(),
            dialect: Dialect::Ours,
            lang: self.lang,
            to: self.to.clone().or_else(stdout),
            theme: self.theme,
            definitions: false,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Text,
    Md,
    Json,
    Csv,
    /// A page that opens anywhere.
    Html,
    Svg,
    Png,
}

impl std::str::FromStr for Format {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "text" => Ok(Format::Text),
            "md" => Ok(Format::Md),
            "json" => Ok(Format::Json),
            "csv" => Ok(Format::Csv),
            "html" => Ok(Format::Html),
            "svg" => Ok(Format::Svg),
            "png" => Ok(Format::Png),
            _ => Err("choose text, md, json, csv, html, svg or png".into()),
        }
    }
}

fn dialect(text: &str) -> Result<Dialect, String> {
    Dialect::from_word(text).ok_or_else(|| {
        let words: Vec<&str> = Dialect::ALL.iter().map(|dialect| dialect.word()).collect();
        format!("choose one of {}", words.join(", "))
    })
}

pub(crate) fn theme(text: &str) -> Result<Theme, String> {
    match text {
        "light" => Ok(Theme::Light),
        "dark" => Ok(Theme::Dark),
        _ => Err("choose light or dark".into()),
    }
}

/// A language by its word.
pub fn lang(text: &str) -> Result<Lang, String> {
    text.parse().map_err(|_| "choose en or zh".into())
}

/// `inferometer report`.
#[derive(Args)]
pub struct ReportArguments {
    /// A run, sweep or search [the latest]; several, or a folder of many, with -o DIR make an
    /// index in that folder
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    #[command(flatten)]
    pub output: OutputOptions,
    /// Judge by these objectives instead of the run's own (repeatable)
    #[arg(long, value_name = "METRIC[.pNN]=TIME")]
    pub slo: Vec<Slo>,
    /// Share of requests that must meet all request objectives
    #[arg(long, value_name = "SHARE")]
    pub attainment: Option<f64>,
    /// Folder with the runs
    #[arg(long, value_name = "DIR", default_value = RUNS)]
    pub runs: PathBuf,
}

pub const RUNS: &str = "inferometer-runs";

/// `inferometer runs`.
#[derive(Args)]
pub struct RunsArguments {
    /// Folder with the runs
    #[arg(default_value = RUNS)]
    pub folder: PathBuf,
    /// Language [from the locale]
    #[arg(long, value_name = "en|zh", value_parser = lang)]
    pub lang: Option<Lang>,
}

/// `inferometer data`.
#[derive(Args)]
pub struct DataArguments {
    /// A file (also .gz, .zst), hf://datasets/ORG/NAME/FILE, ms://datasets/ORG/NAME/FILE or
    /// https://…
    #[arg(value_name = "FILE")]
    pub location: String,
    /// Format of the data: sharegpt, openqa, line, custom, instruct, gsm8k, mooncake, burstgpt,
    /// azure, text or conversations [auto: found from the content]
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
    #[arg(long)]
    pub shuffle: bool,
    /// Seed of that order
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Shortest prompt to take: 16 (tokens) or 50chars
    #[arg(long, value_name = "LEN", allow_negative_numbers = true)]
    pub min_prompt: Option<PromptLength>,
    /// Longest prompt to take: 1024 (tokens) or 8000chars; of a text: length of its pieces
    #[arg(long, value_name = "LEN", allow_negative_numbers = true)]
    pub max_prompt: Option<PromptLength>,
    /// Bad rows are no failure
    #[arg(long)]
    pub skip_bad: bool,
    /// Counts tokens: a tokenizer.json, a model folder, cl100k, o200k or bytes [cl100k]
    #[arg(long, value_name = "FILE|DIR|cl100k|o200k|bytes")]
    pub tokenizer: Option<TokenizerName>,
    /// Write the chosen rows as JSONL with prompt and output_tokens
    #[arg(long, value_name = "custom")]
    pub to: Option<ConvertTo>,
    /// Where to write instead of standard output: the rows with --to, else the findings
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// How to show the findings
    #[arg(
        long,
        value_name = "text|json",
        default_value = "text",
        hide_default_value = true
    )]
    pub format: DataView,
    /// Download through this HTTP proxy [none; the environment's proxies are not used]
    #[arg(long, value_name = "URL")]
    pub proxy: Option<String>,
    /// Language [from the locale]
    #[arg(long, value_name = "en|zh", value_parser = lang)]
    pub lang: Option<Lang>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConvertTo {
    /// `{"prompt", "output_tokens"?}` a line.
    Custom,
}

impl std::str::FromStr for ConvertTo {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "custom" => Ok(ConvertTo::Custom),
            _ => Err("choose custom".into()),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataView {
    Text,
    Json,
}

impl std::str::FromStr for DataView {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "text" => Ok(DataView::Text),
            "json" => Ok(DataView::Json),
            _ => Err("choose text or json".into()),
        }
    }
}

/// `inferometer sim`.
#[derive(Args)]
pub struct SimArguments {
    /// Address to serve on; port 0 takes a free one [the engine command's, or 127.0.0.1:8000]
    #[arg(long, value_name = "ADDR:PORT")]
    pub listen: Option<SocketAddr>,
    /// Model: a preset, or a folder with a config.json [qwen2.5-7b]; with fixed times just a name
    #[arg(long, value_name = "PRESET|PATH")]
    pub model: Option<String>,
    /// Card to run on: t4, v100-32g, a10, a100-40g, a100-80g, l20, l40s, rtx-4090, h100, h200,
    /// 910b3 or 910b4 [a100-80g]
    #[arg(long, value_name = "PRESET")]
    pub device: Option<String>,
    /// Cards of the host
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub cards: u32,
    /// Start MindIE as its config.json says
    #[arg(long, value_name = "FILE", conflicts_with = "engine")]
    pub mindie_config: Option<PathBuf>,
    /// Be this version of the engine: its flags, refusals and log lines [the newest known]
    #[arg(long, value_name = "VERSION")]
    pub as_version: Option<String>,
    /// What cuts prompts into tokens: a tokenizer.json, a model folder, cl100k, o200k, bytes or
    /// words [the engine command's, or words]
    #[arg(long, value_name = "FILE|DIR|NAME")]
    pub tokenizer: Option<String>,
    /// Coefficients of step times, as `plan calibrate` writes them
    #[arg(long, value_name = "FILE.toml")]
    pub timing: Option<PathBuf>,
    /// Vary as real servers do: from start to start, slowly, and now and then
    #[arg(long)]
    pub noise: bool,
    /// Start at once, as slowly as the engine does, or never
    #[arg(long, value_name = "fast|real|hang", default_value = "fast")]
    pub startup: Startup,
    /// Log each step of the scheduler
    #[arg(long, value_name = "FILE")]
    pub steps: Option<PathBuf>,
    /// Where /stop_profile writes a trace of the steps since /start_profile
    #[arg(long, value_name = "FILE")]
    pub profile: Option<PathBuf>,
    /// List the flags that have an effect, and those that are accepted without
    #[arg(long)]
    pub explain_flags: bool,
    /// Fixed time to the first token, in place of a scheduler [200ms with the others]
    #[arg(long, value_name = "TIME")]
    pub ttft: Option<Span>,
    /// Fixed time between tokens [20ms with the others]
    #[arg(long, value_name = "TIME")]
    pub itl: Option<Span>,
    /// Each fixed gap varies by up to this much
    #[arg(long, value_name = "TIME")]
    pub jitter: Option<Span>,
    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Log for each request when it came and when each chunk was written
    #[arg(long, value_name = "FILE")]
    pub truth: Option<PathBuf>,
    /// Faults by share, and habits: 'error500=1%,cut=0.5%,stall(2s)=1%,role-first,usage=missing'
    #[arg(long, value_name = "SPEC")]
    pub faults: Option<inferometer_sim::Faults>,
    /// Longest context with fixed times [32768]
    #[arg(long, value_name = "TOKENS")]
    pub max_model_len: Option<u32>,
    /// Serve everything below this path
    #[arg(long, value_name = "PATH")]
    pub path_prefix: Option<String>,
    /// Demand the API key in this environment variable
    #[arg(long, value_name = "NAME")]
    pub api_key_env: Option<String>,
    /// Serve HTTPS with this certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// Key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Demand client certificates of this authority (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_client_ca: Option<PathBuf>,
    /// End when standard input closes: a parent's way to leave no orphan
    #[arg(long, hide = true)]
    pub until_stdin_closes: bool,
    /// An engine's command line: vllm serve …, python -m sglang.launch_server …
    #[arg(last = true, value_name = "ENGINE COMMAND")]
    pub engine: Vec<String>,
}

/// How the simulated engine starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Startup {
    /// At once.
    Fast,
    /// As slowly as the engine does.
    Real,
    /// It never gets ready.
    Hang,
}

/// `inferometer doctor`.
#[derive(Args)]
pub struct DoctorArguments {
    #[command(flatten)]
    pub connection: ConnectionOptions,
    /// Print the certificate as JSON
    #[arg(
        long,
        value_name = "text|json",
        default_value = "text",
        hide_default_value = true
    )]
    pub format: Format,
    /// Language [from the locale]
    #[arg(long, value_name = "en|zh", value_parser = lang)]
    pub lang: Option<Lang>,
}

/// The hidden `inferometer null-server`.
#[derive(Args)]
pub struct NullServerArguments {
    #[arg(long, default_value = "127.0.0.1:0")]
    pub listen: SocketAddr,
    #[arg(long, default_value = "1")]
    pub events_per_write: NonZeroU32,
    #[arg(long)]
    pub gap: Option<Span>,
    #[arg(long)]
    pub truth: Option<PathBuf>,
}

/// Lets every long option of every command be given as `INFEROMETER_NAME` in the environment,
/// except those of a measurement, which are layered.
pub fn with_environment(command: clap::Command) -> clap::Command {
    let layered: Vec<clap::Id> = MeasurementOptions::augment_args(clap::Command::new("run"))
        .get_arguments()
        .map(|argument| argument.get_id().clone())
        .collect();
    let names: Vec<String> = command
        .get_subcommands()
        .map(|command| command.get_name().to_owned())
        .collect();
    names.into_iter().fold(command, |command, name| {
        let is_run = ["run", "sweep", "capacity"].contains(&name.as_str());
        command.mut_subcommand(name, |command| {
            command.mut_args(
                |argument| match is_run && layered.contains(argument.get_id()) {
                    true => argument,
                    false => from_variable(argument),
                },
            )
        })
    })
}

/// Lets an option with a long name be given by its variable.
fn from_variable(argument: clap::Arg) -> clap::Arg {
    match argument.get_long() {
        Some(long) if long != "help" => {
            let variable = format!("INFEROMETER_{}", long.to_uppercase().replace('-', "_"));
            argument
                .env(std::ffi::OsString::from(variable))
                .hide_env(true)
        }
        _ => argument,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        with_environment(Cli::command()).debug_assert();
    }
}
