//! What `inferometer import` shows: what speaks against the results, a line for each, what they
//! show together, then what is known of each.

mod csv;
mod doubts;
mod ladder;

pub use csv::csv;
pub use ladder::{figures, findings};

use crate::findings::section as findings_section;
use crate::message::import::ImportText;
use crate::message::numbers::NumbersText;
use crate::message::verdict::VerdictText;
use crate::severity;
use inferometer_core::doubt::Severity;
use inferometer_core::point::Point;
use inferometer_core::summary::Summary;
use inferometer_page::doc::{Block, Cell, Column, Doc, Pair, Section, Table, Tone, Unit, Verdict};
use inferometer_page::number;
use inferometer_text::Lang;
use inferometer_text::punctuation::PunctuationText;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImportReport {
    /// What was read, as it was named.
    pub source: String,
    pub results: Vec<ResultLine>,
    /// Spans of lines that could not be read.
    pub unread: Vec<(u64, u64)>,
    pub kept: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResultLine {
    /// Whose definition the numbers follow.
    pub tool: String,
    /// File that it was read from.
    pub file: String,
    /// First and last line; absent for a database.
    pub lines: Option<(u64, u64)>,
    pub label: Option<String>,
    pub point: Point,
    /// Requests that were expected, answered and failed.
    pub requests: [Option<u64>; 3],
    /// Requests that were under way at the end.
    pub cut: Option<u64>,
    /// Share of the requests that failed, where no counts are given.
    pub failed_share: Option<f64>,
    /// Complete answers a second.
    pub requests_per_s: Option<f64>,
    /// Output tokens a second.
    pub output_tokens_per_s: Option<f64>,
    /// Prompt and output tokens a second.
    pub total_tokens_per_s: Option<f64>,
    pub lengths: [Option<f64>; 2],
    pub latencies: Vec<LatencyLine>,
    /// Flags of the engine, as given.
    pub flags: Option<String>,
    /// Flags that nobody gave, their version, and how that is known.
    pub defaults: Option<[String; 3]>,
    /// Device memory in use, in GiB.
    pub memory_gib: Option<f64>,
    /// Why the server did not start.
    pub error: Option<String>,
    /// What had to be assumed.
    pub assumed: Vec<String>,
    /// Names of its numbers that could not be read.
    pub unread: Vec<String>,
    pub doubts: Vec<DoubtLine>,
    /// Its numbers in the form of ours, at a load that tells it from the others; absent for a
    /// refused start, and for a table whose blocks say the same.
    pub measured: Option<(Point, Summary)>,
}

/// A latency in milliseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct LatencyLine {
    /// `TTFT`, `TPOT` …
    pub name: &'static str,
    /// Mean, p50, p90, p95, p99 and largest.
    pub values: [Option<f64>; 6],
}

#[derive(Clone, Debug, PartialEq)]
pub struct DoubtLine {
    pub severity: Severity,
    pub code: String,
    pub text: String,
    pub remedy: String,
}

impl ResultLine {
    pub(crate) fn mean(&self, name: &str) -> Option<f64> {
        let latency = self.latencies.iter().find(|latency| latency.name == name)?;
        latency.values[0].or(latency.values[1])
    }

