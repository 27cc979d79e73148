//! What is stored in the folders that are served, by names that fit into an address.

use super::beside;
use super::index::{Index, keep};
use super::live;
use super::scrape::Scrape;
use super::start::{Started, Starter};
use crate::chinese::errors::in_both;
use crate::command::{compare, history, runs, site};
use crate::language::language;
use crate::session::cache_folder;
use crate::stores::bring;
use anyhow::bail;
use inferometer_bucket::Location;
use inferometer_message::{SiteText, StartText};
use inferometer_page::html::following_browser;
use inferometer_report::runs::{KnownResult, value};
use inferometer_runner::fetched::Wanted;
use inferometer_runner::now::{goes_on, wish_end};
use inferometer_site::{
    Entry, Hosting, MayEnd, index, live_page, plain_page, said_page, start_page,
};
use inferometer_store::run_dir::instant;
use inferometer_store::stored::Stored;
use inferometer_store::verify::has_wrong_hash;
use inferometer_text::Lang;
use inferometer_text::hostile::printable;
use inferometer_tui::{EndWish, state_words};
use inferometer_web::access::encoded;
use inferometer_web::{Answer, Status};
use serde_json::Value;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Times what a look at the hashes of a result took until the next one.
const CHECK_REST: u32 = 10;
const NOTHING_TO_DO: Duration = Duration::from_secs(1);
/// Results that a comparison takes.
const MOST_COMPARED: usize = 16;

/// What this process measures, by the name of its folder, and what ends it where a page may do so.
pub struct Own {
    pub name: String,
    pub end: Option<EndWish>,
}

pub struct Served {
    /// Its name in addresses, where several are served.
    pub name: String,
    pub path: PathBuf,
    /// Where its results come from: what is not here yet of one is brought when its page is opened.
    pub store: Option<Location>,
}

impl Served {
    /// A folder of this machine, called by its own name.
    pub fn at(path: PathBuf) -> Self {
        Served {
            name: last_name(&path),
            path,
            store: None,
        }
    }
}

fn last_name(path: &Path) -> String {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.replace('~', "-")
}

/// Gives each folder a name of its own that does not depend on the others' order, so that an
/// address leads to the same result when another folder is served beside it.
fn told_apart(mut folders: Vec<Served>) -> Vec<Served> {
    let names: Vec<String> = folders.iter().map(|it| it.name.clone()).collect();
    for folder in &mut folders {
        if names.iter().filter(|name| **name == folder.name).count() > 1 {
            let mut hasher = DefaultHasher::new();
            std::path::absolute(&folder.path).ok().hash(&mut hasher);
            folder.name += &format!("-{:04x}", hasher.finish() as u16);
        }
    }
    folders
}

pub struct Home {
    folders: Vec<Served>,
    /// Whether any of them was there at the start.
    was_there: bool,
    lang: Lang,
    /// Nobody chose the language, so that readers have their own.
    follows_reader: bool,
    /// What this process measures.
    own: Option<Own>,
    /// Starts measurements, where pages may.
    starter: Option<Starter>,
    /// Whether pages may end measurements, as far as these let them.
    may_end: bool,
    /// What is known of the results of each folder.
    indices: Vec<Mutex<Index>>,
    /// What Prometheus was told.
    scrape: Mutex<Scrape>,
}

impl Home {
    pub fn new(folders: Vec<Served>, lang: Option<Lang>) -> Self {
        let cache = cache_folder();
        let folders = told_apart(folders);
        let index = |it: &Served| Mutex::new(Index::of(&it.path, cache.clone()));
        Home {
            indices: folders.iter().map(index).collect(),
            was_there: any_is_there(&folders),
            folders,
            lang: language(lang),
            follows_reader: lang.is_none(),
            own: None,
            starter: None,
            may_end: true,
            scrape: Mutex::default(),
        }
    }

    /// The same beside what this process measures.
    pub fn beside(folder: PathBuf, own: Own, lang: Option<Lang>) -> Self {
        let folder = Served::at(folder);
        Home {
            own: Some(own),
            ..Self::new(vec![folder], lang)
        }
    }

    /// The same where pages may start measurements.
    pub fn with(self, starter: Option<Starter>) -> Self {
        Home { starter, ..self }
    }

    /// The same where no page may end a measurement.
    pub fn read_only(self) -> Self {
        Home {
            may_end: false,
            ..self
        }
    }

    fn own(&self, id: &str) -> Option<&Own> {
        self.own.as_ref().filter(|own| own.name == id)
    }

    /// Whether it is measured now, or about to be, or its figures are about to be known.
    fn is_followed(&self, id: &str, stored: &Stored) -> bool {
        let started = self.started(id).is_some_and(|it| it.is_running());
        let is_at_work = started || self.own(id).is_some();
        goes_on(&stored.path) || (is_at_work && live::lacks_figures(&stored.path, true))
    }

