//! Which flags a study calls important, and which way.

use super::*;

/// Trials of a space of `a`, `b` and `mode` with what each was worth.
fn tried(trials: &[(i64, i64, &str, f64)]) -> (Space, Vec<Observation>) {
    let dimension = |name: &str, domain| Dimension {
        name: name.to_owned(),
        domain,
    };
    let words = ["fast", "exact"].map(|word| Value::Text(word.into()));
    let dimensions = vec![
        dimension("a", Domain::int(1, 128, Spacing::Log(None)).unwrap()),
        dimension("b", Domain::int(1, 64, Spacing::Linear(None)).unwrap()),
        dimension("mode", Domain::choice(words.to_vec()).unwrap()),
    ];
    let past = trials.iter().map(|&(a, b, mode, value)| {
        let point = [
            ("a", Value::Int(a)),
            ("b", Value::Int(b)),
            ("mode", Value::Text(mode.into())),
        ];
        observed(point.into_iter().collect(), value, 0.0)
    });
    (Space::new(dimensions, Vec::new()).unwrap(), past.collect())
}

#[test]
fn flags_that_changed_together_share_what_they_explain_and_are_named() {
    let (space, past) = tried(&[
        (11, 33, "exact", 69.7),
        (11, 32, "exact", 69.6),
        (13, 52, "exact", 66.9),
        (2, 31, "fast", 199.9),
        (1, 30, "fast", 206.7),
        (1, 15, "fast", 189.7),
        (1, 36, "fast", 200.9),
        (1, 34, "fast", 214.5),
        (1, 38, "fast", 213.3),
        (1, 43, "fast", 210.0),
        (1, 44, "fast", 180.8),
    ]);
    for seed in 0..5 {
        let found = importance(&space, &past, Some(0.04), seed);
        let of = |flag| of(&found, flag);
        assert!((0.25..0.75).contains(&of("mode").share), "{found:?}");
        assert!((0.25..0.75).contains(&of("a").share), "{found:?}");
        assert!(of("b").share < 0.1, "{found:?}");
        assert_eq!(of("mode").changed_with, ["a"], "{found:?}");
        assert_eq!(of("a").changed_with, ["mode"], "{found:?}");
    }
}

#[test]
fn a_flag_of_one_value_was_not_varied_and_one_odd_trial_does_not_tell_whose_effect_it_is() {
    let (space, past) = tried(&[
        (11, 33, "exact", 163.5),
        (11, 32, "exact", 164.1),
        (10, 52, "exact", 164.1),
        (1, 34, "exact", 155.8),
        (11, 30, "exact", 164.1),
        (6, 64, "exact", 164.5),
        (1, 36, "exact", 164.8),
        (1, 35, "exact", 164.6),
    ]);
    let found = importance(&space, &past, Some(0.001), 1);
    let effects = ["mode", "a", "b"].map(|flag| of(&found, flag).effect);
    let unclear = [Effect::NotVaried, Effect::Unclear, Effect::Unclear];
    assert_eq!(effects, unclear);
    // Fresh starts that differ as much as the trials do say that nothing was seen at all.
    let found = importance(&space, &past, Some(0.1), 1);
    assert_eq!(of(&found, "a").effect, Effect::None);
}

#[test]
fn importance_speaks_of_what_meets_the_slos() {
    let study = study();
    // Throughput rises with the batch, and beyond 64 the limit is missed.
    let observation = |seqs: i64| match seqs {
        ..=64 => observed(point(seqs), 100.0 - seqs as f64, 0.0),
        _ => observed(point(seqs), seqs as f64, 0.5),
    };
    let seqs = [16, 20, 24, 28, 32, 40, 48, 64, 128, 256, 512, 1024];
    let past: Vec<Observation> = seqs.into_iter().map(observation).collect();
    let found = importance(&study.space, &past, None, 1);
    let seqs = of(&found, "max-num-seqs");
    assert_eq!(seqs.effect, Effect::Falls, "{seqs:?}");
    let Some(Value::Int(best)) = seqs.best_at else {
        panic!("{seqs:?}");
    };
    assert!(best <= 64, "no trial beyond met the limit: {best}");
    // With too few that met it, a miss is still worse than any of them.
    let found = importance(&study.space, &past[4..], None, 1);
    let seqs = of(&found, "max-num-seqs");
    assert_eq!(seqs.effect, Effect::Falls, "{seqs:?}");
}

