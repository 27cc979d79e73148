//! `inferometer plan choose`.

use super::arguments::ChooseArguments;
use super::cards;
use super::predict::asked;
use super::trace::Trace;
use super::{Sheet, titled};
use crate::exit::Exit;
use crate::output::language;
use anyhow::{Context, bail};
use inferometer_catalog::engine::EngineKind;
use inferometer_message::PlanText as Text;
use inferometer_plan::choose::{Deployment, Effort, Offer, Wish, choose, to_json};
use inferometer_plan::what_if::Objectives;
use inferometer_plan_report::choice::{figures, sections, verify};

pub fn run(arguments: &ChooseArguments) -> anyhow::Result<Exit> {
    let (model, _) = asked(&arguments.subject, &[])?;
    let engines: &[EngineKind] = match arguments.subject.engine.as_slice() {
        [] => &[EngineKind::Vllm, EngineKind::Sglang],
        given => given,
    };
    let version = arguments.subject.as_version;
    let engines: Vec<_> = engines.iter().map(|&engine| (engine, version)).collect();
    let asked_cards = cards::asked(&arguments.device)?;
    cards::each_once(&asked_cards)?;
    let offers = asked_cards.into_iter().map(|cards| {
        Ok(Offer {
            price_per_hour: cards.needed_price()?,
            name: cards.name,
            card: cards.card,
            most: cards.count,
        })
    });
    let offers: Vec<Offer> = offers.collect::<anyhow::Result<_>>()?;
    let objectives = Objectives::of(&arguments.slo, arguments.attainment)?;
    let data = arguments.data.as_deref();
    let trace = data.map(|it| Trace::read(it, language(arguments.view.lang)));
    let trace = trace.transpose()?;
    let (input, output) = match &trace {
        Some(trace) => trace.means(),
        None => (arguments.input_tokens.zip(arguments.output_tokens))
            .context("--input-tokens and --output-tokens are missing")?,
    };
    let wish = Wish {
        model: &model.model,
        name: arguments
            .subject
            .model
            .as_deref()
            .unwrap_or(&model.model.name),
        engines: &engines,
        offers: &offers,
        flags: &arguments.flag,
        input,
        output,
        objectives: &objectives,
        traffic: match (arguments.traffic, &trace) {
            (Some(traffic), _) => traffic,
            (None, Some(trace)) => trace.rate().context(
                "--data says no times, by which its mean rate would follow; give --traffic",
            )?,
            (None, None) => bail!("--traffic is missing"),
        },
        trace: trace.map(|trace| trace.sizes),
        size_by: arguments.size_by,
        wanted: arguments.top,
        effort: if arguments.complete {
            Effort::Complete
        } else {
            Effort::Limited
        },
    };
    let choice = choose(&wish)?;
    let measured = |chosen: &Deployment| verify(chosen, &objectives, data);
    let sheet = Sheet {
        title: &|lang| titled(&[wish.name.to_owned()], Text::Choice, lang),
        json: &|| to_json(&choice, wish.size_by, measured),
        sections: &|lang, _| sections(&choice, &wish, data, lang),
        figures: &|lang| figures(&choice, lang),
    };
    sheet.show(&arguments.view)?;
    Ok(Exit::fine_if(!choice.deployments.is_empty()))
}