    fn started(&self, id: &str) -> Option<Arc<Started>> {
        self.starter.as_ref()?.started(id)
    }

    /// What ends a measurement where a page may do so: one of this process, one that it started, or
    /// that of another process, which hears of it.
    fn ending(&self, id: &str) -> Option<EndWish> {
        if !self.may_end {
            return None;
        }
        if let Some(own) = self.own(id) {
            return own.end.clone();
        }
        if let Some(started) = self.started(id).filter(|it| it.is_running()) {
            return Some(started.end());
        }
        let is_here = self.entry(id)?.0.store.is_none();
        let folder = self.stored(id)?.path;
        (is_here && goes_on(&folder)).then(|| -> EndWish {
            Arc::new(move || {
                let _ = wish_end(&folder);
            })
        })
    }

    /// Ends it; false where that is another's, or may not be.
    pub fn end(&self, id: &str) -> bool {
        self.ending(id).map(|end| end()).is_some()
    }

    /// Starts what the words of a command line ask for, as a JSON array; whoever asks is told of
    /// it in a language.
    pub fn start(&self, words: Option<&str>, lang: Option<&str>) -> Answer {
        let Some(starter) = &self.starter else {
            let text = "measurements are started here with `inferometer serve --allow-run` only";
            return Answer::text(Status::Forbidden, text);
        };
        let words = words.and_then(|words| serde_json::from_str::<Vec<String>>(words).ok());
        let lang = lang.and_then(|lang| lang.parse().ok());
        let lang = lang.unwrap_or(self.lang);
        match starter.start(&words.unwrap_or_default(), lang) {
            Ok(id) => Answer::json(serde_json::json!({"id": id}).to_string()),
            Err(error) => {
                let [english, chinese] = in_both(&error);
                let text = match lang {
                    Lang::En => english,
                    Lang::Zh => chinese,
                };
                Answer::text(Status::BadRequest, &text)
            }
        }
    }

    /// The page that starts a measurement.
    pub fn form(&self) -> Option<String> {
        let starter = self.starter.as_ref()?;
        Some(start_page(&starter.forms(), self.lang))
    }

    /// Events of a result that goes on; also of what this process has yet to begin.
    pub fn events(&self, id: &str) -> Option<Answer> {
        if let Some(started) = self.started(id) {
            let folder = self.folders[0].path.join(id);
            return Some(live::events(folder, move || started.is_running()));
        }
        if self.own(id).is_some() {
            return Some(live::events(self.folders[0].path.join(id), || true));
        }
        let stored = self.stored(id)?;
        Some(live::events(stored.path, || false))
    }

    /// All results with their names in addresses, the newest first.
    fn results(&self) -> Vec<(String, KnownResult)> {
        let mut found = Vec::new();
        for (folder, index) in self.folders.iter().zip(&self.indices) {
            let listed = locked(index).listed();
            found.extend(listed.into_iter().map(|it| (self.id(folder, &it.name), it)));
        }
        if self.indices.len() > 1 {
            let began = |it: &KnownResult| it.started.as_deref().and_then(instant);
            found.sort_by_key(|(_, it)| Reverse(began(it)));
        }
        found
    }

    /// Keeps what was read for the next start, and holds results against their hashes, one after
    /// the other; takes little of the machine.
    pub fn tend_for_ever(&self) {
        loop {
            for index in &self.indices {
                let unkept = locked(index).unkept();
                if let Some(unkept) = unkept {
                    keep(unkept);
                }
            }
            let next = self.indices.iter().find_map(|index| {
                let path = locked(index).unchecked()?;
                Some((index, path))
            });
            let began = Instant::now();
            let rest = match next {
                Some((index, path)) => {
                    if has_wrong_hash(&path) {
                        locked(index).mark_damaged(&path)
                    } else {
                        locked(index).mark_whole(&path)
                    }
                    began.elapsed() * CHECK_REST
                }
                None => NOTHING_TO_DO,
            };
            std::thread::sleep(rest);
        }
    }

    /// The result of a name: an entry of a folder that is served, never a way out of it.
    pub fn stored(&self, id: &str) -> Option<Stored> {
        let (folder, name) = self.entry(id)?;
        let mut path = folder.path.clone();
        for part in name.split('/') {
            path.push(part);
            if !path.symlink_metadata().is_ok_and(|it| it.is_dir()) {
                return None;
            }
        }
        Stored::at(&path)
    }

    /// The same with all that its page is made of.
    fn whole(&self, id: &str) -> anyhow::Result<Option<Stored>> {
        let stored = self.stored(id);
        if stored.is_some()
            && let Some((folder, name)) = self.entry(id)
            && let Some(store) = &folder.store
        {
            bring(&store.below(name)?, Wanted::All)?;
        }
        Ok(stored)
    }

