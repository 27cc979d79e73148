//! The search for capacity: the highest level (rate or concurrency) at which objectives are
//! met.
//!
//! Levels are doubled or halved until one is met and the next is not. Then one curve of the
//! share met over the level is fitted to all probes of an objective; where it crosses the
//! objective is a distribution on a logarithmic grid, and each probe is near the middle of the
//! one that binds (probabilistic bisection). A probe is a sequential test, so that hopeless and
//! easy levels end after tens of requests; near the boundary, where nothing is clear, probes
//! lengthen. A long run just below the answer confirms it, as soon as the interval will be narrow
//! enough with what it tells; where it moves the answer, the search goes on from there. Just at the
//! capacity no run can show that the objectives are met, so it is made where half of what is
//! allowed misses, and where it does not show it the next is a step below: only a level that a long
//! run has met is called confirmed.
//!
//! What makes a probe of a queue trustworthy:
//!
//! - It begins on an idle server and leaves out the requests with which that fills.
//! - Random arrivals are more or fewer than asked for, and the queue answers to those that
//!   came: a probe tells of the rate that it really had.
//! - Requests count in the order of sending. In the order of ending, the quick ones would
//!   speak for those that still wait.
//! - Requests that wait in one queue share their fate. How many of them tell as much as one
//!   is seen from batches and from the scatter of whole probes, over all near the answer, with
//!   what is usual as a prior; every verdict and the interval are as wide as that, and how
//!   little is known of it, makes them.
//! - A run confirms only where the interval of the share that misses lies within the objective,
//!   with as many requests as are independent, and where it lasts many times as long as its queue
//!   remembers, by what it shows of requests under way and of TTFT itself. It goes on until that is
//!   known; where the budget does not allow it, nothing is confirmed, and the answer says how many
//!   requests it would take.
//! - While requests under way and TTFT both grow, the level cannot be held, whatever the first
//!   requests say: the probe ends.
//!
//! # Protocol
//!
//! [`Search::ask`] gives a [`Probe`]. Wait until nothing is under way, then send load at its
//! level: Poisson arrivals for a rate, a closed loop for a concurrency. Tell
//! [`Probe::observe`] of each request as soon as it is known whether it was within the limits;
//! a limit that has passed is known before the request ends. On [`Step::Stop`], or after
//! [`Probe::most_requests`], send no more, [`Probe::finish`] it with the number of requests
//! sent, and [`Search::tell`] the outcome. A driver may finish a probe at any time.
//!
//! ```
//! use inferometer_campaign::capacity::{Next, Search, ObservedRequest, Settings, Step, Target};
//!
//! let targets = vec![Target { name: "ttft.p90".into(), share: 0.90, tier: 0 }];
//! let mut search = Search::new(Settings {
//!     over: "rate".into(),
//!     targets,
//!     start: 1.0,
//!     floor: 0.1,
//!     ceiling: 1000.0,
//!     whole: false,
//!     tolerance: 0.04,
//!     budget: 20_000,
//! })?;
//! let answers = loop {
//!     let mut probe = match search.ask() {
//!         Next::Done(answers) => break answers,
//!         Next::Probe(probe) => *probe,
//!     };
//!     // A server that answers in 0.2 s up to 40 requests a second, and in 3 s above.
//!     let ttft_s = if probe.level <= 40.0 { 0.2 } else { 3.0 };
//!     let mut sent = 0;
//!     while sent < probe.most_requests {
//!         let within = [ttft_s <= 1.0];
//!         let seen = ObservedRequest { order: sent, sent_s: None, in_flight: 1, ttft_s: Some(ttft_s), within: &within };
//!         sent += 1;
//!         if let Step::Stop(_) = probe.observe(seen) {
//!             break;
//!         }
//!     }
//!     search.tell(probe.finish(sent));
//! };
//! let capacity = answers[0].value.expect("it was confirmed");
//! assert!((capacity / 40.0 - 1.0).abs() < 0.05);
//! # Ok::<(), inferometer_campaign::capacity::CapacityError>(())
//! ```

mod curve;
mod dependence;
mod long_runs;
mod probe;
mod queue_memory;
mod queue_trend;
mod search;
mod settings;
pub mod stored;
#[cfg(test)]
mod tests;
mod tier;

pub use probe::{ObservedRequest, Probe, ProbeOutcome, ProbeVerdict, Purpose, Step};
pub use search::{Next, Search};
pub use settings::{CapacityError, Settings, Target};
