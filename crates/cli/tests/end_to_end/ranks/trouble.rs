//! Ranks of which some come late, stop, or look elsewhere, and ends that rank 0 decides for all.

use super::*;
use std::net::TcpStream;

fn codes(ended: &[Ended]) -> Vec<Option<i32>> {
    ended.iter().map(|ended| ended.code).collect()
}

#[test]
fn ranks_may_come_in_any_order() {
    let sim = Sim::start(&[]);
    let place = Place::new();
    // Rank 1 has already been at the place of rank 0.
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap();
    let meet = nobody.local_addr().unwrap().to_string();
    let load = words("--concurrency 3 --requests 30 --output-tokens 3 --meet-within 3m");
    let come = |number| Started::new(rank(&place, &sim.url, [number, 3], &meet, &load));
    let first = come(1);
    drop(nobody.accept().unwrap());
    drop(nobody);
    let leader = come(0);
    until("rank 0", || TcpStream::connect(&meet).ok());
    let last = come(2);
    let run = Run::read(leader.wait(), place.path("run"));
    run.assert_all_ok(30);
    assert_eq!(codes(&ended(vec![first, last])), [Some(0); 2]);
    assert_eq!(by_rank(&run.records).len(), 3);
    assert!(!run.doubts(DoubtCode::MissingRanks));
}

#[test]
fn a_rank_that_is_stopped_is_lost_and_ends_by_itself_when_it_goes_on() {
    let sim = Sim::start(&[]);
    let place = Place::new();
    let mut started = long(&place, &sim, 2);
    let stopped = started.pop().unwrap();
    stopped.signal(Signal::STOP);
    let leader = started.remove(0).wait();
    assert_eq!(leader.code, Some(1), "{leader:?}");
    let summary = assert_invalid_but_whole(&place.path("run"));
    let mut doubts = summary.doubts.iter();
    assert!(
        doubts.any(|doubt| doubt.text.contains("rank 1")),
        "{:?}",
        summary.doubts
    );
    stopped.signal(Signal::CONT);
    let stopped = stopped.wait();
    assert!(matches!(stopped.code, Some(1 | 2)), "{stopped:?}");
    assert!(stopped.stderr.lines().count() <= 1, "{stopped:?}");
    assert!(!records(&place.path("run-rank1")).is_empty());
}

#[test]
fn ranks_on_another_network_end_all_with_one_line_each_and_leave_nothing() {
    let sim = Sim::start(&[]);
    let place = Place::new();
    let meet = format!("127.0.0.1:{}", free_port());
    // Nothing listens there, as behind a wall.
    let elsewhere = format!("127.0.0.1:{}", free_port());
    let started = [&meet, &meet, &elsewhere, &elsewhere];
    let started = (0..).zip(started).map(|(number, meet)| {
        let within = ["--meet-within", "3s", "--concurrency", "4"];
        Started::new(rank(&place, &sim.url, [number, 4], meet, &within))
    });
    let ended = ended(started.collect());
    for here in &ended[..2] {
        here.assert_refused(&["ranks 2, 3 of 4 did not come"]);
    }
    for there in &ended[2..] {
        there.assert_refused(&[&elsewhere, "--meet-within"]);
    }
    assert_eq!(left(&place), Vec::<PathBuf>::new());
}

#[test]
fn a_load_ends_for_all_ranks_when_too_many_requests_of_all_fail() {
    let sim = Sim::start(&["--seed", "10", "--faults", "error500=50%"]);
    let place = Place::new();
    let load = words("--concurrency 4 --requests 100000 --output-tokens 2 --warmup 0");
    let load = [&load[..], &["--stop-when", "failures>20%"]].concat();
    let ended = ended(start(&place, &sim.url, 2, &load));
    assert_eq!(codes(&ended), [Some(1), Some(0)], "{ended:?}");
    let run = RunDir::open(place.path("run")).unwrap();
    let all = run.summary().unwrap().requests;
    assert!(all.unsent > 90_000, "{all:?}");
    assert_eq!(all.planned, all.ok + all.failed + all.cut + all.unsent);
    assert_eq!(run.ranks(), [0, 1]);
}

#[test]
fn a_load_ends_for_all_ranks_when_all_of_it_is_known_well_enough() {
    let sim = Sim::start(&["--ttft", "2ms", "--itl", "1ms"]);
    let place = Place::new();
    let load = words("--concurrency 16 --requests 1000000 --output-tokens 4 --until ci=20%");
    let run = run(&place, &sim.url, 2, &load);
    let ending = RunDir::open(&run.path).unwrap().ending().unwrap();
    assert_eq!(ending.cause, EndCause::Precise);
    let all = run.summary.requests;
    assert!(all.ok < 1_000_000 && all.cut == 0, "{all:?}");
    let shares = by_rank(&run.records);
    let shares: Vec<usize> = shares.values().map(Vec::len).collect();
    assert!(shares.len() == 2 && !shares.contains(&0), "{shares:?}");
}
