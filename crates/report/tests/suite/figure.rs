//! Figures as people see them, and as hostile or missing data make them.

use crate::made_up;
use crate::made_up::{Load, MINDIE, VLLM};
use inferometer_campaign::capacity::ProbeVerdict;
use inferometer_campaign::knee::{Knee, KneeBasis};
use inferometer_chart::configurations::{self, Configurations, Style};
use inferometer_chart::curve::{self, Latency, Tradeoff};
use inferometer_chart::grid::{self, Grid};
use inferometer_chart::ladder::{self, Ladder, LadderSeries, legend};
use inferometer_chart::search::{self, Objective, Search};
use inferometer_chart::{Drawing, Level, Shown, points, ratios, run};
use inferometer_compare::{Basis, Comparison, Metric, Row, SCHEMA as COMPARE_SCHEMA, Verdict};
use inferometer_core::point::Point;
use inferometer_core::record::{Failure, FailureClass, Outcome, Phase, Record};
use inferometer_core::scenario::SimClock;
use inferometer_core::summary::{
    Latencies, ObjectiveResult, SloResult, Speed, Summary, Throughput,
};
use inferometer_page::figure::theme::Theme;
use inferometer_page::figure::{Figure, MarkKind, Shape, font, png, svg, thin};
use inferometer_text::Lang;
use roxmltree::Document;
use std::collections::{BTreeMap, HashSet};
use tiny_skia::Pixmap;

const HOSTILE: &str = "\"><script>alert('{points}')</script>😀 &amp; \u{202e}";

fn load(concurrency: u32, requests: u64) -> Load {
    Load {
        concurrency,
        requests,
        input: 64.0,
        output: 12.0,
    }
}

fn small() -> Summary {
    made_up::run(&VLLM, load(2, 24))
}

/// A run in which nothing was answered.
fn nothing() -> Summary {
    made_up::summary(&VLLM, load(2, 24), &[])
}

/// A summary of which most is not known.
fn gaps() -> Summary {
    Summary {
        throughput: Throughput::default(),
        latency: Latencies::default(),
        speed: Speed::default(),
        window_s: None,
        ..small()
    }
}

/// Numbers that no run should have.
fn not_finite() -> Summary {
    let mut summary = small();
    summary.window_s = Some(f64::INFINITY);
    summary.throughput.output_tokens_per_s = Some(f64::NAN);
    summary.throughput.requests_per_s_interval = Some([f64::NEG_INFINITY, f64::INFINITY]);
    let e2e = summary.latency.e2e_ms.as_mut().unwrap();
    (e2e.mean, e2e.p50, e2e.p90) = (f64::NAN, f64::INFINITY, -1.0);
    let ttft = summary.latency.ttft_ms.as_mut().unwrap();
    (ttft.p99, ttft.max) = (f64::INFINITY, f64::NAN);
    summary
}

fn ladder<'a>(label: &str, points: Vec<(Level, &'a Summary)>) -> Ladder<'a> {
    Ladder {
        axis: "concurrency".to_owned(),
        series: vec![LadderSeries {
            label: label.to_owned(),
            work: String::new(),
            points,
            knee: Some(Knee {
                load: 4.0,
                low: 2.0,
                high: 8.0,
                basis: KneeBasis::Fits,
            }),
        }],
        capacity: Some(f64::NAN),
        confirmed: true,
        shown: Shown::All,
    }
}

fn ladder_figures(ladder: &Ladder<'_>, lang: Lang) -> Vec<Figure> {
    let tradeoff = Tradeoff {
        ladder,
        rate: Metric::OutputTokensPerS,
        latency: Latency::Usual(Metric::TtftP99),
        objective: Some(("ttft.p99=1s".to_owned(), 1_000.0)),
        capacity: Some(f64::INFINITY),
        shape: Shape::Line,
    };
    let mut figures = vec![
        ladder::sheet(ladder, lang),
        ladder::failures(ladder, lang),
        ladder::overlay(ladder, lang),
        curve::throughput_latency(&tradeoff, lang),
        curve::pareto(ladder, lang),
    ];
    figures.extend(ladder::overlay_per_card(ladder, lang));
    figures
}

