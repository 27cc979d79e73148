//! `inferometer plan`: will it fit, calibration, prediction.

pub mod arguments;
mod calibration;
mod memory;
mod trace;
mod verify;
mod what_if;

use crate::Exit;
use crate::arguments::DataView;
use crate::output::{print, style};
use arguments::{PlanArguments, PlanQuestion, ViewArguments};
use inferometer_report::doc::{Doc, Section};
use inferometer_report::text;
use serde_json::Value;

/// Answers one question.
pub fn run(arguments: &PlanArguments) -> anyhow::Result<Exit> {
    match &arguments.question {
        PlanQuestion::Memory(arguments) => memory::run(arguments),
        PlanQuestion::Calibrate(arguments) => calibration::run(arguments),
        PlanQuestion::WhatIf(arguments) => what_if::run(arguments),
    }
}

/// Shows an answer as it was asked for.
fn show(
    view: &ViewArguments,
    json: impl FnOnce() -> Value,
    sections: impl FnOnce() -> Vec<Section>,
) -> anyhow::Result<()> {
    match view.format {
        DataView::Json => print(&(serde_json::to_string_pretty(&json())? + "\n")),
        DataView::Text => print(&text::render(
            &Doc {
                sections: sections(),
            },
            style(),
        )),
    }
}
