//! Sweeps: every point once, whatever comes between.

use crate::support::{Ended, Place, Sim, Started, until};
use rustix::process::Signal;
use serde_json::Value;
use std::path::Path;

/// `inferometer sweep` with small requests.
fn sweep(place: &Place, url: &str, options: &[&str]) -> Ended {
    place.run(&words(url, options))
}

fn words<'a>(url: &'a str, options: &[&'a str]) -> Vec<&'a str> {
    let fixed = [
        "sweep",
        url,
        "--lang",
        "en",
        "--quiet",
        "--out",
        "sweep",
        "--output-tokens",
        "4",
    ];
    (fixed.into_iter().filter(|word| !word.is_empty()))
        .chain(options.iter().copied())
        .collect()
}

fn json(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:?}"))
}

fn trials(folder: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(folder.join("trials.jsonl")).unwrap_or_default();
    text.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

fn fast() -> Sim {
    Sim::start(&["--ttft", "2ms", "--itl", "1ms"])
}

#[test]
fn every_combination_is_measured_with_its_own_number_of_requests() {
    let (place, sim) = (Place::new(), fast());
    let ended = sweep(
        &place,
        &sim.url,
        &[
            "--concurrency",
            "1,2",
            "--input-tokens",
            "16,32",
            "--requests",
            "concurrency*10",
            "--format",
            "json",
        ],
    );
    let result = json(&ended);
    assert_eq!(result["schema"], "inferometer.sweep/1");
    let points = result["points"].as_array().unwrap();
    assert_eq!(points.len(), 4);
    for point in points {
        let concurrency = point["point"]["concurrency"].as_u64().unwrap();
        assert_eq!(
            point["summary"]["requests"]["ok"],
            concurrency * 10,
            "{point}"
        );
        assert_eq!(point["summary"]["concurrency"]["configured"], concurrency);
        assert!(
            place
                .path("sweep")
                .join(point["directory"].as_str().unwrap())
                .is_dir()
        );
    }
    let report = place.run(&["report", "sweep", "--lang", "en"]);
    assert!(
        report.stdout.contains("input-tokens=16"),
        "{}",
        report.stdout
    );
    let columns = ["--columns", "ttft.p50,ttft.p99"];
    let report = place.run(&[&["report", "sweep", "--lang", "en"], &columns[..]].concat());
    assert!(
        report.stdout.contains("too few independent samples"),
        "{}",
        report.stdout
    );
    let csv = place.run(&[
        "report", "sweep", "--lang", "en", "--format", "csv", "-o", "-",
    ]);
    assert_eq!(csv.stdout.lines().count(), 5, "{}", csv.stdout);
    assert!(
        csv.stdout
            .starts_with("axis_concurrency,axis_input-tokens,repeat,")
    );
}

#[test]
fn a_killed_sweep_goes_on_where_it_was_and_measures_nothing_twice() {
    let (place, sim) = (Place::new(), fast());
    let options = [
        "--concurrency",
        "1,2,3,4,5,6",
        "--requests",
        "40",
        "--rest",
        "100ms",
    ];
    let started = Started::new(place.command(words(&sim.url, &options)));
    let folder = place.path("sweep");
    until("two trials", || (trials(&folder).len() >= 2).then_some(()));
    started.signal(Signal::KILL);
    started.wait();
    let before = trials(&folder);
    assert!(before.len() < 6, "it was killed in the middle");
    let ended = sweep(
        &place,
        &sim.url,
        &[&options[..], &["--format", "json"]].concat(),
    );
    assert_eq!(
        json(&ended)["points"].as_array().unwrap().len(),
        6,
        "{ended:?}"
    );
    let after = trials(&folder);
    assert_eq!(after[..before.len()], before[..]);
    assert_eq!(after.len(), 6);
    // Once more: there is nothing left to do.
    sweep(&place, &sim.url, &options);
    assert_eq!(trials(&folder).len(), 6);
}

#[test]
fn an_interrupted_point_is_measured_again() {
    let place = Place::new();
    let sim = Sim::start(&["--ttft", "20ms", "--itl", "5ms"]);
    let long = ["--concurrency", "1,2", "--requests", "60"];
    let started = Started::new(place.command(words(&sim.url, &long)));
    let folder = place.path("sweep");
    until("the first run", || {
        let runs = std::fs::read_dir(folder.join("points")).ok()?;
        let measuring = runs.flatten().any(|run| {
            let journal = run.path().join("records/journal.jsonl");
            std::fs::read_to_string(journal).is_ok_and(|text| text.lines().count() > 5)
        });
        measuring.then_some(())
    });
    started.signal(Signal::INT);
    let ended = started.wait();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert_eq!(trials(&folder)[0]["state"], "interrupted");
    let ended = sweep(
        &place,
        &sim.url,
        &[&long[..], &["--format", "json"]].concat(),
    );
    let result = json(&ended);
    let states: Vec<&Value> = result["points"]
        .as_array()
        .unwrap()
        .iter()
        .map(|point| &point["state"])
        .collect();
    assert_eq!(states, ["done", "done"]);
}

#[test]
fn another_sweep_does_not_get_the_same_folder() {
    let (place, sim) = (Place::new(), fast());
    sweep(&place, &sim.url, &["--concurrency", "1", "--requests", "5"]);
    let before = trials(&place.path("sweep"));
    let other = sweep(&place, &sim.url, &["--concurrency", "2", "--requests", "5"]);
    assert_eq!(other.code, Some(2));
    assert!(
        other.stderr.contains("holds another sweep"),
        "{}",
        other.stderr
    );
    assert_eq!(other.stderr.lines().count(), 1);
    assert_eq!(trials(&place.path("sweep")), before);
}

#[test]
fn repeats_go_forward_and_backward() {
    let (place, sim) = (Place::new(), fast());
    sweep(
        &place,
        &sim.url,
        &["--concurrency", "1,2", "--requests", "5", "--repeat", "2"],
    );
    let order: Vec<(String, u64)> = (trials(&place.path("sweep")).iter())
        .map(|trial| {
            let id = trial["id"].as_str().unwrap();
            (id[..13].to_owned(), trial["repeat"].as_u64().unwrap())
        })
        .collect();
    let expected = [
        ("concurrency_1", 0),
        ("concurrency_2", 0),
        ("concurrency_2", 1),
        ("concurrency_1", 1),
    ];
    assert_eq!(order, expected.map(|(id, repeat)| (id.to_owned(), repeat)));
    let report = place.run(&["report", "sweep", "--lang", "en"]).stdout;
    assert!(report.contains("each measured 2 times"), "{report}");
}

#[test]
fn a_point_that_cannot_be_measured_is_recorded_and_the_sweep_goes_on() {
    let place = Place::new();
    let sim = Sim::start(&["--ttft", "2ms", "--itl", "1ms", "--max-model-len", "200"]);
    let ended = sweep(
        &place,
        &sim.url,
        &[
            "--input-tokens",
            "16,5000,32",
            "--requests",
            "5",
            "--format",
            "json",
        ],
    );
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let result = json(&ended);
    let points = result["points"].as_array().unwrap();
    let states: Vec<&Value> = points.iter().map(|point| &point["state"]).collect();
    assert_eq!(states, ["done", "failed", "done"]);
    assert!(
        points[1]["reason"].as_str().unwrap().contains("200"),
        "{}",
        points[1]
    );
    assert!(points[1]["summary"].is_null());
}

#[test]
fn a_sweep_that_lost_a_point_or_a_line_is_not_valid() {
    let place = Place::new();
    let words = "sweep --sim-clock virtual --concurrency 1,2,4 --requests 20 --out kept --no-html --lang en";
    let words: Vec<&str> = words.split(' ').collect();
    assert_eq!(place.run(&words).code, Some(0));
    let verify = || place.run(&["verify", "kept", "--lang", "en"]);
    assert_eq!(verify().code, Some(0), "{:?}", verify());
    let list = place.path("kept/trials.jsonl");
    let whole = std::fs::read_to_string(&list).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    std::fs::write(&list, format!("{}\n{}\n", lines[0], lines[2])).unwrap();
    for ended in [verify(), place.run(&["report", "kept", "--lang", "en"])] {
        assert_ne!(ended.code, Some(0), "{ended:?}");
        assert!((ended.stdout + &ended.stderr).contains("line 2"));
    }
    std::fs::write(&list, whole).unwrap();
    let points = std::fs::read_dir(place.path("kept/points")).unwrap();
    let mut points = points.map(|it| it.unwrap().path());
    let last = points.find(|it| it.to_string_lossy().contains("concurrency_4"));
    std::fs::remove_dir_all(last.unwrap()).unwrap();
    assert!(verify().stdout.contains("gone"), "{:?}", verify());
    let report = place.run(&["report", "kept", "--lang", "en"]);
    assert_eq!(report.code, Some(1), "{report:?}");
    assert!(report.stdout.starts_with("INVALID  1 of 3"), "{report:?}");
    std::fs::remove_dir_all(place.path("kept/points")).unwrap();
    std::fs::write(&list, "").unwrap();
    let report = place.run(&["report", "kept", "--lang", "en"]);
    assert_eq!(report.code, Some(1), "{report:?}");
    let told = "INVALID  no point could be measured";
    assert!(report.stdout.starts_with(told), "{report:?}");
}

#[test]
fn a_sweep_without_a_server_says_why_in_one_line() {
    let place = Place::new();
    let ended = sweep(
        &place,
        "http://127.0.0.1:9",
        &["--concurrency", "1,2,3,4,5", "--requests", "5"],
    );
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    assert!(
        ended.stderr.contains("no point could be measured"),
        "{}",
        ended.stderr
    );
    assert_eq!(
        trials(&place.path("sweep")).len(),
        3,
        "it gives up after three"
    );
}

#[test]
fn failures_end_a_ladder_and_the_rest_is_passed_over() {
    let place = Place::new();
    let sim = Sim::start(&["--ttft", "2ms", "--itl", "1ms", "--faults", "error500=60%"]);
    let ended = sweep(
        &place,
        &sim.url,
        &[
            "--concurrency",
            "1,2,4",
            "--requests",
            "40",
            "--stop-when",
            "failures>20%",
            "--format",
            "json",
        ],
    );
    let result = json(&ended);
    let states: Vec<&Value> = result["points"]
        .as_array()
        .unwrap()
        .iter()
        .map(|point| &point["state"])
        .collect();
    assert_eq!(states, ["done", "skipped", "skipped"], "{result}");
}

#[test]
fn two_servers_take_turns() {
    let (place, a, b) = (Place::new(), fast(), fast());
    let ended = sweep(
        &place,
        "",
        &[
            "--interleave",
            &a.url,
            &b.url,
            "--concurrency",
            "1,2",
            "--requests",
            "5",
            "--format",
            "json",
        ],
    );
    let result = json(&ended);
    let points = result["points"].as_array().unwrap();
    assert_eq!(points.len(), 4, "{result}");
    let order: Vec<String> = (trials(&place.path("sweep")).iter())
        .map(|trial| {
            let point = points
                .iter()
                .find(|point| trial["directory"] == point["directory"]);
            point.unwrap()["point"]["url"].as_str().unwrap().to_owned()
        })
        .collect();
    let (a, b) = (a.url.trim_end_matches('/'), b.url.trim_end_matches('/'));
    let order: Vec<&str> = order.iter().map(|url| url.trim_end_matches('/')).collect();
    assert_eq!(order, [a, b, b, a]);
}

#[test]
fn a_point_ends_when_it_is_known_well_enough() {
    let (place, sim) = (Place::new(), fast());
    let ended = sweep(
        &place,
        &sim.url,
        &[
            "--concurrency",
            "16",
            "--requests",
            "1000000",
            "--until",
            "ci=20%",
            "--format",
            "json",
        ],
    );
    let result = json(&ended);
    let requests = &result["points"][0]["summary"]["requests"];
    assert!(requests["ok"].as_u64().unwrap() < 1_000_000, "{requests}");
    assert_eq!(requests["cut"], 0, "{requests}");
    // Of sixteen streams some end before the last, however late this host is.
    assert!(
        requests["hold"].as_u64() > Some(0),
        "the load is held while the last are answered: {requests}"
    );
    let path = place
        .path("sweep")
        .join(result["points"][0]["directory"].as_str().unwrap());
    let ending = std::fs::read_to_string(path.join("ending.json")).unwrap();
    assert!(ending.contains("precise"), "{ending}");
}

#[test]
fn lists_of_loads_and_of_requests_are_combined_and_the_other_way_is_told() {
    let place = Place::new();
    let fixed =
        "sweep --sim-clock virtual --lang en --no-html --requests 4,8 --concurrency 1,2 --out";
    let fixed: Vec<&str> = fixed.split(' ').collect();
    for (out, further, points) in [("all", &[][..], 4), ("pairs", &["--zip"][..], 2)] {
        let ended = place.run(&[&fixed[..], &[out], further].concat());
        let told = ended
            .stderr
            .contains("--zip gives each load its own number");
        assert_eq!(told, further.is_empty(), "{}", ended.stderr);
        let made = std::fs::read_dir(place.path(out).join("points")).unwrap();
        assert_eq!(made.count(), points, "{out}");
    }
}

#[test]
fn contradictory_axes_are_refused_before_anything_is_made() {
    let place = Place::new();
    let cases: [(&[&str], &str); 5] = [
        (
            &[
                "--zip",
                "--concurrency",
                "1,2",
                "--input-tokens",
                "16,32,64",
            ],
            "one length",
        ),
        (&["--concurrency", "1,x"], "--concurrency"),
        (&["--concurrency", "1,2", "--rate", "1,2"], "--rate"),
        (
            &["--requests", "concurency*10", "--concurrency", "1,2"],
            "--requests",
        ),
        (&["--interleave", "--concurrency", "1"], "two servers"),
    ];
    for (options, says) in cases {
        let ended = sweep(&place, "", options);
        assert_eq!(ended.code, Some(2), "{options:?}: {ended:?}");
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
        assert!(ended.stderr.contains(says), "{options:?}: {}", ended.stderr);
        assert!(!place.path("sweep").exists(), "{options:?}");
    }
}

#[test]
fn several_seeds_are_repeats_in_the_report_in_the_list_and_in_json() {
    let place = Place::new();
    let words = "sweep --quiet --no-html --lang en --sim-clock virtual --input-tokens 64 \
         --output-tokens uniform(8,24) --concurrency 2,4 --requests 40 --seed 11,12 --out s";
    let ended = place.run(&words.split_whitespace().collect::<Vec<_>>());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let said = ended
        .stdout
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    let varied = "concurrency (points: 2, each measured 2 times, with the seeds 11, 12)";
    assert!(said.contains(varied), "{ended:?}");
    assert!(said.contains("--seed 11,12"), "{ended:?}");
    let stored = json(&place.run(&["report", "s", "--format", "json"]));
    let points = stored["points"].as_array().unwrap().iter();
    let points: Vec<_> = points
        .map(|it| (&it["point"]["concurrency"], &it["repeat"], &it["seed"]))
        .collect();
    let expected = [(2, 0, 11), (2, 1, 12), (4, 0, 11), (4, 1, 12)].map(|(a, b, c)| [a, b, c]);
    let points = points
        .iter()
        .map(|(a, b, c)| [a, b, c].map(|it| it.as_u64().unwrap()));
    let mut points: Vec<[u64; 3]> = points.collect();
    points.sort_unstable();
    assert_eq!(points, expected);
    let list = place.run(&["runs", "--lang", "en", "."]);
    assert!(list.stdout.contains("points: 2"), "{list:?}");
}

#[test]
fn a_grid_is_computed_in_virtual_time_and_the_same_twice() {
    let place = Place::new();
    let options = [
        "sweep",
        "--lang",
        "en",
        "--quiet",
        "--sim-clock",
        "virtual",
        "--input-tokens",
        "64,512",
        "--output-tokens",
        "16,64",
        "--concurrency",
        "16",
        "--requests",
        "100",
        "--no-cache-nonce",
        "--format",
        "json",
        "--out",
    ];
    let points = |out: &str| {
        let ended = place.run(&[&options[..], &[out]].concat());
        json(&ended)["points"].as_array().unwrap().clone()
    };
    let (first, second) = (points("first"), points("second"));
    assert_eq!(first.len(), 4);
    for (a, b) in first.iter().zip(&second) {
        assert_eq!(a["summary"]["latency"], b["summary"]["latency"]);
        assert_eq!(a["summary"]["requests"]["ok"], 100);
    }
    let rate = |point: &Value| {
        point["summary"]["throughput"]["output_tokens_per_s"]
            .as_f64()
            .unwrap()
    };
    let find = |input: u64, output: u64| {
        let at = |point: &&Value| {
            point["point"]["input-tokens"] == input && point["point"]["output-tokens"] == output
        };
        rate(first.iter().find(at).unwrap())
    };
    // Long prompts with short answers are the least efficient cell.
    assert!(find(512, 16) < find(64, 64));
}

#[test]
fn points_that_differ_in_their_warm_up_alone_are_told_apart() {
    let place = Place::new();
    let line = "sweep --sim-clock virtual --concurrency 4 --warmup 0,4 --requests 8 --out out --quiet --no-html --format json";
    let ended = place.run(&line.split(' ').collect::<Vec<_>>());
    let found: Value = serde_json::from_str(&ended.stdout).unwrap();
    let points = found["points"].as_array().unwrap();
    assert_eq!(points.len(), 2, "{found}");
    assert_ne!(points[0]["point"], points[1]["point"], "{found}");
}

#[test]
fn a_table_names_the_points_whose_streams_ran_in_step() {
    let place = Place::new();
    let command = "sweep --lang en --quiet --sim-clock virtual --sim-device h200 --stagger none \
        --concurrency 1,16 --requests concurrency*10 --input-tokens 512 --output-tokens 128";
    let ended = place.run(&command.split_whitespace().collect::<Vec<_>>());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended
            .stdout
            .contains("in-step: concurrency=16: the streams"),
        "{}",
        ended.stdout
    );
}

