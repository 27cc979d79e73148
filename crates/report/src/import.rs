//! What `inferometer import` shows: a table of each group of results with what they show together,
//! what speaks against them, and all that is known of each where that is asked for.

mod csv;
mod detail;
mod families;
mod group;
mod notes;
mod objectives;
mod points;
mod side_by_side;

pub use csv::csv;
pub use points::{figures, findings};

use points::findings_of;

use crate::findings::section as findings_section;
use inferometer_chart::measured::is_load;
use inferometer_core::doubt::Severity;
use inferometer_core::point::Point;
use inferometer_core::slo::Slo;
use inferometer_core::summary::{Summary, SummaryColumns, is_next_to_none};
use inferometer_import::{
    ImportDoubt, ImportDoubtCode, ImportedLatencies, ImportedRequests, ImportedResult,
    ImportedSummary, ImportedThroughput, MeasuredResult, ResultGroup, Spread, StatedImportDoubt,
    Stored, doubts, groups, measured_in, repeats,
};
use inferometer_message::{ImportText, SweepText};
use inferometer_page::doc::{Block, Doc, Pair, Section, Tone, Verdict};
use inferometer_page::number;
use inferometer_text::Lang;
use inferometer_text::punctuation::PunctuationText;
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Results of which all is shown without being asked for.
const FEW: usize = 2;

#[derive(Clone, Debug)]
pub struct ImportReport<'a> {
    pub stored: &'a Stored,
    /// The folder that it is kept in.
    pub kept: Option<&'a Path>,
    pub results: Vec<ReportedResult<'a>>,
    pub groups: Vec<ResultGroup>,
    pub lang: Lang,
    /// All that is known of each result is wanted.
    pub details: bool,
    /// Columns that were chosen for the tables.
    pub columns: Option<&'a SummaryColumns>,
    /// Objectives to judge each result by.
    pub objectives: &'a [Slo],
}

#[derive(Clone, Debug)]
pub struct ReportedResult<'a> {
    pub found: &'a ImportedResult,
    /// The number by which it can be named, whatever part of the import is shown.
    pub number: u64,
    /// What speaks against it, in the report's language; what is stored is in English.
    pub doubts: Vec<StatedImportDoubt>,
    /// Its numbers in the form of ours, at a load that tells it from the others of its group;
    /// absent for a refused start, and for a table whose blocks say the same.
    pub measured: Option<(Point, Summary)>,
    /// Lengths that all results of its group have, so that they need not be told with each load.
    pub shared_lengths: Point,
    /// It says nothing that a block beside it does not.
    pub is_repeat: bool,
    /// It is the row of a table that contradicts the block it was made of: no measurement of its own.
    pub contradicts_block: bool,
}

impl<'a> ImportReport<'a> {
    pub fn new(stored: &'a Stored, kept: Option<&'a Path>, lang: Lang) -> Self {
        let groups = groups(&stored.results);
        let repeated = repeats(&stored.results);
        let doubts = doubts(&stored.results);
        type Numbered<'a> = (u64, &'a ImportedResult);
        let result = |(((place, found), doubts), block): ((Numbered<'a>, _), Option<usize>)| {
            let doubts: Vec<ImportDoubt> = doubts;
            let contradicts =
                |doubt: &ImportDoubt| matches!(doubt, ImportDoubt::TableContradicts { .. });
            ReportedResult {
                found,
                number: if found.number > 0 {
                    found.number
                } else {
                    place
                },
                is_repeat: block.is_some() && !doubts.iter().any(contradicts),
                contradicts_block: block.is_some() && doubts.iter().any(contradicts),
                doubts: doubts.iter().map(|doubt| doubt.stated(lang)).collect(),
                measured: None,
                shared_lengths: Point::default(),
            }
        };
        let found = (1..).zip(&stored.results);
        let mut results: Vec<ReportedResult<'a>> = found
            .zip(doubts)
            .zip(repeated.iter().copied())
            .map(result)
            .collect();
        for of_group in groups
            .iter()
            .map(|group| measured_in(&stored.results, &repeated, group))
        {
            for MeasuredResult {
                place,
                point,
                found,
            } in of_group
            {
                let summary = found.summary.as_ref().map(ImportedSummary::to_summary);
                results[place].measured = summary.map(|summary| (point, summary));
            }
        }
        for group in &groups {
            let members = || group.members.iter().map(|place| &stored.results[*place]);
            let shared = shared_lengths(members().map(|found| &found.point));
            for place in &group.members {
                results[*place].shared_lengths = shared.clone();
            }
        }
        let report = ImportReport {
            stored,
            kept,
            results,
            groups,
            lang,
            details: false,
            columns: None,
            objectives: &[],
        };
        report.judged_by(&stored.slo)
    }

