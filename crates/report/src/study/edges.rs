//! Best values at the end of the range that was searched: the best of all may lie beyond.

use super::{StudyReport, last_part, named};
use inferometer_campaign::space::{Edge, Value};
use inferometer_campaign::study::{Effect, Finding};
use inferometer_campaign::trial::Level;
use inferometer_catalog::engine::flag::{Flag, table};
use inferometer_message::StudyText;
use inferometer_page::doc::Pair;

/// Flags of the best whose value is at the end of its range, and how to widen it.
pub(super) fn warnings(report: &StudyReport<'_>) -> Vec<Pair> {
    let lang = report.lang;
    let best = report.result.best.iter().flat_map(|best| &best.flags.0);
    let at_edge = best.filter_map(|(name, value)| {
        let mut dimensions = report.study.space.dimensions().iter();
        let edge = dimensions.find(|it| it.name == *name)?.domain.edge(value)?;
        (matters(report, name) && may_go_on(report, name, value, edge))
            .then_some((name, value, edge))
    });
    let warning = |(name, value, edge): (&String, &Value, Edge)| {
        let streams =
            streams(report).filter(|it| edge == Edge::Highest && reaches(report, name, value, *it));
        let text = match edge {
            _ if streams.is_some() => StudyText::LoadBounds,
            Edge::Lowest => StudyText::LowestSearched,
            Edge::Highest => StudyText::HighestSearched,
        };
        let values = [
            ("flag", named(name, value)),
            ("name", last_part(name).to_owned()),
            ("streams", streams.unwrap_or_default().to_string()),
        ];
        Pair::new(StudyText::AtEdge.text(lang), text.with(lang, &values))
    };
    at_edge.map(warning).collect()
}

/// Where the default won: flags that matter and whose default lies between two values that were
/// searched.
pub(super) fn between(report: &StudyReport<'_>) -> Vec<Pair> {
    let lang = report.lang;
    let won = matches!(
        report.result.finding,
        Finding::DefaultBest | Finding::DefaultFirst
    );
    let lines = report
        .result
        .importance
        .iter()
        .filter(|it| won && it.spread.is_some());
    let warning = |name: &str| {
        let default = report.result.defaults.get(name)?;
        let number = default.number()?;
        let trials = report.result.trials.iter();
        let tried = trials.filter_map(|trial| trial.flags.get(name)?.number());
        let tried: Vec<f64> = tried.collect();
        let low = tried
            .iter()
            .copied()
            .filter(|it| *it < number)
            .reduce(f64::max)?;
        let high = tried
            .iter()
            .copied()
            .filter(|it| *it > number)
            .reduce(f64::min)?;
        let is_searched = tried.contains(&number);
        let values = [
            ("flag", named(name, default)),
            ("low", low.to_string()),
            ("high", high.to_string()),
        ];
        let text = StudyText::BetweenSearched.with(lang, &values);
        (!is_searched).then(|| Pair::new(StudyText::Between.text(lang), text))
    };
    lines.filter_map(|line| warning(&line.flag)).collect()
}

/// The most requests that are under way at once; absent where the load is searched for.
fn streams(report: &StudyReport<'_>) -> Option<u32> {
    let levels = report.study.levels.iter().map(|level| match level {
        Level::Concurrency(streams) => Some(*streams),
        Level::Capacity => None,
    });
    let levels: Option<Vec<u32>> = levels.collect();
    levels?.into_iter().max()
}

/// Whether a flag counts requests that run at once, and lets all of them run.
fn reaches(report: &StudyReport<'_>, name: &str, value: &Value, streams: u32) -> bool {
    let mut flags = table(report.study.engine.kind()).iter();
    let counts = flags.any(|flag| flag.name == name && flag.counts_requests);
    counts
        && value
            .number()
            .is_some_and(|value| value >= f64::from(streams))
}

/// A flag without an effect may be wherever it is.
fn matters(report: &StudyReport<'_>, name: &str) -> bool {
    let line = report.result.importance.iter().find(|it| it.flag == name);
    line.is_none_or(|it| {
        let without = [
            Effect::None,
            Effect::NotModelled,
            Effect::DefaultBest,
            Effect::OnlyBeside,
        ];
        !without.contains(&it.effect)
    })
}

/// Whether the engine takes a value beyond: it may refuse that by itself.
fn may_go_on(report: &StudyReport<'_>, name: &str, value: &Value, edge: Edge) -> bool {
    let mut flags = table(report.study.engine.kind()).iter();
    let known = flags.find(|flag| flag.name == name);
    let Some(value) = value.number() else {
        return false;
    };
    let bound = |of: fn(&Flag) -> Option<f64>| known.and_then(of);
    match edge {
        Edge::Highest => bound(|flag| flag.max).is_none_or(|max| value < max),
        Edge::Lowest => {
            let least = bound(|flag| flag.min).or_else(|| bound(|flag| flag.above));
            // Sizes and counts that no table describes begin at 1.
            value > least.unwrap_or(1.0).max(0.0)
        }
    }
}
