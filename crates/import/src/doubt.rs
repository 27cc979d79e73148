//! Reasons to distrust an imported result, in the words of the judge of runs.

use crate::doubt_texts::ImportDoubtText as Text;
use crate::found::Twice;
use inferometer_core::doubt::Severity;
use inferometer_text::Lang;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Kinds of doubt that an import can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// Fewer requests ended than were expected.
    LostRequests,
    /// Requests a second × latency is far below the concurrency.
    ShrunkConcurrency,
    Failures,
    /// A printed percentile lacks its least sample.
    FewSamples,
    /// Most answers end at one value.
    OutputCapped,
    AllAtOnce,
    NotStreamed,
    /// Percentiles are equal to the last digit.
    NotADistribution,
    DisorderedPercentiles,
    InconsistentImport,
}

impl Code {
    pub const ALL: [Code; 10] = [
        Code::LostRequests,
        Code::ShrunkConcurrency,
        Code::Failures,
        Code::FewSamples,
        Code::OutputCapped,
        Code::AllAtOnce,
        Code::NotStreamed,
        Code::NotADistribution,
        Code::DisorderedPercentiles,
        Code::InconsistentImport,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Code::LostRequests => "lost-requests",
            Code::ShrunkConcurrency => "shrunk-concurrency",
            Code::Failures => "failures",
            Code::FewSamples => "few-samples",
            Code::OutputCapped => "output-capped",
            Code::AllAtOnce => "all-at-once",
            Code::NotStreamed => "not-streamed",
            Code::NotADistribution => "not-a-distribution",
            Code::DisorderedPercentiles => "disordered-percentiles",
            Code::InconsistentImport => "inconsistent-import",
        }
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Code {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let code = Code::ALL.into_iter().find(|code| code.name() == name);
        code.ok_or_else(|| serde::de::Error::custom(format!("'{name}' is no doubt known here")))
    }
}

/// A doubt about an imported result, in words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ImportDoubt {
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub code: Code,
    pub severity: Severity,
    pub text: String,
    pub remedy: String,
}

/// What was seen in an imported result.
#[derive(Clone, Debug, PartialEq)]
pub enum Doubt {
    /// Fewer requests ended than were expected.
    LostRequests {
        /// Those without account.
        missing: u64,
        planned: u64,
        ended: u64,
        /// Those that are reported as failed, where any report is made.
        failed: Option<u64>,
    },
    Failures {
        failed: u64,
        all: u64,
        severity: Severity,
    },
    /// Too many failures, of which only the share is known.
    FailedShare {
        share: f64,
        severity: Severity,
    },
    /// A number is given twice, and not the same.
    Twice(Twice),
    /// The first token comes later than the end.
    FirstAfterEnd {
        /// Mean time to first token.
        ttft_ms: f64,
        e2e_ms: f64,
    },
    /// Little's law does not hold.
    ShrunkConcurrency {
        under_way: f64,
        configured: f64,
        expected: f64,
    },
    NotStreamed,
    /// Percentiles are equal to the last digit.
    NotADistribution {
        metric: &'static str,
    },
    DisorderedPercentiles {
        metric: &'static str,
        /// The lower rank and its value.
        lower: (String, f64),
        /// The upper one, which is less.
        upper: (String, f64),
    },
    /// A number does not follow from the others.
    Contradiction {
        /// The number, and its value.
        printed: (Text, f64),
        /// What it follows from, and the value of that.
        from: (Text, f64),
    },
    /// Most answers end at one length.
    OutputCapped {
        cap: f64,
    },
    /// Percentiles that the sample cannot carry.
    FewSamples {
        count: u64,
        /// The percentiles, in percent.
        ranks: Vec<f64>,
        /// Requests that carry them all.
        least: u64,
    },
    AllAtOnce,
    /// A table's column is not what the block below it says.
    TableContradicts {
        /// First and last line of the block.
        lines: (u64, u64),
        /// Name, the table's value, the block's.
        apart: Vec<(String, f64, f64)>,
    },
    /// Mean lengths differ by a whole number of tokens.
    TokenOffset {
        mean: f64,
        offset: f64,
        base: f64,
    },
    /// A number of the heading is in no flag.
    HeadingNumber {
        number: u64,
    },
    /// A switch is not as the heading says.
    HeadingSwitch {
        /// `enable` or `disable`.
        word: &'static str,
        /// As the command has it.
        given: bool,
    },
    /// The concurrency is not the heading's.
    HeadingConcurrency {
        said: u64,
        configured: u64,
    },
}

