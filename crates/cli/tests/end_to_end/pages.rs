//! Pages and pictures: where they go, and what is said when they cannot.

use crate::support::{Ended, Place};

/// A run in virtual time, which takes no time.
fn measured(place: &Place, options: &[&str]) -> Ended {
    let fixed = [
        "run",
        "--lang",
        "en",
        "--sim-clock",
        "virtual",
        "--requests",
        "20",
        "--quiet",
        "--out",
        "run",
    ];
    place.run(&[&fixed, options].concat())
}

fn drawn(place: &Place, folder: &str) -> Vec<String> {
    let mut names: Vec<String> = (std::fs::read_dir(place.path(folder)).unwrap())
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_run_leaves_its_page_unless_it_is_told_not_to() {
    for (options, there) in [(&[][..], true), (&["--no-html"], false)] {
        let place = Place::new();
        let run = measured(&place, options);
        assert_eq!(run.code, Some(0), "{run:?}");
        assert_eq!(place.path("run/report.html").is_file(), there);
    }
}

#[test]
fn a_stored_run_is_shown_as_a_page_with_other_objectives_and_in_another_language() {
    let place = Place::new();
    measured(&place, &["--no-html"]);
    let words = ["report", "run", "--format", "html", "--lang", "zh"];
    let report = place.run(&[&words[..], &["-o", "-", "--slo", "ttft=1ns"]].concat());
    assert!(
        report
            .stdout
            .starts_with("<!DOCTYPE html>\n<html lang=\"zh\"")
    );
    assert!(report.stdout.contains("ttft=1ns"));
    let report = place.run(&words);
    assert_eq!((report.code, report.stdout.as_str()), (Some(0), ""));
    assert!(place.path("run/report.html").is_file());
}

#[test]
fn every_figure_becomes_a_picture_in_the_folder_of_the_run_or_another() {
    let place = Place::new();
    measured(&place, &["--no-html"]);
    let report = place.run(&["report", "run", "--format", "png"]);
    assert_eq!(report.code, Some(0), "{report:?}");
    // Lengths that do not vary have no figure.
    let names = ["distributions", "timeline", "token-gaps"];
    assert_eq!(
        drawn(&place, "run/figures"),
        names.map(|it| format!("{it}.png"))
    );
    let dark = [
        "report", "run", "--format", "svg", "--theme", "dark", "-o", "out",
    ];
    let report = place.run(&dark);
    assert_eq!(report.code, Some(0), "{report:?}");
    assert_eq!(drawn(&place, "out"), names.map(|it| format!("{it}.svg")));
    let picture = std::fs::read_to_string(place.path("out/timeline.svg")).unwrap();
    assert!(picture.contains("#11161d"), "it is dark");
}

#[test]
fn what_cannot_become_a_picture_is_refused_with_a_remedy() {
    let place = Place::new();
    measured(&place, &["--no-html"]);
    let one_file = ["report", "run", "--format", "png", "-o", "all.png"];
    place
        .run(&one_file)
        .assert_refused(&["3 figures", "name a folder"]);
    let stdout = ["report", "run", "--format", "svg", "-o", "-"];
    place.run(&stdout).assert_refused(&["name a folder"]);
    let theme = ["report", "run", "--theme", "pink"];
    place.run(&theme).assert_refused(&["choose light or dark"]);
    let dialect = ["report", "run", "--format", "html", "--dialect", "vllm"];
    place.run(&dialect).assert_refused(&["leave out --dialect"]);
}

#[test]
fn a_sweep_leaves_its_page_and_names_what_the_font_cannot_draw() {
    let place = Place::new();
    let sweep = place.run(&[
        "sweep",
        "--lang",
        "en",
        "--sim-clock",
        "virtual",
        "--concurrency",
        "1,2",
        "--requests",
        "20",
        "--tag",
        "engine=🚀",
        "--quiet",
        "--out",
        "sweep",
    ]);
    assert_eq!(sweep.code, Some(0), "{sweep:?}");
    let page = std::fs::read_to_string(place.path("sweep/report.html")).unwrap();
    assert!(page.contains("id=\"ladder\"") && page.contains("id=\"pareto\""));
    let report = place.run(&["report", "sweep", "--format", "png"]);
    assert!(report.stderr.contains("U+1F680"), "{report:?}");
    assert!(drawn(&place, "sweep/figures").contains(&"ladder.png".to_owned()));
}

/// The words of the command that a report gives, as a shell takes them apart.
fn repeat_command(report: &str) -> Vec<String> {
    let (_, command) = report
        .split_once("Repeat ")
        .expect("a command to repeat it");
    let words = command.split_whitespace().filter(|word| *word != "\\");
    words
        .map(|word| word.trim_matches('\'').to_owned())
        .collect()
}

#[test]
fn the_command_that_a_sweep_gives_plans_the_same_sweep_again() {
    let place = Place::new();
    let fixed = ["sweep", "--lang", "en", "--sim-clock", "virtual", "--quiet"];
    let own = [
        "--input-tokens",
        "32,64",
        "--output-tokens",
        "8",
        "--concurrency",
        "1,2,4",
        "--requests",
        "concurrency*6",
        "--repeat",
        "2",
        "--slo",
        "ttft.p99=1s",
        "--out",
        "first",
    ];
    let first = place.run(&[&fixed[..], &own].concat());
    let command = repeat_command(&first.stdout);
    assert_eq!(&command[..2], ["inferometer", "sweep"], "{first:?}");
    let mut words: Vec<&str> = command[1..].iter().map(String::as_str).collect();
    // As it was typed, but for the folder.
    words.extend(["--out", "second"]);
    let second = place.run(&words);
    assert_eq!(second.code, first.code, "{second:?}");
    let plan = |folder: &str| -> serde_json::Value {
        let text = std::fs::read_to_string(place.path(folder).join("sweep.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    };
    let (first, second) = (plan("first"), plan("second"));
    assert_eq!(first["visits"], second["visits"]);
    let points = |plan: &serde_json::Value| -> Vec<serde_json::Value> {
        let points = plan["points"].as_array().unwrap();
        points.iter().map(|it| it["options"].clone()).collect()
    };
    assert_eq!(points(&first), points(&second));
}

#[test]
fn the_command_that_a_run_gives_is_the_one_that_was_typed() {
    let place = Place::new();
    let typed = "run --lang en --sim-clock virtual --quiet --requests 20 --output-tokens 8";
    let mut words: Vec<&str> = typed.split(' ').collect();
    words.extend(["--header", "X-Team=secret", "--out", "first"]);
    let first = place.run(&words);
    let command = repeat_command(&first.stdout).join(" ");
    assert_eq!(command, format!("inferometer {typed} --header X-Team=…"));
    let again = place.run(&["report", "first", "--lang", "en"]);
    assert_eq!(repeat_command(&again.stdout).join(" "), command);
}

#[test]
fn a_computed_run_has_no_characters_and_says_nothing_of_them() {
    let place = Place::new();
    let run = measured(&place, &[]);
    assert!(!run.stdout.contains("characters"), "{run:?}");
    let page = std::fs::read_to_string(place.path("run/report.html")).unwrap();
    assert!(!page.contains("0.000 字符") && !page.contains("0 client threads"));
}
