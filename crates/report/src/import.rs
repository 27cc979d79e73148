//! What `inferometer import` shows: what speaks against the results, a line for each, what they
//! show together, then what is known of each.

mod csv;
mod notes;
mod points;

pub use csv::csv;
pub use points::{figures, findings};

use crate::findings::section as findings_section;
use crate::message::{ImportText, NumbersText, VerdictText};
use crate::severity;
use inferometer_core::doubt::Severity;
use inferometer_core::point::Point;
use inferometer_core::summary::Summary;
use inferometer_import::{
    ImportDoubt, ImportedLatencies, ImportedRequests, ImportedResult, ImportedThroughput, Spread,
    StatedImportDoubt, Stored, doubts, measured,
};
use inferometer_page::doc::{Block, Cell, Column, Doc, Pair, Section, Table, Tone, Unit, Verdict};
use inferometer_page::number;
use inferometer_text::Lang;
use inferometer_text::punctuation::PunctuationText;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

#[derive(Clone, Debug)]
pub struct ImportReport<'a> {
    pub stored: &'a Stored,
    /// The folder that it is kept in.
    pub kept: Option<&'a Path>,
    pub results: Vec<ReportedResult<'a>>,
    pub lang: Lang,
}

#[derive(Clone, Debug)]
pub struct ReportedResult<'a> {
    pub found: &'a ImportedResult,
    /// What speaks against it, in the report's language; what is stored is in English.
    pub doubts: Vec<StatedImportDoubt>,
    /// Its numbers in the form of ours, at a load that tells it from the others; absent for a
    /// refused start, and for a table whose blocks say the same.
    pub measured: Option<(Point, Summary)>,
}

impl<'a> ImportReport<'a> {
    pub fn new(stored: &'a Stored, kept: Option<&'a Path>, lang: Lang) -> Self {
        let measured = measured(&stored.results);
        let result = |(found, doubts): (&'a ImportedResult, Vec<ImportDoubt>)| {
            let load = (measured.iter()).find(|(_, known)| std::ptr::eq(*known, found));
            let summary = found.summary.as_ref();
            ReportedResult {
                found,
                doubts: doubts.iter().map(|doubt| doubt.stated(lang)).collect(),
                measured: load
                    .zip(summary)
                    .map(|((point, _), summary)| (point.clone(), summary.to_summary())),
            }
        };
        ImportReport {
            stored,
            kept,
            results: (stored.results.iter().zip(doubts(&stored.results)))
                .map(result)
                .collect(),
            lang,
        }
    }
}

impl<'a> ReportedResult<'a> {
    fn point(&self) -> Point {
        Point(self.found.point.clone())
    }

    /// First and last line; absent for a database.
    fn lines(&self) -> Option<(u64, u64)> {
        (!self.found.file.ends_with(".db")).then_some(self.found.lines)
    }

    pub(crate) fn throughput(&self) -> ImportedThroughput {
        let summary = self.found.summary.as_ref();
        summary.map_or(ImportedThroughput::default(), |it| it.throughput)
    }

