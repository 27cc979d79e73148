//! The page of a run of so many records, with its time and the memory of the whole process:
//! `cargo run --release -p inferometer-report --example million -- 1000000 FILE`.

#![allow(clippy::print_stdout)]

#[path = "gallery/made_up.rs"]
#[allow(dead_code)]
mod made_up;

use inferometer_core::environment::{Ending, Environment};
use inferometer_core::fold::{RunContext, fold};
use inferometer_core::message::Lang;
use inferometer_report::figure::course::Course;
use inferometer_report::html;
use inferometer_report::html::run::{RunPage, compose_page};
use made_up::{Load, VLLM};
use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let requests: u64 = words.next().unwrap_or("1000000".to_owned()).parse()?;
    let file = words.next().unwrap_or("report.html".to_owned());
    let load = Load {
        concurrency: 64,
        requests,
        input: 512.0,
        output: 32.0,
    };
    let scenario = made_up::scenario(load);
    let environment = Environment::default();
    let ending = Ending {
        planned: requests,
        ..Ending::default()
    };
    let context = RunContext {
        scenario: &scenario,
        environment: &environment,
        ending: &ending,
        lang: Lang::En,
    };
    let mut course = Course::new(&scenario.objectives.thresholds);
    let begin = Instant::now();
    // Making records up is no part of a report.
    let mut made_up = Duration::ZERO;
    let mut records = made_up::stream(&VLLM, load);
    let timed = std::iter::from_fn(|| {
        let begin = Instant::now();
        let record = records.next();
        made_up += begin.elapsed();
        record
    });
    let folded = fold(&context, timed.inspect(|record| course.add(record)));
    let gathered = begin.elapsed() - made_up;
    let page = html::render(&compose_page(
        &RunPage {
            folded: &folded,
            course: &course,
            scenario: &scenario,
            environment: &environment,
            ending: &ending,
            directory: Path::new("run"),
        },
        Lang::En,
    ));
    let all = begin.elapsed() - made_up;
    std::fs::write(file, &page)?;
    println!(
        "{requests} records: read and folded in {gathered:.2?}, with the page {all:.2?}; page {} KiB; {}",
        page.len() / 1024,
        peak().unwrap_or_default()
    );
    Ok(())
}

/// The most memory that this process had.
fn peak() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM"))?;
    Some(line.split_whitespace().collect::<Vec<_>>().join(" "))
}
