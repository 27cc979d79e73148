//! What stands around a result in notes: commands, start errors, memory readings.

use crate::assumption::Assumption;
use crate::commands::{self, Command};
use crate::facts::{engines, model};
use crate::group::load;
use crate::quantity::{count, number};
use crate::result::{ImportedResult, Tool};
use crate::section::{Section, above, chain, sections};
use inferometer_notes::{Notes, bare};
use inferometer_text::hostile::printable;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// vLLM's benchmark sends this many prompts unless told otherwise, since its first version.
const VLLM_PROMPTS: u64 = 1000;
/// Lines between a command and its start error.
const LARGEST_TRACE: usize = 400;

/// Adds refused starts to `results`, and to each result the command it came from. Returns
/// commands without a result.
pub(crate) fn attach(
    results: &mut Vec<ImportedResult>,
    notes: &mut Notes<'_>,
) -> Vec<(usize, usize)> {
    let commands = commands::find(notes);
    let sections = sections(notes);
    let with = |of: fn(&Command) -> &Option<String>| -> Vec<(&Command, &String)> {
        let commands = commands.iter();
        let given = commands.filter_map(|command| Some((command, of(command).as_ref()?)));
        given.collect()
    };
    let launches = with(|command| &command.launch);
    let clients = with(|command| &command.client);
    let end_of_notes = notes.lines.len();
    let next = |commands: &[(&Command, &String)], at: usize| {
        let next = commands.get(at + 1);
        next.map_or(end_of_notes, |(next, _)| next.lines.0)
    };
    for (at, &(command, client)) in clients.iter().enumerate() {
        let range = between(results, command.lines.1, next(&clients, at));
        let mut blocks = results[range].iter_mut().filter(|found| is_block(found));
        if let (Some(block), None) = (blocks.next(), blocks.next()) {
            settle(block, client);
        }
    }
    // Sections in which something was measured.
    let measured: BTreeSet<usize> = (results.iter())
        .flat_map(|found| chain(&sections, found.span().0))
        .collect();
    let mut refused = Vec::new();
    let mut without_result = Vec::new();
    for (at, &(command, launch)) in launches.iter().enumerate() {
        let end = next(&launches, at);
        let range = between(results, command.lines.1, end);
        let first_result = results[range.clone()].first();
        let first_result = first_result.map_or(end, |found| found.span().0);
        // A heading of its own, `启动命令`, says what is launched for the section around it.
        let around = chain(&sections, command.lines.0);
        let is_apart = around.first().is_some_and(|own| !measured.contains(own));
        let home = around.get(usize::from(is_apart)).copied();
        let last_line = first_result.min(command.lines.1 + LARGEST_TRACE);
        let lines = command.lines.1 + 1..last_line.max(command.lines.1 + 1);
        // Memory that is exhausted behind the command of a client is exhausted by its load.
        let is_client = |line: &usize| commands::is_program(notes.lines[*line]);
        let under_load = lines.clone().find(is_client).unwrap_or(end);
        let mut errors = lines
            .filter(|line| !notes.is_taken(*line))
            .filter(|line| is_error(notes.lines[*line]))
            .filter(|line| *line < under_load || !is_out_of_memory(notes.lines[*line]));
        // The first error is the cause, those behind it are what came of it.
        if let Some(cause) = errors.next() {
            let last = errors.next_back().unwrap_or(cause);
            let mut found = ImportedResult::new(Tool::TrialLog, (command.lines.0, last));
            found.error = Some(printable(bare(notes.lines[cause]), 1000));
            found.flags = Some(commands::flags(launch));
            found.command = Some(launch.clone());
            notes.take((command.lines.0, last));
            refused.push(found);
        } else if range.is_empty() {
            without_result.push(command.lines);
        } else {
            let is_home = |found: &ImportedResult| {
                let headings = chain(&sections, found.span().0);
                home.is_none_or(|home| headings.contains(&home))
            };
            // A table beside blocks is made of them; alone it is what the command led to.
            let mut of_range = results[range.clone()].iter();
            let has_blocks = of_range.any(|found| is_block(found) && is_home(found));
            let mut served: Vec<&mut ImportedResult> = (results[range].iter_mut())
                .filter(|found| is_home(found) && (is_block(found) || !has_blocks))
                .collect();
            served.retain(|found| may_serve(launch, &sections, found.span().0));
            if is_apart {
                without_others(&mut served, launch, &sections);
            }
            without_unsure(&mut served, &sections, notes);
            let memory = (command.lines.1 + 1..first_result)
                .filter_map(|line| memory_gib(notes.lines[line]))
                .next_back();
            for found in served {
                let of_table = found.flags.take();
                let mut flags = commands::flags(launch);
                flags.extend(of_table.into_iter().flatten());
                found.flags = Some(flags);
                found.command = Some(launch.clone());
                found.device_memory_gib = found.device_memory_gib.or(memory);
            }
            notes.take(command.lines);
        }
    }
    results.extend(refused);
    results.sort_by_key(|found| found.lines);
    without_result
}