    /// With each result judged by objectives, so that none that misses them is the best.
    #[must_use]
    pub fn judged_by(mut self, objectives: &'a [Slo]) -> Self {
        self.objectives = objectives;
        if !objectives.is_empty() {
            for result in &mut self.results {
                let judged = result.found.summary.as_ref();
                let judged = judged.map(|summary| summary.judged(objectives));
                if let Some((_, summary)) = &mut result.measured {
                    summary.slo = judged;
                }
            }
        }
        self
    }

    /// Places and results of a group, without what only repeats another.
    fn rows(&self, group: &ResultGroup) -> Vec<(usize, &ReportedResult<'a>)> {
        let members = group
            .members
            .iter()
            .map(|place| (*place, &self.results[*place]));
        members.filter(|(_, result)| !result.is_repeat).collect()
    }

    /// What it is called: by its own heading, else by its file.
    pub fn title(&self) -> String {
        let file = self.stored.source.as_str();
        match &self.stored.title {
            Some(title) => format!("{title} ({file})"),
            None => file.to_owned(),
        }
    }
}

impl<'a> ReportedResult<'a> {
    fn point(&self) -> Point {
        Point(self.found.load_point())
    }

    /// First and last line; absent for a database.
    fn lines(&self) -> Option<(u64, u64)> {
        (!self.found.file.ends_with(".db")).then_some(self.found.lines)
    }

    /// The file that it was read from, and the day on which it was saved.
    fn source_name(&self) -> String {
        let file = Path::new(&self.found.file).file_stem().unwrap_or_default();
        let file = file.to_string_lossy();
        let date = self.found.facts.get("date");
        match date.and_then(|date| date.split(' ').next()) {
            Some(day) => format!("{file} ({day})"),
            None => file.into_owned(),
        }
    }

    pub fn throughput(&self) -> ImportedThroughput {
        let summary = self.found.summary.as_ref();
        summary.map_or(ImportedThroughput::default(), |it| it.throughput)
    }

    fn requests(&self) -> ImportedRequests {
        let summary = self.found.summary.as_ref();
        summary.map_or(ImportedRequests::default(), |it| it.requests)
    }

    /// Requests that failed, by number or by share; empty where none did or none is known of.
    fn failed(&self) -> String {
        let requests = self.requests();
        match (requests.failed, requests.failed_share) {
            (Some(failed @ 1..), _) => number::count(failed),
            (None, Some(share)) if share > 0.0 => format!("{} %", number::brief(100.0 * share)),
            _ => String::new(),
        }
    }

    /// Whether it is known to miss the objectives.
    pub fn misses(&self) -> bool {
        let slo = (self.measured.as_ref()).and_then(|(_, summary)| summary.slo.as_ref());
        slo.is_some_and(|slo| slo.met == Some(false))
    }

    /// Whether more failed than next to none.
    fn has_failures(&self) -> bool {
        let requests = self.requests();
        match (requests.failed, requests.ok, requests.failed_share) {
            (Some(failed), Some(ok), _) => !is_next_to_none(failed, ok.saturating_add(failed)),
            (Some(failed), None, _) => failed > 0,
            (None, _, share) => share.is_some_and(|share| share > 0.001),
        }
    }