fn table_figures(rows: Vec<(String, &Summary)>, lang: Lang) -> Vec<Figure> {
    let mut figures = Vec::new();
    for style in [Style::Bars, Style::Lines] {
        let table = Configurations {
            rows: rows.clone(),
            style,
            shown: Shown::All,
            named_by: "scheme, chunked-prefill, batch".to_owned(),
        };
        figures.push(configurations::latency(&table, lang));
        figures.push(configurations::throughput(&table, lang));
    }
    figures
}

fn every_figure(label: &str, summary: &Summary, records: &[Record], lang: Lang) -> Vec<Figure> {
    let mut figures = run::all(
        summary,
        &Drawing::of(&made_up::trace(records)),
        SimClock::Real,
        lang,
    );
    let points = vec![(Level::Number(1.0), summary)];
    figures.extend(ladder_figures(&ladder(label, points), lang));
    let named = vec![
        (Level::Name(label.to_owned()), summary),
        (Level::Number(2.0), summary),
    ];
    figures.extend(ladder_figures(&ladder(label, named), lang));
    figures.extend(ladder_figures(&Ladder::default(), lang));
    figures.extend(table_figures(vec![(label.to_owned(), summary)], lang));
    figures.extend(table_figures(Vec::new(), lang));
    for cells in [
        Vec::new(),
        vec![(Level::Name(label.to_owned()), Level::Number(64.0), summary)],
    ] {
        let grid = Grid {
            cells,
            shown: Shown::All,
            axes: Default::default(),
        };
        figures.push(grid::heat_maps(&grid, &grid::USUAL, lang));
    }
    figures.push(ratios::ratios(&compared(label), &BTreeMap::new(), lang));
    figures
}

fn compared(label: &str) -> Comparison {
    let row = |metric, ratio: Option<f64>, low, high, verdict| Row {
        group: label.to_owned(),
        metric,
        primary: false,
        point: Point::default(),
        a: Some(1.0),
        b: ratio,
        ratio,
        low,
        high,
        level: Some(0.95),
        verdict,
        within_margin: None,
        p_value: None,
        minimum_detectable: None,
        repeats_to_decide: None,
        requests_needed: None,
        requests_each: None,
        runs: [1, 1],
        basis: Basis::OneRunEach,
    };
    Comparison {
        schema: COMPARE_SCHEMA.to_owned(),
        baseline: label.to_owned(),
        comparable: true,
        why_not: Vec::new(),
        reasons: Vec::new(),
        between: Vec::new(),
        margin: 0.03,
        rows: vec![
            row(
                Metric::OutputTokensPerS,
                Some(1.2),
                Some(1.1),
                Some(1.3),
                Verdict::Better,
            ),
            row(
                Metric::TtftP99,
                Some(1.08),
                Some(1.04),
                Some(1.12),
                Verdict::Worse,
            ),
            row(
                Metric::TpotMean,
                Some(1.0),
                Some(0.98),
                Some(1.02),
                Verdict::Same,
            ),
            row(Metric::E2eP50, Some(0.9), None, None, Verdict::Unknown),
            row(Metric::Goodput, None, None, None, Verdict::Unknown),
            row(
                Metric::E2eMean,
                Some(f64::NAN),
                Some(-1.0),
                Some(0.0),
                Verdict::Unknown,
            ),
        ],
        pooled: Vec::new(),
        unpaired: Vec::new(),
        within_slo: Vec::new(),
        copies: Vec::new(),
        doubts: Vec::new(),
        models: Vec::new(),
        devices: Vec::new(),
        repeated: Vec::new(),
        left_out: Vec::new(),
        out_of_memory: Vec::new(),
        tools: Vec::new(),
        lengths: Vec::new(),
    }
}

/// The SVG of a figure, which must be sound whatever is in it.
fn drawn(figure: &Figure) -> String {
    let text = svg::render(figure, Theme::Light);
    for word in ["NaN", "inf\"", "<script"] {
        assert!(!text.contains(word), "{}: {word}", figure.id);
    }
    Document::parse(&text).unwrap();
    text
}

