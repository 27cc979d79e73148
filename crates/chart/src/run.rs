//! Figures of one run: distributions, the course of time, every request, gaps between tokens.

use super::sketch::{Drawing, Sketch};
use super::star;
use inferometer_core::scenario::SimClock;
use inferometer_core::summary::{Distribution, Summary};
use inferometer_message::FigureText as Text;
use inferometer_page::figure::time_unit::TimeUnit;
use inferometer_page::figure::{
    Arrangement, Axis, Colour, Figure, Mark, MarkKind, On, Panel, Sample, Scale, Series, Shade,
    Shape, thin,
};
use inferometer_page::number;
use inferometer_text::Lang;

/// From this ratio of the largest to the least value on, a distribution is drawn by ratio.
const WIDE: f64 = 30.0;
/// The widest ratio that such a drawing spans.
const WIDEST: f64 = 1e4;

/// Percentiles that are marked in a distribution.
const MARKED: [f64; 3] = [50.0, 90.0, 99.0];

const TIMELINE: &str = "timeline";

/// Every figure of a run, in reading order.
pub fn all(summary: &Summary, drawing: &Drawing<'_>, clock: SimClock, lang: Lang) -> Vec<Figure> {
    let mut figures = vec![
        distributions(summary, drawing, lang),
        timeline(summary, drawing, lang),
        requests(drawing, lang),
        token_gaps(summary, drawing, lang),
    ];
    // Without a single answer only time has something to show.
    figures.retain(|figure| figure.id == TIMELINE || !figure.panels.iter().all(Panel::is_empty));
    if clock == SimClock::Virtual {
        for figure in &mut figures {
            (figure.footnotes).push(Text::Computed.text(lang).to_owned());
        }
    }
    figures
}

/// Shares of answers by TTFT, TPOT, ITL and end-to-end latency, with percentiles.
pub fn distributions(summary: &Summary, drawing: &Drawing<'_>, lang: Lang) -> Figure {
    let latency = &summary.latency;
    let sketch = &drawing.sketch;
    let (gaps, itl) = if latency.itl_is_per_token {
        (&drawing.trace.token_gaps, Text::Itl)
    } else {
        (&drawing.trace.chunk_gaps, Text::InterChunk)
    };
    let panels = vec![
        cumulative(Text::Ttft, sketch.ttft.clone(), latency.ttft_ms, lang),
        cumulative(Text::Tpot, sketch.tpot.clone(), latency.tpot_ms, lang),
        cumulative(itl, gaps.cumulative(), latency.itl_ms, lang),
        cumulative(Text::E2e, sketch.e2e.clone(), latency.e2e_ms, lang),
    ];
    // Of what is drawn alone: other latencies may need more.
    let drawn = [
        latency.ttft_ms,
        latency.tpot_ms,
        latency.itl_ms,
        latency.e2e_ms,
    ];
    let starred = MARKED.into_iter().flat_map(|percent| {
        let drawn = drawn.iter().flatten();
        drawn.filter_map(move |it| Some((percent, it.requests_for(percent)?)))
    });
    let mut footnotes = Vec::from_iter(star::footnote(starred, lang));
    footnotes.extend(thinning_note(drawing.trace.requests, lang));
    if !panels[2].is_empty() {
        footnotes.push(Text::Counted.text(lang).to_owned());
    }
    Figure::new(
        "distributions",
        Text::Distributions.text(lang),
        panels,
        footnotes,
    )
}

/// One distribution, given in milliseconds.
fn cumulative(
    metric: Text,
    points: Vec<[f64; 2]>,
    exact: Option<Distribution>,
    lang: Lang,
) -> Panel {
    let first = points.iter().map(|point| point[0]).find(|&ms| ms > 0.0);
    let tail = exact.map_or(0.0, |exact| exact.max);
    let wide = first.is_some_and(|first| tail / first > WIDE);
    // Chunks of one read have no gap to speak of; they stand at the left edge.
    let floor = if wide { tail / WIDEST } else { 0.0 };
    let unit = TimeUnit::of(exact.map(|exact| exact.max).filter(|_| !wide));
    let marks = exact.map_or(Vec::new(), |exact| percentiles(&exact, unit));
    let over_gaps = matches!(metric, Text::Itl | Text::InterChunk);
    let share = if over_gaps {
        Text::ShareOfGaps
    } else {
        Text::ShareOfAnswers
    };
    let points: Vec<[f64; 2]> = points
        .into_iter()
        .map(|[ms, share]| [unit.of_ms(ms.max(floor)), 100.0 * share])
        .collect();
    let scale = if wide { Scale::Log } else { Scale::FromZero };
    Panel {
        title: metric.text(lang).to_owned(),
        x: Axis::new("", unit.sign(), scale),
        y: Axis {
            bounds: Some([0.0, 100.0]),
            ..Axis::new(share.text(lang), "%", Scale::FromZero)
        },
        series: vec![Series::new("", Colour::Nth(0), Shape::Step(points))],
        marks,
        when_empty: Text::NoAnswers.text(lang).to_owned(),
        ..Panel::default()
    }
}

