//! Why a start failed, from the log and the exit status.

use serde::{Deserialize, Serialize};

use super::EngineKind;
use super::log::{Fact, read_line};

/// Classes of failure, as a tuner learns from them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureClass {
    /// The engine refused its flags.
    IllegalFlags,
    /// Somebody else held the device's memory at the start.
    MemoryTakenAtStart,
    /// The weights did not fit.
    OutOfMemoryLoading,
    /// Too little was left for the KV cache.
    NoRoomForKvCache,
    /// An allocation failed, we do not know when.
    OutOfMemory,
    /// An allocation failed while serving.
    OutOfMemoryUnderLoad,
    /// The port was taken.
    PortTaken,
    /// The program was not found, or may not be run.
    MissingBinary,
    /// The model was not found.
    MissingModel,
    /// It ended by itself, for another reason.
    Crash,
    /// It wrote nothing for too long.
    Hang,
    /// It took longer than was allowed.
    Timeout,
}

impl FailureClass {
    /// The word for it in files and reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::IllegalFlags => "illegal-flags",
            Self::MemoryTakenAtStart => "memory-taken-at-start",
            Self::OutOfMemoryLoading => "out-of-memory-loading",
            Self::NoRoomForKvCache => "no-room-for-kv-cache",
            Self::OutOfMemory => "out-of-memory",
            Self::OutOfMemoryUnderLoad => "out-of-memory-under-load",
            Self::PortTaken => "port-taken",
            Self::MissingBinary => "missing-binary",
            Self::MissingModel => "missing-model",
            Self::Crash => "crash",
            Self::Hang => "hang",
            Self::Timeout => "timeout",
        }
    }
}

impl std::fmt::Display for FailureClass {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.word())
    }
}

/// A failed start.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Failure {
    /// Its class.
    pub class: FailureClass,
    /// The line of the log that says so; `None` where only the exit tells.
    pub evidence: Option<String>,
    /// What that line says.
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
            Fact::WeightsLoaded { .. } | Fact::KvCacheMemory { .. }
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
    // That a child failed is the echo of an exception further up.
    let cause = exception.filter(|_| fact == Fact::EngineCoreFailed);
    Failure {
        class,
        evidence: Some(quoted(cause.unwrap_or(line))),
        fact: Some(fact),
    }
}

fn quoted(line: &str) -> String {
    line.trim().chars().take(600).collect()
}

/// What parents say of children that failed.
const ECHOES: [&str; 6] = [
    "Engine core initialization failed",
    "Engine process failed to start",
    "EngineCore failed to start",
    "EngineCore encountered a fatal error",
    "WorkerProc initialization failed",
    "Received sigquit from a child process",
];

