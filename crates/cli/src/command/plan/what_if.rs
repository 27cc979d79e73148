//! `inferometer plan what-if`.

use super::Sheet;
use super::arguments::WhatIfArguments;
use super::calibration::metric_text;
use super::curves::curves;
use super::trace::Trace;
use super::verify::verify;
use crate::Exit;
use crate::arguments::Format;
use crate::output::language;
use anyhow::{Context, bail};
use inferometer_campaign::axes::Values;
use inferometer_catalog::engine::{EngineKind, Lookup, lookup, nearest_names};
use inferometer_core::length::{Distribution, LengthSpec};
use inferometer_core::message::Lang;
use inferometer_core::message::plan::PlanText as Text;
use inferometer_plan::calibrate::Calibration;
use inferometer_plan::flags::name_for;
use inferometer_plan::observation::Load;
use inferometer_plan::predict::Metric;
use inferometer_plan::what_if::{
    Answers, Objectives, Outcome, Prediction, Question, Setting, ask, to_json,
};
use inferometer_report::doc::{Block, Cell, Column, Section, Table, Tone};
use std::collections::BTreeSet;

/// Predicts all combinations.
pub fn run(arguments: &WhatIfArguments) -> anyhow::Result<Exit> {
    let file = arguments.calibration.display();
    let text = std::fs::read_to_string(&arguments.calibration)
        .with_context(|| format!("cannot read --calibration {file}"))?;
    let mut calibration =
        Calibration::from_toml(&text).with_context(|| format!("--calibration {file}"))?;
    let flags: Vec<Axis> = arguments
        .flag
        .iter()
        .map(|text| axis(text))
        .collect::<anyhow::Result<_>>()?;
    known_flags(&calibration, &flags)?;
    let lang = language(arguments.view.lang);
    let trace = match &arguments.data {
        Some(location) => Some(Trace::read(location, lang)?),
        None => None,
    };
    let workload = &calibration.workload;
    let (input, output) = match &trace {
        Some(trace) => trace.means(),
        None => (
            lengths(arguments.input_tokens, &workload.input_tokens)?,
            lengths(arguments.output_tokens, &workload.output_tokens)?,
        ),
    };
    let mut loads = loads(arguments)?;
    if loads.is_empty() && arguments.slo.is_empty() {
        loads.extend(trace.as_ref().and_then(Trace::load));
    }
    let question = Question {
        calibration: &calibration,
        cards: arguments.device.clone(),
        flags,
        loads,
        input,
        output,
        trace: trace.map(|trace| trace.sizes),
        requests: arguments.requests,
        objectives: Objectives {
            slos: arguments.slo.clone(),
            attainment: arguments.attainment,
        },
        price_per_hour: arguments.price_per_hour,
        traffic: arguments.traffic,
        watts: arguments.watts,
    };
    let answers = ask(&question)?;
    let verified = match &arguments.verify {
        Some(bench) => {
            let file = &arguments.calibration;
            Some(verify(bench, file, &mut calibration, &answers, lang)?)
        }
        None => None,
    };
    let json = || {
        let mut all = to_json(&answers);
        if let Some(verified) = &verified {
            all["verified"] = verified.json();
        }
        all
    };
    let said = |lang: Lang, _: Format| -> Vec<Section> {
        let verified = verified
            .as_ref()
            .map(|verified| verified.section(&arguments.calibration, lang));
        let all = sections(&answers, lang).into_iter().chain(verified);
        all.collect()
    };
    let sheet = Sheet {
        title: &|lang| Text::WhatIf.text(lang).to_owned(),
        json: &json,
        sections: &said,
        figures: &|lang| curves(&answers, &arguments.slo, lang),
    };
    sheet.show(&arguments.view)?;
    Ok(match answers.recommended {
        Some(_) => Exit::Fine,
        None => Exit::Doubtful,
    })
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

fn list(option: &str, text: &str) -> anyhow::Result<Vec<String>> {
    let values: Values = text.parse().with_context(|| format!("{option} {text}"))?;
    match values {
        Values::List(values) => Ok(values),
        Values::By { .. } | Values::Derived(_) => {
            bail!("{option} {text}: write values as in 1,2,4 or 1..64:x2")
        }
    }
}

/// A flag and the values to try; a switch has none.
type Axis = (String, Vec<Option<String>>);

/// A misspelled name is told at once, not once for every setting.
fn known_flags(calibration: &Calibration, flags: &[Axis]) -> anyhow::Result<()> {
    let engine = calibration.engine;
    if engine == EngineKind::Mindie {
        return Ok(());
    }
    let version = calibration.version.unwrap_or(engine.newest());
    for (name, _) in flags {
        let spelled = format!("--{}", name_for(engine, name));
        if matches!(lookup(engine, Some(version), &spelled), Lookup::Unknown) {
            let nearest = match nearest_names(engine, version, name).as_slice() {
                [] => String::new(),
                names => format!("; the nearest names are {}", names.join(", ")),
            };
            bail!("--flag {name}: {engine} {version} has no such flag{nearest}");
        }
    }
    Ok(())
}

fn axis(text: &str) -> anyhow::Result<Axis> {
    let text = text.trim_start_matches("--");
    let Some((name, values)) = text.split_once('=') else {
        return Ok((text.to_owned(), vec![None]));
    };
    let values = list("--flag", values)?.into_iter().map(Some).collect();
    Ok((name.to_owned(), values))
}

fn loads(arguments: &WhatIfArguments) -> anyhow::Result<Vec<Load>> {
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

fn sections(answers: &Answers, lang: Lang) -> Vec<Section> {
    let predicted: Vec<&Prediction> = answers.settings.iter().filter_map(of).collect();
    let has = |present: fn(&Prediction) -> bool| predicted.iter().any(|known| present(known));
    let optional = [
        (Text::Slo, has(|p| p.met.is_some())),
        (Text::Replicas, has(|p| p.replicas.is_some())),
        (Text::Cost, has(|p| p.cost_per_million.is_some())),
        (Text::Joule, has(|p| p.tokens_per_joule.is_some())),
    ];
    let devices: BTreeSet<&str> = answers
        .settings
        .iter()
        .map(|(s, _)| s.device.as_str())
        .collect();
    let mut columns = Vec::new();
    if devices.len() > 1 {
        columns.push(Column::left(Text::Device.text(lang)));
    }
    let varied = answers.settings.iter().any(|(s, _)| !s.varied.is_empty());
    if varied {
        columns.push(Column::wrapped(Text::Flags.text(lang)));
    }
    for title in [
        Text::Load.text(lang),
        Text::Requests.text(lang),
        Text::Tokens.text(lang),
        "±",
        "TTFT ms",
        "p99",
        "TPOT ms",
        "E2E ms",
    ] {
        columns.push(Column::right(title));
    }
    let shown = optional.iter().filter(|(_, shown)| *shown);
    columns.extend(shown.map(|(text, _)| Column::right(text.text(lang))));
    columns.push(Column::left(Text::Trust.text(lang)));
    let rows = answers.settings.iter().map(|(setting, outcome)| {
        let mut cells = Vec::new();
        if devices.len() > 1 {
            cells.push(Cell::text(&setting.device));
        }
        if varied {
            cells.push(Cell::text(flags(setting)));
        }
        match outcome {
            Outcome::Predicted(prediction) => row(prediction, &optional, lang, &mut cells),
            Outcome::Refused(_) | Outcome::NeverMet => {
                cells.push(
                    setting
                        .load
                        .map_or(Cell::blank(), |load| Cell::text(brief_load(load))),
                );
            }
        }
        cells.resize(columns.len(), Cell::blank());
        cells
    });
    let rows = rows.collect();
    let table = Table {
        columns,
        rows,
        footnotes: footnotes(answers, &predicted, lang),
    };
    vec![
        Section::headed(Text::WhatIf.text(lang), vec![Block::Table(table)]),
        recommendation(answers, lang),
    ]
}

pub(super) fn of((_, outcome): &(Setting, Outcome)) -> Option<&Prediction> {
    match outcome {
        Outcome::Predicted(prediction) => Some(prediction),
        Outcome::Refused(_) | Outcome::NeverMet => None,
    }
}

pub(super) fn flags(setting: &Setting) -> String {
    let shown = setting.varied.iter().map(|(name, value)| match value {
        Some(value) => format!("{name}={value}"),
        None => name.clone(),
    });
    shown.collect::<Vec<_>>().join(" ")
}

/// A setting on one line.
pub(super) fn setting_text(setting: &Setting, load: Load, lang: Lang) -> String {
    let parts = [
        setting.device.clone(),
        flags(setting),
        load_text(load, lang),
    ];
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join(" · ")
}

fn load_text(load: Load, lang: Lang) -> String {
    match load {
        Load::Closed(streams) => Text::LoadStreams.with(lang, &[("n", streams.to_string())]),
        Load::Open(rate) => Text::LoadRate.with(lang, &[("n", rate.to_string())]),
    }
}

fn brief_load(load: Load) -> String {
    match load {
        Load::Closed(streams) => streams.to_string(),
        Load::Open(rate) => format!("{rate}/s"),
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// About three digits.
pub(super) fn brief(value: f64) -> String {
    match value.abs() {
        size if size >= 99.95 => format!("{value:.0}"),
        size if size >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

fn row(prediction: &Prediction, optional: &[(Text, bool); 4], lang: Lang, cells: &mut Vec<Cell>) {
    let plain = |value: Option<f64>| value.map_or(Cell::Absent, |value| Cell::text(brief(value)));
    let bound = prediction.bound(Metric::Throughput);
    cells.push(Cell::text(brief_load(prediction.work.load)));
    cells.push(plain(Some(prediction.requests_per_s)));
    cells.push(plain(Some(prediction.output_tokens_per_s)));
    cells.push(bound.map_or(Cell::Absent, |bound| Cell::text(percent(bound))));
    cells.push(plain(prediction.ttft_ms.map(|ttft| ttft.mean)));
    cells.push(plain(prediction.ttft_ms.map(|ttft| ttft.p99)));
    cells.push(plain(prediction.tpot_ms.map(|tpot| tpot.mean)));
    cells.push(plain(prediction.e2e_ms.map(|e2e| e2e.mean)));
    let values = [
        prediction.met.map(|met| match met {
            true => Cell::Toned(Text::Met.text(lang).to_owned(), Tone::Good),
            false => Cell::Toned(Text::Missed.text(lang).to_owned(), Tone::Bad),
        }),
        prediction.replicas.map(Cell::count),
        prediction
            .cost_per_million
            .map(|cost| Cell::text(brief(cost))),
        prediction
            .tokens_per_joule
            .map(|tokens| Cell::text(brief(tokens))),
    ];
    for (value, (_, shown)) in values.into_iter().zip(optional) {
        if *shown {
            cells.push(value.unwrap_or(Cell::Absent));
        }
    }
    cells.push(match prediction.inside() {
        true => Cell::text(Text::Inside.text(lang)),
        false => Cell::Toned(Text::Outside.text(lang).to_owned(), Tone::Caution),
    });
}

fn footnotes(answers: &Answers, predicted: &[&Prediction], lang: Lang) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(first) = predicted.first() {
        let known = Metric::ALL.into_iter().filter_map(|metric| {
            let bound = percent(first.bound_inside(metric)?);
            Some(format!("{} {bound}", metric_text(metric).text(lang)))
        });
        let known = known.collect::<Vec<_>>().join(", ");
        if !known.is_empty() {
            notes.push(Text::IntervalNote.with(lang, &[("bounds", known)]));
        }
        let unknown: Vec<&str> = first
            .bounds
            .iter()
            .filter(|(_, bound)| bound.is_none())
            .map(|(metric, _)| metric_text(*metric).text(lang))
            .collect();
        if !unknown.is_empty() {
            notes.push(Text::Uncalibrated.with(lang, &[("metrics", unknown.join(", "))]));
        }
    }
    let beyond: BTreeSet<String> = predicted
        .iter()
        .flat_map(|prediction| &prediction.beyond)
        .map(|beyond| {
            let usual = |text: &str| match text {
                "" => Text::Usual.text(lang).to_owned(),
                text => text.to_owned(),
            };
            Text::Beyond.with(
                lang,
                &[
                    ("what", beyond.what.clone()),
                    ("value", usual(&beyond.value)),
                    ("measured", usual(&beyond.measured)),
                ],
            )
        })
        .collect();
    notes.extend(beyond.into_iter().take(6));
    let refused: BTreeSet<String> = answers
        .settings
        .iter()
        .filter_map(|(setting, outcome)| {
            let why = match outcome {
                Outcome::Predicted(_) => return None,
                Outcome::Refused(reason) => Text::Refused.with(lang, &[("reason", reason.clone())]),
                Outcome::NeverMet => Text::NeverMet.text(lang).to_owned(),
            };
            Some(format!("{} {}: {why}", setting.device, flags(setting)))
        })
        .collect();
    notes.extend(refused.into_iter().take(12));
    notes
}

fn recommendation(answers: &Answers, lang: Lang) -> Section {
    let chosen = answers.recommended.map(|index| &answers.settings[index]);
    let said = match chosen.and_then(|chosen| Some((&chosen.0, of(chosen)?))) {
        Some((setting, prediction)) => {
            let setting = setting_text(setting, prediction.work.load, lang);
            let rate = brief(prediction.output_tokens_per_s);
            format!("{setting} · {rate} {}", Text::Throughput.text(lang))
        }
        None => Text::NothingMeets.text(lang).to_owned(),
    };
    Section::headed(Text::Recommended.text(lang), vec![Block::Paragraph(said)])
}
