//! `inferometer plan validate`.

use super::Sheet;
use super::arguments::ValidateArguments;
use crate::exit::Exit;
use crate::session::session;
use anyhow::{Context, bail};
use inferometer_catalog::timing::Profiles;
use inferometer_message::PlanText as Text;
use inferometer_plan::device::Card;
use inferometer_plan::model::find;
use inferometer_plan::observation::{Assumed, MeasuredOn, read_sources};
use inferometer_plan::validate::{
    Half, Measurement, Observed, Unsaid, is_published_table, read_table, to_json, validate,
};
use inferometer_plan_report::validation::{figures, sections};
use inferometer_text::{Lang, user_file};
use std::path::Path;

pub fn run(arguments: &ValidateArguments) -> anyhow::Result<Exit> {
    let mut rows = measurements(arguments)?;
    if arguments.held_out {
        rows.retain(|row| row.identity().half == Some(Half::HeldOut));
        if rows.is_empty() {
            bail!("--held-out: no row is of the published table's held-out half; leave it out");
        }
    }
    let given = arguments.timing.as_ref().map(|file| {
        let shown = file.display();
        let text = user_file::read_text(file);
        let text = text.with_context(|| format!("cannot read --timing {shown}"))?;
        Profiles::from_toml(&text).with_context(|| format!("--timing {shown}"))
    });
    let given = given.transpose()?;
    let profiles = given.as_ref().unwrap_or(Profiles::shipped());
    let sample = arguments.sample.map(|sample| sample as usize);
    let validation = validate(rows, sample, profiles);
    let sheet = Sheet {
        title: &|lang| Text::Validation.text(lang).to_owned(),
        json: &|| to_json(&validation),
        sections: &|lang, _| sections(&validation, lang),
        figures: &|lang| figures(&validation, lang),
    };
    sheet.show(&arguments.view)?;
    Ok(Exit::fine_if(!validation.compared.is_empty()))
}

/// Rows of published tables, and the load points of all other sources.
fn measurements(arguments: &ValidateArguments) -> anyhow::Result<Vec<Measurement>> {
    let mut rows = Vec::new();
    let mut others: Vec<&Path> = Vec::new();
    for source in &arguments.source {
        let shown = source.display();
        let text = if source.is_dir() {
            None
        } else {
            Some(
                user_file::read_text(source)
                    .with_context(|| format!("cannot read {shown}; check the path"))?,
            )
        };
        match text.filter(|text| is_published_table(text)) {
            Some(text) => rows.extend(read_table(&text).with_context(|| format!("{shown}"))?),
            None => others.push(source),
        }
    }
    if !rows.is_empty() && rows.iter().all(|row| row.concurrency.is_none()) {
        bail!(
            "no row says how many requests were under way; `silicon_data_source` must have silicon_concurrency=N"
        );
    }
    let mut all: Vec<Measurement> = rows
        .into_iter()
        .map(|row| Measurement::Row(Box::new(row)))
        .collect();
    if others.is_empty() {
        return Ok(all);
    }
    if let Some(device) = &arguments.device {
        let card: Result<Card, _> = device.parse();
        card.with_context(|| format!("--device {device}"))?;
    }
    let named = arguments.model.as_deref();
    let hubs = session(Lang::default())?.hub_access(arguments.proxy.as_deref());
    let unsaid = Unsaid {
        on: MeasuredOn {
            engine: arguments.engine,
            model: arguments.model.clone(),
            card: arguments.device.clone(),
        },
        model: (named.map(|name| find(name, &hubs)).transpose()?).map(|found| found.model),
        version: arguments.as_version,
    };
    let assumed = Assumed {
        input: arguments.input_tokens,
        output: arguments.output_tokens,
        flags: arguments.flag.clone(),
    };
    let observed = read_sources(&others, &assumed)?.into_iter();
    all.extend(observed.map(|it| Measurement::Observed(Box::new(Observed::new(it, &unsaid)))));
    Ok(all)
}
