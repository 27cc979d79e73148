//! A comparison for spreadsheets.

use crate::csv::{field, harmless};
use inferometer_compare::Comparison;

/// The rows as CSV, with names of columns that do not change.
pub fn csv(comparison: &Comparison) -> String {
    let mut out = String::from(
        "baseline,group,point,metric,primary,a,b,ratio,low,high,verdict,p_value,minimum_detectable,repeats_to_decide,runs_a,runs_b,basis,within_margin,requests_needed\r\n",
    );
    for row in &comparison.rows {
        let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
        let text = |text: &str| field(&harmless(text));
        let cells = [
            text(&comparison.baseline),
            text(&row.group),
            text(&row.point.to_string()),
            row.metric.to_string(),
            row.primary.to_string(),
            number(row.a),
            number(row.b),
            number(row.ratio),
            number(row.low),
            number(row.high),
            row.verdict.to_string(),
            number(row.p_value),
            number(row.minimum_detectable),
            row.repeats_to_decide
                .map(|runs| runs.to_string())
                .unwrap_or_default(),
            row.runs[0].to_string(),
            row.runs[1].to_string(),
            row.basis.to_string(),
            row.within_margin
                .map_or("", |way| way.into_str())
                .to_owned(),
            row.requests_needed
                .map(|requests| requests.to_string())
                .unwrap_or_default(),
        ];
        out.push_str(&cells.join(","));
        out.push_str("\r\n");
    }
    out
}
