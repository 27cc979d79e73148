//! A validation for programs.

use super::{Compared, Grouping, Validation, group_errors};
use serde_json::{Value, json};

pub const SCHEMA: &str = "inferometer.validation/1";

/// The form `inferometer.validation/1`.
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
            "half": compared.row.half(),
            "measured": compared.measured,
            "predicted": compared.predicted,
        })
    };
    let left = validation.not_predicted.iter();
    let left = left.map(|(row, reason)| json!({ "id": row.id, "reason": reason.to_string() }));
    json!({
        "schema": SCHEMA,
        "rows": validation.rows,
        "sampled": validation.sampled,
        "errors": errors.concat(),
        "predictions": validation.compared.iter().map(row).collect::<Vec<_>>(),
        "not_predicted": left.collect::<Vec<_>>(),
    })
}
