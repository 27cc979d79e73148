//! The best and the worst setting of a study, what is as good, and what does not count.

use super::configurations::{MOST_SETTINGS, loads_and_settings, metric, per_card, plain, ranked};
use super::estimate::{Compared, Estimate, HALF, answered};
use super::some;
use crate::quality;
use inferometer_chart::measured::{MeasuredPoint, distinct};
use inferometer_compare::Settings;
use inferometer_message::FindingText as Text;
use inferometer_page::doc::Pair;
use inferometer_page::number;
use inferometer_text::Lang;
use inferometer_text::punctuation::PunctuationText;

/// The best and the worst setting in the goal of a study, for its head: output throughput, in an
/// open loop mean TTFT; where there are objectives, the best is the best of those that meet them.
pub(crate) fn extremes<'a>(
    axes: &'a [String],
    rows: &'a [MeasuredPoint<'a>],
    lang: Lang,
) -> Vec<Pair> {
    let (fixed, varied) = loads_and_settings(axes);
    let is_open = rows.iter().any(|row| row.point.is_open_loop());
    let compared = if is_open {
        Compared::Ttft
    } else {
        Compared::Throughput
    };
    let is_judged = rows.iter().any(|row| row.meets().is_some());
    let counts = |row: &&MeasuredPoint<'_>| !is_judged || row.meets() == Some(true);
    let candidates: Vec<&MeasuredPoint<'_>> = rows.iter().filter(counts).collect();
    let best = ranked(compared, &candidates).first().copied();
    let not_counted = not_counted(axes, rows, lang).filter(|_| !varied.is_empty());
    let Some((best, winner)) = best.filter(|_| !varied.is_empty()) else {
        return Vec::from_iter(not_counted);
    };
    let load = winner.name(&fixed);
    let at_load: Vec<&MeasuredPoint<'_>> = (rows.iter())
        .filter(|row| row.name(&fixed) == load)
        .collect();
    let rivals = ranked(compared, &at_load);
    let Some((worst, loser)) = rivals.last().filter(|_| rivals.len() > 1) else {
        return Vec::from_iter(not_counted);
    };
    let shown = |value: f64| plain(compared, value);
    let factor = (best / worst).max(worst / best);
    // Settings that read alike are named together.
    let values = |value: f64, among: &[&MeasuredPoint<'_>]| {
        let alike = among.iter().filter(|row| {
            let own = compared.plain(row).map(&shown);
            own == Some(shown(value)) && row.name(&fixed) == load
        });
        let names: Vec<String> = alike.map(|row| row.name(&varied)).collect();
        [
            ("metric", metric(compared, lang)),
            ("value", shown(value)),
            ("factor", number::brief(factor)),
            ("setting", names.join("; ")),
            ("load", load.clone()),
        ]
    };
    let [best_text, worst_text] = if load.is_empty() {
        [Text::BestSetting, Text::WorstSetting]
    } else {
        [Text::BestSettingAt, Text::WorstSetting]
    };
    let mut pairs = if factor - 1.0 <= Settings::default().margin {
        let values = [
            ("metric", metric(compared, lang)),
            ("margin", number::percent(Settings::default().margin)),
            ("load", load.clone()),
        ];
        let text = if load.is_empty() {
            Text::NoBestSetting
        } else {
            Text::NoBestSettingAt
        };
        let none = text.with(lang, &values);
        vec![Pair::new(Text::BestName.text(lang), none)]
    } else {
        vec![
            Pair::new(
                Text::BestName.text(lang),
                best_text.with(lang, &values(best, &candidates)),
            ),
            Pair::new(
                Text::WorstName.text(lang),
                worst_text.with(lang, &values(*worst, &at_load)),
            ),
        ]
    };
    if factor - 1.0 > Settings::default().margin {
        let chance = chance(compared, [winner, loser], factor, lang);
        let rivals = || as_good(compared, winner, best, &rivals, &varied, lang);
        pairs.extend(chance.or_else(rivals));
        if compared == Compared::Throughput {
            let text = per_card(&candidates, &varied, lang);
            pairs.extend(text.map(|text| Pair::new(Text::PerCardName.text(lang), text)));
        }
    }
    pairs.extend(quality(rows, &varied, lang));
    pairs.extend(not_counted);
    pairs
}

