//! A small part of `bench/tune`: the default searcher against chance, on a landscape of the
//! simulated engine with refusals, crashes and limits.

use crate::landscape::problem::Problem;
use crate::landscape::test_bed::TEST_BEDS;
use crate::landscape::{Cell, median, trials_to_95};
use inferometer_campaign::search::{Random, Searcher, Tpe};

const SEEDS: u64 = 7;
const PATIENCE: usize = 150;

#[test]
fn the_default_searcher_needs_fewer_trials_than_chance() {
    let mut test_bed = TEST_BEDS[5].clone();
    // Fewer requests and one flag less keep the shape and the test short.
    test_bed.requests = 2 * test_bed.streams as u64;
    let mut flags = test_bed.flags();
    flags.retain(|flag| flag.name != "enforce-eager");
    let landscape = test_bed.landscape(flags);
    let count = |wanted: Cell| {
        landscape
            .cells
            .iter()
            .filter(|cell| **cell == wanted)
            .count()
    };
    assert!(count(Cell::Refused) > 50 && count(Cell::Crashed) > 20);
    let problem = Problem::new(&landscape, Some(landscape.limits));
    let optimum = problem.optimum();
    let reached = |searcher: &dyn Searcher| {
        let counts = (0..SEEDS).map(|seed| {
            let longer =
                |course: &[f64]| course.len() < PATIENCE && trials_to_95(course, optimum).is_none();
            problem.search_while(searcher, seed, longer).len() as f64
        });
        median(counts.collect())
    };
    let (ours, chance) = (reached(&Tpe), reached(&Random));
    assert!(
        ours <= 0.5 * chance,
        "{ours} trials, and {chance} by chance"
    );
}
