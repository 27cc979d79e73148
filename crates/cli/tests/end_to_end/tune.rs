//! `tune`: studies in virtual time.

use crate::support::{Ended, Place, Started, until};
use rustix::process::Signal;
use serde_json::Value;

/// Four slots by default, and many requests that wait for one.
pub const FEW_SLOTS: &str = r#"
[engine]
command = "llama-server -m qwen2.5-7b --port {port}"
[space]
parallel = { int = [1, 64], log = true, step = 2 }
[work]
input-tokens = "64"
output-tokens = "32"
[load]
concurrency = [32]
requests = 96
[goal]
maximize = "throughput.output_tokens_per_s"
[budget]
trials = 12
[last-stage]
best = 1
repeats = 3
"#;

/// A share of the memory that does not hold the weights, and a default that is refused: fewer
/// tokens a step than sequences.
const FAILING: &str = r#"
[engine]
command = "vllm serve qwen2.5-7b --max-num-seqs 3000 --port {port}"
[space]
max-num-batched-tokens = { int = [4096, 16384], log = true, step = 2 }
gpu-memory-utilization = { choice = [0.1, 0.5, 0.9] }
[work]
input-tokens = "64"
output-tokens = "32"
[load]
concurrency = [16]
requests = 32
[goal]
maximize = "throughput.output_tokens_per_s"
[budget]
trials = 12
[search]
searcher = "random"
[last-stage]
best = 1
repeats = 2
"#;

const VIRTUAL: [&str; 5] = ["--sim-clock", "virtual", "--quiet", "--format", "json"];

pub fn words<'a>(study: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut words = vec!["tune", study, "--lang", "en", "--out", "tuned"];
    words.extend(more);
    words
}

pub fn tune(place: &Place, study: &str, more: &[&str]) -> Ended {
    let file = place.write("study.toml", study);
    place.run(&words(&file, more))
}

#[track_caller]
pub fn json(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout)
        .unwrap_or_else(|error| panic!("{error}: {} {}", ended.stdout, ended.stderr))
}

/// The flags of all proposals, in order, from the log of a study.
pub fn proposals(place: &Place) -> Vec<String> {
    let log = std::fs::read_to_string(place.path("tuned/trials.jsonl")).unwrap_or_default();
    log.lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter_map(|event| Some(event.get("proposed")?["flags"].to_string()))
        .collect()
}

pub fn of_state<'a>(found: &'a Value, state: &str) -> Vec<&'a Value> {
    let trials = found["trials"].as_array().unwrap();
    trials
        .iter()
        .filter(|trial| trial["state"] == state)
        .collect()
}

#[test]
fn a_study_finds_a_better_setting_than_a_bad_default_and_calls_it_computed() {
    let place = Place::new();
    let ended = tune(&place, FEW_SLOTS, &VIRTUAL);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let found = json(&ended);
    assert_eq!(found["schema"], "inferometer.study/1");
    assert!(
        found["best"]["flags"]["parallel"].as_i64().unwrap() > 4,
        "{}",
        found["best"]
    );
    assert!(
        found["best"]["command"]
            .as_str()
            .unwrap()
            .contains("--parallel")
    );
    let gain = &found["gain"];
    assert_eq!(found["computed"], true);
    assert_eq!(gain["certified"], false, "{gain}");
    assert!(gain["low"].as_f64().unwrap() > 0.1, "{gain}");
    assert_eq!(found["trials"][0]["flags"], serde_json::json!({}));
    // Seven values are all there are; a study with a larger budget ends with the space.
    assert!(
        place
            .path("tuned/trials/000/concurrency-32/summary.json")
            .is_file()
    );
    let shown = place.run(&["report", "tuned", "--lang", "en"]);
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    let verdict = shown.stdout.starts_with("COMPUTED GAIN");
    assert!(verdict, "{}", shown.stdout);
    let page = std::fs::read_to_string(place.path("tuned/report.html")).unwrap();
    assert!(page.contains("study-slices") && page.contains("study-history"));
    let listed = place.run(&["runs", ".", "--lang", "en"]);
    assert!(listed.stdout.contains("study"), "{}", listed.stdout);
}

