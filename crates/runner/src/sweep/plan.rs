//! From the axes to every point, resolved, before the first byte is sent.

use super::flags::{self, EngineFlag};
use crate::error::{RunnerError, bail};
use crate::keys;
use crate::launch::EngineOptions;
use crate::measure::{Point, PrefixCache};
use crate::observer::Observer;
use crate::session::Session;
use inferometer_campaign::axes::{Axis, Combination, Order, Setting, settings, visits};
use inferometer_campaign::ladder::LadderStop;
use inferometer_core::options::Options;
use inferometer_core::point::Point as Place;
use inferometer_store::sweep_dir::{PLAN_SCHEMA, PlannedPoint, SweepPlan};
use inferometer_text::secret::{without_credentials, without_secrets};
use std::collections::{BTreeMap, BTreeSet};

/// Options that say how long a point is measured, not what.
const EXTENT: [&str; 4] = ["requests", "duration", "warmup", "drain"];

/// A grid of points to be planned.
pub struct SweepRequest<'a> {
    /// Options of the measurement that vary.
    pub axes: Vec<Axis>,
    pub combination: Combination,
    /// The options of a point.
    pub options_at: &'a dyn Fn(&Setting) -> Result<Options, RunnerError>,
    pub repeat: u32,
    /// Order of the repeats; a random one is drawn from the seed of the measurement.
    pub order: Order,
    /// Servers that take turns at each point; empty unless they are interleaved.
    pub interleaved: &'a [String],
    pub stop_when: Vec<LadderStop>,
    pub engine_flags: &'a [EngineFlag],
    pub engine: &'a EngineOptions,
}

/// A sweep, ready to run.
pub struct PlannedSweep {
    pub plan: SweepPlan,
    /// The options of each point, with their secrets.
    pub options: Vec<Options>,
    /// When a ladder ends early.
    pub stop_when: Vec<LadderStop>,
}

/// Makes the plan; every point is resolved, so that a mistake shows now and not at midnight.
pub fn plan(
    request: SweepRequest<'_>,
    session: &Session,
    observer: &mut dyn Observer,
) -> Result<PlannedSweep, RunnerError> {
    // The engine's flags change slowest, so that it is restarted as seldom as can be.
    let all = flags::axes(request.engine_flags, request.axes)?;
    if !request.engine_flags.is_empty() && request.engine.command.is_none() {
        bail!("--engine-flag needs an engine to start; give its command after --");
    }
    let mut points = settings(&all, request.combination)?;
    if !request.interleaved.is_empty() {
        points = interleaved(request.interleaved, &points);
    }
    let axes = varying(all, &points, !request.interleaved.is_empty());
    let mut options = Vec::new();
    let mut planned = Vec::new();
    let names = shown_names(request.interleaved);
    for setting in &points {
        let mut named = Setting(of_axes(setting, &axes));
        if let Some(url) = named.0.get_mut("url")
            && let Some(name) = names.get(url)
        {
            url.clone_from(name);
        }
        let at_point = |error: RunnerError| {
            if axes.is_empty() {
                error
            } else {
                error.context(named.point().to_string())
            }
        };
        let mut given = (request.options_at)(setting).map_err(at_point)?;
        // The label is the sweep's; a run is found by its point.
        let resolved = Point::prepare(given.clone(), PrefixCache::Kept, session, observer)
            .map_err(at_point)?;
        given.work.data_format =
            (given.work.data_format).or_else(|| resolved.scenario.options().work.data_format);
        let (id, point) = if axes.is_empty() {
            let point = Place::of_load(&resolved.scenario.load);
            ("point".to_owned(), point)
        } else {
            (named.id(), named.point())
        };
        planned.push(PlannedPoint {
            id,
            point,
            flags: flags::chosen(request.engine_flags, setting),
            options: keys::without_secrets(resolved.scenario)?.options(),
        });
        options.push(given);
    }
    if let Some(command) = &request.engine.command {
        let chosen = planned.iter().map(|point| &point.flags);
        flags::check_switches(command.engine, chosen)?;
    }
    let first = &planned[0].options;
    let order = match request.order {
        Order::Random { .. } => Order::Random {
            seed: first.run.seed.unwrap_or_default(),
        },
        order => order,
    };
    let repeat = request.repeat;
    let command = request.engine.command.as_ref();
    let visits = visits(planned.len(), repeat as usize, order)
        .into_iter()
        .map(|visit| (visit.point, visit.repeat as u32))
        .collect();
    let plan = SweepPlan {
        schema: PLAN_SCHEMA.to_owned(),
        label: first.run.label.clone(),
        tags: first.run.tag.clone().unwrap_or_default(),
        axes,
        engine_options: request.engine.words(),
        engine: command.map_or(Vec::new(), |command| without_secrets(&command.to_words())),
        typed: Vec::new(),
        seeds: Vec::new(),
        repeat,
        visits,
        points: planned,
    };
    Ok(PlannedSweep {
        plan,
        options,
        stop_when: request.stop_when,
    })
}

/// Each point on each server, next to each other; who is first alternates, so that neither
/// always meets the warmer machine.
fn interleaved(urls: &[String], points: &[Setting]) -> Vec<Setting> {
    let on = |point: &Setting, url: &String| {
        let mut point = point.clone();
        point.0.insert("url".to_owned(), url.clone());
        point
    };
    let both = points.iter().enumerate().flat_map(|(number, point)| {
        let mut here: Vec<Setting> = urls.iter().map(|url| on(point, url)).collect();
        if number % 2 == 1 {
            here.reverse();
        }
        here
    });
    both.collect()
}

/// Servers as they are shown and stored: without passwords, and told apart all the same.
fn shown_names(urls: &[String]) -> BTreeMap<String, String> {
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    for url in urls {
        let plain = without_credentials(url);
        let is_taken = |name: &String| names.values().any(|known| known == name);
        let mut again = 1;
        let mut name = plain.clone();
        while is_taken(&name) {
            again += 1;
            name = format!("{plain} ({again})");
        }
        names.entry(url.clone()).or_insert(name);
    }
    names
}

/// Names of the options that differ between points, as they were typed, the load last.
fn varying(axes: Vec<Axis>, points: &[Setting], is_interleaved: bool) -> Vec<String> {
    let mut names: Vec<String> = axes.into_iter().map(|axis| axis.name).collect();
    if is_interleaved {
        names.insert(0, "url".to_owned());
    }
    let differs = |name: &String| {
        let mut values = points.iter().map(|point| point.0.get(name));
        let first = values.next().flatten();
        values.any(|value| value != first)
    };
    names.retain(differs);
    let brief: Vec<String> = (names.iter())
        .filter(|name| !EXTENT.contains(&name.as_str()))
        .cloned()
        .collect();
    let places = points.iter().map(|point| of_axes(point, &brief));
    // Points that differ in nothing else are told apart by it.
    if places.collect::<BTreeSet<_>>().len() == points.len() {
        brief
    } else {
        names
    }
}

fn of_axes(setting: &Setting, axes: &[String]) -> BTreeMap<String, String> {
    let chosen = setting.0.iter().filter(|(name, _)| axes.contains(name));
    chosen
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}
