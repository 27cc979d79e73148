//! What `inferometer compare` shows: a verdict for each group, the primary metric over all loads,
//! then a table for each load.

mod between;
mod cautions;
mod checks;
mod course;
mod csv;
mod figures;
mod table;
mod within_slo;

pub use checks::checks;
pub use csv::csv;
pub use figures::figures;

use inferometer_chart::measured::distinct;
use inferometer_chart::metric_name::narrow_name as metric;
pub use inferometer_chart::side_name::labels;
use inferometer_chart::side_name::{heads, label_of};
use inferometer_compare::{
    Comparison, Direction, Group, Headline, Metric, Row, RunSample, Verdict, WhyNot,
};
use inferometer_core::point::Point;
use inferometer_core::summary::SummaryColumns;
use inferometer_message::CompareText;
use inferometer_page::doc::{Block, Doc, Note, Pair, Section, Tone, Verdict as Judgement};
use inferometer_page::number::{self, change_in_percent};
use inferometer_text::Lang;
use inferometer_text::punctuation::PunctuationText;
use std::collections::BTreeSet;

/// A comparison and what it was made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CompareReport<'a> {
    pub comparison: &'a Comparison,
    /// What was compared, the baseline first.
    pub groups: &'a [Group],
    /// Deviation from run to run that was assumed where each side has one run.
    pub run_deviation: f64,
    /// Figures that were chosen, in place of the primary and all others.
    pub columns: Option<&'a SummaryColumns>,
    pub lang: Lang,
}

pub fn compose(report: &CompareReport<'_>) -> Doc {
    let lang = report.lang;
    let comparison = report.comparison;
    let mut sections = vec![
        Section::plain(verdicts(report)),
        Section::plain([legend(report)]),
    ];
    sections.extend(cautions::section(report));
    sections.extend(overview(report));
    sections.extend(between::sections(report));
    sections.extend(within_slo::section(report));
    if !comparison.reasons.is_empty() {
        let reasons = cautions::reasons(report);
        let notes = reasons.into_iter().map(note);
        let heading = CompareText::WhyNot.text(lang);
        sections.push(Section::headed(heading, [Block::Notes(notes.collect())]));
    }
    match report.columns {
        Some(chosen) => sections.extend(chosen.0.iter().map(|it| table::of_column(report, it))),
        None => {
            let loads = comparison.rows.chunk_by(of_one_load);
            let loads = loads.filter(|rows| !is_long(comparison) || is_tested(rows));
            sections.extend(loads.map(|rows| table::section(report, rows)));
        }
    }
    // What holds for every table is said once, below the last.
    let blocks = sections.last_mut().map(|it| it.blocks.iter_mut());
    let mut tables = blocks
        .into_iter()
        .flatten()
        .filter_map(|block| match block {
            Block::Table(table) => Some(table),
            _ => None,
        });
    if let Some(last) = tables.next_back() {
        last.footnotes = table::footnotes(report);
    }
    if !comparison.unpaired.is_empty() {
        let heading = CompareText::Unpaired.text(lang);
        sections.push(Section::headed(heading, unpaired(report)));
    }
    Doc { sections }
}

/// Loads that only one side has: a line for each side and test, with all of its loads.
fn unpaired(report: &CompareReport<'_>) -> Vec<Block> {
    let mut lines: Vec<(String, Vec<&Point>)> = Vec::new();
    let heads = heads(report.groups);
    for alone in &report.comparison.unpaired {
        let mut sides = report.groups.iter().zip(&heads);
        let side = sides.find(|(group, _)| group.name == alone.group);
        let side = side.map_or(alone.group.as_str(), |(_, head)| head);
        let named = [side].into_iter().chain(alone.point.group());
        let named = PunctuationText::Comma.join(report.lang, &Vec::from_iter(named));
        match lines.iter_mut().find(|(known, _)| *known == named) {
            Some((_, points)) => points.push(&alone.point),
            None => lines.push((named, vec![&alone.point])),
        }
    }
    let line = |(named, points): (String, Vec<&Point>)| {
        let points = distinct(points.into_iter().map(Point::without_group));
        let mut axes = points.iter().flat_map(|point| point.0.keys());
        let axis = axes.next().filter(|first| axes.all(|axis| axis == *first));
        let loads = match axis {
            Some(axis) => {
                let name = format!("{axis}=");
                let values = points
                    .iter()
                    .map(|point| point.to_string().replace(&name, ""));
                let values: Vec<String> = values.collect();
                name + &PunctuationText::Comma.join(report.lang, &values)
            }
            None => {
                let loads: Vec<String> = points.iter().map(shown).collect();
                PunctuationText::Semicolon.join(report.lang, &loads)
            }
        };
        Block::Paragraph(format!("{named}: {loads}"))
    };
    lines.into_iter().map(line).collect()
}

