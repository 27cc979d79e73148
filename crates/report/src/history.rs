//! The history of a server: since when each metric is what it is, and what changed there.

mod alarms;
mod figures;
#[cfg(test)]
mod tests;

pub use alarms::{Worsened, checks, worsened};
pub use figures::figures;

use crate::csv::{field, harmless};
use inferometer_campaign::history::{
    Broken, Change, ChangedFact, History, LEAST, MetricHistory, Timeline,
};
use inferometer_chart::metric_name::narrow_name as metric;
use inferometer_chart::metric_name::{MetricUnit, metric_name, unit_of};
use inferometer_message::{CompareText, HistoryText};
use inferometer_page::doc::{
    Block, Cell, Column, Doc, Follow, Note, Pair, Section, Table, Tone, Verdict,
};
use inferometer_page::number;
use inferometer_store::run_dir::instant;
use inferometer_text::Lang;
use inferometer_text::punctuation::PunctuationText;

/// Scenarios with too few runs that have a section of their own.
const MOST_SHORT: usize = 3;

pub fn compose(history: &History, lang: Lang) -> Doc {
    let mut sections = vec![Section::plain([verdict(history, lang)])];
    let (told, short) = told_and_short(history);
    let several = told.len() > 1;
    for timeline in told {
        sections.push(section(timeline, history.margin, lang));
        let changes = newest_first(timeline);
        let at_once = changes.chunk_by(|(_, a), (_, b)| a.between == b.between);
        let notes: Vec<Note> = at_once.filter_map(|changes| note(changes, lang)).collect();
        if !notes.is_empty() {
            let changes = HistoryText::Changes.text(lang);
            let heading = if several {
                format!("{changes} · {}", name(timeline))
            } else {
                changes.to_owned()
            };
            sections.push(Section::headed(&heading, [Block::Notes(notes)]));
        }
    }
    if !short.is_empty() {
        let needed = [("needed", LEAST.to_string())];
        let heading = HistoryText::Short.with(lang, &needed);
        let table = Block::Table(short_table(&short, lang));
        sections.push(Section::headed(&heading, [table]));
    }
    let method = HistoryText::Method.with(
        lang,
        &[
            ("margin", number::percent(history.margin)),
            ("risk", number::percent(history.risk)),
        ],
    );
    sections.push(Section::plain([Block::Paragraph(method)]));
    Doc { sections }
}

/// Scenarios that are told of one by one, and those that are only listed: many of too few runs.
fn told_and_short(history: &History) -> (Vec<&Timeline>, Vec<&Timeline>) {
    let is_short = |it: &&Timeline| it.runs.len() < LEAST;
    let (short, told): (Vec<_>, Vec<_>) = history.timelines.iter().partition(is_short);
    match short.len() {
        0..=MOST_SHORT => (history.timelines.iter().collect(), Vec::new()),
        _ => (told, short),
    }
}

