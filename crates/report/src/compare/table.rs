//! The primary metric over all loads, and every metric of one group at one load.

use super::{CompareReport, heads, metric, row_word, shown};
use crate::columns;
use inferometer_chart::measured::distinct;
use inferometer_compare::{Basis, Group, Row, RunSample, Verdict};
use inferometer_core::point::{GROUP, Point};
use inferometer_core::summary::{Quantity, SummaryColumn};
use inferometer_message::CompareText;
use inferometer_page::doc::{Cell, Column, Section, Table, Tone};
use inferometer_page::number::{self, change_in_percent};
use inferometer_text::Lang;

/// A figure of the baseline and of a group at one load; no verdict of what is not tested.
struct Pairing {
    a: Option<f64>,
    b: Option<f64>,
    ratio: Option<f64>,
    verdict: Option<(CompareText, Tone)>,
    /// What would decide, where the data do not.
    remedy: Option<Remedy>,
}

/// What would decide where the data do not.
#[derive(Clone, Copy)]
pub(super) enum Remedy {
    /// Runs of each side.
    Runs(u32),
    /// Requests of a run.
    Requests(u64),
    /// What became of each request, where only figures are known.
    Details,
}

impl Remedy {
    pub(super) fn of(row: &Row) -> Option<Remedy> {
        // A longer run is cheaper than many short ones.
        let requests = row.requests_needed.map(Remedy::Requests);
        let figures = matches!(
            row.basis,
            Basis::Assumed | Basis::LittlesLaw | Basis::Deviations | Basis::Nothing
        );
        let is_known = row.a.is_some() && row.b.is_some();
        let details = row.verdict == Verdict::Unknown && figures && is_known;
        requests
            .or(row.repeats_to_decide.map(Remedy::Runs))
            .or(details.then_some(Remedy::Details))
    }

    pub(super) fn text(self, lang: Lang) -> String {
        match self {
            Remedy::Runs(runs) => format!("{runs} x"),
            Remedy::Requests(requests) => {
                let count = [("count", number::count(requests))];
                CompareText::RequestsNeeded.with(lang, &count)
            }
            Remedy::Details => CompareText::DetailsNeeded.text(lang).to_owned(),
        }
    }
}

/// What a verdict is marked with where only single requests would decide: their number has no place
/// in a column.
const DETAILS: &str = "†";

/// What a verdict is marked with that is about runs of so many requests.
const OF_SO_MANY: &str = "‡";

/// A verdict, marked where single requests would decide.
pub(super) fn marked(word: CompareText, remedy: Option<Remedy>, lang: Lang) -> String {
    match remedy {
        Some(Remedy::Details) => format!("{} {DETAILS}", word.text(lang)),
        _ => word.text(lang).to_owned(),
    }
}

/// How many runs or requests would decide.
pub(super) fn counted(remedy: Option<Remedy>, lang: Lang) -> Option<String> {
    let remedy = remedy.filter(|remedy| !matches!(remedy, Remedy::Details))?;
    Some(remedy.text(lang))
}

impl From<&Row> for Pairing {
    fn from(row: &Row) -> Self {
        Pairing {
            a: row.a,
            b: row.b,
            ratio: row.ratio,
            verdict: Some(row_word(row)),
            remedy: Remedy::of(row),
        }
    }
}

/// The primary metric of every group, a line for each load and a table for each test; none where
/// there is one load.
pub(super) fn over_loads(report: &CompareReport<'_>) -> Vec<Section> {
    let primary: Vec<&Row> = (report.comparison.rows.iter())
        .filter(|row| row.primary)
        .collect();
    if distinct(primary.iter().map(|row| &row.point)).len() < 2 {
        return Vec::new();
    }
    let tests = distinct(primary.iter().map(|row| row.point.group())).into_iter();
    let sections = tests.filter_map(|test| {
        let own = primary.iter().filter(|row| row.point.group() == test);
        over_loads_of(report, &own.copied().collect::<Vec<_>>())
    });
    sections.collect()
}

