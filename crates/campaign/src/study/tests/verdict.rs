//! What the fresh starts of a default and one rival prove.

use super::*;

/// A default and one rival with these fresh starts.
fn duel(study: &Study, default: [Ending; 2], rival: [Ending; 2]) -> Vec<Trial> {
    let trials = vec![
        trial(0, Origin::Default, default[0].clone()),
        trial(1, Origin::Search, rival[0].clone()),
    ];
    finished(study, trials, |start| {
        let of = if start.of == 0 { &default } else { &rival };
        of[start.round % 2].clone()
    })
}

fn invalid(ending: &Ending) -> Ending {
    let mut ending = ending.clone();
    ending.measurements[0].summary["valid"] = json!(false);
    ending.measurements[0].summary["requests"] = json!({"failed": 36});
    ending
}

#[test]
fn an_invalid_run_never_wins() {
    let study = study();
    let (slow, fast) = (served(100.0, 500.0), served(300.0, 5.0));
    let shed = duel(
        &study,
        [slow.clone(), slow.clone()],
        [invalid(&fast), invalid(&fast)],
    );
    let result = study.result(&shed, false);
    assert_eq!(result.best.unwrap().trial, 0);
    assert!(result.gain.is_none());
    let row = &result.trials[1];
    assert_eq!((row.valid, row.failed_requests), (Some(false), Some(36)));
    // Good in the search, and turning requests away in one fresh start.
    let late = duel(&study, [slow.clone(), slow], [fast.clone(), invalid(&fast)]);
    let result = study.result(&late, false);
    assert_eq!(result.finding, Finding::DefaultBest);
    assert_eq!(result.best.unwrap().trial, 0);
}

#[test]
fn a_minimised_figure_tells_its_own_change() {
    let study = changed([("maximize = \"throughput.output_tokens_per_s\"", ""), TTFT]).unwrap();
    let trials = duel(
        &study,
        [served(1.0, 21.3), served(1.0, 21.4)],
        [served(1.0, 5.7), served(1.0, 5.71)],
    );
    let result = study.result(&trials, false);
    assert_eq!(result.finding, Finding::Better);
    let change = &result.comparison.unwrap().changes[0];
    assert!((change.value + 0.73).abs() < 0.01, "{change:?}");
    assert!(change.low < change.value && change.value < change.high);
    let gain = result.gain.unwrap();
    assert!(gain.certified && gain.value == -change.value, "{gain:?}");
}

#[test]
fn a_default_that_misses_the_slo_is_said() {
    let study = study();
    let trials = duel(
        &study,
        [served(120.0, 1500.0), served(121.0, 1500.0)],
        [served(100.0, 800.0), served(101.0, 800.0)],
    );
    let result = study.result(&trials, false);
    assert_eq!(result.finding, Finding::DefaultMisses);
    assert_eq!(result.best.unwrap().trial, 1);
    let change = &result.comparison.unwrap().changes[0];
    assert_eq!(change.effect, ChangeEffect::Worse, "{change:?}");
}

#[test]
fn better_in_one_and_worse_in_another_is_a_trade_off() {
    let study = changed([TTFT]).unwrap();
    let (default, rival) = (
        [served(100.0, 500.0), served(100.1, 500.2)],
        [served(200.0, 900.0), served(200.1, 900.2)],
    );
    let result = study.result(&duel(&study, default.clone(), rival.clone()), false);
    assert_eq!(result.finding, Finding::TradeOff);
    let comparison = result.comparison.unwrap();
    let metrics = comparison.changes.iter().map(|it| it.metric.as_str());
    let metrics: Vec<&str> = metrics.collect();
    assert_eq!(
        metrics,
        ["throughput.output_tokens_per_s", "latency.ttft_ms.p99"]
    );
    // The other way round the default comes first, and it is as much of a trade-off.
    let result = study.result(&duel(&study, rival, default), false);
    assert_eq!(
        (result.finding, result.best.unwrap().trial),
        (Finding::TradeOff, 0)
    );
}

#[test]
fn a_default_that_stands_alone_is_the_best_once_the_search_has_ended() {
    let study = changed([("trials = 30", "trials = 3")]).unwrap();
    let crash = || Ending::failed(State::Crashed, "no-room-for-kv-cache", None);
    let trials = vec![
        trial(0, Origin::Default, served(100.0, 500.0)),
        trial(1, Origin::Search, crash()),
        trial(2, Origin::Search, crash()),
    ];
    assert_eq!(study.result(&trials, false).finding, Finding::DefaultAlone);
    assert_eq!(
        study.result(&trials[..2], false).finding,
        Finding::Unconfirmed
    );
}
