//! Results in a browser: the home of all, one, two compared, one that grows, and who may ask.

use crate::support::{ON_ANY_HOST, Place, Sim, until};
use crate::tune_live::stand_in;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

/// A process that serves pages, and where it listens.
pub struct Served {
    process: Child,
    pub address: String,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Starts a process that says on its standard error where it serves.
pub fn started(place: &Place, arguments: &[&str]) -> Served {
    started_as(place, arguments[0], place.command(arguments))
}

/// The same of a command; `name` is that of its log.
pub fn started_as(place: &Place, name: &str, mut command: Command) -> Served {
    let log = place.path(&format!("{name}.log"));
    command
        .stderr(File::create(&log).unwrap())
        .stdout(Stdio::null());
    let process = command.spawn().unwrap();
    let address = until("an address", || {
        let told = std::fs::read_to_string(&log).ok()?;
        let (_, rest) = told.split_once("http://127")?;
        let (address, _) = rest.split_once('/')?;
        Some(format!("127{address}"))
    });
    Served { process, address }
}

pub fn serve(place: &Place, options: &[&str]) -> Served {
    let fixed = ["serve", "--listen", "127.0.0.1:0", "--lang", "en"];
    started(place, &[&fixed[..], options].concat())
}

impl Served {
    fn ask(&self, method: &str, path: &str, headers: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let head = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    pub fn get(&self, path: &str) -> String {
        self.ask("GET", path, "")
    }

    /// What is told of a result that goes on.
    fn events(&self, id: &str) -> impl Iterator<Item = Value> + use<> {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let head = format!("GET /api/runs/{id}/live HTTP/1.1\r\nHost: localhost\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        let lines = BufReader::new(stream).lines().map_while(Result::ok);
        let data = lines.filter_map(|line| line.strip_prefix("data: ").map(str::to_owned));
        data.map(|text| serde_json::from_str(&text).unwrap())
    }

    fn json(&self, path: &str) -> Value {
        let answer = self.get(path);
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"))
    }
}

pub const HOSTILE: &str = "<script>window.hurt=1;alert(1)</script>";

pub fn run(place: &Place, name: &str, seed: &str) {
    let fixed = [
        "run",
        "--quiet",
        "--sim-clock",
        "virtual",
        "--requests",
        "40",
    ];
    let own = ["--out", name, "--seed", seed, "--label", HOSTILE];
    let ended = place.run(&[&fixed[..], &own].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[test]
fn results_are_listed_opened_and_compared_and_nothing_else_is_served() {
    let place = Place::new();
    std::fs::create_dir(place.path("kept")).unwrap();
    run(&place, "kept/a", "1");
    run(&place, "kept/b", "1");
    let served = serve(&place, &["kept"]);
    let home = served.get("/");
    assert!(home.starts_with("HTTP/1.1 200"), "{home}");
    assert!(home.contains("href=\"runs/a\"") && home.contains("href=\"runs/b\""));
    assert!(!home.contains(HOSTILE), "a label is text");
    assert!(home.contains("script-src 'nonce-"), "{home}");
    let page = served.get("/runs/a");
    assert!(
        page.contains("VALID") && page.contains("script-src 'nonce-"),
        "{page}"
    );
    assert!(page.contains("<a class=\"list\" href=\"..\">"), "{page}");
    let compared = served.get("/compare?ids=a,b");
    assert!(compared.starts_with("HTTP/1.1 200"), "{compared}");
    assert!(compared.contains("Comparison"), "{compared}");
    let history = served.get("/history");
    assert!(history.starts_with("HTTP/1.1 200"), "{history}");
    for page in [compared, history] {
        assert!(page.contains("<a class=\"list\" href=\"./\">"), "{page}");
    }
    assert!(served.get("/index.html").starts_with("HTTP/1.1 200"));
    let listed = served.json("/api/runs");
    assert_eq!(listed["runs"].as_array().map(Vec::len), Some(2), "{listed}");
    assert_eq!(served.json("/api/runs/a")["summary"]["valid"], true);
    // What has just ended can still be fetched.
    let metrics = served.get("/metrics");
    assert!(metrics.trim_end().ends_with("# EOF"), "{metrics}");
    assert!(metrics.contains("requests_total{run=\"a\""), "{metrics}");
    for path in [
        "/runs/..%2Fkept",
        "/runs/nothing",
        "/etc/passwd",
        "/runs/a/b",
        "/api/runs/x",
    ] {
        let answer = served.get(path);
        assert!(answer.starts_with("HTTP/1.1 404"), "{path}: {answer}");
    }
    let missing = served.get("/runs/nothing");
    assert!(missing.contains("href=\"../\""), "{missing}");
    assert!(missing.contains("没有这个结果或页面"), "{missing}");
    let end = served.ask("POST", "/api/runs/a/end", "X-Inferometer: 1\r\n");
    assert!(end.starts_with("HTTP/1.1 405"), "{end}");
}

#[test]
fn the_page_of_a_run_with_damaged_records_says_so() {
    let place = Place::new();
    std::fs::create_dir(place.path("kept")).unwrap();
    run(&place, "kept/a", "1");
    let records = place.path("kept/a/records/records.parquet");
    let bytes = std::fs::read(&records).unwrap();
    std::fs::write(&records, &bytes[..bytes.len() / 2]).unwrap();
    let page = serve(&place, &["kept"]).get("/runs/a");
    assert!(page.contains("is not as it was written"), "{page}");
}

#[test]
fn a_killed_run_has_its_page_what_a_link_leads_to_is_not_shown_and_a_folder_may_go_away() {
    let place = Place::new();
    for folder in ["kept", "elsewhere"] {
        std::fs::create_dir(place.path(folder)).unwrap();
    }
    run(&place, "kept/killed", "1");
    run(&place, "elsewhere/secret", "2");
    run(&place, "kept/deep/c", "3");
    for file in ["summary.json", "ending.json", "SHA256SUMS"] {
        std::fs::remove_file(place.path("kept/killed").join(file)).unwrap();
    }
    let link = place.path("kept/linked");
    std::os::unix::fs::symlink(place.path("elsewhere/secret"), link).unwrap();
    let served = serve(&place, &["kept"]);
    let page = served.get("/runs/killed");
    assert!(page.contains("the run was killed"), "{page}");
    let listed = served.json("/api/runs");
    assert_eq!(listed["runs"].as_array().map(Vec::len), Some(2), "{listed}");
    // One below another folder is found under its plain path, too.
    let below = served.get("/runs/deep/c");
    assert!(below.starts_with("HTTP/1.1 303"), "{below}");
    assert!(below.contains("Location: ../deep%2Fc"), "{below}");
    assert!(served.get("/runs/deep%2Fc").starts_with("HTTP/1.1 200"));
    let home = served.get("/");
    assert!(!home.contains("linked"), "{home}");
    // It is found by its model.
    assert!(home.contains("qwen2.5-7b"), "{home}");
    for query in ["", "?ids=killed", "?ids=killed,nothing"] {
        let answer = served.get(&format!("/compare{query}"));
        assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
        assert!(answer.contains("href=\"./\""), "{answer}");
    }
    let missing = served.get("/compare?ids=killed,nothing");
    for language in ["nothing is not stored here", "这里没有结果 nothing"] {
        assert!(missing.contains(language), "{missing}");
    }
    let new = serve(&Place::new(), &[]).get("/");
    assert!(new.contains("No results here yet"), "{new}");
    std::fs::rename(place.path("kept"), place.path("away")).unwrap();
    assert!(served.get("/").contains("is not there any more"));
    std::fs::rename(place.path("away"), place.path("kept")).unwrap();
    assert!(served.get("/").contains("href=\"runs/killed\""));
}

#[test]
fn names_in_addresses_are_those_of_the_results_whatever_their_order() {
    let place = Place::new();
    for folder in ["old", "new"] {
        std::fs::create_dir(place.path(folder)).unwrap();
    }
    // Names and folders in another order than the times.
    run(&place, "old/b", "1");
    run(&place, "new/c", "2");
    run(&place, "old/a", "3");
    let served = serve(&place, &["old", "new"]);
    let listed = served.json("/api/runs");
    let text = |line: &Value, key: &str| line[key].as_str().unwrap().to_owned();
    let lines = listed["runs"].as_array().unwrap().iter();
    let mut named: Vec<_> = lines
        .map(|line| (text(line, "name"), text(line, "id")))
        .collect();
    named.sort();
    let expected = [("a", "old~a"), ("b", "old~b"), ("c", "new~c")];
    assert_eq!(named, expected.map(|(name, id)| (name.into(), id.into())));
    for (name, id) in named {
        let one = served.json(&format!("/api/runs/{id}"));
        assert_eq!(one["name"], name.as_str(), "{one}");
    }
}

/// A run that goes on until it is ended, with a page of its own, in `kept/live`.
pub fn live_run(place: &Place, sim: &Sim) -> Served {
    std::fs::create_dir(place.path("kept")).unwrap();
    let words = "run --quiet --out kept/live --live=127.0.0.1:0 --lang en \
                 --requests 1000000 --concurrency 2 --output-tokens 8";
    let words: Vec<&str> = words.split_whitespace().chain([sim.url.as_str()]).collect();
    started(place, &[&words[..], &ON_ANY_HOST].concat())
}

#[test]
fn a_run_is_followed_to_its_end_and_can_be_ended_from_its_own_page() {
    let place = Place::new();
    let sim = Sim::start(&["--ttft", "5ms", "--itl", "1ms"]);
    let own = live_run(&place, &sim);
    // Another process sees it as well, from its folder.
    let served = serve(&place, &["kept"]);
    until("the run in the list", || {
        let state = served.json("/api/runs")["runs"][0]["state"].clone();
        (state == "running").then_some(())
    });
    let page = served.get("/runs/live");
    assert!(page.contains("EventSource"), "{page}");
    let read_only = serve(&place, &["kept", "--read-only"]);
    let page = read_only.get("/runs/live");
    assert!(
        page.contains("EventSource") && !page.contains("id=\"end\""),
        "{page}"
    );
    let refused = read_only.ask("POST", "/api/runs/live/end", "X-Inferometer: 1\r\n");
    assert!(refused.starts_with("HTTP/1.1 405"), "{refused}");
    let mut events = served.events("live");
    // Inside the window, in which its pages count.
    let told = events.find(|told| told["run"]["measured"].as_u64() > Some(0));
    let told = told.unwrap();
    let run = &told["run"];
    assert!(run["doubts"]["zh"].is_array(), "{told}");
    assert!(run["phases"][0]["from_s"].is_number(), "{told}");
    assert_eq!(told["ladder"], Value::Null);

    assert!(own.get("/runs/live").contains("id=\"end\""));
    let refused = own.ask("POST", "/api/runs/live/end", "");
    assert!(refused.starts_with("HTTP/1.1 403"), "{refused}");
    let ended = own.ask("POST", "/api/runs/live/end", "X-Inferometer: 1\r\n");
    assert!(ended.starts_with("HTTP/1.1 200"), "{ended}");
    let last = events.find(|told| told["ended"] == true);
    assert!(last.is_some(), "the stream says that the run ended");
    until("the report", || {
        served.get("/runs/live").contains("INVALID").then_some(())
    });
    // Its pages are part of what it cost.
    let ending = std::fs::read_to_string(place.path("kept/live/ending.json")).unwrap();
    let ending: Value = serde_json::from_str(&ending).unwrap();
    let shares = ending["thread_cpu_shares"].as_array().unwrap();
    let environment = std::fs::read_to_string(place.path("kept/live/environment.json")).unwrap();
    let environment: Value = serde_json::from_str(&environment).unwrap();
    let workers = environment["workers"].as_u64().unwrap();
    assert_eq!(shares.len() as u64, workers + 1, "{ending}");
}

#[test]
fn a_run_of_another_process_is_ended_from_a_page_unless_it_is_read_only() {
    let place = Place::new();
    let sim = Sim::start(&["--ttft", "5ms", "--itl", "1ms"]);
    std::fs::create_dir_all(place.path("kept/team")).unwrap();
    let words = "run --quiet --lang en --requests 1000000 --concurrency 2 --output-tokens 8";
    let begin = |own: &[&str]| {
        let words = words.split_whitespace().chain([sim.url.as_str()]);
        let words: Vec<&str> = words.chain(own.iter().copied()).collect();
        let mut command = place.command([&words[..], &ON_ANY_HOST].concat());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap()
    };
    let mut heard = begin(&["--out", "kept/team/heard"]);
    let mut deaf = begin(&["--out", "kept/deaf", "--read-only"]);
    let served = serve(&place, &["kept"]);
    until("both runs in the list", || {
        let runs = served.json("/api/runs")["runs"].clone();
        let runs = runs.as_array()?.clone();
        (runs.len() == 2 && runs.iter().all(|run| run["state"] == "running")).then_some(())
    });
    for id in ["deaf", "team%2Fheard"] {
        let ended = served.ask(
            "POST",
            &format!("/api/runs/{id}/end"),
            "X-Inferometer: 1\r\n",
        );
        assert!(ended.starts_with("HTTP/1.1 200"), "{ended}");
    }
    let status = heard.wait().unwrap();
    assert!(status.code().is_some(), "it ended by itself: {status}");
    assert!(place.path("kept/team/heard/ending.json").is_file());
    assert!(deaf.try_wait().unwrap().is_none(), "it goes on");
    deaf.kill().unwrap();
    deaf.wait().unwrap();
}

#[test]
fn a_comparison_that_was_kept_is_listed_and_has_its_report() {
    let place = Place::new();
    std::fs::create_dir(place.path("kept")).unwrap();
    run(&place, "kept/a", "1");
    run(&place, "kept/b", "1");
    let words = "compare kept/a kept/b --margin 7% --out kept/a-and-b --format json";
    let made = place.run(&words.split(' ').collect::<Vec<_>>());
    assert_eq!(made.code, Some(0), "{made:?}");
    let again = place.run(&["report", "kept/a-and-b", "--format", "json"]);
    assert_eq!(again.code, Some(0), "{again:?}");
    let [made, again] = [&made, &again].map(|it| serde_json::from_str::<Value>(&it.stdout));
    let (made, again) = (made.unwrap(), again.unwrap());
    assert_eq!(made["margin"], 0.07);
    assert_eq!(made["rows"][0]["ratio"], again["rows"][0]["ratio"]);
    // Both can be moved together.
    std::fs::rename(place.path("kept"), place.path("moved")).unwrap();
    let served = serve(&place, &["moved"]);
    let runs = served.json("/api/runs")["runs"].clone();
    let mut runs = runs.as_array().unwrap().iter();
    let kept = runs.find(|it| it["name"] == "a-and-b").unwrap();
    assert_eq!(kept["kind"], "comparison");
    let state = kept["state"].as_str().unwrap();
    assert!(
        ["better", "worse", "same", "cannot-tell"].contains(&state),
        "{state}"
    );
    let page = served.get("/runs/a-and-b");
    assert!(page.contains("Comparison") && page.contains("±7"), "{page}");
    let refused = place.run(&["compare", "moved/a", "moved/b", "--out", "moved/a"]);
    assert!(
        refused.stderr.contains("already holds files"),
        "{refused:?}"
    );
}

#[test]
fn damaged_results_and_those_of_a_newer_version_are_marked_in_the_list() {
    let place = Place::new();
    std::fs::create_dir(place.path("kept")).unwrap();
    for (name, seed) in [("damaged", "1"), ("newer", "2"), ("sound", "3")] {
        run(&place, &format!("kept/{name}"), seed);
    }
    let records = place.path("kept/damaged/records/records.parquet");
    let mut bytes = std::fs::read(&records).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&records, bytes).unwrap();
    std::fs::remove_file(place.path("kept/newer/SHA256SUMS")).unwrap();
    let summary = place.path("kept/newer/summary.json");
    let text = std::fs::read_to_string(&summary).unwrap();
    std::fs::write(
        &summary,
        text.replace("inferometer.summary/1", "inferometer.summary/2"),
    )
    .unwrap();
    let served = serve(&place, &["kept"]);
    // Whoever asks for one need not wait until all were looked at.
    let damaged = served.json("/api/runs/damaged");
    assert_eq!(damaged["state"], "damaged", "{damaged}");
    assert!(damaged["summary"].is_null(), "{damaged}");
    assert_eq!(served.json("/api/runs/sound")["state"], "valid");
    until("the verdicts", || {
        let runs = served.json("/api/runs")["runs"].clone();
        let mut states: Vec<_> = (runs.as_array()?.iter())
            .map(|run| format!("{} {}", run["name"], run["state"]))
            .collect();
        states.sort();
        let expected = [
            r#""damaged" "damaged""#,
            r#""newer" "newer""#,
            r#""sound" "valid""#,
        ];
        (states == expected).then_some(())
    });
    let page = served.get("/runs/newer");
    assert!(page.contains("use a newer Inferometer"), "{page}");
}

#[test]
fn a_sweep_a_search_and_a_study_are_followed_as_they_grow() {
    let place = Place::new();
    let sim = Sim::start(&["--ttft", "5ms", "--itl", "1ms"]);
    let study = stand_in("max-num-seqs = { choice = [1, 8] }", "");
    let study = study.replace("requests = 4", "requests = 300");
    place.write("study.toml", study);
    let url = sim.url.as_str();
    let work = ["--output-tokens", "8"];
    let load = ["--concurrency", "1,2", "--duration", "3s"];
    let sweep = [&["sweep", url][..], &load, &work, &ON_ANY_HOST].concat();
    // Streams rather than a rate: a probe at a low rate takes minutes.
    let goal = ["--slo", "ttft.p99=1s", "--over", "concurrency"];
    let search = [&["capacity", url][..], &goal, &work, &ON_ANY_HOST].concat();
    let study = vec!["tune", "study.toml"];
    for arguments in [sweep, search, study] {
        let out = format!("{}-kept/it", arguments[0]);
        let live = [
            "--live=127.0.0.1:0",
            "--quiet",
            "--lang",
            "en",
            "--out",
            &out,
        ];
        let served = started(&place, &[&arguments[..], &live].concat());
        until("it in the list", || {
            let state = served.json("/api/runs")["runs"][0]["state"].clone();
            (state == "running").then_some(())
        });
        let page = served.get("/runs/it");
        assert!(page.contains("EventSource"), "{page}");
        assert!(page.contains("id=\"end\""), "{page}");
        let (mut is_measured, mut steps) = (false, 0);
        for told in served.events("it") {
            is_measured |= told["run"]["name"].is_string();
            steps = told["ladder"]["steps"].as_array().map_or(steps, Vec::len);
            if is_measured && steps > 0 {
                break;
            }
        }
        assert!(is_measured && steps > 0, "{arguments:?}: {steps} steps");
    }
}

#[test]
fn every_point_of_a_sweep_is_told_to_prometheus_also_once_the_next_is_measured() {
    let place = Place::new();
    std::fs::create_dir(place.path("kept")).unwrap();
    let words = "sweep --quiet --sim-clock virtual --requests 40 --concurrency 1,2 --repeat 2 \
                 --out kept/it";
    let ended = place.run(&words.split_whitespace().collect::<Vec<_>>());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let served = serve(&place, &["kept"]);
    let metrics = served.get("/metrics");
    let ok = metrics.lines().filter(|line| {
        line.starts_with("inferometer_requests_total{run=\"it\"") && line.contains("outcome=\"ok\"")
    });
    let ok: Vec<&str> = ok.collect();
    assert_eq!(ok.len(), 4, "{metrics}");
    let labels: BTreeSet<&str> = ok
        .iter()
        .filter_map(|it| Some(it.split_once('}')?.0))
        .collect();
    assert_eq!(
        labels.len(),
        4,
        "no two series have the same labels: {metrics}"
    );
    for load in ["concurrency=1", "concurrency=2"] {
        let of_load = ok.iter().filter(|it| it.contains(load)).count();
        assert_eq!(of_load, 2, "{metrics}");
    }
}

#[test]
fn others_need_the_token_and_bad_input_is_told_in_one_line() {
    let place = Place::new();
    std::fs::create_dir(place.path("kept")).unwrap();
    place.write("token", "0123456789abcdef\n");
    place.write("short", "abc");
    let served = serve(&place, &["kept", "--token-file", "token"]);
    assert!(served.get("/").starts_with("HTTP/1.1 401"));
    assert!(
        served
            .get("/?token=0123456789abcdeX")
            .starts_with("HTTP/1.1 401")
    );
    let entered = served.get("/?token=0123456789abcdef");
    assert!(entered.starts_with("HTTP/1.1 303"), "{entered}");
    assert!(entered.contains("HttpOnly; SameSite=Strict"), "{entered}");
    let cookie = "Cookie: inferometer_token=0123456789abcdef\r\n";
    assert!(served.ask("GET", "/", cookie).starts_with("HTTP/1.1 200"));
    let live = ["--live=127.0.0.1:0", "--token-file", "token"];
    let sim = Sim::start(&["--ttft", "5ms", "--itl", "1ms"]);
    let run = ["run", &sim.url, "--quiet", "--requests", "1000000"];
    let own = started(&place, &[&run[..], &live, &ON_ANY_HOST].concat());
    assert!(own.get("/").starts_with("HTTP/1.1 401"));
    assert!(own.ask("GET", "/", cookie).starts_with("HTTP/1.1 200"));
    drop(own);
    for (options, expected) in [
        (&["nowhere"][..], "not a folder"),
        (&["kept", "--listen", "0.0.0.0:0"], "--token-file"),
        (&["kept", "--listen", "nonsense"], "not an address"),
        (&["kept", "--token-file", "short"], "16 letters"),
        (&["kept", "--token-file", "none"], "cannot read"),
        (&["kept", "--listen", &served.address], "another port"),
    ] {
        let ended = place.run(&[&["serve", "--lang", "en"], options].concat());
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(
            ended.stderr.contains(expected),
            "{expected}: {}",
            ended.stderr
        );
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    }
    // A page whose port is taken costs no measurement: none begins.
    let taken = format!("--live={}", served.address);
    let live = ["run", "--quiet", "--lang", "en", "--out", "none", &taken];
    place.run(&live).assert_refused(&["choose another port"]);
    assert!(!place.path("none/scenario.toml").exists());
}

/// A word of an address.
fn encoded(text: &str) -> String {
    let byte = |byte: u8| format!("%{byte:02X}");
    text.bytes().map(byte).collect()
}

#[test]
fn measurements_are_started_from_a_page_only_where_that_is_allowed() {
    let place = Place::new();
    let sim = Sim::start(&["--ttft", "5ms", "--itl", "1ms"]);
    std::fs::create_dir(place.path("kept")).unwrap();
    let ask = |served: &Served, words: &[&str], headers: &str| {
        let words = encoded(&serde_json::json!(words).to_string());
        served.ask("POST", &format!("/api/start?words={words}"), headers)
    };
    const OWN: &str = "X-Inferometer: 1\r\n";
    let fine = ["run", &sim.url, "--requests=1000000", "--output-tokens=8"];
    let closed = serve(&place, &["kept"]);
    assert!(ask(&closed, &fine, OWN).starts_with("HTTP/1.1 403"));
    assert!(closed.get("/new").starts_with("HTTP/1.1 404"));
    assert!(!closed.get("/").contains("href=\"new\""));

    let open = serve(&place, &["kept", "--allow-run"]);
    assert!(open.get("/").contains("href=\"new\""));
    let form = open.get("/new");
    assert!(form.contains("--concurrency") && !form.contains("--api-key-file"));
    let other_site = ask(&open, &fine, "");
    assert!(other_site.starts_with("HTTP/1.1 403"), "{other_site}");
    let in_chinese = encoded("[\"tune\"]");
    let in_chinese = format!("/api/start?lang=zh&words={in_chinese}");
    let in_chinese = open.ask("POST", &in_chinese, OWN);
    assert!(in_chinese.contains("页面只能启动 run"), "{in_chinese}");
    for (words, expected) in [
        (&["run", "--check=command:true"][..], "not for pages"),
        (&["run", "--", "touch", "hurt"], "not for pages"),
        (&["run", "--concurrency=many"], "--concurrency"),
        (&["tune", "study.toml"], "a page may start"),
        (&[], "a page may start"),
    ] {
        let refused = ask(&open, words, OWN);
        assert!(refused.starts_with("HTTP/1.1 400"), "{refused}");
        assert!(refused.contains(expected), "{refused}");
    }
    assert!(place.files("kept").is_empty());

    let started = ask(&open, &fine, OWN);
    let (_, body) = started.split_once("\r\n\r\n").unwrap();
    let id = serde_json::from_str::<Value>(body).unwrap()["id"].clone();
    let id = id.as_str().unwrap();
    let mut events = open.events(id);
    let told = events.find(|told| told["run"]["measured"].as_u64() > Some(0));
    assert!(told.is_some(), "{started}");
    let second = ask(&open, &fine, OWN);
    assert!(second.contains("is measured already"), "{second}");
    assert!(open.get(&format!("/runs/{id}")).contains("id=\"end\""));
    let ended = open.ask("POST", &format!("/api/runs/{id}/end"), OWN);
    assert!(ended.starts_with("HTTP/1.1 200"), "{ended}");
    assert!(events.any(|told| told["ended"] == true));
    until("its report", || {
        let page = open.get(&format!("/runs/{id}"));
        page.contains("INVALID").then_some(())
    });

    // One that cannot begin says why on its page.
    let nowhere = ["run", "http://127.0.0.1:9", "--label=nowhere"];
    let started = until("the end of the first", || {
        let started = ask(&open, &nowhere, OWN);
        started.starts_with("HTTP/1.1 200").then_some(started)
    });
    let (_, body) = started.split_once("\r\n\r\n").unwrap();
    let id = serde_json::from_str::<Value>(body).unwrap()["id"].clone();
    let page = format!("/runs/{}", id.as_str().unwrap());
    until("why", || open.get(&page).contains("error: ").then_some(()));
    assert!(!place.path("kept").join(id.as_str().unwrap()).exists());
}
