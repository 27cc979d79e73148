//! Stand-ins: a server that answers what a test wants, and the example program as supervisor.

use inferometer_engine::{
    Access, Launch, LaunchTimeouts, Readiness, SUPERVISOR_WORD, StopSignal, Supervisor,
};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The example program `launch`, which `cargo test` builds beside the tests.
pub fn launcher() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let folder = own.parent().unwrap().parent().unwrap().join("examples");
    let program = folder.join("launch");
    assert!(
        program.exists(),
        "build it: cargo test -p inferometer-engine --examples"
    );
    program
}

/// A shell script as engine, ready when it says so.
pub fn script(folder: &Path, script: &str) -> Launch {
    Launch {
        engine: inferometer_catalog::engine::EngineKind::Vllm,
        words: ["sh", "-c", script].map(str::to_owned).to_vec(),
        environment: Vec::new(),
        url: format!(
            "http://127.0.0.1:{}",
            inferometer_engine::free_port().unwrap()
        ),
        access: Access::default(),
        log: folder.join("server/engine.log"),
        ready: Readiness {
            probes: Vec::new(),
            line: Some("Application startup complete.".into()),
            instead: Vec::new(),
        },
        timeouts: LaunchTimeouts {
            ready: Duration::from_secs(120),
            silence: Duration::from_secs(120),
            stop: Duration::from_secs(60),
            memory: Duration::ZERO,
        },
        signal: StopSignal::Terminate,
        stop: None,
        registry: Some(folder.join("engines")),
        supervisor: Supervisor {
            program: launcher(),
            arguments: vec![SUPERVISOR_WORD.into()],
        },
        devices: None,
    }
}

/// Serves `answer(path)` on a listener until the test ends.
pub fn serve(
    listener: TcpListener,
    answer: impl Fn(&str) -> (u16, String) + Send + Sync + 'static,
) -> String {
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let mut reader = BufReader::new(stream.try_clone().unwrap().take(1 << 16));
            let mut first = String::new();
            let _ = reader.read_line(&mut first);
            let mut line = String::new();
            while reader.read_line(&mut line).is_ok_and(|n| n > 2) {
                line.clear();
            }
            let path = first.split_whitespace().nth(1).unwrap_or("/");
            let (status, body) = answer(path);
            let _ = write!(
                stream,
                "HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
        }
    });
    url
}

/// Is a process there, and not a zombie?
pub fn lives(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .trim()
        .chars()
        .next();
    state.is_some_and(|state| state != 'Z' && state != 'X')
}

/// Waits for something to become true; for long, since the machine may be slow.
pub fn eventually(mut is_true: impl FnMut() -> bool) -> bool {
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(60) {
        if is_true() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

/// The numbers in a file that a script writes, one per line.
pub fn pids(path: &Path) -> Vec<i32> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines()
        .filter_map(|line| line.trim().parse().ok())
        .collect()
}