    /// Its answers were not streamed.
    fn is_whole(&self) -> bool {
        let mut doubts = self.doubts.iter();
        doubts.any(|doubt| doubt.code == ImportDoubtCode::NotStreamed)
    }

    /// Mean lengths of prompts and answers.
    fn lengths(&self) -> [Option<f64>; 2] {
        let tokens = self.found.summary.as_ref().map(|it| &it.tokens);
        tokens.map_or([None; 2], |it| [it.input_mean, it.output_mean])
    }

    /// Latencies in milliseconds, by name.
    fn latencies(&self) -> [(&'static str, Option<&'a Spread>); 5] {
        let latency = self.found.summary.as_ref().map(|it| &it.latency);
        let of =
            |of: fn(&ImportedLatencies) -> &Option<Spread>| latency.and_then(|it| of(it).as_ref());
        [
            ("TTFT", of(|it| &it.ttft_ms)),
            ("TPOT", of(|it| &it.tpot_ms)),
            ("ITL", of(|it| &it.itl_ms)),
            ("E2E", of(|it| &it.e2e_ms)),
            ("max gap", of(|it| &it.max_gap_ms)),
        ]
    }

    /// What the server told of its queue and its batches: name, whether it is a time in milliseconds,
    /// and the sample.
    fn of_server(&self) -> Vec<(ImportText, bool, Spread)> {
        let summary = self.found.summary.as_ref();
        let server = summary.and_then(|it| it.server.as_ref());
        let known = [
            ("queue_wait_ms", ImportText::QueueWait, true),
            ("prefill_batch_size", ImportText::PrefillBatch, false),
            ("decode_batch_size", ImportText::DecodeBatch, false),
        ];
        let known = known.into_iter().filter_map(|(key, name, is_time)| {
            let spread = Spread::deserialize(server?.get(key)?).ok()?;
            Some((name, is_time, spread))
        });
        known.collect()
    }

    /// The mean of a latency, else its median.
    pub fn mean(&self, name: &str) -> Option<f64> {
        let known = self.latencies().into_iter();
        let (_, spread) = known.into_iter().find(|(known, _)| *known == name)?;
        spread?.mean.or(spread?.p50)
    }

    pub fn severity(&self) -> Option<Severity> {
        self.doubts.iter().map(|doubt| doubt.severity).max()
    }

    /// The word for a result without numbers: a start that was refused, or memory that a load
    /// exhausted.
    fn failure(&self) -> Option<ImportText> {
        let word = if self.found.is_out_of_memory_under_load() {
            ImportText::OutOfMemory
        } else if self.found.point.is_empty() {
            ImportText::Refused
        } else {
            ImportText::NotServed
        };
        self.found.error.as_ref().map(|_| word)
    }

    fn load(&self, lang: Lang) -> String {
        in_brief(&self.own_load(), lang)
    }

    /// Its load without the lengths that all of its group have.
    fn own_load(&self) -> Point {
        let mut point = self.point();
        point
            .0
            .retain(|axis, _| !self.shared_lengths.0.contains_key(axis));
        point
    }

    /// Whether it is known to meet all objectives that it is judged by.
    fn meets(&self) -> bool {
        let slo = (self.measured.as_ref()).and_then(|(_, summary)| summary.slo.as_ref());
        slo.is_none_or(|slo| slo.met == Some(true))
    }
}

/// The lengths of several results with a load each, where those that state any state the same.
fn shared_lengths<'p>(points: impl Iterator<Item = &'p BTreeMap<String, Value>>) -> Point {
    let mut shared: BTreeMap<&String, BTreeSet<String>> = BTreeMap::new();
    let mut values = Point::default();
    for point in points.filter(|point| !point.is_empty()) {
        if !point.keys().any(|axis| is_load(axis)) {
            return Point::default();
        }
        for (axis, value) in point
            .iter()
            .filter(|(axis, _)| LENGTHS.contains(&axis.as_str()))
        {
            shared.entry(axis).or_default().insert(value.to_string());
            values.0.insert(axis.clone(), value.clone());
        }
    }
    values.0.retain(|axis, _| shared[axis].len() == 1);
    values
}