#[test]
fn one_trial_that_is_far_off_does_not_hide_what_the_others_show() {
    let mut trials = vec![(1, 30, "fast", 532.0)];
    for at in 0..12 {
        let (mode, value) = if at % 2 == 0 {
            ("fast", 974.0)
        } else {
            ("exact", 952.0)
        };
        trials.push((16 << (at % 3), 5 * at + 1, mode, value));
    }
    let (space, past) = tried(&trials);
    let found = importance(&space, &past, Some(1e-9), 1);
    let mode = of(&found, "mode");
    assert_eq!(mode.effect, Effect::Choice, "{found:?}");
    assert_eq!(mode.best_at, Some(Value::Text("fast".into())));
}

#[test]
fn what_misses_the_slos_at_its_best_end_has_no_direction() {
    let study = study();
    // Smaller batches are better, and the smallest miss the limit.
    let observation = |seqs: i64| {
        let missed = if seqs < 24 { 0.5 } else { 0.0 };
        observed(point(seqs), 2000.0 - seqs as f64, missed)
    };
    let seqs = [16, 20, 24, 32, 48, 64, 96, 128, 256, 512, 1024];
    let past: Vec<Observation> = seqs.into_iter().map(observation).collect();
    let found = importance(&study.space, &past, None, 1);
    let seqs = of(&found, "max-num-seqs");
    assert_eq!(seqs.effect, Effect::Mixed, "{seqs:?}");
    let best = seqs.best_at.as_ref().and_then(Value::number).unwrap();
    assert!((24.0..=32.0).contains(&best), "{best}");
}

/// A study in which every trial but the default has the cache on: without it the engine refuses
/// the searched number of tokens.
fn confounded_search() -> (Study, Vec<Trial>) {
    let study: Study = STUDY.parse().unwrap();
    let of = |seqs: i64, tokens: i64, cache: bool, block: i64| -> Point {
        [
            ("max-num-seqs", Value::Int(seqs)),
            ("max-num-batched-tokens", Value::Int(tokens)),
            ("enable-prefix-caching", Value::Bool(cache)),
            ("block-size", Value::Int(block)),
        ]
        .into_iter()
        .collect()
    };
    let default = of(256, 16384, false, 16);
    let with = |flags: &Point| {
        let mut all = default.clone();
        all.0.extend(flags.0.clone());
        all
    };
    let rate = |flags: &Point| -> Option<f64> {
        let all = with(flags);
        let number = |name: &str| all.get(name).and_then(Value::number).unwrap();
        let is_on = all.get("enable-prefix-caching") == Some(&Value::Bool(true));
        let tokens = number("max-num-batched-tokens");
        if !is_on && tokens < 16384.0 {
            return None;
        }
        let gain = if is_on { 1.2 } else { 1.0 };
        let gain = gain * if tokens < 16384.0 { 1.03 } else { 1.0 };
        Some(
            100.0
                * gain
                * if number("max-num-seqs") < 64.0 {
                    0.8
                } else {
                    1.0
                },
        )
    };
    let ending = |flags: &Point| match rate(flags) {
        Some(rate) => served(rate, 500.0),
        None => Ending::failed(State::Refused, "illegal-flags", None),
    };
    let mut trials = vec![Trial {
        proposal: Proposal {
            id: 0,
            origin: Origin::Default,
            flags: Point::default(),
            point: default.clone(),
            implied: None,
            repaired: None,
        },
        ending: ending(&Point::default()),
    }];
    let points = [
        (512, 8192, 32),
        (512, 7000, 16),
        (300, 8192, 32),
        (512, 6000, 32),
        (20, 1024, 16),
        (700, 8192, 32),
        (400, 8192, 16),
        (512, 5000, 16),
        (900, 7000, 16),
    ];
    for (at, (seqs, tokens, block)) in points.into_iter().enumerate() {
        let point = of(seqs, tokens, true, block);
        let proposal = Proposal {
            id: at as u64 + 1,
            origin: Origin::Search,
            flags: point.clone(),
            point,
            implied: None,
            repaired: None,
        };
        let ending = ending(&proposal.flags);
        trials.push(Trial { proposal, ending });
    }
    while let Some(proposal) = study.confirm(&NoRules, &trials, trials.len() as u64) {
        let ending = ending(&proposal.flags);
        trials.push(Trial { proposal, ending });
        assert!(trials.len() < 80, "the last stage does not end");
    }
    (study, trials)
}

