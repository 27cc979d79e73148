//! A load at which nothing could be measured: out of memory under a heading that names only the
//! load, under the command of a benchmark, or in the row of a table.

use crate::announced::Announced;
use crate::context;
use crate::failure_words::is_out_of_memory;
use crate::heading::{named_load, only_load};
use crate::result::{ImportedResult, Tool};
use crate::section::{home_of, sections};
use inferometer_notes::{Notes, bare};
use inferometer_text::hostile::printable;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};

/// Lines between the name of a load and what became of it.
const LARGEST_GAP: usize = 4;
/// The same where an engine says it itself: a trace may stand in between.
const LARGEST_TRACE: usize = 60;
/// Longest line that names a load, in bytes.
const LONGEST_NAME: usize = 200;
/// Most lines of a command.
const LONGEST_COMMAND: usize = 30;

/// Adds loads that ran out of memory, and starts that did, from lines that nobody took. What is said
/// of a load that a table has already is that result's own.
pub(crate) fn find(
    results: &mut Vec<ImportedResult>,
    notes: &mut Notes<'_>,
    announced: &Announced,
) {
    let sections = sections(notes);
    // The last heading above a line and what a log announced before it, by their numbers.
    let home = |line: usize| (home_of(&sections, line), announced.place(line));
    // Loads that ran out of memory, by their heading and themselves, or by their heading alone.
    let mut known: HashMap<((usize, usize), Option<String>), usize> = HashMap::new();
    let remember = |known: &mut HashMap<_, usize>, results: &[ImportedResult], place: usize| {
        let found = &results[place];
        let home = home(found.span().0);
        for load in [Some(key(&found.point)), None] {
            known.entry((home, load)).or_insert(place);
        }
    };
    for place in 0..results.len() {
        if results[place].is_out_of_memory_under_load() {
            remember(&mut known, results, place);
        }
    }
    let mut loads = NamedLoads::default();
    let mut last = None;
    for line in 0..notes.lines.len() {
        if notes.is_taken(line) || !is_out_of_memory(notes.lines[line]) {
            continue;
        }
        let is_said = context::is_out_of_memory(notes.lines[line]);
        let failure = loads.failure_at(line, notes);
        if failure.load.is_none() && !is_said {
            continue;
        }
        let home = home(line);
        let said = printable(bare(notes.lines[line]), 1000);
        if let Some(&place) = known.get(&(home, failure.load.as_ref().map(key))) {
            let words = results[place].error.get_or_insert_default();
            if said.len() > words.len() {
                *words = said;
            }
        } else {
            // Every process of an engine says it again.
            let is_again = failure.load.is_none() && last == Some(home);
            last = Some(home);
            if is_again {
                continue;
            }
            let mut found = ImportedResult::new(Tool::TrialLog, (line, failure.end));
            found.error = Some(said);
            let is_under_load = failure.load.is_some();
            found.point = failure.load.unwrap_or_default();
            results.push(found);
            if is_under_load {
                remember(&mut known, results, results.len() - 1);
            }
        }
        notes.take((line, failure.end));
    }
}

type Load = BTreeMap<String, Value>;

/// A load as a text by which it is found.
fn key(load: &Load) -> String {
    serde_json::to_string(load).unwrap_or_default()
}

/// What a line says that memory was exhausted at, and the last line that says so.
struct Failure {
    load: Option<Load>,
    end: usize,
}

/// The loads of lines that name nothing else, and of commands. Traces of many failures reach for the same lines, each
/// of which is looked at once.
#[derive(Default)]
struct NamedLoads(HashMap<usize, Option<Load>>);

impl NamedLoads {
    fn at(&mut self, line: usize, notes: &Notes<'_>) -> Option<&Load> {
        let named = self.0.entry(line).or_insert_with(|| {
            let text = notes.bare(line);
            let may_be = text.len() <= LONGEST_NAME && text.bytes().any(|b| b.is_ascii_digit());
            let alone = may_be.then(|| only_load(text)).flatten();
            alone.or_else(|| of_command(line, notes))
        });
        named.as_ref()
    }

