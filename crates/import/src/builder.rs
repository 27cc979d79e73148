//! A result while its numbers are being collected.

mod finish;

use crate::assumption::Assumption;
use crate::doubt::RepeatedNumber;
use crate::label::Stat;
use crate::label::{Field, Label, Sample};
use crate::quantity::{Quantity, Unit, convert, count, number};
use crate::summary::{ImportedSummary, Spread};
use crate::unread::UnreadReason;
use inferometer_text::hostile::printable;
use serde_json::Value;
use std::collections::BTreeMap;

const LONGEST_NAME: usize = 80;
/// Names of one result that are listed as not read.
const MOST_UNREAD: usize = 100;
/// Numbers of one result; no tool prints as many.
const MOST_NUMBERS: usize = 1000;

/// Where the time is kept that a tool's rates are over, in seconds, if it is not its window.
pub(crate) const OBSERVED: &str = "observed_s";

/// Name of the mean time between an answer and the next turn of its conversation.
pub(crate) const TURN_DELAY: &str = "turn delay (ms)";

#[derive(Clone, Debug, Default)]
pub(crate) struct ResultBuilder {
    pub(crate) summary: ImportedSummary,
    pub(crate) point: BTreeMap<String, Value>,
    /// Settings of the server.
    pub(crate) flags: BTreeMap<String, Value>,
    pub(crate) assumed: Vec<Assumption>,
    /// Names of numbers that are not read, and why, in their order.
    pub(crate) unread: Vec<(String, UnreadReason)>,
    /// `Total requests`: all that ended for one tool, all that were planned for another.
    pub(crate) total: Option<u64>,
    /// Failures by kind.
    failed_kinds: Vec<(&'static str, u64)>,
    /// Numbers that were taken in, to see when one is given again.
    seen: Vec<Seen>,
    /// Numbers that were given again with another value.
    twice: Vec<RepeatedNumber>,
    /// The sample that bare percentiles belong to.
    pub(crate) about: Option<Sample>,
    /// Output throughput of one card, under its name.
    per_card: Option<(String, f64)>,
    cards: Option<f64>,
    pub(crate) time_unit: Option<Unit>,
    /// The last concurrency was a bare one, the mean where a configured one is known too.
    bare_concurrency: Option<f64>,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    field: Field,
    value: f64,
    rounding: f64,
}

impl Seen {
    fn is_same(&self, other: &Seen) -> bool {
        let scale = self.value.abs().max(other.value.abs());
        self.value == other.value
            || (self.value - other.value).abs() <= self.rounding + other.rounding + 1e-9 * scale
    }
}

impl ResultBuilder {
    /// Whether this field, with the same sample and statistic, has a number already.
    pub(crate) fn has(&self, field: Field) -> bool {
        let field = stated(field);
        self.seen.iter().any(|seen| seen.field == field)
    }

    /// Whether it has another number for what is named here.
    pub(crate) fn contradicts(&self, label: Label, quantity: Quantity) -> bool {
        let settled = self.settle(label, quantity);
        settled.is_some_and(|new| {
            let mut seen = self.seen.iter();
            seen.any(|seen| seen.field == new.field && !seen.is_same(&new))
        })
    }

    /// Forgets which numbers were given so far: those of a client's announcement may be corrected
    /// by the result that follows.
    pub(crate) fn forget_seen(&mut self) {
        self.seen.clear();
        self.twice.clear();
    }

    /// How many numbers it holds that are results rather than settings.
    pub(crate) fn results(&self) -> usize {
        let results = self.seen.iter().filter(|seen| seen.field.is_result());
        results.count()
    }

    /// Whether it has samples, and no mean of any.
    pub(crate) fn lacks_means(&self) -> bool {
        let stat = |seen: &Seen| match seen.field {
            Field::Of(_, stat) => stat,
            _ => Some(Stat::Mean),
        };
        let mut stats = self.seen.iter().map(stat);
        !self.seen.is_empty() && stats.all(|stat| stat != Some(Stat::Mean))
    }

    pub(crate) fn numbers(&self) -> usize {
        self.seen.len()
    }

    pub(crate) fn skip(&mut self, name: &str, reason: UnreadReason) {
        let name = printable(name.trim(), LONGEST_NAME);
        let room = self.unread.len() < MOST_UNREAD;
        let is_known = self.unread.iter().any(|(known, _)| *known == name);
        if room && !name.is_empty() && !is_known {
            self.unread.push((name, reason));
        }
    }

