//! A server in a thread, and a plain blocking client for it.

use std::{
    io::{BufRead, BufReader, ErrorKind, Read, Write},
    net::{SocketAddr, TcpStream},
    path::PathBuf,
    thread::JoinHandle,
    time::Duration,
};

use inferometer_sim::{Config, Ending, Server, SimError};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::oneshot;

/// A server that runs in a thread of its own.
pub struct Sim {
    pub address: SocketAddr,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<Result<Ending, SimError>>,
    folder: TempDir,
}

/// A line of the truth log.
#[derive(Debug)]
pub struct Truth {
    pub id: String,
    pub arrival: u64,
    pub chunks: Vec<(u64, u64)>,
    pub end: u64,
    pub fault: Option<String>,
}

impl Sim {
    /// Quick tokens, these faults, and a truth log.
    pub fn with_faults(faults: &str) -> Sim {
        Sim::start(Config {
            faults: faults.parse().expect("known faults"),
            ..quick()
        })
    }

    pub fn start(mut config: Config) -> Sim {
        let folder = tempfile::tempdir().expect("a folder for the truth log");
        config.truth = Some(truth_path(&folder));
        let any_port = SocketAddr::from(([127, 0, 0, 1], 0));
        let server = Server::bind(any_port, config).expect("a free port");
        let address = server.local_addr();
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            runtime.block_on(server.serve(async {
                let _ = stopped.await;
            }))
        });
        Sim {
            address,
            stop,
            thread,
            folder,
        }
    }

    pub fn connect(&self) -> Client {
        Client::connect(self.address)
    }

    /// One request on a connection of its own.
    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.connect().post(path, body)
    }

    pub fn get(&self, path: &str) -> Answer {
        self.connect().ask("GET", path, &[], b"")
    }

    /// Stops the server and reads what it wrote.
    pub fn stop(self) -> Vec<Truth> {
        let _ = self.stop.send(());
        self.thread.join().expect("no panic").expect("served well");
        read_truth(&self.folder)
    }

    /// Waits until the server ends by itself.
    pub fn wait(self) -> Vec<Truth> {
        self.thread.join().expect("no panic").expect("served well");
        read_truth(&self.folder)
    }
}

pub fn quick() -> Config {
    Config {
        ttft: Duration::from_millis(4),
        itl: Duration::from_millis(1),
        ..Config::default()
    }
}

fn truth_path(folder: &TempDir) -> PathBuf {
    folder.path().join("truth.jsonl")
}

pub fn read_truth(folder: &TempDir) -> Vec<Truth> {
    let text = std::fs::read_to_string(truth_path(folder)).expect("a truth log");
    let line = |line: &str| {
        let line: Value = serde_json::from_str(line).expect("a line of JSON");
        let number = |value: &Value| value.as_u64().expect("a number");
        let chunk = |chunk: &Value| (number(&chunk[0]), number(&chunk[1]));
        let chunks = line["chunks"].as_array().expect("chunks");
        Truth {
            id: line["id"].as_str().expect("an id").to_owned(),
            arrival: number(&line["arrival_ns"]),
            chunks: chunks.iter().map(chunk).collect(),
            end: number(&line["end_ns"]),
            fault: line["fault"].as_str().map(str::to_owned),
        }
    };
    text.lines().map(line).collect()
}

impl Truth {
    pub fn tokens(&self) -> u64 {
        self.chunks.iter().map(|chunk| chunk.1).sum()
    }

    pub fn assert_ordered(&self) {
        let stamps = self.chunks.iter().map(|chunk| chunk.0);
        let all: Vec<u64> = [self.arrival]
            .into_iter()
            .chain(stamps)
            .chain([self.end])
            .collect();
        assert!(all.is_sorted(), "{self:?}");
    }
}

/// How a body came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// As its framing announced, or with the connection where that is the framing.
    Proper,
    /// The connection closed too early.
    Cut,
    Reset,
}

#[derive(Debug)]
pub struct Answer {
    pub version: String,
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// The sizes of the body's chunks.
    pub chunk_sizes: Vec<usize>,
    pub end: End,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("UTF-8")
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("JSON")
    }

    /// The data of every event, `[DONE]` included.
    pub fn events(&self) -> Vec<&str> {
        let events = self.text().split("\n\n").filter(|event| !event.is_empty());
        events
            .map(|event| event.strip_prefix("data: ").expect("an event of data"))
            .collect()
    }

    /// The JSON of every event but `[DONE]`.
    pub fn chunks(&self) -> Vec<Value> {
        let events = self.events();
        let data = events.iter().filter(|event| **event != "[DONE]");
        data.map(|event| serde_json::from_str(event).expect("JSON"))
            .collect()
    }
}

