//! MindIE is configured by a file: a copy with changed values is written for each start, and the
//! original is never touched.

use inferometer_catalog::engine::mindie::{Config, ConfigError, LARGEST_FILE};
use inferometer_catalog::engine::value::switch;
use inferometer_catalog::engine::{EngineKind, flag, nearest};
use inferometer_text::hostile::printable;
use serde_json::Value;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum ConfigCopyError {
    #[error("cannot {verb} {}: {why}", path.display())]
    Io {
        verb: &'static str,
        path: PathBuf,
        why: io::Error,
    },
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A key that MindIE does not have.
    #[error("MindIE's configuration has no key '{key}'{}", meant(nearest))]
    UnknownKey {
        key: String,
        /// Keys that were perhaps meant.
        nearest: Vec<String>,
    },
    /// A word that says neither on nor off.
    #[error("{key} is on or off, and '{word}' says neither; write true or false")]
    NoSwitch { key: String, word: String },
}

fn meant(nearest: &[String]) -> String {
    match nearest {
        [] => String::new(),
        some => format!("; did you mean {}?", some.join(" or ")),
    }
}

/// A configuration for one start.
#[derive(Clone, Debug)]
pub struct ConfigCopy {
    pub path: PathBuf,
    pub config: Config,
    /// What makes MindIE read it.
    pub environment: Vec<(String, String)>,
}

impl ConfigCopy {
    /// Writes a copy of `original` to `path`, with these values in place of its own. A key is
    /// given whole (`BackendConfig.ScheduleConfig.maxBatchSize`) or by its last part.
    pub fn write(
        original: &Path,
        changes: &[(String, Value)],
        path: &Path,
    ) -> Result<Self, ConfigCopyError> {
        let text = changed_config(original, changes)?;
        let config = Config::parse(&text)?;
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(failed("create", folder))?;
        }
        // MindIE refuses a configuration that others may write.
        let mut file = fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o640)
            .open(path)
            .map_err(failed("write", path))?;
        file.write_all(text.as_bytes())
            .map_err(failed("write", path))?;
        let whole = path.canonicalize().map_err(failed("read", path))?;
        Ok(ConfigCopy {
            environment: vec![
                ("MIES_CONFIG_JSON_PATH".into(), whole.display().to_string()),
                // The line that says that it is ready goes to standard output.
                ("MINDIE_LOG_TO_STDOUT".into(), "1".into()),
            ],
            path: whole,
            config,
        })
    }
}

/// The text of MindIE's configuration with these values in place of its own.
pub fn changed_config(
    original: &Path,
    changes: &[(String, Value)],
) -> Result<String, ConfigCopyError> {
    let size = fs::metadata(original)
        .map_err(failed("read", original))?
        .len();
    if size > LARGEST_FILE as u64 {
        return Err(ConfigError::TooLarge(usize::try_from(size).unwrap_or(usize::MAX)).into());
    }
    let text = fs::read_to_string(original).map_err(failed("read", original))?;
    let mut tree: Value = serde_json::from_str(&text).map_err(ConfigError::from)?;
    for (key, value) in changes {
        let key = whole_key(key, &tree)?;
        let value = as_switch(&key, value)?;
        set(&mut tree, &key, &value);
    }
    Ok(serde_json::to_string_pretty(&tree).map_err(ConfigError::from)?)
}

/// The value for its key: on and off as JSON writes them, where the key is a switch.
fn as_switch(key: &str, value: &Value) -> Result<Value, ConfigCopyError> {
    let is_switch = flag::table(EngineKind::Mindie)
        .iter()
        .any(|flag| flag.name == key && !flag.kind.takes_value());
    if !is_switch {
        return Ok(value.clone());
    }
    let word = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match switch(&word) {
        Some(on) => Ok(Value::Bool(on)),
        None => Err(ConfigCopyError::NoSwitch {
            key: key.to_owned(),
            word: printable(&word, 80),
        }),
    }
}

fn failed(verb: &'static str, path: &Path) -> impl FnOnce(io::Error) -> ConfigCopyError {
    let path = path.to_owned();
    move |why| ConfigCopyError::Io { verb, path, why }
}

