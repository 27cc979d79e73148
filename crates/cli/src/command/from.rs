//! `inferometer from`: the command line of another benchmark as ours.

use crate::exit::Exit;
use crate::options::DataView;
use crate::output::print;
use crate::translate::{Translation, translate};
use anyhow::{Context, bail};
use std::fmt::Write as _;
use std::process::Command;

/// `inferometer from`.
#[derive(clap::Args)]
pub struct FromArguments {
    /// The command line, quoted
    #[arg(value_name = "COMMAND LINE", conflicts_with = "words")]
    pub line: Option<String>,
    /// The same as separate words, after --
    #[arg(last = true, value_name = "WORDS")]
    pub words: Vec<String>,
    /// Run what it says
    #[arg(long)]
    pub run: bool,
    /// How to show it
    #[arg(
        long,
        value_name = "text|json",
        default_value = "text",
        hide_default_value = true
    )]
    pub format: DataView,
}

/// Translates, shows, and runs if asked to.
pub fn run(arguments: &FromArguments) -> anyhow::Result<Exit> {
    let words = match &arguments.line {
        Some(line) => vec![line.clone()],
        None => arguments.words.clone(),
    };
    let translation = translate(&words)?;
    if !arguments.run {
        print(&shown(&translation, arguments.format)?)?;
        return Ok(Exit::Fine);
    }
    // What is said of the translation must not mix with the report of the run.
    eprint!("{}", shown(&translation, DataView::Text)?);
    if translation
        .words
        .iter()
        .any(|word| word == "FILE" || word == "TEXT")
    {
        bail!("the command above lacks a file or text; put it in and run it");
    }
    let own = std::env::current_exe().context("cannot find this program")?;
    let ended = Command::new(own)
        .args(&translation.words)
        .status()
        .context("cannot start the translated command")?;
    Ok(match ended.code() {
        Some(0) => Exit::Fine,
        Some(code) => Exit::Engine(u8::try_from(code).unwrap_or(1)),
        None => Exit::Interrupted,
    })
}

fn shown(translation: &Translation, format: DataView) -> anyhow::Result<String> {
    if format == DataView::Json {
        let mut words = vec!["inferometer".to_owned()];
        words.extend(translation.words.iter().cloned());
        let object = serde_json::json!({
            "schema": "inferometer.from/1",
            "tool": translation.tool,
            "words": words,
            "not_expressed": translation.not_expressed,
            "differs": translation.differs,
            "not_needed": translation.not_needed,
        });
        return Ok(serde_json::to_string_pretty(&object)? + "\n");
    }
    let mut text = format!("{}\n", line(&translation.words));
    for (heading, items) in [
        ("cannot express", &translation.not_expressed),
        ("differs", &translation.differs),
    ] {
        if items.is_empty() {
            continue;
        }
        writeln!(text, "\n{heading}")?;
        for item in items {
            writeln!(text, "  {item}")?;
        }
    }
    if !translation.not_needed.is_empty() {
        writeln!(
            text,
            "\nnot needed here: {}",
            translation.not_needed.join(", ")
        )?;
    }
    Ok(text)
}

/// The command to paste into a shell, one option per line.
fn line(words: &[String]) -> String {
    let mut lines: Vec<String> = vec!["inferometer".to_owned()];
    for word in words {
        let quoted = quoted(word);
        match (word.starts_with("--"), lines.last_mut()) {
            (false, Some(last)) => last.push_str(&format!(" {quoted}")),
            _ => lines.push(format!("  {quoted}")),
        }
    }
    lines.join(" \\\n")
}

/// A word as a shell reads it back.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_catalog::engine::words::split;

    #[test]
    fn the_printed_line_is_read_back_by_a_shell_as_it_was_meant() {
        let words = [
            "run",
            "http://h:1",
            "--prompt",
            "it's 100% \"so\"\n",
            "--extra",
            r#"{"a": 1}"#,
        ]
        .map(str::to_owned);
        let back = split(&line(&words)).unwrap();
        assert_eq!(back[0], "inferometer");
        assert_eq!(back[1..], words);
    }
}
