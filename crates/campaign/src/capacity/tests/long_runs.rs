//! What long runs say, each by itself and together.

use super::*;

/// A probe as the journal holds it: its level, why it was made, requests that counted and those that
/// missed, and how many it needs to confirm.
fn told(
    level: f64,
    purpose: &str,
    [requests, missed]: [u64; 2],
    needs: Option<u64>,
) -> ProbeOutcome {
    let for_queue = needs.map(|needs| needs as f64);
    serde_json::from_value(serde_json::json!({
        "tier": 0, "level": level, "offered": level, "purpose": purpose, "sent": requests + 2000,
        "requests": requests, "met": [requests - missed], "overloaded": false, "verdict": "met",
        "stored": [requests, [requests - missed]], "needs": needs, "median_ttft_s": 0.2,
        "worth": for_queue.map(|for_queue| serde_json::json!({"for_queue": for_queue, "effects": [50.0]})),
        "left_out": 2000, "hopeless": [false],
        "misses": [{"total": missed, "requests": requests, "batches": [], "open": 0}],
    }))
    .unwrap()
}

#[test]
fn runs_that_are_too_short_by_themselves_are_worth_their_requests_together() {
    let mut search = Search::new(settings(0.95, 4.0)).unwrap();
    search.tell(told(32.0, "bracket", [120, 0], None));
    search.tell(told(64.0, "bracket", [120, 60], None));
    let long_run = |search: &Search| search.so_far()[0].long_run.unwrap();
    let first = told(60.0, "confirm", [23_500, 18], Some(35_600));
    // Its interval lies within the objective, but it is too short for its queue.
    assert_eq!(
        search.judged(first.clone()).verdict,
        ProbeVerdict::Undecided
    );
    search.tell(first);
    // What it lacks is sent at the same level.
    let Next::Probe(next) = search.clone().ask() else {
        panic!("it goes on");
    };
    assert_eq!((next.level, next.purpose), (60.0, Purpose::Confirm));
    assert!((12_100..40_000).contains(&next.most_requests), "{next:?}");
    let mut confirmed = search.clone();
    confirmed.tell(told(60.0, "confirm", [12_200, 40], Some(30_000)));
    let run = long_run(&confirmed);
    assert!(
        (run.met, run.level, run.runs) == (true, 60.0, Some(2)),
        "{run:?}"
    );
    // One that misses there speaks against it.
    let mut missed = search.clone();
    missed.tell(told(60.0, "confirm", [12_200, 2_400], None));
    assert!(!long_run(&missed).met);
    // Weaker runs at lower levels do not take the place of the one that tells most.
    search.tell(told(58.8, "confirm", [3_000, 0], Some(22_600)));
    assert_eq!(long_run(&search).level, 60.0);
    // Others add to it, for the lowest level of them.
    search.tell(told(57.6, "confirm", [12_400, 0], Some(22_600)));
    let run = long_run(&search);
    assert!(
        (run.met, run.level, run.runs) == (true, 57.6, Some(2)),
        "{run:?}"
    );
    assert_eq!(run.requests, 23_500 + 12_400);
}

#[test]
fn no_run_confirms_what_its_own_report_calls_too_few() {
    let mut search = Search::new(settings(0.95, 4.0)).unwrap();
    let enough = || told(60.0, "confirm", [4_000, 0], None);
    search.tell(enough().needing(11_810));
    let run = search.so_far()[0].long_run.unwrap();
    // 2,000 of these fill the server.
    assert_eq!((run.met, run.needs), (false, Some(9_810)));
    search.tell(enough());
    assert!(search.so_far()[0].long_run.unwrap().met);
}

#[test]
fn a_short_run_that_speaks_against_others_counts_and_adds_nothing_for_them() {
    let together = |short: u64| {
        let mut search = Search::new(settings(0.95, 4.0)).unwrap();
        search.tell(told(60.0, "confirm", [8_000, short], Some(40_000)));
        search.tell(told(60.0, "confirm", [21_000, 500], Some(40_000)));
        search.tell(told(60.0, "confirm", [21_000, 500], Some(40_000)));
        let run = search.so_far()[0].long_run.unwrap();
        (run.requests, run.met, (run.within * 1e4).round() / 1e4)
    };
    assert_eq!(together(20), (42_000, true, 0.9762), "it saw one mood");
    assert_eq!(together(380), (42_000, true, 0.9724));
    assert!(!together(1_400).1, "its misses decide");
}

#[test]
fn where_one_request_decides_a_long_run_does_not_say_and_what_decides_is_told() {
    let run = |stored: [u64; 2]| {
        let mut one = told(60.0, "confirm", [600, 20], None);
        one.stored = Some((stored[0], vec![stored[1]]));
        let mut search = Search::new(settings(0.95, 4.0)).unwrap();
        search.tell(one);
        let told = search.so_far()[0].long_run.unwrap();
        (told.met, told.needs, (told.within * 1e4).round() / 1e4)
    };
    // 0.95 of 676 steps: 642.2 of 677 values are below the percentile.
    assert_eq!(run([677, 644]), (true, None, 0.9667));
    assert_eq!(run([677, 643]), (false, Some(1_200), 0.9667));
    assert_eq!(run([677, 642]), (false, None, 0.9483));
}
