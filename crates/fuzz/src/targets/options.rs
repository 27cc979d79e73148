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
    let literals = seeds::literals("crates/core/src/options", 16);
    let is_toml = |text: &str| text.contains('=') && Options::from_toml(text).is_ok();
    all.extend(
        literals
            .into_iter()
            .filter(|text| str::from_utf8(text).is_ok_and(is_toml)),
    );
    all
}

pub fn scenario(input: &[u8], _: &Scratch) -> bool {
    let Ok(options) = Options::from_toml(&String::from_utf8_lossy(input)) else {
        return false;
    };
    let again = Options::from_toml(&options.to_toml());
    assert_eq!(
        again.as_ref(),
        Ok(&options),
        "options that were written and read"
    );
    let Ok(scenario) = options.resolve() else {
        return false;
    };
    let stored = scenario.options().to_toml();
    let repeated = Options::from_toml(&stored).and_then(Options::resolve);
    assert!(
        repeated.is_ok(),
        "a stored scenario repeats: {repeated:?}
{stored}"
    );
    true
}

pub fn values() -> Vec<Vec<u8>> {
    let mut all = seeds::literals("crates/core/src", 3);
    all.extend(seeds::literals("crates/sim/src/fault", 3));
    all.extend(seeds::literals("crates/campaign/src/axes", 3));
    all.retain(|text| text.len() < 80);
    all
}

pub fn value(input: &[u8], _: &Scratch) -> bool {
    let text = &*String::from_utf8_lossy(input);
    let refused = [
        text.parse::<Span>().map(|span| span.to_string()).is_err(),
        text.parse::<LengthSpec>().is_err(),
        text.parse::<LengthPairs>().is_err(),
        text.parse::<PrefixSpread>().is_err(),
        text.parse::<PromptLength>().is_err(),
        text.parse::<Slo>().is_err(),
        text.parse::<Rate>().is_err(),
        text.parse::<Warmup>().is_err(),
        text.parse::<Stagger>().is_err(),
        text.parse::<StopWhen>().is_err(),
        text.parse::<Until>().is_err(),
        text.parse::<Tag>().is_err(),
        text.parse::<JsonObject>().is_err(),
        text.parse::<Values>().is_err(),
        text.parse::<Version>().is_err(),
        text.parse::<Faults>().is_err(),
        text.parse::<FlagRule>().is_err(),
        Target::parse(text).is_err(),
    ];
    refused.contains(&false)
}

pub fn studies() -> Vec<Vec<u8>> {
    let mut all = seeds::literals("crates/campaign/src/study", 100);
    all.extend(seeds::literals("crates/campaign/src/space", 40));
    all.extend(seeds::literals("crates/campaign/tests/suite", 100));
    all.extend(seeds::literals("crates/cli/tests/end_to_end", 200));
    all.retain(|text| {
        text.windows(6)
            .any(|part| matches!(part, b"[space" | b"[goal]" | b"[engin"))
    });
    all
}

pub fn study(input: &[u8], _: &Scratch) -> bool {
    String::from_utf8_lossy(input).parse::<Study>().is_ok()
}

pub fn calibrations() -> Vec<Vec<u8>> {
    let mut all = seeds::files("crates/catalog/data", &["timing.toml"]);
    all.extend(seeds::literals("crates/catalog/src/timing", 60));
    all.extend(seeds::literals("crates/plan/src/calibrate", 60));
    all
}

pub fn calibration(input: &[u8], _: &Scratch) -> bool {
    let text = &*String::from_utf8_lossy(input);
    let _ = Calibration::from_toml(text).map(|calibration| calibration.to_toml());
    Timing::from_toml(text).is_ok()
}
