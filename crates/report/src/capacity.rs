//! A search for capacity as a document: the answer first, then how it was found.

use crate::run::{RunReport, setup, shell_word, typed};
use crate::severity;
use inferometer_campaign::capacity::stored::{
    Capacity, Edge, SearchEnding, StoredProbe, TierCapacity,
};
use inferometer_campaign::capacity::{ProbeVerdict, Purpose};
use inferometer_chart::curve::{Latency, throughput_latency};
use inferometer_chart::ladder::{Ladder, LadderSeries};
use inferometer_chart::load_level::axis_name;
use inferometer_chart::points::{of_objective, tradeoff};
use inferometer_chart::search::{self, Objective, Search};
use inferometer_chart::{Level, Shown};
use inferometer_compare::Metric;
use inferometer_core::doubt::Severity;
use inferometer_core::scenario::SimClock;
use inferometer_core::slo::{Slo, SloScope};
use inferometer_core::summary::Summary;
use inferometer_message::{CapacityText, FigureText, NoteText, SetupText, SweepText, VerdictText};
use inferometer_page::doc::{
    Block, Cell, Column, Command, Doc, Note, Pair, Section, Table, Tone, Unit, Verdict,
};
use inferometer_page::figure::{Figure, Shape};
use inferometer_page::number;
use inferometer_text::Lang;
use inferometer_text::punctuation::PunctuationText;
use std::path::Path;
use std::time::Duration;

