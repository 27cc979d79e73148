//! Numbers of the run while it goes on. Each worker owns one set and is the only one to write
//! to it; views read them and cannot slow the driver.

use inferometer_core::record::{Outcome, Record, Stage};
use inferometer_core::slo::{Slo, SloScope};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use strum::VariantArray;

/// Buckets per octave of the live TTFT histogram; enough for a progress line.
const PER_OCTAVE: f64 = 8.0;
const BUCKETS: usize = 256;

#[repr(align(128))]
pub struct LiveCounters {
    started: AtomicU64,
    ok: AtomicU64,
    failed: AtomicU64,
    turned_away: AtomicU64,
    cut: AtomicU64,
    tokens: AtomicU64,
    reads: AtomicU64,
    latency_ns: AtomicU64,
    /// For each objective, requests that missed it.
    missed: Vec<AtomicU64>,
    missed_any: AtomicU64,
    ttft: [AtomicU64; BUCKETS],
}

impl LiveCounters {
    pub fn new(objectives: usize) -> Self {
        LiveCounters {
            started: AtomicU64::new(0),
            ok: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            turned_away: AtomicU64::new(0),
            cut: AtomicU64::new(0),
            tokens: AtomicU64::new(0),
            reads: AtomicU64::new(0),
            latency_ns: AtomicU64::new(0),
            missed: (0..objectives).map(|_| AtomicU64::new(0)).collect(),
            missed_any: AtomicU64::new(0),
            ttft: [const { AtomicU64::new(0) }; BUCKETS],
        }
    }

    pub(crate) fn start(&self) {
        self.started.fetch_add(1, Relaxed);
    }

    pub(crate) fn read(&self, tokens: u64) {
        self.reads.fetch_add(1, Relaxed);
        if tokens > 0 {
            self.tokens.fetch_add(tokens, Relaxed);
        }
    }

    pub(crate) fn end(&self, record: &Record, objectives: &[Slo]) {
        let ended = match record.outcome {
            Outcome::Done => &self.ok,
            Outcome::Failed(_) => &self.failed,
            Outcome::Cut | Outcome::Cancelled => &self.cut,
        };
        ended.fetch_add(1, Relaxed);
        if record.was_turned_away() {
            self.turned_away.fetch_add(1, Relaxed);
        }
        if record.is_done()
            && let Some(latency) = record.e2e()
        {
            let nanos = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX);
            self.latency_ns.fetch_add(nanos, Relaxed);
        }
        if let Some(ttft) = record.ttft() {
            self.ttft[bucket(ttft)].fetch_add(1, Relaxed);
        }
        let mut any = false;
        for (objective, missed) in objectives.iter().zip(&self.missed) {
            if !objective.met_by(record) {
                missed.fetch_add(1, Relaxed);
                any |= objective.scope == SloScope::Request;
            }
        }
        if any {
            self.missed_any.fetch_add(1, Relaxed);
        }
    }
}

/// The counters of each stage of the load.
pub struct StageCounters([LiveCounters; Stage::VARIANTS.len()]);

impl StageCounters {
    pub fn new(objectives: usize) -> Self {
        StageCounters(std::array::from_fn(|_| LiveCounters::new(objectives)))
    }

