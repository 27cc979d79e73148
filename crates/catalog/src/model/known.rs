//! A model and what its weights take: by its shape alone, or by the files that hold them.

use std::path::Path;

use super::safetensors;
use super::source::{SourceError, read};
use super::{Described, Model, folder};
use crate::units::GIB;

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
    pub fn bytes(self) -> f64 {
        match self {
            Weights::Computed(bytes) | Weights::Stored(bytes) => bytes,
        }
    }
}

/// The largest `config.json` that is read.
pub const LARGEST_CONFIG: u64 = 4 << 20;

impl KnownModel {
    pub fn of_shape(model: Model) -> KnownModel {
        KnownModel {
            weights: Weights::Computed(model.weight_bytes()),
            model,
            left_out: Vec::new(),
        }
    }

    /// A model from a preset's name, a file or a folder.
    pub fn find(name: &str) -> Result<KnownModel, SourceError> {
        let path = Path::new(name);
        if path.is_dir() {
            return in_folder(path, name);
        }
        if path.is_file() {
            if path.extension().is_some_and(|it| it == "safetensors") {
                return beside(path);
            }
            return Self::of_config(name, &read(path, LARGEST_CONFIG)?);
        }
        let model = Model::named(name).ok_or_else(|| SourceError::Unknown {
            name: name.to_owned(),
            known: Model::presets_near(name),
        })?;
        Ok(Self::of_shape(model))
    }

    /// A model from the text of its `config.json`.
    pub fn of_config(name: &str, text: &str) -> Result<KnownModel, SourceError> {
        Self::of_description(Model::described(name, text)?, None)
    }

    /// A model with the bytes of its weight files; without them the weights are computed.
    pub fn of_description(
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
            gib: safetensors::weight_bytes(file)? / GIB,
        });
    }
    in_folder(folder, &file.display().to_string())
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
        let unknown = CONFIG.replace('}', r#","quantization_config":{"quant_method":"hqq"}}"#);
        std::fs::write(path.join("config.json"), unknown).unwrap();
        let known = KnownModel::find(path.to_str().unwrap()).unwrap();
        assert_eq!(
            known.weights,
            Weights::Stored(20.0),
            "files tell what a method does not"
        );
        let config = path.join("config.json");
        let error = KnownModel::find(config.to_str().unwrap()).unwrap_err();
        assert!(error.to_string().contains("hqq"), "{error}");
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
    fn a_model_that_nobody_knows_is_refused_with_the_nearest_presets() {
        let error = KnownModel::find("Llama-3.1-8c").unwrap_err().to_string();
        assert!(error.contains("one of: llama-3.1-8b"), "{error}");
        assert!(error.chars().count() < 200, "{error}");
    }
}
