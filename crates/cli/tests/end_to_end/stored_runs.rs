//! A run, and everything that can be done with it afterwards.

use crate::support::{ON_ANY_HOST, Place, Sim, records};
use inferometer_core::summary::Summary;
use serde_json::Value;
use std::path::PathBuf;

const DEMO: [&str; 11] = [
    "run",
    "--lang",
    "en",
    "--requests",
    "24",
    "--concurrency",
    "4",
    "--output-tokens",
    "uniform(4,12)",
    "--seed",
    "7",
];

/// The only run in the default folder.
fn only_run(place: &Place) -> PathBuf {
    let mut found = std::fs::read_dir(place.path("inferometer-runs")).unwrap();
    let path = found.next().unwrap().unwrap().path();
    assert!(found.next().is_none());
    path
}

#[test]
fn without_a_url_the_simulated_engine_is_measured_and_everything_is_kept() {
    let place = Place::new();
    let run = place.run(&[&DEMO[..], &ON_ANY_HOST].concat());
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.stdout.starts_with("VALID"), "{}", run.stdout);
    let path = only_run(&place);
    let mut kept: Vec<_> = place
        .files("inferometer-runs")
        .iter()
        .map(|file| {
            file.strip_prefix(&path)
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    // A server is watched where its metrics are found in time.
    kept.retain(|file| file != "server/samples.jsonl");
    kept.sort();
    assert_eq!(
        kept,
        [
            "SHA256SUMS",
            "ending.json",
            "environment.json",
            "records/records.parquet",
            "report.html",
            "scenario.toml",
            "summary.json"
        ]
    );

    let verified = place.run(&["verify", path.to_str().unwrap(), "--lang", "en"]);
    assert_eq!((verified.code, verified.stderr.as_str()), (Some(0), ""));
    assert!(verified.stdout.contains("intact"), "{}", verified.stdout);

    let again = place.run(&["report", "--lang", "en"]);
    assert_eq!((again.code, again.stderr.as_str()), (Some(0), ""));
    assert_eq!(again.stdout, run.stdout);

    let json = place.run(&["report", "--lang", "en", "--format", "json"]);
    let shown: Value = serde_json::from_str(&json.stdout).unwrap();
    let stored: Value =
        serde_json::from_slice(&std::fs::read(path.join("summary.json")).unwrap()).unwrap();
    assert_eq!(shown, stored);
    assert_eq!(shown["schema"], "inferometer.summary/1");
    assert_eq!(shown["requests"]["ok"], 24);

    let listed = place.run(&["runs"]);
    assert_eq!(listed.code, Some(0));
    assert!(
        listed
            .stdout
            .contains(path.file_name().unwrap().to_str().unwrap()),
        "{}",
        listed.stdout
    );
    assert!(listed.stdout.contains("VALID"));

    // Without its hashes it is shown, and the reader is told.
    let (sums, aside) = (path.join("SHA256SUMS"), path.join("aside"));
    std::fs::rename(&sums, &aside).unwrap();
    let unhashed = place.run(&["report", "--lang", "en"]);
    assert_eq!(unhashed.code, Some(0), "{unhashed:?}");
    assert!(
        unhashed.stdout.contains("SHA256SUMS is missing"),
        "{}",
        unhashed.stdout
    );
    std::fs::rename(&aside, &sums).unwrap();

    let records = path.join("records/records.parquet");
    let mut rotten = std::fs::read(&records).unwrap();
    let middle = rotten.len() / 2;
    rotten[middle] ^= 1;
    std::fs::write(&records, rotten).unwrap();
    let verified = place.run(&["verify", "inferometer-runs", "--lang", "en"]);
    assert_eq!(verified.code, Some(1), "{verified:?}");
    assert!(
        verified.stdout.contains("DAMAGED") && verified.stdout.contains("records.parquet"),
        "{}",
        verified.stdout
    );
    place
        .run(&["report", "--lang", "en"])
        .assert_refused(&["records.parquet", "restore it from a copy"]);
    std::fs::create_dir(place.path("empty")).unwrap();
    place
        .run(&["verify", "empty"])
        .assert_refused(&["inferometer runs"]);
}

#[test]
fn a_run_can_be_shown_in_other_formats_dialects_and_with_other_objectives() {
    let place = Place::new();
    let sim = Sim::start(&[]);
    let run = place.measure(
        &sim.url,
        &[
            "--requests",
            "20",
            "--concurrency",
            "4",
            "--output-tokens",
            "8",
        ],
    );
    let path = run.path.to_str().unwrap();
    let report = |options: &[&str]| {
        let mut arguments = vec!["report", path, "--lang", "en"];
        arguments.extend(options);
        place.run(&arguments)
    };

    let csv = report(&["--format", "csv"]);
    assert_eq!((csv.code, csv.stdout.as_str()), (Some(0), ""));
    let csv = std::fs::read_to_string(run.path.join("report.csv")).unwrap();
    assert_eq!(csv.trim_end().lines().count(), 2, "{csv}");
    let columns = |line: &str| line.split(',').count();
    let mut lines = csv.lines();
    assert_eq!(
        columns(lines.next().unwrap()),
        columns(lines.next().unwrap())
    );
    let to_stdout = report(&["--format", "csv", "-o", "-"]);
    assert_eq!(to_stdout.stdout, csv);

    let md = report(&["--format", "md"]);
    assert_eq!((md.code, md.stdout.as_str()), (Some(0), ""));
    let md = std::fs::read_to_string(run.path.join("report.md")).unwrap();
    assert!(
        md.starts_with("**VALID** ") && md.contains("\n## Latency\n"),
        "{md}"
    );

    for (dialect, word) in [
        ("evalscope-2024", "Succeed requests: 20\n"),
        ("evalscope", "20 / 20 / 0"),
        ("mindie", "20( 100.0% )"),
        ("aiperf", "Request Count (requests)"),
        ("guidellm", "TPOT"),
    ] {
        let text = report(&["--dialect", dialect]).stdout;
        assert!(text.contains(word), "{dialect}: {text}");
        let json = report(&["--dialect", dialect, "--format", "json"]).stdout;
        assert!(
            serde_json::from_str::<Value>(&json).is_ok(),
            "{dialect}: {json}"
        );
    }

    let vllm = report(&["--dialect", "vllm"]).stdout;
    assert!(
        vllm.starts_with("============ Serving Benchmark Result ============\n"),
        "{vllm}"
    );
    let line = |label: &str| {
        vllm.lines()
            .find(|line| line.starts_with(label))
            .unwrap()
            .to_owned()
    };
    assert_eq!(
        line("Successful requests:"),
        format!("{:<40} {:<10}", "Successful requests:", 20)
    );
    assert_eq!(
        line("Total generated tokens:"),
        format!("{:<40} {:<10}", "Total generated tokens:", 160)
    );
    let vllm: Value =
        serde_json::from_str(&report(&["--dialect", "vllm", "--format", "json"]).stdout).unwrap();
    assert_eq!(
        (&vllm["completed"], &vllm["total_output_tokens"]),
        (&20.into(), &160.into())
    );
    let ours = run.summary.latency.ttft_ms.unwrap().p50;
    let theirs = vllm["median_ttft_ms"].as_f64().unwrap();
    assert!((ours / theirs - 1.0).abs() < 0.5, "{ours} {theirs}");
    // As Python writes it: the rate of a closed loop is infinite.
    let sglang = report(&["--dialect", "sglang", "--format", "json"])
        .stdout
        .replace("Infinity", "null");
    let sglang: Value = serde_json::from_str(&sglang).unwrap();
    assert_eq!(sglang["completed"], 20);

    let attainment = |slo: &str| {
        let ended = report(&["--format", "json", "--slo", slo, "--attainment", "0.5"]);
        let summary: Summary = serde_json::from_str(&ended.stdout).unwrap();
        (ended.code, summary.slo.unwrap().attainment)
    };
    assert_eq!(attainment("ttft=1m"), (Some(0), Some(1.0)));
    assert_eq!(attainment("ttft=1us"), (Some(1), Some(0.0)));
    assert!(run.summary.slo.is_none());

    let all = report(&[
        "--format",
        "text",
        "--format",
        "json",
        "--format",
        "csv",
        "-o",
        place.path("").to_str().unwrap(),
    ]);
    assert_eq!((all.code, all.stdout.as_str()), (Some(0), ""));
    for name in ["report.txt", "report.json", "report.csv"] {
        assert!(place.path(name).metadata().unwrap().len() > 100, "{name}");
    }
}

#[test]
fn a_missed_objective_is_told_by_the_exit_code() {
    let place = Place::new();
    let sim = Sim::start(&[]);
    let options = [
        "--requests",
        "10",
        "--concurrency",
        "2",
        "--output-tokens",
        "4",
    ];
    let missed = place.measure(
        &sim.url,
        &[&options[..], &["--slo", "ttft.p50=1ms"]].concat(),
    );
    assert_eq!(missed.ended.code, Some(1));
    assert!(missed.summary.valid);
    let met = place.measure(
        &sim.url,
        &[&options[..], &["--slo", "ttft.p50=1m", "--slo", "e2e=1m"]].concat(),
    );
    assert_eq!(
        (met.ended.code, met.summary.slo.unwrap().attainment),
        (Some(0), Some(1.0))
    );
}

#[test]
fn json_on_stdout_is_the_summary_and_nothing_else() {
    let place = Place::new();
    let unwatched = ["--server-metrics", "off"];
    let options = [
        &DEMO[..],
        &["--format", "json", "--quiet"],
        &unwatched,
        &ON_ANY_HOST,
    ]
    .concat();
    let ended = place.run(&options);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let shown: Summary = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((shown.requests.planned, shown.requests.ok), (24, 24));
    let printed: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(printed["server"], Value::Null);
    assert_eq!(
        printed["latency"]["lag_ms"],
        Value::Null,
        "a closed loop has no schedule to be late for"
    );
}

#[test]
fn the_stored_scenario_repeats_the_run_with_the_same_work_at_the_same_times() {
    let place = Place::new();
    let sim = Sim::start(&[]);
    let options = [
        "--rate",
        "80",
        "--requests",
        "30",
        "--input-tokens",
        "uniform(8,64)",
        "--output-tokens",
        "normal(6,2)",
        "--seed",
        "42",
        "--label",
        "first",
        "--tag",
        "cards=2",
    ];
    let first = place.measure(&sim.url, &options);
    let scenario = first.path.join("scenario.toml");
    let second = place.measure(
        "",
        &["--config", scenario.to_str().unwrap(), "--label", "second"],
    );
    let work = |path| {
        let all = records(path);
        let measured = all.into_iter().filter(|record| record.is_measured());
        measured
            .map(|record| {
                (
                    record.index,
                    record.input_tokens_asked,
                    record.output_tokens_asked,
                )
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(work(&first.path), work(&second.path));
    let due = |records: &[inferometer_core::record::Record]| {
        let first = records[0].due.unwrap();
        records
            .iter()
            .map(|record| record.due.unwrap().since(first))
            .collect::<Vec<_>>()
    };
    assert_eq!(due(&first.records), due(&second.records));
    assert_eq!(second.summary.label.as_deref(), Some("second"));
    assert_eq!(second.summary.tags["cards"], "2");

    let other = options.map(|word| if word == "42" { "43" } else { word });
    let other = place.measure(&sim.url, &other);
    assert_ne!(due(&first.records), due(&other.records));
}

#[test]
fn without_a_stream_there_is_a_latency_and_no_first_token() {
    let sim = Sim::start(&[]);
    let place = Place::new();
    let run = place.measure(
        &sim.url,
        &[
            "--no-stream",
            "--requests",
            "12",
            "--concurrency",
            "3",
            "--output-tokens",
            "6",
        ],
    );
    run.assert_all_ok(12);
    assert_eq!(run.ended.code, Some(0));
    assert!(run.summary.latency.ttft_ms.is_none() && run.summary.latency.tpot_ms.is_none());
    assert!(run.summary.latency.e2e_ms.unwrap().min > 10.0);
    assert_eq!(run.summary.tokens.output, Some(72));
    assert!(run.ended.stdout.contains("n/a"), "{}", run.ended.stdout);
    let computed = place.run(&[
        "run",
        "--no-stream",
        "--sim-clock",
        "virtual",
        "--requests",
        "12",
        "--format",
        "json",
        "--quiet",
    ]);
    let computed: Summary = serde_json::from_str(&computed.stdout).unwrap();
    assert!(computed.latency.ttft_ms.is_none() && computed.latency.tpot_ms.is_none());
    assert!(computed.latency.e2e_ms.is_some());
}

#[test]
fn an_empty_runs_folder_says_how_to_fill_it() {
    let place = Place::new();
    place.run(&["report"]).assert_refused(&["inferometer run"]);
    place
        .run(&["report", "nowhere"])
        .assert_refused(&["inferometer runs"]);
    assert_eq!(place.run(&["runs"]).code, Some(0));
}

#[test]
fn a_reader_who_leaves_early_is_no_error() {
    let place = Place::new();
    let sim = Sim::start(&[]);
    let run = place.measure(
        &sim.url,
        &[
            "--requests",
            "4",
            "--concurrency",
            "2",
            "--output-tokens",
            "4",
        ],
    );
    let mut command = place.command(["report", run.path.to_str().unwrap(), "--lang", "en"]);
    let mut child = command
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let ended = child.wait_with_output().unwrap();
    assert_eq!(
        (ended.status.code(), ended.stderr.as_slice()),
        (Some(0), &b""[..])
    );
}

#[test]
fn what_is_said_beside_the_output_may_find_no_reader() {
    let place = Place::new();
    let full = || std::fs::File::create("/dev/full").unwrap();
    let gone = || {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        writer
    };
    let run = "run --sim-clock virtual --requests 4 --concurrency 2 --no-html --out";
    for (words, code) in [
        (format!("{run} kept"), 0),
        ("report nothing/here".to_owned(), 2),
        ("run --no-such-option".to_owned(), 2),
        (String::new(), 2),
    ] {
        for ending in ["full", "gone"] {
            let mut words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
            if code == 0 {
                *words.last_mut().unwrap() += ending;
            }
            let mut command = place.command(&words);
            match ending {
                "full" => command.stderr(full()),
                _ => command.stderr(gone()),
            };
            let ended = command.stdout(std::process::Stdio::null()).status();
            assert_eq!(ended.unwrap().code(), Some(code), "{words:?} {ending}");
        }
    }
}

#[test]
fn a_run_whose_reader_went_away_still_has_its_page() {
    let place = Place::new();
    let mut command = place.command([
        "run",
        "--sim-clock",
        "virtual",
        "--requests",
        "4",
        "--concurrency",
        "2",
        "--out",
        "unread",
    ]);
    let mut child = command
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    child.wait().unwrap();
    assert!(place.path("unread/report.html").exists());
}

/// A run in virtual time, which takes no time at all.
const COMPUTED: [&str; 9] = [
    "run",
    "--lang",
    "en",
    "--quiet",
    "--sim-clock",
    "virtual",
    "--requests",
    "40",
    "--no-html",
];

fn compute(place: &Place, more: &[&str]) {
    let ended = place.run(&[&COMPUTED[..], more].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[test]
fn runs_finds_what_out_put_elsewhere_and_every_name_that_it_prints_is_taken() {
    let place = Place::new();
    compute(&place, &["--out", "far/away"]);
    compute(&place, &["--label", "near"]);
    let list = place.run(&["runs", "--lang", "en"]).stdout;
    let names: Vec<&str> = (list.lines().skip(1))
        .filter_map(|line| line.split_whitespace().next_back())
        .collect();
    assert_eq!(names.len(), 2, "{list}");
    assert!(names.contains(&"far/away"), "{list}");
    for name in names.iter().copied().chain(["away"]) {
        let report = place.run(&["report", name, "--lang", "en"]);
        assert!(report.stdout.contains("VALID"), "{name}: {report:?}");
        let is_told = report.stderr.contains("away is not here; reading /");
        assert_eq!(is_told, name == "away", "{name}: {report:?}");
    }
    let compared = place.run(&["compare", names[0], names[1], "--lang", "en"]);
    assert!(compared.stdout.contains("A (baseline)"), "{compared:?}");
    // The list of folders is a hint: it may be lost, stale or impossible to write.
    std::fs::remove_dir_all(place.path("far")).unwrap();
    assert!(!place.run(&["runs"]).stdout.contains("away"));
    std::fs::remove_dir_all(place.path("state")).unwrap();
    assert_eq!(place.run(&["runs"]).code, Some(0));
    place.write("state", "no folder");
    compute(&place, &["--out", "far/again"]);
}

#[test]
fn figures_of_the_list_are_chosen_by_name() {
    let place = Place::new();
    compute(&place, &["--out", "a"]);
    let list = place.run(&["runs", "--lang", "en", "--columns", "itl.p99,ok"]);
    let head = list.stdout.lines().next().unwrap();
    assert!(head.contains("ITL p99") && head.contains("ok"), "{head}");
    assert!(!head.contains("tok/s"), "{head}");
    let bad = place.run(&["runs", "--columns", "ttfd"]);
    bad.assert_refused(&["ttfd", "ttft", "summary.json"]);
    assert!(bad.stderr.chars().count() < 250, "{}", bad.stderr);
    let csv = place.run(&["runs", "--format", "csv", "--columns", "ok_rate,ttft.p99"]);
    let head = csv.stdout.lines().next().unwrap();
    assert!(head.ends_with(",label,ok_rate,ttft.p99"), "{head}");
    let row = csv.stdout.lines().nth(1).unwrap();
    let mut figures = row.rsplit(',');
    assert!(
        figures
            .next()
            .unwrap()
            .parse::<f64>()
            .is_ok_and(|it| it > 0.0),
        "{row}"
    );
    assert_eq!(figures.next(), Some("1"), "{row}");
}

#[test]
fn the_list_is_narrowed_by_what_is_known_of_runs_and_by_number() {
    let place = Place::new();
    compute(
        &place,
        &["--out", "a", "--concurrency", "4", "--tag", "night=yes"],
    );
    compute(
        &place,
        &["--out", "b", "--concurrency", "8", "--label", "near"],
    );
    let names = |more: &[&str]| -> Vec<String> {
        let listed = place.run(&[&["runs", "--format", "json"], more].concat());
        let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
        let runs = listed["runs"].as_array().unwrap().iter();
        runs.map(|run| run["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(names(&["--where", "concurrency=8"]), ["b"]);
    assert_eq!(names(&["--where", "night=yes"]), ["a"]);
    assert_eq!(
        names(&["--where", "label=near", "--where", "kind=run"]),
        ["b"]
    );
    assert_eq!(names(&["--where", "state=valid"]).len(), 2);
    assert_eq!(names(&["--limit", "1"]), ["b"], "the newest");
    let one = place.run(&["runs", "--limit", "1", "--lang", "en"]);
    assert!(
        one.stdout.contains("… and 1 older: --limit 0"),
        "{}",
        one.stdout
    );
    assert_eq!(names(&["--limit", "0"]).len(), 2);
    let none = place.run(&["runs", "--where", "concurrency=16"]);
    none.assert_refused(&["concurrency=16", "4, 8"]);
    // A name of the list is taken by history, too.
    compute(&place, &["--concurrency", "4"]);
    let list = place.run(&["runs", "--limit", "1", "--lang", "en"]).stdout;
    let name = list.lines().nth(1).unwrap().split_whitespace().next_back();
    let history = place.run(&["history", name.unwrap(), "--lang", "en"]);
    assert_eq!(history.code, Some(0), "{history:?}");
}

#[test]
fn the_folder_of_a_run_and_the_place_of_its_report_are_not_mixed_up() {
    let place = Place::new();
    let ended = place.run(&[&COMPUTED[..], &["--out", "report.html"]].concat());
    ended.assert_refused(&["--out report.html", "-o report.html"]);
    let ended = place.run(&[&COMPUTED[..], &["-o", "results"]].concat());
    ended.assert_refused(&["-o results", "--out results"]);
    assert!(place.files("inferometer-runs").is_empty());
    compute(&place, &["--out", "a", "-o", "seen.json"]);
    let seen = std::fs::read_to_string(place.path("seen.json")).unwrap();
    assert!(serde_json::from_str::<Summary>(&seen).is_ok(), "{seen}");
    for name in ["--report-to", "--output"] {
        let ended = place.run(&["report", "a", name, "again.csv"]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let again = std::fs::read_to_string(place.path("again.csv")).unwrap();
        assert!(again.lines().count() == 2, "{again}");
    }
}
