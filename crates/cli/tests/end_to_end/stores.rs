//! Results in an object store: a real S3 server in a process of its own, which checks signatures
//! and rights, behind a relay that can be cut.
//!
//! Needs an interpreter with `moto[server]`: the one that `INFEROMETER_TEST_PYTHON` names, else
//! `python3`. Where it cannot be had the tests say so and pass, except with `CI=true`.

use crate::serve::started_as;
use crate::support::{Ended, ON_ANY_HOST, Place, Sim, Started, until};
use inferometer_testing::skipped;
use rustix::process::Signal;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// The server: its address and the keys of its users. Its standard input closes when this process
/// ends, and the server with it.
fn server() -> Option<&'static Value> {
    static SERVER: OnceLock<Option<Value>> = OnceLock::new();
    SERVER.get_or_init(start).as_ref()
}

fn start() -> Option<Value> {
    let python = inferometer_testing::python();
    let found = Command::new(&python)
        .args(["-c", "import moto.server, boto3"])
        .output();
    if !found.is_ok_and(|found| found.status.success()) {
        skipped(&format!(
            "{python} cannot import moto.server; name one that can in INFEROMETER_TEST_PYTHON"
        ));
        return None;
    }
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/serve_s3.py");
    let mut child = Command::new(&python)
        .arg(script)
        .arg("lab")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let stdout = child.stdout.take().unwrap();
    BufReader::new(stdout).read_line(&mut line).unwrap();
    // Its end of the pipe must stay open for as long as this process lives.
    std::mem::forget(child);
    Some(serde_json::from_str(&line).expect(&line))
}

/// A way to the server that can be cut, after so many requests to write or at once.
struct Relay {
    address: SocketAddr,
    state: Arc<RelayState>,
}

#[derive(Default)]
struct RelayState {
    cut: AtomicBool,
    /// Requests to write that are let through before it cuts itself.
    writes_left: AtomicUsize,
    /// Connections that were refused while it was cut.
    refused: AtomicUsize,
    /// First lines of requests to write.
    writes: Mutex<Vec<String>>,
    ended: AtomicBool,
}

impl Relay {
    fn start(server: &Value) -> Relay {
        let target = server["url"].as_str().unwrap();
        let target: SocketAddr = target.trim_start_matches("http://").parse().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(RelayState::default());
        state.writes_left.store(usize::MAX, Ordering::SeqCst);
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if shared.ended.load(Ordering::SeqCst) {
                    return;
                }
                if shared.cut.load(Ordering::SeqCst) {
                    shared.refused.fetch_add(1, Ordering::SeqCst);
                    continue;
                }
                let state = Arc::clone(&shared);
                std::thread::spawn(move || state.carry(client, TcpStream::connect(target).ok()?));
            }
        });
        Relay { address, state }
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    fn cut_after_writes(&self, writes: usize) {
        self.state.writes_left.store(writes, Ordering::SeqCst);
    }

    fn mend(&self) {
        self.state.writes_left.store(usize::MAX, Ordering::SeqCst);
        self.state.cut.store(false, Ordering::SeqCst);
    }

    fn refused(&self) -> usize {
        self.state.refused.load(Ordering::SeqCst)
    }

    fn writes(&self) -> Vec<String> {
        self.state.writes.lock().unwrap().clone()
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.state.ended.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
    }
}