    /// Takes a number in. `name` is kept for those that have no place in a summary. Of two
    /// numbers for one place the first stays, and the other is noted.
    pub(crate) fn set(&mut self, name: &str, label: Label, quantity: Quantity) {
        if label.field == Field::Other {
            let place = self.summary.other.entry(name.trim().to_owned());
            place.or_insert(number(quantity.value));
            return;
        }
        let Some(new) = self.settle(label, quantity) else {
            // A rate of -1 is EvalScope's "no limit", and so is a concurrency of 0.
            if !matches!(label.field, Field::Rate | Field::Concurrency) {
                self.skip(name, UnreadReason::DoesNotFit);
            }
            return;
        };
        if new.field == Field::OutputPerCard {
            self.per_card = Some((name.trim().to_owned(), new.value));
        }
        if let Field::Of(sample, _) = new.field {
            self.about = Some(sample);
            if sample == Sample::Ttft && Label::is_prefill(name) {
                let name = printable(name.trim(), LONGEST_NAME);
                let assumption = Assumption::PrefillIsTtft { name };
                if !self.assumed.contains(&assumption) {
                    self.assumed.push(assumption);
                }
            }
        }
        match self.seen.iter().find(|seen| seen.field == new.field) {
            Some(first) if first.is_same(&new) => {}
            Some(_) if self.twice.len() >= MOST_UNREAD => {}
            Some(first) => self.twice.push(RepeatedNumber {
                name: printable(name.trim(), LONGEST_NAME),
                kept: first.value,
                ignored: new.value,
            }),
            None if self.seen.len() >= MOST_NUMBERS => self.skip(name, UnreadReason::TooMany),
            None => {
                self.seen.push(new);
                self.place(new.field, new.value, quantity.share);
            }
        }
    }

    /// Takes a number in whose field is known, without a name or a unit.
    pub(crate) fn set_exact(&mut self, field: Field, value: Option<f64>) {
        if let Some(value) = value {
            self.set("", Label { field, unit: None }, Quantity::exact(value));
        }
    }

    pub(crate) fn set_turn_delay(&mut self, ms: Option<f64>) {
        if let Some(ms) = ms.filter(|ms| *ms > 0.0) {
            self.summary.other.insert(TURN_DELAY.to_owned(), number(ms));
        }
    }

    /// What a number is and how large, in the units of a summary; `None` if that is not sure.
    fn settle(&self, label: Label, quantity: Quantity) -> Option<Seen> {
        let unit = quantity.unit.or(label.unit);
        let served = || self.has(Field::OutputPerS) || self.has(Field::TotalPerS);
        let field = match (stated(label.field).with_unit(unit), unit) {
            (Field::Speed(sample), _) if served() => Field::Of(sample, Some(Stat::Mean)),
            (Field::Speed(_), _) => Field::OutputPerS,
            (Field::Ok, Some(Unit::Percent)) => Field::OkShare,
            (Field::Failed | Field::Rejected | Field::TimedOut, Some(Unit::Percent)) => {
                Field::FailedShare
            }
            (Field::Bare(stat), _) => Field::Of(self.about?, Some(stat)),
            // A length with a fraction is the mean of many.
            (Field::InputSize, _) if quantity.value.fract() != 0.0 => {
                Field::Of(Sample::InputLength, Some(Stat::Mean))
            }
            (Field::OutputSize, _) if quantity.value.fract() != 0.0 => {
                Field::Of(Sample::OutputLength, Some(Stat::Mean))
            }
            (field, _) => field,
        };
        if unit.is_some_and(|unit| !field.takes(unit)) || quantity.value < 0.0 {
            return None;
        }
        let in_ms = unit.and_then(Unit::in_ms);
        let factor = match field {
            Field::Of(sample, _) if sample.is_time() => {
                let assumed = self.time_unit.and_then(Unit::in_ms);
                in_ms.or(assumed).unwrap_or(1000.0)
            }
            Field::Window => in_ms.map_or(1.0, |ms| ms / 1000.0),
            Field::OkShare | Field::FailedShare if unit == Some(Unit::Percent) => 0.01,
            // Without a sign, 0.995 and 99.5 of successes are plain; 0.5 of failures is not.
            Field::OkShare if quantity.value <= 1.0 => 1.0,
            Field::OkShare => 0.01,
            Field::FailedShare if quantity.value == 0.0 => 1.0,
            Field::FailedShare => return None,
            Field::Rate | Field::Concurrency if quantity.value <= 0.0 => return None,
            Field::Attainment if unit == Some(Unit::Percent) => 0.01,
            _ => 1.0,
        };
        let value = convert(quantity.value, factor);
        let is_share = matches!(
            field,
            Field::OkShare | Field::FailedShare | Field::Attainment
        );
        if is_share && !(0.0..=1.0).contains(&value) {
            return None;
        }
        Some(Seen {
            field,
            value,
            rounding: quantity.rounding * factor,
        })
    }

