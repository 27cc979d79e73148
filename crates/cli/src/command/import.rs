//! `inferometer import`: other tools' results as runs.

use crate::exit::Exit;
use crate::folder::{folder_here, folder_name, free_folder};
use crate::options::{ColumnOptions, Format, NO_CHECKS, OutputOptions, RUNS, TableOutput};
use crate::output::{Rendered, check_output, deliver, keep, language, print, style};
use crate::parts;
use crate::registry;
use anyhow::{Context, bail};
use inferometer_catalog::engine::Version;
use inferometer_core::slo::Slo;
use inferometer_import::{ImportedResult, SCHEMA, Stored};
use inferometer_page::{html, markdown, text};
use inferometer_report::import::{ImportReport, compose, compose_verdict, csv, figures, findings};
use inferometer_runner::{engine_defaults, host};
use inferometer_site::pages::import::compose_page;
use inferometer_text::Lang;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct ImportArguments {
    /// Files or folders of other tools: vLLM, SGLang, EvalScope, MindIE, GuideLLM, AIPerf, notes;
    /// FILE#MindIE/7B is what stands under such headings, FILE@engine=MindIE what they
    /// say so of, FILE@max-num-seqs=16 what was made with that flag
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<String>,
    /// Show all that is known of each result, not only the tables
    #[arg(long)]
    pub details: bool,
    /// Folder to keep the import in; with several files, a folder in it for each
    /// [inferometer-runs/TIME-import-NAME]
    #[arg(long, value_name = "DIR", value_parser = folder_here)]
    pub out: Option<PathBuf>,
    /// Only show what is found
    #[arg(long, conflicts_with = "out")]
    pub no_keep: bool,
    /// Version of the engine that the notes are about, for the flags that they do not give
    #[arg(long, value_name = "VERSION")]
    pub engine_version: Option<String>,
    /// Judge each result by these objectives (repeatable): percentiles and means that a file states;
    /// what it does not state is not met
    #[arg(long, value_name = "METRIC[.pNN]=TIME")]
    pub slo: Vec<Slo>,
    /// Show only the verdict of each file
    #[arg(long, help_heading = "Output", conflicts_with_all = ["details", "columns", "format", "to"])]
    pub quiet: bool,
    #[command(flatten)]
    pub columns: ColumnOptions,
    #[command(flatten)]
    pub output: TableOutput,
}

/// What is shown of imports, beside where it goes.
struct View<'a> {
    output: &'a OutputOptions,
    details: bool,
}

impl<'a> View<'a> {
    fn report(&self, stored: &'a Stored, kept: Option<&'a Path>, lang: Lang) -> ImportReport<'a> {
        ImportReport {
            details: self.details,
            columns: self.output.columns.as_ref(),
            ..ImportReport::new(stored, kept, lang)
        }
    }
}

pub fn run(arguments: &ImportArguments) -> anyhow::Result<Exit> {
    let mut output = arguments.output.options();
    output.columns = arguments.columns.columns.clone();
    check_output(&output)?;
    let beside = kept_beside(arguments);
    if beside.is_some() && output.format.is_empty() {
        output.to = Some("-".into());
    }
    let version = (arguments.engine_version.as_ref())
        .map(|text| (text.parse::<Version>()).with_context(|| format!("--engine-version {text}")))
        .transpose()?;
    let mut imports = Vec::new();
    for file in &arguments.files {
        let mut imported = parts::read(file)?;
        for found in &mut imported.results {
            engine_defaults::fill(found, version);
        }
        let stored = Stored::new(imported, file.clone(), host::now());
        imports.push(stored.judged_by(&arguments.slo));
    }
    let view = View {
        output: &output,
        details: arguments.details,
    };
    let mut shown = Vec::new();
    for stored in &imports {
        let kept = if arguments.no_keep {
            None
        } else {
            let folder = folder(arguments, beside.as_deref(), stored);
            stored.write(&folder)?;
            keep(&output, &folder, || Ok(page(stored, Some(&folder), &view)));
            Some(folder)
        };
        shown.push((stored, kept));
    }
    if arguments.quiet {
        print(&verdicts(&shown, &view))?;
    } else {
        show(&shown, &view)?;
    }
    let results = imports.iter().flat_map(|stored| &stored.results);
    let summaries: Vec<_> = results.filter_map(|found| found.summary.as_ref()).collect();
    // Also where nothing was measured at all.
    let all_invalid = summaries.iter().all(|summary| !summary.valid);
    let judged = summaries.iter().map(|it| it.judged(&arguments.slo).met);
    let any_missed = judged.into_iter().any(|met| met == Some(false));
    Ok(Exit::fine_if(!all_invalid && !any_missed))
}

