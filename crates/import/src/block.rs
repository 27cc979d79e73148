//! Results printed as lines of `label: value`: vLLM of all generations, SGLang, EvalScope of
//! 2024, the length-grid log, and what people write down in the same shape.

use crate::builder::ResultBuilder;
use crate::label::{Field, Label, Sample, label};
use crate::quantity::{Quantity, count, leading_number, number, quantity, rate};
use crate::result::{ImportedResult, Tool};
use crate::unread::UnreadReason;
use inferometer_notes::Notes;
use inferometer_text::hostile::printable;

/// Lines of other text that a block may have inside.
const LARGEST_GAP: usize = 4;
/// Lines between the client's settings or progress and the block's title.
const LARGEST_PREAMBLE: usize = 8;

pub(crate) struct Entry<'a> {
    pub(crate) name: &'a str,
    pub(crate) label: Label,
    pub(crate) quantity: Quantity,
}

enum Line<'a> {
    /// A title that begins a result.
    Start(Option<Tool>),
    /// A frame that ends one.
    End,
    /// A title inside one: bare percentiles under it are of this sample, if it is known.
    Section(Option<Sample>),
    Entries(Vec<Entry<'a>>),
    /// A progress bar says how many requests were planned.
    Progress(u64),
    /// A number under a name that is not known.
    Unknown(&'a str),
    /// The title of vllm-rs' second block: the same run once more, while it was steady.
    Steady,
    Text,
}

#[derive(Default)]
struct OpenBlock<'a> {
    builder: ResultBuilder,
    first: usize,
    last: usize,
    titled: Option<Option<Tool>>,
    /// The name that its entries begin with, behind the title where it has one.
    begins_with: Option<String>,
    /// All names so far, to tell the tools apart.
    names: String,
    /// Numbers under names that are not known, by line.
    skipped: Vec<(usize, &'a str)>,
}

/// Finds all blocks in the lines that nobody has read.
pub(crate) fn find(notes: &mut Notes<'_>) -> Vec<ImportedResult> {
    let mut found = Vec::new();
    let mut open: Option<OpenBlock<'_>> = None;
    let mut progress: Option<(usize, u64)> = None;
    let mut steady: Option<usize> = None;
    for at in 0..notes.lines.len() {
        if let Some(first) = steady.filter(|_| !notes.is_taken(at)) {
            let is_end = notes.bare(at).starts_with("====");
            if is_end {
                notes.take((first, at));
                steady = None;
            } else if let Some(result) = found.last_mut() {
                // With the frame that ends it, where there is one.
                let last = (at + 2).min(notes.lines.len());
                keep_steady(result, notes.bare(at), last);
            }
            continue;
        }
        if notes.is_taken(at) {
            found.extend(open.take().and_then(|open| close(open, notes)));
            continue;
        }
        let is_over = |open: &mut OpenBlock<'_>| {
            let is_preamble = open.builder.results() == 0;
            at - open.last
                > if is_preamble {
                    LARGEST_PREAMBLE
                } else {
                    LARGEST_GAP
                }
        };
        found.extend(open.take_if(is_over).and_then(|open| close(open, notes)));
        match parse(notes.bare(at)) {
            Line::Start(tool) => {
                if let Some(before) = open.take_if(|open| open.builder.results() > 0) {
                    found.extend(close(before, notes));
                }
                let open = open.get_or_insert_with(|| OpenBlock::at(at));
                open.titled = Some(tool);
                open.begins_with = None;
                open.builder.forget_seen();
                open.last = at;
                if let Some((_, planned)) = progress
                    .take()
                    .filter(|(line, _)| at - line <= LARGEST_PREAMBLE)
                {
                    open.builder.summary.requests.planned = Some(planned);
                }
            }
            Line::Entries(entries) => {
                if let Some(before) = open.take_if(|open| open.ends_before(&entries)) {
                    found.extend(close(before, notes));
                }
                let open = open.get_or_insert_with(|| OpenBlock::at(at));
                open.last = at;
                for entry in entries {
                    (open.begins_with).get_or_insert_with(|| entry.name.trim().to_owned());
                    open.names.push_str(entry.name);
                    open.names.push('\n');
                    open.builder.set(entry.name, entry.label, entry.quantity);
                }
            }
            Line::Section(sample) => {
                if let Some(open) = open
                    .as_mut()
                    .filter(|open| sample.is_some() || open.goes_on())
                {
                    open.builder.about = sample;
                    open.last = at;
                }
            }
            Line::End => {
                if let Some(mut before) = open.take() {
                    if notes.bare(at).starts_with('=') {
                        before.last = at;
                    }
                    found.extend(close(before, notes));
                }
            }
            Line::Progress(planned) => progress = Some((at, planned)),
            Line::Unknown(name) => {
                if let Some(open) = open.as_mut().filter(|open| open.builder.results() > 0) {
                    open.skipped.push((at, name));
                    if open.goes_on() {
                        open.last = at;
                    }
                }
            }
            Line::Steady => {
                found.extend(open.take().and_then(|open| close(open, notes)));
                let above = found.last().map(|above| above.span().1);
                // A window that was too short is warned of in between.
                steady = above.filter(|above| at - above <= LARGEST_GAP).map(|_| at);
            }
            Line::Text => {}
        }
    }
    found.extend(open.and_then(|open| close(open, notes)));
    found
}

