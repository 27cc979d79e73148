//! Speed of the receive path: the SSE parser, the decoder, a whole answer, and answers read
//! from memory by one and by two threads. Run with `cargo bench -p inferometer-load`.
//!
//! What the machine can do at most, and the same against sockets, is in `bench/ceiling`.

use divan::Bencher;
use divan::counter::ItemsCount;
use inferometer_core::record::Record;
use inferometer_core::units::Offset;
use inferometer_load::answer::{AnswerProgress, AnswerReader};
use inferometer_load::api::{CHAT, Decoder};
use inferometer_load::clock::Clock;
use inferometer_load::exchange::{ExchangeContext, Timeouts};
use inferometer_load::flight::{Flight, Sink};
use inferometer_load::live::StageCounters;
use inferometer_load::sse::SseParser;
use inferometer_sim::null::{NullConfig, NullServer};
use inferometer_text::secret::Secrets;
use std::hint::black_box;
use std::num::NonZeroU32;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tokio::net::TcpStream;

fn main() {
    divan::main();
}

const TOKENS: usize = 1_000;

fn message(token: usize) -> String {
    format!(
        r#"{{"id":"chatcmpl-5f1c9e0d2b7a4f0e","object":"chat.completion.chunk","created":1763170000,"model":"Qwen/Qwen2.5-7B-Instruct","choices":[{{"index":0,"delta":{{"content":" word{}"}},"logprobs":null,"finish_reason":null,"token_ids":null}}]}}"#,
        token % 10
    )
}

fn events() -> Vec<u8> {
    let tokens: String = (0..TOKENS)
        .map(|token| format!("data: {}\n\n", message(token)))
        .collect();
    let end = r#"data: {"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}"#;
    format!("{tokens}{end}\n\ndata: [DONE]\n\n").into_bytes()
}

/// A whole HTTP answer, one HTTP chunk an event.
fn answer() -> Vec<u8> {
    let mut wire =
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
            .to_vec();
    for event in events()
        .split_inclusive(|&byte| byte == b'\n')
        .collect::<Vec<_>>()
        .chunks(2)
    {
        let event = event.concat();
        wire.extend_from_slice(format!("{:x}\r\n", event.len()).as_bytes());
        wire.extend_from_slice(&event);
        wire.extend_from_slice(b"\r\n");
    }
    wire.extend_from_slice(b"0\r\n\r\n");
    wire
}

fn read(wire: &[u8], piece: usize) -> Record {
    let mut record = Record {
        streamed: true,
        ..Record::default()
    };
    let mut reader = AnswerReader::new(CHAT);
    for (at, piece) in wire.chunks(piece).enumerate() {
        if let AnswerProgress::Over { .. } = reader.take(piece, Offset(at as u64), &mut record) {
            break;
        }
    }
    assert_eq!(record.chunks.len(), TOKENS);
    record
}

#[divan::bench]
fn sse_parser(bencher: Bencher<'_, '_>) {
    let body = events();
    bencher.counter(ItemsCount::new(TOKENS)).bench(|| {
        let mut parser = SseParser::default();
        let mut bytes = 0;
        parser
            .feed(black_box(&body), |event| bytes += event.data.len())
            .expect("a short stream");
        bytes
    });
}

#[divan::bench]
fn json_in_full(bencher: Bencher<'_, '_>) {
    let json = message(7);
    bencher
        .counter(ItemsCount::new(1u32))
        .bench(|| CHAT.message(black_box(json.as_bytes())));
}

#[divan::bench]
fn json_by_shape(bencher: Bencher<'_, '_>) {
    let json = message(7);
    let mut decoder = Decoder::new(CHAT);
    decoder.decode(json.as_bytes()).expect("JSON");
    bencher
        .counter(ItemsCount::new(1u32))
        .bench_local(|| decoder.decode(black_box(json.as_bytes())));
}

/// An answer in reads of one event, of sixteen, and of whole buffers.
#[divan::bench(args = [400, 6_400, 65_536])]
fn answer_from_memory(bencher: Bencher<'_, '_>, piece: usize) {
    let wire = answer();
    bencher
        .counter(ItemsCount::new(TOKENS))
        .bench(|| read(black_box(&wire), piece));
}

/// The same on one and on two threads that share nothing: scaling without a socket.
#[divan::bench(threads = [1, 2])]
fn answers_in_parallel(bencher: Bencher<'_, '_>) {
    let wire = answer();
    bencher
        .counter(ItemsCount::new(TOKENS))
        .bench(|| read(black_box(&wire), 400));
}

/// The whole receive path against a null server on loopback, which writes one event at a time
/// or sixteen; the server runs in this process, on the other core.
#[divan::bench(args = [1, 16], sample_count = 20)]
fn answer_over_loopback(bencher: Bencher<'_, '_>, events_per_write: u32) {
    static NEVER: AtomicBool = AtomicBool::new(false);
    const LONG: usize = 50_000;
    let config = NullConfig {
        events_per_write: NonZeroU32::new(events_per_write).expect("not 0"),
        ..NullConfig::default()
    };
    let server =
        NullServer::bind("127.0.0.1:0".parse().expect("an address"), config).expect("a port");
    let address = server.local_addr();
    std::thread::spawn(move || server.run(&NEVER));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let mut stream = runtime
        .block_on(TcpStream::connect(address))
        .expect("the null server");
    let limit = Duration::from_secs(60);
    let bench = ExchangeContext::new(
        Clock::start(),
        CHAT,
        Timeouts {
            read: limit,
            request: limit,
        },
    );
    let body = format!(r#"{{"model":"null","stream":true,"max_tokens":{LONG}}}"#);
    let request = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: {address}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    bencher.counter(ItemsCount::new(LONG)).bench_local(|| {
        let (entries, _) = std::sync::mpsc::channel();
        let sink = Rc::new(Sink {
            entries,
            live: Arc::new(StageCounters::new(0)),
            slos: Arc::new([]),
            secrets: Arc::new(Secrets::default()),
        });
        let mut flight = Flight::begin(
            Record {
                streamed: true,
                ..Record::default()
            },
            sink,
        );
        let now = bench.clock.now();
        runtime.block_on(bench.exchange(&mut stream, now, request.as_bytes(), &mut flight));
        assert_eq!(flight.record.chunks.len(), LONG);
    });
}
