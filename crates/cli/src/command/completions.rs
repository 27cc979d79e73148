//! `inferometer completions SHELL`: a script by which a shell completes our options.

use crate::exit::Exit;
use clap_complete::Shell;
use std::io::Write;

#[derive(clap::Args)]
pub struct CompletionsArguments {
    /// The shell that will read the script
    #[arg(value_enum)]
    shell: Shell,
}

pub fn run(arguments: &CompletionsArguments, mut program: clap::Command) -> anyhow::Result<Exit> {
    // Written whole and by us: clap_complete panics where its reader has left.
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut program, "inferometer", &mut script);
    std::io::stdout().write_all(&script)?;
    Ok(Exit::Fine)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Cli;
    use clap::{CommandFactory, ValueEnum};

    #[test]
    fn every_shell_completes_an_option_of_a_command() {
        for shell in Shell::value_variants() {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), "inferometer", &mut script);
            let script = String::from_utf8(script).unwrap();
            assert!(script.contains("max-concurrency"), "{shell}");
        }
    }
}