impl RelayState {
    /// Carries bytes both ways. A request begins a read of its own, since each waits for the answer
    /// to the one before.
    fn carry(&self, mut client: TcpStream, mut server: TcpStream) -> Option<()> {
        let (mut back, mut answers) = (client.try_clone().ok()?, server.try_clone().ok()?);
        std::thread::spawn(move || {
            let _ = std::io::copy(&mut answers, &mut back);
            let _ = back.shutdown(Shutdown::Both);
        });
        let mut piece = vec![0; 64 << 10];
        loop {
            let count = client.read(&mut piece).ok().filter(|&count| count > 0);
            let Some(count) = count else { break };
            if piece.starts_with(b"PUT ") {
                let line = piece[..count].split(|&byte| byte == b'\r').next()?;
                let left = self.writes_left.load(Ordering::SeqCst);
                if left == 0 {
                    self.cut.store(true, Ordering::SeqCst);
                } else {
                    self.writes_left.store(left - 1, Ordering::SeqCst);
                    let line = String::from_utf8_lossy(line).into_owned();
                    self.writes.lock().unwrap().push(line);
                }
            }
            if self.cut.load(Ordering::SeqCst) {
                break;
            }
            server.write_all(&piece[..count]).ok()?;
        }
        let _ = server.shutdown(Shutdown::Both);
        let _ = client.shutdown(Shutdown::Both);
        Some(())
    }
}

/// A place whose commands reach the server as one of its users.
struct Client<'a> {
    place: &'a Place,
    endpoint: String,
    key: (String, String),
}

