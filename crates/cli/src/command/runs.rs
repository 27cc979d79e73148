//! `inferometer runs`: what is in the runs folder.

use crate::Exit;
use crate::arguments::RunsArguments;
use crate::output::{language, print, style};
use inferometer_core::run_dir::{ListedRun, RunDir, list};
use inferometer_report::runs::{RunLine, RunState, compose};
use inferometer_report::text;

/// Lists the runs of a folder.
pub fn run(arguments: &RunsArguments) -> anyhow::Result<Exit> {
    let lines: Vec<RunLine> = list(&arguments.folder)?.into_iter().map(line).collect();
    print(&text::render(
        &compose(&lines, language(arguments.lang)),
        style(),
    ))?;
    Ok(Exit::Fine)
}

fn line(run: ListedRun) -> RunLine {
    let directory = RunDir::open(&run.path).ok();
    let summary = directory
        .as_ref()
        .and_then(|directory| directory.summary().ok());
    let scenario = directory
        .as_ref()
        .and_then(|directory| directory.scenario().ok());
    RunLine {
        name: run
            .path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned(),
        label: run.label,
        started: run.started,
        state: match run.valid {
            Some(true) => RunState::Valid,
            Some(false) => RunState::Invalid,
            None => RunState::Unfinished,
        },
        load: scenario.map(|scenario| scenario.load.shape),
        requests_per_s: summary
            .as_ref()
            .and_then(|summary| summary.throughput.requests_per_s),
        output_tokens_per_s: summary
            .as_ref()
            .and_then(|summary| summary.throughput.output_tokens_per_s),
        ttft_p50_ms: summary
            .as_ref()
            .and_then(|summary| summary.latency.ttft_ms)
            .map(|ttft| ttft.p50),
    }
}