fn picture(figure: &Figure) -> Pixmap {
    Pixmap::decode_png(&png::render(figure, Theme::Dark).unwrap()).unwrap()
}

fn colours(picture: &Pixmap) -> usize {
    let pixels = picture.pixels().iter();
    pixels
        .map(|pixel| (pixel.red(), pixel.green(), pixel.blue()))
        .collect::<HashSet<_>>()
        .len()
}

#[test]
fn figures_look_as_they_did() {
    let slow = made_up::run(&MINDIE, load(2, 24));
    let quick = small();
    let rows = vec![
        ("0-enable-64".to_owned(), &slow),
        ("1-disable-64".to_owned(), &quick),
    ];
    let table = Configurations {
        rows,
        style: Style::Bars,
        shown: Shown::All,
        named_by: "scheme, chunked-prefill, batch".to_owned(),
    };
    for lang in [Lang::En, Lang::Zh] {
        let throughput = svg::render(&configurations::throughput(&table, lang), Theme::Light);
        insta::assert_snapshot!(format!("throughput-{lang}"), throughput);
        let ratios = ratios::ratios(&compared("v0.7"), &BTreeMap::new(), lang);
        let ratios = svg::render(&ratios, Theme::Dark);
        insta::assert_snapshot!(format!("ratios-{lang}"), ratios);
        let points = vec![(Level::Number(1.0), &slow), (Level::Number(2.0), &quick)];
        let pareto = curve::pareto(&ladder("vLLM", points), lang);
        insta::assert_snapshot!(format!("pareto-{lang}"), svg::render(&pareto, Theme::Light));
    }
}

#[test]
fn figures_of_bad_data_are_still_drawn() {
    let records = made_up::records(&VLLM, load(2, 24));
    let one = &records[..1];
    let failed = made_up::records(
        &made_up::Engine {
            refuses_from: 0,
            ..VLLM
        },
        load(2, 24),
    );
    let failed: Vec<Record> = failed
        .into_iter()
        .filter(|one| one.failure().is_some())
        .collect();
    let cases: [(&str, Summary, &[Record]); 6] = [
        ("no success", nothing(), &failed),
        ("no record", nothing(), &[]),
        ("one record", small(), one),
        ("gaps", gaps(), &records),
        ("not finite", not_finite(), &records),
        (HOSTILE, small(), &records),
    ];
    for (label, summary, records) in &cases {
        for lang in [Lang::En, Lang::Zh] {
            for figure in every_figure(label, summary, records, lang) {
                drawn(&figure);
            }
        }
    }
}

#[test]
fn pictures_are_not_blank() {
    let records = made_up::records(&VLLM, load(2, 24));
    for (summary, records) in [(small(), &records[..]), (nothing(), &[])] {
        let mut seen = HashSet::new();
        for figure in every_figure("昇腾 910B", &summary, records, Lang::Zh) {
            if seen.insert(figure.id.clone()) {
                assert!(colours(&picture(&figure)) > 8, "{} is blank", figure.id);
            }
        }
    }
}

#[test]
fn a_chart_without_values_says_so() {
    let summary = nothing();
    let figure = run::distributions(&summary, &Drawing::of(&made_up::trace(&[])), Lang::En);
    let text = drawn(&figure);
    assert_eq!(text.matches("no complete answer").count(), 4);
}

#[test]
fn names_of_others_are_escaped_and_cut() {
    let long = format!("{HOSTILE}{}", "长".repeat(5_000));
    for figure in every_figure(&long, &small(), &[], Lang::Zh) {
        assert!(drawn(&figure).len() < 200_000, "{}", figure.id);
    }
}

#[test]
fn what_the_font_lacks_is_named() {
    let summary = small();
    let table = table_figures(vec![("😀-64".to_owned(), &summary)], Lang::Zh);
    assert_eq!(font::undrawable(&table[0]), ['😀']);
    for lang in [Lang::En, Lang::Zh] {
        for figure in every_figure("昇腾 910B", &summary, &[], lang) {
            assert_eq!(font::undrawable(&figure), [], "{}", figure.id);
        }
    }
}

