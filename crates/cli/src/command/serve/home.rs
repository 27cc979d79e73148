//! What is stored in the folders that are served, by names that fit into an address.

use super::live::{self, Begun};
use super::metrics::{self, View};
use crate::signals::EndWish;
use crate::tui::state_words;
use crate::command::{compare, history, runs, site};
use anyhow::bail;
use inferometer_core::point::Point;
use inferometer_report::runs::{KnownResult, RunState, value};
use inferometer_report::site::{Entry, Hosting, MayEnd, index, live_page};
use inferometer_runner::now::{goes_on, measured};
use inferometer_store::run_dir::modified;
use inferometer_store::stored::{Stored, list};
use inferometer_text::Lang;
use inferometer_web::Answer;
use inferometer_web::access::encoded;
use serde_json::Value;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};

/// Files of a result that change when it does.
const CHANGING: [&str; 7] = [
    ".",
    "summary.json",
    "ending.json",
    "trials.jsonl",
    "capacity.json",
    "probes.jsonl",
    "import.json",
];
/// Results that a comparison takes.
const MOST_COMPARED: usize = 16;

/// When the files of a result were last changed, and what was known of it then.
type Stamped = (Vec<Option<i128>>, KnownResult);

/// What this process measures, by the name of its folder, and what ends it where a page may do so.
pub struct Own {
    pub name: String,
    pub end: Option<EndWish>,
}

pub struct Home {
    folders: Vec<PathBuf>,
    lang: Lang,
    /// What this process measures.
    own: Option<Own>,
    /// Results that were read already. Only a cache.
    known: Mutex<HashMap<PathBuf, Stamped>>,
}

impl Home {
    pub fn new(folders: Vec<PathBuf>, lang: Lang) -> Self {
        Home {
            folders,
            lang,
            own: None,
            known: Mutex::default(),
        }
    }

    /// The same beside what this process measures.
    pub fn beside(folder: PathBuf, own: Own, lang: Lang) -> Self {
        Home {
            own: Some(own),
            ..Self::new(vec![folder], lang)
        }
    }

    fn own(&self, id: &str) -> Option<&Own> {
        self.own.as_ref().filter(|own| own.name == id)
    }

    /// Ends what this process measures; false where that is another's, or may not be.
    pub fn end(&self, id: &str) -> bool {
        let end = self.own(id).and_then(|own| own.end.as_ref());
        end.map(|end| end()).is_some()
    }

    /// Events of a result that goes on; also of what this process has yet to begin.
    pub fn events(&self, id: &str) -> Option<Answer> {
        if self.own(id).is_some() {
            return Some(live::events(self.folders[0].join(id), Begun::OrWillBe));
        }
        let stored = self.stored(id)?;
        Some(live::events(stored.path, Begun::Yes))
    }

    /// All results with their names in addresses, the newest of each folder first.
    fn results(&self) -> anyhow::Result<Vec<(String, Stored)>> {
        let mut found = Vec::new();
        for (nth, folder) in self.folders.iter().enumerate() {
            // A folder that vanishes while it is served has no results.
            let stored = list(folder).unwrap_or_default();
            found.extend(stored.into_iter().map(|it| (id(nth, &it), it)));
        }
        Ok(found)
    }