fn over_loads_of(report: &CompareReport<'_>, primary: &[&Row]) -> Option<Section> {
    let points = distinct(primary.iter().map(|row| &row.point));
    let first = primary.first()?;
    let of = |point: &Point, group: &Group| {
        let mut rows = primary.iter();
        let row = rows.find(|row| row.point == *point && row.group == group.name)?;
        Some(Pairing::from(*row))
    };
    let metric = metric(first.metric, report.lang);
    let mut section = at_each(report, metric, &points, of);
    section.blocks.extend(super::course::below(report, primary));
    Some(section)
}

/// A figure that was chosen, a line for each load.
pub(super) fn of_column(report: &CompareReport<'_>, column: &SummaryColumn) -> Section {
    let rows = &report.comparison.rows;
    let points = distinct(rows.iter().map(|row| &row.point));
    let key = column.key();
    let of = |point: &Point, group: &Group| {
        let mut tested = rows.iter().filter(|row| row.metric.into_str() == key);
        let tested = tested.find(|row| row.point == *point && row.group == group.name);
        if let Some(row) = tested {
            return Some(Pairing::from(row));
        }
        let shown = |group: &Group| {
            let value = at_load(group, point, column)?;
            let is_share = column.quantity == Quantity::Share;
            Some(if is_share { 100.0 * value } else { value })
        };
        let (a, b) = (shown(report.groups.first()?), shown(group));
        Some(Pairing {
            a,
            b,
            ratio: a.zip(b).map(|(a, b)| b / a).filter(|it| it.is_finite()),
            verdict: None,
            remedy: None,
        })
    };
    at_each(report, columns::title(column, report.lang), &points, of)
}

