//! Pages of comparisons and imports: what comes first, what is drawn, and somebody's names.

use crate::made_up::{self, Engine, Load, MINDIE, VLLM};
use crate::page::pages::HOSTILE;
use inferometer_compare::{
    Basis, Direction, Group, Metric, Row, RunSample, Settings, Verdict, compare,
};
use inferometer_core::doubt::{DoubtCode, Severity};
use inferometer_core::summary::{StatedDoubt, Summary};
use inferometer_import::{
    ImportDoubtCode, Imported, ImportedRequests, ImportedResult, ImportedSummary,
    ImportedThroughput, StatedImportDoubt, Stored,
};
use inferometer_page::doc::{Block, Table};
use inferometer_page::html::{Page, render};
use inferometer_report::compare::{CompareReport, figures};
use inferometer_report::import::{self, ImportReport, findings};
use inferometer_site::pages::import::compose_page;
use inferometer_text::Lang;
use serde_json::json;

/// A ladder of an engine.
fn group(name: &str, levels: &[u32], engine: &Engine) -> Group {
    let runs = levels.iter().map(|&concurrency| {
        let load = Load {
            concurrency,
            requests: 160,
            input: 64.0,
            output: 12.0,
        };
        let records = made_up::records(engine, load);
        let mut summary = made_up::summary(engine, load, &records);
        summary.tags.clear();
        RunSample::new(&made_up::scenario(load), summary, records)
    });
    Group {
        name: name.to_owned(),
        runs: runs.collect(),
        ..Group::default()
    }
}

fn with_report<T>(groups: &[Group], lang: Lang, use_it: impl Fn(&CompareReport<'_>) -> T) -> T {
    let comparison = compare(groups, &Settings::default());
    use_it(&CompareReport {
        comparison: &comparison,
        groups,
        run_deviation: 0.01,
        columns: None,
        lang,
    })
}

/// The page of two ladders, the second of somebody's name.
pub fn compared(name: &str) -> Page {
    let groups = [
        group("runs/a", &[1, 2, 4], &VLLM),
        group(name, &[1, 2, 4], &MINDIE),
    ];
    with_report(
        &groups,
        Lang::En,
        inferometer_site::pages::compare::compose_page,
    )
}

#[test]
fn a_comparison_begins_with_its_verdict_and_a_table_and_draws_loads_ratios_and_requests() {
    let page = render(&compared("runs/b"));
    let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("no {text}"));
    assert!(place("class=\"verdict") < place("class=\"tiles"));
    assert!(place("class=\"tiles") < place("<table"), "load × sides");
    assert!(place("<table") < place("id=\"overlay\""));
    assert!(place("id=\"overlay\"") < place("id=\"ratios\""));
    assert!(place("id=\"ratios\"") < place("id=\"distributions\""));
    assert!(page.contains("WORSE") && page.contains("更差"));
    assert!(page.contains("runs/b") && page.contains("<td"));
}

#[test]
fn two_runs_have_their_ratios_and_requests_and_no_ladder() {
    let groups = [group("a", &[4], &VLLM), group("b", &[4], &MINDIE)];
    let drawn = with_report(&groups, Lang::Zh, figures);
    let ids: Vec<&str> = drawn.iter().map(|figure| figure.id.as_str()).collect();
    assert_eq!(ids, ["ratios", "distributions"]);
    let titles: Vec<&str> = drawn[1]
        .panels
        .iter()
        .map(|panel| panel.title.as_str())
        .collect();
    assert!(titles.contains(&"首 token 时延 TTFT"), "{titles:?}");
    let names: Vec<&str> = (drawn[1].panels[0].series.iter())
        .map(|series| series.name.as_str())
        .collect();
    assert_eq!(names, ["a", "b"]);
}

#[test]
fn a_few_loads_have_a_panel_of_ratios_each_and_many_share_one_for_each_metric() {
    let titles = |levels: [&[u32]; 2]| {
        let groups = [group("a", levels[0], &VLLM), group("b", levels[1], &VLLM)];
        let drawn = with_report(&groups, Lang::En, figures);
        let overlay = &drawn[0];
        assert_eq!((overlay.id.as_str(), overlay.panels.len()), ("overlay", 6));
        let panels = drawn[1].panels.iter();
        panels.map(|panel| panel.title.clone()).collect::<Vec<_>>()
    };
    let few = titles([&[1, 2, 4], &[1, 2, 8]]);
    assert_eq!(few, ["concurrency=1", "concurrency=2"]);
    let many = titles([&[1, 2, 4, 8], &[1, 2, 4, 8]]);
    assert_eq!(
        many,
        [
            "Output throughput, by load",
            "TTFT, mean, by load",
            "TPOT, mean, by load",
            "End-to-end latency, mean, by load"
        ]
    );
}