#[test]
fn an_invalid_point_is_left_out_and_named() {
    let good = small();
    let bad = Summary {
        valid: false,
        ..small()
    };
    let points = vec![(Level::Number(8.0), &good), (Level::Number(256.0), &bad)];
    let mut ladder = ladder("vLLM", points);
    let values = |figure: &Figure| match &figure.panels[0].series[0].shape {
        Shape::Line(samples) => samples.len(),
        other => panic!("{other:?}"),
    };
    assert_eq!(values(&ladder::sheet(&ladder, Lang::En)), 2);
    ladder.shown = Shown::default();
    let figure = ladder::sheet(&ladder, Lang::En);
    assert_eq!(values(&figure), 1);
    let note = figure
        .footnotes
        .iter()
        .find(|note| note.contains("INVALID"));
    assert!(note.unwrap().contains("256"), "{note:?}");
    // Failures are why it is invalid, so they are shown.
    assert_eq!(values(&ladder::failures(&ladder, Lang::En)), 2);
}

#[test]
fn ten_thousand_points_are_thinned_and_it_is_said() {
    let summary = small();
    let numbers = (1..=10_000).map(|level| (Level::Number(f64::from(level)), &summary));
    let names = (1..=3_000).map(|level| (Level::Name(format!("n{level}")), &summary));
    for points in [numbers.collect::<Vec<_>>(), names.collect()] {
        for figure in ladder_figures(&ladder("", points), Lang::En) {
            for series in figure.panels.iter().flat_map(|panel| &panel.series) {
                if let Shape::Line(samples) | Shape::Scatter(samples) = &series.shape {
                    assert!(samples.len() <= thin::MOST + 10, "{}", figure.id);
                }
            }
            let text = drawn(&figure);
            assert!(text.len() < 2_000_000, "{}: {}", figure.id, text.len());
        }
    }
    let points = (1..=10_000).map(|level| (Level::Number(f64::from(level)), &summary));
    let figure = ladder::sheet(&ladder("", points.collect()), Lang::En);
    assert!(figure.footnotes.iter().any(|note| note.contains("10,000")));
}

#[test]
fn a_run_of_very_many_requests_is_drawn_with_few_points() {
    let mut records = made_up::records(&VLLM, load(2, 20));
    let mut trace = made_up::trace(&records);
    for _ in 0..5_000 {
        for record in &mut records {
            trace.add(record);
        }
    }
    for figure in run::all(&small(), &Drawing::of(&trace), SimClock::Real, Lang::En) {
        let text = svg::render(&figure, Theme::Light);
        assert!(text.len() < 500_000, "{}: {}", figure.id, text.len());
        let said = figure.footnotes.iter().any(|note| note.contains("100,020"));
        assert!(said, "{}: {:?}", figure.id, figure.footnotes);
    }
}

#[test]
fn legends_come_from_tags() {
    let mut summary = small();
    assert_eq!(legend(&summary), "vLLM (A100 4×80G)");
    summary.tags.insert("device".to_owned(), "H20".to_owned());
    assert_eq!(legend(&summary), "vLLM (H20 ×4)");
    summary.tags.clear();
    summary.label = Some("nightly".to_owned());
    assert_eq!(legend(&summary), "nightly");
    let named = "MindIE (910B4 8×32G)".to_owned();
    summary.tags.insert("engine".to_owned(), named.clone());
    summary.tags.insert("cards".to_owned(), "8".to_owned());
    assert_eq!(legend(&summary), named, "the name says the cards already");
}

