//! Results that are shown to others: sweeps in other tools' words, the list of every kind, and
//! the index of many.

use crate::support::{Ended, ON_ANY_HOST, Place, Sim};
use std::path::Path;
use std::time::{Duration, Instant};

const QUICK: [&str; 8] = [
    "--lang",
    "en",
    "--quiet",
    "--requests",
    "8",
    "--output-tokens",
    "4",
    "--warmup",
];

fn sweep(place: &Place, url: &str, out: &str) {
    sweep_with(place, url, out, &ON_ANY_HOST);
}

fn sweep_with(place: &Place, url: &str, out: &str, options: &[&str]) -> Ended {
    let mut words = vec!["sweep", url, "--out", out, "--concurrency", "1,2,4"];
    words.extend(QUICK);
    words.push("0");
    words.extend(options);
    let ended = place.run(&words);
    assert!(place.path(out).join("trials.jsonl").is_file(), "{ended:?}");
    ended
}

fn run(place: &Place, url: &str, out: &str, label: &str) {
    let mut words = vec![
        "run",
        url,
        "--out",
        out,
        "--concurrency",
        "2",
        "--label",
        label,
    ];
    words.extend(["--tag", "engine=sim"]);
    words.extend(QUICK);
    words.push("0");
    words.extend(ON_ANY_HOST);
    let ended = place.run(&words);
    assert!(place.path(out).join("summary.json").is_file(), "{ended:?}");
}

#[test]
fn a_sweep_is_shown_in_every_dialect_with_its_points_in_order() {
    let (place, sim) = (
        Place::new(),
        Sim::start(&["--ttft", "150ms", "--itl", "1ms"]),
    );
    sweep(&place, &sim.url, "sweep");
    let dialects = [
        "vllm",
        "sglang",
        "evalscope-2024",
        "evalscope",
        "mindie",
        "aiperf",
        "guidellm",
    ];
    for dialect in dialects {
        let shown = place.run(&["report", "sweep", "--lang", "en", "--dialect", dialect]);
        let at = |name: &str| {
            let line = format!("{name}\n");
            shown
                .stdout
                .find(&line)
                .unwrap_or_else(|| panic!("{dialect}: {shown:?}"))
        };
        assert!(at("concurrency=1") < at("concurrency=2"), "{dialect}");
        assert!(at("concurrency=2") < at("concurrency=4"), "{dialect}");
    }
    let evalscope = place
        .run(&["report", "sweep", "--dialect", "evalscope"])
        .stdout;
    assert!(evalscope.contains("Performance Overview"), "{evalscope}");
    assert_eq!(evalscope.matches("100%").count(), 3, "{evalscope}");
    let guidellm = place
        .run(&["report", "sweep", "--dialect", "guidellm"])
        .stdout;
    let rows = guidellm
        .rsplit("Server Throughput Statistics")
        .next()
        .unwrap();
    assert_eq!(rows.matches("| concurrent").count(), 2, "{rows}");
    assert_eq!(rows.matches("| synchronous").count(), 1, "{rows}");
    let lines = place
        .run(&["report", "sweep", "--dialect", "vllm", "--format", "json"])
        .stdout;
    assert_eq!(lines.lines().count(), 3);
    for line in lines.lines() {
        let object: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(object["completed"], 8);
    }
}

#[test]
fn the_grid_log_of_a_sweep_is_one_log() {
    let (place, sim) = (
        Place::new(),
        Sim::start(&["--ttft", "600ms", "--itl", "1ms"]),
    );
    // A client that is never in time: what says so is a line of the log, and is read back.
    let late = [
        "--threshold",
        "pulse-ms=1e-9",
        "--threshold",
        "lag-invalid-factor=1e-9",
    ];
    for (out, options) in [("sweep", ON_ANY_HOST.as_slice()), ("late", &late)] {
        let swept = sweep_with(&place, &sim.url, out, options);
        let told = place.run(&["report", out, "--dialect", "grid-log"]);
        let log = &told.stdout;
        assert!(
            log.lines().all(|line| line.starts_with('[')),
            "{told:?} {swept:?}"
        );
        assert_eq!(log.matches("并发: ").count(), 3, "{told:?} {swept:?}");
        let invalid = log.matches("inferometer: INVALID").count();
        assert_eq!(
            invalid,
            if out == "late" { 3 } else { 0 },
            "{log} {swept:?}"
        );
        let path = place.write(&format!("{out}.log"), log);
        let read = place.run(&["import", &path, "--format", "json"]);
        let read: serde_json::Value = serde_json::from_str(&read.stdout).unwrap();
        let results = read["results"].as_array().unwrap();
        let invalid = results
            .iter()
            .filter(|it| it["summary"].to_string().contains("client-late"));
        assert_eq!((results.len(), invalid.count() > 0), (3, out == "late"));
    }
}

#[test]
fn notes_of_a_sweep_have_a_column_a_load() {
    let (place, sim) = (Place::new(), Sim::start(&[]));
    sweep(&place, &sim.url, "sweep");
    let shown = place.run(&[
        "report", "sweep", "--lang", "en", "--format", "md", "-o", "-",
    ]);
    assert!(
        shown.stdout.contains("| Concurrency | 1 | 2 | 4 |"),
        "{shown:?}"
    );
    assert!(shown.stdout.contains("| TTFT p50 (ms) |"), "{shown:?}");
}

