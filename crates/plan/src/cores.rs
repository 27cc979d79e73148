//! Independent simulations on all cores.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The results of `work(0)` to `work(jobs − 1)`, in that order.
pub(crate) fn on_all<T: Send>(jobs: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    let next = AtomicUsize::new(0);
    let share = || {
        let mut done = Vec::new();
        loop {
            let job = next.fetch_add(1, Ordering::Relaxed);
            if job >= jobs {
                return done;
            }
            done.push((job, work(job)));
        }
    };
    let mut all: Vec<(usize, T)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..cores.min(jobs)).map(|_| scope.spawn(share)).collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined
            .flat_map(|done| done.expect("a simulation does not panic"))
            .collect()
    });
    all.sort_by_key(|(job, _)| *job);
    all.into_iter().map(|(_, result)| result).collect()
}
