//! What stands around a result in notes: commands, start errors, memory readings.

use crate::assumption::Assumption;
use crate::command::{self, Command};
use crate::found::{Found, Tool};
use crate::notes::{Notes, bare};
use inferometer_text::hostile::printable;
use serde_json::Value;

/// vLLM's benchmark sends this many prompts unless told otherwise, since its first version.
const VLLM_PROMPTS: u64 = 1000;
/// Lines between a command and its start error.
const LARGEST_TRACE: usize = 400;

/// Adds refused starts to `results`, and to each result the command it came from. Returns
/// commands that nothing came of.
pub(crate) fn attach(results: &mut Vec<Found>, notes: &mut Notes<'_>) -> Vec<(usize, usize)> {
    let commands = command::find(notes);
    let launches: Vec<&Command> = commands
        .iter()
        .filter(|command| command.launch.is_some())
        .collect();
    let clients: Vec<&Command> = commands
        .iter()
        .filter(|command| command.client.is_some())
        .collect();
    let mut refused = Vec::new();
    let mut fruitless = Vec::new();
    for (at, command) in launches.iter().enumerate() {
        let end = launches
            .get(at + 1)
            .map_or(notes.lines.len(), |next| next.lines.0);
        let Some(launch) = &command.launch else {
            continue;
        };
        let range = between(results, command.lines.1, end);
        let first_result = results
            .get(range.start)
            .filter(|_| !range.is_empty())
            .map_or(end, |found| found.span().0);
        let mut errors = (command.lines.1 + 1..first_result.min(command.lines.1 + LARGEST_TRACE))
            .filter(|line| !notes.is_taken(*line))
            .filter(|line| command::is_error(notes.lines[*line]));
        // The first error is the cause, those behind it are what came of it.
        if let Some(cause) = errors.next() {
            let last = errors.next_back().unwrap_or(cause);
            let mut found = Found::new(Tool::TrialLog, (command.lines.0, last));
            found.error = Some(printable(bare(notes.lines[cause]), 1000));
            found.flags = Some(command::flags(launch));
            found.command = Some(launch.clone());
            notes.take((command.lines.0, last));
            refused.push(found);
        } else if range.len() == 1 {
            let found = &mut results[range.start];
            found.flags = Some(command::flags(launch));
            found.command = Some(launch.clone());
            for line in command.lines.1 + 1..found.span().0 {
                if let Some(gib) = command::memory_gib(notes.lines[line]) {
                    found.device_memory_gib = Some(gib);
                }
            }
            notes.take(command.lines);
        } else if range.is_empty() {
            fruitless.push(command.lines);
        }
    }
    for (at, command) in clients.iter().enumerate() {
        let end = clients
            .get(at + 1)
            .map_or(notes.lines.len(), |next| next.lines.0);
        let range = between(results, command.lines.1, end);
        if let (1, Some(client)) = (range.len(), &command.client) {
            settle(&mut results[range.start], client);
        }
    }
    results.extend(refused);
    results.sort_by_key(|found| found.lines);
    fruitless
}

/// Results that begin behind one line and before another.
fn between(results: &[Found], after: usize, before: usize) -> std::ops::Range<usize> {
    let begin = results.partition_point(|found| found.span().0 <= after);
    let end = results.partition_point(|found| found.span().0 < before);
    begin..end.max(begin)
}

/// Fills what the benchmark's own command says, defaults of its time included.
fn settle(found: &mut Found, client: &str) {
    found.client_command = Some(client.to_owned());
    let flags = command::flags(client);
    let Some(summary) = &mut found.summary else {
        return;
    };
    let of_vllm = found.tool == Tool::Vllm || found.tool == Tool::Vllm2023;
    if summary.requests.planned.is_none() {
        let written = ["num-prompts", "number", "n"]
            .iter()
            .find_map(|name| flags.get(*name));
        summary.requests.planned = written.and_then(Value::as_u64);
        if summary.requests.planned.is_none() && of_vllm {
            summary.requests.planned = Some(VLLM_PROMPTS);
            found.assumed.push(Assumption::DefaultPrompts {
                count: VLLM_PROMPTS,
            });
        }
    }
    if !found.point.contains_key("rate") {
        match flags.get("request-rate") {
            Some(rate) => {
                found.point.insert("rate".into(), rate.clone());
            }
            None if of_vllm => {
                found.point.insert("rate".into(), "inf".into());
                found.assumed.push(Assumption::DefaultRate);
            }
            None => {}
        }
    }
    let cap = flags.get("max-tokens").and_then(Value::as_f64);
    summary.tokens.output_asked = summary.tokens.output_asked.or(cap);
    let streams = ["max-concurrency", "parallel"]
        .iter()
        .find_map(|name| flags.get(*name)?.as_f64());
    if let (None, Some(streams)) = (summary.concurrency.configured, streams) {
        summary.concurrency.configured = crate::draft::count(streams);
        found
            .point
            .insert("concurrency".into(), crate::draft::number(streams));
    }
}