#[test]
fn the_list_has_every_kind_and_the_latest_of_any_kind_is_shown() {
    let (place, sim) = (Place::new(), Sim::start(&[]));
    run(&place, &sim.url, "inferometer-runs/one", "one");
    sweep(&place, &sim.url, "inferometer-runs/grid");
    let list = place.run(&["runs", "--lang", "en"]).stdout;
    let line = |name: &str| list.lines().find(|line| line.ends_with(name)).unwrap();
    assert!(line("one").contains("run"), "{list}");
    assert!(
        line("grid").contains("sweep") && line("grid").contains("points: 3"),
        "{list}"
    );
    let latest = place.run(&["report", "--lang", "en"]);
    assert!(latest.stdout.contains("Varied"), "{latest:?}");
    run(&place, &sim.url, "inferometer-runs/two", "two");
    let latest = place.run(&["report", "--lang", "en"]);
    assert!(!latest.stdout.contains("Varied"), "{latest:?}");
}

/// What links of a page lead to.
fn links(page: &str) -> Vec<String> {
    let parts = page.split("href=\"").skip(1);
    parts
        .map(|part| part.split('"').next().unwrap().to_owned())
        .collect()
}

#[test]
fn an_index_links_a_page_of_each_result_and_holds_no_markup_of_theirs() {
    let (place, sim) = (Place::new(), Sim::start(&[]));
    run(&place, &sim.url, "runs/one", "<script>alert(1)</script>");
    run(&place, &sim.url, "runs/two", "two");
    sweep(&place, &sim.url, "runs/grid");
    std::fs::write(place.path("runs/two/report.html"), "its own page").unwrap();
    let made = place.run(&["report", "runs", "runs/one", "-o", "site", "--lang", "en"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let site = place.path("site");
    let index = std::fs::read_to_string(site.join("index.html")).unwrap();
    assert!(!index.contains("data-follow "), "a language was chosen");
    place.run(&["report", "runs/one", "runs/two", "-o", "for-any"]);
    let for_any = std::fs::read_to_string(place.path("for-any/index.html")).unwrap();
    assert!(for_any.contains("data-follow "), "nobody chose a language");
    let pages = links(&index);
    assert_eq!(pages.len(), 3, "a path given twice comes once: {pages:?}");
    for page in &pages {
        assert!(site.join(page).is_file(), "{page}");
    }
    assert!(!index.contains("<script>alert"), "{index}");
    assert!(index.contains("engine=sim"), "{index}");
    let own = std::fs::read_to_string(site.join("pages/two.html")).unwrap();
    assert_eq!(own, "its own page");
    let made_up = std::fs::read_to_string(site.join("pages/one.html")).unwrap();
    assert!(
        made_up.contains("VALID") && !made_up.contains("<script>alert"),
        "{made_up}"
    );
}

#[test]
fn results_without_a_page_get_one_made() {
    let place = Place::new();
    let measure = |command: &str, options: &[&str]| {
        let fixed = [
            "--lang",
            "en",
            "--sim-clock",
            "virtual",
            "--quiet",
            "--no-html",
        ];
        let ended = place.run(&[&[command], &fixed[..], options].concat());
        assert!(ended.code <= Some(1), "{ended:?}");
    };
    measure("run", &["--requests", "20", "--out", "runs/one"]);
    let levels = ["--concurrency", "1,2", "--requests", "20"];
    measure("sweep", &[&levels[..], &["--out", "runs/grid"]].concat());
    std::fs::write(place.path("notes.txt"), "not a result").unwrap();
    let made = place.run(&["report", "runs", "notes.txt", "-o", "site", "--lang", "zh"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    assert!(made.stderr.contains("notes.txt is left out"), "{made:?}");
    let index = std::fs::read_to_string(place.path("site/index.html")).unwrap();
    let marked = index.matches("class=\"tag faint\"><span lang=\"en\">computed, not measured");
    assert_eq!(marked.count(), 2, "{index}");
    for (name, figure) in [("one", "distributions"), ("grid", "ladder")] {
        let page = place.path(&format!("site/pages/{name}.html"));
        let page = std::fs::read_to_string(page).unwrap();
        assert!(
            page.contains(&format!("id=\"{figure}\"")),
            "{name} has its charts"
        );
        assert!(page.contains("<html lang=\"zh\""));
    }
}

#[test]
fn an_index_needs_a_folder_and_results() {
    let place = Place::new();
    std::fs::create_dir(place.path("empty")).unwrap();
    let refused = |words: &[&str], remedy: &str| place.run(words).assert_refused(&[remedy]);
    refused(&["report", "empty", "empty"], "-o DIR");
    refused(&["report", "empty", "empty", "-o", "site"], "no run");
    refused(
        &["report", "a", "b", "-o", "site", "--format", "md"],
        "--format",
    );
    refused(&["report", "empty"], "not a run directory");
    refused(&["report", "absent"], "does not exist");
}

#[test]
fn an_index_of_a_thousand_runs_takes_moments() {
    let (place, sim) = (Place::new(), Sim::start(&[]));
    run(&place, &sim.url, "one", "one");
    let files = [
        "scenario.toml",
        "environment.json",
        "ending.json",
        "summary.json",
    ];
    for number in 0..1000 {
        let folder = place.path(&format!("many/run-{number}"));
        std::fs::create_dir_all(&folder).unwrap();
        for file in files {
            std::fs::copy(place.path("one").join(file), folder.join(file)).unwrap();
        }
    }
    let begun = Instant::now();
    let made = place.run(&["report", "many", "-o", "site", "--lang", "en"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    // A second or two where nothing else runs, and the program is optimized.
    assert!(
        begun.elapsed() < Duration::from_secs(60),
        "{:?}",
        begun.elapsed()
    );
    let index = std::fs::read_to_string(place.path("site/index.html")).unwrap();
    assert_eq!(links(&index).len(), 1000);
    let is_page = |link: &String| Path::new(&place.path("site")).join(link).is_file();
    assert!(links(&index).iter().all(is_page));
}
