//! What settings show against each other: which is better, and where no difference is seen.

use super::estimate::{Compared, Estimate};
use super::{Finding, FindingKind, some};
use inferometer_chart::measured::{MeasuredPoint, groups, is_load, is_work};
use inferometer_compare::Settings;
use inferometer_core::summary::Summary;
use inferometer_message::FindingText as Text;
use inferometer_page::number;
use inferometer_text::Lang;
use inferometer_text::punctuation::PunctuationText;
use std::cmp::Ordering;

/// Comparisons that are told as evidence.
const MOST_POINTS: usize = 3;
pub(super) const MOST_SETTINGS: usize = 6;

/// Axes that say how long a point is measured, not what is measured.
pub(super) const EXTENT: [&str; 3] = ["requests", "duration", "warmup"];

/// One metric of several settings at one load and length.
struct Contest {
    /// Load and lengths; empty where these do not vary.
    point: String,
    /// Name and estimate of each setting, the best first.
    ranked: Vec<(String, Estimate)>,
    /// Several may win: of settings of several flags, one flag by itself tells more.
    may_tie: bool,
}

impl Contest {
    /// How many settings share the first place: not clearly apart from the best, and all of
    /// them clearly apart from all others.
    fn leaders(&self) -> Option<usize> {
        let (best, _) = self.ranked.split_first()?;
        let tied = |(_, other): &&(String, Estimate)| !other.separate(&best.1);
        let (first, others) = self
            .ranked
            .split_at(self.ranked.iter().take_while(tied).count());
        let apart = |(_, a): &(String, Estimate)| others.iter().all(|(_, b)| a.separate(b));
        let counts = first.len() == 1 || self.may_tie;
        (counts && !others.is_empty() && first.iter().all(apart)).then_some(first.len())
    }

    /// The setting, or the settings, that are clearly apart from all others.
    fn winner(&self, lang: Lang) -> Option<String> {
        let mut names: Vec<&str> = (self.ranked[..self.leaders()?].iter())
            .map(|(name, _)| name.as_str())
            .collect();
        names.sort_unstable();
        let or = |a: String, b: &str| Text::Or.with(lang, &[("a", a), ("b", b.to_owned())]);
        let (first, others) = names.split_first()?;
        Some(others.iter().fold((*first).to_owned(), |a, b| or(a, b)))
    }

    /// No two settings are clearly apart.
    fn is_level(&self) -> bool {
        let apart = |(at, (_, a)): (usize, &(String, Estimate))| {
            self.ranked[at + 1..].iter().any(|(_, b)| a.separate(b))
        };
        !self.ranked.iter().enumerate().any(apart)
    }

    /// How far the best is from the worst, as a share of the best.
    fn distance(&self) -> f64 {
        match (self.ranked.first(), self.ranked.last()) {
            (Some((_, best)), Some((_, worst))) => (worst.value - best.value).abs() / best.value,
            _ => 0.0,
        }
    }
}

/// Axes of the load and of the work, and those of settings.
pub(super) fn loads_and_settings(axes: &[String]) -> (Vec<&String>, Vec<&String>) {
    (axes.iter())
        .filter(|axis| !EXTENT.contains(&axis.as_str()))
        .partition(|axis| is_load(axis) || is_work(axis))
}

/// Winners and ties for TTFT, ITL and throughput.
pub(super) fn settings<'a>(
    axes: &'a [String],
    rows: &'a [MeasuredPoint<'a>],
    lang: Lang,
) -> Vec<Finding> {
    let (fixed, varied) = loads_and_settings(axes);
    if varied.is_empty() {
        return Vec::new();
    }
    let all = Contests::of(rows, &fixed, &varied);
    // Where settings as a whole show nothing, one flag may still: each by itself, the others held.
    let each: Vec<Contests<'_>> = match varied.as_slice() {
        [_] => Vec::new(),
        several => (several.iter())
            .map(|&axis| {
                let held = several.iter().filter(|other| **other != axis);
                let held: Vec<&String> = fixed.iter().chain(held).copied().collect();
                Contests::of(rows, &held, &[axis])
            })
            .collect(),
    };
    (Compared::ALL.into_iter())
        .flat_map(|compared| match all.finding(compared, lang) {
            Some(finding) => vec![finding],
            None => (each.iter())
                .filter_map(|axis| axis.finding(compared, lang))
                .collect(),
        })
        .collect()
}