/// The present state of all timelines.
fn verdict(history: &History, lang: Lang) -> Verdict {
    let timelines = &history.timelines;
    let latest = timelines.iter().flat_map(|it| &it.metrics);
    let latest = latest.filter_map(|it| Some((it, it.changes.last()?)));
    let latest: Vec<(&MetricHistory, &Change)> = latest.collect();
    let newest = |worse: bool| {
        let of_kind = latest.iter().filter(|(_, change)| change.worse == worse);
        // Of several at once the first is the metric that matters most.
        let newest = of_kind
            .rev()
            .max_by_key(|(_, change)| instant(&change.started[1]));
        newest.map(|(metric, change)| sentence(metric, change, lang))
    };
    let long_enough = timelines.iter().any(|it| it.runs.len() >= LEAST);
    let broken = timelines.iter().find_map(|it| it.broken.as_ref());
    let latest_change = |change| HistoryText::LatestChange.with(lang, &[("change", change)]);
    let (word, tone, rest) = match (broken, newest(true), newest(false)) {
        (Some(broken), ..) => {
            let word = HistoryText::Worse.text(lang);
            (word, Tone::Bad, broken_text(broken, lang))
        }
        (None, Some(worse), Some(better)) => {
            let both = [("worse", worse), ("better", better)];
            let both = HistoryText::WorseAndBetter.with(lang, &both);
            // The metric that matters most of those that changed decides.
            let mut firsts = (timelines.iter())
                .filter_map(|it| it.metrics.iter().find_map(|metric| metric.changes.last()));
            if firsts.any(|change| change.worse) {
                (HistoryText::Worse.text(lang), Tone::Bad, both)
            } else {
                (CompareText::Mixed.text(lang), Tone::Caution, both)
            }
        }
        (None, Some(worse), None) => {
            let word = HistoryText::Worse.text(lang);
            (word, Tone::Bad, latest_change(worse))
        }
        (None, None, Some(better)) => {
            let word = HistoryText::Better.text(lang);
            (word, Tone::Good, latest_change(better))
        }
        (None, None, None) if long_enough => {
            let word = HistoryText::Steady.text(lang);
            (word, Tone::Good, String::new())
        }
        (None, None, None) => {
            let needed = [("needed", LEAST.to_string())];
            let needed = HistoryText::Needed.with(lang, &needed);
            (HistoryText::TooFew.text(lang), Tone::Caution, needed)
        }
    };
    let runs: usize = timelines.iter().map(|it| it.runs.len()).sum();
    let scope = HistoryText::Scope.with(
        lang,
        &[
            ("runs", number::count(runs as u64)),
            ("scenarios", number::count(timelines.len() as u64)),
        ],
    );
    let behind = latest.iter().filter_map(|(metric, _)| {
        let values = [
            ("metric", metric_name(metric.metric, lang)),
            ("change", signed(beside_best(metric, history.margin)?)),
        ];
        Some(HistoryText::BehindBest.with(lang, &values))
    });
    let rest: Vec<String> = [rest].into_iter().chain(behind.take(1)).collect();
    Verdict {
        rest: PunctuationText::Semicolon.join(lang, &rest),
        ..Verdict::new(word, tone, scope)
    }
}

/// Its present level over the best of those before, where it is worse than that by more than the
/// margin and the best is not the level just before: what several changes came to.
fn beside_best(history: &MetricHistory, margin: f64) -> Option<f64> {
    let levels = levels(history);
    let [earlier @ .., before, now] = levels.as_slice() else {
        return None;
    };
    let more_is_better = history.metric.more_is_better();
    // How many times better than now.
    let gain = |level: f64| {
        if more_is_better {
            level / now.1
        } else {
            now.1 / level
        }
    };
    let best = earlier.iter().map(|(_, level)| *level);
    let best = best.max_by(|a, b| gain(*a).total_cmp(&gain(*b)))?;
    let is_best = gain(best) > gain(before.1).max(1.0 + margin);
    is_best.then_some(now.1 / best)
}

fn broken_text(broken: &Broken, lang: Lang) -> String {
    let doubts: Vec<&str> = broken.doubts.iter().map(|it| it.into_str()).collect();
    let text = match broken.of {
        Some(_) => HistoryText::BrokenAmong,
        None => HistoryText::Broken,
    };
    let values = [
        ("runs", number::count(broken.runs)),
        ("of", number::count(broken.of.unwrap_or(broken.runs))),
        ("from", minute(&broken.started)),
        ("doubts", doubts.join(", ")),
    ];
    text.with(lang, &values)
}

/// Changes of all metrics, the newest first.
fn newest_first(timeline: &Timeline) -> Vec<(&MetricHistory, &Change)> {
    let metrics = timeline.metrics.iter();
    let mut all: Vec<(&MetricHistory, &Change)> = metrics
        .flat_map(|metric| metric.changes.iter().map(move |change| (metric, change)))
        .collect();
    all.sort_by_key(|(_, change)| std::cmp::Reverse(change.between));
    all
}

fn section(timeline: &Timeline, margin: f64, lang: Lang) -> Section {
    let pairs = vec![
        Pair::new(HistoryText::Scenario.text(lang), scenario(timeline)),
        Pair::new(HistoryText::Runs.text(lang), runs(timeline, lang)),
    ];
    let mut blocks = vec![Block::Pairs(pairs)];
    if !timeline.metrics.is_empty() {
        blocks.push(Block::Table(table(timeline, margin, lang)));
    }
    Section {
        heading: Some(name(timeline)),
        blocks,
    }
}

