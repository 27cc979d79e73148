//! From a run to what the user asked to see.

pub use crate::language::language;

use crate::exit::Exit;
use crate::folder::new_folder;
use crate::options::{Format, NO_CHECKS, OutputOptions};
use crate::pictures;
use crate::stderr::say;
use crate::stores::shown;
use anyhow::{Context, bail};
use inferometer_analysis::context::RunContext;
use inferometer_chart::Drawing;
use inferometer_core::doubt::Severity;
use inferometer_core::note::{Known, Note};
use inferometer_core::scenario::Scenario;
use inferometer_core::summary::{SloOutcome, Summary};
use inferometer_dialect::Source;
use inferometer_page::checks::{Checks, without_commands};
use inferometer_page::doc::Doc;
use inferometer_page::figure::Figure;
use inferometer_page::text::{Paint, TextStyle};
use inferometer_page::{html, markdown, text};
use inferometer_report::run::{Detail, RunReport, compose};
use inferometer_report::{csv, json};
use inferometer_runner::measure::{Measured, ReadFor, read, records};
use inferometer_runner::with_causes;
use inferometer_site::pages::run::RunPage;
use inferometer_store::run_dir::RunDir;
use inferometer_store::whole_file;
use inferometer_text::Lang;
use std::io::{IsTerminal, Write};
use std::ops::RangeInclusive;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use terminal_size::terminal_size_of;

const PAGE: &str = "report.html";

/// A stored run, judged again by its records.
pub fn read_again(
    directory: RunDir,
    scenario: Scenario,
    lang: Lang,
    purpose: ReadFor,
) -> anyhow::Result<Measured> {
    let (mut environment, ending) = (directory.environment()?, directory.ending()?);
    let context = RunContext {
        scenario: &scenario,
        environment: &environment,
        ending: &ending,
        lang,
    };
    let reading = read(&directory, &context, purpose)?;
    // What a reader must know of the files themselves.
    let lines = reading.damaged_lines;
    let damaged = (lines > 0).then_some(Known::DamagedLines { lines });
    let unhashed = directory.lacks_hashes().then_some(Known::NoHashes);
    let notes = damaged.into_iter().chain(unhashed);
    environment.notes.extend(notes.map(Note::from));
    Ok(Measured {
        summary: reading.folded.summary(lang),
        directory,
        scenario,
        environment,
        ending,
        reading,
    })
}

/// Shows a run in every format that was asked for.
pub fn show(run: &Measured, options: &OutputOptions) -> anyhow::Result<()> {
    deliver(options, run.directory.path(), |format| {
        render(run, options, format)
    })
}

/// Writes the page of a run into its folder.
pub fn keep_page(run: &Measured, options: &OutputOptions) {
    let lang = language(options.lang);
    keep(options, run.directory.path(), || page_of(run, lang));
}

/// A report in one format.
pub enum Rendered {
    Whole(String),
    /// As figures, which become pictures.
    Figures(Vec<Figure>),
}

/// Tables go to standard output; a page and pictures into a new folder of this name, unless `-o`
/// says where.
pub fn deliver_apart(
    output: &OutputOptions,
    name: &str,
    render: impl Fn(Format) -> anyhow::Result<Rendered>,
) -> anyhow::Result<()> {
    if output.to.is_some() {
        return deliver(output, ".".as_ref(), render);
    }
    let folder = new_folder(None, name);
    std::fs::create_dir_all(&folder)?;
    deliver(output, &folder, render)?;
    say(format_args!("written to {}", folder.display()));
    Ok(())
}

/// Makes every format that was asked for and brings it where it belongs.
pub fn deliver(
    options: &OutputOptions,
    folder: &Path,
    render: impl Fn(Format) -> anyhow::Result<Rendered>,
) -> anyhow::Result<()> {
    let formats = options.formats();
    if let Some(to) = options.to.as_deref().filter(|to| *to != Path::new("-"))
        && formats.len() > 1
    {
        std::fs::create_dir_all(to)
            .with_context(|| format!("cannot make the folder {}", to.display()))?;
    }
    for &format in &formats {
        match render(format)? {
            Rendered::Figures(figures) => {
                let figures: Vec<Figure> = figures
                    .into_iter()
                    .filter_map(Figure::worth_showing)
                    .collect();
                let theme = options.theme.unwrap_or_default();
                let to = options.to.as_deref();
                pictures::write(&figures, format, theme, to, folder)?;
            }
            Rendered::Whole(text) => {
                let text = match (format, options.lang) {
                    (Format::Html, None) => html::following_browser(&text),
                    _ => text,
                };
                match target(folder, options, format, formats.len()) {
                    None => print(&text)?,
                    Some(file) if options.to.is_some() => {
                        whole_file::write_as_told(&file, text.as_bytes())?
                    }
                    Some(file) => whole_file::replace(&file, text.as_bytes())?,
                }
            }
        }
    }
    Ok(())
}

