//! `inferometer manual [COMMAND]`: the man page, made from the arguments.

use crate::exit::Exit;
use anyhow::Context;
use std::io::Write;

#[derive(clap::Args)]
pub struct ManualArguments {
    /// A command, such as run or plan memory [the program itself]
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
}

pub fn run(arguments: &ManualArguments, program: clap::Command) -> anyhow::Result<Exit> {
    let page = page(program, &arguments.command)?;
    std::io::stdout().write_all(&page)?;
    Ok(Exit::Fine)
}

/// The man page of a command, as roff.
fn page(mut root: clap::Command, words: &[String]) -> anyhow::Result<Vec<u8>> {
    root.build();
    let mut command = &root;
    for word in words {
        command = command
            .find_subcommand(word)
            .filter(|found| !found.is_hide_set())
            .with_context(|| {
                let known: Vec<&str> = names(command).collect();
                if known.is_empty() {
                    format!("{} has no commands of its own", command.get_name())
                } else {
                    format!("'{word}' is not a command; choose {}", known.join(", "))
                }
            })?;
    }
    // Of `inferometer plan memory` the page is inferometer-plan-memory(1).
    let title = command
        .get_bin_name()
        .unwrap_or("inferometer")
        .replace(' ', "-");
    let command = command.clone().version(env!("CARGO_PKG_VERSION"));
    let mut roff = Vec::new();
    clap_mangen::Man::new(command)
        .title(title)
        .render(&mut roff)?;
    Ok(roff)
}

fn names(command: &clap::Command) -> impl Iterator<Item = &str> {
    command
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .map(clap::Command::get_name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Cli;
    use clap::CommandFactory;

    fn text(words: &[&str]) -> String {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        String::from_utf8(page(Cli::command(), &words).unwrap()).unwrap()
    }

    #[test]
    fn pages_are_named_by_their_command_and_list_its_options() {
        assert!(text(&[]).contains(".TH inferometer 1"));
        let run = text(&["run"]);
        assert!(run.contains(".TH inferometer-run 1"), "{run}");
        assert!(run.contains("\\-\\-concurrency"), "{run}");
        assert!(text(&["plan", "memory"]).contains(".TH inferometer-plan-memory 1"));
    }

    #[test]
    fn an_unknown_command_is_told_with_the_known_ones() {
        let error = page(Cli::command(), &["rum".to_owned()])
            .unwrap_err()
            .to_string();
        assert!(error.starts_with("'rum' is not a command; choose run, sweep"));
        let error = page(Cli::command(), &["run".to_owned(), "fast".to_owned()]).unwrap_err();
        assert_eq!(error.to_string(), "run has no commands of its own");
    }
}
