//! The table of lines, which `data/engine/log-lines.toml` holds.

use super::super::{EngineKind, Version};
use super::Name;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Line {
    pub engine: EngineKind,
    pub fact: Name,
    pub text: String,
    pub since: Option<Version>,
    pub until: Option<Version>,
    #[serde(default)]
    pub source: String,
}

pub(super) static LINES: LazyLock<Vec<Line>> = LazyLock::new(|| {
    let text = include_str!("../../../data/engine/log-lines.toml");
    let mut table: BTreeMap<String, Vec<Line>> =
        toml::from_str(text).expect("the shipped lines are well-formed");
    table.remove("line").unwrap_or_default()
});
