//! `inferometer plan choose`.

use super::Sheet;
use super::arguments::ChooseArguments;
use super::predict::{asked, counted};
use crate::exit::Exit;
use anyhow::{Context, bail};
use inferometer_catalog::engine::EngineKind;
use inferometer_message::PlanText as Text;
use inferometer_plan::choose::{Deployment, Offer, Wish, choose, to_json};
use inferometer_plan::device::{Card, Timed};
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
    let offers = arguments.device.iter().map(|text| offer(text));
    let offers: Vec<Offer> = offers.collect::<anyhow::Result<_>>()?;
    let objectives = Objectives::of(&arguments.slo, arguments.attainment)?;
    let choice = choose(&Wish {
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
        wanted: arguments.top,
    })?;
    let slos = &arguments.slo;
    let measured = |chosen: &Deployment| verify(&chosen.prediction.work, slos);
    let sheet = Sheet {
        title: &|lang| Text::Choice.text(lang).to_owned(),
        json: &|| to_json(&choice, measured),
        sections: &|lang, _| sections(&choice, slos, arguments.traffic, lang),
        figures: &|lang| figures(&choice, lang),
    };
    sheet.show(&arguments.view)?;
    Ok(Exit::fine_if(!choice.deployments.is_empty()))
}

/// `h20:8@1.2`: the card, how many there are, and what one costs in an hour.
fn offer(text: &str) -> anyhow::Result<Offer> {
    let form = "write it as in h200:8@3.5 (card, how many there are, price of one in an hour)";
    let (named, price) = text
        .rsplit_once('@')
        .with_context(|| format!("--device {text} has no price; {form}"))?;
    let price_per_hour = match price.parse::<f64>() {
        Ok(price) if price.is_finite() && price > 0.0 => price,
        _ => bail!("--device {text}: the price '{price}' is not a number above 0; {form}"),
    };
    let (name, most) = counted(named)?;
    let card: Card = name.parse().with_context(|| format!("--device {text}"))?;
    if card.timed == Timed::MemoryOnly {
        bail!("--device {text}: predictions need the card's bandwidth= and half=");
    }
    Ok(Offer {
        name: name.to_owned(),
        card,
        price_per_hour,
        most,
    })
}
