//! Findings: sentences that rules write from the data, each with the numbers that support it.
//! Where the data cannot carry a claim, a rule is silent.

mod configurations;
mod estimate;
mod extremes;
mod grid;
mod ladder;
mod run;

pub(crate) use extremes::extremes;

use inferometer_campaign::knee::{Knee, knee};
use inferometer_chart::measured::MeasuredPoints;
use inferometer_chart::measured::ladder::{LoadLadder, ladders, rates};
use inferometer_core::summary::Summary;
use inferometer_message::FindingText as Text;
use inferometer_page::doc::{Pair, Section};
use inferometer_text::punctuation::PunctuationText;
use inferometer_text::{Lang, texts};
use serde::Serialize;

/// Findings that a report tells; the list is to be short.
const MOST: usize = 12;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub kind: FindingKind,
    pub text: String,
    pub evidence: String,
}

texts! {
    #[derive(Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum FindingKind {
        /// The lowest load with nearly all of the highest throughput.
        Knee => "Saturation", "饱和点";
        /// From which load on requests fail.
        FailuresFrom => "Failures", "失败";
        /// A load that the memory of the cards did not suffice for.
        OutOfMemory => "Out of memory", "显存不足";
        /// Answers that are worse under load.
        ScoreFalls => "Wrong answers under load", "负载下的错误回答";
        /// The cell of a grid with the lowest throughput.
        LeastEfficient => "Lowest throughput", "吞吐量最低";
        /// A setting that is far worse than another.
        LargeDifference => "Large difference", "差异悬殊";
        /// A setting that is better than the others, or several that are.
        Winner => "Better setting", "更优配置";
        /// Settings between which no difference is seen.
        NoDifference => "No difference seen", "未见差异";
        /// Pauses that percentiles do not show.
        HiddenStalls => "Hidden stalls", "被掩盖的卡顿";
        /// What became of requests that the client gave up.
        Cancelled => "Cancelled requests", "被取消的请求";
        /// A model or an adapter that was loaded by its first request.
        ColdModel => "Cold models", "冷加载的模型";
        LostRequests => "Lost requests", "丢失的请求";
        /// The server could not be reached for a time.
        ServerAway => "Server away", "服务端离线";
        ClientBottleneck => "Client", "客户端";
    }
}

/// What one run shows, or one result of another tool.
pub fn of_run(summary: &Summary, lang: Lang) -> Vec<Finding> {
    [
        run::lost(summary, lang),
        run::away(summary, lang),
        run::client(summary, lang),
        run::stalls(summary, lang),
        run::cold(summary, lang),
        run::cancelled(summary, lang),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// What the points of a sweep or an import show together.
pub(crate) fn of_points(measured: &MeasuredPoints<'_>, lang: Lang) -> Vec<Finding> {
    let (axes, points) = (measured.axes, measured.points.as_slice());
    // What is far worse is told before anything that is a little better.
    let mut findings = configurations::large_differences(axes, points, lang);
    for ladder in ladders(measured) {
        findings.extend(ladder::saturation(&ladder, lang));
        findings.extend(ladder::failures(&ladder, lang));
        findings.extend(ladder::score(&ladder, lang));
    }
    findings.extend(grid::least(axes, points, lang));
    findings.extend(configurations::settings(axes, points, lang));
    findings.extend(run::across(points, lang));
    findings
}

/// The name of an axis inside a sentence.
pub(crate) fn axis_in_words(axis: &str, lang: Lang) -> String {
    match (axis, lang) {
        ("concurrency", _) => Text::OnConcurrency.text(lang).to_owned(),
        ("rate", _) => Text::OnRate.text(lang).to_owned(),
        (other, Lang::En) => other.to_owned(),
        // A Latin word among Chinese ones stands apart.
        (other, Lang::Zh) => format!(" {other}"),
    }
}

/// The ladders of a sweep that have a knee, each with it.
pub(crate) fn knees<'a>(measured: &'a MeasuredPoints<'a>) -> Vec<(LoadLadder<'a>, Knee)> {
    let knee = |ladder: LoadLadder<'a>| {
        let found = knee(&rates(ladder.axis, &ladder.points))?;
        Some((ladder, found))
    };
    ladders(measured).into_iter().filter_map(knee).collect()
}

/// The section of a report; absent where there is nothing to say.
pub fn section(findings: &[Finding], lang: Lang) -> Option<Section> {
    let pair = |finding: &Finding| {
        let values = [
            ("text", finding.text.clone()),
            ("more", finding.evidence.clone()),
        ];
        let said = PunctuationText::InBrackets.with(lang, &values);
        Pair::new(finding.kind.text(lang), said)
    };
    let mut pairs: Vec<Pair> = findings.iter().take(MOST).map(pair).collect();
    if findings.len() > MOST {
        let more = (findings.len() - MOST).to_string();
        pairs.push(Pair::new("…", Text::More.with(lang, &[("count", more)])));
    }
    (!pairs.is_empty()).then(|| Section::headed(Text::Heading.text(lang), [pairs]))
}

/// Some of many pieces of evidence, and how many more there are.
pub(crate) fn some(pieces: &[String], most: usize, between: PunctuationText, lang: Lang) -> String {
    let mut shown: Vec<String> = pieces.iter().take(most).cloned().collect();
    if let more @ 1.. = pieces.len().saturating_sub(most) {
        shown.push(Text::More.with(lang, &[("count", more.to_string())]));
    }
    between.join(lang, &shown)
}
