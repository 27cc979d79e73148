//! `inferometer manual [COMMAND]`: the man page, made from the arguments.

use crate::exit::Exit;
use anyhow::Context;
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct ManualArguments {
    /// A command, such as run or plan memory [the program itself]
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
    /// Write the pages of all commands into this folder
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    out: Option<PathBuf>,
}

pub fn run(arguments: &ManualArguments, mut program: clap::Command) -> anyhow::Result<Exit> {
    program.build();
    match &arguments.out {
        Some(folder) => {
            std::fs::create_dir_all(folder)
                .and_then(|()| write_all(&program, folder))
                .with_context(|| format!("cannot write pages into {}", folder.display()))?;
        }
        None => {
            let page = page(chosen(&program, &arguments.command)?)?;
            std::io::stdout().write_all(&page)?;
        }
    }
    Ok(Exit::Fine)
}

fn write_all(command: &clap::Command, folder: &Path) -> std::io::Result<()> {
    let file = folder.join(format!("{}.1", title(command)));
    std::fs::write(file, page(command)?)?;
    shown(command).try_for_each(|command| write_all(command, folder))
}

fn chosen<'a>(root: &'a clap::Command, words: &[String]) -> anyhow::Result<&'a clap::Command> {
    let mut command = root;
    for word in words {
        command = command
            .find_subcommand(word)
            .filter(|found| !found.is_hide_set())
            .with_context(|| {
                let known: Vec<&str> = shown(command).map(clap::Command::get_name).collect();
                if known.is_empty() {
                    format!("{} has no commands of its own", command.get_name())
                } else {
                    format!("'{word}' is not a command; choose {}", known.join(", "))
                }
            })?;
    }
    Ok(command)
}

/// The man page of a command, as roff.
fn page(command: &clap::Command) -> std::io::Result<Vec<u8>> {
    let titled = command.clone().version(env!("CARGO_PKG_VERSION"));
    let mut roff = Vec::new();
    clap_mangen::Man::new(titled)
        .title(title(command))
        .render(&mut roff)?;
    Ok(roff)
}

/// Of `inferometer plan memory` the page is inferometer-plan-memory(1).
fn title(command: &clap::Command) -> String {
    let name = command.get_bin_name().unwrap_or("inferometer");
    name.replace(' ', "-")
}

/// The commands of a command that are no secret; its own `help` only repeats them.
fn shown(command: &clap::Command) -> impl Iterator<Item = &clap::Command> {
    (command.get_subcommands())
        .filter(|command| !command.is_hide_set() && command.get_name() != "help")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Cli;
    use clap::CommandFactory;

    fn program() -> clap::Command {
        let mut program = Cli::command();
        program.build();
        program
    }

    fn text(words: &[&str]) -> anyhow::Result<String> {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        Ok(String::from_utf8(page(chosen(&program(), &words)?)?)?)
    }

    #[test]
    fn pages_are_named_by_their_command_and_list_its_options() {
        assert!(text(&[]).unwrap().contains(".TH inferometer 1"));
        let run = text(&["run"]).unwrap();
        assert!(run.contains(".TH inferometer-run 1"), "{run}");
        assert!(run.contains("\\-\\-concurrency"), "{run}");
        let memory = text(&["plan", "memory"]).unwrap();
        assert!(memory.contains(".TH inferometer-plan-memory 1"));
    }

    #[test]
    fn an_unknown_command_is_told_with_the_known_ones() {
        let error = text(&["rum"]).unwrap_err().to_string();
        assert!(error.starts_with("'rum' is not a command; choose run, sweep"));
        let error = text(&["run", "fast"]).unwrap_err();
        assert_eq!(error.to_string(), "run has no commands of its own");
    }

    #[test]
    fn all_pages_are_written_and_none_of_a_hidden_command() {
        let folder = tempfile::tempdir().unwrap();
        write_all(&program(), folder.path()).unwrap();
        let has = |name: &str| folder.path().join(name).exists();
        assert!(has("inferometer.1") && has("inferometer-plan-what-if.1"));
        assert!(!has("inferometer-null-server.1") && !has("inferometer-help.1"));
    }
}