/// With one of its runs, as far as one can be read, of which model and work are told.
pub fn compose(found: &Capacity, run: Option<&RunReport<'_>>, directory: &Path, lang: Lang) -> Doc {
    let mut about = run.map_or_else(Vec::new, |run| setting(run, lang));
    about.extend(pairs(found, lang));
    let mut sections = vec![
        Section::plain([verdict(found, lang)]),
        Section::plain([about]),
    ];
    if !found.tiers.is_empty() {
        sections.push(Section::headed(
            CapacityText::Tiers.text(lang),
            [tiers(found, lang)],
        ));
    }
    if let Some(summary) = &found.confirmed {
        let heading = heading(found, lang);
        let heading = heading.as_str();
        sections.push(Section::headed(heading, [confirmed(summary, lang)]));
        let doubts = summary.doubts.iter();
        let doubts = doubts.filter(|doubt| doubt.severity > Severity::Note);
        let notes: Vec<Note> = doubts.map(|doubt| severity::note(doubt, lang)).collect();
        if !notes.is_empty() {
            let heading = VerdictText::Doubts.text(lang);
            sections.push(Section::headed(heading, [Block::Notes(notes)]));
        }
    }
    let heading = CapacityText::Probes.text(lang);
    sections.push(Section::headed(heading, [probes(found, lang)]));
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

/// The command that repeats the search; absent for searches that did not keep it.
fn repeat(found: &Capacity, directory: &Path) -> Option<Vec<String>> {
    if !found.typed.is_empty() {
        return Some(typed(
            &found.typed,
            found.is_unfinished().then_some(directory),
        ));
    }
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
    // Runs that cannot be read are left out, the others have the order of their lines.
    let mut lines = found.probes.iter();
    let mut probes: Vec<(f64, &Summary, ProbeVerdict)> = (probes.iter())
        .map(|(level, summary)| {
            let line = lines.find(|line| line.load() == *level);
            let verdict = line.map_or(ProbeVerdict::Undecided, |line| line.verdict);
            (*level, summary, verdict)
        })
        .collect();
    probes.sort_by(|a, b| a.0.total_cmp(&b.0));
    let levels = probes.iter();
    let levels = levels.map(|&(level, summary, _)| (Level::Number(level), summary));
    let confirmed = found.answer.ending == SearchEnding::Confirmed;
    let over = if counts_sessions(found) {
        unit(found, lang).to_owned()
    } else {
        found.over.clone()
    };
    let ladder = Ladder {
        axis: over.clone(),
        series: vec![LadderSeries {
            label: found.label.clone().unwrap_or_default(),
            work: String::new(),
            points: levels.collect(),
            knee: None,
        }],
        // Probes above the capacity are overloaded, which is the point of them.
        shown: Shown::All,
        capacity: found.answer.value,
        confirmed,
    };
    let mut curve = tradeoff(&ladder);
    curve.capacity = at_answer(found, &probes);
    curve.shape = Shape::Scatter;
    let objective = binding(found);
    if let Some(Objective::Limit(slo)) = &objective
        && let Some(metric) = limited(slo)
    {
        let limit = slo.limit.0.as_secs_f64() * 1e3;
        (curve.latency, curve.objective) = (Latency::Usual(metric), Some((slo.to_string(), limit)));
    }
    let search = Search {
        over: &over,
        label: found.label.as_deref(),
        probes,
        objective,
        capacity: found.answer.value,
        confirmed,
        interval: found.answer.low.zip(found.answer.high),
        tiers: (found.tiers.iter())
            .filter(|tier| tier.tier != found.answer.tier)
            .filter_map(|tier| Some((tier.tier.as_deref()?, tier.value?)))
            .collect(),
    };
    let mut figures = vec![
        search::probes(&search, lang),
        throughput_latency(&curve, lang),
    ];
    if found.sim_clock == SimClock::Virtual {
        for figure in &mut figures {
            (figure.footnotes).push(FigureText::Computed.text(lang).to_owned());
        }
    }
    figures
}

/// The objective of the first tier that is missed first, where it can be drawn. The attainment
/// of a run is that of all tiers together.
fn binding(found: &Capacity) -> Option<Objective> {
    let answer = &found.answer;
    let objectives = || answer.objectives.iter();
    let name = answer.binding.as_ref();
    let limits = || objectives().filter_map(|it| it.parse::<Slo>().ok());
    let is_binding = |slo: &Slo| {
        let text = slo.to_string();
        name.is_some_and(|name| text.split('=').next() == Some(name.as_str()))
    };
    let of_a_request = |slo: &Slo| slo.scope == SloScope::Request;
    let limit = limits().find(|slo| is_binding(slo) && !of_a_request(slo));
    let share = || objectives().find_map(|it| it.strip_prefix("attainment=")?.parse::<f64>().ok());
    let unknown = || limits().find(|slo| name.is_none() && !of_a_request(slo));
    match limit.or_else(unknown) {
        Some(limit) => Some(Objective::Limit(limit)),
        None if found.tiers.is_empty() => share().map(Objective::Attainment),
        None => None,
    }
}

/// The metric that an objective limits, where comparisons know it.
fn limited(slo: &Slo) -> Option<Metric> {
    of_objective(slo).filter(|_| matches!(slo.scope, SloScope::Percentile(_)))
}

/// Output tokens per second at the answer: those of the probe nearest to it.
fn at_answer(found: &Capacity, probes: &[(f64, &Summary, ProbeVerdict)]) -> Option<f64> {
    let answer = found.answer.value?;
    let nearest = probes
        .iter()
        .min_by(|a, b| (a.0 - answer).abs().total_cmp(&(b.0 - answer).abs()))?;
    nearest.1.throughput.output_tokens_per_s
}

pub fn json(found: &Capacity) -> String {
    crate::json::render(found)
}

/// The unit of its loads.
pub fn unit(found: &Capacity, lang: Lang) -> &'static str {
    match (found.over.as_str(), counts_sessions(found)) {
        ("rate", false) => Unit::RequestsPerSecond.sign(),
        ("rate", true) => CapacityText::SessionsPerSecond.text(lang),
        (_, false) => CapacityText::Streams.text(lang),
        (_, true) => CapacityText::ConcurrentSessions.text(lang),
    }
}

/// Objectives of jobs are held against whole sessions.
fn counts_sessions(found: &Capacity) -> bool {
    let mut objectives = found.answer.objectives.iter();
    objectives.any(|it| it.parse::<Slo>().is_ok_and(|slo| slo.is_of_sessions()))
}

/// What was counted.
fn counted(found: &Capacity, lang: Lang) -> &'static str {
    if counts_sessions(found) {
        CapacityText::OfSessions.text(lang)
    } else {
        CapacityText::OfRequests.text(lang)
    }
}