/// Settings against each other at every load and length.
struct Contests<'a> {
    /// The rows that are compared with each other, by what they have in common.
    fields: Vec<(String, Vec<&'a MeasuredPoint<'a>>)>,
    varied: Vec<&'a String>,
}

impl<'a> Contests<'a> {
    fn of(rows: &'a [MeasuredPoint<'a>], held: &[&String], varied: &[&'a String]) -> Self {
        Contests {
            fields: groups(rows, |row| row.name(held)),
            varied: varied.to_vec(),
        }
    }

    fn contest(
        &self,
        compared: Compared,
        (point, rows): &(String, Vec<&'a MeasuredPoint<'a>>),
    ) -> Option<Contest> {
        // In an open loop throughput follows the plan of arrivals.
        let given =
            compared == Compared::Throughput && rows.iter().any(|row| row.point.is_open_loop());
        let mut ranked: Vec<(String, Estimate)> = (counted(rows).into_iter())
            .filter_map(|row| {
                let name = row.name(&self.varied);
                Some((name, Estimate::of(row, compared)?))
            })
            .collect();
        ranked.sort_by(|(_, a), (_, b)| compared.rank(a.value, b.value));
        (ranked.len() > 1 && !given).then(|| Contest {
            point: point.clone(),
            ranked,
            may_tie: self.varied.len() == 1,
        })
    }

    /// A winner, or that there is none; and of how many points that is told.
    fn finding(&self, compared: Compared, lang: Lang) -> Option<Finding> {
        let contests: Vec<Contest> = (self.fields.iter())
            .filter_map(|field| self.contest(compared, field))
            .collect();
        let finding =
            won(compared, &contests, lang).or_else(|| level(compared, &contests, lang))?;
        let mut evidence = vec![finding.evidence];
        if let (FindingKind::Winner, Compared::Throughput, [(_, rows)]) =
            (finding.kind, compared, self.fields.as_slice())
        {
            evidence.extend(per_card(rows, &self.varied, lang));
        }
        evidence.extend(self.left_out(compared, contests.len(), lang));
        Some(Finding {
            evidence: PunctuationText::Semicolon.join(lang, &evidence),
            ..finding
        })
    }

    /// How many points were not compared although they show several settings, and why.
    fn left_out(&self, compared: Compared, told: usize, lang: Lang) -> Option<String> {
        let is_shown = |row: &&&MeasuredPoint<'_>| compared.is_shown(row);
        let fields = (self.fields.iter())
            .filter(|(_, rows)| counted(rows).iter().filter(is_shown).count() > 1)
            .count();
        let count = fields.checked_sub(told).filter(|count| *count > 0)?;
        let lacking = (self.fields.iter())
            .filter(|field| self.contest(compared, field).is_none())
            .flat_map(|(_, rows)| rows);
        let needed = lacking.filter_map(|row| compared.needed(row)).max();
        let text = match needed {
            Some(_) => Text::TooShort,
            None => Text::NotCompared,
        };
        let values = [
            ("count", count.to_string()),
            ("all", fields.to_string()),
            ("needed", number::count(needed.unwrap_or_default())),
        ];
        Some(text.with(lang, &values))
    }
}

/// What misses the objectives where another meets them is no better setting.
fn counted<'a>(rows: &[&'a MeasuredPoint<'a>]) -> Vec<&'a MeasuredPoint<'a>> {
    let is_met = rows.iter().any(|row| row.meets() == Some(true));
    let counts = |row: &&MeasuredPoint<'_>| !is_met || row.meets() != Some(false);
    rows.iter().copied().filter(counts).collect()
}

