//! What is said while a run goes on.

use crate::support::{ON_ANY_HOST, Place, Sim};

const SHORT: [&str; 8] = [
    "--lang",
    "en",
    "--requests",
    "6",
    "--concurrency",
    "2",
    "--output-tokens",
    "4",
];

#[test]
fn quiet_says_nothing_but_the_report() {
    let sim = Sim::start(&[]);
    let ended =
        Place::new().run(&[&["run", &sim.url, "--quiet"], &SHORT[..], &ON_ANY_HOST].concat());
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    assert!(ended.stdout.starts_with("VALID"));
}

#[test]
fn without_a_terminal_there_are_plain_lines_and_no_colours() {
    let sim = Sim::start(&[]);
    let ended = Place::new().run(&[&["run", &sim.url], &SHORT[..], &ON_ANY_HOST].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains(&sim.url), "{}", ended.stderr);
    assert!(!ended.stderr.contains(['\u{1b}', '\r']) && ended.stderr.ends_with('\n'));
    assert!(!ended.stdout.contains(['\u{1b}', '\r']));
}

#[test]
fn a_long_run_says_from_time_to_time_how_far_it_is() {
    let sim = Sim::start(&[]);
    let options = [
        "--lang",
        "en",
        "--concurrency",
        "2",
        "--output-tokens",
        "4",
        "--duration",
        "11s",
    ];
    let ended = Place::new().run(&[&["run", &sim.url], &options[..]].concat());
    let line = ended
        .stderr
        .lines()
        .find(|line| line.starts_with("measuring: "))
        .unwrap_or_else(|| panic!("{ended:?}"));
    assert!(
        line.contains("in flight") && line.contains("tok/s") && line.ends_with("left"),
        "{line}"
    );
}

#[test]
fn help_and_version_are_there_for_every_command() {
    let place = Place::new();
    let help = place.run(&["--help"]);
    assert_eq!((help.code, help.stderr.as_str()), (Some(0), ""));
    for command in ["run", "report", "runs", "sim", "doctor"] {
        assert!(help.stdout.contains(command), "{command}");
        let help = place.run(&["help", command]);
        assert_eq!(help.code, Some(0));
        assert!(
            help.stdout.contains("Example: inferometer"),
            "{}",
            help.stdout
        );
    }
    assert!(place.run(&["--version"]).stdout.starts_with("inferometer "));
}

#[test]
fn options_may_come_from_the_environment_and_flags_win() {
    let sim = Sim::start(&[]);
    let place = Place::new();
    let run = place.measure_with(
        &sim.url,
        &["--output-tokens", "4", "--requests", "5"],
        |command| {
            command
                .env("INFEROMETER_CONCURRENCY", "3")
                .env("INFEROMETER_REQUESTS", "9");
        },
    );
    run.assert_all_ok(5);
    assert_eq!(run.summary.concurrency.configured, Some(3));
}

#[test]
fn a_flag_silences_its_alternatives_in_the_environment() {
    let sim = Sim::start(&[]);
    let place = Place::new();
    let run = place.measure_with(
        &sim.url,
        &["--output-tokens", "4", "--rate", "50", "--requests", "5"],
        |command| {
            command
                .env("INFEROMETER_CONCURRENCY", "3")
                .env("INFEROMETER_DURATION", "90s");
        },
    );
    run.assert_all_ok(5);
    assert_eq!(run.summary.concurrency.configured, None);
}
