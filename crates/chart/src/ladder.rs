//! Figures of a ladder: the same work at rising load, for one engine or several.

pub use super::load_level::{Ladder, LadderSeries};
use super::omitted::{self, Shown};

use super::load_level::{Places, axis_in_text, capacity_mark};
use super::metric_name::statistic;
use crate::Level;
use inferometer_campaign::knee::Knee;
use inferometer_core::summary::{Distribution, Summary};
use inferometer_message::FigureText as Text;
use inferometer_page::figure::time_unit::TimeUnit;
use inferometer_page::figure::{
    Colour, Figure, Mark, MarkKind, On, Panel, Sample, Series, Shade, Shape, thin,
};
use inferometer_page::number;
use inferometer_text::Lang;
use std::collections::BTreeSet;

/// A legend from the tags of a run: `MindIE (910B4 8×32G)`; else its label.
pub fn legend(summary: &Summary) -> String {
    let tag = |key: &str| summary.tags.get(key).filter(|value| !value.is_empty());
    let engine = tag("engine").or(summary.label.as_ref());
    let says_cards = |name: &String| name.contains(['×', '*']);
    let cards = tag("cards").filter(|_| !engine.is_some_and(says_cards));
    let device = match (tag("device"), cards) {
        (Some(device), Some(cards)) if !device.contains(['×', 'x', '*']) => {
            Some(format!("{device} ×{cards}"))
        }
        (Some(device), _) => Some(device.clone()),
        // A number of cards names nothing by itself.
        (None, Some(cards)) if engine.is_some() => Some(format!("×{cards}")),
        (None, Some(_)) => None,
        (None, None) => None,
    };
    match (engine, device) {
        (Some(engine), Some(device)) => format!("{engine} ({device})"),
        (Some(engine), None) => engine.clone(),
        (None, device) => device.unwrap_or_default(),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Drawn {
    Duration,
    Qps,
    Throughput,
    Latency,
    P50,
    P90,
    Ttft,
    Tpot,
    Failed,
    FailedCount,
}

impl Drawn {
    fn title(self, lang: Lang) -> String {
        let mean = |of: Text| statistic(of, None, lang);
        let percentile = |p: &str| statistic(Text::E2e, Some(p), lang);
        match self {
            Drawn::Duration => Text::Duration.text(lang).to_owned(),
            Drawn::Qps => Text::RequestThroughput.text(lang).to_owned(),
            Drawn::Throughput => Text::OutputThroughput.text(lang).to_owned(),
            Drawn::Latency => mean(Text::E2e),
            Drawn::P50 => percentile("p50"),
            Drawn::P90 => percentile("p90"),
            Drawn::Ttft => mean(Text::Ttft),
            Drawn::Tpot => mean(Text::Tpot),
            Drawn::Failed => Text::FailedShare.text(lang).to_owned(),
            Drawn::FailedCount => Text::FailedCount.text(lang).to_owned(),
        }
    }

    /// Value and interval; times in milliseconds.
    fn of(self, summary: &Summary) -> (Option<f64>, Option<[f64; 2]>) {
        let rate = &summary.throughput;
        type Of = fn(&Distribution) -> (f64, Option<[f64; 2]>);
        let time = |sample: Option<Distribution>, of: Of| {
            let found = sample.as_ref().map(of);
            (found.map(|found| found.0), found.and_then(|found| found.1))
        };
        let latency = &summary.latency;
        let e2e = |of: Of| time(latency.e2e_ms, of);
        let mean: Of = |sample| (sample.mean, sample.mean_interval);
        match self {
            Drawn::Duration => (summary.window_s.map(|seconds| 1e3 * seconds), None),
            Drawn::Qps => (rate.requests_per_s, rate.requests_per_s_interval),
            Drawn::Throughput => (rate.output_tokens_per_s, rate.output_tokens_per_s_interval),
            Drawn::Latency => e2e(mean),
            Drawn::Ttft => time(latency.ttft_ms, mean),
            Drawn::Tpot => time(latency.tpot_ms, mean),
            Drawn::P50 => e2e(|sample| (sample.p50, sample.p50_interval)),
            Drawn::P90 => e2e(|sample| (sample.p90, None)),
            Drawn::Failed => (failed_percent(summary), None),
            Drawn::FailedCount => (ended(summary).map(|_| summary.requests.failed as f64), None),
        }
    }

    /// The levels that are drawn. One is often INVALID because of its failures, which are the point
    /// of a panel of failures.
    fn shown(self, shown: Shown) -> Shown {
        match self {
            Drawn::Failed | Drawn::FailedCount => Shown::All,
            _ => shown,
        }
    }

    fn is_time(self) -> bool {
        matches!(
            self,
            Drawn::Duration | Drawn::Latency | Drawn::P50 | Drawn::P90 | Drawn::Ttft | Drawn::Tpot
        )
    }

    fn unit(self) -> &'static str {
        match self {
            Drawn::Qps => "req/s",
            Drawn::Throughput => "tok/s",
            Drawn::Failed => "%",
            _ => "",
        }
    }
}

/// Requests that ended; absent if none did, or it is not known how some of them ended.
fn ended(summary: &Summary) -> Option<f64> {
    let accounts = summary.requests;
    let ended = accounts.ok + accounts.failed + accounts.cut;
    (ended > 0 && accounts.missing() == 0).then_some(ended as f64)
}

/// Failed requests in percent of those that ended.
fn failed_percent(summary: &Summary) -> Option<f64> {
    Some(100.0 * summary.requests.failed as f64 / ended(summary)?)
}

/// The six panels: duration, QPS, latency, throughput, p50 and p90 over the levels.
pub fn sheet(ladder: &Ladder<'_>, lang: Lang) -> Figure {
    let title = match ladder.axis.as_str() {
        "concurrency" | "rate" => Text::Ladder.text(lang).to_owned(),
        other => Text::OverAxis.with(lang, &[("axis", axis_in_text(other, lang))]),
    };
    let drawn = [
        Drawn::Duration,
        Drawn::Qps,
        Drawn::Latency,
        Drawn::Throughput,
        Drawn::P50,
        Drawn::P90,
    ];
    figure("ladder", title, ladder, &drawn, lang)
}

/// The failure panel: share and number of failed requests over the levels.
pub fn failures(ladder: &Ladder<'_>, lang: Lang) -> Figure {
    let drawn = [Drawn::Failed, Drawn::FailedCount];
    // All levels are drawn, and none is named as left out.
    let ladder = Ladder {
        shown: Shown::All,
        ..ladder.clone()
    };
    let title = Text::LadderFailures.text(lang).to_owned();
    figure("ladder-failures", title, &ladder, &drawn, lang)
}

/// Whether each series says its engine, and each another one.
fn are_engines(ladder: &Ladder<'_>) -> bool {
    let engine = |series: &LadderSeries<'_>| {
        let mut points = series.points.iter();
        points.find_map(|(_, summary)| summary.tags.get("engine").cloned())
    };
    let engines: Option<BTreeSet<String>> = ladder.series.iter().map(engine).collect();
    engines.is_some_and(|engines| engines.len() == ladder.series.len())
}

