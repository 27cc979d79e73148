//! The definition behind every name of a metric.

use inferometer_message::{
    DefinitionText, FigureText, GlossaryText as Further, MetricText, PageText, SweepText,
};
use inferometer_page::html::Glossary;
use inferometer_text::Lang;

pub fn glossary(lang: Lang) -> Glossary {
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
    Glossary::new(terms)
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
            assert!(glossary(lang).meaning(text).is_some(), "{text}");
        }
        for text in ["", "Model", "lagoon", "reconnect"] {
            assert_eq!(glossary(Lang::En).meaning(text), None, "{text}");
        }
    }

    #[test]
    fn the_longest_name_wins() {
        let glossary = glossary(Lang::En);
        let own = DefinitionText::TtftFromSent.text(Lang::En);
        assert_eq!(glossary.meaning("TTFT from sent"), Some(own));
    }
}
