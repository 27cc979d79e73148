//! Answers to a template that asks for a length in words, by the length that came.

use super::{RunReport, heading};
use inferometer_core::summary::{ContinuationGroup, ContinuationResult};
use inferometer_message::NumbersText;
use inferometer_page::doc::{Block, Cell, Column, Pair, Section, Table, Unit};
use inferometer_page::number;

pub(super) fn section(report: &RunReport<'_>) -> Option<Section> {
    let found = report.summary.continuation.as_ref()?;
    let table = Table::new(
        vec![
            Column::left(report.say(NumbersText::OfAsked)),
            Column::right(report.say(NumbersText::Answers)),
            Column::right(report.say(NumbersText::MeanChars)),
            Column::right(report.say(NumbersText::MeanTokens)),
            Column::right(report.say(NumbersText::PerUserRate)),
            Column::right(report.say(NumbersText::MeanE2e)),
        ],
        (found.groups.iter()).map(|group| row(report, group)),
    );
    Some(Section::headed(
        &heading(report, NumbersText::ByActualLength),
        [Block::Table(table), Block::Pairs(pairs(report, found))],
    ))
}

fn row(report: &RunReport<'_>, group: &ContinuationGroup) -> Vec<Cell> {
    let from = ("from", number::percent(group.from_share));
    let range = match group.to_share.map(|to| ("to", number::percent(to))) {
        Some(to) if group.from_share <= 0.0 => report.fill(NumbersText::ShareBelow, &[to]),
        Some(to) => report.fill(NumbersText::ShareBetween, &[from, to]),
        None => report.fill(NumbersText::ShareAbove, &[from]),
    };
    // A mean of nothing belongs nowhere; one of something unknown is absent.
    let mean = |value: Option<f64>, unit: Unit, decimals: usize| match group.answers {
        0 => Cell::blank(),
        _ => Cell::number(value, unit, decimals),
    };
    let speed = group.tokens_per_s_mean;
    vec![
        Cell::text(range),
        Cell::count(group.answers),
        mean(group.chars_mean, Unit::Count, 0),
        mean(group.tokens_mean, Unit::Count, 0),
        mean(
            speed,
            Unit::TokensPerSecond,
            speed.map_or(0, number::decimals),
        ),
        match group.e2e_mean_ms {
            Some(mean) => Cell::text(number::whole_millis(mean)),
            None => mean(None, Unit::Milliseconds, 0),
        },
    ]
}

fn pairs(report: &RunReport<'_>, found: &ContinuationResult) -> Vec<Pair> {
    let pair = |label, value: String| Pair::new(report.say(label), value);
    let mut pairs = Vec::new();
    if let Some(mean) = found.chars_mean {
        let asked = f64::from(found.asked_chars.max(1));
        let values = [
            ("asked", number::count(u64::from(found.asked_chars))),
            ("mean", number::grouped(mean, 0)),
            ("share", number::percent(mean / asked)),
        ];
        pairs.push(pair(
            NumbersText::Asked,
            report.fill(NumbersText::AskedOf, &values),
        ));
    }
    let values = [
        ("refused", number::count(found.refused)),
        ("short", number::count(found.very_short)),
    ];
    let odd = report.fill(NumbersText::ShortAnswersOf, &values);
    pairs.push(pair(NumbersText::ShortAnswers, odd));
    let chars = found
        .template_chars
        .map(|chars| ("chars", number::count(chars)));
    let tokens = (found.template_tokens).map(|tokens| ("tokens", number::count(u64::from(tokens))));
    let size = match (chars, tokens) {
        (Some(chars), Some(tokens)) => {
            Some(report.fill(NumbersText::TemplateCharsTokens, &[chars, tokens]))
        }
        (Some(chars), None) => Some(report.fill(NumbersText::TemplateChars, &[chars])),
        (None, _) => None,
    };
    pairs.extend(size.map(|size| pair(NumbersText::TemplateSize, size)));
    pairs
}
