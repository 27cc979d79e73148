//! Samples as JSON Lines with checksums that are only appended to.

use crate::error::StorageError;
use inferometer_core::server::Sample;
use inferometer_records::summed_lines::{self, LineWriter, SummedLines};
use std::fs::File;
use std::path::Path;

/// Longest line that is read: a sample of many devices has a few thousand bytes.
const LONGEST_LINE: u64 = 1 << 20;

pub type SampleWriter = LineWriter<Sample, File>;

/// The samples of a file in order of their time.
pub fn read_samples(path: &Path) -> Result<Vec<Sample>, StorageError> {
    let samples: Result<Vec<Sample>, _> = summed_lines::read(path, LONGEST_LINE)?.collect();
    let mut samples = samples?;
    samples.sort_by_key(|sample| sample.at);
    Ok(samples)
}

/// The samples of a run that goes on.
#[derive(Debug)]
pub struct GrowingSamples {
    lines: SummedLines<Sample>,
    /// Those so far, in order of their time.
    samples: Vec<Sample>,
}

impl GrowingSamples {
    pub fn open(path: &Path) -> Result<Self, StorageError> {
        Ok(GrowingSamples {
            lines: SummedLines::open(path, LONGEST_LINE)?,
            samples: Vec::new(),
        })
    }

    /// All of them, with what was written since the last look.
    pub fn all(&mut self) -> Result<&[Sample], StorageError> {
        self.lines.grow()?;
        while let Some(sample) = self.lines.next_value()? {
            self.samples.push(sample);
        }
        self.samples.sort_by_key(|sample| sample.at);
        Ok(&self.samples)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_core::server::{EngineState, HostState};
    use inferometer_core::units::Offset;
    use std::io::Write;

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
        let torn = b"\xff\xfe\n{\"at_ns\": 30, \"engi";
        writer.file.write_all(torn).unwrap();
        assert_eq!(
            read_samples(&path).unwrap(),
            [sooner.clone(), later.clone()]
        );
        let mut growing = GrowingSamples::open(&path).unwrap();
        assert_eq!(growing.all().unwrap(), [sooner.clone(), later.clone()]);
        let newest = Sample {
            at: Offset(15),
            ..sooner.clone()
        };
        writer.file.write_all(b"ne\n").unwrap();
        writer.push(&newest).unwrap();
        assert_eq!(growing.all().unwrap(), [sooner, newest, later]);
        let text = std::fs::read_to_string(&path);
        assert!(text.is_err() || !text.unwrap().contains("null"));
    }
}
