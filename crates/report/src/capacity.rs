//! A search for capacity as a document: the answer first, then how it was found.

use crate::doc::{Block, Cell, Column, Command, Doc, Pair, Section, Table, Tone, Unit, Verdict};
use crate::figure::curve::{Latency, throughput_latency};
use crate::figure::ladder::{Ladder, LadderSeries};
use crate::figure::level::axis_name;
use crate::figure::search::{self, Search};
use crate::figure::{Figure, Level, Shape, Shown};
use crate::number;
use crate::run::shell_word;
use crate::sweep::tradeoff;
use inferometer_core::capacity::{Capacity, Edge, SearchEnding, TierCapacity};
use inferometer_core::compare::Metric;
use inferometer_core::message::Lang;
use inferometer_core::message::capacity::CapacityText;
use inferometer_core::message::setup::SetupText;
use inferometer_core::message::sweep::SweepText;
use inferometer_core::summary::Summary;
use std::path::Path;

/// The search as a document.
pub fn compose(found: &Capacity, directory: &Path, lang: Lang) -> Doc {
    let mut sections = vec![
        Section::plain(vec![Block::Verdict(verdict(found, lang))]),
        Section::plain(vec![Block::Pairs(pairs(found, lang))]),
    ];
    if !found.tiers.is_empty() {
        let heading = CapacityText::Tiers.text(lang);
        sections.push(Section::headed(
            heading,
            vec![Block::Table(tiers(found, lang))],
        ));
    }
    if let Some(summary) = &found.confirmed {
        let heading = CapacityText::AtTheAnswer.text(lang);
        sections.push(Section::headed(
            heading,
            vec![Block::Table(confirmed(summary, lang))],
        ));
    }
    let heading = CapacityText::Probes.text(lang);
    sections.push(Section::headed(
        heading,
        vec![Block::Table(probes(found, lang))],
    ));
    let saved = Pair::new(
        CapacityText::Saved.text(lang),
        directory.display().to_string(),
    );
    let mut end = vec![Block::Pairs(vec![saved])];
    if let Some(words) = repeat(found, directory) {
        end.push(Block::Command(Command {
            caption: SetupText::Repeat.text(lang).to_owned(),
            words,
        }));
    }
    sections.push(Section::plain(end));
    Doc { sections }
}

/// The command that searches so again; absent for searches that did not keep it.
fn repeat(found: &Capacity, directory: &Path) -> Option<Vec<String>> {
    let probe = found.probes.first().filter(|_| !found.repeat.is_empty())?;
    let scenario = directory.join(&probe.directory).join("scenario.toml");
    let mut words: Vec<String> = ["inferometer", "capacity", "--config"]
        .map(str::to_owned)
        .into();
    words.push(shell_word(&scenario.to_string_lossy()));
    words.extend(found.repeat.iter().map(|word| shell_word(word)));
    Some(words)
}

/// The probes of a search: what was measured at each load, and latency over throughput.
pub fn figures(found: &Capacity, probes: &[(f64, Summary)], lang: Lang) -> Vec<Figure> {
    if probes.is_empty() {
        return Vec::new();
    }
    let mut probes: Vec<(f64, &Summary)> = (probes.iter())
        .map(|(level, summary)| (*level, summary))
        .collect();
    probes.sort_by(|a, b| a.0.total_cmp(&b.0));
    let levels = probes.iter();
    let levels = levels.map(|&(level, summary)| (Level::Number(level), summary));
    let ladder = Ladder {
        axis: found.over.clone(),
        series: vec![LadderSeries {
            label: found.label.clone().unwrap_or_default(),
            points: levels.collect(),
            knee: None,
        }],
        // Probes above the capacity are overloaded, which is the point of them.
        shown: Shown::All,
        capacity: found.answer.value,
    };
    let mut curve = tradeoff(&ladder);
    curve.capacity = at_answer(found, &probes);
    curve.shape = Shape::Scatter;
    let search = Search {
        over: &found.over,
        label: found.label.as_deref(),
        probes,
        latency: match curve.latency {
            Latency::Usual(metric) => metric,
            Latency::Limited(_) => Metric::TtftP99,
        },
        objective: curve.objective.clone(),
        capacity: found.answer.value,
        interval: found.answer.low.zip(found.answer.high),
        tiers: (found.tiers.iter())
            .filter(|tier| tier.tier != found.answer.tier)
            .filter_map(|tier| Some((tier.tier.as_deref()?, tier.value?)))
            .collect(),
    };
    vec![
        search::probes(&search, lang),
        throughput_latency(&curve, lang),
    ]
}

