//! Starting the binary and its servers, and reading what it leaves.

use inferometer_core::doubt::DoubtCode;
use inferometer_core::record::{Record, Stage};
use inferometer_core::summary::Summary;
use inferometer_store::run_dir::RunDir;
use inferometer_text::Lang;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Far beyond what any of these runs takes; a process that is still there has hung.
pub const HUNG: Duration = Duration::from_secs(240);

/// A host that is shared with other tests is late at any time: that makes none of their runs
/// invalid.
pub const ON_ANY_HOST: [&str; 8] = [
    "--threshold",
    "lag-invalid-factor=1e9",
    "--threshold",
    "in-flight-share=0",
    "--threshold",
    "ceiling-share=1e9",
    "--threshold",
    "thread-cpu-share=1e9",
];

/// The folder in which a test runs its commands.
pub struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    pub fn new() -> Place {
        Place {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// A shell script that can be run, in a program's place.
    pub fn script(&self, name: &str, body: &str) -> String {
        std::fs::create_dir_all(self.path("bin")).unwrap();
        let path = self.write(&format!("bin/{name}"), format!("#!/bin/sh\n{body}\n"));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// The binary with nothing of this machine's environment that could change what it does.
    pub fn command<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_inferometer"));
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env("XDG_CACHE_HOME", self.path("cache"))
            .env("XDG_STATE_HOME", self.path("state"))
            .env_remove("CI")
            .env_remove("INFEROMETER_REGISTRY")
            .env_remove("COLUMNS")
            .env_remove("OPENAI_API_KEY")
            .env_remove("LC_ALL")
            .env_remove("LC_MESSAGES")
            .env("LANG", "C")
            .stdin(Stdio::null());
        command
    }

    /// Runs the binary to its end.
    pub fn run(&self, arguments: &[&str]) -> Ended {
        Started::new(self.command(arguments)).wait()
    }

    /// `inferometer run` that is expected to begin: its results are read as well.
    pub fn measure(&self, url: &str, options: &[&str]) -> Run {
        self.measure_with(url, options, |_| {})
    }

    pub fn measure_with(
        &self,
        url: &str,
        options: &[&str],
        change: impl FnOnce(&mut Command),
    ) -> Run {
        let out = self.free_name();
        let mut command = self.command(self.measurement(url, &out, options));
        change(&mut command);
        let ended = Started::new(command).wait();
        Run::read(ended, out)
    }

    /// Starts the same and lets it run.
    pub fn start(&self, url: &str, options: &[&str]) -> (Started, PathBuf) {
        let out = self.free_name();
        let command = self.command(self.measurement(url, &out, options));
        (Started::new(command), out)
    }

    fn measurement(&self, url: &str, out: &Path, options: &[&str]) -> Vec<String> {
        let out = out.to_str().unwrap();
        let fixed = [
            "run",
            url,
            "--lang",
            "en",
            "--quiet",
            "--out",
            out,
            "--input-tokens",
            "16",
        ];
        // Prompts of one's own have no length to ask for.
        let own = options.iter().any(|option| {
            [
                "--prompt",
                "--data",
                "--input-tokens",
                "--input-chars",
                "--length-pairs",
                "--workload",
                "--config",
                "--audio",
            ]
            .contains(option)
        });
        let fixed = if own { &fixed[..7] } else { &fixed[..] };
        fixed
            .iter()
            .chain(&ON_ANY_HOST)
            .chain(options)
            .filter(|word| !word.is_empty())
            .map(|word| (*word).to_owned())
            .collect()
    }

    fn free_name(&self) -> PathBuf {
        (1..)
            .map(|number| self.path(&format!("run-{number}")))
            .find(|path| !path.exists())
            .unwrap()
    }

    /// Files of a folder of this place, with those of the folders in it.
    pub fn files(&self, folder: &str) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut folders = vec![self.path(folder)];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path)
                } else {
                    found.push(path)
                }
            }
        }
        found
    }
}

/// A process under way; killed if the test leaves first.
pub struct Started {
    child: Child,
    stdout: Option<JoinHandle<String>>,
    stderr: Option<JoinHandle<String>>,
}