/// The last line of a Python traceback: `torch.distributed.DistBackendError: NCCL error in: …`.
fn is_exception(line: &str) -> bool {
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
mod tests {
    use super::*;

    fn class(text: &str, code: i32) -> FailureClass {
        explain(EngineKind::Vllm, text.lines().skip(3), Some(code)).class
    }

    #[test]
    fn real_refusals_are_illegal_flags() {
        for (text, code) in [
            (
                include_str!(
                    "../../../../fixtures/engine/vllm/refused-batched-tokens-below-seqs.txt"
                ),
                1,
            ),
            (
                include_str!("../../../../fixtures/engine/vllm/refused-unknown-flag.txt"),
                2,
            ),
            (
                include_str!("../../../../fixtures/engine/vllm/refused-zero-seqs.txt"),
                1,
            ),
            (
                include_str!("../../../../fixtures/engine/vllm/refused-bad-block-size.txt"),
                1,
            ),
            (
                include_str!("../../../../fixtures/engine/vllm/unforeseen-attention-backend.txt"),
                1,
            ),
        ] {
            assert_eq!(class(text, code), FailureClass::IllegalFlags, "{text}");
        }
    }

    #[test]
    fn the_cause_counts_and_not_its_echo() {
        let text = include_str!("../../../../fixtures/engine/vllm/refused-kv-cache-too-small.txt");
        let failure = explain(EngineKind::Vllm, text.lines(), Some(1));
        assert_eq!(failure.class, FailureClass::NoRoomForKvCache);
        assert!(matches!(
            failure.fact,
            Some(Fact::KvCacheTooSmall {
                fitting: Some(896),
                ..
            })
        ));
        let text = include_str!("../../../../fixtures/engine/vllm/refused-port-taken.txt");
        assert_eq!(class(text, 1), FailureClass::PortTaken);
    }

    #[test]
    fn out_of_memory_is_told_apart_by_when_it_came() {
        let oom = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.";
        let at = |before: &str| {
            explain(
                EngineKind::Vllm,
                [
                    before,
                    oom,
                    "Engine core initialization failed. See root cause above.",
                ],
                Some(1),
            )
            .class
        };
        assert_eq!(
            at("Starting to load model"),
            FailureClass::OutOfMemoryLoading
        );
        assert_eq!(
            at("Model loading took 12.37 GiB memory and 3.000000 seconds"),
            FailureClass::OutOfMemory
        );
        assert_eq!(
            at("INFO:     Application startup complete."),
            FailureClass::OutOfMemoryUnderLoad
        );
        assert_eq!(
            explain(EngineKind::Vllm, [], Some(-9)).class,
            FailureClass::Crash
        );
    }

    fn explained(engine: EngineKind, log: &str) -> (FailureClass, String) {
        let failure = explain(engine, log.lines(), Some(1));
        (failure.class, failure.evidence.unwrap_or_default())
    }

    #[test]
    fn an_error_of_a_compiler_is_no_complaint_about_flags() {
        let log = "\
/tmp/tmpab/main.c:6:10: error: 'CUtensorMap' undeclared (first use in this function)
/cache/decode.cu(12): error: identifier \"foo\" is undefined
(EngineCore_DP0 pid=200) ERROR [core.py:708] subprocess.CalledProcessError: Command 'gcc' failed
(APIServer pid=100) RuntimeError: Engine core initialization failed. See root cause above.";
        let (class, evidence) = explained(EngineKind::Vllm, log);
        assert_eq!(class, FailureClass::Crash);
        assert!(evidence.contains("CalledProcessError"), "{evidence}");
        let (class, _) = explained(
            EngineKind::Sglang,
            "launch_server.py: error: unrecognized arguments: --mem-fraction 0.8",
        );
        assert_eq!(class, FailureClass::IllegalFlags);
    }

    #[test]
    fn the_cause_is_quoted_and_not_that_a_child_failed() {
        let log = "\
(EngineCore_DP0 pid=200) RuntimeError: The NVIDIA driver on your system is too old
(EngineCore_DP0 pid=200) Exception: WorkerProc initialization failed due to an exception in a background process.
(APIServer pid=100) RuntimeError: Engine core initialization failed. See root cause above.";
        let (class, evidence) = explained(EngineKind::Vllm, log);
        assert_eq!(class, FailureClass::Crash);
        assert!(evidence.contains("driver on your system"), "{evidence}");
        let log = "\
[2026-11-15 10:00:25 TP1] Scheduler hit an exception: Traceback (most recent call last):
RuntimeError: Ninja build failed. Ninja output:
[2026-11-15 10:00:25] Received sigquit from a child process. It usually means the child failed.";
        let failure = explain(EngineKind::Sglang, log.lines(), None);
        assert!(failure.evidence.unwrap().starts_with("RuntimeError: Ninja"));
    }

    #[test]
    fn memory_is_told_apart_by_who_lacked_it() {
        let at = |engine, log: &str| explained(engine, log).0;
        let llama = "\
alloc_buffer: allocating 16384.00 MiB on device 0: cudaMalloc failed: out of memory
llama_init_from_model: failed to initialize the context: failed to allocate buffer for kv cache
srv    load_model: failed to load model, 'x.gguf'";
        assert_eq!(
            at(EngineKind::LlamaServer, llama),
            FailureClass::NoRoomForKvCache
        );
        let taken = "ValueError: The memory capacity is unbalanced. Some GPUs may be occupied by other processes. pre_model_load_memory=78.2";
        assert_eq!(
            at(EngineKind::Sglang, taken),
            FailureClass::MemoryTakenAtStart
        );
        for line in [
            "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 448.00 MiB.",
            "Cuda failure 2 'out of memory'",
            "RuntimeError: CUDA driver error: out of memory",
        ] {
            assert_eq!(
                at(EngineKind::Vllm, line),
                FailureClass::OutOfMemoryLoading,
                "{line}"
            );
        }
    }

    #[test]
    fn a_model_behind_a_gate_is_missing() {
        let log = "\
huggingface_hub.errors.GatedRepoError: 401 Client Error. (Request ID: Root=1-68)
Cannot access gated repo for url https://huggingface.co/m/resolve/main/config.json.
OSError: You are trying to access a gated repo.";
        let (class, evidence) = explained(EngineKind::Vllm, log);
        assert_eq!(class, FailureClass::MissingModel);
        assert!(
            evidence.starts_with("Cannot access gated repo"),
            "{evidence}"
        );
    }
}