/// Output tokens a second at the answer: those of the probe nearest to it.
fn at_answer(found: &Capacity, probes: &[(f64, &Summary)]) -> Option<f64> {
    let answer = found.answer.value?;
    let nearest = probes
        .iter()
        .min_by(|a, b| (a.0 - answer).abs().total_cmp(&(b.0 - answer).abs()))?;
    nearest.1.throughput.output_tokens_per_s
}

/// The JSON form `inferometer.capacity/1`.
pub fn json(found: &Capacity) -> String {
    crate::json::render(found)
}

fn unit(found: &Capacity) -> &'static str {
    match found.over.as_str() {
        "rate" => Unit::RequestsPerSecond.sign(),
        _ => "",
    }
}

/// What was raised, with its unit.
fn over(found: &Capacity, lang: Lang) -> String {
    let (name, unit) = axis_name(&found.over, lang);
    match unit {
        "" => name,
        unit => format!("{name} ({unit})"),
    }
}

fn level(value: f64) -> String {
    let decimals = match value {
        value if value.fract() == 0.0 => 0,
        value if value >= 100.0 => 0,
        value if value >= 10.0 => 1,
        _ => 2,
    };
    number::grouped(value, decimals)
}

fn verdict(found: &Capacity, lang: Lang) -> Verdict {
    let answer = &found.answer;
    let value = |name, value: Option<f64>| (name, value.map_or(number::ABSENT.to_owned(), level));
    let values = [
        value("value", answer.value),
        value("low", answer.low),
        value("high", answer.high),
        ("unit", unit(found).to_owned()),
        ("needs", answer.needs.unwrap_or_default().to_string()),
    ];
    let (text, tone) = match answer.ending {
        SearchEnding::Confirmed => (CapacityText::Answer, Tone::Good),
        SearchEnding::AtCeiling => (CapacityText::AtLeast, Tone::Good),
        _ if answer.value.is_some() => (CapacityText::Answer, Tone::Caution),
        SearchEnding::NeverMet => (CapacityText::NeverMet, Tone::Bad),
        SearchEnding::TooFewSamples => (CapacityText::TooFew, Tone::Bad),
        SearchEnding::BudgetSpent => (CapacityText::BudgetSpent, Tone::Bad),
        SearchEnding::Unconfirmed => (CapacityText::Unconfirmed, Tone::Bad),
        SearchEnding::Interrupted => (CapacityText::Interrupted, Tone::Bad),
    };
    let word = match answer.value {
        Some(_) => CapacityText::Found,
        None => CapacityText::NotFound,
    };
    // An answer that is less than it could be says why.
    let lacks = match answer.ending {
        _ if answer.value.is_none() => None,
        SearchEnding::BudgetSpent => Some(CapacityText::BudgetSpent),
        SearchEnding::Unconfirmed => Some(CapacityText::Unconfirmed),
        SearchEnding::Interrupted => Some(CapacityText::Interrupted),
        _ => None,
    };
    Verdict {
        word: word.text(lang).to_owned(),
        tone,
        // A load that has no unit leaves no gap before the next mark.
        reason: text
            .with(lang, &values)
            .replace("  ", " ")
            .replace(" ;", ";")
            .replace(" ；", "；"),
        rest: lacks.map_or(String::new(), |text| text.text(lang).to_owned()),
    }
}