/// Loads from which on those that are not comparable stand only in the table of all loads.
const LONG: usize = 9;

fn of_one_load(a: &Row, b: &Row) -> bool {
    a.point == b.point && a.group == b.group
}

fn is_long(comparison: &Comparison) -> bool {
    is_tested(&comparison.rows) && comparison.rows.chunk_by(of_one_load).count() >= LONG
}

fn is_tested(rows: &[Row]) -> bool {
    rows.iter().any(|row| row.verdict != Verdict::NotComparable)
}

/// The primary metric at each load, where there are several and no figures were chosen.
fn overview(report: &CompareReport<'_>) -> Vec<Section> {
    match report.columns {
        None => table::over_loads(report),
        Some(_) => Vec::new(),
    }
}

/// How many tables of the primary metric over the loads there are.
pub fn overviews(report: &CompareReport<'_>) -> usize {
    overview(report).len()
}

fn note(reason: String) -> Note {
    Note {
        tag: "!".to_owned(),
        tone: Tone::Caution,
        subject: reason,
        text: String::new(),
        follow: None,
    }
}

fn shown(point: &Point) -> String {
    if point.0.is_empty() {
        "–".to_owned()
    } else {
        point.to_string()
    }
}

fn legend(report: &CompareReport<'_>) -> Block {
    let lang = report.lang;
    let labels = labels(report.groups);
    let heads = heads(report.groups).into_iter();
    let groups = report.groups.iter().zip(labels).zip(heads).enumerate();
    let mut pairs: Vec<Pair> = groups
        .map(|(place, ((group, label), head))| {
            let described = described(group, &label, &head, lang);
            let key = match place {
                0 => CompareText::Baseline.with(lang, &[("side", head)]),
                _ => head,
            };
            Pair::new(&key, described)
        })
        .collect();
    pairs.push(Pair::new(
        CompareText::Margin.text(lang),
        format!("± {}", number::percent(report.comparison.margin)),
    ));
    Block::Pairs(pairs)
}

/// A group in words: its name where it is not its head, its runs and loads, what they are, and
/// whose definitions hold.
fn described(group: &Group, label: &str, head: &str, lang: Lang) -> String {
    let points: BTreeSet<String> = group.runs.iter().map(|run| run.point.key()).collect();
    let tools = (group.runs.iter()).filter_map(|run| run.definition.tool.as_deref());
    let tools: BTreeSet<&str> = tools.collect();
    let name = if group.name.ends_with(label) {
        group.name.clone()
    } else {
        format!("{label} · {}", group.name)
    };
    let is = if name == head {
        CompareText::RunsAndLoads
    } else {
        CompareText::GroupIs
    };
    let values = [
        ("runs", group.runs.len().to_string()),
        ("points", points.len().to_string()),
        ("name", name),
    ];
    let mut parts = vec![is.with(lang, &values)];
    parts.extend(system(group, lang));
    match (group.runs.iter())
        .filter(|run| run.definition.computed)
        .count()
    {
        0 if group.runs.iter().any(|run| run.system.is_simulated) => {
            parts.push(CompareText::Simulated.text(lang).to_owned());
        }
        0 => {}
        all if all == group.runs.len() => parts.push(CompareText::Computed.text(lang).to_owned()),
        _ => parts.push(CompareText::PartlyComputed.text(lang).to_owned()),
    }
    if !tools.is_empty() {
        let tool = [("tool", Vec::from_iter(tools).join(", "))];
        parts.push(CompareText::AsDefined.with(lang, &tool));
    }
    PunctuationText::Semicolon.join(lang, &parts)
}