#[test]
fn a_point_with_too_few_requests_for_its_load_is_doubted_and_not_the_best() {
    let place = Place::new();
    let line = "sweep --lang en --quiet --sim-clock virtual --concurrency 8,512 --requests 200";
    for (burst, doubt) in [
        ("", "short-window: concurrency=512:"),
        (
            " --warmup none --hold none",
            "unfilled-streams: concurrency=512:",
        ),
    ] {
        let command = format!("{line}{burst}");
        let ended = place.run(&command.split_whitespace().collect::<Vec<_>>());
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let shown: Vec<&str> = ended.stdout.split_whitespace().collect();
        let shown = shown.join(" ");
        for text in [doubt, "tok/s at concurrency=8; higher, but measured too"] {
            assert!(shown.contains(text), "{text}: {shown}");
        }
    }
}

#[test]
fn repeats_are_no_copies_and_equal_engines_do_not_differ() {
    let place = Place::new();
    let sweep = |seed: &str| {
        let command = "sweep --quiet --sim-clock virtual --requests 200 --rate 9 --repeat 5 \
            --input-tokens uniform(100,900) --output-tokens uniform(20,300)";
        let ended = place.run(
            &(command.split_whitespace())
                .chain(["--seed", seed, "--out", seed])
                .collect::<Vec<_>>(),
        );
        assert_eq!(ended.code, Some(0), "{ended:?}");
    };
    sweep("1");
    sweep("2");
    let seeds: Vec<String> = std::fs::read_dir(place.path("1/points"))
        .unwrap()
        .map(|run| {
            let file = run.unwrap().path().join("scenario.toml");
            let text = std::fs::read_to_string(file).unwrap();
            let seed = text.lines().find(|line| line.starts_with("seed"));
            seed.unwrap_or_default().to_owned()
        })
        .collect();
    assert_eq!(seeds.len(), 5);
    assert_eq!(std::collections::BTreeSet::from_iter(&seeds).len(), 5);
    assert!(seeds.contains(&"seed = 1".to_owned()), "{seeds:?}");
    let compared = place.run(&[
        "compare",
        "1",
        "2",
        "--fail-on",
        "worse",
        "--format",
        "json",
    ]);
    assert_eq!(compared.code, Some(0), "{compared:?}");
    assert_eq!(
        json(&compared)["rows"][0]["runs"],
        serde_json::json!([5, 5])
    );
    // One run of each has other prompts.
    let single = [
        "compare",
        "1/points/point",
        "2/points/point",
        "--lang",
        "en",
    ];
    let single = place.run(&single);
    assert_eq!(single.code, Some(1), "{single:?}");
    assert!(single.stdout.contains("the seed of prompts"), "{single:?}");
}

