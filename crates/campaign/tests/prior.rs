//! A calibrated profile as a prior: it saves trials, and a wrong one does not mislead.

mod landscape;

#[path = "landscape/guess.rs"]
mod guess;

use guess::{WRONG, guessed, off_by_thirty_percent, prior};
use inferometer_campaign::search::{Expected, Prior, Searcher, Tpe};
use landscape::{GROUNDS, Landscape, Problem, median, trials_to_95};

const SEEDS: u64 = 5;
const PATIENCE: usize = 150;

fn trials(problem: &Problem<'_>, searcher: &dyn Searcher) -> f64 {
    let optimum = problem.optimum();
    let longer =
        |course: &[f64]| course.len() < PATIENCE && trials_to_95(course, optimum).is_none();
    let counts = (0..SEEDS).map(|seed| problem.search_while(searcher, seed, longer).len() as f64);
    median(counts.collect())
}

/// Short enough for a test: fewer requests, two flags less.
fn small() -> (landscape::Ground, Landscape) {
    let mut ground = GROUNDS[5].clone();
    ground.requests = 2 * ground.streams as u64;
    let mut flags = ground.flags();
    flags.retain(|flag| !matches!(flag.name.as_str(), "enforce-eager" | "kv-cache-dtype"));
    let landscape = ground.landscape(flags);
    (ground, landscape)
}

#[test]
fn a_prior_saves_trials_and_a_wrong_one_does_not_mislead() {
    let (ground, landscape) = small();
    let limits = Some(landscape.limits);
    let problem = Problem::new(&landscape, limits);
    let without = trials(&problem, &Tpe);
    let right = trials(
        &problem,
        &prior(&guessed(&ground, &landscape, None), limits),
    );
    assert!(
        right <= 0.5 * without,
        "{right} trials, and {without} without"
    );
    for signs in WRONG {
        let timing = off_by_thirty_percent(ground.device, signs);
        let guess = guessed(&ground, &landscape, Some(timing));
        let wrong = trials(&problem, &prior(&guess, limits));
        assert!(
            wrong <= without,
            "{signs:b}: {wrong} trials, and {without} without"
        );
    }
    // A guess that has everything upside down costs a few trials, and not the study.
    let cells = prior(&guessed(&ground, &landscape, None), None);
    let reversed = cells.expected().iter().map(|it| Expected {
        point: it.point.clone(),
        score: -it.score,
    });
    let misled = trials(&problem, &Prior::new(reversed.collect()));
    assert!(
        misled <= 2.0 * without + 6.0,
        "{misled} trials, and {without} without"
    );
}