impl Started {
    pub fn new(mut command: Command) -> Started {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        fn read(mut from: impl Read + Send + 'static) -> JoinHandle<String> {
            std::thread::spawn(move || {
                let mut bytes = Vec::new();
                let _ = from.read_to_end(&mut bytes);
                String::from_utf8_lossy(&bytes).into_owned()
            })
        }
        let stdout = child.stdout.take().map(read);
        let stderr = child.stderr.take().map(read);
        Started {
            child,
            stdout,
            stderr,
        }
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), signal)
            .unwrap();
    }

    pub fn wait(mut self) -> Ended {
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(begun.elapsed() < HUNG, "the process hangs");
            std::thread::sleep(Duration::from_millis(5));
        };
        let text = |thread: &mut Option<JoinHandle<String>>| thread.take().unwrap().join().unwrap();
        let stdout = text(&mut self.stdout);
        crate::schemas::check_printed(&stdout);
        Ended {
            code: status.code(),
            stdout,
            stderr: text(&mut self.stderr),
        }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a process said, and its exit code unless a signal ended it.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ended {
    /// Could not run, and says so in one line with a remedy.
    #[track_caller]
    pub fn assert_refused(&self, remedies: &[&str]) {
        assert_eq!(self.code, Some(2), "{self:?}");
        assert_eq!(self.stdout, "");
        assert_eq!(self.stderr.lines().count(), 1, "{}", self.stderr);
        assert!(self.stderr.starts_with("error: "), "{}", self.stderr);
        for remedy in remedies {
            assert!(
                self.stderr.contains(remedy),
                "'{remedy}' is missing in: {}",
                self.stderr
            );
        }
    }
}

/// A run that was kept.
pub struct Run {
    pub ended: Ended,
    pub path: PathBuf,
    pub summary: Summary,
    /// Of the measured part, by their number.
    pub records: Vec<Record>,
    pub warmup: Vec<Record>,
    pub hold: Vec<Record>,
    pub origin_ns: u64,
    /// As the preflight found it.
    pub api: String,
    pub notes: Vec<String>,
}

impl Run {
    #[track_caller]
    pub fn read(ended: Ended, path: PathBuf) -> Run {
        let directory = RunDir::open(&path).unwrap_or_else(|error| panic!("{error}: {ended:?}"));
        let environment = directory.environment().unwrap();
        let of = |stage: Stage| {
            let all = records(&path).into_iter();
            all.filter(|record| record.stage == stage).collect()
        };
        let summary = directory
            .summary()
            .unwrap_or_else(|error| panic!("{error}: {ended:?}"));
        let run = Run {
            summary,
            records: of(Stage::Measured),
            warmup: of(Stage::Warmup),
            hold: of(Stage::Hold),
            origin_ns: environment.origin_monotonic_ns,
            api: environment.server.api,
            notes: (environment.notes.iter())
                .map(|note| inferometer_message::notes::text(note, Lang::En))
                .collect(),
            ended,
            path,
        };
        run.assert_accounted_for();
        run
    }

    /// Holds in every run, whatever happened to it.
    #[track_caller]
    pub fn assert_accounted_for(&self) {
        let accounts = self.summary.requests;
        assert_eq!(
            accounts.planned,
            accounts.ok + accounts.failed + accounts.cut + accounts.cancelled + accounts.unsent,
            "{accounts:?}"
        );
        assert_eq!(
            self.records.len() as u64,
            accounts.planned - accounts.unsent
        );
        assert!(!self.doubts(DoubtCode::LostRequests));
    }

    pub fn doubts(&self, code: DoubtCode) -> bool {
        self.summary.doubts.iter().any(|doubt| doubt.code == code)
    }

    #[track_caller]
    pub fn assert_all_ok(&self, requests: u64) {
        let accounts = self.summary.requests;
        assert_eq!(
            (accounts.planned, accounts.ok),
            (requests, requests),
            "{:?}",
            self.summary.failures
        );
    }
}

/// All records of a run, by their number.
pub fn records(path: &Path) -> Vec<Record> {
    let mut records: Vec<Record> = RunDir::open(path)
        .unwrap()
        .records()
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    records.sort_by_key(|record| record.index);
    records
}

