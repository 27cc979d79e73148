//! A comparison as checks for a CI service: one for each metric at each load, and one for each
//! reason against the comparison.

use super::{CompareReport, change, figures, metric, percent, row_word, shown};
use inferometer_analysis::compare::{Row, Verdict};
use inferometer_message::CompareText;
use inferometer_page::checks::{Check, Checks, Outcome};
use inferometer_page::number;

/// What the comparison found, by the primary metrics only or by all.
pub fn checks(report: &CompareReport<'_>, primary_only: bool) -> Checks {
    let lang = report.lang;
    let comparison = report.comparison;
    let reasons = comparison.reasons.iter().map(|reason| Check {
        group: String::new(),
        name: CompareText::WhyNot.text(lang).to_owned(),
        outcome: Outcome::Failed,
        text: reason.text(lang),
    });
    let counts = |row: &&Row| row.primary || !primary_only;
    // What may not be compared is told once, by its reason.
    let known =
        |row: &&Row| row.a.is_some() && row.b.is_some() && row.verdict != Verdict::NotComparable;
    let rows = comparison.rows.iter().filter(counts).filter(known);
    let labels = figures::labels(report.groups);
    let rows = rows.map(|row| {
        let place = report.groups.iter().position(|it| it.name == row.group);
        let label = place.and_then(|place| labels.get(place));
        Check {
            group: format!("{} · {}", label.unwrap_or(&row.group), shown(&row.point)),
            name: metric(row.metric, lang),
            outcome: match row.verdict {
                Verdict::Better | Verdict::Same => Outcome::Passed,
                Verdict::Worse => Outcome::Failed,
                Verdict::Unknown | Verdict::NotComparable => Outcome::Undecided,
            },
            text: in_words(row, row_word(row).0.text(lang)),
        }
    });
    Checks {
        name: format!("inferometer compare: {}", labels.join(" → ")),
        checks: reasons.chain(rows).collect(),
    }
}

fn in_words(row: &Row, verdict: &str) -> String {
    let value = |value: Option<f64>| value.map_or(number::ABSENT.to_owned(), number::brief);
    let interval = match row.low.zip(row.high) {
        Some((low, high)) => format!(" [{}, {}]", percent(low), percent(high)),
        None => String::new(),
    };
    format!(
        "{verdict}: {} → {}, {}{interval}",
        value(row.a),
        value(row.b),
        change(row.ratio)
    )
}
