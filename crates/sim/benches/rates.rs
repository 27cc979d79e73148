//! What the servers themselves can do and cost on this host, read by a client that only
//! counts bytes. Not a test: `cargo bench -p inferometer-sim`.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
    num::NonZeroU32,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

use inferometer_sim::{
    Config, Server,
    null::{NullConfig, NullServer},
};
use rustix::time::{ClockId, clock_gettime};

const ANY_PORT: ([u8; 4], u16) = ([127, 0, 0, 1], 0);

fn main() -> io::Result<()> {
    let wanted = |name: &str| {
        let mut filters = std::env::args().skip(1).filter(|arg| !arg.starts_with('-'));
        filters.next().is_none_or(|filter| name.contains(&filter))
    };
    if wanted("null") {
        report_null()?;
    }
    if wanted("streams") {
        report_streams()?;
    }
    Ok(())
}

fn report_null() -> io::Result<()> {
    for events_per_write in [1, 4, 16, 64] {
        for connections in [1, 8] {
            let rate = null_rate(events_per_write, connections)?;
            writeln!(
                io::stdout(),
                "null server, {events_per_write} events a write, {connections} connections: \
                 {rate:.0} events/s"
            )?;
        }
    }
    Ok(())
}

fn report_streams() -> io::Result<()> {
    for (streams, itl) in [(1024, 21), (9000, 200)] {
        let cost = stream_cost(streams, Duration::from_millis(itl))?;
        writeln!(
            io::stdout(),
            "simulated engine, {streams} streams, a token each {itl} ms: {:.0} tokens/s at {:.0} % \
             of a core, {:.1} KiB a stream",
            cost.tokens_per_s,
            cost.cpu * 100.0,
            cost.kib_per_stream
        )?;
    }
    Ok(())
}

fn request(tokens: u32) -> String {
    let body = format!(
        "{{\"messages\":[{{\"role\":\"user\",\"content\":\"go\"}}],\"stream\":true,\
         \"ignore_eos\":true,\"max_tokens\":{tokens}}}"
    );
    format!(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: sim\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Events per second, over a few seconds.
fn null_rate(events_per_write: u32, connections: u32) -> io::Result<f64> {
    let tokens = 8_000_000 / connections;
    let config = NullConfig {
        events_per_write: NonZeroU32::new(events_per_write).expect("a positive number"),
        ..NullConfig::default()
    };
    let server = NullServer::bind(SocketAddr::from(ANY_PORT), config).map_err(io::Error::other)?;
    let address = server.local_addr();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| server.run(&stop));
        let begun = Instant::now();
        let drain = || {
            let mut stream = TcpStream::connect(address)?;
            stream.write_all(request(tokens).as_bytes())?;
            let mut buf = vec![0; 1 << 20];
            let mut bytes = 0;
            loop {
                let count = stream.read(&mut buf)?;
                bytes += count;
                // The end of the body comes last, so it ends a read.
                if count == 0 || buf[..count].ends_with(b"\r\n0\r\n\r\n") {
                    return io::Result::Ok(bytes);
                }
            }
        };
        let readers: Vec<_> = (0..connections).map(|_| scope.spawn(drain)).collect();
        for reader in readers {
            let bytes = reader.join().expect("no panic")?;
            assert!(bytes > tokens as usize * 200, "the answer came whole");
        }
        let took = begun.elapsed();
        stop.store(true, Relaxed);
        Ok(f64::from(tokens * connections) / took.as_secs_f64())
    })
}

struct Cost {
    tokens_per_s: f64,
    /// Share of one core that the server's thread used.
    cpu: f64,
    kib_per_stream: f64,
}

fn stream_cost(streams: usize, itl: Duration) -> io::Result<Cost> {
    let config = Config {
        ttft: Duration::from_secs(3),
        jitter: itl / 4,
        itl,
        ..Config::default()
    };
    let server = Server::bind(SocketAddr::from(ANY_PORT), config).map_err(io::Error::other)?;
    let address = server.local_addr();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let shutdown = async {
            let _ = stopped.await;
        };
        runtime
            .block_on(server.serve(shutdown))
            .map_err(io::Error::other)?;
        let used = clock_gettime(ClockId::ThreadCPUTime);
        io::Result::Ok(used.tv_sec as f64 + used.tv_nsec as f64 / 1e9)
    });
    let mut clients = Vec::new();
    let before = resident_kib()?;
    let request = request(32_000);
    for _ in 0..streams {
        let mut stream = TcpStream::connect(address)?;
        stream.write_all(request.as_bytes())?;
        clients.push(stream);
    }
    // The streams' tokens stay in the kernel's buffers: nobody reads, which costs nothing.
    let begun = Instant::now();
    thread::sleep(Duration::from_secs(13));
    let kib = resident_kib()?.saturating_sub(before);
    let text = metrics(address)?;
    let ran = begun.elapsed().as_secs_f64();
    let _ = stop.send(());
    let cpu_s = serving.join().expect("no panic")?;
    let produced = text
        .lines()
        .find(|line| line.starts_with("vllm:generation_tokens_total"))
        .and_then(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
        .unwrap_or(0.0);
    Ok(Cost {
        tokens_per_s: produced / (ran - 3.0),
        cpu: cpu_s / ran,
        kib_per_stream: kib as f64 / streams as f64,
    })
}

fn metrics(address: SocketAddr) -> io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: sim\r\nConnection: close\r\n\r\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text)
}

fn resident_kib() -> io::Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
    kib.ok_or_else(|| io::Error::other("no VmRSS"))
}
