//! Help in Chinese, laid over the arguments before they are parsed.
//!
//! `data/help.zh.toml` has the Chinese of every help text by its English, so that one entry serves
//! all commands that share an option, and a text that is changed asks for its Chinese again. Words
//! that clap does not let us choose are replaced in what it wrote.

use clap::builder::StyledStr;
use clap::{Arg, Command};
use inferometer_page::text::{width, wrap};
use std::collections::HashMap;

const TEXTS: &str = include_str!("../../data/help.zh.toml");

/// Words of clap's own.
const CLAP_WORDS: [(&str, &str); 7] = [
    ("Usage: ", "用法："),
    ("Arguments:", "参数："),
    ("Options:", "选项："),
    ("Commands:", "命令："),
    ("[OPTIONS]", "[选项]"),
    ("[default: ", "[默认值："),
    ("[possible values: ", "[可选值："),
];

/// Columns beyond which the names of an option and its value leave no room beside them.
const WIDEST_NAMES: usize = 32;
/// As in English, also on wider terminals.
const COLUMNS: usize = 100;

/// The command with Chinese texts wherever there are some.
pub fn laid_over(mut command: Command) -> Command {
    // The options and commands that clap adds are there from now on.
    command.build();
    let texts = toml::from_str(TEXTS).unwrap_or_default();
    in_chinese(command, &Texts(texts))
}

struct Texts(HashMap<String, String>);

impl Texts {
    fn of(&self, english: &StyledStr) -> String {
        let english = english.to_string();
        self.0.get(&english).cloned().unwrap_or(english)
    }

    /// The lines below the options. A command line stays, and what it shows is told before it.
    fn below(&self, english: &StyledStr) -> String {
        let english = english.to_string();
        let lines = english.lines().map(|line| {
            if let Some(chinese) = self.0.get(line) {
                return chinese.clone();
            }
            match line.split_once(": inferometer ") {
                Some((about, rest)) => {
                    let about = self.0.get(about).map_or(about, String::as_str);
                    format!("{about}：inferometer {rest}")
                }
                // Continues the line before, which begins with shorter words.
                None => line.replacen("         ", "      ", 1),
            }
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}

fn in_chinese(command: Command, texts: &Texts) -> Command {
    // Lines are broken below: clap breaks them at blanks only.
    let mut command = command.term_width(0);
    if let Some(about) = command.get_about().map(|about| texts.of(about)) {
        command = command.about(about);
    }
    if let Some(about) = command.get_long_about().map(|about| texts.of(about)) {
        command = command.long_about(about);
    }
    if let Some(below) = command.get_after_help().map(|below| texts.below(below)) {
        command = command.after_help(below);
    }
    if let Some(below) = (command.get_after_long_help()).map(|below| texts.below(below)) {
        command = command.after_long_help(below);
    }
    command
        .mut_args(|argument| argument_in_chinese(argument, texts))
        .mut_subcommands(|command| in_chinese(command, texts))
}

fn argument_in_chinese(mut argument: Arg, texts: &Texts) -> Arg {
    if let Some(help) = argument.get_help().map(|help| texts.of(help)) {
        argument = argument.help(help);
    }
    if let Some(help) = argument.get_long_help().map(|help| texts.of(help)) {
        argument = argument.long_help(help);
    }
    let heading = argument.get_help_heading();
    if let Some(heading) = heading.and_then(|heading| texts.0.get(heading)) {
        argument = argument.help_heading(heading.clone());
    }
    // What clap sets below its names, it shows even where it is to be hidden.
    let is_shown = !argument.is_hide_short_help_set() && !argument.is_hide_set();
    let is_wide = width(&argument.to_string()) > WIDEST_NAMES;
    argument.next_line_help(is_shown && is_wide)
}

/// Help as clap wrote it, with its own words in Chinese, in lines that fit.
pub fn shown(help: &str) -> String {
    let known = terminal_size::terminal_size_of(std::io::stdout());
    let columns = known.map_or(COLUMNS, |(width, _)| COLUMNS.min(width.0.into()));
    let mut shown = String::new();
    for line in help.lines() {
        let line = (CLAP_WORDS.iter()).fold(line.to_owned(), |line, (english, chinese)| {
            line.replacen(english, chinese, 1)
        });
        let line = match line.strip_suffix(':') {
            Some(heading) if !line.starts_with(' ') => format!("{heading}："),
            _ => line,
        };
        shown.push_str(&hung(&line, columns));
        shown.push('\n');
    }
    shown
}

/// A line broken so that what follows the first is below its text, beside the names.
fn hung(line: &str, columns: usize) -> String {
    let names = line.trim_start();
    let begin = line.len() - names.len();
    let text = names
        .find("  ")
        .map_or(names, |at| names[at..].trim_start());
    let begin = begin + names.len() - text.len();
    let (lead, text) = line.split_at(begin);
    let indent = width(lead);
    let lines = wrap(text, columns.saturating_sub(indent));
    format!("{lead}{}", lines.join(&format!("\n{:indent$}", "")))
}

#[cfg(test)]
mod tests;