#[test]
fn what_virtual_time_cannot_do_is_refused_before_anything_is_made() {
    let place = Place::new();
    for (line, remedy) in [
        (
            "sweep --sim-clock virtual --until ci=5% --requests 200 --concurrency 1,2 --out out",
            "leave out --until",
        ),
        (
            "run --sim-clock virtual --stop-when failures>5% --requests 200 --out out",
            "leave out --stop-when",
        ),
    ] {
        let ended = place.run(&line.split(' ').collect::<Vec<_>>());
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.stderr.contains(remedy), "{}", ended.stderr);
    }
    assert!(!place.path("out").exists());
}

#[test]
fn lists_of_a_file_are_a_sweep_which_is_repeated_as_it_was_typed() {
    let place = Place::new();
    place.write(
        "ladder.toml",
        "[load]\nconcurrency = [1, 2]\nrequests = 20\n",
    );
    let words = [
        "--config",
        "ladder.toml",
        "--sim-clock",
        "virtual",
        "--lang",
        "en",
        "--quiet",
        "--header",
        "X-Key=secret",
    ];
    let ended = place.run(&[&["sweep"][..], &words[..], &["--out", "kept"]].concat());
    assert!(
        ended.stdout.contains("concurrency (points: 2)"),
        "{ended:?}"
    );
    let line = "inferometer sweep --config ladder.toml";
    assert!(ended.stdout.contains(line), "{}", ended.stdout);
    let plan = std::fs::read_to_string(place.path("kept/sweep.json")).unwrap();
    assert!(!plan.contains("secret") && plan.contains("X-Key"), "{plan}");
    let one = place.run(&[&["run"][..], &words[..]].concat());
    one.assert_refused(&["concurrency", "inferometer sweep --config ladder.toml"]);
}