    /// The name of a result in an address: its path below the folder that is served, behind the
    /// name of that folder where there are several.
    fn id(&self, folder: &Served, name: &str) -> String {
        match &self.folders[..] {
            [_] if !name.contains('~') => name.to_owned(),
            _ => format!("{}~{name}", folder.name),
        }
    }

    /// The folder and the name in it that an address means. One without a folder is of the first,
    /// as what this process measures or starts is, or of a time when no other was served.
    fn entry<'a>(&self, id: &'a str) -> Option<(&Served, &'a str)> {
        let named = id.split_once('~').and_then(|(folder, name)| {
            let mut folders = self.folders.iter();
            Some((folders.find(|it| it.name == folder)?, name))
        });
        let (folder, name) = named.unwrap_or((self.folders.first()?, id));
        let is_part = |part: &str| !matches!(part, "" | "." | "..") && !part.contains('\\');
        name.split('/').all(is_part).then_some((folder, name))
    }

    /// A page in its reader's language, where no other was chosen.
    pub fn for_reader(&self, page: String) -> String {
        if self.follows_reader {
            following_browser(&page)
        } else {
            page
        }
    }

    pub fn index(&self) -> anyhow::Result<String> {
        // A folder that was never there is one without results yet.
        if self.was_there && !any_is_there(&self.folders) {
            let folder = printable(&self.folders[0].path.display().to_string(), 500);
            let folder = [("folder", folder)];
            let text = [Lang::En, Lang::Zh].map(|lang| SiteText::FolderGone.with(lang, &folder));
            return Ok(said_page(&text, "./", self.lang));
        }
        let results = self.results().into_iter();
        let entries = results.map(|(id, result)| Entry {
            page: address_of(&id),
            result,
        });
        let entries: Vec<Entry> = entries.collect();
        let hosting = match self.starter {
            Some(_) => Hosting::Starter,
            None => Hosting::Server,
        };
        Ok(index(&entries, hosting, self.lang))
    }

    /// The report of a result, or the page that follows it while it goes on.
    pub fn page(&self, id: &str) -> anyhow::Result<Option<String>> {
        let (stored, started) = (self.whole(id)?, self.started(id));
        let page = |name: &str| {
            let run = format!("../api/runs/{}", encoded(id));
            let may_end = match self.ending(id) {
                Some(_) => MayEnd::Yes,
                None => MayEnd::No,
            };
            live_page(name, &run, may_end, &state_words(), self.lang)
        };
        Ok(match stored {
            Some(stored) if self.is_followed(id, &stored) => Some(page(&runs::name(&stored))),
            Some(stored) => Some(site::made_page(&stored, self.lang)),
            None => match started.map(|started| started.said()) {
                Some(None) => Some(page(id)),
                Some(Some(said)) => {
                    let failed = |lang| format!("{}\n{said}", StartText::Failed.text(lang));
                    let text = [Lang::En, Lang::Zh].map(failed);
                    Some(plain_page(id, &text, None, "../", self.lang))
                }
                None => self.own(id).map(|own| page(&own.name)),
            },
        })
    }

    /// Results whose names are separated by commas, the first as baseline.
    pub fn comparison(&self, ids: &str) -> anyhow::Result<String> {
        let ids: Vec<&str> = ids.split(',').filter(|id| !id.is_empty()).collect();
        if !(2..=MOST_COMPARED).contains(&ids.len()) {
            bail!("tick two results or more, {MOST_COMPARED} at most, to compare them");
        }
        let path = |id: &&str| match self.whole(id)? {
            Some(stored) => Ok(stored.path.display().to_string()),
            None => bail!("{id} is not stored here"),
        };
        let paths: Vec<String> = ids.iter().map(path).collect::<anyhow::Result<_>>()?;
        compare::page(&paths, self.lang)
    }

    /// A page with the way back to the list, or one that says why there is none, with the status of
    /// that.
    pub fn or_said(&self, page: anyhow::Result<String>, none: Status) -> Answer {
        match page {
            Ok(page) => Answer::page(&self.for_reader(beside(page, "./"))),
            Err(error) => self.said(none, &in_both(&error), "./"),
        }
    }

    /// A page that says something in both languages, with the way to the list.
    pub fn said(&self, status: Status, text: &[String; 2], list: &str) -> Answer {
        let page = said_page(text, list, self.lang);
        let mut answer = Answer::page(&self.for_reader(page));
        answer.status = status;
        answer
    }

    pub fn history(&self) -> anyhow::Result<String> {
        let folders: Vec<PathBuf> = self.folders.iter().map(|it| it.path.clone()).collect();
        history::page(&folders, self.lang)
    }

    /// The list for programs, with the name of each in addresses.
    pub fn listed(&self) -> anyhow::Result<Value> {
        let (ids, known): (Vec<String>, Vec<KnownResult>) = self.results().into_iter().unzip();
        let ids = known.iter().map(|it| it.path.as_path()).zip(&ids);
        let ids: HashMap<&Path, &String> = ids.collect();
        let mut listed = value(&known);
        // In an order of their own, the newest of all folders first.
        if let Some(Value::Array(lines)) = listed.get_mut("runs") {
            for line in lines {
                let path = line["path"].as_str().map(Path::new);
                line["id"] = path.and_then(|path| ids.get(path).copied()).cloned().into();
            }
        }
        Ok(listed)
    }

    /// The figures of one result, held against its hashes.
    pub fn summary(&self, id: &str) -> anyhow::Result<Option<Value>> {
        let Some(stored) = self.stored(id) else {
            return Ok(None);
        };
        let mut known = runs::known(&stored);
        if known.is_final() && has_wrong_hash(&stored.path) {
            known.mark_damaged();
        }
        let mut listed = value(std::slice::from_ref(&known));
        let mut line = listed["runs"][0].take();
        line["id"] = id.into();
        line["summary"] = serde_json::to_value(&known.figures)?;
        Ok(Some(line))
    }

    /// The client's view of all runs that go on or have just ended, for Prometheus.
    pub fn metrics(&self) -> String {
        let mut scrape = self.scrape.lock().unwrap_or_else(PoisonError::into_inner);
        scrape.made().unwrap_or_else(|| {
            let results = self.results();
            let results = results.iter();
            scrape.metrics(results.map(|(id, result)| (id.as_str(), result.path.as_path())))
        })
    }
}

