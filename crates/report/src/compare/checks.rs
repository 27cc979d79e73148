//! A comparison as checks for a CI service: one for each metric at each load, and one for each
//! reason against the comparison.

use super::table::{Remedy, few_waves};
use super::{CompareReport, change, labels, metric, row_word, shown};
use inferometer_chart::metric_name::{MetricUnit, unit_of};
use inferometer_compare::{Basis, Row, Verdict};
use inferometer_message::CompareText;
use inferometer_page::checks::{Check, Checks, Outcome};
use inferometer_page::number;
use inferometer_text::punctuation::PunctuationText;

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
    let labels = labels(report.groups);
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
            text: in_words(row, report),
        }
    });
    Checks {
        name: format!("inferometer compare: {}", labels.join(" → ")),
        checks: reasons.chain(rows).collect(),
    }
}

/// The verdict, both values with their unit, the change, and why it is a failure or undecided.
fn in_words(row: &Row, report: &CompareReport<'_>) -> String {
    let lang = report.lang;
    let unit = match unit_of(row.metric) {
        MetricUnit::Time => "ms",
        MetricUnit::Sign(sign) => sign,
    };
    let value = |value: Option<f64>| match value {
        Some(value) => format!("{} {unit}", number::brief(value))
            .trim_end()
            .to_owned(),
        None => number::ABSENT.to_owned(),
    };
    let interval = match row.low.zip(row.high) {
        Some((low, high)) => format!(" [{}]", number::changes(low, high)),
        None => String::new(),
    };
    let found = format!(
        "{}: {} → {}, {}{interval}",
        row_word(row).0.text(lang),
        value(row.a),
        value(row.b),
        change(row.ratio)
    );
    let mut parts = vec![found];
    parts.extend(reason(row, report));
    if row.verdict == Verdict::Unknown {
        parts.extend(Remedy::of(row).map(|remedy| {
            let text = match remedy {
                Remedy::Requests(_) => CompareText::ForAnInterval,
                Remedy::Runs(_) | Remedy::Details => CompareText::WouldDecide,
            };
            text.with(lang, &[("remedy", remedy.text(lang))])
        }));
    }
    PunctuationText::Semicolon.join(lang, &parts)
}

/// Why a check failed or is undecided; what passed needs none.
fn reason(row: &Row, report: &CompareReport<'_>) -> Option<String> {
    let text = match (row.verdict, row.basis) {
        (Verdict::Worse, _) => CompareText::BeyondMargin,
        (Verdict::Unknown, Basis::FewSamples) => CompareText::FewSamples,
        (Verdict::Unknown, Basis::ShortRuns) => CompareText::ShortRuns,
        (Verdict::Unknown, Basis::FewWaves) => few_waves(row),
        (Verdict::Unknown, Basis::Contradicted) => CompareText::OwnNumbers,
        (Verdict::Unknown, Basis::Nothing) => CompareText::FiguresAlone,
        (Verdict::Unknown, _) if row.low.is_some() => CompareText::WideInterval,
        _ => return None,
    };
    let margin = number::percent(report.comparison.margin);
    Some(text.with(report.lang, &[("margin", margin)]))
}
