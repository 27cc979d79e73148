//! Answers to a template that asks for a length in words: grouped by the length that came.

use super::RunContext;
use super::tally::Answer;
use inferometer_core::note::{Known, Note};
use inferometer_core::summary::{ContinuationGroup, ContinuationResult};
use inferometer_core::work::PromptSource;

/// Where groups begin, as shares of the asked characters.
const BEGINS: [f64; 5] = [0.0, 0.1, 0.5, 0.9, 1.1];
/// Below this share of the asked characters an answer is very short.
const VERY_SHORT: f64 = 0.1;

/// The groups; absent where no template asked for a length.
pub(super) fn fold(context: &RunContext<'_>, answers: &[&Answer]) -> Option<ContinuationResult> {
    let PromptSource::Continuation(spec) = &context.scenario.work.prompts else {
        return None;
    };
    let asked = f64::from(spec.ask_chars.max(1));
    let share = |answer: &Answer| answer.output_chars as f64 / asked;
    let template = context
        .environment
        .notes
        .iter()
        .find_map(|note| match note {
            Note::Known(Known::Template { chars, tokens }) => Some((*chars, *tokens)),
            _ => None,
        });
    let groups = (BEGINS.iter().enumerate()).map(|(place, &from)| {
        let to = BEGINS.get(place + 1).copied();
        let inside =
            |answer: &&Answer| share(answer) >= from && to.is_none_or(|to| share(answer) < to);
        let these: Vec<&Answer> = answers.iter().copied().filter(inside).collect();
        ContinuationGroup {
            from_share: from,
            to_share: to,
            answers: these.len() as u64,
            chars_mean: mean(&these, |answer| Some(answer.output_chars as f64)),
            tokens_mean: mean(&these, |answer| answer.output.map(f64::from)),
            tokens_per_s_mean: mean(&these, |answer| {
                let ms = answer.e2e.ms().filter(|&ms| ms > 0.0)?;
                Some(f64::from(answer.output?) * 1e3 / ms)
            }),
            e2e_mean_ms: mean(&these, |answer| answer.e2e.ms()),
        }
    });
    let count = |is: &dyn Fn(&Answer) -> bool| answers.iter().filter(|a| is(a)).count() as u64;
    Some(ContinuationResult {
        asked_chars: spec.ask_chars,
        chars_mean: mean(answers, |answer| Some(answer.output_chars as f64)),
        tokens_mean: mean(answers, |answer| answer.output.map(f64::from)),
        refused: count(&|answer| answer.refused),
        very_short: count(&|answer| share(answer) < VERY_SHORT),
        template_chars: template.map(|(chars, _)| chars),
        template_tokens: template.and_then(|(_, tokens)| tokens),
        groups: groups.collect(),
    })
}

/// The mean of what is known.
fn mean(answers: &[&Answer], of: impl Fn(&Answer) -> Option<f64>) -> Option<f64> {
    let known: Vec<f64> = answers.iter().filter_map(|answer| of(answer)).collect();
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
}

#[cfg(test)]
mod tests {
    use crate::fold::testing::{MadeUp, answer, scenario};
    use inferometer_core::doubt::DoubtCode;
    use inferometer_core::note::{Known, Note};

    /// Answers of 4 characters a token to a template that asks for 100 characters; a token
    /// comes every 10 ms, the first after 10.
    fn continued(tokens: &[u32]) -> MadeUp {
        let records = tokens.iter().enumerate().map(|(index, &tokens)| {
            let mut record = answer(index as u64, index as f64 * 1e3, 10.0, tokens, 10.0);
            record.output_exact = false;
            record.output_tokens_asked = None;
            record.refused = tokens == 1;
            record
        });
        let toml = "[load]\nconcurrency = 1\n[work]\ninput-chars = 50\nask-chars = 100";
        let mut run = MadeUp::of(scenario(toml), records.collect());
        run.environment.notes = vec![Note::from(Known::Template {
            chars: 90,
            tokens: Some(20),
        })];
        run
    }

    #[test]
    fn answers_are_grouped_by_the_length_that_came() {
        // 4, 8, 40, 48, 100 and 120 of 100 characters.
        let run = continued(&[1, 2, 10, 12, 25, 30]);
        let found = run.summary().continuation.unwrap();
        let counts: Vec<u64> = found.groups.iter().map(|group| group.answers).collect();
        assert_eq!(counts, [2, 2, 0, 1, 1]);
        assert_eq!((found.refused, found.very_short), (1, 2));
        assert_eq!(
            (found.template_chars, found.template_tokens),
            (Some(90), Some(20))
        );
        let second = found.groups[1];
        assert_eq!(
            (second.chars_mean, second.tokens_mean),
            (Some(44.0), Some(11.0))
        );
        assert!((second.tokens_per_s_mean.unwrap() - 100.0).abs() < 1e-6);
        assert!((second.e2e_mean_ms.unwrap() - 110.0).abs() < 1e-6);
        assert_eq!(found.groups[2].chars_mean, None);
    }

    #[test]
    fn a_wish_in_words_is_no_length_to_doubt() {
        assert_eq!(continued(&[2; 64]).doubt(DoubtCode::OutputLengths), None);
        assert_eq!(MadeUp::closed(2, 8).summary().continuation, None);
    }
}
