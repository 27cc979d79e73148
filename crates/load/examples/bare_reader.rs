//! The least that a client can do: a loop that reads sockets, splits lines, decodes each
//! event's JSON and takes the time. `bench/ceiling` holds the instrument against it.
//!
//! Usage: bare_reader HOST:PORT STREAMS REQUESTS TOKENS. Prints events a second.

use rustix::event::{PollFd, PollFlags, poll};
use serde::Deserialize;
use std::borrow::Cow;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Instant;

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
    stamps: Vec<Instant>,
    busy: bool,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, streams, requests, tokens] = arguments.as_slice() else {
        panic!("usage: bare_reader HOST:PORT STREAMS REQUESTS TOKENS");
    };
    let streams: usize = streams.parse().expect("a number of streams");
    let requests: usize = requests.parse().expect("a number of requests");
    let body = format!(r#"{{"model":"null","stream":true,"max_tokens":{tokens}}}"#);
    let request = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut connections: Vec<Connection> = (0..streams)
        .map(|_| {
            let socket = TcpStream::connect(address).expect("a server");
            socket.set_nodelay(true).expect("a socket option");
            Connection {
                socket,
                rest: Vec::new(),
                stamps: Vec::new(),
                busy: false,
            }
        })
        .collect();
    let begun = Instant::now();
    let (mut sent, mut done, mut events) = (0, 0, 0u64);
    let mut buffer = vec![0; 64 << 10];
    let mut order = Vec::new();
    while done < requests {
        for connection in &mut connections {
            if !connection.busy && sent < requests {
                connection
                    .socket
                    .write_all(request.as_bytes())
                    .expect("a server that reads");
                connection.busy = true;
                sent += 1;
            }
        }
        order.clear();
        {
            let mut waiting: Vec<PollFd<'_>> = connections
                .iter()
                .map(|connection| PollFd::new(&connection.socket, PollFlags::IN))
                .collect();
            poll(&mut waiting, None).expect("poll");
            order.extend(
                (0..streams).filter(|&place| waiting[place].revents().contains(PollFlags::IN)),
            );
        }
        for &place in &order {
            let connection = &mut connections[place];
            let read = connection
                .socket
                .read(&mut buffer)
                .expect("a server that writes");
            let now = Instant::now();
            connection.rest.extend_from_slice(&buffer[..read]);
            let mut begin = 0;
            while let Some(end) = memchr::memchr(b'\n', &connection.rest[begin..]) {
                let line = &connection.rest[begin..begin + end];
                begin += end + 1;
                let Some(data) = line.strip_prefix(b"data: ") else {
                    continue;
                };
                if data == b"[DONE]" {
                    connection.busy = false;
                    connection.stamps.clear();
                    done += 1;
                    continue;
                }
                let chunk: Chunk<'_> = serde_json::from_slice(data).expect("JSON");
                let text = chunk
                    .choices
                    .first()
                    .and_then(|choice| choice.delta.content.as_ref());
                if text.is_some_and(|text| !text.is_empty()) {
                    connection.stamps.push(now);
                    events += 1;
                }
            }
            connection.rest.drain(..begin);
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    let out = format!("{:.0}\n", events as f64 / seconds);
    std::io::stdout()
        .write_all(out.as_bytes())
        .expect("an output");
}
