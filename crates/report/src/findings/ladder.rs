//! What a ladder shows: where it saturates, and from where on requests fail.

use super::{Finding, FindingKind, axis_in_words, some};
use inferometer_campaign::knee::{KneeBasis, knee, still_rising};
use inferometer_chart::measured::MeasuredPoint;
use inferometer_chart::measured::ladder::{LoadLadder, UsualPrompts, rates};
use inferometer_core::doubt::{DoubtCode, Severity};
use inferometer_core::summary::Summary;
use inferometer_message::FindingText as Text;
use inferometer_page::number::{self, whole_or_brief as level};
use inferometer_text::Lang;
use inferometer_text::punctuation::PunctuationText;

/// Chance of a false start of failures.
const RISK: f64 = 0.05;
const MOST_LOADS: usize = 4;

/// A claim about one ladder of several.
fn named(text: String, ladder: &LoadLadder<'_>, lang: Lang) -> String {
    if ladder.name.is_empty() {
        return text;
    }
    Text::Of.with(lang, &[("text", text), ("ladder", ladder.name.clone())])
}

/// The loads of a ladder in ascending order.
fn climbed<'a>(ladder: &LoadLadder<'a>) -> Vec<(f64, &'a MeasuredPoint<'a>)> {
    let mut rungs: Vec<(f64, &MeasuredPoint<'_>)> = (ladder.points.iter())
        .filter_map(|&row| Some((row.number(ladder.axis)?, row)))
        .collect();
    rungs.sort_by(|a, b| a.0.total_cmp(&b.0));
    rungs
}

/// Where nearly all of the highest output throughput is reached, by the valid runs; and what the
/// table has that would speak against it, with why it does not.
pub(super) fn saturation(ladder: &LoadLadder<'_>, lang: Lang) -> Option<Finding> {
    let rates = rates(ladder.axis, &ladder.points);
    let most = rates.iter().map(|(_, rates)| mean(rates));
    let most = most.fold(0.0, f64::max);
    let measured = ladder.points.iter().flat_map(|row| row.summaries());
    let usual = UsualPrompts::of(measured);
    let left_out = climbed(ladder).into_iter().filter_map(|(load, row)| {
        let rate = row.tokens_per_s()?;
        let has_others = row.shown().into_iter().any(|it| usual.are_not_those_of(it));
        let why = if has_others {
            Text::BecauseOtherPrompts
        } else {
            why_left_out(row).filter(|_| rate > most)?
        };
        let why = why.text(lang).to_owned();
        let values = [
            ("rate", number::grouped(rate, 1)),
            ("load", level(load)),
            ("why", why),
        ];
        Some(Text::NotOfLadder.with(lang, &values))
    });
    let mut found = saturation_by(&rates, ladder, lang)?;
    let waiting = waiting(ladder, lang);
    let evidence = std::iter::once(found.evidence).chain(left_out);
    let evidence = evidence.chain(waiting.iter().map(|(_, evidence)| evidence.clone()));
    found.evidence = PunctuationText::Semicolon.join(lang, &evidence.collect::<Vec<_>>());
    if let Some((text, _)) = waiting {
        found.text = PunctuationText::Semicolon.join(lang, &[found.text, text]);
    }
    Some(found)
}

/// How many times as long first tokens take from one load to the next where requests begin to wait
/// for a place.
const LEAST_WAIT: f64 = 3.0;
/// Share of the streams that must wait.
const LEAST_WAITING: f64 = 0.15;

/// The load from which on requests wait for a place, and how many have one: by Little's law what is
/// served at a time, a first token counted as long as it takes below. Throughput may rise into that
/// load all the same, up to the number of places.
fn waiting(ladder: &LoadLadder<'_>, lang: Lang) -> Option<(String, String)> {
    if ladder.axis != "concurrency" {
        return None;
    }
    let figures = climbed(ladder).into_iter().filter_map(|(load, row)| {
        let ttft = row.mean(|it| Some(it.latency.ttft_ms.as_ref()?.mean))?;
        let e2e = row.mean(|it| Some(it.latency.e2e_ms.as_ref()?.mean))?;
        let per_s = row.mean(|it| it.throughput.requests_per_s)?;
        let sound = row.shown().into_iter().all(Summary::did_the_work);
        let is_known = [ttft, e2e, per_s]
            .iter()
            .all(|it| it.is_finite() && *it > 0.0);
        (sound && is_known && e2e > ttft).then_some((load, ttft, e2e, per_s))
    });
    let figures: Vec<(f64, f64, f64, f64)> = figures.collect();
    figures.windows(2).find_map(|pair| {
        let [(low, before, ..), (load, ttft, e2e, per_s)] = *pair else {
            return None;
        };
        let served = per_s * (e2e - ttft + before) / 1000.0;
        let waits = ttft >= LEAST_WAIT * before * (load / low).max(1.0).sqrt()
            && served < (1.0 - LEAST_WAITING) * load;
        let values = [
            ("load", level(load)),
            ("low", level(low)),
            ("served", number::grouped(served, 0)),
            ("before", number::brief(before)),
            ("after", number::brief(ttft)),
        ];
        waits.then(|| {
            (
                Text::RequestsWait.with(lang, &values),
                Text::WaitEvidence.with(lang, &values),
            )
        })
    })
}

/// Why a point that shows a throughput tells nothing of where it ends.
fn why_left_out(row: &MeasuredPoint<'_>) -> Option<Text> {
    let any = |test: fn(&Summary) -> bool| row.shown().into_iter().any(test);
    if any(|summary| !summary.valid) {
        return Some(Text::BecauseInvalid);
    }
    let has = |code: DoubtCode| {
        let mut doubts = row.shown().into_iter().flat_map(|summary| &summary.doubts);
        doubts.any(|doubt| doubt.code == code && doubt.severity > Severity::Note)
    };
    if any(Summary::fails_more_than_a_few) || has(DoubtCode::Failures) {
        return Some(Text::BecauseFailing);
    }
    if has(DoubtCode::DoubtedByAuthor) {
        return Some(Text::BecauseDoubted);
    }
    if any(|summary| !summary.did_the_work()) {
        return Some(Text::BecauseOtherWork);
    }
    any(Summary::is_in_step).then_some(Text::BecauseInStep)
}

fn saturation_by(
    rates: &[(f64, Vec<f64>)],
    ladder: &LoadLadder<'_>,
    lang: Lang,
) -> Option<Finding> {
    let Some(found) = knee(rates) else {
        let rises = || rising(ladder, still_rising(rates)?, lang);
        return overload(ladder, lang).or_else(rises);
    };
    let at = |load: f64| {
        let rung = rates.iter().find(|(known, _)| *known == load)?;
        Some(number::grouped(mean(&rung.1), 1))
    };
    let (peak_load, peak) = (rates.iter())
        .map(|(load, rates)| (*load, mean(rates)))
        .reduce(|best, next| if next.1 > best.1 { next } else { best })?;
    let basis = match found.basis {
        KneeBasis::Repeats(count) => Text::OverRepeats.with(lang, &[("count", count.to_string())]),
        KneeBasis::Fits => Text::ByFits.text(lang).to_owned(),
    };
    let text = Text::Knee.with(
        lang,
        &[
            ("axis", axis_in_words(ladder.axis, lang)),
            ("low", level(found.low)),
            ("high", level(found.high)),
            ("load", level(found.about())),
        ],
    );
    let text = match fallen(rates, peak_load, peak) {
        None => text,
        Some((load, share)) => {
            let values = [
                ("axis", axis_in_words(ladder.axis, lang)),
                ("load", level(load)),
                ("share", format!("{} %", number::grouped(100.0 * share, 0))),
            ];
            PunctuationText::Semicolon.join(lang, &[text, Text::Falls.with(lang, &values)])
        }
    };
    let evidence = Text::KneeEvidence.with(
        lang,
        &[
            ("low", level(found.low)),
            ("high", level(found.high)),
            ("before", at(found.low)?),
            ("after", at(found.high)?),
            ("peak", number::grouped(peak, 1)),
            ("peak_load", level(peak_load)),
            ("basis", basis),
        ],
    );
    Some(Finding {
        kind: FindingKind::Knee,
        text: named(text, ladder, lang),
        evidence,
    })
}

fn mean(rates: &[f64]) -> f64 {
    rates.iter().sum::<f64>() / rates.len() as f64
}

/// A loss of throughput beyond the peak that is worth telling.
const LEAST_FALL: f64 = 0.1;

/// The load beyond the peak with the least throughput, and the share of the peak that is lost there.
fn fallen(rates: &[(f64, Vec<f64>)], peak_load: f64, peak: f64) -> Option<(f64, f64)> {
    let beyond = rates.iter().filter(|(load, _)| *load > peak_load);
    let lost = beyond.map(|(load, rates)| (*load, 1.0 - mean(rates) / peak));
    let worst = lost.max_by(|a, b| a.1.total_cmp(&b.1));
    worst.filter(|(_, share)| *share > LEAST_FALL)
}

/// The lowest rate at which the server falls behind the arrivals: what it completes there may be
/// more than below, and it is saturated all the same.
fn overload(ladder: &LoadLadder<'_>, lang: Lang) -> Option<Finding> {
    let is_behind = |row: &MeasuredPoint<'_>| {
        let mut doubts = row.summaries().flat_map(|it| &it.doubts);
        doubts.any(|doubt| doubt.code == DoubtCode::Overload)
    };
    let rungs = climbed(ladder);
    let first = rungs.iter().position(|(_, row)| is_behind(row))?;
    let (load, row) = rungs[first];
    let done = row.mean(|summary| summary.throughput.requests_per_s)?;
    let below = first.checked_sub(1).map(|at| rungs[at].0);
    let values = [
        ("axis", axis_in_words(ladder.axis, lang)),
        ("load", level(load)),
        ("low", below.map(level).unwrap_or_default()),
        ("done", number::brief(done)),
    ];
    let text = match below {
        Some(_) => Text::FallsBehind,
        None => Text::FallsBehindEverywhere,
    };
    Some(Finding {
        kind: FindingKind::Knee,
        text: named(text.with(lang, &values), ladder, lang),
        evidence: Text::FallsBehindEvidence.with(lang, &values),
    })
}

