//! Receives the traces that a server exports while it is measured: OTLP over HTTP, in protobuf or
//! JSON. What tells times of a request goes to a file at once, so that nothing is held in memory.
//!
//! It stands beside the [`Watch`](crate::Watch), not in the instrument: it has threads of its own,
//! sleeps while nothing comes, and the measured path knows nothing of it.

mod otlp;
mod protobuf;

use inferometer_store::spans_file::SpanWriter;
use otlp::{Form, request_spans};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};
use thiserror::Error;

const MOST_CONNECTIONS: usize = 32;
const LARGEST_HEAD: usize = 16 << 10;
/// Exporters send 512 spans at a time, of about 1 kB each.
const LARGEST_BODY: usize = 16 << 20;
/// More than any run that is explained has; what comes then is counted and let go.
const MOST_SPANS: u64 = 5_000_000;
/// Time between two looks whether the end has come.
const LOOK: Duration = Duration::from_millis(50);
/// How HTTP/2 begins, and with it gRPC.
const HTTP2_PREFACE: &[u8] = b"PRI * HTTP/2.0";

#[derive(Debug, Error)]
pub enum TraceReceiverError {
    #[error("cannot listen on {address} for the server's traces: {source}; choose another address")]
    Listen {
        address: SocketAddr,
        source: std::io::Error,
    },
    #[error(transparent)]
    File(#[from] inferometer_store::error::StorageError),
}

/// What came in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceReport {
    /// Spans that tell times of a request.
    pub spans: u64,
    /// Messages that could not be read.
    pub refused: u64,
    /// Somebody spoke gRPC, which is not understood here.
    pub saw_grpc: bool,
}

#[derive(Debug)]
pub struct TraceReceiver {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    stop: AtomicBool,
    spans: AtomicU64,
    refused: AtomicU64,
    saw_grpc: AtomicBool,
    file: Mutex<SpanWriter>,
}

impl TraceReceiver {
    /// Listens, and writes what comes to a file.
    pub fn start(listen: SocketAddr, file: &Path) -> Result<TraceReceiver, TraceReceiverError> {
        let failed = |source| TraceReceiverError::Listen {
            address: listen,
            source,
        };
        let listener = TcpListener::bind(listen).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let shared = Arc::new(Shared {
            stop: AtomicBool::new(false),
            spans: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            saw_grpc: AtomicBool::new(false),
            file: Mutex::new(SpanWriter::create(file)?),
        });
        let accepting = spawn({
            let shared = Arc::clone(&shared);
            move || accept(&listener, &shared)
        });
        Ok(TraceReceiver {
            address,
            shared,
            accepting,
        })
    }

    /// The address with the port that was really bound.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits until as many spans have come, or none that is late can be expected any more:
    /// exporters send every few seconds.
    pub fn wait_for(&self, spans: u64, at_most: Duration) {
        let begun = Instant::now();
        while self.shared.spans.load(Relaxed) < spans && begun.elapsed() < at_most {
            sleep(LOOK);
        }
    }

    /// Takes nothing more.
    pub fn stop(self) -> TraceReport {
        self.shared.stop.store(true, Relaxed);
        // A thread that panicked has counted what it took.
        let _ = self.accepting.join();
        TraceReport {
            spans: self.shared.spans.load(Relaxed),
            refused: self.shared.refused.load(Relaxed),
            saw_grpc: self.shared.saw_grpc.load(Relaxed),
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    let mut connections: Vec<JoinHandle<()>> = Vec::new();
    while !shared.stop.load(Relaxed) {
        connections.retain(|connection| !connection.is_finished());
        match listener.accept() {
            // One too many is closed; its exporter tries again.
            Ok((stream, _)) if connections.len() < MOST_CONNECTIONS => {
                let shared = Arc::clone(shared);
                connections.push(spawn(move || {
                    // A client that breaks off loses its own message.
                    let _ = serve(stream, &shared);
                }));
            }
            Ok(_) => {}
            Err(_) => sleep(LOOK),
        }
    }
    for connection in connections {
        let _ = connection.join();
    }
}

/// Serves one exporter until it leaves or the end has come.
fn serve(mut stream: TcpStream, shared: &Shared) -> std::io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(LOOK))?;
    stream.set_write_timeout(Some(Duration::from_secs(1)))?;
    let mut buffer = Vec::new();
    loop {
        let answer = match next_message(&buffer) {
            Next::More => {
                if !read_more(&mut stream, &mut buffer, shared)? {
                    return Ok(());
                }
                continue;
            }
            Next::Message { form, body, length } => {
                let answer = shared.take(form, body);
                buffer.drain(..length);
                answer
            }
            Next::Refuse(status) => {
                let grpc = buffer.starts_with(HTTP2_PREFACE);
                shared.saw_grpc.fetch_or(grpc, Relaxed);
                shared.refused.fetch_add(1, Relaxed);
                Answer::Refused(status)
            }
        };
        stream.write_all(answer.text().as_bytes())?;
        if let Answer::Refused(_) = answer {
            return Ok(());
        }
    }
}

