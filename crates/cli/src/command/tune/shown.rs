//! From the trials of a study to what the user asked to see.

use crate::exit::Exit;
use crate::options::{Format, NO_CHECKS, OutputOptions};
use crate::output::{Rendered, deliver, keep, language, style};
use anyhow::{Context, bail};
use inferometer_campaign::study::{Study, StudyResult};
use inferometer_campaign::trial::Trial;
use inferometer_core::note::{Known, Note};
use inferometer_page::{html, markdown, text};
use inferometer_report::json;
use inferometer_report::study::{StudyReport, compose, figures};
use inferometer_runner::tune;
use inferometer_store::run_dir::RunDir;
use inferometer_text::Lang;
use std::path::Path;

/// What a study found so far, and whether it came to its end.
pub fn read_stored(folder: &Path) -> anyhow::Result<(StudyResult, bool)> {
    let is_complete = tune::read(folder)?.complete;
    let (study, trials) = stored(folder)?;
    Ok((study.result(&trials, is_virtual(folder)), is_complete))
}

pub fn show_stored(folder: &Path, options: &OutputOptions) -> anyhow::Result<Exit> {
    let (study, trials) = stored(folder)?;
    show(&study, &trials, folder, options)?;
    Ok(exit(&study, &trials))
}

pub fn stored_page(folder: &Path, lang: Lang) -> anyhow::Result<String> {
    let (study, trials) = stored(folder)?;
    let found = study.result(&trials, is_virtual(folder));
    Ok(page(&study, &found, folder, lang))
}

fn stored(folder: &Path) -> anyhow::Result<(Study, Vec<Trial>)> {
    let log = tune::read(folder)?;
    let study: Study =
        (log.header.study.parse()).with_context(|| format!("the study in {}", folder.display()))?;
    Ok((study, log.trials))
}

/// Shows what the trials of a study say.
pub fn show(
    study: &Study,
    trials: &[Trial],
    folder: &Path,
    options: &OutputOptions,
) -> anyhow::Result<()> {
    let found = study.result(trials, is_virtual(folder));
    let document = || compose(&report(study, &found, folder, language(options.lang)));
    deliver(options, folder, |format| {
        Ok(Rendered::Whole(match format {
            Format::Text => text::render(&document(), style()),
            Format::Md => markdown::render(&document()),
            Format::Json => json::render(&found),
            Format::Html => page(study, &found, folder, language(options.lang)),
            Format::Junit | Format::Github => bail!(NO_CHECKS),
            Format::Csv => bail!("a study is not a table; use --format text, md or json"),
            Format::Svg | Format::Png => {
                let report = report(study, &found, folder, language(options.lang));
                return Ok(Rendered::Figures(figures(&report)));
            }
        }))
    })
}

/// Puts the page of a study beside it.
pub fn keep_page(study: &Study, trials: &[Trial], folder: &Path, options: &OutputOptions) {
    let found = study.result(trials, is_virtual(folder));
    keep(options, folder, || {
        Ok(page(study, &found, folder, language(options.lang)))
    });
}

fn page(study: &Study, found: &StudyResult, folder: &Path, lang: Lang) -> String {
    let report = report(study, found, folder, lang);
    html::render(&inferometer_report::html::study::compose_page(&report))
}

/// Fine if some configuration was measured and met the SLOs.
pub fn exit(study: &Study, trials: &[Trial]) -> Exit {
    Exit::fine_if(study.result(trials, false).best.is_some())
}

fn report<'a>(
    study: &'a Study,
    result: &'a StudyResult,
    directory: &'a Path,
    lang: Lang,
) -> StudyReport<'a> {
    StudyReport {
        study,
        result,
        directory,
        lang,
    }
}

/// Whether the first trial was computed, by what its run says of itself.
pub fn is_virtual(folder: &Path) -> bool {
    let runs = std::fs::read_dir(folder.join("trials/000"));
    let runs = runs.into_iter().flatten().filter_map(Result::ok);
    runs.filter_map(|run| RunDir::open(run.path()).ok()?.environment().ok())
        .any(|about| about.notes.contains(&Note::Known(Known::VirtualTime)))
}
