//! Columns of tables that users may choose: their titles and cells, and those that each kind of
//! sweep has unless they do.

use inferometer_chart::measured::{MeasuredPoint, is_length};
use inferometer_core::slo::{Slo, SloScope};
use inferometer_core::summary::{Quantity, SummaryColumn, SummaryColumns};
use inferometer_message::{ComparedMetric, ImportText, MetricText, NumbersText, SweepText};
use inferometer_page::doc::{Cell, Column, Table, Unit};
use inferometer_store::sweep_dir::SweepPlan;
use inferometer_text::Lang;
use inferometer_text::punctuation::PunctuationText;
use serde_json::Value;

const OF_LOADS: &str = "req_per_s,tok_per_s,ttft.p50,ttft.p99,tpot.p50,e2e.p50,failed";
/// As studies of launch flags are published.
const OF_FLAGS: &str = "req_per_s,tok_per_s,failed,ttft.mean,ttft.p50,ttft.p99,\
     tpot.mean,tpot.p50,tpot.p99,itl.mean,itl.p50,itl.p99";
const OF_LENGTHS: &str = "req_per_s,tok_per_s,chars_per_s,per_user,ttft.p50,e2e.p50,failed";
/// Beside these, where answers were asked for by their length.
const OF_ASKED: &str = "chars,refused,very_short";
const ASKED_CHARS: &str = "ask-chars";

/// Of answers that consist of items, and have no first token.
const OF_ITEMS: &str = "req_per_s,items_per_s,e2e.p50,e2e.p99,failed";

/// Of requests that carry sounds of known length.
const OF_SOUNDS: &str = "req_per_s,audio_per_s,rtf.p50,rtf.p99,ttft.p50,e2e.p50,failed";

/// What a sweep shows unless columns were chosen.
pub(crate) fn of_sweep(plan: &SweepPlan, rows: &[&MeasuredPoint<'_>]) -> SummaryColumns {
    let of_items = |row: &&MeasuredPoint<'_>| row.summaries().any(|it| it.items.is_some());
    let of_sounds = |row: &&MeasuredPoint<'_>| {
        let mut all = row.summaries();
        all.any(|it| it.throughput.audio_s_per_s.is_some())
    };
    let is_checked = |row: &&MeasuredPoint<'_>| row.summaries().any(|it| it.check.is_some());
    let mut columns = if rows.iter().any(of_items) {
        OF_ITEMS
    } else if rows.iter().any(of_sounds) {
        OF_SOUNDS
    } else if plan.axes.iter().any(|axis| is_length(axis)) {
        OF_LENGTHS
    } else if plan.points.iter().any(|planned| !planned.flags.is_empty()) {
        OF_FLAGS
    } else {
        OF_LOADS
    }
    .to_owned();
    let is_asked = |row: &&MeasuredPoint<'_>| row.summaries().any(|it| it.continuation.is_some());
    if rows.iter().any(is_asked) {
        // An axis has a column already.
        if !plan.axes.iter().any(|axis| axis == ASKED_CHARS) {
            columns.push_str(",asked_chars");
        }
        columns.push(',');
        columns.push_str(OF_ASKED);
    }
    if rows.iter().any(is_checked) {
        columns.push_str(",score");
    }
    let columns = columns.parse().expect("columns of our own are known");
    with_limited(columns, rows)
}

