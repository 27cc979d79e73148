//! A small HTTP server on loopback that answers, or misbehaves, by a script. For tests only.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Request {
    pub target: String,
    headers: Vec<(String, String)>,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// First byte that is asked for, and the one after the last, if it is a range of the version
    /// with this ETag.
    fn range_of(&self, etag: &str, length: usize) -> Option<(usize, usize)> {
        let range = self.header("range")?.strip_prefix("bytes=")?;
        let (from, last) = range.split_once('-')?;
        let end = match last {
            "" => length,
            last => last.parse::<usize>().ok()?.saturating_add(1).min(length),
        };
        let same = self.header("if-range").is_none_or(|known| known == etag);
        Some((from.parse().ok().filter(|_| same)?, end))
    }
}

/// What is sent before the connection is closed.
pub struct Sent {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    stays: bool,
}

impl Sent {
    pub fn status(status: u16, body: &str) -> Self {
        let length = body.len();
        Sent::bare(status, body.as_bytes()).header("Content-Length", length)
    }

    pub fn redirect(to: &str) -> Self {
        Sent::status(302, "").header("Location", to)
    }

    /// The file, or the part of it that the request asks for.
    pub fn file(request: &Request, body: &[u8], etag: &str) -> Self {
        let sent = match request.range_of(etag, body.len()) {
            Some((from, end)) if from >= end => Sent::status(416, ""),
            Some((from, end)) => {
                let range = format!("bytes {from}-{}/{}", end - 1, body.len());
                Sent::bare(206, &body[from..end])
                    .header("Content-Range", range)
                    .header("Content-Length", end - from)
            }
            None => Sent::bare(200, body).header("Content-Length", body.len()),
        };
        sent.header("ETag", etag)
    }

    /// Says nothing about its length.
    pub fn bare(status: u16, body: &[u8]) -> Self {
        Sent {
            status,
            headers: Vec::new(),
            body: body.to_vec(),
            stays: false,
        }
    }

    pub fn header(mut self, name: &str, value: impl ToString) -> Self {
        self.headers.push((name.to_owned(), value.to_string()));
        self
    }

    /// Hangs up after this much of the body.
    pub fn broken_after(mut self, bytes: usize) -> Self {
        self.body.truncate(bytes);
        self
    }

    /// Sends no more, but does not hang up either.
    pub fn then_silent(mut self) -> Self {
        self.stays = true;
        self
    }
}

/// A server that lives as long as the test; `None` from the script hangs up without a word.
pub struct Server {
    pub origin: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    /// Answers by a script that also knows how many requests came before.
    pub fn start(script: impl Fn(usize, &Request) -> Option<Sent> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
        let origin = format!(
            "http://{}",
            listener
                .local_addr()
                .expect("a bound socket has an address")
        );
        let requests = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&requests);
        let script = Arc::new(script);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (log, script) = (Arc::clone(&log), Arc::clone(&script));
                std::thread::spawn(move || serve(stream, &log, &*script));
            }
        });
        Server { origin, requests }
    }

    pub fn requests(&self) -> Vec<Request> {
        self.requests
            .lock()
            .expect("no thread panics with the log locked")
            .clone()
    }
}

fn serve(
    mut stream: TcpStream,
    log: &Mutex<Vec<Request>>,
    script: &dyn Fn(usize, &Request) -> Option<Sent>,
) -> Option<()> {
    let mut lines = BufReader::new(stream.try_clone().ok()?).lines();
    let target = lines.next()?.ok()?.split(' ').nth(1)?.to_owned();
    let headers = lines
        .map_while(Result::ok)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| {
            let (name, value) = line.split_once(':')?;
            Some((name.to_owned(), value.trim().to_owned()))
        })
        .collect();
    let request = Request { target, headers };
    let before = {
        let mut log = log.lock().expect("no thread panics with the log locked");
        log.push(request.clone());
        log.len() - 1
    };
    let sent = script(before, &request)?;
    let mut head = format!("HTTP/1.1 {} X\r\nConnection: close\r\n", sent.status);
    for (name, value) in &sent.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(b"\r\n").ok()?;
    stream.write_all(&sent.body).ok()?;
    stream.flush().ok()?;
    if sent.stays {
        std::thread::sleep(Duration::from_secs(600));
    }
    Some(())
}