#[test]
fn legends_say_what_tags_say_where_that_tells_sides_apart() {
    let mut groups = [group("x/1", &[1, 2], &VLLM), group("y/1", &[1, 2], &VLLM)];
    for (group, engine) in groups.iter_mut().zip(["vLLM", "MindIE"]) {
        for run in &mut group.runs {
            run.summary
                .tags
                .insert("engine".to_owned(), engine.to_owned());
        }
    }
    let names = |groups: &[Group]| -> Vec<String> {
        let drawn = with_report(groups, Lang::En, figures);
        let series = drawn[0].panels[0].series.iter();
        series.map(|series| series.name.clone()).collect()
    };
    assert_eq!(names(&groups), ["vLLM", "MindIE"]);
    for run in &mut groups[1].runs {
        run.summary
            .tags
            .insert("engine".to_owned(), "vLLM".to_owned());
    }
    assert_eq!(names(&groups), ["x/1", "y/1"], "both end in 1");
}

/// The text of a comparison whose rows were changed.
fn said(groups: &[Group], change: impl Fn(&mut Row)) -> String {
    let mut comparison = compare(groups, &Settings::default());
    comparison.rows.iter_mut().for_each(change);
    let report = CompareReport {
        comparison: &comparison,
        groups,
        run_deviation: 0.01,
        columns: None,
        lang: Lang::En,
    };
    inferometer_page::markdown::render(&inferometer_report::compare::compose(&report))
}

#[test]
fn a_metric_that_one_side_does_not_tell_is_no_open_question() {
    let groups = ["runs/a", "runs/b"].map(|name| group(name, &[4], &VLLM));
    let shown = said(&groups, |row| {
        if row.metric == Metric::TtftMean {
            (row.a, row.ratio, row.verdict) = (None, None, Verdict::Unknown);
            row.basis = Basis::Nothing;
        }
    });
    assert!(
        shown.contains("no figure") && !shown.contains('†'),
        "{shown}"
    );
}

#[test]
fn what_single_requests_would_decide_is_a_mark_and_no_column() {
    let groups = ["runs/a", "runs/b"].map(|name| group(name, &[4], &VLLM));
    let shown = said(&groups, |row| {
        (row.verdict, row.basis) = (Verdict::Unknown, Basis::Deviations);
        (row.repeats_to_decide, row.requests_needed) = (None, None);
    });
    assert!(shown.contains("cannot tell †"), "{shown}");
    assert!(
        shown.contains("† to decide it, save the requests"),
        "{shown}"
    );
    assert!(!shown.contains("needed"), "{shown}");
}

#[test]
fn loads_of_one_side_alone_are_one_line() {
    let groups = [
        group("runs/a", &[1, 2, 4, 8], &VLLM),
        group("runs/b", &[1, 16], &VLLM),
    ];
    let shown = said(&groups, |_| {});
    for line in ["runs/a: concurrency=2, 4, 8", "runs/b: concurrency=16"] {
        assert!(
            shown.contains(line) || shown.contains(&line.replace("runs/", "")),
            "{shown}"
        );
    }
}

#[test]
fn forest_charts_of_a_comparison_have_one_scale() {
    let groups = [
        group("runs/a", &[1, 2, 4], &VLLM),
        group("runs/b", &[1, 2, 4], &MINDIE),
    ];
    let drawn = with_report(&groups, Lang::En, figures);
    let ratios = drawn.iter().find(|figure| figure.id == "ratios").unwrap();
    let bounds: Vec<_> = ratios.panels.iter().map(|panel| panel.x.bounds).collect();
    assert!(bounds.len() > 1 && bounds[0].is_some(), "{bounds:?}");
    assert!(bounds.iter().all(|it| *it == bounds[0]), "{bounds:?}");
}

