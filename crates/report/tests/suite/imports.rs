//! What an import shows: grids, objectives, and results that only their files tell apart.

use inferometer_core::slo::Slo;
use inferometer_import::{Imported, Stored, read};
use inferometer_page::figure::{Scale, Shape};
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
fn heat_maps_of_one_metric_give_a_value_one_colour() {
    let stored = grid(&["v1", "longer"]);
    let figures = figures(&ImportReport::new(&stored, None, Lang::En));
    let panels = figures.iter().flat_map(|figure| &figure.panels);
    let series = panels.filter(|panel| panel.title == "Output throughput (tok/s)");
    let ends: Vec<_> = (series.flat_map(|panel| &panel.series))
        .filter_map(|series| match &series.shape {
            Shape::Heat(_, ends) => Some(*ends),
            _ => None,
        })
        .collect();
    // From 4 streams and the shorter template to 16 and the longer.
    assert_eq!(ends, [Some([43.0, 170.0]); 4]);
}

#[test]
fn chinese_charts_name_the_lengths_in_chinese() {
    let stored = grid(&["v1"]);
    let mut shown = Vec::new();
    for figure in figures(&ImportReport::new(&stored, None, Lang::Zh)) {
        shown.push(figure.title.clone());
        shown.extend(figure.footnotes.clone());
        let panels = figure.panels.iter();
        shown.extend(panels.flat_map(|it| &it.series).map(|it| it.name.clone()));
    }
    let shown = shown.join("\n");
    assert!(shown.contains("输入长度 1000"), "{shown}");
    for axis in ["input-chars", "ask-chars", "concurrency"] {
        assert!(!shown.contains(axis), "{shown}");
    }
}

#[test]
fn a_grid_without_a_ladder_has_no_chart_of_dots() {
    let cells = [
        (1000, 500, 4),
        (1000, 4000, 16),
        (4000, 500, 16),
        (4000, 4000, 4),
    ];
    let cell = |(input, ask, load): (usize, usize, usize)| {
        format!(
            "并发: {load}\n单个文本块长度: {input}\n生成文本长度: {ask}\nduration: 100\n\
             completion-tokens/second: {}\nn-request: 100\nQPS: 1.0\n{}\n",
            load * 10 + input / 1000,
            "-".repeat(40)
        )
    };
    let drawn = |cells: &[(usize, usize, usize)]| -> Vec<String> {
        let log: String = cells.iter().map(|it| cell(*it)).collect();
        let stored = stored(read("grid.log", &log));
        let figures = figures(&ImportReport::new(&stored, None, Lang::En));
        figures.into_iter().map(|figure| figure.id).collect()
    };
    let is_ladder = |id: &String| id.starts_with("ladder") || id.contains("throughput-latency");
    assert!(!drawn(&cells).iter().any(is_ladder), "{:?}", drawn(&cells));
    let again = cells.map(|(input, ask, load)| (input, ask, 2 * load));
    let climbed = drawn(&[cells, again].concat());
    assert!(climbed.iter().any(is_ladder), "{climbed:?}");
}

#[test]
fn a_ladder_of_which_one_load_is_sound_is_not_drawn() {
    let notes = include_str!("../../../../fixtures/import/evalscope-2024-notes.md");
    let stored = stored(read("notes.md", notes));
    let figures = figures(&ImportReport::new(&stored, None, Lang::En));
    let joined = |shape: &Shape| shape.samples().iter().filter(|it| it.y.is_some()).count() > 1;
    for figure in figures.iter().filter(|it| it.id.contains("ladder")) {
        let mut panels = figure.panels.iter().flat_map(|it| &it.series);
        assert!(panels.any(|it| joined(&it.shape)), "{}", figure.title);
    }
}