#[test]
fn refused_and_crashed_trials_are_results_with_a_class_and_the_engines_words() {
    let place = Place::new();
    let found = json(&tune(&place, FAILING, &VIRTUAL));
    let refused = of_state(&found, "refused");
    assert_eq!(refused.len(), 1, "only the command as given is refused");
    assert_eq!(
        (&refused[0]["id"], &refused[0]["class"]),
        (&0.into(), &"illegal-flags".into())
    );
    assert!(
        refused[0]["evidence"]
            .as_str()
            .unwrap()
            .contains("max_num_seqs")
    );
    let crashed = of_state(&found, "crashed");
    assert!(
        !crashed.is_empty(),
        "a tenth of the memory does not hold the weights"
    );
    for trial in crashed {
        assert_eq!(trial["class"], "no-room-for-kv-cache", "{trial}");
        assert!(
            trial["evidence"].is_string() && trial["summary"].is_null(),
            "{trial}"
        );
    }
    assert!(!found["failures"].as_array().unwrap().is_empty());
    assert!(
        found["gain"].is_null(),
        "the default has no figure to compare with"
    );
}

#[test]
fn a_killed_study_goes_on_with_the_same_proposals() {
    let whole = Place::new();
    assert_eq!(tune(&whole, FAILING, &VIRTUAL).code, Some(0));
    let place = Place::new();
    let file = place.write("study.toml", FAILING);
    let started = Started::new(place.command(words(&file, &VIRTUAL)));
    until("a few trials", || {
        (proposals(&place).len() >= 4).then_some(())
    });
    started.signal(Signal::KILL);
    started.wait();
    let at_kill = proposals(&place);
    let ended = place.run(&words(&file, &VIRTUAL));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let all = proposals(&place);
    assert!(all.starts_with(&at_kill));
    assert_eq!(all, proposals(&whole));
    // Nothing is left to do, and nothing is done twice.
    let again = place.run(&words(&file, &VIRTUAL));
    assert_eq!(proposals(&place), all);
    assert_eq!(json(&again)["best"], json(&ended)["best"]);
}

#[test]
fn another_study_is_not_continued_in_the_same_folder() {
    let place = Place::new();
    assert_eq!(tune(&place, FEW_SLOTS, &VIRTUAL).code, Some(0));
    let other = FEW_SLOTS.replace("trials = 12", "trials = 13");
    tune(&place, &other, &VIRTUAL).assert_refused(&["another study", "--out"]);
}

#[test]
fn racing_ends_dominated_trials_early() {
    let place = Place::new();
    let study = FEW_SLOTS.replace(
        "[last-stage]",
        "[search]\nsearcher = \"halving\"\n[last-stage]",
    );
    let found = json(&tune(&place, &study, &VIRTUAL));
    let stopped = of_state(&found, "stopped");
    assert!(!stopped.is_empty(), "{found}");
    assert!(
        place
            .files("tuned/trials")
            .iter()
            .any(|file| { file.to_str().unwrap().contains("rung-0-concurrency-32") })
    );
}

#[test]
fn a_searcher_outside_proposes_over_pipes_and_its_failures_are_told() {
    let place = Place::new();
    place.write(
        "searcher.py",
        r#"
import json, sys
left = [2, 16, 48]
for line in sys.stdin:
    said = json.loads(line)
    if said["type"] == "ask":
        answer = {"type": "point", "point": {"parallel": left.pop(0)}} if left else {"type": "finished"}
        print(json.dumps(answer), flush=True)
"#,
    );
    let by = |command: &str| {
        let search = format!("[search]\ncommand = \"{command}\"\n[last-stage]");
        let study = FEW_SLOTS.replace(", step = 2", "");
        study.replace("[last-stage]", &search)
    };
    let found = json(&tune(&place, &by("python3 searcher.py"), &VIRTUAL));
    let chosen: Vec<i64> = (found["trials"].as_array().unwrap().iter())
        .filter(|trial| trial["origin"] == "search")
        .filter_map(|trial| trial["flags"]["parallel"].as_i64())
        .collect();
    assert_eq!(chosen, [2, 16, 48]);
    let place = Place::new();
    let ended = tune(&place, &by("true"), &VIRTUAL);
    assert_eq!(ended.code, Some(2));
    assert!(
        ended.stderr.contains("the searcher 'true' ended"),
        "{}",
        ended.stderr
    );
    let missing = tune(&Place::new(), &by("no-such-searcher"), &VIRTUAL);
    assert_eq!(missing.code, Some(2));
    assert!(
        missing.stderr.contains("no-such-searcher"),
        "{}",
        missing.stderr
    );
}

