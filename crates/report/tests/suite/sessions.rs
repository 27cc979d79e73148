//! Whole sessions: how they are counted, timed and judged, and what the report says of them.

use crate::samples::{self, scenario};
use inferometer_analysis::context::RunContext;
use inferometer_analysis::fold::summarize;
use inferometer_core::environment::{Ending, Environment};
use inferometer_core::record::{
    Chunks, Failure, FailureClass, Outcome, Phase, Record, Stage, Usage,
};
use inferometer_core::summary::Summary;
use inferometer_core::units::Offset;
use inferometer_page::text::{TextStyle, render};
use inferometer_report::run::{Detail, compose};
use inferometer_text::Lang;

fn at(seconds: f64) -> Offset {
    Offset((seconds * 1e9).round() as u64)
}

/// An answer of a turn that takes so many seconds.
fn turn(session: u64, turn: u32, turns: u32, from: f64, takes: f64) -> Record {
    Record {
        index: session * 10 + u64::from(turn),
        session: Some(session),
        turn: Some(turn),
        turns: Some(turns),
        sent: Some(at(from)),
        due: (turn > 0).then(|| at(from)),
        chunks: Chunks {
            at: vec![at(from + takes / 2.0), at(from + takes)],
            same_read: vec![false; 2],
            tokens: None,
        },
        end: Some(at(from + takes)),
        outcome: Outcome::Done,
        usage: Some(Usage {
            input: Some(100 * (turn + 1)),
            output: Some(2),
            cached: Some(100 * turn),
        }),
        streamed: true,
        ..Record::default()
    }
}

/// Three turns of a second each, a second of thought between them: five seconds.
fn job(session: u64, from: f64) -> Vec<Record> {
    let begins = [0.0, 2.0, 4.0].map(|after| from + after);
    let turns = begins.iter().enumerate();
    turns
        .map(|(number, &begin)| turn(session, number as u32, 3, begin, 1.0))
        .collect()
}

fn failed(mut record: Record) -> Record {
    record.outcome = Outcome::Failed(Failure {
        phase: Phase::Status,
        class: FailureClass::ServerError,
        detail: String::new(),
    });
    record
}

const PLAN: &str =
    "[load]\nconcurrency = 2\nwarmup = 'none'\nduration = '100s'\n[work]\nturns = 3\nthink = '1s'";

fn summary(toml: &str, ending: Ending, records: Vec<Record>) -> Summary {
    let scenario = scenario(toml);
    let context = RunContext {
        scenario: &scenario,
        environment: &Environment::default(),
        ending: &ending,
        lang: Lang::En,
    };
    summarize(&context, records)
}

fn ended(seconds: f64) -> Ending {
    Ending {
        sending_ended: at(seconds),
        ..Ending::default()
    }
}

#[test]
fn turns_and_jobs_of_complete_sessions_are_told() {
    let records = (0..10).flat_map(|session| job(session, 5.0 * session as f64));
    let found = summary(PLAN, ended(50.0), records.collect());
    let sessions = found.sessions.unwrap();
    assert_eq!(
        (
            sessions.began,
            sessions.complete,
            sessions.failed,
            sessions.cut
        ),
        (10, 10, 0, 0)
    );
    assert_eq!(sessions.job.p50_ms, Some(5000.0));
    assert_eq!(sessions.job.mean_ms, Some(5000.0));
    // Ten in the fifty seconds from the first send to the last answer.
    assert_eq!(sessions.per_hour, Some(720.0));
    assert_eq!(sessions.turns_mean, Some(3.0));
    let turns: Vec<_> = (sessions.turns.iter())
        .map(|turn| (turn.first, turn.last, turn.ok))
        .collect();
    assert_eq!(turns, [(1, 1, 10), (2, 2, 10), (3, 3, 10)]);
    let third = &sessions.turns[2];
    assert_eq!(third.e2e_p50_ms, Some(1000.0));
    assert_eq!(third.ttft_p50_ms, Some(500.0));
    assert_eq!(third.cached_tokens_mean, Some(200.0));
    assert_eq!(third.input_tokens_mean, Some(300.0));
}

#[test]
fn later_turns_are_told_in_groups_that_double() {
    let records = (0..20).map(|number| turn(0, number, 20, f64::from(number), 0.5));
    let sessions = summary(PLAN, ended(20.0), records.collect())
        .sessions
        .unwrap();
    let groups: Vec<_> = (sessions.turns.iter())
        .map(|turn| (turn.first, turn.last, turn.ok))
        .collect();
    assert_eq!(groups[7..], [(8, 8, 1), (9, 16, 8), (17, 20, 4)]);
}

