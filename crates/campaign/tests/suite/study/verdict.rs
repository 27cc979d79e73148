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
fn starts_whose_streams_sent_in_waves_are_counted_on_both_sides() {
    let study = study();
    let in_step = |ending: Ending| {
        let mut ending = ending;
        ending.measurements[0].summary["doubts"] = json!([{"code": "in-step", "severity": "note"}]);
        ending
    };
    let of = |default: [Ending; 2]| {
        let trials = duel(&study, default, [served(300.0, 5.0), served(301.0, 5.0)]);
        study.result(&trials, false).comparison.unwrap().in_step
    };
    let default = || served(100.0, 500.0);
    assert_eq!(of([default(), default()]), None);
    let found = of([in_step(default()), default()]).unwrap();
    assert!(
        found.trial == 0 && (2..=3).contains(&found.default),
        "{found:?}"
    );
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

/// A default of 100 and a rival of 130 that keeps its limits only in the search.
fn refuted(ttft_of_default: f64) -> (Study, Vec<Trial>) {
    let study: Study = STUDY.parse().unwrap();
    let trials = vec![
        trial(0, Origin::Default, served(100.0, 500.0)),
        trial(1, Origin::Search, served(130.0, 500.0)),
    ];
    let trials = finished(&study, trials, |start| match start.of {
        0 => served(100.0, ttft_of_default),
        _ => served(130.0, 5000.0),
    });
    (study, trials)
}

fn over(study: &Study, trials: &[Trial]) -> StudyResult {
    let log = TrialLog {
        header: Header::new(STUDY, None),
        trials: trials.to_vec(),
        pending: Vec::new(),
        complete: true,
        whole_bytes: 0,
    };
    study.result_of(&log, false)
}

#[test]
fn a_default_is_the_best_only_after_as_many_fresh_starts_as_its_rivals() {
    let (study, trials) = refuted(500.0);
    let rounds = |of: u64| -> Vec<Option<usize>> {
        let starts = trials.iter().filter_map(|it| match it.proposal.origin {
            Origin::Confirm { of: other, round } if other == of => Some(round),
            _ => None,
        });
        starts.collect()
    };
    assert_eq!(rounds(1), [Some(0), Some(1)]);
    assert_eq!(rounds(0), rounds(1));
    let found = study.result(&trials, false);
    assert_eq!(found.finding, Finding::DefaultBest);
    assert_eq!((found.refuted[0].trial, found.refuted[0].starts), (1, 2));
    assert_eq!(found.refuted[0].held, 0);
    // An earlier version ended without the starts of the default.
    let found = over(&study, &trials[..4]);
    assert_eq!(found.finding, Finding::NoneHeld);
    let best = found.best.unwrap();
    assert_eq!((best.trial, best.standing), (0, Standing::SeenOnce));
    // The default misses its limits as the rival did.
    let (study, trials) = refuted(5000.0);
    let found = study.result(&trials, false);
    assert_eq!(found.finding, Finding::NoneHeld);
    let starts = found
        .refuted
        .iter()
        .map(|it| (it.trial, it.held, it.starts));
    assert_eq!(starts.collect::<Vec<_>>(), [(1, 0, 2), (0, 0, 1)]);
}

#[test]
fn a_rival_that_missed_its_limits_once_is_told_with_what_it_gained() {
    let study = study();
    let trials = vec![
        trial(0, Origin::Default, served(100.0, 500.0)),
        trial(1, Origin::Search, served(130.0, 500.0)),
    ];
    let trials = finished(&study, trials, |start| match (start.of, start.round) {
        (0, _) => served(100.0, 500.0),
        (_, 6) => served(130.0, 5000.0),
        _ => served(130.0, 500.0),
    });
    let found = study.result(&trials, false);
    assert_eq!(found.finding, Finding::DefaultBest);
    let [rival] = &found.refuted[..] else {
        panic!("{:?}", found.refuted);
    };
    assert_eq!((rival.trial, rival.held, rival.starts), (1, 4, 5));
    assert!((rival.changes[0].value - 0.3).abs() < 1e-6, "{rival:?}");
}

#[test]
fn trials_with_the_same_figures_to_the_last_digit_are_one_of_the_best() {
    let study = study();
    let mut trials = vec![trial(0, Origin::Default, served(100.0, 500.0))];
    for (id, rate) in [(1, 130.0), (2, 130.0), (3, 130.0), (4, 120.0), (5, 110.0)] {
        trials.push(trial(id, Origin::Search, served(rate, 500.0)));
    }
    let trials = finished(&study, trials, |start| {
        served(if start.of == 0 { 100.0 } else { 130.0 }, 500.0)
    });
    let selected: Vec<u64> = (trials.iter())
        .filter_map(|it| match it.proposal.origin {
            Origin::Confirm { of, round: Some(0) } => Some(of),
            _ => None,
        })
        .collect();
    assert_eq!(selected, [1, 4, 5]);
}
