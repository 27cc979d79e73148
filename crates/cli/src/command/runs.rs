//! `inferometer runs`: what is in the runs folder.

use crate::Exit;
use crate::arguments::RunsArguments;
use crate::output::{language, print, style};
use inferometer_core::run_dir::{ListedRun, RunDir, list};
use inferometer_import::Stored;
use inferometer_report::runs::{RunLine, RunState, compose};
use inferometer_report::text;
use std::path::{Path, PathBuf};

/// Lists the runs of a folder.
pub fn run(arguments: &RunsArguments) -> anyhow::Result<Exit> {
    let mut lines: Vec<RunLine> = list(&arguments.folder)?.into_iter().map(line).collect();
    lines.extend(imports(&arguments.folder));
    print(&text::render(
        &compose(&lines, language(arguments.lang)),
        style(),
    ))?;
    Ok(Exit::Fine)
}

/// Results of other tools that were kept among the runs.
fn imports(folder: &Path) -> Vec<RunLine> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries
        .map(|entry| entry.path())
        .filter(|path| Stored::is_at(path));
    let line = |path: PathBuf| {
        let stored = Stored::open(&path).ok();
        let results = stored.as_ref().map_or(0, |stored| stored.results.len());
        // The figures of one result can stand in a line; of several, the report shows them.
        let only = stored
            .as_ref()
            .and_then(|stored| match stored.results.as_slice() {
                [found] => found.summary.as_ref(),
                _ => None,
            });
        RunLine {
            name: path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            label: None,
            started: stored.as_ref().map(|stored| stored.imported.clone()),
            state: RunState::Imported { results },
            load: None,
            requests_per_s: only.and_then(|summary| summary.throughput.requests_per_s),
            output_tokens_per_s: only.and_then(|summary| summary.throughput.output_tokens_per_s),
            ttft_p50_ms: only.and_then(|summary| summary.latency.ttft_ms.as_ref()?.p50),
        }
    };
    folders.map(line).collect()
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
