//! The search for capacity on the simulated engine, in virtual time, against an exhaustive scan
//! and against plain bisection.
//!
//! `cargo bench -p inferometer-campaign --bench capacity -- [ARGUMENTS]`:
//! `truth [LENGTH] [SEEDS]` scans the rates; `[FIRST] [SEEDS]` searches.
//!
//! `plain [FIRST] [SEEDS] [LENGTH...]` is plain bisection, every probe and a last run at the
//! answer of one length. The one to compare with is the shortest of the lengths below that is
//! right in nine of ten. Both sides pay for every request sent until the verdict was known.
//!
//! `level [FIRST] [SEEDS] [BUDGET]` searches where the objective is near the level that its latency
//! approaches, so that the share that meets it falls slowly, and shows how answers differ by seed.
//!
//! `confirmed [FIRST] [SEEDS] [BUDGET] [LENGTH]` searches, and runs each rate that was called
//! confirmed again, with requests enough to know whether it meets its objective.

#![allow(clippy::print_stdout, reason = "it prints its figures")]

#[path = "../tests/suite/support.rs"]
mod support;

use inferometer_campaign::capacity::stored::SearchEnding;
use support::{EngineServer, TARGETS, TRUTH, fixed_run, plain_bisection, search};

fn main() {
    let server = EngineServer::new();
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| word != "--bench")
        .collect();
    let number = |at: usize| arguments.get(at).and_then(|text| text.parse().ok());
    match arguments.first().map(String::as_str) {
        Some("truth") => truth(&server, number(1).unwrap_or(40_000), number(2).unwrap_or(5)),
        Some("plain") => {
            let lengths: Vec<u64> = (3..).map_while(number).collect();
            plain(
                &server,
                (number(1).unwrap_or(100), number(2).unwrap_or(10)),
                if lengths.is_empty() {
                    &LENGTHS
                } else {
                    &lengths
                },
            )
        }
        Some("level") => level(
            (number(1).unwrap_or(0), number(2).unwrap_or(20)),
            number(3).unwrap_or(100_000),
        ),
        Some("confirmed") => confirmed(
            &server,
            (number(1).unwrap_or(0), number(2).unwrap_or(20)),
            number(3).unwrap_or(100_000),
            number(4).unwrap_or(12_000),
        ),
        _ => searches(&server, number(0).unwrap_or(0), number(1).unwrap_or(10)),
    }
}

/// Lengths of probes of plain bisection.
const LENGTHS: [u64; 10] = [400, 800, 1600, 2400, 3200, 4800, 6400, 9600, 12_800, 19_200];

/// Shares met at rates 1 % apart, smoothed to fall, and where they cross each target.
fn truth(server: &EngineServer, length: u64, seeds: u64) {
    let rates: Vec<f64> = (0..=20).map(|step| 16.6 * 1.01f64.powi(step)).collect();
    let mut shares = [Vec::new(), Vec::new()];
    for (step, &rate) in rates.iter().enumerate() {
        let mut sums = [0.0; 2];
        for seed in 0..seeds {
            let (found, _) = fixed_run(server, rate, length, 777_000 + 100 * step as u64 + seed);
            (0..2).for_each(|at| sums[at] += found[at] / seeds as f64);
        }
        println!("{rate:.3} {:.5} {:.5}", sums[0], sums[1]);
        (0..2).for_each(|at| shares[at].push(sums[at]));
    }
    let logit = |p: f64| (p / (1.0 - p)).ln();
    for (at, (name, target)) in TARGETS.into_iter().enumerate() {
        let shares = falling(&shares[at]);
        let Some(above) = shares.iter().position(|&share| share < target) else {
            continue;
        };
        let (below, rate) = (above.saturating_sub(1), rates[above]);
        let part =
            (logit(shares[below]) - logit(target)) / (logit(shares[below]) - logit(shares[above]));
        let capacity = rates[below] * (rate / rates[below]).powf(part);
        println!("capacity {name} {capacity:.3}");
    }
}

/// The nearest values that never rise (isotonic regression): those that do are pooled.
fn falling(values: &[f64]) -> Vec<f64> {
    let mut pools: Vec<(f64, usize)> = Vec::new();
    for &value in values {
        pools.push((value, 1));
        while let [.., (before, count), (after, more)] = pools[..]
            && after > before
        {
            let mean = (before * count as f64 + after * more as f64) / (count + more) as f64;
            pools.truncate(pools.len() - 2);
            pools.push((mean, count + more));
        }
    }
    (pools.into_iter())
        .flat_map(|(value, count)| std::iter::repeat_n(value, count))
        .collect()
}

fn close(value: f64, at: usize) -> bool {
    (value / TRUTH[at] - 1.0).abs() <= 0.05
}

fn plain(server: &EngineServer, (first, seeds): (u64, u64), lengths: &[u64]) {
    for &length in lengths {
        for (at, (name, _)) in TARGETS.into_iter().enumerate() {
            let all: Vec<(f64, u64)> = (first..first + seeds)
                .map(|seed| plain_bisection(server, at, (length, 1.05), seed))
                .collect();
            let right = all.iter().filter(|(value, _)| close(*value, at)).count();
            let spent = all.iter().map(|(_, spent)| spent).sum::<u64>() / seeds;
            println!("{name} {length}: {right}/{seeds}, {spent}");
        }
    }
}