/// A line for each scenario that cannot show a change yet.
fn short_table(timelines: &[&Timeline], lang: Lang) -> Table {
    let columns = vec![
        Column::wrapped(HistoryText::Scenario.text(lang)),
        Column::right(HistoryText::Runs.text(lang)),
        Column::left(HistoryText::Latest.text(lang)),
    ];
    let line = |timeline: &&Timeline| {
        let latest = timeline.runs.last().map(|run| minute(&run.started));
        vec![
            Cell::text(name(timeline)),
            Cell::count(timeline.runs.len() as u64),
            Cell::text(latest.unwrap_or_default()),
        ]
    };
    Table::new(columns, timelines.iter().map(line))
}

/// What tells a timeline from the others, else its model.
fn name(timeline: &Timeline) -> String {
    let differs = timeline.differs.iter();
    let differs: Vec<String> = differs
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    if differs.is_empty() {
        let model = timeline.conditions.get("model");
        return model.cloned().unwrap_or_default();
    }
    differs.join(" ")
}

fn scenario(timeline: &Timeline) -> String {
    let conditions = timeline.conditions.iter();
    let words = conditions.map(|(name, value)| format!("{name}={value}"));
    words.collect::<Vec<_>>().join(" ")
}

fn runs(timeline: &Timeline, lang: Lang) -> String {
    let invalid = ("invalid", number::count(timeline.invalid));
    let (Some(first), Some(last)) = (timeline.runs.first(), timeline.runs.last()) else {
        return HistoryText::NoneValid.with(lang, &[invalid]);
    };
    let [from, to] = between([&first.started, &last.started]);
    let runs = HistoryText::RunsFromTo.with(
        lang,
        &[
            ("count", number::count(timeline.runs.len() as u64)),
            ("from", from),
            ("to", to),
        ],
    );
    if timeline.invalid == 0 {
        return runs;
    }
    HistoryText::RunsInvalid.with(lang, &[("runs", runs), invalid])
}

/// A time to the minute, as the run's own clock said it.
fn minute(started: &str) -> String {
    started.get(..16).unwrap_or(started).replace('T', " ")
}

/// Two times to the minute, or to the second where they are in the same minute.
fn between([from, to]: [&str; 2]) -> [String; 2] {
    let second = |started: &str| started.get(..19).unwrap_or(started).replace('T', " ");
    if minute(from) == minute(to) {
        [second(from), second(to)]
    } else {
        [minute(from), minute(to)]
    }
}

/// A line for each metric: what it is now, and since when.
fn table(timeline: &Timeline, margin: f64, lang: Lang) -> Table {
    let mut columns = vec![
        Column::left(HistoryText::Metric.text(lang)),
        Column::right(HistoryText::Now.text(lang)),
        Column::right(HistoryText::Before.text(lang)),
        Column::right(HistoryText::Change.text(lang)),
        Column::left(HistoryText::Since.text(lang)),
        Column::left(HistoryText::Judged.text(lang)),
    ];
    let best: Vec<Option<f64>> = (timeline.metrics.iter())
        .map(|it| beside_best(it, margin))
        .collect();
    let has_best = best.iter().any(Option::is_some);
    if has_best {
        columns.push(Column::right(HistoryText::BesideBest.text(lang)));
    }
    let line = |(history, best): (&MetricHistory, Option<f64>)| {
        let levels = levels(history);
        let value = |level: Option<&([usize; 2], f64)>| {
            level.map_or(Cell::blank(), |(_, value)| {
                Cell::text(shown(history, *value))
            })
        };
        let last = levels.len().checked_sub(1);
        let mut cells = vec![
            Cell::text(metric(history.metric, lang)),
            value(last.and_then(|at| levels.get(at))),
        ];
        match history.changes.last() {
            Some(change) => {
                let (word, tone) = judged(change.worse);
                cells.extend([
                    value(last.and_then(|at| levels.get(at.checked_sub(1)?))),
                    Cell::text(signed(change.ratio)),
                    Cell::text(minute(&change.started[1])),
                    Cell::Toned(word.text(lang).to_owned(), tone),
                ]);
            }
            None => {
                let word = if timeline.runs.len() < LEAST {
                    HistoryText::CellTooFew
                } else {
                    HistoryText::CellNotFound
                };
                cells.extend([
                    Cell::blank(),
                    history.found_from.map_or(Cell::blank(), |least| {
                        let least = [("least", number::percent(least))];
                        Cell::text(HistoryText::CellFoundFrom.with(lang, &least))
                    }),
                    Cell::blank(),
                    Cell::text(word.text(lang)),
                ]);
            }
        }
        if has_best {
            cells.push(best.map_or(Cell::blank(), |ratio| Cell::text(signed(ratio))));
        }
        cells
    };
    Table::new(columns, timeline.metrics.iter().zip(best).map(line))
}