/// A rise into the last load, in percent, below which nobody measures on for throughput.
const LITTLE: f64 = 5.0;

/// No load is high enough: throughput rises into the last.
fn rising(ladder: &LoadLadder<'_>, [before, last]: [(f64, f64); 2], lang: Lang) -> Option<Finding> {
    let axis = axis_in_words(ladder.axis, lang);
    let values = [("axis", axis), ("load", level(last.0))];
    let change = (last.1 / before.1 - 1.0) * 100.0;
    let text = if change < LITTLE {
        Text::RisingALittle
    } else {
        Text::StillRising
    };
    let evidence = [
        ("before", number::grouped(before.1, 1)),
        ("low", level(before.0)),
        ("after", number::grouped(last.1, 1)),
        ("high", level(last.0)),
        ("change", number::change(last.1 / before.1)),
    ];
    Some(Finding {
        kind: FindingKind::Knee,
        text: named(text.with(lang, &values), ladder, lang),
        evidence: Text::RisingEvidence.with(lang, &evidence),
    })
}

/// A score that falls with the load: answers that are right alone and wrong under load are a fault
/// of the engine.
pub(super) fn score(ladder: &LoadLadder<'_>, lang: Lang) -> Option<Finding> {
    let scores: Vec<(f64, f64, [f64; 2])> = climbed(ladder)
        .into_iter()
        .filter_map(|(load, row)| {
            let check = row.shown().into_iter().find_map(|it| it.check.as_ref())?;
            Some((load, check.score?, check.score_interval?))
        })
        .collect();
    let best = (scores.iter()).max_by(|a, b| a.2[0].total_cmp(&b.2[0]))?;
    let falls = |it: &&(f64, f64, [f64; 2])| it.0 > best.0 && it.2[1] < best.2[0];
    let worst = (scores.iter().filter(falls)).min_by(|a, b| a.1.total_cmp(&b.1))?;
    let share = |value: f64| number::grouped(value, 3);
    let values = [
        ("axis", axis_in_words(ladder.axis, lang)),
        ("low", level(best.0)),
        ("high", level(worst.0)),
        ("before", share(best.1)),
        ("after", share(worst.1)),
    ];
    let evidence = [
        (
            "before",
            format!("{}–{}", share(best.2[0]), share(best.2[1])),
        ),
        (
            "after",
            format!("{}–{}", share(worst.2[0]), share(worst.2[1])),
        ),
    ];
    Some(Finding {
        kind: FindingKind::ScoreFalls,
        text: named(Text::ScoreFalls.with(lang, &values), ladder, lang),
        evidence: Text::ScoreEvidence.with(lang, &evidence),
    })
}

