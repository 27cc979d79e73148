//! What a setting may cost beside time: other answers, and cards that do not compute in its format.

use inferometer_campaign::space::Value;
use inferometer_campaign::study::changes_answers;
use inferometer_catalog::device::Device;
use inferometer_catalog::engine::{EngineKind, Fp8Cache, Version};
use inferometer_catalog::model::Dtype;
use inferometer_message::{PlanText, StudyText};
use inferometer_page::doc::Pair;
use inferometer_plan_report::memory::fp8_note;
use inferometer_text::Lang;
use inferometer_text::punctuation::PunctuationText;

/// The settings, as they are to be named, that may change the answers and not only the speed.
pub fn may_change_answers(risky: &[String], lang: Lang) -> Option<Pair> {
    let values = [("flags", PunctuationText::Comma.join(lang, risky))];
    let text = StudyText::MayChangeAnswers.with(lang, &values);
    (!risky.is_empty()).then(|| Pair::new(StudyText::Quality.text(lang), text))
}

/// Whether a value of a flag is such a setting.
pub fn is_risky(flag: &str, value: &str) -> bool {
    changes_answers(flag, &Value::Text(value.to_owned()))
}

/// An engine on a card.
#[derive(Clone, Copy, Debug)]
pub struct Served<'a> {
    pub engine: EngineKind,
    pub version: Version,
    /// The card by its preset or by the name that its driver reports.
    pub device: &'a str,
}

impl Served<'_> {
    /// What comes of a flag that asks for FP8 where the card does not compute in it.
    pub fn without_fp8(self, flag: &str, value: &str, lang: Lang) -> Option<String> {
        let capability = Device::named(self.device)?.capability;
        match flag {
            "kv-cache-dtype" => {
                let does = Fp8Cache::of(self.engine, self.version, value, capability)?;
                Some(fp8_note(does, self.device, lang))
            }
            "quantization" if Dtype::named(value) == Some(Dtype::Fp8) => {
                let computed = Fp8Cache::computes_in_fp8(capability?);
                let device = [("device", self.device.to_owned())];
                (!computed).then(|| PlanText::Fp8Weights.with(lang, &device))
            }
            _ => None,
        }
    }
}