/// Keeps a line of the steady part under its own name: no place of a summary is for another
/// tool's idea of it.
fn keep_steady(result: &mut ImportedResult, text: &str, last: usize) {
    let Some((name, value)) = text.split_once(':') else {
        return;
    };
    let value = value.trim();
    let number = quantity(value).map(|value| number(value.value));
    let value = number.unwrap_or_else(|| printable(value, 80).into());
    if let Some(summary) = &mut result.summary {
        let name = printable(&format!("steady state: {}", name.trim()), 120);
        summary.other.insert(name, value);
        result.lines.1 = last as u64;
    }
}

impl<'a> OpenBlock<'a> {
    fn at(line: usize) -> Self {
        OpenBlock {
            first: line,
            last: line,
            ..OpenBlock::default()
        }
    }

    /// Whether what is not known may still be of it: a title's block has a frame that ends it.
    fn goes_on(&self) -> bool {
        self.titled == Some(None) && self.builder.results() > 0
    }

    /// Whether another result begins with these entries. A title's block goes on to its end,
    /// unless the name that it began with comes again; elsewhere a second number for one thing,
    /// or the same name again, is of the next result.
    fn ends_before(&self, entries: &[Entry<'_>]) -> bool {
        let names_again = |entry: &Entry<'_>| match self.titled {
            Some(_) => self.begins_with.as_deref() == Some(entry.name.trim()),
            None => {
                self.builder.contradicts(entry.label, entry.quantity)
                    || self.builder.has(entry.label.field)
                        && self.names.lines().any(|name| name == entry.name)
            }
        };
        let counts =
            |entry: &&Entry<'_>| !matches!(entry.label.field, Field::Other | Field::Bare(_));
        self.builder.results() > 0 && entries.iter().filter(counts).any(names_again)
    }
}

/// Makes a result of a block, unless it is only a number or two in prose.
fn close(open: OpenBlock<'_>, notes: &mut Notes<'_>) -> Option<ImportedResult> {
    let enough = match open.titled {
        Some(_) => open.builder.results() >= 1,
        None => open.builder.results() >= 2 && open.builder.numbers() >= 3,
    };
    if !enough {
        return None;
    }
    let tool = tool_of(&open);
    let mut builder = open.builder;
    let inside = open.skipped.iter().filter(|(at, _)| *at <= open.last);
    for (_, name) in inside {
        builder.skip(name, UnreadReason::of_unknown(name));
    }
    // Wall time / all output tokens is not a request's time per output token.
    if tool == Tool::Evalscope2024
        && let Some(tpot) = builder.summary.latency.tpot_ms.take()
        && let Some(mean) = tpot.mean
    {
        builder
            .summary
            .other
            .insert("wall time per output token (ms)".into(), mean.into());
    }
    let lines = (open.first, open.last);
    notes.take(lines);
    Some(builder.finish(tool, lines))
}

fn tool_of(open: &OpenBlock<'_>) -> Tool {
    let names = open.names.to_lowercase();
    let has = |part: &str| names.contains(part);
    if has("retokenized") || has("e2e latency (ms)") {
        Tool::Sglang
    } else if has("tokens/second") || has("n-request") || has("生成文本长度") {
        Tool::GridLog
    } else if has("expected number")
        || has("average package")
        || open.titled == Some(Some(Tool::Evalscope2024))
    {
        Tool::Evalscope2024
    } else if has("latency per output token") || has("latency per token") {
        Tool::Vllm2023
    } else if has("successful requests") || open.titled.is_some() {
        Tool::Vllm
    } else {
        Tool::TrialLog
    }
}

