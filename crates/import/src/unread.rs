//! Why a number of a source is not in its result.

use crate::label::is_change;
use inferometer_text::texts;
use serde::{Deserialize, Serialize};
use serde_json::Value;

texts! {
    #[derive(PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub enum UnreadReason {
        /// Nothing here is called so.
        UnknownName => "the name is not known", "名称未知";
        /// It is known, and a summary has no place for it.
        NoCounterpart => "a summary has no place for it", "摘要中没有对应项";
        /// It is of requests that failed or were stopped, or counts them in.
        NotAnswered => "of requests that were not answered", "属于未成功的请求";
        /// It is of single requests.
        PerRequest => "of single requests", "属于单个请求";
        /// A setting, a time of day, a number of a program: nothing that was measured.
        NotMeasured => "not measured: a setting or a time of day", "不是测量值：为设置或时刻";
        /// It compares with another result.
        Change => "a change against another result", "相对其他结果的变化";
        /// It has digits, and is no number.
        NotANumber => "not a number", "不是数值";
        /// A setting that is given twice, with other values.
        Twice => "given twice, with other values", "给出两次且取值不同";
        /// Its unit, its sign or its size is none of what it names.
        DoesNotFit => "its unit or value does not fit its name", "单位或数值与名称不符";
        /// Of the requests before the measured ones.
        WarmUp => "of the warm-up", "属于预热阶段";
        /// It is of several runs together.
        SeveralRuns => "of several runs together", "由多次运行合并得出";
        /// The result has more numbers than any tool prints.
        TooMany => "too many numbers", "数值过多";
    }
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
