//! The page `report.html`: what it holds, what hostile and missing data make of it, and how it
//! behaves in a browser.

mod browser;
mod pages;
mod sides;
mod site;

use inferometer_page::html::render;
use inferometer_text::Lang;
use pages::{HOSTILE, ladder, run, run_named, sweep_of};
use serde_json::json;

/// The JSON of an element of the page.
fn json_of(page: &str, id: &str) -> serde_json::Value {
    let begin = format!("<script type=\"application/json\" id=\"{id}\">");
    let rest = page.split_once(&begin).unwrap().1;
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn an_empty_report_stays_below_a_megabyte_and_names_no_address_to_load_from() {
    let page = render(&run(0, Lang::En));
    assert!(page.len() < 1_000_000, "{}", page.len());
    let own = page.split_once("id=\"library\"").unwrap().0;
    assert!(!own.contains("src=") && !own.contains("@import") && !own.contains("url("));
    assert!(own.contains("default-src 'none'"));
    assert!(!own.contains("no data"), "an empty chart is left out");
}

#[test]
fn the_judgement_comes_before_the_numbers_and_these_before_the_setup() {
    let page = render(&run(40, Lang::En));
    let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("no {text}"));
    assert!(place("class=\"verdict") < place("class=\"tiles"));
    assert!(place("class=\"tiles") < place("<dt>Load</dt>"));
    assert!(place("<dt>Load</dt>") < place("id=\"distributions\""));
    assert!(place("id=\"distributions\"") < place("<h2>Environment</h2>"));
}

#[test]
fn every_number_is_inside_unrounded() {
    let page = render(&run(40, Lang::En));
    let numbers = json_of(&page, "numbers");
    assert_eq!(numbers["summary"]["requests"]["ok"], json!(40));
    assert!(numbers["summary"]["latency"]["ttft_ms"]["p50"].is_f64());
    let charts = json_of(&page, "charts");
    assert_eq!(charts["figures"].as_array().unwrap().len(), 4);
}

#[test]
fn both_languages_are_in_the_page_and_it_opens_in_the_one_asked_for() {
    for (lang, word) in [(Lang::En, "en"), (Lang::Zh, "zh")] {
        let page = render(&run(40, lang));
        assert!(page.contains(&format!("<html lang=\"{word}\" data-lang=\"{word}\">")));
        assert!(page.contains("时延分布") && page.contains("Latency distributions"));
        assert!(page.contains("有效") && page.contains("VALID"));
    }
}

#[test]
fn no_text_of_others_becomes_markup() {
    for page in [run_named(HOSTILE), ladder(HOSTILE, &[1, 2])] {
        let page = render(&page);
        assert!(!page.contains("<script>alert"), "a script got in");
        assert!(!page.contains("<img src=x"), "an element got in");
        let scripts = page.matches("<script").count();
        assert_eq!((scripts, page.matches("</script").count()), (4, 4));
        assert!(
            page.contains("&lt;script&gt;alert"),
            "the name is still there"
        );
    }
}

#[test]
fn a_ladder_of_one_point_has_no_curve() {
    let page = render(&ladder("one", &[4]));
    assert!(!page.contains("id=\"ladder\""));
    let own = page.split_once("id=\"library\"").unwrap().0;
    assert!(!own.contains("NaN") && !own.contains("Infinity"));
}

#[test]
fn ten_thousand_points_make_a_page_that_a_browser_can_hold() {
    let page = render(&sweep_of(10_000));
    assert!(page.len() < 30_000_000, "{}", page.len());
    assert!(page.contains("type=\"application/gzip\" id=\"numbers\""));
}

#[test]
fn every_first_number_and_every_chart_says_what_it_means() {
    for page in [
        run(40, Lang::En),
        run(40, Lang::Zh),
        ladder("one", &[1, 2, 4, 8]),
    ] {
        let page = render(&page);
        for (begin, least) in [("<div class=\"tile\"><span>", 10), ("<h3>", 10)] {
            let names: Vec<&str> = page.split(begin).skip(1).collect();
            assert!(names.len() >= least, "{begin} {}", names.len());
            for name in names {
                let name = name.trim_start_matches("<span lang=\"en\">");
                let shown: String = name.chars().take(60).collect();
                assert!(name.starts_with("<abbr"), "{shown} has no meaning");
            }
        }
    }
}
