//! A run as its pictures see it, gathered from records in one pass: scalars of each request, and
//! counts of what is too many to keep.

use crate::thinning::{MOST_KEPT, Thinning};
use inferometer_core::quantile::{quantile, sort};
use inferometer_core::record::Record;
use inferometer_core::thresholds::Thresholds;
use inferometer_core::units::{Offset, Slim};
use inferometer_statistics::ExactSum;
use inferometer_statistics::Timeline;
use inferometer_statistics::{InFlight, UnderWay};
use std::time::Duration;

/// Most bins of time; then pairs are joined.
const MOST_BINS: usize = 1 << 16;
/// First width of a bin, in nanoseconds.
const FINEST: u64 = 10_000_000;
/// Classes of gaps in an octave are `1 << BITS`.
const BITS: u32 = 6;

/// What pictures of a run need of its records.
#[derive(Clone, Debug)]
pub struct RunTrace {
    thresholds: Thresholds,
    /// Measured requests; of a run with more than are kept one by one, a share of them.
    pub rows: Vec<Row>,
    /// How many measured requests there are.
    pub requests: u64,
    /// Requests of the warm-up and the hold.
    unmeasured: Vec<UnderWay>,
    /// First begin and last end of a request.
    window: [Option<Offset>; 2],
    /// What is counted of all, where only a share is kept.
    crowd: Option<Crowd>,
    pub chunk_gaps: Gaps,
    pub token_gaps: Gaps,
    tokens: Bins,
    /// Gaps of one record, in nanoseconds; its memory is used again.
    gaps: Vec<u64>,
}

/// When requests were sent, ended and failed.
#[derive(Clone, Debug)]
struct Crowd {
    thinning: Thinning,
    moments: Timeline<3>,
}

const SENT: usize = 0;
const ENDED: usize = 1;
const FAILED: usize = 2;

impl Crowd {
    fn add(&mut self, request: UnderWay) {
        self.moments.add(SENT, request.from);
        if let Some(to) = request.to {
            let after = Offset(request.from.0.saturating_add(1));
            self.moments.add(ENDED, to.max(after));
        }
    }

