//! What the connections and the answers themselves show, for the judgement.

use super::pool::Pool;
use crate::judge::{FirstTokenEvidence, ModelEvidence, WireEvidence};
use inferometer_core::record::Record;
use std::collections::BTreeMap;

/// Different models that are told apart; a server has no reason to name more.
const MOST_MODELS: usize = 16;
/// Fewest answers on kept connections that show when their first tokens come.
const LEAST_KEPT: u64 = 10;

/// Tokens that no server makes within one read, unless it holds them back.
const LEAST_TO_STREAM: usize = 8;

/// Shares of chunks in one read with the one before, from which on an answer came as good as whole,
/// or in bunches.
const NEARLY_WHOLE: f64 = 0.9;
const IN_BUNCHES: f64 = 0.5;

#[derive(Clone, Debug, Default)]
pub(super) struct WireTally {
    pub(super) connected: u64,
    streamed: u64,
    whole: u64,
    bunched: u64,
    models: BTreeMap<String, u64>,
    /// From the first byte to the first token on kept connections, in milliseconds.
    kept_gaps: Pool,
    /// TTFT from the moment of sending, in milliseconds.
    kept_ttft: Pool,
    fresh_ttft: Pool,
}

impl WireTally {
    /// Takes a record of any stage: most connections are opened in the warm-up.
    pub(super) fn add(&mut self, record: &Record) {
        if record.is_measured() {
            self.connected += u64::from(record.sent.is_some() && record.connect.is_some());
            self.add_answer(record);
        }
        let times = (record.first_token())
            .zip(record.first_byte)
            .zip(record.sent);
        if let Some(((token, byte), sent)) = times.filter(|_| record.streamed && record.is_done()) {
            let ttft = Some(token.since(sent));
            if record.connect.is_some() {
                self.fresh_ttft.extend_span(ttft);
            } else {
                self.kept_gaps.extend_span(Some(token.since(byte)));
                self.kept_ttft.extend_span(ttft);
            }
        }
    }

    fn add_answer(&mut self, record: &Record) {
        if !record.is_done() {
            return;
        }
        self.streamed += u64::from(record.streamed);
        let together = together(record);
        let is_whole = came_whole(record, together);
        self.whole += u64::from(is_whole);
        self.bunched += u64::from(!is_whole && came_in_bunches(record, together));
        if let Some(model) = &record.model {
            if let Some(answers) = self.models.get_mut(model) {
                *answers += 1;
            } else {
                self.name(model.clone(), 1);
            }
        }
    }

    /// Of too many names, the first of the alphabet are kept, in whatever order they come.
    fn name(&mut self, model: String, answers: u64) {
        *self.models.entry(model).or_default() += answers;
        if self.models.len() > MOST_MODELS {
            self.models.pop_last();
        }
    }

    /// Takes what another part of the same run showed.
    pub(super) fn merge(&mut self, other: Self) {
        self.connected += other.connected;
        self.streamed += other.streamed;
        self.whole += other.whole;
        self.bunched += other.bunched;
        for (model, answers) in other.models {
            self.name(model, answers);
        }
        self.kept_gaps.merge(other.kept_gaps);
        self.kept_ttft.merge(other.kept_ttft);
        self.fresh_ttft.merge(other.fresh_ttft);
    }

    pub(super) fn evidence(mut self) -> WireEvidence {
        WireEvidence {
            streamed: self.streamed,
            whole: self.whole,
            bunched: self.bunched,
            first_token: self.first_token(),
            models: (self.models.into_iter())
                .map(|(name, answers)| ModelEvidence { name, answers })
                .collect(),
        }
    }

    fn first_token(&mut self) -> Option<FirstTokenEvidence> {
        if self.kept_gaps.len() < LEAST_KEPT {
            return None;
        }
        let [gaps, kept, fresh] = [
            &mut self.kept_gaps,
            &mut self.kept_ttft,
            &mut self.fresh_ttft,
        ]
        .map(|pool| std::mem::take(pool).into_ordered());
        Some(FirstTokenEvidence {
            gap_quartiles_ms: [gaps.quantile(0.25)?, gaps.quantile(0.75)?],
            kept_ms: kept.quantile(0.5)?,
            fresh_ms: fresh.quantile(0.5),
        })
    }
}

/// A stream was asked for, and all of its text came at once.
fn came_whole(record: &Record, together: f64) -> bool {
    let counted = record.output_tokens().unwrap_or_default() as usize;
    record.streamed
        && counted.max(record.chunks.len()) >= LEAST_TO_STREAM
        && !record.chunks.is_empty()
        && (record.first_token() == record.last_token() || together > NEARLY_WHOLE)
}

/// Most chunks came with the one before, so that the times between tokens are those of reads.
fn came_in_bunches(record: &Record, together: f64) -> bool {
    record.streamed && record.chunks.len() >= LEAST_TO_STREAM && together > IN_BUNCHES
}

/// Share of the chunks that came in one read with the one before.
fn together(record: &Record) -> f64 {
    let all = record.chunks.same_read.len().max(1) as f64;
    let together = record.chunks.same_read.iter().filter(|same| **same).count();
    together as f64 / all
}

#[cfg(test)]
mod tests {
    use super::{came_whole, together};
    use crate::fold::testing::answer;

    #[test]
    fn few_tokens_may_come_together_from_a_fast_server() {
        for (tokens, gap, whole) in [(9, 0.0, true), (3, 0.0, false), (9, 1.0, false)] {
            let answer = answer(0, 0.0, 50.0, tokens, gap);
            assert_eq!(came_whole(&answer, together(&answer)), whole);
        }
    }
}
