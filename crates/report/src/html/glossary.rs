//! The definition behind every name of a metric.

use super::element::{attribute, escaped};
use crate::doc::{Block, Doc};
use inferometer_core::message::Lang;
use inferometer_core::message::figures::FigureText;
use inferometer_core::message::glossary::GlossaryText as Further;
use inferometer_core::message::metric::{DefinitionText, MetricText};
use inferometer_core::message::page::PageText;
use inferometer_core::message::sweep::SweepText;

/// Characters by which definitions of one metric begin alike.
const SAME_BEGIN: usize = 8;

/// Names and what they mean, the longest first.
pub(super) struct Glossary {
    terms: Vec<(&'static str, String)>,
}

impl Glossary {
    pub(super) fn new(lang: Lang) -> Self {
        use DefinitionText as Meaning;
        use MetricText as Name;
        let metrics = [
            (Name::Requests, Meaning::Requests),
            (Name::OutputTokens, Meaning::OutputTokens),
            (Name::TotalTokens, Meaning::TotalTokens),
            (Name::Goodput, Meaning::Goodput),
            (Name::Attainment, Meaning::Attainment),
            (Name::InFlight, Meaning::InFlight),
            (Name::PerUser, Meaning::PerUser),
            (Name::Ttft, Meaning::TtftClosed),
            (Name::TtftFromSent, Meaning::TtftFromSent),
            (Name::FirstAnswer, Meaning::FirstAnswer),
            (Name::SecondToken, Meaning::SecondToken),
            (Name::Tpot, Meaning::Tpot),
            (Name::Itl, Meaning::Itl),
            (Name::InterChunk, Meaning::InterChunk),
            (Name::MaxGap, Meaning::MaxGap),
            (Name::E2e, Meaning::E2eClosed),
            (Name::Connect, Meaning::Connect),
            (Name::Lag, Meaning::Lag),
            (Name::CapWait, Meaning::CapWait),
            (Name::Percentiles, Meaning::Percentiles),
            (Name::Interval, Meaning::Interval),
        ];
        let drawn = [
            (FigureText::E2e, Meaning::E2eClosed),
            (FigureText::InFlight, Meaning::InFlight),
            (FigureText::InterChunk, Meaning::InterChunk),
            (FigureText::MaxGap, Meaning::MaxGap),
            (FigureText::PerUser, Meaning::PerUser),
        ];
        let said = |meaning: Meaning| meaning.text(lang).to_owned();
        let mut terms = vec![
            ("req/s", said(Meaning::Requests)),
            ("tok/s", said(Meaning::OutputTokens)),
        ];
        terms.extend(metrics.map(|(name, meaning)| (name.text(lang), said(meaning))));
        terms.extend(drawn.map(|(name, meaning)| (name.text(lang), said(meaning))));
        let further = |name: &'static str, meaning: Further| (name, meaning.text(lang).to_owned());
        terms.extend([
            further(FigureText::Duration.text(lang), Further::Duration),
            further(FigureText::FailedShare.text(lang), Further::Failed),
            further(FigureText::FailedCount.text(lang), Further::FailedCount),
            further(FigureText::Failures.text(lang), Further::FailedCount),
            further(SweepText::Failed.text(lang), Further::FailedCount),
            further(PageText::Failed.text(lang), Further::FailedCount),
            further(PageText::ValidPoints.text(lang), Further::Valid),
            further(PageText::Answer.text(lang), Further::Capacity),
            further(PageText::Interval.text(lang), Further::CapacityInterval),
            further(
                PageText::CompletionSpeed.text(lang),
                Further::CompletionSpeed,
            ),
            further(FigureText::LargestGaps.text(lang), Further::Gap),
            further(FigureText::AllGaps.text(lang), Further::Gap),
            further(FigureText::SteadyState.text(lang), Further::Steady),
        ]);
        terms.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        Glossary { terms }
    }

    /// The same, with the meanings that a document gives itself: those of an open loop differ.
    pub(super) fn with_definitions_of(mut self, doc: &Doc) -> Self {
        let blocks = doc.sections.iter().flat_map(|section| &section.blocks);
        let pairs = blocks.filter_map(|block| match block {
            Block::Pairs(pairs) => Some(pairs),
            _ => None,
        });
        for pair in pairs.flatten() {
            let known = self.terms.iter().find(|(term, _)| *term == pair.key);
            let Some(before) = known.map(|(_, meaning)| meaning.clone()) else {
                continue;
            };
            // A fact may share its key with a metric; a definition begins as ours does.
            let begins = |text: &str| text.chars().take(SAME_BEGIN).collect::<String>();
            if begins(&pair.value) != begins(&before) {
                continue;
            }
            for (_, meaning) in &mut self.terms {
                if *meaning == before {
                    meaning.clone_from(&pair.value);
                }
            }
        }
        self
    }

    /// The text, with the meaning of the metric that it names.
    pub(super) fn explained(&self, text: &str) -> String {
        match self.meaning(text) {
            Some(meaning) => format!(
                "<abbr tabindex=\"0\" title=\"{0}\" data-meaning=\"{0}\">{1}</abbr>",
                attribute(meaning),
                escaped(text)
            ),
            None => escaped(text),
        }
    }

    fn meaning(&self, text: &str) -> Option<&str> {
        // Within a longer name a metric begins with a small letter.
        let text = text.to_ascii_lowercase();
        let names = |term: &str| {
            let inside = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
            let term = term.to_ascii_lowercase();
            text.match_indices(&term).any(|(at, _)| {
                let before = text[..at].chars().next_back();
                let after = text[at + term.len()..].chars().next();
                !inside(before) && !inside(after)
            })
        };
        let found = self.terms.iter().find(|(term, _)| names(term));
        found.map(|(_, meaning)| meaning.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_explained_wherever_it_stands_and_nothing_else_is() {
        for (lang, text) in [
            (Lang::En, "TTFT p99"),
            (Lang::En, "Output throughput (tok/s)"),
            (Lang::En, "End-to-end latency, p90"),
            (Lang::Zh, "首 token 时延 TTFT"),
            (Lang::Zh, "端到端时延 均值"),
        ] {
            assert!(Glossary::new(lang).meaning(text).is_some(), "{text}");
        }
        for text in ["", "Model", "lagoon", "reconnect"] {
            assert_eq!(Glossary::new(Lang::En).meaning(text), None, "{text}");
        }
    }

    #[test]
    fn the_longest_name_wins() {
        let glossary = Glossary::new(Lang::En);
        let own = DefinitionText::TtftFromSent.text(Lang::En);
        assert_eq!(glossary.meaning("TTFT from sent"), Some(own));
    }
}
