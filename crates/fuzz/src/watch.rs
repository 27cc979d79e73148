//! Starts a process for each target, watches it, keeps what breaks it and prints the table.

use crate::child::{Inputs, PANICKED, RESULT, SLOW};
use crate::shrink::shrink;
use crate::targets::{SPENT, Target};
use crate::{Arguments, Extent, failed, say};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

/// Longer than this on one input, on however busy a machine, is a hang.
const LONGEST: Duration = Duration::from_secs(300);
/// Finds after which a target is left alone.
const MOST_FINDS: u64 = 20;
/// Time to make a find smaller.
const SHRINKING: Duration = Duration::from_secs(20);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// What became of a target.
#[derive(Default)]
struct Fed {
    inputs: u64,
    /// Share of those that were not refused, in the last process.
    taken_share: f64,
    took: Duration,
    slowest_us: u64,
    slowest_at: u64,
    peak_kb: u64,
    /// What broke it, in its own words, with how often and where the smallest lies.
    finds: BTreeMap<String, (u64, PathBuf)>,
}

pub fn run(targets: &[&'static Target], arguments: &Arguments) -> ExitCode {
    if let Err(error) = fs::create_dir_all(&arguments.finds) {
        return failed(format_args!("{}: {error}", arguments.finds.display()));
    }
    say(format_args!("seed {}", arguments.seed));
    say("target              inputs  taken      s  inputs/s  slowest ms  (input)   MB  finds");
    let waiting = Mutex::new(targets.iter());
    let next = || waiting.lock().ok()?.next().copied();
    let (mut all, begin) = (Vec::new(), Instant::now());
    thread::scope(|scope| {
        let work = || {
            let mut done = Vec::new();
            while let Some(target) = next() {
                let fed = feed(target, arguments);
                match &fed {
                    Ok(fed) => row(target, fed),
                    Err(error) => say(format_args!("{:16} {error}", target.name)),
                }
                done.push((target, fed));
            }
            done
        };
        let jobs: Vec<_> = (0..arguments.jobs).map(|_| scope.spawn(work)).collect();
        for job in jobs {
            all.extend(job.join().into_iter().flatten());
        }
    });
    let inputs: u64 = all
        .iter()
        .flat_map(|(_, fed)| fed)
        .map(|fed| fed.inputs)
        .sum();
    let finds = all.iter().flat_map(|(target, fed)| {
        let finds = fed.iter().flat_map(|fed| &fed.finds);
        finds.map(move |(why, (times, file))| (target.name, why, times, file))
    });
    for (name, why, times, file) in finds.clone() {
        say(format_args!("\n{name}, {times} times: {why}"));
        say(format_args!(
            "  repeat: bench/fuzz --file {} {name}",
            file.display()
        ));
    }
    let (count, took) = (finds.count(), begin.elapsed().as_secs());
    say(format_args!("\n{inputs} inputs in {took} s, {count} finds"));
    let broken = count > 0 || all.len() < targets.len() || all.iter().any(|(_, fed)| fed.is_err());
    if broken {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

fn row(target: &Target, fed: &Fed) {
    let seconds = fed.took.as_secs_f64();
    say(format_args!(
        "{:16} {:>9} {:>5.0}% {:>6.1} {:>9.0} {:>11.1} {:>8} {:>5.0} {:>6}",
        target.name,
        fed.inputs,
        fed.taken_share * 100.0,
        seconds,
        fed.inputs as f64 / seconds,
        fed.slowest_us as f64 / 1e3,
        fed.slowest_at,
        fed.peak_kb as f64 / 1024.0,
        fed.finds.len(),
    ));
}

fn feed(target: &'static Target, arguments: &Arguments) -> io::Result<Fed> {
    let progress = tempfile::NamedTempFile::new()?;
    let (mut fed, begin) = (Fed::default(), Instant::now());
    let (mut from, mut broken) = (0, 0);
    loop {
        let extent = match arguments.extent {
            Extent::Time(time) => [
                "--seconds".into(),
                time.saturating_sub(begin.elapsed()).as_secs().to_string(),
            ],
            Extent::Inputs(count) => ["--inputs".into(), count.to_string()],
        };
        fs::write(progress.path(), u64::to_le_bytes(from))?;
        let mut command = Command::new(std::env::current_exe()?);
        command
            .args([target.name, "--seed", &arguments.seed.to_string()])
            .args(extent);
        command
            .arg("--child")
            .arg(progress.path())
            .arg(from.to_string());
        let ended = watched(command, || at(progress.path()))?;
        if ended.is_spent {
            let number = at(progress.path());
            fed.inputs += number + 1 - from;
            from = number + 1;
            continue;
        }
        let Some(why) = ended.why else {
            let numbers = ended
                .output
                .lines()
                .find_map(|line| line.strip_prefix(RESULT));
            let numbers: Vec<u64> = numbers
                .into_iter()
                .flat_map(str::split_whitespace)
                .flat_map(str::parse)
                .collect();
            let [inputs, taken, slowest_us, slowest_at, peak_kb] = numbers[..] else {
                return Err(io::Error::other(format!("no result: {}", ended.output)));
            };
            fed.taken_share = taken as f64 / inputs.max(1) as f64;
            fed.inputs += inputs;
            (fed.slowest_us, fed.slowest_at, fed.peak_kb) = (slowest_us, slowest_at, peak_kb);
            fed.took = begin.elapsed();
            return Ok(fed);
        };
        let number = at(progress.path());
        fed.inputs += number + 1 - from;
        fed.took = begin.elapsed();
        from = number + 1;
        broken += 1;
        match fed.finds.get_mut(&why) {
            Some((times, _)) => *times += 1,
            None => {
                let input = Inputs::new(target, arguments.seed).get(number);
                let file = arguments.finds.join(format!("{}-{number}", target.name));
                fs::write(&file, &input)?;
                say(format_args!(
                    "{}: input {number} broke it: {why}",
                    target.name
                ));
                let begin = Instant::now();
                let smaller = shrink(input, |input| {
                    begin.elapsed() < SHRINKING && breaks_by(target, input, &why, &file)
                });
                fs::write(&file, smaller)?;
                fed.finds.insert(why, (1, file));
            }
        }
        if broken == MOST_FINDS {
            return Ok(fed);
        }
    }
}

/// The number of the input that is being fed.
fn at(progress: &Path) -> u64 {
    let bytes = fs::read(progress).unwrap_or_default();
    bytes
        .first_chunk()
        .map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

fn breaks_by(target: &Target, input: &[u8], why: &str, beside: &Path) -> bool {
    let file = beside.with_extension("smaller");
    let again = || {
        fs::write(&file, input)?;
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(target.name).arg("--file").arg(&file);
        watched(command, || 0)
    };
    let same = again().is_ok_and(|ended| ended.why.as_deref() == Some(why));
    let _ = fs::remove_file(&file);
    same
}

struct Ended {
    output: String,
    /// What broke it; absent if nothing did.
    why: Option<String>,
    /// It goes on with the next input in another process.
    is_spent: bool,
}

/// Waits until the process ends, or has been at one input for too long.
fn watched(mut command: Command, at: impl Fn() -> u64) -> io::Result<Ended> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let output = thread::scope(|scope| {
        let said = [
            child.stdout.take().map(|out| scope.spawn(|| text(out))),
            child.stderr.take().map(|out| scope.spawn(|| text(out))),
        ];
        let status = end_of(&mut child, at);
        let said = said.map(|reader| {
            reader
                .and_then(|reader| reader.join().ok())
                .unwrap_or_default()
        });
        (status, said)
    });
    let (status, [output, errors]) = output;
    let status = status?;
    let is_spent = status.and_then(|status| status.code()) == Some(SPENT.into());
    let why = match status {
        None => Some(format!("a hang: {} s at one input", LONGEST.as_secs())),
        Some(status) if status.success() || is_spent => None,
        Some(status) => Some(reason(status, &errors)),
    };
    Ok(Ended {
        output,
        why,
        is_spent,
    })
}

fn text(mut from: impl io::Read) -> String {
    let mut bytes = Vec::new();
    let _ = from.by_ref().take(1 << 20).read_to_end(&mut bytes);
    // The rest is read, too, so that the writer does not wait.
    let _ = io::copy(&mut from, &mut io::sink());
    String::from_utf8_lossy(&bytes).into_owned()
}

/// `None` if it had to be killed.
fn end_of(child: &mut Child, at: impl Fn() -> u64) -> io::Result<Option<ExitStatus>> {
    let (mut last, mut since) = (at(), Instant::now());
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        let now = at();
        if now != last {
            (last, since) = (now, Instant::now());
        }
        if since.elapsed() > LONGEST {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(LOOK_EVERY);
    }
}

/// One line that is the same whenever the same place breaks.
fn reason(status: ExitStatus, errors: &str) -> String {
    if status.code() == Some(i32::from(SLOW)) {
        return "too slow".to_owned();
    }
    if errors.contains("memory allocation of") {
        return "too much memory".to_owned();
    }
    if errors.contains("overflowed its stack") {
        return "the stack overflowed".to_owned();
    }
    // The last: those before it were caught.
    let panic = errors.rsplit_once("panicked at ").map(|(_, after)| after);
    if let Some(panic) = panic.filter(|_| status.code() == Some(PANICKED.into())) {
        let mut lines = panic.lines();
        let (place, message) = (lines.next(), lines.next().unwrap_or_default());
        let message = message
            .chars()
            .take(200)
            .filter(|letter| !letter.is_ascii_digit());
        return format!(
            "a panic at {} {}",
            place.unwrap_or_default(),
            message.collect::<String>()
        );
    }
    let last = errors.lines().last().unwrap_or_default();
    match status.signal() {
        Some(signal) => format!("signal {signal} {last}"),
        None => format!("{status} {last}"),
    }
}
