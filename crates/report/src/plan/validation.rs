//! How well predictions agree with published measurements: what was not predicted first, then the
//! errors.

use inferometer_message::PlanText as Text;
use inferometer_page::doc::{Block, Cell, Column, Section, Table};
use inferometer_plan::validate::{
    ErrorGroup, Grouping, NotPredicted, Quantity, Validation, group_errors,
};
use inferometer_text::Lang;
use std::collections::BTreeMap;

/// The document of a validation.
pub fn sections(validation: &Validation, lang: Lang) -> Vec<Section> {
    let counts = [
        ("compared", validation.compared.len().to_string()),
        ("sampled", validation.sampled.to_string()),
        ("rows", validation.rows.to_string()),
    ];
    let mut sections = vec![Section::headed(
        Text::Validation.text(lang),
        [Block::Paragraph(Text::ValidationCounts.with(lang, &counts))],
    )];
    if !validation.not_predicted.is_empty() {
        let heading = Text::NotPredicted.text(lang);
        sections.push(Section::headed(heading, [not_predicted(validation, lang)]));
    }
    for (by, heading) in [
        (Grouping::Half, Text::ByHalf),
        (Grouping::HeldOut, Text::ByHeldOut),
        (Grouping::Engine, Text::ByEngine),
        (Grouping::Card, Text::ByCard),
        (Grouping::Model, Text::ByModel),
        (Grouping::Kind, Text::ByKind),
    ] {
        let mut groups = group_errors(&validation.compared, by);
        if by == Grouping::Half {
            groups.extend(group_errors(&validation.compared, Grouping::All));
        }
        if !groups.is_empty() {
            sections.push(Section::headed(heading.text(lang), [errors(&groups, lang)]));
        }
    }
    sections
}

/// Reasons, the most frequent first.
fn not_predicted(validation: &Validation, lang: Lang) -> Table {
    let mut reasons: BTreeMap<&NotPredicted, (usize, &str)> = BTreeMap::new();
    for (row, reason) in &validation.not_predicted {
        reasons.entry(reason).or_insert((0, &row.id)).0 += 1;
    }
    let mut reasons: Vec<_> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, (rows, _))| std::cmp::Reverse(*rows));
    let rows = reasons.into_iter().map(|(reason, (rows, id))| {
        vec![
            Cell::text(reason_text(reason, lang)),
            Cell::text(rows.to_string()),
            Cell::text(id),
        ]
    });
    Table::new(
        vec![
            Column::wrapped(Text::Reason.text(lang)),
            Column::right(Text::Rows.text(lang)),
            Column::left(Text::FirstRow.text(lang)),
        ],
        rows,
    )
}

pub fn reason_text(reason: &NotPredicted, lang: Lang) -> String {
    let named = |text: Text, name: &str| text.with(lang, &[("name", name.to_owned())]);
    match reason {
        NotPredicted::NoWorkers => Text::RowWorkers.text(lang).to_owned(),
        NotPredicted::Engine(name) => named(Text::RowEngine, name),
        NotPredicted::Model(name) => named(Text::RowModel, name),
        NotPredicted::Card(name) => named(Text::RowCard, name),
        NotPredicted::NoConcurrency => Text::RowConcurrency.text(lang).to_owned(),
        NotPredicted::Refused(reason) => Text::Refused.with(lang, &[("reason", reason.clone())]),
        NotPredicted::NothingServed => Text::RowNothingServed.text(lang).to_owned(),
    }
}

/// A line per group: of each quantity, median and mean absolute error and the signed median.
fn errors(groups: &[ErrorGroup], lang: Lang) -> Table {
    let of = |name: &str, quantity: Quantity| {
        let found = groups.iter();
        let mut found = found.filter(|group| group.name == name && group.quantity == quantity);
        Cell::known(found.next().map(|group| {
            let percent = [group.median, group.mean, group.signed_median].map(|it| it * 100.0);
            let [median, mean, signed] = percent;
            format!("{median:.1} / {mean:.1} / {signed:+.1}")
        }))
    };
    let lines = groups
        .iter()
        .filter(|group| group.quantity == Quantity::E2e);
    let rows = lines.map(|line| {
        vec![
            Cell::text(&line.name),
            Cell::text(line.rows.to_string()),
            of(&line.name, Quantity::E2e),
            of(&line.name, Quantity::Tpot),
            of(&line.name, Quantity::Ttft),
        ]
    });
    let heading = |quantity: Text| Column::right(&format!("{}, %", quantity.text(lang)));
    Table {
        columns: vec![
            Column::left(""),
            Column::right(Text::Rows.text(lang)),
            heading(Text::E2e),
            heading(Text::Tpot),
            heading(Text::Ttft),
        ],
        rows: rows.collect(),
        footnotes: vec![Text::ErrorNote.text(lang).to_owned()],
    }
}
