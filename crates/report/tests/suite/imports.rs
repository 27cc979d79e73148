//! What an import shows: grids, objectives, and results that only their files tell apart.

use inferometer_core::slo::Slo;
use inferometer_import::{Imported, Stored, read};
use inferometer_page::{html, markdown};
use inferometer_report::import::{ImportReport, compose, figures};
use inferometer_site::pages::import::compose_page;
use inferometer_text::Lang;

fn stored(imported: Imported) -> Stored {
    Stored::new(
        imported,
        "notes".to_owned(),
        "2031-01-01T00:00:00Z".to_owned(),
    )
}

/// A log with a result for each pair of lengths at two loads, for each template.
fn grid(templates: &[&str]) -> Stored {
    let mut log = String::new();
    for template in templates {
        log += &format!("prompt template: {template}\n");
        for (input, ask, load) in [
            (1000, 500, 4),
            (1000, 4000, 4),
            (4000, 500, 4),
            (4000, 4000, 4),
            (1000, 500, 16),
            (1000, 4000, 16),
            (4000, 500, 16),
            (4000, 4000, 16),
        ] {
            let speed = load * 10 + input / 1000 + template.len();
            log += &format!(
                "并发: {load}\n单个文本块长度: {input}\n生成文本长度: {ask}\nduration: 100\n\
                 completion-tokens/second: {speed}\nn-request: 100\nQPS: 1.0\n{}\n",
                "-".repeat(40)
            );
        }
    }
    stored(read("grid.log", &log))
}

#[test]
fn the_grid_of_a_log_has_heat_maps_one_for_each_load_and_template() {
    let maps = |templates: &[&str]| {
        let stored = grid(templates);
        let figures = figures(&ImportReport::new(&stored, None, Lang::En));
        let maps = figures
            .iter()
            .filter(|figure| figure.id.starts_with("grid"));
        maps.map(|figure| figure.title.clone()).collect::<Vec<_>>()
    };
    let one = maps(&["v1"]);
    assert_eq!(one.len(), 2, "{one:?}");
    let two = maps(&["v1", "longer"]);
    assert_eq!(two.len(), 4, "{two:?}");
    assert!(two.iter().filter(|title| title.contains("longer")).count() == 2);
}

#[test]
fn objectives_are_met_missed_or_not_stated() {
    let table = "| concurrency | QPS | TTFT p99 (ms) | TPOT p99 (ms) |\n|---|---|---|---|\n\
                 | 4 | 2.0 | 400 | 20 |\n| 8 | 3.0 | 600 | 30 |\n| 16 | 4.0 | 300 | - |\n";
    let stored = stored(read("notes.md", table));
    let slos: Vec<Slo> = ["ttft.p99=500ms", "tpot.p99=25ms"]
        .map(|slo| slo.parse().unwrap())
        .to_vec();
    let shown = |objectives: &[Slo], lang| {
        let report = ImportReport::new(&stored, None, lang).judged_by(objectives);
        markdown::render(&compose(&report))
    };
    let english = shown(&slos, Lang::En);
    for expected in [
        "| met |",
        "missed: ttft.p99=500ms (600 ms), tpot.p99=25ms (30.0 ms)",
        "not stated: tpot.p99=25ms",
    ] {
        assert!(english.contains(expected), "{expected}\n{english}");
    }
    assert!(shown(&slos, Lang::Zh).contains("未给出：tpot.p99=25ms"));
    assert!(!shown(&[], Lang::En).contains("SLO"));
}