#[test]
fn a_grid_of_single_runs_names_a_cell_that_is_far_slower_than_another() {
    let lowest = |low: u32, requests: u32| {
        let notes = format!(
            "## 网格（vLLM，并发 16，每格 {requests} 条）\n\n输出吞吐 (tok/s)：\n\n\
             | 输入长度\\输出长度 | 128 | 512 |\n|---|---|---|\n| 512 | 1010 | 1105 |\n| 8192 | {low} | 940 |\n\n\
             E2E 延迟 (s)：\n\n\
             | 输入长度\\输出长度 | 128 | 512 |\n|---|---|---|\n| 512 | 2.03 | 7.41 |\n| 8192 | 7.04 | 12.8 |\n"
        );
        let shown = as_markdown(&notes, &[], Lang::En);
        assert!(shown.contains("E2E mean"), "one table: {shown}");
        shown.contains("Lowest throughput")
    };
    assert!(lowest(291, 100));
    assert!(!lowest(800, 100), "single runs do not show so little");
    assert!(!lowest(291, 10), "too few requests");
}

#[test]
fn rows_are_named_by_their_flags_and_what_their_author_doubts_is_not_the_best() {
    let notes = "## 参数（vLLM 0.6.3，并发 128，每组 1000 条）\n\n\
        | max-num-seqs | enable-prefix-caching | TTFT mean(ms) | 输出吞吐(tok/s) | 备注 |\n|---|---|---|---|---|\n\
        | 32 | false | 9200 | 1980 | |\n| 128 | false | 245 | 3100 | |\n\
        | 256 | false | 240 | 3150 | |\n| 256 | true | 190 | 9640 | 仅供参考 |\n";
    let shown = as_markdown(notes, &[], Lang::En);
    let best = shown.lines().find(|line| line.contains("Best")).unwrap();
    assert!(
        best.contains("max-num-seqs=256") && !best.contains("true"),
        "{shown}"
    );
    assert!(shown.contains("doubted-by-author"), "{shown}");
    let stored = stored(read("notes.md", notes));
    let page = compose_page(&stored, Lang::En, |lang| {
        ImportReport::new(&stored, None, lang)
    });
    let page = html::render(&page);
    assert!(page.contains("1 invalid, failing or doubted left out"));
    // Charts name settings by the values that tell them apart.
    let figures = figures(&ImportReport::new(&stored, None, Lang::En));
    let scale = &figures[0].panels[0].x.scale;
    let is_named = |names: &[String]| names.iter().any(|name| name.starts_with("false-32"));
    assert!(
        matches!(scale, Scale::Category(names) if is_named(names)),
        "{scale:?}"
    );
}

#[test]
fn a_side_that_states_no_lengths_meets_the_others_and_is_named() {
    let table = "| 并发 | 吞吐量(tok/s) |\n|---|---|\n| 8 | 600 |\n| 32 | 2000 |\n\n";
    let other = table.replace("600", "900").replace("2000", "3000");
    let notes = format!(
        "# n\n## vLLM\n\n输入 1024 / 输出 256，每档 500 条\n\n{table}## SGLang\n每档 500 条\n\n{other}"
    );
    let shown = as_markdown(&notes, &[], Lang::En);
    let (_, beside) = shown.split_once("Side by side").unwrap();
    assert!(
        beside.contains("SGLang: lengths are not stated"),
        "{beside}"
    );
    let row = beside.lines().find(|line| line.contains("2,000"));
    assert!(row.is_some_and(|row| row.contains("3,000")), "{beside}");
}

#[test]
fn a_repeat_that_its_author_doubts_does_not_spoil_the_first() {
    let table = |speed: u32| {
        format!(
            "| 并发 | 吞吐量(tok/s) |\n|---|---|\n| 8 | {speed} |\n| 32 | {} |\n\n",
            3 * speed
        )
    };
    let notes = format!(
        "# n\n## vLLM\n每档 500 条\n\n{}### 复测\n{}以上仅供参考。\n\n## SGLang\n每档 500 条\n\n{}",
        table(600),
        table(400),
        table(500)
    );
    let shown = as_markdown(&notes, &[], Lang::En);
    let (_, beside) = shown.split_once("Side by side").unwrap();
    let row = beside
        .lines()
        .find(|line| line.contains("500") && line.contains("600"));
    assert!(
        row.is_some_and(|row| row.contains("vLLM +20 %")),
        "{beside}"
    );
}