#[test]
fn a_certain_difference_that_is_too_small_to_matter_is_told_as_one() {
    let groups = ["runs/a", "runs/b"].map(|name| group(name, &[4], &VLLM));
    let mut comparison = compare(&groups, &Settings::default());
    comparison.rows.retain(|row| row.primary);
    for (within_margin, lang, words) in [
        (
            Some(Direction::Worse),
            Lang::En,
            ["SLIGHTLY WORSE", "less than the margin of 3 %"],
        ),
        (
            Some(Direction::Better),
            Lang::En,
            ["SLIGHTLY BETTER", "slightly better"],
        ),
        (Some(Direction::Worse), Lang::Zh, ["略差", "小于容许差 3 %"]),
        (None, Lang::En, ["NO DIFFERENCE", "no difference"]),
    ] {
        comparison.rows[0].verdict = Verdict::Same;
        comparison.rows[0].within_margin = within_margin;
        let report = CompareReport {
            comparison: &comparison,
            groups: &groups,
            run_deviation: 0.01,
            columns: None,
            lang,
        };
        let page = render(&inferometer_site::pages::compare::compose_page(&report));
        for word in words {
            assert!(page.contains(word), "{within_margin:?} {lang}: {word}");
        }
    }
}

#[test]
fn what_may_not_be_compared_says_why_in_both_languages() {
    let mut groups = [group("a", &[4], &VLLM), group("b", &[4], &MINDIE)];
    groups[1].runs[0].definition.streamed = Some(false);
    let page = render(&with_report(
        &groups,
        Lang::En,
        inferometer_site::pages::compare::compose_page,
    ));
    assert!(page.contains("NOT COMPARABLE") && page.contains("不可比"));
    assert!(page.contains("streaming differs") && page.contains("是否流式输出不同"));
}

#[test]
fn a_remedy_for_an_invalid_side_is_in_the_language_of_the_page() {
    let mut groups = [group("a", &[2, 4], &VLLM), group("b", &[2, 4], &MINDIE)];
    for run in &mut groups[1].runs {
        run.summary.valid = false;
        run.summary.doubts = vec![StatedDoubt {
            code: DoubtCode::ClientLate,
            severity: Severity::Invalid,
            text: "the client was late".to_owned(),
            remedy: "free this host's CPU".to_owned(),
        }];
    }
    let text = |lang| {
        let doc = with_report(&groups, lang, inferometer_report::compare::compose);
        inferometer_page::markdown::render(&doc)
    };
    let (english, chinese) = (text(Lang::En), text(Lang::Zh));
    assert!(english.contains("free this host's CPU"), "{english}");
    assert!(english.contains("(and one more load)"), "{english}");
    assert!(!chinese.contains("this host"), "{chinese}");
    assert!(chinese.contains("CPU"), "{chinese}");
}

/// The text of a comparison of two sides at many loads, each changed.
fn text_of(levels: &[u32], change: impl Fn(&mut RunSample)) -> String {
    let mut groups = [group("a", levels, &VLLM), group("b", levels, &MINDIE)];
    groups[1].runs.iter_mut().for_each(change);
    let doc = with_report(&groups, Lang::En, inferometer_report::compare::compose);
    inferometer_page::markdown::render(&doc)
}

#[test]
fn each_kind_of_reason_is_told_once_with_its_first_load() {
    let levels: Vec<u32> = (1..=12).collect();
    let text = text_of(&levels, |run| {
        let is_first = run.point.0.get("concurrency") == Some(&1.into());
        run.definition.streamed = Some(is_first);
    });
    assert_eq!(text.matches("streaming differs").count(), 1, "{text}");
    assert!(
        text.contains("at concurrency=2 (and 10 more loads): streaming differs"),
        "{text}"
    );
    assert!(text.contains("\n## concurrency=1\n"), "{text}");
    assert!(
        !text.contains("\n## concurrency=2\n"),
        "the table of all loads has it"
    );
    assert!(text.contains("not comparable have no table"), "{text}");
}

