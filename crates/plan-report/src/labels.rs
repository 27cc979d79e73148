//! How settings, loads, metrics and numbers of the planner are written.

use inferometer_message::PlanText as Text;
use inferometer_page::number;
use inferometer_plan::means::MeanMetric;
use inferometer_plan::observation::Load;
use inferometer_plan::what_if::{Outcome, Prediction, Setting};
use inferometer_text::Lang;

/// The prediction of a setting that the engine serves.
pub(super) fn predicted((_, outcome): &(Setting, Outcome)) -> Option<&Prediction> {
    match outcome {
        Outcome::Predicted(prediction) => Some(prediction),
        Outcome::Refused(_) | Outcome::TooLong(_) | Outcome::NeverMet => None,
    }
}

pub(super) fn flags(setting: &Setting) -> String {
    let shown = setting.varied.iter().map(|(name, value)| match value {
        Some(value) => format!("{name}={value}"),
        None => name.clone(),
    });
    shown.collect::<Vec<_>>().join(" ")
}

pub fn setting_text(setting: &Setting, load: Load, lang: Lang) -> String {
    let parts = [
        setting.device.clone(),
        setting.engine.word().to_owned(),
        flags(setting),
        load_text(load, lang),
    ];
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join(" · ")
}

fn load_text(load: Load, lang: Lang) -> String {
    match load {
        Load::Closed(streams) => Text::LoadStreams.with(lang, &[("n", streams.to_string())]),
        Load::Open(rate) => Text::LoadRate.with(lang, &[("n", brief(rate))]),
    }
}

pub(super) fn brief_load(load: Load) -> String {
    match load {
        Load::Closed(streams) => streams.to_string(),
        Load::Open(rate) => format!("{}/s", brief(rate)),
    }
}

pub(super) fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// How far a prediction may be off either way; from a factor of 2 on, the factor.
pub(super) fn off_by(bound: f64) -> String {
    match 1.0 + bound {
        factor if factor < 2.0 => percent(bound),
        factor if factor < 10.0 => format!("×÷\u{a0}{factor:.1}"),
        factor => format!("×÷\u{a0}{factor:.0}"),
    }
}

pub(super) fn brief(value: f64) -> String {
    match value.abs() {
        size if size >= 99.95 => number::grouped(value, 0),
        size if size >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// Milliseconds below a column that says so; what is longer than people read in them has its unit.
pub(super) fn brief_ms(value: f64) -> String {
    if value.abs() < LONG_MS {
        brief(value)
    } else {
        number::millis(value)
    }
}

/// From here on a time is told in seconds or minutes.
const LONG_MS: f64 = 100_000.0;

pub(super) fn metric_text(metric: MeanMetric) -> Text {
    match metric {
        MeanMetric::Requests => Text::Requests,
        MeanMetric::Throughput => Text::Throughput,
        MeanMetric::Ttft => Text::Ttft,
        MeanMetric::Tpot => Text::Tpot,
        MeanMetric::E2e => Text::E2e,
        MeanMetric::EngineTtft => Text::EngineTtft,
        MeanMetric::EngineTpot => Text::EngineTpot,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_more_than_all_is_a_factor() {
        assert_eq!(off_by(0.4), "40 %");
        assert_eq!(off_by(0.98), "98 %");
        assert_eq!(off_by(1.51), "×÷\u{a0}2.5");
        assert_eq!(off_by(54.38), "×÷\u{a0}55");
    }

    #[test]
    fn thousands_are_grouped() {
        assert_eq!(brief(2305.2), "2,305");
        assert_eq!(brief(9.049), "9.05");
    }
}
