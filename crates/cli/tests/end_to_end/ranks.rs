//! One measurement from several processes, which meet, share the load, and leave one run.

mod trouble;

use crate::support::{Ended, Place, Run, Sim, Started, records, until};
use inferometer_core::doubt::DoubtCode;
use inferometer_core::environment::EndCause;
use inferometer_core::record::Record;
use inferometer_store::run_dir::RunDir;
use inferometer_store::sweep_dir::{SweepDir, TrialState};
use rustix::process::Signal;
use std::collections::{BTreeMap, BTreeSet};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A port that was free just now.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

fn words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

/// The command of one rank of several.
fn of_rank(place: &Place, [rank, of]: [u32; 2], meet: &str, command: &[&str]) -> Command {
    let numbers = [rank.to_string(), of.to_string()];
    let ranks = [
        "--rank",
        &numbers[0],
        "--of",
        &numbers[1],
        "--meet",
        meet,
        "--no-html",
    ];
    let always = crate::support::ON_ANY_HOST;
    place.command(command.iter().chain(&ranks).chain(&always))
}

/// The command of one rank of a run; all of them keep it in `run`.
fn rank(place: &Place, url: &str, numbers: [u32; 2], meet: &str, options: &[&str]) -> Command {
    let fixed = words("--lang en --quiet --out run --input-tokens 16");
    let command = [&["run", url], fixed.as_slice(), options].concat();
    of_rank(place, numbers, meet, &command)
}

/// Starts all ranks of a run and lets them go on.
fn start(place: &Place, url: &str, of: u32, options: &[&str]) -> Vec<Started> {
    let meet = format!("127.0.0.1:{}", free_port());
    (0..of)
        .map(|number| Started::new(rank(place, url, [number, of], &meet, options)))
        .collect()
}

/// Starts all ranks of a sweep or a search, in a folder of its name.
fn start_campaign(place: &Place, url: &str, of: u32, command: &str, options: &str) -> Vec<Started> {
    let meet = format!("127.0.0.1:{}", free_port());
    let fixed = format!("--lang en --quiet --out {command} --input-tokens 16 --output-tokens 3");
    let words = [words(&fixed), words(options)].concat();
    let words = [&[command, url], words.as_slice()].concat();
    (0..of)
        .map(|number| Started::new(of_rank(place, [number, of], &meet, &words)))
        .collect()
}

fn ended(started: Vec<Started>) -> Vec<Ended> {
    started.into_iter().map(Started::wait).collect()
}

/// A run of so many ranks, to its end: that of rank 0.
#[track_caller]
fn run(place: &Place, url: &str, of: u32, options: &[&str]) -> Run {
    let mut ended = ended(start(place, url, of, options));
    for other in &ended[1..] {
        assert_eq!(other.code, Some(0), "{other:?}");
        assert_eq!((other.stdout.as_str(), other.stderr.as_str()), ("", ""));
    }
    Run::read(ended.remove(0), place.path("run"))
}

/// What makes a request what it is, by its number.
fn asked(records: &[Record]) -> BTreeMap<u64, (Option<u64>, u64, Option<u32>)> {
    let asked = |record: &Record| {
        (
            record.session,
            record.input_chars,
            record.output_tokens_asked,
        )
    };
    records
        .iter()
        .map(|record| (record.index, asked(record)))
        .collect()
}

fn by_rank(records: &[Record]) -> BTreeMap<Option<u32>, Vec<u64>> {
    let mut found: BTreeMap<_, Vec<u64>> = BTreeMap::new();
    for record in records {
        found.entry(record.rank).or_default().push(record.index);
    }
    found
}

