//! Where a study ran and on what work, and what is to be known of its numbers.

use super::{StudyReport, sides};
use crate::quality::Served;
use inferometer_campaign::trial::Level;
use inferometer_core::options::WorkOptions;
use inferometer_message::{NoteText, SetupText, StudyText};
use inferometer_page::doc::Pair;
use inferometer_page::number;

/// Engine, cards, model, work and load.
pub(super) fn pairs(report: &StudyReport<'_>) -> Vec<Pair> {
    let lang = report.lang;
    let mut pairs = Vec::new();
    let mut say = |name: &str, value: String| {
        if !value.is_empty() {
            pairs.push(Pair::new(name, value));
        }
    };
    if let Some(bed) = &report.result.bed {
        // What the study says of an engine that cannot be asked.
        let stated = report.study.engine.version.map(|it| it.to_string());
        let version = bed.version.as_ref().or(stated.as_ref());
        let version = version.map_or("", String::as_str);
        let engine = format!("{} {version}", bed.engine);
        let cards = bed.device.as_ref().map(|device| match bed.cards {
            Some(cards @ 2..) => format!("{cards} × {device}"),
            _ => device.clone(),
        });
        let parts = [Some(engine.trim().to_owned()), cards];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        say(StudyText::EngineName.text(lang), parts.join(", "));
        let model = bed.model.clone().unwrap_or_default();
        say(SetupText::Model.text(lang), model);
    }
    say(StudyText::Work.text(lang), work(&report.study.work));
    let levels = report.study.levels.iter().map(|level| match level {
        Level::Concurrency(streams) => {
            StudyText::Streams.with(lang, &[("count", number::count((*streams).into()))])
        }
        Level::Capacity => StudyText::Capacity.text(lang).to_owned(),
    });
    let requests =
        report.study.load.requests.map(|requests| {
            StudyText::Requests.with(lang, &[("count", number::count(requests.0))])
        });
    let load: Vec<String> = levels.chain(requests).collect();
    say(StudyText::Load.text(lang), load.join(", "));
    pairs
}

/// The work in the words of the study.
fn work(work: &WorkOptions) -> String {
    let Ok(serde_json::Value::Object(given)) = serde_json::to_value(work) else {
        return String::new();
    };
    let words = given.iter().filter(|(_, value)| !value.is_null());
    let words = words.map(|(name, value)| match value {
        serde_json::Value::String(text) => format!("{name} {text}"),
        other => format!("{name} {other}"),
    });
    words.collect::<Vec<_>>().join(", ")
}

/// What a reader must know of the numbers.
pub(super) fn notes(report: &StudyReport<'_>) -> Vec<String> {
    let lang = report.lang;
    let mut notes = Vec::new();
    if report.result.computed {
        notes.push(NoteText::VirtualTime.text(lang).to_owned());
    }
    if sides::is_one_start(report) {
        let pairs = report.result.comparison.iter();
        let pairs: usize = pairs.map(|it| it.pairs.len()).sum();
        notes.push(StudyText::OneStart.with(lang, &[("repeats", pairs.to_string())]));
    }
    let mut dimensions = report.study.space.dimensions().iter();
    let is_batch = |name: &str| name.rsplit('.').next() == Some("maxPrefillBatchSize");
    if report.result.computed && dimensions.any(|it| is_batch(&it.name)) {
        notes.push(StudyText::PrefillBatch.text(lang).to_owned());
    }
    let legal = report.result.bed.as_ref().and_then(|bed| bed.legal_points);
    if legal == Some(1) {
        notes.push(StudyText::OneLegalPoint.text(lang).to_owned());
    }
    notes.extend(without_fp8(report).into_iter().flatten());
    notes
}

/// What comes of FP8 in the best where the card does not compute in it.
fn without_fp8(report: &StudyReport<'_>) -> Option<Vec<String>> {
    let bed = report.result.bed.as_ref()?;
    let served = Served {
        engine: report.study.engine.kind(),
        version: bed.version.as_ref()?.parse().ok()?,
        device: bed.device.as_ref()?,
    };
    let best = report.result.best.as_ref()?.flags.0.iter();
    let notes =
        best.filter_map(|(flag, value)| served.without_fp8(flag, &value.to_string(), report.lang));
    Some(notes.collect())
}
