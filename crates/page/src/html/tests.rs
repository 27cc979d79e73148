use super::*;
use crate::doc::{Bar, Cell, Column, Command, Follow, Note, Pair, Table, Tone, Unit, Verdict};
use crate::figure::{Axis, Colour, Panel, Sample, Scale, Series, Shape};

fn of_everything() -> Page {
    page(Lang::En, json!({"tokens": 7}), |lang| Edition {
        above: 1,
        lang,
        title: match lang {
            Lang::En => "qwen <7b> · Load test report".to_owned(),
            Lang::Zh => "qwen <7b> · 压测报告".to_owned(),
        },
        headlines: vec![Headline::new("TTFT p50", "81.2".to_owned(), "ms")],
        doc: Doc {
            sections: vec![
                Section::plain([Verdict {
                    word: "VALID".to_owned(),
                    tone: Tone::Good,
                    reason: "no doubts".to_owned(),
                    rest: "more".to_owned(),
                }]),
                Section::plain([vec![Pair::new("Model", "a & b")]]),
                Section::headed("Result", [one_table()]),
                Section::headed("Doubts", [vec![one_note()]]),
                Section::headed(
                    "Rest",
                    [
                        Block::Paragraph("A line.".to_owned()),
                        Block::Histogram(vec![Bar {
                            from: 1,
                            to: 2,
                            count: 3,
                        }]),
                        Block::Quotes(vec!["\"quoted\"".to_owned()]),
                        Block::Command(Command {
                            caption: "Repeat".to_owned(),
                            words: vec!["inferometer".to_owned(), "run".to_owned()],
                        }),
                    ],
                ),
            ],
        },
        glossary: Glossary::new(match lang {
            Lang::En => vec![("TTFT", "time to first token".to_owned())],
            Lang::Zh => vec![("TTFT", "首 token 时延".to_owned())],
        }),
        figures: vec![one_figure()],
    })
}

#[test]
fn a_figure_of_a_section_stands_below_it_and_the_others_together() {
    let mut page = of_everything();
    for edition in &mut page.editions {
        let own = Figure {
            section: Some("Rest".to_owned()),
            id: "own".to_owned(),
            ..one_figure()
        };
        edition.figures.insert(0, own);
    }
    let html = skeleton(&page);
    let place = |text: &str| html.find(text).unwrap();
    let common = format!("id=\"{}\"", one_figure().id);
    assert!(place(&common) < place(">Result<"), "{html}");
    assert!(place(">Rest<") < place("id=\"own\""), "{html}");
    // Its number is that of its drawing, wherever it stands.
    let own = &html[place("id=\"own\"")..];
    assert!(own.contains("data-figure=\"0\""), "{html}");
    assert_eq!(html.matches("id=\"no-charts\"").count(), 1);
}

fn one_table() -> Table {
    Table {
        columns: vec![Column::left(""), Column::right("p99")],
        rows: vec![
            vec![
                Cell::text("TPOT"),
                Cell::number(Some(1234.5), Unit::Milliseconds, 1),
            ],
            vec![Cell::Toned("INVALID".to_owned(), Tone::Bad), Cell::Absent],
        ],
        footnotes: vec!["* few".to_owned()],
    }
}

fn one_note() -> Note {
    Note {
        tag: "warn".to_owned(),
        tone: Tone::Caution,
        subject: "few-samples".to_owned(),
        text: "Few.".to_owned(),
        follow: Some(Follow::Remedy("Send more.".to_owned())),
    }
}

fn one_figure() -> Figure {
    let samples = vec![Sample::new(1.0, Some(2.0)), Sample::new(2.0, None)];
    let panel = |shape| Panel {
        title: "TTFT".to_owned(),
        y: Axis::new("", "ms", Scale::FromZero),
        series: vec![Series::new("a", Colour::Nth(0), shape)],
        when_empty: "no data".to_owned(),
        ..Panel::default()
    };
    Figure::new(
        "one",
        "One",
        vec![panel(Shape::Line(samples)), panel(Shape::Line(Vec::new()))],
        vec!["Note <1>.".to_owned()],
    )
}

