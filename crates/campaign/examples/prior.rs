//! Trials to 95 % of the optimum with a calibrated profile as a prior and without, on the
//! landscapes of `bench/tune`: medians over seeds, with a profile that is right and with profiles
//! whose coefficients are all off by 30 %. `prior [SEEDS]`.

#[path = "../tests/landscape/mod.rs"]
mod landscape;

#[path = "../tests/landscape/guess.rs"]
mod guess;

use guess::{WRONG, guessed, off_by_thirty_percent, prior};
use inferometer_campaign::search::{Prior, Searcher, Tpe};
use landscape::{GROUNDS, Problem, median, trials_to_95};
use std::io::Write;

/// Trials after which a search is no longer waited for.
const PATIENCE: usize = 150;

fn main() {
    let seeds = std::env::args().nth(1);
    let seeds: u64 = seeds.map_or(20, |seeds| seeds.parse().expect("a number of seeds"));
    let mut all: [Vec<f64>; 3] = Default::default();
    let mut out = std::io::stdout();
    let mut say = |line: String| writeln!(out, "{line}").expect("stdout");
    say(
        "landscape, bound: without, with a right profile, with wrong ones (median trials)"
            .to_owned(),
    );
    for ground in GROUNDS {
        let truth = ground.landscape(ground.flags());
        let right = guessed(&ground, &truth, None);
        let wrong = WRONG.map(|signs| {
            let timing = off_by_thirty_percent(ground.device, signs);
            guessed(&ground, &truth, Some(timing))
        });
        for (bound, limits) in [("throughput", None), ("slo", Some(truth.limits))] {
            let problem = Problem::new(&truth, limits);
            let optimum = problem.optimum();
            let longer =
                |course: &[f64]| course.len() < PATIENCE && trials_to_95(course, optimum).is_none();
            let counts = |searcher: &dyn Searcher| -> Vec<f64> {
                let course = |seed| problem.search_while(searcher, seed, longer);
                (0..seeds).map(|seed| course(seed).len() as f64).collect()
            };
            let misled: Vec<Prior> = wrong.iter().map(|guess| prior(guess, limits)).collect();
            let found = [
                counts(&Tpe),
                counts(&prior(&right, limits)),
                misled.iter().flat_map(|prior| counts(prior)).collect(),
            ];
            let medians = found.each_ref().map(|counts| median(counts.clone()));
            say(format!(
                "{}, {bound}: {}, {}, {}",
                truth.name, medians[0], medians[1], medians[2]
            ));
            for (all, found) in all.iter_mut().zip(found) {
                all.extend(found);
            }
        }
    }
    let [without, right, wrong] = all.map(median);
    say(format!("all: {without}, {right}, {wrong}"));
}