    pub fn of(&self, stage: Stage) -> &LiveCounters {
        &self.0[stage as usize]
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Snapshot {
    pub started: u64,
    pub ok: u64,
    pub failed: u64,
    /// Of these, the ones that could not reach the server.
    pub(crate) turned_away: u64,
    /// Given up at the end.
    pub cut: u64,
    pub tokens: u64,
    /// Reads of sockets: grows as long as anything moves.
    pub reads: u64,
    pub(crate) latency_ns: u64,
    /// Times to first token, by size.
    ttft: Vec<u64>,
    /// For each objective, requests that missed it.
    pub missed: Vec<u64>,
    pub missed_any: u64,
}

impl Snapshot {
    pub fn of<'a>(workers: impl IntoIterator<Item = &'a LiveCounters>) -> Snapshot {
        let mut sum = Snapshot::default();
        sum.ttft.resize(BUCKETS, 0);
        for live in workers {
            sum.started += live.started.load(Relaxed);
            sum.ok += live.ok.load(Relaxed);
            sum.failed += live.failed.load(Relaxed);
            sum.turned_away += live.turned_away.load(Relaxed);
            sum.cut += live.cut.load(Relaxed);
            sum.tokens += live.tokens.load(Relaxed);
            sum.reads += live.reads.load(Relaxed);
            sum.missed_any += live.missed_any.load(Relaxed);
            sum.latency_ns += live.latency_ns.load(Relaxed);
            sum.missed.resize(live.missed.len(), 0);
            for (sum, missed) in sum.missed.iter_mut().zip(&live.missed) {
                *sum += missed.load(Relaxed);
            }
            for (sum, count) in sum.ttft.iter_mut().zip(&live.ttft) {
                *sum += count.load(Relaxed);
            }
        }
        sum
    }

    pub fn mean_latency(&self) -> Option<Duration> {
        (self.ok > 0).then(|| Duration::from_nanos(self.latency_ns / self.ok))
    }

    /// Median TTFT, to about a tenth.
    pub fn ttft_p50(&self) -> Option<Duration> {
        median(&self.ttft)
    }

    pub fn ended(&self) -> u64 {
        self.ok + self.failed + self.cut
    }

    pub fn in_flight(&self) -> u64 {
        self.started.saturating_sub(self.ended())
    }

    pub(crate) fn with(&self, other: &Snapshot) -> Snapshot {
        self.combined(other, u64::saturating_add)
    }

    pub fn since(&self, earlier: &Snapshot) -> Snapshot {
        self.combined(earlier, u64::saturating_sub)
    }

    /// Each number with its counterpart.
    fn combined(&self, other: &Snapshot, combine: fn(u64, u64) -> u64) -> Snapshot {
        let each = |these: &[u64], others: &[u64]| {
            let others = others.iter().copied().chain(std::iter::repeat(0));
            let pairs = these.iter().zip(others);
            pairs.map(|(&one, other)| combine(one, other)).collect()
        };
        Snapshot {
            started: combine(self.started, other.started),
            ok: combine(self.ok, other.ok),
            failed: combine(self.failed, other.failed),
            turned_away: combine(self.turned_away, other.turned_away),
            cut: combine(self.cut, other.cut),
            tokens: combine(self.tokens, other.tokens),
            reads: combine(self.reads, other.reads),
            missed_any: combine(self.missed_any, other.missed_any),
            missed: each(&self.missed, &other.missed),
            latency_ns: combine(self.latency_ns, other.latency_ns),
            ttft: each(&self.ttft, &other.ttft),
        }
    }
}

fn bucket(span: Duration) -> usize {
    let micros = span.as_secs_f64() * 1e6;
    ((micros.max(1.0).log2() * PER_OCTAVE) as usize).min(BUCKETS - 1)
}

fn median(buckets: &[u64]) -> Option<Duration> {
    let total: u64 = buckets.iter().sum();
    if total == 0 {
        return None;
    }
    let mut seen = 0;
    let middle = buckets.iter().position(|&count| {
        seen += count;
        seen * 2 >= total
    })?;
    let micros = 2f64.powf((middle as f64 + 0.5) / PER_OCTAVE);
    Some(Duration::from_secs_f64(micros / 1e6))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_live_median_is_within_a_tenth() {
        let mut buckets = [0; BUCKETS];
        for millis in [50, 200, 900] {
            buckets[bucket(Duration::from_millis(millis))] += 1;
        }
        let median = median(&buckets).unwrap().as_secs_f64();
        assert!((median / 0.2 - 1.0).abs() < 0.1, "{median}");
    }
}