fn percentiles(exact: &Distribution, unit: TimeUnit) -> Vec<Mark> {
    let named = MARKED.into_iter().zip([exact.p50, exact.p90, exact.p99]);
    let finite = named.filter(|(_, ms)| ms.is_finite());
    finite
        .map(|(percent, ms)| {
            let star = if exact.supports(percent) { "" } else { "*" };
            Mark::new(
                On::X,
                unit.of_ms(ms),
                format!("p{percent} {}{star}", unit.text(ms)),
                MarkKind::Percentile,
            )
        })
        .collect()
}

fn thinning_note(count: u64, lang: Lang) -> Option<String> {
    (count > thin::MOST as u64).then(|| {
        let values = [
            ("most", number::count(thin::MOST as u64)),
            ("count", number::count(count)),
        ];
        Text::Thinned.with(lang, &values)
    })
}

/// Points in milliseconds, in a unit.
fn samples(points: &[[f64; 2]], unit: TimeUnit) -> Vec<Sample> {
    let points = points.iter();
    points
        .map(|&[x, ms]| unit.sample(Sample::new(x, Some(ms))))
        .collect()
}

/// Throughput, requests under way, TTFT and failures over time.
pub fn timeline(summary: &Summary, drawing: &Drawing<'_>, lang: Lang) -> Figure {
    let mut panels = Vec::new();
    let mut footnotes = Vec::new();
    let sketch = &drawing.sketch;
    let span = sketch.span;
    let over_time = |values: &[f64]| {
        let points = sketch.over_time(values).into_iter();
        let samples = points.map(|[x, y]| Sample::new(x, Some(y)));
        samples.collect::<Vec<_>>()
    };
    let window = summary
        .window
        .filter(|window| window.steady_by_construction);
    let (shaded, shade_name) = match window {
        Some(window) => (Some([window.start_s, window.end_s]), Text::Window),
        None => (
            summary.steady.map(|steady| steady.span_s),
            Text::SteadyState,
        ),
    };
    // The first chart names it for all below.
    let shade_label = |title: Text| match title {
        Text::OutputThroughput => shade_name.text(lang).to_owned(),
        _ => String::new(),
    };
    let seen = !drawing.trace.rows.is_empty() && drawing.trace.window().is_some();
    let drawn = |values: &[f64]| if seen { over_time(values) } else { Vec::new() };
    let panel = |title: Text, y: Axis, series: Vec<Series>| Panel {
        title: title.text(lang).to_owned(),
        x: Axis {
            bounds: Some(span),
            ..Axis::new(Text::Time.text(lang), "s", Scale::Linear)
        },
        y,
        series,
        shades: shaded.map_or(Vec::new(), |[from, to]| {
            vec![Shade {
                from: from.max(span[0]),
                to: to.min(span[1]),
                label: shade_label(title),
            }]
        }),
        when_empty: Text::NoData.text(lang).to_owned(),
        ..Panel::default()
    };
    let one = |colour: usize, shape: Shape| vec![Series::new("", Colour::Nth(colour), shape)];
    let tokens = if sketch.tokens_per_s.iter().any(|&rate| rate > 0.0) {
        drawn(&sketch.tokens_per_s)
    } else {
        Vec::new()
    };
    panels.push(panel(
        Text::OutputThroughput,
        Axis::new("", "tok/s", Scale::FromZero),
        one(0, Shape::Area(tokens)),
    ));
    let in_flight = drawn(&sketch.in_flight);
    panels.push(panel(
        Text::InFlight,
        Axis::default(),
        one(2, Shape::Area(in_flight)),
    ));
    let (unit, series) = ttft_over_time(sketch, lang);
    panels.push(panel(
        Text::Ttft,
        Axis::new("", unit.sign(), Scale::FromZero),
        series,
    ));
    match &sketch.failures {
        None => footnotes.push(Text::NoFailures.text(lang).to_owned()),
        Some(counts) => {
            panels.push(panel(
                Text::Failures,
                Axis::default(),
                vec![Series::new("", Colour::Bad, Shape::Area(over_time(counts)))],
            ));
        }
    }
    footnotes.extend(thinning_note(drawing.trace.requests, lang));
    if panels.iter().any(|panel| !panel.is_empty()) {
        panels.retain(|panel| !panel.is_empty());
    }
    Figure {
        id: TIMELINE.to_owned(),
        title: Text::Timeline.text(lang).to_owned(),
        panels,
        arrangement: Arrangement::Stack,
        footnotes,
        section: None,
    }
}

