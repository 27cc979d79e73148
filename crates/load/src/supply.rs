//! The requests of a load, made ahead of need: which sessions each worker sends, and the threads
//! that make them.

use crate::ahead::Made;
use crate::clock::lower_priority;
use crate::connect::Transport;
use crate::plan::{LoadPlan, Part, Rhythm};
use crate::setup::{RequestPlace, Setup};
use inferometer_core::record::Stage;
use inferometer_core::scenario::Hold;
use inferometer_core::units::Offset;
use std::sync::Arc;
use std::sync::mpsc::Sender;

/// What a maker makes: first turns of sessions, with their due times.
pub(crate) type FirstTurns = Box<dyn Iterator<Item = (RequestPlace, Option<Offset>)> + Send>;

/// The sessions of a worker, from the warm-up or from the opening on, with their due times.
pub(crate) fn share<T: Transport + Send + Sync>(
    setup: &Arc<Setup<T>>,
    plan: &LoadPlan,
    stage: Stage,
    part: Part,
) -> FirstTurns {
    let warms_up = plan.opening.is_some() && stage == Stage::Warmup;
    let sessions = match (warms_up, plan.hold) {
        (true, _) => sessions(setup, stage, None, Hold::None),
        (false, hold) => sessions(setup, stage, plan.requests, hold),
    };
    match &plan.rhythm {
        Rhythm::Closed { streams, .. } => {
            // A session belongs to a stream's place, so that each worker gets requests
            // in proportion to its streams.
            let streams = u64::from(*streams);
            let mine = sessions.filter(move |place| part.holds(place.session % streams));
            Box::new(mine.map(|place| (place, None)))
        }
        Rhythm::Open {
            warmup, measured, ..
        } => {
            let schedule = if warms_up { warmup } else { measured };
            let mine = sessions
                .zip(schedule())
                .filter(move |(place, _)| part.holds(place.session));
            Box::new(mine.map(|(place, due)| (place, Some(due))))
        }
    }
}

/// Sessions in their order, each with its turns, until there are enough requests; then
/// those that hold the load, if it is held. A few that only wake the server have one turn.
fn sessions<T: Transport + Send + Sync>(
    setup: &Arc<Setup<T>>,
    stage: Stage,
    requests: Option<u64>,
    hold: Hold,
) -> impl Iterator<Item = RequestPlace> + use<T> {
    let setup = Arc::clone(setup);
    let wakes = stage == Stage::Warmup && requests.is_some();
    let mut next = 0;
    (0..).map_while(move |session| {
        let left = requests.map_or(u64::MAX, |requests| requests.saturating_sub(next));
        let (stage, left) = match (left, hold) {
            (0, Hold::None) => return None,
            (0, Hold::Auto) => (Stage::Hold, u64::MAX),
            (left, _) => (stage, left),
        };
        let place = RequestPlace {
            session,
            turn: 0,
            turns: 1,
            index: next,
            stage,
        };
        let turns = match setup.conversation {
            Some(_) if !wakes => setup.turns(place),
            _ => 1,
        };
        let turns = u32::try_from(left).unwrap_or(u32::MAX).min(turns);
        next += u64::from(turns);
        Some(RequestPlace { turns, ..place })
    })
}

