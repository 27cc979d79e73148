//! `inferometer plan what-if`.

use super::arguments::{LoadArguments, WhatIfArguments};
use super::cards;
use super::trace::Trace;
use super::verify::{self, last_verified, verify};
use super::{Sheet, counted, titled};
use crate::exit::Exit;
use crate::options::Format;
use crate::output::language;
use anyhow::{Context, bail};
use inferometer_campaign::axes::Values;
use inferometer_catalog::engine::{
    EngineKind, Lookup, Version, in_other_version, lookup, name_for, nearest_names,
};
use inferometer_catalog::model::Model;
use inferometer_core::length::{Distribution, LengthSpec};
use inferometer_message::PlanText as Text;
use inferometer_page::doc::Section;
use inferometer_plan::calibrate::Calibration;
use inferometer_plan::what_if::{Objectives, Question, ask, to_json};
use inferometer_plan::work::Load;
use inferometer_plan_report::curves::curves;
use inferometer_plan_report::predictions::sections;
use inferometer_plan_report::verification;
use inferometer_text::Lang;
use inferometer_text::user_file;
use serde_json::Value;

pub fn run(arguments: &WhatIfArguments) -> anyhow::Result<Exit> {
    let file = arguments.calibration.display();
    let text = user_file::read_text(&arguments.calibration)
        .with_context(|| format!("cannot read --calibration {file}; make one with `inferometer plan calibrate`, or `inferometer plan predict --save-calibration FILE`"))?;
    let mut calibration =
        Calibration::from_toml(&text).with_context(|| format!("--calibration {file}"))?;
    if let Some(model) = &arguments.model {
        same_model(model, &calibration)?;
    }
    let flags: Vec<Axis> = arguments
        .flag
        .iter()
        .map(|text| axis(text))
        .collect::<anyhow::Result<_>>()?;
    known_flags(calibration.engine, calibration.version, &flags)?;
    let lang = language(arguments.view.lang);
    let trace = arguments.data.as_deref();
    let trace = trace.map(|it| Trace::read(it, lang)).transpose()?;
    let workload = &calibration.workload;
    let (input, output) = match &trace {
        Some(trace) => trace.means(),
        None => (
            lengths(arguments.input_tokens, &workload.input_tokens)?,
            lengths(arguments.output_tokens, &workload.output_tokens)?,
        ),
    };
    let mut loads = loads(&arguments.load)?;
    if loads.is_empty() && arguments.goal.slo.is_empty() {
        loads.extend(trace.as_ref().and_then(Trace::load));
    }
    let cards = cards::asked(&arguments.device)?;
    if let Some(counted) = cards.iter().find(|cards| cards.count.is_some()) {
        let name = &counted.name;
        bail!("--device {name}: flags say how many cards a server has; leave out the number");
    }
    let card_prices = cards::prices(&cards)?;
    let question = Question {
        calibration: &calibration,
        cards: cards.into_iter().map(|cards| cards.name).collect(),
        flags,
        loads,
        input,
        output,
        trace: trace.map(|trace| trace.sizes),
        requests: arguments.requests,
        objectives: Objectives::of(&arguments.goal.slo, arguments.goal.attainment)?,
        price_per_hour: arguments.price_per_hour,
        card_prices,
        traffic: arguments.goal.traffic,
        watts: arguments.watts,
    };
    let answers = ask(&question)?;
    let before = calibration.verified.last().cloned();
    let verified = match &arguments.verify {
        Some(bench) => {
            let file = &arguments.calibration;
            Some(verify(bench, file, &mut calibration, &answers, lang)?)
        }
        None => None,
    };
    let held = verified.as_ref().is_none_or(|it| it.record.held());
    let json = || {
        let mut all = to_json(&answers);
        all["last_verified"] = before.as_ref().map_or(Value::Null, last_verified);
        if let Some(verified) = &verified {
            all["verified"] = verify::json(verified);
        }
        all
    };
    let said = |lang: Lang, _: Format| -> Vec<Section> {
        let verified = verified
            .as_ref()
            .map(|verified| verification::section(verified, &arguments.calibration, lang));
        let told = (before.as_ref().filter(|_| verified.is_none()))
            .map(|record| verification::earlier(record, lang));
        let mut all = sections(&answers, &calibration, &arguments.goal.slo, lang);
        // What refutes the predictions stands before them.
        let place = if held { all.len() } else { 0 };
        all.splice(place..place, verified);
        told.into_iter().chain(all).collect()
    };
    let card = counted(calibration.cards.into(), &calibration.device);
    let of = [calibration.model.name.clone(), card];
    let sheet = Sheet {
        title: &|lang| titled(&of, Text::WhatIf, lang),
        json: &json,
        sections: &said,
        figures: &|lang| curves(&answers, &arguments.goal.slo, lang),
    };
    sheet.show(&arguments.view)?;
    Ok(Exit::fine_if(answers.recommended.is_some() && held))
}

