//! What an engine of some notes ran with where its command line is silent: the defaults of its
//! version, as far as that version is known. What is not certain stays unknown.

use inferometer_catalog::engine::defaults::vllm_prefix_caching_by_default;
use inferometer_catalog::engine::flag::table;
use inferometer_catalog::engine::{EngineKind, Flag, LaunchCommand, Value as Given, Version};
use inferometer_import::{EngineDefaults, ImportedResult};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Flags that say nothing of how the engine works.
const PLACES: [&str; 4] = ["host", "port", "model", "seed"];

/// Adds the defaults to a result whose flags are known. `version` is what the user knows.
pub fn fill(found: &mut ImportedResult, version: Option<Version>) {
    let (Some(command), Some(flags)) = (&found.command, &found.flags) else {
        return;
    };
    let Ok(launch) = LaunchCommand::parse_line(command) else {
        return;
    };
    let engine = launch.engine;
    let (versions, by) = match (image_version(command), version) {
        (Some(version), _) => (vec![version], "command"),
        (None, Some(version)) => (vec![version], "given"),
        (None, None) => (possible(engine, flags.keys()), "flags"),
    };
    let (Some(first), Some(last)) = (versions.first(), versions.last()) else {
        return;
    };
    let defaults = certain(engine, &versions, flags);
    if defaults.is_empty() {
        return;
    }
    found.defaults = Some(EngineDefaults {
        version: if first == last {
            format!("{engine} {first}")
        } else {
            format!("{engine} {first} to {last}")
        },
        by: by.to_owned(),
        flags: defaults,
    });
}

/// `vllm/vllm-openai:v0.6.3`.
fn image_version(command: &str) -> Option<Version> {
    let words = command.split_whitespace();
    let mut tags = words.filter_map(|word| word.rsplit_once(':'));
    tags.find(|(image, tag)| {
        ["vllm", "sglang"].iter().any(|name| image.contains(name)) && tag.starts_with('v')
    })
    .and_then(|(_, tag)| tag.parse().ok())
}

/// Releases that know all of the flags, where the flags narrow them down at all.
fn possible<'a>(engine: EngineKind, names: impl Iterator<Item = &'a String>) -> Vec<Version> {
    let all = table(engine);
    let given: Vec<&Flag> = names
        .filter_map(|name| all.iter().find(|flag| flag.name == *name))
        .collect();
    // A flag that is still there today says nothing of when it was used.
    if !given.iter().any(|flag| flag.until.is_some()) {
        return Vec::new();
    }
    let releases: BTreeSet<Version> = all
        .iter()
        .flat_map(|flag| [flag.since, flag.until])
        .flatten()
        .collect();
    releases
        .into_iter()
        .filter(|version| given.iter().all(|flag| flag.known_in(*version)))
        .collect()
}

/// Defaults that all these versions share, of flags that matter.
fn certain(
    engine: EngineKind,
    versions: &[Version],
    given: &BTreeMap<String, Value>,
) -> BTreeMap<String, Value> {
    let mut defaults = BTreeMap::new();
    for flag in table(engine).iter().filter(|flag| flag.modelled) {
        // Notes name MindIE's keys without the sections that they stand in.
        let key = flag.name.rsplit('.').next().unwrap_or(&flag.name);
        let is_given = given.contains_key(&flag.name) || given.contains_key(key);
        if is_given || PLACES.contains(&flag.name.as_str()) {
            continue;
        }
        let values: BTreeSet<Option<String>> = (versions.iter())
            .map(|version| default(engine, flag, *version))
            .collect();
        if let Some(Some(text)) = values.first()
            && values.len() == 1
        {
            let value = match flag.parse(text) {
                Ok(Given::Bool(on)) => on.into(),
                Ok(Given::Int(number)) => number.into(),
                Ok(Given::Float(number)) => number.into(),
                _ => text.as_str().into(),
            };
            defaults.insert(flag.name.clone(), value);
        }
    }
    defaults
}

/// A flag's default in one version; absent where it has none, depends on the device, or where
/// the version does not know the flag.
fn default(engine: EngineKind, flag: &Flag, version: Version) -> Option<String> {
    if !flag.known_in(version) {
        return None;
    }
    match (engine, flag.name.as_str()) {
        (EngineKind::Vllm, "enable-prefix-caching") => {
            Some(vllm_prefix_caching_by_default(version).to_string())
        }
        // The same on every device then.
        (EngineKind::Vllm, "max-num-seqs") if version < Version::new(0, 8, 0) => {
            Some("256".to_owned())
        }
        _ => flag.default_in(version).map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_import::read;

    fn results(text: &str, version: Option<&str>) -> Vec<ImportedResult> {
        let mut results = read("notes", text).results;
        let version = version.map(|text| text.parse().unwrap());
        for found in &mut results {
            fill(found, version);
        }
        results
    }

    const SUMMARY: &str = r#"{"total_requests": 9, "successful_requests": 9, "concurrency": 3,
        "total_time": 3.0, "requests_per_second": 3.0, "latency": {"average": 1.0}}"#;

    #[test]
    fn flags_of_an_age_bring_the_defaults_of_that_age() {
        let text = format!("vllm serve m --use-v2-block-manager --block-size 8\n{SUMMARY}\n");
        let [found] = &results(&text, None)[..] else {
            panic!()
        };
        let defaults = found.defaults.as_ref().unwrap();
        assert_eq!(defaults.by, "flags");
        assert_eq!(defaults.flags["gpu-memory-utilization"], 0.9);
        assert!(
            !defaults.flags.contains_key("enable-prefix-caching"),
            "its default changed while that flag was there"
        );
        assert!(!defaults.flags.contains_key("block-size"), "it is given");
        assert!(
            !defaults.flags.contains_key("max-num-batched-tokens"),
            "it depends"
        );
    }

    #[test]
    fn a_version_that_is_known_decides() {
        let today = format!("vllm serve m --block-size 16\n{SUMMARY}\n");
        let unknown = &results(&today, None)[0];
        assert_eq!(unknown.defaults, None, "no flag tells its age");
        let caching = |text: &str, version| {
            let defaults = results(text, version)[0].defaults.clone().unwrap();
            (defaults.by, defaults.flags["enable-prefix-caching"].clone())
        };
        let given = caching(&today, Some("0.11.0"));
        assert_eq!(given, ("given".to_owned(), Value::Bool(true)));
        let docker =
            format!("docker run vllm/vllm-openai:v0.6.3 --model m --block-size 16\n{SUMMARY}\n");
        let tagged = caching(&docker, None);
        assert_eq!(tagged, ("command".to_owned(), Value::Bool(false)));
    }

    #[test]
    fn several_results_after_one_command_have_no_flags_and_no_defaults() {
        let text = format!("vllm serve m --use-v2-block-manager\n{SUMMARY}\n{SUMMARY}\n");
        let found = results(&text, None);
        assert_eq!(found.len(), 2);
        assert!(
            found
                .iter()
                .all(|found| found.flags.is_none() && found.defaults.is_none())
        );
    }
}