#[test]
fn a_capacity_study_searches_the_load_of_a_start() {
    let place = Place::new();
    let study = FEW_SLOTS
        .replace("concurrency = [32]\nrequests = 96", "capacity = true")
        .replace(
            "throughput.output_tokens_per_s\"",
            "value\"\nslo = [\"ttft=2s\"]\nattainment = 0.8",
        )
        .replace("trials = 12", "trials = 1")
        .replace("repeats = 3", "repeats = 2")
        .replace("output-tokens = \"32\"", "output-tokens = \"8\"");
    let found = json(&tune(&place, &study, &VIRTUAL));
    assert!(
        found["trials"][0]["objective"].as_f64().unwrap() > 0.0,
        "{found}"
    );
    assert!(
        place
            .path("tuned/trials/000/capacity/capacity.json")
            .is_file()
    );
}

#[test]
fn a_study_to_start_from_can_be_run() {
    let place = Place::new();
    let printed = place.run(&[
        "tune",
        "--init",
        "--",
        "vllm",
        "serve",
        "qwen2.5-7b",
        "--port",
        "{port}",
    ]);
    assert_eq!(printed.code, Some(0), "{}", printed.stderr);
    let study = printed
        .stdout
        .replace("trials = 30", "trials = 2")
        .replace("repeats = 4", "repeats = 2");
    let ended = tune(&place, &study, &VIRTUAL);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
}

#[test]
fn bad_studies_are_refused_in_one_line() {
    let refused = |from: &str, to: &str, remedies: &[&str]| {
        let study = FAILING.replace(from, to);
        assert_ne!(study, FAILING);
        tune(&Place::new(), &study, &VIRTUAL).assert_refused(remedies);
    };
    refused(
        "max-num-batched-tokens",
        "max-num-batched-token",
        &["max-num-batched-tokens"],
    );
    refused(
        "[4096, 16384]",
        "[512, 1024]",
        &["[space]", "refuses every point"],
    );
    refused(
        "maximize = \"throughput.output_tokens_per_s\"",
        "",
        &["maximize"],
    );
    refused(
        "throughput.output_tokens_per_s",
        "throughput.output_tok_per_s",
        &["[goal]", "did you mean throughput.output_tokens_per_s?"],
    );
    refused("trials = 12", "trials = 0", &["[budget] trials"]);
    refused(
        "[budget]",
        "threshold = [\"failures=0.1\"]\n[budget]",
        &["[goal] threshold", "failures=0.1"],
    );
    let place = Place::new();
    place
        .run(&["tune", "none.toml"])
        .assert_refused(&["none.toml"]);
    tune(
        &place,
        FAILING,
        &["--sim-clock", "virtual", "--sim-device", "abacus"],
    )
    .assert_refused(&["abacus", "a100-80g", "sim --help"]);
    let wrong = FEW_SLOTS.replace("output_tokens_per_s", "tokens");
    let ended = tune(&place, &wrong, &VIRTUAL);
    assert_eq!(ended.code, Some(2));
    assert!(
        ended.stderr.contains("throughput.tokens"),
        "{}",
        ended.stderr
    );
}

/// Where the flags matter: a ladder of the same engine is measured, a profile fitted to it, and
/// a study guided by that.
#[test]
fn a_calibrated_profile_guides_the_search() {
    const GUIDED: &str = r#"
[engine]
command = "vllm serve qwen2.5-7b --port {port}"
[space]
max-num-seqs = { int = [4, 256], log = true, step = 2 }
max-num-batched-tokens = { int = [512, 8192], log = true, step = 2 }
[work]
input-tokens = "256"
output-tokens = "64"
[load]
concurrency = [128]
requests = 384
[goal]
maximize = "throughput.output_tokens_per_s"
[budget]
trials = 5
[last-stage]
best = 1
repeats = 2
"#;
    let place = Place::new();
    let ladder = "sweep --sim-clock virtual --concurrency 4,16,64 --requests 160 --input-tokens 256 --output-tokens 64 --out ladder --quiet --no-html";
    let command = ["--", "vllm", "serve", "qwen2.5-7b"];
    let words_of = |line: &'static str| line.split(' ');
    let measured: Vec<&str> = words_of(ladder).chain(command).collect();
    assert_eq!(place.run(&measured).code, Some(0));
    let calibrate = "plan calibrate ladder --model qwen2.5-7b --device a100-80g -o profile.toml";
    let fitted = place.run(&words_of(calibrate).collect::<Vec<_>>());
    assert_eq!(fitted.code, Some(0), "{}", fitted.stderr);
    let with = [&VIRTUAL[..], &["--prior", "profile.toml"]].concat();
    let guided = tune(&place, GUIDED, &with);
    assert_eq!(guided.code, Some(0), "{}", guided.stderr);
    let found = json(&guided);
    let searched = found["trials"].as_array().unwrap().iter();
    let first = searched
        .filter(|trial| trial["origin"] == "search")
        .map(|trial| trial["flags"]["max-num-seqs"].as_i64().unwrap())
        .next();
    assert!(
        first.is_some_and(|seqs| seqs >= 128),
        "as many sequences as there are streams are expected to be best: {found}"
    );
    let other = GUIDED.replace(
        "[last-stage]",
        "[search]\nsearcher = \"random\"\n[last-stage]",
    );
    tune(&Place::new(), &other, &with).assert_refused(&["profile.toml"]);
}

