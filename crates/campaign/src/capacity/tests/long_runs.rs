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
fn a_run_that_saw_the_queue_says_how_long_the_calm_ones_must_be() {
    let calm = || told(60.0, "confirm", [12_000, 5], Some(20_000));
    let confirmed = |others: Vec<ProbeOutcome>| {
        let mut search = Search::new(settings(0.95, 4.0)).unwrap();
        others.into_iter().for_each(|run| search.tell(run));
        let run = search.so_far()[0].long_run.unwrap();
        (run.met, run.level, run.needs)
    };
    assert_eq!(confirmed(vec![calm(), calm()]), (true, 60.0, None));
    // It is too short beside its own memory, at their level or above it.
    for level in [60.0, 62.0] {
        let unlucky = told(level, "confirm", [10_000, 450], Some(80_000));
        let runs = vec![unlucky, calm(), calm()];
        assert_eq!(confirmed(runs).0, false, "{level}");
    }
    let calm_too = told(60.0, "confirm", [40_000, 5], Some(45_000));
    let unlucky = told(60.0, "confirm", [10_000, 450], Some(80_000));
    let (met, _, needs) = confirmed(vec![unlucky, calm_too.clone()]);
    assert_eq!((met, needs), (false, Some(80_000)));
    let unlucky = told(60.0, "confirm", [10_000, 450], Some(80_000));
    let runs = vec![unlucky, calm_too.clone(), calm_too];
    assert_eq!(confirmed(runs), (true, 60.0, None));
}

#[test]
fn a_short_run_that_misses_the_objective_is_not_left_out() {
    let together = |short: u64| {
        let mut search = Search::new(settings(0.95, 4.0)).unwrap();
        search.tell(told(60.0, "confirm", [2_000, short], Some(40_000)));
        search.tell(told(60.0, "confirm", [21_000, 500], Some(40_000)));
        search.tell(told(60.0, "confirm", [21_000, 500], Some(40_000)));
        search.so_far()[0].long_run.unwrap().requests
    };
    assert_eq!(together(20), 42_000, "it saw one mood");
    assert_eq!(together(120), 44_000);
}
