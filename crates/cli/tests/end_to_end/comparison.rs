//! Comparisons and imports by themselves: a page, pictures and tables, of every kind of side.

use crate::support::{ON_ANY_HOST, Place, Sim};
use serde_json::Value;

const LADDER: [&str; 8] = [
    "--concurrency",
    "1,4",
    "--requests",
    "64",
    "--input-tokens",
    "16",
    "--output-tokens",
    "4",
];

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn sweep(place: &Place, out: &str, more: &[&str]) {
    let fixed = ["sweep", "--quiet", "--out", out];
    let ended = place.run(&[&fixed[..], &LADDER, &ON_ANY_HOST, more].concat());
    assert!(matches!(ended.code, Some(0 | 1)), "{ended:?}");
}

#[test]
fn two_sweeps_are_paired_by_load_and_give_a_page_pictures_and_tables() {
    let place = Place::new();
    let on = |out: &str, card: &str, tag: &str| {
        let engine = ["--sim-clock", "virtual", "--sim-device", card, "--tag", tag];
        sweep(&place, out, &engine);
    };
    on("a", "h200", "engine=quick");
    on("b", "l20", "engine=idle");
    let formats = ["html", "svg", "png", "md", "csv", "json", "text"];
    let formats: Vec<&str> = formats.iter().flat_map(|it| ["--format", it]).collect();
    let ended = place.run(
        &[
            &["compare", "a", "b", "-o", "seen", "--lang", "en"],
            &formats[..],
        ]
        .concat(),
    );
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let page = std::fs::read_to_string(place.path("seen/report.html")).unwrap();
    for expected in [
        "WORSE",
        "更差",
        "id=\"ratios\"",
        "id=\"overlay\"",
        "id=\"distributions\"",
        "quick",
        "idle",
    ] {
        assert!(page.contains(expected), "{expected}");
    }
    for figure in ["ratios", "overlay", "distributions"] {
        let svg = std::fs::read_to_string(place.path(&format!("seen/{figure}.svg"))).unwrap();
        assert!(svg.starts_with("<svg"), "{figure}");
        let png = std::fs::read(place.path(&format!("seen/{figure}.png"))).unwrap();
        assert!(png.starts_with(b"\x89PNG"), "{figure}");
    }
    let found = json(&std::fs::read_to_string(place.path("seen/report.json")).unwrap());
    let primary: Vec<&Value> = (found["rows"].as_array().unwrap().iter())
        .filter(|row| row["primary"] == true)
        .collect();
    assert_eq!(primary.len(), 2, "{found}");
    assert!(
        primary.iter().all(|row| row["verdict"] == "worse"),
        "{found}"
    );
    let md = std::fs::read_to_string(place.path("seen/report.md")).unwrap();
    assert!(md.contains("output tok/s |"), "{md}");
}