#[test]
fn a_setting_that_turns_requests_away_never_wins() {
    let study = r#"
[engine]
command = "vllm serve qwen2.5-7b --port {port}"
[space]
max-model-len = { choice = [1800, 4096] }
[work]
input-tokens = "uniform(64,2048)"
output-tokens = "16"
[load]
concurrency = [8]
requests = 64
[goal]
minimize = "latency.ttft_ms.p99"
[budget]
trials = 3
[last-stage]
best = 1
repeats = 2
"#;
    let place = Place::new();
    let found = json(&tune(&place, study, &VIRTUAL));
    let short = |found: &Value| {
        let mut trials = found["trials"].as_array().unwrap().iter();
        let short = trials.find(|it| it["flags"]["max-model-len"] == 1800);
        short.unwrap().clone()
    };
    // About an eighth of the prompts does not fit, which a single run only warns of.
    let loose = study.replace(
        "[budget]",
        "threshold = [\"failures-invalid=0.2\"]\n[budget]",
    );
    let loose = short(&json(&tune(&Place::new(), &loose, &VIRTUAL)));
    assert_eq!(loose["valid"], true, "{loose}");
    let short = short(&found);
    assert_eq!(short["valid"], false, "{short}");
    assert!(short["failed_requests"].as_u64().unwrap() > 0, "{short}");
    assert_ne!(found["best"]["trial"], short["id"], "{}", found["best"]);
    assert_ne!(found["finding"], "better", "{}", found["comparison"]);
    let shown = place.run(&["report", "tuned", "--lang", "en"]);
    assert!(shown.stdout.contains("invalid"), "{}", shown.stdout);
    assert!(shown.stdout.contains("failed req"), "{}", shown.stdout);
}

#[test]
fn the_commands_own_setting_is_the_baseline_of_the_space() {
    let study = FEW_SLOTS
        .replace("--port", "--parallel 2 --port")
        .replace("trials = 12", "trials = 4");
    let place = Place::new();
    let found = json(&tune(&place, &study, &VIRTUAL));
    assert_eq!(found["trials"][0]["flags"], serde_json::json!({}));
    let command = found["best"]["command"].as_str().unwrap();
    assert_eq!(command.matches("--parallel").count(), 1, "{command}");
    assert_eq!(found["finding"], "better", "{command}");
}

#[test]
fn flags_are_spelled_as_the_version_knows_them_and_unmodelled_ones_are_told() {
    let study = r#"
[engine]
command = "vllm serve Qwen/Qwen2.5-7B-Instruct --port {port}"
version = "0.6.3"
[space]
max-num-seqs = { choice = [4, 8, 16, 32, 64] }
disable-custom-all-reduce = { bool = true }
[work]
input-tokens = "64"
output-tokens = "8"
[load]
concurrency = [16]
requests = 32
[goal]
maximize = "throughput.output_tokens_per_s"
[budget]
trials = 10
[last-stage]
best = 1
repeats = 2
"#;
    let place = Place::new();
    std::fs::write(place.path("study.toml"), study).unwrap();
    let ended = place.run(&[
        "tune",
        "study.toml",
        "--out",
        "tuned",
        "--format",
        "json",
        "--sim-clock",
        "virtual",
    ]);
    let told = "does not act on disable-custom-all-reduce";
    assert!(ended.stderr.contains(told), "{}", ended.stderr);
    let found = json(&ended);
    assert!(of_state(&found, "refused").is_empty(), "{found}");
    let mut flags = found["importance"].as_array().unwrap().iter();
    let line = flags.find(|line| line["flag"] == "disable-custom-all-reduce");
    assert_eq!(line.expect("it was searched")["effect"], "not-modelled");
    let command = found["best"]["command"].as_str().unwrap();
    assert!(!command.contains("--no-"), "{command}");
}