/// Whether a command may have started what is measured at a line: not under a heading that names
/// another engine, or a model of another size.
fn may_serve(launch: &str, sections: &[Section], line: usize) -> bool {
    let titles: Vec<&str> = (above(sections, line).iter())
        .map(|it| it.title.as_str())
        .collect();
    let engine = titles.iter().find_map(|title| engines(title));
    let is_other_engine = engine_of(launch).zip(engine).is_some_and(|(own, named)| {
        let mut parts = named.split(" + ");
        parts
            .clone()
            .any(|part| STARTED.iter().any(|(_, it)| *it == part))
            && parts.all(|part| part != own)
    });
    let size = |text: &str| model(text).and_then(|model| size_of(&model));
    let named = titles.iter().find_map(|title| size(title));
    let flags = commands::flags(launch);
    let names = ["model", "model-path"];
    let served = names.iter().find_map(|name| flags.get(*name)?.as_str());
    let is_other_size = served
        .and_then(size_of)
        .zip(named)
        .is_some_and(|(a, b)| a != b);
    !is_other_engine && !is_other_size
}

/// Leaves of what stands under other headings than the command what nothing says to be of another:
/// nobody names a second engine, and no load was measured under two of the headings, between which
/// something was changed.
fn without_others(served: &mut Vec<&mut ImportedResult>, launch: &str, sections: &[Section]) {
    let own = engine_of(launch);
    let is_of_another = |text: &str| engines(text).is_some_and(|named| Some(named.as_str()) != own);
    served.retain(|found| {
        let titles = above(sections, found.span().0);
        let titles = titles.iter().map(|section| section.title.as_str());
        !titles.chain(found.label.as_deref()).any(is_of_another)
    });
    let mut homes: BTreeMap<String, Option<usize>> = BTreeMap::new();
    let is_unsure = served.iter().any(|found| {
        let home = chain(sections, found.span().0).first().copied();
        *homes.entry(load(found)).or_insert(home) != home
    });
    if is_unsure {
        served.clear();
    }
}

/// What starts an engine, and its name in headings.
const STARTED: [(&str, &str); 5] = [
    ("vllm", "vLLM"),
    ("sglang", "SGLang"),
    ("mindie", "MindIE"),
    ("lmdeploy", "LMDeploy"),
    ("trtllm-serve", "TensorRT-LLM"),
];

fn engine_of(launch: &str) -> Option<&'static str> {
    let launch = launch.to_lowercase();
    let named = STARTED
        .iter()
        .filter_map(|(word, name)| Some((launch.find(word)?, *name)));
    named.min().map(|(_, name)| name)
}

