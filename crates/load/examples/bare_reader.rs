//! The least that a client can do: a loop that reads sockets, splits lines, decodes each
//! event's JSON and takes the time. `bench/ceiling` and `bench/short` hold the instrument against
//! it.
//!
//! Usage: bare_reader HOST:PORT STREAMS REQUESTS TOKENS [STAMPS SPREAD_MS | PROMPT_WORDS]. Prints
//! events a second. With STAMPS, writes what it saw of each request there, one JSON object a line,
//! for `truth_error`; the first requests of the streams are spread over SPREAD_MS. The prompt is
//! the same one word, or PROMPT_WORDS of it.

use rustix::event::epoll;
use rustix::time::{ClockId, clock_gettime};
use serde::Deserialize;
use std::borrow::Cow;
use std::io::{Read, Write};
use std::net::TcpStream;

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow)]
    choices: Vec<Choice<'a>>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    delta: Delta<'a>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow, default)]
    content: Option<Cow<'a, str>>,
}

struct Connection {
    socket: TcpStream,
    rest: Vec<u8>,
    begins: u64,
    request: u64,
    sent: u64,
    stamps: Vec<u64>,
    busy: bool,
}

/// CLOCK_MONOTONIC in nanoseconds.
fn now() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, streams, requests, tokens, further @ ..] = arguments.as_slice() else {
        panic!("usage: bare_reader HOST:PORT STREAMS REQUESTS TOKENS [STAMPS SPREAD_MS | WORDS]");
    };
    let (stamps, words) = match further {
        [file, spread] => (Some((file, spread)), 1),
        [words] => (None, words.parse().expect("a number of words")),
        _ => (None, 1),
    };
    let streams: usize = streams.parse().expect("a number of streams");
    let requests: u64 = requests.parse().expect("a number of requests");
    let spread: u64 = stamps.map_or(0, |(_, spread)| spread.parse().expect("milliseconds"));
    let mut seen: Vec<String> = Vec::new();
    let body = format!(
        r#"{{"stream":true,"ignore_eos":true,"max_tokens":{tokens},"messages":[{{"role":"user","content":"{}"}}]}}"#,
        vec!["hello"; words].join(" ")
    );
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n",
        body.len()
    );
    let queue = epoll::create(epoll::CreateFlags::empty()).expect("an event queue");
    let begun = now();
    let mut connections: Vec<Connection> = (0..streams)
        .map(|place| {
            let socket = TcpStream::connect(address).expect("a server");
            socket.set_nodelay(true).expect("a socket option");
            let data = epoll::EventData::new_u64(place as u64);
            epoll::add(&queue, &socket, data, epoll::EventFlags::IN).expect("a watched socket");
            Connection {
                socket,
                rest: Vec::new(),
                begins: begun + spread * 1_000_000 * place as u64 / streams as u64,
                request: 0,
                sent: 0,
                stamps: Vec::new(),
                busy: false,
            }
        })
        .collect();
    let (mut sent, mut done, mut events) = (0, 0, 0u64);
    let mut send = |connection: &mut Connection| {
        let request = format!("{head}x-request-id: bare-{sent}\r\n\r\n{body}");
        connection.sent = now();
        connection
            .socket
            .write_all(request.as_bytes())
            .expect("a server that reads");
        connection.busy = true;
        connection.request = sent;
        sent += 1;
        sent < requests
    };
    let mut buffer = vec![0; 64 << 10];
    let mut ready = Vec::with_capacity(1024);
    let mut more = true;
    let mut next = 0;
    while done < requests {
        while more && next < streams && connections[next].begins <= now() {
            more = send(&mut connections[next]);
            next += 1;
        }
        let wait = match connections.get(next).filter(|_| more) {
            Some(connection) => connection.begins.saturating_sub(now()),
            None => 1_000_000_000,
        };
        let wait = rustix::time::Timespec {
            tv_sec: (wait / 1_000_000_000) as _,
            tv_nsec: (wait % 1_000_000_000) as _,
        };
        ready.clear();
        epoll::wait(
            &queue,
            rustix::buffer::spare_capacity(&mut ready),
            Some(&wait),
        )
        .expect("events");
        for event in &ready {
            let connection = &mut connections[event.data.u64() as usize];
            let read = connection
                .socket
                .read(&mut buffer)
                .expect("a server that writes");
            let at = now();
            connection.rest.extend_from_slice(&buffer[..read]);
            let mut begin = 0;
            let mut over = false;
            while let Some(end) = memchr::memchr(b'\n', &connection.rest[begin..]) {
                let line = &connection.rest[begin..begin + end];
                begin += end + 1;
                let refused = line.starts_with(b"HTTP/1.1") && !line.starts_with(b"HTTP/1.1 200");
                assert!(!refused, "{}", String::from_utf8_lossy(&connection.rest));
                let Some(data) = line.strip_prefix(b"data: ") else {
                    continue;
                };
                if data == b"[DONE]" {
                    over = true;
                    continue;
                }
                let chunk: Chunk<'_> = serde_json::from_slice(data).expect("JSON");
                let text = chunk
                    .choices
                    .first()
                    .and_then(|choice| choice.delta.content.as_ref());
                if text.is_some_and(|text| !text.is_empty()) {
                    connection.stamps.push(at);
                    events += 1;
                }
            }
            connection.rest.drain(..begin);
            if over {
                done += 1;
                if stamps.is_some() {
                    seen.push(format!(
                        r#"{{"id":"bare-{}","sent_ns":{},"chunk_ns":{:?}}}"#,
                        connection.request, connection.sent, connection.stamps
                    ));
                }
                connection.stamps.clear();
                connection.busy = false;
                if more {
                    more = send(connection);
                }
            }
        }
    }
    let seconds = (now() - begun) as f64 / 1e9;
    if let Some((file, _)) = stamps {
        std::fs::write(file, seen.join("\n")).expect("a file for the stamps");
    }
    let out = format!("{:.0}\n", events as f64 / seconds);
    std::io::stdout()
        .write_all(out.as_bytes())
        .expect("an output");
}