#[test]
fn a_study_says_its_plan_and_one_that_finds_nothing_has_come_to_its_end() {
    let place = Place::new();
    let goal = "[budget]";
    let never = FEW_SLOTS.replace(goal, "slo = [\"ttft.p99=1ms\"]\n[budget]");
    let loud = ["--sim-clock", "virtual"];
    let ended = tune(&place, &never, &loud);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(
        ended.stdout.starts_with("NOTHING FOUND"),
        "{}",
        ended.stdout
    );
    let plan = "at most 12 trials, then 6 fresh starts that decide";
    assert!(ended.stderr.contains(plan), "{}", ended.stderr);
    let listed = place.run(&["runs", ".", "--lang", "en"]).stdout;
    assert!(listed.contains("NOTHING FOUND"), "{listed}");
    let again = tune(&place, &never, &loud);
    assert_eq!(again.code, Some(1), "{again:?}");
    let log = std::fs::read_to_string(place.path("tuned/trials.jsonl")).unwrap();
    assert_eq!(log.matches("\"complete\"").count(), 1, "{log}");
}

#[test]
fn a_study_of_which_nothing_could_be_measured_is_still_known_to_be_computed() {
    let place = Place::new();
    let study = FAILING.replace("--max-num-seqs 3000", "--gpu-memory-utilization 0.1");
    let study = study.replace(
        "gpu-memory-utilization = { choice = [0.1, 0.5, 0.9] }\n",
        "",
    );
    let found = json(&tune(&place, &study, &VIRTUAL));
    assert_eq!(of_state(&found, "done"), Vec::<&Value>::new());
    assert_eq!(found["computed"], true);
    assert_eq!(found["bed"]["engine"], "vllm");
    let shown = place.run(&["report", "tuned", "--lang", "en"]);
    assert!(
        shown.stdout.contains("computed in virtual time"),
        "{}",
        shown.stdout
    );
}

#[test]
fn a_space_of_one_legal_point_says_so_and_which_values_were_refused() {
    let place = Place::new();
    let study = FAILING.replace(" --max-num-seqs 3000", "");
    let study = study.replace(
        "max-num-batched-tokens = { int = [4096, 16384], log = true, step = 2 }\ngpu-memory-utilization = { choice = [0.1, 0.5, 0.9] }\n",
        "block-size = { choice = [7, 16] }\nkv-cache-dtype = { choice = [\"auto\", \"int4\"] }\n",
    );
    let found = json(&tune(&place, &study, &VIRTUAL));
    assert_eq!(found["finding"], "default-alone", "{found}");
    assert_eq!(found["bed"]["legal_points"], 1);
    let refused = found["bed"]["refused"].as_array().unwrap();
    let values: Vec<&Value> = refused.iter().map(|it| &it["value"]).collect();
    assert_eq!(values, [&Value::from(7), &Value::from("int4")]);
}

#[test]
fn a_mindie_that_runs_out_of_memory_says_what_did_not_fit() {
    let place = Place::new();
    let config = r#"{"ServerConfig": {"port": 1025, "httpsEnabled": false}, "BackendConfig": {
        "npuDeviceIds": [[0]],
        "ModelDeployConfig": {"maxSeqLen": 4096, "maxInputTokenLen": 2048, "ModelConfig": [
            {"modelName": "qwen", "modelWeightPath": "/data/qwen2.5-7b", "worldSize": 1,
             "npuMemSize": -1}]},
        "ScheduleConfig": {"maxPrefillBatchSize": 50, "maxPrefillTokens": 8192,
            "maxBatchSize": 200, "maxIterTimes": 512}}}"#;
    place.write("config.json", config);
    let study = FEW_SLOTS
        .replace(
            "llama-server -m qwen2.5-7b --port {port}\"",
            "mindieservice_daemon\"\nconfig = \"config.json\"",
        )
        .replace(
            "parallel = { int = [1, 64], log = true, step = 2 }",
            "npuMemSize = { choice = [8, 64] }",
        )
        .replace("trials = 12", "trials = 4");
    let device = ["--sim-device", "910b4"];
    let found = json(&tune(&place, &study, &[&VIRTUAL[..], &device].concat()));
    let failure = &found["failures"][0];
    assert_eq!(failure["class"], "out-of-memory-loading", "{found}");
    let words = failure["words"].as_str().unwrap();
    assert!(words.starts_with("NPU out of memory."), "{words}");
    assert!(words.contains("a KV cache of 64.00 GiB"), "{words}");
}