const LENGTHS: [&str; 4] = ["input_tokens", "output_tokens", "input_chars", "ask_chars"];

/// A load in a few characters, as `runs` writes it; lengths first.
fn in_brief(load: &Point, lang: Lang) -> String {
    let mut axes: Vec<(&String, &Value)> = load.0.iter().collect();
    axes.sort_by_key(|(axis, _)| match axis.as_str() {
        "input_chars" | "input_tokens" => 0,
        "ask_chars" | "output_tokens" => 1,
        _ => 2,
    });
    let part = |(axis, value): (&String, &Value)| {
        let value = match value {
            Value::String(text) => text.clone(),
            value => value.to_string(),
        };
        let of_length = |text: ImportText| text.with(lang, &[("length", value.clone())]);
        match axis.as_str() {
            "concurrency" => format!("c{value}"),
            "rate" if value == "inf" => value,
            "rate" => format!("{value}/s"),
            "input_chars" | "input_tokens" => of_length(ImportText::InputOf),
            "ask_chars" => of_length(ImportText::AskedOf),
            "output_tokens" => of_length(ImportText::OutputOf),
            _ => format!("{axis}={value}"),
        }
    };
    let parts: Vec<String> = axes.into_iter().map(part).collect();
    parts.join(" ")
}

/// Mean, p50, p75, p90, p95, p99 and largest.
fn statistics(spread: &Spread) -> [Option<f64>; 7] {
    [
        spread.mean,
        spread.p50,
        spread.p75,
        spread.p90,
        spread.p95,
        spread.p99,
        spread.max,
    ]
}

/// `max-num-seqs=64 enable-prefix-caching`.
fn flags(flags: &BTreeMap<String, Value>) -> String {
    let words = flags.iter().map(|(name, value)| match value {
        Value::Bool(true) => name.clone(),
        Value::String(text) => format!("{name}={text}"),
        value => format!("{name}={value}"),
    });
    words.collect::<Vec<_>>().join(" ")
}

pub fn compose(report: &ImportReport<'_>) -> Doc {
    let lang = report.lang;
    let mut sections = vec![Section::plain([verdict(report)])];
    let notes = notes::notes(report);
    if !notes.is_empty() {
        let heading = ImportText::DoubtsHeading.text(lang);
        sections.push(Section::headed(heading, [notes]));
    }
    sections.extend(side_by_side::sections(report));
    for group in &report.groups {
        sections.push(group::section(report, group));
        sections.extend(findings_section(&findings_of(report, group), lang));
    }
    let shown = || (report.results.iter().enumerate()).filter(|(_, it)| !it.is_repeat);
    if report.details || shown().count() <= FEW {
        let details = report.results.iter().enumerate();
        let details = details.filter(|(_, result)| report.details || !result.is_repeat);
        sections
            .extend(details.filter_map(|(place, result)| detail::detail(report, place, result)));
    }
    if !report.stored.unread.is_empty() {
        let lines = lines_in_words(&report.stored.unread, lang);
        let values = [("file", report.stored.source.clone()), ("lines", lines)];
        let text = ImportText::UnreadLines.with(lang, &values);
        let heading = ImportText::Unread.text(lang);
        sections.push(Section::headed(heading, [Block::Paragraph(text)]));
    }
    if let Some(kept) = report.kept {
        let pair = Pair::new(ImportText::Kept.text(lang), kept.display().to_string());
        sections.push(Section::plain([vec![pair]]));
    }
    Doc { sections }
}

/// The verdict alone.
pub fn compose_verdict(report: &ImportReport<'_>) -> Doc {
    let sections = vec![Section::plain([verdict(report)])];
    Doc { sections }
}