/// The whole key of one that may be given by its last part. Each release adds keys: one that is
/// given whole is taken at its word, unless it is new to the file and near one that we know.
fn whole_key(key: &str, original: &Value) -> Result<String, ConfigCopyError> {
    let known = || {
        flag::table(EngineKind::Mindie)
            .iter()
            .map(|flag| flag.name.as_str())
    };
    let last = |name: &'static str| name.rsplit('.').next().unwrap_or(name);
    if let Some(found) = flag::mindie_key(key) {
        return Ok(found.to_owned());
    }
    let is_whole = key.starts_with("ServerConfig.") || key.starts_with("BackendConfig.");
    let near = if is_whole {
        nearest(known(), key)
    } else {
        nearest(known().map(last), key)
    };
    if is_whole && (near.is_empty() || holds(original, key)) {
        return Ok(key.to_owned());
    }
    Err(ConfigCopyError::UnknownKey {
        key: key.to_owned(),
        nearest: near.into_iter().map(str::to_owned).collect(),
    })
}

/// Is there a value at a dotted path?
fn holds(tree: &Value, key: &str) -> bool {
    let found = key.split('.').try_fold(tree, |place, part| match place {
        Value::Array(entries) => entries.first()?.get(part),
        _ => place.get(part),
    });
    found.is_some()
}

/// Sets a value at a dotted path; of a list the first entry is meant.
fn set(tree: &mut Value, key: &str, value: &Value) {
    let mut place = tree;
    for part in key.split('.') {
        if let Value::Array(entries) = place {
            if entries.is_empty() {
                entries.push(Value::Object(Default::default()));
            }
            place = &mut entries[0];
        }
        if !place.is_object() {
            *place = Value::Object(Default::default());
        }
        place = &mut place[part];
    }
    *place = value.clone();
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn copy(changes: &[(&str, Value)]) -> Result<ConfigCopy, ConfigCopyError> {
        let folder = tempfile::tempdir().unwrap();
        let original = folder.path().join("config.json");
        let text = r#"{"OtherParam": {"kept": 1}, "ServerConfig": {"port": 1040},
            "BackendConfig": {"npuDeviceIds": [[0,1]], "ModelDeployConfig": {"ModelConfig": [{"worldSize": 2, "npuMemSize": 8}]}}}"#;
        fs::write(&original, text).unwrap();
        let changes: Vec<_> = changes
            .iter()
            .map(|(k, v)| ((*k).to_owned(), v.clone()))
            .collect();
        let made = ConfigCopy::write(
            &original,
            &changes,
            &folder.path().join("trial/conf/config.json"),
        );
        assert_eq!(fs::read_to_string(&original).unwrap(), text);
        if let Ok(made) = &made {
            assert!(fs::read_to_string(&made.path).unwrap().contains("kept"));
        }
        made
    }

    #[test]
    fn a_copy_has_the_changed_values_and_all_others() {
        let made = copy(&[("maxBatchSize", json!(64)), ("npuMemSize", json!(-1))]).unwrap();
        assert_eq!(made.config.server.port, 1040);
        assert_eq!(made.config.backend.schedule.max_batch_size, 64);
        assert_eq!(made.config.backend.deploy.models[0].npu_mem_size, -1);
        assert_eq!(made.config.backend.deploy.models[0].world_size, 2);
        assert_eq!(made.environment[0].0, "MIES_CONFIG_JSON_PATH");
    }

    #[test]
    fn a_switch_is_written_as_true_or_false() {
        for (word, on) in [(json!("on"), true), (json!(0), false), (json!(true), true)] {
            let made = copy(&[("httpsEnabled", word)]).unwrap();
            assert_eq!(made.config.server.https_enabled, on);
        }
        let error = copy(&[("httpsEnabled", json!("maybe"))]).unwrap_err();
        assert!(
            error.to_string().contains("'maybe' says neither"),
            "{error}"
        );
    }

    #[test]
    fn an_unknown_key_finds_its_neighbour_and_a_bad_value_its_refusal() {
        let error = copy(&[("maxBatchsize", json!(1))]).unwrap_err().to_string();
        assert!(error.contains("maxBatchSize"), "{error}");
        let whole = "BackendConfig.ScheduleConfig.maxBatchSiz";
        let error = copy(&[(whole, json!(1))]).unwrap_err().to_string();
        assert!(error.contains("ScheduleConfig.maxBatchSize"), "{error}");
        assert!(copy(&[("BackendConfig.NewPart.brandNew", json!(1))]).is_ok());
        let made = copy(&[("maxPrefillBatchSize", json!(500))]).unwrap();
        assert!(
            made.config.refusals()[0]
                .message
                .contains("maxPrefillBatchSize")
        );
    }
}
