//! Samples as JSON Lines with checksums that are only appended to.

use crate::error::StorageError;
use crate::whole_file;
use inferometer_core::server::Sample;
use inferometer_core::summed_json::{SumCheck, end_object};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

/// Longest line that is read: a sample of many devices has a few thousand bytes.
const LONGEST_LINE: u64 = 1 << 20;

#[derive(Debug)]
pub struct SampleWriter {
    file: File,
    path: PathBuf,
}

impl SampleWriter {
    /// Makes the file, and the folder above it.
    pub fn create(path: &Path) -> Result<Self, StorageError> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|e| StorageError::io("create", folder, e))?;
        }
        let file = File::create(path).map_err(|e| StorageError::io("create", path, e))?;
        Ok(SampleWriter {
            file,
            path: path.to_owned(),
        })
    }

    /// Appends a sample; it is there for readers at once.
    pub fn push(&mut self, sample: &Sample) -> Result<(), StorageError> {
        let failed = |e| StorageError::io("write", &self.path, e);
        let mut line = serde_json::to_vec(sample).map_err(|e| failed(e.into()))?;
        end_object(&mut line, 0);
        self.file.write_all(&line).map_err(failed)
    }
}

/// The samples of a file in order of their time. A line that is torn or damaged is
/// skipped: the last one may be cut by a full disk or a killed process.
pub fn read_samples(path: &Path) -> Result<Vec<Sample>, StorageError> {
    let failed = |e| StorageError::io("read", path, e);
    let mut reader = BufReader::new(whole_file::open(path)?);
    let mut samples: Vec<Sample> = Vec::new();
    let mut line = Vec::new();
    let mut check = SumCheck::default();
    loop {
        line.clear();
        let mut bounded = reader.by_ref().take(LONGEST_LINE);
        if bounded.read_until(b'\n', &mut line).map_err(failed)? == 0 {
            break;
        }
        if check.passes(&mut line) {
            samples.extend(serde_json::from_slice::<Sample>(&line));
        }
    }
    samples.sort_by_key(|sample| sample.at);
    Ok(samples)
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_core::server::{EngineState, HostState};
    use inferometer_core::units::Offset;

    #[test]
    fn what_was_written_is_read_in_order_and_a_torn_line_is_no_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("server/samples.jsonl");
        let mut writer = SampleWriter::create(&path).unwrap();
        let later = Sample {
            at: Offset(20),
            engine: Some(EngineState {
                running: Some(3.0),
                ..EngineState::default()
            }),
            ..Sample::default()
        };
        let sooner = Sample {
            at: Offset(10),
            host: Some(HostState {
                cpu: Some(0.5),
                ..HostState::default()
            }),
            ..Sample::default()
        };
        writer.push(&later).unwrap();
        writer.push(&sooner).unwrap();
        let mut file = std::fs::OpenOptions::new()
            .append(true)
            .open(&path)
            .unwrap();
        file.write_all(b"\xff\xfe\n{\"at_ns\": 30, \"engi").unwrap();
        assert_eq!(read_samples(&path).unwrap(), [sooner, later]);
        let text = std::fs::read_to_string(&path);
        assert!(text.is_err() || !text.unwrap().contains("null"));
    }
}