#[test]
fn two_ranks_send_what_one_would_and_leave_one_run() {
    let sim = Sim::start(&[]);
    let load = words(
        "--concurrency 4 --requests 60 --output-tokens uniform(2,9) --seed 5 --no-cache-nonce",
    );
    let alone = Place::new().measure(&sim.url, &load);
    let place = Place::new();
    let shared = run(&place, &sim.url, 2, &load);
    shared.assert_all_ok(60);
    let shown: Vec<&str> = shared.ended.stdout.split_whitespace().collect();
    let shown = shown.join(" ");
    assert!(shown.contains("clocks agree within"), "{shown}");
    assert_eq!(asked(&shared.records), asked(&alone.records));
    // Streams are dealt out by their numbers: every other of the four is rank 1's.
    let found = by_rank(&shared.records);
    let even: Vec<u64> = (0..60).filter(|index| index % 2 == 0).collect();
    assert_eq!(found[&Some(0)], even);
    assert_eq!(found[&Some(1)].len(), 30);
    // The server saw each of them once.
    let seen = sim.truth();
    let measured = |id: &str| id.contains("-r");
    let ids: BTreeSet<&str> = shared
        .records
        .iter()
        .map(|record| record.id.as_str())
        .collect();
    assert_eq!(ids.len(), 60);
    assert!(ids.iter().all(|id| measured(id) && seen.contains_key(*id)));
    // It is one run, in which each rank has a partition of its own.
    let path = place.path("run");
    assert_eq!(RunDir::open(&path).unwrap().ranks(), [0, 1]);
    assert!(!place.path("run-rank1").exists(), "rank 0 has it");
    let environment = RunDir::open(&path).unwrap().environment().unwrap();
    let ranks = environment.ranks.unwrap();
    assert_eq!((ranks.of, ranks.others.len()), (2, 1));
    assert!(ranks.others[0].clock_error_ns > 0);
    let verified = place.run(&["verify", "run"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
    let reported = place.run(&["report", "run", "--lang", "en", "--format", "json"]);
    let again: inferometer_core::summary::Summary = serde_json::from_str(&reported.stdout).unwrap();
    assert_eq!(again, shared.summary, "folded anew from the same records");
    // What is changed in any partition is found.
    let file = path.join("records/rank=1/records.parquet");
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    let verified = place.run(&["verify", "run"]);
    assert_eq!(verified.code, Some(1), "{verified:?}");
    assert!(verified.stdout.contains("rank=1"), "{verified:?}");
}

#[test]
fn arrivals_of_three_ranks_are_due_when_those_of_one_are() {
    let sim = Sim::start(&[]);
    let load =
        words("--rate 60 --requests 45 --output-tokens 3 --seed 9 --warmup none --no-cache-nonce");
    let alone = Place::new().measure(&sim.url, &load);
    let place = Place::new();
    let shared = run(&place, &sim.url, 3, &load);
    shared.assert_all_ok(45);
    // Since the first: the origin of each run is its own.
    let due = |records: &[Record]| -> Vec<u64> {
        let due: Vec<u64> = records.iter().map(|record| record.due.unwrap().0).collect();
        due.iter().map(|at| at - due[0]).collect()
    };
    assert_eq!(due(&shared.records), due(&alone.records));
    assert_eq!(
        by_rank(&shared.records)[&Some(2)],
        (0..45).filter(|at| at % 3 == 2).collect::<Vec<_>>()
    );
    // One clock for all: no request is sent before it is due, whoever sends it.
    let early = shared
        .records
        .iter()
        .filter(|record| record.sent < record.due);
    assert_eq!(early.count(), 0);
}

#[test]
fn a_load_with_a_window_opens_for_all_ranks_at_once() {
    let sim = Sim::start(&[]);
    let place = Place::new();
    let load = words("--rate 50 --duration 2s --warmup 20 --output-tokens 3");
    let shared = run(&place, &sim.url, 2, &load);
    let ending = RunDir::open(&shared.path).unwrap().ending().unwrap();
    assert_eq!(ending.cause, EndCause::Complete);
    assert!(ending.steady_window);
    assert_eq!(ending.ranks.len(), 2);
    assert!(
        shared
            .records
            .iter()
            .all(|record| record.due.unwrap() >= ending.measured_from)
    );
    assert!(shared.warmup.iter().any(|record| record.rank == Some(1)));
    assert_eq!(shared.summary.requests.cut, 0);
}

#[test]
fn answers_of_all_ranks_are_kept_and_conversations_stay_with_one() {
    let sim = Sim::start(&[]);
    let place = Place::new();
    let load =
        words("--concurrency 4 --requests 30 --turns 3 --think 0s --output-tokens 3 --keep-text");
    let shared = run(&place, &sim.url, 2, &load);
    shared.assert_all_ok(30);
    let mut rank_of = BTreeMap::new();
    for record in &shared.records {
        let known = *rank_of.entry(record.session).or_insert(record.rank);
        assert_eq!(known, record.rank, "a session stays whole");
    }
    let texts = std::fs::read_to_string(shared.path.join("records/texts.jsonl")).unwrap();
    assert_eq!(texts.lines().count(), 30);
}

/// Waits until a rank has records of so many requests of its own.
fn until_recorded(journal: &Path, least: usize) {
    until("the journal", || {
        let known = RunDir::open(journal).ok()?.records().ok()?;
        let measured = known.filter_map(Result::ok).filter(Record::is_measured);
        (measured.count() >= least).then_some(())
    });
}

fn long(place: &Place, sim: &Sim, of: u32) -> Vec<Started> {
    let load =
        words("--concurrency 6 --requests 100000 --output-tokens 4 --warmup none --stagger none");
    let started = start(place, &sim.url, of, &load);
    until_recorded(&place.path("run"), 8);
    until_recorded(&place.path("run-rank1"), 8);
    started
}

/// A run that has ended early, however: all that was planned is accounted for.
#[track_caller]
fn assert_invalid_but_whole(path: &Path) -> inferometer_core::summary::Summary {
    let summary = RunDir::open(path).unwrap().summary().unwrap();
    let all = summary.requests;
    assert_eq!(all.planned, 100_000);
    assert_eq!(
        all.planned,
        all.ok + all.failed + all.cut + all.unsent,
        "{all:?}"
    );
    assert!(all.ok > 0 && !summary.valid);
    let code = |code| summary.doubts.iter().any(|doubt| doubt.code == code);
    assert!(
        code(DoubtCode::Interrupted) && !code(DoubtCode::LostRequests),
        "{:?}",
        summary.doubts
    );
    summary
}

#[test]
fn a_rank_that_is_killed_ends_the_run_as_invalid_and_nothing_hangs() {
    let sim = Sim::start(&[]);
    let place = Place::new();
    let started = long(&place, &sim, 3);
    started[1].signal(Signal::KILL);
    let ended = ended(started);
    assert_eq!(ended[0].code, Some(1), "{ended:?}");
    assert_eq!(ended[2].code, Some(1), "{ended:?}");
    let summary = assert_invalid_but_whole(&place.path("run"));
    let doubt = summary
        .doubts
        .iter()
        .find(|doubt| doubt.code == DoubtCode::Interrupted);
    assert!(doubt.unwrap().text.contains("rank 1"), "{doubt:?}");
    let run = RunDir::open(place.path("run")).unwrap();
    assert_eq!(run.ranks(), [0, 2]);
    let lost = &run.ending().unwrap().ranks[1];
    assert!(lost.lost.is_some(), "{lost:?}");
    // What the dead rank had begun is cut, as far as it was told.
    let cut_by_others = records(&place.path("run"))
        .iter()
        .filter(|record| {
            record.is_measured() && record.outcome == inferometer_core::record::Outcome::Cut
        })
        .count() as u64;
    assert_eq!(summary.requests.cut, cut_by_others + lost.sent);
}

#[test]
fn an_interrupt_of_any_rank_ends_the_run_everywhere() {
    for whom in [0, 1] {
        let sim = Sim::start(&[]);
        let place = Place::new();
        let started = long(&place, &sim, 2);
        started[whom].signal(Signal::INT);
        let ended = ended(started);
        assert_eq!([ended[0].code, ended[1].code], [Some(130); 2], "{ended:?}");
        assert_invalid_but_whole(&place.path("run"));
        assert_eq!(RunDir::open(place.path("run")).unwrap().ranks(), [0, 1]);
    }
}

#[test]
fn without_rank_0_the_others_end_and_keep_what_they_recorded() {
    let sim = Sim::start(&[]);
    let place = Place::new();
    let started = long(&place, &sim, 2);
    started[0].signal(Signal::KILL);
    let ended = ended(started);
    assert_eq!(ended[1].code, Some(2), "{ended:?}");
    assert!(ended[1].stderr.contains("run-rank1"), "{ended:?}");
    assert!(!records(&place.path("run-rank1")).is_empty());
}

/// Whatever was left of runs: files below any folder of the place but the caches.
fn left(place: &Place) -> Vec<PathBuf> {
    let names = ["run", "run-rank1", "run-rank2", "inferometer-runs"];
    names.iter().flat_map(|name| place.files(name)).collect()
}

#[test]
fn ranks_that_do_not_fit_say_so_on_every_rank_and_leave_nothing() {
    let sim = Sim::start(&[]);
    for (numbers, said) in [
        ([[0, 3], [1, 3], [2, 4]], "one of 4, rank 0 one of 3"),
        ([[0, 3], [1, 3], [1, 3]], "two ranks have the number 1"),
    ] {
        let place = Place::new();
        let meet = format!("127.0.0.1:{}", free_port());
        let started = numbers.map(|numbers| {
            Started::new(rank(
                &place,
                &sim.url,
                numbers,
                &meet,
                &["--meet-within", "60s"],
            ))
        });
        for ended in started.map(Started::wait) {
            ended.assert_refused(&[said]);
        }
        assert_eq!(left(&place), Vec::<PathBuf>::new());
    }
}

#[test]
fn who_does_not_come_is_named_and_who_is_alone_says_where_it_looked() {
    let sim = Sim::start(&[]);
    let place = Place::new();
    let meet = format!("127.0.0.1:{}", free_port());
    let within = ["--meet-within", "1s"];
    let leader = Started::new(rank(&place, &sim.url, [0, 3], &meet, &within)).wait();
    leader.assert_refused(&["ranks 1, 2 of 3 did not come", "--at-least"]);
    let other = Started::new(rank(&place, &sim.url, [1, 3], &meet, &within)).wait();
    other.assert_refused(&[&meet, "--meet-within"]);
    assert_eq!(left(&place), Vec::<PathBuf>::new());
}

#[test]
fn with_fewer_ranks_than_asked_for_the_load_is_whole_and_doubted() {
    let sim = Sim::start(&[]);
    let place = Place::new();
    let meet = format!("127.0.0.1:{}", free_port());
    let load = words("--meet-within 2s --at-least 2 --requests 40 --output-tokens 3");
    let started =
        [0, 2].map(|number| Started::new(rank(&place, &sim.url, [number, 3], &meet, &load)));
    let [leader, other] = started.map(Started::wait);
    assert_eq!(other.code, Some(0), "{other:?}");
    let run = Run::read(leader, place.path("run"));
    run.assert_all_ok(40);
    assert_eq!(
        by_rank(&run.records).keys().copied().collect::<Vec<_>>(),
        [Some(0), Some(2)]
    );
    assert!(run.doubts(DoubtCode::MissingRanks));
}

#[test]
fn what_several_ranks_cannot_do_is_refused_in_one_line() {
    let place = Place::new();
    let ranks = ["--rank", "0", "--of", "2", "--meet", "127.0.0.1:1"];
    let refused = |words: &[&str], said: &[&str]| {
        place
            .run(&[words, &ranks[..]].concat())
            .assert_refused(said);
    };
    refused(&["run", "--sim-clock", "virtual"], &["virtual time"]);
    refused(&["run"], &["URL"]);
    place
        .run(&["run", "http://127.0.0.1:1", "--rank", "1"])
        .assert_refused(&["--of"]);
    place
        .run(&["run", "http://127.0.0.1:1", "--rank", "2", "--of", "2"])
        .assert_refused(&["0 to 1"]);
    let mut command = place.command(["tune", "http://127.0.0.1:1"]);
    command
        .env("OMPI_COMM_WORLD_RANK", "0")
        .env("OMPI_COMM_WORLD_SIZE", "2");
    command.env("OMPI_COMM_WORLD_LOCAL_SIZE", "2");
    Started::new(command)
        .wait()
        .assert_refused(&["rank 0 of 2", "one task"]);
}

#[test]
fn the_points_of_a_sweep_are_shared_one_after_the_other() {
    let sim = Sim::start(&[]);
    let place = Place::new();
    let load = "--concurrency 1,2,6 --requests 12 --warmup none";
    let mut ended = ended(start_campaign(&place, &sim.url, 3, "sweep", load));
    for other in &ended[1..] {
        assert_eq!(
            (other.code, other.stdout.as_str()),
            (Some(0), ""),
            "{other:?}"
        );
    }
    let leader = ended.remove(0);
    assert!(leader.stdout.contains("valid: 3"), "{leader:?}");
    let sweep = SweepDir::open(place.path("sweep")).unwrap();
    let trials = sweep.trials().unwrap();
    assert_eq!(trials.len(), 3);
    for (trial, streams) in trials.iter().zip([1, 2, 6]) {
        let path = sweep.path().join(trial.directory.as_ref().unwrap());
        let run = RunDir::open(&path).unwrap();
        let records: Vec<Record> = records(&path)
            .into_iter()
            .filter(Record::is_measured)
            .collect();
        let asked: BTreeSet<u64> = records.iter().map(|record| record.index).collect();
        assert_eq!((records.len(), asked.len()), (12, 12), "{streams} streams");
        // Nobody has less than a stream: the last ranks wait for the next point.
        let shares = by_rank(&records).len();
        assert_eq!(shares, streams.min(3), "{streams} streams");
        assert_eq!(run.ending().unwrap().cause, EndCause::Complete);
    }
    assert!(!place.path("sweep-rank1").exists(), "rank 0 has it");
}

#[test]
fn a_search_is_shared_by_all_ranks() {
    let sim = Sim::start(&[]);
    let place = Place::new();
    let load = "--slo ttft.p90=20s --start 20 --highest 40 --budget 400";
    let mut ended = ended(start_campaign(&place, &sim.url, 2, "capacity", load));
    assert_eq!(ended[1].code, Some(0), "{ended:?}");
    let leader = ended.remove(0);
    assert_ne!(leader.code, Some(2), "{leader:?}");
    let probes: Vec<PathBuf> = std::fs::read_dir(place.path("capacity/probes"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert!(!probes.is_empty());
    for probe in probes {
        assert_eq!(RunDir::open(&probe).unwrap().ranks(), [0, 1]);
    }
    assert!(!place.path("capacity-rank1").exists(), "rank 0 has it");
}

#[test]
fn a_rank_that_is_lost_ends_a_sweep_which_can_be_taken_up() {
    let sim = Sim::start(&[]);
    let place = Place::new();
    let load = "--concurrency 2,4 --requests 100000 --warmup none";
    let mut ranks = start_campaign(&place, &sim.url, 2, "sweep", load);
    until_recorded(&place.path("sweep-rank1"), 5);
    let lost = ranks.pop().unwrap();
    lost.signal(Signal::KILL);
    lost.wait();
    let leader = ranks.remove(0).wait();
    assert_eq!(leader.code, Some(1), "{leader:?}");
    let trials = SweepDir::open(place.path("sweep"))
        .unwrap()
        .trials()
        .unwrap();
    let states: Vec<TrialState> = trials.iter().map(|trial| trial.state).collect();
    assert_eq!(states, [TrialState::Interrupted]);
}

#[test]
fn what_rank_0_is_refused_for_is_said_by_all() {
    let sim = Sim::start(&[]);
    let place = Place::new();
    let ended = ended(start(&place, &sim.url, 3, &["--concurrency", "2"]));
    for ended in ended {
        ended.assert_refused(&["--concurrency 2 cannot be shared by 3 ranks"]);
    }
    assert_eq!(left(&place), Vec::<PathBuf>::new());
}

#[test]
fn duckdb_and_polars_read_the_partitions_of_all_ranks_as_one_table() {
    let sim = Sim::start(&[]);
    let place = Place::new();
    let load = words("--concurrency 4 --requests 40 --output-tokens 3");
    run(&place, &sim.url, 2, &load);
    for (package, script) in [
        (
            "duckdb",
            "print(duckdb.sql(f\"select rank, count(*) from '{at}' where stage = 'measured' group by rank order by rank\").fetchall())",
        ),
        (
            "polars",
            "print(polars.scan_parquet(at).filter(polars.col('stage') == 'measured').group_by('rank').len().sort('rank').collect().rows())",
        ),
    ] {
        let python = inferometer_testing::python();
        let mut command = Command::new(&python);
        let at = place.path("run/records/rank=*/records.parquet");
        let script = format!("import sys, {package}\nat = sys.argv[1]\n{script}");
        let output = command.arg("-c").arg(script).arg(at).output();
        let output = output.ok().filter(|output| {
            !String::from_utf8_lossy(&output.stderr).contains("ModuleNotFoundError")
        });
        let Some(output) = output else {
            inferometer_testing::skipped(&format!("{python} cannot import {package}"));
            continue;
        };
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(said.trim(), "[(0, 20), (1, 20)]", "{output:?}");
    }
}

#[test]
fn connections_come_from_all_source_addresses() {
    let sim = Sim::start(&[]);
    let load = words("--concurrency 6 --requests 30 --output-tokens 3");
    let place = Place::new();
    let options = [&load[..], &["--source-address", "127.0.0.2,127.0.0.3"]].concat();
    let run = place.measure(&sim.url, &options);
    run.assert_all_ok(30);
    let scenario = RunDir::open(&run.path).unwrap().scenario().unwrap();
    assert_eq!(scenario.connection.source_addresses.len(), 2);
    let refused = place.run(&[
        "run",
        &sim.url,
        "--lang",
        "en",
        "--source-address",
        "192.0.2.1",
    ]);
    refused.assert_refused(&["--source-address 192.0.2.1 cannot be used"]);
    let other_kind = place.run(&["run", &sim.url, "--lang", "en", "--source-address", "::1"]);
    other_kind.assert_refused(&["IPv4 or IPv6"]);
}
