//! One group of an import: a line for each result, with the columns that its source had.

use super::{
    ImportReport, ReportedResult, flags, in_brief, lines_in_words, objectives, points, statistics,
};
use crate::columns;
use crate::severity;
use inferometer_core::doubt::Severity;
use inferometer_core::summary::{SummaryColumn, SummaryColumns};
use inferometer_import::{ResultGroup, Spread};
use inferometer_message::{ImportText, NumbersText};
use inferometer_page::doc::{Block, Cell, Column, Pair, Section, Table, Tone, Unit};
use inferometer_page::number;
use inferometer_text::Lang;
use inferometer_text::punctuation::PunctuationText;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Columns of latencies up to which every statistic that was read is shown.
const MOST_STATISTICS: usize = 9;

type Row<'r> = (usize, &'r ReportedResult<'r>);

/// A column with its cells.
struct Filled {
    column: Column,
    cells: Vec<Cell>,
}

pub(super) fn section(report: &ImportReport<'_>, group: &ResultGroup) -> Section {
    let rows = by_load(report.rows(group));
    let mut pairs = points::extremes_of(report, group);
    pairs.extend(objectives::up_to(report, &rows));
    pairs.extend(about(report, group, &rows));
    let mut blocks = vec![Block::Pairs(pairs)];
    // Starts that were refused have no figures, and would leave holes among those of the others.
    let varying = points::varying_flags(&rows);
    let (refused, measured): (Vec<Row<'_>>, Vec<Row<'_>>) =
        (rows.iter().copied()).partition(|(_, result)| result.found.error.is_some());
    for rows in [measured, refused].iter().filter(|rows| !rows.is_empty()) {
        let table = table(report, group, rows, &varying);
        blocks.push(Block::Table(table));
    }
    Section {
        heading: (!group.title.is_empty()).then(|| group.title.clone()),
        blocks,
    }
}