#[test]
fn the_skeleton_of_a_page() {
    let skeleton = skeleton(&of_everything()).replace(STYLE, "…");
    insta::assert_snapshot!(skeleton);
}

#[test]
fn json_in_the_page_cannot_end_its_element_and_reads_back() {
    let value = json!({"name": "</script><!--<script>\u{2028}&"});
    let text = embedded("numbers", &value);
    assert_eq!(text.matches('<').count(), 2);
    let inside = text.split_once('>').map(|it| it.1).unwrap_or_default();
    let inside = inside.split_once('<').map(|it| it.0).unwrap_or_default();
    assert_eq!(serde_json::from_str::<Value>(inside).ok(), Some(value));
}

#[test]
fn the_packed_chart_library_is_whole() {
    use base64::Engine;
    use std::io::Read;
    let packed = base64::engine::general_purpose::STANDARD
        .decode(packed::library())
        .expect("it is base64");
    let mut script = String::new();
    flate2::read::GzDecoder::new(packed.as_slice())
        .read_to_string(&mut script)
        .expect("it unpacks");
    assert!(
        script.starts_with("/**\n* plotly.js (cartesian - minified) v")
            && script.contains("MIT license")
    );
    assert!(!script.contains("</script"));
    assert!(script.len() > 1_000_000);
}

#[test]
fn a_page_follows_the_browser_only_where_nobody_chose_its_language() {
    let chosen = render(&of_everything());
    assert!(!chosen.contains("<html data-follow"));
    assert!(following_browser(&chosen).contains("<html data-follow lang=\"en\""));
}

#[test]
fn charts_that_show_nothing_are_left_out() {
    let of = |shape: Shape| {
        let panel = Panel {
            series: vec![Series::new("", Colour::Nth(0), shape)],
            ..Panel::default()
        };
        Figure::new("one", "One", vec![panel], Vec::new()).worth_showing()
    };
    let cell = |column: usize| crate::figure::Cell {
        column,
        row: 0,
        value: Some(1.0),
        label: String::new(),
    };
    let at = |x: f64, y: f64| Sample::new(x, Some(y));
    assert!(of(Shape::Heat(vec![cell(0)], None)).is_none(), "one cell");
    assert!(of(Shape::Heat(vec![cell(0), cell(1)], None)).is_some());
    let upright = Shape::Line(vec![at(4.0, 1.0), at(4.0, 2.0)]);
    assert!(of(upright).is_none(), "dots above each other");
    assert!(of(Shape::Line(vec![at(4.0, 1.0), at(8.0, 2.0)])).is_some());
    assert!(of(Shape::Line(Vec::new())).is_none(), "nothing at all");
}

#[test]
fn a_page_leads_back_to_its_list_where_it_has_one() {
    let alone = render(&of_everything());
    assert!(!alone.contains("class=\"list\""), "a file has no list");
    let listed = listed_at(&alone, "..", ["all <results>", "全部结果"]);
    let link = "<header><a class=\"list\" href=\"..\">← <span lang=\"en\">all &lt;results&gt;</span>\
                <span lang=\"zh\">全部结果</span></a><h1>";
    assert!(listed.contains(link), "{listed}");
}

#[test]
fn a_heading_that_repeats_the_title_is_left_out() {
    let mut page = of_everything();
    assert!(render(&page).contains("<h2>Result</h2>"));
    for edition in &mut page.editions {
        edition.title = "Result".to_owned();
    }
    assert!(!render(&page).contains("<h2>Result</h2>"));
}

#[test]
fn the_number_of_a_command_stands_beside_it_and_words_above() {
    let mut page = of_everything();
    let mut show = |caption: &str| {
        for section in &mut page.editions[0].doc.sections {
            for block in &mut section.blocks {
                if let Block::Command(command) = block {
                    command.caption = caption.to_owned();
                }
            }
        }
        render(&page)
    };
    assert!(show("Repeat").contains("<p>Repeat</p>\n<div class=\"command\"><pre>"));
    assert!(show("1.").contains("<div class=\"command\"><span>1.</span><pre>"));
    let bare = show("");
    assert!(bare.contains("<div class=\"command\"><pre>") && !bare.contains("<p></p>"));
}
