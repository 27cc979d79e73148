//! The cheapest deployments: what each costs and carries, why the next one is worse, how to start
//! and to verify them, and how speed for a user trades against speed of a card.

use super::labels::{brief, brief_load, percent};
use inferometer_catalog::timing::Basis;
use inferometer_core::slo::Slo;
use inferometer_message::{FigureText, PlanText as Text};
use inferometer_page::doc::{Block, Cell, Column, Section, Table, Tone};
use inferometer_page::figure::{Axis, Colour, Figure, Panel, Sample, Scale, Series, Shape};
use inferometer_plan::choose::{Choice, Deployment, per_card, per_user};
use inferometer_plan::means::MeanMetric;
use inferometer_plan::work::{Load, Work};
use inferometer_text::Lang;

/// The command that measures one replica at the load that was predicted.
pub fn verify(work: &Work, slos: &[Slo]) -> String {
    let load = match work.load {
        Load::Closed(streams) => format!("--concurrency {streams}"),
        Load::Open(rate) => format!("--rate {rate}"),
    };
    let slos: String = slos.iter().map(|slo| format!(" --slo {slo}")).collect();
    format!(
        "inferometer run http://127.0.0.1:8000 {load} --input-tokens '{}' --output-tokens '{}'{slos}",
        work.input, work.output
    )
}

/// The document of a choice.
pub fn sections(choice: &Choice, slos: &[Slo], traffic: f64, lang: Lang) -> Vec<Section> {
    let mut sections = vec![Section::headed(
        Text::Choice.text(lang),
        [
            Block::Table(table(choice, traffic, lang)),
            counts(choice, lang),
        ],
    )];
    let Some(best) = choice.deployments.first() else {
        return sections;
    };
    if !best.is_certain() {
        let said = Text::FirstUncertain.text(lang).to_owned();
        sections.push(Section::plain([Block::Paragraph(said)]));
    }
    let worse = choice.deployments.iter().skip(1).zip(2..);
    let worse: Vec<Block> = worse
        .map(|(next, place)| Block::Paragraph(why_worse(best, next, place, lang)))
        .collect();
    if !worse.is_empty() {
        sections.push(Section::headed(Text::WhyWorse.text(lang), worse));
    }
    let start = choice
        .deployments
        .iter()
        .zip(1..)
        .flat_map(|(chosen, place)| {
            let [prefill, decode] =
                [Text::PrefillWorker, Text::DecodeWorker].map(|it| it.text(lang));
            let lines = match (&chosen.prefill_command, &chosen.split) {
                (Some(command), Some(split)) => {
                    let [x, y] = split.workers;
                    vec![
                        format!("{place}. {x} × {prefill}: {command}"),
                        format!("{place}. {y} × {decode}: {}", chosen.command),
                    ]
                }
                _ => vec![format!("{place}. {}", chosen.command)],
            };
            lines.into_iter().map(Block::Paragraph)
        });
    sections.push(Section::headed(Text::LaunchCommands.text(lang), start));
    let verify = verify(&best.prediction.work, slos);
    let verify = [Block::Paragraph(verify)];
    sections.push(Section::headed(Text::VerifyFirst.text(lang), verify));
    sections
}

fn table(choice: &Choice, traffic: f64, lang: Lang) -> Table {
    let columns = [
        Column::right("#"),
        Column::left(Text::Cards.text(lang)),
        Column::left(Text::Engine.text(lang)),
        Column::wrapped(Text::Flags.text(lang)),
        Column::right(Text::CostPerHour.text(lang)),
        Column::right(Text::Cost.text(lang)),
        Column::right(Text::Headroom.text(lang)),
        Column::right(Text::Load.text(lang)),
        Column::right("TTFT ms"),
        Column::right("TPOT ms"),
        Column::left(Text::Slo.text(lang)),
        Column::left(Text::BasisColumn.text(lang)),
    ];
    let rows = choice.deployments.iter().zip(1..).map(|(chosen, place)| {
        let prediction = &chosen.prediction;
        let mean = |metric, value: Option<f64>| {
            let bound = prediction.bound(metric).map(percent);
            let both = value.zip(bound);
            Cell::known(both.map(|(value, bound)| format!("{} ±{bound}", brief(value))))
        };
        let (word, tone) = if chosen.is_certain() {
            (Text::Met, Tone::Good)
        } else {
            (Text::Uncertain, Tone::Caution)
        };
        vec![
            Cell::text(place.to_string()),
            Cell::text(cards_text(chosen)),
            Cell::text(chosen.engine.word()),
            Cell::text(flags_text(chosen)),
            Cell::text(brief(chosen.cost_per_hour)),
            Cell::text(brief(chosen.cost_per_million)),
            Cell::text(percent(chosen.headroom)),
            Cell::text(brief_load(prediction.work.load)),
            mean(MeanMetric::Ttft, prediction.ttft_ms.map(|it| it.mean)),
            mean(MeanMetric::Tpot, prediction.tpot_ms.map(|it| it.mean)),
            Cell::Toned(word.text(lang).to_owned(), tone),
            match chosen.grounds.basis {
                Basis::Validated => Cell::text(Text::ShortValidated.text(lang)),
                Basis::Similar => Cell::text(Text::ShortSimilar.text(lang)),
                Basis::None => Cell::Toned(Text::ShortNone.text(lang).to_owned(), Tone::Caution),
            },
        ]
    });
    let traffic = [("rate", brief(traffic))];
    Table {
        columns: columns.into(),
        rows: rows.collect(),
        footnotes: vec![Text::ChoiceNote.with(lang, &traffic)],
    }
}

