//! Random search and the default searcher on the landscapes of a folder.

use crate::landscape::problem::Problem;
use crate::landscape::{median, place, trials_to_95};
use inferometer_campaign::search::{Random, Searcher, Tpe};
use inferometer_campaign::space::Rules;
use std::collections::BTreeMap;
use std::io::Write;
use std::ops::Range;
use std::path::Path;

/// Trials after which random search is no longer waited for.
const PATIENCE: usize = 300;

pub fn print(folder: &Path, seeds: Range<u64>, trials: usize) {
    for (file, landscape) in crate::landscapes(folder) {
        for (bound, limits) in [("throughput", None), ("slo", Some(landscape.limits))] {
            let problem = Problem::new(&landscape, limits);
            let optimum = problem.optimum();
            let courses = |searcher: &dyn Searcher, most: usize| -> Vec<Vec<f64>> {
                let reached = |course: &[f64]| trials_to_95(course, optimum).is_some();
                let longer = |course: &[f64]| {
                    course.len() < trials || (course.len() < most && !reached(course))
                };
                (seeds.clone())
                    .map(|seed| problem.search_while(searcher, seed, longer))
                    .collect()
            };
            let row = serde_json::json!({
                "landscape": landscape.name,
                "file": file,
                "bound": bound,
                "optimum": optimum,
                "default": default_places(&problem),
                "default_share": problem.search_while(&Random, 0, |course| course.is_empty())[0] / optimum,
                "random": courses(&Random, PATIENCE),
                "tpe": courses(&Tpe, PATIENCE),
            });
            writeln!(std::io::stdout(), "{row}").expect("stdout");
        }
    }
}

/// Median trials to 95 % of the optimum, by chance and by the default searcher.
pub fn print_reach(folder: &Path, seeds: Range<u64>) {
    for (_, landscape) in crate::landscapes(folder) {
        for (bound, limits) in [("throughput", None), ("slo", Some(landscape.limits))] {
            let problem = Problem::new(&landscape, limits);
            let optimum = problem.optimum();
            let reach = |searcher: &dyn Searcher| {
                let longer = |course: &[f64]| {
                    course.len() < PATIENCE && trials_to_95(course, optimum).is_none()
                };
                let counts = seeds.clone().map(|seed| {
                    let course = problem.search_while(searcher, seed, longer);
                    trials_to_95(&course, optimum).map_or(f64::INFINITY, |count| count as f64)
                });
                median(counts.collect())
            };
            let (random, ours) = (reach(&Random), reach(&Tpe));
            let name = &landscape.name;
            let line = format!("| {name} | {bound} | {random} | {ours} |");
            writeln!(std::io::stdout(), "{line}").expect("stdout");
        }
    }
}

/// Where the engine's default lies on the grid, flag by flag.
fn default_places<'a>(problem: &Problem<'a>) -> BTreeMap<&'a str, usize> {
    let default = problem.rules.defaults(&problem.space);
    let flags = problem.landscape.flags.iter();
    let places = flags.map(|flag| (flag.name.as_str(), place(flag, &default)));
    places.collect()
}
