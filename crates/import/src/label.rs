//! Names of metrics as tools and people write them, in English and Chinese.

mod beside;
mod naming;
mod rates;
mod statistic;
mod words;

pub(crate) use beside::together;

use crate::quantity::Unit;
use crate::summary::Stat;
use words::Words;

/// A sample that numbers may describe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sample {
    Ttft,
    SecondToken,
    Tpot,
    Itl,
    MaxGap,
    E2e,
    PerUserSpeed,
    DecodeSpeed,
    InputLength,
    OutputLength,
}

impl Sample {
    /// Whether its numbers are times.
    pub(crate) fn is_time(self) -> bool {
        !matches!(
            self,
            Sample::PerUserSpeed | Sample::DecodeSpeed | Sample::InputLength | Sample::OutputLength
        )
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Field {
    Planned,
    Total,
    Ok,
    Failed,
    /// Share of the requests that were answered.
    OkShare,
    /// Share of those that failed.
    FailedShare,
    Window,
    Concurrency,
    /// A bare `Concurrency`, which SGLang prints for the mean.
    BareConcurrency,
    PeakConcurrency,
    Rate,
    InputTokens,
    OutputTokens,
    RequestsPerS,
    InputPerS,
    OutputPerS,
    TotalPerS,
    /// A speed of this sample beside the server's throughput, and else that throughput.
    Speed(Sample),
    /// Output throughput over the number of cards.
    OutputPerCard,
    /// How many cards the server has.
    Cards,
    InputCharsPerS,
    OutputCharsPerS,
    Goodput,
    InputChars,
    AskChars,
    OutputCap,
    /// The length of every prompt, in tokens.
    InputSize,
    /// The length of every answer, in tokens.
    OutputSize,
    /// A number about a sample; the mean where no statistic is named.
    Of(Sample, Option<Stat>),
    /// A percentile of whatever was named before.
    Bare(Stat),
    /// Known, and of no place in a summary.
    Other,
}

impl Field {
    /// Whether it tells of what came out, not of what was asked for.
    pub(crate) fn is_result(self) -> bool {
        matches!(
            self,
            Field::RequestsPerS
                | Field::OutputPerS
                | Field::TotalPerS
                | Field::InputPerS
                | Field::OutputCharsPerS
                | Field::Speed(_)
                | Field::OutputPerCard
                | Field::Of(_, _)
                | Field::Ok
        )
    }

    /// Whether it is the length of every prompt or answer.
    pub(crate) fn is_length(self) -> bool {
        matches!(self, Field::InputSize | Field::OutputSize)
    }

    /// The sample that it is about where its numbers are statistics of single requests.
    pub(crate) fn sample(self) -> Option<Sample> {
        match self {
            Field::Of(sample, _) => Some(sample),
            Field::InputTokens | Field::InputSize => Some(Sample::InputLength),
            Field::OutputTokens | Field::OutputSize => Some(Sample::OutputLength),
            Field::OutputPerS => Some(Sample::PerUserSpeed),
            Field::Speed(sample) => Some(sample),
            _ => None,
        }
    }

    /// `Throughput: 3 requests/s` is decided by the unit.
    pub(crate) fn with_unit(self, unit: Option<Unit>) -> Field {
        match (self, unit) {
            (Field::OutputPerS | Field::TotalPerS, Some(Unit::RequestsPerSecond)) => {
                Field::RequestsPerS
            }
            (Field::OutputPerS, Some(Unit::CharsPerSecond)) => Field::OutputCharsPerS,
            (field, _) => field,
        }
    }

    /// Whether its numbers can have this unit.
    pub(crate) fn takes(self, unit: Unit) -> bool {
        match self {
            Field::Of(sample, _) if sample.is_time() => unit.in_ms().is_some(),
            Field::Of(Sample::PerUserSpeed | Sample::DecodeSpeed, _)
            | Field::InputPerS
            | Field::OutputPerS
            | Field::TotalPerS
            | Field::Speed(_)
            | Field::OutputPerCard => matches!(unit, Unit::TokensPerSecond | Unit::Count),
            Field::InputCharsPerS | Field::OutputCharsPerS => {
                matches!(unit, Unit::CharsPerSecond | Unit::Count)
            }
            Field::RequestsPerS | Field::Rate | Field::Goodput => {
                matches!(unit, Unit::RequestsPerSecond | Unit::Count)
            }
            Field::Window => unit.in_ms().is_some(),
            Field::Ok | Field::Failed | Field::OkShare | Field::FailedShare => {
                matches!(unit, Unit::Percent | Unit::Count)
            }
            Field::Bare(_) | Field::Other => true,
            _ => unit == Unit::Count,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Label {
    pub(crate) field: Field,
    /// Unit written in the label: `TTFT (ms)`, `mean_itl_ms`.
    pub(crate) unit: Option<Unit>,
}

impl Label {
    /// Whether it names the prefill, which ends with the first token.
    pub(crate) fn is_prefill(text: &str) -> bool {
        let text = text.to_lowercase();
        text.contains("prefill") || text.contains("全量")
    }
}

/// Whether a name tells by how much something is better or worse than something else.
pub(crate) fn is_change(text: &str) -> bool {
    let (words, unit) = normalise(text);
    naming::is_change(&Words { text: &words, unit })
}

const LONGEST: usize = 80;

/// Reads a label; `None` if it names nothing that is known.
pub(crate) fn label(text: &str) -> Option<Label> {
    let text = text
        .trim()
        .trim_matches(|c| matches!(c, '*' | '`' | '"' | '\''));
    if text.is_empty() || text.len() > LONGEST {
        return None;
    }
    // As `summary.json` names rates.
    let spelled = text.strip_suffix("_per_s");
    let spelled = spelled.map(|what| format!("{what} per second"));
    let (words, unit) = normalise(spelled.as_deref().unwrap_or(text));
    let (stat, text) = statistic::statistic(&words);
    let field = naming::field(&Words { text: &text, unit }, stat)?.with_unit(unit);
    let fits = unit.is_none_or(|unit| field.takes(unit));
    fits.then_some(Label { field, unit })
}

/// Whether a name ends with what is counted by the second: `/s` behind it is no unit of time.
fn is_rated(name: &str) -> bool {
    let begin = name
        .trim_end_matches(|c: char| c.is_ascii_alphabetic())
        .len();
    let noun = &name[begin..];
    name.ends_with(['字', '元', '次', '个', '条', '求'])
        || Unit::of_word(noun) == Some(Unit::Count)
        || matches!(noun, "tok" | "toks" | "t" | "req" | "gen" | "it" | "char")
}

/// Lower case, one space between words, and the unit taken off its end or brackets.
fn normalise(text: &str) -> (String, Option<Unit>) {
    let mut unit = None;
    let mut words = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find(['(', '（', '[']) {
        words.push_str(&rest[..open]);
        let inner = rest[open..].trim_start_matches(['(', '（', '[']);
        let close = inner.find([')', '）', ']']).unwrap_or(inner.len());
        match Unit::of_word(&inner[..close]) {
            Some(found) => unit = unit.or(Some(found)),
            // What is no unit may be the name itself: `time_to_first_token(ttft)`.
            None => {
                words.push(' ');
                words.push_str(&inner[..close]);
            }
        }
        words.push(' ');
        rest = inner[close..].trim_start_matches([')', '）', ']']);
    }
    words.push_str(rest);
    // Arrows only tell whether more is better.
    let words = (words.to_lowercase()).replace(['_', '-', '\u{a0}', '↑', '↓'], " ");
    let mut parts: Vec<&str> = words.split_whitespace().collect();
    // `时延/ms`, but not `tokens/s`.
    if let (None, Some(last)) = (unit, parts.last_mut())
        && let Some((name, behind)) = last.rsplit_once('/')
        && let Some(found) = Unit::of_word(behind).filter(|unit| unit.in_ms().is_some())
        && Unit::of_word(last).is_none()
        && !name.is_empty()
        && !is_rated(name)
    {
        unit = Some(found);
        *last = name;
    }
    if unit.is_none()
        && let Some((last, front)) = parts.split_last()
        && !front.is_empty()
        && let Some(found @ (Unit::Millis | Unit::Seconds | Unit::Micros)) = Unit::of_word(last)
        // `prompt tokens/second` is a rate, `requests per second` too.
        && !front.last().is_some_and(|word| *word == "per" || word.ends_with('/'))
    {
        unit = Some(found);
        parts.pop();
    }
    (parts.join(" "), unit)
}

#[cfg(test)]
mod tests;
