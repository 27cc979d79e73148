//! `--allow-run`: measurements that a page starts. Its form is made from the options of the
//! command line; what it asks for is a process of this program, followed like any other.

use crate::chinese::errors::of_command_line;
use crate::chinese::help::laid_over;
use crate::folder::{folder_name, free_folder};
use anyhow::{Context as _, bail};
use clap::parser::ValueSource;
use clap::{Arg, Command};
use inferometer_runner::host;
use inferometer_site::{Form, FormOption};
use inferometer_text::Lang;
use inferometer_text::hostile::printable;
use inferometer_tui::EndWish;
use rustix::process::{Pid, Signal, kill_process};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Commands that a page may start.
const COMMANDS: [&str; 3] = ["run", "sweep", "capacity"];

/// Options that a page may give. None of them reads a file of this machine, takes a secret from
/// it, runs a program on it, or says where on it something is written.
const OFFERED: &str = "\
    url model api no_stream sim_device sim_clock concurrency rate arrival burstiness stagger \
    ramp ramp_from ramp_over max_concurrency requests duration warmup hold cancel drain \
    stop_when until prompt input_tokens output_tokens workload text prefix_tokens \
    prefix_groups cache_hit turns think batch_size max_tokens min_tokens temperature top_p \
    extra images video audio slo attainment label tag seed request_timeout zip repeat order rest \
    over start lowest highest tolerance budget";

/// Words of a command, and bytes of each, at most.
const MOST_WORDS: usize = 200;
const LONGEST_WORD: usize = 4_000;
/// What is kept of what a process says.
const MOST_SAID: usize = 2_000;

/// Starts measurements, one at a time, into a folder.
pub struct Starter {
    program: Command,
    folder: PathBuf,
    started: Mutex<Vec<Arc<Started>>>,
}

pub struct Started {
    pub name: String,
    state: Mutex<State>,
}

enum State {
    /// It is measured by this process.
    Running(Pid),
    /// It is over, and this is what it said.
    Ended(String),
}

impl Started {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn is_running(&self) -> bool {
        matches!(*self.lock(), State::Running(_))
    }

    /// What it said, once it is over.
    pub fn said(&self) -> Option<String> {
        match &*self.lock() {
            State::Running(_) => None,
            State::Ended(said) => Some(said.clone()),
        }
    }

    /// Ends it as Ctrl-C does.
    pub fn end(self: &Arc<Self>) -> EndWish {
        let started = Arc::clone(self);
        Arc::new(move || {
            if let State::Running(process) = *started.lock() {
                let _ = kill_process(process, Signal::INT);
            }
        })
    }
}

impl Starter {
    pub fn new(mut program: Command, folder: PathBuf) -> Self {
        program.build();
        Starter {
            program,
            folder,
            started: Mutex::default(),
        }
    }

