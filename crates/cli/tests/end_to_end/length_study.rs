//! A study of answer lengths: template, asked length, load and setting, in virtual time.

use crate::support::{Ended, Place};
use serde_json::Value;

fn run(place: &Place, line: &str) -> Ended {
    place.run(&line.split_whitespace().collect::<Vec<_>>())
}

fn json(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:?}"))
}

/// Chinese prompts that ask for lengths, on one setting or several.
fn study(place: &Place, options: &str) -> Ended {
    let fixed = "sweep --lang en --quiet --sim-clock virtual --template zh --input-chars 1000";
    run(place, &format!("{fixed} {options}"))
}

#[test]
fn settings_that_differ_greatly_are_told_of_short_runs() {
    let place = Place::new();
    let ended = study(
        &place,
        "--out g --no-html --engine-flag max-num-seqs=16,256 --ask-chars 500 \
         --concurrency 64,128 --requests concurrency*4 -- vllm serve Qwen/Qwen2.5-7B-Instruct",
    );
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let said = ended
        .stdout
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(
        said.contains("output throughput is better with max-num-seqs=256 at all 2 compared points"),
        "{ended:?}"
    );
    assert!(
        !said.contains("No difference seen in output throughput"),
        "{ended:?}"
    );
    let compared = run(
        &place,
        "compare --lang en --format json g@max-num-seqs=16 g@max-num-seqs=256",
    );
    let said = json(&compared);
    let rows = said["rows"].as_array().unwrap();
    let primary: Vec<&Value> = rows.iter().filter(|row| row["primary"] == true).collect();
    assert_eq!(primary.len(), 2, "{compared:?} {ended:?}");
    for row in primary {
        assert_eq!(
            (&row["verdict"], &row["basis"]),
            (&"better".into(), &"short-runs".into()),
            "{row} {compared:?} {ended:?}"
        );
    }
    for row in rows.iter().filter(|row| row["verdict"] == "unknown") {
        let remedies = [&row["repeats_to_decide"], &row["requests_needed"]];
        assert!(remedies.iter().any(|it| it.is_u64()), "{row}");
    }
}

#[test]
fn a_setting_that_does_not_fit_leaves_the_others_to_be_measured() {
    let place = Place::new();
    let options = "--out oom --no-html --sim-device t4,a100-80g --ask-chars 500,1000 \
         --concurrency 4,8 --requests 40 --format json";
    let ended = study(&place, options);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let points = json(&ended)["points"].as_array().unwrap().clone();
    assert_eq!(points.len(), 8);
    for point in &points {
        let fits = point["point"]["sim-device"] == "a100-80g";
        let [state, class] = [&point["state"], &point["class"]];
        if fits {
            assert_eq!(state, "done", "{point}")
        } else {
            assert_eq!(
                (state, class),
                (&"failed".into(), &"no-room-for-kv-cache".into())
            )
        }
    }
}

#[test]
fn asked_and_actual_lengths_stand_in_every_form() {
    let place = Place::new();
    let options = "--out len --ask-chars 500,1000 --concurrency 16,4 --requests 128 \
         --format text --format csv --format md";
    let ended = study(&place, options);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let text = &ended.stdout;
    for told in ["actual chars", "refused", "very short", "chars/s"] {
        assert!(text.contains(told), "{told}: {text}");
    }
    for head in ["Load", "Work"] {
        let lines = text.lines().map(str::trim_start);
        assert!(
            lines.clone().any(|line| line.starts_with(head)),
            "{head}: {text}"
        );
    }
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("asks for 500 / 1,000 characters"), "{text}");
    assert!(words.contains("concurrency 4 / 16,"), "{text}");
    // From the lowest load on, whatever was typed first.
    let loads: Vec<&str> = (text.lines())
        .filter_map(|line| line.split_whitespace().next())
        .filter(|word| ["4", "16"].contains(word))
        .collect();
    assert_eq!(loads[..2], ["4", "16"], "{text}");
    let read = |name: &str| std::fs::read_to_string(place.path("len").join(name)).unwrap();
    let csv = read("report.csv");
    let head = csv.lines().next().unwrap();
    for column in ["asked_chars", "chars_mean", "refused", "very_short"] {
        assert!(head.split(',').any(|it| it == column), "{column}: {head}");
    }
    // A title of several words may be broken on a screen.
    let markdown = read("report.md");
    assert!(markdown.contains("actual chars") && markdown.contains("tok/s per user"));
    let page = read("report.html");
    assert!(
        page.contains("Asked length") && page.contains("id=\"grid\""),
        "no heat map"
    );
    // A real model writes Chinese at about three signs for two tokens.
    let sweep = json(&run(&place, "report --format json len"));
    for point in sweep["points"].as_array().unwrap() {
        let per_token = point["summary"]["tokens"]["chars_per_token"]
            .as_f64()
            .unwrap();
        assert!((1.3..1.7).contains(&per_token), "{per_token}");
    }
    let chosen = run(
        &place,
        "report --lang en --columns asked_chars,chars,refused,very_short,continuation.tokens_mean len",
    );
    assert_eq!(chosen.code, Some(0), "{chosen:?}");
    assert!(
        chosen.stdout.contains("continuation.tokens_mean"),
        "{chosen:?}"
    );
    let table = chosen.stdout.split("Asked and actual").next().unwrap();
    assert!(!table.contains("times in ms"), "{table}");
}
