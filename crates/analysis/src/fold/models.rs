//! The requests of each model, where a run asks for several.

use super::pool::Pool;
use super::treatment::{Treatment, tells_cached};
use crate::judge::Place;
use inferometer_core::record::Record;
use inferometer_core::summary::ModelResult;
use inferometer_core::units::Offset;
use std::collections::BTreeMap;
use std::time::Duration;

/// A first token that comes so many times later than that of most later requests is one of a
/// model that was loaded first.
const COLD_FACTOR: f64 = 3.0;
/// And so many milliseconds later: below, nobody would call it a load.
const COLD_MS: f64 = 50.0;
/// Later requests by which a first one can be called late.
const LATER: u64 = 5;

#[derive(Clone, Debug, Default)]
pub(super) struct Models {
    by_name: BTreeMap<String, OneModel>,
    /// The server counts what it has in its cache.
    tells_cached: bool,
}

#[derive(Clone, Debug, Default)]
struct OneModel {
    ok: u64,
    failed: u64,
    output_tokens: Option<u64>,
    treatment: Treatment,
    ttft: Pool,
    tpot: Pool,
    e2e: Pool,
    /// Of the first request that was sent in any stage, and those of all others.
    first: Option<First>,
    others: Pool,
}

/// When a request was sent, its place among those sent at once, and its TTFT.
type First = (Offset, Place, f64);

fn ms(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}

impl Models {
    pub(super) fn add(&mut self, record: &Record) {
        let Some(name) = &record.model_asked else {
            return;
        };
        self.tells_cached |= tells_cached(record);
        if !self.by_name.contains_key(name) {
            self.by_name.insert(name.clone(), OneModel::default());
        }
        if let Some(model) = self.by_name.get_mut(name) {
            model.add(record);
        }
    }

    /// Takes what another part of the same run holds.
    pub(super) fn merge(&mut self, other: Self) {
        self.tells_cached |= other.tells_cached;
        for (name, model) in other.by_name {
            self.by_name.entry(name).or_default().merge(model);
        }
    }

    pub(super) fn results(self) -> Vec<ModelResult> {
        let results = self.by_name.into_iter();
        results
            .map(|(name, model)| model.result(name, self.tells_cached))
            .collect()
    }
}

impl OneModel {
    fn add(&mut self, record: &Record) {
        if let (Some(sent), Some(ttft)) = (record.sent, record.ttft_from_sent()) {
            self.see((sent, Place::of(record), ms(ttft)));
        }
        if !record.is_measured() {
            return;
        }
        self.failed += u64::from(record.failure().is_some());
        if !record.is_done() {
            return;
        }
        self.ok += 1;
        if let Some(tokens) = record.output_tokens() {
            *self.output_tokens.get_or_insert(0) += u64::from(tokens);
        }
        self.treatment.add(record);
        self.ttft
            .extend(record.ttft().filter(|_| record.streamed).map(ms));
        self.tpot
            .extend(record.tpot().filter(|_| record.streamed).map(ms));
        let completed = record.completed().or(record.end).zip(record.start());
        self.e2e
            .extend(completed.map(|(end, start)| ms(end.since(start))));
    }

    fn see(&mut self, new: First) {
        let (first, later) = match self.first {
            Some(first) if (new.0, new.1) < (first.0, first.1) => (new, Some(first)),
            Some(first) => (first, Some(new)),
            None => (new, None),
        };
        self.first = Some(first);
        self.others.extend(later.map(|(_, _, ttft)| ttft));
    }

    fn merge(&mut self, other: Self) {
        self.ok += other.ok;
        self.failed += other.failed;
        if let Some(tokens) = other.output_tokens {
            *self.output_tokens.get_or_insert(0) += tokens;
        }
        self.treatment.merge(other.treatment);
        self.ttft.merge(other.ttft);
        self.tpot.merge(other.tpot);
        self.e2e.merge(other.e2e);
        self.others.merge(other.others);
        other.first.into_iter().for_each(|first| self.see(first));
    }

    fn result(self, model: String, tells_cached: bool) -> ModelResult {
        let later = self.others.len();
        let [ttft, tpot, e2e, others] =
            [self.ttft, self.tpot, self.e2e, self.others].map(Pool::into_ordered);
        let most_later = others.quantile(0.9).filter(|_| later >= LATER);
        let cold = self.first.zip(most_later).filter(|((_, _, first), later)| {
            *first >= COLD_FACTOR * later && first - later >= COLD_MS
        });
        ModelResult {
            model,
            ok: self.ok,
            failed: self.failed,
            output_tokens: self.output_tokens,
            input_tokens_mean: self.treatment.input_mean(),
            cached_tokens_mean: self.treatment.cached_mean(tells_cached),
            preempted: self.treatment.preempted(),
            ttft_p50_ms: ttft.quantile(0.5),
            ttft_p99_ms: ttft.quantile(0.99),
            tpot_p50_ms: tpot.quantile(0.5),
            e2e_p50_ms: e2e.quantile(0.5),
            e2e_p99_ms: e2e.quantile(0.99),
            cold_ttft_ms: cold.map(|((_, _, first), _)| first),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::fold::testing::{MadeUp, answer, scenario};
    use inferometer_core::record::{Stage, Usage};

    #[test]
    fn each_model_has_its_requests_and_the_load_of_an_adapter_is_seen_in_the_warm_up_too() {
        let records = (0..24).map(|index| {
            // The first request of `b`, in the warm-up, waits for its load.
            let ttft = if index == 1 { 900.0 } else { 20.0 };
            let mut record = answer(index, index as f64 * 1e3, ttft, 4, 10.0);
            record.model_asked = Some(["a", "b"][index as usize % 2].to_owned());
            if index < 4 {
                record.stage = Stage::Warmup;
            }
            // Prompts of `a` are twice as long, and half of each is known; `b` is thrown back.
            let long = index % 2 == 0;
            record.usage = record.usage.map(|usage| Usage {
                input: Some(if long { 200 } else { 100 }),
                cached: long.then_some(100),
                ..usage
            });
            record.preemptions = Some(u32::from(!long) * 3);
            record
        });
        let toml = "[load]\nconcurrency = 1\n[connection]\nmodel = 'a=1,b=1'";
        let run = MadeUp::of(scenario(toml), records.collect());
        let models = run.summary().models;
        let of = |name: &str| models.iter().find(|it| it.model == name).unwrap();
        assert_eq!((of("a").ok, of("b").ok), (10, 10));
        assert_eq!(of("a").output_tokens, Some(40));
        assert_eq!(of("a").ttft_p50_ms, Some(20.0));
        let cached = |name| (of(name).input_tokens_mean, of(name).cached_tokens_mean);
        assert_eq!(cached("a"), (Some(200.0), Some(100.0)));
        assert_eq!(cached("b"), (Some(100.0), Some(0.0)));
        assert_eq!((of("a").preempted, of("b").preempted), (Some(0), Some(10)));
        assert_eq!(
            (of("a").cold_ttft_ms, of("b").cold_ttft_ms),
            (None, Some(900.0))
        );
        assert!(MadeUp::closed(2, 8).summary().models.is_empty());
    }
}
