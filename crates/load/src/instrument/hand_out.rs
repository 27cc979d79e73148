//! The beginning of a load: each worker gets its part, and threads that make its requests.

use super::Instrument;
use crate::ahead::{Most, queue};
use crate::plan::{LoadPlan, Part, Rhythm};
use crate::supply::{make, share};
use crate::worker::{LoadShare, Pacing, Window};
use inferometer_core::record::Stage;
use inferometer_core::units::Offset;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::{Semaphore, watch};

/// Requests of each worker that are made ahead of need.
const MOST_AHEAD: Most = Most {
    requests: 1024,
    bytes: 16 << 20,
};

/// Requests of each worker that are made before the load begins.
const FIRST_MADE: usize = 32;

/// Time for the workers to take up their parts before the load begins.
const LEAD: Duration = Duration::from_millis(5);

/// Workers at work on a load, as the watch over them sees it.
pub(super) struct Started {
    pub start: Offset,
    pub window: watch::Sender<Window>,
    pub makers: Vec<JoinHandle<()>>,
}

impl Instrument {
    /// Gives each worker its part, and threads that make its requests ahead of need. The load
    /// begins when the first requests are made, however long that takes.
    pub(super) fn hand_out(&mut self, plan: LoadPlan) -> Started {
        let count = self.workers.len() as u64;
        let share_of_load = self.team.share();
        let part = |worker| Part {
            share: share_of_load,
            worker,
            workers: count,
        };
        let cap = match &plan.rhythm {
            Rhythm::Open { cap: Some(cap), .. } => {
                let ours = share_of_load.of_places(u64::from(*cap)) as usize;
                Some(Arc::new(Semaphore::new(ours)))
            }
            _ => None,
        };
        let mut makers = Vec::new();
        let mut supply = |stage: Stage, worker: u64, made: Option<Sender<()>>| {
            let (to_worker, requests) = queue(MOST_AHEAD);
            let mine = share(&self.setup, &plan, stage, part(worker));
            let setup = Arc::clone(&self.setup);
            let maker = std::thread::Builder::new()
                .name("maker".into())
                .spawn(move || make(&setup, mine, to_worker, FIRST_MADE, made))
                .expect("the system gives a thread");
            makers.push(maker);
            requests
        };
        let (made, first_made) = channel();
        let supplies: Vec<_> = (0..count)
            .map(|worker| {
                let warmup =
                    (plan.opening).map(|_| supply(Stage::Warmup, worker, Some(made.clone())));
                let told = warmup.is_none().then(|| made.clone());
                (warmup, supply(plan.stage, worker, told))
            })
            .collect();
        drop(made);
        // Each maker of what is sent first says once that it is there; one without any is gone.
        for _ in 0..count {
            let _ = first_made.recv();
        }
        let start = (self.team).start(&self.setup.clock, LEAD, &self.control);
        let window = watch::Sender::new(match plan.opening {
            Some(_) => Window::Shut,
            None => Window::Open {
                from: start,
                to: plan.duration.map(|duration| start + duration),
            },
        });
        for ((handle, worker), (warmup, requests)) in self.workers.iter().zip(0u64..).zip(supplies)
        {
            let pacing = match &plan.rhythm {
                Rhythm::Closed { streams, spread } => {
                    let streams = u64::from(*streams);
                    let begins = (0..streams)
                        .filter(|&slot| part(worker).holds(slot))
                        .map(|slot| start + spread.mul_f64(slot as f64 / streams as f64));
                    Pacing::Closed(begins.collect())
                }
                Rhythm::Open { .. } => Pacing::Open { cap: cap.clone() },
            };
            let share = LoadShare {
                pacing,
                warmup,
                requests,
                start,
                hold: plan.hold,
                drain: plan.drain,
                window: window.subscribe(),
            };
            handle
                .orders
                .send(share)
                .expect("a worker lives until it is finished");
        }
        Started {
            start,
            window,
            makers,
        }
    }
}