/// `7b` of `Qwen2.5-7B-Instruct`.
fn size_of(model: &str) -> Option<String> {
    let model = model.to_lowercase();
    let mut parts = model.split(['-', '_', '/']);
    let is_size = |part: &&str| {
        let number = part.strip_suffix('b').unwrap_or("");
        !number.is_empty()
            && number
                .chars()
                .all(|c| c.is_ascii_digit() || ".x".contains(c))
    };
    parts.find(is_size).map(str::to_owned)
}

/// Takes out where two results have one load in one place: who knows what was changed in between?
/// Unless they say that one is the other again.
fn without_unsure(served: &mut Vec<&mut ImportedResult>, sections: &[Section], notes: &Notes<'_>) {
    let chained: Vec<(Vec<usize>, String)> = (served.iter())
        .map(|found| (chain(sections, found.span().0), load(found)))
        .collect();
    let homes = places(&chained);
    let mut above = Above::default();
    let mut seen = BTreeSet::new();
    let mut unsure = BTreeSet::new();
    for ((found, home), (_, load)) in served.iter().zip(&homes).zip(&chained) {
        if !above.says_again(found, notes) && !seen.insert((*home, load)) {
            unsure.insert(*home);
        }
    }
    let mut homes = homes.iter();
    served.retain(|_| homes.next().is_none_or(|home| !unsure.contains(home)));
}

/// For each chain of sections with a load the section in which the results are one test: one in
/// which only one load was measured is a setting of the section around it.
pub(crate) fn places(chained: &[(Vec<usize>, String)]) -> Vec<Option<usize>> {
    let mut at = vec![0; chained.len()];
    let deepest = chained.iter().map(|(chain, _)| chain.len()).max();
    for depth in (1..=deepest.unwrap_or(0)).rev() {
        let mut loads: BTreeMap<usize, BTreeSet<&String>> = BTreeMap::new();
        for ((chain, load), at) in chained.iter().zip(&at) {
            if let Some(section) = chain.get(*at) {
                loads.entry(*section).or_default().insert(load);
            }
        }
        for ((chain, _), at) in chained.iter().zip(&mut at) {
            let is_single = chain
                .get(*at)
                .is_some_and(|section| loads[section].len() < 2);
            if chain.len() - *at == depth && is_single {
                *at += 1;
            }
        }
    }
    let places = chained.iter().zip(at);
    places
        .map(|((chain, _), at)| chain.get(at).copied())
        .collect()
}

/// Lines above a result in which it may be called a repeat.
const LARGEST_REMARK: usize = 4;
pub(crate) const AGAIN: &str =
    "重新测试|重新测|重新跑|重测|复测|再测|又测|再跑|重跑|复跑|again|repeat|rerun|re-run|retest";

/// The lines above each of several results in their order; those above a table are above all its rows.
#[derive(Default)]
pub(crate) struct Above {
    /// First of these lines.
    floor: usize,
    /// The table or block that they are above, and the line behind it.
    lines: Option<(u64, u64)>,
    behind: usize,
}

impl Above {
    /// Whether the lines right above the next result call it one that was measured again.
    pub(crate) fn says_again(&mut self, found: &ImportedResult, notes: &Notes<'_>) -> bool {
        let (first, end) = found.span();
        if self.lines != Some(found.lines) {
            (self.floor, self.lines, self.behind) = (self.behind, Some(found.lines), end + 1);
        }
        let above = (self.floor.min(first)..first).rev().take(LARGEST_REMARK);
        let mut texts = above.filter(|line| !notes.is_taken(*line));
        texts.any(|line| says_again(notes.lines[line]))
    }
}

/// Whether a remark says that something was measured again.
pub(crate) fn says_again(remark: &str) -> bool {
    let text = remark.to_lowercase();
    // `against` is not `again`.
    let is_whole = |(at, word): (usize, &str)| {
        let next = text[at + word.len()..].chars().next();
        !next.is_some_and(|c| c.is_ascii_alphabetic())
    };
    let mut words = AGAIN.split('|');
    words.any(|word| text.match_indices(word).any(is_whole))
}

