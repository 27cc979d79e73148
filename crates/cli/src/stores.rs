//! Object stores: where `--out s3://…` leads, and results that are read from there.

use crate::folder::{folder_name, free_folder, kept_in, new_folder};
use crate::options::RUNS;
use crate::registry;
use crate::session::session;
use crate::stderr::say;
use anyhow::{Context, bail};
use inferometer_bucket::{BucketError, Location, Patience};
use inferometer_message::StoreText;
use inferometer_runner::fetched::{self, Wanted};
use inferometer_runner::upload::{AT_THE_END, Upload, Uploaded, Uploading};
use inferometer_runner::{Session, with_causes};
use inferometer_store::copies::UploadLog;
use inferometer_text::Lang;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// What `--out` names.
#[derive(Clone, Debug)]
pub enum Out {
    Folder(PathBuf),
    Store(Location),
}

impl FromStr for Out {
    type Err = BucketError;

    fn from_str(text: &str) -> Result<Self, BucketError> {
        if Location::is_meant_by(text) {
            return Ok(Out::Store(text.parse()?));
        }
        Ok(Out::Folder(PathBuf::from(text)))
    }
}

impl Out {
    /// The folder, unless it is a store.
    pub fn folder(&self) -> Option<&Path> {
        match self {
            Out::Folder(folder) => Some(folder),
            Out::Store(_) => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measurement {
    Run,
    Sweep,
    Capacity,
}

impl Measurement {
    fn word(self) -> &'static str {
        match self {
            Measurement::Run => "run",
            Measurement::Sweep => "sweep",
            Measurement::Capacity => "capacity",
        }
    }
}

/// Where a measurement is kept: a folder here, and where `--out` says so a copy in a store.
pub struct Kept {
    pub folder: PathBuf,
    carrier: Carrier,
}

enum Carrier {
    Nobody,
    Waiting(Box<Upload>),
    UnderWay(Uploading),
}

impl Kept {
    /// Finds the folder; a store is asked whether it would take the result.
    pub fn find(
        out: Option<&Out>,
        label: Option<&str>,
        what: Measurement,
        session: &Session,
        proxy: Option<&str>,
    ) -> anyhow::Result<Kept> {
        let Some(Out::Store(place)) = out else {
            let folder = kept_in(out.and_then(Out::folder), label, what.word())?;
            return Ok(Kept {
                folder,
                carrier: Carrier::Nobody,
            });
        };
        let (folder, place) = match place.name().filter(|_| !place.is_folder()) {
            Some(name) => (folder_of(place, name, what)?, place.clone()),
            None => {
                let folder = new_folder(label, what.word());
                let name = folder.file_name().unwrap_or_default().to_string_lossy();
                let place = place.below(&name)?;
                (folder, place)
            }
        };
        let upload = Upload::prepare(&folder, &place, session, proxy)?;
        Ok(Kept {
            folder,
            carrier: Carrier::Waiting(Box::new(upload)),
        })
    }

    /// Carries what is finished from now on; the folder must be begun.
    pub fn start(&mut self) -> anyhow::Result<()> {
        self.carrier = match std::mem::replace(&mut self.carrier, Carrier::Nobody) {
            Carrier::Waiting(upload) => {
                upload.note()?;
                Carrier::UnderWay(upload.start()?)
            }
            other => other,
        };
        Ok(())
    }

    /// Carries the rest, and says so.
    pub fn finish(self, quiet: bool, lang: Lang) -> anyhow::Result<()> {
        let upload = match self.carrier {
            Carrier::Nobody => return Ok(()),
            Carrier::Waiting(upload) => *upload,
            Carrier::UnderWay(uploading) => uploading.end(),
        };
        let (place, done) = carry(upload, lang)?;
        if !quiet {
            say(said(&place, done, lang));
        }
        Ok(())
    }
}

/// The folder of a place: the one that was noted for it, else a new one of its name.
fn folder_of(place: &Location, name: &str, what: Measurement) -> anyhow::Result<PathBuf> {
    let (name, url) = (folder_name(name), place.to_string());
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let names = std::iter::once(name.clone()).chain(numbered);
    let there = names.map(|name| Path::new(RUNS).join(name));
    let mut there = there.take_while(|folder| folder.exists());
    let of_place = |folder: &PathBuf| {
        let log = UploadLog::of(folder).ok().flatten();
        log.is_some_and(|log| log.url == url)
    };
    match there.find(of_place) {
        Some(folder) if what == Measurement::Run => bail!(
            "{0} holds what was measured for {place}; `inferometer upload {0}` uploads what is missing there; for another run, choose another --out",
            folder.display()
        ),
        Some(folder) => Ok(folder),
        None => Ok(free_folder(&name, Path::new(RUNS))),
    }
}

/// Brings a result to its place; one line says what to do where that does not work.
pub fn carry(mut upload: Upload, lang: Lang) -> anyhow::Result<(Location, Uploaded)> {
    let place = upload.place().clone();
    let patience = Patience {
        limit: AT_THE_END,
        tell: Some(Box::new(move |error| {
            let seconds = AT_THE_END.as_secs().to_string();
            let values = [("why", with_causes(error)), ("seconds", seconds)];
            say(StoreText::TryingAgain.with(lang, &values));
        })),
    };
    let done = upload.finish(patience).with_context(|| {
        format!(
            "not all of the result was uploaded; it is kept in {0}, and `inferometer upload {0}` uploads the rest",
            upload.folder().display()
        )
    })?;
    Ok((place, done))
}

/// What was uploaded.
pub fn said(place: &Location, done: Uploaded, lang: Lang) -> String {
    let values = [
        ("url", place.to_string()),
        ("files", done.files.to_string()),
        ("kib", done.bytes.div_ceil(1024).to_string()),
        ("known", done.known.to_string()),
    ];
    StoreText::Uploaded.with(lang, &values)
}

/// What a name stands for as a path: of a store, what is wanted of it is brought here first.
pub fn local(name: &str, wanted: Wanted) -> anyhow::Result<String> {
    if !Location::is_meant_by(name) {
        return Ok(registry::path_of(name));
    }
    // A part of it may be asked for, as of any path.
    let (url, part) = name.split_at(name.find(['@', '#']).unwrap_or(name.len()));
    let folder = bring(&url.parse()?, wanted)?;
    let folder = folder
        .to_str()
        .context("the path of the cache is not UTF-8")?;
    Ok(format!("{folder}{part}"))
}

/// Brings what is wanted of a place of a store here, and gives the folder.
pub fn bring(place: &Location, wanted: Wanted) -> anyhow::Result<PathBuf> {
    Ok(fetched::fetch(place, wanted, &*session(Lang::default())?)?)
}

/// The same of the path of a folder, whose name in the runs folder is not meant.
pub fn local_folder(folder: &Path, wanted: Wanted) -> anyhow::Result<PathBuf> {
    match folder.to_str().filter(|text| Location::is_meant_by(text)) {
        Some(url) => Ok(PathBuf::from(local(url, wanted)?)),
        None => Ok(folder.to_owned()),
    }
}

/// A path as it is shown: of what was brought here, its address.
pub fn shown(path: &Path) -> PathBuf {
    let address = session(Lang::default()).ok();
    let address = address.and_then(|session| fetched::address(path, &session));
    address.map_or_else(|| path.to_owned(), PathBuf::from)
}