#[test]
fn the_json_of_a_ladder_has_its_knee_and_its_doubts() {
    let place = Place::new();
    let ended = place.run(&[
        "sweep",
        "--sim-clock",
        "virtual",
        "--lang",
        "en",
        "--quiet",
        "--format",
        "json",
        "--concurrency",
        "1,2,4,8,16,32,64,128",
        "--requests",
        "concurrency*10",
        "--",
        "vllm",
        "serve",
        "qwen2.5-7b",
        "--max-num-seqs",
        "16",
    ]);
    let found = json(&ended);
    let knee = &found["knees"][0];
    assert_eq!(knee["axis"], "concurrency", "{:#}", found["knees"]);
    let ends = ["low", "load", "high"].map(|end| knee[end].as_f64().unwrap());
    assert!(
        ends.is_sorted() && (8.0..=32.0).contains(&ends[1]),
        "{knee}"
    );
    let kinds: Vec<&Value> = (found["findings"].as_array().unwrap().iter())
        .map(|finding| &finding["kind"])
        .collect();
    assert!(kinds.contains(&&Value::from("knee")), "{kinds:?}");
    // Every doubt that makes a point more than noteworthy is told with its points.
    let stated = (found["points"].as_array().unwrap().iter()).flat_map(|point| {
        let doubts = point["summary"]["doubts"].as_array().unwrap().iter();
        doubts.filter(|doubt| doubt["severity"] != "note")
    });
    let told = found["doubts"].as_array().unwrap();
    for doubt in stated {
        let same = |it: &&Value| it["code"] == doubt["code"] && it["severity"] == doubt["severity"];
        let told = told.iter().find(same);
        assert!(
            told.is_some_and(|it| it["points"][0]["concurrency"].is_number()),
            "{doubt}"
        );
    }
}

