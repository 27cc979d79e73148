//! `inferometer from`: the command line of another benchmark as ours.

use crate::chinese::errors::in_chinese;
use crate::exit::Exit;
use crate::options::{DataView, ViewArguments};
use crate::output::{language, print, style};
use crate::stderr::say;
use anyhow::{Context, bail};
use inferometer_catalog::engine::words::join;
use inferometer_page::text::wrap;
use inferometer_text::{Lang, texts, user_file};
use inferometer_translate::{Translation, translate};
use std::fmt::Write as _;
use std::process::Command;

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
    #[command(flatten)]
    pub view: ViewArguments,
}

pub fn run(arguments: &FromArguments) -> anyhow::Result<Exit> {
    let words = match &arguments.line {
        Some(line) => vec![line.clone()],
        None => arguments.words.clone(),
    };
    let translation = translate(&words, &|path| user_file::read_text(path).ok())?;
    if !arguments.run {
        print(&shown(
            &translation,
            arguments.view.format,
            language(arguments.view.lang),
        )?)?;
        return Ok(Exit::Fine);
    }
    // What is said of the translation must not mix with the report of the run.
    let lang = language(arguments.view.lang);
    say(shown(&translation, DataView::Text, lang)?.trim_end());
    let is_placeholder = |word: &String| word == "FILE" || word == "TEXT";
    if translation.words.iter().any(is_placeholder) {
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

fn shown(translation: &Translation, format: DataView, lang: Lang) -> anyhow::Result<String> {
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
    let room = style().width.saturating_sub(2);
    for (heading, items) in [
        (FromText::CannotExpress, &translation.not_expressed),
        (FromText::Differs, &translation.differs),
    ] {
        if items.is_empty() {
            continue;
        }
        writeln!(text, "\n{}", heading.text(lang))?;
        for item in items {
            let item = match lang {
                Lang::En => item.clone(),
                Lang::Zh => in_chinese(item),
            };
            // A line that goes on is set in further than one that begins.
            for (at, part) in wrap(&item, room.saturating_sub(2)).iter().enumerate() {
                let indent = if at == 0 { "  " } else { "    " };
                writeln!(text, "{indent}{part}")?;
            }
        }
    }
    if !translation.not_needed.is_empty() {
        let names = [("names", translation.not_needed.join(", "))];
        let told = FromText::NotNeeded.with(lang, &names);
        writeln!(text, "\n{}", wrap(&told, room).join("\n  "))?;
    }
    Ok(text)
}

texts! {
    /// What is said of a command line that was translated.
    pub enum FromText {
        CannotExpress => "cannot express", "无法表达";
        Differs => "differs", "含义不同";
        NotNeeded => "not needed here: {names}", "此处不需要：{names}";
    }
}

/// The command to paste into a shell, one option per line.
fn line(words: &[String]) -> String {
    let mut lines: Vec<String> = vec!["inferometer".to_owned()];
    for word in words {
        let quoted = join([word]);
        match lines.last_mut() {
            Some(last) if !word.starts_with("--") => last.push_str(&format!(" {quoted}")),
            _ => lines.push(format!("  {quoted}")),
        }
    }
    lines.join(" \\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Cli;
    use clap::Parser;
    use inferometer_catalog::engine::words::split;

    /// `sweep` takes lists where `run` takes one value, so there each option is tried with its
    /// first value.
    fn assert_accepted(translation: &Translation) {
        let mut words = vec!["inferometer".to_owned()];
        if translation.words[0] == "run" {
            words.extend(translation.words.iter().cloned());
        } else {
            words.push("run".to_owned());
            let mut rest = translation.words[1..].iter();
            while let Some(word) = rest.next() {
                match word.as_str() {
                    "--zip" => {}
                    "--rest" => drop(rest.next()),
                    option if option.starts_with("--") => words.push(word.clone()),
                    value if value.contains('*') => words.push("10".to_owned()),
                    value if value.contains('(') => words.push(value.to_owned()),
                    value => words.push(value.split(',').next().unwrap_or_default().to_owned()),
                }
            }
        }
        if let Err(error) = Cli::try_parse_from(&words) {
            panic!("{words:?}: {error}");
        }
    }

    #[test]
    fn what_is_printed_is_a_command_of_ours() {
        let examples = include_str!("../../../translate/src/command_lines.txt");
        let theirs = examples
            .split("\n\n")
            .map(|example| example.lines().next().unwrap());
        for theirs in theirs.chain([
            "vllm bench serve --dataset-name sonnet --profile --save-result --request-rate inf",
            "evalscope perf --url http://h/v1 --api-key sk-1234 --headers X-Team=a",
            "python -m sglang.bench_serving --dataset-name random",
        ]) {
            assert_accepted(&translate(&[theirs.to_owned()], &|_| None).unwrap());
        }
    }

    #[test]
    fn a_sweep_over_both_commands_is_one_of_ours() {
        let read = |path: &str| match path {
            "serve" => Some(r#"[{"max_num_seqs": 32}, {"max_num_seqs": 64}]"#.to_owned()),
            _ => Some(r#"[{"max_concurrency": 8}, {"max_concurrency": 16}]"#.to_owned()),
        };
        let line = "vllm bench sweep serve --serve-cmd 'vllm serve m' --bench-cmd 'vllm bench serve --model m' --serve-params serve --bench-params bench --after-bench-cmd true";
        let found = translate(&[line.to_owned()], &read).unwrap();
        let words = std::iter::once("inferometer").chain(found.words.iter().map(String::as_str));
        if let Err(error) = Cli::try_parse_from(words) {
            panic!("{:?}: {error}", found.words);
        }
    }

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

    #[test]
    fn everything_that_is_said_of_a_translation_is_said_in_chinese_too() {
        let examples = include_str!("../../../translate/src/command_lines.txt");
        let theirs = examples.split("\n\n").filter_map(|it| it.lines().next());
        for theirs in theirs.chain([
            "vllm bench serve --num-warmups 4 --ramp-up-strategy linear --request-rate 5",
            "vllm bench serve --dataset-name sonnet --profile --unheard-of 1 --tokenizer a/b",
            "vllm bench sweep serve --serve-params x --after-bench-cmd true",
        ]) {
            let told = translate(&[theirs.to_owned()], &|_| None).unwrap();
            for item in told.not_expressed.iter().chain(&told.differs) {
                let chinese = in_chinese(item);
                let is_chinese = chinese
                    .chars()
                    .any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c));
                assert!(is_chinese, "{item}");
            }
            let shown = shown(&told, DataView::Text, Lang::En).unwrap();
            let notes = shown.split("\n\n").skip(1).flat_map(str::lines);
            for line in notes {
                assert!(line.chars().count() <= 80, "{line}");
            }
        }
    }
}
