//! `inferometer plan predict`.

use super::arguments::{PredictArguments, SubjectArguments};
use super::calibration_file::write;
use super::cards::{self, AskedCards};
use super::memory::mindie_service;
use super::what_if::{Axis, axis, known_flags, loads, unknown_flag};
use super::{Sheet, counted, each_once, titled};
use crate::exit::Exit;
use crate::session::session;
use crate::stderr::say;
use anyhow::{Context, bail};
use inferometer_catalog::engine::{EngineKind, LaunchCommand, Version};
use inferometer_catalog::model::Model;
use inferometer_message::PlanText as Text;
use inferometer_plan::device::Card;
use inferometer_plan::flags::{self, Flag, flags_of};
use inferometer_plan::model::{KnownModel, find};
use inferometer_plan::predict::Subject;
use inferometer_plan::split::Split;
use inferometer_plan::unmeasured::{Forecast, stand_in};
use inferometer_plan::what_if::{Objectives, Question};
use inferometer_plan_report::curves::curves;
use inferometer_plan_report::predictions::forecast_sections;
use inferometer_text::Lang;
use std::path::Path;

pub fn run(arguments: &PredictArguments) -> anyhow::Result<Exit> {
    let (model, engines) = match &arguments.mindie_config {
        Some(file) => configured(file, &arguments.subject)?,
        None => asked(&arguments.subject, &arguments.command)?,
    };
    let axes: Vec<Axis> = arguments
        .flag
        .iter()
        .map(|text| axis(text))
        .collect::<anyhow::Result<_>>()?;
    let lengths = [arguments.input_tokens, arguments.output_tokens];
    let mut stand_ins = Vec::new();
    let devices = cards::asked(&arguments.device)?;
    let card_prices = cards::prices(&devices)?;
    for AskedCards {
        name, card, count, ..
    } in &devices
    {
        let count = *count;
        let split = split(arguments, card, count)?;
        for asked in &engines {
            known_flags(asked.engine, asked.version, &axes)?;
            let flags = asked.spread_over(name, count)?;
            let own = flags::cards(asked.engine, &flags);
            let split = split.clone();
            let subject = Subject {
                model: model.model.clone(),
                device: card.device.clone(),
                cards: match &split {
                    Some(split) => {
                        split.cards([flags::cards(asked.engine, &split.prefill_flags()), own])
                    }
                    None => count.unwrap_or(own),
                },
                engine: asked.engine,
                version: asked.version,
                split,
            };
            let stand_in = stand_in(&subject, name, &flags, lengths);
            for warning in subject.warnings(&flags, &stand_in.0.timing) {
                say(format_args!("{name} {}: {warning}", asked.engine));
            }
            stand_ins.push(stand_in);
        }
    }
    if let Some(file) = &arguments.save_calibration {
        let [(calibration, _)] = &stand_ins[..] else {
            bail!(
                "--save-calibration writes one calibration; name one card and one engine, and vary flags in what-if"
            );
        };
        write(file, calibration)
            .with_context(|| format!("cannot write --save-calibration {}", file.display()))?;
    }
    let loads = loads(&arguments.load)?;
    let objectives = Objectives::of(&arguments.goal.slo, arguments.goal.attainment)?;
    let forecast = Forecast::of(&stand_ins, |calibration| Question {
        calibration,
        cards: Vec::new(),
        flags: axes.clone(),
        loads: loads.clone(),
        input: arguments.input_tokens,
        output: arguments.output_tokens,
        trace: None,
        requests: arguments.requests,
        objectives: objectives.clone(),
        price_per_hour: arguments.price_per_hour,
        card_prices: card_prices.clone(),
        traffic: arguments.goal.traffic,
        watts: arguments.watts,
    })?;
    if let Some(reason) = forecast.refused() {
        bail!("the engine does not start: {reason}");
    }
    let slos = &arguments.goal.slo;
    let cards = stand_ins.iter();
    let cards = cards.map(|(it, _)| counted(it.cards.into(), &it.device));
    let of = [model.model.name.clone(), each_once(cards)];
    let sheet = Sheet {
        title: &|lang| titled(&of, Text::WhatIf, lang),
        json: &|| forecast.to_json(),
        sections: &|lang, _| forecast_sections(&forecast, slos, lang),
        figures: &|lang| curves(&forecast.answers, slos, lang),
    };
    sheet.show(&arguments.view)?;
    Ok(Exit::fine_if(forecast.answers.recommended.is_some()))
}