fn pairs(found: &Capacity, lang: Lang) -> Vec<Pair> {
    let answer = &found.answer;
    let objectives = answer.objectives.join(", ");
    let mut pairs = vec![Pair::new(CapacityText::Objectives.text(lang), objectives)];
    if let Some(binding) = &answer.binding {
        pairs.push(Pair::new(CapacityText::Binding.text(lang), binding.clone()));
    }
    if let Some(edge) = answer.edge {
        let text = match edge {
            Edge::Slope => CapacityText::Slope,
            Edge::Cliff => CapacityText::Cliff,
        };
        pairs.push(Pair::new(CapacityText::Edge.text(lang), text.text(lang)));
    }
    if let (SearchEnding::Confirmed, Some(summary)) = (answer.ending, &found.confirmed) {
        let requests = number::grouped(summary.requests.ok as f64, 0);
        let by = CapacityText::ConfirmedBy.with(lang, &[("requests", requests)]);
        pairs.push(Pair::new(CapacityText::Confirmed.text(lang), by));
    }
    let spent = [
        ("requests", number::grouped(found.requests_spent as f64, 0)),
        ("probes", found.probes.len().to_string()),
    ];
    let spent = CapacityText::SpentOn.with(lang, &spent);
    pairs.push(Pair::new(CapacityText::Spent.text(lang), spent));
    pairs
}

fn tiers(found: &Capacity, lang: Lang) -> Table {
    let say = |text: CapacityText| text.text(lang);
    let cell = |value: Option<f64>| value.map_or(Cell::Absent, |value| Cell::text(level(value)));
    let row = |tier: &TierCapacity| {
        vec![
            Cell::text(tier.tier.clone().unwrap_or_default()),
            cell(tier.value),
            cell(tier.low),
            cell(tier.high),
            Cell::text(tier.binding.clone().unwrap_or_default()),
            Cell::text(tier.objectives.join(", ")),
        ]
    };
    Table {
        columns: vec![
            Column::left(say(CapacityText::Tier)),
            Column::right(say(CapacityText::Value)),
            Column::right(say(CapacityText::Low)),
            Column::right(say(CapacityText::High)),
            Column::left(say(CapacityText::Binding)),
            Column::wrapped(say(CapacityText::Objectives)),
        ],
        rows: found.tiers.iter().map(row).collect(),
        footnotes: Vec::new(),
    }
}

fn confirmed(summary: &Summary, lang: Lang) -> Table {
    let millis = |value: Option<f64>| Cell::number(value, Unit::Milliseconds, 1);
    let latency = &summary.latency;
    let throughput = &summary.throughput;
    Table {
        columns: [
            "req/s", "tok/s", "TTFT p50", "TTFT p99", "TPOT p50", "TPOT p99",
        ]
        .map(Column::right)
        .to_vec(),
        rows: vec![vec![
            Cell::number(throughput.requests_per_s, Unit::RequestsPerSecond, 2),
            Cell::number(throughput.output_tokens_per_s, Unit::TokensPerSecond, 1),
            millis(latency.ttft_ms.map(|ttft| ttft.p50)),
            millis(latency.ttft_ms.map(|ttft| ttft.p99)),
            millis(latency.tpot_ms.map(|tpot| tpot.p50)),
            millis(latency.tpot_ms.map(|tpot| tpot.p99)),
        ]],
        footnotes: vec![SweepText::TimesInMs.text(lang).to_owned()],
    }
}

fn probes(found: &Capacity, lang: Lang) -> Table {
    let say = |text: CapacityText| text.text(lang);
    let word = |word: &str| match word {
        "bracket" => say(CapacityText::Bracket).to_owned(),
        "bisect" => say(CapacityText::Bisect).to_owned(),
        "confirm" => say(CapacityText::Confirm).to_owned(),
        "meets" => say(CapacityText::Meets).to_owned(),
        "misses" => say(CapacityText::Misses).to_owned(),
        "near" => say(CapacityText::Near).to_owned(),
        other => other.to_owned(),
    };
    Table {
        columns: vec![
            Column::right(&over(found, lang)),
            Column::left(say(CapacityText::Purpose)),
            Column::right(say(CapacityText::Requests)),
            Column::left(say(CapacityText::Said)),
        ],
        rows: (found.probes.iter())
            .map(|probe| {
                vec![
                    Cell::text(level(probe.level)),
                    Cell::text(word(&probe.purpose)),
                    Cell::count(probe.requests),
                    Cell::text(word(&probe.verdict)),
                ]
            })
            .collect(),
        footnotes: Vec::new(),
    }
}
