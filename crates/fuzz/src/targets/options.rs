//! What users write in files and as values of options.

use super::Scratch;
use crate::seeds;
use inferometer_campaign::axes::Values;
use inferometer_campaign::study::Study;
use inferometer_catalog::engine::Version;
use inferometer_catalog::timing::Timing;
use inferometer_core::length::LengthSpec;
use inferometer_core::options::Options;
use inferometer_core::scenario::{Rate, Stagger, StopWhen, Until, Warmup};
use inferometer_core::slo::Slo;
use inferometer_core::units::Span;
use inferometer_core::value::{JsonObject, Tag};
use inferometer_core::work::{LengthPairs, PrefixSpread, PromptLength};
use inferometer_engine::FlagRule;
use inferometer_load::http::Target;
use inferometer_plan::calibrate::Calibration;
use inferometer_sim::Faults;

pub fn scenarios() -> Vec<Vec<u8>> {
    let mut all = seeds::files("fixtures/run-v1", &[".toml"]);
    all.extend(seeds::literals("crates/core/src/options", 16));
    all
}

pub fn scenario(input: &[u8], _: &Scratch) {
    let Ok(options) = Options::from_toml(&String::from_utf8_lossy(input)) else {
        return;
    };
    let again = Options::from_toml(&options.to_toml());
    assert_eq!(again.as_ref(), Ok(&options), "options that were written and read");
    if let Ok(scenario) = options.resolve() {
        let stored = scenario.options().to_toml();
        let repeated = Options::from_toml(&stored).and_then(Options::resolve);
        assert!(repeated.is_ok(), "a stored scenario repeats: {repeated:?}\n{stored}");
    }
}

pub fn values() -> Vec<Vec<u8>> {
    let mut all = seeds::literals("crates/core/src", 3);
    all.extend(seeds::literals("crates/sim/src/fault", 3));
    all.extend(seeds::literals("crates/campaign/src/axes", 3));
    all.retain(|text| text.len() < 80);
    all
}

pub fn value(input: &[u8], _: &Scratch) {
    let text = &*String::from_utf8_lossy(input);
    let _ = text.parse::<Span>().map(|span| span.to_string());
    let _ = text.parse::<LengthSpec>();
    let _ = text.parse::<LengthPairs>();
    let _ = text.parse::<PrefixSpread>();
    let _ = text.parse::<PromptLength>();
    let _ = text.parse::<Slo>();
    let _ = text.parse::<Rate>();
    let _ = text.parse::<Warmup>();
    let _ = text.parse::<Stagger>();
    let _ = text.parse::<StopWhen>();
    let _ = text.parse::<Until>();
    let _ = text.parse::<Tag>();
    let _ = text.parse::<JsonObject>();
    let _ = text.parse::<Values>();
    let _ = text.parse::<Version>();
    let _ = text.parse::<Faults>();
    let _ = text.parse::<FlagRule>();
    let _ = Target::parse(text);
}

pub fn studies() -> Vec<Vec<u8>> {
    let mut all = seeds::literals("crates/campaign/src/study", 100);
    all.extend(seeds::literals("crates/campaign/src/space", 40));
    all.extend(seeds::literals("crates/campaign/tests/suite", 100));
    all
}

pub fn study(input: &[u8], _: &Scratch) {
    let _ = String::from_utf8_lossy(input).parse::<Study>();
}

pub fn calibrations() -> Vec<Vec<u8>> {
    let mut all = seeds::files("crates/catalog/data", &["timing.toml"]);
    all.extend(seeds::literals("crates/catalog/src/timing", 60));
    all.extend(seeds::literals("crates/plan/src/calibrate", 60));
    all
}

pub fn calibration(input: &[u8], _: &Scratch) {
    let text = &*String::from_utf8_lossy(input);
    let _ = Timing::from_toml(text);
    let _ = Calibration::from_toml(text).map(|calibration| calibration.to_toml());
}
