//! The groups beside the baseline against each other.

use super::table::{Remedy, counted, marked};
use super::{CompareReport, course, heads, metric, row_word, shown, verdict_word};
use inferometer_chart::measured::distinct;
use inferometer_compare::{Between, Row};
use inferometer_core::point::Point;
use inferometer_message::CompareText;
use inferometer_page::doc::{Block, Cell, Column, Section, Table};
use inferometer_page::number::change_in_percent;

/// The primary metric of each such pair, a table for each test.
pub(super) fn sections(report: &CompareReport<'_>) -> Vec<Section> {
    let pairs = report.comparison.between.iter();
    let rows = pairs.flat_map(|pair| pair.rows.iter().map(move |row| (pair, row)));
    let rows: Vec<(&Between, &Row)> = rows.collect();
    let tests = distinct(rows.iter().map(|(_, row)| row.point.group())).into_iter();
    let of_test = tests.filter_map(|test| {
        let own = rows.iter().filter(|(_, row)| row.point.group() == test);
        of_test(report, test, &own.copied().collect::<Vec<_>>())
    });
    of_test.collect()
}

/// A line for each pair and load.
fn of_test(
    report: &CompareReport<'_>,
    test: Option<&str>,
    rows: &[(&Between, &Row)],
) -> Option<Section> {
    let lang = report.lang;
    let pairs = &report.comparison.between;
    let (_, first) = rows.first()?;
    let heads = heads(report.groups);
    let head = |name: &String| {
        let mut named = report.groups.iter().zip(&heads);
        let known = named.find(|(group, _)| group.name == *name);
        known.map_or(name.clone(), |(_, head)| head.clone())
    };
    let named = |pair: &Between| {
        let values = [("a", head(&pair.baseline)), ("b", head(&pair.group))];
        CompareText::Against.with(lang, &values)
    };
    let points = distinct(rows.iter().map(|(_, row)| &row.point));
    let (names, shared) = Point::told_apart(&points);
    let load = |row: &Row| {
        let place = points.iter().position(|point| **point == row.point);
        place.map(|place| shown(&names[place])).unwrap_or_default()
    };
    let remedies: Vec<Option<String>> = rows
        .iter()
        .map(|(_, row)| counted(Remedy::of(row), lang))
        .collect();
    let has_remedies = remedies.iter().any(Option::is_some);
    let mut columns = vec![Column::left(CompareText::Sides.text(lang))];
    if points.len() > 1 {
        columns.push(Column::left(CompareText::Load.text(lang)));
    }
    columns.extend([
        Column::right(CompareText::First.text(lang)),
        Column::right(CompareText::Second.text(lang)),
        Column::right(CompareText::Change.text(lang)),
        Column::left(CompareText::Verdict.text(lang)),
    ]);
    if has_remedies {
        columns.push(Column::left(CompareText::Remedy.text(lang)));
    }
    let cells = rows.iter().zip(remedies).map(|((pair, row), remedy)| {
        let (word, tone) = row_word(row);
        let mut cells = vec![Cell::text(named(pair))];
        if points.len() > 1 {
            cells.push(Cell::text(load(row)));
        }
        cells.extend([
            Cell::brief(row.a),
            Cell::brief(row.b),
            Cell::known(row.ratio.map(change_in_percent)),
            Cell::Toned(marked(word, Remedy::of(row), lang), tone),
        ]);
        if has_remedies {
            cells.push(Cell::text(remedy.unwrap_or_default()));
        }
        cells
    });
    let mut table = Table::new(columns, cells);
    if pairs.len() > 1 {
        table.footnotes = vec![CompareText::BetweenShare.text(lang).to_owned()];
    }
    let together = pairs.iter().flat_map(|pair| {
        let pooled = pair.pooled.iter().filter(|it| it.test.as_deref() == test);
        pooled.map(|pooled| {
            let word = verdict_word(pooled.verdict).0.text(lang).to_owned();
            let said = [named(pair), course::together(pooled, lang)].join(": ");
            let values = [("verdict", word), ("said", said)];
            Block::Paragraph(CompareText::TogetherIs.with(lang, &values))
        })
    });
    let mut values = vec![("metric", metric(first.metric, lang))];
    let heading = if shared.0.is_empty() || points.len() < 2 {
        CompareText::Between
    } else {
        values.push(("shared", shared.to_string()));
        CompareText::BetweenOf
    };
    let blocks = std::iter::once(Block::from(table)).chain(together);
    Some(Section::headed(&heading.with(lang, &values), blocks))
}
