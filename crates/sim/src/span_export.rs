//! Spans of requests, exported as vLLM does where it was started with `--otlp-traces-endpoint`:
//! OTLP in protobuf over HTTP, written here by hand so that no reader is shared with the client.

use std::{io, time::Duration};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::mpsc::{UnboundedReceiver, error::TryRecvError},
    time::{sleep, timeout},
};

/// Time between two exports, and for one. vLLM's own is 5 s unless `OTEL_BSP_SCHEDULE_DELAY` says
/// otherwise.
const EVERY: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(5);
const MOST_SPANS: usize = 512;

/// The trace that a client's header `traceparent` names, and its span there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TraceParent {
    trace: [u8; 16],
    span: [u8; 8],
}

impl TraceParent {
    pub(crate) fn parse(header: &str) -> Option<TraceParent> {
        let mut parts = header.split('-');
        parts.next().filter(|version| version.len() == 2)?;
        let mut parent = TraceParent {
            trace: [0; 16],
            span: [0; 8],
        };
        unhex(parts.next()?, &mut parent.trace)?;
        unhex(parts.next()?, &mut parent.span)?;
        Some(parent)
    }
}

fn unhex(text: &str, to: &mut [u8]) -> Option<()> {
    if text.len() != 2 * to.len() || !text.is_ascii() {
        return None;
    }
    for (place, byte) in to.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * place..2 * place + 2], 16).ok()?;
    }
    Some(())
}

/// A request that is over, with its times in seconds.
#[derive(Clone, Debug)]
pub(crate) struct RequestSpan {
    pub(crate) parent: TraceParent,
    pub(crate) number: u64,
    /// Nanoseconds since 1970.
    pub(crate) began: u64,
    pub(crate) ended: u64,
    /// By the last word of vLLM's names for them.
    pub(crate) times: [(&'static str, f64); 6],
    pub(crate) prompt_tokens: u32,
    pub(crate) output_tokens: u32,
}

impl RequestSpan {
    fn encode(&self) -> Vec<u8> {
        const KIND_SERVER: u64 = 2;
        let mut span = Vec::new();
        bytes(&mut span, 1, &self.parent.trace);
        bytes(&mut span, 2, &self.number.wrapping_add(1).to_be_bytes());
        bytes(&mut span, 4, &self.parent.span);
        bytes(&mut span, 5, b"llm_request");
        varint(&mut span, 6 << 3);
        varint(&mut span, KIND_SERVER);
        fixed(&mut span, 7, self.began);
        fixed(&mut span, 8, self.ended);
        for (name, seconds) in self.times {
            let mut value = Vec::new();
            fixed(&mut value, 4, seconds.to_bits());
            attribute(&mut span, &format!("gen_ai.latency.{name}"), &value);
        }
        for (name, count) in [
            ("gen_ai.usage.prompt_tokens", self.prompt_tokens),
            ("gen_ai.usage.completion_tokens", self.output_tokens),
        ] {
            let mut value = Vec::new();
            varint(&mut value, 3 << 3);
            varint(&mut value, count.into());
            attribute(&mut span, name, &value);
        }
        span
    }
}

/// A message of all spans.
fn encode(spans: &[RequestSpan]) -> Vec<u8> {
    let mut scope = Vec::new();
    let mut name = Vec::new();
    bytes(&mut name, 1, b"vllm.llm_engine");
    bytes(&mut scope, 1, &name);
    for span in spans {
        bytes(&mut scope, 2, &span.encode());
    }
    let (mut resource, mut message) = (Vec::new(), Vec::new());
    bytes(&mut resource, 2, &scope);
    bytes(&mut message, 1, &resource);
    message
}

fn attribute(span: &mut Vec<u8>, name: &str, value: &[u8]) {
    let mut pair = Vec::new();
    bytes(&mut pair, 1, name.as_bytes());
    bytes(&mut pair, 2, value);
    bytes(span, 9, &pair);
}

fn bytes(to: &mut Vec<u8>, field: u64, value: &[u8]) {
    varint(to, field << 3 | 2);
    varint(to, value.len() as u64);
    to.extend_from_slice(value);
}

fn fixed(to: &mut Vec<u8>, field: u64, value: u64) {
    varint(to, field << 3 | 1);
    to.extend_from_slice(&value.to_le_bytes());
}

fn varint(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

/// Where spans go.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Endpoint {
    host: String,
    path: String,
}

impl Endpoint {
    fn parse(url: &str) -> Option<Endpoint> {
        let rest = url.strip_prefix("http://")?;
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        Some(Endpoint {
            host: host.to_owned(),
            path: format!("/{path}"),
        })
    }

    async fn post(&self, body: &[u8]) -> io::Result<()> {
        let mut stream = TcpStream::connect(&self.host).await?;
        let head = format!(
            "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/x-protobuf\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            self.path,
            self.host,
            body.len()
        );
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(body).await?;
        // The first byte of an answer: it was taken.
        stream.read_u8().await.map(drop)
    }
}

/// Exports what comes until nobody sends any more. Like a real exporter it drops what nobody
/// takes: a server does not fail because nobody looks on.
pub(crate) async fn export(url: String, mut spans: UnboundedReceiver<RequestSpan>) {
    let endpoint = Endpoint::parse(&url);
    loop {
        let mut batch = Vec::new();
        let over = loop {
            match spans.try_recv() {
                Ok(span) => batch.push(span),
                Err(TryRecvError::Empty) => break false,
                Err(TryRecvError::Disconnected) => break true,
            }
            if batch.len() == MOST_SPANS {
                break false;
            }
        };
        let more = batch.len() == MOST_SPANS;
        if let Some(endpoint) = endpoint.as_ref().filter(|_| !batch.is_empty()) {
            let _ = timeout(LONGEST, endpoint.post(&encode(&batch))).await;
        }
        if over {
            return;
        }
        if !more {
            sleep(EVERY).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_names_the_trace_and_the_span() {
        let header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let parent = TraceParent::parse(header).unwrap();
        assert_eq!(
            (parent.trace[0], parent.trace[15], parent.span[7]),
            (0x0a, 0x9c, 0x31)
        );
        for bad in [
            "",
            "00",
            "00-0af7-b7ad6b7169203331-01",
            &header.replace('a', "é"),
        ] {
            assert_eq!(TraceParent::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn an_endpoint_is_a_plain_url() {
        let endpoint = Endpoint::parse("http://127.0.0.1:4318/v1/traces").unwrap();
        assert_eq!(endpoint.host.as_str(), "127.0.0.1:4318");
        assert_eq!(endpoint.path.as_str(), "/v1/traces");
        assert_eq!(Endpoint::parse("http://h:1").unwrap().path, "/");
        assert_eq!(Endpoint::parse("grpc://h:1"), None);
    }

    #[test]
    fn numbers_are_written_as_protobuf_has_them() {
        let mut written = Vec::new();
        varint(&mut written, 300);
        bytes(&mut written, 1, b"hi");
        fixed(&mut written, 4, 1.0_f64.to_bits());
        assert_eq!(
            written,
            [
                0xac, 2, 0x0a, 2, b'h', b'i', 0x21, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f
            ]
        );
    }
}
