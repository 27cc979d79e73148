//! From the slots of a line to a fact, and back.

use super::Fact;
use super::pattern::Slot;
use super::table::Name;

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
        Name::WeightsTook => Fact::WeightsLoaded {
            gib: number(0)?,
            seconds: None,
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
        Name::GraphsTook => Fact::GraphsCaptured {
            seconds: number(0)?,
            gib: None,
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
        Name::KvCacheTooSmall | Name::KvCacheTooSmallFor => Fact::KvCacheTooSmall {
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

pub(super) fn slots(fact: &Fact) -> (Name, Vec<Slot>) {
    let count = |number: u64| Slot::Number(number as f64);
    let number = Slot::Number;
    match fact {
        Fact::Version(version) => (Name::Version, vec![Slot::Text(version.clone())]),
        Fact::MaxModelLen { tokens } => (Name::MaxModelLen, vec![count(*tokens)]),
        Fact::WeightsLoaded {
            gib,
            seconds: Some(seconds),
        } => (Name::WeightsLoaded, vec![number(*gib), number(*seconds)]),
        Fact::WeightsLoaded { gib, seconds: None } => (Name::WeightsTook, vec![number(*gib)]),
        Fact::KvCacheMemory { gib } => (Name::KvCacheMemory, vec![number(*gib)]),
        Fact::KvCacheTokens { tokens } => (Name::KvCacheTokens, vec![count(*tokens)]),
        Fact::KvCacheBlocks { device, host } => {
            (Name::KvCacheBlocks, vec![count(*device), count(*host)])
        }
        Fact::MaxConcurrency { tokens, requests } => (
            Name::MaxConcurrency,
            vec![count(*tokens), number(*requests)],
        ),
        Fact::KvCacheCapacity {
            tokens,
            request_tokens,
            requests,
        } => (
            Name::KvCacheCapacity,
            vec![count(*tokens), count(*request_tokens), number(*requests)],
        ),
        Fact::PoolSized {
            tokens,
            chunk,
            requests,
            request_tokens,
        } => (
            Name::PoolSized,
            vec![
                count(*tokens),
                number(*chunk as f64),
                Slot::Text("16384".into()),
                count(*requests),
                count(*request_tokens),
            ],
        ),
        Fact::Slots { slots, tokens } => (Name::Slots, vec![count(*slots), count(*tokens)]),
        Fact::GraphsCaptured {
            seconds,
            gib: Some(gib),
        } => (Name::GraphsCaptured, vec![number(*seconds), number(*gib)]),
        Fact::GraphsCaptured { seconds, gib: None } => (Name::GraphsTook, vec![number(*seconds)]),
        Fact::EngineStarted { seconds } => (Name::EngineStarted, vec![number(*seconds)]),
        Fact::Listening { address } => (Name::Listening, vec![Slot::Text(address.clone())]),
        Fact::Ready => (Name::Ready, vec![]),
        Fact::Load {
            prompt_rate,
            generation_rate,
            running,
            waiting,
        } => (
            Name::Load,
            vec![
                number(*prompt_rate),
                number(*generation_rate),
                count(*running),
                count(*waiting),
            ],
        ),
        Fact::FreeMemoryTooSmall {
            free,
            total,
            utilization,
            wanted,
        } => (
            Name::FreeMemoryTooSmall,
            vec![
                number(*free),
                number(*total),
                number(*utilization),
                number(*wanted),
            ],
        ),
        Fact::MemoryOccupied => (Name::MemoryOccupied, vec![]),
        Fact::NoMemoryForKvCache => (Name::NoMemoryForKvCache, vec![]),
        Fact::KvCacheTooSmall {
            max_model_len,
            needed,
            available,
            fitting,
        } => {
            let mut slots = vec![count(*max_model_len), number(*needed), number(*available)];
            match fitting {
                Some(fitting) => {
                    slots.push(count(*fitting));
                    (Name::KvCacheTooSmallFor, slots)
                }
                None => (Name::KvCacheTooSmall, slots),
            }
        }
        Fact::DeviceOutOfMemory => (Name::DeviceOutOfMemory, vec![]),
        Fact::NoMemoryForWork => (Name::NoMemoryForWork, vec![]),
        Fact::EngineCoreKilled => (
            Name::EngineCoreKilled,
            vec![Slot::Text("{'EngineCore_DP0': -9}".into())],
        ),
        Fact::EngineCoreFailed => (Name::EngineCoreFailed, vec![]),
        Fact::AddressInUse => (Name::AddressInUse, vec![]),
        Fact::ModelMissing => (Name::ModelMissing, vec![]),
        Fact::Refused(message) => (Name::Refused, vec![Slot::Text(message.clone())]),
    }
}