#[test]
fn an_invalid_point_is_measured_again_only_if_asked() {
    let place = Place::new();
    // More requests fail than a valid run may lose.
    let sim = Sim::start(&["--ttft", "2ms", "--itl", "1ms", "--faults", "cut=60%"]);
    let options = ["--concurrency", "2", "--requests", "20"];
    sweep(&place, &sim.url, &options);
    let folder = place.path("sweep");
    assert_eq!(trials(&folder).len(), 1);
    let ended = sweep(
        &place,
        &sim.url,
        &[&options[..], &["--format", "json"]].concat(),
    );
    assert_eq!(json(&ended)["points"][0]["summary"]["valid"], false);
    assert_eq!(trials(&folder).len(), 1);
    sweep(
        &place,
        &sim.url,
        &[&options[..], &["--again", "invalid"]].concat(),
    );
    let trials = trials(&folder);
    assert_eq!(trials.len(), 2);
    assert_ne!(trials[0]["directory"], trials[1]["directory"]);
}

#[test]
fn a_grid_of_asked_lengths_has_answers_of_such_lengths() {
    let place = Place::new();
    let ended = place.run(&[
        "sweep",
        "--sim-clock",
        "virtual",
        "--lang",
        "en",
        "--quiet",
        "--format",
        "json",
        "--input-chars",
        "200",
        "--ask-chars",
        "100,1000",
        "--requests",
        "200",
    ]);
    let found: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    let mean = |point: usize| {
        let answers = &found["points"][point]["summary"]["continuation"];
        (
            answers["chars_mean"].as_f64().unwrap(),
            answers["refused"].as_u64().unwrap(),
        )
    };
    let (short, long) = (mean(0), mean(1));
    assert!(
        long.0 > 4.0 * short.0 && short.0 > 50.0,
        "{short:?} {long:?}"
    );
    assert!(short.1 + long.1 > 0, "some decline: {short:?} {long:?}");
}