    fn add_row(&mut self, row: &Row) {
        row.under_way().into_iter().for_each(|it| self.add(it));
        let failed = row.failed_at().into_iter();
        failed.for_each(|at| self.moments.add(FAILED, at));
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Row {
    index: u64,
    pub start: Slim,
    pub sent: Slim,
    pub end: Slim,
    pub failed: bool,
    pub ttft: Slim,
    pub tpot: Slim,
    pub e2e: Slim,
    pub input: Option<u32>,
    pub output: Option<u32>,
    pub gap: Option<LargestGap>,
}

impl Row {
    fn under_way(&self) -> Option<UnderWay> {
        Some(UnderWay {
            from: self.sent.offset()?,
            to: self.end.offset(),
        })
    }

    fn failed_at(&self) -> Option<Offset> {
        let at = self.end.or(self.sent).or(self.start).offset();
        at.filter(|_| self.failed)
    }
}

#[derive(Clone, Copy, Debug)]
pub struct LargestGap {
    pub at: Offset,
    pub ms: f64,
    pub stall: bool,
}

fn ms(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}

impl RunTrace {
    /// The thresholds say what a stall is.
    pub fn new(thresholds: &Thresholds) -> Self {
        RunTrace {
            thresholds: thresholds.clone(),
            rows: Vec::new(),
            requests: 0,
            unmeasured: Vec::new(),
            window: [None; 2],
            crowd: None,
            chunk_gaps: Gaps::default(),
            token_gaps: Gaps::default(),
            tokens: Bins::default(),
            gaps: Vec::new(),
        }
    }

    /// Takes a record. Of one that is not measured only the load is kept: its time under way
    /// and its tokens.
    pub fn add(&mut self, record: &Record) {
        let done = record.is_done();
        if !record.is_measured() {
            self.add_tokens(record);
            let over = done || record.failure().is_some();
            let under_way = UnderWay {
                from: record.sent.or(record.end).unwrap_or_default(),
                to: record.end.filter(|_| over),
            };
            self.widen(Some(under_way.from), under_way.to);
            match &mut self.crowd {
                Some(crowd) => crowd.add(under_way),
                None => self.unmeasured.push(under_way),
            }
            self.bound();
            return;
        }
        let of_stream =
            |span: Option<Duration>| Slim::from(span.filter(|_| done && record.streamed));
        self.add_tokens(record);
        let gap = if done && record.streamed {
            self.add_gaps(record)
        } else {
            None
        };
        let over = done || record.failure().is_some();
        let row = Row {
            index: record.index,
            start: record.start().into(),
            sent: record.sent.into(),
            end: record.end.or(record.completed().filter(|_| over)).into(),
            failed: record.failure().is_some(),
            ttft: of_stream(record.ttft()),
            tpot: of_stream(record.tpot()),
            e2e: record.e2e().filter(|_| done).into(),
            input: record.input_tokens(),
            output: record.output_tokens().filter(|_| done),
            gap,
        };
        self.requests += 1;
        self.widen(
            row.sent.or(row.start).offset(),
            row.end.or(row.sent).offset(),
        );
        if let Some(crowd) = &mut self.crowd {
            crowd.add_row(&row);
            if !crowd.thinning.keeps(row.index) {
                return;
            }
        }
        self.rows.push(row);
        self.bound();
    }

    fn widen(&mut self, begin: Option<Offset>, end: Option<Offset>) {
        let [first, last] = &mut self.window;
        *first = match (*first, begin) {
            (Some(first), Some(begin)) => Some(first.min(begin)),
            (first, begin) => first.or(begin),
        };
        *last = (*last).max(end);
    }

    /// Takes what another part of the same run shows: the same as if its records had come here, in
    /// whatever order.
    pub fn merge(&mut self, mut other: Self) {
        if self.crowd.is_some() || other.crowd.is_some() {
            self.count_all();
            other.count_all();
        }
        self.rows.append(&mut other.rows);
        self.unmeasured.append(&mut other.unmeasured);
        if let (Some(crowd), Some(more)) = (&mut self.crowd, other.crowd) {
            crowd.thinning = crowd.thinning.with(more.thinning);
            crowd.moments.merge(more.moments);
            self.rows.retain(|row| crowd.thinning.keeps(row.index));
        }
        self.bound();
        // As they ended, as records do.
        self.rows
            .sort_unstable_by_key(|row| (!row.end.is_some(), row.end, row.index, row.sent));
        self.requests += other.requests;
        let [begin, end] = other.window;
        self.widen(begin, end);
        self.chunk_gaps.merge(&other.chunk_gaps);
        self.token_gaps.merge(&other.token_gaps);
        self.tokens.merge(other.tokens);
    }

    /// Keeps no more than may be kept: from then on, all are counted and a share is kept.
    fn bound(&mut self) {
        if self.rows.len() + self.unmeasured.len() <= MOST_KEPT {
            return;
        }
        self.count_all();
        if let Some(crowd) = &mut self.crowd {
            while self.rows.len() > MOST_KEPT {
                crowd.thinning.halve();
                self.rows.retain(|row| crowd.thinning.keeps(row.index));
            }
        }
    }

    fn count_all(&mut self) {
        let crowd = self.crowd.get_or_insert_with(|| {
            let mut crowd = Crowd {
                thinning: Thinning::default(),
                moments: Timeline::with_bins(MOST_BINS),
            };
            self.rows.iter().for_each(|row| crowd.add_row(row));
            crowd
        });
        self.unmeasured.drain(..).for_each(|it| crowd.add(it));
    }

    /// Tokens by the time of their chunks; an answer that came whole counts at its end.
    fn add_tokens(&mut self, record: &Record) {
        let Some(tokens) = record.output_tokens() else {
            return;
        };
        let chunks = &record.chunks.at;
        if chunks.is_empty() {
            let end = record.completed().or(record.end);
            end.into_iter()
                .for_each(|at| self.tokens.add(at, ExactSum::of(f64::from(tokens))));
            return;
        }
        let each = ExactSum::of(f64::from(tokens) / chunks.len() as f64);
        let mut rest = &chunks[..];
        while let Some(&at) = rest.first() {
            // Those of one bin together.
            let bin = self.tokens.bin(at);
            let other = |&at: &Offset| self.tokens.bin(at) != bin;
            let count = rest.iter().position(other).unwrap_or(rest.len());
            self.tokens.add(at, each.times(count as u64));
            rest = &rest[count..];
        }
    }

    fn add_gaps(&mut self, record: &Record) -> Option<LargestGap> {
        let gaps = &mut self.gaps;
        gaps.clear();
        gaps.extend(record.gap_nanos());
        let counts = record.chunks.tokens.as_deref();
        match counts.filter(|counts| counts.len() == record.chunks.len()) {
            None => {
                for &gap in gaps.iter() {
                    let class = class_of(gap);
                    self.chunk_gaps.count(class, 1);
                    self.token_gaps.count(class, 1);
                }
            }
            Some(counts) => {
                for &gap in gaps.iter() {
                    self.chunk_gaps.count(class_of(gap), 1);
                }
                let mut waiting = 0.0;
                for (&gap, &tokens) in gaps.iter().zip(counts.iter().skip(1)) {
                    waiting += gap as f64;
                    if tokens > 0 {
                        let class = class_of((waiting / f64::from(tokens)) as u64);
                        self.token_gaps.count(class, u64::from(tokens));
                        waiting = 0.0;
                    }
                }
            }
        }
        // Of equal gaps, the last.
        let (place, &largest) = gaps.iter().enumerate().max_by_key(|&(_, gap)| gap)?;
        let largest = ms(largest);
        let may_stall =
            gaps.len() >= self.thresholds.stall_gaps && largest >= self.thresholds.stall_floor_ms;
        Some(LargestGap {
            at: record.chunks.at[place + 1],
            ms: largest,
            stall: may_stall && {
                let mut gaps: Vec<f64> = gaps.iter().copied().map(ms).collect();
                sort(&mut gaps);
                largest >= self.thresholds.stall_factor * quantile(&gaps, 0.5)?
            },
        })
    }

    /// What a stall is, in numbers: factor, least length in milliseconds, fewest gaps.
    pub fn stall(&self) -> (f64, f64, usize) {
        let limits = &self.thresholds;
        (
            limits.stall_factor,
            limits.stall_floor_ms,
            limits.stall_gaps,
        )
    }

    /// First begin and last end of a request; absent if nothing was sent.
    pub fn window(&self) -> Option<[Offset; 2]> {
        let [first, last] = self.window;
        let window = [first?, last?];
        (window[1] > window[0]).then_some(window)
    }

    /// Output tokens a second in parts of equal length.
    pub fn tokens_per_s(&self, [from, to]: [Offset; 2], parts: usize) -> Vec<f64> {
        let seconds = to.since(from).as_secs_f64() / parts as f64;
        let sums = self.tokens.parts([from, to], parts);
        sums.into_iter().map(|sum| sum / seconds).collect()
    }

    /// Mean number of requests under way in parts of equal length.
    pub fn in_flight(&self, [from, to]: [Offset; 2], parts: usize) -> Vec<f64> {
        let in_flight = match &self.crowd {
            Some(crowd) => crowd.moments.in_flight(SENT, ENDED),
            None => {
                let measured = self.rows.iter().filter_map(Row::under_way);
                InFlight::sweep(measured.chain(self.unmeasured.iter().copied()))
            }
        };
        in_flight.bins(from, to, parts)
    }

    /// Failures in parts of equal length; absent if there were none.
    pub fn failures(&self, [from, to]: [Offset; 2], parts: usize) -> Option<Vec<f64>> {
        let mut counts = vec![0.0; parts];
        match &self.crowd {
            Some(crowd) => counts = crowd.moments.accumulate(FAILED).bins(from, to, parts),
            None => {
                let width = to.since(from).as_secs_f64() / parts as f64;
                for at in self.rows.iter().filter_map(Row::failed_at) {
                    let part = (at.since(from).as_secs_f64() / width) as usize;
                    counts[part.min(parts - 1)] += 1.0;
                }
            }
        }
        counts.iter().any(|&count| count > 0.0).then_some(counts)
    }
}

/// Gaps counted by class, so that a run may have billions.
#[derive(Clone, Debug, Default)]
pub struct Gaps {
    counts: Vec<u64>,
    n: u64,
}

impl Gaps {
    #[inline]
    fn count(&mut self, class: usize, times: u64) {
        if self.counts.len() <= class {
            self.counts.resize(class + 1, 0);
        }
        self.counts[class] += times;
        self.n += times;
    }

    fn merge(&mut self, other: &Gaps) {
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.n += other.n;
    }

    /// Upper end of each class in milliseconds, and the share of gaps up to it.
    pub fn cumulative(&self) -> Vec<[f64; 2]> {
        let mut sum = 0;
        let mut points = Vec::new();
        for (class, &count) in self
            .counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
        {
            if points.is_empty() {
                points.push([end_of(class) / 1e6, 0.0]);
            }
            sum += count;
            points.push([end_of(class) / 1e6, sum as f64 / self.n as f64]);
        }
        points
    }
}

/// Classes of equal ratio: the octave, then its parts. Below `1 << BITS` each number is one.
fn class_of(nanos: u64) -> usize {
    let octave = nanos.max(1).ilog2();
    match octave.checked_sub(BITS) {
        None => nanos as usize,
        Some(shift) => ((u64::from(shift) << BITS) + (nanos >> shift)) as usize,
    }
}

/// The number at which the next class begins.
fn end_of(class: usize) -> f64 {
    let shift = (class >> BITS).saturating_sub(1);
    let part = class - (shift << BITS);
    (part + 1) as f64 * 2f64.powi(shift as i32)
}

/// Amounts over time, in bins that double when a run is long.
#[derive(Clone, Debug, Default)]
struct Bins {
    /// How often the width has doubled.
    doublings: u32,
    sums: Vec<ExactSum>,
}

impl Bins {
    fn bin(&self, at: Offset) -> u64 {
        (at.0 / FINEST) >> self.doublings
    }

    fn add(&mut self, at: Offset, amount: ExactSum) {
        while self.bin(at) >= MOST_BINS as u64 {
            self.widen();
        }
        let bin = self.bin(at) as usize;
        if self.sums.len() <= bin {
            self.sums.resize(bin + 1, ExactSum::default());
        }
        self.sums[bin].merge(amount);
    }

    fn widen(&mut self) {
        let sum = |pair: &[ExactSum]| {
            let mut sum = ExactSum::default();
            pair.iter().for_each(|&part| sum.merge(part));
            sum
        };
        self.sums = self.sums.chunks(2).map(sum).collect();
        self.doublings += 1;
    }

    fn merge(&mut self, mut other: Bins) {
        while self.doublings < other.doublings {
            self.widen();
        }
        while other.doublings < self.doublings {
            other.widen();
        }
        if self.sums.len() < other.sums.len() {
            self.sums.resize(other.sums.len(), ExactSum::default());
        }
        for (sum, &more) in self.sums.iter_mut().zip(&other.sums) {
            sum.merge(more);
        }
    }

    /// Amounts in parts of equal length; a bin that two parts share is divided.
    fn parts(&self, [from, to]: [Offset; 2], parts: usize) -> Vec<f64> {
        let before: Vec<f64> = std::iter::once(0.0)
            .chain(self.sums.iter().scan(ExactSum::default(), |sum, &amount| {
                sum.merge(amount);
                Some(sum.value())
            }))
            .collect();
        let last = before.len() - 1;
        let until = |at: f64| {
            let place = at / (FINEST << self.doublings) as f64;
            let bin = (place as usize).min(last);
            let next = before[(bin + 1).min(last)];
            before[bin] + (place - bin as f64).min(1.0) * (next - before[bin])
        };
        let width = to.since(from).as_nanos() as f64 / parts as f64;
        let edge = |part: usize| until(from.0 as f64 + part as f64 * width);
        (0..parts).map(|part| edge(part + 1) - edge(part)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::testing::answer;
    use inferometer_core::record::{Failure, FailureClass, Outcome, Phase};

    #[test]
    fn classes_of_gaps_are_fine_and_cover_every_length() {
        for nanos in [0, 1, 63, 64, 65, 1_000, 12_345_678, u64::MAX / 2, u64::MAX] {
            let class = class_of(nanos);
            let end = end_of(class);
            assert!(end >= nanos as f64, "{nanos}: {end}");
            assert!(end <= nanos as f64 * 1.016 + 1.0, "{nanos}: {end}");
            assert!(class < 1 << 13);
        }
    }

    #[test]
    fn amounts_stay_the_same_however_long_the_run() {
        let mut bins = Bins::default();
        for second in 0..100_000u64 {
            bins.add(Offset(second * 1_000_000_000), ExactSum::of(2.0));
        }
        assert!(bins.sums.len() <= MOST_BINS);
        let parts = bins.parts([Offset(0), Offset(100_000_000_000_000)], 10);
        assert_eq!(parts.len(), 10);
        assert!((parts.iter().sum::<f64>() - 200_000.0).abs() < 10.0);
        assert!(
            parts.iter().all(|part| (part - 20_000.0).abs() < 10.0),
            "{parts:?}"
        );
    }

    #[test]
    fn of_a_large_run_a_share_is_kept_and_all_are_counted() {
        let mut trace = RunTrace::new(&Thresholds::default());
        let requests = MOST_KEPT as u64 + 50_000;
        for index in 0..requests {
            // Two are under way at any time; one in a thousand fails.
            let mut record = answer(index, index as f64, 1.0, 2, 1.0);
            if index % 1_000 == 0 {
                record.outcome = Outcome::Failed(Failure {
                    phase: Phase::Status,
                    class: FailureClass::ServerError,
                    detail: String::new(),
                });
            }
            trace.add(&record);
        }
        assert_eq!(trace.requests, requests);
        assert!(trace.rows.len() <= MOST_KEPT);
        let window = trace.window().unwrap();
        let in_flight = trace.in_flight(window, 10);
        assert!(
            in_flight.iter().all(|&it| (it - 2.0).abs() < 0.01),
            "{in_flight:?}"
        );
        let failures: f64 = trace.failures(window, 10).unwrap().iter().sum();
        assert_eq!(failures.round() as u64, requests.div_ceil(1_000));
    }

    #[test]
    fn parts_of_a_run_show_what_one_stream_shows() {
        let records: Vec<Record> = (0..300_000u64)
            .map(|index| {
                let mut record = answer(index, index as f64 / 3.0, 5.0, 3, 1.1);
                record.chunks.tokens = index.is_multiple_of(3).then(|| vec![1, 0, 3]);
                record
            })
            .collect();
        let shown = |parts: usize| {
            let mut whole = RunTrace::new(&Thresholds::default());
            for part in 0..parts {
                let mut trace = RunTrace::new(&Thresholds::default());
                let mine = records.iter().skip(part).step_by(parts);
                mine.for_each(|record| trace.add(record));
                whole.merge(trace);
            }
            let window = whole.window().unwrap();
            let curves = [
                whole.tokens_per_s(window, 100),
                whole.in_flight(window, 100),
            ];
            let gaps = [&whole.chunk_gaps, &whole.token_gaps].map(Gaps::cumulative);
            format!("{curves:?} {gaps:?} {:?}", whole.rows)
        };
        let whole = shown(1);
        assert!(shown(2) == whole && shown(5) == whole);
    }
}