pub struct Client(BufReader<TcpStream>);

impl Client {
    pub fn connect(address: SocketAddr) -> Client {
        let stream = TcpStream::connect(address).expect("a server");
        let patience = Some(Duration::from_secs(60));
        stream.set_read_timeout(patience).expect("a valid timeout");
        Client(BufReader::new(stream))
    }

    pub fn send(&mut self, bytes: &[u8]) {
        self.0.get_mut().write_all(bytes).expect("sent");
    }

    /// Sends to a server that may have gone already.
    pub fn send_if_possible(&mut self, bytes: &[u8]) {
        let _ = self.0.get_mut().write_all(bytes);
    }

    pub fn post(&mut self, path: &str, body: &Value) -> Answer {
        self.ask("POST", path, &[], body.to_string().as_bytes())
    }

    pub fn ask(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: sim\r\n");
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
        self.send(&[head.as_bytes(), body].concat());
        self.answer()
    }

    /// Reads one answer; a reset before its head has status 0.
    pub fn answer(&mut self) -> Answer {
        let mut answer = Answer {
            version: String::new(),
            status: 0,
            headers: Vec::new(),
            body: Vec::new(),
            chunk_sizes: Vec::new(),
            end: End::Proper,
        };
        if let Err(end) = self.read_answer(&mut answer) {
            answer.end = end;
        }
        answer
    }

    fn read_answer(&mut self, answer: &mut Answer) -> Result<(), End> {
        let status = self.line()?;
        let mut parts = status.split(' ');
        answer.version = parts.next().expect("a version").to_owned();
        let code = parts.next().expect("a status code");
        answer.status = code.parse().expect("a status code");
        loop {
            let line = self.line()?;
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(": ").expect("a header");
            answer.headers.push((name.to_owned(), value.to_owned()));
        }
        if let Some(length) = answer.header("content-length") {
            let length = length.parse().expect("a length");
            return self.take(length, &mut answer.body);
        }
        if answer.header("transfer-encoding") != Some("chunked") {
            return self
                .0
                .read_to_end(&mut answer.body)
                .map_or(Err(End::Reset), |_| Ok(()));
        }
        loop {
            let size = usize::from_str_radix(&self.line()?, 16).expect("a size in hex");
            if size > 0 {
                answer.chunk_sizes.push(size);
            }
            self.take(size, &mut answer.body)?;
            assert_eq!(self.line()?, "", "a chunk of the announced size");
            if size == 0 {
                return Ok(());
            }
        }
    }

    fn line(&mut self) -> Result<String, End> {
        let mut line = Vec::new();
        match self.0.read_until(b'\n', &mut line) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => panic!("the server is silent"),
            Err(_) => Err(End::Reset),
            Ok(_) if !line.ends_with(b"\r\n") => Err(End::Cut),
            Ok(_) => {
                line.truncate(line.len() - 2);
                Ok(String::from_utf8(line).expect("UTF-8"))
            }
        }
    }

    fn take(&mut self, count: usize, body: &mut Vec<u8>) -> Result<(), End> {
        let mut part = (&mut self.0).take(count as u64);
        match part.read_to_end(body) {
            Err(_) => Err(End::Reset),
            Ok(got) if got < count => Err(End::Cut),
            Ok(_) => Ok(()),
        }
    }

    /// One line as it came.
    pub fn raw_line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).expect("a line");
        line
    }

    /// Whether nothing comes and the connection stays open meanwhile.
    pub fn is_silent_for(&mut self, time: Duration) -> bool {
        let stream = self.0.get_mut();
        stream
            .set_read_timeout(Some(time))
            .expect("a valid timeout");
        let mut byte = [0];
        let got = stream.read(&mut byte);
        got.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    }

    /// Whether the server has closed the connection.
    pub fn is_closed(&mut self) -> bool {
        let mut byte = [0];
        matches!(self.0.read(&mut byte), Ok(0) | Err(_))
    }
}

/// A chat of so many output tokens, streamed.
pub fn chat(tokens: u32) -> Value {
    json!({
        "model": "sim", "stream": true, "ignore_eos": true, "max_tokens": tokens,
        "messages": [{"role": "user", "content": "one two three"}],
    })
}

pub fn with(mut body: Value, field: &str, value: Value) -> Value {
    body[field] = value;
    body
}

pub const CHAT: &str = "/v1/chat/completions";
pub const COMPLETIONS: &str = "/v1/completions";