/// Several sides: QPS, latency, throughput, TTFT, TPOT and failures over the levels.
pub fn overlay(ladder: &Ladder<'_>, lang: Lang) -> Figure {
    let drawn = [
        Drawn::Qps,
        Drawn::Latency,
        Drawn::Throughput,
        Drawn::Ttft,
        Drawn::Tpot,
        Drawn::Failed,
    ];
    let title = if are_engines(ladder) {
        Text::Overlay
    } else {
        Text::SideBySide
    };
    figure("overlay", title.text(lang).to_owned(), ladder, &drawn, lang)
}

/// QPS and throughput divided by the number of cards; absent where none has more than one.
pub fn overlay_per_card(ladder: &Ladder<'_>, lang: Lang) -> Option<Figure> {
    let shared = |series: &LadderSeries<'_>| cards(series).is_some_and(|cards| cards > 1.0);
    if !ladder.series.iter().any(shared) {
        return None;
    }
    let places = Places::new(ladder, lang);
    let panels = [Drawn::Qps, Drawn::Throughput]
        .map(|drawn| {
            let samples = |series: &LadderSeries<'_>| match cards(series) {
                Some(cards) => places.samples(series, ladder.shown, |summary| {
                    let (value, interval) = drawn.of(summary);
                    let each = |ends: [f64; 2]| ends.map(|end| end / cards);
                    (value.map(|value| value / cards), interval.map(each))
                }),
                None => Vec::new(),
            };
            let lines = lines(ladder, samples);
            let title = Text::PerCard.with(lang, &[("metric", drawn.title(lang))]);
            places.panel(title, drawn.unit(), lines, lang)
        })
        .to_vec();
    let unknown = ladder
        .series
        .iter()
        .filter(|series| cards(series).is_none());
    let unknown: Vec<String> = unknown.map(|series| series.label.clone()).collect();
    let mut footnotes = footnotes(ladder, &places, &panels, lang);
    footnotes.extend(omitted::footnote(Text::NoCards, &unknown, lang));
    let title = match ladder.series.as_slice() {
        [_] => Text::LadderPerCard,
        _ if are_engines(ladder) => Text::OverlayPerCard,
        _ => Text::SideBySidePerCard,
    };
    let title = title.text(lang);
    Some(Figure::new("overlay-per-card", title, panels, footnotes))
}