/// A ladder in the order of its load, wherever its levels stood; anything else as it was written.
fn by_load(rows: Vec<Row<'_>>) -> Vec<Row<'_>> {
    let load = |(_, result): &Row<'_>| {
        let point = result.own_load().0;
        let (axis, value) = point.iter().next().filter(|_| point.len() == 1)?;
        Some((axis.clone(), value.as_f64()?))
    };
    let levels: Option<Vec<(String, f64)>> = rows.iter().map(load).collect();
    let Some(levels) = levels else { return rows };
    let mut ladder: Vec<(&(String, f64), Row<'_>)> = levels.iter().zip(rows.clone()).collect();
    ladder.sort_by(|((_, a), _), ((_, b), _)| a.total_cmp(b));
    let is_ladder = |pair: &[(&(String, f64), Row<'_>)]| {
        let [((axis, low), _), ((other, high), _)] = pair else {
            return false;
        };
        axis == other && low < high
    };
    if ladder.windows(2).all(is_ladder) {
        ladder.into_iter().map(|(_, row)| row).collect()
    } else {
        rows
    }
}

/// Where the numbers stand and what all rows share.
fn about(report: &ImportReport<'_>, group: &ResultGroup, rows: &[Row<'_>]) -> Vec<Pair> {
    let lang = report.lang;
    let mut pairs = Vec::new();
    let results = || group.members.iter().map(|place| &report.results[*place]);
    let files: BTreeSet<&str> = results().map(|it| it.found.file.as_str()).collect();
    let shown = || rows.iter().map(|(_, result)| *result);
    let tools: BTreeSet<&str> = shown().filter_map(measuring_tool).collect();
    let tools: Vec<&str> = tools.into_iter().collect();
    let lines = results().filter_map(ReportedResult::lines);
    let lines = lines.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
    let mut place = vec![("tool", tools.join(" + "))];
    let at = match (files.len(), files.first(), lines) {
        (1, Some(file), Some((first, last))) => {
            place.push(("file", (*file).to_owned()));
            place.push(("lines", lines_in_words(&[(first, last)], report.lang)));
            if tools.is_empty() {
                ImportText::AtLines
            } else {
                ImportText::At
            }
        }
        (1, Some(file), None) => {
            place.push(("file", (*file).to_owned()));
            ImportText::AtDatabase
        }
        (count, ..) => {
            place.push(("count", count.to_string()));
            ImportText::AtFiles
        }
    };
    pairs.push(Pair::new(
        ImportText::Source.text(lang),
        at.with(lang, &place),
    ));
    if let Some(lengths) = shared(rows, |it| Some(it.lengths().map(|it| it.map(f64::to_bits)))) {
        let lengths = lengths.map(|mean| mean.map(f64::from_bits));
        if lengths.iter().any(Option::is_some) {
            let [input, output] =
                lengths.map(|mean| mean.map_or(number::ABSENT.to_owned(), number::mean));
            let text = ImportText::MeanLengths.with(lang, &[("input", input), ("output", output)]);
            pairs.push(Pair::new(ImportText::Lengths.text(lang), text));
        }
    }
    let asked = shown().next().map(|it| &it.shared_lengths);
    if let Some(asked) = asked.filter(|it| !it.0.is_empty()) {
        pairs.push(Pair::new(
            ImportText::Asked.text(lang),
            in_brief(asked, lang),
        ));
    }
    let varying = points::varying_flags(rows);
    let common: BTreeMap<String, Value> = shown()
        .flat_map(|it| it.found.flags.iter().flatten())
        .filter(|(name, _)| !varying.contains(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    if !common.is_empty() {
        pairs.push(Pair::new(ImportText::Flags.text(lang), flags(&common)));
    }
    let assumed: BTreeSet<String> = shown()
        .flat_map(|it| it.found.assumed.iter().map(|it| it.stated(lang)))
        .collect();
    if !assumed.is_empty() {
        let assumed = PunctuationText::Semicolon.join(lang, &Vec::from_iter(assumed));
        pairs.push(Pair::new(ImportText::Assumed.text(lang), assumed));
    }
    let unread: BTreeSet<String> = shown()
        .flat_map(|it| it.found.unread.iter().cloned())
        .collect();
    if !unread.is_empty() {
        let unread = points::some(&Vec::from_iter(unread), PunctuationText::Comma, lang);
        pairs.push(Pair::new(ImportText::NotRead.text(lang), unread));
    }
    pairs
}

/// Whose numbers a result has; a start that was refused has none.
fn measuring_tool(result: &ReportedResult<'_>) -> Option<&'static str> {
    let is_measured = result.found.error.is_none();
    is_measured.then(|| result.found.tool.name())
}

/// A value that all rows have.
fn shared<T: PartialEq>(
    rows: &[Row<'_>],
    of: impl Fn(&ReportedResult<'_>) -> Option<T>,
) -> Option<T> {
    let mut values = rows.iter().map(|(_, result)| of(result));
    let first = values.next()??;
    values
        .all(|value| value.as_ref() == Some(&first))
        .then_some(first)
}

fn table(
    report: &ImportReport<'_>,
    group: &ResultGroup,
    rows: &[Row<'_>],
    varying: &BTreeSet<&String>,
) -> Table {
    let (chosen, lang) = (report.columns, report.lang);
    let mut columns = vec![Filled {
        column: Column::key("#"),
        cells: rows
            .iter()
            .map(|(_, result)| Cell::count(result.number))
            .collect(),
    }];
    let texts = |column: Column, of: &dyn Fn(&ReportedResult<'_>) -> String| Filled {
        column,
        cells: rows.iter().map(|(_, it)| Cell::text(of(it))).collect(),
    };
    let tools: BTreeSet<&str> = (rows.iter())
        .filter_map(|(_, it)| measuring_tool(it))
        .collect();
    if tools.len() > 1 {
        let tool = Column::left(ImportText::Tool.text(lang));
        columns.push(texts(tool, &|it| it.found.tool.name().to_owned()));
    }
    let names: BTreeSet<Option<&str>> = rows
        .iter()
        .map(|(_, it)| group.own_name(it.found))
        .collect();
    if names.len() > 1 {
        let name = Column::wrapped(ImportText::Setting.text(lang));
        columns.push(texts(name, &|it| {
            let own = group.own_name(it.found).unwrap_or_default();
            // The heading of all stands above the table.
            let rest = own.strip_prefix(group.name.as_str()).unwrap_or(own);
            rest.strip_prefix(": ")
                .unwrap_or(if rest.is_empty() { rest } else { own })
                .to_owned()
        }));
    }
    let are_alike = are_alike(group, rows);
    for (fact, title) in [
        ("version", ImportText::Version),
        ("template", ImportText::Template),
    ] {
        let value = |it: &ReportedResult<'_>| it.found.facts.get(fact).cloned().unwrap_or_default();
        let is_in_name = |(_, it): &Row<'_>| it.source_name().contains(&value(it));
        let is_told = are_alike && rows.iter().all(is_in_name);
        // A load that failed is of one of them, too, though it has a table of its own.
        if differ(&report.rows(group), value) && !is_told {
            columns.push(texts(Column::left(title.text(lang)), &value));
        }
    }
    if are_alike {
        let file = Column::wrapped(ImportText::File.text(lang));
        columns.push(texts(file, &|it| it.source_name()));
    }
    columns.push(texts(Column::left(ImportText::Load.text(lang)), &|it| {
        it.load(lang)
    }));
    match chosen {
        Some(chosen) => columns.extend(chosen.0.iter().map(|it| of_choice(it, rows, lang))),
        None => {
            columns.extend(numbers(rows, lang));
            columns.extend(latencies(rows, lang));
        }
    }
    if !varying.is_empty() {
        let column = Column::wrapped(ImportText::Flags.text(lang));
        columns.push(texts(column, &|it| {
            let own = it.found.flags.iter().flatten();
            let own = own.filter(|(name, _)| varying.contains(*name));
            flags(
                &own.map(|(name, value)| (name.clone(), value.clone()))
                    .collect(),
            )
        }));
    }
    if !report.objectives.is_empty() {
        columns.push(Filled {
            column: Column::wrapped(ImportText::Slo.text(lang)),
            cells: rows
                .iter()
                .map(|(_, it)| objectives::judged(report, it))
                .collect(),
        });
    }
    let verdict = |(_, result): &Row<'_>| match result.failure() {
        Some(word) => Cell::Toned(word.text(lang).to_owned(), Tone::Bad),
        None => doubts(result),
    };
    columns.push(Filled {
        column: Column::wrapped(ImportText::Doubts.text(lang)),
        cells: rows.iter().map(verdict).collect(),
    });
    columns.retain(|it| it.cells.iter().any(|cell| !cell.shown().is_empty()));
    let mut cells: Vec<Vec<Cell>> = vec![Vec::new(); rows.len()];
    let mut titles = Vec::new();
    for Filled { column, cells: own } in columns {
        titles.push(column);
        for (row, cell) in cells.iter_mut().zip(own) {
            row.push(cell);
        }
    }
    let mut table = Table::new(titles, cells);
    let is_measured = rows.iter().any(|(_, it)| it.found.summary.is_some());
    let chosen = chosen.filter(|_| is_measured);
    (table.footnotes).extend(chosen.and_then(|chosen| missing(chosen, rows, lang)));
    table
}

/// Whether a value is not the same in all rows.
fn differ<T: PartialEq>(rows: &[Row<'_>], of: impl Fn(&ReportedResult<'_>) -> T) -> bool {
    let mut values = rows.iter().map(|(_, it)| of(it));
    let first = values.next();
    values.any(|value| Some(&value) != first.as_ref())
}

/// Whether neither load nor name tells the results of several files apart.
fn are_alike(group: &ResultGroup, rows: &[Row<'_>]) -> bool {
    let told = |(_, it): &Row<'_>| {
        (
            it.load(Lang::En),
            group.own_name(it.found).map(str::to_owned),
        )
    };
    let distinct: BTreeSet<_> = rows.iter().map(told).collect();
    distinct.len() < rows.len() && differ(rows, |it| it.found.file.clone())
}

/// A column that was asked for by its name.
fn of_choice(chosen: &SummaryColumn, rows: &[Row<'_>], lang: Lang) -> Filled {
    let of_stream = ["ttft", "tpot", "itl", "max_gap"].contains(&chosen.name);
    let cell = |(_, result): &Row<'_>| {
        let known = !(of_stream && result.is_whole());
        match figure(chosen, result).filter(|_| known) {
            Some(value) => columns::cell(Some(value), chosen.quantity),
            None => Cell::blank(),
        }
    };
    Filled {
        column: Column::right(&columns::title(chosen, lang)),
        cells: rows.iter().map(cell).collect(),
    }
}

/// A figure by its name; those of studies of lengths as logs of such tell them.
fn figure(chosen: &SummaryColumn, result: &ReportedResult<'_>) -> Option<f64> {
    let summary = result.found.summary.as_ref()?;
    let rates = &summary.throughput;
    match chosen.name {
        "asked_chars" => result.found.point.get("ask_chars")?.as_f64(),
        "refused" => summary.other.get("rejected")?.as_f64(),
        "chars" => Some(rates.output_chars_per_s? / rates.requests_per_s.filter(|it| *it > 0.0)?),
        _ => chosen.of(&serde_json::to_value(summary).ok()?),
    }
}

/// Chosen columns of which no row has a value, and those that some row has.
fn missing(chosen: &SummaryColumns, rows: &[Row<'_>], lang: Lang) -> Option<String> {
    let has = |column: &SummaryColumn| rows.iter().any(|(_, it)| figure(column, it).is_some());
    let missing = chosen.0.iter().filter(|column| !has(column));
    let missing: Vec<String> = missing.map(ToString::to_string).collect();
    let known = SummaryColumn::names().filter_map(|name| Some((name, name.parse().ok()?)));
    let available = known
        .filter(|(_, column)| has(column))
        .map(|(name, _)| name);
    let values = [
        ("columns", PunctuationText::Comma.join(lang, &missing)),
        (
            "available",
            PunctuationText::Comma.join(lang, &Vec::from_iter(available)),
        ),
    ];
    (!missing.is_empty()).then(|| ImportText::NoSuchColumns.with(lang, &values))
}

/// Requests, lengths and rates, as far as any row has them.
fn numbers(rows: &[Row<'_>], lang: Lang) -> Vec<Filled> {
    type Of = fn(&ReportedResult<'_>) -> Option<f64>;
    let column = |title: &str, of: Of| {
        let values: Vec<Option<f64>> = rows.iter().map(|(_, it)| of(it)).collect();
        values.iter().any(Option::is_some).then(|| Filled {
            column: Column::right(title),
            cells: values.into_iter().map(brief).collect(),
        })
    };
    let differ = |of: Of| shared(rows, |it| of(it).map(f64::to_bits)).is_none();
    let input: Of = |it| it.lengths()[0];
    let output: Of = |it| it.lengths()[1];
    let speed: Of = |it| {
        it.found
            .summary
            .as_ref()?
            .speed
            .per_user_tokens_per_s
            .as_ref()?
            .mean
    };
    let columns = [
        column(ImportText::InputColumn.text(lang), input)
            .filter(|_| differ(input) || differ(output)),
        column(ImportText::OutputColumn.text(lang), output)
            .filter(|_| differ(input) || differ(output)),
        column(Unit::RequestsPerSecond.sign(), |it| {
            it.throughput().requests_per_s
        }),
        column(Unit::TokensPerSecond.sign(), |it| {
            it.throughput().output_tokens_per_s
        }),
        column(ImportText::TotalColumn.text(lang), |it| {
            it.throughput().total_tokens_per_s
        }),
        column(ImportText::UserColumn.text(lang), speed),
        column(ImportText::CharsColumn.text(lang), |it| {
            it.throughput().output_chars_per_s
        }),
    ];
    let failed = Filled {
        column: Column::right(ImportText::FailedColumn.text(lang)),
        cells: rows.iter().map(|(_, it)| Cell::text(it.failed())).collect(),
    };
    let columns = columns.into_iter().flatten();
    let columns = columns.chain(of_server(rows, lang)).chain(others(rows));
    [failed].into_iter().chain(columns).collect()
}

fn brief(value: Option<f64>) -> Cell {
    value.map_or(Cell::blank(), |value| Cell::brief(Some(value)))
}

/// Means of what the server told of its queue and its batches.
fn of_server(rows: &[Row<'_>], lang: Lang) -> Vec<Filled> {
    let names = [
        ImportText::QueueWait,
        ImportText::PrefillBatch,
        ImportText::DecodeBatch,
    ];
    let cell = |result: &ReportedResult<'_>, name: ImportText| {
        let mut known = result.of_server().into_iter();
        let found = known.find(|(known, ..)| *known == name);
        match found.and_then(|(_, is_time, spread)| Some((is_time, spread.mean?))) {
            Some((true, ms)) => Cell::text(number::whole_millis(ms)),
            Some((false, size)) => brief(Some(size)),
            None => Cell::blank(),
        }
    };
    let column = |name: ImportText| Filled {
        column: Column::right(name.text(lang)),
        cells: rows.iter().map(|(_, it)| cell(it, name)).collect(),
    };
    names.into_iter().map(column).collect()
}

/// Batch sizes and waiting times, under the tool's own names.
fn others(rows: &[Row<'_>]) -> Vec<Filled> {
    let all = || rows.iter().filter_map(|(_, it)| it.found.summary.as_ref());
    let is_shown = |name: &&String| {
        let name = name.to_lowercase();
        // What GuideLLM has made ahead of need and not sent waits in itself, not in the server.
        let is_of_client = name.starts_with("scheduler metrics");
        let mut words = ["batch", "queue", "排队", "队列"].iter();
        !is_of_client && words.any(|word| name.contains(word))
    };
    let names: BTreeSet<&String> = all()
        .flat_map(|it| it.other.keys())
        .filter(is_shown)
        .collect();
    let value = |result: &ReportedResult<'_>, name: &str| {
        let other = result.found.summary.as_ref()?.other.get(name)?;
        other.as_f64().or_else(|| other.get("mean")?.as_f64())
    };
    let column = |name: &String| Filled {
        column: Column::right(name),
        cells: rows.iter().map(|(_, it)| brief(value(it, name))).collect(),
    };
    names.into_iter().map(column).collect()
}

/// Whether the table of a group has all that is known of a result's times.
pub(super) fn has_all_times(
    report: &ImportReport<'_>,
    place: usize,
    result: &ReportedResult<'_>,
) -> bool {
    let mut groups = report.groups.iter();
    let Some(group) = groups.find(|group| group.members.contains(&place)) else {
        return false;
    };
    let rows = report.rows(group);
    let (_, measured): (Vec<Row<'_>>, Vec<Row<'_>>) =
        (rows.into_iter()).partition(|(_, result)| result.found.error.is_some());
    let shown = shown_statistics(&measured);
    let is_shown = |(metric, stat): (usize, usize)| {
        value(result, metric, stat).is_none() || shown[metric].1.contains(&stat)
    };
    let all = (0..shown.len()).flat_map(|metric| (0..STATISTICS).map(move |stat| (metric, stat)));
    // What the server told is in the table by its mean.
    let of_server = result.of_server();
    let mut of_server = of_server.iter().map(|(.., spread)| statistics(spread));
    let means_only = of_server.all(|[_, others @ ..]| others.iter().all(Option::is_none));
    report.columns.is_none() && means_only && all.into_iter().all(is_shown)
}

/// Mean, percentiles and largest.
const STATISTICS: usize = 7;

/// The statistics of each latency that a table has; of very many, the mean, the median and the 99th
/// percentile, or what comes nearest to it.
fn shown_statistics(rows: &[Row<'_>]) -> Vec<(usize, Vec<usize>)> {
    let known = |metric: usize, stat: usize| {
        let mut values = rows.iter().map(|(_, it)| value(it, metric, stat));
        values.any(|value| value.is_some())
    };
    let mut chosen: Vec<(usize, Vec<usize>)> = (0..5)
        .map(|metric| {
            (
                metric,
                (0..STATISTICS)
                    .filter(|stat| known(metric, *stat))
                    .collect(),
            )
        })
        .collect();
    if chosen.iter().map(|(_, stats)| stats.len()).sum::<usize>() > MOST_STATISTICS {
        for (_, stats) in &mut chosen {
            // The highest percentile, else the largest.
            let tail = stats
                .iter()
                .copied()
                .filter(|stat| (2..6).contains(stat))
                .max();
            let tail = tail.or(stats.iter().copied().max());
            stats.retain(|stat| *stat <= 1 || Some(*stat) == tail);
        }
    }
    chosen
}

/// Latencies with the statistics that were read.
fn latencies(rows: &[Row<'_>], lang: Lang) -> Vec<Filled> {
    let mean = NumbersText::Mean.text(lang);
    let max = NumbersText::Max.text(lang);
    let titles = [mean, "p50", "p75", "p90", "p95", "p99", max];
    let column = |metric: usize, stat: usize| {
        let name = rows.first().map_or("", |(_, it)| it.latencies()[metric].0);
        let cell = |(_, result): &Row<'_>| {
            let ms = value(result, metric, stat);
            ms.map_or(Cell::blank(), |ms| Cell::text(number::whole_millis(ms)))
        };
        Filled {
            column: Column::right(&format!("{name} {}", titles[stat])),
            cells: rows.iter().map(cell).collect(),
        }
    };
    let chosen = shown_statistics(rows).into_iter();
    chosen
        .flat_map(|(metric, stats)| stats.into_iter().map(move |stat| (metric, stat)))
        .map(|(metric, stat)| column(metric, stat))
        .collect()
}

fn value(result: &ReportedResult<'_>, metric: usize, stat: usize) -> Option<f64> {
    let (name, spread) = result.latencies()[metric];
    // Without a stream there is no first token to speak of.
    let of_stream = name != "E2E";
    let spread: Option<&Spread> = spread.filter(|_| !(of_stream && result.is_whole()));
    statistics(spread?)[stat]
}

/// What makes it doubtful, by its names, the worst first.
fn doubts(result: &ReportedResult<'_>) -> Cell {
    let grave = result
        .doubts
        .iter()
        .filter(|it| it.severity > Severity::Note);
    let mut codes: Vec<&str> = grave.map(|it| it.code.name()).collect();
    codes.dedup();
    let tone = result.severity().map_or(Tone::Plain, severity::tone);
    Cell::Toned(codes.join(" "), tone)
}
