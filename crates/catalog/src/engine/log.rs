//! Lines of engines' logs: one table to write them (the simulated engine) and to read them
//! (the launcher), so that both agree.

use serde::{Deserialize, Serialize};

use super::failure_class::FailureClass;
use super::{EngineKind, Version};

mod pattern;
mod slots;
mod table;

use table::{LINES, Line};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, strum::EnumDiscriminants)]
#[serde(rename_all = "kebab-case")]
#[strum_discriminants(name(Name), vis(pub(self)), derive(Deserialize, strum::IntoStaticStr))]
#[strum_discriminants(serde(rename_all = "kebab-case"), strum(serialize_all = "kebab-case"))]
pub enum Fact {
    Version(String),
    MaxModelLen {
        tokens: u64,
    },
    WeightsLoaded {
        /// Memory that they take on one device.
        gib: f64,
        /// Time that it took, where the engine says.
        seconds: Option<f64>,
    },
    KvCacheMemory {
        /// GiB.
        gib: f64,
    },
    KvCacheTokens {
        tokens: u64,
    },
    /// Blocks of the KV cache (vLLM until 0.7).
    KvCacheBlocks {
        device: u64,
        host: u64,
    },
    /// How many of the longest requests fit at once.
    MaxConcurrency {
        /// Tokens of such a request.
        tokens: u64,
        requests: f64,
    },
    /// Both in one line (vLLM since 0.28).
    KvCacheCapacity {
        /// Tokens that the cache holds.
        tokens: u64,
        request_tokens: u64,
        /// How many of those fit.
        requests: f64,
    },
    /// Limits that SGLang prints when it has sized its pool.
    PoolSized {
        /// Tokens that the cache holds.
        tokens: u64,
        /// Tokens of a prompt chunk.
        chunk: i64,
        requests: u64,
        request_tokens: u64,
    },
    Slots {
        slots: u64,
        tokens: u64,
    },
    GraphsCaptured {
        seconds: f64,
        /// Memory that they take, where the engine says.
        gib: Option<f64>,
    },
    /// The engine behind the API is up.
    EngineStarted {
        seconds: f64,
    },
    Listening {
        address: String,
    },
    Ready,
    /// The periodic line of vLLM.
    Load {
        /// Prompt tokens per second.
        prompt_rate: f64,
        /// Generated tokens per second.
        generation_rate: f64,
        running: u64,
        waiting: u64,
    },
    /// The device has less free memory than the engine was told to take; also what a not yet
    /// dead predecessor causes.
    FreeMemoryTooSmall {
        /// GiB free.
        free: f64,
        /// GiB in all.
        total: f64,
        /// The share that was asked for.
        utilization: f64,
        /// GiB of that share.
        wanted: f64,
    },
    /// Others hold memory of some of the devices.
    MemoryOccupied,
    /// Too little is left for the KV cache.
    NoMemoryForKvCache,
    /// What is left does not hold one request of full length.
    KvCacheTooSmall {
        /// Tokens of the longest request.
        max_model_len: u64,
        /// GiB that it needs.
        needed: f64,
        /// GiB that there are.
        available: f64,
        /// The length that would fit, where the engine says.
        fitting: Option<u64>,
    },
    DeviceOutOfMemory,
    /// The weights are in memory, and nothing is left to compute with.
    NoMemoryForWork,
    /// The engine behind the API was killed.
    EngineCoreKilled,
    /// The engine behind the API died; the cause stands above.
    EngineCoreFailed,
    AddressInUse,
    ModelMissing,
    /// A rule about flags is broken; the engine's words.
    Refused(String),
}

impl Fact {
    /// The class of the failure that it tells of; `None` for good news.
    pub fn failure(&self) -> Option<FailureClass> {
        Some(match self {
            Self::FreeMemoryTooSmall { .. } | Self::MemoryOccupied => {
                FailureClass::MemoryTakenAtStart
            }
            Self::NoMemoryForKvCache | Self::KvCacheTooSmall { .. } => {
                FailureClass::NoRoomForKvCache
            }
            Self::DeviceOutOfMemory | Self::NoMemoryForWork => FailureClass::OutOfMemory,
            Self::EngineCoreKilled | Self::EngineCoreFailed => FailureClass::Crash,
            Self::AddressInUse => FailureClass::PortTaken,
            Self::ModelMissing => FailureClass::MissingModel,
            Self::Refused(_) => FailureClass::IllegalFlags,
            _ => return None,
        })
    }
}

/// Reads one line of an engine's log.
///
/// Custom engines are often one of ours behind a wrapper, so that all tables are tried.
pub fn read_line(engine: EngineKind, line: &str) -> Option<Fact> {
    LINES
        .iter()
        .filter(|known| engine == EngineKind::Custom || known.engine == engine)
        .filter(|known| known.fact != Name::Refused || !is_of_compiler(line))
        .find_map(|known| {
            let slots = pattern::read(&known.text, line)?;
            slots::fact(known.fact, slots)
        })
}

/// `main.c:6:10: error: …` and `decode.cu(12): error: …` complain of a file, not of arguments.
fn is_of_compiler(line: &str) -> bool {
    let Some((before, _)) = line.split_once(": error: ") else {
        return false;
    };
    let named = before.trim_end_matches(|character: char| character.is_ascii_digit());
    before.ends_with(')') || (named.len() < before.len() && named.ends_with(':'))
}

/// Writes the line by which this version of an engine tells a fact, without time and process;
/// `None` where it says nothing of the kind.
pub fn write_line(engine: EngineKind, version: Version, fact: &Fact) -> Option<String> {
    written(engine, version, fact).map(|(_, text)| text)
}

/// The first line with a place for each value of the fact, and for nothing else.
fn written(engine: EngineKind, version: Version, fact: &Fact) -> Option<(&'static Line, String)> {
    let slots = slots::slots(fact);
    let mut lines = lines_of(engine, version, fact.into());
    lines.find_map(|line| Some((line, pattern::write(&line.text, &slots)?)))
}

/// The line after which this engine answers requests.
pub fn ready_line(engine: EngineKind) -> Option<&'static str> {
    let mut lines = lines_of(engine, engine.newest(), Name::Ready);
    lines.next().map(|line| line.text.as_str())
}

fn lines_of(
    engine: EngineKind,
    version: Version,
    fact: Name,
) -> impl Iterator<Item = &'static Line> {
    LINES.iter().filter(move |line| {
        line.engine == engine
            && line.fact == fact
            && line.since.is_none_or(|since| version >= since)
            && line.until.is_none_or(|until| version < until)
    })
}

/// What vLLM writes in front of a line: `(EngineCore pid=7) INFO 11-15 06:01:17 [core.py:402] `.
///
/// `stamp` is `month-day hour:minute:second`. Lines of its web server have only
/// `INFO:     ` in front (run: 0.32; the older form without process is of 0.6).
pub fn vllm_prefix(version: Version, process: &str, pid: u32, stamp: &str, fact: &Fact) -> String {
    let Some((line, _)) = written(EngineKind::Vllm, version, fact) else {
        return String::new();
    };
    if line.source.is_empty() {
        return match fact {
            Fact::Ready => "INFO:     ".into(),
            _ => String::new(),
        };
    }
    if version < Version::new(0, 8, 0) {
        format!("INFO {stamp} {}] ", line.source)
    } else if version < Version::new(0, 11, 0) {
        format!("INFO {stamp} [{}] ", line.source)
    } else {
        format!("({process} pid={pid}) INFO {stamp} [{}] ", line.source)
    }
}

#[cfg(test)]
mod tests;
