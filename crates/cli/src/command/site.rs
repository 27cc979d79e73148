//! `inferometer report DIR… -o SITE`: a static index of many results, with a page for each.

use crate::chinese::errors::in_both;
use crate::command::runs::{known, name};
use crate::command::{capacity, compare, import, sweep, tune};
use crate::exit::Exit;
use crate::options::OutputOptions;
use crate::output::{check_output, language, page_of, read_again};
use crate::stderr::say;
use anyhow::{Context, bail};
use inferometer_message::SiteText;
use inferometer_page::html::{following_browser, listed_at};
use inferometer_page::text::{TextStyle, render};
use inferometer_report::run::{Detail, RunReport};
use inferometer_runner::measure::ReadFor;
use inferometer_runner::sweep::read as read_sweep;
use inferometer_site::{Entry, Hosting, index, page_name, plain_page};
use inferometer_store::run_dir::RunDir;
use inferometer_store::stored::{Kind, Stored, list};
use inferometer_store::sweep_dir::SweepDir;
use inferometer_store::whole_file;
use inferometer_text::Lang;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// The page that a result may have of its own.
const OWN_PAGE: &str = "report.html";

/// Folder of the pages, below the index.
const PAGES: &str = "pages";

pub fn publish(paths: &[PathBuf], options: &OutputOptions) -> anyhow::Result<Exit> {
    let Some(site) = options.to.as_deref().filter(|to| *to != Path::new("-")) else {
        bail!("several results make an index: give its folder with -o DIR");
    };
    if !options.format.is_empty() || options.dialect.foreign().is_some() {
        bail!("several results make an index of pages; leave out --format and --dialect");
    }
    if site.is_file() {
        bail!(
            "-o {}: the index needs a folder, and this is a file",
            site.display()
        );
    }
    check_output(options)?;
    let results = collect(paths)?;
    let lang = language(options.lang);
    let pages = site.join(PAGES);
    if pages.is_symlink() {
        bail!(
            "{} is a link; remove it, or name another folder",
            pages.display()
        );
    }
    std::fs::create_dir_all(&pages).with_context(|| format!("cannot make {}", pages.display()))?;
    let mut taken = HashSet::new();
    let mut entries = Vec::new();
    for stored in &results {
        let file = page_name(&name(stored), &mut taken);
        write_page(stored, &pages.join(&file), lang)?;
        entries.push(Entry {
            page: format!("{PAGES}/{file}"),
            result: known(stored),
        });
    }
    let list = index(&entries, Hosting::Files, lang);
    let list = match options.lang {
        None => following_browser(&list),
        Some(_) => list,
    };
    write(&site.join("index.html"), &list)?;
    let count = entries.len();
    say(format_args!(
        "results: {count}; open {}",
        site.join("index.html").display()
    ));
    Ok(Exit::Fine)
}

/// The results that paths name: themselves, or what their folders hold. None comes twice.
fn collect(paths: &[PathBuf]) -> anyhow::Result<Vec<Stored>> {
    let (mut found, mut stray) = (Vec::new(), Vec::new());
    for path in paths {
        match Stored::at(path) {
            Some(stored) => found.push(stored),
            None => {
                // One stray file among many results is no reason to publish none.
                let held = if path.is_dir() {
                    list(path)?
                } else {
                    Vec::new()
                };
                if held.is_empty() {
                    stray.push(path.display().to_string());
                }
                found.extend(held);
            }
        }
    }
    if found.is_empty() {
        bail!("{}: no run, sweep or search there", stray.join(", "));
    }
    for path in &stray {
        say(format_args!(
            "warning: {path} is left out: it holds no run, sweep or search"
        ));
    }
    let mut known = HashSet::new();
    found.retain(|stored| {
        let place = stored.path.canonicalize();
        known.insert(place.unwrap_or_else(|_| stored.path.clone()))
    });
    Ok(found)
}

fn write_page(stored: &Stored, file: &Path, lang: Lang) -> anyhow::Result<()> {
    let names = [Lang::En, Lang::Zh].map(|lang| SiteText::Back.text(lang));
    write(
        file,
        &listed_at(&page(stored, lang)?, "../index.html", names),
    )
}

/// The result's own page, else one that is made now; its report as text where no page can be.
fn page(stored: &Stored, lang: Lang) -> anyhow::Result<String> {
    let own = stored.path.join(OWN_PAGE);
    // A link in a stranger's folder may lead to a file that is nobody's business.
    if own.symlink_metadata().is_ok_and(|own| own.is_file()) {
        return std::fs::read_to_string(&own)
            .with_context(|| format!("cannot read {}", own.display()));
    }
    Ok(made_page(stored, lang))
}

/// A page that is made from what is stored: what a stranger put into a folder as its page may hold
/// anything.
pub fn made_page(stored: &Stored, lang: Lang) -> String {
    let path = &stored.path;
    let page = match stored.kind {
        // Without its records the numbers are left, and what is wrong with the records is said.
        Kind::Run => run_page(path, lang).or_else(|error| {
            let numbers = [run_text(path, Lang::En)?, run_text(path, Lang::Zh)?];
            Ok(plain(stored, &error, Some(&numbers), lang))
        }),
        Kind::Sweep => sweep_page(path, lang),
        Kind::Capacity => capacity_page(path, lang),
        Kind::Study => tune::stored_page(path, lang),
        Kind::Import => import::stored_page(path, lang),
        Kind::Comparison => compare::kept_page(path, lang),
    };
    // A result that cannot be read still has its place in the index, and says why.
    page.unwrap_or_else(|error| plain(stored, &error, None, lang))
}

fn plain(
    stored: &Stored,
    why: &anyhow::Error,
    numbers: Option<&[String; 2]>,
    lang: Lang,
) -> String {
    plain_page(&name(stored), &in_both(why), numbers, "../index.html", lang)
}

fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    Ok(whole_file::replace(file, text.as_bytes())?)
}

fn run_page(path: &Path, lang: Lang) -> anyhow::Result<String> {
    let directory = RunDir::open(path)?;
    let scenario = directory.scenario()?;
    // One that goes on has no page yet; of one that was killed, what was recorded is shown.
    if let Err(error) = directory.summary()
        && (directory.is_running() || directory.path().join("summary.json").exists())
    {
        return Err(error.into());
    }
    let run = read_again(directory, scenario, lang, ReadFor::Pictures)?;
    page_of(&run, lang)
}

/// The numbers of a run whose records are gone.
fn run_text(path: &Path, lang: Lang) -> anyhow::Result<String> {
    let run = RunDir::open(path)?;
    let report = RunReport {
        summary: &run.summary()?,
        scenario: &run.scenario()?,
        environment: &run.environment()?,
        ending: &run.ending()?,
        directory: None,
        lang,
        detail: Detail::Numbers,
    };
    let doc = inferometer_report::run::compose(&report);
    Ok(render(&doc, TextStyle::default()))
}

fn sweep_page(path: &Path, lang: Lang) -> anyhow::Result<String> {
    let sweep = SweepDir::open(path)?;
    Ok(sweep::page(&sweep, &read_sweep(&sweep)?, None, lang))
}

fn capacity_page(path: &Path, lang: Lang) -> anyhow::Result<String> {
    Ok(capacity::page(&capacity::read(path)?, path, lang))
}