#[test]
fn a_share_of_a_stated_number_of_requests_tells_from_where_on_they_fail() {
    let row = |load: u32, speed: u32, ok: &str| format!("| {load} | {speed} | {ok} |\n");
    let notes = format!(
        "## vLLM（每档 1000 条）\n\n| 并发 | 吞吐量(tok/s) | 成功率 |\n|---|---|---|\n{}{}{}{}",
        row(8, 600, "100%"),
        row(32, 2000, "100%"),
        row(64, 2900, "100%"),
        row(128, 3600, "94.8%")
    );
    let shown = as_markdown(&notes, &[], Lang::En);
    assert!(shown.contains("52 of 1,000 failed at 128"), "{shown}");
    assert!(!shown.contains("other lengths"), "{shown}");
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
fn the_verdict_says_how_many_results_miss_their_objectives() {
    let table = "| 并发 | QPS | p99 TTFT (ms) |\n|---|---|---|\n| 1 | 1 | 100 |\n| 4 | 4 | 900 |\n";
    let verdict = |limit: &str| {
        let page = as_markdown(table, &[limit.parse().unwrap()], Lang::En);
        page.lines().next().unwrap_or_default().to_owned()
    };
    let missed = verdict("ttft.p99=500ms");
    assert!(missed.contains("1 of 2"), "{missed}");
    assert!(!verdict("ttft.p99=1s").contains("objectives"));
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
    assert!(table(900).contains("1 invalid, failing or doubted left out"));
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

/// A ladder under a heading of its own: load, tokens per second, failed of 1,000, p99 of TTFT in ms.
fn ladder(heading: &str, rungs: &[(u32, u32, u32, u32)]) -> String {
    let mut text = format!(
        "# {heading}\n\n## Qwen2.5-72B\n\n\
         | concurrency | output tok/s | requests | failed | TTFT p99 (ms) |\n|---|---|---|---|---|\n"
    );
    for (load, rate, failed, ttft) in rungs {
        text += &format!("| {load} | {rate} | 1000 | {failed} | {ttft} |\n");
    }
    text + "\n"
}

fn as_markdown(text: &str, objectives: &[Slo], lang: Lang) -> String {
    let stored = stored(read("notes.md", text));
    let report = ImportReport::new(&stored, None, lang).judged_by(objectives);
    markdown::render(&compose(&report)).replace('\\', "")
}

#[test]
fn an_engine_that_could_not_start_does_not_hide_the_others() {
    let notes = ladder("MindIE (910B4)", &[(8, 300, 0, 400), (16, 500, 0, 600)])
        + "# vLLM (910B4)\n\n## Qwen2.5-72B\n\nDoes not start: `NPU out of memory. Tried to allocate 2.00 GiB`\n\n"
        + &ladder("SGLang (H20)", &[(8, 400, 0, 300), (16, 450, 52, 500)]);
    let shown = as_markdown(&notes, &[], Lang::En);
    for expected in [
        "MindIE (910B4) 500 tok/s at c16; SGLang (H20) 400 tok/s at c8",
        "910B4, H20: rates are of the whole server, and how many cards served is not stated",
        "no result",
    ] {
        assert!(shown.contains(expected), "{expected}\n{shown}");
    }
}

#[test]
fn who_is_behind_at_the_best_load_has_its_own_highest_rate_beside_it() {
    let notes = ladder("MindIE", &[(8, 300, 0, 400), (16, 500, 0, 600)])
        + &ladder("vLLM", &[(8, 800, 0, 300), (16, 900, 52, 500)]);
    let most = "vLLM 800 tok/s at c8; MindIE 300 tok/s at c8 (62.5 % less), its own highest 500 tok/s at c16";
    let shown = as_markdown(&notes, &[], Lang::En);
    assert!(shown.contains(most), "{shown}");
}

#[test]
fn a_ladder_says_up_to_which_load_it_meets_the_objectives() {
    let slos: Vec<Slo> = vec!["ttft.p99=1s".parse().unwrap()];
    let rungs = [
        (8, 300, 0, 400),
        (16, 500, 0, 600),
        (32, 700, 37, 850),
        (64, 800, 0, 1300),
    ];
    let shown = as_markdown(&ladder("vLLM", &rungs), &slos, Lang::En);
    for expected in [
        "met up to c16 (500 tok/s); missed at c32, c64",
        "missed: ttft.p99=1s (1,300 ms)",
        // 850 ms are within the limit: it is the failures that miss it.
        "missed: 3.7 % of the requests unanswered",
    ] {
        assert!(shown.contains(expected), "{expected}\n{shown}");
    }
    let chinese = as_markdown(&ladder("vLLM", &rungs), &slos, Lang::Zh);
    assert!(
        chinese.contains("c16（500 tok/s）及以下均满足"),
        "{chinese}"
    );
}

#[test]
fn a_ladder_with_a_load_measured_twice_stands_beside_others_and_says_what_repeats_differ_by() {
    let block = |title: &str, streams: u32, tokens: u32| {
        format!(
            "{title}\n============ Serving Benchmark Result ============\n\
             Successful requests:                     {tokens}\n\
             Maximum request concurrency:             {streams}\n\
             Benchmark duration (s):                  100.00\n\
             Total generated tokens:                  {}\n\
             Request throughput (req/s):              {:.2}\n\
             Output token throughput (tok/s):         {tokens}.00\n\
             ==================================================\n\n",
            100 * tokens,
            f64::from(tokens) / 100.0
        )
    };
    let notes = format!(
        "# n\n\n## vLLM\n\n{}{}{}## SGLang\n\n{}{}",
        block("- concurrency 4", 4, 400),
        block("- concurrency 16", 16, 1000),
        block("- concurrency 16 (again)", 16, 800),
        block("- concurrency 4", 4, 520),
        block("- concurrency 16", 16, 1050),
    );
    let text = as_markdown(&notes, &[], Lang::En);
    assert!(text.contains("900 (2 runs)"), "{text}");
    assert!(text.contains("not told: repeats differ by 25 %"), "{text}");
    assert!(text.contains("SGLang +30 %"), "{text}");
    assert!(!text.contains("less)"), "{text}");
    let chinese = as_markdown(&notes, &[], Lang::Zh);
    assert!(chinese.contains("900（2 次）"), "{chinese}");
}

#[test]
fn an_import_that_was_judged_is_judged_when_it_is_shown_again() {
    let slos: Vec<Slo> = vec!["ttft.p99=1s".parse().unwrap()];
    let notes = ladder("vLLM", &[(8, 300, 0, 400), (16, 500, 0, 1300)]);
    let kept = stored(read("notes.md", &notes)).judged_by(&slos);
    let kept: Stored = serde_json::from_str(&serde_json::to_string(&kept).unwrap()).unwrap();
    let shown = markdown::render(&compose(&ImportReport::new(&kept, None, Lang::En)));
    let shown = shown.replace('\\', "");
    assert!(shown.contains("missed: ttft.p99=1s (1,300 ms)"), "{shown}");
    assert!(shown.contains("missed at c16"), "{shown}");
}

#[test]
fn a_side_of_which_an_objective_is_not_known_is_not_the_best() {
    let slos: Vec<Slo> = vec!["ttft.p99=1s".parse().unwrap()];
    let known = ladder("vLLM", &[(8, 300, 0, 400), (16, 500, 0, 600)]);
    let unknown =
        ladder("MindIE", &[(8, 600, 0, 1), (16, 900, 0, 1)]).replace("TTFT p99 (ms)", "x");
    let shown = as_markdown(&(known + &unknown), &slos, Lang::En);
    assert!(shown.contains("vLLM 500 tok/s at c16"), "{shown}");
    assert!(!shown.contains("MindIE 900 tok/s at"), "{shown}");
    assert!(shown.contains("? 900"), "{shown}");
}

#[test]
fn points_of_a_grid_that_ran_out_of_memory_are_named_by_their_lengths() {
    let table = "## A30\n\n输出 tokens/s\n\n| 输入长度\\生成长度 | 100 | 500 |\n|---|---|---|\n\
                 | 500 | 300.5 | 402 |\n| 8000 | 120 | OOM |\n";
    let shown = as_markdown(table, &[], Lang::En);
    assert!(
        shown.contains("ran out of memory at in 8000 out 500"),
        "{shown}"
    );
    let chinese = as_markdown(table, &[], Lang::Zh);
    assert!(
        chinese.contains("输入 8000 输出 500 时显存不足"),
        "{chinese}"
    );
}

#[test]
fn what_the_table_has_is_not_repeated_below_it() {
    let benchmark = |more: &str| {
        format!(
            "============ Serving Benchmark Result ============\n\
             Successful requests: 1000\nBenchmark duration (s): 458.11\n\
             Total input tokens: 217393\nTotal generated tokens: 198783\n\
             Request throughput (req/s): 2.18\nOutput token throughput (tok/s): 433.92\n\
             Mean TTFT (ms): 220.62\nMedian TTFT (ms): 221.64\nP99 TTFT (ms): 435.23\n{more}\
             ==================================================\n"
        )
    };
    let page = |more: &str| shown(&stored(read("serve.txt", &benchmark(more))), None);
    let short = page("");
    for once in ["221", "222", "435", "217.4"] {
        assert_eq!(short.matches(once).count(), 1, "{once}: {short}");
    }
    assert!(short.contains("1,000 ok"), "{short}");
    // More statistics than the table has room for are all below it.
    let many: String = ["TPOT", "ITL", "E2EL"]
        .map(|name| {
            let of = |stat: &str, ms: f64| format!("{stat} {name} (ms): {ms}\n");
            of("Mean", 41.5) + &of("Median", 42.5) + &of("P75", 43.5) + &of("P99", 45.5)
        })
        .concat();
    let long = page(&many);
    assert_eq!(long.matches("43.5").count(), 3, "{long}");
}

#[test]
fn requests_that_a_short_context_rejects_are_told_with_their_cause() {
    let benchmark = |length: u32, ok: u32, input: u32| {
        format!(
            "vllm serve /data/m --max-model-len {length}\n\
             vllm bench serve --num-prompts 1000 --model /data/m\n\
             ============ Serving Benchmark Result ============\n\
             Successful requests: {ok}\nBenchmark duration (s): 100.0\n\
             Total input tokens: {input}\nTotal generated tokens: {}\n\
             Request throughput (req/s): {:.2}\n\
             Output token throughput (tok/s): {:.2}\n\
             Mean TTFT (ms): 220.62\nMedian TTFT (ms): 221.64\nP99 TTFT (ms): 435.23\n\
             ==================================================\n\n",
            ok * 190,
            f64::from(ok) / 100.0,
            f64::from(ok) * 1.9
        )
    };
    let notes = benchmark(102_000, 1000, 217_393) + &benchmark(256, 296, 14_909);
    let said = as_markdown(&notes, &[], Lang::En);
    let cause = "max-model-len=256 is less than a mean request of #1 (407 tokens)";
    assert!(said.contains(cause), "{said}");
    let enough = benchmark(102_000, 1000, 217_393) + &benchmark(4096, 296, 14_909);
    let said = as_markdown(&enough, &[], Lang::En);
    assert!(said.contains("Lost requests"), "{said}");
    assert!(!said.contains("is less than"), "{said}");
}

/// Settings of an engine at one load: heading, req/s, TTFT in ms, prompt tokens.
fn settings(rungs: &[(&str, f64, u32, u32)]) -> String {
    let mut note = String::new();
    for (heading, rate, ttft, prompt) in rungs {
        let tokens = rate * 256.0;
        let latency = 32.0 / rate;
        note += &format!(
            "### {heading}\n\n| concurrency | requests | req/s | output tok/s | mean TTFT (ms) | mean latency (s) | mean input length | mean output length |\n\
             |---|---|---|---|---|---|---|---|\n\
             | 32 | 300 | {rate} | {tokens} | {ttft} | {latency:.3} | {prompt} | 256 |\n\n"
        );
    }
    note
}

#[test]
fn a_setting_that_was_measured_again_under_another_heading_is_one_setting_with_its_spread() {
    let trial = |heading: &str, flags: &str, rate: f64| {
        let tokens = rate * 200.0;
        format!(
            "### {heading}\n\n```\nvllm serve m --max-model-len 4096 {flags}\n```\n\n```\n\
             ============ Serving Benchmark Result ============\n\
             Successful requests: 500\nFailed requests: 0\nMaximum request concurrency: 64\n\
             Benchmark duration (s): {:.2}\nTotal input tokens: 256000\n\
             Total generated tokens: 100000\nRequest throughput (req/s): {rate:.2}\n\
             Output token throughput (tok/s): {tokens:.2}\n\
             Mean TTFT (ms): 360.00\nMedian TTFT (ms): 324.00\nP99 TTFT (ms): 936.00\n\
             ==================================================\n```\n\n",
            500.0 / rate,
        )
    };
    let note = "# Flags\n\n## vLLM 0.10.1 (L20)\n\n".to_owned()
        + &trial("default", "", 6.40)
        + &trial("few", "--max-num-seqs 16", 3.10)
        + &trial("fp8", "--kv-cache-dtype fp8", 8.10)
        + &trial("fp8 again", "--kv-cache-dtype fp8", 6.90);
    let shown = as_markdown(&note, &[], Lang::En);
    let line = |of: &str| {
        let mut lines = shown.lines();
        lines.find(|line| line.contains(of)).unwrap_or_default()
    };
    // The mean of both.
    assert!(line("Best").contains("fp8: 1,500.0 tok/s"), "{shown}");
    let told = line("as good as the best, for all that repeats can tell");
    assert!(told.contains("default (1,280.0 tok/s)"), "{shown}");
}

#[test]
fn settings_of_one_engine_and_card_are_ranked_among_themselves() {
    let mindie = settings(&[
        ("trial 1 default", 2.55, 5930, 512),
        ("trial 2 maxBatchSize 32", 3.80, 1120, 512),
        ("trial 3 maxBatchSize 64", 3.82, 1100, 512),
        ("trial 4 short prompts", 4.40, 600, 256),
    ]);
    let vllm = settings(&[
        ("trial 5 max-num-seqs 256", 5.20, 420, 512),
        ("trial 6 max-num-seqs 16", 3.90, 3950, 512),
    ]);
    let note = format!("# Flags\n\n## MindIE (910B4)\n\n{mindie}\n## vLLM (L20)\n\n{vllm}");
    let shown = as_markdown(&note, &[], Lang::En);
    let best: Vec<&str> = (shown.lines())
        .filter(|line| line.contains("Best"))
        .collect();
    let [of_mindie, of_vllm] = best[..] else {
        panic!("{shown}");
    };
    assert!(of_mindie.contains("trial 3 maxBatchSize 64"), "{shown}");
    assert!(of_vllm.contains("trial 5 max-num-seqs 256"), "{shown}");
    // So little more may be chance, and shorter prompts are less work.
    let line = |of: &str| {
        shown
            .lines()
            .find(|line| line.contains(of))
            .unwrap_or_default()
    };
    assert!(
        line("as good as the best").contains("trial 2 maxBatchSize 32"),
        "{shown}"
    );
    assert!(
        line("other work").contains("trial 4 short prompts"),
        "{shown}"
    );
}

#[test]
fn a_lead_that_requests_so_few_cannot_show_is_marked_and_headings_match_without_their_brackets() {
    let ladder = |heading: &str, requests: [u32; 2], rates: [f64; 2]| {
        let mut note = format!(
            "## {heading}\n\n### Qwen2.5-7B ({} cards)\n\n\
             | concurrency | requests | failed | req/s | output tok/s | mean latency (s) |\n|---|---|---|---|---|---|\n",
            heading.len()
        );
        for ((load, requests), rate) in [4.0, 64.0].into_iter().zip(requests).zip(rates) {
            let (tokens, latency) = (128.0 * rate, load / rate);
            note += &format!("| {load} | {requests} | 0 | {rate} | {tokens} | {latency:.3} |\n");
        }
        note + "\n"
    };
    let note = ladder("vLLM", [200, 200], [3.57, 33.2])
        + &ladder("SGLang", [200, 200], [3.80, 66.4])
        + "## MindIE\n\n### another test\n\n| concurrency | req/s |\n|---|---|\n| 4 | 2.0 |\n| 8 | 3.0 |\n";
    let shown = as_markdown(&note, &[], Lang::En);
    let row = |load: &str| {
        let mut rows = shown.lines().filter(|line| line.contains(load));
        rows.find(|line| line.contains("SGLang"))
            .unwrap_or_default()
    };
    assert!(row("| c4 ").contains("cannot tell (SGLang +6"), "{shown}");
    assert!(row("| c64 ").contains("| SGLang +100 %"), "{shown}");
    let alone = shown.lines().find(|line| line.contains("Not side by side"));
    assert!(
        alone.unwrap_or_default().contains("MindIE / another test"),
        "{shown}"
    );
}

#[test]
fn groups_side_by_side_say_up_to_which_load_each_meets_the_objectives() {
    let notes = ladder("MindIE", &[(8, 300, 0, 400), (16, 500, 0, 1600)])
        + &ladder("vLLM", &[(8, 800, 0, 300), (16, 900, 0, 500)]);
    let shown = |slo: &str| as_markdown(&notes, &[slo.parse().unwrap()], Lang::En);
    let (_, beside) = shown("ttft.p99=1s")
        .split_once("Side by side")
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .unwrap();
    for expected in [
        "MindIE: met up to c8 (300 tok/s); missed at c16",
        "vLLM: met up to c16 (900 tok/s)",
    ] {
        assert!(beside.contains(expected), "{expected}\n{beside}");
    }
    // Of every request a table without its longest tells only that some are beyond.
    let open = shown("ttft=1s");
    for expected in [
        "MindIE: missed at c16; not stated at c8",
        "ask for ttft.p99=1s / ttft.mean=1s",
    ] {
        assert!(open.contains(expected), "{expected}\n{open}");
    }
}

#[test]
fn memory_that_ran_out_is_told_with_the_template_of_its_block() {
    let block = |load: u32, name: &str| {
        format!(
            "并发: {load}\n单个文本块长度: 4000\n生成文本长度: 500\nduration: 100\n\
             completion-tokens/second: {load}{}\nn-request: 100\nQPS: 1.0\n{}\n",
            name.len(),
            "-".repeat(40)
        )
    };
    let of_template = |name: &str| {
        let blocks = block(4, name) + &block(8, name);
        format!("prompt template: {name}\n{blocks}")
    };
    let failed = "chunk_size: 8000, generate_size: 500\n并发: 8\nCUDA out of memory. Tried to allocate 2.00 GiB\n";
    let log = of_template("v1") + &of_template("longer") + failed;
    let shown = as_markdown(&log, &[], Lang::En);
    let mut rows = shown.lines().filter(|line| line.starts_with("| "));
    let row = rows.find(|line| line.contains("out of memory"));
    let row = row.unwrap_or_else(|| panic!("{shown}"));
    for told in ["longer", "8000", "c8"] {
        assert!(row.contains(told), "{told}: {row}");
    }
}

#[test]
fn a_length_that_a_caption_states_and_one_that_was_measured_are_one_load() {
    let beside = |length: u32| {
        let rows = |speeds: [u32; 2]| {
            let [a, b] = speeds;
            format!("| 8 | 2.0 | {a} | {length}.2 |\n| 16 | 3.0 | {b} | {length}.4 |\n\n")
        };
        let stated = "## vLLM\n\n### 输入 1024 输出 200\n\n| 并发 | QPS | 吞吐量(tok/s) |\n|---|---|---|\n\
                      | 8 | 2.5 | 500 |\n| 16 | 3.5 | 700 |\n\n";
        let measured = "## SGLang\n\n### 输出 200\n\n| 并发 | QPS | 吞吐量(tok/s) | 平均输入 token 数 |\n\
                        |---|---|---|---|\n";
        let notes = format!("# t\n\n{stated}{measured}{}", rows([400, 600]));
        let shown = as_markdown(&notes, &[], Lang::En);
        shown.split_once("Side by side").map(|it| it.1.to_owned())
    };
    let table = beside(1024).unwrap();
    let row = table
        .lines()
        .find(|line| line.contains("500") && line.contains("400"));
    assert!(row.is_some(), "{table}");
    let other = beside(300).unwrap_or_default();
    let row = other
        .lines()
        .find(|line| line.contains("| 500") && line.contains("400 "));
    assert_eq!(row, None, "{other}");
}

#[test]
fn a_cell_with_other_answers_is_marked_and_leads_nobody() {
    let template = |name: &str, last: [&str; 2]| {
        let corner = "| 输入长度(字)\\并发 | 8 | 16 |\n|---|---|---|\n";
        let [speed, rate] = last;
        format!(
            "## {name}\n\ntok/s（生成 1000 字）\n\n{corner}| 1000 | 400 | 700 |\n| 2000 | 380 | {speed} |\n\n\
             QPS（生成 1000 字）\n\n{corner}| 1000 | 0.561 | 0.982 |\n| 2000 | 0.534 | {rate} |\n\n"
        )
    };
    let notes = template("v1", ["390", "2.165"]) + &template("v2", ["650", "0.913"]);
    let shown = as_markdown(&notes, &[], Lang::En);
    let (_, beside) = shown.split_once("Side by side").unwrap();
    let row = beside.lines().find(|line| line.contains("! 390"));
    assert!(
        row.is_some_and(|row| !row.contains("more requests")),
        "{beside}"
    );
    assert!(beside.contains("answers of other lengths"), "{beside}");
}

#[test]
fn servers_of_other_numbers_of_cards_are_held_against_each_other_by_the_card() {
    let notes = ladder("vLLM (4×A100)", &[(8, 800, 0, 300), (16, 900, 0, 500)])
        + &ladder("SGLang (2×A100)", &[(8, 500, 0, 300), (16, 800, 0, 500)]);
    let shown = as_markdown(&notes, &[], Lang::En);
    let each = "SGLang (A100 ×2) 400 tok/s at c16; vLLM (A100 ×4) 225 tok/s at c16";
    assert!(shown.contains(each), "{shown}");
    let alike = notes.replace("(2×A100)", "(4×A100)");
    let shown = as_markdown(&alike, &[], Lang::En);
    assert!(!shown.contains("225 tok/s"), "{shown}");
}

#[test]
fn a_load_at_which_memory_ran_out_misses_the_objectives() {
    let slos: Vec<Slo> = vec!["ttft.p99=1s".parse().unwrap()];
    let rungs = [(8, 300, 0, 400), (16, 500, 0, 600), (32, 700, 0, 850)];
    let notes = ladder("vLLM", &rungs) + "| 64 | OOM | | | |\n";
    let notes = notes.replace("\n\n| 64", "\n| 64");
    let shown = as_markdown(&notes, &slos, Lang::En);
    let expected = "met up to c32 (700 tok/s); missed at c64";
    assert!(shown.contains(expected), "{shown}");
}
