//! Requests that the client gives up.

use crate::support::{Place, Run, Sim};
use inferometer_core::record::Outcome;
use std::time::Duration;

/// Given up a hundred times as long after the first token is due: a machine that is that late with
/// it is not busy, but stuck.
const GIVEN_UP_AFTER: Duration = Duration::from_secs(2);

fn cancelled(faults: &str) -> Run {
    let times = ["--ttft", "20ms", "--itl", "150ms", "--faults", faults];
    let sim = Sim::start(&times);
    let run = Place::new().measure(
        &sim.url,
        &[
            "--cancel",
            "75%@2s",
            "--requests",
            "48",
            "--concurrency",
            "16",
            "--output-tokens",
            "30",
        ],
    );
    run.assert_accounted_for();
    run
}

#[test]
fn a_share_of_requests_is_given_up_and_the_server_is_seen_to_free_them_or_not() {
    let [free, keep] = std::thread::scope(|scope| {
        ["", "keep-cancelled"]
            .map(|faults| scope.spawn(move || cancelled(faults)))
            .map(|run| run.join().unwrap())
    });
    for (run, words) in [(free, "frees requests"), (keep, "goes on with requests")] {
        let accounts = run.summary.requests;
        assert!((24..=44).contains(&accounts.cancelled), "{accounts:?}");
        assert_eq!((accounts.failed, accounts.cut), (0, 0));
        let given_up = (run.records.iter()).filter(|it| it.outcome == Outcome::Cancelled);
        for record in given_up {
            let took = record.end.unwrap().since(record.sent.unwrap());
            assert!(took >= GIVEN_UP_AFTER && !record.chunks.is_empty());
        }
        assert!(run.ended.stdout.contains(words), "{}", run.ended.stdout);
    }
}

#[test]
fn what_cannot_be_given_up_is_refused() {
    let place = Place::new();
    let refuse = |options: &[&str], words: &[&str]| {
        let ended = place.run(&[&["run", "http://127.0.0.1:9"], options].concat());
        ended.assert_refused(words);
    };
    refuse(&["--cancel", "5%"], &["5%@2s"]);
    refuse(&["--cancel", "0%@2s"], &["5%@2s"]);
    refuse(&["--cancel", "5%@2s", "--slo", "ttft=1s"], &["--slo"]);
}