/// Replicas and the cards of each: `3 × 2 h100`.
fn cards_text(chosen: &Deployment) -> String {
    let one = format!("{} {}", chosen.prediction.cards, chosen.setting.device);
    match chosen.replicas {
        1 => one,
        replicas => format!("{replicas} × {one}"),
    }
}

/// What a deployment has beside its longest request, as people write it.
fn flags_text(chosen: &Deployment) -> String {
    let shown = chosen.setting.flags.iter().filter_map(|(name, value)| {
        let value = value.as_deref();
        Some(match (name.as_str(), value) {
            ("max-model-len", _) => return None,
            ("tensor-parallel-size", Some(size)) => format!("TP{size}"),
            ("pipeline-parallel-size", Some(size)) => format!("PP{size}"),
            ("data-parallel-size", Some(size)) => format!("DP{size}"),
            ("ep-size" | "ep_size" | "enable-expert-parallel", _) => "EP".to_owned(),
            (name, Some(value)) => format!("{name}={value}"),
            (name, None) => name.to_owned(),
        })
    });
    let workers = chosen.split.as_ref().map(|split| {
        let [x, y] = split.workers;
        format!("{x}P{y}D")
    });
    workers
        .into_iter()
        .chain(shown)
        .collect::<Vec<_>>()
        .join(" ")
}

fn counts(choice: &Choice, lang: Lang) -> Block {
    let values = [
        ("considered", choice.considered),
        ("refused", choice.refused),
        ("missed", choice.never_met),
        ("short", choice.too_few_cards),
        ("simulated", choice.simulated),
    ];
    let values = values.map(|(name, count)| (name, count.to_string()));
    let said = if choice.deployments.is_empty() {
        Text::NothingChosen
    } else {
        Text::ChoiceCounts
    };
    Block::Paragraph(said.with(lang, &values))
}

fn why_worse(best: &Deployment, next: &Deployment, place: usize, lang: Lang) -> String {
    let more = next.cost_per_hour / best.cost_per_hour - 1.0;
    let values = [
        ("place", place.to_string()),
        ("cards", cards_text(next)),
        ("rate", brief(next.rate_per_card())),
        ("best", brief(best.rate_per_card())),
    ];
    if more < 0.005 {
        let values = [
            values[0].clone(),
            ("headroom", percent(next.headroom)),
            ("best", percent(best.headroom)),
        ];
        return Text::SameCost.with(lang, &values);
    }
    let more = ("more", percent(more));
    Text::CostsMore.with(lang, &[&[more], values.as_slice()].concat())
}

/// Tokens/s of a card against tokens/s that a user sees.
pub fn figures(choice: &Choice, lang: Lang) -> Vec<Figure> {
    let drawn = choice.deployments.iter().enumerate();
    let series = drawn.map(|(number, chosen)| {
        let points = chosen.curve.iter().filter_map(|prediction| {
            let sample = Sample::new(per_user(prediction)?, Some(per_card(prediction)));
            let bound = |value| prediction.interval(MeanMetric::Throughput, value, 1.0);
            Some(sample.between(bound(per_card(prediction))))
        });
        let name = format!(
            "{} {} {}",
            chosen.setting.device,
            chosen.engine.word(),
            flags_text(chosen)
        );
        Series::new(name, Colour::Nth(number), Shape::Line(points.collect()))
    });
    let panel = Panel {
        x: Axis::new(Text::PerUser.text(lang), "tok/s", Scale::FromZero),
        y: Axis::new(Text::PerCard.text(lang), "tok/s", Scale::FromZero),
        series: series.collect(),
        when_empty: FigureText::NoData.text(lang).to_owned(),
        ..Panel::default()
    };
    vec![Figure::new(
        "choice-pareto",
        Text::Pareto.text(lang),
        vec![panel],
        vec![Text::Bands.text(lang).to_owned()],
    )]
}
