//! A stored sweep in another tool's words.

use crate::options::{Format, OutputOptions};
use crate::output::{Rendered, deliver, invalid_codes, note_window};
use crate::stderr::say;
use anyhow::bail;
use inferometer_dialect::sweep::Points;
use inferometer_dialect::{Foreign, Source};
use inferometer_runner::measure::records;
use inferometer_store::run_dir::RunDir;
use inferometer_store::sweep_dir::SweepDir;

/// Shows the points of a sweep, those that were measured, in the order of the plan.
pub fn show(sweep: &SweepDir, dialect: Foreign, options: &OutputOptions) -> anyhow::Result<()> {
    let (points, have_window) = read(sweep, dialect)?;
    if have_window {
        note_window(dialect.into());
    }
    for (name, why) in points.refused() {
        say(format_args!("left out: {name}: {why}"));
    }
    if points.is_empty() {
        bail!("no point of this sweep can be shown in that dialect; use --dialect ours");
    }
    deliver(options, sweep.path(), |format| {
        let points = points.clone();
        match format {
            Format::Text => Ok(Rendered::Whole(points.text())),
            Format::Json => Ok(Rendered::Whole(points.json_lines())),
            _ => {
                bail!("a dialect has text and json only; leave out --dialect")
            }
        }
    })
}

/// The points, and whether any has a window.
fn read(sweep: &SweepDir, dialect: Foreign) -> anyhow::Result<(Points, bool)> {
    let (mut points, mut have_window) = (Points::new(dialect), false);
    for trial in sweep.results()? {
        let Some(path) = sweep.run_path(&trial) else {
            continue;
        };
        let run = RunDir::open(path)?;
        let planned = (sweep.plan().points.iter()).find(|point| point.id == trial.id);
        let mut name = planned.map_or_else(|| trial.id.clone(), |p| p.point.to_string());
        if trial.repeat > 0 {
            name.push_str(&format!(", repeat={}", trial.repeat + 1));
        }
        let ending = run.ending()?;
        have_window |= ending.steady_window;
        let source = Source {
            records: &records(&run)?,
            scenario: &run.scenario()?,
            environment: &run.environment()?,
            ending: &ending,
            invalid: &invalid_codes(&run.summary()?),
        };
        points.add(&name, &source);
    }
    Ok((points, have_window))
}
