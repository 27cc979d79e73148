//! Whether there is anything to search: a point that the engine takes.

use super::definition::Space;
use super::domain::Domain;
use super::rules::{Admission, Rules};
use super::value::{Point, Value};
use inferometer_core::seed::{Dimension as Randomness, rng};
use rand::RngExt;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Points of the grid, as many around refused ones and as many by chance that are looked at.
const LOOKED_AT: usize = 2000;
/// The same for a single value of a flag.
const LOOKED_AT_OF_VALUE: usize = 200;
/// Flags with more values than this are a range, not a list that a user wrote down.
const LISTED: usize = 16;
/// Refused points around which the flags that the refusals name are changed.
const MENDED: usize = 8;

/// Every point that was looked at is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoLegalPoint {
    #[error("the engine refuses every point of it: {because}")]
    All { because: String },
    #[error(
        "none of the {looked_at} points of it that were looked at is one that the engine takes; of the first it says: {because}"
    )]
    NoneFound { looked_at: usize, because: String },
}

impl NoLegalPoint {
    /// The engine's words about the first.
    pub fn because(self) -> String {
        match self {
            NoLegalPoint::All { because } | NoLegalPoint::NoneFound { because, .. } => because,
        }
    }
}

/// A value of the space that the engine takes with no others that were tried beside it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RefusedValue {
    pub flag: String,
    pub value: Value,
    /// The engine's words about it.
    pub because: String,
}

impl Space {
    /// A point that the engine takes: all over the grid, around refused points by the flags that
    /// the refusals name, and by chance.
    pub fn legal_point(&self, rules: &dyn Rules) -> Result<Point, NoLegalPoint> {
        self.legal_among(rules, LOOKED_AT, "")
    }

    /// Values of flags with a list of them that no legal point was found to have.
    pub fn refused_values(&self, rules: &dyn Rules) -> Vec<RefusedValue> {
        let mut refused = Vec::new();
        for (at, dimension) in self.dimensions().iter().enumerate() {
            let levels = dimension.domain.levels();
            let is_list = dimension
                .domain
                .count()
                .is_some_and(|it| it <= LISTED as u64);
            for value in levels.into_iter().filter(|_| is_list) {
                let only = self.with_only(at, value.clone());
                let name = &dimension.name;
                let found = only.map(|only| only.legal_among(rules, LOOKED_AT_OF_VALUE, name));
                if let Some(Err(none)) = found {
                    refused.push(RefusedValue {
                        flag: dimension.name.clone(),
                        value,
                        because: none.because(),
                    });
                }
            }
        }
        refused
    }

    /// How many points the engine takes; absent where they are too many to look at.
    pub fn legal_count(&self, rules: &dyn Rules) -> Option<u64> {
        let is_whole = self.count().is_some_and(|it| it <= LOOKED_AT as u64);
        (is_whole && self.count() == self.grid_count()).then(|| {
            let takes = |point: Point| rules.admit(self, point).point();
            let taken = self.grid().filter_map(takes);
            let taken: BTreeSet<String> = taken.map(|point| point.to_string()).collect();
            taken.len() as u64
        })
    }

    /// The space with one value of one flag.
    fn with_only(&self, at: usize, value: Value) -> Option<Space> {
        let mut dimensions = self.dimensions().to_vec();
        dimensions[at].domain = Domain::choice(vec![value]).ok()?;
        Space::new(dimensions, self.derived().to_vec()).ok()
    }

    /// A point that the engine takes. What it says of the flag `asked` explains more than what it
    /// says of others, which other points may mend.
    fn legal_among(
        &self,
        rules: &dyn Rules,
        most: usize,
        asked: &str,
    ) -> Result<Point, NoLegalPoint> {
        let mut looked_at = 0;
        let mut refused: Vec<Refused> = Vec::new();
        let mut look = |point: Point, refused: &mut Vec<Refused>| {
            looked_at += 1;
            match rules.admit(self, point.clone()) {
                Admission::Legal(point) | Admission::Repaired { point, .. } => Some(point),
                Admission::Refused { flag, because } => {
                    let is_new = refused.iter().all(|other| other.flag != flag);
                    if refused.len() < MENDED && is_new {
                        refused.push(Refused {
                            point,
                            flag,
                            because,
                        });
                    }
                    None
                }
            }
        };
        let mut grid = self.scattered_grid().take(most);
        if let Some(point) = grid.find_map(|point| look(point, &mut refused)) {
            return Ok(point);
        }
        let whole = self.count().filter(|count| *count <= most as u64);
        let is_whole = whole.is_some() && whole == self.grid_count();
        if !is_whole {
            let around: Vec<Point> = (refused.iter())
                .flat_map(|it| self.around(it, most / MENDED))
                .collect();
            let mut random = rng(0, Randomness::Search, 0);
            let drawn = (0..most).map(|_| {
                let shares = self.dimensions().iter().map(|_| random.random());
                self.at(shares.collect::<Vec<f64>>())
            });
            let mut further = around.into_iter().chain(drawn);
            if let Some(point) = further.find_map(|point| look(point, &mut refused)) {
                return Ok(point);
            }
        }
        let of_asked = refused.iter().find(|it| it.flag == asked);
        let because = of_asked.or(refused.first());
        let because = because.map(|it| it.because.clone());
        let because = because.unwrap_or_else(|| "nothing".to_owned());
        Err(if is_whole {
            NoLegalPoint::All { because }
        } else {
            NoLegalPoint::NoneFound { looked_at, because }
        })
    }

