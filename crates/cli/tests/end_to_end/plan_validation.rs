//! `inferometer plan validate` on our own runs and tables.

use crate::support::{Ended, Place};
use serde_json::Value;

fn json(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:?}"))
}

fn plan(place: &Place, words: &[&str]) -> Ended {
    let words: Vec<&str> = ["plan"].iter().chain(words).copied().collect();
    place.run(&words)
}

#[test]
fn a_run_of_ones_own_is_validated_as_it_is_and_drawn() {
    let place = Place::new();
    for streams in [8, 32] {
        let line = format!(
            "run --sim-clock virtual --sim-device h200 --concurrency {streams} --requests 64 --input-tokens 512 --output-tokens 64 --quiet --no-html --out runs/{streams} -- vllm serve qwen2.5-7b"
        );
        let ran = place.run(&line.split(' ').collect::<Vec<_>>());
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
    let validated = |more: &str| {
        let words = format!("validate runs {more}");
        plan(&place, &words.split_whitespace().collect::<Vec<_>>())
    };
    let answer = json(&validated("--format json"));
    assert_eq!(answer["not_predicted"], serde_json::json!([]), "{answer}");
    let row = &answer["rows"][0];
    assert_eq!(
        [&row["engine"], &row["device"], &row["model"]],
        ["vllm", "h200", "qwen2.5-7b"],
        "{row}"
    );
    assert!(row["half"].is_null() && row["measured"]["e2e_ms"].as_f64() > Some(0.0));
    let drawn = validated("--format svg -o charts");
    assert_eq!(drawn.code, Some(0), "{drawn:?}");
    for name in ["validation-scatter", "validation-errors"] {
        let picture = place.path("charts").join(format!("{name}.svg"));
        assert!(picture.exists(), "{picture:?}: {drawn:?}");
    }
    validated("--sample 0").assert_refused(&["--sample"]);
    validated("--held-out").assert_refused(&["--held-out"]);
    validated("--device abacus").assert_refused(&["abacus"]);
    validated("none.csv").assert_refused(&["none.csv; check the path"]);
}

#[test]
fn a_table_that_says_less_is_validated_with_what_the_user_says() {
    let place = Place::new();
    let table = "concurrency,input_tokens,output_tokens,engine,model,card,ttft_ms,tpot_ms\n\
                 8,512,128,vLLM,qwen2.5-7b,h200,60,4.9\n32,512,128,,,,200,5.7\n";
    std::fs::write(place.path("table.csv"), table).unwrap();
    let validated = |more: &str| {
        let words = format!("validate table.csv --format json {more}");
        plan(&place, &words.split_whitespace().collect::<Vec<_>>())
    };
    let some = json(&validated(""));
    assert_eq!(some["rows"].as_array().unwrap().len(), 1, "{some}");
    let why = some["not_predicted"][0]["reason"].as_str().unwrap();
    assert!(why.contains("--engine"), "{why}");
    let all = json(&validated(
        "--engine sglang --model qwen2.5-7b --device h100",
    ));
    let engines = all["rows"].as_array().unwrap().iter();
    let engines: Vec<&str> = engines.map(|row| row["engine"].as_str().unwrap()).collect();
    assert_eq!(engines, ["vllm", "sglang"], "what the table says stays");
    std::fs::write(place.path("notes.md"), "# Nothing\n").unwrap();
    plan(&place, &["validate", "notes.md"]).assert_refused(&["concurrency"]);
}