/// TTFT of each request at the moment of its start, and the median of each part of time.
fn ttft_over_time(sketch: &Sketch, lang: Lang) -> (TimeUnit, Vec<Series>) {
    let unit = TimeUnit::of(sketch.ttft_at.iter().map(|point| point[1]));
    let placed = |points: &[[f64; 2]]| samples(points, unit);
    let (cloud, medians) = (placed(&sketch.ttft_at), placed(&sketch.ttft_medians));
    let series = vec![
        Series::new(
            Text::OneRequest.text(lang),
            Colour::Nth(5),
            Shape::Scatter(cloud),
        ),
        Series::new(
            Text::RollingMedian.text(lang),
            Colour::Nth(1),
            Shape::Line(medians),
        ),
    ];
    (unit, series)
}

/// Input length against TTFT, and output length against latency, a point for each answer.
pub fn requests(drawing: &Drawing<'_>, lang: Lang) -> Figure {
    let sketch = &drawing.sketch;
    let panel = |length: Text, time: Text, cloud: &[[f64; 2]]| {
        let unit = TimeUnit::of(cloud.iter().map(|point| point[1]));
        Panel {
            title: time.text(lang).to_owned(),
            x: Axis::new(length.text(lang), Text::Tokens.text(lang), Scale::Linear),
            y: Axis::new("", unit.sign(), Scale::FromZero),
            series: vec![Series::new(
                "",
                Colour::Nth(0),
                Shape::Scatter(samples(cloud, unit)),
            )],
            when_empty: Text::NoAnswers.text(lang).to_owned(),
            ..Panel::default()
        }
    };
    Figure::new(
        "requests",
        Text::Requests.text(lang),
        vec![
            panel(Text::InputLength, Text::Ttft, &sketch.by_input),
            panel(Text::OutputLength, Text::E2e, &sketch.by_output),
        ],
        thinning_note(drawing.trace.requests, lang)
            .into_iter()
            .collect(),
    )
}

/// The largest gap of each answer over time, stalls marked, and all gaps together.
pub fn token_gaps(summary: &Summary, drawing: &Drawing<'_>, lang: Lang) -> Figure {
    let sketch = &drawing.sketch;
    let of = |cloud: &[[f64; 2]]| samples(cloud, TimeUnit::Milliseconds);
    let series =
        |name: Text, colour, samples| Series::new(name.text(lang), colour, Shape::Scatter(samples));
    let largest = Panel {
        title: Text::LargestGaps.text(lang).to_owned(),
        x: Axis::new(Text::Time.text(lang), "s", Scale::Linear),
        y: Axis::new(Text::Gap.text(lang), "ms", Scale::Log),
        // A legend names what is there to be seen.
        series: [
            series(Text::Smooth, Colour::Nth(0), of(&sketch.smooth)),
            series(Text::Stalled, Colour::Bad, of(&sketch.stalled)),
        ]
        .into_iter()
        .filter(|series| !series.shape.is_empty())
        .collect(),
        when_empty: Text::NoAnswers.text(lang).to_owned(),
        ..Panel::default()
    };
    let (gaps, exact) = if summary.latency.itl_is_per_token {
        (&drawing.trace.token_gaps, summary.latency.itl_ms)
    } else {
        (&drawing.trace.chunk_gaps, summary.latency.inter_chunk_ms)
    };
    let mut all = cumulative(Text::Itl, gaps.cumulative(), exact, lang);
    all.title = Text::AllGaps.text(lang).to_owned();
    all.x.title = Text::Gap.text(lang).to_owned();
    let (factor, floor, gaps) = drawing.trace.stall();
    let stall = [
        ("gaps", gaps.to_string()),
        ("factor", number::exact(factor)),
        ("floor", format!("{} ms", number::exact(floor))),
    ];
    let mut footnotes = vec![Text::StallMeans.with(lang, &stall)];
    footnotes.extend(thinning_note(drawing.trace.requests, lang));
    footnotes.push(Text::Counted.text(lang).to_owned());
    Figure::new(
        "token-gaps",
        Text::TokenGaps.text(lang),
        vec![largest, all],
        footnotes,
    )
}
