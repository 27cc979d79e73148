//! Feeds mutated input to every parser. No coverage guides it: it lives on seeds from fixtures and
//! tests, and on a mutator that knows what parsers trip over. Every input is a pure function of the
//! seeds, `--seed` and its number; what breaks a target is named with the command that repeats it.
//!
//! ```text
//! fuzz [TARGET…] [--seconds N | --inputs N] [--seed N] [--jobs N] [--finds DIR]
//! fuzz --list
//! fuzz --file FILE TARGET
//! fuzz --show NUMBER TARGET [--seed N]
//! ```
//!
//! Each target runs in a process of its own (`child`), which the one that was started watches
//! (`watch`): a panic, an abort, an input that takes too long or too much memory is a find. It is
//! made smaller (`shrink`), written to a file, and the rest goes on.

mod child;
mod mutate;
mod seeds;
mod shrink;
mod targets;
mod watch;

use std::fmt::Display;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use targets::{TARGETS, Target};

/// When a target has had enough.
#[derive(Clone, Copy)]
enum Extent {
    Time(Duration),
    /// Mutated inputs, beside the seeds.
    Inputs(u64),
}

struct Arguments {
    names: Vec<String>,
    extent: Extent,
    seed: u64,
    jobs: usize,
    finds: PathBuf,
    list: bool,
    /// Feed this file alone.
    file: Option<PathBuf>,
    /// Write the input of this number.
    show: Option<u64>,
    /// Run as the process of a target, from this input on, and write the number of each there.
    child: Option<(PathBuf, u64)>,
}

fn main() -> ExitCode {
    let arguments = match arguments() {
        Ok(arguments) => arguments,
        Err(why) => return failed(why),
    };
    if arguments.list {
        for target in TARGETS {
            say(format_args!("{:16} {}", target.name, target.reads));
        }
        return ExitCode::SUCCESS;
    }
    if !seeds::root().join("fixtures/fuzz").is_dir() {
        return failed("start it in the root of the repository, as bench/fuzz does");
    }
    let mut chosen = Vec::new();
    for name in &arguments.names {
        match Target::named(name) {
            Some(target) => chosen.push(target),
            None => return failed(format_args!("no target {name}; --list names them")),
        }
    }
    if let (Some(number), [target]) = (arguments.show, &chosen[..]) {
        let input = child::Inputs::new(target, arguments.seed).get(number);
        let written = std::io::stdout().write_all(&input);
        return written.map_or_else(failed, |()| ExitCode::SUCCESS);
    }
    match (&arguments.file, &arguments.child, &chosen[..]) {
        (Some(file), _, [target]) => match std::fs::read(file) {
            Ok(input) => child::feed(target, &input),
            Err(error) => failed(format_args!("{}: {error}", file.display())),
        },
        (Some(_), ..) => failed("--file needs one TARGET"),
        (None, Some((progress, from)), [target]) => {
            child::run(target, arguments.seed, *from, arguments.extent, progress)
        }
        _ => {
            if chosen.is_empty() {
                chosen = TARGETS.iter().collect();
            }
            watch::run(&chosen, &arguments)
        }
    }
}

fn arguments() -> Result<Arguments, String> {
    let target_dir = std::env::var_os("CARGO_TARGET_DIR");
    let target_dir = target_dir.map_or_else(|| seeds::root().join("target"), PathBuf::from);
    let mut found = Arguments {
        names: Vec::new(),
        extent: Extent::Time(Duration::from_secs(10)),
        seed: 1,
        jobs: std::thread::available_parallelism().map_or(1, usize::from),
        finds: target_dir.join("fuzz"),
        list: false,
        file: None,
        show: None,
        child: None,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} needs a value"));
        let number = |text: String| {
            let parsed: Result<u64, _> = text.replace('_', "").parse();
            parsed.map_err(|_| format!("{text} is not a number"))
        };
        match word.as_str() {
            "--seconds" => found.extent = Extent::Time(Duration::from_secs(number(value()?)?)),
            "--inputs" => found.extent = Extent::Inputs(number(value()?)?),
            "--seed" => found.seed = number(value()?)?,
            "--jobs" => found.jobs = usize::try_from(number(value()?)?).unwrap_or(1).max(1),
            "--finds" => found.finds = value()?.into(),
            "--show" => found.show = Some(number(value()?)?),
            "--file" => found.file = Some(value()?.into()),
            "--child" => found.child = Some((value()?.into(), number(value()?)?)),
            "--list" => found.list = true,
            option if option.starts_with('-') => return Err(format!("no option {option}")),
            name => found.names.push(name.to_owned()),
        }
    }
    Ok(found)
}

fn say(line: impl Display) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

fn failed(why: impl Display) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "fuzz: {why}");
    ExitCode::from(2)
}
