//! `inferometer plan validate`.

use super::Sheet;
use super::arguments::ValidateArguments;
use crate::exit::Exit;
use anyhow::{Context, bail};
use inferometer_catalog::timing::Profiles;
use inferometer_message::PlanText as Text;
use inferometer_plan::validate::{Half, read_table, to_json, validate};
use inferometer_report::plan::validation::sections;
use inferometer_text::user_file;

pub fn run(arguments: &ValidateArguments) -> anyhow::Result<Exit> {
    let mut rows = Vec::new();
    for file in &arguments.table {
        let shown = file.display();
        let text = user_file::read_text(file).with_context(|| format!("cannot read {shown}"))?;
        rows.extend(read_table(&text).with_context(|| format!("{shown}"))?);
    }
    if rows.iter().all(|row| row.concurrency.is_none()) {
        bail!(
            "no row says how many requests were under way; `silicon_data_source` must have silicon_concurrency=N"
        );
    }
    if arguments.held_out {
        rows.retain(|row| row.half() == Half::HeldOut);
    }
    let given = arguments.timing.as_ref().map(|file| {
        let shown = file.display();
        let text = user_file::read_text(file);
        let text = text.with_context(|| format!("cannot read --timing {shown}"))?;
        Profiles::from_toml(&text).with_context(|| format!("--timing {shown}"))
    });
    let given = given.transpose()?;
    let profiles = given.as_ref().unwrap_or(Profiles::shipped());
    let validation = validate(rows, arguments.sample, profiles);
    let sheet = Sheet {
        title: &|lang| Text::Validation.text(lang).to_owned(),
        json: &|| to_json(&validation),
        sections: &|lang, _| sections(&validation, lang),
        figures: &|_| Vec::new(),
    };
    sheet.show(&arguments.view)?;
    Ok(Exit::fine_if(!validation.compared.is_empty()))
}