#[test]
fn a_load_in_waves_does_not_say_where_a_side_saturates() {
    let levels = [1, 2, 4, 8, 16, 32, 64];
    let rates = [100.0, 300.0, 500.0, 700.0, 800.0, 805.0, 1100.0];
    let shown = |in_waves: bool| {
        text_of(&levels, |run| {
            let load = run.point.0["concurrency"].as_u64().unwrap() as u32;
            let place = levels.iter().position(|level| *level == load).unwrap();
            run.summary.throughput.output_tokens_per_s = Some(rates[place]);
            run.summary.doubts.clear();
            if in_waves && load == 64 {
                run.summary.doubts = vec![StatedDoubt {
                    code: DoubtCode::InStep,
                    severity: Severity::Note,
                    text: String::new(),
                    remedy: String::new(),
                }];
            }
        })
    };
    let told = "(between 8 and 16)";
    assert!(shown(true).contains(told), "{}", shown(true));
    assert!(!shown(false).contains(told), "{}", shown(false));
}

#[test]
fn a_side_of_invalid_runs_and_a_figure_that_is_contradicted_are_named() {
    let text = text_of(&[4], |run| run.summary.valid = false);
    assert!(
        text.contains("NOT COMPARABLE") && text.contains("INVALID runs of b"),
        "{text}"
    );
    let text = text_of(&[4], |run| {
        run.contradicted = vec![Metric::OutputTokensPerS]
    });
    assert!(
        text.contains("CANNOT TELL") && text.contains("speak against output tok/s"),
        "{text}"
    );
}

#[test]
fn somebodys_names_stay_text_in_a_comparison() {
    let page = render(&compared(HOSTILE));
    let own = page.split_once("id=\"library\"").unwrap().0;
    assert!(!own.contains("<script>alert") && !own.contains("<img src=x"));
}

fn made_up_summary(concurrency: u32) -> Summary {
    let load = Load {
        concurrency,
        requests: 80,
        input: 64.0,
        output: 12.0,
    };
    made_up::run(&VLLM, load)
}

fn result(concurrency: u32, [planned, ok, failed]: [Option<u64>; 3]) -> ImportedResult {
    let summary = made_up_summary(concurrency);
    let mut found: ImportedResult = serde_json::from_value(json!({
        "tool": "evalscope-2024", "file": "notes.md", "lines": [1, 9],
        "point": {"concurrency": concurrency}, "derived": [], "assumed": [], "doubts": [],
    }))
    .unwrap();
    found.summary = Some(ImportedSummary {
        requests: ImportedRequests {
            planned,
            ok,
            failed,
            ..ImportedRequests::default()
        },
        throughput: ImportedThroughput {
            requests_per_s: summary.throughput.requests_per_s,
            output_tokens_per_s: summary.throughput.output_tokens_per_s,
            ..ImportedThroughput::default()
        },
        ..ImportedSummary::default()
    });
    found
}

/// A ladder of another tool whose last point lost requests.
fn stored(name: &str) -> Stored {
    let results = vec![
        result(1, [Some(80), Some(80), Some(0)]),
        result(2, [Some(80), Some(80), None]),
        result(4, [Some(80), Some(70), None]),
    ];
    let imported = Imported {
        results,
        ..Imported::default()
    };
    Stored::new(imported, name.to_owned(), String::new())
}

/// Its report, with the numbers of made-up runs and one doubt.
fn imported(stored: &Stored, lang: Lang) -> ImportReport<'_> {
    let mut report = ImportReport::new(stored, None, lang);
    for (result, concurrency) in report.results.iter_mut().zip([1, 2, 4]) {
        let (_, summary) = result.measured.as_mut().unwrap();
        *summary = made_up_summary(concurrency);
        result.doubts.clear();
    }
    if let Some(last) = report.results.get_mut(2) {
        last.doubts.push(StatedImportDoubt {
            severity: Severity::Invalid,
            code: ImportDoubtCode::LostRequests,
            text: "10 of 80 are missing".to_owned(),
            remedy: "measure again".to_owned(),
        });
    }
    report
}

pub fn import_page(name: &str) -> Page {
    let stored = stored(name);
    compose_page(&stored, Lang::En, |lang| imported(&stored, lang))
}

#[test]
fn an_import_begins_with_what_speaks_against_it_and_draws_the_ladder() {
    let page = render(&import_page("notes.md"));
    let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("no {text}"));
    assert!(place("class=\"verdict") < place("lost-requests"));
    assert!(place("lost-requests") < place("class=\"tiles"));
    assert!(place("class=\"tiles") < place("id=\"ladder\""));
    assert!(page.contains("Lost requests") && page.contains("丢失的请求"));
}