    /// The load in a few characters, as `runs` writes it.
    fn load(&self) -> String {
        let mut parts = Vec::new();
        for (axis, value) in &self.point.0 {
            let value = match value {
                serde_json::Value::String(text) => text.clone(),
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

/// The import as a document.
pub fn compose(report: &ImportReport, lang: Lang) -> Doc {
    let mut sections = vec![Section::plain(vec![Block::Verdict(verdict(report, lang))])];
    let notes = doubts::notes(report, lang);
    if !notes.is_empty() {
        let heading = ImportText::DoubtsHeading.text(lang);
        sections.push(Section::headed(heading, vec![Block::Notes(notes)]));
    }
    sections.push(Section::plain(vec![Block::Table(overview(report, lang))]));
    sections.extend(findings_section(&findings(report, lang), lang));
    let numbered = report.results.iter().enumerate();
    sections.extend(numbered.map(|(place, result)| detail(place + 1, result, lang)));
    if !report.unread.is_empty() {
        let spans = report
            .unread
            .iter()
            .map(|(first, last)| span(*first, *last));
        let lines = spans.collect::<Vec<_>>().join(", ");
        let values = [("file", report.source.clone()), ("lines", lines)];
        let text = ImportText::UnreadLines.with(lang, &values);
        let heading = ImportText::Unread.text(lang);
        sections.push(Section::headed(heading, vec![Block::Paragraph(text)]));
    }
    if let Some(kept) = &report.kept {
        let pair = Pair::new(ImportText::Kept.text(lang), kept.as_str());
        sections.push(Section::plain(vec![Block::Pairs(vec![pair])]));
    }
    Doc { sections }
}

/// How many results there are, and how far they are to be trusted.
fn verdict(report: &ImportReport, lang: Lang) -> Verdict {
    let worst = |line: &&ResultLine| line.doubts.iter().map(|doubt| doubt.severity).max();
    let count = |severity| {
        let lines = report.results.iter();
        lines.filter(|line| worst(line) == Some(severity)).count()
    };
    let (invalid, doubtful) = (count(Severity::Invalid), count(Severity::Warn));
    let noted = count(Severity::Note);
    let refused = report.results.iter().filter(|line| line.error.is_some());
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
        word: word.to_owned(),
        tone,
        reason: report.source.clone(),
        rest: PunctuationText::Comma.join(lang, &Vec::from_iter(counts)),
    }
}

fn span(first: u64, last: u64) -> String {
    match first == last {
        true => first.to_string(),
        false => format!("{first}–{last}"),
    }
}

fn overview(report: &ImportReport, lang: Lang) -> Table {
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
        let time = |value: Option<f64>| match value {
            Some(value) => Cell::text(number::whole_millis(value)),
            None => Cell::Absent,
        };
        let (doubts, tone) = match &result.error {
            Some(_) => (ImportText::Refused.text(lang).to_owned(), Tone::Bad),
            None => worst(result, lang),
        };
        vec![
            Cell::count(place as u64 + 1),
            Cell::text(&result.tool),
            Cell::text(
                result
                    .lines
                    .map(|(first, last)| span(first, last))
                    .unwrap_or_default(),
            ),
            Cell::text(result.load()),
            Cell::brief(result.requests_per_s),
            Cell::brief(result.output_tokens_per_s),
            time(result.mean("TTFT")),
            time(result.mean("E2E")),
            Cell::Toned(doubts, tone),
        ]
    });
    Table {
        columns,
        rows: rows.collect(),
        footnotes: Vec::new(),
    }
}

/// How grave its gravest doubt is.
fn worst(result: &ResultLine, lang: Lang) -> (String, Tone) {
    let severity = result.doubts.iter().map(|doubt| doubt.severity).max();
    let grave = severity.filter(|severity| *severity > Severity::Note);
    let word = grave.map(|severity| severity::word(severity).text(lang));
    (
        word.unwrap_or_default().to_owned(),
        severity.map_or(Tone::Plain, severity::tone),
    )
}

fn detail(place: usize, result: &ResultLine, lang: Lang) -> Section {
    let no_label = ImportText::NoLabel.text(lang).to_owned();
    let label = result.label.clone().unwrap_or(no_label);
    let heading = ImportText::Result.with(lang, &[("number", place.to_string()), ("label", label)]);
    let mut blocks = vec![Block::Pairs(pairs(result, lang))];
    if !result.latencies.is_empty() {
        blocks.push(Block::Table(latencies(result, lang)));
    }
    Section::headed(&heading, blocks)
}

fn pairs(result: &ResultLine, lang: Lang) -> Vec<Pair> {
    let mut pairs = Vec::new();
    let mut push = |key: ImportText, value: String| {
        if !value.is_empty() {
            pairs.push(Pair::new(key.text(lang), value));
        }
    };
    let mut place = vec![("file", result.file.clone()), ("tool", result.tool.clone())];
    let at = match result.lines {
        Some((first, last)) => {
            place.extend([("first", first.to_string()), ("last", last.to_string())]);
            ImportText::At
        }
        None => ImportText::AtDatabase,
    };
    push(ImportText::Source, at.with(lang, &place));
    if !result.point.0.is_empty() {
        push(ImportText::Load, result.point.to_string());
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
    let rates = [
        (result.requests_per_s).map(|rate| format!("{} req/s", number::brief(rate))),
        (result.output_tokens_per_s)
            .map(|rate| ImportText::OutputRate.with(lang, &[("rate", number::brief(rate))])),
        (result.total_tokens_per_s)
            .map(|rate| ImportText::TotalRate.with(lang, &[("rate", number::brief(rate))])),
    ];
    let rates: Vec<String> = rates.into_iter().flatten().collect();
    push(
        ImportText::Throughput,
        PunctuationText::Comma.join(lang, &rates),
    );
    if result.lengths.iter().any(Option::is_some) {
        let [input, output] = result
            .lengths
            .map(|mean| mean.map_or(number::ABSENT.to_owned(), number::mean));
        let lengths = [("input", input), ("output", output)];
        push(
            ImportText::Lengths,
            ImportText::MeanLengths.with(lang, &lengths),
        );
    }
    push(ImportText::Flags, result.flags.clone().unwrap_or_default());
    if let Some([flags, version, by]) = result.defaults.clone() {
        let values = [("flags", flags), ("version", version), ("by", by)];
        push(
            ImportText::Defaults,
            ImportText::DefaultsOf.with(lang, &values),
        );
    }
    if let Some(gib) = result.memory_gib {
        push(ImportText::Memory, format!("{} GiB", number::brief(gib)));
    }
    let semicolon = PunctuationText::Semicolon;
    push(ImportText::Assumed, semicolon.join(lang, &result.assumed));
    let comma = PunctuationText::Comma;
    push(ImportText::NotRead, comma.join(lang, &result.unread));
    let said = result.doubts.iter();
    let said = said.map(|doubt| format!("{}: {}", doubt.code, doubt.text));
    push(
        ImportText::Doubts,
        semicolon.join(lang, &Vec::from_iter(said)),
    );
    push(
        ImportText::Refused,
        result.error.clone().unwrap_or_default(),
    );
    pairs
}

fn requests(result: &ResultLine, lang: Lang) -> String {
    let [planned, ok, failed] = result.requests.map(|count| count.map(number::count));
    let mut parts = Vec::new();
    match (planned, ok) {
        (Some(planned), Some(ok)) => {
            parts.push(ImportText::OkOf.with(lang, &[("ok", ok), ("planned", planned)]));
        }
        (None, Some(ok)) | (Some(ok), None) => parts.push(ImportText::Ok.with(lang, &[("ok", ok)])),
        (None, None) => {}
    }
    parts.extend(failed.map(|failed| ImportText::Failed.with(lang, &[("failed", failed)])));
    parts.extend(result.failed_share.map(|share| {
        let share = format!("{} %", number::brief(100.0 * share));
        ImportText::FailedShare.with(lang, &[("share", share)])
    }));
    let cut = result.cut.filter(|cut| *cut > 0).map(number::count);
    parts.extend(cut.map(|cut| ImportText::Cut.with(lang, &[("cut", cut)])));
    PunctuationText::Comma.join(lang, &parts)
}

fn latencies(result: &ResultLine, lang: Lang) -> Table {
    let mut columns = vec![Column::left("ms")];
    let (mean, max) = (NumbersText::Mean.text(lang), NumbersText::Max.text(lang));
    columns.extend([mean, "p50", "p90", "p95", "p99", max].map(Column::right));
    let rows = result.latencies.iter().map(|latency| {
        let values = latency.values.iter().map(|value| match value {
            Some(value) => Cell::brief(Some(*value)),
            None => Cell::blank(),
        });
        std::iter::once(Cell::text(latency.name))
            .chain(values)
            .collect()
    });
    Table {
        columns,
        rows: rows.collect(),
        footnotes: Vec::new(),
    }
}