/// That so small a difference may be chance, where a figure does not say how certain it is.
fn chance(
    compared: Compared,
    points: [&MeasuredPoint<'_>; 2],
    factor: f64,
    lang: Lang,
) -> Option<Pair> {
    let share = by_chance(compared, points).filter(|share| factor - 1.0 < *share)?;
    let counts = points.map(answered);
    let is_repeated = points.iter().any(|row| spread(compared, row).is_some());
    let values = [
        ("a", number::count(counts[0])),
        ("b", number::count(counts[1])),
        ("share", number::percent(share)),
    ];
    let text = if is_repeated {
        Text::MayBeChanceOfRepeats
    } else {
        Text::MayBeChance
    };
    let text = text.with(lang, &values);
    Some(Pair::new(Text::MayBeChanceName.text(lang), text))
}

/// Settings behind the best by no more than chance explains, where no figure says how certain it is,
/// or repeats of one of both do.
fn as_good(
    compared: Compared,
    winner: &MeasuredPoint<'_>,
    best: f64,
    rivals: &[(f64, &MeasuredPoint<'_>)],
    varied: &[&String],
    lang: Lang,
) -> Option<Pair> {
    let behind = rivals.iter().filter(|(_, row)| row.point != winner.point);
    let close: Vec<(String, f64)> = behind
        .filter_map(|(value, row)| {
            let share = by_chance(compared, [winner, row])?;
            let factor = (best / value).max(value / best);
            (factor - 1.0 < share).then(|| {
                let name = format!("{} ({})", row.name(varied), plain(compared, *value));
                (name, share)
            })
        })
        .collect();
    let share = close.iter().map(|(_, share)| *share).reduce(f64::max)?;
    let names: Vec<String> = close.into_iter().map(|(name, _)| name).collect();
    let values = [
        (
            "settings",
            some(&names, MOST_SETTINGS, PunctuationText::Semicolon, lang),
        ),
        ("share", number::percent(share)),
    ];
    let mut rows = rivals.iter().map(|(_, row)| *row).chain([winner]);
    let text = if rows.any(|row| spread(compared, row).is_some()) {
        Text::MayBeAsGoodOfRepeats
    } else {
        Text::MayBeAsGood
    };
    let text = text.with(lang, &values);
    Some(Pair::new(Text::MayBeChanceName.text(lang), text))
}

/// How far apart chance alone may bring two points whose figures do not say how certain they are:
/// as `compare` takes it, the error of as many independent requests. Where one was measured several
/// times, single runs of the other differ as much.
fn by_chance(compared: Compared, points: [&MeasuredPoint<'_>; 2]) -> Option<f64> {
    let is_known = |row: &MeasuredPoint<'_>| Estimate::of(row, compared).is_some();
    let spreads = points.into_iter().filter_map(|row| spread(compared, row));
    let spread = spreads.reduce(f64::max);
    if spread.is_none() && points.into_iter().all(is_known) {
        return None;
    }
    let error = points.map(|row| {
        let runs = row.winnable().count().max(1) as f64;
        let between = spread.unwrap_or(0.0).powi(2) / runs;
        let within = if is_known(row) {
            0.0
        } else {
            1.0 / answered(row) as f64
        };
        between + within
    });
    Some((HALF * error.iter().sum::<f64>().sqrt()).exp() - 1.0)
}

/// The standard deviation of a point's logarithms between its repeats; absent without any.
fn spread(compared: Compared, row: &MeasuredPoint<'_>) -> Option<f64> {
    let logs: Vec<f64> = compared.values(row).into_iter().map(f64::ln).collect();
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
    (logs.len() > 1).then(|| (squares / (logs.len() - 1) as f64).sqrt())
}

/// The settings that may change the answers, and not only the speed.
fn quality(rows: &[MeasuredPoint<'_>], varied: &[&String], lang: Lang) -> Option<Pair> {
    let measured = rows.iter().filter(|row| row.summaries().next().is_some());
    let risky = measured.flat_map(|row| {
        let risky = varied
            .iter()
            .filter(|axis| quality::is_risky(axis, &row.text(axis)));
        risky.map(|axis| row.name(&[*axis]))
    });
    quality::may_change_answers(&distinct(risky), lang)
}

/// Points that may be called neither best nor worst.
fn not_counted(axes: &[String], rows: &[MeasuredPoint<'_>], lang: Lang) -> Option<Pair> {
    let all: Vec<&String> = axes.iter().collect();
    let cannot_win = |row: &&MeasuredPoint<'_>| row.summaries().any(|summary| !summary.can_win());
    let out = rows.iter().filter(cannot_win);
    let out: Vec<String> = out.map(|row| row.name(&all)).collect();
    let points = some(&out, MOST_SETTINGS, PunctuationText::Semicolon, lang);
    let told = Text::NotCounted.with(lang, &[("points", points)]);
    (!out.is_empty()).then(|| Pair::new(Text::NotCountedName.text(lang), told))
}
