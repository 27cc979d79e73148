//! The page in a real browser: Chromium without a window, driven by a script that the test
//! adds to the page and that leaves what it saw in it.
//!
//! Needs `chromium` on the path, or `INFEROMETER_TEST_CHROMIUM`; skips itself without.

use crate::pages::{HOSTILE, grid, ladder, run, run_named};
use crate::sides::{compared, import_page};
use inferometer_core::message::Lang;
use inferometer_report::html::{Page, render};
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

/// What the script saw; absent without a browser.
fn used(page: &Page) -> Option<Value> {
    let Some(chromium) = chromium() else {
        eprintln!("skipped: no chromium; install it or set INFEROMETER_TEST_CHROMIUM");
        return None;
    };
    let folder = tempfile::tempdir().unwrap();
    let html = render(page)
        .replacen("<style>", &format!("{WATCH}<style>"), 1)
        .replace("</body>", &format!("<script>{USE}</script></body>"));
    let file = folder.path().join("report.html");
    std::fs::write(&file, html).unwrap();
    let output = Command::new(chromium)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
        ])
        .args(["--disable-dev-shm-usage", "--window-size=1200,900"])
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
    assert!(
        seen["width"].as_f64() <= seen["window"].as_f64(),
        "{seen:#}"
    );
}

#[test]
fn a_run_opens_without_errors_draws_its_charts_sorts_and_changes_language() {
    if let Some(seen) = used(&run(60, Lang::En)) {
        is_sound(&seen);
    }
}

#[test]
fn a_sweep_does_too() {
    for page in [ladder("http://engine:8000", &[1, 2, 4, 8]), grid()] {
        if let Some(seen) = used(&page) {
            is_sound(&seen);
        }
    }
}

#[test]
fn a_comparison_and_an_import_do_too() {
    for page in [compared("runs/b"), import_page("notes.md")] {
        if let Some(seen) = used(&page) {
            is_sound(&seen);
        }
    }
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
        if let Some(seen) = used(&page) {
            is_sound(&seen);
            assert_eq!(seen["images"], 0, "{seen:#}");
        }
    }
}

#[test]
fn a_run_without_an_answer_opens_too() {
    if let Some(seen) = used(&run(0, Lang::En)) {
        assert_eq!(seen["errors"], serde_json::json!([]), "{seen:#}");
    }
}
