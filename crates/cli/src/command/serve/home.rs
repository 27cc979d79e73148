//! What is stored in the folders that are served, by names that fit into an address.

use super::live;
use super::metrics::{self, View};
use crate::command::{compare, history, runs, site};
use anyhow::bail;
use inferometer_core::point::Point;
use inferometer_load::instrument::Control;
use inferometer_report::runs::{KnownResult, RunState, value};
use inferometer_report::site::{Entry, Hosting, MayEnd, index, live_page};
use inferometer_store::run_dir::{RunDir, modified};
use inferometer_store::stored::{Kind, Stored, list};
use inferometer_text::Lang;
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

pub struct Home {
    folders: Vec<PathBuf>,
    lang: Lang,
    /// The run that this process makes, by the name of its folder, where a page may end it.
    own_run: Option<(String, Control)>,
    /// Results that were read already. Only a cache.
    known: Mutex<HashMap<PathBuf, Stamped>>,
}

impl Home {
    pub fn new(folders: Vec<PathBuf>, lang: Lang) -> Self {
        Home {
            folders,
            lang,
            own_run: None,
            known: Mutex::default(),
        }
    }

    /// The same beside a run of this process, which a page may end.
    pub fn beside(folder: PathBuf, run: String, control: Control, lang: Lang) -> Self {
        Home {
            own_run: Some((run, control)),
            ..Self::new(vec![folder], lang)
        }
    }

    /// Ends the run of this process; false where that is another's, or may not be.
    pub fn end(&self, id: &str) -> bool {
        let own = self.own_run.iter().find(|(run, _)| run == id);
        own.map(|(_, control)| control.interrupt()).is_some()
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
        let Some(stored) = self.stored(id) else {
            return Ok(None);
        };
        if is_running(&stored) {
            let own = self.own_run.iter().any(|(run, _)| run == id);
            let run = format!("../api/runs/{}", encoded(id));
            let may_end = if own { MayEnd::Yes } else { MayEnd::No };
            return Ok(Some(live_page(
                &runs::name(&stored),
                &run,
                may_end,
                self.lang,
            )));
        }
        Ok(Some(site::made_page(&stored, self.lang)))
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
        let running = results.iter().filter(|(_, stored)| is_running(stored));
        let views = running.filter_map(|(id, stored)| {
            let records = live::records(&stored.path).ok()?;
            let run = RunDir::open(&stored.path).ok()?;
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

fn is_running(stored: &Stored) -> bool {
    stored.kind == Kind::Run && RunDir::open(&stored.path).is_ok_and(|run| run.is_running())
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
