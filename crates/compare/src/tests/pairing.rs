//! Which runs of two groups meet.

use super::*;

#[test]
fn points_are_paired_by_load_and_the_others_are_named() {
    let at = |concurrency, seed| RunSample {
        point: point(concurrency),
        ..run(500, 100.0, 0.0, seed)
    };
    let a = group("a", vec![at(16, 1), at(8, 2), at(4, 3)]);
    let b = group("b", vec![at(8, 4), at(16, 5), at(32, 6)]);
    let found = compare(&[a.clone(), b], &Settings::default());
    let mut points: Vec<String> = found.rows.iter().map(|row| row.point.key()).collect();
    points.dedup();
    assert_eq!(points, ["concurrency=8", "concurrency=16"]);
    let alone: Vec<String> = found.unpaired.iter().map(|one| one.point.key()).collect();
    assert_eq!(alone, ["concurrency=4", "concurrency=32"]);
    let c = group("c", vec![at(1, 1), at(2, 1)]);
    assert!(!compare(&[a, c], &Settings::default()).comparable);
}

#[test]
fn a_setting_that_one_side_alone_names_and_never_changes_does_not_keep_loads_apart() {
    let side = |name: &str, chars: [Option<u32>; 2], seed| {
        let runs = [8, 16].into_iter().zip(chars).map(|(streams, chars)| {
            let mut sample = run(500, 100.0, 0.0, seed);
            sample.point = point(streams);
            let chars = chars.map(|chars| ("input-chars".to_owned(), chars.into()));
            sample.point.0.extend(chars);
            sample
        });
        group(name, runs.collect())
    };
    let plain = side("a", [None; 2], 1);
    let rows = |other: Group| {
        compare(&[plain.clone(), other], &Settings::default())
            .rows
            .len()
    };
    assert!(rows(side("b", [Some(400); 2], 2)) > 0);
    assert_eq!(rows(side("c", [Some(400), Some(800)], 3)), 0, "it changes");
}

#[test]
fn seeds_that_one_side_has_more_of_are_no_reason_against_a_comparison() {
    let side = |name: &str, seeds: &[u64]| {
        let runs = seeds.iter().map(|&seed| {
            let mut sample = run(500, 100.0, 0.0, seed);
            sample.definition.seed = Some(seed);
            sample
        });
        group(name, runs.collect())
    };
    let comparable = |seeds: &[u64]| {
        let sides = [side("a", &[0]), side("b", seeds)];
        compare(&sides, &Settings::default()).comparable
    };
    assert!(comparable(&[0, 1, 2]));
    assert!(!comparable(&[1]), "other prompts");
}

#[test]
fn copies_of_a_run_are_one_run() {
    let copies = |name: &str, latency, seed| {
        let run = run(2000, latency, 0.0, seed);
        group(name, vec![run; 5])
    };
    let groups = [copies("a", 100.0, 1), copies("b", 102.5, 2)];
    let found = compare(&groups, &Settings::default());
    let row = found.rows.iter().find(|row| row.primary).unwrap();
    assert_eq!((row.runs, row.basis), ([1, 1], Basis::OneRunEach));
    assert_eq!(row.verdict, Verdict::Unknown);
    let told: Vec<[usize; 2]> = (found.copies.iter())
        .map(|copies| [copies.runs, copies.distinct])
        .collect();
    assert_eq!(told, [[5, 1], [5, 1]]);
}

fn seeded(mut group: Group, first: u64) -> Group {
    for (seed, run) in (first..).zip(&mut group.runs) {
        run.definition.seed = Some(seed);
    }
    group
}

#[test]
fn other_prompts_are_said_unless_each_side_has_several_seeds() {
    let sides = |count| {
        let [a, b] = [("a", 1), ("b", 2)].map(|(name, seed)| {
            let group = repeats(name, count, 100.0, 0.01, seed);
            seeded(group, 10 * seed)
        });
        compare(&[a, b], &Settings::default())
    };
    let one = sides(1);
    let said = "the seed of prompts and arrivals differs: 10 against 20; send both sides the same";
    assert!(one.why_not[0].contains(said), "{:?}", one.why_not);
    assert!(sides(3).comparable);
}

#[test]
fn runs_of_the_same_seeds_are_compared_in_pairs() {
    // Seeds move both sides by 10 %, the server only by what is asked for.
    let sides = |slower: f64| {
        let side = |name: &str, latency: f64| {
            let mut random = rng(5, Dimension::Words, 79);
            let runs = (0..5).map(|seed| {
                let luck: f64 = StandardNormal.sample(&mut random);
                run(2000, latency, 0.1 * luck, seed)
            });
            seeded(group(name, runs.collect()), 0)
        };
        [side("a", 100.0), side("b", 100.0 * slower)]
    };
    let row = primary(&sides(1.06));
    assert_eq!((row.verdict, row.basis), (Verdict::Worse, Basis::Pairs));
    assert_eq!(primary(&sides(1.0)).verdict, Verdict::Same);
    let [a, b] = sides(1.06);
    let alone = primary(&[a, seeded(b, 100)]);
    assert_eq!(alone.verdict, Verdict::Unknown);
}

