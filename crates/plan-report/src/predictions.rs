//! Predictions as people read them: a table, its footnotes, and a recommendation.

use super::calibration::distrusted;
use super::labels::{
    brief, brief_load, brief_ms, flags, metric_text, off_by, predicted, setting_text,
};
use super::latencies::latencies;
use inferometer_catalog::timing::Basis;
use inferometer_core::length::Distribution;
use inferometer_core::slo::Slo;
use inferometer_message::PlanText as Text;
use inferometer_page::doc::{Block, Cell, Column, Section, Table, Tone};
use inferometer_plan::calibrate::{Calibration, Grounds};
use inferometer_plan::means::MeanMetric;
use inferometer_plan::unmeasured::Forecast;
use inferometer_plan::what_if::{Answers, Outcome, PredictedVerdict, Prediction};
use inferometer_plan::work::{Load, Start};
use inferometer_text::Lang;
use inferometer_text::punctuation::PunctuationText;
use std::collections::BTreeSet;

/// The table of predictions and the one to take.
pub fn sections(
    answers: &Answers,
    calibration: &Calibration,
    judged: &[Slo],
    lang: Lang,
) -> Vec<Section> {
    let mut notes = Vec::from_iter(distrusted(calibration, lang));
    notes.extend(kept_flags(answers, calibration, lang));
    match calibration.unmeasured {
        Some(grounds) => {
            let mut sections = noted(answers, notes, judged, Text::ForecastUncertain, lang);
            sections.push(basis([basis_of(&calibration.device, grounds, lang)], lang));
            sections
        }
        None => noted(answers, notes, judged, Text::RecommendedUncertain, lang),
    }
}

/// Flags that the calibrated points varied and the question does not: they are those of the first
/// point, which need not be what the reader runs.
fn kept_flags(answers: &Answers, calibration: &Calibration, lang: Lang) -> Option<String> {
    let is_asked = |name: &str| {
        let mut settings = answers.settings.iter();
        settings.any(|(setting, _)| setting.varied.iter().any(|(varied, _)| varied == name))
    };
    let varied = calibration.envelope.flags.iter().flatten();
    let varied = varied.filter(|(name, values)| values.len() > 1 && !is_asked(name));
    let kept = varied.map(|(name, _)| match calibration.flags.get(name) {
        Some(value) if value.is_empty() => name.clone(),
        Some(value) => format!("{name}={value}"),
        None => Text::KeptUnset.with(lang, &[("name", name.clone())]),
    });
    let kept = PunctuationText::Comma.join(lang, &Vec::from_iter(kept));
    (!kept.is_empty()).then(|| Text::KeptFlags.with(lang, &[("flags", kept)]))
}

/// The same without a calibration, and what they rest on.
pub fn forecast_sections(forecast: &Forecast, judged: &[Slo], lang: Lang) -> Vec<Section> {
    let answers = &forecast.answers;
    let mut sections = noted(answers, Vec::new(), judged, Text::ForecastUncertain, lang);
    let settings = forecast.answers.settings.iter();
    let mut said: Vec<String> = Vec::new();
    for ((setting, _), grounds) in settings.zip(&forecast.grounds) {
        let text = basis_of(&setting.device, *grounds, lang);
        if !said.contains(&text) {
            said.push(text);
        }
    }
    sections.push(basis(said, lang));
    sections
}

fn basis(said: impl IntoIterator<Item = String>, lang: Lang) -> Section {
    let said = said.into_iter().map(Block::Paragraph);
    Section::headed(Text::Basis.text(lang), said)
}

/// What predictions for a card rest on.
fn basis_of(device: &str, grounds: Grounds, lang: Lang) -> String {
    let device = ("device", device.to_owned());
    let rows = ("rows", grounds.rows.to_string());
    match grounds.basis {
        Basis::Validated => Text::BasisValidated.with(lang, &[device, rows]),
        Basis::Similar => Text::BasisSimilar.with(lang, &[device, rows]),
        Basis::None => Text::BasisNone.with(lang, &[device]),
    }
}