/// A line for each file, or as many as the terminal's width makes of it.
fn verdicts(imports: &[(&Stored, Option<PathBuf>)], view: &View<'_>) -> String {
    let lang = language(view.output.lang);
    let verdict = |(stored, kept): &(&Stored, Option<PathBuf>)| {
        let doc = compose_verdict(&view.report(stored, kept.as_deref(), lang));
        text::render(&doc, style())
    };
    imports.iter().map(verdict).collect()
}

/// All imports in one where they are tables for programs or people; a page and pictures of each
/// into its own folder.
fn show(imports: &[(&Stored, Option<PathBuf>)], view: &View<'_>) -> anyhow::Result<()> {
    let output = view.output;
    if output.to.as_deref() == Some(Path::new("-")) {
        return match output.format.as_slice() {
            [] => print(&table(imports, Format::Text, view)?),
            formats => formats
                .iter()
                .try_for_each(|it| print(&table(imports, *it, view)?)),
        };
    }
    for (stored, kept) in imports {
        let folder = match (kept, &output.to, imports) {
            (_, Some(_), [_]) => Path::new("."),
            (_, Some(to), _) => bail!(
                "-o {}: several files were named; import them one by one",
                to.display()
            ),
            (Some(kept), None, _) => kept,
            (None, None, _) => bail!("--no-keep leaves no folder for the page: give -o"),
        };
        deliver(output, folder, |format| {
            render(stored, kept.as_deref(), format, view)
        })?;
    }
    Ok(())
}

/// Shows an import that was kept, as `report` was asked to.
pub fn show_stored(folder: &Path, options: &OutputOptions) -> anyhow::Result<Exit> {
    let stored = Stored::open(folder)?;
    if options.dialect.foreign().is_some() {
        bail!("--dialect needs the records of a run, and an import has none; leave it out");
    }
    let view = View {
        output: options,
        details: false,
    };
    deliver(options, folder, |format| {
        render(&stored, Some(folder), format, &view)
    })?;
    Ok(Exit::Fine)
}

pub fn stored_page(folder: &Path, lang: Lang) -> anyhow::Result<String> {
    let stored = Stored::open(folder)?;
    let page = compose_page(&stored, lang, |lang| {
        ImportReport::new(&stored, Some(folder), lang)
    });
    Ok(html::render(&page))
}

/// A new or empty folder that `-o` names: the import is kept there, beside its reports.
fn kept_beside(arguments: &ImportArguments) -> Option<PathBuf> {
    let to = arguments.output.to.as_ref()?;
    let is_new = match std::fs::read_dir(to) {
        Ok(mut content) => content.next().is_none(),
        Err(_) => !to.exists() && to.extension().is_none() && to != Path::new("-"),
    };
    (is_new && arguments.out.is_none() && !arguments.no_keep).then(|| to.clone())
}

/// Where an import is kept: a folder that does not exist yet.
fn folder(arguments: &ImportArguments, beside: Option<&Path>, stored: &Stored) -> PathBuf {
    let stem = Path::new(&stored.source)
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy();
    let name = folder_name(&stem);
    match (arguments.out.as_deref().or(beside), arguments.files.len()) {
        (Some(out), 1) => {
            registry::remember(out);
            out.to_owned()
        }
        (Some(out), _) => {
            let folder = free_folder(&name, out);
            registry::remember(&folder);
            folder
        }
        (None, _) => {
            let name = format!("{}-import-{name}", host::folder_time());
            free_folder(&name, Path::new(RUNS))
        }
    }
}

