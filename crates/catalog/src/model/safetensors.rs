//! Safetensors headers: how many bytes of weights a file holds. Only the header is read.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde_json::{Map, Value};
use thiserror::Error;

/// The longest header that is read; that of the largest models has a few MiB.
pub const LONGEST_HEADER: u64 = 100 << 20;

/// Why a file is not a safetensors file.
#[derive(Debug, Error)]
pub enum SafetensorsError {
    #[error("cannot read {file}: {reason}")]
    Read { file: String, reason: String },
    #[error("{file} is not a safetensors file: {reason}")]
    Header { file: String, reason: String },
}

/// Bytes of all tensors of a local file.
pub(super) fn weight_bytes(path: &Path) -> Result<f64, SafetensorsError> {
    let name = path.display().to_string();
    let failed = |error: std::io::Error| SafetensorsError::Read {
        file: name.clone(),
        reason: error.to_string(),
    };
    let mut file = File::open(path).map_err(failed)?;
    let mut length = [0; 8];
    file.read_exact(&mut length).map_err(failed)?;
    let length = header_length(&name, length)?;
    let mut header = Vec::new();
    file.take(length).read_to_end(&mut header).map_err(failed)?;
    tensor_bytes(&name, &header)
}

/// The length of the header, from the first eight bytes.
pub fn header_length(file: &str, bytes: [u8; 8]) -> Result<u64, SafetensorsError> {
    let length = u64::from_le_bytes(bytes);
    if (2..=LONGEST_HEADER).contains(&length) {
        return Ok(length);
    }
    Err(SafetensorsError::Header {
        file: file.to_owned(),
        reason: format!("its header would have {length} bytes"),
    })
}

pub fn tensor_bytes(file: &str, header: &[u8]) -> Result<f64, SafetensorsError> {
    let bad = |reason: String| SafetensorsError::Header {
        file: file.to_owned(),
        reason,
    };
    let map: Map<String, Value> =
        serde_json::from_slice(header).map_err(|error| bad(error.to_string()))?;
    let mut total = 0.0;
    for (name, tensor) in map.iter().filter(|(name, _)| *name != "__metadata__") {
        let offset = |index: usize| tensor.get("data_offsets")?.get(index)?.as_u64();
        let size = offset(1)
            .zip(offset(0))
            .and_then(|(end, begin)| end.checked_sub(begin));
        let shown: String = name.chars().take(60).collect();
        total += size.ok_or_else(|| bad(format!("tensor {shown} has no data_offsets")))? as f64;
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_header_is_refused_by_name() {
        assert!(header_length("f", u64::MAX.to_le_bytes()).is_err());
        assert!(header_length("f", [0; 8]).is_err());
        for text in ["", "[]", "{\"a\":1}", "{\"a\":{\"data_offsets\":[9,1]}}"] {
            let error = tensor_bytes("f", text.as_bytes()).unwrap_err().to_string();
            assert!(error.starts_with("f is not a safetensors file"), "{error}");
        }
    }
}
