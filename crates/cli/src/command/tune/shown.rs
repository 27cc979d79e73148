//! From the trials of a study to what the user asked to see.

use crate::exit::Exit;
use crate::options::{Format, NO_CHECKS, OutputOptions};
use crate::output::{Rendered, deliver, keep, language, style};
use anyhow::{Context, bail};
use inferometer_campaign::study::{Study, StudyResult};
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
    let stored = Stored::read(folder)?;
    Ok((stored.found, stored.is_complete))
}

pub fn show_stored(folder: &Path, options: &OutputOptions) -> anyhow::Result<Exit> {
    let stored = Stored::read(folder)?;
    stored.show(folder, options)?;
    // Fine if some configuration was measured and met the SLOs.
    Ok(Exit::fine_if(stored.found.best.is_some()))
}

pub fn stored_page(folder: &Path, lang: Lang) -> anyhow::Result<String> {
    let Stored { study, found, .. } = Stored::read(folder)?;
    Ok(page(&study, &found, folder, lang))
}

/// Puts the page of a study beside it.
pub fn keep_page(folder: &Path, options: &OutputOptions) -> anyhow::Result<()> {
    let Stored { study, found, .. } = Stored::read(folder)?;
    keep(options, folder, || {
        Ok(page(&study, &found, folder, language(options.lang)))
    });
    Ok(())
}

/// A study of a folder, and what its log says.
struct Stored {
    study: Study,
    found: StudyResult,
    is_complete: bool,
}

impl Stored {
    fn read(folder: &Path) -> anyhow::Result<Stored> {
        let log = tune::read(folder)?;
        let study = Study::of_log(&log, is_virtual(folder))
            .with_context(|| format!("the study in {}", folder.display()))?;
        Ok(Stored {
            found: study.result_of(&log, is_virtual(folder)),
            is_complete: log.complete,
            study,
        })
    }

    fn show(&self, folder: &Path, options: &OutputOptions) -> anyhow::Result<()> {
        let Stored { study, found, .. } = self;
        let document = || compose(&report(study, found, folder, language(options.lang)));
        deliver(options, folder, |format| {
            Ok(Rendered::Whole(match format {
                Format::Text => text::render(&document(), style()),
                Format::Md => markdown::render(&document()),
                Format::Json => json::render(found),
                Format::Html => page(study, found, folder, language(options.lang)),
                Format::Junit | Format::Github => bail!(NO_CHECKS),
                Format::Csv => bail!("a study is not a table; use --format text, md or json"),
                Format::Svg | Format::Png => {
                    let report = report(study, found, folder, language(options.lang));
                    return Ok(Rendered::Figures(figures(&report)));
                }
            }))
        })
    }
}

fn page(study: &Study, found: &StudyResult, folder: &Path, lang: Lang) -> String {
    let report = report(study, found, folder, lang);
    html::render(&inferometer_site::pages::study::compose_page(&report))
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

/// Whether the first trial was computed, by what its run says of itself: logs of earlier versions
/// do not say it.
fn is_virtual(folder: &Path) -> bool {
    let runs = std::fs::read_dir(folder.join("trials/000"));
    let runs = runs.into_iter().flatten().filter_map(Result::ok);
    runs.filter_map(|run| RunDir::open(run.path()).ok()?.environment().ok())
        .any(|about| about.notes.contains(&Note::Known(Known::VirtualTime)))
}
