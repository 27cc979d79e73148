//! What the names of one table mean beside each other.

use crate::assumption::Assumption;
use crate::label::{Field, Label, Sample, label};
use crate::quantity::Unit;
use inferometer_text::hostile::printable;

/// The names of one table, read together.
pub(crate) struct ColumnLabels {
    pub(crate) labels: Vec<Option<Label>>,
    pub(crate) assumed: Vec<Assumption>,
}

/// Reads names that stand beside each other. Beside the throughput of the server, a speed is
/// that of one user. A total beside one user's speed counts the same tokens for all users,
/// unless a column of input or output tells otherwise. What was achieved beside an offered rate
/// is a rate too.
pub(crate) fn column_labels(names: &[&str]) -> ColumnLabels {
    let mut labels: Vec<Option<Label>> = names.iter().map(|name| label(name)).collect();
    let mut assumed = Vec::new();
    let has = |labels: &[Option<Label>], which: fn(Field) -> bool| {
        labels.iter().flatten().any(|label| which(label.field))
    };
    let throughput = has(&labels, |field| {
        matches!(field, Field::OutputPerS | Field::TotalPerS)
    });
    for label in labels.iter_mut().flatten() {
        if let Field::Speed(sample) = label.field {
            label.field = if throughput {
                Field::Of(sample, None)
            } else {
                Field::OutputPerS
            };
        }
    }
    let one_user = has(&labels, |field| {
        matches!(
            field,
            Field::Of(Sample::PerUserSpeed | Sample::DecodeSpeed, _)
        )
    });
    let told_apart = has(&labels, |field| {
        matches!(field, Field::InputPerS | Field::OutputPerS)
    });
    let offered = has(&labels, |field| field == Field::Rate);
    let answered = has(&labels, |field| field == Field::RequestsPerS);
    for (label, name) in labels.iter_mut().zip(names) {
        match label {
            Some(label)
                if label.field == Field::TotalPerS
                    && one_user
                    && !told_apart
                    && !is_of_both_kinds(name) =>
            {
                label.field = Field::OutputPerS;
                let name = printable(name.trim(), 80);
                assumed.push(Assumption::TotalIsOutput { name });
            }
            None if offered && !answered && is_outcome(name) => {
                let field = Field::RequestsPerS;
                *label = Some(Label { field, unit: None });
            }
            // EvalScope's number of requests; elsewhere it may be that of the row.
            None if *name == "Num" && names.contains(&"Gen/s") => {
                let field = Field::Total;
                *label = Some(Label { field, unit: None });
            }
            _ => {}
        }
    }
    assumed.extend(name_percentiles(&mut labels, names));
    ColumnLabels { labels, assumed }
}

/// Percentiles behind something else than a latency are of whole requests, where the table has
/// these: `Latency | TTFT | tok/s | p50 | p99`. Right behind a latency they are of that.
fn name_percentiles(labels: &mut [Option<Label>], names: &[&str]) -> Vec<Assumption> {
    let is_whole = |label: &Label| matches!(label.field, Field::Of(Sample::E2e, _));
    let mut is_behind_latency = false;
    let mut assumed = Vec::new();
    if !labels.iter().flatten().any(is_whole) {
        return assumed;
    }
    for (label, name) in labels.iter_mut().zip(names) {
        match label {
            Some(Label {
                field: Field::Bare(stat),
                unit,
            }) => {
                if !is_behind_latency && unit.is_none_or(|unit: Unit| unit.in_ms().is_some()) {
                    let (field, unit) = (Field::Of(Sample::E2e, Some(*stat)), *unit);
                    *label = Some(Label { field, unit });
                    let name = printable(name.trim(), 80);
                    assumed.push(Assumption::PercentileOfLatency { name });
                }
            }
            Some(label) => is_behind_latency = matches!(label.field, Field::Of(..)),
            None => is_behind_latency = false,
        }
    }
    assumed
}

/// vLLM's name for tokens of prompts and answers.
fn is_of_both_kinds(name: &str) -> bool {
    name.to_lowercase().contains("total token")
}

fn is_outcome(name: &str) -> bool {
    matches!(
        name.trim().to_lowercase().as_str(),
        "achieved" | "actual" | "measured" | "实际" | "实测" | "实际值"
    )
}

/// Whether a name says that it counts all of a run.
pub(crate) fn is_total(name: &str) -> bool {
    let name = name.to_lowercase();
    name.contains("total") || name.contains('总')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_beside_each_other_tell_whose_speed_it_is() {
        let fields = |names: &[&str]| -> Vec<Option<Field>> {
            let labels = column_labels(names).labels.into_iter();
            labels.map(|label| label.map(|label| label.field)).collect()
        };
        let user = Some(Field::Of(Sample::PerUserSpeed, None));
        assert_eq!(
            fields(&["生成速度", "总吞吐"]),
            [user, Some(Field::OutputPerS)]
        );
        assert_eq!(
            fields(&["tok/s/user", "total tok/s", "input tok/s"]),
            [user, Some(Field::TotalPerS), Some(Field::InputPerS)]
        );
        assert_eq!(
            fields(&["Decode (tok/s)", "Output (tok/s)", "Total (tok/s)"]),
            [
                Some(Field::Of(Sample::DecodeSpeed, None)),
                Some(Field::OutputPerS),
                Some(Field::TotalPerS)
            ]
        );
        assert_eq!(fields(&["生成速度"]), [Some(Field::OutputPerS)]);
        assert_eq!(
            fields(&["Target RPS", "achieved"]),
            [Some(Field::Rate), Some(Field::RequestsPerS)]
        );
        assert_eq!(fields(&["concurrency", "achieved"])[1], None);
    }
}
