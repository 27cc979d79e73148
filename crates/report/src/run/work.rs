//! What was sent, in one line.

use super::RunReport;
use inferometer_core::work::{
    Conversation, Language, Output, PrefixLength, PromptLength, PromptSource, Synthetic,
    SyntheticLengths, Work,
};
use inferometer_message::SetupText;
use inferometer_page::number;
use inferometer_text::hostile::printable;

/// Characters of a prompt that are shown.
const PROMPT_CHARS: usize = 60;

/// The work, its answers and its sampling.
pub(super) fn said(report: &RunReport<'_>, work: &Work) -> String {
    let mut parts = prompts(report, work);
    match report.environment.distinct_prompts {
        Some(count) if !matches!(work.prompts, PromptSource::Text(_)) => {
            let count = number::count(count);
            parts.push(report.fill(SetupText::DistinctPrompts, &[("count", count)]));
        }
        _ => {}
    }
    let images = work.media.images.as_ref().map(ToString::to_string);
    let videos = work.media.video.as_ref().map(ToString::to_string);
    let sounds = work.media.audio.as_ref().map(ToString::to_string);
    for (label, spec) in [
        (SetupText::Images, images),
        (SetupText::Videos, videos),
        (SetupText::Sounds, sounds),
    ] {
        parts.extend(spec.map(|spec| report.fill(label, &[("spec", spec)])));
    }
    if report.environment.nonce.is_some() {
        parts.push(report.say(SetupText::NewPrompts).to_owned());
    }
    if work.as_token_ids {
        parts.push(report.say(SetupText::AsTokenIds).to_owned());
    }
    if let Some(conversation) = &work.conversation {
        parts.extend(talk(report, conversation));
    }
    parts.extend(answers(report, work));
    let sampling = [
        (SetupText::Temperature, work.temperature),
        (SetupText::TopP, work.top_p),
    ];
    parts.extend(sampling.into_iter().filter_map(|(label, value)| {
        Some(report.fill(label, &[("value", number::exact(value?))]))
    }));
    report.list(&parts)
}

fn prompts(report: &RunReport<'_>, work: &Work) -> Vec<String> {
    match &work.prompts {
        PromptSource::Synthetic(synthetic) => made(report, synthetic),
        PromptSource::Data(data) => {
            let unnamed = report.say(SetupText::SomeFormat);
            let format = data.format.map_or(unnamed, |format| format.into_str());
            let label = if work.prompts.is_synthetic() {
                SetupText::TracePrompts
            } else {
                SetupText::DataPrompts
            };
            let file = printable(&data.location, PROMPT_CHARS);
            vec![report.fill(label, &[("format", format.to_owned()), ("file", file)])]
        }
        PromptSource::Continuation(continuation) => {
            let (label, count) = match continuation.piece {
                PromptLength::Tokens(count) => (SetupText::InTokens, count),
                PromptLength::Chars(count) => (SetupText::InChars, count),
            };
            let count = number::count(u64::from(count));
            let file = match &continuation.location {
                Some(location) => printable(location, PROMPT_CHARS),
                None => report.say(SetupText::EmbeddedText).to_owned(),
            };
            let values = [
                ("length", report.fill(label, &[("count", count)])),
                ("ask", number::count(u64::from(continuation.ask_chars))),
                ("file", file),
            ];
            vec![report.fill(SetupText::Continuation, &values)]
        }
        // All that is sent is a sound.
        PromptSource::Text(text) if text.is_empty() => Vec::new(),
        PromptSource::Text(text) => {
            let text = format!("“{}”", printable(text, PROMPT_CHARS));
            vec![report.fill(SetupText::OnePrompt, &[("text", text)])]
        }
    }
}

fn made(report: &RunReport<'_>, synthetic: &Synthetic) -> Vec<String> {
    let mut parts = vec![match &synthetic.lengths {
        SyntheticLengths::Input(length) => report.fill(
            SetupText::SyntheticPrompts,
            &[("length", length.to_string())],
        ),
        SyntheticLengths::Pairs(pairs) => {
            report.fill(SetupText::PairPrompts, &[("pairs", pairs.to_string())])
        }
    }];
    if synthetic.language == Language::Zh {
        parts.push(report.say(SetupText::ChineseText).to_owned());
    }
    if let Some(prefix) = synthetic.prefix {
        let groups = ("groups", number::count(u64::from(prefix.groups)));
        parts.push(match prefix.length {
            PrefixLength::Tokens(tokens) => {
                let tokens = number::count(u64::from(tokens));
                report.fill(SetupText::SharedTokens, &[groups, ("tokens", tokens)])
            }
            PrefixLength::Share(share) => {
                let share = format!("{} %", number::exact(share * 100.0));
                report.fill(SetupText::SharedShare, &[groups, ("share", share)])
            }
        });
    }
    parts
}

fn talk(report: &RunReport<'_>, conversation: &Conversation) -> Vec<String> {
    let mut parts = vec![match &conversation.turns {
        Some(turns) => report.fill(SetupText::Conversations, &[("turns", turns.to_string())]),
        None => report.say(SetupText::WholeConversations).to_owned(),
    }];
    if let Some(think) = conversation.think.filter(|think| !think.0.is_zero()) {
        let time = think.to_string();
        parts.push(report.fill(SetupText::Think, &[("time", time)]));
    }
    parts
}

fn answers(report: &RunReport<'_>, work: &Work) -> Option<String> {
    let exact = work.ignore_eos && report.environment.server.ignore_eos != Some(false);
    let length = |label, length: String| Some(report.fill(label, &[("length", length)]));
    if let Some(texts) = work.batch_size {
        let label = if report.scenario.connection.api.has_query() {
            SetupText::DocumentsPerRequest
        } else {
            SetupText::TextsPerRequest
        };
        return Some(report.fill(label, &[("count", number::count(u64::from(texts)))]));
    }
    match &work.output {
        Output::Tokens(spec) if exact => length(SetupText::AnswersExact, spec.to_string()),
        Output::Tokens(spec) => length(SetupText::AnswersUpTo, spec.to_string()),
        Output::AtMost(limit) => length(SetupText::AnswersUpTo, limit.to_string()),
        Output::Free => Some(report.say(SetupText::AnswersFree).to_owned()),
        // Pairs were told with the prompts.
        Output::FromWork if matches!(work.prompts, PromptSource::Synthetic(_)) => None,
        Output::FromWork => Some(report.say(SetupText::AnswersFromWork).to_owned()),
    }
}
