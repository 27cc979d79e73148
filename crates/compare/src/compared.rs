//! All figures of two groups at one load.

use super::contrast::Contrast;
use super::repeated::Repeats;
use super::why_not;
use super::{Basis, Direction, LEAST_TOLD, Metric, Row, RunSample, Settings, Verdict};
use inferometer_core::point::Point;

/// Whether both sides say how many cards served them, and say different numbers: with as many on
/// each side a card differs as the whole does.
fn differ_in_cards(a: &[&RunSample], b: &[&RunSample]) -> bool {
    let cards = |runs: &[&RunSample]| {
        let mut all = runs.iter().map(|run| run.summary.cards());
        let first = all.next()??;
        all.all(|cards| cards == Some(first)).then_some(first)
    };
    cards(a)
        .zip(cards(b))
        .is_some_and(|(a, b)| a.total_cmp(&b).is_ne())
}

/// All figures of two groups at one point, the primary first; metrics that neither side has are
/// left out.
pub(super) struct Compared<'a> {
    pub(super) point: &'a Point,
    pub(super) primary: Metric,
    pub(super) contrasts: Vec<(Metric, Contrast)>,
    /// The figures are of several tools.
    of_tools: bool,
}

impl<'a> Compared<'a> {
    pub(super) fn of(
        point: &'a Point,
        a: &[&RunSample],
        b: &[&RunSample],
        settings: &Settings,
        repeats: &Repeats<'_>,
    ) -> Self {
        let usual = if point.is_open_loop() {
            [Metric::E2eMean, Metric::TtftMean, Metric::TpotMean]
        } else {
            [
                Metric::OutputTokensPerS,
                Metric::RequestsPerS,
                Metric::E2eMean,
            ]
        };
        // Where another tool does not state the usual one, the next that both sides have.
        let has = |runs: &[&RunSample], metric: Metric| {
            runs.iter().any(|run| metric.of(&run.summary).is_some())
        };
        let stated = usual.into_iter().find(|it| has(a, *it) && has(b, *it));
        let primary = settings.primary.or(stated).unwrap_or(usual[0]);
        let others = settings
            .metrics
            .iter()
            .copied()
            .filter(|&metric| metric != primary)
            .filter(|&metric| metric != Metric::OutputTokensPerSPerCard || differ_in_cards(a, b));
        let contrasts = std::iter::once(primary)
            .chain(others)
            .map(|metric| (metric, Contrast::of(a, b, metric, settings, repeats)))
            .filter(|(_, contrast)| contrast.a.is_some() || contrast.b.is_some())
            .collect();
        Compared {
            point,
            primary,
            contrasts,
            of_tools: why_not::tools(a, b).len() > 1,
        }
    }

    /// Whether all tools that the figures are of mean the same by it.
    fn is_meant_alike(&self, metric: Metric) -> bool {
        !self.of_tools || metric.is_common(self.point.is_open_loop())
    }

    /// How many tests share the risk of a metric's test: `tests` those of the primary metric, else
    /// those of the other metrics at this load.
    fn family(&self, metric: Metric, tests: usize) -> usize {
        if metric == self.primary {
            return tests.max(1);
        }
        let others = self.contrasts.iter();
        let others = others
            .filter(|(other, _)| *other != self.primary && self.is_meant_alike(*other))
            .filter(|(_, contrast)| contrast.is_decidable())
            .count();
        others.max(1)
    }

    /// One row a metric.
    pub(super) fn rows(&self, group: &str, tests: usize, settings: &Settings) -> Vec<Row> {
        let row = |(metric, contrast): &(Metric, Contrast)| {
            let tests = self.family(*metric, tests) as f64;
            let decision = contrast.decide(settings.risk / tests, settings.margin);
            let (differs, verdict) = judged(*metric, decision.differs, decision.within_margin);
            let ratio = contrast.a.zip(contrast.b).map(|(a, b)| b / a);
            let finite = |number: Option<f64>| number.filter(|number| number.is_finite());
            let row = Row {
                group: group.to_owned(),
                metric: *metric,
                primary: *metric == self.primary,
                point: self.point.clone(),
                a: contrast.a,
                b: contrast.b,
                ratio: finite(ratio),
                low: finite(decision.interval.map(|[low, _]| low.exp())),
                high: finite(decision.interval.map(|[_, high]| high.exp())),
                level: decision.interval.map(|_| 1.0 - settings.risk / tests),
                verdict,
                within_margin: differs.filter(|_| {
                    let told = ratio.is_some_and(|ratio| (ratio - 1.0).abs() >= LEAST_TOLD);
                    verdict == Verdict::Same && told
                }),
                p_value: decision.p_value.map(|p| (p * tests).min(1.0)),
                minimum_detectable: contrast.minimum_detectable(settings.risk / tests),
                // A bound says nothing of how many of such runs would do.
                repeats_to_decide: (verdict == Verdict::Unknown
                    && !matches!(
                        decision.basis,
                        Basis::FewSamples
                            | Basis::ShortRuns
                            | Basis::Deviations
                            | Basis::Contradicted
                    ))
                .then(|| contrast.repeats_to_decide(settings.risk / tests, settings.margin))
                .flatten(),
                // Where a side tells no requests, more of them would not tell either.
                requests_needed: (contrast.requests_needed)
                    .filter(|_| verdict == Verdict::Unknown && contrast.recorded),
                requests_each: contrast.requests_each,
                runs: contrast.runs,
                basis: decision.basis,
            };
            if self.is_meant_alike(*metric) {
                row
            } else {
                row.not_comparable()
            }
        };
        self.contrasts.iter().map(row).collect()
    }
}

/// Which way a metric differs, if `above` tells, and what that means.
pub(super) fn judged(
    metric: Metric,
    above: Option<bool>,
    within_margin: bool,
) -> (Option<Direction>, Verdict) {
    let differs = above.map(|above| {
        if above == metric.more_is_better() {
            Direction::Better
        } else {
            Direction::Worse
        }
    });
    let verdict = match differs {
        _ if within_margin => Verdict::Same,
        Some(Direction::Better) => Verdict::Better,
        Some(Direction::Worse) => Verdict::Worse,
        None => Verdict::Unknown,
    };
    (differs, verdict)
}

impl Row {
    /// The same figures side by side, with nothing concluded from them.
    pub(super) fn not_comparable(self) -> Self {
        Row {
            verdict: Verdict::NotComparable,
            within_margin: None,
            p_value: None,
            repeats_to_decide: None,
            requests_needed: None,
            ..self
        }
    }
}
