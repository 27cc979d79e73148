//! MindIE's division of a card, by its own rules.

use super::{Answer, Lengths, MemoryError, Question};
use crate::mindie::{Configured, configured};
use crate::refusal::choose_one;
use inferometer_catalog::device::Kind;
use inferometer_catalog::engine::mindie::Config;
use inferometer_catalog::engine::{ModelLimits, ResolvedFlags};
use inferometer_catalog::memory::{self, MindieMemory, mindie_max_batch};
use serde::Serialize;

/// The sizes that MindIE's configuration wants.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MindieSizes {
    pub lengths: Lengths,
    /// npuMemSize that −1 comes to, GiB.
    pub npu_mem_size: f64,
    /// npuMemSize as older manuals compute it by hand, whole GiB.
    pub npu_mem_size_by_hand: f64,
    /// Blocks that a request of the asked lengths takes.
    pub blocks_per_request: u64,
    /// The greatest maxBatchSize that never runs out of blocks; absent where not one request of
    /// these lengths is served.
    pub max_batch_size: Option<u64>,
    /// Half of it, as its manual advises; 4 to 16 where latency matters more.
    pub max_prefill_batch_size: Option<u64>,
    /// The least maxPrefillTokens that takes the longest prompt.
    pub max_prefill_tokens: u64,
}

pub(super) fn divide(question: &Question<'_>) -> Result<Answer, MemoryError> {
    let device = question.device;
    if device.kind != Kind::Ascend {
        return Err(MemoryError::NotAscend(device.name.clone()));
    }
    let mut config = Config::default();
    if let Some(lengths) = question.lengths {
        for_lengths(&mut config, lengths, question.model.model.max_position);
    }
    let given = question.command.flags.iter();
    let given = given.map(|given| (given.name.as_str(), given.value()));
    let Configured { config, fraction } = configured(config, given).map_err(MemoryError::Mindie)?;
    if let Some(refusal) = config.refusals().into_iter().next() {
        return Err(MemoryError::Mindie(refusal.message));
    }
    let flags = ResolvedFlags {
        gpu_memory_utilization: fraction,
        ..config.resolved(question.command.version(question.version))
    };
    let (limits, cards) = (
        ModelLimits::of(&question.model.model),
        flags.tensor_parallel,
    );
    if !limits.is_divided_by(cards) {
        let (heads, remedy) = (
            limits.undivided_heads(cards),
            choose_one(&limits, question.cards),
        );
        let reason = format!("worldSize {cards} does not divide the model's {heads}; {remedy}");
        return Err(MemoryError::Mindie(reason));
    }
    let division = memory::divide(&flags, question.model, device)?;
    let weights = division.model_weights;
    let memory = MindieMemory::new(weights, flags.tensor_parallel, device, fraction);
    let deploy = &config.backend.deploy;
    let schedule = &config.backend.schedule;
    let narrow = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    let lengths = question.lengths.unwrap_or(Lengths {
        input: narrow(deploy.max_input_token_len),
        output: narrow(schedule.max_iter_times),
    });
    let mut answer = Answer::new(question, flags.version, Some(lengths), division);
    let block_size = answer.block_size;
    let size = u64::from(block_size);
    let batch = answer
        .blocks
        .filter(|_| answer.max_concurrency.is_some())
        .map(|blocks| mindie_max_batch(blocks, lengths.input, lengths.output, block_size))
        .filter(|&batch| batch > 0);
    let sizes = MindieSizes {
        lengths,
        npu_mem_size: memory.automatic(),
        npu_mem_size_by_hand: memory.by_hand(),
        blocks_per_request: u64::from(lengths.input).div_ceil(size)
            + u64::from(lengths.output).div_ceil(size),
        max_batch_size: batch,
        max_prefill_batch_size: batch.map(|batch| (batch / 2).max(1)),
        max_prefill_tokens: deploy
            .max_input_token_len
            .max(u64::from(lengths.input))
            .max(schedule.max_prefill_tokens),
    };
    answer.max_concurrency = batch.map(|batch| batch as f64);
    answer.mindie = Some(sizes);
    Ok(answer)
}

fn for_lengths(config: &mut Config, lengths: Lengths, longest: u32) {
    let deploy = &mut config.backend.deploy;
    deploy.max_input_token_len = u64::from(lengths.input).max(1);
    deploy.max_seq_len = lengths.total().max(1).min(u64::from(longest));
    let schedule = &mut config.backend.schedule;
    schedule.max_iter_times = u64::from(lengths.output).max(1);
    schedule.max_prefill_tokens = schedule.max_prefill_tokens.max(u64::from(lengths.input));
}
