//! Points of rising load, everything else alike.

use super::{MeasuredPoint, MeasuredPoints, groups, independent, is_load};
use inferometer_core::quantile::{quantile, sort};
use inferometer_core::summary::Summary;

/// Points that differ in their load alone.
pub struct LoadLadder<'a> {
    /// What its points have in common; empty where load is the only axis.
    pub name: String,
    /// The axis that is climbed.
    pub axis: &'a String,
    /// Its points, in the order of the plan.
    pub points: Vec<&'a MeasuredPoint<'a>>,
}

/// The ladders of a sweep; none where load is not climbed.
pub fn ladders<'a>(measured: &'a MeasuredPoints<'a>) -> Vec<LoadLadder<'a>> {
    let axes = independent(measured.axes, &measured.planned);
    let Some(climbed) = axes.iter().copied().find(|axis| is_load(axis)) else {
        return Vec::new();
    };
    let others: Vec<&String> = axes.into_iter().filter(|axis| *axis != climbed).collect();
    groups(&measured.points, |point| point.name(&others))
        .into_iter()
        .map(|(name, points)| LoadLadder {
            name,
            axis: climbed,
            points,
        })
        .collect()
}

/// The loads of a ladder in ascending order, each with the output throughput of the measurements
/// that show what the load brings.
pub fn rates(axis: &str, points: &[&MeasuredPoint<'_>]) -> Vec<(f64, Vec<f64>)> {
    let load = |point: &&MeasuredPoint<'_>| point.number(axis);
    let known = points.iter().filter_map(|it| Some((load(it)?, it)));
    let known = known.map(|(load, point)| (load, point.summaries().collect()));
    rates_at(&known.collect::<Vec<_>>())
}

/// Largest share by which mean prompts of one work differ, beside what chance does.
const PROMPT_TOLERANCE: f64 = 0.05;
/// Errors of the mean of so many prompts that chance may be off by; single prompts differ from each
/// other as much as they are long.
const BY_CHANCE: f64 = 3.0;

/// The prompts of a ladder: more throughput with shorter ones is no effect of the load.
pub struct UsualPrompts(Option<f64>);

impl UsualPrompts {
    /// The median of mean lengths, of the measurements that know them.
    pub fn of<'a>(measured: impl Iterator<Item = &'a Summary>) -> Self {
        let mut known: Vec<f64> = measured.filter_map(|it| it.tokens.input_mean).collect();
        sort(&mut known);
        UsualPrompts(quantile(&known, 0.5))
    }

    /// Whether those of a measurement are known to be others.
    pub fn are_not_those_of(&self, summary: &Summary) -> bool {
        let both = self.0.zip(summary.tokens.input_mean);
        let chance = match summary.requests.ok {
            0 => 0.0,
            requests => BY_CHANCE / (requests as f64).sqrt(),
        };
        both.is_some_and(|(usual, own)| {
            (own - usual).abs() > (PROMPT_TOLERANCE + chance) * usual.max(own)
        })
    }
}

/// The same of loads with their measurements, without those whose prompts are not as long as those
/// of the others. Where streams go in waves, or answers have other lengths, at so many loads that
/// the others make no ladder, that is what this work brings.
pub fn rates_at(loads: &[(f64, Vec<&Summary>)]) -> Vec<(f64, Vec<f64>)> {
    /// Fewest loads of a knee.
    const LEAST: usize = 4;
    let tests: [fn(&Summary) -> bool; 2] = [
        |summary| !summary.is_in_step() && summary.did_the_work(),
        |summary| !summary.is_in_step(),
    ];
    let usual = UsualPrompts::of(loads.iter().flat_map(|(_, all)| all.iter().copied()));
    let alike = loads.iter().map(|(load, all)| {
        let alike = all.iter().copied();
        let alike = alike.filter(|it| !usual.are_not_those_of(it));
        (*load, alike.collect::<Vec<&Summary>>())
    });
    let loads = &Vec::from_iter(alike);
    let mut ladders = tests.into_iter().map(|counts| rates_of(loads, counts));
    let steady = ladders.find(|rates| rates.len() >= LEAST);
    steady.unwrap_or_else(|| rates_of(loads, |_| true))
}

fn rates_of(loads: &[(f64, Vec<&Summary>)], counts: fn(&Summary) -> bool) -> Vec<(f64, Vec<f64>)> {
    // More of what is left where requests fail is no rise.
    let shows =
        |summary: &&&Summary| summary.valid && !summary.fails_more_than_a_few() && counts(summary);
    let of = |summary: &&Summary| summary.throughput.output_tokens_per_s;
    let mut rates: Vec<(f64, Vec<f64>)> = (loads.iter())
        .map(|(load, all)| (*load, all.iter().filter(shows).filter_map(of).collect()))
        .filter(|(_, rates): &(f64, Vec<f64>)| !rates.is_empty())
        .collect();
    rates.sort_by(|a, b| a.0.total_cmp(&b.0));
    rates
}