#[test]
fn a_run_without_an_answer_has_only_its_course_of_time() {
    let mut records = made_up::records(&VLLM, load(2, 24));
    for record in &mut records {
        record.outcome = Outcome::Failed(Failure {
            phase: Phase::Status,
            class: FailureClass::ServerError,
            detail: "no".to_owned(),
        });
        record.chunks = Default::default();
        record.usage = None;
    }
    let summary = made_up::summary(&VLLM, load(2, 24), &records);
    let figures = run::all(
        &summary,
        &Drawing::of(&made_up::trace(&records)),
        SimClock::Real,
        Lang::En,
    );
    let ids: Vec<&str> = figures.iter().map(|figure| figure.id.as_str()).collect();
    assert_eq!(ids, ["timeline"]);
    let titles: Vec<&str> = (figures[0].panels.iter())
        .map(|panel| panel.title.as_str())
        .collect();
    assert_eq!(titles, ["Requests in flight", "Failures"]);
}

#[test]
fn a_p99_of_too_few_requests_is_starred_and_said() {
    for (requests, star) in [(40, "*"), (1000, "")] {
        let run = made_up::run(&VLLM, load(4, requests));
        let noted = ladder("few", vec![(Level::Number(4.0), &run)]);
        let curve = ladder_figures(&noted, Lang::En)
            .into_iter()
            .find(|figure| figure.id == "throughput-latency")
            .unwrap();
        let Shape::Line(samples) = &curve.panels[0].series[0].shape else {
            panic!("{:?}", curve.panels[0].series);
        };
        assert_eq!(samples[0].label, Some(format!("4{star}")));
        let table = Configurations {
            rows: vec![("0-on".to_owned(), &run)],
            ..Configurations::default()
        };
        let bars = configurations::latency(&table, Lang::En);
        for figure in [&curve, &bars] {
            let said = figure.footnotes.iter().any(|note| note.starts_with('*'));
            assert_eq!(said, !star.is_empty(), "{:?}", figure.footnotes);
        }
    }
}

#[test]
fn mean_lengths_of_a_ladder_count_every_request_once() {
    let mut runs = [1, 2].map(|streams| made_up::run(&VLLM, load(streams, 50)));
    for (run, (ok, length)) in runs.iter_mut().zip([(10, 100.0), (30, 200.0)]) {
        run.requests.ok = ok;
        run.tokens.input_mean = Some(length);
        run.tokens.output_mean = Some(length);
    }
    let levels = [1.0, 2.0].map(Level::Number);
    let weighed = ladder("a", levels.into_iter().zip(&runs).collect());
    let notes = ladder::sheet(&weighed, Lang::En).footnotes.join("\n");
    assert!(notes.contains("input 175, output 175"), "{notes}");
}

#[test]
fn levels_that_were_noted_out_of_order_are_joined_by_size() {
    let runs: Vec<Summary> = [8, 1, 4]
        .map(|streams| made_up::run(&VLLM, load(streams, 1000)))
        .into();
    let levels = [8.0, 1.0, 4.0].map(Level::Number);
    let noted = ladder("notes", levels.into_iter().zip(&runs).collect());
    for figure in ladder_figures(&noted, Lang::En) {
        for series in figure.panels.iter().flat_map(|panel| &panel.series) {
            if let Shape::Line(samples) = &series.shape
                && samples.iter().any(|sample| sample.label.is_some())
            {
                let labels: Vec<&str> = (samples.iter())
                    .filter_map(|sample| sample.label.as_deref())
                    .collect();
                assert_eq!(labels, ["1", "4", "8"], "{}", figure.id);
            }
        }
    }
}

#[test]
fn what_no_configuration_has_leaves_neither_a_gap_nor_a_legend() {
    let mut summary = small();
    let latency = &mut summary.latency;
    for sample in [&mut latency.ttft_ms, &mut latency.tpot_ms]
        .into_iter()
        .flatten()
    {
        sample.p50 = f64::NAN;
    }
    summary.latency.itl_ms = None;
    let rows = vec![("a".to_owned(), &summary)];
    for figure in table_figures(rows, Lang::En) {
        let names = figure.panels.iter().flat_map(|panel| &panel.series);
        assert!(names.clone().all(|series| series.name != "median"));
        assert!(names.count() > 0);
    }
}

