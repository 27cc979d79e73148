//! One figure in two groups of runs.
//!
//! Replicates are runs. Five runs, two a side at least, show by themselves how runs differ, and
//! decide. Fewer are helped by a run's own interval, or where it is too short for one by a bound. The error of a
//! group's mean logarithm is then (variance between runs + variance within a run) / runs.
//!
//! Where both sides have a run of each seed, these sent the same at the same moments. Then the
//! ratios of such pairs tell more than the sides by themselves, whose runs differ by their seeds. Of
//! one run each with one seed, requests are paired.

use super::metric::{Metric, WITHIN_DEGREES};
use super::repeated::Repeats;
use super::sample::RunSample;
use super::short_run::{BOUND_DEGREES, Needed};
use super::{Basis, Settings, paired_requests};
use inferometer_statistics::divisions;
use inferometer_statistics::{Difference, normal_quantile, permutation, student_quantile};
use std::collections::BTreeMap;

/// Fewest runs a side for a test by permutation.
const LEAST_PERMUTED: usize = 4;
/// Fewest runs a side that show how runs differ, whatever the figure.
const LEAST_RUNS: usize = 3;
/// Fewest degrees of freedom with which repeats on both sides decide by themselves: with the noise
/// within runs as the least, two runs against three found half of what they show.
const LEAST_DEGREES: f64 = 3.0;

/// What is assumed of the spread between runs is worth so many that were seen.
const ASSUMED_RUNS: f64 = 4.0;
/// The same where repeats of the test are further apart than the margin: more is then assumed, the
/// margin, and it counts less beside what is seen. Of servers whose runs scatter by 1 to 10 %, most
/// by 3 %, one in twenty then passes for another one.
const SCATTERED_RUNS: f64 = 2.0;
/// Runs that are longer by less are as long: a percentile of few requests depends on their number.
const AS_LONG: f64 = 1.1;
/// Fewest pairs that show how pairs differ.
const LEAST_PAIRS: usize = 3;
/// Chance to find a difference of the least detectable size.
const POWER: f64 = 0.8;
/// Runs that agree to the last digit still have some error.
const LEAST_ERROR: f64 = 1e-9;
/// More repeats than these are no advice.
const MOST_REPEATS: u32 = 1000;
/// Width, in logarithms, from which an interval says nothing: a factor of 10 to either side.
const WIDEST: f64 = 2.0 * std::f64::consts::LN_10;
/// Deviation of a run's logarithm that runs of one server do not exceed: a factor of 2. Two or
/// three runs know their own noise badly; where they scatter less than this, a difference that
/// even such noise does not explain is told all the same.
const WIDEST_DEVIATION: f64 = std::f64::consts::LN_2;

/// Where only figures are known, and no mean latency, the variance of a mean's logarithm times the number of requests:
/// that of independent requests is hardly above 1, and three times its error leaves room for the
/// queue's memory. Only differences that no noise explains are told with it.
const ASSUMED_VARIANCE: f64 = 9.0;
/// Fewest requests of a result of which such a difference is told.
const LEAST_ASSUMED: u64 = 30;

/// A figure in two groups.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Contrast {
    pub(crate) a: Option<f64>,
    pub(crate) b: Option<f64>,
    /// Logarithm of b / a and its error.
    pub(crate) difference: Option<Difference>,
    /// The same with the error of runs that scatter as widely as runs of one server may; absent
    /// where these scatter more, or are too few to show it.
    widest: Option<Difference>,
    pub(crate) permuted: Option<Permuted>,
    /// The difference is that of pairs of runs.
    pub(crate) paired: bool,
    /// The noise within the runs is that of pairs of requests.
    paired_requests: bool,
    /// Variance of one run's logarithm, both sides together.
    per_run: f64,
    /// Variance between runs of a server, where a side has one run and cannot show it.
    pub(crate) between_single: f64,
    /// A percentile without its least sample supports no verdict.
    pub(crate) few_samples: bool,
    /// Requests of a run, where these are too few for the percentile, and the runs show all the same
    /// how that of so many differs.
    pub(crate) requests_each: Option<u64>,
    /// A run of another tool contradicts it.
    pub(crate) contradicted: bool,
    /// Every run has its requests.
    pub(crate) recorded: bool,
    /// Where the noise within a run comes from; `Own` also where nothing rests on it.
    pub(crate) within: Within,
    /// Requests that its runs would need for intervals of their own, where they lack them.
    pub(crate) requests_needed: Option<u64>,
    pub(crate) runs: [usize; 2],
    /// Logarithms of each side's runs by their seeds; empty where one has none, or that of another.
    pub(crate) by_seed: [BTreeMap<u64, f64>; 2],
}

