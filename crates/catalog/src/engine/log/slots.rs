//! From the slots of a line to a fact, and back.

use super::pattern::Slot;
use super::{Fact, Name};

/// The fact that a line's slots tell.
pub(super) fn fact(name: Name, slots: &[Slot]) -> Option<Fact> {
    let number = |index: usize| slots.get(index)?.number();
    let count = |index: usize| slots.get(index)?.count();
    let text = |index: usize| slots.get(index)?.text().map(str::to_owned);
    Some(match name {
        Name::Version => Fact::Version(text(0)?),
        Name::MaxModelLen => Fact::MaxModelLen { tokens: count(0)? },
        // SGLang's line begins with a memory that is not the weights'.
        Name::WeightsLoaded if number(0).is_none() => Fact::WeightsLoaded {
            gib: number(1)?,
            seconds: None,
        },
        Name::WeightsLoaded => Fact::WeightsLoaded {
            gib: number(0)?,
            seconds: number(1),
        },
        Name::KvCacheMemory => Fact::KvCacheMemory { gib: number(0)? },
        Name::KvCacheTokens => Fact::KvCacheTokens { tokens: count(0)? },
        Name::KvCacheBlocks => Fact::KvCacheBlocks {
            device: count(0)?,
            host: count(1)?,
        },
        Name::MaxConcurrency => Fact::MaxConcurrency {
            tokens: count(0)?,
            requests: number(1)?,
        },
        Name::KvCacheCapacity => Fact::KvCacheCapacity {
            tokens: count(0)?,
            request_tokens: count(1)?,
            requests: number(2)?,
        },
        Name::PoolSized => Fact::PoolSized {
            tokens: count(0)?,
            chunk: number(1)? as i64,
            requests: count(3)?,
            request_tokens: count(4)?,
        },
        Name::Slots => Fact::Slots {
            slots: count(0)?,
            tokens: count(1)?,
        },
        Name::GraphsCaptured => Fact::GraphsCaptured {
            seconds: number(0)?,
            gib: number(1),
        },
        Name::EngineStarted => Fact::EngineStarted {
            seconds: number(0)?,
        },
        Name::Listening => Fact::Listening { address: text(0)? },
        Name::Ready => Fact::Ready,
        Name::Load => Fact::Load {
            prompt_rate: number(0)?,
            generation_rate: number(1)?,
            running: count(2)?,
            waiting: count(3)?,
        },
        Name::FreeMemoryTooSmall => {
            // Newer lines name the device between the numbers.
            let mut numbers = slots.iter().filter_map(Slot::number);
            Fact::FreeMemoryTooSmall {
                free: numbers.next()?,
                total: numbers.next()?,
                utilization: numbers.next()?,
                wanted: numbers.next()?,
            }
        }
        Name::MemoryOccupied => Fact::MemoryOccupied,
        Name::NoMemoryForKvCache => Fact::NoMemoryForKvCache,
        Name::KvCacheTooSmall => Fact::KvCacheTooSmall {
            max_model_len: count(0)?,
            needed: number(1)?,
            available: number(2)?,
            fitting: count(3),
        },
        Name::DeviceOutOfMemory => Fact::DeviceOutOfMemory,
        Name::NoMemoryForWork => Fact::NoMemoryForWork,
        // `{'EngineCore_DP0': -9}`: ended by signal 9.
        Name::EngineCoreKilled => {
            let is_killed = text(0)?.contains("': -9");
            is_killed.then_some(Fact::EngineCoreKilled)?
        }
        Name::EngineCoreFailed => Fact::EngineCoreFailed,
        Name::AddressInUse => Fact::AddressInUse,
        Name::ModelMissing => Fact::ModelMissing,
        Name::Refused => Fact::Refused(text(0)?),
    })
}

/// The values of a fact, in the order in which lines have them.
pub(super) fn slots(fact: &Fact) -> Vec<Slot> {
    let count = |number: &u64| Slot::Number(*number as f64);
    let number = |number: &f64| Slot::Number(*number);
    let text = |text: &str| Slot::Text(text.to_owned());
    match fact {
        Fact::Version(word) | Fact::Listening { address: word } | Fact::Refused(word) => {
            vec![text(word)]
        }
        Fact::MaxModelLen { tokens } | Fact::KvCacheTokens { tokens } => vec![count(tokens)],
        Fact::KvCacheMemory { gib } => vec![number(gib)],
        Fact::EngineStarted { seconds } => vec![number(seconds)],
        Fact::WeightsLoaded {
            gib: first,
            seconds: next,
        }
        | Fact::GraphsCaptured {
            seconds: first,
            gib: next,
        } => [first].into_iter().chain(next).map(number).collect(),
        Fact::KvCacheBlocks { device, host } => vec![count(device), count(host)],
        Fact::Slots { slots, tokens } => vec![count(slots), count(tokens)],
        Fact::MaxConcurrency { tokens, requests } => vec![count(tokens), number(requests)],
        Fact::KvCacheCapacity {
            tokens,
            request_tokens,
            requests,
        } => vec![count(tokens), count(request_tokens), number(requests)],
        Fact::PoolSized {
            tokens,
            chunk,
            requests,
            request_tokens,
        } => vec![
            count(tokens),
            Slot::Number(*chunk as f64),
            text("16384"),
            count(requests),
            count(request_tokens),
        ],
        Fact::Load {
            prompt_rate,
            generation_rate,
            running,
            waiting,
        } => {
            let rates = [prompt_rate, generation_rate].map(number);
            rates
                .into_iter()
                .chain([running, waiting].map(count))
                .collect()
        }
        Fact::FreeMemoryTooSmall {
            free,
            total,
            utilization,
            wanted,
        } => [free, total, utilization, wanted].map(number).to_vec(),
        Fact::KvCacheTooSmall {
            max_model_len,
            needed,
            available,
            fitting,
        } => {
            let mut slots = vec![count(max_model_len), number(needed), number(available)];
            slots.extend(fitting.as_ref().map(count));
            slots
        }
        Fact::EngineCoreKilled => vec![text("{'EngineCore_DP0': -9}")],
        Fact::Ready
        | Fact::MemoryOccupied
        | Fact::NoMemoryForKvCache
        | Fact::DeviceOutOfMemory
        | Fact::NoMemoryForWork
        | Fact::EngineCoreFailed
        | Fact::AddressInUse
        | Fact::ModelMissing => Vec::new(),
    }
}