/// The mean over the runs of a group at a load, or over all where it has one load only.
fn at_load(group: &Group, point: &Point, column: &SummaryColumn) -> Option<f64> {
    let keys = distinct(group.runs.iter().map(|run| run.point.key()));
    let counts = |run: &&RunSample| keys.len() == 1 || run.point.key() == point.key();
    let summaries =
        (group.counted().filter(counts)).filter_map(|run| serde_json::to_value(&run.summary).ok());
    let values: Vec<f64> = summaries.filter_map(|it| column.of(&it)).collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// A line for each load: the baseline, then every group with its change and verdict. What all
/// loads share stands in the heading.
fn at_each(
    report: &CompareReport<'_>,
    metric: String,
    points: &[&Point],
    of: impl Fn(&Point, &Group) -> Option<Pairing>,
) -> Section {
    let lang = report.lang;
    let (mut names, mut shared) = Point::told_apart(points);
    // A lone load shares all with itself; its test stands in the heading all the same.
    if let ([point], [name]) = (points, names.as_mut_slice())
        && let Some(test) = point.0.get(GROUP)
    {
        *name = point.without_group();
        shared.0.insert(GROUP.to_owned(), test.clone());
    }
    let heading = if shared.0.is_empty() {
        CompareText::OverAllLoads.with(lang, &[("metric", metric)])
    } else {
        let values = [("metric", metric), ("shared", shared.to_string())];
        CompareText::OverAllLoadsOf.with(lang, &values)
    };
    // A side that has none of these loads has no columns.
    let heads = heads(report.groups);
    let sides = report.groups.iter().zip(&heads).skip(1);
    let sides: Vec<(&Group, &String)> = sides
        .filter(|(group, _)| points.iter().any(|point| of(point, group).is_some()))
        .collect();
    let lines: Vec<Vec<Option<Pairing>>> = (points.iter())
        .map(|point| sides.iter().map(|(group, _)| of(point, group)).collect())
        .collect();
    let remedies: Vec<bool> = (0..sides.len())
        .map(|place| {
            let mut all = lines.iter().filter_map(|line| line[place].as_ref());
            all.any(|pairing| counted(pairing.remedy, lang).is_some())
        })
        .collect();
    let mut columns = vec![Column::left(CompareText::Load.text(lang))];
    columns.extend(heads.first().map(|baseline| Column::right(baseline)));
    for ((_, head), remedies) in sides.iter().zip(&remedies) {
        columns.push(Column::right(head));
        columns.push(Column::right(CompareText::Change.text(lang)));
        columns.push(Column::left(CompareText::Verdict.text(lang)));
        if *remedies {
            columns.push(Column::left(CompareText::Remedy.text(lang)));
        }
    }
    let cells = lines.into_iter().zip(&names).map(|(pairings, name)| {
        let baseline = pairings.iter().flatten().find_map(|it| it.a);
        let mut cells = vec![Cell::text(shown(name)), Cell::brief(baseline)];
        for (pairing, remedies) in pairings.into_iter().zip(&remedies) {
            let Some(pairing) = pairing else {
                let blank = 3 + usize::from(*remedies);
                cells.extend(std::iter::repeat_n(Cell::blank(), blank));
                continue;
            };
            cells.push(Cell::brief(pairing.b));
            cells.push(Cell::known(pairing.ratio.map(change_in_percent)));
            cells.push(match pairing.verdict {
                Some((word, tone)) => Cell::Toned(marked(word, pairing.remedy, lang), tone),
                None => Cell::text(CompareText::NotTested.text(lang)),
            });
            if *remedies {
                let remedy = counted(pairing.remedy, lang);
                cells.push(Cell::text(remedy.unwrap_or_default()));
            }
        }
        cells
    });
    Section::headed(&heading, [Table::new(columns, cells)])
}

/// The metrics of a group at one load.
pub(super) fn section(report: &CompareReport<'_>, rows: &[Row]) -> Section {
    let lang = report.lang;
    let group = rows
        .first()
        .map(|row| row.group.as_str())
        .unwrap_or_default();
    let place = report
        .groups
        .iter()
        .position(|line| line.name == group)
        .unwrap_or_default();
    let heading = rows
        .first()
        .map(|row| shown(&row.point))
        .unwrap_or_default();
    let heads = heads(report.groups);
    let mut columns = vec![
        Column::left(CompareText::Metric.text(lang)),
        Column::right(&heads[0]),
        Column::right(&heads[place]),
        Column::right(CompareText::Change.text(lang)),
    ];
    // Columns that no row would fill are left out.
    let intervals = rows.iter().any(|row| row.low.is_some());
    if intervals {
        columns.push(Column::right(CompareText::Interval.text(lang)));
    }
    columns.push(Column::left(CompareText::Verdict.text(lang)));
    let detectable = rows.iter().any(|row| row.minimum_detectable.is_some());
    if detectable {
        columns.push(Column::right(CompareText::Detectable.text(lang)));
    }
    let remedies = rows
        .iter()
        .any(|row| counted(Remedy::of(row), lang).is_some());
    if remedies {
        columns.push(Column::right(CompareText::Remedy.text(lang)));
    }
    let cells = rows.iter().map(|row| {
        let interval = match row.low.zip(row.high) {
            Some((low, high)) => {
                format!("{} … {}", change_in_percent(low), change_in_percent(high))
            }
            None => String::new(),
        };
        let (word, tone) = row_word(row);
        let star = match (row.basis, row.requests_each) {
            (Basis::FewSamples, _) => "*",
            (_, Some(_)) => OF_SO_MANY,
            _ => "",
        };
        let mark = if row.primary { "> " } else { "  " };
        let mut cells = vec![
            Cell::text(format!("{mark}{}", metric(row.metric, lang))),
            Cell::brief(row.a),
            Cell::brief(row.b),
            Cell::known(row.ratio.map(change_in_percent)),
        ];
        if intervals {
            cells.push(Cell::text(interval));
        }
        let word = marked(word, Remedy::of(row), lang);
        cells.push(Cell::Toned(format!("{word}{star}"), tone));
        if detectable {
            let least = row.minimum_detectable.map(at_most_all);
            cells.push(Cell::text(least.unwrap_or_default()));
        }
        if remedies {
            let remedy = counted(Remedy::of(row), lang);
            cells.push(Cell::text(remedy.unwrap_or_default()));
        }
        cells
    });
    Section::headed(&heading, [Table::new(columns, cells)])
}

/// A share in percent; beyond the whole its size says nothing more.
fn at_most_all(share: f64) -> String {
    if share < 1.0 {
        number::percent(share)
    } else {
        format!("> {}", number::percent(1.0))
    }
}

/// Why a run has no interval of a metric.
pub(super) fn few_waves(row: &Row) -> CompareText {
    if row.metric.into_str().ends_with("p99") {
        CompareText::SlowTogether
    } else {
        CompareText::FewWaves
    }
}

/// What the marks and columns of all tables mean.
pub(super) fn footnotes(report: &CompareReport<'_>) -> Vec<String> {
    let lang = report.lang;
    let rows = &report.comparison.rows;
    let any = |basis: Basis| rows.iter().any(|row| row.basis == basis);
    let mut notes = Vec::new();
    if rows.iter().any(|row| row.minimum_detectable.is_some()) {
        notes.push(CompareText::PrimaryIs.text(lang).to_owned());
        notes.push(CompareText::Legend.text(lang).to_owned());
    }
    if rows
        .iter()
        .any(|row| counted(Remedy::of(row), lang).is_some())
    {
        notes.push(CompareText::NeededIs.text(lang).to_owned());
    }
    if any(Basis::Pairs) {
        notes.push(CompareText::InPairs.text(lang).to_owned());
    }
    let copies = report.comparison.copies.iter();
    notes.extend(distinct(copies.map(|copies| {
        let values = [
            ("runs", copies.runs.to_string()),
            ("distinct", copies.distinct.to_string()),
            ("group", copies.group.clone()),
        ];
        CompareText::Copies.with(lang, &values)
    })));
    if any(Basis::OneRunEach) {
        let share = ("share", number::percent(report.run_deviation));
        notes.push(CompareText::OneRunEach.with(lang, &[share]));
    }
    if any(Basis::PairedRequests) {
        let share = ("share", number::percent(report.run_deviation));
        notes.push(CompareText::PairedRequests.with(lang, &[share]));
    }
    if any(Basis::Assumed) {
        notes.push(CompareText::AssumedError.text(lang).to_owned());
    }
    if any(Basis::LittlesLaw) {
        notes.push(CompareText::LittlesLaw.text(lang).to_owned());
    }
    if any(Basis::Deviations) {
        notes.push(CompareText::DeviationsAlone.text(lang).to_owned());
    }
    if any(Basis::FewSamples) {
        notes.push(format!("* {}", CompareText::FewSamples.text(lang)));
    }
    if any(Basis::ShortRuns) {
        notes.push(CompareText::ShortRuns.text(lang).to_owned());
    }
    if let Some(each) = rows.iter().filter_map(|row| row.requests_each).min() {
        let count = [("count", number::count(each))];
        let note = CompareText::OfSoMany.with(lang, &count);
        notes.push(format!("{OF_SO_MANY} {note}"));
    }
    let few = rows.iter().filter(|row| row.basis == Basis::FewWaves);
    notes.extend(
        distinct(few.map(few_waves))
            .into_iter()
            .map(|it| it.text(lang).to_owned()),
    );
    let uncounted = (report.groups.iter().flat_map(|group| &group.runs))
        .any(|run| run.series.is_none() && run.answered.is_none());
    if any(Basis::Nothing) {
        let text = if uncounted {
            CompareText::NoCount
        } else {
            CompareText::FiguresAlone
        };
        notes.push(text.text(lang).to_owned());
    }
    let mut loads = rows.chunk_by(super::of_one_load);
    if super::is_long(report.comparison) && loads.any(|rows| !super::is_tested(rows)) {
        notes.push(CompareText::NoTable.text(lang).to_owned());
    }
    let details = |row: &Row| matches!(Remedy::of(row), Some(Remedy::Details));
    if rows.iter().any(details) {
        notes.push(format!("{DETAILS} {}", CompareText::SaveDetails.text(lang)));
    }
    notes
}