impl<'a> Client<'a> {
    fn new(place: &'a Place, server: &Value, user: &str, endpoint: &str) -> Client<'a> {
        let key = |at: usize| server["keys"][user][at].as_str().unwrap().to_owned();
        Client {
            place,
            endpoint: endpoint.to_owned(),
            key: (key(0), key(1)),
        }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.place.command(arguments);
        let odd = [
            "AWS_REGION",
            "AWS_DEFAULT_REGION",
            "AWS_SESSION_TOKEN",
            "AWS_CA_BUNDLE",
        ];
        odd.iter().for_each(|name| {
            command.env_remove(name);
        });
        command
            .env_remove("AWS_ENDPOINT_URL_S3")
            .env("AWS_ENDPOINT_URL", &self.endpoint)
            .env("AWS_ACCESS_KEY_ID", &self.key.0)
            .env("AWS_SECRET_ACCESS_KEY", &self.key.1);
        command
    }

    fn run(&self, arguments: &[&str]) -> Ended {
        Started::new(self.command(arguments)).wait()
    }

    #[track_caller]
    fn fine(&self, arguments: &[&str]) -> Ended {
        let ended = self.run(arguments);
        assert_eq!(ended.code, Some(0), "{arguments:?}: {ended:?}");
        ended
    }

    /// A run in virtual time, the same wherever it is kept.
    fn measure(&self, out: &str) -> Ended {
        let words = "run --lang en --sim-clock virtual --requests 40 --concurrency 4 --out";
        let words: Vec<&str> = words.split(' ').chain([out]).collect();
        self.run(&words)
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let ended = self.fine(&[arguments, &["--format", "json"]].concat());
        serde_json::from_str(&ended.stdout).unwrap()
    }

    /// No key in anything that was written or said.
    #[track_caller]
    fn assert_secret_kept(&self, said: &[&Ended]) {
        let secret = self.key.1.as_bytes();
        for path in self.place.files(".") {
            let content = std::fs::read(&path).unwrap();
            let found = content.windows(secret.len()).any(|part| part == secret);
            assert!(!found, "{}", path.display());
        }
        for ended in said {
            let all = format!("{}{}", ended.stdout, ended.stderr);
            assert!(!all.contains(&self.key.1), "{all}");
        }
    }
}

fn url(server: &Value) -> &str {
    server["url"].as_str().unwrap()
}

#[test]
fn a_run_in_a_store_is_read_like_one_in_a_folder() {
    let Some(server) = server() else { return };
    let place = Place::new();
    let client = Client::new(&place, server, "all", url(server));
    let at = "s3://lab/like-a-folder/first";
    let measured = client.measure(at);
    assert_eq!(measured.code, Some(0), "{measured:?}");
    assert!(
        measured.stderr.contains(&format!("uploaded to {at}")),
        "{measured:?}"
    );
    let kept = "inferometer-runs/first";
    let report = |at: &str| client.json(&["report", at]);
    assert_eq!(report(at), report(kept));
    let listed = client.json(&["runs", "s3://lab/like-a-folder"]);
    assert_eq!(listed["runs"][0]["path"], at, "{listed}");
    assert_eq!(listed["runs"].as_array().unwrap().len(), 1);
    let listed = client.fine(&["runs", "s3://lab/like-a-folder/", "--lang", "en"]);
    assert!(listed.stdout.contains(at), "{}", listed.stdout);
    let compared = client.json(&["compare", kept, at]);
    for row in compared["rows"].as_array().unwrap() {
        assert_eq!(row["a"], row["b"], "{row}");
    }
    let verified = client.fine(&["verify", at, "--lang", "en"]);
    assert!(
        verified.stdout.starts_with(&format!("{at}: intact")),
        "{}",
        verified.stdout
    );
    let history = client.json(&["history", "s3://lab/like-a-folder"]);
    assert!(history.to_string().contains(at), "{history}");
    let shown = client.fine(&["report", at, "--lang", "en"]);
    assert!(
        shown.stdout.contains(at) && !shown.stdout.contains("/stores/"),
        "{}",
        shown.stdout
    );
    client
        .run(&["report", at, "--format", "html"])
        .assert_refused(&["-o FILE"]);
    client.fine(&["report", at, "-o", "page.html"]);
    client.assert_secret_kept(&[&measured, &shown, &verified]);

    // The same place is not taken twice, neither by this folder nor by another.
    client
        .measure(at)
        .assert_refused(&["inferometer upload inferometer-runs/first"]);
    let elsewhere = Place::new();
    let other = Client::new(&elsewhere, server, "all", url(server));
    other.measure(at).assert_refused(&["already holds objects"]);
    assert!(elsewhere.files("inferometer-runs").is_empty());

    // With a slash at its end, a place is for many.
    let named = client.measure("s3://lab/like-a-folder/");
    assert_eq!(named.code, Some(0), "{named:?}");
    let listed = client.json(&["runs", "s3://lab/like-a-folder"]);
    assert_eq!(listed["runs"].as_array().unwrap().len(), 2);
}

#[test]
fn a_store_is_served_as_pages() {
    let Some(server) = server() else { return };
    let (kept, place) = (Place::new(), Place::new());
    let writer = Client::new(&kept, server, "all", url(server));
    for name in ["a", "b"] {
        let measured = writer.measure(&format!("s3://lab/served/{name}"));
        assert_eq!(measured.code, Some(0), "{measured:?}");
    }
    // Another machine: nothing of it is in its folders or its cache.
    let reader = Client::new(&place, server, "all", url(server));
    let words = "serve --listen 127.0.0.1:0 --lang en s3://lab/served";
    let command = reader.command(&Vec::from_iter(words.split(' ')));
    let served = started_as(&place, "serve", command);
    let home = served.get("/");
    assert!(home.contains("href=\"runs/a\"") && home.contains("href=\"runs/b\""));
    let records = || {
        place
            .files("cache")
            .iter()
            .any(|it| it.ends_with("records.parquet"))
    };
    assert!(!records(), "a list needs no records");
    let page = served.get("/runs/a");
    assert!(
        page.contains("VALID") && page.contains("Latency distributions"),
        "{page}"
    );
    assert!(records());
    let compared = served.get("/compare?ids=a,b");
    assert!(compared.contains("Comparison report"), "{compared}");
    assert!(served.get("/runs/c").starts_with("HTTP/1.1 404"));
    let started = "serve --allow-run s3://lab/served";
    reader
        .run(&Vec::from_iter(started.split(' ')))
        .assert_refused(&["--allow-run", "a folder of this machine"]);
    reader
        .run(&["serve", "s3://lab/nothing-here"])
        .assert_refused(&["holds nothing"]);
}

#[test]
fn what_is_altered_in_a_store_is_found() {
    let Some(server) = server() else { return };
    let place = Place::new();
    let client = Client::new(&place, server, "all", url(server));
    assert_eq!(client.measure("s3://lab/altered/a").code, Some(0));
    assert_eq!(client.measure("s3://lab/altered/b").code, Some(0));
    client.fine(&["verify", "s3://lab/altered"]);
    // A cache that was spoilt, and a store whose object changed its size: read again.
    let folder = "inferometer-runs/a";
    let summary = place.path(folder).join("summary.json");
    let text = std::fs::read_to_string(&summary).unwrap();
    std::fs::write(&summary, format!("{text} ")).unwrap();
    let again = client.fine(&["upload", folder, "--lang", "en"]);
    assert!(again.stdout.contains(": 1 files"), "{}", again.stdout);
    let verified = client.run(&["verify", "s3://lab/altered", "--lang", "en"]);
    assert_eq!(verified.code, Some(1), "{verified:?}");
    assert!(
        verified.stdout.contains("s3://lab/altered/a: DAMAGED"),
        "{}",
        verified.stdout
    );
    assert!(
        verified.stdout.contains("s3://lab/altered/b: intact"),
        "{}",
        verified.stdout
    );
}

#[test]
fn a_store_that_goes_away_in_mid_upload_gets_the_rest_later() {
    let Some(server) = server() else { return };
    let (place, relay) = (Place::new(), Relay::start(server));
    let client = Client::new(&place, server, "all", &relay.url());
    // The test of writing, and three files.
    relay.cut_after_writes(4);
    let at = "s3://lab/cut/run";
    let cut = client.measure(at);
    assert_eq!(cut.code, Some(2), "{cut:?}");
    assert!(
        cut.stdout.contains("TTFT"),
        "the report is shown: {}",
        cut.stdout
    );
    let last = cut.stderr.lines().last().unwrap();
    assert!(last.starts_with("error: "), "{last}");
    let remedy = "it is kept in inferometer-runs/run, and `inferometer upload inferometer-runs/run` uploads the rest";
    assert!(last.contains(remedy), "{last}");
    client.fine(&["report", "inferometer-runs/run"]);
    relay.mend();
    // Half of a run is no run.
    let half = client.json(&["runs", "s3://lab/cut"]);
    assert_eq!(half["runs"].as_array().unwrap().len(), 0, "{half}");
    let rest = client.fine(&["upload", "run", "--lang", "en"]);
    assert!(!rest.stdout.contains("already there: 0"), "{}", rest.stdout);
    assert_eq!(
        client.json(&["runs", "s3://lab/cut"])["runs"][0]["path"],
        at
    );
    client.fine(&["verify", at]);
    client.assert_secret_kept(&[&cut, &rest]);
    let writes = relay.writes();
    assert!(
        writes.last().unwrap().contains("/scenario.toml "),
        "{writes:?}"
    );
    // Once more: nothing is missing.
    let known = client.fine(&["upload", "run", "--lang", "en"]);
    assert!(
        known.stdout.contains(": 0 files, 0 KiB"),
        "{}",
        known.stdout
    );
}

#[test]
fn a_store_that_is_away_for_a_while_is_waited_for() {
    let Some(server) = server() else { return };
    let (place, relay) = (Place::new(), Relay::start(server));
    let client = Client::new(&place, server, "all", &relay.url());
    relay.cut_after_writes(3);
    let words = "run --lang en --sim-clock virtual --requests 8 --out s3://lab/away/run";
    let words: Vec<&str> = words.split(' ').collect();
    let run = Started::new(client.command(&words));
    until("the store to be missed", || {
        (relay.refused() >= 2).then_some(())
    });
    relay.mend();
    let ended = run.wait();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("trying again"), "{}", ended.stderr);
    client.fine(&["verify", "s3://lab/away/run"]);
}

