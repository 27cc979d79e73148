//! Trials to 95 % of the optimum with a calibrated profile as a prior and without: medians over
//! seeds, with a profile that is right and with profiles whose coefficients are all off by 30 %.

use crate::guess::prior;
use crate::landscape::problem::Problem;
use crate::landscape::{Landscape, median, trials_to_95};
use inferometer_campaign::search::{Prior, Searcher, Tpe};
use std::io::Write;
use std::ops::Range;
use std::path::Path;

/// Trials after which a search is no longer waited for.
const PATIENCE: usize = 150;

pub fn print(folder: &Path, seeds: Range<u64>) {
    let mut all: [Vec<f64>; 3] = Default::default();
    let mut out = std::io::stdout();
    let mut say = |line: String| writeln!(out, "{line}").expect("stdout");
    say(
        "| landscape | bound by | without | right profile | wrong profiles |\n| --- | --- | --- | --- | --- |"
            .to_owned(),
    );
    for (file, truth) in crate::landscapes(folder) {
        let guesses: Vec<Landscape> = crate::read(&crate::guesses(folder).join(file));
        for (bound, limits) in [("throughput", None), ("slo", Some(truth.limits))] {
            let problem = Problem::new(&truth, limits);
            let optimum = problem.optimum();
            let longer =
                |course: &[f64]| course.len() < PATIENCE && trials_to_95(course, optimum).is_none();
            let counts = |searcher: &dyn Searcher| -> Vec<f64> {
                let course = |seed| problem.search_while(searcher, seed, longer);
                (seeds.clone())
                    .map(|seed| course(seed).len() as f64)
                    .collect()
            };
            let priors: Vec<Prior> = guesses.iter().map(|guess| prior(guess, limits)).collect();
            let found = [
                counts(&Tpe),
                counts(&priors[0]),
                priors[1..].iter().flat_map(|prior| counts(prior)).collect(),
            ];
            let [without, right, wrong] = found.each_ref().map(|counts| median(counts.clone()));
            say(format!(
                "| {} | {bound} | {without} | {right} | {wrong} |",
                truth.name
            ));
            for (all, found) in all.iter_mut().zip(found) {
                all.extend(found);
            }
        }
    }
    let [without, right, wrong] = all.map(median);
    say(format!("| all | | {without} | {right} | {wrong} |"));
}
