//! What an engine says while it starts, and when.

use inferometer_catalog::engine::{EngineKind, Fact, ResolvedFlags, Version, log, write_line};
use inferometer_catalog::memory::{Division, MemoryError};
use inferometer_catalog::units::GIB;
use std::time::Duration;

/// What an engine says while it starts.
pub(super) struct StartLog<'a> {
    flags: &'a ResolvedFlags,
    weights_gib: f64,
    stamp: &'a str,
}

/// The line by which an engine tells a fact, with what vLLM writes in front.
pub(super) fn line(
    (engine, version): (EngineKind, Version),
    stamp: &str,
    process: &str,
    fact: &Fact,
) -> Option<String> {
    let line = write_line(engine, version, fact)?;
    Some(match engine {
        EngineKind::Vllm => log::vllm_prefix(version, process, 1, stamp, fact) + &line,
        _ => line,
    })
}

/// GiB a second at which weights are read in a start that takes its time.
const LOADING_GIB_S: f64 = 1.0;
const IMPORTS: Duration = Duration::from_secs(15);
const PROFILING: Duration = Duration::from_secs(20);
const CAPTURING: Duration = Duration::from_secs(12);

impl<'a> StartLog<'a> {
    pub(super) fn new(flags: &'a ResolvedFlags, division: &Division, stamp: &'a str) -> Self {
        StartLog {
            flags,
            weights_gib: division.weights / GIB,
            stamp,
        }
    }

    fn loading(&self) -> Duration {
        Duration::from_secs_f64(self.weights_gib / LOADING_GIB_S)
    }

    fn line(&self, process: &str, fact: &Fact) -> Option<String> {
        let engine = (self.flags.engine, self.flags.version);
        line(engine, self.stamp, process, fact)
    }

    fn begun(&self) -> Vec<(Duration, Option<String>)> {
        let tokens = self.flags.max_model_len;
        let loaded = Fact::WeightsLoaded {
            gib: self.weights_gib,
            seconds: Some(self.loading().as_secs_f64()),
        };
        let length = Fact::MaxModelLen { tokens };
        vec![
            (IMPORTS, self.line("APIServer", &length)),
            (IMPORTS + self.loading(), self.line("EngineCore", &loaded)),
        ]
    }

    pub(super) fn started(&self, division: &Division) -> Vec<(Duration, String)> {
        let (tokens, longest) = (division.kv_tokens(), self.flags.max_model_len);
        let requests = division.concurrency(longest);
        let profiled = IMPORTS + self.loading() + PROFILING;
        let eager = self.flags.enforce_eager;
        let captured = profiled + if eager { Duration::ZERO } else { CAPTURING };
        let sized = [
            Fact::KvCacheMemory {
                gib: division.available / GIB,
            },
            Fact::KvCacheTokens { tokens },
            Fact::MaxConcurrency {
                tokens: longest,
                requests,
            },
            Fact::KvCacheCapacity {
                tokens,
                request_tokens: longest,
                requests,
            },
            Fact::PoolSized {
                tokens,
                chunk: i64::try_from(self.flags.max_num_batched_tokens).unwrap_or(i64::MAX),
                requests: self.flags.max_num_seqs,
                request_tokens: longest,
            },
        ];
        let mut lines = self.begun();
        lines.extend(sized.map(|fact| (profiled, self.line("EngineCore", &fact))));
        if !eager {
            let graphs = Fact::GraphsCaptured {
                seconds: CAPTURING.as_secs_f64(),
                gib: Some(division.graphs / GIB),
            };
            lines.push((captured, self.line("EngineCore", &graphs)));
        }
        let up = Fact::EngineStarted {
            seconds: (captured - IMPORTS).as_secs_f64(),
        };
        lines.push((captured, self.line("EngineCore", &up)));
        lines.push((captured, self.line("APIServer", &Fact::Ready)));
        lines
            .into_iter()
            .filter_map(|(at, line)| Some((at, line?)))
            .collect()
    }

    pub(super) fn given_up(&self, error: &MemoryError) -> Vec<String> {
        let cause = match *error {
            MemoryError::Weights { .. } | MemoryError::Cache { .. } => Fact::DeviceOutOfMemory,
            MemoryError::NoCache { .. } => Fact::NoMemoryForKvCache,
            MemoryError::TooLong {
                max_model_len,
                needed,
                kv,
                fits,
            } => Fact::KvCacheTooSmall {
                max_model_len,
                needed,
                available: kv,
                fitting: Some(fits),
            },
        };
        let begun = match error {
            MemoryError::Weights { .. } => Vec::new(),
            _ => self.begun(),
        };
        let cause = self.line("EngineCore", &cause);
        let end = self.line("APIServer", &Fact::EngineCoreFailed);
        let begun = begun.into_iter().map(|(_, line)| line);
        begun.chain([cause, end]).flatten().collect()
    }
}