#[test]
fn an_invalid_repeat_is_left_out_and_named_and_the_others_decide() {
    let spoil = |run: &mut RunSample, code: DoubtCode| {
        run.name = "b/2".to_owned();
        run.summary.valid = false;
        run.summary.throughput.output_tokens_per_s = Some(1.0);
        (run.summary.requests.ok, run.summary.requests.failed) = (10, 20);
        run.summary.doubts.push(StatedDoubt {
            code,
            severity: Severity::Invalid,
            text: "20 of 30 requests failed".to_owned(),
            remedy: "look at the server's log".to_owned(),
        });
    };
    let a = repeats("a", 3, 100.0, 0.005, 1);
    let mut b = repeats("b", 4, 80.0, 0.005, 2);
    spoil(&mut b.runs[1], DoubtCode::ClientLate);
    let found = compare(&[a.clone(), b.clone()], &Settings::default());
    assert!(
        found.comparable && found.is_answered(),
        "{:?}",
        found.why_not
    );
    let row = found.rows.iter().find(|row| row.primary).unwrap();
    assert_eq!((row.verdict, row.runs), (Verdict::Better, [3, 3]));
    assert_eq!((found.copies.len(), found.doubts.len()), (0, 0));
    let [left_out] = found.left_out.as_slice() else {
        panic!("{:?}", found.left_out)
    };
    assert_eq!(
        (left_out.run.as_str(), left_out.codes.join(",").as_str()),
        ("b/2", "client-late")
    );
    assert_eq!(left_out.text, "20 of 30 requests failed");
    assert_eq!(left_out.remedy, "look at the server's log");
    // What the server failed at is no accident of the measurement.
    let mut failing = repeats("b", 4, 80.0, 0.005, 2);
    spoil(&mut failing.runs[1], DoubtCode::Failures);
    let found = compare(&[a.clone(), failing], &Settings::default());
    assert!(!found.is_answered() && found.left_out.is_empty());
    // So it is where another tool measured it.
    let mut foreign = repeats("b", 4, 80.0, 0.005, 2);
    foreign.runs[1].summary.valid = false;
    foreign.runs[1].foreign_doubts = vec![ForeignDoubt {
        code: "failures".to_owned(),
        severity: Severity::Invalid,
        text: String::new(),
        remedy: String::new(),
    }];
    let found = compare(&[a.clone(), foreign], &Settings::default());
    assert!(!found.is_answered() && found.left_out.is_empty());
    // Where no valid one is left, that is the reason, once.
    b.runs
        .iter_mut()
        .for_each(|run| spoil(run, DoubtCode::Failures));
    let found = compare(&[a, b], &Settings::default());
    assert!(!found.is_answered() && found.left_out.is_empty());
    let invalid = |reason: &&WhyNot| matches!(reason, WhyNot::Invalid { .. });
    assert_eq!(found.reasons.iter().filter(invalid).count(), 1);
    assert_eq!(
        found.why_not[0],
        "at concurrency=8: 'b' has INVALID runs (client-late, failures); look at the server's log"
    );
}

#[test]
fn a_load_that_is_not_comparable_leaves_the_others_their_answer() {
    let side = |name, seed, tokens| {
        let runs = [8, 16].map(|load| {
            let mut sample = run(500, 100.0, 0.0, seed + u64::from(load));
            sample.point = point(load);
            sample.summary.tokens.output_mean = Some(if load == 16 { tokens } else { 32.0 });
            sample
        });
        group(name, runs.into())
    };
    let found = compare(
        &[side("a", 1, 32.0), side("b", 100, 20.0)],
        &Settings::default(),
    );
    assert!(!found.comparable && found.is_answered());
    let mut alone = [side("a", 1, 32.0), side("b", 100, 20.0)];
    alone.iter_mut().for_each(|it| drop(it.runs.remove(0)));
    assert!(!compare(&alone, &Settings::default()).is_answered());
}

#[test]
fn one_run_each_of_the_same_requests_is_compared_request_by_request() {
    let side = |name: &str, latency, seed, work: Option<&str>| {
        let mut sample = run(400, latency, 0.0, seed);
        sample.definition.seed = Some(seed);
        sample.definition.work = work.map(str::to_owned);
        group(name, vec![sample])
    };
    let row = |work: Option<&str>| primary(&[side("a", 100.0, 7, work), side("b", 103.5, 7, work)]);
    let (paired, alone) = (row(Some("output = 100")), row(None));
    assert_eq!(
        (paired.basis, alone.basis),
        (Basis::PairedRequests, Basis::OneRunEach)
    );
    let width = |row: &Row| row.high.unwrap() / row.low.unwrap();
    assert!(width(&paired) < width(&alone), "{paired:?} {alone:?}");
    // 3.5 % slower: the requests themselves differ by a fifth, and hide it from runs by themselves.
    assert_eq!(
        (paired.verdict, alone.verdict),
        (Verdict::Worse, Verdict::Unknown)
    );
}

#[test]
fn loads_with_other_settings_or_names_are_said_to_differ_in_these() {
    let with = |mut run: RunSample, axes: &[(&str, &str)]| {
        for (axis, value) in axes {
            run.point.0.insert((*axis).to_owned(), (*value).into());
        }
        run
    };
    let a = group(
        "a",
        vec![
            with(run(200, 100.0, 0.0, 1), &[("mode", "x"), ("name", "first")]),
            with(run(200, 100.0, 0.0, 2), &[("mode", "y"), ("name", "first")]),
        ],
    );
    let b = group(
        "b",
        vec![
            with(run(200, 100.0, 0.0, 3), &[("mode", "x"), ("name", "again")]),
            with(run(200, 100.0, 0.0, 4), &[("mode", "y"), ("name", "again")]),
        ],
    );
    let found = compare(&[a.clone(), b], &Settings::default());
    let [reason] = &found.why_not[..] else {
        panic!("{:?}", found.why_not);
    };
    assert!(reason.contains("name=first against name=again"), "{reason}");
    assert!(!reason.contains("mode="), "{reason}");
    let mut elsewhere = a.clone();
    for run in &mut elsewhere.runs {
        run.point.0.insert("concurrency".to_owned(), 99.into());
    }
    let found = compare(&[a, elsewhere], &Settings::default());
    assert!(found.why_not[0].contains("no load in common"), "{found:?}");
}