/// Answers of searches on a flat slope, and how often their intervals hold the capacity.
fn level((first, seeds): (u64, u64), budget: u64) {
    const RATES: [f64; 8] = [14.6, 14.9, 15.2, 15.5, 15.8, 16.1, 16.4, 16.7];
    let server = EngineServer::level();
    let met = |rate: f64| {
        let shares = (0..2).map(|seed| fixed_run(&server, rate, 60_000, 990_000 + seed).0[1]);
        shares.sum::<f64>() / 2.0
    };
    let shares = falling(&RATES.map(met));
    let (share, logit) = (TARGETS[1].1, |p: f64| (p / (1.0 - p)).ln());
    let above = shares
        .iter()
        .position(|&met| met < share)
        .expect("the last misses");
    let [a, b] = [above.saturating_sub(1), above];
    let part = (logit(shares[a]) - logit(share)) / (logit(shares[a]) - logit(shares[b]));
    let truth = RATES[a] * (RATES[b] / RATES[a]).powf(part);
    println!("{RATES:?} {shares:.4?}: capacity {truth:.3}");
    let (mut held, mut claimed, mut wrong) = (0, 0, 0);
    let mut values = Vec::new();
    for seed in first..first + seeds {
        let (answers, requests) = search(&server, &[1], seed, budget);
        let answer = &answers[0];
        let [value, low, high] =
            [answer.value, answer.low, answer.high].map(|it| it.unwrap_or(f64::NAN));
        held += u32::from(low <= truth && truth <= high);
        let confirmed = answer.ending == SearchEnding::Confirmed;
        claimed += u32::from(confirmed);
        wrong += u32::from(confirmed && value > truth);
        values.push(value);
        println!(
            "{seed}: {value:.2} [{low:.2} {high:.2}] {requests} {:?}",
            answer.ending
        );
    }
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values
        .iter()
        .map(|value| (value / mean - 1.0).powi(2))
        .sum();
    println!(
        "{held} of {seeds} intervals hold it; {claimed} confirmed, {wrong} above it; mean {:+.1} %, deviation {:.1} %",
        100.0 * (mean / truth - 1.0),
        100.0 * (squares / (values.len() as f64 - 1.0)).sqrt()
    );
}

/// A budget that no search spends.
const MUCH: u64 = 1_000_000;

/// Runs at a confirmed rate; their mean is taken for the truth.
const RUNS: u64 = 10;

/// How often a rate that was called confirmed meets its objective.
fn confirmed(server: &EngineServer, (first, seeds): (u64, u64), budget: u64, length: u64) {
    for (at, (name, share)) in TARGETS.into_iter().enumerate() {
        let (mut claims, mut missed, mut single, mut missed_single) = (0, 0, 0, 0);
        let (mut spent, mut errors) = (0, 0.0);
        for seed in first..first + seeds {
            let (mut answers, requests) = search(server, &[at], seed, budget);
            let answer = answers.remove(0);
            spent += requests;
            let run = answer
                .long_run
                .filter(|_| answer.ending == SearchEnding::Confirmed);
            let Some(run) = run else {
                println!(
                    "{name} {seed}: {:?}, {requests} requests; {:?} would be needed",
                    answer.ending, answer.needs
                );
                continue;
            };
            let shares: Vec<f64> = (0..RUNS)
                .map(|again| fixed_run(server, run.load(), length, 880_000 + 100 * seed + again))
                .map(|(shares, _)| shares[at])
                .collect();
            let mean = shares.iter().sum::<f64>() / RUNS as f64;
            let short = shares.iter().filter(|&&met| met < share).count() as u64;
            claims += 1;
            missed += u32::from(mean < share);
            single += RUNS;
            missed_single += short;
            errors += run.load() / TRUTH[at] - 1.0;
            println!(
                "{name} {seed}: confirmed at {:.2} ({:+.1} %) by {} of {requests} requests; {:.4} met, {short} of {RUNS} runs missed{}",
                run.load(),
                100.0 * (run.load() / TRUTH[at] - 1.0),
                run.requests,
                mean,
                if mean < share { "  WRONG" } else { "" }
            );
        }
        println!(
            "{name}: {claims} of {seeds} confirmed, {missed} wrongly; {missed_single} of {single} runs of {length} requests missed; {:+.1} % from the capacity, {} requests a search",
            100.0 * errors / f64::from(claims.max(1)),
            spent / seeds
        );
    }
}

fn searches(server: &EngineServer, first: u64, seeds: u64) {
    for targets in [vec![0], vec![1], vec![0, 1]] {
        let mut right = vec![0; targets.len()];
        let mut spent = 0;
        for seed in first..first + seeds {
            let (answers, requests) = search(server, &targets, seed, MUCH);
            spent += requests;
            for (tier, answer) in answers.iter().enumerate() {
                let at = targets[tier];
                let value = answer.value.unwrap_or(f64::NAN);
                right[tier] += u32::from(close(value, at));
                println!(
                    "{} {seed}: {value:.2} [{:.2} {:.2}] {:+.1} % {} {:?} {:?}",
                    TARGETS[at].0,
                    answer.low.unwrap_or(f64::NAN),
                    answer.high.unwrap_or(f64::NAN),
                    100.0 * (value / TRUTH[at] - 1.0),
                    requests,
                    answer.edge,
                    answer.ending
                );
            }
        }
        println!(
            "{targets:?}: {right:?} of {seeds}, {} requests",
            spent / seeds
        );
    }
}