/// Writes a page beside what it shows, unless one was asked for by name. A measurement does not
/// fail for want of its page.
pub fn keep(options: &OutputOptions, folder: &Path, page: impl FnOnce() -> anyhow::Result<String>) {
    if options.format.contains(&Format::Html) {
        return;
    }
    let file = folder.join(PAGE);
    let page = page().map(|page| match options.lang {
        None => html::following_browser(&page),
        Some(_) => page,
    });
    let written = page.and_then(|page| Ok(whole_file::replace(&file, page.as_bytes())?));
    if let Err(error) = written {
        let why = with_causes(error.as_ref());
        say(format_args!(
            "warning: {} was not written: {why}",
            file.display()
        ));
    }
}

/// Annotations for a GitHub workflow. The report itself goes into the job's summary where there is
/// one, else it follows them.
pub fn annotations(checks: &Checks, report: &Doc) -> anyhow::Result<String> {
    let report = markdown::render(report);
    let Some(summary) = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|it| !it.is_empty()) else {
        return Ok(checks.github() + "\n" + &without_commands(&report));
    };
    let mut file = (std::fs::OpenOptions::new().append(true).create(true))
        .open(&summary)
        .with_context(|| format!("cannot open GITHUB_STEP_SUMMARY {}", summary.display()))?;
    writeln!(file, "{report}").context("cannot write the job's summary")?;
    Ok(checks.github())
}

/// The exit of a run: fine only if it is valid and every objective is met. One that cannot be
/// judged is not met, so that a gate does not open by accident.
pub fn verdict(summary: &Summary) -> Exit {
    let met = (summary.slo.as_ref()).is_none_or(|slo| slo.outcome() == SloOutcome::Met);
    Exit::fine_if(summary.valid && met)
}

/// What cannot be shown or written is said before the work is done.
pub fn check_output(options: &OutputOptions) -> anyhow::Result<()> {
    let checks = |format: &Format| matches!(format, Format::Junit | Format::Github);
    if options.format.iter().any(checks) {
        bail!(NO_CHECKS);
    }
    check_report(options)
}

