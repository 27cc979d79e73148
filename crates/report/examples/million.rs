//! Stores a run of so many made-up records, to see what its page costs:
//!
//! ```sh
//! cargo run --release -p inferometer-report --example million -- 1000000 DIR
//! command time -v inferometer report DIR --format html
//! ```

#![allow(clippy::print_stdout)]

#[path = "gallery/made_up.rs"]
#[allow(dead_code)]
mod made_up;

use inferometer_analysis::fold::{RunContext, fold};
use inferometer_core::environment::{EndCause, Ending, Environment};
use inferometer_store::parquet_file::RecordsWriter;
use inferometer_store::run_dir::RunDir;
use inferometer_text::Lang;
use made_up::{Load, VLLM};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let requests: u64 = words.next().unwrap_or("1000000".to_owned()).parse()?;
    let folder = words.next().unwrap_or("million".to_owned());
    let load = Load {
        concurrency: 64,
        requests,
        input: 512.0,
        output: 32.0,
    };
    let scenario = made_up::scenario(load);
    let environment = Environment::default();
    let directory = RunDir::create(&folder)?;
    directory.write_scenario(&scenario)?;
    directory.write_environment(&environment)?;
    let mut writer = RecordsWriter::create(&directory.parquet_path())?;
    let mut last = Default::default();
    for record in made_up::stream(&VLLM, load) {
        last = record.sent.unwrap_or_default().max(last);
        writer.push(&record)?;
    }
    writer.finish()?;
    let ending = Ending {
        cause: EndCause::Complete,
        planned: requests,
        sending_ended: last,
        ..Ending::default()
    };
    directory.write_ending(&ending)?;
    let context = RunContext {
        scenario: &scenario,
        environment: &environment,
        ending: &ending,
        lang: Lang::En,
    };
    let mut trouble = None;
    let records = directory.records()?.map_while(|record| {
        let sound = record.map_err(|error| trouble = Some(error));
        sound.ok()
    });
    let summary = fold(&context, records).summary(Lang::En);
    if let Some(error) = trouble {
        return Err(error.into());
    }
    directory.write_summary(&summary)?;
    println!("{requests} records are in {folder}");
    Ok(())
}