/// A maker's thread: makes requests ahead of need, as far ahead as their number and their bytes
/// may be, and says when the first are there.
pub(crate) fn make<T: Transport + Send + Sync>(
    setup: &Setup<T>,
    share: FirstTurns,
    mut made: Made,
    first: usize,
    tell: Option<Sender<()>>,
) {
    lower_priority();
    let tell = || {
        if let Some(tell) = &tell {
            let _ = tell.send(());
        }
    };
    for (number, (place, due)) in share.enumerate() {
        let is_full = made.is_full();
        if number == first || is_full {
            tell();
        }
        if is_full {
            made.wait_for_room();
        }
        let request = setup.prepare_in(made.bytes(), place, due, &[]);
        if !made.push(request) {
            return;
        }
    }
    // Of a short share nobody was told yet; of a long one, once more does no harm.
    tell();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ahead::{Most, Requests, queue};
    use crate::api::{BodyTemplates, CHAT, RequestOptions};
    use crate::clock::Clock;
    use crate::exchange::Timeouts;
    use crate::failure::failure;
    use crate::plan::{Schedule, Share};
    use crate::setup::{Job, Jobs, PreparedRequest, Route, WARMUP_SESSION};
    use inferometer_core::content::Content;
    use inferometer_core::record::{Failure, FailureClass, Phase};
    use inferometer_core::work::{Conversation, History};
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use std::time::Duration;

    struct Nowhere;

    impl Transport for Nowhere {
        type Stream = tokio::io::DuplexStream;

        async fn open(&self) -> Result<Self::Stream, Failure> {
            Err(failure(Phase::Connect, FailureClass::Refused, "nobody"))
        }

        fn is_open(_: &mut Self::Stream) -> bool {
            false
        }
    }

    /// Prompts of 2,000 to 3,000 letters.
    fn setup() -> Arc<Setup<Nowhere>> {
        let limit = Duration::from_secs(1);
        Arc::new(Setup {
            routes: vec![Route {
                transport: Nowhere,
                path: "/".into(),
                host: "nowhere".into(),
                headers: Vec::new(),
                url: "nowhere".into(),
            }],
            dialect: CHAT,
            options: RequestOptions::default(),
            bodies: BodyTemplates::default(),
            models: Vec::new(),
            jobs: Arc::new(|session: u64| Job {
                content: Content::Text("x".repeat(2_000 + session as usize * 10).into()),
                ..Job::default()
            }),
            conversation: None,
            warmup_from: WARMUP_SESSION,
            first_wave: None,
            cancel: None,
            keep_text: false,
            timeouts: Timeouts {
                read: limit,
                request: limit,
            },
            clock: Clock::start(),
            run_id: "test".into(),
            traced: false,
            rank: None,
        })
    }

    fn closed() -> LoadPlan {
        plan(Rhythm::Closed {
            streams: 8,
            spread: Duration::ZERO,
        })
    }

    /// Arrivals at times that are no simple function of their number.
    fn open() -> LoadPlan {
        let due: Schedule = Arc::new(|| Box::new((0..).map(|at: u64| Offset(at * at + 7))));
        plan(Rhythm::Open {
            warmup: Arc::clone(&due),
            measured: due,
            cap: None,
        })
    }

    fn plan(rhythm: Rhythm) -> LoadPlan {
        LoadPlan {
            rhythm,
            opening: None,
            stage: Stage::Measured,
            requests: Some(100),
            duration: None,
            hold: Hold::None,
            drain: None,
        }
    }

    /// A maker at work for one of so many workers.
    fn made_for(
        setup: Arc<Setup<Nowhere>>,
        plan: &LoadPlan,
        part: Part,
        most_bytes: usize,
        made: Option<Sender<()>>,
    ) -> Requests {
        let (to_worker, requests) = queue(Most {
            requests: 1_000,
            bytes: most_bytes,
        });
        let share = share(&setup, plan, Stage::Measured, part);
        std::thread::spawn(move || make(&setup, share, to_worker, 1_000, made));
        requests
    }

    fn next(requests: &mut Requests) -> Option<PreparedRequest> {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.unwrap().block_on(requests.next())
    }

    /// Everything that so many ranks make, each with so many workers: bytes and due times by
    /// number, first turns only.
    fn union(
        setup: &Arc<Setup<Nowhere>>,
        plan: &LoadPlan,
        workers: &[u64],
    ) -> BTreeMap<u64, (Vec<u8>, Option<Offset>)> {
        let of = workers.len() as u64;
        let mut all = BTreeMap::new();
        for (place, &workers) in (0..).zip(workers) {
            let share = Share { place, of };
            for worker in 0..workers {
                let part = Part {
                    share,
                    worker,
                    workers,
                };
                let mut requests = made_for(Arc::clone(setup), plan, part, 1 << 30, None);
                while let Some(request) = next(&mut requests) {
                    let made = (request.bytes.to_vec(), request.record.due);
                    let before = all.insert(request.record.index, made);
                    assert!(before.is_none(), "no request is made twice");
                }
            }
        }
        all
    }

    #[test]
    fn the_same_requests_are_made_whatever_the_number_of_ranks_and_makers() {
        for plan in [closed(), open()] {
            let one = union(&setup(), &plan, &[1]);
            assert_eq!(one.len(), 100);
            for workers in [&[2][..], &[3], &[8], &[1, 1], &[2, 1, 3], &[1; 7], &[1; 9]] {
                assert_eq!(union(&setup(), &plan, workers), one, "{workers:?}");
            }
        }
    }

    /// Sessions of one to four turns.
    struct Talks;

    impl Jobs for Talks {
        fn turns(&self, session: u64) -> u32 {
            session as u32 % 4 + 1
        }

        fn job(&self, session: u64, turn: u32) -> Job {
            Job {
                content: Content::Text(format!("{session} {turn}").into()),
                ..Job::default()
            }
        }
    }

    #[test]
    fn sessions_stay_whole_on_one_rank_and_turns_keep_their_numbers() {
        let setup = || {
            let mut setup = Arc::into_inner(setup()).unwrap();
            setup.jobs = Arc::new(Talks);
            setup.conversation = Some(Conversation {
                turns: None,
                think: None,
                history: History::Data,
            });
            Arc::new(setup)
        };
        let one = union(&setup(), &closed(), &[1]);
        assert_eq!(union(&setup(), &closed(), &[2, 1, 1]), one);
        // The next session begins where the turns of the one before end.
        let firsts: Vec<u64> = one.keys().copied().take(5).collect();
        assert_eq!(firsts, [0, 1, 3, 6, 10]);
    }

    proptest! {
        #[test]
        fn every_number_is_in_one_part_of_one_rank(
            workers in prop::collection::vec(1..6u64, 1..9),
            number in 0..1_000_000u64,
        ) {
            let of = workers.len() as u64;
            let parts = (0..).zip(&workers).flat_map(|(place, &workers)| {
                let share = Share { place, of };
                (0..workers).map(move |worker| Part { share, worker, workers })
            });
            prop_assert_eq!(parts.filter(|part| part.holds(number)).count(), 1);
            let places = (0..of).map(|place| Share { place, of }.of_places(number));
            prop_assert_eq!(places.sum::<u64>(), number);
        }
    }

    #[test]
    fn what_is_made_ahead_of_need_is_bounded_by_its_bytes_and_nothing_is_lost() {
        let (made, told) = std::sync::mpsc::channel();
        let whole = Part {
            share: Share::WHOLE,
            worker: 0,
            workers: 1,
        };
        let mut requests = made_for(setup(), &closed(), whole, 10_000, Some(made));
        // The maker says that it has made enough before it waits.
        told.recv().unwrap();
        let mut longest = 0;
        for index in 0..100 {
            longest = longest.max(requests.waiting());
            let request = next(&mut requests).unwrap();
            assert_eq!(request.record.index, index);
        }
        assert!(longest <= 5, "{longest} of more than 2,000 bytes each");
        assert!(next(&mut requests).is_none());
    }
}
