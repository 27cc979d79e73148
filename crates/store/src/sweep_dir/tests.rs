use super::*;

fn plan(concurrencies: &[u64]) -> SweepPlan {
    let point = |value: &u64| PlannedPoint {
        id: format!("concurrency_{value}"),
        point: Point([("concurrency".to_owned(), (*value).into())].into()),
        flags: BTreeMap::new(),
        options: Options::from_toml(&format!("[load]\nconcurrency = {value}\n")).unwrap(),
    };
    SweepPlan {
        schema: PLAN_SCHEMA.to_owned(),
        axes: vec!["concurrency".to_owned()],
        repeat: 1,
        visits: (0..concurrencies.len()).map(|point| (point, 0)).collect(),
        points: concurrencies.iter().map(point).collect(),
        ..SweepPlan::default()
    }
}

fn trial(id: &str, state: TrialState) -> Trial {
    Trial {
        id: id.to_owned(),
        repeat: 0,
        state,
        directory: Some(format!("points/{id}")),
        reason: None,
        class: None,
        ended: "2026-11-15T08:00:00Z".to_owned(),
    }
}

#[test]
fn a_visit_during_which_the_server_died_is_made_again() {
    let done = trial("concurrency_1", TrialState::Done);
    assert!(done.is_final());
    let died = Trial {
        reason: Some("the server died: refused".to_owned()),
        ..done
    };
    assert!(!died.is_final());
}

#[test]
fn the_same_plan_is_taken_up_and_another_is_refused_with_the_difference() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sweep");
    let sweep = SweepDir::begin(&path, plan(&[1, 2])).unwrap();
    let mut log = sweep.log().unwrap();
    log.append(&trial("concurrency_1", TrialState::Done))
        .unwrap();
    drop(log);
    let again = SweepDir::begin(&path, plan(&[1, 2])).unwrap();
    assert_eq!(again.trials().unwrap().len(), 1);
    let refused = SweepDir::begin(&path, plan(&[1, 3]))
        .unwrap_err()
        .to_string();
    assert!(refused.contains("its points are others"), "{refused}");
    let mut other = plan(&[1, 2]);
    other.points[1].options.load.warmup = Some("3".parse().unwrap());
    let refused = SweepDir::begin(&path, other).unwrap_err().to_string();
    assert!(
        refused.contains("settings of its point concurrency_2"),
        "{refused}"
    );
    assert_eq!(SweepDir::open(&path).unwrap().plan(), &plan(&[1, 2]));
}

#[test]
fn a_folder_with_other_files_is_not_touched() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("thesis.txt"), "years of work").unwrap();
    let refused = SweepDir::begin(folder.path(), plan(&[1])).unwrap_err();
    assert!(matches!(refused, SweepError::Occupied { .. }));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn half_a_line_of_a_killed_sweep_is_no_trial_and_spoils_none() {
    let folder = tempfile::tempdir().unwrap();
    let sweep = SweepDir::begin(folder.path(), plan(&[1, 2])).unwrap();
    sweep
        .log()
        .unwrap()
        .append(&trial("concurrency_1", TrialState::Done))
        .unwrap();
    let file = folder.path().join(TRIALS);
    let mut text = std::fs::read_to_string(&file).unwrap();
    text += r#"{"id": "concurrency_2", "rep"#;
    std::fs::write(&file, text).unwrap();
    assert_eq!(sweep.trials().unwrap().len(), 1);
    sweep
        .log()
        .unwrap()
        .append(&trial("concurrency_2", TrialState::Failed))
        .unwrap();
    let states: Vec<_> = sweep
        .trials()
        .unwrap()
        .iter()
        .map(|trial| trial.state)
        .collect();
    assert_eq!(states, [TrialState::Done, TrialState::Failed]);
}

#[test]
fn the_last_word_on_a_visit_counts_and_a_new_run_never_takes_an_old_folder() {
    let folder = tempfile::tempdir().unwrap();
    let sweep = SweepDir::begin(folder.path(), plan(&[1])).unwrap();
    let mut log = sweep.log().unwrap();
    log.append(&trial("concurrency_1", TrialState::Interrupted))
        .unwrap();
    assert_eq!(sweep.new_run("concurrency_1", 0), "points/concurrency_1");
    std::fs::create_dir(folder.path().join("points/concurrency_1")).unwrap();
    assert_eq!(
        sweep.new_run("concurrency_1", 0),
        "points/concurrency_1.again2"
    );
    log.append(&trial("concurrency_1", TrialState::Done))
        .unwrap();
    let results = sweep.results().unwrap();
    assert_eq!(results.len(), 1);
    assert_eq!(results[0].state, TrialState::Done);
}

#[test]
fn two_processes_do_not_run_one_sweep() {
    let folder = tempfile::tempdir().unwrap();
    let sweep = SweepDir::begin(folder.path(), plan(&[1])).unwrap();
    let _log = sweep.log().unwrap();
    assert!(matches!(sweep.log(), Err(SweepError::StillRunning { .. })));
}

#[test]
fn a_trial_cannot_point_out_of_its_sweep() {
    let folder = tempfile::tempdir().unwrap();
    let sweep = SweepDir::begin(folder.path(), plan(&[1])).unwrap();
    for bad in ["../elsewhere", "/etc", "points/../../x"] {
        let trial = Trial {
            directory: Some(bad.to_owned()),
            ..trial("x", TrialState::Done)
        };
        assert_eq!(sweep.run_path(&trial), None, "{bad}");
    }
    std::os::unix::fs::symlink("/", folder.path().join("points/link")).unwrap();
    for (stored, inside) in [
        ("points/x", true),
        ("points/link", false),
        ("points/link/x", false),
    ] {
        let path = below(folder.path(), stored);
        assert_eq!(path.is_some(), inside, "{stored}");
    }
}

#[test]
fn a_plan_that_changed_on_the_disk_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    SweepDir::begin(folder.path(), plan(&[1, 2])).unwrap();
    let file = folder.path().join(PLAN);
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("concurrency_2", "concurrency_3")).unwrap();
    let message = SweepDir::open(folder.path()).unwrap_err().to_string();
    assert!(message.contains("not as it was written"), "{message}");
}

#[test]
fn a_flipped_bit_in_the_list_of_trials_is_an_error_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let sweep = SweepDir::begin(folder.path(), plan(&[1, 2])).unwrap();
    let mut log = sweep.log().unwrap();
    for id in ["concurrency_1", "concurrency_2"] {
        log.append(&trial(id, TrialState::Done)).unwrap();
    }
    let file = folder.path().join(TRIALS);
    let written = std::fs::read(&file).unwrap();
    let known = sweep.trials().unwrap();
    for bit in 0..(written.len() - 1) * 8 {
        let mut flipped = written.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        std::fs::write(&file, flipped).unwrap();
        match sweep.trials() {
            Ok(read) => assert_eq!(read, known, "bit {bit}"),
            Err(error) => assert!(error.to_string().contains("line "), "{error}"),
        }
    }
    std::fs::write(&file, &written[..written.len() / 2]).unwrap();
    assert_eq!(sweep.trials().unwrap().len(), 1, "as after a kill");
    let old: Vec<String> = (known.iter())
        .map(|trial| serde_json::to_string(trial).unwrap())
        .collect();
    std::fs::write(&file, old.join("\n") + "\n").unwrap();
    assert_eq!(sweep.trials().unwrap(), known, "as older versions wrote it");
}