/// The throughput of the best on each of its cards beside that of another number of cards.
pub(super) fn per_card(
    rows: &[&MeasuredPoint<'_>],
    varied: &[&String],
    lang: Lang,
) -> Option<String> {
    let ranked = ranked(Compared::Throughput, rows);
    let (_, best) = ranked.first()?;
    let cards = |row: &MeasuredPoint<'_>| row.typical()?.cards();
    let each = |row: &MeasuredPoint<'_>| row.mean(Summary::output_tokens_per_s_per_card);
    let others = ranked.iter().map(|(_, row)| *row);
    let others = others.filter(|row| cards(row).is_some() && cards(row) != cards(best));
    let other = others.max_by(|a, b| each(a).unwrap_or(0.0).total_cmp(&each(b).unwrap_or(0.0)))?;
    let values = [
        ("best", best.name(varied)),
        ("best_value", number::grouped(each(best)?, 1)),
        ("best_cards", cards(best)?.to_string()),
        ("other", other.name(varied)),
        ("other_value", number::grouped(each(other)?, 1)),
        ("cards", cards(other)?.to_string()),
    ];
    Some(Text::PerCard.with(lang, &values))
}

/// A difference that needs no interval to be told.
const LARGE: f64 = 2.0;

/// Settings that are far worse than the best: of each metric the worst case.
pub(super) fn large_differences<'a>(
    axes: &'a [String],
    rows: &'a [MeasuredPoint<'a>],
    lang: Lang,
) -> Vec<Finding> {
    let (fixed, varied) = loads_and_settings(axes);
    if varied.is_empty() {
        return Vec::new();
    }
    let fields = groups(rows, |row| row.name(&fixed));
    let of = |compared: Compared| {
        let worst = fields.iter().filter_map(|(point, rows)| {
            let given = compared == Compared::Throughput;
            if given && rows.iter().any(|row| row.point.is_open_loop()) {
                return None;
            }
            let ranked = ranked(compared, rows);
            let (best, worst) = (*ranked.first()?, *ranked.last()?);
            let factor = (best.0 / worst.0).max(worst.0 / best.0);
            // Nobody wants what is far worse in something that differs by more.
            let is_worse_elsewhere = Compared::ALL.into_iter().any(|other| {
                let both = other.plain(best.1).zip(other.plain(worst.1));
                both.is_some_and(|(own, of_worst)| {
                    let ratio = (own / of_worst).max(of_worst / own);
                    other.rank(own, of_worst) == Ordering::Greater && ratio > factor
                })
            });
            (factor >= LARGE && !is_worse_elsewhere).then_some((factor, best, worst, point))
        });
        let (factor, best, worst, point) = worst.max_by(|a, b| a.0.total_cmp(&b.0))?;
        let shown = |value: f64| plain(compared, value);
        let evidence = if point.is_empty() {
            Text::LargeEvidence
        } else {
            Text::LargeEvidenceAt
        };
        Some(Finding {
            kind: FindingKind::LargeDifference,
            text: Text::Large.with(
                lang,
                &[
                    ("metric", metric(compared, lang)),
                    ("factor", number::brief(factor)),
                    ("worst", worst.1.name(&varied)),
                    ("best", best.1.name(&varied)),
                ],
            ),
            evidence: evidence.with(
                lang,
                &[
                    ("worst", shown(worst.0)),
                    ("best", shown(best.0)),
                    ("point", point.clone()),
                ],
            ),
        })
    };
    Compared::ALL.into_iter().filter_map(of).collect()
}

pub(super) fn metric(compared: Compared, lang: Lang) -> String {
    match compared {
        Compared::Ttft => Text::MeanTtft,
        Compared::Itl => Text::MeanItl,
        Compared::Throughput => Text::Throughput,
    }
    .text(lang)
    .to_owned()
}

fn value(compared: Compared, estimate: &Estimate) -> String {
    plain(compared, estimate.value)
}

pub(super) fn plain(compared: Compared, value: f64) -> String {
    match compared {
        Compared::Throughput => format!("{} tok/s", number::grouped(value, 1)),
        Compared::Ttft | Compared::Itl => number::whole_millis(value),
    }
}

/// The rows whose value is known, the best first.
pub(super) fn ranked<'a>(
    compared: Compared,
    rows: &[&'a MeasuredPoint<'a>],
) -> Vec<(f64, &'a MeasuredPoint<'a>)> {
    let known = rows.iter();
    let mut known: Vec<_> = known
        .filter_map(|row| Some((compared.plain(row)?, *row)))
        .collect();
    known.sort_by(|(a, _), (b, _)| compared.rank(*a, *b));
    known
}

