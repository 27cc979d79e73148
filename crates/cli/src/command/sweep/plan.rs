//! From what was typed to every point, resolved, before the first byte is sent.

use super::typed::Typed;
use super::{SweepArguments, flags};
use crate::measure::{Point, PrefixCache};
use crate::progress::Progress;
use anyhow::{Context, bail};
use inferometer_campaign::axes::{Axis, Combination, Order, Setting, settings, visits};
use inferometer_campaign::ladder::LadderStop;
use inferometer_core::options::Options;
use inferometer_core::point::Point as Place;
use inferometer_engine::without_secrets;
use inferometer_store::sweep_dir::{PLAN_SCHEMA, PlannedPoint, SweepPlan};
use std::collections::{BTreeMap, BTreeSet};

/// Options that say how long a point is measured, not what.
const EXTENT: [&str; 4] = ["requests", "duration", "warmup", "drain"];

/// A sweep, ready to run.
pub struct Planned {
    pub plan: SweepPlan,
    /// The options of each point, with their secrets.
    pub options: Vec<Options>,
    /// When a ladder ends early.
    pub stop_when: Vec<LadderStop>,
}

/// Makes the plan; every point is resolved, so that a mistake shows now and not at midnight.
pub fn plan(arguments: &SweepArguments, progress: &mut Progress) -> anyhow::Result<Planned> {
    let mut typed = arguments.typed.clone();
    let stop_when = ladder_stops(&mut typed)?;
    // The engine's flags change slowest, so that it is restarted as seldom as can be.
    let all = flags::axes(&arguments.engine_flag, typed.axes()?)?;
    if !arguments.engine_flag.is_empty() && arguments.engine.engine.is_empty() {
        bail!("--engine-flag needs an engine to start; give its command after --");
    }
    let mut points = settings(&all, combination(arguments))?;
    if arguments.interleave {
        points = interleaved(&typed, points)?;
    }
    let axes = varying(all, &points, arguments);
    let mut options = Vec::new();
    let mut planned = Vec::new();
    for setting in &points {
        let named = Setting(of_axes(setting, &axes));
        let point = |error: anyhow::Error| match axes.is_empty() {
            true => error,
            false => error.context(named.point().to_string()),
        };
        let mut typed_here = typed.at(setting).map_err(point)?;
        // The label is the sweep's; a run is found by its point.
        let resolved =
            Point::prepare(typed_here.clone(), PrefixCache::Kept, progress).map_err(point)?;
        typed_here.work.data_format = typed_here
            .work
            .data_format
            .or_else(|| resolved.scenario.options().work.data_format);
        let place = match axes.is_empty() {
            true => Place::of_load(&resolved.scenario.load),
            false => named.point(),
        };
        planned.push(PlannedPoint {
            id: match axes.is_empty() {
                true => "point".to_owned(),
                false => named.id(),
            },
            point: place,
            flags: flags::chosen(&arguments.engine_flag, setting),
            options: resolved.scenario.options(),
        });
        options.push(typed_here);
    }
    let chosen = planned.iter().map(|point| &point.flags);
    flags::check_switches(&arguments.engine.engine, chosen)?;
    let first = &planned[0].options;
    let order = match arguments.order {
        super::OrderName::Mirrored => Order::Mirrored,
        super::OrderName::Random => Order::Random {
            seed: first.run.seed.unwrap_or_default(),
        },
        super::OrderName::Sequential => Order::Sequential,
    };
    let repeat = arguments.repeat.get();
    let visits = visits(planned.len(), repeat as usize, order)
        .into_iter()
        .map(|visit| (visit.point, visit.repeat as u32))
        .collect();
    let plan = SweepPlan {
        schema: PLAN_SCHEMA.to_owned(),
        label: first.run.label.clone(),
        tags: first.run.tag.clone().unwrap_or_default(),
        axes,
        engine_options: arguments.engine.options(),
        engine: without_secrets(&arguments.engine.engine),
        repeat,
        visits,
        points: planned,
    };
    Ok(Planned {
        plan,
        options,
        stop_when,
    })
}

fn combination(arguments: &SweepArguments) -> Combination {
    match arguments.zip {
        true => Combination::Zip,
        false => Combination::Product,
    }
}

/// Conditions are those of the ladder. A point whose requests fail ends early itself, too.
fn ladder_stops(typed: &mut Typed) -> anyhow::Result<Vec<LadderStop>> {
    let texts = typed.take("stop-when");
    let stops: Vec<LadderStop> = (texts.iter())
        .map(|text| text.parse().context("--stop-when"))
        .collect::<anyhow::Result<_>>()?;
    let needs_slo = stops.contains(&LadderStop::SloMissedTwice);
    if needs_slo && typed.values("slo").is_empty() {
        bail!(
            "--stop-when slo-missed needs --slo: say what may be missed, as in --slo ttft.p99=1s"
        );
    }
    let of_points: Vec<String> = (stops.iter())
        .filter(|stop| matches!(stop, LadderStop::FailuresAbove(_)))
        .map(ToString::to_string)
        .collect();
    if !of_points.is_empty() {
        typed.add("stop-when", of_points);
    }
    Ok(stops)
}

/// Each point on each server, next to each other; who is first alternates, so that neither
/// always meets the warmer machine.
fn interleaved(typed: &Typed, points: Vec<Setting>) -> anyhow::Result<Vec<Setting>> {
    let urls = typed.urls();
    if urls.len() < 2 {
        bail!("--interleave needs two servers or more: inferometer sweep --interleave URL_A URL_B");
    }
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
    Ok(both.collect())
}

/// Names of the options that differ between points, as they were typed, the load last.
fn varying(axes: Vec<Axis>, points: &[Setting], arguments: &SweepArguments) -> Vec<String> {
    let mut names: Vec<String> = axes.into_iter().map(|axis| axis.name).collect();
    if arguments.interleave {
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
    match places.collect::<BTreeSet<_>>().len() == points.len() {
        true => brief,
        false => names,
    }
}

fn of_axes(setting: &Setting, axes: &[String]) -> BTreeMap<String, String> {
    let chosen = setting.0.iter().filter(|(name, _)| axes.contains(name));
    chosen
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}