/// False where nothing comes any more.
fn read_more(
    stream: &mut TcpStream,
    buffer: &mut Vec<u8>,
    shared: &Shared,
) -> std::io::Result<bool> {
    let mut piece = [0; 16 << 10];
    while !shared.stop.load(Relaxed) {
        match stream.read(&mut piece) {
            Ok(0) => return Ok(false),
            Ok(read) => {
                buffer.extend_from_slice(&piece[..read]);
                return Ok(true);
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}

impl Shared {
    fn take(&self, form: Form, body: &[u8]) -> Answer {
        let Some(spans) = request_spans(form, body) else {
            self.refused.fetch_add(1, Relaxed);
            return Answer::Refused("400 Bad Request");
        };
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        for span in &spans {
            // A full disk ends the file, not the measurement.
            if self.spans.load(Relaxed) >= MOST_SPANS || file.push(span).is_err() {
                break;
            }
            self.spans.fetch_add(1, Relaxed);
        }
        Answer::Taken(form)
    }
}

enum Answer {
    Taken(Form),
    Refused(&'static str),
}

impl Answer {
    fn text(&self) -> String {
        let (status, kind, body) = match self {
            Answer::Taken(Form::Protobuf) => ("200 OK", "application/x-protobuf", ""),
            Answer::Taken(Form::Json) => ("200 OK", "application/json", "{}"),
            Answer::Refused(status) => (*status, "text/plain", ""),
        };
        let close = match self {
            Answer::Taken(_) => "",
            Answer::Refused(_) => "Connection: close\r\n",
        };
        let length = body.len();
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{close}\r\n{body}"
        )
    }
}

enum Next<'a> {
    More,
    Message {
        form: Form,
        body: &'a [u8],
        /// Bytes of head and body.
        length: usize,
    },
    Refuse(&'static str),
}

fn next_message(buffer: &[u8]) -> Next<'_> {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut request = httparse::Request::new(&mut headers);
    let head = match request.parse(buffer) {
        Ok(httparse::Status::Complete(head)) => head,
        Ok(httparse::Status::Partial) if buffer.len() > LARGEST_HEAD => {
            return Next::Refuse("431 Request Header Fields Too Large");
        }
        Ok(httparse::Status::Partial) => return Next::More,
        Err(_) => return Next::Refuse("400 Bad Request"),
    };
    if request.method != Some("POST") {
        return Next::Refuse("405 Method Not Allowed");
    }
    let value = |name: &str| {
        let found = request
            .headers
            .iter()
            .find(|it| it.name.eq_ignore_ascii_case(name));
        found
            .and_then(|it| std::str::from_utf8(it.value).ok())
            .map(str::trim)
    };
    let form = match value("content-type").and_then(|kind| kind.split(';').next()) {
        Some("application/x-protobuf") => Form::Protobuf,
        Some("application/json") => Form::Json,
        _ => return Next::Refuse("415 Unsupported Media Type"),
    };
    if value("content-encoding").is_some_and(|encoding| encoding != "identity") {
        return Next::Refuse("415 Unsupported Media Type");
    }
    let Some(body) = value("content-length").and_then(|length| length.parse::<usize>().ok()) else {
        return Next::Refuse("411 Length Required");
    };
    if body > LARGEST_BODY {
        return Next::Refuse("413 Content Too Large");
    }
    let length = head + body;
    match buffer.get(head..length) {
        Some(body) => Next::Message { form, body, length },
        None => Next::More,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_store::spans_file::read_spans;

    const LONGEST: Duration = Duration::from_secs(60);

    fn receiver(folder: &Path) -> TraceReceiver {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        TraceReceiver::start(any, &folder.join("spans.jsonl")).unwrap()
    }

    fn message(kind: &str, body: &[u8]) -> Vec<u8> {
        let length = body.len();
        let head = format!(
            "POST /v1/traces HTTP/1.1\r\nHost: h\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n"
        );
        [head.as_bytes(), body].concat()
    }

    /// The status of the answer to these bytes.
    fn answered(stream: &mut TcpStream, bytes: &[u8]) -> String {
        stream.write_all(bytes).unwrap();
        let mut answer = Vec::new();
        let mut piece = [0; 1024];
        while !answer.windows(4).any(|four| four == b"\r\n\r\n") {
            let read = stream.read(&mut piece).unwrap();
            assert_ne!(read, 0, "it left without an answer");
            answer.extend_from_slice(&piece[..read]);
        }
        let text = String::from_utf8(answer).unwrap();
        text.split(' ').nth(1).unwrap().to_owned()
    }

    #[test]
    fn spans_come_over_one_connection_after_another_and_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let receiver = receiver(folder.path());
        let protobuf = message("application/x-protobuf", &otlp::tests::exported());
        let mut stream = TcpStream::connect(receiver.address()).unwrap();
        assert_eq!(answered(&mut stream, &protobuf), "200");
        // In two pieces, on the same connection.
        stream.write_all(&protobuf[..50]).unwrap();
        assert_eq!(answered(&mut stream, &protobuf[50..]), "200");
        let mut other = TcpStream::connect(receiver.address()).unwrap();
        let json = message(
            "application/json; charset=utf-8",
            br#"{"resourceSpans": []}"#,
        );
        assert_eq!(answered(&mut other, &json), "200");
        receiver.wait_for(2, LONGEST);
        let report = receiver.stop();
        assert_eq!(
            (report.spans, report.refused, report.saw_grpc),
            (2, 0, false)
        );
        let spans = read_spans(&folder.path().join("spans.jsonl")).unwrap();
        assert!(!spans.is_empty());
    }

    #[test]
    fn what_is_no_trace_is_refused_and_counted() {
        let folder = tempfile::tempdir().unwrap();
        let receiver = receiver(folder.path());
        let head =
            |lines: &str| format!("POST / HTTP/1.1\r\nHost: h\r\n{lines}\r\n\r\n").into_bytes();
        let protobuf = "Content-Type: application/x-protobuf";
        let cases = [
            (b"GET / HTTP/1.1\r\nHost: h\r\n\r\n".to_vec(), "405"),
            (head("Content-Length: 1"), "415"),
            (head(protobuf), "411"),
            (
                head(&format!("{protobuf}\r\nContent-Length: 99999999999")),
                "413",
            ),
            (
                head(&format!(
                    "{protobuf}\r\nContent-Encoding: gzip\r\nContent-Length: 1"
                )),
                "415",
            ),
            (message("application/x-protobuf", &[0xff; 40]), "400"),
            (message("application/json", b"{"), "400"),
            (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(), "400"),
            (
                [b"POST / HTTP/1.1\r\nX: ", &[b'x'; LARGEST_HEAD][..]].concat(),
                "431",
            ),
        ];
        let count = cases.len() as u64;
        for (bytes, status) in cases {
            let mut stream = TcpStream::connect(receiver.address()).unwrap();
            assert_eq!(answered(&mut stream, &bytes), status);
        }
        let report = receiver.stop();
        assert_eq!(
            (report.spans, report.refused, report.saw_grpc),
            (0, count, true)
        );
    }

    #[test]
    fn an_address_that_is_taken_is_told_with_the_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let first = receiver(folder.path());
        let again = TraceReceiver::start(first.address(), &folder.path().join("other.jsonl"));
        let error = again.unwrap_err().to_string();
        assert!(error.contains("choose another address"), "{error}");
        first.stop();
    }
}