    /// The load that ran out of memory: named in front of what is said, or alone in a line above;
    /// a script that gives up behind it may say more.
    fn failure_at(&mut self, line: usize, notes: &Notes<'_>) -> Failure {
        let own = notes.bare(line).split([':', '：']).next();
        let load = own.and_then(only_load).or_else(|| self.above(line, notes));
        let is_said = context::is_out_of_memory(notes.lines[line]);
        let behind = is_said.then(|| self.behind(line, notes)).flatten();
        let Some((end, more)) = behind else {
            let end = match &load {
                Some(_) => self.paragraph_end(line, notes),
                None => line,
            };
            return Failure { load, end };
        };
        let mut load = load.unwrap_or_default();
        let contradicts =
            |(name, value): (&String, &Value)| load.get(name).is_some_and(|it| it != value);
        if more.iter().any(contradicts) {
            return Failure {
                end: self.paragraph_end(line, notes),
                load: Some(load),
            };
        }
        load.extend(more);
        Failure {
            load: Some(load),
            end,
        }
    }

    fn above(&mut self, line: usize, notes: &Notes<'_>) -> Option<Load> {
        let is_said = context::is_out_of_memory(notes.lines[line]);
        let reach = if is_said { LARGEST_TRACE } else { LARGEST_GAP };
        for at in (line.saturating_sub(reach)..line).rev() {
            if is_frame(at, notes) {
                continue;
            }
            if let Some(load) = self.at(at, notes) {
                let load = load.clone();
                return Some(self.with_lines_above(at, load, notes));
            }
            if !is_said || notes.is_taken(at) || is_separator(at, notes) {
                return None;
            }
        }
        None
    }

    /// A load of which a log prints one part on each line: what the lines right above add to it.
    fn with_lines_above(&mut self, mut line: usize, mut load: Load, notes: &Notes<'_>) -> Load {
        while line > 0 && !notes.is_taken(line - 1) {
            line -= 1;
            match self.at(line, notes) {
                Some(more) if more.keys().all(|name| !load.contains_key(name)) => {
                    load.extend(more.clone());
                }
                _ => break,
            }
        }
        load
    }

    /// `aborted: input 1000, concurrency 64` behind what an engine says.
    fn behind(&mut self, line: usize, notes: &Notes<'_>) -> Option<(usize, Load)> {
        for at in line + 1..notes.lines.len().min(line + 1 + LARGEST_GAP) {
            if notes.is_taken(at) || is_frame(at, notes) || is_separator(at, notes) {
                return None;
            }
            let text = notes.bare(at);
            // A line that is a load and nothing else is the next one's.
            if self.at(at, notes).is_some() || text.len() > LONGEST_NAME {
                return None;
            }
            let named = text.split_once([':', '：']).map(|(_, behind)| behind);
            if let Some(load) = named.and_then(only_load) {
                return Some((at, load));
            }
        }
        None
    }

    /// The last line before a frame, a result or the name of another load.
    fn paragraph_end(&mut self, line: usize, notes: &Notes<'_>) -> usize {
        let mut end = line;
        for at in line + 1..notes.lines.len().min(line + 1 + LARGEST_TRACE) {
            let is_over = notes.is_taken(at) || is_frame(at, notes) || is_separator(at, notes);
            if is_over || self.at(at, notes).is_some() {
                break;
            }
            end = at;
        }
        end
    }
}

/// The load that the options of a command line name, which may go on over several lines.
fn of_command(line: usize, notes: &Notes<'_>) -> Option<Load> {
    let goes_on = |at: &usize| notes.bare(*at).ends_with('\\');
    let above = (0..line).rev().take(LONGEST_COMMAND).take_while(goes_on);
    let first = line - above.count();
    let below = (line..notes.lines.len()).take(LONGEST_COMMAND);
    let last = line + below.take_while(goes_on).count();
    let lines: Vec<&str> = (first..=last).map(|at| notes.bare(at)).collect();
    let command = lines.join(" ");
    let is_command = command.contains(" --") && command.len() <= LONGEST_NAME * LONGEST_COMMAND;
    is_command.then(|| named_load(&command)).flatten()
}

/// Whether a line is only a border of what stands beside it.
fn is_frame(line: usize, notes: &Notes<'_>) -> bool {
    let text = notes.lines[line].trim();
    text.is_empty() || text.starts_with("```")
}

/// A line of dashes between the points of a log.
fn is_separator(line: usize, notes: &Notes<'_>) -> bool {
    let text = notes.bare(line);
    text.len() >= 10
        && text
            .trim_matches(['-', '=', '─', '━', ' ', '#', '*'])
            .is_empty()
}