impl Doubt {
    pub fn code(&self) -> Code {
        match self {
            Doubt::LostRequests { .. } => Code::LostRequests,
            Doubt::Failures { .. } | Doubt::FailedShare { .. } => Code::Failures,
            Doubt::ShrunkConcurrency { .. } => Code::ShrunkConcurrency,
            Doubt::NotStreamed => Code::NotStreamed,
            Doubt::NotADistribution { .. } => Code::NotADistribution,
            Doubt::DisorderedPercentiles { .. } => Code::DisorderedPercentiles,
            Doubt::OutputCapped { .. } => Code::OutputCapped,
            Doubt::FewSamples { .. } => Code::FewSamples,
            Doubt::AllAtOnce => Code::AllAtOnce,
            Doubt::Contradiction { .. }
            | Doubt::Twice(_)
            | Doubt::FirstAfterEnd { .. }
            | Doubt::TableContradicts { .. }
            | Doubt::TokenOffset { .. }
            | Doubt::HeadingNumber { .. }
            | Doubt::HeadingSwitch { .. }
            | Doubt::HeadingConcurrency { .. } => Code::InconsistentImport,
        }
    }

    pub fn severity(&self) -> Severity {
        match self {
            Doubt::LostRequests { .. } | Doubt::ShrunkConcurrency { .. } => Severity::Invalid,
            Doubt::Failures { severity, .. } | Doubt::FailedShare { severity, .. } => *severity,
            Doubt::OutputCapped { .. } | Doubt::FewSamples { .. } | Doubt::AllAtOnce => {
                Severity::Note
            }
            _ => Severity::Warn,
        }
    }

    /// The doubt in a language.
    pub fn stated(&self, lang: Lang) -> ImportDoubt {
        ImportDoubt {
            code: self.code(),
            severity: self.severity(),
            text: self.text(lang),
            remedy: self.remedy(lang),
        }
    }

