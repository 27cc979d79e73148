//! A validation for programs.

use super::{Compared, Grouping, Validation, group_errors};
use serde_json::{Value, json};

pub const SCHEMA: &str = "inferometer.validation/1";

pub fn to_json(validation: &Validation) -> Value {
    let groupings = [
        Grouping::All,
        Grouping::Half,
        Grouping::HeldOut,
        Grouping::Engine,
        Grouping::Card,
        Grouping::Model,
        Grouping::Kind,
    ];
    let errors = groupings.map(|by| group_errors(&validation.compared, by));
    let row = |compared: &Compared| {
        json!({
            "id": compared.row.id,
            "engine": compared.row.engine,
            "split": compared.row.split,
            "device": compared.row.card,
            "model": compared.row.model,
            "half": compared.row.half,
            "measured": compared.measured,
            "predicted": compared.predicted,
        })
    };
    let left = validation.not_predicted.iter();
    let left = left.map(|(row, reason)| json!({ "id": row.id, "reason": reason.to_string() }));
    json!({
        "schema": SCHEMA,
        "read": validation.rows,
        "sampled": validation.sampled,
        "rows": validation.compared.iter().map(row).collect::<Vec<_>>(),
        "groups": errors.concat(),
        "not_predicted": left.collect::<Vec<_>>(),
    })
}