fn render(
    stored: &Stored,
    kept: Option<&Path>,
    format: Format,
    view: &View<'_>,
) -> anyhow::Result<Rendered> {
    let lang = language(view.output.lang);
    Ok(match format {
        Format::Junit | Format::Github => bail!(NO_CHECKS),
        Format::Html => Rendered::Whole(page(stored, kept, view)),
        Format::Svg | Format::Png => {
            Rendered::Figures(figures(&ImportReport::new(stored, kept, lang)))
        }
        format => {
            let import = [(stored, kept.map(Path::to_owned))];
            Rendered::Whole(table(&import, format, view)?)
        }
    })
}

fn page(stored: &Stored, kept: Option<&Path>, view: &View<'_>) -> String {
    let page = compose_page(stored, language(view.output.lang), |lang| {
        view.report(stored, kept, lang)
    });
    html::render(&page)
}

fn table(
    imports: &[(&Stored, Option<PathBuf>)],
    format: Format,
    view: &View<'_>,
) -> anyhow::Result<String> {
    let lang = language(view.output.lang);
    let reports: Vec<ImportReport<'_>> = imports
        .iter()
        .map(|(stored, kept)| view.report(stored, kept.as_deref(), lang))
        .collect();
    let docs = reports.iter().map(compose);
    Ok(match format {
        Format::Json => json(imports)? + "\n",
        Format::Csv => csv(&reports),
        Format::Md => {
            let texts: Vec<String> = docs.map(|doc| markdown::render(&doc)).collect();
            texts.join("\n")
        }
        _ => {
            let texts: Vec<String> = docs.map(|doc| text::render(&doc, style())).collect();
            texts.join("\n")
        }
    })
}

/// All files in one object; `unread` is of one file, and of several `unread_of` says whose.
fn json(imports: &[(&Stored, Option<PathBuf>)]) -> anyhow::Result<String> {
    let results: Vec<&ImportedResult> = imports
        .iter()
        .flat_map(|(stored, _)| &stored.results)
        .collect();
    let unread: Vec<(u64, u64)> = imports
        .iter()
        .flat_map(|(stored, _)| stored.unread.clone())
        .collect();
    let unread_of: BTreeMap<&str, &Vec<(u64, u64)>> = (imports.iter())
        .map(|(stored, _)| (stored.source.as_str(), &stored.unread))
        .collect();
    let kept: Vec<Option<String>> = (imports.iter())
        .map(|(_, kept)| kept.as_ref().map(|kept| kept.display().to_string()))
        .collect();
    // What programs read does not change with the reader's language.
    let findings = imports.iter().flat_map(|(stored, kept)| {
        let report = ImportReport::new(stored, kept.as_deref(), Lang::En);
        let found = findings(&report).into_iter();
        found.map(|(group, found)| {
            serde_json::json!({
                "source": stored.source,
                "group": group,
                "kind": found.kind,
                "text": found.text,
                "evidence": found.evidence,
            })
        })
    });
    let findings: Vec<serde_json::Value> = findings.collect();
    let judged = imports.iter().flat_map(|(stored, _)| {
        let judged = stored.results.iter().filter_map(|found| {
            let judged = found.summary.as_ref()?.judged(&stored.slo);
            Some(serde_json::json!({
                "file": found.file,
                "number": found.number,
                "met": judged.met,
                "objectives": judged.objectives,
            }))
        });
        judged.collect::<Vec<_>>()
    });
    let is_judged = imports.iter().any(|(stored, _)| !stored.slo.is_empty());
    let judged: Option<Vec<serde_json::Value>> = is_judged.then(|| judged.collect());
    Ok(serde_json::to_string_pretty(&serde_json::json!({
        "schema": SCHEMA,
        "results": results,
        "findings": findings,
        "slo": judged,
        "unread": unread,
        "unread_of": unread_of,
        "kept": kept,
    }))?)
}
