//! Groups beside the baseline against each other: of three, the third against the second.

use super::{Comparison, Group, Pooled, Row, Settings, WhyNot, against};
use serde::{Deserialize, Serialize};

/// Groups up to which each pair of them is compared; of more, only with the baseline.
const MOST_GROUPS: usize = 6;

/// The primary metric of one group against another that is not the baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Between {
    /// The group that stands in place of the baseline.
    pub baseline: String,
    pub group: String,
    /// As those of the comparison. Their intervals hold with 95 % for all such pairs together.
    pub rows: Vec<Row>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pooled: Vec<Pooled>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub why_not: Vec<String>,
}

/// Every pair of the groups beside the first.
pub(super) fn between(groups: &[Group], settings: &Settings) -> Vec<Between> {
    if groups.len() > MOST_GROUPS {
        return Vec::new();
    }
    let pairs = groups.iter().enumerate().skip(1).flat_map(|(place, a)| {
        let others = groups.iter().skip(place + 1);
        others.map(move |b| (a, b))
    });
    let pairs: Vec<(&Group, &Group)> = pairs.collect();
    // Of many pairs some would differ by chance, so they share the risk.
    let count = pairs.len() as f64;
    let settings = Settings {
        risk: settings.risk / count.max(1.0),
        metrics: Vec::new(),
        ..settings.clone()
    };
    let each = pairs.into_iter().map(|(a, b)| {
        let (mut comparison, mut why_not) = (Comparison::default(), Vec::new());
        against(a, b, &settings, &mut comparison, &mut why_not);
        let shared = |p_value: &mut Option<f64>| {
            *p_value = p_value.map(|it| (it * count).min(1.0));
        };
        let mut rows = comparison.rows;
        rows.retain(|row| row.primary);
        rows.iter_mut().for_each(|row| shared(&mut row.p_value));
        Between {
            baseline: a.name.clone(),
            group: b.name.clone(),
            rows,
            pooled: comparison.pooled,
            why_not: why_not.iter().map(WhyNot::to_string).collect(),
        }
    });
    each.collect()
}
