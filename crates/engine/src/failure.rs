//! Why an engine did not start, or died: a class, and the lines that say so.

use crate::exit::Exit;
use crate::log::excerpt;
use inferometer_catalog::engine::{EngineKind, FailureClass, failure};
use inferometer_text::hostile::printable;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Last lines of the log that are kept as evidence.
const LAST_LINES: usize = 8;

/// Characters of one line of evidence.
const LINE_CHARS: usize = 400;

#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    pub class: FailureClass,
    /// The line that says why, where one does, or what was seen; then the last lines of the log.
    pub evidence: Vec<String>,
    pub after_s: f64,
    /// The whole log; absent if it never began.
    pub log: Option<PathBuf>,
}

impl Failure {
    /// A process that ended by itself, explained from its log.
    pub(crate) fn of_exit(engine: EngineKind, log: &Path, exit: Exit, after: Duration) -> Self {
        let lines = excerpt(log);
        let text = lines.iter().map(String::as_str);
        let code = match exit {
            Exit::Code(code) => Some(code),
            Exit::Signal(_) => None,
        };
        let cause = failure::explain(engine, text, code);
        let mut evidence: Vec<String> = cause.evidence.into_iter().collect();
        if evidence.is_empty() {
            // Of an engine that we cannot read, the last line says the most.
            evidence.push(
                match lines.iter().rev().find(|line| !line.trim().is_empty()) {
                    Some(line) => format!("{exit}: {}", line.trim()),
                    None => exit.to_string(),
                },
            );
        }
        evidence.extend(last(&lines));
        Self::seen(cause.class, evidence, log, after)
    }

    /// The end of an engine that was computed, explained from its last words.
    pub fn computed(engine: EngineKind, lines: &[String], code: i32, after: Duration) -> Self {
        let text = lines.iter().map(String::as_str);
        let cause = failure::explain(engine, text, Some(code));
        let evidence = cause.evidence.into_iter().chain(last(lines)).collect();
        Failure {
            log: None,
            ..Self::seen(cause.class, evidence, Path::new(""), after)
        }
    }

    /// What we saw ourselves, with the last lines of the log.
    pub(crate) fn observed(class: FailureClass, what: String, log: &Path, after: Duration) -> Self {
        let mut evidence = vec![what];
        evidence.extend(last(&excerpt(log)));
        Self::seen(class, evidence, log, after)
    }

    /// A launch that was not even tried.
    pub(crate) fn before(class: FailureClass, what: String) -> Self {
        Failure {
            log: None,
            ..Self::seen(class, vec![what], Path::new(""), Duration::ZERO)
        }
    }

    fn seen(class: FailureClass, evidence: Vec<String>, log: &Path, after: Duration) -> Self {
        let mut kept: Vec<String> = Vec::new();
        for line in evidence {
            let line = printable(line.trim(), LINE_CHARS);
            if !kept.contains(&line) {
                kept.push(line);
            }
        }
        Failure {
            class,
            evidence: kept,
            after_s: after.as_secs_f64(),
            log: Some(log.to_owned()),
        }
    }
}

fn last(lines: &[String]) -> impl Iterator<Item = String> + '_ {
    let from = lines.len().saturating_sub(LAST_LINES);
    lines[from..].iter().cloned()
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let why = self.evidence.first().map_or("", String::as_str);
        let class = self.class;
        match &self.log {
            None if self.after_s > 0.0 => {
                let after = self.after_s;
                write!(f, "the engine failed ({class}) after {after:.1} s: {why}")
            }
            None => write!(f, "the engine was not started ({class}): {why}"),
            Some(log) => write!(
                f,
                "the engine failed ({class}) after {:.1} s: {why}; its log is {}",
                self.after_s,
                log.display()
            ),
        }
    }
}
