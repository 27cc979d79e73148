//! The weight files of a model folder: those that belong together, and all of them.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use super::safetensors::weight_bytes;
use super::source::{SourceError, read, unreadable};

/// The list of weight files, where there are several.
pub const INDEX: &str = "model.safetensors.index.json";
pub const LARGEST_INDEX: u64 = 64 << 20;

/// Bytes of the weights; `None` where the folder has no weight files.
pub(super) fn stored(folder: &Path) -> Result<Option<f64>, SourceError> {
    let index = folder.join(INDEX);
    let names = if index.is_file() {
        listed(&read(&index, LARGEST_INDEX)?, &index)?
    } else {
        of_one_set(present(folder)?)
    };
    let lacks = |name: &&String| !folder.join(name).is_file();
    let missing: Vec<&String> = names.iter().filter(lacks).collect();
    if let Some(first) = missing.first() {
        return Err(SourceError::Incomplete {
            folder: folder.display().to_string(),
            missing: missing.len(),
            files: names.len(),
            first: first.chars().take(80).collect(),
        });
    }
    let mut bytes = 0.0;
    for name in &names {
        bytes += weight_bytes(&folder.join(name))?;
    }
    Ok((!names.is_empty()).then_some(bytes))
}

fn listed(text: &str, index: &Path) -> Result<BTreeSet<String>, SourceError> {
    let bad = |reason: &str| SourceError::Read {
        path: index.display().to_string(),
        reason: reason.to_owned(),
    };
    let value: Value = serde_json::from_str(text).map_err(|error| bad(&error.to_string()))?;
    let map = value.get("weight_map").and_then(Value::as_object);
    let map = map.ok_or_else(|| bad("it has no `weight_map`"))?;
    let names = map.values().map(|name| match name.as_str() {
        Some(name) if !name.contains(['/', '\\']) && !name.is_empty() => Ok(name.to_owned()),
        _ => Err(bad(
            "its `weight_map` names something that is not a file of the folder",
        )),
    });
    names.collect()
}

fn present(folder: &Path) -> Result<BTreeSet<String>, SourceError> {
    let entries = std::fs::read_dir(folder).map_err(|error| unreadable(folder, &error))?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    Ok(names
        .filter(|name| name.ends_with(".safetensors"))
        .collect())
}

/// Of files without an index, those of one copy of the weights: the whole in one file, else its
/// numbered parts, else Mistral's consolidated copy, which often lies beside the same weights.
fn of_one_set(present: BTreeSet<String>) -> BTreeSet<String> {
    if present.contains("model.safetensors") {
        return BTreeSet::from(["model.safetensors".to_owned()]);
    }
    for start in ["model-", "consolidated"] {
        let set = present.iter().filter(|name| name.starts_with(start));
        let set: BTreeSet<String> = set.cloned().collect();
        if let Some(first) = set.first() {
            return parts(first).unwrap_or(set);
        }
    }
    present
}

/// All parts of which `model-00002-of-00004.safetensors` is one.
fn parts(name: &str) -> Option<BTreeSet<String>> {
    let (start, rest) = name.strip_suffix(".safetensors")?.split_once("-of-")?;
    let (stem, number) = start.rsplit_once('-')?;
    let (digits, count) = (number.len(), rest.parse::<u32>().ok()?);
    let named = |part: u32| format!("{stem}-{part:0digits$}-of-{rest}.safetensors");
    (1..=9999)
        .contains(&count)
        .then(|| (1..=count).map(named).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with one tensor of `bytes` bytes.
    fn write(folder: &Path, name: &str, bytes: u64) {
        let header =
            format!(r#"{{"a":{{"dtype":"U8","shape":[{bytes}],"data_offsets":[0,{bytes}]}}}}"#);
        let mut file = (header.len() as u64).to_le_bytes().to_vec();
        file.extend_from_slice(header.as_bytes());
        std::fs::write(folder.join(name), file).unwrap();
    }

    #[test]
    fn the_same_weights_are_counted_once() {
        for (files, expected) in [
            (&[][..], None),
            (
                &[("model.safetensors", 5), ("adapter_model.safetensors", 9)],
                Some(5.0),
            ),
            (
                &[
                    ("consolidated.safetensors", 30),
                    ("model-00001-of-00002.safetensors", 10),
                    ("model-00002-of-00002.safetensors", 20),
                ],
                Some(30.0),
            ),
            (&[("consolidated.safetensors", 30)], Some(30.0)),
            (&[("weights.safetensors", 7)], Some(7.0)),
        ] {
            let folder = tempfile::tempdir().unwrap();
            for (name, bytes) in files {
                write(folder.path(), name, *bytes);
            }
            assert_eq!(stored(folder.path()).unwrap(), expected, "{files:?}");
        }
    }

    #[test]
    fn an_index_says_which_files_count_and_which_are_missing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let index =
            r#"{"weight_map":{"a":"x-1.safetensors","b":"x-2.safetensors","c":"x-2.safetensors"}}"#;
        std::fs::write(path.join(INDEX), index).unwrap();
        write(path, "x-1.safetensors", 10);
        write(path, "old.safetensors", 99);
        let error = stored(path).unwrap_err().to_string();
        assert!(
            error.contains("1 of its 2") && error.contains("x-2.safetensors"),
            "{error}"
        );
        write(path, "x-2.safetensors", 20);
        assert_eq!(stored(path).unwrap(), Some(30.0));
        for bad in ["[]", r#"{"weight_map":{"a":"../secret"}}"#] {
            std::fs::write(path.join(INDEX), bad).unwrap();
            assert!(stored(path).unwrap_err().to_string().contains("weight_map"));
        }
    }

    #[test]
    fn a_pipe_or_a_device_in_place_of_a_file_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("config.json");
        let name = folder.path().to_str().unwrap();
        std::os::unix::fs::symlink("/dev/zero", &config).unwrap();
        let refused = || {
            crate::model::KnownModel::find(name)
                .unwrap_err()
                .to_string()
        };
        assert!(refused().contains("not a regular file"), "{}", refused());
        std::fs::remove_file(&config).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&config).status();
        assert!(made.unwrap().success());
        assert!(refused().contains("not a regular file"), "{}", refused());
    }

    #[test]
    fn numbered_parts_without_an_index_must_all_be_there() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "model-00001-of-00003.safetensors", 10);
        let error = stored(folder.path()).unwrap_err().to_string();
        assert!(error.contains("2 of its 3"), "{error}");
    }
}