    /// The result of a name: an entry of a folder that is served, never a way out of it.
    pub fn stored(&self, id: &str) -> Option<Stored> {
        let (nth, name) = match id.split_once('~') {
            Some((nth, name)) if nth.parse::<usize>().is_ok() => (nth.parse().ok()?, name),
            _ => (0, id),
        };
        let is_name =
            !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\\']);
        let path = self.folders.get(nth)?.join(name);
        let is_folder = path.symlink_metadata().is_ok_and(|it| it.is_dir());
        (is_name && is_folder).then(|| Stored::at(&path)).flatten()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, Stamped>> {
        self.known
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn known(&self, stored: &Stored) -> KnownResult {
        let stamps = CHANGING
            .iter()
            .map(|name| modified(&stored.path.join(name)));
        let stamps: Vec<Option<i128>> = stamps.collect();
        if let Some((known, result)) = self.lock().get(&stored.path)
            && *known == stamps
            // One without an end may be about to begin, which changes none of these files.
            && !matches!(result.state, RunState::Running | RunState::Unfinished)
        {
            return result.clone();
        }
        let result = runs::known(stored);
        self.lock()
            .insert(stored.path.clone(), (stamps, result.clone()));
        result
    }

    pub fn index(&self) -> anyhow::Result<String> {
        let results = self.results()?;
        let entry = |(id, stored): &(String, Stored)| Entry {
            page: address_of(id),
            result: self.known(stored),
        };
        let entries: Vec<Entry> = results.iter().map(entry).collect();
        Ok(index(&entries, Hosting::Server, self.lang))
    }

    /// The report of a result, or the page that follows it while it goes on.
    pub fn page(&self, id: &str) -> anyhow::Result<Option<String>> {
        let own = self.own(id);
        let stored = self.stored(id);
        let page = |name: &str| {
            let run = format!("../api/runs/{}", encoded(id));
            let may_end = match own.and_then(|own| own.end.as_ref()) {
                Some(_) => MayEnd::Yes,
                None => MayEnd::No,
            };
            live_page(name, &run, may_end, &state_words(), self.lang)
        };
        Ok(match stored {
            Some(stored) if goes_on(&stored.path) => Some(page(&runs::name(&stored))),
            Some(stored) => Some(site::made_page(&stored, self.lang)),
            None => own.map(|own| page(&own.name)),
        })
    }

    /// Results whose names are separated by commas, the first as baseline.
    pub fn comparison(&self, ids: &str) -> anyhow::Result<String> {
        let ids: Vec<&str> = ids.split(',').filter(|id| !id.is_empty()).collect();
        if !(2..=MOST_COMPARED).contains(&ids.len()) {
            bail!("tick two results or more, {MOST_COMPARED} at most, to compare them");
        }
        let path = |id: &&str| match self.stored(id) {
            Some(stored) => Ok(stored.path.display().to_string()),
            None => bail!("{id} is not stored here"),
        };
        let paths: Vec<String> = ids.iter().map(path).collect::<anyhow::Result<_>>()?;
        compare::page(&paths, self.lang)
    }

    pub fn history(&self) -> anyhow::Result<String> {
        history::page(&self.folders, self.lang)
    }

    /// The list for programs, with the name of each in addresses.
    pub fn listed(&self) -> anyhow::Result<Value> {
        let results = self.results()?;
        let known: Vec<KnownResult> = results.iter().map(|(_, it)| self.known(it)).collect();
        let mut listed = value(&known);
        if let Some(Value::Array(lines)) = listed.get_mut("runs") {
            for (line, (id, _)) in lines.iter_mut().zip(&results) {
                line["id"] = id.clone().into();
            }
        }
        Ok(listed)
    }

    /// The figures of one result.
    pub fn summary(&self, id: &str) -> anyhow::Result<Option<Value>> {
        let Some(stored) = self.stored(id) else {
            return Ok(None);
        };
        let known = self.known(&stored);
        let mut listed = value(std::slice::from_ref(&known));
        let mut line = listed["runs"][0].take();
        line["id"] = id.into();
        line["summary"] = serde_json::to_value(&known.figures)?;
        Ok(Some(line))
    }

    /// The client's view of all runs that go on, for Prometheus.
    pub fn metrics(&self) -> anyhow::Result<String> {
        let results = self.results()?;
        let views = results.iter().filter_map(|(id, stored)| {
            let run = measured(&stored.path)?;
            let records = run.records().ok()?.collect::<Result<_, _>>().ok()?;
            Some(View {
                run: id.clone(),
                model: run.environment().ok()?.server.model,
                load: Point::of_load(&run.scenario().ok()?.load).to_string(),
                records,
            })
        });
        Ok(metrics::text(&Vec::from_iter(views)))
    }
}

/// The name of a result in an address: that of its folder, with the number of the folder that it
/// is in unless that is the first.
fn id(nth: usize, stored: &Stored) -> String {
    match (nth, runs::name(stored)) {
        (0, name) if !name.contains('~') => name,
        (nth, name) => format!("{nth}~{name}"),
    }
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
        let home = Home::new(vec![served.clone()], Lang::En);
        assert_eq!(home.stored("a").map(|it| it.path), Some(served.join("a")));
        for id in [
            "",
            ".",
            "..",
            "../secret",
            "link",
            "b",
            "1~a",
            "7~",
            "0~../secret",
            "/etc",
        ] {
            assert!(home.stored(id).is_none(), "{id}");
        }
    }
}
