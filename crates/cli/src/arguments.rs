//! The command line: the program and its commands. Each command has its own arguments; what
//! several share is in `options`.

use crate::command::capacity::CapacityArguments;
use crate::command::compare::CompareArguments;
use crate::command::data::DataArguments;
use crate::command::doctor::DoctorArguments;
use crate::command::from::FromArguments;
use crate::command::import::ImportArguments;
use crate::command::null_server::NullServerArguments;
use crate::command::report::ReportArguments;
use crate::command::run::RunArguments;
use crate::command::runs::RunsArguments;
use crate::command::sim::SimArguments;
use crate::command::sweep::SweepArguments;
use crate::command::tune::TuneArguments;
use crate::command::upload::UploadArguments;
use crate::command::verify::VerifyArguments;
use crate::options::{MeasurementOptions, from_variable};
use clap::{Args, Parser, Subcommand};

/// A measuring instrument for LLM serving.
#[derive(Parser)]
#[command(
    name = "inferometer",
    version = env!("VERSION_AND_COMMIT"),
    max_term_width = 100
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

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
    /// Check that stored runs and sweeps are as they were written
    #[command(
        after_help = "Example: inferometer verify inferometer-runs\nExit code 0: intact, 1: damaged, 2: not a run."
    )]
    Verify(VerifyArguments),
    /// Bring a stored result to an object store, or what is missing there
    #[command(
        after_help = "Example: inferometer upload inferometer-runs/20261117-first s3://lab/nightly/\nWhat run --out s3://… could not upload: inferometer upload FOLDER"
    )]
    Upload(UploadArguments),
    /// Compare runs, sweeps and imports with a baseline
    #[command(
        after_help = "Example: inferometer compare before/ after/ --fail-on worse\nEach folder may hold several runs of one setting: repeats make the verdict surer."
    )]
    Compare(CompareArguments),
    /// Show since when a server is faster or slower, from the runs of one scenario
    #[command(
        after_help = "Example: inferometer history --where model=Qwen2.5-7B --fail-on worse\nSix runs of one scenario or more can show a change; tags such as driver=570 are named beside it."
    )]
    History(crate::command::history::HistoryArguments),
    /// Probe a server again and again, within limits, and tell when it gets slower
    #[command(
        after_help = "Example: inferometer watch http://127.0.0.1:8000 --every 1h --budget 60s --webhook-env ALERTS_URL\nThe probes are runs like any other: inferometer history shows them."
    )]
    Watch(Box<crate::command::watch::WatchArguments>),
    /// Show all results in a browser, and running ones as they grow
    #[command(
        after_help = "Example: inferometer serve inferometer-runs\nFor others: inferometer serve --listen 0.0.0.0:7470 --token-file token.txt"
    )]
    Serve(crate::command::serve::ServeArguments),
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
    /// Print what a cluster needs to run a measurement from several pods
    #[command(
        after_help = "Example: inferometer manifest kubernetes --workers 8 --image IMAGE -- run http://vllm:8000 --concurrency 4096"
    )]
    Manifest(crate::command::manifest::ManifestArguments),
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
            command.mut_args(|argument| {
                if is_run && layered.contains(argument.get_id()) {
                    argument
                } else {
                    from_variable(argument)
                }
            })
        })
    })
}

/// What `-h` shows of a command with very many options; `--help` has all.
const IN_SHORT_HELP: &str = "\
    model concurrency rate requests duration data input_tokens output_tokens slo repeat over \
    out format device";
/// Options beyond which a command has a short help of its own.
const FEW_OPTIONS: usize = 25;

/// Lets `-h` fit on a screen: the options that people use, and where the others are.
pub fn with_short_help(command: clap::Command) -> clap::Command {
    let large: Vec<String> = (command.get_subcommands())
        .filter(|command| command.get_arguments().count() > FEW_OPTIONS)
        .map(|command| command.get_name().to_owned())
        .collect();
    large.into_iter().fold(command, |command, name| {
        let all = format!("All options: inferometer {name} --help");
        command.mut_subcommand(name, |command| {
            let more = command.get_after_help().cloned().unwrap_or_default();
            let command = command
                .after_long_help(more.clone())
                .after_help(format!("{all}\n{more}"));
            command.mut_args(|argument| {
                let mut shown = IN_SHORT_HELP.split(' ');
                let is_shown = argument.is_positional() || shown.any(|id| argument.get_id() == id);
                argument.hide_short_help(!is_shown)
            })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use inferometer_catalog::device::Device;

    #[test]
    fn the_command_line_is_consistent() {
        with_short_help(with_environment(Cli::command())).debug_assert();
    }

    /// Cargo.toml's version is that of this crate.
    #[test]
    fn cargo_changelog_and_program_agree_on_the_version() {
        let version = env!("CARGO_PKG_VERSION");
        let said = Cli::command().get_version().expect("a version").to_owned();
        let commit = said.strip_prefix(version).expect(&said);
        let in_brackets = commit.starts_with(" (") && commit.ends_with(')');
        assert!(commit.is_empty() || in_brackets, "{said}");
        let log = include_str!("../../../CHANGELOG.md");
        let newest = log.lines().find(|line| line.starts_with("## ["));
        let newest = newest.expect("a heading");
        assert!(
            newest.starts_with(&format!("## [{version}] - ")),
            "{newest}"
        );
    }

    #[test]
    fn the_help_of_the_simulated_engine_names_every_card() {
        let command = Cli::command();
        let sim = command.find_subcommand("sim").expect("a command");
        let device = sim.get_arguments().find(|it| it.get_id() == "device");
        let help = device.and_then(|it| it.get_help()).expect("its help");
        let help = help.to_string();
        let words: Vec<&str> = help.split([' ', ',']).collect();
        for card in Device::presets() {
            assert!(words.contains(&card.name.as_str()), "{}: {help}", card.name);
        }
    }

    #[test]
    fn commands_whose_results_are_no_table_offer_no_csv() {
        let mut command = Cli::command();
        command.build();
        for (name, is_table) in [("run", true), ("capacity", false), ("tune", false)] {
            let command = command.find_subcommand_mut(name).expect("a command");
            let help = command.render_long_help().to_string();
            assert_eq!(help.contains("csv"), is_table, "{name}: {help}");
        }
    }

    #[test]
    fn short_help_fits_on_a_screen_and_names_the_whole() {
        let mut command = with_short_help(Cli::command());
        command.build();
        for name in ["run", "sweep", "capacity"] {
            let command = command.find_subcommand_mut(name).expect("a command");
            let short = command.render_help().to_string();
            let long = command.render_long_help().to_string();
            assert!(short.lines().count() <= 50, "{name}: {short}");
            assert!(short.contains("--concurrency") && short.contains("--help"));
            assert!(!short.contains("--burstiness") && long.contains("--burstiness"));
        }
    }
}