/// The model of a group, as far as all of its runs agree on it, and its cards.
fn system(group: &Group, lang: Lang) -> Option<String> {
    let model = same(group, |run| run.system.model.clone());
    let devices = group
        .runs
        .iter()
        .filter_map(|run| run.system.device.as_deref());
    let devices: BTreeSet<&str> = devices.collect();
    let device = (!devices.is_empty()).then(|| Vec::from_iter(devices).join(" + "));
    let cards = same(group, |run| run.summary.cards()).map(|cards| cards.to_string());
    let cards = match (cards, device) {
        (Some(cards), Some(device)) => Some(format!("{cards} × {device}")),
        (Some(cards), None) if cards == "1" => Some(CompareText::OneCard.text(lang).to_owned()),
        (Some(cards), None) => Some(CompareText::Cards.with(lang, &[("count", cards)])),
        (None, device) => device,
    };
    match (model, cards) {
        (Some(model), Some(cards)) => {
            Some(CompareText::ModelOn.with(lang, &[("cards", cards), ("model", model)]))
        }
        (model, cards) => model.or(cards),
    }
}

fn same<T: PartialEq>(group: &Group, of: impl Fn(&RunSample) -> Option<T>) -> Option<T> {
    let mut values = group.runs.iter().map(of);
    let first = values.next()??;
    values
        .all(|value| value.as_ref() == Some(&first))
        .then_some(first)
}

/// For each group a line by its primary metric, one by what a card does where the sides differ in
/// their number, and one by how far it meets its objectives.
fn verdicts(report: &CompareReport<'_>) -> Vec<Judgement> {
    let names = report.groups.iter().map(|group| &group.name);
    let labelled = names.zip(labels(report.groups)).skip(1);
    labelled
        .flat_map(|(name, label)| {
            let rows = |counts: fn(&Row) -> bool| -> Vec<&Row> {
                let rows = report.comparison.rows.iter();
                rows.filter(|row| row.group == *name && counts(row))
                    .collect()
            };
            let primary = rows(|row| row.primary);
            let each = rows(|row| row.metric == Metric::OutputTokensPerSPerCard && !row.primary);
            let mut lines = by_test(report, &primary, &label);
            if !each.is_empty() {
                lines.extend(by_test(report, &each, &label));
            }
            let is_worse = |row: &&Row| row.verdict == Verdict::Worse;
            if !primary.iter().any(is_worse) {
                let mut others = rows(|row| row.metric != Metric::OutputTokensPerSPerCard);
                others.retain(|row| !row.primary && is_worse(row));
                lines.extend(also_worse(report, &others, &label));
            }
            lines.extend(within_slo::verdicts(report, name, &label));
            lines
        })
        .collect()
}

/// What one metric says of a group at all loads: a line for each model and data set of an import,
/// since what holds for one need not hold for another.
fn by_test(report: &CompareReport<'_>, rows: &[&Row], label: &str) -> Vec<Judgement> {
    let tests = distinct(rows.iter().map(|row| row.point.group()));
    if tests.iter().all(Option::is_none) {
        return vec![verdict(report, rows, label)];
    }
    let line = |test: Option<&str>| {
        let own = rows.iter().filter(|row| row.point.group() == test);
        let own: Vec<&Row> = own.copied().collect();
        let named = [label].into_iter().chain(test);
        let named = PunctuationText::Comma.join(report.lang, &Vec::from_iter(named));
        verdict(report, &own, &named)
    };
    tests.into_iter().map(line).collect()
}

/// Metrics that are worse where the one that decides is not.
fn also_worse(report: &CompareReport<'_>, worse: &[&Row], label: &str) -> Option<Judgement> {
    let lang = report.lang;
    let named = distinct(worse.iter().map(|row| row.metric)).into_iter();
    let named: Vec<String> = named
        .map(|named| {
            let own = worse.iter().filter(|row| row.metric == named);
            let ratios = || own.clone().filter_map(|row| row.ratio);
            let ends = ratios().reduce(f64::min).zip(ratios().reduce(f64::max));
            let changes = ends.map(|(least, most)| number::changes(least, most));
            let changes = changes.unwrap_or_default();
            format!("{} {changes}", metric(named, lang))
                .trim_end()
                .to_owned()
        })
        .collect();
    let metrics = PunctuationText::Comma.join(lang, &named);
    let values = [("group", label.to_owned()), ("metrics", metrics)];
    let reason = CompareText::AlsoWorse.with(lang, &values);
    (!named.is_empty()).then(|| Judgement::new(CompareText::Worse.text(lang), Tone::Bad, reason))
}