#[test]
fn a_ladder_is_shown_by_its_load_wherever_its_levels_stood() {
    let mut stored = stored("notes.md");
    stored.results.rotate_left(1);
    let shown = |stored: &Stored| {
        let report = ImportReport::new(stored, None, Lang::En);
        inferometer_page::markdown::render(&import::compose(&report))
    };
    let text = shown(&stored);
    let place = |load: &str| text.find(&format!("| {load} ")).unwrap();
    assert!(
        place("c1") < place("c2") && place("c2") < place("c4"),
        "{text}"
    );
    // Two of one load are told apart by where they stand.
    stored.results[2]
        .point
        .insert("concurrency".to_owned(), json!(2));
    let text = shown(&stored);
    let place = |load: &str| text.find(&format!("| {load} ")).unwrap();
    assert!(place("c2") < place("c4"), "{text}");
}

#[test]
fn starts_that_were_refused_stand_apart_from_those_that_were_measured() {
    let mut stored = stored("trials.txt");
    for measured in &mut stored.results {
        measured.flags = Some([("max-num-seqs".to_owned(), json!(256))].into());
    }
    let mut refused = stored.results[0].clone();
    refused.summary = None;
    refused.point.clear();
    refused.error = Some("ValueError: too small".to_owned());
    refused.flags = Some([("max-num-seqs".to_owned(), json!(64))].into());
    stored.results.insert(1, refused);
    let report = ImportReport::new(&stored, None, Lang::En);
    let doc = import::compose(&report);
    let blocks = doc.sections.iter().flat_map(|section| &section.blocks);
    let tables: Vec<&Table> = blocks
        .filter_map(|block| match block {
            Block::Table(table) => Some(table),
            _ => None,
        })
        .collect();
    let [measured, refused] = tables[..] else {
        panic!("{tables:#?}");
    };
    assert_eq!((measured.rows.len(), refused.rows.len()), (3, 1));
    let titles: Vec<&str> = (refused.columns.iter())
        .map(|column| column.title.as_str())
        .collect();
    assert_eq!(titles, ["#", "flags", "doubts"]);
    assert_eq!(refused.rows[0][1].shown(), "max-num-seqs=64");
}

#[test]
fn requests_under_way_at_the_end_are_not_lost() {
    let mut stored = stored("notes.md");
    let summary = stored.results[2].summary.as_mut().unwrap();
    summary.requests.cut = Some(10);
    let found = findings(&imported(&stored, Lang::En));
    assert!(
        !found
            .iter()
            .any(|(_, finding)| finding.text.contains("10 of 80")),
        "{found:?}"
    );
}

#[test]
fn an_import_with_notes_alone_does_not_claim_to_have_no_doubts() {
    let mut stored = stored("notes.md");
    stored.results.truncate(2);
    let mut report = imported(&stored, Lang::Zh);
    let head = |report: &ImportReport| inferometer_page::markdown::render(&import::compose(report));
    assert!(head(&report).contains("无疑点"));
    report.results[0].doubts.push(StatedImportDoubt {
        severity: Severity::Note,
        code: ImportDoubtCode::FewSamples,
        text: "80 requests cannot carry p99".to_owned(),
        remedy: "measure more".to_owned(),
    });
    assert!(!head(&report).contains("无疑点"));
    assert!(head(&report).contains("有提示 1 个"));
}

#[test]
fn requests_are_lost_though_no_failures_are_reported() {
    let mut stored = stored("notes.md");
    let found = findings(&imported(&stored, Lang::En));
    let lost = found
        .iter()
        .find(|(_, finding)| finding.text.contains("10 of 80"));
    assert!(lost.is_some(), "{found:?}");
    stored.results.truncate(2);
    assert!(
        findings(&imported(&stored, Lang::En))
            .iter()
            .all(|(_, it)| !it.text.contains("unaccounted for"))
    );
}