#[test]
fn a_page_without_a_name_goes_into_a_new_folder_that_is_told() {
    let place = Place::new();
    let sim = Sim::start(&["--ttft", "5ms", "--itl", "1ms"]);
    for out in ["a", "b", "c"] {
        sweep(&place, out, &[&sim.url]);
    }
    let ended = place.run(&["compare", "a", "b", "c", "--format", "html", "--lang", "zh"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.stdout, "");
    let folder = ended.stderr.trim().rsplit(' ').next().unwrap().to_owned();
    let page = std::fs::read_to_string(place.path(&folder).join("report.html")).unwrap();
    assert!(page.contains("lang=\"zh\""));
    assert!(page.contains("C") && page.contains("对比报告"));
}

#[test]
fn the_halves_of_an_interleaved_sweep_are_compared_together_or_by_name() {
    let place = Place::new();
    // Forty times apart: no pause of a busy machine hides which is which. A run lasts for more than
    // a second, since that is how exactly its start is known.
    let fast = Sim::start(&["--ttft", "200ms", "--itl", "1ms"]);
    let slow = Sim::start(&["--ttft", "200ms", "--itl", "40ms"]);
    let options = "sweep --quiet --out both --concurrency 4,8 --requests 24 --input-tokens 16 \
        --output-tokens 4 --repeat 3 --interleave";
    let options: Vec<&str> = options.split_whitespace().collect();
    let swept = place.run(&[&options[..], &ON_ANY_HOST, &[&fast.url, &slow.url]].concat());
    assert!(matches!(swept.code, Some(0 | 1)), "{swept:?}");
    let compare = |sides: &[&str]| {
        let decided = ["--primary", "latency.tpot_ms.p50", "--format", "json"];
        place.run(&[&["compare"], sides, &decided].concat())
    };
    let together = compare(&["both"]);
    assert_eq!(together.code, Some(0), "{together:?}");
    let part = |sim: &Sim| format!("both@url={}", sim.url);
    let named = compare(&[&part(&fast), &part(&slow)]);
    assert_eq!(named.code, Some(0), "{named:?}");
    let (together, named) = (json(&together.stdout), json(&named.stdout));
    assert_eq!(together["baseline"], Value::from(fast.url.as_str()));
    let verdicts = |found: &Value| -> Vec<Value> {
        let rows = found["rows"].as_array().unwrap().iter();
        rows.map(|row| row["verdict"].clone()).collect()
    };
    assert_eq!(verdicts(&together), verdicts(&named));
    // On a busy machine three runs of the fast one may lie too far apart for a verdict.
    assert!(named["rows"][0]["ratio"].as_f64() > Some(2.0), "{named}");
    let missing = place.run(&["compare", "both@url=http://elsewhere", "both"]);
    assert_eq!(
        (missing.code, missing.stderr.lines().count()),
        (Some(2), 1),
        "{missing:?}"
    );
    assert!(missing.stderr.contains(&fast.url), "{}", missing.stderr);
}

#[test]
fn parts_of_a_sweep_are_named_by_an_option() {
    let place = Place::new();
    let sim = Sim::start(&["--ttft", "5ms", "--itl", "1ms"]);
    sweep(&place, "lengths", &[&sim.url, "--top-p", "0.5,0.9"]);
    let ended = place.run(&[
        "compare",
        "lengths@top-p=0.5",
        "lengths@top-p=0.9",
        "--format",
        "json",
    ]);
    let found = json(&ended.stdout);
    assert!(
        found["rows"]
            .as_array()
            .unwrap()
            .iter()
            .any(|row| row["primary"] == true),
        "{found}"
    );
}

const NOTES: &str = "# 第一轮\n\
    | 并发数 | 8 | 16 | 32 |\n|---|---|---|---|\n\
    | 期望请求数 | 1000 | 1000 | 1000 |\n\
    | 成功请求数 | 1000 | 1000 | 950 |\n\
    | QPS | 4.13 | 7.96 | 12.1 |\n\
    | 平均延迟(s) | 1.93 | 2.00 | 2.61 |\n\
    | 输出吞吐量(tok/s) | 413 | 796 | 1210 |\n";

#[test]
fn an_import_has_a_page_pictures_and_tables_with_its_doubts_first() {
    let place = Place::new();
    place.write("notes.md", NOTES);
    let ended = place.run(&["import", "notes.md", "--out", "kept", "--lang", "en"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended.stdout.starts_with("1 OF 3 INVALID"),
        "{}",
        ended.stdout
    );
    for expected in ["lost-requests", "Lost requests", "50 of 1,000"] {
        assert!(
            ended.stdout.contains(expected),
            "{expected}: {}",
            ended.stdout
        );
    }
    let page = std::fs::read_to_string(place.path("kept/report.html")).unwrap();
    assert!(page.find("lost-requests").unwrap() < page.find("id=\"ladder\"").unwrap());
    assert!(page.contains("50 个下落不明"), "doubts speak Chinese too");
    for format in ["svg", "png", "md", "csv", "html"] {
        let ended = place.run(&["report", "kept", "--format", format]);
        assert_eq!(ended.code, Some(0), "{format}: {ended:?}");
    }
    assert!(place.path("kept/figures/ladder.svg").is_file());
    assert!(place.path("kept/figures/ladder.png").is_file());
    let chinese = place.run(&["report", "kept", "--lang", "zh"]);
    assert!(
        chinese.stdout.contains("1000 个请求中有 50 个下落不明"),
        "{}",
        chinese.stdout
    );
    let beside = place.run(&["import", "notes.md", "-o", "beside", "--lang", "en"]);
    assert!(beside.stdout.starts_with("1 OF 3 INVALID"), "{beside:?}");
    assert!(place.path("beside/import.json").is_file());
    assert_eq!(place.run(&["report", "beside"]).code, Some(0));
    let lost = place.run(&["import", "notes.md", "--no-keep", "--format", "html"]);
    assert_eq!(
        (lost.code, lost.stderr.lines().count()),
        (Some(2), 1),
        "{lost:?}"
    );
}

#[test]
fn doubts_and_models_of_the_sides_are_told_before_the_figures() {
    let place = Place::new();
    let file = include_str!("../../../../fixtures/import/vllm-0.11.1.json");
    // One of forty failed on both sides: a warning, and nothing against the comparison.
    let failing = file
        .replace("\"completed\": 40", "\"completed\": 39")
        .replace("\"failed\": 0", "\"failed\": 1");
    for (name, model) in [("a.json", "org/7B"), ("b.json", "org/14B")] {
        place.write(name, failing.replace("\"sim\"", &format!("\"{model}\"")));
    }
    let compare = |more: &[&str]| place.run(&[&["compare", "a.json", "b.json"], more].concat());
    let shown = compare(&["--lang", "en"]).stdout;
    for line in [
        "org/7B: warnings: failures",
        "org/14B: warnings: failures",
        "different models: org/7B, org/14B",
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    assert!(shown.find("warnings:") < shown.find("verdict"), "{shown}");
    let found = json(&compare(&["--format", "json"]).stdout);
    assert_eq!(
        found["doubts"][0]["doubts"][0]["code"], "failures",
        "{found}"
    );
    assert_eq!(found["models"][1]["models"][0], "org/14B");
    let same = place
        .run(&["compare", "a.json", "a.json", "--lang", "en"])
        .stdout;
    assert!(!same.contains("different models"), "{same}");
}

#[test]
fn a_comparison_that_cannot_tell_is_no_failure_and_one_of_invalid_results_is() {
    let place = Place::new();
    let table = |rate: f64, further: &str| {
        format!(
            "| concurrency | requests | ok | failed | req/s | tok/s |\n|---|---|---|---|---|---|\n\
             | 4 | 100 | 100 | 0 | {rate} | {} |\n{further}",
            100.0 * rate
        )
    };
    place.write("a.md", table(2.0, "| 8 | 100 | 100 | 0 | 4 | 400 |\n"));
    place.write("b.md", table(2.1, "| 8 | 100 | 90 | 10 | 4 | 400 |\n"));
    let shown = place.run(&["compare", "a.md", "b.md", "--lang", "en"]);
    assert!(shown.stdout.starts_with("CANNOT TELL"), "{shown:?}");
    assert!(
        shown.stdout.contains("not comparable at 1 of 2"),
        "{shown:?}"
    );
    assert_eq!(shown.code, Some(0), "{shown:?}");
    // 150 of 100 requests were answered.
    place.write(
        "c.md",
        table(2.1, "").replace("| 100 | 100 |", "| 100 | 150 |"),
    );
    place.write("a.md", table(2.0, ""));
    let shown = place.run(&["compare", "a.md", "c.md", "--lang", "en"]);
    assert!(shown.stdout.starts_with("NOT COMPARABLE"), "{shown:?}");
    assert!(shown.stdout.contains("INVALID runs of c.md"), "{shown:?}");
    assert_eq!(shown.code, Some(1), "{shown:?}");
}

#[test]
fn a_log_in_which_every_load_failed_is_no_success() {
    let place = Place::new();
    let error = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1 GiB.";
    place.write(
        "oom.log",
        format!("python grid.py --concurrency 64\n{error}\n"),
    );
    let shown = place.run(&["import", "oom.log", "--no-keep", "--lang", "en"]);
    assert!(shown.stdout.starts_with("NOTHING MEASURED"), "{shown:?}");
    assert!(shown.stdout.contains("#1 (c64)"), "{shown:?}");
    assert_eq!(shown.code, Some(1), "{shown:?}");
}

#[test]
fn chosen_columns_are_those_of_csv_too() {
    let place = Place::new();
    let virtual_time = ["--sim-clock", "virtual", "--no-html"];
    sweep(&place, "s", &virtual_time);
    place.write("notes.md", NOTES);
    let csv = |words: &[&str]| {
        let chosen = [
            "--columns",
            "ttft.p99,ok_rate",
            "--format",
            "csv",
            "-o",
            "-",
        ];
        let ended = place.run(&[words, &chosen].concat());
        assert!(matches!(ended.code, Some(0 | 1)), "{ended:?}");
        ended.stdout
    };
    let swept = csv(&["report", "s"]);
    let head = swept.lines().next().unwrap();
    assert!(head.ends_with(",repeat,ttft.p99,ok_rate"), "{head}");
    assert!(
        swept.lines().skip(1).all(|line| line.ends_with(",1")),
        "{swept}"
    );
    let imported = csv(&["import", "notes.md", "--no-keep"]);
    let head = imported.lines().next().unwrap();
    assert!(head.contains(",point,ttft.p99,ok_rate,doubts"), "{head}");
    assert!(
        imported.lines().nth(3).unwrap().contains(",,0.95,"),
        "{imported}"
    );
}

#[test]
fn what_is_worse_beside_the_metric_that_decides_is_said_and_listed() {
    let place = Place::new();
    for (out, card) in [("a", "h200"), ("b", "l20")] {
        let load = ["--rate", "2", "--requests", "120", "--output-tokens", "16"];
        let engine = ["--sim-clock", "virtual", "--sim-device", card, "--out", out];
        place.run(&[&["run", "--quiet"], &load[..], &engine].concat());
    }
    let asked = [
        "compare",
        "a",
        "b",
        "--primary",
        "requests_per_s",
        "--lang",
        "en",
    ];
    let ended = place.run(&[&asked[..], &["--fail-on", "worse", "--out", "kept"]].concat());
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let worse = ended.stdout.lines().find(|line| line.starts_with("WORSE"));
    let worse = worse.expect(&ended.stdout);
    assert!(worse.contains("b: other metrics are worse"), "{worse}");
    let listed = json(&place.run(&["runs", ".", "--format", "json"]).stdout);
    let listed = listed["runs"].as_array().unwrap();
    let kept = listed.iter().find(|it| it["kind"] == "comparison").unwrap();
    assert_eq!(kept["state"], "worse");
}
