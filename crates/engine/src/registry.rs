//! Which engines are up: one small file each in the runs folder, written and removed by the
//! engine's supervisor. A file that stays behind tells the next start about an engine that was left over.

use crate::processes::{self, Process};
use crate::readiness::still_answers;
use inferometer_text::secret::without_credentials;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longest wait for one answer of an engine of an earlier run.
const ANSWER: Duration = Duration::from_secs(2);

/// Larger files were not written by us.
const LARGEST_ENTRY: u64 = 1 << 20;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// Its process, which leads its group.
    pub pid: i32,
    /// Ticks from boot to its start.
    pub started: u64,
    /// The boot that these ticks count from.
    pub boot: String,
    /// The supervisor's process, and the ticks of its start.
    pub supervisor: (i32, u64),
    pub command: Vec<String>,
    /// The command that stops it, where killing the client does not.
    pub stop: Option<Vec<String>>,
    pub log: PathBuf,
    /// The stop command was tried and failed.
    pub unreached: bool,
    /// Where it answered after its stop; empty if it did not.
    #[serde(default)]
    pub answers_at: Vec<String>,
}

impl Entry {
    pub fn path(folder: &Path, supervisor: i32) -> PathBuf {
        folder.join(format!("engine-{supervisor}.json"))
    }

    /// Writes it under another name and renames it, so that a reader finds all or nothing.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let partial = path.with_extension("partial");
        fs::write(&partial, serde_json::to_vec_pretty(self)?)?;
        fs::rename(partial, path)
    }
}

/// What is known of an engine that an earlier run started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftoverState {
    /// Its supervisor is alive: another run uses it.
    InUse,
    /// Its supervisor is gone.
    Orphaned,
    /// It runs elsewhere (in a container, on another host) and could not be told to stop.
    Unreached,
    /// It was stopped, and answers nevertheless.
    Answers,
}

/// An engine that an earlier run started and that is not known to be gone.
#[derive(Clone, Debug)]
pub struct Leftover {
    entry: Entry,
    file: PathBuf,
    pub state: LeftoverState,
}

impl std::fmt::Display for Leftover {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let words = &self.entry.command;
        let command = words[..words.len().min(6)].join(" ");
        let command = inferometer_text::hostile::printable(&command, 120);
        let pid = self.entry.pid;
        match self.state {
            LeftoverState::InUse => {
                write!(
                    f,
                    "`{command}` (pid {pid}) belongs to a run that is still going"
                )
            }
            LeftoverState::Orphaned => write!(
                f,
                "`{command}` (pid {pid}) was left over by an earlier run; end it with `kill -9 -{pid}`"
            ),
            LeftoverState::Answers => {
                let place = self.entry.answers_at.first().map_or("", String::as_str);
                let place = without_credentials(place);
                write!(
                    f,
                    "`{command}` of an earlier run still answers at {place}, although it was stopped; end it there"
                )
            }
            LeftoverState::Unreached => {
                let stop = self.entry.stop.as_deref().unwrap_or_default().join(" ");
                let stop = inferometer_text::hostile::printable(&stop, 120);
                write!(
                    f,
                    "`{command}` may still run elsewhere: its stop command failed; try `{stop}`, then delete {}",
                    self.file.display()
                )
            }
        }
    }
}

/// Engines of earlier runs that are not known to be gone. Entries of engines that are gone are
/// removed.
pub fn leftovers(folder: &Path) -> Vec<Leftover> {
    let Ok(files) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let is_entry = |path: &PathBuf| {
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        name.starts_with("engine-") && name.ends_with(".json")
    };
    let mut found: Vec<Leftover> = files
        .filter_map(|file| Some(file.ok()?.path()))
        .filter(is_entry)
        .filter_map(|file| {
            let entry = read(&file)?;
            match state(&entry) {
                Some(state) => Some(Leftover { entry, file, state }),
                None => {
                    let _ = fs::remove_file(&file);
                    None
                }
            }
        })
        .collect();
    found.sort_by_key(|leftover| leftover.entry.started);
    found
}