#[test]
fn points_of_a_sweep_are_uploaded_while_others_are_measured() {
    let Some(server) = server() else { return };
    let (place, relay) = (Place::new(), Relay::start(server));
    let client = Client::new(&place, server, "all", &relay.url());
    let sim = Sim::start(&["--ttft", "200ms"]);
    let words = format!(
        "sweep {} --lang en --quiet --concurrency 1,2 --requests 20 --output-tokens 2 --warmup none --hold none --rest 20s --out s3://lab/ladder/one",
        sim.url
    );
    let words: Vec<&str> = words.split(' ').collect();
    let sweep = Started::new(client.command(&words));
    until("a point in the store", || {
        let writes = relay.writes();
        let is_trials = |line: &String| line.contains("/ladder/one/trials.jsonl ");
        let is_point =
            |line: &String| line.contains("/points/") && line.contains("/scenario.toml ");
        (writes.iter().any(is_trials) && writes.iter().any(is_point)).then_some(())
    });
    // What is there is a sweep that goes on, with the point that was measured.
    let half = client.json(&["runs", "s3://lab/ladder"]);
    assert_eq!(half["runs"][0]["state"], "unfinished", "{half}");
    sweep.signal(Signal::INT);
    let ended = sweep.wait();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    let mut again = words.clone();
    again.retain(|word| !["--rest", "20s"].contains(word));
    let ended = client.run(&again);
    assert!(matches!(ended.code, Some(0 | 1)), "{ended:?}");
    let there = client.run(&["report", "s3://lab/ladder/one", "--format", "json"]);
    let here = client.run(&["report", "one", "--format", "json"]);
    assert_eq!(there.stdout, here.stdout);
    assert!(there.stdout.contains("\"points\""), "{there:?}");
    // No records were needed for that.
    let cached = place.files("cache");
    let is_records = |path: &PathBuf| path.ends_with("records/records.parquet");
    assert!(!cached.iter().any(is_records), "{cached:?}");
    assert_eq!(place.files("inferometer-runs/one-2"), Vec::<PathBuf>::new());
}