/// Whether a line is what an engine says when the memory of a card is exhausted.
pub(crate) fn is_out_of_memory(line: &str) -> bool {
    line.contains("CUDA out of memory") || line.contains("NPU out of memory")
}

/// What a tool printed; a table is made of such, and no command's own.
fn is_block(found: &ImportedResult) -> bool {
    found.tool != Tool::MarkdownTable
}

/// Results that begin behind one line and before another.
fn between(results: &[ImportedResult], after: usize, before: usize) -> std::ops::Range<usize> {
    let begin = results.partition_point(|found| found.span().0 <= after);
    let end = results.partition_point(|found| found.span().0 < before);
    begin..end.max(begin)
}

/// Fills what the benchmark's own command says, defaults of its time included.
fn settle(found: &mut ImportedResult, client: &str) {
    found.client_command = Some(client.to_owned());
    let flags = commands::flags(client);
    let Some(summary) = &mut found.summary else {
        return;
    };
    let of_vllm = found.tool == Tool::Vllm || found.tool == Tool::Vllm2023;
    if summary.requests.planned.is_none() {
        let mut names = ["num-prompts", "number", "n"].iter();
        let written = names.find_map(|name| flags.get(*name));
        // SGLang sends fewer where its data set has fewer; only random prompts are as many.
        let dataset = flags.get("dataset-name").and_then(Value::as_str);
        let is_known =
            found.tool != Tool::Sglang || dataset.is_some_and(|name| name.starts_with("random"));
        let written = written.filter(|_| is_known);
        summary.requests.planned = written.and_then(Value::as_u64);
        if summary.requests.planned.is_none() && of_vllm {
            summary.requests.planned = Some(VLLM_PROMPTS);
            let count = VLLM_PROMPTS;
            found.assumed.push(Assumption::DefaultPrompts { count });
        }
    }
    if !found.point.contains_key("rate") {
        let mut rate = flags.get("request-rate").cloned();
        if rate.is_none() && of_vllm {
            rate = Some("inf".into());
            found.assumed.push(Assumption::DefaultRate);
        }
        found
            .point
            .extend(rate.map(|rate| ("rate".to_owned(), rate)));
    }
    let cap = flags.get("max-tokens").and_then(Value::as_f64);
    summary.tokens.output_asked = summary.tokens.output_asked.or(cap);
    let mut names = ["max-concurrency", "parallel"].iter();
    let streams = names.find_map(|name| flags.get(*name)?.as_f64());
    if let (None, Some(streams)) = (summary.concurrency.configured, streams) {
        summary.concurrency.configured = count(streams);
        found.point.insert("concurrency".into(), number(streams));
    }
}

/// Whether a line says why a start was refused.
fn is_error(line: &str) -> bool {
    let text = bare(line);
    let first = text.split([':', ' ']).next().unwrap_or("");
    let typed = first.len() > 5
        && (first.ends_with("Error") || first.ends_with("Exception"))
        && first
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '.' || c == '_');
    typed
        || text.starts_with("error:")
        || is_out_of_memory(text)
        || text.starts_with("启动失败")
        || text.starts_with("报错")
        || text == "Killed"
}

/// `19344MiB / 46068MiB`: what is in use, in GiB.
pub(crate) fn memory_gib(line: &str) -> Option<f64> {
    let text = bare(line).trim_matches('|').trim();
    let (used, all) = text.split_once('/')?;
    all.trim().strip_suffix("MiB")?.trim().parse::<f64>().ok()?;
    let used: f64 = used.trim().strip_suffix("MiB")?.trim().parse().ok()?;
    Some(used / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_memory_reading_is_in_gib() {
        assert_eq!(memory_gib("2048MiB /  4096MiB"), Some(2.0));
        assert_eq!(memory_gib("2048 / 4096"), None);
    }
}