fn read(file: &Path) -> Option<Entry> {
    let small = fs::metadata(file).ok()?.len() <= LARGEST_ENTRY;
    serde_json::from_slice(&small.then(|| fs::read(file).ok())??).ok()
}

fn state(entry: &Entry) -> Option<LeftoverState> {
    let this_boot = entry.boot == processes::boot();
    let (supervisor, since) = entry.supervisor;
    let is_supervised =
        processes::one(supervisor).is_some_and(|now| now.started == since && !now.zombie);
    if this_boot && is_supervised {
        return Some(LeftoverState::InUse);
    }
    if !members(entry).is_empty() {
        return Some(LeftoverState::Orphaned);
    }
    // Its stop command went well, so that its silence means that it is gone.
    if !entry.unreached && !entry.answers_at.is_empty() {
        return still_answers(&entry.answers_at, ANSWER).then_some(LeftoverState::Answers);
    }
    // A container or a remote engine survives its client, and even a boot of this host.
    (entry.unreached || entry.stop.is_some()).then_some(LeftoverState::Unreached)
}

/// Living processes of the engine's group. A group whose leader is a different process
/// is not ours: the number was reused.
fn members(entry: &Entry) -> Vec<Process> {
    let reused = processes::one(entry.pid).is_some_and(|now| now.started != entry.started);
    if reused || entry.boot != processes::boot() {
        return Vec::new();
    }
    let mut members = processes::in_group(entry.pid);
    members.retain(|process| process.started >= entry.started);
    members
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command};

    fn sleeper() -> Child {
        Command::new("sleep")
            .arg("600")
            .process_group(0)
            .spawn()
            .unwrap()
    }

    fn entry(pid: i32, started: u64) -> Entry {
        Entry {
            pid,
            started,
            boot: processes::boot(),
            // No such supervisor: the pid is ours, the ticks are not.
            supervisor: (std::process::id() as i32, 1),
            command: vec!["vllm".into(), "serve".into(), "m".into()],
            stop: None,
            log: "engine.log".into(),
            unreached: false,
            answers_at: Vec::new(),
        }
    }

    #[test]
    fn an_engine_without_supervisor_is_named_until_it_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let mut child = sleeper();
        let pid = child.id() as i32;
        let started = processes::one(pid).unwrap().started;
        entry(pid, started)
            .write(&Entry::path(folder.path(), 1))
            .unwrap();
        let found = leftovers(folder.path());
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].state, LeftoverState::Orphaned);
        assert!(found[0].to_string().contains("vllm serve m"));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(leftovers(folder.path()).is_empty());
    }

    #[test]
    fn a_pid_that_was_used_again_is_not_taken_for_ours() {
        let folder = tempfile::tempdir().unwrap();
        let mut child = sleeper();
        let pid = child.id() as i32;
        let started = processes::one(pid).unwrap().started;
        let path = Entry::path(folder.path(), 2);
        entry(pid, started + 1).write(&path).unwrap();
        assert!(leftovers(folder.path()).is_empty());
        assert!(!path.exists(), "a stale entry is removed");
        let other_boot = Entry {
            boot: "another".into(),
            ..entry(pid, started)
        };
        other_boot.write(&path).unwrap();
        assert!(leftovers(folder.path()).is_empty());
        assert!(child.try_wait().unwrap().is_none(), "nobody was killed");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_container_that_could_not_be_stopped_is_named_with_its_stop_command() {
        let folder = tempfile::tempdir().unwrap();
        let lost = Entry {
            stop: Some(vec!["docker".into(), "stop".into(), "bench".into()]),
            unreached: true,
            ..entry(1 << 22, 7)
        };
        lost.write(&Entry::path(folder.path(), 3)).unwrap();
        fs::write(folder.path().join("engine-4.json"), b"\xff not json").unwrap();
        let found = leftovers(folder.path());
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].state, LeftoverState::Unreached);
        assert!(found[0].to_string().contains("docker stop bench"));
    }
}
