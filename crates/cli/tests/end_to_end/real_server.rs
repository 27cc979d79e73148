//! The binary against a real engine: llama.cpp's server with a tiny random model.
//!
//! Needs an interpreter with the wheel `xllamacpp`: the one that `INFEROMETER_TEST_PYTHON`
//! names, else `python3`. Where it cannot be had the tests say so and pass, except with `CI=true`.

use crate::support::ON_ANY_HOST;
use inferometer_testing::skipped;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use tempfile::TempDir;

/// Tokens that a request may use: `--ctx` is shared by the slots.
const CONTEXT: u32 = 2048;
const SLOTS: u32 = 2;

/// The server's address, started once; `None` where there is no such engine. Its standard input
/// closes when this process ends, and the server with it.
fn server() -> Option<&'static str> {
    static SERVER: OnceLock<Option<String>> = OnceLock::new();
    SERVER
        .get_or_init(|| match start() {
            Ok(url) => Some(url),
            Err(why) => {
                skipped(&format!("no test against llama.cpp's server: {why}"));
                None
            }
        })
        .as_deref()
}

fn start() -> Result<String, String> {
    let python = inferometer_testing::python();
    let found = Command::new(&python)
        .args(["-c", "import xllamacpp"])
        .output();
    if !found.is_ok_and(|found| found.status.success()) {
        return Err(format!(
            "{python} cannot import xllamacpp; name one that can in INFEROMETER_TEST_PYTHON"
        ));
    }
    let fixtures = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let model = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("real_server.gguf");
    let written = Command::new(&python)
        .arg(fixtures.join("tiny_gguf.py"))
        .arg(&model)
        .status();
    assert!(
        written.expect("the interpreter runs").success(),
        "the model could not be written"
    );
    let mut child = Command::new(&python)
        .arg(fixtures.join("serve_llama.py"))
        .arg("0")
        .arg(&model)
        .args([
            "--ctx",
            &(CONTEXT * SLOTS).to_string(),
            "--slots",
            &SLOTS.to_string(),
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the interpreter runs");
    let mut line = String::new();
    let stdout = child.stdout.take().expect("standard output is piped");
    BufReader::new(stdout)
        .read_line(&mut line)
        .expect("the server says where it listens");
    let port = line
        .trim()
        .strip_prefix("listening ")
        .unwrap_or_else(|| panic!("the server said '{line}'"));
    let url = format!("http://127.0.0.1:{port}");
    // Its end of the pipe must stay open for as long as this process lives.
    std::mem::forget(child);
    Ok(url)
}

/// `inferometer run` of that server with nothing from the caller's environment.
fn run(url: &str, out: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_inferometer"));
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("INFEROMETER_") || name == "OPENAI_API_KEY" {
            command.env_remove(name.as_ref());
        }
    }
    command
        .args([
            "run",
            url,
            "--quiet",
            "--format",
            "json",
            "--concurrency",
            "2",
        ])
        // What is tested here is nothing for the list of results that its user sees.
        .env("INFEROMETER_REGISTRY", "off")
        // How late a busy host is says nothing about the server.
        .args(ON_ANY_HOST)
        .arg("--out")
        .arg(out)
        .args(arguments)
        .output()
        .expect("the binary runs")
}

fn summary(output: &Output) -> Value {
    let said = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}; standard error: {said}"))
}

/// Doubts that come of a wrong reading of the server's answers. All others depend on the host and
/// its other work: thirty requests of a server on one thread may stall, or not settle.
const MISREAD: [&str; 7] = [
    "lost-requests",
    "failures",
    "output-lengths",
    "token-source",
    "chunk-not-token",
    "server-died",
    "nothing-measured",
];