#[test]
fn throughput_per_card_needs_a_tag_of_cards() {
    let with = small();
    let mut without = small();
    without.tags.remove("cards");
    let of = |summary| ladder("vLLM", vec![(Level::Number(1.0), summary)]);
    assert!(ladder::overlay_per_card(&of(&without), Lang::En).is_none());
    let figure = ladder::overlay_per_card(&of(&with), Lang::En).unwrap();
    let Shape::Line(samples) = &figure.panels[1].series[0].shape else {
        panic!("{figure:?}")
    };
    let whole = with.throughput.output_tokens_per_s.unwrap();
    assert_eq!(samples[0].y, Some(whole / 4.0));
}

fn judged(value_ms: f64) -> Summary {
    Summary {
        slo: Some(SloResult {
            attainment: None,
            attainment_interval: None,
            goodput_per_s: None,
            jobs: None,
            objectives: vec![ObjectiveResult {
                objective: "tpot.p95=90ms".to_owned(),
                value_ms: Some(value_ms),
                share: None,
                met: None,
            }],
            met: None,
        }),
        ..small()
    }
}

fn search<'a>(probes: Vec<(f64, &'a Summary, ProbeVerdict)>, label: &'a str) -> Search<'a> {
    Search {
        over: "rate",
        label: Some(label),
        probes,
        objective: Some(Objective::Limit("tpot.p95=90ms".parse().unwrap())),
        capacity: Some(4.0),
        confirmed: true,
        interval: Some((3.0, 5.0)),
        tiers: vec![("batch", 6.0)],
    }
}

#[test]
fn a_curve_shows_the_objective_that_binds() {
    let of = |tpot_met: bool| {
        let mut summary = judged(40.0);
        let objectives = &mut summary.slo.as_mut().unwrap().objectives;
        objectives[0].met = Some(tpot_met);
        let ttft = ObjectiveResult {
            objective: "ttft.p99=2s".to_owned(),
            met: Some(true),
            ..objectives[0].clone()
        };
        objectives.insert(0, ttft);
        summary
    };
    let (met, missed) = (of(true), of(false));
    let drawn = |second| {
        let levels = [(1.0, &met), (2.0, second)];
        let points = levels.map(|(load, it)| (Level::Number(load), it)).to_vec();
        let ladder = ladder("both", points);
        let objective = points::tradeoff(&ladder).objective;
        objective.unwrap().0
    };
    assert_eq!(drawn(&met), "ttft.p99=2s", "where all are met, the first");
    assert_eq!(drawn(&missed), "tpot.p95=90ms");
}

#[test]
fn a_search_shows_each_probe_by_whether_it_met_the_objectives() {
    use ProbeVerdict::{Met, Missed, Undecided};
    let (low, high) = (judged(40.0), judged(120.0));
    let probes = vec![
        (2.0, &low, Met),
        (4.0, &low, Met),
        (8.0, &high, Missed),
        (6.0, &high, Undecided),
    ];
    let figure = search::probes(&search(probes, "chat"), Lang::En);
    assert_eq!(figure.panels.len(), 6);
    for panel in &figure.panels {
        let points: Vec<(&str, usize)> = (panel.series.iter())
            .map(|series| match &series.shape {
                Shape::Scatter(samples) => (series.name.as_str(), samples.len()),
                other => panic!("probes are joined: {other:?}"),
            })
            .collect();
        let expected = [
            ("met the objectives", 2),
            ("missed them", 1),
            ("undecided", 1),
        ];
        assert_eq!(points, expected);
        assert!(
            panel
                .marks
                .iter()
                .any(|mark| mark.kind == MarkKind::Capacity)
        );
        assert_eq!((panel.shades[0].from, panel.shades[0].to), (3.0, 5.0));
        assert!(panel.marks.iter().any(|mark| mark.label == "batch: 6"));
    }
    assert_eq!(figure.panels[0].title, "TPOT, p95");
    let limited = |kind: MarkKind| figure.panels[0].marks.iter().any(|mark| mark.kind == kind);
    assert!(
        limited(MarkKind::Objective),
        "the first is that of the objective"
    );
}