/// A p-value by permutation, and the smallest that so few runs can give.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Permuted {
    pub(crate) p_value: f64,
    pub(crate) smallest: f64,
}

/// What a contrast shows at a risk.
pub(crate) struct Decision {
    /// The interval of the logarithm of b / a.
    pub(crate) interval: Option<[f64; 2]>,
    /// Whether b is above a, where the interval excludes that they are equal.
    pub(crate) differs: Option<bool>,
    /// The whole interval lies within the margin.
    pub(crate) within_margin: bool,
    pub(crate) p_value: Option<f64>,
    pub(crate) basis: Basis,
}

/// How the noise within a run is known, the surest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Within {
    /// By the run's own interval.
    Own,
    /// By the bound of a short run.
    Short,
    /// By a bound from the deviations that a tool states.
    Deviations,
    /// It is assumed from the number of requests and, by Little's law, from how many were under way.
    LittlesLaw,
    /// It is assumed from the number of requests.
    Assumed,
}

impl Within {
    /// A bound is more than the noise that runs have.
    fn is_bound(self) -> bool {
        matches!(self, Within::Short | Within::Deviations)
    }
}

struct Side {
    logs: Vec<f64>,
    last: Option<f64>,
    /// Mean variance within a run; absent if one run cannot say.
    within: Option<f64>,
    /// Of the run that knows least.
    known_by: Within,
    /// What its runs need for intervals of their own, where they lack them.
    needed: Option<u64>,
}

impl Side {
    /// `unlike`: how unlike the answers of the other side are, as far as figures tell.
    fn of(runs: &[&RunSample], metric: Metric, unlike: Option<f64>) -> Self {
        let (mut logs, mut last) = (Vec::new(), None);
        let (mut within, mut known_by) = (Some(0.0), Within::Own);
        let mut needed = None;
        for run in runs {
            let value = metric.of(&run.summary).filter(|&value| value > 0.0);
            let Some(value) = value else { continue };
            logs.push(value.ln());
            last = Some(value);
            let own = metric.log_variance(&run.summary).or_else(|| {
                let short = run.as_short();
                needed = needed.max(short.needed(metric).map(|Needed(requests)| requests));
                let bound = short.log_variance(metric).map(|it| (it, Within::Short));
                let (variance, by) = bound.or_else(|| variance_of_figures(run, metric, unlike))?;
                known_by = known_by.max(by);
                Some(variance)
            });
            within = within.zip(own).map(|(sum, own)| sum + own);
        }
        let count = logs.len() as f64;
        Side {
            within: within.map(|sum| sum / count).filter(|_| count > 0.0),
            logs,
            last,
            known_by,
            needed,
        }
    }

    fn mean(&self) -> Option<f64> {
        let n = self.logs.len() as f64;
        (n > 0.0).then(|| self.logs.iter().sum::<f64>() / n)
    }

    /// Geometric mean; of one run its value to the last digit, as its report has it.
    fn center(&self) -> Option<f64> {
        match self.logs.len() {
            1 => self.last,
            _ => self.mean().map(f64::exp),
        }
    }

    fn squares(&self) -> f64 {
        let mean = self.mean().unwrap_or_default();
        self.logs.iter().map(|log| (log - mean).powi(2)).sum()
    }
}

/// What another tool's result tells of its noise that says how many requests it is of.
fn variance_of_figures(
    run: &RunSample,
    metric: Metric,
    unlike: Option<f64>,
) -> Option<(f64, Within)> {
    let requests = run.answered.filter(|_| run.series.is_none())?;
    if let Some(variance) = run.as_short().stated_log_variance(metric, requests, unlike) {
        return Some((variance, Within::Deviations));
    }
    if let Some(variance) = run.as_short().variance_by_littles_law(metric, requests) {
        return Some((variance, Within::LittlesLaw));
    }
    let is_told = metric.tail().is_none() && requests >= LEAST_ASSUMED;
    is_told.then(|| (ASSUMED_VARIANCE / requests as f64, Within::Assumed))
}

