//! What is read back from run, sweep and study folders, which may come from others.

use super::Scratch;
use crate::seeds;
use inferometer_analysis::context::RunContext;
use inferometer_analysis::fold::summarize;
use inferometer_analysis::trace::RunTrace;
use inferometer_campaign::capacity::stored::SearchLine;
use inferometer_campaign::trial::TrialLog;
use inferometer_core::environment::{Ending, Environment};
use inferometer_core::record::Record;
use inferometer_core::scenario::Scenario;
use inferometer_core::summary::Summary;
use inferometer_dialect::{Foreign, Source, json, text};
use inferometer_import::Stored;
use inferometer_store::journal::{Entry, Header, JournalWriter};
use inferometer_store::run_dir::RunDir;
use inferometer_store::sweep_dir::SweepDir;
use inferometer_store::{
    journal as journal_file, json_lines, parquet_file, samples_file, spans_file,
};
use inferometer_text::Lang;
use std::sync::LazyLock;
use strum::VariantArray as _;

/// A run of an older version, whose settings the journals are judged by.
struct Run {
    scenario: Scenario,
    environment: Environment,
    ending: Ending,
    records: Vec<Record>,
}

/// Below the root of the repository.
const RUN_PLACE: &str = "fixtures/run-v1";

static RUN: LazyLock<Run> = LazyLock::new(|| {
    let run = RunDir::open(RUN_PLACE).expect("the stored run");
    Run {
        scenario: run.scenario().expect("its scenario"),
        environment: run.environment().expect("its environment"),
        ending: run.ending().expect("its ending"),
        records: run.records().expect("its records").flatten().collect(),
    }
});

/// A journal as a run leaves it, one with answers under way, and one of a few long lines.
pub fn journals() -> Vec<Vec<u8>> {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, entries: &mut dyn Iterator<Item = Entry<'_>>| {
        let path = folder.path().join(name);
        let mut writer = JournalWriter::create(&path, &Header::new(Some(40))).expect("a journal");
        entries.for_each(|entry| writer.append(&entry).expect("an entry"));
        writer.flush().expect("a journal");
        std::fs::read(&path).expect("the journal")
    };
    let few = RUN.records.iter().take(6);
    vec![
        write("whole", &mut RUN.records.iter().map(Entry::end)),
        write("few", &mut few.clone().map(Entry::end)),
        write(
            "begun",
            &mut few
                .clone()
                .map(Entry::begin)
                .chain(few.take(3).map(Entry::end)),
        ),
    ]
}

pub fn journal(input: &[u8], scratch: &Scratch) -> bool {
    let path = scratch.file("journal.jsonl", input);
    let Ok(records) = journal_file::read_records(&path) else {
        return false;
    };
    conclude(records.flatten().collect())
}

/// A file of records whose footer is sound.
static SOUND: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let path = RunDir::open(RUN_PLACE).map(|run| run.parquet_path());
    let path = path.expect("the stored run");
    std::fs::read(path).expect("its records")
});

/// As it is, where most changes leave a footer that nobody can read, and with the bytes before the
/// footer of a sound file changed alone.
pub fn parquet(input: &[u8], scratch: &Scratch) -> bool {
    let sound = &*SOUND;
    let length = sound.last_chunk::<8>().map_or(0, |end| {
        u32::from_le_bytes([end[0], end[1], end[2], end[3]]) as usize + 8
    });
    let (pages, footer) = sound.split_at(sound.len().saturating_sub(length));
    let changed = &input[..input.len().min(pages.len())];
    let repaired = [changed, &pages[changed.len()..], footer].concat();
    let read = |bytes: &[u8]| {
        let path = scratch.file("records.parquet", bytes);
        let Ok(records) = parquet_file::read_records(&path) else {
            return false;
        };
        conclude(records.map_while(Result::ok).take(10_000).collect())
    };
    let as_it_is = read(input);
    read(&repaired) || as_it_is
}

/// All that a report computes from records.
fn conclude(records: Vec<Record>) -> bool {
    let any = records.iter().any(Record::is_done);
    let context = RunContext {
        scenario: &RUN.scenario,
        environment: &RUN.environment,
        ending: &RUN.ending,
        lang: Lang::En,
    };
    let mut trace = RunTrace::new(&RUN.scenario.objectives.thresholds);
    records.iter().for_each(|record| trace.add(record));
    let source = Source {
        records: &records,
        scenario: &RUN.scenario,
        environment: &RUN.environment,
        ending: &RUN.ending,
        invalid: &[],
    };
    for dialect in Foreign::VARIANTS {
        let _ = text(*dialect, &source);
        let _ = json(*dialect, &source);
    }
    let _ = serde_json::to_string(&summarize(&context, records));
    any
}

pub fn forms() -> Vec<Vec<u8>> {
    let mut all = seeds::files("fixtures/run-v1", &[".json"]);
    all.extend(seeds::literals("crates/store/src", 30));
    all.extend(seeds::literals("crates/core/src/server", 30));
    all.retain(|text| text.starts_with(b"{"));
    all
}

pub fn stored(input: &[u8], scratch: &Scratch) -> bool {
    let mut read = serde_json::from_slice::<Environment>(input).is_ok();
    read |= serde_json::from_slice::<Ending>(input).is_ok();
    if let Ok(summary) = serde_json::from_slice::<Summary>(input) {
        let _ = serde_json::to_string(&summary);
        read = true;
    }
    let samples = scratch.file("samples.jsonl", input);
    read |= samples_file::read_samples(&samples).is_ok_and(|samples| !samples.is_empty());
    let _ = spans_file::read_spans(&samples);
    scratch.file(inferometer_import::STORED, input);
    let _ = Stored::open(scratch.path());
    scratch.file("sweep/sweep.json", input);
    let _ = SweepDir::open(scratch.path().join("sweep")).map(|sweep| sweep.trials());
    read
}

pub fn trials() -> Vec<Vec<u8>> {
    let mut all = seeds::literals("crates/campaign/src/trial", 40);
    all.extend(seeds::literals("crates/campaign/src/capacity", 60));
    all.retain(|text| text.starts_with(b"{"));
    all
}

pub fn read_trials(input: &[u8], scratch: &Scratch) -> bool {
    let path = scratch.file("probes.jsonl", input);
    let probes = json_lines::read::<SearchLine>(&path);
    matches!(TrialLog::read(input), Ok(Some(_))) || probes.is_ok_and(|probes| !probes.is_empty())
}
