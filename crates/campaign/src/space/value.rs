//! Values of flags, and a value for every flag: a point.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Value {
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
}

impl Value {
    pub fn number(&self) -> Option<f64> {
        match self {
            Value::Int(number) => Some(*number as f64),
            Value::Float(number) => Some(*number),
            Value::Bool(_) | Value::Text(_) => None,
        }
    }

    /// Equal as numbers, or as themselves.
    pub fn same(&self, other: &Value) -> bool {
        match (self.number(), other.number()) {
            (Some(a), Some(b)) => a == b,
            _ => self == other,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Bool(on) => write!(f, "{on}"),
            Value::Int(number) => write!(f, "{number}"),
            Value::Float(number) => write!(f, "{number}"),
            Value::Text(text) => f.write_str(text),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Point(pub BTreeMap<String, Value>);

impl Point {
    pub fn get(&self, flag: &str) -> Option<&Value> {
        self.0.get(flag)
    }

    /// Two points are one if all of their values are the same.
    pub fn same(&self, other: &Point) -> bool {
        self.0.len() == other.0.len()
            && (self.0.iter())
                .all(|(flag, value)| other.get(flag).is_some_and(|theirs| theirs.same(value)))
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (flag, value)) in self.0.iter().enumerate() {
            let gap = if at == 0 { "" } else { " " };
            write!(f, "{gap}{flag}={value}")?;
        }
        Ok(())
    }
}

impl<'a> FromIterator<(&'a str, Value)> for Point {
    fn from_iter<T: IntoIterator<Item = (&'a str, Value)>>(pairs: T) -> Self {
        Point(
            (pairs.into_iter())
                .map(|(flag, value)| (flag.to_owned(), value))
                .collect(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_survives_json_with_its_types() {
        let point: Point = [
            ("a", Value::Int(16)),
            ("b", Value::Float(1.0)),
            ("c", Value::Bool(true)),
            ("d", Value::Text("fp8".into())),
        ]
        .into_iter()
        .collect();
        let json = serde_json::to_string(&point).unwrap();
        assert_eq!(json, r#"{"a":16,"b":1.0,"c":true,"d":"fp8"}"#);
        assert_eq!(serde_json::from_str::<Point>(&json).unwrap(), point);
        assert_eq!(point.to_string(), "a=16 b=1 c=true d=fp8");
    }
}
