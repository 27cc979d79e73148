//! The installed engine, asked for its version and its flags; what it says wins over our table.

use crate::inquiry::{Answer, inquire};
use crate::supervisor::Supervisor;
use inferometer_catalog::engine::flag::{Lookup, lookup};
use inferometer_catalog::engine::{EngineKind, Form, LaunchCommand, Version};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// A text with fewer flags than this is not the help of an engine.
const LEAST_FLAGS: usize = 5;

/// The flags that an engine's `--help` names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Help {
    flags: BTreeSet<String>,
}

impl Help {
    /// Reads a help text; `None` if it names hardly any flag.
    pub fn read(text: &str) -> Option<Help> {
        let parts = text.split(|c: char| c.is_whitespace() || "[](){}|,/=`'\"".contains(c));
        let flags: BTreeSet<String> = parts
            .filter(|part| {
                let bare = part.trim_start_matches('-');
                part.starts_with('-')
                    && part.len() - bare.len() <= 2
                    && bare.starts_with(|c: char| c.is_ascii_alphabetic())
                    && bare
                        .chars()
                        .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
            })
            .map(|part| part.trim_end_matches(['.', '-']).to_owned())
            .collect();
        (flags.len() >= LEAST_FLAGS).then_some(Help { flags })
    }

    /// Does the engine know this spelling, or is it the beginning of one that it knows?
    pub fn knows(&self, spelled: &str) -> bool {
        let plain = spelled.replace('_', "-");
        let is_long = plain.starts_with("--") && plain.len() > 3;
        self.flags
            .iter()
            .any(|flag| flag == spelled || *flag == plain || (is_long && flag.starts_with(&plain)))
    }

    /// Names of the flags without dashes.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.flags.iter().map(|flag| flag.trim_start_matches('-'))
    }
}

/// What an installed engine says of itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Installed {
    pub version: Option<Version>,
    /// Its flags; asked for only where our table may be wrong.
    pub help: Option<Help>,
    /// The question that it did not answer in time; none was asked after it.
    pub unanswered: Option<String>,
}

/// How an installed engine is asked.
pub struct Interview<'a> {
    /// Ends a question that takes too long, or that outlives us.
    pub supervisor: &'a Supervisor,
    /// Its version, where the user gives it: then it is not asked for.
    pub version: Option<Version>,
    /// Time for all questions together.
    pub limit: Duration,
    /// Called several times per second with the question and how long it has taken so far.
    pub waiting: &'a mut dyn FnMut(&str, Duration),
}

/// Asks the engine of a command. An engine behind a wrapper is not asked, since that may start a
/// container or a job; the tag of its image tells the version, if anything does.
pub fn probe(
    command: &LaunchCommand,
    environment: &[(String, String)],
    interview: &mut Interview,
) -> Installed {
    let tag = command.container.as_ref().and_then(|it| it.tag.as_deref());
    let mut installed = Installed {
        version: interview.version.or_else(|| tag?.parse().ok()),
        ..Installed::default()
    };
    if !is_local(command) || command.program.is_empty() {
        return installed;
    }
    let deadline = Instant::now() + interview.limit;
    let mut ask = |words: Vec<String>, unanswered: &mut Option<String>| {
        if unanswered.is_some() {
            return None;
        }
        let question = words.join(" ");
        let left = deadline.saturating_duration_since(Instant::now());
        let waiting = &mut |since| (interview.waiting)(&question, since);
        match inquire(&words, environment, interview.supervisor, left, waiting) {
            Answer::Text(text) => Some(text),
            Answer::Failed => None,
            Answer::OutOfTime => {
                *unanswered = Some(question);
                None
            }
        }
    };
    if installed.version.is_none() {
        installed.version = version_words(command)
            .and_then(|words| ask(words, &mut installed.unanswered))
            .and_then(|text| find_version(&text));
    }
    if needs_help(command, installed.version) {
        // `--help` of newer vLLM lists only groups.
        let spellings = match command.engine {
            EngineKind::Vllm => vec!["--help=all", "--help"],
            _ => vec!["--help"],
        };
        installed.help = spellings.into_iter().find_map(|spelling| {
            let mut words = command.program.clone();
            words.push(spelling.to_owned());
            Help::read(&ask(words, &mut installed.unanswered)?)
        });
    }
    installed
}

/// Nothing stands between this host and the engine but its environment.
pub(crate) fn is_local(command: &LaunchCommand) -> bool {
    let is_environment = |word: &String| word == "env" || word.contains('=');
    command.container.is_none() && command.wrapper.iter().all(is_environment)
}