/// Stretches between changes, each with its median.
fn levels(history: &MetricHistory) -> Vec<([usize; 2], f64)> {
    let starts = [0]
        .into_iter()
        .chain(history.changes.iter().map(|it| it.between[1]));
    let ends = history
        .changes
        .iter()
        .map(|it| it.between[1])
        .chain([history.values.len()]);
    let level = |(start, end): (usize, usize)| {
        let mut values: Vec<f64> = history.values[start..end]
            .iter()
            .flatten()
            .copied()
            .collect();
        values.sort_by(f64::total_cmp);
        let middle = values.get(values.len() / 2).copied()?;
        let pair = values[(values.len() - 1) / 2];
        Some(([start, end - 1], (middle + pair) / 2.0))
    };
    starts.zip(ends).filter_map(level).collect()
}

fn shown(history: &MetricHistory, value: f64) -> String {
    match unit_of(history.metric) {
        MetricUnit::Time => number::whole_millis(value),
        MetricUnit::Sign(sign) => format!("{} {sign}", number::brief(value)),
    }
}

fn signed(ratio: f64) -> String {
    let sign = match ratio {
        many if many >= number::MANY_TIMES => return number::change(many),
        less if less < 1.0 => "−",
        _ => "+",
    };
    format!("{sign}{} %", share(ratio))
}

/// How far a ratio is from 1, in percent.
fn share(ratio: f64) -> String {
    number::grouped(100.0 * (ratio - 1.0).abs(), 1)
}

/// Changes between the same two runs, and what else changed there.
fn note(changes: &[(&MetricHistory, &Change)], lang: Lang) -> Option<Note> {
    let (_, first) = changes.first()?;
    let facts: Vec<String> = first.facts.iter().map(|it| fact(it, lang)).collect();
    let nearby: Vec<String> = first.nearby.iter().map(|it| fact(it, lang)).collect();
    let there = if !nearby.is_empty() {
        let facts = PunctuationText::Semicolon.join(lang, &nearby);
        HistoryText::LiesNear.with(lang, &[("facts", facts)])
    } else if facts.is_empty() {
        HistoryText::NothingKnown.text(lang).to_owned()
    } else {
        let facts = PunctuationText::Semicolon.join(lang, &facts);
        HistoryText::LiesBetween.with(lang, &[("facts", facts)])
    };
    let worse = (changes.iter()).filter(|(_, change)| change.worse).count();
    let (word, tone) = if (1..changes.len()).contains(&worse) {
        (HistoryText::BetterAndWorse.text(lang), Tone::Caution)
    } else {
        let (word, tone) = judged(worse > 0);
        (word.text(lang), tone)
    };
    let [from, to] = between(first.started.each_ref().map(String::as_str));
    let between = [("from", from), ("to", to)];
    let of_metric = |(history, change): &(&MetricHistory, &Change)| {
        let [low, high] = [change.low, change.high].map(signed);
        let name = metric(history.metric, lang);
        format!("{name} {} [{low}, {high}]", signed(change.ratio))
    };
    let parts: Vec<String> = changes.iter().map(of_metric).collect();
    Some(Note {
        tag: word.to_owned(),
        tone,
        subject: HistoryText::Between.with(lang, &between),
        text: PunctuationText::Semicolon.join(lang, &parts),
        follow: Some(Follow::Remedy(there)),
    })
}

