//! `docs/options.md`, every option of every command in tables, is written from the arguments;
//! and the manual names them all, and no others.

use crate::arguments::Cli;
use crate::generated::{Generated, check};
use clap::{Arg, Command, CommandFactory};
use inferometer_core::doubt::DoubtCode;
use inferometer_core::record::FailureClass;
use std::collections::BTreeSet;
use std::fmt::Write;
use strum::VariantArray;

const OPTIONS: &str = include_str!("../../../../docs/options.md");
const MANUAL: &str = include_str!("../../../../docs/manual.md");
const CHINESE_MANUAL: &str = include_str!("../../../../docs/manual.zh.md");

const HEAD: &str = "\
# Options

Every option of every command, written from the program's own arguments; the [manual](manual.md) \
explains them.
";

/// The commands that a user meets, with their whole names; those that only hold others are left
/// out.
fn commands() -> Vec<(String, Command)> {
    fn walk(path: &str, command: &Command, found: &mut Vec<(String, Command)>) {
        let below: Vec<&Command> = (command.get_subcommands())
            .filter(|below| !below.is_hide_set() && below.get_name() != "help")
            .collect();
        if below.is_empty() {
            found.push((path.to_owned(), command.clone()));
        }
        for command in below {
            let path = format!("{path} {}", command.get_name());
            walk(path.trim_start(), command, found);
        }
    }
    let mut root = Cli::command();
    root.build();
    let mut found = Vec::new();
    walk("", &root, &mut found);
    found
}

fn visible(command: &Command) -> impl Iterator<Item = &Arg> {
    command
        .get_arguments()
        .filter(|argument| !argument.is_hide_set() && argument.get_id() != "help")
}

/// Some switches are options that take no value, so that a file can hold them, too.
fn is_switch(argument: &Arg) -> bool {
    let most = argument.get_num_args().map(|range| range.max_values());
    !argument.get_action().takes_values() || most == Some(0)
}

fn written(argument: &Arg) -> String {
    let values: Vec<&str> = (argument.get_value_names())
        .map(|names| names.iter().map(|name| name.as_str()).collect())
        .unwrap_or_default();
    let values = values.join(" ");
    if argument.is_positional() {
        return if argument.is_last_set() {
            format!("-- {values}")
        } else {
            values
        };
    }
    let short = argument.get_short().map(|short| format!("-{short}"));
    let long = argument.get_long().map(|long| format!("--{long}"));
    let names: Vec<String> = short.into_iter().chain(long).collect();
    if is_switch(argument) {
        names.join(", ")
    } else {
        format!("{} {values}", names.join(", "))
    }
}