    fn text(&self, lang: Lang) -> String {
        let number = |value: f64| value.to_string();
        let rounded = |value: f64| format!("{value:.4}");
        match self {
            Doubt::LostRequests {
                missing,
                planned,
                ended,
                failed,
            } => {
                let mut values = vec![
                    ("missing", missing.to_string()),
                    ("planned", planned.to_string()),
                    ("ended", ended.to_string()),
                ];
                values.extend(failed.map(|failed| ("failed", failed.to_string())));
                match failed {
                    Some(_) => Text::Lost.with(lang, &values),
                    None => Text::LostSilently.with(lang, &values),
                }
            }
            Doubt::Failures { failed, all, .. } => {
                let share = 100.0 * *failed as f64 / (*all).max(1) as f64;
                let values = [
                    ("failed", failed.to_string()),
                    ("all", all.to_string()),
                    ("share", format!("{share:.1} %")),
                ];
                Text::Failed.with(lang, &values)
            }
            Doubt::FailedShare { share, .. } => {
                let share = format!("{:.1} %", 100.0 * share);
                Text::FailedShare.with(lang, &[("share", share)])
            }
            Doubt::Twice(twice) => {
                let values = [
                    ("name", twice.name.clone()),
                    ("kept", number(twice.kept)),
                    ("passed_over", number(twice.passed_over)),
                ];
                Text::Twice.with(lang, &values)
            }
            Doubt::FirstAfterEnd { ttft_ms, e2e_ms } => {
                let values = [("ttft", number(*ttft_ms)), ("e2e", number(*e2e_ms))];
                Text::FirstAfterEnd.with(lang, &values)
            }
            Doubt::ShrunkConcurrency {
                under_way,
                configured,
                expected,
            } => {
                let values = [
                    ("under_way", format!("{under_way:.1}")),
                    ("configured", number(*configured)),
                    ("expected", format!("{expected:.1}")),
                ];
                Text::Shrunk.with(lang, &values)
            }
            Doubt::NotStreamed => Text::NotStreamed.text(lang).to_owned(),
            Doubt::NotADistribution { metric } => {
                Text::Flat.with(lang, &[("metric", (*metric).to_owned())])
            }
            Doubt::DisorderedPercentiles {
                metric,
                lower,
                upper,
            } => {
                let values = [
                    ("metric", (*metric).to_owned()),
                    ("lower", lower.0.clone()),
                    ("lower_value", number(lower.1)),
                    ("upper", upper.0.clone()),
                    ("upper_value", number(upper.1)),
                ];
                Text::Disordered.with(lang, &values)
            }
            Doubt::Contradiction { printed, from } => {
                let values = [
                    ("printed", printed.0.text(lang).to_owned()),
                    ("value", rounded(printed.1)),
                    ("from", from.0.text(lang).to_owned()),
                    ("follows", rounded(from.1)),
                ];
                Text::Contradiction.with(lang, &values)
            }
            Doubt::OutputCapped { cap } => Text::Capped.with(lang, &[("cap", number(*cap))]),
            Doubt::FewSamples { count, ranks, .. } => {
                let ranks: Vec<String> = ranks.iter().map(|rank| format!("p{rank}")).collect();
                let values = [("count", count.to_string()), ("ranks", ranks.join(", "))];
                Text::FewSamples.with(lang, &values)
            }
            Doubt::AllAtOnce => Text::AllAtOnce.text(lang).to_owned(),
            Doubt::TableContradicts { lines, apart } => {
                let apart = apart.iter().map(|(name, value, other)| {
                    let values = [
                        ("name", name.clone()),
                        ("value", number(*value)),
                        ("other", number(*other)),
                    ];
                    Text::Apart.with(lang, &values)
                });
                let values = [
                    ("first", lines.0.to_string()),
                    ("last", lines.1.to_string()),
                    ("apart", Vec::from_iter(apart).join(", ")),
                ];
                Text::TableContradicts.with(lang, &values)
            }
            Doubt::TokenOffset { mean, offset, base } => {
                let values = [
                    ("mean", format!("{mean:.3}")),
                    ("offset", number(*offset)),
                    ("base", format!("{base:.3}")),
                ];
                Text::TokenOffset.with(lang, &values)
            }
            Doubt::HeadingNumber { number } => {
                Text::HeadingNumber.with(lang, &[("number", number.to_string())])
            }
            Doubt::HeadingSwitch { word, given } => {
                let values = [("word", (*word).to_owned()), ("given", given.to_string())];
                Text::HeadingSwitch.with(lang, &values)
            }
            Doubt::HeadingConcurrency { said, configured } => {
                let values = [
                    ("said", said.to_string()),
                    ("configured", configured.to_string()),
                ];
                Text::HeadingConcurrency.with(lang, &values)
            }
        }
    }

    fn remedy(&self, lang: Lang) -> String {
        let text = match self {
            Doubt::LostRequests { .. } => Text::LostRemedy,
            Doubt::Failures { .. } | Doubt::FailedShare { .. } => Text::FailedRemedy,
            Doubt::Twice(_) => Text::TwiceRemedy,
            Doubt::FirstAfterEnd { .. } => Text::FirstAfterEndRemedy,
            Doubt::ShrunkConcurrency { .. } => Text::ShrunkRemedy,
            Doubt::NotStreamed => Text::NotStreamedRemedy,
            Doubt::NotADistribution { .. } => Text::FlatRemedy,
            Doubt::DisorderedPercentiles { .. } => Text::DisorderedRemedy,
            Doubt::Contradiction { .. } => Text::ContradictionRemedy,
            Doubt::OutputCapped { .. } => Text::CappedRemedy,
            Doubt::FewSamples { least, .. } => {
                return Text::FewSamplesRemedy.with(lang, &[("least", least.to_string())]);
            }
            Doubt::AllAtOnce => Text::AllAtOnceRemedy,
            Doubt::TableContradicts { .. } => Text::TableRemedy,
            Doubt::TokenOffset { .. } => Text::TokenOffsetRemedy,
            Doubt::HeadingNumber { .. } | Doubt::HeadingSwitch { .. } => Text::HeadingRemedy,
            Doubt::HeadingConcurrency { .. } => Text::HeadingBlockRemedy,
        };
        text.text(lang).to_owned()
    }
}
