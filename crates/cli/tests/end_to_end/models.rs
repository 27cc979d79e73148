//! Requests that ask for several models.

use crate::support::{Place, Sim};
use std::collections::BTreeMap;

const ADAPTERS: [&str; 6] = ["--model", "base", "--adapter", "law", "--adapter", "code"];

#[test]
fn each_model_gets_its_share_and_its_figures_and_the_loads_of_adapters_are_named() {
    let loads = [
        "--ttft",
        "5ms",
        "--itl",
        "1ms",
        "--faults",
        "adapter-load=1500ms",
    ];
    let sim = Sim::start(&[&ADAPTERS[..], &loads].concat());
    let run = Place::new().measure(
        &sim.url,
        &[
            "--model",
            "base=2,law=1,code=1",
            "--requests",
            "80",
            "--concurrency",
            "4",
        ],
    );
    run.assert_all_ok(80);
    let mut asked: BTreeMap<&str, u64> = BTreeMap::new();
    for record in &run.records {
        let name = record.model_asked.as_deref().unwrap();
        assert_eq!(record.model.as_deref(), Some(name));
        *asked.entry(name).or_default() += 1;
    }
    assert!(
        asked["base"] > asked["law"] && asked["law"] > 5 && asked["code"] > 5,
        "{asked:?}"
    );
    for model in &run.summary.models {
        assert_eq!((model.ok, model.failed), (asked[&*model.model], 0));
        assert_eq!(
            model.cold_ttft_ms.is_some(),
            model.model != "base",
            "{model:?}"
        );
    }
    let shown = &run.ended.stdout;
    for words in ["By model", "Cold models", "base=2,law=1,code=1"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
}

#[test]
fn a_conversation_stays_with_its_model_and_a_model_that_is_not_there_is_refused() {
    let sim = Sim::start(&ADAPTERS);
    let place = Place::new();
    let turns = ["--turns", "3", "--requests", "30", "--concurrency", "3"];
    let run = place.measure(
        &sim.url,
        &[&turns[..], &["--model", "zipf(1):base,law,code"]].concat(),
    );
    run.assert_all_ok(30);
    let mut of_session = BTreeMap::new();
    for record in &run.records {
        let model = record.model_asked.clone();
        let known = of_session.entry(record.session).or_insert(model.clone());
        assert_eq!(*known, model);
    }
    let refuse = |mix: &str, words: &[&str]| {
        let ended = place.run(&["run", &sim.url, "--model", mix]);
        ended.assert_refused(words);
    };
    refuse("base=1,poetry=1", &["poetry", "base, law, code"]);
    refuse("base=1,base=2", &["zipf(1.1)"]);
    refuse("base=0,law=1", &["zipf(1.1)"]);
}
