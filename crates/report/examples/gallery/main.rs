//! Draws every figure from made-up runs, in both languages and both themes:
//! `cargo run --release -p inferometer-report --example gallery -- FOLDER`.

#![allow(clippy::print_stdout)]

mod made_up;

use inferometer_analysis::compare::{Comparison, Group, Metric, RunSample, Settings, compare};
use inferometer_core::record::Record;
use inferometer_core::scenario::SimClock;
use inferometer_core::summary::Summary;
use inferometer_page::figure::theme::Theme;
use inferometer_page::figure::{Figure, Shape, png, svg};
use inferometer_report::chart::configurations::{self, Configurations, Style};
use inferometer_report::chart::curve::{self, Latency, Tradeoff};
use inferometer_report::chart::grid::{self, Grid};
use inferometer_report::chart::ladder::{self, Ladder, LadderSeries, legend};
use inferometer_report::chart::{Level, Shown};
use inferometer_report::chart::{comparison, run};
use inferometer_report::findings::knee;
use inferometer_text::Lang;
use made_up::{Engine, Load, MINDIE, SGLANG, VLLM};
use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

const LEVELS: [u32; 8] = [1, 2, 4, 8, 16, 32, 64, 128];

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or("gallery".to_owned()));
    std::fs::create_dir_all(&folder)?;
    let data = Data::new();
    for lang in [Lang::En, Lang::Zh] {
        for figure in data.figures(lang) {
            for (theme, name) in [(Theme::Light, "light"), (Theme::Dark, "dark")] {
                let stem = format!("{}-{lang}-{name}", figure.id);
                let begin = Instant::now();
                let picture = png::render(&figure, theme)?;
                let took = begin.elapsed();
                std::fs::write(folder.join(format!("{stem}.png")), &picture)?;
                let drawing = svg::render(&figure, theme);
                std::fs::write(folder.join(format!("{stem}.svg")), &drawing)?;
                println!(
                    "{stem}: PNG {} KiB in {:.0} ms, SVG {} KiB",
                    picture.len() / 1024,
                    took.as_secs_f64() * 1e3,
                    drawing.len() / 1024
                );
            }
        }
    }
    Ok(())
}

struct Data {
    records: Vec<Record>,
    run: Summary,
    ladders: Vec<Vec<(u32, Summary)>>,
    settings: Vec<(String, Summary)>,
    cells: Vec<(u32, u32, Summary)>,
    compared: [RunSample; 2],
}

fn load(concurrency: u32, requests: u64) -> Load {
    Load {
        concurrency,
        requests,
        input: 512.0,
        output: 160.0,
    }
}

impl Data {
    fn new() -> Self {
        let busy = Engine {
            refuses_from: 24,
            ..VLLM
        };
        let of_run = load(24, 3_000);
        let mut records = made_up::records(&busy, of_run);
        // Refusals come in one burst, as from a server that reloads.
        let burst = 1_400..1_520;
        for record in &mut records {
            if record.failure().is_some() && !burst.contains(&record.index) {
                record.outcome = inferometer_core::record::Outcome::Cut;
            }
        }
        records.retain(|record| record.is_done() || record.failure().is_some());
        let run = made_up::summary(&busy, of_run, &records);
        let ladder = |engine: &Engine| {
            let rung = |&level: &u32| {
                let requests = u64::from(level.clamp(6, 40)) * 14;
                (level, made_up::run(engine, load(level, requests)))
            };
            LEVELS.iter().map(rung).collect::<Vec<_>>()
        };
        let settings = [
            ("0-enable-64", 1.0, 30.0),
            ("1-enable-128", 0.97, 40.0),
            ("2-disable-64", 1.25, 26.0),
            ("3-disable-128", 1.2, 33.0),
            ("4-enable-256", 0.94, 52.0),
        ];
        let settings = settings.map(|(name, factor, batch)| {
            let engine = Engine {
                gap_ms: VLLM.gap_ms * factor,
                ttft_ms: VLLM.ttft_ms * (2.0 - factor),
                batch,
                ..VLLM
            };
            (name.to_owned(), made_up::run(&engine, load(32, 500)))
        });
        let mut cells = Vec::new();
        for input in [128, 512, 1024, 2048, 4096] {
            for output in [64, 128, 256, 512] {
                let load = Load {
                    concurrency: 8,
                    requests: 60,
                    input: f64::from(input),
                    output: f64::from(output),
                };
                cells.push((input, output, made_up::run(&VLLM, load)));
            }
        }
        let faster = Engine {
            gap_ms: 14.6,
            ttft_ms: 68.0,
            ..VLLM
        };
        Data {
            records,
            run,
            ladders: [MINDIE, VLLM, SGLANG].iter().map(ladder).collect(),
            settings: settings.into(),
            cells,
            compared: [VLLM, faster].map(|engine| {
                let load = load(16, 600);
                let records = made_up::records(&engine, load);
                let summary = made_up::summary(&engine, load, &records);
                RunSample::new(&made_up::scenario(load), summary, records)
            }),
        }
    }