/// The number of cards that the runs of a series tag.
fn cards(series: &LadderSeries<'_>) -> Option<f64> {
    (series.points.iter()).find_map(|(_, summary)| summary.cards())
}

fn figure(id: &str, title: String, ladder: &Ladder<'_>, drawn: &[Drawn], lang: Lang) -> Figure {
    let places = Places::new(ladder, lang);
    let panels: Vec<Panel> = drawn
        .iter()
        .map(|&drawn| {
            let own = |series: &LadderSeries<'_>| {
                places.samples(series, drawn.shown(ladder.shown), |summary| {
                    drawn.of(summary)
                })
            };
            let mut lines = lines(ladder, own);
            let mut unit = drawn.unit();
            if drawn.is_time() {
                let time = TimeUnit::of_series(&lines);
                unit = time.sign();
                time.rescale(&mut lines);
            }
            let mut panel = places.panel(drawn.title(lang), unit, lines, lang);
            if matches!(drawn, Drawn::Qps | Drawn::Throughput) {
                panel.marks = marks(ladder, &places, lang);
                panel.shades = shades(ladder, &places);
            }
            panel
        })
        .collect();
    let panels = if panels.iter().any(has_a_curve) {
        // What is known of one level only is in the table.
        panels.into_iter().filter(has_a_curve).collect()
    } else {
        panels
    };
    let footnotes = footnotes(ladder, &places, &panels, lang);
    Figure::new(
        id,
        match &ladder.series[..] {
            [alone] => titled(title, &alone.label),
            _ => title,
        },
        panels,
        footnotes,
    )
}

/// Whether some line joins two values, or there is none to be joined.
fn has_a_curve(panel: &Panel) -> bool {
    let known = panel.series.iter().map(|series| {
        let samples = series.shape.samples().iter();
        samples.filter(|sample| sample.y.is_some()).count()
    });
    let known = Vec::from_iter(known);
    known.iter().any(|count| *count > 1) || known.iter().all(|count| *count == 0)
}

/// A title with the name of what it is of, unless it says that already.
pub(crate) fn titled(title: String, name: &str) -> String {
    if title.to_lowercase().contains(&name.to_lowercase()) {
        title
    } else {
        format!("{title} – {name}")
    }
}

fn lines<'a>(
    ladder: &Ladder<'a>,
    samples: impl Fn(&LadderSeries<'a>) -> Vec<Sample>,
) -> Vec<Series> {
    let series = ladder.series.iter().enumerate();
    series
        .map(|(number, series)| {
            let shape = Shape::Line(thin::course(samples(series), thin::MOST));
            Series::new(ladder.legend_of(series), Colour::Nth(number), shape)
        })
        .collect()
}

fn marks(ladder: &Ladder<'_>, places: &Places, lang: Lang) -> Vec<Mark> {
    if !places.names.is_empty() {
        return Vec::new();
    }
    let knee = lone_knee(ladder).map(|knee| knee.about());
    let knee = knee.filter(|at| at.is_finite()).map(|at| {
        let label = Text::Knee.with(lang, &[("value", Level::Number(at).text())]);
        Mark::new(On::X, at, label, MarkKind::Knee)
    });
    let capacity = ladder.capacity.filter(|at| at.is_finite());
    let capacity =
        capacity.map(|at| capacity_mark(at, Level::Number(at).text(), ladder.confirmed, lang));
    knee.into_iter().chain(capacity).collect()
}

