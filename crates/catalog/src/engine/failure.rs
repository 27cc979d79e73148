//! Why a start failed, from the log and the exit status.

use serde::Serialize;

use super::EngineKind;
use super::failure_class::FailureClass;
use super::log::{Fact, read_line};

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Failure {
    pub class: FailureClass,
    /// The line of the log that says so; `None` where only the exit tells.
    pub evidence: Option<String>,
    pub fact: Option<Fact>,
}

/// Explains how a process ended. The most telling line counts: an engine that dies for lack of
/// memory also says that its core failed.
pub fn explain<'a>(
    engine: EngineKind,
    lines: impl IntoIterator<Item = &'a str>,
    exit_code: Option<i32>,
) -> Failure {
    let mut best: Option<(u8, &str, Fact)> = None;
    let mut weights_loaded = false;
    let mut ready = false;
    let mut exception = None;
    for line in lines {
        if is_exception(line) {
            exception = Some(line);
        }
        let Some(fact) = read_line(engine, line) else {
            continue;
        };
        weights_loaded |= matches!(
            fact,
            Fact::WeightsLoaded { .. } | Fact::KvCacheMemory { .. } | Fact::NoMemoryForWork
        );
        ready |= fact == Fact::Ready;
        let Some(rank) = rank(&fact) else { continue };
        // The first of equal rank is nearest to the cause.
        if best.as_ref().is_none_or(|(had, ..)| rank > *had) {
            best = Some((rank, line, fact));
        }
    }
    let Some((_, line, fact)) = best else {
        // argparse ends with 2 and may have written only what we do not know.
        let class = match exit_code {
            Some(2) => FailureClass::IllegalFlags,
            // A shell's word for a program that it cannot run.
            Some(126 | 127) => FailureClass::MissingBinary,
            _ => FailureClass::Crash,
        };
        // An engine that gave up by itself said why; one that was killed did not.
        let gave_up = class == FailureClass::Crash && exit_code.is_some_and(|code| code != 0);
        return Failure {
            class,
            evidence: exception.filter(|_| gave_up).map(quoted),
            fact: None,
        };
    };
    let class = match fact.failure().unwrap_or(FailureClass::Crash) {
        FailureClass::OutOfMemory if ready => FailureClass::OutOfMemoryUnderLoad,
        FailureClass::OutOfMemory if !weights_loaded => FailureClass::OutOfMemoryLoading,
        class => class,
    };
    let evidence = match fact {
        // That a child failed is the echo of an exception further up.
        Fact::EngineCoreFailed => quoted(exception.unwrap_or(line)),
        Fact::EngineCoreKilled => format!(
            "a process of the engine was killed, as by the kernel when the host's memory is out: {}",
            quoted(line)
        ),
        _ => quoted(line),
    };
    Failure {
        class,
        evidence: Some(evidence),
        fact: Some(fact),
    }
}

fn quoted(line: &str) -> String {
    line.trim().chars().take(600).collect()
}

/// What parents say of children that failed.
const ECHOES: [&str; 7] = [
    "Engine core initialization failed",
    "Engine process failed to start",
    "EngineCore failed to start",
    "EngineCore encountered a fatal error",
    "EngineCore encountered an issue",
    "WorkerProc initialization failed",
    "Received sigquit from a child process",
];

/// The last line of a Python traceback, `torch.distributed.DistBackendError: NCCL error in: …`,
/// or llama.cpp's word on why a model does not load.
fn is_exception(line: &str) -> bool {
    if line.contains("error loading model: ") {
        return true;
    }
    let names_one = |word: &str| {
        let name = word.strip_suffix(':');
        name.is_some_and(|name| name.ends_with("Error") || name.ends_with("Exception"))
    };
    line.split_whitespace().any(names_one) && !ECHOES.iter().any(|echo| line.contains(echo))
}

fn rank(fact: &Fact) -> Option<u8> {
    Some(match fact.failure()? {
        FailureClass::Crash => 0,
        FailureClass::MissingModel => 1,
        // It says for what the memory was lacking, after the allocation that failed.
        FailureClass::NoRoomForKvCache => 3,
        _ => 2,
    })
}

#[cfg(test)]
mod tests;