fn judged(worse: bool) -> (CompareText, Tone) {
    if worse {
        (CompareText::CellWorse, Tone::Bad)
    } else {
        (CompareText::CellBetter, Tone::Good)
    }
}

fn sentence(history: &MetricHistory, change: &Change, lang: Lang) -> String {
    // Ends of a fall are told by their size, the smaller first.
    let (text, low, high) = if change.ratio > 1.0 {
        (HistoryText::Rose, change.low, change.high)
    } else {
        (HistoryText::Fell, change.high, change.low)
    };
    let [from, to] = between(change.started.each_ref().map(String::as_str));
    let values = [
        ("metric", metric_name(history.metric, lang)),
        ("percent", format!("{} %", share(change.ratio))),
        ("low", share(low)),
        ("high", share(high)),
        ("from", from),
        ("to", to),
    ];
    let told = text.with(lang, &values);
    let facts: Vec<String> = change.facts.iter().map(|it| fact(it, lang)).collect();
    if facts.is_empty() {
        return told;
    }
    let facts = PunctuationText::Comma.join(lang, &facts);
    let there = HistoryText::LiesBetween.with(lang, &[("facts", facts)]);
    PunctuationText::Semicolon.join(lang, &[told, there])
}

/// Words of a command that the other does not have, flags with their values.
fn words_beyond(command: &str, other: &str) -> String {
    let parts = |command: &str| -> Vec<String> {
        let mut words = command.split_whitespace().peekable();
        let mut parts = Vec::new();
        while let Some(word) = words.next() {
            let value = words.next_if(|next| word.starts_with('-') && !next.starts_with('-'));
            parts.push(value.map_or(word.to_owned(), |value| format!("{word} {value}")));
        }
        parts
    };
    let others = parts(other);
    let mut own = parts(command);
    own.retain(|part| !others.contains(part));
    own.join(" ")
}

fn fact(fact: &ChangedFact, lang: Lang) -> String {
    let name = ("name", fact.name.clone());
    let (mut from, mut to) = (fact.from.clone(), fact.to.clone());
    // Of two commands, what is in one of them only.
    if let (Some(before), Some(after)) = (&fact.from, &fact.to)
        && fact.name == "command"
    {
        let (gone, new) = (words_beyond(before, after), words_beyond(after, before));
        if !(gone.is_empty() && new.is_empty()) {
            from = Some(gone).filter(|it| !it.is_empty());
            to = Some(new).filter(|it| !it.is_empty());
        }
    }
    match (from, to) {
        (Some(from), Some(to)) => {
            HistoryText::FactChanged.with(lang, &[name, ("from", from), ("to", to)])
        }
        (None, to) => HistoryText::FactAdded.with(lang, &[name, ("to", to.unwrap_or_default())]),
        (Some(from), None) => HistoryText::FactGone.with(lang, &[name, ("from", from)]),
    }
}

/// One line for each run and metric.
pub fn csv(history: &History) -> String {
    let mut out = String::from("scenario,started,path,metric,value,ratio,low,high,worse\r\n");
    for timeline in &history.timelines {
        let name = field(&harmless(&name(timeline)));
        for metric in &timeline.metrics {
            for (place, (run, value)) in timeline.runs.iter().zip(&metric.values).enumerate() {
                let change = metric.changes.iter().find(|it| it.between[1] == place);
                let number =
                    |value: Option<f64>| value.map(|it| it.to_string()).unwrap_or_default();
                let cells = [
                    name.clone(),
                    field(&harmless(&run.started)),
                    field(&harmless(&run.path)),
                    metric.metric.to_string(),
                    number(*value),
                    number(change.map(|it| it.ratio)),
                    number(change.map(|it| it.low)),
                    number(change.map(|it| it.high)),
                    change.map(|it| it.worse.to_string()).unwrap_or_default(),
                ];
                out.push_str(&cells.join(","));
                out.push_str("\r\n");
            }
        }
    }
    out
}