/// What one metric says of a group at all loads.
fn verdict(report: &CompareReport<'_>, rows: &[&Row], label: &str) -> Judgement {
    let lang = report.lang;
    let count = |verdict| rows.iter().filter(|row| row.verdict == verdict).count();
    let [better, worse, same] = [Verdict::Better, Verdict::Worse, Verdict::Same].map(count);
    let unknown = count(Verdict::Unknown);
    let unlike = count(Verdict::NotComparable);
    let slight = |way| {
        rows.iter()
            .filter(|row| row.within_margin == Some(way))
            .count()
    };
    let [little_better, little_worse] = [Direction::Better, Direction::Worse].map(slight);
    let first = rows.first().filter(|row| row.primary);
    let pooled = first.and_then(|row| {
        let comparison = report.comparison;
        comparison.pooled_of(&row.group, row.point.group())
    });
    let headline = Headline::of(rows, pooled);
    let (word, tone) = match headline {
        Headline::Better => (CompareText::Better, Tone::Good),
        Headline::BetterInPart => (CompareText::BetterInPart, Tone::Caution),
        Headline::Worse => (CompareText::Worse, Tone::Bad),
        Headline::WorseInPart => (CompareText::WorseInPart, Tone::Bad),
        Headline::Mixed => (CompareText::Mixed, Tone::Caution),
        Headline::Same => (CompareText::Same, Tone::Good),
        Headline::SlightlyBetter => (CompareText::SlightlyBetter, Tone::Good),
        Headline::SlightlyWorse => (CompareText::SlightlyWorse, Tone::Plain),
        Headline::Unknown => (CompareText::Unknown, Tone::Caution),
        Headline::NotComparable => (CompareText::NotComparable, Tone::Bad),
    };
    let group = ("group", label.to_owned());
    let invalid = invalid_sides(report, rows);
    let reason = match rows {
        [] => {
            let reasons = cautions::reasons(report);
            let count = ("count", reasons.len().to_string());
            CompareText::SeeReasons.with(lang, &[group, count])
        }
        _ if !invalid.is_empty() => {
            CompareText::OnlyInvalid.with(lang, &[("sides", invalid.join(" + ")), group])
        }
        [row] => {
            let values = [
                group,
                ("metric", metric(row.metric, lang)),
                ("change", change(row.ratio)),
                ("point", shown(&row.point.without_group())),
                ("margin", number::percent(report.comparison.margin)),
            ];
            let text = match row.within_margin {
                Some(_) => CompareText::AtOnePointInside,
                None => CompareText::AtOnePoint,
            };
            text.with(lang, &values)
        }
        several => {
            let counts = [
                (CompareText::CountBetter, better),
                (CompareText::CountWorse, worse),
                (CompareText::CountSlightlyBetter, little_better),
                (CompareText::CountSlightlyWorse, little_worse),
                (CompareText::CountSame, same - little_better - little_worse),
                (CompareText::CountUnknown, unknown),
                (CompareText::CountNotComparable, unlike),
            ];
            let counts = counts.into_iter().filter(|(_, count)| *count > 0);
            let counts: Vec<String> = counts
                .map(|(text, count)| text.with(lang, &[("count", count.to_string())]))
                .collect();
            let values = [
                ("metric", metric(several[0].metric, lang)),
                ("counts", PunctuationText::Comma.join(lang, &counts)),
                ("all", several.len().to_string()),
                group,
            ];
            let mut said = vec![CompareText::AtPoints.with(lang, &values)];
            said.extend(course::turn(rows, lang));
            let pooled = pooled.filter(|_| headline != Headline::of(rows, None));
            said.extend(pooled.map(|it| course::together(it, lang)));
            PunctuationText::Semicolon.join(lang, &said)
        }
    };
    Judgement::new(word.text(lang), tone, reason)
}

