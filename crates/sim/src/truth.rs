//! The truth log: what was really sent, and when.
//!
//! One JSON object per request, written when the request ends. Serving only pushes the
//! facts into a channel; a thread of its own formats and writes them.

use std::{
    io::{self, Write},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
        mpsc::Sender,
    },
};

use crate::{clock::Stamp, error::SimError, line_log::LineLog};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chunk {
    /// Immediately before the `write()` that carried the end of the event: no reader can
    /// have seen it earlier.
    pub(crate) written: Stamp,
    pub(crate) tokens: u32,
}

/// The open log; closing it waits until everything is on disk.
pub(crate) struct TruthLog(LineLog<Line>);

/// Without a log, by default: entries cost nothing.
#[derive(Clone, Default)]
pub(crate) struct TruthSink {
    sender: Option<Sender<Line>>,
    /// Set when the server dies on purpose: what it interrupts is then a fault.
    dying: Arc<AtomicBool>,
}

/// One request's facts, gathered while it is served and logged when dropped, so that a
/// request which is cut off by the client or the end of the server is logged as well.
pub(crate) struct TruthEntry(Option<Box<Open>>);

struct Open {
    sink: TruthSink,
    line: Line,
    complete: bool,
}

struct Line {
    id: String,
    arrival: Stamp,
    chunks: Vec<Chunk>,
    end: Option<Stamp>,
    fault: Option<&'static str>,
}

impl TruthLog {
    pub(crate) fn create(path: &Path) -> Result<TruthLog, SimError> {
        let log = LineLog::create(path, "truth-log", |out, line| write_line(out, line));
        let log = log.map_err(|source| SimError::Truth {
            path: path.to_owned(),
            source,
        })?;
        Ok(TruthLog(log))
    }

    pub(crate) fn sink(&self) -> TruthSink {
        TruthSink {
            sender: Some(self.0.sender()),
            dying: Arc::default(),
        }
    }

    /// Waits for the last line. Every sink and entry must be gone by then.
    pub(crate) fn close(self) -> Result<(), SimError> {
        let closed = self.0.close();
        closed.map_err(|(path, source)| SimError::Truth { path, source })
    }
}

impl TruthSink {
    /// From now on, an entry that is dropped incomplete names `die-after` as its fault.
    pub(crate) fn dying(&self) {
        self.dying.store(true, Relaxed);
    }

    pub(crate) fn entry(&self, id: &str, arrival: Stamp) -> TruthEntry {
        let open = || Open {
            sink: self.clone(),
            line: Line {
                id: id.to_owned(),
                arrival,
                chunks: Vec::new(),
                end: None,
                fault: None,
            },
            complete: false,
        };
        TruthEntry(self.sender.is_some().then(|| Box::new(open())))
    }
}

impl TruthEntry {
    /// The request has been answered, or its client has left.
    pub(crate) fn complete(&mut self) {
        if let Some(open) = &mut self.0 {
            open.complete = true;
        }
    }

    pub(crate) fn fault(&mut self, name: Option<&'static str>) {
        if let Some(open) = &mut self.0 {
            open.line.fault = name;
        }
    }

    pub(crate) fn chunk(&mut self, written: Stamp, tokens: u32) {
        if let Some(open) = &mut self.0 {
            open.line.chunks.push(Chunk { written, tokens });
        }
    }

    /// The latest write; the last one said counts as the end of the answer.
    pub(crate) fn end(&mut self, at: Stamp) {
        if let Some(open) = &mut self.0 {
            open.line.end = Some(at);
        }
    }
}

impl Drop for TruthEntry {
    fn drop(&mut self) {
        let Some(open) = self.0.take() else {
            return;
        };
        let mut line = open.line;
        line.end.get_or_insert_with(Stamp::now);
        if !open.complete && line.fault.is_none() && open.sink.dying.load(Relaxed) {
            line.fault = Some("die-after");
        }
        if let Some(sender) = open.sink.sender {
            // The writer stops only on a full disk, which `close` reports.
            let _ = sender.send(line);
        }
    }
}

fn write_line(out: &mut dyn Write, line: &Line) -> io::Result<()> {
    out.write_all(b"{\"id\":")?;
    serde_json::to_writer(&mut *out, &line.id)?;
    write!(out, ",\"arrival_ns\":{},\"chunks\":[", line.arrival.0)?;
    for (index, chunk) in line.chunks.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        write!(out, "{comma}[{},{}]", chunk.written.0, chunk.tokens)?;
    }
    let end = line.end.unwrap_or(line.arrival);
    write!(out, "],\"end_ns\":{},\"fault\":", end.0)?;
    serde_json::to_writer(&mut *out, &line.fault)?;
    out.write_all(b"}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_the_form_of_the_contract() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("truth.jsonl");
        let log = TruthLog::create(&path).unwrap();
        let mut entry = log.sink().entry("a\"b", Stamp(5));
        entry.chunk(Stamp(7), 0);
        entry.chunk(Stamp(9), 4);
        entry.end(Stamp(11));
        drop(entry);
        let mut entry = log.sink().entry("c", Stamp(6));
        entry.fault(Some("hang"));
        entry.end(Stamp(8));
        drop(entry);
        log.close().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(
            text,
            "{\"id\":\"a\\\"b\",\"arrival_ns\":5,\"chunks\":[[7,0],[9,4]],\"end_ns\":11,\"fault\":null}\n\
             {\"id\":\"c\",\"arrival_ns\":6,\"chunks\":[],\"end_ns\":8,\"fault\":\"hang\"}\n"
        );
    }

    #[test]
    fn a_log_that_cannot_be_created_names_the_file() {
        let error = TruthLog::create(Path::new("/nonexistent/truth"))
            .err()
            .unwrap();
        assert!(error.to_string().contains("/nonexistent/truth"), "{error}");
    }
}
