//! A search that is stored: read, shown, judged.

use crate::exit::Exit;
use crate::options::{Format, NO_CHECKS, OutputOptions};
use crate::output::{Rendered, deliver, language, style};
use crate::stores::shown;
use anyhow::bail;
use inferometer_campaign::capacity::stored::{Capacity, FILE, SearchEnding, TierCapacity};
use inferometer_core::summary::Summary;
use inferometer_page::{html, markdown, text};
use inferometer_report::capacity::{compose, figures, json};
use inferometer_site::pages::capacity::CapacityPage;
use inferometer_store::run_dir::RunDir;
use inferometer_store::sweep_dir::below;
use inferometer_store::whole_file;
use inferometer_text::Lang;
use std::path::Path;

pub fn show(found: &Capacity, folder: &Path, options: &OutputOptions) -> anyhow::Result<()> {
    let lang = language(options.lang);
    let directory = shown(folder);
    deliver(options, folder, |format| {
        Ok(Rendered::Whole(match format {
            Format::Text => text::render(&compose(found, &directory, lang), style()),
            Format::Md => markdown::render(&compose(found, &directory, lang)),
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
    let mut runs = found.probes.iter();
    let environment = runs.find_map(|probe| {
        let run = RunDir::open(below(folder, &probe.directory)?).ok()?;
        run.environment().ok()
    });
    let page = CapacityPage {
        found,
        probes: &probes,
        environment: environment.as_ref(),
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