/// What was raised, with its unit.
fn over(found: &Capacity, lang: Lang) -> String {
    let (name, unit) = axis_name(&found.over, lang);
    match unit {
        _ if counts_sessions(found) => self::unit(found, lang).to_owned(),
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
    let share = |name, share: Option<f64>| (name, share.map_or(number::ABSENT.to_owned(), percent));
    let values = [
        value("value", answer.value),
        value("low", answer.low),
        value("high", answer.high),
        ("unit", unit(found, lang).to_owned()),
        ("needs", answer.needs.unwrap_or_default().to_string()),
        ("needed", needed(found, lang)),
        ("counted", counted(found, lang).to_owned()),
        (
            "had",
            number::count(answer.long_run.map_or(0, |run| match answer.ending {
                SearchEnding::TooShort => run.sent.unwrap_or(run.requests),
                _ => run.requests,
            })),
        ),
        value("level", answer.long_run.map(|run| run.load())),
        ("runs", runs(found).to_string()),
        share("within", answer.long_run.map(|run| run.within)),
        share("asked", answer.long_run.map(|run| run.asked)),
    ];
    // Why it ended before it was sure.
    let early = match answer.ending {
        SearchEnding::BudgetSpent => Some(CapacityText::BudgetSpent),
        SearchEnding::Unconfirmed => Some(CapacityText::Unconfirmed),
        SearchEnding::Missed => Some(CapacityText::Missed),
        SearchEnding::TooShort if runs(found) > 1 => Some(CapacityText::TooShortTogether),
        SearchEnding::TooShort => Some(CapacityText::TooShort),
        SearchEnding::Interrupted => Some(CapacityText::Interrupted),
        SearchEnding::UnderWay => Some(CapacityText::UnderWay),
        _ => None,
    };
    let (text, tone) = match answer.ending {
        SearchEnding::Confirmed => (CapacityText::Answer, Tone::Good),
        SearchEnding::AtCeiling => (CapacityText::AtLeast, Tone::Good),
        _ if answer.value.is_some() => (CapacityText::Answer, Tone::Caution),
        SearchEnding::NeverMet => (CapacityText::NeverMet, Tone::Bad),
        SearchEnding::TooFewSamples => (CapacityText::TooFew, Tone::Bad),
        SearchEnding::UnderWay => (CapacityText::UnderWay, Tone::Caution),
        _ => (early.unwrap_or(CapacityText::BudgetSpent), Tone::Bad),
    };
    let is_sure = matches!(
        answer.ending,
        SearchEnding::Confirmed | SearchEnding::AtCeiling
    );
    let word = match answer.value {
        Some(_) if is_sure => CapacityText::Found,
        Some(_) => CapacityText::Estimated,
        None => CapacityText::NotFound,
    };
    // An answer that is less than it could be says why, and none what is known all the same.
    let rest = match answer.ending {
        SearchEnding::NeverMet => None,
        _ if answer.value.is_none() => match (answer.low, answer.high) {
            (Some(_), Some(_)) => Some(CapacityText::SoFar),
            (Some(_), None) => Some(CapacityText::SoFarMet),
            (None, Some(_)) => Some(CapacityText::SoFarMissed),
            (None, None) => None,
        },
        _ => early,
    };
    let said = |text: CapacityText| text.with(lang, &values);
    Verdict {
        rest: rest.map_or(String::new(), said),
        ..Verdict::new(word.text(lang), tone, said(text))
    }
}

/// How many long runs tell together.
fn runs(found: &Capacity) -> u32 {
    (found.answer.long_run)
        .and_then(|run| run.runs)
        .unwrap_or(1)
}

/// What would tell, and how long that takes where it is known.
fn needed(found: &Capacity, lang: Lang) -> String {
    let answer = &found.answer;
    let needs = ("needs", number::count(answer.needs.unwrap_or_default()));
    let counted = ("counted", counted(found, lang).to_owned());
    let span = answer.needs_s.map(Duration::try_from_secs_f64);
    match span {
        Some(Ok(span)) => {
            let time = number::time(span);
            CapacityText::NeededTime.with(lang, &[needs, counted, ("time", time)])
        }
        _ => CapacityText::NeededRequests.with(lang, &[needs, counted]),
    }
}

/// A share in percent, to a digit that tells 98.9 from 99.
fn percent(share: f64) -> String {
    format!("{} %", number::grouped(100.0 * share, 1))
}

/// What was asked of which model, at whatever load.
fn setting(run: &RunReport<'_>, lang: Lang) -> Vec<Pair> {
    let run = RunReport { lang, ..*run };
    let pairs = [
        (SetupText::Model, setup::model(&run)),
        (SetupText::Api, setup::api(&run)),
        (SetupText::Work, setup::work(&run)),
    ];
    let known = pairs.into_iter().filter(|(_, value)| !value.is_empty());
    known
        .map(|(name, value)| Pair::new(name.text(lang), value))
        .collect()
}

fn pairs(found: &Capacity, lang: Lang) -> Vec<Pair> {
    let answer = &found.answer;
    let objectives = answer.objectives.join(", ");
    let mut pairs = vec![Pair::new(CapacityText::Objectives.text(lang), objectives)];
    if found.sim_clock == SimClock::Virtual {
        let note = NoteText::VirtualTime.text(lang);
        pairs.push(Pair::new(SetupText::Note.text(lang), note));
    }
    if let Some(binding) = &answer.binding {
        let missed = missed_first(found, binding, lang);
        pairs.push(Pair::new(CapacityText::Binding.text(lang), missed));
    }
    if let Some(edge) = answer.edge {
        let text = match edge {
            Edge::Slope => CapacityText::Slope,
            Edge::Cliff => CapacityText::Cliff,
        };
        pairs.push(Pair::new(CapacityText::Edge.text(lang), text.text(lang)));
    }
    if let (SearchEnding::Confirmed, Some(summary)) = (answer.ending, &found.confirmed) {
        let sent = summary.requests.planned - summary.requests.unsent;
        let run = answer.long_run;
        let sent = run.and_then(|run| run.sent).unwrap_or(sent);
        let known = |load: Option<f64>| load.map_or(number::ABSENT.to_owned(), level);
        let values = [
            ("requests", number::grouped(sent as f64, 0)),
            ("level", known(run.map(|run| run.load()).or(answer.value))),
            ("asked", known(run.map(|run| run.level))),
            ("unit", unit(found, lang).to_owned()),
            ("runs", runs(found).to_string()),
        ];
        let came = run.is_some_and(|run| level(run.load()) != level(run.level));
        let text = if runs(found) > 1 {
            CapacityText::ConfirmedByRuns
        } else if came {
            CapacityText::ConfirmedByArrivals
        } else {
            CapacityText::ConfirmedBy
        };
        let by = text.with(lang, &values);
        pairs.push(Pair::new(CapacityText::Confirmed.text(lang), by));
    }
    let spent = [
        ("spent", number::grouped(found.requests_spent as f64, 0)),
        ("counted", counted(found, lang).to_owned()),
        ("probes", found.probes.len().to_string()),
    ];
    let spent = CapacityText::SpentOn.with(lang, &spent);
    pairs.push(Pair::new(CapacityText::Spent.text(lang), spent));
    pairs
}

/// Which run it is whose numbers are shown: the one that confirms is at the answer or above it, and
/// others need not be near it.
fn heading(found: &Capacity, lang: Lang) -> String {
    let answer = &found.answer;
    let is_sure = matches!(
        answer.ending,
        SearchEnding::Confirmed | SearchEnding::AtCeiling
    );
    let text = if is_sure {
        CapacityText::RunThatConfirms
    } else {
        CapacityText::StrongestRun
    };
    // Of several that tell together the last at the answer is shown.
    let is_it = |probe: &&StoredProbe| {
        let level = answer.long_run.map(|run| run.level);
        probe.purpose == Purpose::Confirm && Some(probe.level) == level
    };
    let load = (found.probes.iter().rfind(is_it)).map(StoredProbe::load);
    let load = load.or(answer.value);
    let values = [
        ("level", load.map_or(number::ABSENT.to_owned(), level)),
        ("unit", unit(found, lang).to_owned()),
    ];
    text.with(lang, &values)
}

/// Of objectives that a request must meet together, those that it misses at the answer.
fn missed_first(found: &Capacity, binding: &str, lang: Lang) -> String {
    let missed = found.missed_first(binding);
    PunctuationText::Comma.join(lang, &missed)
}

fn tiers(found: &Capacity, lang: Lang) -> Table {
    let say = |text: CapacityText| text.text(lang);
    let cell = |value: Option<f64>| Cell::known(value.map(level));
    let row = |tier: &TierCapacity| {
        vec![
            Cell::text(tier.tier.clone().unwrap_or_default()),
            cell(tier.value),
            cell(tier.low),
            cell(tier.high),
            Cell::text(say(ended(tier.ending))),
            Cell::text(match &tier.binding {
                Some(binding) => missed_first(found, binding, lang),
                None => String::new(),
            }),
            Cell::text(tier.objectives.join(", ")),
        ]
    };
    Table::new(
        vec![
            Column::left(say(CapacityText::Tier)),
            Column::right(say(CapacityText::Value)),
            Column::right(say(CapacityText::Low)),
            Column::right(say(CapacityText::High)),
            Column::left(say(CapacityText::Ending)),
            Column::left(say(CapacityText::Binding)),
            Column::wrapped(say(CapacityText::Objectives)),
        ],
        found.tiers.iter().map(row),
    )
}

fn ended(ending: SearchEnding) -> CapacityText {
    match ending {
        SearchEnding::Confirmed => CapacityText::EndedConfirmed,
        SearchEnding::Unconfirmed => CapacityText::EndedUnconfirmed,
        SearchEnding::Missed => CapacityText::EndedMissed,
        SearchEnding::BudgetSpent => CapacityText::EndedBudget,
        SearchEnding::AtCeiling => CapacityText::EndedCeiling,
        SearchEnding::NeverMet => CapacityText::EndedNever,
        SearchEnding::TooFewSamples => CapacityText::EndedFew,
        SearchEnding::TooShort => CapacityText::EndedShort,
        SearchEnding::Interrupted => CapacityText::EndedInterrupted,
        SearchEnding::UnderWay => CapacityText::EndedUnderWay,
    }
}

fn confirmed(summary: &Summary, lang: Lang) -> Table {
    let millis = |value: Option<f64>| Cell::number(value, Unit::Milliseconds, 1);
    let latency = &summary.latency;
    let throughput = &summary.throughput;
    let requests = Cell::number(throughput.requests_per_s, Unit::RequestsPerSecond, 2);
    let input = || Cell::number(throughput.input_tokens_per_s, Unit::TokensPerSecond, 1);
    // Answers that are vectors or scores have no first token.
    let figures: Vec<(&str, Cell)> = match throughput.items_per_s {
        Some(items) => vec![
            ("req/s", requests),
            (
                "items/s",
                Cell::number(Some(items), Unit::ItemsPerSecond, 1),
            ),
            ("input tok/s", input()),
            ("E2E p50", millis(latency.e2e_ms.map(|e2e| e2e.p50))),
            ("E2E p99", millis(latency.e2e_ms.map(|e2e| e2e.p99))),
        ],
        None => vec![
            ("req/s", requests),
            (
                "tok/s",
                Cell::number(throughput.output_tokens_per_s, Unit::TokensPerSecond, 1),
            ),
            ("TTFT p50", millis(latency.ttft_ms.map(|ttft| ttft.p50))),
            ("TTFT p99", millis(latency.ttft_ms.map(|ttft| ttft.p99))),
            ("TPOT p50", millis(latency.tpot_ms.map(|tpot| tpot.p50))),
            ("TPOT p99", millis(latency.tpot_ms.map(|tpot| tpot.p99))),
        ],
    };
    let (titles, cells): (Vec<&str>, Vec<Cell>) = figures.into_iter().unzip();
    Table {
        columns: titles.into_iter().map(Column::right).collect(),
        rows: vec![cells],
        footnotes: vec![SweepText::TimesInMs.text(lang).to_owned()],
    }
}

/// Why a probe was made.
pub fn purpose_text(purpose: Purpose) -> CapacityText {
    match purpose {
        Purpose::Bracket => CapacityText::Bracket,
        Purpose::Bisect => CapacityText::Bisect,
        Purpose::Confirm => CapacityText::Confirm,
    }
}

fn probes(found: &Capacity, lang: Lang) -> Table {
    let say = |text: CapacityText| text.text(lang);
    let purpose = |purpose: Purpose| say(purpose_text(purpose));
    let showed = |verdict: ProbeVerdict| match verdict {
        ProbeVerdict::Met => say(CapacityText::Met),
        ProbeVerdict::Missed => say(CapacityText::ProbeMissed),
        ProbeVerdict::Undecided => say(CapacityText::Undecided),
    };
    let tiers = !found.tiers.is_empty();
    let tier = |probe: &StoredProbe| Cell::text(probe.tier.clone().unwrap_or_default());
    let random = found.probes.iter().any(|probe| probe.offered.is_some());
    let came = |probe: &StoredProbe| Cell::text(level(probe.load()));
    let row = |probe: &StoredProbe| {
        let load = [Cell::text(level(probe.level))];
        let cells = [
            Cell::text(purpose(probe.purpose)),
            Cell::count(probe.requests),
            Cell::text(showed(probe.verdict)),
        ];
        load.into_iter()
            .chain(random.then(|| came(probe)))
            .chain(cells)
            .chain(tiers.then(|| tier(probe)))
            .collect()
    };
    let load = [Column::right(&over(found, lang))];
    let arrived = random.then(|| Column::right(say(CapacityText::Arrived)));
    let columns = [
        Column::left(say(CapacityText::Purpose)),
        Column::right(counted(found, lang)),
        Column::left(say(CapacityText::Said)),
    ];
    let of_tier = tiers.then(|| Column::left(say(CapacityText::Tier)));
    Table {
        columns: (load.into_iter().chain(arrived))
            .chain(columns)
            .chain(of_tier)
            .collect(),
        rows: found.probes.iter().map(row).collect(),
        footnotes: vec![
            CapacityText::ProbesShow.with(lang, &[("counted", counted(found, lang).to_owned())]),
        ],
    }
}
