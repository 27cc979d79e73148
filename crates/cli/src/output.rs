//! From a run to what the user asked to see.

use crate::Exit;
use crate::arguments::{Format, OutputOptions};
use crate::measure::records;
use anyhow::{Context, bail};
use inferometer_core::environment::{Ending, Environment};
use inferometer_core::message::Lang;
use inferometer_core::run_dir::RunDir;
use inferometer_core::scenario::Scenario;
use inferometer_core::summary::{SloOutcome, Summary};
use inferometer_report::dialect::Source;
use inferometer_report::run::{Detail, RunReport, compose};
use inferometer_report::text::{Paint, TextStyle};
use inferometer_report::{csv, dialect, json, markdown, text};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

/// A run to be shown.
pub struct Shown<'a> {
    /// Its folder.
    pub directory: &'a RunDir,
    /// What was asked.
    pub scenario: &'a Scenario,
    /// Where it ran.
    pub environment: &'a Environment,
    /// How it ended.
    pub ending: &'a Ending,
    /// The numbers.
    pub summary: &'a Summary,
}

/// Shows a run in every format that was asked for.
pub fn show(run: &Shown<'_>, options: &OutputOptions) -> anyhow::Result<()> {
    deliver(options, run.directory.path(), |format| {
        render(run, options, format)
    })
}

/// Makes every format that was asked for and brings it where it belongs.
pub fn deliver(
    options: &OutputOptions,
    folder: &Path,
    render: impl Fn(Format) -> anyhow::Result<String>,
) -> anyhow::Result<()> {
    let formats: &[Format] = match options.format.as_slice() {
        [] => &[Format::Text],
        formats => formats,
    };
    for format in formats {
        let rendered = render(*format)?;
        match target(folder, options, *format, formats.len()) {
            None => print(&rendered)?,
            Some(file) => {
                std::fs::write(&file, rendered)
                    .with_context(|| format!("cannot write {}", file.display()))?;
            }
        }
    }
    Ok(())
}

/// The exit of a run: fine only if it is valid and every objective is met. One that cannot be
/// judged is not met, so that a gate does not open by accident.
pub fn verdict(summary: &Summary) -> Exit {
    let met = (summary.slo.as_ref()).is_none_or(|slo| slo.outcome() == SloOutcome::Met);
    match summary.valid && met {
        true => Exit::Fine,
        false => Exit::Doubtful,
    }
}

/// What cannot be shown or written is said before the work is done.
pub fn check_output(options: &OutputOptions) -> anyhow::Result<()> {
    let ours = [(Format::Csv, "csv"), (Format::Md, "md")];
    let ours = ours.iter().find(|(it, _)| options.format.contains(it));
    if let Some((_, format)) = ours.filter(|_| options.dialect.foreign().is_some()) {
        bail!(
            "--format {format} has our own numbers only; leave out --dialect, or use --format text or json"
        );
    }
    let folder = options
        .to
        .as_deref()
        .filter(|to| *to != Path::new("-"))
        .and_then(Path::parent);
    if let Some(folder) = folder.filter(|folder| !folder.as_os_str().is_empty() && !folder.is_dir())
    {
        bail!(
            "-o: the folder {} does not exist; make it first",
            folder.display()
        );
    }
    Ok(())
}

/// Text and JSON go to standard output, the others into the run directory, unless `-o` says otherwise.
fn target(
    folder: &Path,
    options: &OutputOptions,
    format: Format,
    formats: usize,
) -> Option<PathBuf> {
    let name = match format {
        Format::Text => "report.txt",
        Format::Md => "report.md",
        Format::Json => "report.json",
        Format::Csv => "report.csv",
    };
    match &options.to {
        Some(to) if to == Path::new("-") => None,
        Some(to) if to.is_dir() || formats > 1 => Some(to.join(name)),
        Some(to) => Some(to.clone()),
        None if matches!(format, Format::Md | Format::Csv) => Some(folder.join(name)),
        None => None,
    }
}

fn render(run: &Shown<'_>, options: &OutputOptions, format: Format) -> anyhow::Result<String> {
    let report = RunReport {
        summary: run.summary,
        scenario: run.scenario,
        environment: run.environment,
        ending: run.ending,
        directory: Some(run.directory.path()),
        lang: language(options.lang),
        detail: match options.definitions {
            true => Detail::Definitions,
            false => Detail::Numbers,
        },
    };
    if let Some(foreign) = options.dialect.foreign() {
        let records = records(run.directory)?;
        let source = Source {
            records: &records,
            scenario: run.scenario,
            environment: run.environment,
            ending: run.ending,
        };
        return Ok(match format {
            Format::Text => dialect::text(foreign, &source)?,
            Format::Json => dialect::json(foreign, &source)? + "\n",
            Format::Md => markdown::render(&compose(&report)),
            Format::Csv => csv::render(&report),
        });
    }
    Ok(match format {
        Format::Text => text::render(&compose(&report), style()),
        Format::Md => markdown::render(&compose(&report)),
        Format::Json => json::render(run.summary),
        Format::Csv => csv::render(&report),
    })
}

/// Colours on a terminal, unless the user wants none.
pub fn style() -> TextStyle {
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let paint = match std::io::stdout().is_terminal() && !plain {
        true => Paint::Ansi,
        false => Paint::Plain,
    };
    TextStyle {
        paint,
        ..TextStyle::default()
    }
}

/// The language asked for, else the locale's, else English.
pub fn language(asked: Option<Lang>) -> Lang {
    let from_locale = || {
        let locale = ["LC_ALL", "LC_MESSAGES", "LANG"]
            .into_iter()
            .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))?;
        Lang::from_word(locale.get(..2)?)
    };
    asked.or_else(from_locale).unwrap_or_default()
}

/// Writes to standard output.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}
