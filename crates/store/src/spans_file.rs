//! What the server's own trace says of single requests, as JSON Lines with
//! checksums that are only appended to.

use crate::error::StorageError;
use inferometer_core::server::{RequestSpan, Spans};
use inferometer_records::summed_lines::{self, LineWriter};
use std::fs::File;
use std::path::Path;

/// Longest line that is read: a span has a few hundred bytes.
const LONGEST_LINE: u64 = 1 << 16;

pub type SpanWriter = LineWriter<RequestSpan, File>;

pub fn read_spans(path: &Path) -> Result<Spans, StorageError> {
    summed_lines::read(path, LONGEST_LINE)?.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_core::record::Record;
    use inferometer_core::trace_id::TraceId;
    use std::io::Write;

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
