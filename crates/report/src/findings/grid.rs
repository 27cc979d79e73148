//! What a grid of lengths shows: its least efficient cell.

use super::configurations::EXTENT;
use super::estimate::{Compared, Estimate};
use super::{Finding, FindingKind};
use inferometer_chart::measured::{MeasuredPoint, groups, is_load, lengths};
use inferometer_message::FindingText as Text;
use inferometer_page::number;
use inferometer_text::Lang;
use inferometer_text::punctuation::PunctuationText;

/// Fewest cells that are called a grid.
const LEAST_CELLS: usize = 4;
/// Cells that cannot be told apart from the lowest and are still named.
const MOST_NAMED: usize = 3;

/// The cell with the lowest output throughput, each cell of a setting by its best load, and how far
/// it is below the highest. Silent unless the two are clearly apart.
pub(super) fn least(axes: &[String], rows: &[MeasuredPoint<'_>], lang: Lang) -> Option<Finding> {
    lengths(axes)?;
    let (loads, cell_axes): (Vec<&String>, Vec<&String>) = (axes.iter())
        .filter(|axis| !EXTENT.contains(&axis.as_str()))
        .partition(|axis| is_load(axis));
    let mut cells: Vec<(String, Estimate)> = groups(rows, |row| row.name(&cell_axes))
        .into_iter()
        .filter_map(|(name, rows)| {
            let best = (rows.iter())
                .filter(|row| !row.point.is_open_loop())
                .filter_map(|row| {
                    let known = Estimate::of(row, Compared::Throughput);
                    known.or_else(|| Estimate::rough(row, Compared::Throughput))
                })
                .max_by(|a, b| a.value.total_cmp(&b.value))?;
            Some((name, best))
        })
        .collect();
    cells.sort_by(|a, b| a.1.value.total_cmp(&b.1.value));
    let (lowest, last) = (cells.first()?, cells.last()?);
    // Of equals, the first.
    let highest = cells.iter().find(|cell| cell.1.value == last.1.value)?;
    if cells.len() < LEAST_CELLS || !lowest.1.separate(&highest.1) {
        return None;
    }
    let alike: Vec<&str> = (cells.iter())
        .filter(|(_, estimate)| !estimate.separate(&lowest.1))
        .map(|(name, _)| name.as_str())
        .collect();
    let text = match (alike.len(), loads.is_empty()) {
        (1, false) => Text::Least,
        (1, true) => Text::LeastAlone,
        (2..=MOST_NAMED, _) => Text::LeastSeveral,
        _ => return None,
    };
    let text = text.with(
        lang,
        &[
            ("count", cells.len().to_string()),
            ("factor", number::brief(highest.1.value / lowest.1.value)),
            ("cell", PunctuationText::Semicolon.join(lang, &alike)),
            ("best", highest.0.clone()),
        ],
    );
    let evidence = Text::LeastEvidence.with(
        lang,
        &[
            ("low", number::grouped(lowest.1.value, 1)),
            ("high", number::grouped(highest.1.value, 1)),
        ],
    );
    Some(Finding {
        kind: FindingKind::LeastEfficient,
        text,
        evidence,
    })
}
