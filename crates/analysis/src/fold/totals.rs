//! Counts, sums and extremes over all measured requests, which can be merged.

use super::row::{Row, ms};
use inferometer_core::units::Offset;
use std::collections::BTreeMap;

/// Counts and extremes of all measured requests.
#[derive(Clone, Debug, Default)]
pub(super) struct Totals {
    pub(super) requests: u64,
    pub(super) sent: u64,
    pub(super) answers: u64,
    pub(super) input: Sum,
    pub(super) output: Sum,
    pub(super) items: Sum,
    pub(super) audio_ms: Sum,
    /// Events and characters of the answers whose output tokens are known.
    pub(super) counted_events: u64,
    pub(super) counted_chars: u64,
    /// Answers of which neither output tokens nor items are known.
    pub(super) without_count: u64,
    pub(super) retokenized: bool,
    pub(super) first_sent: Option<Offset>,
    pub(super) last_sent: Option<Offset>,
    pub(super) last_arrived: Option<Offset>,
    pub(super) last_completed: Option<Offset>,
    /// When the last answer was complete, or the last other request over.
    pub(super) last_over: Option<Offset>,
    pub(super) slowest_ms: Option<f64>,
    pub(super) duplicates: u64,
    seen: Seen,
}

impl Totals {
    pub(super) fn add(&mut self, row: &Row) {
        self.requests += 1;
        self.duplicates += u64::from(!self.seen.insert(row.index));
        let (sent, start, end) = (row.sent.offset(), row.start.offset(), row.end.offset());
        self.sent += u64::from(sent.is_some());
        self.first_sent = first_of(self.first_sent, sent);
        self.last_sent = self.last_sent.max(sent);
        self.last_arrived = self.last_arrived.max(start);
        let completed = row.answer.as_ref().map(|answer| answer.completed);
        self.last_over = self.last_over.max(completed.or(end));
        if let Some((start, end)) = start.zip(end) {
            let took = ms(end.since(start));
            self.slowest_ms = Some(self.slowest_ms.map_or(took, |most| most.max(took)));
        }
        let Some(answer) = &row.answer else { return };
        self.answers += 1;
        self.last_completed = self.last_completed.max(completed);
        self.input.add(answer.input);
        self.output.add(answer.output);
        self.items.add(answer.items);
        self.audio_ms.add(answer.audio_ms);
        match (answer.output, answer.items) {
            (Some(_), _) => {
                self.counted_events += u64::from(answer.events);
                self.counted_chars = self.counted_chars.saturating_add(answer.output_chars);
            }
            (None, None) => self.without_count += 1,
            (None, Some(_)) => {}
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.requests += other.requests;
        self.sent += other.sent;
        self.answers += other.answers;
        self.input.merge(other.input);
        self.output.merge(other.output);
        self.items.merge(other.items);
        self.audio_ms.merge(other.audio_ms);
        self.counted_events += other.counted_events;
        self.counted_chars = self.counted_chars.saturating_add(other.counted_chars);
        self.without_count += other.without_count;
        self.retokenized |= other.retokenized;
        self.first_sent = first_of(self.first_sent, other.first_sent);
        self.last_sent = self.last_sent.max(other.last_sent);
        self.last_arrived = self.last_arrived.max(other.last_arrived);
        self.last_completed = self.last_completed.max(other.last_completed);
        self.last_over = self.last_over.max(other.last_over);
        self.slowest_ms = match (self.slowest_ms, other.slowest_ms) {
            (Some(one), Some(other)) => Some(one.max(other)),
            (one, other) => one.or(other),
        };
        self.duplicates += other.duplicates + self.seen.merge(other.seen);
    }
}

/// The earlier of two moments, where there is one.
fn first_of(one: Option<Offset>, other: Option<Offset>) -> Option<Offset> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// Numbers of requests that have come, so that one that comes twice is seen.
#[derive(Clone, Debug, Default)]
struct Seen(BTreeMap<u64, [u64; 64]>);

impl Seen {
    /// Whether it is new.
    fn insert(&mut self, index: u64) -> bool {
        let block = self.0.entry(index / 4096).or_insert_with(|| [0; 64]);
        let word = &mut block[(index / 64 % 64) as usize];
        let bit = 1 << (index % 64);
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    /// How many are in both.
    fn merge(&mut self, other: Self) -> u64 {
        let mut in_both = 0;
        for (place, words) in other.0 {
            let block = self.0.entry(place).or_insert_with(|| [0; 64]);
            for (word, more) in block.iter_mut().zip(words) {
                in_both += u64::from((*word & more).count_ones());
                *word |= more;
            }
        }
        in_both
    }
}

/// Requests that are known to meet an objective, and those of which it cannot be told.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Verdicts {
    pub(super) met: u64,
    pub(super) unknown: u64,
}

impl Verdicts {
    pub(super) fn add(&mut self, verdict: Option<bool>) {
        self.met += u64::from(verdict == Some(true));
        self.unknown += u64::from(verdict.is_none());
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.met += other.met;
        self.unknown += other.unknown;
    }
}

/// A sum over those of which it is known.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum {
    pub(super) sum: u64,
    pub(super) known: u64,
}

impl Sum {
    pub(super) fn add(&mut self, value: Option<u32>) {
        if let Some(value) = value {
            self.sum += u64::from(value);
            self.known += 1;
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.sum += other.sum;
        self.known += other.known;
    }

    /// The mean, if all of so many had a value: a mean over some says nothing beside a mean
    /// over all.
    pub(super) fn mean_of_all(self, all: u64) -> Option<f64> {
        (self.known == all).then(|| self.mean()).flatten()
    }

    pub(super) fn mean(self) -> Option<f64> {
        (self.known > 0).then(|| self.sum as f64 / self.known as f64)
    }
}