/// The same for commands whose results are checks, too.
pub fn check_report(options: &OutputOptions) -> anyhow::Result<()> {
    let ours = [
        (Format::Csv, "csv"),
        (Format::Md, "md"),
        (Format::Html, "html"),
        (Format::Svg, "svg"),
        (Format::Png, "png"),
    ];
    let formats = options.formats();
    let ours = ours.iter().find(|(it, _)| formats.contains(it));
    if let Some((_, format)) = ours.filter(|_| options.dialect.foreign().is_some()) {
        bail!(
            "--format {format} has our own numbers only; leave out --dialect, or use --format text or json"
        );
    }
    let drawn = |format: &Format| matches!(format, Format::Svg | Format::Png);
    if options.to.as_deref() == Some(Path::new("-")) && formats.iter().any(drawn) {
        bail!("-o -: pictures cannot go to standard output; name a folder");
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

/// What is measured is kept in `--out`, and `-o` is for the report: a name that says nothing of a
/// format may be meant for the other, which is told before the work is done.
pub fn check_report_name(options: &OutputOptions) -> anyhow::Result<()> {
    let to = options.to.as_deref().filter(|to| *to != Path::new("-"));
    let unclear =
        |to: &&Path| options.format.is_empty() && to.extension().is_none() && !to.is_dir();
    if let Some(to) = to.filter(unclear) {
        bail!(
            "-o {0}: that is where the report goes, and its format is not said; to keep the measurement in {0}, write --out {0}; for a report, -o {0}.html or --format",
            to.display()
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
        Format::Junit => "report.xml",
        Format::Github => "annotations.txt",
        Format::Html | Format::Svg | Format::Png => PAGE,
    };
    match &options.to {
        Some(to) if to == Path::new("-") => None,
        Some(to) if to.is_dir() || formats > 1 => Some(to.join(name)),
        Some(to) => Some(to.clone()),
        None if matches!(format, Format::Md | Format::Csv | Format::Html) => {
            Some(folder.join(name))
        }
        None => None,
    }
}

fn render(run: &Measured, options: &OutputOptions, format: Format) -> anyhow::Result<Rendered> {
    let lang = language(options.lang);
    match format {
        Format::Html => return Ok(Rendered::Whole(page_of(run, lang)?)),
        Format::Svg | Format::Png => {
            let drawing = drawing(run)?;
            let clock = run.scenario.connection.sim_clock;
            let figures = inferometer_chart::run::all(&run.summary, &drawing, clock, lang);
            return Ok(Rendered::Figures(figures));
        }
        Format::Junit | Format::Github => bail!(NO_CHECKS),
        Format::Text | Format::Md | Format::Json | Format::Csv => {}
    }
    let detail = if options.definitions {
        Detail::Definitions
    } else {
        Detail::Numbers
    };
    let directory = shown(run.directory.path());
    let report = report(run, &directory, detail, lang);
    if let Some(foreign) = options.dialect.foreign() {
        let records = records(&run.directory)?;
        let source = Source {
            records: &records,
            scenario: &run.scenario,
            environment: &run.environment,
            ending: &run.ending,
            invalid: &invalid_codes(&run.summary),
        };
        if run.ending.steady_window {
            note_window(foreign.into());
        }
        return Ok(Rendered::Whole(match format {
            Format::Json => inferometer_dialect::json(foreign, &source)? + "\n",
            _ => inferometer_dialect::text(foreign, &source)?,
        }));
    }
    Ok(Rendered::Whole(match format {
        Format::Md => markdown::render(&compose(&report)),
        Format::Json => json::render(&run.summary),
        Format::Csv => csv::render(&report, options.columns.as_ref()),
        _ => text::render(&compose(&report), style()),
    }))
}

/// A dialect has its tool's definitions, but a run with a window is not what its tool does.
pub fn note_window(tool: &'static str) {
    say(format_args!(
        "note: {tool} measures a burst, and this run has a window in a load that goes on: its throughput is counted here from the first measured request to the end of the last, with others under way beside them; for the number that {tool} would give, run with --warmup none --hold none --stagger none"
    ));
}

fn report<'a>(run: &'a Measured, directory: &'a Path, detail: Detail, lang: Lang) -> RunReport<'a> {
    RunReport {
        summary: &run.summary,
        scenario: &run.scenario,
        environment: &run.environment,
        ending: &run.ending,
        directory: Some(directory),
        lang,
        detail,
    }
}

/// What a format is made from.
pub fn read_for(formats: &[Format]) -> ReadFor {
    let draws = |format: &Format| matches!(format, Format::Html | Format::Svg | Format::Png);
    if formats.iter().any(draws) {
        ReadFor::Pictures
    } else {
        ReadFor::Numbers
    }
}

fn drawing(run: &Measured) -> anyhow::Result<Drawing<'_>> {
    let trace = run.reading.trace.as_ref();
    Ok(Drawing::of(
        trace.context("its records were read for numbers alone")?,
    ))
}

pub fn page_of(run: &Measured, lang: Lang) -> anyhow::Result<String> {
    let directory = shown(run.directory.path());
    let page = RunPage {
        folded: &run.reading.folded,
        drawing: &drawing(run)?,
        report: report(run, &directory, Detail::Definitions, lang),
    };
    let page = inferometer_site::pages::run::compose_page(&page, lang);
    Ok(html::render(&page))
}

/// Fewest and most columns of a page: a narrow window breaks lines by itself, and tables use the
/// room of a wide one.
const PAGE_COLUMNS: RangeInclusive<usize> = 60..=200;

/// Colours and the width of a terminal, unless the user wants none; else a plain page.
pub fn style() -> TextStyle {
    let usual = TextStyle::default();
    let out = std::io::stdout();
    let page = |width: usize| width.clamp(*PAGE_COLUMNS.start(), *PAGE_COLUMNS.end());
    if !out.is_terminal() {
        // A shell that exports it tells what is on the other side of a pipe.
        let columns = std::env::var("COLUMNS").ok();
        let columns = columns.and_then(|columns| columns.parse().ok());
        return TextStyle {
            width: columns.map_or(usual.width, page),
            ..usual
        };
    }
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let known = terminal_size_of(&out);
    let width = known.map_or(usual.width, |(width, _)| page(usize::from(width.0)));
    TextStyle {
        paint: if plain { Paint::Plain } else { Paint::Ansi },
        width,
    }
}

/// A line as a terminal shows it: in several where it has fewer columns, those that follow
/// indented. What else reads it gets it as one.
pub fn fitted(line: &str, out: &(impl IsTerminal + AsFd)) -> String {
    let size = terminal_size_of(out).filter(|_| out.is_terminal());
    match size {
        Some((columns, _)) => text::broken(line, usize::from(columns.0)),
        None => line.to_owned(),
    }
}

/// Writes to standard output. A reader that went away has seen enough, and what is still to be
/// done for others is done.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    match written {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}

/// Codes of the doubts that make a run INVALID.
pub fn invalid_codes(summary: &Summary) -> Vec<&'static str> {
    let grave = (summary.doubts.iter()).filter(|doubt| doubt.severity == Severity::Invalid);
    grave.map(|doubt| doubt.code.into_str()).collect()
}
