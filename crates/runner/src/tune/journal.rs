//! `trials.jsonl` of a study's folder: what happened so far, and a writer that keeps it true.

use crate::error::{Context as _, RunnerError, bail};
use inferometer_campaign::trial::{Bed, Ending, Event, Header, Proposal, Trial, TrialLog, append};
use inferometer_store::json_lines::lock;
use inferometer_store::stored::STUDY_FILE;
use inferometer_store::whole_file;
use std::fs::{File, OpenOptions};
use std::io::{BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// The log of a study under way.
pub struct Journal {
    path: PathBuf,
    file: File,
    /// Trials that ended, in the order of their ends.
    pub trials: Vec<Trial>,
    /// Trials that began and did not end; after a kill these come first.
    pub pending: Vec<Proposal>,
    complete: bool,
}

impl Journal {
    /// Begins a study in `folder`, or goes on with the same one.
    pub fn open(folder: &Path, study: &str, bed: Bed) -> Result<Journal, RunnerError> {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make {}", folder.display()))?;
        let path = folder.join(STUDY_FILE);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .with_context(|| format!("cannot open {}", path.display()))?;
        if !lock(&file) {
            bail!(
                "{} is in use by another tune; wait for it, or choose another --out",
                folder.display()
            );
        }
        let read =
            TrialLog::read(BufReader::new(&file)).with_context(|| path.display().to_string())?;
        let whole = read.as_ref().map_or(0, |log| log.whole_bytes);
        // What a kill left of a line must not become the beginning of the next.
        file.set_len(whole)
            .with_context(|| format!("cannot write {}", path.display()))?;
        file.seek(SeekFrom::Start(whole))?;
        let mut journal = Journal {
            path,
            file,
            trials: Vec::new(),
            pending: Vec::new(),
            complete: false,
        };
        match read {
            None => journal.write(&Event::Study(Header::new(study, Some(bed))))?,
            Some(log) if log.header.study != study => bail!(
                "{} holds another study; give the study that began there, or another --out",
                folder.display()
            ),
            Some(log) => {
                (journal.trials, journal.pending) = (log.trials, log.pending);
                journal.complete = log.complete;
            }
        }
        Ok(journal)
    }

    /// A trial is about to start.
    pub fn propose(&mut self, proposal: &Proposal) -> Result<(), RunnerError> {
        self.write(&Event::Proposed(proposal.clone()))?;
        self.pending.push(proposal.clone());
        self.complete = false;
        Ok(())
    }

    /// Nothing is left to start.
    pub fn complete(&mut self) -> Result<(), RunnerError> {
        if !self.complete {
            let trials = self.trials.len() as u64;
            self.write(&Event::Complete { trials })?;
            self.complete = true;
        }
        Ok(())
    }

    pub fn end(&mut self, proposal: Proposal, ending: Ending) -> Result<(), RunnerError> {
        self.write(&Event::Ended {
            id: proposal.id,
            ending: ending.clone(),
        })?;
        self.pending.retain(|other| other.id != proposal.id);
        self.trials.push(Trial { proposal, ending });
        Ok(())
    }

    pub fn next_id(&self) -> u64 {
        let ended = self.trials.iter().map(|trial| trial.proposal.id);
        let all = ended.chain(self.pending.iter().map(|proposal| proposal.id));
        all.max().map_or(0, |id| id.saturating_add(1))
    }

    fn write(&mut self, event: &Event) -> Result<(), RunnerError> {
        append(&self.file, event)
            .and_then(|()| self.file.sync_data())
            .with_context(|| {
                format!(
                    "cannot write {}; what is there is intact: make room and run the same command again",
                    self.path.display()
                )
            })
    }
}

/// The study of a folder, with its text and its trials.
pub fn read(folder: &Path) -> Result<TrialLog, RunnerError> {
    let path = folder.join(STUDY_FILE);
    TrialLog::read(BufReader::new(whole_file::open(&path)?))
        .with_context(|| path.display().to_string())?
        .with_context(|| format!("{} is empty; run the study again", path.display()))
}
