//! Errors of predictions, row by row and put together.

use super::{Compared, Half, Identity, Quantity};
use serde::Serialize;
use std::collections::BTreeMap;
use strum::VariantArray as _;

/// By what rows are put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Grouping {
    All,
    Half,
    /// By engine, of the rows that were not looked at.
    HeldOut,
    Engine,
    Card,
    Model,
    /// Engine, model and card.
    Kind,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ErrorGroup {
    pub by: Grouping,
    pub name: String,
    pub quantity: Quantity,
    pub rows: usize,
    /// Median of the absolute error, as a share.
    pub median: f64,
    /// Mean of the absolute error.
    pub mean: f64,
    /// Median of predicted / measured − 1: whether predictions are too high or too low.
    pub signed_median: f64,
}

/// The name of its group; absent where it has no place in any.
fn key(by: Grouping, row: &Identity) -> Option<String> {
    Some(match by {
        Grouping::All => "all".to_owned(),
        Grouping::Half => match row.half? {
            Half::Training => "training".to_owned(),
            Half::HeldOut => "held out".to_owned(),
        },
        Grouping::HeldOut => (row.half? == Half::HeldOut).then(|| row.engine_name())?,
        Grouping::Engine => row.engine_name(),
        Grouping::Card => row.card.clone(),
        Grouping::Model => row.model.clone(),
        Grouping::Kind => format!("{} {} {}", row.engine_name(), row.model, row.card),
    })
}

/// The errors of all quantities by what rows have in common.
pub fn group_errors(compared: &[Compared], by: Grouping) -> Vec<ErrorGroup> {
    let mut groups: BTreeMap<String, Vec<&Compared>> = BTreeMap::new();
    for one in compared {
        if let Some(name) = key(by, &one.row) {
            groups.entry(name).or_default().push(one);
        }
    }
    let of = |(name, rows): (&String, &Vec<&Compared>), quantity: Quantity| {
        let signed: Vec<f64> = rows.iter().filter_map(|row| row.error(quantity)).collect();
        let absolute: Vec<f64> = signed.iter().map(|error| error.abs()).collect();
        (!signed.is_empty()).then(|| ErrorGroup {
            by,
            name: name.clone(),
            quantity,
            rows: signed.len(),
            mean: absolute.iter().sum::<f64>() / absolute.len() as f64,
            median: median(absolute),
            signed_median: median(signed),
        })
    };
    let quantities = |group| {
        Quantity::VARIANTS
            .iter()
            .filter_map(move |&quantity| of(group, quantity))
    };
    groups.iter().flat_map(quantities).collect()
}

/// The middle value; of an even number, the mean of both in the middle; 0 of none.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    match (values.len() % 2, values.get(middle)) {
        (_, None) => 0.0,
        (1, Some(&value)) => value,
        (_, Some(&value)) => (values[middle - 1] + value) / 2.0,
    }
}