    fn ladder(&self, which: &[usize]) -> Ladder<'_> {
        let series = which.iter().map(|&at| {
            let rungs = &self.ladders[at];
            LadderSeries {
                label: legend(&rungs[0].1),
                points: rungs
                    .iter()
                    .map(|(level, summary)| (Level::Number(f64::from(*level)), summary))
                    .collect(),
                knee: knee(&rates(rungs)),
            }
        });
        Ladder {
            axis: "concurrency".to_owned(),
            series: series.collect(),
            ..Ladder::default()
        }
    }

    fn figures(&self, lang: Lang) -> Vec<Figure> {
        let course = made_up::course(&self.records);
        let mut figures = run::all(&self.run, &course, SimClock::Real, lang);
        let one = Ladder {
            capacity: Some(38.0),
            ..self.ladder(&[1])
        };
        let all = self.ladder(&[0, 1, 2]);
        figures.push(ladder::sheet(&one, lang));
        figures.push(ladder::failures(&all, lang));
        figures.push(ladder::overlay(&all, lang));
        figures.extend(ladder::overlay_per_card(&all, lang));
        let tradeoff = Tradeoff {
            ladder: &all,
            rate: Metric::OutputTokensPerS,
            latency: Latency::Usual(Metric::TtftP99),
            objective: Some(("ttft.p99=800ms".to_owned(), 800.0)),
            capacity: Some(1_480.0),
            shape: Shape::Line,
        };
        figures.push(curve::throughput_latency(&tradeoff, lang));
        figures.push(curve::pareto(&all, lang));
        let rows = self.settings.iter();
        let mut table = Configurations {
            rows: rows
                .map(|(name, summary)| (name.clone(), summary))
                .collect(),
            style: Style::Bars,
            shown: Shown::Valid,
            named_by: "chunked-prefill, batch".to_owned(),
        };
        figures.push(configurations::latency(&table, lang));
        figures.push(configurations::throughput(&table, lang));
        table.style = Style::Lines;
        let mut lines = configurations::latency(&table, lang);
        lines.id.push_str("-lines");
        figures.push(lines);
        let cells = self.cells.iter().map(|(input, output, summary)| {
            let level = |tokens: &u32| Level::Number(f64::from(*tokens));
            (level(input), level(output), summary)
        });
        let grid = Grid {
            cells: cells.collect(),
            shown: Shown::All,
            counts: Default::default(),
        };
        figures.push(grid::heat_maps(&grid, &grid::USUAL, lang));
        figures.push(comparison::ratios(
            &self.comparison(),
            &BTreeMap::new(),
            lang,
        ));
        figures
    }

    fn comparison(&self) -> Comparison {
        let names = ["v0.6.3", "v0.7.0 chunked-prefill"];
        let groups: Vec<Group> = names
            .iter()
            .zip(&self.compared)
            .map(|(name, run)| Group {
                name: (*name).to_owned(),
                runs: vec![run.clone()],
            })
            .collect();
        compare(&groups, &Settings::default())
    }
}

fn rates(rungs: &[(u32, Summary)]) -> Vec<(f64, Vec<f64>)> {
    let rate = |(level, summary): &(u32, Summary)| {
        let rate = summary.throughput.output_tokens_per_s?;
        Some((f64::from(*level), vec![rate]))
    };
    rungs.iter().filter_map(rate).collect()
}