    /// A refused point with every combination of the values of the flags that the refusal names,
    /// and with one flag more.
    fn around(&self, refused: &Refused, most: usize) -> Vec<Point> {
        let words = refused.because.replace('_', "-");
        let is_named = |at: &usize| {
            let name = &self.dimensions()[*at].name;
            *name == refused.flag || words.contains(name.as_str())
        };
        let every = |points: Vec<Point>, at: usize| -> Vec<Point> {
            let dimension = &self.dimensions()[at];
            let levels = dimension.domain.levels();
            let with = |point: &Point| {
                let levels = levels.iter().map(|level| {
                    let mut point = point.clone();
                    point.0.insert(dimension.name.clone(), level.clone());
                    point
                });
                levels.collect::<Vec<Point>>()
            };
            points.iter().flat_map(with).take(most).collect()
        };
        let (named, others): (Vec<usize>, Vec<usize>) =
            (0..self.dimensions().len()).partition(is_named);
        let combined = named.into_iter().fold(vec![refused.point.clone()], every);
        let further = others.iter().flat_map(|&at| every(combined.clone(), at));
        further.take(most).collect()
    }
}

/// A point that the engine does not take.
struct Refused {
    point: Point,
    /// The flag that is wrong; empty where there is none.
    flag: String,
    because: String,
}

#[cfg(test)]
mod tests {
    use super::super::{Dimension, FlagRules, Spacing};
    use super::*;
    use inferometer_catalog::device::Device;
    use inferometer_catalog::engine::{
        DeviceClass, EngineKind, LaunchCommand, ModelLimits, Version,
    };
    use inferometer_catalog::model::Model;

    fn rules(version: Version) -> FlagRules {
        FlagRules {
            command: LaunchCommand::parse_line("vllm serve m").unwrap(),
            version,
            device: DeviceClass::of(Device::named("l40s").unwrap(), 1),
            model: ModelLimits::of(&Model::named("qwen2-0.5b").unwrap()),
        }
    }

    fn space<const N: usize>(dimensions: [(&str, Domain); N]) -> Space {
        let dimensions = dimensions.map(Dimension::from);
        Space::new(dimensions.to_vec(), Vec::new()).unwrap()
    }

    fn choice(values: &[i64]) -> Domain {
        let values = values.iter().map(|&value| Value::Int(value));
        Domain::choice(values.collect()).unwrap()
    }

    /// The first thousands of points of its grid have no chunked prefill, and are all refused.
    fn wide() -> Space {
        let int = |low, high, spacing| Domain::int(low, high, spacing).unwrap();
        space([
            ("max-num-seqs", int(64, 8192, Spacing::Log(None))),
            (
                "max-num-batched-tokens",
                int(512, 8192, Spacing::Linear(None)),
            ),
            ("block-size", choice(&[8, 16, 32])),
            (
                "scheduler-delay-factor",
                Domain::float(0.0, 2.0, Spacing::Linear(None)).unwrap(),
            ),
            ("enable-chunked-prefill", Domain::bool()),
            ("enable-prefix-caching", Domain::bool()),
            ("disable-custom-all-reduce", Domain::bool()),
            ("use-v2-block-manager", Domain::bool()),
            ("num-scheduler-steps", choice(&[1, 4, 8])),
            ("swap-space", choice(&[0, 4])),
        ])
    }

    #[test]
    fn legal_points_are_found_wherever_they_lie_in_a_large_space() {
        let rules = rules(Version::new(0, 6, 3));
        let found = wide().legal_point(&rules).unwrap();
        assert!(rules.admit(&wide(), found).point().is_some());
        assert_eq!(
            wide().refused_values(&rules).len(),
            1,
            "chunked prefill is needed"
        );
    }

    #[test]
    fn a_space_of_which_every_point_is_refused_is_told_from_one_where_none_was_found() {
        let rules = rules(Version::new(0, 6, 3));
        let tokens = |high| Domain::int(512, high, Spacing::Linear(None)).unwrap();
        let off = || Domain::choice(vec![Value::Bool(false)]).unwrap();
        let few = space([
            ("enable-chunked-prefill", off()),
            ("max-num-batched-tokens", choice(&[512, 1024])),
        ]);
        let refused = few.legal_point(&rules).unwrap_err().to_string();
        assert!(
            refused.starts_with("the engine refuses every point"),
            "{refused}"
        );
        let many = space([
            ("enable-chunked-prefill", off()),
            ("max-num-batched-tokens", tokens(8192)),
        ]);
        let refused = many.legal_point(&rules).unwrap_err().to_string();
        assert!(refused.starts_with("none of the "), "{refused}");
        assert!(refused.contains("max_model_len (32768)"), "{refused}");
    }

    #[test]
    fn values_that_no_legal_point_has_are_named_with_the_engines_words() {
        let rules = rules(Version::new(0, 11, 0));
        let lots = Domain::choice(vec![Value::Text("lots".into()), Value::Int(64)]).unwrap();
        let space = space([("max-num-seqs", lots), ("block-size", choice(&[16, 32]))]);
        let refused = space.refused_values(&rules);
        assert_eq!(refused.len(), 1, "{refused:?}");
        assert_eq!(refused[0].value, Value::Text("lots".into()));
        assert!(refused[0].because.contains("lots"), "{refused:?}");
        assert_eq!(space.legal_count(&rules), Some(2));
    }

    #[test]
    fn a_refused_value_has_the_reason_of_its_own_flag() {
        let rules = rules(EngineKind::Vllm.newest());
        let space = space([
            ("block-size", choice(&[8, 16])),
            ("enable-chunked-prefill", Domain::bool()),
            ("max-num-batched-tokens", choice(&[256, 65536])),
        ]);
        let refused = space.refused_values(&rules);
        assert_eq!(refused.len(), 1, "{refused:?}");
        assert_eq!(refused[0].value, Value::Int(8));
        assert!(refused[0].because.contains("block size"), "{refused:?}");
    }
}