/// The measured levels between which the knee of a lone ladder lies.
fn shades(ladder: &Ladder<'_>, places: &Places) -> Vec<Shade> {
    let knee = lone_knee(ladder).filter(|_| places.names.is_empty());
    let shade = |knee: Knee| Shade {
        from: knee.low,
        to: knee.high,
        label: String::new(),
    };
    knee.map(shade).into_iter().collect()
}

/// The knee where one mark can say whose it is.
fn lone_knee(ladder: &Ladder<'_>) -> Option<Knee> {
    match ladder.series.as_slice() {
        [alone] => alone.knee,
        _ => None,
    }
}

/// What is to be known of the knees.
fn knees(ladder: &Ladder<'_>, lang: Lang) -> Option<String> {
    if lone_knee(ladder).is_some() {
        return Some(Text::KneeIs.text(lang).to_owned());
    }
    let text = |level: f64| Level::Number(level).text();
    let known = ladder.series.iter().filter_map(|series| {
        let knee = series.knee?;
        let values = [
            ("value", text(knee.about())),
            ("low", text(knee.low)),
            ("high", text(knee.high)),
            ("name", series.label.clone()),
        ];
        Some(Text::KneeOf.with(lang, &values))
    });
    omitted::footnote(Text::Knees, &known.collect::<Vec<_>>(), lang)
}

fn footnotes(ladder: &Ladder<'_>, places: &Places, panels: &[Panel], lang: Lang) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(mean_lengths(ladder, lang));
    notes.extend(omitted::intervals(panels, lang));
    let rising = Drawn::Throughput.title(lang);
    if panels.iter().any(|panel| panel.title == rising) {
        notes.extend(knees(ladder, lang));
    }
    notes.extend(omitted::footnote(Text::LeftOut, &places.left_out, lang));
    let longest = ladder.series.iter().map(|series| series.points.len()).max();
    if let Some(count) = longest.filter(|&count| count > thin::MOST) {
        let values = [
            ("most", number::count(thin::MOST as u64)),
            ("count", number::count(count as u64)),
        ];
        notes.push(Text::Thinned.with(lang, &values));
    }
    notes
}

/// Lengths of series that differ by more than this share are not those of one work.
const SAME_LENGTH: f64 = 0.05;

/// Mean lengths over all requests of all series that know them, as tables have them; absent
/// where series differ.
fn mean_lengths(ladder: &Ladder<'_>, lang: Lang) -> Option<String> {
    let mean = |of: fn(&Summary) -> Option<f64>| {
        let of_series = |series: &LadderSeries<'_>| -> Vec<(f64, f64)> {
            (series.points.iter())
                .filter(|(_, summary)| ladder.shown.takes(summary))
                .filter_map(|(_, summary)| Some((of(summary)?, summary.requests.ok as f64)))
                .filter(|(length, _)| length.is_finite())
                .collect()
        };
        let known: Vec<Vec<(f64, f64)>> = ladder.series.iter().map(of_series).collect();
        let means: Vec<f64> = known.iter().filter_map(|known| weighted(known)).collect();
        let (least, most) = (means.iter()).fold((f64::INFINITY, 0.0), |(least, most), &mean| {
            (mean.min(least), mean.max(most))
        });
        let alike = !means.is_empty() && least >= (1.0 - SAME_LENGTH) * most;
        weighted(&known.concat()).filter(|_| alike)
    };
    let input = mean(|summary| summary.tokens.input_mean)?;
    let output = mean(|summary| summary.tokens.output_mean)?;
    let values = [
        ("input", number::mean(input)),
        ("output", number::mean(output)),
    ];
    Some(Text::MeanLengths.with(lang, &values))
}

/// The mean of values by their weights; of values whose weights nobody knows, their mean.
fn weighted(values: &[(f64, f64)]) -> Option<f64> {
    let weights: f64 = values.iter().map(|(_, weight)| weight).sum();
    let sum: f64 = values.iter().map(|(value, weight)| value * weight).sum();
    if weights > 0.0 {
        Some(sum / weights)
    } else {
        (!values.is_empty())
            .then(|| values.iter().map(|(value, _)| value).sum::<f64>() / values.len() as f64)
    }
}