fn noted(
    answers: &Answers,
    notes: Vec<String>,
    judged: &[Slo],
    uncertain: Text,
    lang: Lang,
) -> Vec<Section> {
    let served: Vec<&Prediction> = answers.settings.iter().filter_map(predicted).collect();
    let has = |present: fn(&Prediction) -> bool| served.iter().any(|known| present(known));
    let optional = [
        (Text::Slo, has(|p| p.verdict.is_some())),
        (Text::Replicas, has(|p| p.replicas.is_some())),
        (Text::Cost, has(|p| p.cost_per_million.is_some())),
        (Text::Joule, has(|p| p.tokens_per_joule.is_some())),
    ];
    let devices: BTreeSet<&str> = answers
        .settings
        .iter()
        .map(|(s, _)| s.device.as_str())
        .collect();
    let all = answers.settings.iter();
    let engines: BTreeSet<&str> = all.map(|(s, _)| s.engine.word()).collect();
    let mut columns = Vec::new();
    if devices.len() > 1 {
        columns.push(Column::left(Text::Device.text(lang)));
    }
    if engines.len() > 1 {
        columns.push(Column::left(Text::Engine.text(lang)));
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
        "TPOT ms",
        "E2E ms",
    ] {
        columns.push(Column::right(title));
    }
    let shown = optional.iter().filter(|(_, shown)| *shown);
    columns.extend(shown.map(|(text, _)| Column::right(text.text(lang))));
    // No wider than its title, so that the page is kept to.
    columns.push(Column::wrapped(Text::Trust.text(lang)));
    let rows = answers.settings.iter().map(|(setting, outcome)| {
        let mut cells = Vec::new();
        if devices.len() > 1 {
            cells.push(Cell::text(&setting.device));
        }
        if engines.len() > 1 {
            cells.push(Cell::text(setting.engine.word()));
        }
        if varied {
            cells.push(Cell::text(flags(setting)));
        }
        match outcome {
            Outcome::Predicted(prediction) => row(prediction, &optional, lang, &mut cells),
            Outcome::Refused(_) | Outcome::TooLong(_) | Outcome::NeverMet => {
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
        footnotes: (notes.into_iter())
            .chain(footnotes(answers, &served, lang))
            .collect(),
    };
    let mut sections = vec![Section::headed(Text::WhatIf.text(lang), [table])];
    sections.extend(latencies(answers, judged, lang));
    sections.push(recommendation(answers, uncertain, lang));
    sections
}

fn range<N: PartialEq + std::fmt::Display>(least: N, most: N) -> String {
    if least == most {
        least.to_string()
    } else {
        format!("{least}–{most}")
    }
}

fn row(prediction: &Prediction, optional: &[(Text, bool); 4], lang: Lang, cells: &mut Vec<Cell>) {
    let plain = |value: Option<f64>| Cell::known(value.map(brief));
    let bound = prediction.bound(MeanMetric::Throughput);
    cells.push(Cell::text(brief_load(prediction.work.load)));
    cells.push(plain(Some(prediction.requests_per_s)));
    cells.push(plain(Some(prediction.output_tokens_per_s)));
    cells.push(Cell::known(bound.map(off_by)));
    let time = |value: Option<f64>| Cell::known(value.map(brief_ms));
    cells.push(time(prediction.ttft_ms.map(|ttft| ttft.mean)));
    cells.push(time(prediction.tpot_ms.map(|tpot| tpot.mean)));
    cells.push(time(prediction.e2e_ms.map(|e2e| e2e.mean)));
    let values = [
        prediction.verdict.map(|verdict| {
            let (word, tone) = match verdict {
                PredictedVerdict::Met => (Text::Met, Tone::Good),
                PredictedVerdict::Uncertain => (Text::Uncertain, Tone::Caution),
                PredictedVerdict::Missed => (Text::Missed, Tone::Bad),
            };
            Cell::Toned(word.text(lang).to_owned(), tone)
        }),
        prediction.replicas.map(|replicas| match replicas.most {
            Some(most) => Cell::text(range(replicas.least, most)),
            None => Cell::text(format!("≥ {}", replicas.least)),
        }),
        Some(plain(prediction.cost_per_million)),
        Some(plain(prediction.tokens_per_joule)),
    ];
    for (value, (_, shown)) in values.into_iter().zip(optional) {
        if *shown {
            cells.push(value.unwrap_or(Cell::Absent));
        }
    }
    cells.push(if prediction.inside() {
        Cell::text(Text::Inside.text(lang))
    } else {
        Cell::Toned(Text::Outside.text(lang).to_owned(), Tone::Caution)
    });
}

fn footnotes(answers: &Answers, predicted: &[&Prediction], lang: Lang) -> Vec<String> {
    let mut notes: Vec<String> = work_note(predicted, lang).into_iter().collect();
    let uncertain = |it: &&Prediction| it.verdict == Some(PredictedVerdict::Uncertain);
    if predicted.iter().any(uncertain) {
        notes.push(Text::UncertainNote.text(lang).to_owned());
    }
    notes.extend(too_long_note(predicted, lang));
    if let Some(first) = predicted.first() {
        let known = MeanMetric::all().filter_map(|metric| {
            let bound = off_by(first.bound_inside(metric)?);
            Some(format!("{} {bound}", metric_text(metric).text(lang)))
        });
        let known = known.collect::<Vec<_>>().join(", ");
        if !known.is_empty() {
            notes.push(Text::IntervalNote.with(lang, &[("bounds", known)]));
        }
        let unknown: Vec<&str> = first
            .unknown()
            .map(|metric| metric_text(metric).text(lang))
            .collect();
        if !unknown.is_empty() {
            notes.push(Text::Uncalibrated.with(lang, &[("metrics", unknown.join(", "))]));
        }
    }
    let behind = predicted.iter().filter(|it| it.may_fall_behind());
    let mut behind: Vec<String> = behind.map(|it| brief_load(it.work.load)).collect();
    behind.dedup();
    if !behind.is_empty() {
        notes.push(Text::FallsBehind.with(lang, &[("loads", behind.join(", "))]));
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
                Outcome::TooLong(why) => Text::AllTooLong.with(
                    lang,
                    &[
                        ("tokens", why.median.to_string()),
                        ("most", why.most.to_string()),
                    ],
                ),
                Outcome::NeverMet => Text::NeverMet.text(lang).to_owned(),
            };
            Some(format!("{} {}: {why}", setting.device, flags(setting)))
        })
        .collect();
    notes.extend(refused.into_iter().take(12));
    notes
}

/// What was sent: lengths, requests, and how streams began.
fn work_note(predicted: &[&Prediction], lang: Lang) -> Option<String> {
    let first = predicted.first()?;
    let length = |lengths: Distribution| match &first.work.trace {
        Some(_) => Text::OfTrace.with(lang, &[("n", brief(lengths.mean()))]),
        None => lengths.to_string(),
    };
    let counts = || predicted.iter().map(|it| it.work.requests);
    let requests = range(counts().min()?, counts().max()?);
    let start = match (first.work.load, first.work.start) {
        (Load::Open(_), _) => Text::RandomArrivals,
        (Load::Closed(_), Start::AtOnce) => Text::StartAtOnce,
        (Load::Closed(_), Start::Spread | Start::Over(_)) => Text::StartSpread,
    };
    Some(Text::WorkNote.with(
        lang,
        &[
            ("input", length(first.work.input)),
            ("output", length(first.work.output)),
            ("requests", requests),
            ("start", start.text(lang).to_owned()),
        ],
    ))
}

/// Where the engine rejects the longest requests.
fn too_long_note(predicted: &[&Prediction], lang: Lang) -> Option<String> {
    let worst = predicted.iter().max_by_key(|it| it.too_long)?;
    (worst.too_long > 0).then(|| {
        Text::SomeTooLong.with(
            lang,
            &[
                ("n", worst.too_long.to_string()),
                ("all", worst.work.requests.to_string()),
            ],
        )
    })
}

fn recommendation(answers: &Answers, uncertain: Text, lang: Lang) -> Section {
    let chosen = answers.recommended.map(|index| &answers.settings[index]);
    let mut said = Vec::new();
    match chosen.and_then(|chosen| Some((&chosen.0, predicted(chosen)?))) {
        Some((setting, prediction)) => {
            let setting = setting_text(setting, prediction.work.load, lang);
            let rate = brief(prediction.output_tokens_per_s);
            said.push(format!(
                "{setting} · {rate} {}",
                Text::Throughput.text(lang)
            ));
            if prediction.verdict == Some(PredictedVerdict::Uncertain) {
                said.push(uncertain.text(lang).to_owned());
            }
        }
        None => said.push(Text::NothingMeets.text(lang).to_owned()),
    }
    let said = said.into_iter().map(Block::Paragraph);
    Section::headed(Text::Recommended.text(lang), said)
}
