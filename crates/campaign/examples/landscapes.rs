//! The proof of the default searcher: landscapes from the simulated engine, and searches on
//! them, one JSON object a line. `bench/tune` runs it beside Optuna.

#[path = "../tests/landscape/mod.rs"]
mod landscape;

use inferometer_campaign::search::{Random, Searcher, Tpe};
use inferometer_campaign::space::Rules;
use landscape::{GROUNDS, Landscape, Problem, place, trials_to_95};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

/// Trials after which random search is no longer waited for.
const PATIENCE: usize = 300;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["make", folder] => make(Path::new(folder)),
        ["search", folder, seeds, trials] => search(
            Path::new(folder),
            seeds.parse().expect("a number of seeds"),
            trials.parse().expect("a number of trials"),
        ),
        _ => panic!("landscapes make FOLDER | landscapes search FOLDER SEEDS TRIALS"),
    }
}

fn make(folder: &Path) {
    for ground in GROUNDS {
        let made = ground.landscape(ground.flags());
        let file = folder.join(format!("{}.json", made.name.replace(' ', "-")));
        let text = serde_json::to_string(&made).expect("plain data");
        std::fs::write(file, text).expect("the folder can be written");
    }
}

fn search(folder: &Path, seeds: u64, trials: usize) {
    let files = std::fs::read_dir(folder).expect("the folder can be read");
    let mut files: Vec<_> = files.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("the file can be read");
        let landscape: Landscape = serde_json::from_str(&text).expect("a landscape");
        for (bound, limits) in [("throughput", None), ("slo", Some(landscape.limits))] {
            let problem = Problem::new(&landscape, limits);
            let optimum = problem.optimum();
            let courses = |searcher: &dyn Searcher, most: usize| -> Vec<Vec<f64>> {
                let reached = |course: &[f64]| trials_to_95(course, optimum).is_some();
                let longer = |course: &[f64]| {
                    course.len() < trials || (course.len() < most && !reached(course))
                };
                (0..seeds)
                    .map(|seed| problem.search_while(searcher, seed, longer))
                    .collect()
            };
            let row = serde_json::json!({
                "landscape": landscape.name,
                "file": file.file_name().and_then(|name| name.to_str()),
                "bound": bound,
                "optimum": optimum,
                "default": default_places(&problem),
                "default_share": problem.search_while(&Random, 0, |course| course.is_empty())[0] / optimum,
                "random": courses(&Random, PATIENCE),
                "tpe": courses(&Tpe, trials),
            });
            writeln!(std::io::stdout(), "{row}").expect("stdout");
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