#[test]
fn a_load_that_nothing_confirmed_is_not_called_the_capacity() {
    let low = judged(40.0);
    let probes = || vec![(4.0, &low, ProbeVerdict::Met)];
    let label = |confirmed: bool| {
        let search = Search {
            confirmed,
            ..search(probes(), "chat")
        };
        let figure = search::probes(&search, Lang::En);
        let mut marks = figure.panels[0].marks.iter();
        let mark = marks.find(|mark| mark.kind == MarkKind::Capacity);
        mark.unwrap().label.clone()
    };
    assert_eq!(label(true), "capacity 4");
    assert_eq!(label(false), "highest that met the SLO: 4, not confirmed");
}

#[test]
fn sides_are_called_engines_only_where_each_names_another_one() {
    let tagged = |engine: Option<&str>| {
        let mut summary = small();
        let tag = engine.map(|it| ("engine".to_owned(), it.to_owned()));
        summary.tags.extend(tag);
        summary
    };
    let title = |engines: [Option<&str>; 2]| {
        let [a, b] = engines.map(tagged);
        let mut both = ladder("a", vec![(Level::Number(1.0), &a)]);
        both.series
            .extend(ladder("b", vec![(Level::Number(1.0), &b)]).series);
        ladder::overlay(&both, Lang::En).title
    };
    assert_eq!(title([Some("vLLM"), Some("SGLang")]), "Engines compared");
    for same in [[None, None], [Some("vLLM"), Some("vLLM")]] {
        assert_eq!(title(same), "Side by side");
    }
}

#[test]
fn a_search_is_drawn_whatever_its_probes_hold() {
    let (gaps, odd, none) = (gaps(), not_finite(), nothing());
    let probe = |level, summary| (level, summary, ProbeVerdict::Met);
    let probes = vec![probe(1.0, &gaps), probe(f64::NAN, &odd), probe(0.0, &none)];
    let mut hostile = search(probes, HOSTILE);
    hostile.capacity = Some(f64::INFINITY);
    for probes in [hostile.probes.clone(), Vec::new()] {
        let figure = search::probes(
            &Search {
                probes,
                ..hostile.clone()
            },
            Lang::Zh,
        );
        let picture = svg::render(&figure, Theme::Dark);
        assert!(!picture.contains("<script") && !picture.contains("NaN"));
        assert!(Document::parse(&picture).is_ok());
    }
}

#[test]
fn a_knee_is_marked_where_one_ladder_is_drawn_and_told_where_there_are_several() {
    let summary = small();
    let points = || {
        vec![
            (Level::Number(2.0), &summary),
            (Level::Number(8.0), &summary),
        ]
    };
    let alone = ladder("a", points());
    let sheet = ladder::sheet(&alone, Lang::En);
    let knees = |figure: &Figure| {
        let marks = figure.panels.iter().flat_map(|panel| &panel.marks);
        marks.filter(|mark| mark.kind == MarkKind::Knee).count()
    };
    assert_eq!(knees(&sheet), 2, "over requests and over tokens a second");
    assert!(sheet.footnotes.iter().any(|note| note.starts_with("Knee:")));
    let mut both = alone.clone();
    both.series.extend(ladder("b", points()).series);
    let overlay = ladder::overlay(&both, Lang::En);
    assert_eq!(knees(&overlay), 0);
    let told = "Lowest load with 95 % of the highest output throughput: a 4 (2–8), b 4 (2–8).";
    assert!(
        overlay.footnotes.iter().any(|note| note == told),
        "{overlay:?}"
    );
}

#[test]
fn loads_whose_ratios_are_not_drawn_are_told() {
    let mut many = compared("v0.7");
    assert!(
        ratios::ratios(&many, &BTreeMap::new(), Lang::En)
            .footnotes
            .is_empty()
    );
    let row = many.rows[0].clone();
    let at = |load: u32| {
        let mut row = row.clone();
        row.point = Point([("concurrency".to_owned(), load.into())].into());
        row
    };
    many.rows = (1..=62).map(at).collect();
    let told = ratios::ratios(&many, &BTreeMap::new(), Lang::En).footnotes;
    assert!(told[0].starts_with("2 more loads"), "{told:?}");
}