impl Contrast {
    pub(crate) fn of(
        a: &[&RunSample],
        b: &[&RunSample],
        metric: Metric,
        settings: &Settings,
        repeats: &Repeats<'_>,
    ) -> Self {
        let unlike = |runs: &[&RunSample]| {
            let stated = runs
                .iter()
                .filter_map(|run| run.as_short().stated_variation());
            stated.reduce(f64::max)
        };
        let side_a = Side::of(a, metric, unlike(b));
        let side_b = Side::of(b, metric, unlike(a));
        let (n, m) = (side_a.logs.len(), side_b.logs.len());
        let lacking = a.iter().chain(b).any(|run| lacks_samples(run, metric));
        let requests_each = as_long(a, b, metric).filter(|_| lacking && n.min(m) >= LEAST_RUNS);
        let mut contrast = Contrast {
            a: side_a.center(),
            b: side_b.center(),
            difference: None,
            widest: None,
            permuted: None,
            paired: false,
            paired_requests: false,
            per_run: 0.0,
            between_single: 0.0,
            few_samples: lacking && requests_each.is_none(),
            requests_each,
            contradicted: a
                .iter()
                .chain(b)
                .any(|run| run.contradicted.contains(&metric)),
            recorded: a.iter().chain(b).all(|run| run.series.is_some()),
            within: Within::Own,
            requests_needed: side_a.needed.max(side_b.needed),
            runs: [n, m],
            by_seed: [a, b].map(|runs| logs_by_seed(runs, metric).unwrap_or_default()),
        };
        let (Some(mean_a), Some(mean_b)) = (side_a.mean(), side_b.mean()) else {
            return contrast;
        };
        // Sides share one variance between runs: few runs leave no choice.
        let degrees = (n + m - 2) as f64;
        let pooled = (degrees > 0.0).then(|| (side_a.squares() + side_b.squares()) / degrees);
        if n.min(m) >= LEAST_RUNS && pooled.is_some_and(|it| it <= WIDEST_DEVIATION.powi(2)) {
            contrast.widest = Some(Difference {
                value: mean_b - mean_a,
                error: WIDEST_DEVIATION * (1.0 / n as f64 + 1.0 / m as f64).sqrt(),
                degrees: f64::INFINITY,
            });
        }
        if let Some(ratios) = log_ratios(a, b, metric) {
            let count = ratios.len() as f64;
            let mean = ratios.iter().sum::<f64>() / count;
            let squares: f64 = ratios.iter().map(|ratio| (ratio - mean).powi(2)).sum();
            contrast.paired = true;
            contrast.per_run = squares / (count - 1.0);
            contrast.difference = Some(Difference {
                value: mean,
                error: (contrast.per_run / count).sqrt().max(LEAST_ERROR),
                degrees: count - 1.0,
            });
            return contrast;
        }
        let known_by = side_a.known_by.max(side_b.known_by);
        let is_bounded = side_a.known_by.is_bound() || side_b.known_by.is_bound();
        let assumed = settings.run_deviation.powi(2);
        let is_single = n.min(m) == 1;
        // A single run cannot show how the next would differ. What is assumed of that counts as much
        // as a few runs that were seen, so that a repeat does not tell less than a single run.
        let scatter = repeats.scatter(metric, settings.margin);
        let (assumed_runs, assumed) = match scatter {
            Some(_) => (SCATTERED_RUNS, settings.margin.powi(2)),
            None => (ASSUMED_RUNS, assumed),
        };
        let scatter = scatter.unwrap_or_default();
        let seen_degrees = degrees + scatter.degrees;
        let weigh = |own: f64| {
            let squares = assumed_runs * assumed + own + scatter.squares;
            squares / (assumed_runs + seen_degrees)
        };
        if is_single {
            contrast.between_single = weigh(pooled.map_or(0.0, |seen| degrees * seen));
        }
        let (within_a, within_b, between) = match (pooled, side_a.within, side_b.within) {
            (Some(seen), Some(a), Some(b)) if is_single => {
                let seen = (seen - (a + b) / 2.0).max(0.0);
                (a, b, weigh(degrees * seen))
            }
            (Some(seen), Some(a), Some(b)) if degrees < LEAST_DEGREES && !is_bounded => {
                (a, b, (seen - (a + b) / 2.0).max(0.0))
            }
            // Runs differ by their own noise and by what else changes, whichever it is.
            (Some(seen), _, _) => (0.0, 0.0, seen),
            (None, Some(within_a), Some(within_b)) => {
                contrast.within = known_by;
                let of_pairs = paired_requests::log_variance(a[0], b[0], metric);
                contrast.paired_requests = of_pairs.is_some();
                // What pairs differ by is the noise of both sides.
                let (a, b) = of_pairs.map_or((within_a, within_b), |both| (both, 0.0));
                (a, b, weigh(0.0))
            }
            (None, _, _) => return contrast,
        };
        let decided_by_runs = degrees >= LEAST_DEGREES && !is_single && within_a + within_b == 0.0;
        if decided_by_runs && has_unequal_lengths(a, b) {
            // Longer runs scatter less: the sides share no variance.
            contrast.per_run =
                (side_a.squares() / (n - 1) as f64) + (side_b.squares() / (m - 1) as f64);
            contrast.difference = Difference::welch(&side_a.logs, &side_b.logs);
            return contrast;
        }
        let variance = (between + within_a) / n as f64 + (between + within_b) / m as f64;
        contrast.per_run = 2.0 * between + within_a + within_b;
        let is_weighed = is_single && (pooled.is_none() || within_a + within_b > 0.0);
        if is_weighed {
            contrast.between_single = between;
        }
        contrast.difference = Some(Difference {
            value: mean_b - mean_a,
            error: variance.sqrt().max(LEAST_ERROR),
            degrees: if is_weighed {
                let of_runs = if seen_degrees > 0.0 {
                    assumed_runs + seen_degrees
                } else {
                    // What is only assumed has no error of its own.
                    f64::INFINITY
                };
                let own = if is_bounded {
                    BOUND_DEGREES
                } else {
                    WITHIN_DEGREES
                };
                let [n, m] = [n as f64, m as f64];
                let of_between = between * (1.0 / n + 1.0 / m);
                let of_within = (within_a / n).powi(2) + (within_b / m).powi(2);
                // Welch's, of three variances.
                variance.powi(2) / (of_between.powi(2) / of_runs + of_within / own)
            } else {
                degrees
            },
        });
        if n.min(m) >= LEAST_PERMUTED {
            let test = permutation(&side_a.logs, &side_b.logs, settings.seed);
            contrast.permuted = test.map(|test| Permuted {
                p_value: test.p_value,
                smallest: divisions(n + m, n).map_or(0.0, |count| 2.0 / count as f64),
            });
        }
        contrast
    }