/// The sides of which only invalid runs are there, where that holds at all loads of these rows.
fn invalid_sides(report: &CompareReport<'_>, rows: &[&Row]) -> Vec<String> {
    let invalid = |row: &&Row| -> BTreeSet<&String> {
        let reasons = report.comparison.reasons.iter();
        let sides = reasons.filter_map(|reason| match reason {
            WhyNot::Invalid { point, group, .. } if *point == row.point => Some(group),
            _ => None,
        });
        sides.collect()
    };
    let all = rows.iter().map(invalid);
    let shared = all.reduce(|a, b| a.intersection(&b).copied().collect());
    let shared = shared.into_iter().flatten();
    shared.map(|side| label_of(report.groups, side)).collect()
}

/// The primary metric of a group at one load, for the top of a page.
pub struct Tile {
    pub name: String,
    pub change: String,
    pub interval: String,
    pub tone: Tone,
}

const MOST_TILES: usize = 8;
/// Most loads of a group that have a tile each.
const MOST_LOAD_TILES: usize = 3;

/// The change of the primary metric, load by load, or its span where loads are many; of what may
/// not be compared, none.
pub fn tiles(report: &CompareReport<'_>) -> Vec<Tile> {
    let (comparison, lang) = (report.comparison, report.lang);
    let name = |row: &Row, name: String| {
        if report.groups.len() > 2 {
            format!("{} · {name}", label_of(report.groups, &row.group))
        } else {
            name
        }
    };
    let told = |row: &&Row| row.verdict != Verdict::NotComparable;
    let rows = comparison.rows.iter().filter(|row| row.primary);
    let rows: Vec<&Row> = rows.filter(told).collect();
    let one = |row: &&Row| Tile {
        name: name(
            row,
            format!("{} · {}", metric(row.metric, lang), shown(&row.point)),
        ),
        change: change(row.ratio),
        interval: match row.low.zip(row.high) {
            Some((low, high)) => {
                format!("{} … {}", change_in_percent(low), change_in_percent(high))
            }
            None => String::new(),
        },
        tone: row_word(row).1,
    };
    let groups = rows.chunk_by(|a, b| a.group == b.group && a.metric == b.metric);
    let tiles = groups.flat_map(|rows| {
        if rows.len() <= MOST_LOAD_TILES {
            rows.iter().map(one).collect()
        } else {
            vec![span(
                rows,
                name(rows[0], metric(rows[0].metric, lang)),
                lang,
            )]
        }
    });
    tiles.take(MOST_TILES).collect()
}

/// From the least to the greatest change over many loads.
fn span(rows: &[&Row], name: String, lang: Lang) -> Tile {
    let ratios = || rows.iter().filter_map(|row| row.ratio);
    let ends = ratios().reduce(f64::min).zip(ratios().reduce(f64::max));
    let count = [("count", rows.len().to_string())];
    Tile {
        name,
        change: match ends {
            Some((low, high)) => number::changes(low, high),
            None => number::ABSENT.to_owned(),
        },
        interval: CompareText::OverLoads.with(lang, &count),
        tone: Tone::Plain,
    }
}

/// The verdict of a row, and whether it differs by less than the margin.
fn row_word(row: &Row) -> (CompareText, Tone) {
    match row.within_margin {
        Some(Direction::Better) => (CompareText::CellSlightlyBetter, Tone::Plain),
        Some(Direction::Worse) => (CompareText::CellSlightlyWorse, Tone::Plain),
        None if row.verdict == Verdict::Unknown && (row.a.is_none() || row.b.is_none()) => {
            (CompareText::CellNoFigure, Tone::Plain)
        }
        None => verdict_word(row.verdict),
    }
}

fn verdict_word(verdict: Verdict) -> (CompareText, Tone) {
    match verdict {
        Verdict::Better => (CompareText::CellBetter, Tone::Good),
        Verdict::Worse => (CompareText::CellWorse, Tone::Bad),
        Verdict::Same => (CompareText::CellSame, Tone::Plain),
        Verdict::Unknown => (CompareText::CellUnknown, Tone::Caution),
        Verdict::NotComparable => (CompareText::CellNotComparable, Tone::Caution),
    }
}

/// A ratio as a change.
fn change(ratio: Option<f64>) -> String {
    ratio.map_or(number::ABSENT.to_owned(), number::change)
}