/// Tries until it works, for things that happen on another thread's or process's time.
pub fn until<T>(what: &str, mut attempt: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = attempt() {
            return found;
        }
        assert!(begun.elapsed() < HUNG, "{what} did not come");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// `inferometer sim` on a free port.
pub struct Sim {
    child: Child,
    stdin: Option<ChildStdin>,
    pub url: String,
    truth: PathBuf,
    _folder: tempfile::TempDir,
}

impl Sim {
    /// Quick: 10 ms to the first token and 2 ms between tokens, unless the options differ.
    pub fn start(options: &[&str]) -> Sim {
        Sim::start_with(options, |_| {})
    }

    pub fn with_faults(faults: &str) -> Sim {
        Sim::start(&["--faults", faults])
    }

    /// With a scheduler; options may end in an engine's command.
    pub fn scheduled(options: &[&str]) -> Sim {
        Sim::spawn(&[], options, |_| {})
    }

    pub fn scheduled_with(options: &[&str], change: impl FnOnce(&mut Command)) -> Sim {
        Sim::spawn(&[], options, change)
    }

    /// Waits until it ends by itself, with which status.
    pub fn ended(mut self) -> Option<i32> {
        until("the end of the server", || self.child.try_wait().unwrap()).code()
    }

    pub fn start_with(options: &[&str], change: impl FnOnce(&mut Command)) -> Sim {
        let quick = [["--ttft", "10ms"], ["--itl", "2ms"]];
        let quick = quick.iter().filter(|quick| !options.contains(&quick[0]));
        Sim::spawn(
            &quick.flatten().copied().collect::<Vec<_>>(),
            options,
            change,
        )
    }

    fn spawn(times: &[&str], options: &[&str], change: impl FnOnce(&mut Command)) -> Sim {
        let folder = tempfile::tempdir().unwrap();
        let truth = folder.path().join("truth.jsonl");
        let mut command = Command::new(env!("CARGO_BIN_EXE_inferometer"));
        command
            .args(["sim", "--until-stdin-closes", "--listen", "127.0.0.1:0"])
            .arg("--truth")
            .arg(&truth)
            .args(times)
            .args(options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        change(&mut command);
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let url = line
            .trim()
            .strip_prefix("listening on ")
            .expect("the server says where it listens");
        Sim {
            url: url.to_owned(),
            stdin: child.stdin.take(),
            child,
            truth,
            _folder: folder,
        }
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), signal)
            .unwrap();
    }

    pub fn port(&self) -> &str {
        self.url
            .rsplit(':')
            .next()
            .unwrap()
            .split('/')
            .next()
            .unwrap()
    }

    /// Ends the server; what it did, by request.
    pub fn truth(mut self) -> HashMap<String, Truth> {
        drop(self.stdin.take());
        self.child.wait().unwrap();
        let log = std::fs::read_to_string(&self.truth).unwrap();
        log.lines()
            .map(|line| {
                let line: serde_json::Value = serde_json::from_str(line).unwrap();
                let truth = Truth {
                    chunks: line["chunks"]
                        .as_array()
                        .unwrap()
                        .iter()
                        .map(|chunk| (chunk[0].as_u64().unwrap(), chunk[1].as_u64().unwrap()))
                        .collect(),
                    end_ns: line["end_ns"].as_u64().unwrap(),
                    fault: line["fault"].as_str().map(str::to_owned),
                };
                (line["id"].as_str().unwrap().to_owned(), truth)
            })
            .collect()
    }
}

impl Drop for Sim {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What the server really did with a request.
pub struct Truth {
    /// Time of the write, and its tokens.
    pub chunks: Vec<(u64, u64)>,
    pub end_ns: u64,
    pub fault: Option<String>,
}

/// A server that does one thing with every connection.
pub struct Crooked {
    address: SocketAddr,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Crooked {
    pub fn start(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> Crooked {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let ended = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&ended);
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if seen.load(Ordering::SeqCst) {
                    return;
                }
                serve(stream.unwrap());
            }
        });
        Crooked {
            address,
            ended,
            thread: Some(thread),
        }
    }

    /// Answers every request with the same text; its head is passed to `answer`.
    pub fn answering(answer: impl Fn(&str) -> String + Send + Sync + 'static) -> Crooked {
        Crooked::start(move |mut stream| {
            let mut head = String::new();
            let mut lines = BufReader::new(stream.try_clone().unwrap());
            while lines.read_line(&mut head).is_ok_and(|read| read > 2) {}
            let length = head.lines().find_map(|line| {
                line.to_ascii_lowercase()
                    .strip_prefix("content-length:")?
                    .trim()
                    .parse()
                    .ok()
            });
            let mut body = vec![0; length.unwrap_or(0)];
            let _ = lines.read_exact(&mut body);
            let _ = stream.write_all(answer(&head).as_bytes());
        })
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Crooked {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// An HTTP answer whose body ends where its length says.
pub fn answer(status: &str, kind: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}