/// How many points the second panel of a ladder has.
fn drawn(figures: &[inferometer_page::figure::Figure]) -> usize {
    assert_eq!(figures[0].id, "ladder");
    match &figures[0].panels[1].series[0].shape {
        inferometer_page::figure::Shape::Line(samples) => samples.len(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_invalid_point_of_an_import_is_left_out_and_named_unless_all_are() {
    let mut stored = stored("notes.md");
    let last = stored.results[2].summary.as_mut().unwrap();
    last.throughput.output_tokens_per_s = Some(987_654.0);
    fn condemned<'a>(stored: &'a Stored, results: &[usize]) -> ImportReport<'a> {
        let mut report = imported(stored, Lang::En);
        for &at in results {
            let (_, summary) = report.results[at].measured.as_mut().unwrap();
            summary.valid = false;
            summary.throughput.output_tokens_per_s = Some(987_654.0);
        }
        report
    }
    let figures = import::figures(&condemned(&stored, &[2]));
    assert_eq!(drawn(&figures), 2);
    let notes = figures[0].footnotes.join("\n");
    assert!(
        notes.contains("Left out because the run is INVALID: 4"),
        "{notes}"
    );
    assert!(!figures[0].title.contains("INVALID"));
    // Nor is it a figure to begin with.
    let page = render(&compose_page(&stored, Lang::En, |_| {
        condemned(&stored, &[2])
    }));
    let tiles = page.split_once("class=\"tiles").unwrap().1;
    let tiles = tiles.split_once("<section").unwrap().0;
    assert!(!tiles.contains("987"), "{tiles}");

    let figures = import::figures(&condemned(&stored, &[0, 1, 2]));
    assert_eq!(drawn(&figures), 3);
    assert!(figures[0].title.ends_with("INVALID"));
    let knees = figures.iter().flat_map(|figure| &figure.panels);
    assert!(knees.into_iter().all(|panel| panel.shades.is_empty()));
}

#[test]
fn somebodys_names_stay_text_in_an_import() {
    let page = render(&import_page(HOSTILE));
    let own = page.split_once("id=\"library\"").unwrap().0;
    assert!(!own.contains("<script>alert") && !own.contains("<img src=x"));
}

/// Notes of one engine and model: two tests of other lengths that have no load in common.
const TWO_TESTS: &str = "\
# 压测

## MindIE, 910B4

### Qwen2.5-7B-Instruct

#### long.jsonl（输入 2048，输出 512）

| 并发 | QPS | 吞吐量 (tok/s) | 延迟 (s) |
| --- | --- | --- | --- |
| 4 | 0.29 | 148.0 | 13.8 |
| 8 | 0.53 | 274.0 | 14.9 |

#### gsm8k

| 并发 | QPS | 吞吐量 (tok/s) | 延迟 (s) |
| --- | --- | --- | --- |
| 10 | 1.52 | 425.0 | 6.6 |
| 50 | 5.46 | 1525.0 | 9.1 |
| 100 | 6.46 | 1808.0 | 15.2 |
";

fn noted(text: &str) -> Stored {
    let imported = inferometer_import::read("notes.md", text);
    Stored::new(imported, "notes.md".to_owned(), String::new())
}

#[test]
fn two_tests_without_a_common_load_are_two_curves() {
    let stored = noted(TWO_TESTS);
    let figures = import::figures(&ImportReport::new(&stored, None, Lang::En));
    assert!(!figures.is_empty());
    for figure in &figures {
        for panel in &figure.panels {
            let of = |name: &str| {
                let mut series = panel.series.iter();
                series
                    .find(|it| it.name.contains(name))
                    .unwrap_or_else(|| panic!("{} {} has no {name}", figure.id, panel.title))
            };
            assert_eq!(of("long.jsonl").shape.samples().len(), 2, "{}", figure.id);
            assert_eq!(of("gsm8k").shape.samples().len(), 3, "{}", figure.id);
        }
        let notes = figure.footnotes.join(" ");
        assert!(!notes.contains("changes only together"), "{notes}");
    }
}

#[test]
fn the_title_of_a_lone_curve_says_of_what_it_is() {
    let text = TWO_TESTS.replace(
        "| 并发 | QPS | 吞吐量 (tok/s) | 延迟 (s) |\n| --- | --- | --- | --- |\n| 10",
        "| 请求率 | QPS | 吞吐量 (tok/s) | 延迟 (s) |\n| --- | --- | --- | --- |\n| 10",
    );
    let stored = noted(&text);
    let figures = import::figures(&ImportReport::new(&stored, None, Lang::En));
    for figure in &figures {
        let of = ["long.jsonl", "gsm8k"].map(|name| figure.title.contains(name));
        assert!(of[0] != of[1], "{}: {}", figure.id, figure.title);
    }
}
