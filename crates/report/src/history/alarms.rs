//! What of a history a CI service or a watch is told.

use super::{broken_text, name, sentence};
use inferometer_campaign::history::{History, LEAST, MetricHistory, Timeline};
use inferometer_chart::metric_name::narrow_name as metric;
use inferometer_message::{HistoryText, WatchText};
use inferometer_page::checks::{Check, Checks, Outcome};
use inferometer_text::Lang;

/// The history as checks for a CI service: one for each metric of each timeline, which fails where
/// its latest change is for the worse.
pub fn checks(history: &History, lang: Lang) -> Checks {
    let check = |timeline: &Timeline, metrics: &MetricHistory| {
        let few = timeline.runs.len() < LEAST;
        let (outcome, text) = match metrics.changes.last() {
            Some(change) if change.worse => (Outcome::Failed, sentence(metrics, change, lang)),
            Some(change) => (Outcome::Passed, sentence(metrics, change, lang)),
            None if few => {
                let needed = [("needed", LEAST.to_string())];
                (Outcome::Undecided, HistoryText::Needed.with(lang, &needed))
            }
            None => (Outcome::Passed, HistoryText::Steady.text(lang).to_owned()),
        };
        Check {
            group: name(timeline),
            name: metric(metrics.metric, lang),
            outcome,
            text,
        }
    };
    let mut checks = Vec::new();
    for timeline in &history.timelines {
        checks.extend(timeline.broken.iter().map(|broken| Check {
            group: name(timeline),
            name: HistoryText::Validity.text(lang).to_owned(),
            outcome: Outcome::Failed,
            text: broken_text(broken, lang),
        }));
        checks.extend(timeline.metrics.iter().map(|it| check(timeline, it)));
    }
    Checks {
        name: "inferometer history".to_owned(),
        checks,
    }
}

/// A metric whose latest change is for the worse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worsened {
    /// The same as long as there is no further change.
    pub key: String,
    pub text: String,
}

pub fn worsened(history: &History, lang: Lang) -> Vec<Worsened> {
    let mut all = Vec::new();
    for timeline in &history.timelines {
        if let Some(broken) = &timeline.broken {
            let scenario = name(timeline);
            let change = broken_text(broken, lang);
            all.push(Worsened {
                key: format!("{scenario} broken {}", broken.started),
                text: WatchText::Worse.with(lang, &[("scenario", scenario), ("change", change)]),
            });
        }
        let latest = (timeline.metrics.iter()).filter_map(|it| Some((it, it.changes.last()?)));
        for (metrics, change) in latest.filter(|(_, change)| change.worse) {
            let scenario = name(timeline);
            let (metric, count) = (metrics.metric, metrics.changes.len());
            all.push(Worsened {
                key: format!("{scenario} {metric} {count}"),
                text: WatchText::Worse.with(
                    lang,
                    &[
                        ("scenario", scenario),
                        ("change", sentence(metrics, change, lang)),
                    ],
                ),
            });
        }
    }
    all
}