/// How many results there are, and how far they are to be trusted.
fn verdict(report: &ImportReport<'_>) -> Verdict {
    let lang = report.lang;
    let shown = || report.results.iter().filter(|result| !result.is_repeat);
    let measured = || shown().filter(|it| it.found.summary.is_some() && !it.contradicts_block);
    let count = |severity| {
        let of_severity = measured().filter(|it| it.severity() == Some(severity));
        of_severity.count()
    };
    let results = measured().count();
    let contradicting = shown().filter(|it| it.contradicts_block).count();
    let (invalid, doubtful) = (count(Severity::Invalid), count(Severity::Warn));
    let noted = count(Severity::Note);
    let exhausted = |it: &ReportedResult<'_>| it.found.is_out_of_memory_under_load();
    let out_of_memory = shown().filter(|it| exhausted(it)).count();
    let not_served = |it: &&ReportedResult<'_>| it.failure() == Some(ImportText::NotServed);
    let not_served = shown().filter(not_served).count();
    let failed = shown().filter(|it| it.found.error.is_some()).count();
    let refused = failed - out_of_memory - not_served;
    let repeated = report.results.len() - shown().count();
    let (word, tone) = match (invalid, doubtful + contradicting, noted) {
        _ if results + contradicting == 0 => (ImportText::NothingMeasured, Tone::Bad),
        (0, 0, 0) if failed > 0 => (ImportText::NotesOnly, Tone::Caution),
        (0, 0, 0) => (ImportText::NoDoubts, Tone::Good),
        (0, 0, _) => (ImportText::NotesOnly, Tone::Good),
        (0, ..) => (ImportText::Doubtful, Tone::Caution),
        (all, ..) if all == results => (ImportText::Invalid, Tone::Bad),
        _ => (ImportText::SomeInvalid, Tone::Bad),
    };
    let parts = [("count", invalid.to_string()), ("all", results.to_string())];
    let word = word.with(lang, &parts);
    let said = |counts: &[(ImportText, usize)]| -> Vec<String> {
        let counts = counts.iter().filter(|(_, count)| *count > 0);
        let said = counts.map(|(text, count)| text.with(lang, &[("count", count.to_string())]));
        said.collect()
    };
    // A result is one of these kinds at most; the others are no results.
    let kinds = said(&[
        (ImportText::CountInvalid, invalid),
        (ImportText::CountDoubtful, doubtful),
        (ImportText::CountNoted, noted),
    ]);
    let mut counts = said(&[(ImportText::CountResults, results)]);
    if let (Some(results), false) = (counts.first_mut(), kinds.is_empty()) {
        let kinds = PunctuationText::Comma.join(lang, &kinds);
        let values = [("results", results.clone()), ("kinds", kinds)];
        *results = ImportText::CountOfWhich.with(lang, &values);
    }
    counts.extend(said(&[
        (ImportText::CountRepeated, repeated),
        (ImportText::CountContradicting, contradicting),
        (ImportText::CountOutOfMemory, out_of_memory),
        (ImportText::CountNotServed, not_served),
        (ImportText::CountRefused, refused),
    ]));
    let missed = shown().filter(|it| it.misses()).count();
    if missed > 0 {
        let values = [("count", missed.to_string()), ("all", results.to_string())];
        counts.push(SweepText::MissesObjectives.with(lang, &values));
    }
    Verdict {
        rest: PunctuationText::Semicolon.join(lang, &counts),
        ..Verdict::new(&word, tone, report.title())
    }
}

/// Lines of a file, in words.
fn lines_in_words(spans: &[(u64, u64)], lang: Lang) -> String {
    let span = |&(first, last): &(u64, u64)| {
        if first == last {
            first.to_string()
        } else {
            format!("{first}–{last}")
        }
    };
    let text = match spans {
        [(first, last)] if first == last => ImportText::Line,
        _ => ImportText::Lines,
    };
    let spans: Vec<String> = spans.iter().map(span).collect();
    text.with(lang, &[("lines", spans.join(", "))])
}