    pub fn started(&self, name: &str) -> Option<Arc<Started>> {
        let started = self.lock();
        let mut found = started.iter().filter(|started| started.name == name);
        found.next().map(Arc::clone)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Started>>> {
        self.started.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The forms of all commands, with texts in both languages.
    pub fn forms(&self) -> Vec<Form> {
        let chinese = laid_over(self.program.clone());
        let form = |name: &&str| {
            let command = self.program.find_subcommand(name)?;
            let translated = chinese.find_subcommand(name)?;
            Some(Form {
                command: (*name).to_owned(),
                about: [command, translated].map(|it| it.get_about().map(text).unwrap_or_default()),
                options: offered(command)
                    .filter_map(|argument| {
                        let same = |other: &&Arg| other.get_id() == argument.get_id();
                        Some(option(argument, translated.get_arguments().find(same)?))
                    })
                    .collect(),
            })
        };
        COMMANDS.iter().filter_map(form).collect()
    }

    /// Starts what the words of a command line ask for, which tells of itself in a language; the
    /// name of its folder.
    pub fn start(&self, words: &[String], lang: Lang) -> anyhow::Result<String> {
        let label = self.check(words, lang)?;
        let mut started = self.lock();
        if let Some(other) = started.iter().find(|it| it.is_running()) {
            bail!(
                "{} is measured already; wait for its end, or end it on its page: two at once disturb each other",
                other.name
            );
        }
        let label = folder_name(label.as_deref().unwrap_or(&words[0]));
        let name = format!("{}-{label}", host::folder_time());
        let out = free_folder(&name, &self.folder);
        let program = std::env::current_exe().context("cannot find this program's own file")?;
        let own = ["--quiet".into(), "--lang".into(), lang.to_string().into()];
        // Before what the page gave, so that nothing of that can change their meaning.
        let child = std::process::Command::new(program)
            .arg(&words[0])
            .args(["--out".as_ref(), out.as_os_str()])
            .args::<_, std::ffi::OsString>(own)
            .args(&words[1..])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot start a process that measures")?;
        let name = out.file_name().unwrap_or_default().to_string_lossy();
        let new = Arc::new(Started {
            name: name.into_owned(),
            state: Mutex::new(State::Running(Pid::from_child(&child))),
        });
        let watched = Arc::clone(&new);
        std::thread::Builder::new()
            .name("measurement".into())
            .spawn(move || watch(child, &watched, &out))
            .context(crate::NO_THREAD)?;
        let name = new.name.clone();
        started.push(new);
        Ok(name)
    }

    /// Refuses what no page may ask for, and what the command line would refuse; the label.
    fn check(&self, words: &[String], lang: Lang) -> anyhow::Result<Option<String>> {
        let Some(name) = words.first().filter(|it| COMMANDS.contains(&it.as_str())) else {
            bail!("a page may start {}", COMMANDS.join(", "));
        };
        let is_long = |word: &String| word.len() > LONGEST_WORD;
        if words.len() > MOST_WORDS || words.iter().any(is_long) {
            bail!("that is too long for a page; use the command line");
        }
        let all = std::iter::once("inferometer").chain(words.iter().map(String::as_str));
        let matches = match self.program.clone().try_get_matches_from(all) {
            Ok(matches) => matches,
            Err(error) => {
                let chinese = of_command_line(&error).filter(|_| lang == Lang::Zh);
                bail!(
                    "{}",
                    chinese.unwrap_or_else(|| crate::said(&error.render().to_string()))
                )
            }
        };
        let (Some(given), Some(command)) = (
            matches.subcommand_matches(name),
            self.program.find_subcommand(name),
        ) else {
            bail!("a page may start {}", COMMANDS.join(", "));
        };
        for argument in command.get_arguments() {
            let id = argument.get_id().as_str();
            let is_given = given.value_source(id) == Some(ValueSource::CommandLine);
            if is_given && !is_offered(id) {
                bail!("{argument} is not for pages; use the command line");
            }
        }
        // A length may be drawn from a file.
        if words.iter().any(|word| word.contains("histogram(")) {
            bail!("a page cannot name files of this machine; use the command line");
        }
        let mut labels = given.get_raw("label").into_iter().flatten();
        Ok(labels.next().map(|it| it.to_string_lossy().into_owned()))
    }
}

/// Waits for the end of a measurement, and keeps what it said.
fn watch(mut child: Child, started: &Started, out: &Path) {
    let mut said = Vec::new();
    if let Some(mut stderr) = child.stderr.take() {
        let mut piece = [0; 1024];
        while let Ok(count @ 1..) = stderr.read(&mut piece) {
            said.extend_from_slice(&piece[..count]);
            // The end says why.
            let surplus = said.len().saturating_sub(MOST_SAID);
            said.drain(..surplus);
        }
    }
    let _ = child.wait();
    // One that was refused leaves an empty folder; any other stays.
    let _ = std::fs::remove_dir(out);
    let said = String::from_utf8_lossy(&said);
    *started.lock() = State::Ended(printable(said.trim(), MOST_SAID));
}

fn offered(command: &Command) -> impl Iterator<Item = &Arg> {
    let arguments = command.get_arguments();
    arguments.filter(|argument| is_offered(argument.get_id().as_str()))
}

fn is_offered(id: &str) -> bool {
    OFFERED.split(' ').any(|offered| offered == id)
}

fn text(text: &clap::builder::StyledStr) -> String {
    text.to_string().replace('\n', " ")
}

fn option(argument: &Arg, translated: &Arg) -> FormOption {
    let both = [argument, translated];
    let values = argument.get_value_names().unwrap_or_default();
    let most = argument.get_num_args().map(|range| range.max_values());
    let is_switch = !argument.get_action().takes_values() || most == Some(0);
    let is_repeatable = matches!(argument.get_action(), clap::ArgAction::Append);
    FormOption {
        name: argument.get_long().map(|long| format!("--{long}")),
        topic: both.map(|it| it.get_help_heading().unwrap_or_default().to_owned()),
        help: both.map(|it| it.get_help().map(text).unwrap_or_default()),
        value: values
            .iter()
            .map(|it| it.as_str())
            .collect::<Vec<_>>()
            .join(" "),
        is_switch,
        is_repeatable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Cli;
    use clap::CommandFactory as _;

    fn starter() -> Starter {
        Starter::new(Cli::command(), PathBuf::from("nowhere"))
    }

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn what_is_offered_is_there_and_has_both_languages() {
        let forms = starter().forms();
        assert_eq!(forms.len(), COMMANDS.len());
        let known = |id: &str| {
            let starter = starter();
            COMMANDS.iter().any(|name| {
                let command = starter.program.find_subcommand(name).unwrap();
                offered(command).any(|argument| argument.get_id() == id)
            })
        };
        let unknown: Vec<&str> = OFFERED.split(' ').filter(|id| !known(id)).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
        for option in forms.iter().flat_map(|form| &form.options) {
            let [en, zh] = &option.help;
            assert!(!en.is_empty() && en != zh, "{option:?}");
        }
    }

    #[test]
    fn nothing_is_started_that_reads_writes_or_runs_something_on_this_machine() {
        let starter = starter();
        let check = |line: &str| starter.check(&words(line), Lang::En);
        let url = "http://localhost:8000";
        check("run").unwrap();
        check(&format!("run {url} --concurrency 8 --label night")).unwrap();
        check(&format!("sweep {url} --concurrency 1,2,4 --repeat 2")).unwrap();
        check("capacity --slo ttft.p99=1s --over concurrency").unwrap();
        for bad in ["", "tune study.toml", "serve"] {
            assert!(check(bad).is_err(), "{bad}");
        }
        let options = "--out elsewhere|--api-key-file /etc/passwd|--api-key-env HOME|--header a=b|\
                       --data /etc/passwd|--config /etc/passwd|--check command:reboot|\
                       --input-tokens histogram(/etc/passwd)|-- sh -c reboot|-o page.html|\
                       --engine-stop reboot -- vllm serve m|--live=0.0.0.0:80|\
                       --concurrency none|--no-such-option";
        for bad in options.split('|') {
            assert!(check(&format!("run {bad}")).is_err(), "{bad}");
        }
    }
}
