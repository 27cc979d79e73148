//! What the server's own trace says of single requests, as JSON Lines with
//! checksums that are only appended to.

use crate::error::StorageError;
use crate::whole_file;
use inferometer_core::server::{RequestSpan, Spans};
use inferometer_core::summed_json::{SumCheck, end_object};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

/// Longest line that is read: a span has a few hundred bytes.
const LONGEST_LINE: u64 = 1 << 16;

#[derive(Debug)]
pub struct SpanWriter {
    file: File,
    path: PathBuf,
}

impl SpanWriter {
    /// Makes the file, and the folder above it.
    pub fn create(path: &Path) -> Result<Self, StorageError> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|e| StorageError::io("create", folder, e))?;
        }
        let file = File::create(path).map_err(|e| StorageError::io("create", path, e))?;
        Ok(SpanWriter {
            file,
            path: path.to_owned(),
        })
    }

    pub fn push(&mut self, span: &RequestSpan) -> Result<(), StorageError> {
        let failed = |e| StorageError::io("write", &self.path, e);
        let mut line = serde_json::to_vec(span).map_err(|e| failed(e.into()))?;
        end_object(&mut line, 0);
        self.file.write_all(&line).map_err(failed)
    }
}

/// The spans of a file. A line that is torn or damaged is skipped.
pub fn read_spans(path: &Path) -> Result<Spans, StorageError> {
    let failed = |e| StorageError::io("read", path, e);
    let mut reader = BufReader::new(whole_file::open(path)?);
    let mut spans = Vec::new();
    let mut line = Vec::new();
    let mut check = SumCheck::default();
    loop {
        line.clear();
        let mut bounded = reader.by_ref().take(LONGEST_LINE);
        if bounded.read_until(b'\n', &mut line).map_err(failed)? == 0 {
            return Ok(spans.into_iter().collect());
        }
        if check.passes(&mut line) {
            spans.extend(serde_json::from_slice::<RequestSpan>(&line));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_core::record::Record;
    use inferometer_core::trace_id::TraceId;

    #[test]
    fn spans_are_found_by_their_traces_and_torn_lines_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("server/spans.jsonl");
        let mut writer = SpanWriter::create(&path).unwrap();
        let span = |id: &str, queue_s| RequestSpan {
            queue_s: Some(queue_s),
            ..RequestSpan::new(TraceId::of_request(id))
        };
        for span in [span("a", 1.0), span("b", 2.0), span("a", 3.0)] {
            writer.push(&span).unwrap();
        }
        writer
            .file
            .write_all(b"{\"trace\": \"00\"}\n{\"tra")
            .unwrap();
        let spans = read_spans(&path).unwrap();
        let of = |id: &str| {
            let record = Record {
                id: id.to_owned(),
                ..Record::default()
            };
            spans.of(&record).copied()
        };
        assert_eq!(
            (of("a"), of("b"), of("c")),
            (Some(span("a", 3.0)), Some(span("b", 2.0)), None)
        );
    }
}
