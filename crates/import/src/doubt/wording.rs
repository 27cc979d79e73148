//! What is said of a doubt about an imported result, with its remedy.

use super::ImportDoubt;
use crate::doubt_texts::ImportDoubtText as Text;
use inferometer_text::Lang;
use inferometer_text::punctuation::PunctuationText;

impl ImportDoubt {
    /// Text and remedy, and the values that these have places for.
    pub(super) fn wording(&self, lang: Lang) -> (Text, Vec<(&'static str, String)>, Text) {
        let percent = |share: f64| format!("{:.1} %", 100.0 * share);
        match self {
            ImportDoubt::LostRequests {
                missing,
                planned,
                ended,
                failed,
            } => {
                let values = vec![
                    ("missing", missing.to_string()),
                    ("planned", planned.to_string()),
                    ("ended", ended.to_string()),
                    ("failed", failed.unwrap_or_default().to_string()),
                ];
                let text = match failed {
                    Some(_) => Text::Lost,
                    None => Text::LostSilently,
                };
                (text, values, Text::LostRemedy)
            }
            ImportDoubt::Failures { failed, all, .. } => {
                let values = vec![
                    ("failed", failed.to_string()),
                    ("all", all.to_string()),
                    ("share", percent(*failed as f64 / (*all).max(1) as f64)),
                ];
                (Text::Failed, values, Text::FailedRemedy)
            }
            ImportDoubt::FailuresOfUnknown { failed } => (
                Text::FailedOfUnknown,
                vec![("failed", failed.to_string())],
                Text::FailedRemedy,
            ),
            ImportDoubt::FailedShare { share, .. } => (
                Text::FailedShare,
                vec![("share", percent(*share))],
                Text::FailedRemedy,
            ),
            ImportDoubt::RepeatedNumber(number) => {
                let values = vec![
                    ("name", number.name.clone()),
                    ("kept", number.kept.to_string()),
                    ("passed_over", number.ignored.to_string()),
                ];
                (Text::Twice, values, Text::TwiceRemedy)
            }
            ImportDoubt::ToldFailures(told) => {
                let values = vec![
                    ("count", told.requests.to_string()),
                    ("sample", told.sample.clone()),
                ];
                (Text::ToldFailures, values, Text::FailedRemedy)
            }
            ImportDoubt::UnlikeRepeats {
                load,
                lines,
                name,
                values: [a, b],
            } => {
                let lines = lines.map(|(first, last)| format!("{first}–{last}"));
                let apart = a.max(*b) / a.min(*b) - 1.0;
                let values = vec![
                    ("share", percent(apart)),
                    ("a", hundredths(*a)),
                    ("b", hundredths(*b)),
                    ("lines", PunctuationText::Comma.join(lang, &lines)),
                    ("name", repeated_figure(name, lang).to_owned()),
                    ("load", load.clone()),
                ];
                (Text::UnlikeRepeats, values, Text::UnlikeRepeatsRemedy)
            }
            ImportDoubt::FirstAfterEnd {
                ttft_ms, e2e_ms, ..
            } => {
                let values = vec![("ttft", ttft_ms.to_string()), ("e2e", e2e_ms.to_string())];
                (Text::FirstAfterEnd, values, Text::FirstAfterEndRemedy)
            }
            ImportDoubt::OffLadder {
                metric,
                value,
                beside: [below, above],
            } => {
                let values = vec![
                    ("metric", in_table(metric).to_owned()),
                    ("value", value.to_string()),
                    ("below", below.to_string()),
                    ("above", above.to_string()),
                ];
                (Text::OffLadder, values, Text::OffLadderRemedy)
            }
            ImportDoubt::ShrunkConcurrency {
                in_flight,
                configured,
                expected,
            } => {
                let values = vec![
                    ("under_way", format!("{in_flight:.1}")),
                    ("configured", configured.to_string()),
                    ("expected", format!("{expected:.1}")),
                ];
                (Text::Shrunk, values, Text::ShrunkRemedy)
            }
            ImportDoubt::IdleStreams {
                requests,
                configured,
            } => {
                let values = vec![
                    ("requests", format!("{requests:.0}")),
                    ("configured", configured.to_string()),
                ];
                (Text::IdleStreams, values, Text::IdleStreamsRemedy)
            }
            ImportDoubt::SaidVoid { remark } => {
                let values = vec![("remark", remark.clone())];
                (Text::SaidVoid, values, Text::SaidVoidRemedy)
            }
            ImportDoubt::SaidDoubtful { remark } => {
                let values = vec![("remark", remark.clone())];
                (Text::SaidDoubtful, values, Text::SaidDoubtfulRemedy)
            }
            ImportDoubt::Copied { lines, other } => {
                let values = vec![
                    ("first", lines.0.to_string()),
                    ("last", lines.1.to_string()),
                    ("other", other.clone()),
                ];
                (Text::Copied, values, Text::CopiedRemedy)
            }
            ImportDoubt::OtherRate { asked, sent } => {
                let values = vec![("asked", asked.to_string()), ("sent", format!("{sent:.2}"))];
                (Text::OtherRate, values, Text::OtherRateRemedy)
            }
            ImportDoubt::OtherAnswers { mean, others } => {
                let times = (others / mean).max(mean / others);
                let values = vec![
                    ("mean", format!("{mean:.0}")),
                    ("others", format!("{others:.0}")),
                    ("times", format!("{times:.1}")),
                ];
                let text = if mean < others {
                    Text::ShorterAnswers
                } else {
                    Text::LongerAnswers
                };
                (text, values, Text::OtherAnswersRemedy)
            }
            ImportDoubt::Overload { offered, done } => {
                let values = vec![
                    ("offered", offered.to_string()),
                    ("done", format!("{done:.2}")),
                    ("share", percent(done / offered)),
                ];
                (Text::Overload, values, Text::OverloadRemedy)
            }
            ImportDoubt::UnreadAccounts { names } => {
                let quoted = names.iter().map(|name| format!("`{name}`"));
                let names = PunctuationText::Comma.join(lang, &Vec::from_iter(quoted));
                let values = vec![("names", names)];
                (Text::UnreadAccounts, values, Text::UnreadAccountsRemedy)
            }
            ImportDoubt::NotStreamed => (Text::NotStreamed, vec![], Text::NotStreamedRemedy),
            ImportDoubt::NotADistribution { metric } => (
                Text::Flat,
                vec![("metric", in_table(metric).to_owned())],
                Text::FlatRemedy,
            ),
            ImportDoubt::DisorderedPercentiles {
                metric,
                lower,
                upper,
            } => {
                let values = vec![
                    ("metric", format!("{} (ms)", in_table(metric))),
                    ("lower", lower.0.clone()),
                    ("lower_value", lower.1.to_string()),
                    ("upper", upper.0.clone()),
                    ("upper_value", upper.1.to_string()),
                ];
                (Text::Disordered, values, Text::DisorderedRemedy)
            }
            ImportDoubt::Contradiction { printed, from, .. } => {
                let shown = |value: f64| match value.fract() == 0.0 || value >= 1e9 {
                    true if value < 1e9 => value.to_string(),
                    true => format!("{value:e}"),
                    false => format!("{value:.4}"),
                };
                let values = vec![
                    ("printed", printed.0.text(lang).to_owned()),
                    ("value", shown(printed.1)),
                    ("from", from.0.text(lang).to_owned()),
                    ("follows", shown(from.1)),
                ];
                (Text::Contradiction, values, Text::ContradictionRemedy)
            }
            ImportDoubt::OutputCapped { cap } => (
                Text::Capped,
                vec![("cap", cap.to_string())],
                Text::CappedRemedy,
            ),
            ImportDoubt::FewSamples {
                count,
                ranks,
                least,
            } => {
                let ranks: Vec<String> = ranks.iter().map(|rank| format!("p{rank}")).collect();
                let values = vec![
                    ("count", count.to_string()),
                    ("ranks", ranks.join(", ")),
                    ("least", least.to_string()),
                ];
                (Text::FewSamples, values, Text::FewSamplesRemedy)
            }
            ImportDoubt::AllAtOnce => (Text::AllAtOnce, vec![], Text::AllAtOnceRemedy),
            ImportDoubt::TableContradicts {
                lines,
                differences,
                is_copied,
            } => {
                let differences = differences.iter().map(|(name, value, other)| {
                    let values = [
                        ("name", name.clone()),
                        ("value", value.to_string()),
                        ("other", other.to_string()),
                    ];
                    Text::Apart.with(lang, &values)
                });
                let values = vec![
                    ("first", lines.0.to_string()),
                    ("last", lines.1.to_string()),
                    ("apart", Vec::from_iter(differences).join(", ")),
                ];
                let remedy = if *is_copied {
                    Text::TableRemedyCopied
                } else {
                    Text::TableRemedy
                };
                (Text::TableContradicts, values, remedy)
            }
            ImportDoubt::TokenOffset { mean, offset, base } => {
                let values = vec![
                    ("mean", format!("{mean:.3}")),
                    ("offset", offset.to_string()),
                    ("base", format!("{base:.3}")),
                ];
                (Text::TokenOffset, values, Text::TokenOffsetRemedy)
            }
            ImportDoubt::HeadingNumber { number } => (
                Text::HeadingNumber,
                vec![("number", number.to_string())],
                Text::HeadingRemedy,
            ),
            ImportDoubt::HeadingSwitch { word, given } => {
                let values = vec![("word", word.to_string()), ("given", given.to_string())];
                (Text::HeadingSwitch, values, Text::HeadingRemedy)
            }
            ImportDoubt::MarkedInvalid { codes } => (
                Text::MarkedInvalid,
                vec![("codes", codes.clone())],
                Text::MarkedInvalidRemedy,
            ),
            ImportDoubt::HeadingConcurrency {
                heading,
                configured,
            } => {
                let values = vec![
                    ("said", heading.to_string()),
                    ("configured", configured.to_string()),
                ];
                (Text::HeadingConcurrency, values, Text::HeadingBlockRemedy)
            }
            ImportDoubt::CopiedPercentile {
                metric,
                lower,
                upper,
                is_whole,
            } => {
                let values = vec![
                    ("metric", in_table(metric).to_owned()),
                    ("lower", lower.clone()),
                    ("upper", upper.clone()),
                ];
                let text = if *is_whole {
                    Text::CopiedPercentile
                } else {
                    Text::CopiedPercentileHere
                };
                (text, values, Text::CopiedPercentileRemedy)
            }
            ImportDoubt::HeadingLength {
                is_output,
                heading,
                mean,
            } => {
                let values = vec![("said", heading.to_string()), ("mean", mean.to_string())];
                let text = if *is_output {
                    Text::HeadingOutput
                } else {
                    Text::HeadingInput
                };
                (text, values, Text::HeadingBlockRemedy)
            }
        }
    }
}

/// A latency as tables call it, by its key in a summary.
fn in_table(metric: &str) -> &str {
    match metric {
        "ttft_ms" => "TTFT",
        "second_token_ms" => "second token",
        "tpot_ms" => "TPOT",
        "itl_ms" => "ITL",
        "max_gap_ms" => "max gap",
        "e2e_ms" => "E2E",
        other => other,
    }
}

/// A figure by which repeats are held against each other, by its key.
fn repeated_figure(key: &str, lang: Lang) -> &str {
    match key {
        "output_tokens_per_s" => Text::OutputThroughput.text(lang),
        "total_tokens_per_s" => Text::TotalThroughput.text(lang),
        "requests_per_s" => Text::Qps.text(lang),
        _ => Text::MeanLatency.text(lang),
    }
}

/// Enough digits to find a number again in its source.
fn hundredths(value: f64) -> String {
    ((100.0 * value).round() / 100.0).to_string()
}
