//! How punctually the simulated engine writes when thousands of streams are open.
//!
//! `cargo bench -p inferometer-sim --bench punctual -- [STREAMS [TOKENS [CHUNK_US [MODEL [DEVICE]]]]]` runs a server on one thread and
//! a reader on another, and prints how much later than due chunks were written, by the server's
//! own clock. CHUNK_US is what the simulated API server needs for a chunk; at 0 all tokens of a
//! step are due at once, which is the worst case.

#![allow(clippy::print_stdout, reason = "it prints its figures")]

use std::{
    error::Error,
    io::{Read, Write},
    net::SocketAddr,
    thread,
    time::{Duration, Instant},
};

use inferometer_catalog::{
    device::{Device, Parallel},
    engine::metric::read,
    memory::MemorySettings,
    model::Model,
    timing::{ApiCost, Timing},
};
use inferometer_sim::{
    Config, EngineSetup, Server,
    engine::{EngineConfig, VllmPolicy},
};
use rustix::{
    thread::{CpuSet, sched_setaffinity},
    time::{ClockId, clock_gettime},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    runtime::Runtime,
    task::JoinSet,
};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| word != "--bench")
        .collect();
    let number = |place: usize, default: u32| {
        arguments
            .get(place)
            .map_or(Ok(default), |text| text.parse())
    };
    let (streams, tokens, chunk_us) = (number(0, 2000)?, number(1, 100)?, number(2, 20)?);
    let name = |place: usize, default: &'static str| {
        arguments
            .get(place)
            .map_or(default, String::as_str)
            .to_owned()
    };
    let config = engine(
        &name(3, "qwen2.5-7b"),
        &name(4, "a100-80g"),
        chunk_us.into(),
    )?;
    let server = Server::bind(
        SocketAddr::from(([127, 0, 0, 1], 0)),
        Config {
            engine: Some(EngineSetup::new(config)),
            ..Config::default()
        },
    )?;
    let address = server.local_addr();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = thread::spawn(move || {
        stay_on(0);
        let served = runtime().map(|runtime| {
            runtime.block_on(server.serve(async {
                let _ = stopped.await;
            }))
        });
        (served.is_ok_and(|served| served.is_ok()), thread_seconds())
    });
    stay_on(1);
    let begun = Instant::now();
    let opening = thread::spawn(move || when_all_run(address, streams));
    let bytes = runtime()?.block_on(read_all(address, streams, tokens))?;
    let took = begun.elapsed().as_secs_f64();
    let text = metrics(address)?;
    let _ = stop.send(());
    let (served, busy) = serving.join().map_err(|_| "the server panicked")?;
    println!(
        "{streams} streams of {tokens} tokens in {took:.1} s, {:.1} MB read; served well: {served}",
        bytes as f64 / 1e6
    );
    println!(
        "the server's thread was busy {:.0} % of the time",
        busy / took * 100.0
    );
    println!("from the first request on:");
    print_figures(&text, "");
    if let Some(opened) = opening.join().map_err(|_| "the watcher panicked")? {
        println!("once all streams run:");
        print_figures(&text, &opened);
    }
    Ok(())
}

fn engine(model: &str, device: &str, chunk_us: f64) -> Result<EngineConfig, Box<dyn Error>> {
    let model = Model::named(model).ok_or("no such model")?;
    let device = Device::named(device).ok_or("no such device")?;
    let policy = VllmPolicy {
        max_num_seqs: 16_384,
        max_num_batched_tokens: 16_384,
        ..VllmPolicy::default()
    };
    let memory = MemorySettings {
        max_model_len: 2048,
        ..MemorySettings::default()
    };
    let timing = Timing::shipped(device);
    let mut config = EngineConfig::vllm(
        &model,
        device,
        &Parallel::default(),
        &timing,
        policy,
        &memory,
    )?;
    config.api = ApiCost {
        request_us: 20.0,
        chunk_us,
        ..ApiCost::FREE
    };
    Ok(config)
}

fn runtime() -> std::io::Result<Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
}

async fn read_all(address: SocketAddr, streams: u32, tokens: u32) -> std::io::Result<u64> {
    let mut readers = JoinSet::new();
    for _ in 0..streams {
        readers.spawn(read_one(address, tokens));
    }
    let mut bytes = 0;
    while let Some(read) = readers.join_next().await {
        bytes += read.map_err(std::io::Error::other)??;
    }
    Ok(bytes)
}

async fn read_one(address: SocketAddr, tokens: u32) -> std::io::Result<u64> {
    let mut stream = TcpStream::connect(address).await?;
    let body = format!(
        r#"{{"stream":true,"ignore_eos":true,"max_tokens":{tokens},"messages":[{{"role":"user","content":"hello"}}]}}"#
    );
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: sim\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).await?;
    let mut bytes = 0;
    let mut buffer = [0; 4096];
    loop {
        match stream.read(&mut buffer).await? {
            0 => return Ok(bytes),
            read => bytes += read as u64,
        }
    }
}

fn metrics(address: SocketAddr) -> std::io::Result<String> {
    let mut stream = std::net::TcpStream::connect(address)?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: sim\r\nConnection: close\r\n\r\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text)
}

/// The metrics at the moment when all streams run, if that ever comes.
fn when_all_run(address: SocketAddr, streams: u32) -> Option<String> {
    loop {
        thread::sleep(Duration::from_millis(50));
        let text = metrics(address).ok()?;
        let value = |name: &str| read(&text).find(|sample| sample.name == name);
        let running = value("vllm:num_requests_running")?.value;
        if running == f64::from(streams) {
            return Some(text);
        }
        if value("vllm:e2e_request_latency_seconds_count")?.value > 0.0 {
            return None;
        }
    }
}

/// What came to pass between two scrapes.
fn print_figures(text: &str, before: &str) {
    let value = |name: &str| {
        let of = |text: &str| {
            read(text)
                .find(|sample| sample.name == name)
                .map(|s| s.value)
        };
        of(text).unwrap_or(f64::NAN) - of(before).unwrap_or(0.0)
    };
    let itl = value("vllm:inter_token_latency_seconds_sum")
        / value("vllm:inter_token_latency_seconds_count");
    println!("mean time between tokens: {:.1} ms", itl * 1e3);
    let chunks = value("inferometer_sim:write_lateness_seconds_count");
    let mean = value("inferometer_sim:write_lateness_seconds_sum") / chunks;
    println!(
        "{chunks} chunks, written {:.2} ms late on average",
        mean * 1e3
    );
    for sample in read(text) {
        if let ("inferometer_sim:write_lateness_seconds_bucket", Some(bound)) =
            (sample.name, sample.label("le"))
        {
            let earlier = read(before)
                .find(|other| other.name == sample.name && other.label("le") == Some(bound));
            let count = sample.value - earlier.map_or(0.0, |earlier| earlier.value);
            println!("  at most {bound} s: {:.2} %", count / chunks * 100.0);
        }
    }
}

/// Keeps the calling thread on a core, so that reader and server share none.
fn stay_on(core: usize) {
    let mut cores = CpuSet::new();
    cores.set(core);
    // On a machine of one core they share it.
    let _ = sched_setaffinity(None, &cores);
}

fn thread_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}