#[test]
fn what_misses_an_objective_is_not_the_best() {
    let trial = |seqs: u32, rate: f64, ttft: f64| {
        format!(
            "vllm serve m --max-num-seqs {seqs}\n{{\"max_concurrency\": 8, \"duration\": 50.0, \"completed\": 500, \"failed\": 0, \"request_throughput\": 10.0, \"output_throughput\": {rate}, \"p99_ttft_ms\": {ttft}}}\n"
        )
    };
    let log = [
        (64, 900.0, 400.0),
        (128, 1_200.0, 450.0),
        (256, 1_500.0, 900.0),
    ];
    let log: String = log
        .map(|(seqs, rate, ttft)| trial(seqs, rate, ttft))
        .concat();
    let stored = stored(read("trials.log", &log));
    let slo: Vec<Slo> = vec!["ttft.p99=500ms".parse().unwrap()];
    let best = |objectives: &[Slo]| {
        let report = ImportReport::new(&stored, None, Lang::En).judged_by(objectives);
        let shown = markdown::render(&compose(&report));
        let line = shown.lines().find(|line| line.contains("Best"));
        line.unwrap_or_else(|| panic!("{shown}")).to_owned()
    };
    assert!(best(&[]).contains("1,500"), "{}", best(&[]));
    assert!(best(&slo).contains("1,200"), "{}", best(&slo));
}

#[test]
fn results_of_one_load_are_named_by_their_files_and_days() {
    let saved = |name: &str, date: &str, rate: f64| {
        let text = format!(
            r#"{{"date": "{date}", "model_id": "m", "max_concurrency": 16, "duration": 50.0,
            "completed": 500, "failed": 0, "num_prompts": 500, "request_throughput": {rate},
            "mean_ttft_ms": 90.0}}"#
        );
        read(name, &text).results
    };
    let mut imported = Imported::default();
    imported
        .results
        .extend(saved("w/w01.json", "20310824-030000", 9.5));
    imported
        .results
        .extend(saved("w/w02.json", "20310831-030000", 7.9));
    let stored = stored(imported);
    let text = markdown::render(&compose(&ImportReport::new(&stored, None, Lang::En)));
    for expected in ["w01 (2031-08-24)", "w02 (2031-08-31)"] {
        assert!(text.contains(expected), "{text}");
    }
}

fn shown(stored: &Stored, columns: Option<&str>) -> String {
    let columns = columns.map(|names| names.parse().unwrap());
    let report = ImportReport {
        columns: columns.as_ref(),
        ..ImportReport::new(stored, None, Lang::En)
    };
    markdown::render(&compose(&report))
}

#[test]
fn a_log_of_failures_alone_measured_nothing_and_names_its_loads() {
    let text =
        "concurrency 64\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.16 GiB.\n";
    let page = shown(&stored(read("oom.log", text)), None);
    assert!(page.contains("NOTHING MEASURED"), "{page}");
    assert!(page.contains("#1 (c64)"), "{page}");
}

#[test]
fn kinds_of_results_are_told_as_parts_of_all() {
    let table = "| 并发 | QPS | tok/s | 平均输出token数 |\n|---|---|---|---|\n| 1 | 1 | 100 | 100 |\n| 4 | 4 | 900 | 100 |\n";
    let page = shown(&stored(read("t.md", table)), None);
    assert!(page.contains("results: 2, of which invalid: 1"), "{page}");
}

#[test]
fn tiles_say_how_many_results_they_leave_out() {
    let table = |rate: u32| {
        let text = format!(
            "| 并发 | QPS | tok/s | 平均输出token数 |\n|---|---|---|---|\n| 1 | 1 | 100 | 100 |\n| 4 | 4 | {rate} | 100 |\n"
        );
        let stored = stored(read("t.md", &text));
        let page = compose_page(&stored, Lang::En, |lang| {
            ImportReport::new(&stored, None, lang)
        });
        html::render(&page)
    };
    assert!(table(900).contains("1 invalid or failing left out"));
    assert!(!table(400).contains("left out"));
}

#[test]
fn columns_of_a_study_of_lengths_are_read_from_its_log_and_others_are_named() {
    let grid = grid(&["v1"]);
    let page = shown(&grid, Some("asked_chars,very_short,e2e.p99"));
    assert!(page.contains("asked"), "{page}");
    let line = page
        .lines()
        .find(|line| line.contains("no result has"))
        .unwrap();
    assert!(
        line.contains("very_short") && line.contains("e2e.p99"),
        "{line}"
    );
    assert!(
        line.contains("req_per_s") && line.contains("asked_chars"),
        "{line}"
    );
}