#[test]
fn flags_are_worth_what_single_changes_show_and_the_rest_is_of_the_one_that_is_left() {
    let (study, trials) = confounded_search();
    let result = study.result(&trials, false);
    let found = &result.importance;
    let cache = of(found, "enable-prefix-caching");
    assert!((cache.gain.unwrap() - 0.2).abs() < 0.01, "{found:?}");
    assert!(cache.share > 0.8, "{found:?}");
    assert_eq!(cache.best_at, Some(Value::Bool(true)));
    let tokens = of(found, "max-num-batched-tokens");
    assert!((tokens.gain.unwrap() - 0.03).abs() < 0.005, "{found:?}");
    // The largest change of all is that of a value that nobody wants.
    for idle in ["max-num-seqs", "block-size"] {
        let line = of(found, idle);
        assert_eq!(line.share, 0.0, "{found:?}");
        assert!(
            matches!(line.effect, Effect::None | Effect::DefaultBest),
            "{line:?}"
        );
    }
    let trimming = result.trimming.unwrap();
    for needed in &trimming.needed {
        assert!(of(found, &needed.flag).share > 0.0, "{needed:?} {found:?}");
    }
    for name in trimming.left_out.0.keys() {
        assert_eq!(of(found, name).share, 0.0, "{name} {found:?}");
    }
}

#[test]
fn flags_that_only_changed_together_are_said_to_be_confounded() {
    let (mut study, mut trials) = confounded_search();
    study.last_stage.trim = false;
    // Without parts of the best nothing tells the cache and the tokens apart.
    trials.retain(|it| it.is_searched() && it.proposal.id != 5);
    let result = study.result(&trials, false);
    let together = [
        ("enable-prefix-caching", "max-num-batched-tokens"),
        ("max-num-batched-tokens", "enable-prefix-caching"),
    ];
    for (name, other) in together {
        let line = of(&result.importance, name);
        assert_eq!(line.effect, Effect::Confounded, "{:?}", result.importance);
        assert!(line.changed_with.iter().any(|it| it == other), "{line:?}");
        assert_eq!((line.share, line.gain), (0.0, None), "{line:?}");
    }
    assert_eq!(of(&result.importance, "block-size").effect, Effect::None);
}

/// Trials that were all searched, the default first: each with its batch and tokens, its rate and
/// whether it met the limits.
fn searched(trials: &[(i64, i64, f64, bool)]) -> Vec<Trial> {
    let each = trials
        .iter()
        .enumerate()
        .map(|(at, &(seqs, tokens, rate, met))| {
            let mut flags = point(seqs);
            flags
                .0
                .insert("max-num-batched-tokens".into(), Value::Int(tokens));
            let origin = match at {
                0 => Origin::Default,
                _ => Origin::Search,
            };
            let mut trial = trial(
                at as u64,
                origin,
                served(rate, if met { 500.0 } else { 5000.0 }),
            );
            if at > 0 {
                trial.proposal.flags = flags.clone();
            }
            trial.proposal.point = flags;
            trial
        });
    each.collect()
}

#[test]
fn an_effect_is_seen_in_all_pairs_of_a_flag_alone_also_where_the_default_is_in_none_of_them() {
    let study = study();
    // No other trial has a value of the default, which is the best.
    let trials = searched(&[
        (200, 5000, 1813.0, true),
        (64, 1600, 984.0, true),
        (128, 1600, 984.0, true),
        (64, 3200, 1454.0, true),
        (128, 3200, 1454.0, true),
        (64, 6400, 1732.0, true),
        (128, 6400, 1732.0, true),
    ]);
    let found = study.result(&trials, true).importance;
    let tokens = of(&found, "max-num-batched-tokens");
    assert!(
        !matches!(tokens.effect, Effect::None | Effect::Unclear),
        "{tokens:?}"
    );
    let spread = tokens.spread.as_ref().unwrap();
    assert_eq!(
        (&spread.worst, &spread.best),
        (&Value::Int(1600), &Value::Int(6400))
    );
    assert!((spread.change - 0.76).abs() < 0.01, "{spread:?}");
    let seqs = of(&found, "max-num-seqs");
    assert_eq!(
        (seqs.effect, &seqs.spread),
        (Effect::None, &None),
        "{seqs:?}"
    );
    // Nothing tells of what had one value.
    assert!(of(&found, "block-size").spread.is_none());
}

