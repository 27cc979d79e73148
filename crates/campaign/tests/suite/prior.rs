//! A calibrated profile as a prior: it saves trials, and a wrong one does not mislead.

use crate::guess::{guessed, prior};
use crate::landscape::problem::Problem;
use crate::landscape::test_bed::{TEST_BEDS, TestBed};
use crate::landscape::{Cell, Landscape, median, trials_to_95};
use crate::wrong::{WRONG, off_by_thirty_percent};
use inferometer_campaign::search::{Searcher, Tpe};
use inferometer_catalog::device::Device;
use inferometer_catalog::timing::Timing;

const SEEDS: u64 = 5;
const PATIENCE: usize = 150;

fn trials(problem: &Problem<'_>, searcher: &dyn Searcher) -> f64 {
    let optimum = problem.optimum();
    let longer =
        |course: &[f64]| course.len() < PATIENCE && trials_to_95(course, optimum).is_none();
    let counts = (0..SEEDS).map(|seed| problem.search_while(searcher, seed, longer).len() as f64);
    median(counts.collect())
}

/// Short enough for a test: fewer requests, one flag less, and every other value of long ranges.
fn small() -> (TestBed, Landscape) {
    let mut test_bed = TEST_BEDS[5].clone();
    test_bed.requests = 2 * test_bed.streams as u64;
    let mut flags = test_bed.flags();
    flags.retain(|flag| flag.name != "enforce-eager");
    for flag in flags.iter_mut().filter(|flag| flag.values.len() > 4) {
        flag.values = flag.values.iter().step_by(2).cloned().collect();
    }
    let landscape = test_bed.landscape(flags);
    (test_bed, landscape)
}

#[test]
fn a_prior_saves_trials_and_a_wrong_one_does_not_mislead() {
    let (test_bed, landscape) = small();
    let own = Timing::shipped(Device::named(test_bed.device).expect("a preset"));
    let guess = |timing: Timing| guessed(&test_bed, landscape.flags.clone(), timing);
    let right = guess(own.clone());
    let wrong = WRONG.map(|signs| guess(off_by_thirty_percent(&own, signs)));
    for limits in [None, Some(landscape.limits)] {
        let problem = Problem::new(&landscape, limits);
        let without = trials(&problem, &Tpe);
        let with = trials(&problem, &prior(&right, limits));
        assert!(with <= 0.6 * without, "{with} trials, {without} without");
        for guess in &wrong {
            let misled = trials(&problem, &prior(guess, limits));
            assert!(
                misled <= 1.25 * without,
                "{misled} trials, {without} without"
            );
        }
    }
}

#[test]
fn a_guess_that_has_everything_upside_down_costs_a_few_trials_and_not_the_study() {
    let (_, landscape) = small();
    let mut reversed = landscape.clone();
    for cell in &mut reversed.cells {
        if let Cell::Served { tokens_per_s, .. } = cell {
            *tokens_per_s = 1.0 / *tokens_per_s;
        }
    }
    let problem = Problem::new(&landscape, None);
    let without = trials(&problem, &Tpe);
    let misled = trials(&problem, &prior(&reversed, None));
    assert!(
        misled <= 2.0 * without + 6.0,
        "{misled} trials, {without} without"
    );
}
