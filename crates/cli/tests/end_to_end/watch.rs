//! Probes of a server for ever, and what CI services are told.

use crate::support::{Crooked, Place, Sim, answer};
use std::sync::{Arc, Mutex};

const SHORT: [&str; 6] = ["--every", "1s", "--budget", "1s", "--output-tokens", "4"];

#[test]
fn probes_are_kept_and_a_server_that_goes_is_told_once() {
    let place = Place::new();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hook = {
        let heard = Arc::clone(&heard);
        Crooked::answering(move |request| {
            heard.lock().unwrap().push(request.to_owned());
            answer("200 OK", "application/json", "{}")
        })
    };
    let sim = Sim::start(&[]);
    let url = sim.url.clone();
    let watch = |more: &[&str]| {
        let told = [
            "--alert-command",
            "echo \"$INFEROMETER_ALERT_KIND\" >> told",
        ];
        let mut command =
            place.command([&["watch", &url, "--out", "probes"], &SHORT[..], more, &told].concat());
        command
            .env("HOOK", hook.url() + "/secret-hook")
            .args(["--webhook-env", "HOOK"]);
        crate::support::Started::new(command).wait()
    };
    let fine = watch(&["--probes", "2"]);
    assert_eq!(fine.code, Some(0), "{fine:?}");
    assert_eq!(fine.stdout.matches("VALID").count(), 2, "{}", fine.stdout);
    assert!(!place.path("told").exists());
    drop(sim);
    for _ in 0..2 {
        let gone = watch(&[
            "--probes",
            "3",
            "--exit-on-alert",
            "--connect-timeout",
            "1s",
        ]);
        assert_eq!(gone.code, Some(1), "{gone:?}");
    }
    let told = std::fs::read_to_string(place.path("told")).unwrap();
    assert_eq!(told, "away\n");
    let heard = heard.lock().unwrap();
    assert_eq!(heard.len(), 1, "{heard:?}");
    let runs = place.run(&["runs", "probes", "--format", "csv"]);
    assert_eq!(runs.stdout.lines().count(), 3, "{}", runs.stdout);
    for file in place.files("probes") {
        let text = String::from_utf8_lossy(&std::fs::read(&file).unwrap()).into_owned();
        assert!(!text.contains("secret-hook"), "{}", file.display());
    }
}

#[test]
fn a_webhook_that_hangs_is_given_up_and_told() {
    let place = Place::new();
    let asked = Arc::new(Mutex::new(0));
    let hook = {
        let asked = Arc::clone(&asked);
        // It reads the whole time, and never answers.
        Crooked::start(move |mut stream| {
            *asked.lock().unwrap() += 1;
            let _ = std::io::copy(&mut stream, &mut std::io::sink());
        })
    };
    let watch = ["watch", "http://127.0.0.1:9", "--exit-on-alert"];
    let mut command = place.command([&watch[..], &SHORT[..]].concat());
    command
        .env("HOOK", hook.url() + "/secret-hook")
        .args(["--webhook-env", "HOOK", "--lang", "en"])
        .args(["--connect-timeout", "1s", "--out", "probes"]);
    let ended = crate::support::Started::new(command).wait();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert_eq!(*asked.lock().unwrap(), 1);
    assert!(ended.stderr.contains("AWAY: "), "{}", ended.stderr);
    assert!(ended.stderr.contains("webhook"), "{}", ended.stderr);
    assert!(!ended.stderr.contains("secret-hook"), "{}", ended.stderr);
    let kept = std::fs::read_to_string(place.path("probes/alerts.jsonl")).unwrap();
    assert_eq!(kept.lines().count(), 1, "{kept}");
}

#[test]
fn a_watch_that_would_load_the_server_is_refused() {
    let place = Place::new();
    for (options, remedy) in [
        (&["--concurrency", "5"][..], "--most-in-flight 4"),
        (
            &["--rate", "5", "--max-concurrency", "8"],
            "--most-in-flight 4",
        ),
        (&["--every", "10s"], "wait longer or probe for less"),
        (&["--duration", "60s"], "leaves nothing of the --budget"),
        (&["--soak", "1h"], "use --duration"),
        (&["--webhook-env", "NOT_THERE"], "export NOT_THERE"),
    ] {
        let refused = place.run(&[&["watch"], options].concat());
        refused.assert_refused(&[remedy]);
    }
}

#[test]
fn ci_is_told_what_is_worse() {
    let place = Place::new();
    for (side, sequences) in [("fast", "16"), ("slow", "2")] {
        for seed in ["1", "2", "3"] {
            let ended = place.run(&[
                "run",
                "--quiet",
                "--sim-clock",
                "virtual",
                "--concurrency",
                "8",
                "--requests",
                "80",
                "--seed",
                seed,
                "--out",
                &format!("{side}/{seed}"),
                "--",
                "vllm",
                "serve",
                "Qwen/Qwen2.5-7B-Instruct",
                "--max-num-seqs",
                sequences,
            ]);
            assert_eq!(ended.code, Some(0), "{ended:?}");
        }
    }
    let compare = [
        "compare",
        "fast",
        "slow",
        "--lang",
        "en",
        "--fail-on",
        "primary-worse",
    ];
    let junit = place.run(&[&compare[..], &["--format", "junit"]].concat());
    assert_eq!(junit.code, Some(1), "{junit:?}");
    let xml = roxmltree::Document::parse(&junit.stdout).unwrap();
    let suite = xml.descendants().find(|it| it.has_tag_name("testsuite"));
    assert_eq!(
        suite.unwrap().attribute("failures"),
        Some("1"),
        "{}",
        junit.stdout
    );
    // What failed says of what, by how much and why.
    let failure = xml.descendants().find(|it| it.has_tag_name("failure"));
    let message = failure.unwrap().attribute("message").unwrap();
    assert!(
        message.contains("tok/s → ") && message.contains("beyond the margin of 3 %"),
        "{message}"
    );

    let mut command = place.command([&compare[..], &["--format", "github"]].concat());
    command.env("GITHUB_STEP_SUMMARY", place.path("summary.md"));
    let github = crate::support::Started::new(command).wait();
    assert_eq!(github.code, Some(1), "{github:?}");
    assert!(
        github.stdout.starts_with("::error title=") && github.stdout.contains(" tok/s → "),
        "{}",
        github.stdout
    );
    assert!(github.stdout.lines().all(|line| line.starts_with("::")));
    let summary = std::fs::read_to_string(place.path("summary.md")).unwrap();
    assert!(summary.contains("WORSE"), "{summary}");

    let run = place.run(&["run", "--sim-clock", "virtual", "--format", "junit"]);
    run.assert_refused(&["compare and history"]);
}