    fn requests(&self) -> ImportedRequests {
        let summary = self.found.summary.as_ref();
        summary.map_or(ImportedRequests::default(), |it| it.requests)
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

    /// The mean of a latency, else its median.
    pub(crate) fn mean(&self, name: &str) -> Option<f64> {
        let known = self.latencies().into_iter();
        let (_, spread) = known.into_iter().find(|(known, _)| *known == name)?;
        spread?.mean.or(spread?.p50)
    }

    pub(crate) fn severity(&self) -> Option<Severity> {
        self.doubts.iter().map(|doubt| doubt.severity).max()
    }

    /// The load in a few characters, as `runs` writes it.
    fn load(&self) -> String {
        let mut parts = Vec::new();
        for (axis, value) in &self.found.point {
            let value = match value {
                Value::String(text) => text.clone(),
                value => value.to_string(),
            };
            parts.push(match axis.as_str() {
                "concurrency" => format!("c{value}"),
                "rate" if value == "inf" => value,
                "rate" => format!("{value}/s"),
                "input_chars" => format!("in {value}"),
                "ask_chars" => format!("ask {value}"),
                _ => format!("{axis}={value}"),
            });
        }
        parts.join(" ")
    }
}

/// Mean, p50, p90, p95, p99 and largest.
fn statistics(spread: &Spread) -> [Option<f64>; 6] {
    [
        spread.mean,
        spread.p50,
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
    sections.push(Section::plain([overview(report)]));
    sections.extend(findings_section(&findings(report), lang));
    let numbered = report.results.iter().enumerate();
    sections.extend(numbered.map(|(place, result)| detail(place + 1, result, lang)));
    if !report.stored.unread.is_empty() {
        let spans = report.stored.unread.iter().copied().map(span);
        let lines = spans.collect::<Vec<_>>().join(", ");
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

/// How many results there are, and how far they are to be trusted.
fn verdict(report: &ImportReport<'_>) -> Verdict {
    let lang = report.lang;
    let count = |severity| {
        let results = report.results.iter();
        (results.filter(|result| result.severity() == Some(severity))).count()
    };
    let (invalid, doubtful) = (count(Severity::Invalid), count(Severity::Warn));
    let noted = count(Severity::Note);
    let refused = (report.results.iter()).filter(|result| result.found.error.is_some());
    let (word, tone) = match (invalid, doubtful, noted) {
        (0, 0, 0) => (ImportText::NoDoubts.text(lang), Tone::Good),
        (0, 0, _) => (ImportText::NotesOnly.text(lang), Tone::Good),
        (0, ..) => (ImportText::Doubtful.text(lang), Tone::Caution),
        _ => (VerdictText::Invalid.text(lang), Tone::Bad),
    };
    let counts = [
        (ImportText::CountResults, report.results.len()),
        (ImportText::CountInvalid, invalid),
        (ImportText::CountDoubtful, doubtful),
        (ImportText::CountNoted, noted),
        (ImportText::CountRefused, refused.count()),
    ];
    let counts = counts.into_iter().filter(|(_, count)| *count > 0);
    let counts = counts.map(|(text, count)| text.with(lang, &[("count", count.to_string())]));
    Verdict {
        rest: PunctuationText::Comma.join(lang, &Vec::from_iter(counts)),
        ..Verdict::new(word, tone, &report.stored.source)
    }
}

fn span((first, last): (u64, u64)) -> String {
    if first == last {
        first.to_string()
    } else {
        format!("{first}–{last}")
    }
}

fn overview(report: &ImportReport<'_>) -> Table {
    let lang = report.lang;
    let columns = vec![
        Column::right("#"),
        Column::left(ImportText::Tool.text(lang)),
        Column::right(ImportText::Lines.text(lang)),
        Column::left(ImportText::Load.text(lang)),
        Column::right(Unit::RequestsPerSecond.sign()),
        Column::right(Unit::TokensPerSecond.sign()),
        Column::right("TTFT"),
        Column::right("E2E"),
        Column::left(ImportText::Doubts.text(lang)),
    ];
    let rows = report.results.iter().enumerate().map(|(place, result)| {
        let time = |value: Option<f64>| Cell::known(value.map(number::whole_millis));
        let (doubts, tone) = match &result.found.error {
            Some(_) => (ImportText::Refused.text(lang).to_owned(), Tone::Bad),
            None => worst(result, lang),
        };
        let throughput = result.throughput();
        vec![
            Cell::count(place as u64 + 1),
            Cell::text(result.found.tool.name()),
            Cell::text(result.lines().map(span).unwrap_or_default()),
            Cell::text(result.load()),
            Cell::brief(throughput.requests_per_s),
            Cell::brief(throughput.output_tokens_per_s),
            time(result.mean("TTFT")),
            time(result.mean("E2E")),
            Cell::Toned(doubts, tone),
        ]
    });
    Table::new(columns, rows)
}

/// How grave its gravest doubt is.
fn worst(result: &ReportedResult<'_>, lang: Lang) -> (String, Tone) {
    let severity = result.severity();
    let grave = severity.filter(|severity| *severity > Severity::Note);
    let word = grave.map(|severity| severity::word(severity).text(lang));
    (
        word.unwrap_or_default().to_owned(),
        severity.map_or(Tone::Plain, severity::tone),
    )
}

fn detail(place: usize, result: &ReportedResult<'_>, lang: Lang) -> Section {
    let no_label = ImportText::NoLabel.text(lang).to_owned();
    let label = result.found.label.clone().unwrap_or(no_label);
    let heading = ImportText::Result.with(lang, &[("number", place.to_string()), ("label", label)]);
    let mut blocks = vec![Block::Pairs(pairs(result, lang))];
    let latencies = latencies(result, lang);
    if !latencies.rows.is_empty() {
        blocks.push(Block::Table(latencies));
    }
    Section::headed(&heading, blocks)
}

fn pairs(result: &ReportedResult<'_>, lang: Lang) -> Vec<Pair> {
    let found = result.found;
    let mut pairs = Vec::new();
    let mut push = |key: ImportText, value: String| {
        if !value.is_empty() {
            pairs.push(Pair::new(key.text(lang), value));
        }
    };
    let mut place = vec![
        ("file", found.file.clone()),
        ("tool", found.tool.to_string()),
    ];
    let at = match result.lines() {
        Some((first, last)) => {
            place.extend([("first", first.to_string()), ("last", last.to_string())]);
            ImportText::At
        }
        None => ImportText::AtDatabase,
    };
    push(ImportText::Source, at.with(lang, &place));
    if !found.point.is_empty() {
        push(ImportText::Load, result.point().to_string());
    }
    let tags = result
        .measured
        .iter()
        .flat_map(|(_, summary)| &summary.tags);
    let tags: Vec<String> = tags
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    push(ImportText::Tags, PunctuationText::Comma.join(lang, &tags));
    push(ImportText::Requests, requests(result, lang));
    let throughput = result.throughput();
    let rates = [
        (throughput.requests_per_s).map(|rate| format!("{} req/s", number::brief(rate))),
        (throughput.output_tokens_per_s)
            .map(|rate| ImportText::OutputRate.with(lang, &[("rate", number::brief(rate))])),
        (throughput.total_tokens_per_s)
            .map(|rate| ImportText::TotalRate.with(lang, &[("rate", number::brief(rate))])),
    ];
    let rates: Vec<String> = rates.into_iter().flatten().collect();
    push(
        ImportText::Throughput,
        PunctuationText::Comma.join(lang, &rates),
    );
    let lengths = result.lengths();
    if lengths.iter().any(Option::is_some) {
        let [input, output] =
            lengths.map(|mean| mean.map_or(number::ABSENT.to_owned(), number::mean));
        let lengths = [("input", input), ("output", output)];
        push(
            ImportText::Lengths,
            ImportText::MeanLengths.with(lang, &lengths),
        );
    }
    push(
        ImportText::Flags,
        found.flags.as_ref().map(flags).unwrap_or_default(),
    );
    if let Some(defaults) = &found.defaults {
        let values = [
            ("flags", flags(&defaults.flags)),
            ("version", defaults.version.clone()),
            ("by", defaults.by.clone()),
        ];
        push(
            ImportText::Defaults,
            ImportText::DefaultsOf.with(lang, &values),
        );
    }
    if let Some(gib) = found.device_memory_gib {
        push(ImportText::Memory, format!("{} GiB", number::brief(gib)));
    }
    let semicolon = PunctuationText::Semicolon;
    let assumed = found.assumed.iter();
    let assumed: Vec<String> = assumed.map(|assumption| assumption.stated(lang)).collect();
    push(ImportText::Assumed, semicolon.join(lang, &assumed));
    let comma = PunctuationText::Comma;
    push(ImportText::NotRead, comma.join(lang, &found.unread));
    let said = result.doubts.iter();
    let said = said.map(|doubt| format!("{}: {}", doubt.code.name(), doubt.text));
    push(
        ImportText::Doubts,
        semicolon.join(lang, &Vec::from_iter(said)),
    );
    push(ImportText::Refused, found.error.clone().unwrap_or_default());
    pairs
}

fn requests(result: &ReportedResult<'_>, lang: Lang) -> String {
    let requests = result.requests();
    let [planned, ok, failed] =
        [requests.planned, requests.ok, requests.failed].map(|count| count.map(number::count));
    let mut parts = Vec::new();
    match (planned, ok) {
        (Some(planned), Some(ok)) => {
            parts.push(ImportText::OkOf.with(lang, &[("ok", ok), ("planned", planned)]));
        }
        (None, Some(ok)) | (Some(ok), None) => parts.push(ImportText::Ok.with(lang, &[("ok", ok)])),
        (None, None) => {}
    }
    parts.extend(failed.map(|failed| ImportText::Failed.with(lang, &[("failed", failed)])));
    parts.extend(requests.failed_share.map(|share| {
        let share = format!("{} %", number::brief(100.0 * share));
        ImportText::FailedShare.with(lang, &[("share", share)])
    }));
    let cut = requests.cut.filter(|cut| *cut > 0).map(number::count);
    parts.extend(cut.map(|cut| ImportText::Cut.with(lang, &[("cut", cut)])));
    PunctuationText::Comma.join(lang, &parts)
}

fn latencies(result: &ReportedResult<'_>, lang: Lang) -> Table {
    let mut columns = vec![Column::left("ms")];
    let (mean, max) = (NumbersText::Mean.text(lang), NumbersText::Max.text(lang));
    columns.extend([mean, "p50", "p90", "p95", "p99", max].map(Column::right));
    let rows = result.latencies().into_iter().filter_map(|(name, spread)| {
        let values = statistics(spread?).map(|value| match value {
            Some(value) => Cell::brief(Some(value)),
            None => Cell::blank(),
        });
        Some(Vec::from_iter([Cell::text(name)].into_iter().chain(values)))
    });
    Table::new(columns, rows)
}
