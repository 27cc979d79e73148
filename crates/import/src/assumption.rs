//! What had to be assumed to read a result.

use crate::assumption_texts::AssumptionText as Text;
use inferometer_text::Lang;
use serde::{Deserialize, Serialize};

/// Something that a source does not say and that its numbers need.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Assumption {
    Unit {
        name: String,
        read_as: TimeUnit,
    },
    /// The prefill ends with the first token.
    PrefillIsTtft {
        /// As the source calls it.
        name: String,
    },
    /// A total beside the speed of one user counts output tokens alone.
    TotalIsOutput {
        /// As the source calls it.
        name: String,
    },
    /// A percentile without a name, which does not stand beside a latency, is of whole requests.
    PercentileOfLatency {
        name: String,
    },
    /// A table crosses two lengths or loads, and its corner names both.
    RowsByColumns {
        /// The corner.
        name: String,
    },
    /// A length that few rows have otherwise is that of the answers, not what was asked for.
    LengthOfAnswers {
        name: String,
    },
    /// The client's command does not say how many prompts it sends.
    DefaultPrompts {
        count: u64,
    },
    /// The mean TPOT is not stated and follows from other means.
    TpotOfMeans,
    /// How many requests there were is said by the words above.
    RequestsInWords {
        text: String,
    },
    /// The client's command does not say its request rate, which then has no limit.
    DefaultRate,
    /// In words, as imports of older versions have it.
    #[serde(untagged)]
    Text(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum TimeUnit {
    Seconds,
    Milliseconds,
}

impl Assumption {
    pub fn stated(&self, lang: Lang) -> String {
        match self {
            Assumption::Unit { name, read_as } => {
                let unit = match read_as {
                    TimeUnit::Seconds => Text::Seconds,
                    TimeUnit::Milliseconds => Text::Milliseconds,
                };
                let values = [("name", name.clone()), ("unit", unit.text(lang).to_owned())];
                Text::Unit.with(lang, &values)
            }
            Assumption::PrefillIsTtft { name } => {
                Text::PrefillIsTtft.with(lang, &[("name", name.clone())])
            }
            Assumption::TotalIsOutput { name } => {
                Text::TotalIsOutput.with(lang, &[("name", name.clone())])
            }
            Assumption::PercentileOfLatency { name } => {
                Text::PercentileOfLatency.with(lang, &[("name", name.clone())])
            }
            Assumption::RowsByColumns { name } => {
                Text::RowsByColumns.with(lang, &[("name", name.clone())])
            }
            Assumption::LengthOfAnswers { name } => {
                Text::LengthOfAnswers.with(lang, &[("name", name.clone())])
            }
            Assumption::DefaultPrompts { count } => {
                Text::DefaultPrompts.with(lang, &[("count", count.to_string())])
            }
            Assumption::TpotOfMeans => Text::TpotOfMeans.text(lang).to_owned(),
            Assumption::RequestsInWords { text } => {
                Text::RequestsInWords.with(lang, &[("text", text.clone())])
            }
            Assumption::DefaultRate => Text::DefaultRate.text(lang).to_owned(),
            Assumption::Text(text) => text.clone(),
        }
    }
}
