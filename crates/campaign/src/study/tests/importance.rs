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
        Observation::of(point.into_iter().collect(), value, 0.0)
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
        ..=64 => Observation::of(point(seqs), 100.0 - seqs as f64, 0.0),
        _ => Observation::of(point(seqs), seqs as f64, 0.5),
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
        Observation::of(point(seqs), 2000.0 - seqs as f64, missed)
    };
    let seqs = [16, 20, 24, 32, 48, 64, 96, 128, 256, 512, 1024];
    let past: Vec<Observation> = seqs.into_iter().map(observation).collect();
    let found = importance(&study.space, &past, None, 1);
    let seqs = of(&found, "max-num-seqs");
    assert_eq!(seqs.effect, Effect::Mixed, "{seqs:?}");
    let best = seqs.best_at.as_ref().and_then(Value::number).unwrap();
    assert!((24.0..=32.0).contains(&best), "{best}");
}