fn parse(text: &str) -> Line<'_> {
    if text.is_empty() {
        return Line::Text;
    }
    if text.starts_with("===") && text.contains(" Steady-State ") {
        return Line::Steady;
    }
    if text.contains("Serving Benchmark Result") {
        return Line::Start(None);
    }
    if text.starts_with("Benchmarking summary") {
        return Line::Start(Some(Tool::Evalscope2024));
    }
    let inner = text.trim_matches(['-', '=', '─', '━', ' ']);
    if inner.is_empty() {
        return if text.len() >= 10 {
            Line::End
        } else {
            Line::Text
        };
    }
    if text.starts_with("```") {
        return Line::End;
    }
    let is_title = text.starts_with("---") && text.ends_with("---");
    let lower_start = inner.get(..10).unwrap_or("").to_lowercase();
    if is_title || lower_start == "percentile" || inner.contains("分位") {
        let title = inner.trim_end_matches([':', '：']).trim();
        let title = title.strip_prefix("Percentile of").unwrap_or(title);
        if let Some(Label {
            field: Field::Of(sample, _),
            ..
        }) = label(title)
            && (is_title || text.trim_end().ends_with([':', '：']))
        {
            return Line::Section(Some(sample));
        }
        if is_title {
            return Line::Section(None);
        }
    }
    let entries = entries(text);
    if !entries.is_empty() {
        return Line::Entries(entries);
    }
    if let Some(planned) = progress(text) {
        return Line::Progress(planned);
    }
    match text.split_once([':', '：']) {
        Some((name, value)) if quantity(value).is_some() => Line::Unknown(name),
        _ => Line::Text,
    }
}

/// `label: value`, or several of them behind each other.
pub(crate) fn entries(text: &str) -> Vec<Entry<'_>> {
    // Most lines of prose have no number at all.
    if !text.bytes().any(|b| b.is_ascii_digit())
        && !text.to_ascii_lowercase().contains("inf")
        && !text.contains('∞')
    {
        return Vec::new();
    }
    if let Some(entry) = entry(text) {
        return vec![entry];
    }
    if text.len() > 400 {
        return Vec::new();
    }
    let pieces: Vec<&str> = text
        .split([',', '，', ';', '；'])
        .map(str::trim)
        .filter(|piece| !piece.is_empty())
        .collect();
    // `Throughput: 3 requests/s, 90 output tokens/s`: the others have their names behind.
    let entries: Vec<Entry<'_>> = (pieces.iter().enumerate())
        .filter_map(|(at, piece)| match at {
            0 => entry(piece),
            _ => entry(piece).or_else(|| named_behind(piece)),
        })
        .collect();
    if entries.len() >= 2 && entries.len() == pieces.len() {
        entries
    } else {
        Vec::new()
    }
}

fn entry(text: &str) -> Option<Entry<'_>> {
    for (at, mark) in text
        .char_indices()
        .filter(|(_, c)| matches!(c, ':' | '：' | '='))
    {
        let (name, rest) = (&text[..at], &text[at + mark.len_utf8()..]);
        if name.len() > 100 {
            return None;
        }
        let Some(label) = label(name) else { continue };
        let value = rest.trim().trim_matches(['*', '`']);
        let quantity = match label.field {
            Field::Rate => rate(value),
            _ => quantity(value),
        };
        // A known name in front of no number: a later colon cannot belong to it.
        return quantity.map(|quantity| Entry {
            name,
            label,
            quantity,
        });
    }
    None
}

/// `410.88 output tokens/s`.
fn named_behind(text: &str) -> Option<Entry<'_>> {
    let (_, _, name) = leading_number(text)?;
    let name = name.trim();
    let label = label(name).filter(|label| label.field.is_result())?;
    let number = text.strip_suffix(name)?;
    Some(Entry {
        name,
        label,
        quantity: quantity(number)?,
    })
}

/// The total of a progress bar: `100%|███| 40/50 [00:48<00:00, 15.6it/s]`.
fn progress(text: &str) -> Option<u64> {
    let (front, bar) = text.split_once(" [")?;
    if !bar.contains("it/s") && !bar.contains("s/it") {
        return None;
    }
    let (front, total) = front.rsplit_once('/')?;
    let digits = total.bytes().take_while(u8::is_ascii_digit).count();
    front
        .ends_with(|c: char| c.is_ascii_digit())
        .then_some(())?;
    let (total, _, _) = leading_number(&total[..digits])?;
    count(total)
}
