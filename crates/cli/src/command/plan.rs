//! `inferometer plan`: will it fit, calibration, prediction.

pub mod arguments;
mod calibration;
mod calibration_file;
mod cards;
mod choose;
mod memory;
mod predict;
mod trace;
mod validation;
mod verify;
mod what_if;

use crate::exit::Exit;
use crate::options::{DataView, Format, NO_CHECKS, OutputOptions, ViewArguments};
use crate::output::{Rendered, deliver, language, print, style};
use anyhow::bail;
use arguments::{PlanArguments, PlanQuestion, SheetArguments};
use inferometer_dialect::Dialect;
use inferometer_message::PlanText as Text;
use inferometer_page::doc::{Doc, Section};
use inferometer_page::figure::Figure;
use inferometer_page::html::{self, Edition};
use inferometer_page::{markdown, text};
use inferometer_text::Lang;
use serde_json::Value;
use std::path::Path;

pub fn run(arguments: &PlanArguments) -> anyhow::Result<Exit> {
    match &arguments.question {
        PlanQuestion::Memory(arguments) => memory::run(arguments),
        PlanQuestion::Calibrate(arguments) => calibration::run(arguments),
        PlanQuestion::WhatIf(arguments) => what_if::run(arguments),
        PlanQuestion::Predict(arguments) => predict::run(arguments),
        PlanQuestion::Choose(arguments) => choose::run(arguments),
        PlanQuestion::Validate(arguments) => validation::run(arguments),
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

/// What an answer is called, after what it is of: a model, its cards.
fn titled(of: &[String], what: Text, lang: Lang) -> String {
    let parts = of.iter().map(String::as_str).chain([what.text(lang)]);
    Vec::from_iter(parts).join(" · ")
}

/// Cards and how many there are: `4 × h100`.
fn counted(count: u64, device: &str) -> String {
    if count == 1 {
        device.to_owned()
    } else {
        format!("{count} × {device}")
    }
}

/// Each of some names once, in their order.
fn each_once(names: impl Iterator<Item = String>) -> String {
    let mut known: Vec<String> = Vec::new();
    for name in names {
        if !known.contains(&name) {
            known.push(name);
        }
    }
    known.join(", ")
}

/// An answer that has pictures too.
struct Sheet<'a> {
    title: &'a dyn Fn(Lang) -> String,
    json: &'a dyn Fn() -> Value,
    sections: &'a dyn Fn(Lang, Format) -> Vec<Section>,
    figures: &'a dyn Fn(Lang) -> Vec<Figure>,
}

impl Sheet<'_> {
    /// Shows or writes it in the format that was asked for; pages and pictures go into this
    /// folder unless `-o` says otherwise.
    fn show(&self, view: &SheetArguments) -> anyhow::Result<()> {
        let lang = language(view.lang);
        let options = OutputOptions {
            format: vec![view.format],
            dialect: Dialect::Ours,
            lang: view.lang,
            to: view.to.clone(),
            theme: view.theme,
            definitions: false,
            columns: None,
        };
        let doc = |lang| Doc {
            sections: (self.sections)(lang, view.format),
        };
        deliver(&options, Path::new("."), |format| {
            Ok(Rendered::Whole(match format {
                Format::Text => text::render(&doc(lang), style()),
                Format::Md => markdown::render(&doc(lang)),
                Format::Json => serde_json::to_string_pretty(&(self.json)())? + "\n",
                Format::Junit | Format::Github => bail!(NO_CHECKS),
                Format::Csv => bail!("--format csv is not made here; use json, or md for a table"),
                Format::Svg | Format::Png => return Ok(Rendered::Figures((self.figures)(lang))),
                Format::Html => html::render(&html::page(lang, (self.json)(), |lang| Edition {
                    above: 1,
                    glossary: inferometer_site::pages::glossary(lang),
                    lang,
                    title: (self.title)(lang),
                    headlines: Vec::new(),
                    doc: doc(lang),
                    figures: (self.figures)(lang),
                })),
            }))
        })
    }
}