#[test]
fn a_session_that_the_end_cut_is_neither_met_nor_missed_before_its_time() {
    let toml = format!("{PLAN}\n[objectives]\nslo = ['job=6s', 'job.p50=6s']\nattainment = 0.7");
    let mut records: Vec<Record> = (0..2).flat_map(|session| job(session, 0.0)).collect();
    // One began two seconds before the end, one was long over its time by then.
    records.extend(job(2, 98.0).into_iter().take(1));
    records.extend(job(3, 90.0).into_iter().take(2));
    let found = summary(&toml, ended(100.0), records.clone());
    let sessions = found.sessions.unwrap();
    assert_eq!((sessions.complete, sessions.cut), (2, 2));
    assert_eq!(sessions.job.mean_ms, None);
    let slo = found.slo.unwrap();
    let jobs = slo.jobs.unwrap();
    // The young one says nothing of what comes after its two seconds: two of three.
    assert!((jobs.attainment.unwrap() - 2.0 / 3.0).abs() < 1e-9);
    assert_eq!(slo.met, Some(false));
    assert_eq!(slo.objectives[1].value_ms, Some(5000.0));
    // A failed turn is a miss whatever the time, and no part of the job times.
    records.push(failed(turn(4, 0, 1, 10.0, 0.1)));
    let found = summary(&toml, ended(100.0), records);
    assert_eq!(found.sessions.as_ref().unwrap().failed, 1);
    let jobs = found.slo.unwrap().jobs.unwrap();
    assert!((jobs.attainment.unwrap() - 0.5).abs() < 1e-9);
    assert_eq!(found.sessions.unwrap().job.p50_ms, Some(5000.0));
}

#[test]
fn failed_sessions_are_no_quick_ones() {
    let toml = format!("{PLAN}\n[objectives]\nslo = ['job.p90=6s', 'job.mean=6s']");
    let mut records: Vec<Record> = (0..10).flat_map(|session| job(session, 0.0)).collect();
    let met = |records: &[Record]| {
        let found = summary(&toml, ended(100.0), records.to_vec());
        let objectives = found.slo.unwrap().objectives.into_iter();
        objectives.map(|it| it.met.unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(met(&records), [true, true]);
    records.extend((10..14).map(|session| failed(turn(session, 0, 1, 10.0, 0.1))));
    assert_eq!(met(&records), [false, false]);
}

#[test]
fn the_session_that_the_number_of_requests_cuts_short_is_no_job() {
    let toml = PLAN.replace("duration = '100s'", "requests = 12");
    let mut records = job(0, 0.0);
    records.extend(job(1, 5.0).into_iter().take(2));
    let sessions = summary(&toml, ended(8.0), records).sessions.unwrap();
    assert_eq!(
        (
            sessions.began,
            sessions.complete,
            sessions.cut,
            sessions.shortened
        ),
        (1, 1, 0, 1)
    );
    assert_eq!(sessions.job.max_ms, Some(5000.0));
}

#[test]
fn a_window_counts_sessions_by_the_turns_that_it_holds() {
    let ending = Ending {
        measured_from: at(3.0),
        sending_ended: at(9.0),
        steady_window: true,
        ..Ending::default()
    };
    // Of the first, which began in the warm-up, two turns are answered inside; of the second,
    // which the hold ends, three; of the third none.
    let mut records: Vec<Record> = job(0, 0.0)
        .into_iter()
        .map(|record| Record {
            stage: Stage::Warmup,
            ..record
        })
        .collect();
    records.extend(job(0, 4.0));
    records.extend(job(1, 10.0).into_iter().map(|record| Record {
        stage: Stage::Hold,
        ..record
    }));
    let sessions = summary(PLAN, ending, records).sessions.unwrap();
    assert_eq!((sessions.began, sessions.complete), (1, 1));
    let inside = 2.0 / 3.0 + 1.0;
    let rate = sessions.per_hour.unwrap();
    assert!((rate - inside * 600.0).abs() < 1e-6, "{rate}");
}

#[test]
fn the_report_has_a_line_for_jobs_and_a_row_for_each_turn() {
    let mut sample = samples::healthy();
    let toml = format!("{PLAN}\n[objectives]\nslo = ['job=6s']");
    let mut records: Vec<Record> = (0..4).flat_map(|session| job(session, 0.0)).collect();
    records.extend(job(4, 98.0).into_iter().take(1));
    let found = summary(&toml, ended(100.0), records);
    (sample.summary.sessions, sample.summary.slo) = (found.sessions, found.slo);
    let show = |lang| {
        let doc = compose(&sample.report_in(lang, Detail::Definitions));
        render(&doc, TextStyle::default())
    };
    let english = show(Lang::En);
    for words in ["By turn", "5 sessions: 4 complete", "100 % of sessions"] {
        assert!(english.contains(words), "{english}");
    }
    let chinese = show(Lang::Zh);
    for words in ["按轮次", "任务时间", "每小时"] {
        assert!(chinese.contains(words), "{chinese}");
    }
}
