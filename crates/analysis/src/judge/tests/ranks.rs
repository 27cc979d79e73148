//! Doubts of loads that several ranks shared.

use super::{Code, serious};
use crate::fold::testing::MadeUp;
use inferometer_core::environment::{EndCause, RankEnding, RankHost, Ranks};

/// An open loop of two ranks, which raises nothing.
fn shared() -> MadeUp {
    let mut run = MadeUp::open(600, |_| 50.0);
    let rank = |rank| RankEnding {
        rank,
        sent: 300,
        lag_p99_ms: Some(0.2),
        clock_moved_ns: Some(900_000),
        clock_error_ns: Some(100_000),
        ..RankEnding::default()
    };
    run.ending.ranks = vec![rank(0), rank(1)];
    run.environment.ranks = Some(Ranks {
        of: 2,
        missing: Vec::new(),
        others: vec![RankHost {
            rank: 1,
            clock_error_ns: 40_000,
            ..RankHost::default()
        }],
    });
    run
}

#[test]
fn ranks_that_are_on_time_and_agree_on_it_raise_nothing() {
    assert_eq!(serious(&shared()), []);
}

#[test]
fn what_a_lost_rank_had_begun_is_cut_and_the_run_invalid() {
    let mut run = shared();
    run.ending.cause = EndCause::RankLost;
    run.ending.ranks[1].lost = Some("its connection was closed".to_owned());
    let odd = |index: u64| index % 2 == 1;
    run.records.retain(|record| !odd(record.index));
    let summary = run.summary();
    let accounts = summary.requests;
    assert_eq!(
        (accounts.planned, accounts.ok, accounts.cut),
        (600, 300, 300)
    );
    assert!(!summary.valid && serious(&run).contains(&Code::Interrupted));
    assert!(!serious(&run).contains(&Code::LostRequests));
    let doubt = &summary.doubts[0].text;
    assert!(
        doubt.contains("rank 1 (its connection was closed)"),
        "{doubt}"
    );
}

#[test]
fn one_late_rank_is_named() {
    let mut run = shared();
    run.ending.ranks[1].lag_p99_ms = Some(30.0);
    assert_eq!(serious(&run), [Code::ClientLate]);
    assert!(run.summary().doubts[0].text.contains("rank 1"));
}

#[test]
fn clocks_that_cannot_be_compared_or_go_apart_matter_for_shared_arrivals() {
    let mut unsure = shared();
    unsure.environment.ranks.as_mut().unwrap().others[0].clock_error_ns = 20_000_000;
    assert_eq!(serious(&unsure), [Code::ClockError]);
    let mut moved = shared();
    moved.ending.ranks[1].clock_moved_ns = Some(-20_000_000);
    assert_eq!(serious(&moved), [Code::ClockError]);
}

#[test]
fn fewer_ranks_than_asked_for_are_doubted() {
    let mut run = shared();
    run.environment.ranks.as_mut().unwrap().missing = vec![2];
    assert_eq!(serious(&run), [Code::MissingRanks]);
}