fn assert_well_read(summary: &Value) {
    let codes = summary["doubts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|doubt| doubt["code"].as_str().unwrap());
    let wrong: Vec<&str> = codes.filter(|code| MISREAD.contains(code)).collect();
    assert!(wrong.is_empty(), "{wrong:?} in {summary:#}");
    assert_eq!(summary["valid"], true, "{summary:#}");
}

/// Every request was answered, and counted, as it was asked.
fn assert_all_ok(output: &Output, requests: u64, output_tokens: u64) -> Value {
    let summary = summary(output);
    assert_eq!(summary["requests"]["ok"], requests, "{summary:#}");
    assert_eq!(summary["requests"]["planned"], requests);
    assert_eq!(summary["failures"], Value::Array(Vec::new()));
    assert_eq!(summary["tokens"]["source"], "usage");
    assert_eq!(summary["tokens"]["output"], requests * output_tokens);
    assert_eq!(output.status.code(), Some(0), "{summary:#}");
    summary
}

#[test]
fn streams_have_the_asked_length_and_every_token_its_time() {
    let Some(url) = server() else { return };
    let folder = TempDir::new().unwrap();
    for api in ["chat", "completions"] {
        let out = folder.path().join(api);
        let work = [
            "--api",
            api,
            "--requests",
            "30",
            "--input-tokens",
            "48",
            "--output-tokens",
            "24",
        ];
        let summary = assert_all_ok(&run(url, &out, &work), 30, 24);
        assert_well_read(&summary);
        assert_eq!(summary["latency"]["ttft_ms"]["n"], 30);
        assert_eq!(summary["latency"]["itl_is_per_token"], true);
        assert_eq!(summary["latency"]["itl_ms"]["n"], 30 * 23);
        assert!(
            summary["tokens"]["input"].as_u64().unwrap() >= 30 * 48,
            "{summary:#}"
        );
    }
}

#[test]
fn whole_answers_have_the_asked_length_and_no_first_token() {
    let Some(url) = server() else { return };
    let folder = TempDir::new().unwrap();
    for api in ["chat", "completions"] {
        let out = folder.path().join(api);
        let work = [
            "--api",
            api,
            "--no-stream",
            "--requests",
            "20",
            "--input-tokens",
            "48",
            "--output-tokens",
            "16",
        ];
        let summary = assert_all_ok(&run(url, &out, &work), 20, 16);
        assert_well_read(&summary);
        assert_eq!(summary["latency"]["ttft_ms"], Value::Null);
        assert_eq!(summary["latency"]["e2e_ms"]["n"], 20);
    }
}

#[test]
fn prompts_are_counted_as_the_model_counts_them() {
    let Some(url) = server() else { return };
    let folder = TempDir::new().unwrap();
    // A word of the model's list with a space before it is one token.
    let words = [" river", " moon", " water", " horse"];
    let lines: Vec<String> = (1..=16)
        .map(|count| words.repeat(4)[..count].concat())
        .collect();
    let tokens: usize = lines
        .iter()
        .map(|line| line.split_whitespace().count())
        .sum();
    let data = folder.path().join("lines.txt");
    std::fs::write(&data, lines.join("\n")).unwrap();
    let data = data.to_str().unwrap();
    let work = [
        "--api",
        "completions",
        "--data",
        data,
        "--requests",
        "16",
        "--output-tokens",
        "8",
        "--ignore-eos",
    ];
    let summary = assert_all_ok(&run(url, &folder.path().join("run"), &work), 16, 8);
    assert_eq!(summary["tokens"]["input"], tokens);
}

#[test]
fn work_beyond_the_context_is_refused_before_the_run() {
    let Some(url) = server() else { return };
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("run");
    let output = run(url, &out, &["--input-tokens", "4000", "--requests", "4"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("context") && said.contains(&CONTEXT.to_string()),
        "{said}"
    );
    assert_eq!(said.trim().lines().count(), 1, "{said}");
    assert!(output.stdout.is_empty());
    assert!(!out.exists(), "a run that cannot start leaves no folder");
}

#[test]
fn a_prompt_beyond_the_context_is_a_counted_failure_with_the_servers_words() {
    let Some(url) = server() else { return };
    let folder = TempDir::new().unwrap();
    let data = folder.path().join("lines.txt");
    let mut lines: Vec<String> = (1..10).map(|count| " water".repeat(count)).collect();
    lines.push(" water".repeat(CONTEXT as usize + 1));
    std::fs::write(&data, lines.join("\n")).unwrap();
    let work = [
        "--data",
        data.to_str().unwrap(),
        "--requests",
        "20",
        "--output-tokens",
        "8",
        "--ignore-eos",
    ];
    let output = run(url, &folder.path().join("run"), &work);
    let summary = summary(&output);
    assert_eq!(summary["requests"]["ok"], 18, "{summary:#}");
    assert_eq!(summary["requests"]["failed"], 2);
    let failures = summary["failures"].as_array().unwrap();
    assert_eq!(failures.len(), 1, "{summary:#}");
    assert_eq!(failures[0]["class"], "context-exceeded");
    assert_eq!(failures[0]["phase"], "status");
    assert_eq!(failures[0]["count"], 2);
    let sample = failures[0]["sample"].as_str().unwrap();
    assert!(
        sample.contains("context size") && sample.contains(&CONTEXT.to_string()),
        "{sample}"
    );
    // A tenth of the requests failed: a warning, and no verdict against the rest.
    assert_eq!(summary["valid"], true);
    assert_eq!(output.status.code(), Some(0));
}