/// Help text and default: the default is clap's, or stands in brackets at the end of the help.
fn told(argument: &Arg) -> (String, String) {
    let help = (argument.get_long_help().or(argument.get_help()))
        .map(|help| help.to_string().replace('\n', " "))
        .unwrap_or_default();
    let bracket = help.rfind(" [").filter(|_| help.ends_with(']'));
    let (help, stated) = match bracket {
        Some(at) => (
            help[..at].to_owned(),
            help[at + 2..help.len() - 1].to_owned(),
        ),
        None => (help, String::new()),
    };
    let defaults = argument.get_default_values().iter();
    let defaults: Vec<_> = defaults.map(|value| value.to_string_lossy()).collect();
    if stated.is_empty() && !is_switch(argument) {
        (help, defaults.join(", "))
    } else {
        (help, stated)
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;")
}

fn page() -> String {
    let mut page = HEAD.to_owned();
    let commands = commands();
    let links = commands.iter().map(|(name, _)| {
        let anchor = name.replace(' ', "-");
        format!("[{name}](#{anchor})")
    });
    let links: Vec<String> = links.collect();
    writeln!(page, "\n{}", links.join(" · ")).unwrap();
    for (name, command) in &commands {
        let about = command.get_about().map(ToString::to_string);
        writeln!(page, "\n## {name}\n\n{}.", about.unwrap_or_default()).unwrap();
        let mut topics: Vec<&str> = Vec::new();
        for argument in visible(command) {
            let topic = argument.get_help_heading().unwrap_or_default();
            if !topics.contains(&topic) {
                topics.push(topic);
            }
        }
        for topic in topics {
            if !topic.is_empty() {
                writeln!(page, "\n**{topic}**").unwrap();
            }
            writeln!(page, "\n| option | means | default |\n| --- | --- | --- |").unwrap();
            let of_topic =
                |argument: &&Arg| argument.get_help_heading().unwrap_or_default() == topic;
            for argument in visible(command).filter(of_topic) {
                let (help, default) = told(argument);
                let option = cell(&written(argument));
                let (help, default) = (cell(&help), cell(&default));
                writeln!(page, "| `{option}` | {help} | {default} |").unwrap();
            }
        }
    }
    page
}

#[test]
fn the_tables_of_options_are_those_of_the_arguments() {
    check(&[Generated {
        path: "docs/options.md".to_owned(),
        current: OPTIONS.to_owned(),
        wanted: page(),
    }]);
}

/// The long options that a text has in code, and that are ours: what follows `--` is an engine's,
/// and fenced blocks hold command lines of others, too.
fn named(text: &str) -> BTreeSet<String> {
    let mut fenced = false;
    let prose = text.lines().filter(|line| {
        let fence = line.starts_with("```");
        fenced ^= fence;
        !fence && !fenced
    });
    let mut found = BTreeSet::new();
    for line in prose {
        for code in line.split('`').skip(1).step_by(2) {
            for word in code.split([' ', ',', '=', '\\', '|', '(', ')', '[', ']', '\'']) {
                if let Some(name) = word.strip_prefix("--").filter(|name| !name.is_empty()) {
                    found.insert(name.to_owned());
                }
            }
        }
    }
    found
}

#[test]
fn the_manual_names_every_command_and_option() {
    let named = named(MANUAL);
    let mut missing = Vec::new();
    for (name, command) in commands() {
        if !MANUAL.contains(&format!("## {name}\n")) {
            missing.push(format!("a section for {name}"));
        }
        for argument in visible(&command) {
            if let Some(long) = argument.get_long().filter(|long| !named.contains(*long)) {
                missing.push(format!("{name} --{long}"));
            }
        }
    }
    assert!(missing.is_empty(), "docs/manual.md lacks {missing:?}");
}

/// Options of other programs that the manual speaks of.
const OTHERS: &str = "\
    api-key api-server-count batch_wait_timeout_iters bench-params \
    cuda_graph_config.max_batch_size enable_attention_dp enforce-eager \
    gpu-memory-utilization help host kv-cache-memory-bytes kv_cache_config.dtype log-level \
    mem-fraction-static num-gpu-blocks-override num-warmups otlp-traces-endpoint port \
    save-detailed save-result scheduler_config.capacity_scheduler_policy serve-params \
    speculative-eagle-topk speculative-num-draft-tokens stream-interval tensor-parallel-size \
    tokenizer-worker-num";

#[test]
fn the_manuals_name_no_option_that_does_not_exist() {
    let commands = commands();
    let known: BTreeSet<&str> = (commands.iter())
        .flat_map(|(_, command)| command.get_arguments().filter_map(Arg::get_long))
        .chain(OTHERS.split(' '))
        .chain(["name", "version"])
        .collect();
    for manual in [MANUAL, CHINESE_MANUAL] {
        let unknown: Vec<String> = (named(manual).into_iter())
            .filter(|name| !known.contains(name.as_str()))
            .collect();
        let title = manual.lines().next();
        assert!(unknown.is_empty(), "{title:?} names {unknown:?}");
    }
}

#[test]
fn the_contents_of_the_manuals_lead_to_every_section() {
    for manual in [MANUAL, CHINESE_MANUAL] {
        let (contents, text) = manual.split_once("\n## ").expect("sections");
        let text = format!("\n## {text}");
        let headings: BTreeSet<String> = (text.lines())
            .filter_map(|line| line.strip_prefix("## "))
            .map(anchor)
            .collect();
        let linked: BTreeSet<String> = (contents.split("](#").skip(1))
            .filter_map(|rest| Some(rest.split_once(')')?.0.to_owned()))
            .collect();
        assert_eq!(linked, headings, "the list at the head: {contents}");
    }
}

/// The place that a renderer of Markdown gives to a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter_map(|c| match c {
        ' ' => Some('-'),
        c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c.to_ascii_lowercase()),
        _ => None,
    });
    kept.collect()
}

/// Codes in the first column of the manual's tables.
fn coded(section: &str) -> BTreeSet<String> {
    let text = MANUAL.split(&format!("\n## {section}\n")).nth(1);
    let text = text.expect("the section").split("\n## ").next();
    (text.unwrap_or_default().lines())
        .filter_map(|line| line.strip_prefix("| ")?.split(" | ").next())
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .filter(|code| !code.starts_with("--"))
        .map(str::to_owned)
        .collect()
}

#[test]
fn the_manual_explains_every_doubt_and_every_class_of_failure() {
    let doubts = (DoubtCode::VARIANTS.iter()).map(ToString::to_string);
    assert_eq!(coded("Doubts"), doubts.collect());
    let classes = (FailureClass::VARIANTS.iter()).map(ToString::to_string);
    assert_eq!(coded("Failures"), classes.collect());
}
