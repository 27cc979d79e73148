//! A model from wherever it is: a preset, a `config.json`, a model folder, safetensors headers,
//! local or by HTTP.

mod layers;
mod remote;
mod safetensors;

pub use layers::{KvLayers, LinearLayers, UnknownLayers};
pub use remote::RemoteError;
pub use safetensors::SafetensorsError;

use inferometer_catalog::model::{Model, ModelError};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A model and all that memory needs to know of it.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownModel {
    /// Its shape.
    pub model: Model,
    /// What its layers keep of a request.
    pub layers: KvLayers,
    /// Its weights.
    pub weights: Weights,
}

/// Bytes of the weights on all cards, and how they are known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Weights {
    /// Computed from the shape.
    Computed(f64),
    /// Added up from the files' own headers.
    Stored(f64),
}

impl Weights {
    /// The bytes.
    pub fn bytes(self) -> f64 {
        match self {
            Weights::Computed(bytes) | Weights::Stored(bytes) => bytes,
        }
    }
}

/// Why a model is not known.
#[derive(Debug, Error)]
pub enum SourceError {
    /// Neither preset nor file.
    #[error(
        "nothing is known of the model '{name}'; give a config.json, a model folder, a URL, or one of: {known}"
    )]
    Unknown {
        /// What was given.
        name: String,
        /// The presets.
        known: String,
    },
    /// The file cannot be read.
    #[error("cannot read {path}: {reason}")]
    Read {
        /// The file.
        path: String,
        /// Why.
        reason: String,
    },
    /// The shape is not understood.
    #[error(transparent)]
    Shape(#[from] ModelError),
    /// A kind of layer is not known.
    #[error(transparent)]
    Layers(#[from] UnknownLayers),
    /// The headers are no headers.
    #[error(transparent)]
    Safetensors(#[from] SafetensorsError),
    /// The server does not give it.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// Weights without a shape.
    #[error(
        "{path} has {gib:.2} GiB of weights, but headers do not tell heads from widths; put the model's config.json beside it"
    )]
    NoShape {
        /// The file.
        path: String,
        /// Its weights, GiB.
        gib: f64,
    },
}

/// The largest `config.json` that is read.
const LARGEST_CONFIG: u64 = 4 << 20;

impl KnownModel {
    /// A model by its shape alone: every layer attends to everything, or all through one window.
    pub fn of_shape(model: Model) -> KnownModel {
        KnownModel {
            layers: KvLayers::uniform(&model),
            weights: Weights::Computed(model.weight_bytes()),
            model,
        }
    }

    /// A model from a preset's name, a file, a folder or a URL.
    pub fn find(name: &str) -> Result<KnownModel, SourceError> {
        if name.starts_with("http://") || name.starts_with("https://") {
            return remote::find(name);
        }
        let path = Path::new(name);
        if path.is_dir() {
            return in_folder(path, name);
        }
        if path.is_file() {
            if path
                .extension()
                .is_some_and(|ending| ending == "safetensors")
            {
                return beside(path);
            }
            return Self::of_config(name, &read(path)?);
        }
        let model = Model::named(name).ok_or_else(|| SourceError::Unknown {
            name: name.to_owned(),
            known: presets(),
        })?;
        Ok(Self::of_shape(model))
    }

    /// A model from the text of its `config.json`.
    pub fn of_config(name: &str, text: &str) -> Result<KnownModel, SourceError> {
        let model = Model::from_config_json(name, text)?;
        let layers = KvLayers::of_config(&model, text)?;
        Ok(KnownModel {
            layers,
            weights: Weights::Computed(model.weight_bytes()),
            model,
        })
    }
}

fn presets() -> String {
    let names = Model::presets().iter().map(|model| model.name.as_str());
    names.collect::<Vec<_>>().join(", ")
}

fn in_folder(folder: &Path, name: &str) -> Result<KnownModel, SourceError> {
    let mut known = KnownModel::of_config(name, &read(&folder.join("config.json"))?)?;
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .map_err(|error| unreadable(folder, &error))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            path.extension()
                .is_some_and(|ending| ending == "safetensors")
        })
        .collect();
    files.sort();
    if !files.is_empty() {
        let mut bytes = 0.0;
        for file in &files {
            bytes += safetensors::weight_bytes(file)?;
        }
        known.weights = Weights::Stored(bytes);
    }
    Ok(known)
}

fn beside(file: &Path) -> Result<KnownModel, SourceError> {
    let folder = file.parent().unwrap_or(Path::new("."));
    if !folder.join("config.json").is_file() {
        return Err(SourceError::NoShape {
            path: file.display().to_string(),
            gib: safetensors::weight_bytes(file)? / inferometer_catalog::memory::GIB,
        });
    }
    in_folder(folder, &file.display().to_string())
}

fn unreadable(path: &Path, error: &std::io::Error) -> SourceError {
    SourceError::Read {
        path: path.display().to_string(),
        reason: error.to_string(),
    }
}

fn read(path: &Path) -> Result<String, SourceError> {
    let length = std::fs::metadata(path)
        .map_err(|error| unreadable(path, &error))?
        .len();
    if length > LARGEST_CONFIG {
        return Err(SourceError::Read {
            path: path.display().to_string(),
            reason: format!("it has {length} bytes, which no config.json has"),
        });
    }
    std::fs::read_to_string(path).map_err(|error| unreadable(path, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: &str = r#"{"model_type":"qwen2","hidden_size":64,"intermediate_size":128,
        "num_hidden_layers":2,"num_attention_heads":4,"num_key_value_heads":2,"vocab_size":1000,
        "max_position_embeddings":4096,"torch_dtype":"bfloat16"}"#;

    #[test]
    fn a_folder_gives_its_shape_and_the_exact_bytes_of_its_weights() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        std::fs::write(path.join("config.json"), CONFIG).unwrap();
        let header = br#"{"__metadata__":{"format":"pt"},"a":{"dtype":"BF16","shape":[5,2],"data_offsets":[0,20]}}"#;
        let mut file = (header.len() as u64).to_le_bytes().to_vec();
        file.extend_from_slice(header);
        file.extend_from_slice(&[0; 20]);
        std::fs::write(path.join("model.safetensors"), &file).unwrap();
        let known = KnownModel::find(path.to_str().unwrap()).unwrap();
        assert_eq!(known.weights, Weights::Stored(20.0));
        assert_eq!(known.model.kv_heads, 2);
        let alone = tempfile::tempdir().unwrap();
        let lone = alone.path().join("model.safetensors");
        std::fs::write(&lone, &file).unwrap();
        let error = KnownModel::find(lone.to_str().unwrap()).unwrap_err();
        assert!(
            error.to_string().contains("config.json beside it"),
            "{error}"
        );
    }

    #[test]
    fn a_model_that_nobody_knows_is_refused_with_the_presets() {
        let error = KnownModel::find("no-such-model").unwrap_err().to_string();
        assert!(error.contains("llama-3.1-8b"), "{error}");
    }
}