/// A calibration holds for its own model: what its steps cost does not follow from another's.
fn same_model(asked: &str, calibration: &Calibration) -> anyhow::Result<()> {
    let own = &calibration.model.name;
    let known = Model::named(asked).map_or_else(|| asked.to_owned(), |model| model.name);
    if known.eq_ignore_ascii_case(own) {
        return Ok(());
    }
    bail!(
        "what-if answers for {own}, which was calibrated; for {asked}: inferometer plan predict --model {asked} --device {}:{} --input-tokens N --output-tokens N, or calibrate on results of it",
        calibration.device,
        calibration.cards
    )
}

fn lengths(asked: Option<Distribution>, known: &LengthSpec) -> anyhow::Result<Distribution> {
    match (asked, known) {
        (Some(asked), _) => Ok(asked),
        (None, LengthSpec::Drawn(known)) => Ok(*known),
        (None, LengthSpec::Histogram(file)) => bail!(
            "the calibration was made with histogram({}); give --input-tokens and --output-tokens",
            file.display()
        ),
    }
}

pub(super) fn list(option: &str, text: &str) -> anyhow::Result<Vec<String>> {
    let values: Values = text.parse().with_context(|| format!("{option} {text}"))?;
    match values {
        Values::List(values) => Ok(values),
        Values::By { .. } | Values::Derived(_) => {
            bail!("{option} {text}: write values as in 1,2,4 or 1..64:x2")
        }
    }
}

/// A flag and the values to try; a switch has none.
pub(super) type Axis = (String, Vec<Option<String>>);

/// A misspelled name is told at once, not once for every setting.
pub(super) fn known_flags(
    engine: EngineKind,
    version: Option<Version>,
    flags: &[Axis],
) -> anyhow::Result<()> {
    match flags
        .iter()
        .find_map(|(name, _)| Some((name, unknown_flag(engine, version, name)?)))
    {
        Some((name, reason)) => bail!("--flag {name}: {reason}"),
        None => Ok(()),
    }
}

/// Why an engine would not start with a flag of this name: it has none.
pub(super) fn unknown_flag(
    engine: EngineKind,
    version: Option<Version>,
    name: &str,
) -> Option<String> {
    if engine == EngineKind::Mindie {
        return None;
    }
    let version = version.unwrap_or(engine.newest());
    let spelled = format!("--{}", name_for(engine, name));
    let is_unknown = matches!(lookup(engine, Some(version), &spelled), Lookup::Unknown);
    is_unknown.then(|| {
        let hint = match (
            in_other_version(engine, version, &spelled),
            nearest_names(engine, version, name).as_slice(),
        ) {
            (Some(other), _) => format!("; others have it ({other})"),
            (None, []) => String::new(),
            (None, names) => format!("; the nearest names are {}", names.join(", ")),
        };
        format!("{engine} {version} has no such flag{hint}")
    })
}

pub(super) fn axis(text: &str) -> anyhow::Result<Axis> {
    let text = text.trim_start_matches("--");
    let Some((name, values)) = text.split_once('=') else {
        return Ok((text.to_owned(), vec![None]));
    };
    let values = list("--flag", values)?.into_iter().map(Some).collect();
    Ok((name.to_owned(), values))
}

pub(super) fn loads(arguments: &LoadArguments) -> anyhow::Result<Vec<Load>> {
    let streams = |text: String| match text.parse::<u32>() {
        Ok(streams) if streams > 0 => Ok(Load::Closed(streams)),
        _ => bail!("--concurrency {text}: write whole numbers from 1"),
    };
    let rate = |text: String| match text.parse::<f64>() {
        Ok(rate) if rate.is_finite() && rate > 0.0 => Ok(Load::Open(rate)),
        _ => bail!("--rate {text}: write numbers above 0"),
    };
    match (&arguments.concurrency, &arguments.rate) {
        (Some(text), _) => list("--concurrency", text)?
            .into_iter()
            .map(streams)
            .collect(),
        (None, Some(text)) => list("--rate", text)?.into_iter().map(rate).collect(),
        (None, None) => Ok(Vec::new()),
    }
}
