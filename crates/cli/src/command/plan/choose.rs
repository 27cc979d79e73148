//! `inferometer plan choose`.

use super::Sheet;
use super::arguments::ChooseArguments;
use super::cards;
use super::predict::asked;
use crate::exit::Exit;
use inferometer_catalog::engine::EngineKind;
use inferometer_message::PlanText as Text;
use inferometer_plan::choose::{Deployment, Offer, Wish, choose, to_json};
use inferometer_plan::what_if::Objectives;
use inferometer_report::plan::choice::{figures, sections, verify};

pub fn run(arguments: &ChooseArguments) -> anyhow::Result<Exit> {
    let (model, _) = asked(&arguments.subject, &[])?;
    let engines: &[EngineKind] = match arguments.subject.engine.as_slice() {
        [] => &[EngineKind::Vllm, EngineKind::Sglang],
        given => given,
    };
    let version = arguments.subject.as_version;
    let engines: Vec<_> = engines.iter().map(|&engine| (engine, version)).collect();
    let offers = cards::asked(&arguments.device)?.into_iter().map(|cards| {
        Ok(Offer {
            price_per_hour: cards.needed_price()?,
            name: cards.name,
            card: cards.card,
            most: cards.count,
        })
    });
    let offers: Vec<Offer> = offers.collect::<anyhow::Result<_>>()?;
    let objectives = Objectives::of(&arguments.slo, arguments.attainment)?;
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
        input: arguments.input_tokens,
        output: arguments.output_tokens,
        objectives: &objectives,
        traffic: arguments.traffic,
        size_by: arguments.size_by,
        wanted: arguments.top,
    };
    let choice = choose(&wish)?;
    let measured = |chosen: &Deployment| verify(&chosen.prediction.work, &objectives);
    let sheet = Sheet {
        title: &|lang| Text::Choice.text(lang).to_owned(),
        json: &|| to_json(&choice, wish.size_by, measured),
        sections: &|lang, _| sections(&choice, &wish, lang),
        figures: &|lang| figures(&choice, lang),
    };
    sheet.show(&arguments.view)?;
    Ok(Exit::fine_if(!choice.deployments.is_empty()))
}