/// Beside the others, what an objective limits.
fn with_limited(mut columns: SummaryColumns, rows: &[&MeasuredPoint<'_>]) -> SummaryColumns {
    let summaries = rows.iter().flat_map(|row| row.summaries());
    let judged = summaries.filter_map(|summary| summary.slo.as_ref());
    for objective in judged.flat_map(|slo| &slo.objectives) {
        let Ok(slo) = objective.objective.parse::<Slo>() else {
            continue;
        };
        let statistic = match slo.scope {
            SloScope::Mean => "mean".to_owned(),
            SloScope::Percentile(percent) => format!("p{percent}"),
            SloScope::Request | SloScope::Session => continue,
        };
        let Ok(limited) = format!("{}.{statistic}", slo.metric).parse::<SummaryColumn>() else {
            continue;
        };
        let same = |it: &SummaryColumn| it.name == limited.name;
        match columns.0.iter().rposition(same) {
            _ if columns.0.contains(&limited) => {}
            Some(last) => columns.0.insert(last + 1, limited),
            None => columns.0.push(limited),
        }
    }
    columns
}

/// What a column is called at the head of a table.
pub(crate) fn title(column: &SummaryColumn, lang: Lang) -> String {
    let plain = match column.name {
        "req_per_s" => Unit::RequestsPerSecond.sign(),
        "tok_per_s" => Unit::TokensPerSecond.sign(),
        "tok_per_s_per_card" => ComparedMetric::OutputTokensPerSPerCard.text(lang),
        "items_per_s" => Unit::ItemsPerSecond.sign(),
        "audio_per_s" => ComparedMetric::AudioPerS.text(lang),
        "total_tok_per_s" => ImportText::TotalColumn.text(lang),
        "chars_per_s" => ImportText::CharsColumn.text(lang),
        "per_user" => ImportText::UserColumn.text(lang),
        "score" => MetricText::Score.text(lang),
        "failed" => SweepText::Failed.text(lang),
        "ok_rate" => SweepText::OkRate.text(lang),
        "asked_chars" => SweepText::AskedChars.text(lang),
        "chars" => SweepText::ActualChars.text(lang),
        "refused" => SweepText::Refused.text(lang),
        "very_short" => SweepText::VeryShort.text(lang),
        "input" => ImportText::InputColumn.text(lang),
        "output" => ImportText::OutputColumn.text(lang),
        name => name,
    };
    // Names of latencies are the same in every language.
    let name = match column.name {
        "ttft" | "tpot" | "itl" | "e2e" | "rtf" => column.name.to_uppercase(),
        _ if column.name.starts_with('/') => column.key(),
        _ => plain.replace('_', " "),
    };
    match column.statistic {
        None => name,
        Some("mean") if column.quantity != Quantity::Milliseconds => name,
        Some("mean") => format!("{name} {}", NumbersText::Mean.text(lang)),
        Some("max") => format!("{name} {}", NumbersText::Max.text(lang)),
        Some(statistic) => format!("{name} {statistic}"),
    }
}

pub(crate) fn cell(value: Option<f64>, quantity: Quantity) -> Cell {
    match quantity {
        Quantity::Milliseconds => {
            let decimals = usize::from(value.is_some_and(|value| value < 100.0));
            Cell::number(value, Unit::Milliseconds, decimals)
        }
        // Two digits at least, also of slow servers.
        Quantity::RequestsPerSecond => {
            let decimals = match value {
                Some(value) if value > 0.0 && value < 0.00995 => 4,
                Some(value) if value > 0.0 && value < 0.0995 => 3,
                _ => 2,
            };
            Cell::number(value, Unit::RequestsPerSecond, decimals)
        }
        Quantity::TokensPerSecond => Cell::number(value, Unit::TokensPerSecond, 1),
        Quantity::ItemsPerSecond => Cell::number(value, Unit::ItemsPerSecond, 1),
        Quantity::AudioSecondsPerSecond => Cell::number(value, Unit::AudioSecondsPerSecond, 1),
        Quantity::Ratio => Cell::number(value, Unit::Count, 3),
        Quantity::CharsPerSecond => Cell::number(value, Unit::Count, 1),
        Quantity::Seconds => Cell::number(value, Unit::Seconds, 1),
        Quantity::Requests => Cell::number(value, Unit::Count, 0),
        Quantity::Share => Cell::number(value.map(|share| 100.0 * share), Unit::Count, 1),
        Quantity::Number => Cell::brief(value),
    }
}

/// The figures of a point, over its repeats: requests are added up, of all else the mean.
pub(crate) fn of_point(columns: &SummaryColumns, row: &MeasuredPoint<'_>) -> Vec<Cell> {
    let shown: Vec<Value> = (row.shown().into_iter())
        .filter_map(|summary| serde_json::to_value(summary).ok())
        .collect();
    let of = |column: &SummaryColumn| {
        let known: Vec<f64> = shown.iter().filter_map(|it| column.of(it)).collect();
        let sum: f64 = known.iter().sum();
        let value = match column.quantity {
            Quantity::Requests => sum,
            _ => sum / known.len() as f64,
        };
        let cell = cell((!known.is_empty()).then_some(value), column.quantity);
        // What some of the measurements cannot bear is marked.
        if shown.iter().any(|it| column.lacking(it).is_some()) {
            cell.starred()
        } else {
            cell
        }
    };
    columns.0.iter().map(of).collect()
}

/// Percentiles among the columns that some measurement cannot bear, and the requests they take.
pub(crate) fn lacking(columns: &SummaryColumns, rows: &[&MeasuredPoint<'_>]) -> Vec<(f64, u64)> {
    let shown = rows.iter().flat_map(|row| row.shown());
    let shown = shown.filter_map(|summary| serde_json::to_value(summary).ok());
    let lacking = |summary: Value| -> Vec<(f64, u64)> {
        let all = columns.0.iter();
        all.filter_map(|column| column.lacking(&summary)).collect()
    };
    shown.flat_map(lacking).collect()
}

/// Takes away chosen columns in which no row has a value, and gives a line that says so.
pub(crate) fn without_empty(
    table: &mut Table,
    from: usize,
    columns: &SummaryColumns,
    lang: Lang,
) -> Option<String> {
    let is_empty = |place: &usize| {
        let mut cells = table.rows.iter().map(|row| &row[*place]);
        cells.all(|cell| *cell == Cell::Absent || cell.shown().is_empty())
    };
    let empty: Vec<usize> = (from..from + columns.0.len()).filter(is_empty).collect();
    let titles: Vec<String> = (empty.iter())
        .map(|place| table.columns[*place].title.clone())
        .collect();
    for place in empty.into_iter().rev() {
        table.columns.remove(place);
        for row in &mut table.rows {
            row.remove(place);
        }
    }
    let names = PunctuationText::Comma.join(lang, &titles);
    (!titles.is_empty()).then(|| NumbersText::NoValues.with(lang, &[("columns", names)]))
}

/// The heads of chosen columns.
pub(crate) fn heads(columns: &SummaryColumns, lang: Lang) -> impl Iterator<Item = Column> {
    let head = move |column: &SummaryColumn| Column::right(&title(column, lang));
    columns.0.iter().map(head)
}
