//! A search that is stored: read, shown, judged.

use crate::exit::Exit;
use crate::options::{Format, NO_CHECKS, OutputOptions};
use crate::output::{Rendered, deliver, language, style};
use crate::stores::shown;
use anyhow::bail;
use inferometer_campaign::capacity::stored::{Capacity, FILE, SearchEnding, TierCapacity};
use inferometer_core::environment::{Ending, Environment};
use inferometer_core::scenario::Scenario;
use inferometer_core::summary::Summary;
use inferometer_page::{html, markdown, text};
use inferometer_report::capacity::{compose, figures, json};
use inferometer_report::run::{Detail, RunReport};
use inferometer_site::pages::capacity::CapacityPage;
use inferometer_store::run_dir::RunDir;
use inferometer_store::sweep_dir::below;
use inferometer_store::whole_file;
use inferometer_text::Lang;
use std::path::Path;

pub fn show(found: &Capacity, folder: &Path, options: &OutputOptions) -> anyhow::Result<()> {
    let lang = language(options.lang);
    let directory = shown(folder);
    let doc = || {
        let run = FirstRun::of(found, folder);
        let run = run.as_ref().map(FirstRun::report);
        compose(found, run.as_ref(), &directory, lang)
    };
    deliver(options, folder, |format| {
        Ok(Rendered::Whole(match format {
            Format::Text => text::render(&doc(), style()),
            Format::Md => markdown::render(&doc()),
            Format::Json => json(found),
            Format::Junit | Format::Github => bail!(NO_CHECKS),
            Format::Csv => {
                bail!("a capacity is not a table; use --format text, md, json, html, svg or png")
            }
            Format::Html => page(found, folder, lang),
            Format::Svg | Format::Png => {
                let drawn = figures(found, &probed(found, folder), lang);
                return Ok(Rendered::Figures(drawn));
            }
        }))
    })
}

/// The first of its runs that can be read.
struct FirstRun {
    summary: Summary,
    scenario: Scenario,
    environment: Environment,
    ending: Ending,
}

impl FirstRun {
    fn of(found: &Capacity, folder: &Path) -> Option<Self> {
        found.probes.iter().find_map(|probe| {
            let run = RunDir::open(below(folder, &probe.directory)?).ok()?;
            Some(FirstRun {
                summary: run.summary().ok()?,
                scenario: run.scenario().ok()?,
                environment: run.environment().ok()?,
                ending: run.ending().ok()?,
            })
        })
    }

    fn report(&self) -> RunReport<'_> {
        RunReport {
            summary: &self.summary,
            scenario: &self.scenario,
            environment: &self.environment,
            ending: &self.ending,
            directory: None,
            lang: Lang::default(),
            detail: Detail::Numbers,
        }
    }
}

/// The loads of the probes whose runs can be read, and their numbers.
fn probed(found: &Capacity, folder: &Path) -> Vec<(f64, Summary)> {
    let probes = found.probes.iter();
    probes
        .filter_map(|probe| {
            let run = RunDir::open(below(folder, &probe.directory)?).ok()?;
            Some((probe.load(), run.summary().ok()?))
        })
        .collect()
}

pub fn page(found: &Capacity, folder: &Path, lang: Lang) -> String {
    let probes = probed(found, folder);
    let run = FirstRun::of(found, folder);
    let run = run.as_ref().map(FirstRun::report);
    let page = CapacityPage {
        found,
        probes: &probes,
        run: run.as_ref(),
        directory: &shown(folder),
    };
    html::render(&inferometer_site::pages::capacity::compose_page(
        &page, lang,
    ))
}

pub fn read(folder: &Path) -> anyhow::Result<Capacity> {
    Ok(whole_file::read_summed(&folder.join(FILE))?)
}

/// Fine if every tier has an answer that was confirmed, or reached the highest load.
pub fn exit(found: &Capacity) -> Exit {
    let all = std::iter::once(&found.answer).chain(&found.tiers);
    let fine = |tier: &TierCapacity| {
        matches!(
            tier.ending,
            SearchEnding::Confirmed | SearchEnding::AtCeiling
        )
    };
    Exit::fine_if(all.into_iter().all(fine))
}
