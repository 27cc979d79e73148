//! The index of many results in a real browser.

use crate::made_up::{self, Load, VLLM};
use crate::page::browser::{WIDTHS, seen_by};
use crate::page::pages::HOSTILE;
use inferometer_report::runs::{KnownResult, Listed, RunState};
use inferometer_site::{Entry, Hosting, index, page_name};
use inferometer_text::Lang;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Uses the index as a reader would.
const USE: &str = include_str!("use_site.js");

fn entry(name: &str, engine: &str, what: Listed, taken: &mut HashSet<String>) -> Entry {
    let load = Load {
        concurrency: 2,
        requests: 20,
        input: 64.0,
        output: 12.0,
    };
    let page = page_name(name, taken);
    Entry {
        page,
        result: KnownResult {
            label: Some(format!("label of {name}")),
            tags: BTreeMap::from([("engine".to_owned(), engine.to_owned())]),
            started: Some(format!("2026-11-{}T02:23:34Z", 15 + taken.len())),
            models: BTreeSet::from([format!("model of {name}")]),
            engines: BTreeSet::from([format!("{engine} 1.0")]),
            figures: Some(made_up::run(&VLLM, load)),
            ..KnownResult::new(name, what, RunState::Valid)
        },
    }
}

fn used(width: u32) -> Option<Value> {
    let taken = &mut HashSet::new();
    let entries = [
        entry("first", "vllm", Listed::Run(None), taken),
        entry("second", "sglang", Listed::Run(None), taken),
        entry(HOSTILE, HOSTILE, Listed::Run(None), taken),
    ];
    seen_by(USE, &index(&entries, Hosting::Files, Lang::En), width)
}

#[test]
fn the_index_searches_filters_compares_and_changes_language_and_theme() {
    for width in WIDTHS {
        let Some(seen) = used(width) else { return };
        assert_eq!(seen["errors"], json!([]), "{seen:#}");
        assert_eq!(seen["all"], 3, "{seen:#}");
        assert_eq!(seen["searched"], json!(["second"]), "{seen:#}");
        assert_eq!(seen["tagged"], json!(["first"]), "{seen:#}");
        assert_eq!(seen["ofModel"], json!(["second"]), "{seen:#}");
        assert_eq!(seen["ofNone"], json!([]), "{seen:#}");
        assert_eq!(seen["ofEngine"], json!(["first"]), "{seen:#}");
        assert_eq!(seen["later"].as_array().unwrap().len(), 3, "{seen:#}");
        assert_eq!(seen["thatDay"], json!(["first"]), "{seen:#}");
        assert_eq!(seen["none"], json!([]), "no sweep is there: {seen:#}");
        let compared = seen["compared"].as_array().unwrap();
        assert!(compared.len() > 3, "{seen:#}");
        assert!(
            compared[1].as_str().unwrap().contains("(×1.000)"),
            "{seen:#}"
        );
        assert_eq!(seen["alone"], 0, "one result is no comparison: {seen:#}");
        assert_ne!(seen["titles"][0], seen["titles"][1], "{seen:#}");
        assert_ne!(seen["hints"][0], seen["hints"][1], "{seen:#}");
        assert_ne!(seen["heads"][0], seen["heads"][1], "{seen:#}");
        assert_ne!(seen["colours"][0], seen["colours"][1], "{seen:#}");
        assert_eq!(seen["colours"][0], seen["colours"][2], "{seen:#}");
        assert_eq!(seen["images"], 0, "{seen:#}");
        assert!(seen["width"].as_u64() <= Some(u64::from(width)), "{seen:#}");
    }
}