    /// The logarithm of b / a, however well that is known.
    pub(crate) fn log_ratio(&self) -> Option<f64> {
        let ratio = self.b? / self.a?;
        Some(ratio.ln()).filter(|_| !self.few_samples && !self.contradicted)
    }

    /// There is something that a verdict could rest on.
    pub(crate) fn is_decidable(&self) -> bool {
        self.difference.is_some() && !self.few_samples && !self.contradicted
    }

    /// The difference with the narrower interval at a risk.
    fn sharper(&self, own: Difference, risk: f64) -> Difference {
        let width = |it: &Difference| {
            let [low, high] = it.interval(1.0 - risk);
            high - low
        };
        let widest = self.widest.filter(|widest| width(widest) < width(&own));
        widest.unwrap_or(own)
    }

    /// What the interval says at a risk, where it leaves room for a margin.
    pub(crate) fn decide(&self, risk: f64, margin: f64) -> Decision {
        // Few runs cannot reach a small risk by permutation alone.
        let permuted = self.permuted.filter(|test| test.smallest <= risk);
        let difference = self.difference.map(|own| self.sharper(own, risk));
        let interval = difference.map(|difference| {
            let [low, high] = difference.interval(1.0 - risk);
            // A difference must pass both tests; where the permutation fails, 0 is possible.
            match permuted {
                Some(test) if test.p_value >= risk => [low.min(0.0), high.max(0.0)],
                _ => [low, high],
            }
        });
        let interval = interval.filter(|[low, high]| high - low < WIDEST);
        let margin = (1.0 + margin).ln();
        let decisive = interval.filter(|_| self.is_decidable());
        let p_value = self.difference.filter(|_| self.is_decidable());
        let p_value = p_value.map(|difference| {
            let widest = self.widest.map_or(1.0, |widest| widest.p_value());
            let own = difference.p_value().min(widest);
            permuted.map_or(own, |test| test.p_value.max(own))
        });
        Decision {
            interval,
            differs: decisive.and_then(|[low, high]| match (low > 0.0, high < 0.0) {
                (true, _) => Some(true),
                (_, true) => Some(false),
                _ => None,
            }),
            within_margin: decisive.is_some_and(|[low, high]| -margin < low && high < margin),
            p_value,
            basis: match self.difference {
                _ if self.contradicted => Basis::Contradicted,
                None if self.recorded => Basis::FewWaves,
                None => Basis::Nothing,
                Some(_) if self.few_samples => Basis::FewSamples,
                Some(_) if self.paired => Basis::Pairs,
                Some(_) if self.within == Within::Assumed => Basis::Assumed,
                Some(_) if self.within == Within::LittlesLaw => Basis::LittlesLaw,
                Some(_) if self.within == Within::Deviations => Basis::Deviations,
                Some(_) if self.within == Within::Short => Basis::ShortRuns,
                Some(_) if permuted.is_some() => Basis::Permutation,
                Some(_) if self.paired_requests => Basis::PairedRequests,
                Some(_) if self.runs == [1, 1] => Basis::OneRunEach,
                Some(_) => Basis::Runs,
            },
        }
    }

