//! Why a number of a source is not in its result.

use crate::label::is_change;
use crate::unread_texts::UnreadText as Text;
use inferometer_text::Lang;
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum UnreadReason {
    /// Nothing here is called so.
    UnknownName,
    /// It is known, and a summary has no place for it.
    NoCounterpart,
    /// It is of requests that failed or were stopped, or counts them in.
    NotAnswered,
    /// It is of single requests.
    PerRequest,
    /// A setting, a time of day, a number of a program: nothing that was measured.
    NotMeasured,
    /// It compares with another result.
    Change,
    /// It has digits, and is no number.
    NotANumber,
    /// Its unit, its sign or its size is none of what it names.
    DoesNotFit,
    /// Of the requests before the measured ones.
    WarmUp,
    /// It is of several runs together.
    SeveralRuns,
    /// The result has more numbers than any tool prints.
    TooMany,
}

impl UnreadReason {
    /// Of a name that stands for nothing in a summary.
    pub(crate) fn of_unknown(name: &str) -> Self {
        if is_change(name) {
            UnreadReason::Change
        } else {
            UnreadReason::UnknownName
        }
    }

    pub fn stated(self, lang: Lang) -> &'static str {
        let text = match self {
            UnreadReason::UnknownName => Text::UnknownName,
            UnreadReason::NoCounterpart => Text::NoCounterpart,
            UnreadReason::NotAnswered => Text::NotAnswered,
            UnreadReason::PerRequest => Text::PerRequest,
            UnreadReason::NotMeasured => Text::NotMeasured,
            UnreadReason::Change => Text::Change,
            UnreadReason::NotANumber => Text::NotANumber,
            UnreadReason::DoesNotFit => Text::DoesNotFit,
            UnreadReason::WarmUp => Text::WarmUp,
            UnreadReason::SeveralRuns => Text::SeveralRuns,
            UnreadReason::TooMany => Text::TooMany,
        };
        text.text(lang)
    }
}

/// Whether a value is a number or has one inside.
pub(crate) fn has_numbers(value: &Value) -> bool {
    match value {
        Value::Number(_) => true,
        Value::Array(values) => values.iter().any(has_numbers),
        Value::Object(values) => values.values().any(has_numbers),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}