fn won(compared: Compared, contests: &[Contest], lang: Lang) -> Option<Finding> {
    let won: Vec<(String, &Contest)> = (contests.iter())
        .filter_map(|contest| Some((contest.winner(lang)?, contest)))
        .collect();
    let mut winners: Vec<(&String, usize)> = Vec::new();
    for (setting, _) in &won {
        match winners.iter_mut().find(|(known, _)| *known == setting) {
            Some((_, count)) => *count += 1,
            None => winners.push((setting, 1)),
        }
    }
    let all_else_level = || {
        let others = contests
            .iter()
            .filter(|contest| contest.leaders().is_none());
        others.into_iter().all(Contest::is_level)
    };
    let count = contests.len().to_string();
    let text = match winners.as_slice() {
        [] => return None,
        [(setting, _)] if is_alone(contests) => {
            let values = [
                ("metric", metric(compared, lang)),
                ("setting", (*setting).to_owned()),
            ];
            Text::Wins.with(lang, &values)
        }
        [(setting, times)] if *times == contests.len() || all_else_level() => {
            let text = if *times == contests.len() {
                Text::WinsEverywhere
            } else {
                Text::WinsAt
            };
            text.with(
                lang,
                &[
                    ("metric", metric(compared, lang)),
                    ("won", times.to_string()),
                    ("count", count),
                    ("setting", (*setting).to_owned()),
                ],
            )
        }
        several => {
            let each: Vec<String> = (several.iter().take(MOST_SETTINGS))
                .map(|(setting, times)| {
                    let values = [
                        ("won", times.to_string()),
                        ("count", count.clone()),
                        ("setting", (*setting).to_owned()),
                    ];
                    Text::WonPoints.with(lang, &values)
                })
                .collect();
            let list = PunctuationText::Comma.join(lang, &each);
            let values = [("metric", metric(compared, lang)), ("settings", list)];
            Text::WinsMixed.with(lang, &values)
        }
    };
    let pieces: Vec<String> = (won.iter())
        .map(|(_, contest)| evidence(compared, contest, lang))
        .collect();
    Some(Finding {
        kind: FindingKind::Winner,
        text,
        evidence: some(&pieces, MOST_POINTS, PunctuationText::Semicolon, lang),
    })
}

/// Settings were compared at one load and length, which need no name.
fn is_alone(contests: &[Contest]) -> bool {
    matches!(contests, [alone] if alone.point.is_empty())
}

/// The best against the next.
fn evidence(compared: Compared, contest: &Contest, lang: Lang) -> String {
    let next = contest.leaders().unwrap_or(1);
    let (best, (name, next)) = (&contest.ranked[0].1, &contest.ranked[next]);
    let text = if contest.point.is_empty() {
        Text::NextEvidence
    } else {
        Text::WinEvidence
    };
    text.with(
        lang,
        &[
            ("best", value(compared, best)),
            ("other", value(compared, next)),
            ("ratio", number::change(best.value / next.value)),
            ("setting", name.clone()),
            ("point", contest.point.clone()),
        ],
    )
}

/// Settings in a sentence: `a and b`, `a; b; c`.
fn all_of(names: &[&str], lang: Lang) -> String {
    match names {
        [a, b] => Text::And.with(lang, &[("a", (*a).to_owned()), ("b", (*b).to_owned())]),
        _ => PunctuationText::Semicolon.join(lang, names),
    }
}

/// Share by which means may differ before nobody would call them alike, however wide their intervals.
const MOST_ALIKE: f64 = 0.1;

/// Nothing is clearly apart anywhere.
fn level(compared: Compared, contests: &[Contest], lang: Lang) -> Option<Finding> {
    let first = contests.first()?;
    if !contests.iter().all(Contest::is_level) {
        return None;
    }
    let mut names: Vec<&str> = first.ranked.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    names.truncate(MOST_SETTINGS);
    let largest = contests.iter().map(Contest::distance).fold(0.0, f64::max);
    Some(Finding {
        kind: FindingKind::NoDifference,
        text: if largest > MOST_ALIKE {
            Text::NotTold
        } else {
            Text::Same
        }
        .with(
            lang,
            &[
                ("metric", metric(compared, lang)),
                ("count", contests.len().to_string()),
                ("settings", all_of(&names, lang)),
            ],
        ),
        evidence: Text::SameEvidence.with(
            lang,
            &[
                ("margin", number::percent(Settings::default().margin)),
                ("share", number::percent(largest)),
            ],
        ),
    })
}