    /// The least ratio above 1, less 1, that these runs would have found four times in five.
    pub(crate) fn minimum_detectable(&self, risk: f64) -> Option<f64> {
        let difference = self.difference?;
        let quantile = student_quantile(1.0 - risk / 2.0, difference.degrees);
        let least = ((quantile + normal_quantile(POWER)) * difference.error).exp_m1();
        Some(least).filter(|least| least.ln_1p() < WIDEST / 2.0)
    }

    /// Runs a side after which a difference of the size seen, or its absence, would be clear.
    pub(crate) fn repeats_to_decide(&self, risk: f64, margin: f64) -> Option<u32> {
        let size = self.difference?.value.abs();
        let room = ((1.0 + margin).ln() - size).abs();
        // Inside the margin both answers are possible: whichever is nearer.
        let inside = size < (1.0 + margin).ln();
        let clear = |repeats: u32| {
            let error = (self.per_run / f64::from(repeats)).sqrt();
            let degrees = if self.paired {
                f64::from(repeats - 1)
            } else {
                f64::from(2 * repeats - 2)
            };
            let quantile = |p| student_quantile(p, degrees) + normal_quantile(POWER);
            quantile(1.0 - risk / 2.0) * error <= size
                || (inside && quantile(1.0 - risk / 2.0) * error <= room)
        };
        // More runs never make it less clear, so the first clear number is found by bisection.
        let (mut low, mut high) = (2, MOST_REPEATS);
        if !clear(high) {
            return None;
        }
        while low < high {
            let middle = (low + high) / 2;
            if clear(middle) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Some(low)
    }
}

/// Whether the run has too few requests for the percentile.
fn lacks_samples(run: &RunSample, metric: Metric) -> bool {
    metric.lacking(&run.summary).is_some()
}

/// The requests of each run, where they are about as many in all.
fn as_long(a: &[&RunSample], b: &[&RunSample], metric: Metric) -> Option<u64> {
    let counts = a
        .iter()
        .chain(b)
        .map(|run| metric.distribution(&run.summary));
    let counts: Vec<u64> = counts.map(|it| it.map(|it| it.n)).collect::<Option<_>>()?;
    let (least, most) = (*counts.iter().min()?, *counts.iter().max()?);
    (least > 0 && most as f64 <= AS_LONG * least as f64).then_some(least)
}

/// Whether the runs of one side are longer than those of the other.
fn has_unequal_lengths(a: &[&RunSample], b: &[&RunSample]) -> bool {
    let mean = |runs: &[&RunSample]| {
        let answered = runs.iter().map(|run| run.summary.requests.ok as f64);
        answered.sum::<f64>() / runs.len() as f64
    };
    let (a, b) = (mean(a), mean(b));
    a.max(b) > AS_LONG * a.min(b)
}

/// Logarithms of b / a of the runs that share a seed, where every run has a partner.
fn log_ratios(a: &[&RunSample], b: &[&RunSample], metric: Metric) -> Option<Vec<f64>> {
    let (a, b) = (logs_by_seed(a, metric)?, logs_by_seed(b, metric)?);
    let paired = a.len() >= LEAST_PAIRS && a.keys().eq(b.keys());
    paired.then(|| a.values().zip(b.values()).map(|(a, b)| b - a).collect())
}

/// Logarithms of a figure by the seeds of the runs, where each has one of its own.
fn logs_by_seed(runs: &[&RunSample], metric: Metric) -> Option<BTreeMap<u64, f64>> {
    let value = |run: &RunSample| metric.of(&run.summary).filter(|&value| value > 0.0);
    let known = runs
        .iter()
        .map(|run| Some((run.definition.seed?, value(run)?.ln())));
    let known: BTreeMap<u64, f64> = known.collect::<Option<_>>()?;
    (known.len() == runs.len()).then_some(known)
}