/// The workers that compute prompts, where some are asked for.
fn split(
    arguments: &PredictArguments,
    card: &Card,
    count: Option<u32>,
) -> anyhow::Result<Option<Split>> {
    if arguments.split.prefill.is_none() {
        return Ok(None);
    }
    if count.is_some() {
        bail!("--device: with --prefill the commands say how many cards; leave out the number");
    }
    let decode = LaunchCommand::parse(&arguments.command)?;
    let beside = arguments.split.beside(&decode, &card.device)?;
    Ok(beside.map(|(_, split)| split))
}

/// An engine, and the flags that its command has.
pub(super) struct AskedEngine {
    pub engine: EngineKind,
    pub version: Option<Version>,
    pub flags: Vec<Flag>,
}

impl AskedEngine {
    /// The flags on so many cards, no fewer than they divide the model among.
    fn spread_over(&self, device: &str, count: Option<u32>) -> anyhow::Result<Vec<Flag>> {
        let mut flags = self.flags.clone();
        flags.extend(count.and_then(|count| flags::shared_by(self.engine, &flags, count)));
        cards::enough(device, count, flags::cards(self.engine, &flags))?;
        Ok(flags)
    }
}

/// The model and the settings of a MindIE's config.json.
fn configured(
    file: &Path,
    subject: &SubjectArguments,
) -> anyhow::Result<(KnownModel, Vec<AskedEngine>)> {
    let (named, proxy) = (subject.model.as_deref(), subject.proxy.as_deref());
    let (model, config) = mindie_service(file, named, proxy)?;
    let asked = AskedEngine {
        engine: EngineKind::Mindie,
        version: subject.as_version,
        flags: config.chosen_flags(),
    };
    Ok((model, vec![asked]))
}

/// The model and the engines, of a command or by name.
pub(super) fn asked(
    subject: &SubjectArguments,
    words: &[String],
) -> anyhow::Result<(KnownModel, Vec<AskedEngine>)> {
    let named = subject.model.as_deref();
    let hubs = session(Lang::default())?.hub_access(subject.proxy.as_deref());
    if words.is_empty() {
        let model = find(named.context("--model is missing")?, &hubs)?;
        let engines = match subject.engine.as_slice() {
            [] => &[EngineKind::Vllm],
            engines => engines,
        };
        let asked = |&engine| AskedEngine {
            engine,
            version: subject.as_version,
            flags: Vec::new(),
        };
        return Ok((model, engines.iter().map(asked).collect()));
    }
    let command = LaunchCommand::parse(words)?;
    let engine = command.engine;
    if let Some(other) = subject.engine.iter().find(|&&other| other != engine) {
        bail!("--engine {other}: the command is one of {engine}; leave --engine out");
    }
    let presets = [named, command.model.as_deref()].map(|name| name.and_then(Model::named));
    if let [Some(asked), Some(served)] = &presets
        && asked.name != served.name
    {
        bail!(
            "--model {}: the command serves {}; leave --model out, or name the same",
            asked.name,
            served.name
        );
    }
    let named = named.or(command.model.as_deref());
    let named = named.context("the command names no model; name it there, or with --model")?;
    let version = Some(command.version(subject.as_version));
    for given in command.flags.iter().filter(|given| !given.known) {
        if let Some(reason) = unknown_flag(engine, version, &given.name) {
            bail!("--{}: {reason}", given.name);
        }
    }
    let asked = AskedEngine {
        engine,
        version,
        flags: flags_of(&command),
    };
    Ok((find(named, &hubs)?, vec![asked]))
}
