//! The process of one target: makes inputs and feeds them, and dies of what is found.

use crate::mutate::Mutator;
use crate::targets::{Scratch, Target};
use crate::{Extent, failed, say};
use inferometer_guard::is_guarded;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};
use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::panic;
use std::path::Path;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// CPU that one input may take. Where a parser is slow but linear, the longest inputs take 3 s.
const MOST_CPU: Duration = Duration::from_secs(10);
/// What threads have, where much of this code runs.
const STACK: usize = 2 << 20;

/// Exit code of an input that took too long.
pub const SLOW: u8 = 3;
/// Exit code of a panic.
pub const PANICKED: u8 = 101;
/// Begins the line that the other process reads.
pub const RESULT: &str = "fed";

pub fn run(
    target: &'static Target,
    seed: u64,
    from: u64,
    extent: Extent,
    progress: &Path,
) -> ExitCode {
    let progress = match File::options().write(true).open(progress) {
        Ok(progress) => progress,
        Err(error) => return failed(format_args!("{}: {error}", progress.display())),
    };
    let inputs = Inputs::new(target, seed);
    in_thread(target, move |scratch| {
        let begin = Instant::now();
        let (mut slowest, mut slowest_at) = (Duration::ZERO, 0);
        let (mut number, mut taken) = (from, 0);
        while match extent {
            Extent::Time(time) => number < inputs.seeds() || begin.elapsed() < time,
            Extent::Inputs(count) => number < inputs.seeds() + count,
        } {
            let _ = progress.write_all_at(&number.to_le_bytes(), 0);
            let input = inputs.get(number);
            let (accepted, took) = cpu_of(|| (target.run)(&input, scratch));
            taken += u64::from(accepted);
            if took > slowest {
                (slowest, slowest_at) = (took, number);
            }
            if took > MOST_CPU {
                return too_slow(took);
            }
            number += 1;
        }
        say(format_args!(
            "{RESULT} {} {taken} {} {slowest_at} {}",
            number - from,
            slowest.as_micros(),
            peak_kb()
        ));
        ExitCode::SUCCESS
    })
}

/// Feeds one input.
pub fn feed(target: &'static Target, input: &[u8]) -> ExitCode {
    let input = input.to_vec();
    in_thread(target, move |scratch| {
        let (_, took) = cpu_of(|| (target.run)(&input, scratch));
        if took > MOST_CPU {
            return too_slow(took);
        }
        ExitCode::SUCCESS
    })
}

fn too_slow(took: Duration) -> ExitCode {
    let _ = writeln!(
        std::io::stderr(),
        "slow: {:.1} s of CPU",
        took.as_secs_f64()
    );
    ExitCode::from(SLOW)
}

/// The inputs of a target by their numbers: its seeds as they are, then mutated ones.
pub struct Inputs {
    seeds: Vec<Vec<u8>>,
    mutator: Mutator,
    key: u64,
}

impl Inputs {
    pub fn new(target: &Target, seed: u64) -> Self {
        let seeds = target.seeds();
        Inputs {
            mutator: Mutator::new(seeds.clone()),
            seeds,
            key: xxh3_64_with_seed(target.name.as_bytes(), seed),
        }
    }

    pub fn seeds(&self) -> u64 {
        self.seeds.len() as u64
    }

    pub fn get(&self, number: u64) -> Vec<u8> {
        let as_it_is = usize::try_from(number)
            .ok()
            .and_then(|number| self.seeds.get(number));
        as_it_is.map_or_else(
            || {
                self.mutator
                    .input(xxh3_64_with_seed(&number.to_le_bytes(), self.key))
            },
            Clone::clone,
        )
    }
}

/// With little stack and bounded memory, and silent about panics that the code itself catches.
fn in_thread(
    target: &Target,
    work: impl FnOnce(&Scratch) -> ExitCode + Send + 'static,
) -> ExitCode {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !is_guarded() {
            usual(info);
        }
    }));
    // In memory where that is to be had: files are written for nearly every input.
    let folder = tempfile::Builder::new();
    let folder = folder.tempdir_in("/dev/shm").or_else(|_| folder.tempdir());
    let folder = match folder {
        Ok(folder) => folder,
        Err(error) => return failed(error),
    };
    let scratch = Scratch(folder.path().to_owned());
    bound_memory(target.most_growth);
    let thread = thread::Builder::new().stack_size(STACK);
    let result = thread
        .spawn(move || work(&scratch))
        .map(thread::JoinHandle::join);
    match result {
        Ok(Ok(code)) => code,
        // The hook has said why.
        Ok(Err(_)) => ExitCode::from(PANICKED),
        Err(error) => failed(error),
    }
}

fn bound_memory(most_growth: u64) {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: Option<u64> = statm.split(' ').next().and_then(|pages| pages.parse().ok());
    let Some(pages) = pages else {
        return;
    };
    let now = pages * rustix::param::page_size() as u64;
    let bound = Rlimit {
        current: Some(now + most_growth),
        maximum: getrlimit(Resource::As).maximum,
    };
    let _ = setrlimit(Resource::As, bound);
}

fn cpu_of<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let now = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(
            time.tv_sec.unsigned_abs(),
            time.tv_nsec.unsigned_abs() as u32,
        )
    };
    let begin = now();
    let result = work();
    (result, now().saturating_sub(begin))
}

fn peak_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}
