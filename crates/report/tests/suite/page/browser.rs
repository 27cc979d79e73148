//! The page in a real browser: Chromium without a window, driven by a script that the test
//! adds to the page and that tells what it saw.
//!
//! Needs `chromium` on the path, or `INFEROMETER_TEST_CHROMIUM`; skips itself without, except with `CI=true`.

use crate::page::pages::{HOSTILE, grid, ladder, run, run_named, sweep_of};
use crate::page::sides::{compared, import_page};
use inferometer_page::html::{Page, render};
use inferometer_text::Lang;
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

/// Before the page's own script: notes every error.
const WATCH: &str = "<script>window.seen=[];\
    addEventListener('error',(e)=>seen.push(String(e.message)));\
    addEventListener('unhandledrejection',(e)=>seen.push(String(e.reason)));\
    addEventListener('securitypolicyviolation',(e)=>seen.push('policy: '+e.violatedDirective));\
    for(const it of ['error','warn'])console[it]=(...words)=>seen.push(words.join(' '));\
    window.alert=()=>seen.push('an alert');</script>";

/// After it: uses the page as a reader would.
const USE: &str = include_str!("use.js");
/// After it: goes to dark, to paper and back.
const PRINT: &str = include_str!("print.js");

fn chromium() -> Option<PathBuf> {
    let named = std::env::var_os("INFEROMETER_TEST_CHROMIUM").map(PathBuf::from);
    let found = || {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path)
            .map(|folder| folder.join("chromium"))
            .find(|file| file.is_file())
    };
    named.or_else(found)
}

/// Width of a desk's window and of a phone.
pub const WIDTHS: [u32; 2] = [1200, 390];

/// What a script saw that used a page in a frame of this width; absent without a browser. A window
/// cannot be as narrow as a phone, a frame can.
pub fn seen_by(script: &str, html: &str, width: u32) -> Option<Value> {
    let Some(chromium) = chromium() else {
        inferometer_testing::skipped("no chromium; install it or set INFEROMETER_TEST_CHROMIUM");
        return None;
    };
    let folder = tempfile::tempdir().unwrap();
    let html = html
        .replacen("<style>", &format!("{WATCH}<style>"), 1)
        .replace("</body>", &format!("<script>{script}</script></body>"));
    std::fs::write(folder.path().join("report.html"), html).unwrap();
    let frame = format!(
        "<!DOCTYPE html><script>addEventListener('message',(event)=>{{\
         const out=document.createElement('pre');out.id='outcome';out.textContent=event.data;\
         document.body.append(out);}});</script>\
         <body><iframe src=\"report.html\" width=\"{width}\" height=\"900\" frameborder=\"0\"></iframe>"
    );
    let file = folder.path().join("frame.html");
    std::fs::write(&file, frame).unwrap();
    let output = Command::new(chromium)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
        ])
        .args(["--disable-dev-shm-usage", "--window-size=1300,1000"])
        .args(["--virtual-time-budget=120000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", folder.path().display()))
        .arg(format!("file://{}", file.display()))
        .env("HOME", folder.path())
        .output()
        .unwrap();
    let dom = String::from_utf8_lossy(&output.stdout);
    let said = String::from_utf8_lossy(&output.stderr);
    let outcome = dom
        .split_once("<pre id=\"outcome\">")
        .and_then(|(_, rest)| rest.split_once("</pre>"))
        .unwrap_or_else(|| panic!("the page did not come to its end: {said}"));
    let text = outcome.0.replace("&lt;", "<").replace("&gt;", ">");
    Some(serde_json::from_str(&text.replace("&amp;", "&")).unwrap())
}

/// What a reader saw who used a report.
fn used(page: &Page, width: u32) -> Option<Value> {
    seen_by(USE, &render(page), width)
}