#[test]
fn what_is_wrong_with_a_store_is_said_before_anything_is_measured() {
    let Some(server) = server() else { return };
    let place = Place::new();
    let at = "s3://lab/refused/run";
    let all = Client::new(&place, server, "all", url(server));
    let read = Client::new(&place, server, "read", url(server));
    read.measure(at)
        .assert_refused(&["writing is not allowed", "rights"]);
    all.measure("s3://no-such-bucket/x")
        .assert_refused(&["no such bucket"]);
    all.measure("s3://x").assert_refused(&["s3://BUCKET/PATH"]);
    let mut wrong = Client::new(&place, server, "all", url(server));
    wrong.key.1 = "not-the-secret".into();
    wrong.measure(at).assert_refused(&["AWS_SECRET_ACCESS_KEY"]);
    let mut unknown = Client::new(&place, server, "all", url(server));
    unknown.key.0 = "AKIANOBODY".into();
    unknown.measure(at).assert_refused(&["AWS_ACCESS_KEY_ID"]);
    let sim = Sim::start(&[]);
    let elsewhere = Client::new(&place, server, "all", &sim.url);
    elsewhere
        .measure(at)
        .assert_refused(&["not an object store", "AWS_ENDPOINT_URL"]);
    let nobody = Client::new(&place, server, "all", "http://127.0.0.1:9");
    nobody
        .measure(at)
        .assert_refused(&["no answer from 127.0.0.1:9", "AWS_ENDPOINT_URL"]);
    let mut command = all.command(&["run", "--lang", "en", "--out", at]);
    command.env_remove("AWS_SECRET_ACCESS_KEY");
    let missing = Started::new(command).wait();
    missing.assert_refused(&["needs AWS_SECRET_ACCESS_KEY", "set AWS_ACCESS_KEY_ID"]);
    let study = all.run(&["import", "x.json", "--out", at]);
    study.assert_refused(&["inferometer upload FOLDER URL"]);
    let nothing = all.run(&["report", "s3://lab/nothing/here"]);
    nothing.assert_refused(&["holds nothing"]);
    assert!(!place.path("inferometer-runs").exists(), "nothing is left");
    let writes_nothing = all.run(&["runs", "s3://lab/refused"]);
    writes_nothing.assert_refused(&["holds nothing"]);
}

