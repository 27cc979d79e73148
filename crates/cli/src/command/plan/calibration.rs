//! `inferometer plan calibrate`.

use super::arguments::CalibrateArguments;
use super::calibration_file::write;
use super::show;
use crate::exit::Exit;
use crate::output::language;
use crate::session::session;
use anyhow::{Context, bail};
use inferometer_plan::calibrate::{Doubtful, calibrate};
use inferometer_plan::device::{Card, Timed};
use inferometer_plan::model;
use inferometer_plan::observation::{Assumed, assume_longest_request, read_sources};
use inferometer_plan::predict::Subject;
use inferometer_plan_report::calibration::sections;
use inferometer_text::Lang;

pub fn run(arguments: &CalibrateArguments) -> anyhow::Result<Exit> {
    let card: Card = arguments
        .device
        .parse()
        .with_context(|| format!("--device {}", arguments.device))?;
    if card.timed == Timed::MemoryOnly {
        bail!(
            "--device {} has no speed; add bandwidth= (GB/s) and half= (TFLOP/s)",
            arguments.device
        );
    }
    let subject = Subject {
        model: model::find(
            &arguments.model,
            &session(Lang::default())?.hub_access(arguments.proxy.as_deref()),
        )?
        .model,
        device: card.device,
        cards: arguments.settings.cards,
        engine: arguments.engine,
        version: arguments.settings.as_version,
        split: None,
    };
    let assumed = Assumed {
        input: arguments.input_tokens,
        output: arguments.output_tokens,
        flags: arguments.flag.clone(),
    };
    let mut observations = read_sources(&arguments.source, &assumed)?;
    let longest = assume_longest_request(&subject, &mut observations);
    let doubtful = if arguments.force {
        Doubtful::Use
    } else {
        Doubtful::Refuse
    };
    let calibration = calibrate(&subject, &arguments.device, &observations, doubtful)?;
    write(&arguments.output, &calibration)
        .with_context(|| format!("cannot write -o {}", arguments.output.display()))?;
    let lang = language(arguments.view.lang);
    let json = || serde_json::to_value(&calibration).unwrap_or_default();
    let written = arguments.output.display().to_string();
    show(&arguments.view, json, || {
        sections(&calibration, longest, &written, lang)
    })?;
    Ok(Exit::Fine)
}