#[test]
fn what_does_something_beside_one_value_of_another_flag_is_told_with_that_value() {
    let study = study();
    let rates = |beside_small: f64| {
        let mut trials = searched(&[
            (512, 2048, 1118.0, true),
            (64, 8192, 1176.0, true),
            (256, 8192, 1176.0, true),
            (512, 8192, 1176.0, true),
            (64, 4096, beside_small, true),
        ]);
        // What is left of the best saw other prompts, which the first two here tie to the others.
        let mut parts = searched(&[
            (256, 8192, 1187.0, true),
            (256, 8192, 1187.0, true),
            (256, 4096, 1128.0, true),
        ]);
        for (at, part) in parts.iter_mut().enumerate() {
            part.proposal.id = 5 + at as u64;
            part.proposal.origin = Origin::Trim { of: 2 };
            part.proposal.flags = part.proposal.point.clone();
        }
        trials.extend(parts);
        let found = study.result(&trials, true).importance;
        of(&found, "max-num-seqs").clone()
    };
    let seqs = rates(1052.0);
    assert_eq!(seqs.effect, Effect::OnlyBeside, "{seqs:?}");
    let tokens = [("max-num-batched-tokens", Value::Int(4096))];
    assert_eq!(seqs.beside, Some(tokens.into_iter().collect()));
    let spread = seqs.spread.as_ref().unwrap();
    assert_eq!(
        (&spread.worst, &spread.best),
        (&Value::Int(64), &Value::Int(256))
    );
    assert!((spread.change - 0.062).abs() < 0.002, "{spread:?}");
    // Prompts that are a little slower for all are no effect of a flag.
    let seqs = rates(1118.0);
    assert_eq!((seqs.effect, seqs.spread), (Effect::None, None));
}

#[test]
fn where_nothing_meets_the_limits_pairs_still_tell_and_no_loss_is_claimed() {
    let study = study();
    let trials = searched(&[
        (256, 2048, 1124.0, false),
        (512, 2048, 1124.0, false),
        (512, 16384, 1198.0, false),
        (256, 16384, 1198.0, false),
        (64, 16384, 440.0, false),
        (512, 4096, 1197.0, false),
        (256, 1024, 1150.0, false),
        (512, 1024, 1150.0, false),
        (128, 1024, 900.0, false),
    ]);
    let result = study.result(&trials, true);
    assert_eq!(result.finding, Finding::Nothing);
    for name in ["max-num-seqs", "max-num-batched-tokens"] {
        let line = of(&result.importance, name);
        assert!(
            line.spread.is_some() && line.effect != Effect::None,
            "{line:?}"
        );
    }
    assert!(result.importance.iter().all(|line| line.gain.is_none()));
}

#[test]
fn a_flag_whose_other_values_ran_and_missed_the_limits_is_needed() {
    let study = study();
    let mut trials = searched(&[
        (256, 2048, 0.0, true),
        (64, 512, 500.0, false),
        (64, 1024, 480.0, false),
        (512, 2048, 900.0, true),
        (600, 4096, 900.0, true),
        (700, 4096, 901.0, true),
        (512, 8192, 902.0, true),
        (800, 4096, 903.0, true),
        (900, 4096, 904.0, true),
        (1000, 4096, 905.0, true),
        (1010, 4096, 905.0, true),
    ]);
    for (at, trial) in trials.iter_mut().enumerate() {
        let cache = Value::Bool(at > 2);
        trial
            .proposal
            .point
            .0
            .insert("enable-prefix-caching".into(), cache.clone());
        trial
            .proposal
            .flags
            .0
            .insert("enable-prefix-caching".into(), cache);
    }
    trials[0].ending = Ending::failed(State::Crashed, "out-of-memory-loading", None);
    let result = study.result(&trials, true);
    let cache = of(&result.importance, "enable-prefix-caching");
    assert_eq!(cache.effect, Effect::Needed, "{:?}", result.importance);
}
