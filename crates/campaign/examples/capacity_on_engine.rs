//! The search for capacity on the simulated engine, in virtual time, against an exhaustive scan
//! and against plain bisection.
//!
//! `truth [LENGTH] [SEEDS]` scans the rates; `plain [FIRST] [SEEDS]` is plain bisection at many
//! fixed lengths, of which the shortest that is right in nine of ten is the one to compare with;
//! `[FIRST] [SEEDS]` searches.

#[path = "../tests/support/mod.rs"]
mod support;

use support::{EngineServer, TARGETS, TRUTH, fixed_run, plain_bisection, search};

fn main() {
    let server = EngineServer::new();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| arguments.get(at).and_then(|text| text.parse().ok());
    match arguments.first().map(String::as_str) {
        Some("truth") => truth(
            &server,
            number(1).unwrap_or(100_000),
            number(2).unwrap_or(3),
        ),
        Some("plain") => plain(&server, number(1).unwrap_or(100), number(2).unwrap_or(20)),
        _ => searches(&server, number(0).unwrap_or(0), number(1).unwrap_or(10)),
    }
}

fn truth(server: &EngineServer, length: u64, seeds: u64) {
    let mut last = [None::<(f64, f64)>; 2];
    for step in 0.. {
        let rate = 15.0 * 1.02f64.powi(step);
        if rate > 23.0 {
            break;
        }
        let mut shares = [0.0; 2];
        for seed in 0..seeds {
            let (found, _) = fixed_run(server, rate, length, 777_000 + 100 * step as u64 + seed);
            for at in 0..2 {
                shares[at] += found[at] / seeds as f64;
            }
        }
        println!("{rate:.3} {:.5} {:.5}", shares[0], shares[1]);
        for at in 0..2 {
            let target = TARGETS[at].1;
            if let Some((lower, share)) = last[at]
                && share >= target
                && shares[at] < target
            {
                let logit = |p: f64| (p / (1.0 - p)).ln();
                let part = (logit(share) - logit(target)) / (logit(share) - logit(shares[at]));
                println!(
                    "capacity {} {:.3}",
                    TARGETS[at].0,
                    lower * (rate / lower).powf(part)
                );
            }
            last[at] = Some((rate, shares[at]));
        }
    }
}

fn close(value: f64, at: usize) -> bool {
    (value / TRUTH[at] - 1.0).abs() <= 0.05
}

fn plain(server: &EngineServer, first: u64, seeds: u64) {
    for at in 0..2 {
        for ratio in [1.1, 1.05] {
            for length in [
                200, 300, 400, 600, 800, 1200, 1600, 2400, 3200, 4800, 6400, 9600,
            ] {
                let all: Vec<(f64, u64)> = (first..first + seeds)
                    .map(|seed| plain_bisection(server, at, (length, ratio), seed))
                    .collect();
                let right = all.iter().filter(|(value, _)| close(*value, at)).count();
                println!(
                    "{} {ratio} {length}: {right}/{seeds}, {}",
                    TARGETS[at].0,
                    all.iter().map(|a| a.1).sum::<u64>() / seeds
                );
            }
        }
    }
}

fn searches(server: &EngineServer, first: u64, seeds: u64) {
    for targets in [vec![0], vec![1], vec![0, 1]] {
        let mut right = vec![0; targets.len()];
        let mut spent = 0;
        for seed in first..first + seeds {
            let answers = search(server, &targets, seed);
            spent += answers[0].requests_spent;
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
                    answer.requests_spent,
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