fn version_words(command: &LaunchCommand) -> Option<Vec<String>> {
    let program = command.program.first()?.clone();
    let import = |module: &str| {
        let script = format!("import {module}; print({module}.__version__)");
        vec![program.clone(), "-c".to_owned(), script]
    };
    let is_python = program
        .rsplit('/')
        .next()
        .is_some_and(|name| name.starts_with("python"));
    Some(match command.form {
        Form::VllmServe | Form::VllmApiServer if is_python => import("vllm"),
        Form::SglangModule => import("sglang"),
        Form::VllmServe | Form::SglangServe | Form::LlamaServer => {
            vec![program, "--version".to_owned()]
        }
        Form::VllmApiServer | Form::MindieDaemon | Form::TrtllmServe | Form::Other => return None,
    })
}

/// The last word that is a version: warnings of libraries come before it. llama.cpp counts
/// builds: `version: 6123 (abc)`.
fn find_version(text: &str) -> Option<Version> {
    let build = text.lines().find_map(|line| {
        let rest = line.trim().strip_prefix("version:")?;
        rest.split_whitespace().next()?.parse().ok()
    });
    build.or_else(|| {
        let words = text.split_whitespace().filter(|word| word.contains('.'));
        words.filter_map(|word| word.parse().ok()).next_back()
    })
}

/// Our table may be wrong about a version that is newer than it, and about flags that it does
/// not know.
fn needs_help(command: &LaunchCommand, version: Option<Version>) -> bool {
    // MindIE's flags are keys of a file, and its daemon may start whatever it is asked.
    if command.engine == EngineKind::Mindie {
        return false;
    }
    let newest = command.engine.newest();
    let is_known = |spelled: &str| {
        let base = spelled.split('.').next().unwrap_or(spelled);
        matches!(
            lookup(command.engine, version.or(Some(newest)), base),
            Lookup::Found { .. }
        )
    };
    let counts_builds = command.engine == EngineKind::LlamaServer;
    version.is_some_and(|version| version > newest && !counts_builds)
        || command.flags.iter().any(|given| !is_known(&given.spelled))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_found_in_a_help_text() {
        let text = "usage: vllm serve [-h] [--headless]\n  -tp, --tensor-parallel-size N  (default: 1)\n  --enable-x, --no-enable-x\n  --max-num-seqs MAX_NUM_SEQS such as --foo.\n a - b -- -1 ---";
        let help = Help::read(text).unwrap();
        let knowns = "-tp --tensor-parallel-size --no-enable-x --max_num_seqs --max-num-se --foo";
        for known in knowns.split(' ') {
            assert!(help.knows(known), "{known}");
        }
        for unknown in ["--swap-space", "-1", "--", "-t"] {
            assert!(!help.knows(unknown), "{unknown}");
        }
        assert_eq!(Help::read("Unknown option --help"), None);
    }

    #[test]
    fn versions_are_found_among_warnings() {
        let vllm = "Triton 3.1.0 is installed\nINFO 11-15 06:01:17 [x.py:1]\n0.32.0+cpu\n";
        assert_eq!(find_version(vllm), "0.32.0".parse().ok());
        assert_eq!(
            find_version("version: 6123 (abc)\nbuilt with cc 13.2.0"),
            "6123".parse().ok()
        );
        assert_eq!(find_version("no idea"), None);
    }

    #[test]
    fn an_engine_that_a_question_might_start_is_not_asked() {
        let command =
            LaunchCommand::parse_line("docker run -p 1:8000 vllm/vllm-openai:v0.10.1 --model m")
                .unwrap();
        let mut interview = Interview {
            supervisor: &Supervisor {
                program: "/no/such/program".into(),
                arguments: Vec::new(),
            },
            version: None,
            limit: Duration::from_secs(1),
            waiting: &mut |question, _| panic!("it was asked: {question}"),
        };
        let installed = probe(&command, &[], &mut interview);
        assert_eq!(installed.version, "0.10.1".parse().ok());
        let remote = LaunchCommand::parse_line("ssh host vllm serve m").unwrap();
        assert_eq!(probe(&remote, &[], &mut interview), Installed::default());
        let mindie = LaunchCommand::parse_line("./mindieservice_daemon --maxBatchSize 8").unwrap();
        assert_eq!(probe(&mindie, &[], &mut interview), Installed::default());
        interview.version = "0.9.2".parse().ok();
        let given = probe(&remote, &[], &mut interview);
        assert_eq!(given.version, interview.version);
    }
}
