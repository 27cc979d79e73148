//! A model from wherever it is: a preset, a `config.json`, a model folder, safetensors headers,
//! local or by HTTP.

mod folder;
mod remote;
mod safetensors;

pub use remote::RemoteError;
pub use safetensors::SafetensorsError;

use inferometer_catalog::model::{Described, Model, ModelError};
use inferometer_fetch::HubAccess;
use std::path::Path;
use thiserror::Error;

/// A model and all that memory needs to know of it.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownModel {
    pub model: Model,
    pub weights: Weights,
    /// Encoders of other modalities that computed weights leave out, by their keys.
    pub left_out: Vec<&'static str>,
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
    #[error(
        "nothing is known of the model '{name}'; give a config.json, a model folder, hf://ORG/NAME, a URL, or one of: {known}"
    )]
    Unknown { name: String, known: String },
    /// The file cannot be read.
    #[error("cannot read {path}: {reason}")]
    Read { path: String, reason: String },
    /// The shape is not understood.
    #[error(transparent)]
    Shape(#[from] ModelError),
    /// The headers are no headers.
    #[error(transparent)]
    Safetensors(#[from] SafetensorsError),
    /// The server does not give it.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    #[error(
        "{folder} lacks {missing} of its {files} weight files, the first {first}; complete the download, or give the config.json alone"
    )]
    Incomplete {
        folder: String,
        missing: usize,
        /// How many there should be.
        files: usize,
        first: String,
    },
    /// Weights without a shape.
    #[error(
        "{path} has {gib:.2} GiB of weights, but headers do not tell heads from widths; put the model's config.json beside it"
    )]
    NoShape {
        path: String,
        /// Its weights, GiB.
        gib: f64,
    },
}

/// The largest `config.json` that is read.
const LARGEST_CONFIG: u64 = 4 << 20;

impl KnownModel {
    /// A model by its shape alone.
    pub fn of_shape(model: Model) -> KnownModel {
        KnownModel {
            weights: Weights::Computed(model.weight_bytes()),
            model,
            left_out: Vec::new(),
        }
    }

    /// A model from a preset's name, a file, a folder, `hf://ORG/NAME` or a URL.
    pub fn find(name: &str, hubs: &HubAccess) -> Result<KnownModel, SourceError> {
        if remote::is_address(name) {
            return remote::find(name, hubs);
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
            return Self::of_config(name, &read(path, LARGEST_CONFIG)?);
        }
        let model = Model::named(name).ok_or_else(|| SourceError::Unknown {
            name: name.to_owned(),
            known: presets(),
        })?;
        Ok(Self::of_shape(model))
    }

    /// A model from the text of its `config.json`.
    pub fn of_config(name: &str, text: &str) -> Result<KnownModel, SourceError> {
        Self::of_description(Model::described(name, text)?, None)
    }

    /// A model with the bytes of its weight files; without them the weights are computed.
    fn of_description(
        described: Described,
        stored: Option<f64>,
    ) -> Result<KnownModel, SourceError> {
        match (stored, described.uncountable) {
            (Some(bytes), _) => Ok(KnownModel {
                model: described.model,
                weights: Weights::Stored(bytes),
                left_out: Vec::new(),
            }),
            (None, Some(error)) => Err(error.into()),
            (None, None) => Ok(KnownModel {
                left_out: described.encoders,
                ..Self::of_shape(described.model)
            }),
        }
    }
}

fn presets() -> String {
    let names = Model::presets().iter().map(|model| model.name.as_str());
    names.collect::<Vec<_>>().join(", ")
}

fn in_folder(folder: &Path, name: &str) -> Result<KnownModel, SourceError> {
    let config = read(&folder.join("config.json"), LARGEST_CONFIG)?;
    let described = Model::described(name, &config)?;
    KnownModel::of_description(described, folder::stored(folder)?)
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

fn read(path: &Path, most: u64) -> Result<String, SourceError> {
    let length = std::fs::metadata(path)
        .map_err(|error| unreadable(path, &error))?
        .len();
    if length > most {
        return Err(SourceError::Read {
            path: path.display().to_string(),
            reason: format!("it has {length} bytes, which no file of its kind has"),
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

    fn find(name: &str) -> Result<KnownModel, SourceError> {
        KnownModel::find(name, &HubAccess::default())
    }

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
        let known = find(path.to_str().unwrap()).unwrap();
        assert_eq!(known.weights, Weights::Stored(20.0));
        assert_eq!(known.model.kv_heads, 2);
        let unknown = CONFIG.replace('}', r#","quantization_config":{"quant_method":"hqq"}}"#);
        std::fs::write(path.join("config.json"), unknown).unwrap();
        let known = find(path.to_str().unwrap()).unwrap();
        assert_eq!(
            known.weights,
            Weights::Stored(20.0),
            "files tell what a method does not"
        );
        let config = path.join("config.json");
        let error = find(config.to_str().unwrap()).unwrap_err();
        assert!(error.to_string().contains("hqq"), "{error}");
        let alone = tempfile::tempdir().unwrap();
        let lone = alone.path().join("model.safetensors");
        std::fs::write(&lone, &file).unwrap();
        let error = find(lone.to_str().unwrap()).unwrap_err();
        assert!(
            error.to_string().contains("config.json beside it"),
            "{error}"
        );
    }

    #[test]
    fn a_model_that_nobody_knows_is_refused_with_the_presets() {
        let error = find("no-such-model").unwrap_err().to_string();
        assert!(error.contains("llama-3.1-8b"), "{error}");
    }
}
