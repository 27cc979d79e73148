//! `inferometer upload`: a stored result to an object store, or what is missing there.

use crate::exit::Exit;
use crate::options::lang;
use crate::output::{language, print};
use crate::registry;
use crate::session::session;
use crate::stores::{Out, carry, said};
use anyhow::{Context, bail};
use clap::Args;
use inferometer_bucket::Location;
use inferometer_runner::now::goes_on;
use inferometer_runner::upload::Upload;
use inferometer_store::copies::UploadLog;
use inferometer_store::stored::Stored;
use inferometer_text::Lang;
use std::path::{Path, PathBuf};

#[derive(Args)]
pub struct UploadArguments {
    /// A run, sweep or search, or another result
    #[arg(value_name = "DIR")]
    pub folder: String,
    /// Where it goes, as s3://BUCKET/PATH, gs://… or az://…; with a slash at the end, below it
    /// under its own name [where it was meant to go when it was measured]
    #[arg(value_name = "URL")]
    pub url: Option<Out>,
    /// Language [from the locale]
    #[arg(long, value_name = "en|zh", value_parser = lang)]
    pub lang: Option<Lang>,
}

pub fn run(arguments: &UploadArguments) -> anyhow::Result<Exit> {
    let lang = language(arguments.lang);
    let folder = PathBuf::from(registry::path_of(&arguments.folder));
    if Stored::at(&folder).is_none() {
        bail!(
            "{} is not a result; give a run, a sweep or a search: `inferometer runs` lists them",
            folder.display()
        );
    }
    if goes_on(&folder) {
        bail!("{} still goes on; wait for its end", folder.display());
    }
    let place = place(arguments.url.as_ref(), &folder)?;
    let upload = Upload::prepare(&folder, &place, &*session(lang)?, None)?;
    let (place, done) = carry(upload, lang)?;
    print(&(said(&place, done, lang) + "\n"))?;
    Ok(Exit::Fine)
}

/// Where a result goes: as it is said, else as it is noted.
fn place(given: Option<&Out>, folder: &Path) -> anyhow::Result<Location> {
    match given {
        Some(Out::Store(place)) if place.is_folder() => {
            let whole = folder.canonicalize()?;
            let name = whole.file_name().and_then(|name| name.to_str());
            Ok(place.below(name.context("the folder has no name")?)?)
        }
        Some(Out::Store(place)) => Ok(place.clone()),
        Some(Out::Folder(other)) => bail!(
            "{} is not a place in an object store; write s3://BUCKET/PATH, gs://BUCKET/PATH or az://CONTAINER/PATH",
            other.display()
        ),
        None => {
            let log = UploadLog::of(folder)?.with_context(|| {
                format!(
                    "{} was not meant for a store; say where it goes, as in s3://BUCKET/PATH",
                    folder.display()
                )
            })?;
            Ok(log.url.parse()?)
        }
    }
}
