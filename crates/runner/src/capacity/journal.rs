//! `probes.jsonl` of a search's folder: its plan, and what each probe said, so that a search that
//! was cut off goes on without measuring anything twice.

use crate::error::{Context as _, RunnerError, bail};
use inferometer_campaign::capacity::stored::{Capacity, FILE, MadeProbe, SearchLine, SearchPlan};
use inferometer_store::json_lines::{self, JsonLines};
use inferometer_store::run_dir::RunDir;
use inferometer_store::stored::PROBES_FILE;
use inferometer_store::whole_file;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};

/// The folder of a search under way.
pub struct Journal {
    pub folder: PathBuf,
    lines: JsonLines,
    /// Probes of an earlier beginning that were not told again yet.
    pub made: VecDeque<MadeProbe>,
}

impl Journal {
    /// Begins a search in `folder`, or goes on with the same one.
    pub fn open(folder: &Path, plan: SearchPlan) -> Result<Journal, RunnerError> {
        let path = folder.join(PROBES_FILE);
        if !path.is_file() {
            RunDir::check(folder)?;
            std::fs::create_dir_all(folder)
                .with_context(|| format!("cannot make {}", folder.display()))?;
        }
        let Some(mut lines) = JsonLines::open(path.clone())? else {
            bail!(
                "the search in {} still goes on; wait for its end, or interrupt it first",
                folder.display()
            );
        };
        let mut made = VecDeque::new();
        let mut begun = None;
        for line in json_lines::read(&path)? {
            match line {
                SearchLine::Plan(plan) => begun = Some(*plan),
                SearchLine::Probe(probe) => made.push_back(*probe),
            }
        }
        match begun {
            None => lines.append(&SearchLine::Plan(Box::new(plan)))?,
            Some(begun) if begun == as_stored(&plan)? => {}
            Some(_) => bail!(
                "{} holds another search; give the same options to go on with it, or another --out",
                folder.display()
            ),
        }
        Ok(Journal {
            folder: folder.to_owned(),
            lines,
            made,
        })
    }

    pub fn append(&mut self, probe: MadeProbe) -> Result<(), RunnerError> {
        Ok(self.lines.append(&SearchLine::Probe(Box::new(probe)))?)
    }

    /// Writes what is known so far, or in the end.
    pub fn keep(&self, found: &Capacity) -> Result<(), RunnerError> {
        Ok(whole_file::write_summed(&self.folder, FILE, found)?)
    }

    /// A folder, new, for the run of a probe; as a path below the search.
    pub fn new_run(&self, name: &str) -> String {
        let base = format!("probes/{name}");
        // One that is there belongs to a probe that was cut off.
        let others = (2..).map(|attempt| format!("{base}.again{attempt}"));
        let mut names = std::iter::once(base.clone()).chain(others);
        names
            .find(|name| !self.folder.join(name).exists())
            .unwrap_or(base)
    }
}

/// A plan as it is read again: secrets are not written.
fn as_stored(plan: &SearchPlan) -> Result<SearchPlan, RunnerError> {
    Ok(serde_json::from_str(&serde_json::to_string(plan)?)?)
}