/// The requests of one load, valid or not: an invalid run may be one because requests fail.
struct Ended {
    load: f64,
    failed: u64,
    ended: u64,
    classes: Vec<(&'static str, u64)>,
}

fn ended((load, row): (f64, &MeasuredPoint<'_>)) -> Ended {
    let mut known = Ended {
        load,
        failed: 0,
        ended: 0,
        classes: Vec::new(),
    };
    for summary in row.summaries() {
        if summary.requests.missing() > 0 && summary.requests.failed == 0 {
            continue;
        }
        known.failed += summary.requests.failed;
        known.ended += summary.requests.ok + summary.requests.failed;
        for failure in &summary.failures {
            let word = failure.class.into_str();
            match known.classes.iter_mut().find(|(class, _)| *class == word) {
                Some((_, count)) => *count += failure.count,
                None => known.classes.push((word, failure.count)),
            }
        }
    }
    known
        .classes
        .sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    known
}

/// The chance that none of `below` requests fails where they fail as often as these:
/// Fisher's exact test, in which all failures fall to one side.
fn by_chance(below: u64, failing: &Ended) -> f64 {
    let all = below + failing.ended;
    let share = |nth: u64| (failing.ended - nth) as f64 / (all - nth) as f64;
    let mut chance = 1.0;
    for nth in 0..failing.failed.min(failing.ended) {
        chance *= share(nth);
        if chance < RISK {
            break;
        }
    }
    chance
}

/// From which load on requests fail, and how.
pub(super) fn failures(ladder: &LoadLadder<'_>, lang: Lang) -> Option<Finding> {
    let rungs: Vec<Ended> = climbed(ladder)
        .into_iter()
        .map(ended)
        .filter(|rung| rung.ended > 0)
        .collect();
    let first = rungs.iter().position(|rung| rung.failed > 0)?;
    if rungs.len() < 2 {
        return None;
    }
    let (below, above) = rungs.split_at(first);
    let failing: Vec<&Ended> = above.iter().filter(|rung| rung.failed > 0).collect();
    let always = failing.len() == above.len();
    let loads: Vec<String> = failing.iter().map(|rung| level(rung.load)).collect();
    let sent_below: u64 = below.iter().map(|rung| rung.ended).sum();
    let text = match (always, below.is_empty()) {
        (true, false) if by_chance(sent_below, &above[0]) > RISK => Text::FailuresSeen,
        (true, false) => Text::FailuresFrom,
        (true, true) => Text::FailuresEverywhere,
        (false, _) => Text::FailuresScattered,
    };
    let text = text.with(
        lang,
        &[
            ("load", loads[0].clone()),
            ("loads", PunctuationText::Comma.join(lang, &loads)),
            ("axis", axis_in_words(ladder.axis, lang)),
        ],
    );
    let count = |rung: &&Ended| {
        let classes: Vec<String> = (rung.classes.iter())
            .map(|(class, count)| format!("{class} {}", number::count(*count)))
            .collect();
        let values = [
            ("failed", number::count(rung.failed)),
            ("ended", number::count(rung.ended)),
            ("load", level(rung.load)),
            ("classes", PunctuationText::Comma.join(lang, &classes)),
        ];
        // Another tool counts its failures and does not say of which kind they are.
        let text = if classes.is_empty() {
            Text::FailureCountAlone
        } else {
            Text::FailureCount
        };
        text.with(lang, &values)
    };
    let mut pieces: Vec<String> = Vec::new();
    if always && !below.is_empty() {
        pieces.push(Text::NoneBelow.with(lang, &[("ended", number::count(sent_below))]));
    }
    pieces.extend(failing.iter().map(count));
    Some(Finding {
        kind: FindingKind::FailuresFrom,
        text: named(text, ladder, lang),
        evidence: some(&pieces, MOST_LOADS, PunctuationText::Semicolon, lang),
    })
}
