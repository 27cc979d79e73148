//! The search for capacity finds what an exhaustive scan of the simulated engine found.

use crate::support::{EngineServer, TARGETS, TRUTH, search};

#[test]
fn the_capacity_of_the_engine_is_found_within_five_percent() {
    let server = EngineServer::new();
    for (at, truth) in TRUTH.into_iter().enumerate() {
        let found = search(&server, &[at], at as u64, 1_000_000).0.remove(0);
        let error = found.value.map(|value| value / truth - 1.0);
        assert!(
            error.is_some_and(|error| error.abs() <= 0.05),
            "{}: {found:?}",
            TARGETS[at].0
        );
    }
}
