use super::*;
use crate::arguments::{Cli, with_environment, with_short_help};
use clap::CommandFactory;
use std::collections::{BTreeMap, BTreeSet};

fn texts() -> BTreeMap<String, String> {
    toml::from_str(TEXTS).expect("data/help.zh.toml")
}

fn program() -> Command {
    let mut program = with_short_help(with_environment(Cli::command()));
    program.build();
    program
}

/// All English texts that help shows.
fn english(command: &Command, found: &mut BTreeSet<String>) {
    let below = [command.get_after_help(), command.get_after_long_help()];
    for line in below.into_iter().flatten().flat_map(|below| {
        let below = below.to_string();
        below.lines().map(str::to_owned).collect::<Vec<_>>()
    }) {
        match line.split_once(": inferometer ") {
            Some((about, rest)) if !rest.contains(", and ") => found.insert(about.to_owned()),
            _ if line.starts_with(' ') => false,
            _ => found.insert(line),
        };
    }
    let arguments = command.get_arguments().filter(|one| !one.is_hide_set());
    for argument in arguments {
        let helps = [argument.get_help(), argument.get_long_help()];
        found.extend(helps.into_iter().flatten().map(ToString::to_string));
        found.extend(argument.get_help_heading().map(str::to_owned));
    }
    let abouts = [command.get_about(), command.get_long_about()];
    found.extend(abouts.into_iter().flatten().map(ToString::to_string));
    for below in command.get_subcommands().filter(|one| !one.is_hide_set()) {
        english(below, found);
    }
}

#[test]
fn every_help_text_has_its_chinese_and_no_other_is_kept() {
    let mut wanted = BTreeSet::new();
    english(&program(), &mut wanted);
    let texts = texts();
    let missing: Vec<_> = (wanted.iter())
        .filter(|text| !texts.contains_key(*text))
        .collect();
    let stale: Vec<_> = (texts.keys())
        .filter(|text| !wanted.contains(*text))
        .collect();
    assert!(
        missing.is_empty() && stale.is_empty(),
        "crates/cli/data/help.zh.toml lacks the Chinese of {missing:#?}\nand is no longer asked for {stale:#?}"
    );
}

/// Options, variables, files, values in brackets: what is typed is the same in every language.
fn typed(text: &str) -> BTreeSet<&str> {
    text.split(|c: char| !c.is_ascii() || " ,;:()[]'\"".contains(c))
        .map(|word| word.trim_matches(['.', '/']))
        .filter(|word| {
            word.starts_with("--")
                || word.contains(['=', '{', '/', '_'])
                || word.contains(|c: char| c.is_ascii_digit())
        })
        .collect()
}

#[test]
fn what_is_typed_is_the_same_in_both_languages() {
    for (english, chinese) in texts() {
        assert!(!chinese.is_ascii(), "{english}: {chinese}");
        assert_eq!(typed(&english), typed(&chinese), "{english}: {chinese}");
        let has_default = |text: &str| text.ends_with(']');
        assert_eq!(has_default(&english), has_default(&chinese), "{english}");
    }
}

fn help(path: &[&str], long: bool) -> String {
    let mut command = laid_over(with_short_help(with_environment(Cli::command())));
    let mut command = &mut command;
    for name in path {
        command = command.find_subcommand_mut(name).expect("a command");
    }
    let help = if long {
        command.render_long_help()
    } else {
        command.render_help()
    };
    shown(&help.to_string())
}

#[test]
fn help_is_chinese_to_the_headings_and_fits() {
    for path in [&["run"][..], &["report"], &["plan", "memory"], &[]] {
        for long in [false, true] {
            let help = help(path, long);
            for english in ["Usage", "Options:", "Commands:", "Arguments:", "Print"] {
                assert!(!help.contains(english), "{english} in {help}");
            }
            assert!(help.contains("用法：inferometer"), "{help}");
            let widest = help.lines().map(width).max();
            assert!(widest <= Some(COLUMNS), "{help}");
        }
    }
    let run = help(&["run"], false);
    assert!(run.lines().count() <= 50, "{run}");
    assert!(run.contains("\n负载：\n") && run.contains("--concurrency <N>"));
    assert!(!run.contains("--dialect"), "{run}");
}

#[test]
fn a_laid_over_command_still_parses() {
    laid_over(with_short_help(with_environment(Cli::command()))).debug_assert();
    let command = laid_over(with_short_help(with_environment(Cli::command())));
    let words = ["inferometer", "run", "--concurrency", "3", "http://a"];
    let matches = command.clone().try_get_matches_from(words).unwrap();
    assert_eq!(matches.subcommand_name(), Some("run"));
    let error = command.try_get_matches_from(["inferometer", "help", "run"]);
    let help = error.unwrap_err().render().to_string();
    assert!(help.contains("输出"), "{help}");
}

#[test]
fn lines_hang_below_their_text() {
    let line = format!("  --x <N>  {}", "字".repeat(10));
    let lines = "  --x <N>  字字字字\n           字字字字\n           字字";
    assert_eq!(hung(&line, 20), lines);
    assert_eq!(hung("用法：short", 20), "用法：short");
}