fn any_is_there(folders: &[Served]) -> bool {
    folders.iter().any(|it| it.path.is_dir())
}

fn locked(index: &Mutex<Index>) -> MutexGuard<'_, Index> {
    (index.lock()).unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Where the page of a result is.
pub fn address_of(id: &str) -> String {
    format!("runs/{}", encoded(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_to_entries_of_the_folders_and_nowhere_else() {
        let place = tempfile::tempdir().unwrap();
        let (served, secret) = (place.path().join("served"), place.path().join("secret"));
        for folder in [&served, &secret, &served.join("a")] {
            std::fs::create_dir(folder).unwrap();
        }
        for run in [&served.join("a"), &secret] {
            std::fs::write(run.join("scenario.toml"), "").unwrap();
        }
        std::os::unix::fs::symlink(&secret, served.join("link")).unwrap();
        let team = served.join("team/of");
        std::fs::create_dir_all(team.join("b")).unwrap();
        std::fs::write(team.join("b/scenario.toml"), "").unwrap();
        std::os::unix::fs::symlink(place.path(), served.join("team/out")).unwrap();
        let home = Home::new(vec![Served::at(served.clone())], Some(Lang::En));
        assert_eq!(home.stored("a").map(|it| it.path), Some(served.join("a")));
        assert_eq!(
            home.stored("team/of/b").map(|it| it.path),
            Some(team.join("b"))
        );
        let ids = " . .. ../secret link b 1~a secret~a served~../secret team team/of/b/.. \
                   team//of/b team/out/secret /team/of/b 7~ 0~../secret /etc";
        for id in ids.split(' ') {
            assert!(home.stored(id).is_none(), "{id}");
        }
    }

    #[test]
    fn addresses_stay_the_same_when_other_folders_are_served_beside_or_before_theirs() {
        let place = tempfile::tempdir().unwrap();
        let folder = |name: &str| {
            let run = place.path().join(name).join("r1");
            std::fs::create_dir_all(&run).unwrap();
            std::fs::write(run.join("scenario.toml"), "").unwrap();
            place.path().join(name)
        };
        let (old, new, other_new) = (folder("old"), folder("new"), folder("b/new"));
        let served = |folders: &[&PathBuf]| {
            let folders = folders.iter().map(|it| Served::at((*it).clone()));
            Home::new(folders.collect(), Some(Lang::En))
        };
        let found = |home: &Home, id: &str| home.stored(id).map(|it| it.path);
        for order in [[&old, &new], [&new, &old]] {
            let home = served(&order);
            assert_eq!(found(&home, "old~r1"), Some(old.join("r1")));
            assert_eq!(found(&home, "new~r1"), Some(new.join("r1")));
        }
        let home = served(&[&old, &new, &other_new]);
        let ids: Vec<String> = home.results().into_iter().map(|(id, _)| id).collect();
        let mut paths: Vec<_> = ids.iter().filter_map(|id| found(&home, id)).collect();
        paths.sort();
        let mut all = [&old, &new, &other_new].map(|it| it.join("r1"));
        all.sort();
        assert_eq!(paths, all);
        assert_eq!(found(&home, "new~r1"), None, "which of the two?");
    }
}
