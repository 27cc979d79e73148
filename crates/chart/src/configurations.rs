//! Figures over configurations: latency and throughput of each, with short names.

use super::omitted::{self, Shown};
use super::star;
use inferometer_core::summary::{Distribution, Summary};
use inferometer_message::FigureText as Text;
use inferometer_page::figure::time_unit::TimeUnit;
use inferometer_page::figure::{Axis, Colour, Figure, Panel, Sample, Scale, Series, Shape};
use inferometer_text::Lang;
use std::collections::BTreeSet;

/// Configurations by their short names, as `0-enable-64`.
#[derive(Clone, Debug, Default)]
pub struct Configurations<'a> {
    pub rows: Vec<(String, &'a Summary)>,
    pub style: Style,
    pub shown: Shown,
    /// What the parts of the names are: `enable-chunked-prefill, max-num-batched-tokens`.
    pub named_by: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    #[default]
    Bars,
    /// As points joined by a line, for many, or where their order means something.
    Lines,
}

type Value = (Option<f64>, Option<[f64; 2]>);

impl Configurations<'_> {
    fn shown(&self) -> impl Iterator<Item = &(String, &Summary)> {
        self.rows
            .iter()
            .filter(|(_, summary)| self.shown.takes(summary))
    }

    fn series(&self, name: &str, colour: usize, of: impl Fn(&Summary) -> Value) -> Series {
        let samples = self.shown().enumerate().map(|(place, (_, summary))| {
            let (value, interval) = of(summary);
            Sample::new(place as f64, value).between(interval)
        });
        let samples: Vec<Sample> = samples.collect();
        Series::new(
            name,
            Colour::Nth(colour),
            match self.style {
                Style::Bars => Shape::Bars(samples),
                Style::Lines => Shape::Line(samples),
            },
        )
    }

    fn panel(&self, title: Text, unit: &str, series: Vec<Series>, lang: Lang) -> Panel {
        let names = self.shown().map(|(name, _)| name.clone()).collect();
        Panel {
            title: title.text(lang).to_owned(),
            x: Axis::of_names(self.named_by.clone(), names),
            y: Axis::new("", unit, Scale::FromZero),
            series,
            when_empty: Text::NoData.text(lang).to_owned(),
            ..Panel::default()
        }
    }

    /// Marks the names of those whose p99 rests on too few samples, and says what the mark is.
    fn star(
        &self,
        panel: &mut Panel,
        of: impl Fn(&Summary) -> Option<Distribution>,
        lang: Lang,
    ) -> Option<String> {
        let needed = |summary: &Summary| of(summary)?.requests_for(99.0);
        let name = |(name, summary): &(String, &Summary)| {
            if needed(summary).is_some() {
                format!("{name}*")
            } else {
                name.clone()
            }
        };
        panel.x = Axis::of_names(self.named_by.clone(), self.shown().map(name).collect());
        let starred = self.shown().filter_map(|(_, summary)| needed(summary));
        star::footnote(starred.map(|requests| (99.0, requests)), lang)
    }

    fn figure(&self, id: &str, title: Text, mut panels: Vec<Panel>, lang: Lang) -> Figure {
        // What was nowhere measured, as another tool's median, has neither bar nor legend.
        let known: BTreeSet<String> = (panels.iter().flat_map(|panel| &panel.series))
            .filter(|series| !series.shape.is_empty())
            .map(|series| series.name.clone())
            .collect();
        for panel in &mut panels {
            panel.series.retain(|series| known.contains(&series.name));
        }
        let left_out: Vec<String> = self
            .rows
            .iter()
            .filter(|(_, summary)| !self.shown.takes(summary))
            .map(|(name, summary)| omitted::name(name, summary))
            .collect();
        let mut footnotes = Vec::new();
        footnotes.extend(omitted::intervals(&panels, lang));
        footnotes.extend(omitted::footnote(Text::LeftOut, &left_out, lang));
        Figure::new(id, title.text(lang), panels, footnotes)
    }
}

/// TTFT, TPOT and ITL: mean, median and p99 of each configuration.
pub fn latency(configurations: &Configurations<'_>, lang: Lang) -> Figure {
    let panel = |metric: Text, of: fn(&Summary) -> Option<Distribution>| {
        let shown = configurations.shown();
        let unit = TimeUnit::of(
            shown
                .filter_map(|(_, summary)| of(summary))
                .map(|all| all.p99),
        );
        let value = |pick: fn(&Distribution) -> (f64, Option<[f64; 2]>)| {
            move |summary: &Summary| {
                let found = of(summary).as_ref().map(pick);
                let ends = |ends: [f64; 2]| ends.map(|end| unit.of_ms(end));
                let interval = found.and_then(|(_, interval)| interval).map(ends);
                (found.map(|(value, _)| unit.of_ms(value)), interval)
            }
        };
        let series = vec![
            configurations.series(
                Text::Mean.text(lang),
                0,
                value(|all| (all.mean, all.mean_interval)),
            ),
            configurations.series(
                Text::Median.text(lang),
                2,
                value(|all| (all.p50, all.p50_interval)),
            ),
            configurations.series("p99", 1, value(|all| (all.p99, all.p99_interval))),
        ];
        let mut panel = configurations.panel(metric, unit.sign(), series, lang);
        let starred = configurations.star(&mut panel, of, lang);
        (panel, starred)
    };
    let per_token = configurations
        .shown()
        .all(|(_, summary)| summary.latency.itl_is_per_token);
    let itl = if per_token {
        Text::Itl
    } else {
        Text::InterChunk
    };
    let (panels, starred): (Vec<_>, Vec<_>) = [
        panel(Text::Ttft, |summary| summary.latency.ttft_ms),
        panel(Text::Tpot, |summary| summary.latency.tpot_ms),
        panel(itl, |summary| summary.latency.itl_ms),
    ]
    .into_iter()
    .unzip();
    let title = Text::ConfigurationLatency;
    let mut figure = configurations.figure("configuration-latency", title, panels, lang);
    figure
        .footnotes
        .extend(starred.into_iter().flatten().next());
    figure
}

/// Duration, output and total tokens per second of each configuration.
pub fn throughput(configurations: &Configurations<'_>, lang: Lang) -> Figure {
    let panel = |title: Text, unit: &str, of: fn(&Summary) -> Value| {
        configurations.panel(title, unit, vec![configurations.series("", 0, of)], lang)
    };
    let panels = vec![
        panel(Text::Duration, "s", |summary| (summary.window_s, None)),
        panel(Text::OutputThroughput, "tok/s", |summary| {
            let rate = &summary.throughput;
            (rate.output_tokens_per_s, rate.output_tokens_per_s_interval)
        }),
        panel(Text::TotalThroughput, "tok/s", |summary| {
            (summary.throughput.total_tokens_per_s, None)
        }),
    ];
    let title = Text::ConfigurationThroughput;
    configurations.figure("configuration-throughput", title, panels, lang)
}