#[test]
fn ranks_leave_one_folder_in_a_store_or_all_say_why_they_may_not() {
    let Some(server) = server() else { return };
    let place = Place::new();
    let sim = Sim::start(&[]);
    let ranks = |client: &Client, out: &str| {
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        let words = format!(
            "run {} --lang en --quiet --no-html --concurrency 4 --requests 20 --output-tokens 2 --of 2 --meet {port} --out {out} --rank",
            sim.url
        );
        let words: Vec<&str> = words.split(' ').chain(ON_ANY_HOST).collect();
        let at = words.iter().position(|word| *word == "--rank").unwrap() + 1;
        ["0", "1"].map(|rank| {
            let mut words = words.clone();
            words.insert(at, rank);
            Started::new(client.command(&words))
        })
    };
    let read = Client::new(&place, server, "read", url(server));
    for refused in ranks(&read, "s3://lab/ranks/refused").map(Started::wait) {
        refused.assert_refused(&["writing is not allowed"]);
    }
    assert!(!place.path("inferometer-runs").exists(), "nothing is left");
    let all = Client::new(&place, server, "all", url(server));
    let ended = ranks(&all, "s3://lab/ranks/run").map(Started::wait);
    for ended in &ended {
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
    all.fine(&["verify", "s3://lab/ranks/run"]);
    let report = all.json(&["report", "s3://lab/ranks/run"]);
    assert_eq!(report["requests"]["ok"], 20, "{report}");
}

#[test]
fn large_files_go_in_parts_and_come_back_whole() {
    let Some(server) = server() else { return };
    let place = Place::new();
    let client = Client::new(&place, server, "all", url(server));
    assert_eq!(client.measure("here").code, Some(0));
    let log: Vec<u8> = (0..40_000_000_u32).map(|at| (at % 251) as u8).collect();
    let folder = place.path("here/server");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("engine.log"), &log).unwrap();
    client.fine(&["upload", "here", "s3://lab/large/"]);
    client.fine(&["verify", "s3://lab/large/here"]);
    let cached = place.files("cache/inferometer/stores/files");
    let found = cached
        .iter()
        .find(|path| path.ends_with("here/server/engine.log"));
    assert_eq!(std::fs::read(found.unwrap()).unwrap(), log);
    let known = client.fine(&["upload", "here", "--lang", "en"]);
    assert!(known.stdout.contains(": 0 files"), "{}", known.stdout);
}

#[test]
fn polars_reads_the_records_of_all_runs_of_a_store_as_one_table() {
    let Some(server) = server() else { return };
    let place = Place::new();
    let client = Client::new(&place, server, "all", url(server));
    for name in ["a", "b"] {
        assert_eq!(
            client.measure(&format!("s3://lab/tables/{name}")).code,
            Some(0)
        );
    }
    let script = "\
import sys, polars
endpoint, key, secret = sys.argv[1:]
options = {'aws_endpoint_url': endpoint, 'aws_access_key_id': key, 'aws_secret_access_key': secret, 'aws_region': 'us-east-1', 'aws_allow_http': 'true'}
table = polars.scan_parquet('s3://lab/tables/*/records/records.parquet', storage_options=options)
print(table.filter(polars.col('stage') == 'measured').select(polars.len()).collect().item())";
    let python = inferometer_testing::python();
    let output = Command::new(&python)
        .args(["-c", script, url(server), &client.key.0, &client.key.1])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if said.contains("ModuleNotFoundError") {
        return skipped(&format!("{python} cannot import polars"));
    }
    assert_eq!(
        String::from_utf8_lossy(&output.stdout).trim(),
        "80",
        "{said}"
    );
}
