//! Every screen at 80 and at 120 columns, from results in virtual time: nothing is wider than it
//! may be, and what stands on it is looked at when it changes.

use crate::support::{Ended, Place, Started};
use crate::tune::FEW_SLOTS;
use inferometer_page::text::width;

const WIDTHS: [usize; 2] = [80, 120];

/// What a command shows on a terminal of so many columns.
fn shown(place: &Place, columns: usize, arguments: &[&str]) -> Ended {
    let mut command = place.command(arguments);
    command.env("COLUMNS", columns.to_string());
    Started::new(command).wait()
}

/// Holds a screen against its golden file, without the moment at which it was made.
#[track_caller]
fn assert_screen(place: &Place, name: &str, arguments: &[&str]) {
    for columns in WIDTHS {
        let ended = shown(place, columns, arguments);
        assert!(matches!(ended.code, Some(0 | 1)), "{ended:?}");
        for line in ended.stdout.lines() {
            assert!(width(line) <= columns, "{name} at {columns}: {line}");
        }
        insta::assert_snapshot!(format!("{name}-{columns}"), timeless(&ended.stdout));
    }
}

/// Dates and the times behind them as zeros.
fn timeless(text: &str) -> String {
    let is_date = |word: &str| {
        let parts: Vec<usize> = word.split('-').map(str::len).collect();
        (parts == [4, 2, 2] || parts == [2, 2])
            && word
                .bytes()
                .all(|byte| byte == b'-' || byte.is_ascii_digit())
    };
    let zeros = |word: &str| {
        let zeros = word.replace(|c: char| c.is_ascii_digit(), "0");
        // Seconds are shown where two times are of the same minute.
        match zeros.trim_end() {
            "00:00:00" | "00:00:00)" => zeros.replace("00:00:00", "00:00"),
            _ => zeros,
        }
    };
    let mut after_date = false;
    let words = text.split_inclusive([' ', '\n']).map(|word| {
        let is_time = std::mem::take(&mut after_date) && word.contains(':');
        after_date = is_date(word.trim_end());
        if is_time || after_date {
            zeros(word)
        } else {
            word.to_owned()
        }
    });
    words.collect()
}

/// A result in virtual time, kept under its name.
#[track_caller]
fn keep(place: &Place, name: &str, command: &str, options: &str, engine: &str) {
    let fixed = "--sim-clock virtual --quiet --no-html --lang en --out";
    let line = format!("{command} {fixed} {name} {options}");
    let mut words: Vec<&str> = line.split(' ').filter(|word| !word.is_empty()).collect();
    if !engine.is_empty() {
        words.push("--");
        words.extend(engine.split(' '));
    }
    let ended = place.run(&words);
    assert!(matches!(ended.code, Some(0 | 1)), "{ended:?}");
}

const ENGINE: &str = "vllm serve Qwen/Qwen2.5-7B-Instruct --max-model-len 4096";

#[test]
fn a_run_and_what_is_done_with_runs() {
    let place = Place::new();
    let options = "--concurrency 16 --requests 160 --slo ttft.p99=500ms";
    for seed in 1..=6 {
        let name = format!("runs/{seed}");
        keep(
            &place,
            &name,
            "run",
            &format!("{options} --seed {seed}"),
            "",
        );
    }
    assert_screen(&place, "run", &["report", "runs/1"]);
    assert_screen(&place, "runs", &["runs", "runs"]);
    assert_screen(&place, "history", &["history", "runs"]);
    assert_screen(&place, "verify", &["verify", "runs"]);
}

#[test]
fn a_sweep_of_loads_and_two_of_them_compared() {
    let place = Place::new();
    let options = "--concurrency 1,4,16 --requests concurrency*12";
    keep(&place, "one-card", "sweep", options, ENGINE);
    let four = format!("{ENGINE} --tensor-parallel-size 4");
    keep(&place, "four-cards", "sweep", options, &four);
    assert_screen(&place, "sweep", &["report", "one-card"]);
    let sides = [
        "compare",
        "one-card",
        "four-cards",
        "--slo",
        "ttft.p99=45ms",
    ];
    assert_screen(&place, "compare", &sides);
}

#[test]
fn a_sweep_of_launch_flags() {
    let place = Place::new();
    let options = "--concurrency 32 --requests 128 --engine-flag max-num-seqs=4,16,64 \
                   --engine-flag max-num-batched-tokens=512,2048";
    keep(&place, "flags", "sweep", options, ENGINE);
    assert_screen(&place, "flags", &["report", "flags"]);
}

#[test]
fn a_search_for_capacity() {
    let place = Place::new();
    keep(
        &place,
        "capacity",
        "capacity",
        "--slo ttft.p99=1s --budget 20000",
        "",
    );
    assert_screen(&place, "capacity", &["report", "capacity"]);
}

#[test]
fn a_study_of_launch_flags() {
    let place = Place::new();
    place.write("study.toml", FEW_SLOTS);
    keep(&place, "tuned", "tune study.toml", "", "");
    assert_screen(&place, "tune", &["report", "tuned"]);
}

#[test]
fn results_of_other_tools() {
    let place = Place::new();
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/import/");
    for (name, file) in [
        ("notes", "evalscope-2024-notes.md"),
        ("rounds", "vllm-rounds.txt"),
    ] {
        let text = std::fs::read(format!("{fixture}{file}")).unwrap();
        place.write(file, text);
        let ended = place.run(&["import", file, "--out", name, "--lang", "en"]);
        assert!(matches!(ended.code, Some(0 | 1)), "{ended:?}");
        assert_screen(&place, &format!("import-{name}"), &["report", name]);
    }
}

#[test]
fn plans() {
    let place = Place::new();
    let work = ["--input-tokens", "1024", "--output-tokens", "256"];
    let memory = [
        "plan",
        "memory",
        "--device",
        "h100",
        "--model",
        "qwen2.5-7b",
    ];
    assert_screen(&place, "plan-memory", &memory);
    let predict = [
        "plan",
        "predict",
        "--device",
        "h100",
        "--model",
        "qwen2.5-7b",
    ];
    let load = ["--concurrency", "16,64"];
    assert_screen(
        &place,
        "plan-predict",
        &[&predict[..], &work, &load].concat(),
    );
}

#[test]
fn short_help_of_every_command_fits() {
    let place = Place::new();
    let plans = ["memory", "calibrate", "what-if", "predict", "choose"];
    let plans = plans.map(|name| vec!["plan", name]);
    let others = [
        "run", "sweep", "capacity", "tune", "report", "runs", "verify", "upload", "compare",
        "history", "serve", "import", "from", "data", "sim", "doctor",
    ];
    let others = others.map(|name| vec![name]);
    for command in others.into_iter().chain(plans) {
        let name = format!("help-{}", command.join("-"));
        assert_screen(&place, &name, &[&command[..], &["-h"]].concat());
    }
}