    fn place(&mut self, field: Field, value: f64, share: Option<f64>) {
        let summary = &mut self.summary;
        let mut point = |key: &str| drop(self.point.insert(key.into(), number(value)));
        match field {
            Field::Planned => summary.requests.planned = count(value),
            Field::Total => {
                self.total = count(value);
                // `Total: 40[ 80.0% ]`: the share is of what was expected.
                if let Some(share) = share.filter(|share| *share > 0.0 && *share < 1.0) {
                    summary.requests.planned = count(value / share);
                }
            }
            Field::Ok => summary.requests.ok = count(value),
            Field::Failed => summary.requests.failed = count(value),
            Field::Rejected => (self.failed_kinds).extend(count(value).map(|n| ("rejected", n))),
            Field::TimedOut => (self.failed_kinds).extend(count(value).map(|n| ("timed out", n))),
            Field::OkShare => summary.requests.failed_share = Some(rounded_share(1.0 - value)),
            Field::FailedShare => summary.requests.failed_share = Some(value),
            Field::Window => summary.window_s = Some(value),
            Field::Concurrency => {
                summary.concurrency.configured = count(value);
                point("concurrency");
            }
            Field::BareConcurrency => self.bare_concurrency = Some(value),
            Field::PeakConcurrency => summary.concurrency.peak = count(value),
            Field::Rate => point("rate"),
            Field::InputTokens => summary.tokens.input = count(value),
            Field::OutputTokens => summary.tokens.output = count(value),
            Field::RequestsPerS => summary.throughput.requests_per_s = Some(value),
            Field::InputPerS => summary.throughput.input_tokens_per_s = Some(value),
            Field::OutputPerS => summary.throughput.output_tokens_per_s = Some(value),
            Field::TotalPerS => summary.throughput.total_tokens_per_s = Some(value),
            Field::InputCharsPerS => summary.throughput.input_chars_per_s = Some(value),
            Field::OutputCharsPerS => summary.throughput.output_chars_per_s = Some(value),
            Field::Goodput => {
                summary.slo.get_or_insert_default().goodput_per_s = Some(value);
            }
            Field::Attainment => {
                summary.slo.get_or_insert_default().attainment = Some(value);
            }
            Field::InputChars => point("input_chars"),
            Field::AskChars => point("ask_chars"),
            Field::InputSize => point("input_tokens"),
            Field::OutputSize => point("output_tokens"),
            Field::OutputCap => summary.tokens.output_asked = Some(value),
            Field::Cards => self.cards = Some(value),
            Field::Of(sample, stat) => {
                self.spread(sample).set(stat.unwrap_or(Stat::Mean), value);
            }
            Field::Bare(_) | Field::Speed(_) | Field::OutputPerCard | Field::Other => {}
        }
    }

    pub(crate) fn spread(&mut self, sample: Sample) -> &mut Spread {
        let summary = &mut self.summary;
        let place = match sample {
            Sample::Ttft => &mut summary.latency.ttft_ms,
            Sample::SecondToken => &mut summary.latency.second_token_ms,
            Sample::Tpot => &mut summary.latency.tpot_ms,
            Sample::Itl => &mut summary.latency.itl_ms,
            Sample::MaxGap => &mut summary.latency.max_gap_ms,
            Sample::E2e => &mut summary.latency.e2e_ms,
            Sample::PerUserSpeed => &mut summary.speed.per_user_tokens_per_s,
            Sample::DecodeSpeed => &mut summary.speed.decode_tokens_per_s,
            Sample::InputLength => &mut summary.tokens.input_spread,
            Sample::OutputLength => &mut summary.tokens.output_spread,
        };
        place.get_or_insert_default()
    }

    /// A sample that was read as a whole.
    pub(crate) fn put(&mut self, sample: Sample, spread: Spread) {
        if spread != Spread::default() {
            let lowest = spread.percentiles().first().copied();
            let (stat, value) = match (spread.mean, lowest) {
                (Some(mean), _) => (Stat::Mean, mean),
                (None, Some((rank, value))) => (Stat::Percentile(rank), value),
                (None, None) => (Stat::Max, spread.max.unwrap_or_default()),
            };
            self.seen.push(Seen {
                field: Field::Of(sample, Some(stat)),
                value,
                rounding: 0.0,
            });
            self.spread(sample).fill(spread);
        }
    }
}

/// The field with the statistic that it has where none is named.
fn stated(field: Field) -> Field {
    match field {
        Field::Of(sample, None) => Field::Of(sample, Some(Stat::Mean)),
        field => field,
    }
}

/// What is left of a share, without the digits that only a subtraction makes.
fn rounded_share(share: f64) -> f64 {
    (share * 1e9).round() / 1e9
}