/// What holds of every page.
fn is_sound(seen: &Value) {
    assert_eq!(seen["errors"], serde_json::json!([]), "{seen:#}");
    assert!(seen["plots"].as_u64() > Some(0), "{seen:#}");
    assert_eq!(seen["plots"], seen["drawn"], "a chart is blank: {seen:#}");
    assert_eq!(seen["sorted"], true, "{seen:#}");
    assert_eq!(seen["languages"], serde_json::json!(["en", "zh", "en"]));
    assert_ne!(seen["titles"][0], seen["titles"][1], "{seen:#}");
    assert_ne!(
        seen["axes"][0], seen["axes"][1],
        "axes change too: {seen:#}"
    );
    assert_ne!(seen["colours"][0], seen["colours"][1], "{seen:#}");
    assert!(seen["markdown"].as_str().unwrap().starts_with("| "));
    let rows = |text: &Value| text.as_str().unwrap().lines().count();
    assert_eq!(rows(&seen["csv"]) + 1, rows(&seen["markdown"]), "{seen:#}");
    assert_eq!(seen["numbers"], "object", "the download is JSON");
    assert_eq!(
        seen["taken"], true,
        "every chart is to take along: {seen:#}"
    );
    assert_eq!(
        seen["values"],
        serde_json::json!([[true, true, true]]),
        "a chart's values are CSV: {seen:#}"
    );
    assert!(
        seen["width"].as_f64() <= seen["window"].as_f64(),
        "{seen:#}"
    );
}

/// A page is sound on a desk and on a phone.
fn is_sound_everywhere(page: &Page) {
    for width in WIDTHS {
        if let Some(seen) = used(page, width) {
            assert_eq!(seen["window"], width, "{seen:#}");
            is_sound(&seen);
        }
    }
}

#[test]
fn a_comparison_and_an_import_do_too() {
    for page in [compared("runs/b"), import_page("notes.md")] {
        is_sound_everywhere(&page);
    }
}

#[test]
fn a_run_opens_without_errors_draws_its_charts_sorts_and_changes_language() {
    is_sound_everywhere(&run(60, Lang::En));
}

#[test]
fn a_ladder_does_too() {
    is_sound_everywhere(&ladder("http://engine:8000", &[1, 2, 4, 8]));
}

#[test]
fn a_grid_does_too() {
    is_sound_everywhere(&grid());
}

#[test]
fn hostile_names_do_nothing_in_a_browser() {
    let hostile = [
        run_named(HOSTILE),
        ladder(HOSTILE, &[1, 2]),
        compared(HOSTILE),
        import_page(HOSTILE),
    ];
    for page in hostile {
        for width in WIDTHS {
            if let Some(seen) = used(&page, width) {
                is_sound(&seen);
                assert_eq!(seen["images"], 0, "{seen:#}");
            }
        }
    }
}

#[test]
fn a_run_without_an_answer_opens_too() {
    if let Some(seen) = used(&run(0, Lang::En), WIDTHS[0]) {
        assert_eq!(seen["errors"], serde_json::json!([]), "{seen:#}");
    }
}

#[test]
fn ten_thousand_points_open_and_their_table_sorts() {
    if let Some(seen) = used(&sweep_of(10_000), WIDTHS[0]) {
        is_sound(&seen);
    }
}

#[test]
fn on_paper_charts_are_light_and_as_large_as_their_place() {
    if let Some(seen) = seen_by(PRINT, &render(&run(60, Lang::Zh)), WIDTHS[0]) {
        assert_eq!(seen["errors"], serde_json::json!([]), "{seen:#}");
        assert_eq!(seen["dark"], "rgb(17, 22, 29)", "{seen:#}");
        assert_eq!(seen["paper"], "rgb(255, 255, 255)", "{seen:#}");
        assert_eq!(seen["after"], seen["dark"], "{seen:#}");
        let charts = seen["charts"].as_array().unwrap();
        assert!(!charts.is_empty(), "{seen:#}");
        for chart in charts {
            assert_eq!(chart["drawn"], chart["place"], "{chart}");
            assert!(chart["place"][0].as_f64() <= Some(690.0), "{chart}");
        }
    }
}
