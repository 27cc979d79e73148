//! The cheapest deployments: what each costs and carries, why the next one is worse, how to start
//! and to verify them, and how speed for a user trades against speed of a card.

use super::labels::{brief, brief_load, off_by, percent};
use inferometer_catalog::engine::EngineKind;
use inferometer_catalog::engine::words::join;
use inferometer_catalog::timing::Basis;
use inferometer_message::{FigureText, PlanText as Text};
use inferometer_page::doc::{Block, Cell, Column, Command, Section, Table, Tone};
use inferometer_page::figure::{Axis, Colour, Figure, Panel, Sample, Scale, Series, Shape};
use inferometer_plan::choose::{
    Carries, Choice, DRAWS, Deployment, FEW_REQUESTS, MOST_CONFIRMED, MOST_SCREENED, Process, Role,
    Wish, per_card, per_user,
};
use inferometer_plan::means::MeanMetric;
use inferometer_plan::what_if::{Judged, Objectives};
use inferometer_plan::work::Load;
use inferometer_text::Lang;

/// The command that measures one replica with its share of the traffic, as it was predicted; `data`
/// is the trace that its lengths are from.
pub fn verify(chosen: &Deployment, objectives: &Objectives, data: Option<&str>) -> String {
    let work = &chosen.prediction.work;
    let mut words: Vec<String> = Vec::new();
    let mut say = |option: &str, value: String| words.extend([option.to_owned(), value]);
    match work.load {
        Load::Closed(streams) => say("--concurrency", streams.to_string()),
        Load::Open(rate) => say("--rate", rate.to_string()),
    }
    say("--requests", work.requests.to_string());
    match data {
        Some(data) => say("--data", data.to_owned()),
        None => {
            say("--input-tokens", work.input.to_string());
            say("--output-tokens", work.output.to_string());
        }
    }
    for slo in &objectives.slos {
        say("--slo", slo.to_string());
    }
    if let Some(share) = objectives.attainment {
        say("--attainment", share.to_string());
    }
    format!(
        "inferometer run http://127.0.0.1:{} {}",
        chosen.port,
        join(words)
    )
}

pub fn sections(choice: &Choice, wish: &Wish<'_>, data: Option<&str>, lang: Lang) -> Vec<Section> {
    let mut blocks = vec![Block::Table(table(choice, wish, lang))];
    blocks.extend(counts(choice, lang).into_iter().map(Block::Paragraph));
    let mut sections = vec![Section::headed(Text::Choice.text(lang), blocks)];
    let Some(best) = choice.deployments.first() else {
        return sections;
    };
    if !best.is_certain() {
        let estimate = ("estimate", best.replicas.least.to_string());
        let said = match best.replicas.most {
            Some(most) => {
                let values = [estimate, ("interval", most.to_string())];
                Text::FirstUncertain.with(lang, &values)
            }
            None => Text::FirstNeverSure.with(lang, &[estimate]),
        };
        sections.push(Section::plain([Block::Paragraph(said)]));
    }
    let worse = choice.deployments.iter().skip(1).zip(2..);
    let worse: Vec<Block> = worse
        .map(|(next, place)| Block::Paragraph(why_worse(best, next, place, lang)))
        .collect();
    if !worse.is_empty() {
        sections.push(Section::headed(Text::WhyWorse.text(lang), worse));
    }
    let starts = choice.deployments.iter().zip(1..);
    let mut starts: Vec<Block> = starts
        .flat_map(|(chosen, place)| start(chosen, place, lang))
        .collect();
    if choice.deployments.iter().any(shares_a_host) {
        starts.push(Block::Paragraph(
            Text::FurtherReplicas.text(lang).to_owned(),
        ));
    }
    let is_mindie = |it: &&Deployment| it.engine == EngineKind::Mindie;
    let apart = choice.deployments.iter().filter(|it| it.split.is_some());
    let (files, commands): (Vec<_>, Vec<_>) = apart.partition(is_mindie);
    let notes = [
        (Text::SplitStart, commands),
        (Text::MindieSplitStart, files),
    ];
    let notes = notes.into_iter().filter(|(_, of)| !of.is_empty());
    starts.extend(notes.map(|(note, _)| Block::Paragraph(note.text(lang).to_owned())));
    sections.push(Section::headed(Text::LaunchCommands.text(lang), starts));
    let verify = verify(best, wish.objectives, data);
    let verify = [to_copy(String::new(), &verify)];
    sections.push(Section::headed(Text::VerifyFirst.text(lang), verify));
    sections
}

/// What starts a replica, in the order in which it is started.
fn start(chosen: &Deployment, place: usize, lang: Lang) -> Vec<Block> {
    let start = |process: &Process| {
        let role = match process.role {
            Role::Server => return to_copy(format!("{place}."), &process.command),
            Role::Prefill => Text::PrefillWorker,
            Role::Decode => Text::DecodeWorker,
            Role::Router => Text::Router,
        };
        to_copy(format!("{place}. {}", role.text(lang)), &process.command)
    };
    chosen.processes.iter().map(start).collect()
}

/// Whether a host has room for several of its replicas.
fn shares_a_host(chosen: &Deployment) -> bool {
    chosen.replicas.count > 1 && chosen.prediction.cards <= 4
}

/// A command line that can be broken between its words, unless a quoted one may hold blanks.
fn to_copy(caption: String, line: &str) -> Block {
    let words = if line.contains(['\'', '"', '\\']) {
        vec![line.to_owned()]
    } else {
        line.split(' ').map(str::to_owned).collect()
    };
    Block::Command(Command { caption, words })
}

fn table(choice: &Choice, wish: &Wish<'_>, lang: Lang) -> Table {
    let mut columns = vec![
        Column::right("#"),
        Column::left(Text::Cards.text(lang)),
        Column::left(Text::Engine.text(lang)),
        Column::wrapped(Text::Flags.text(lang)),
        Column::right(Text::CostPerHour.text(lang)),
        Column::right(Text::Cost.text(lang)),
        Column::right(Text::MostJoules.text(lang)),
        Column::right(Text::Headroom.text(lang)),
        Column::right(Text::Load.text(lang)),
        Column::right(Text::Replicas.text(lang)),
    ];
    let slos = wish.objectives.slos.iter();
    columns.extend(slos.map(|slo| Column::right(&format!("{slo}, ms"))));
    columns.push(Column::left(Text::Slo.text(lang)));
    columns.push(Column::left(Text::BasisColumn.text(lang)));
    let rows = choice.deployments.iter().zip(1..).map(|(chosen, place)| {
        let prediction = &chosen.prediction;
        let (word, tone) = if chosen.is_certain() {
            (Text::Met, Tone::Good)
        } else {
            (Text::Uncertain, Tone::Caution)
        };
        let replicas = chosen.replicas;
        let wholly = replicas.most.map(|most| most.to_string());
        let wholly = wholly.unwrap_or_else(|| Text::NoNumber.text(lang).to_owned());
        let mut cells = vec![
            Cell::text(place.to_string()),
            Cell::text(cards_text(chosen)),
            Cell::text(chosen.engine.word()),
            Cell::text(flags_text(chosen)),
            Cell::text(brief(chosen.cost_per_hour)),
            Cell::text(by_servers(chosen, chosen.cost_per_million, lang)),
            Cell::known((chosen.most_joules_per_token).map(|it| by_servers(chosen, it, lang))),
            Cell::text(headroom(chosen, lang)),
            Cell::text(brief_load(prediction.work.load)),
            Cell::text(format!("{} / {wholly}", replicas.least)),
        ];
        cells.extend(prediction.judged.iter().map(|judged| {
            let bound = match judged.bound {
                Some(bound) if bound < 1.0 => format!("±{}", percent(bound)),
                Some(bound) => off_by(bound),
                None => format!("({})", Text::NoUpperEnd.text(lang)),
            };
            Cell::text(format!("{} {bound}", brief(judged.ms)))
        }));
        cells.push(Cell::Toned(word.text(lang).to_owned(), tone));
        cells.push(match chosen.grounds.basis {
            Basis::Validated => Cell::text(Text::ShortValidated.text(lang)),
            Basis::Similar => Cell::text(Text::ShortSimilar.text(lang)),
            Basis::None => Cell::Toned(Text::ShortNone.text(lang).to_owned(), Tone::Caution),
        });
        cells
    });
    let values = [
        ("rate", brief(wish.traffic)),
        ("by", wish.size_by.to_string()),
    ];
    Table {
        columns,
        rows: rows.collect(),
        footnotes: vec![Text::ChoiceNote.with(lang, &values)],
    }
}

/// A cost, and what it is with as many servers as either end of the interval needs.
fn by_servers(chosen: &Deployment, value: f64, lang: Lang) -> String {
    let (least, most) = chosen.by_servers(value);
    let least = brief(least);
    let most = most.map_or_else(|| Text::NoNumber.text(lang).to_owned(), brief);
    match brief(value) {
        value if value == least && value == most => value,
        value => format!("{value} ({least} – {most})"),
    }
}

fn headroom(chosen: &Deployment, lang: Lang) -> String {
    let least = chosen.least_headroom();
    let least = least.map_or_else(|| Text::NoNumber.text(lang).to_owned(), percent);
    let own = percent(chosen.headroom());
    match chosen.most_headroom() {
        Carries::AtMost(most) => format!("{own} ({least} – {})", percent(most)),
        Carries::AtLeast(most) => format!("{own} ({least} – > {})", percent(most)),
    }
}

/// Replicas and the cards of each: `3 × 2 h100`.
fn cards_text(chosen: &Deployment) -> String {
    let one = format!("{} {}", chosen.prediction.cards, chosen.setting.device);
    match chosen.replicas.count {
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

/// What became of all that were considered, and whether the list is whole.
fn counts(choice: &Choice, lang: Lang) -> Vec<String> {
    let numbers = |values: &[(&'static str, usize)]| -> Vec<(&'static str, String)> {
        let values = values.iter();
        values.map(|(name, n)| (*name, n.to_string())).collect()
    };
    let all = numbers(&[
        ("considered", choice.considered),
        ("refused", choice.refused),
        ("missed", choice.never_met),
        ("short", choice.too_few_cards),
        ("screened", choice.screened),
        ("confirmed", choice.confirmed),
        ("few", FEW_REQUESTS as usize),
        ("draws", DRAWS),
    ]);
    let mut said = vec![if choice.deployments.is_empty() {
        Text::NothingChosen.with(lang, &all)
    } else {
        Text::ChoiceCounts.with(lang, &all)
    }];
    if choice.only_by_estimate > 0 {
        let n = numbers(&[("n", choice.only_by_estimate)]);
        said.push(Text::OnlyByEstimate.with(lang, &n));
    }
    if choice.in_doubt > 0 {
        let values = numbers(&[
            ("n", choice.in_doubt),
            ("screened", MOST_SCREENED),
            ("confirmed", MOST_CONFIRMED),
        ]);
        said.push(Text::LeftOutLimit.with(lang, &values));
    }
    let dearer = choice.left_out - choice.in_doubt;
    if dearer > 0 {
        said.push(Text::LeftOutDearer.with(lang, &numbers(&[("n", dearer)])));
    }
    said
}

/// The objective whose figure is nearest to its limit, and at which share of it.
fn nearest_limit(chosen: &Deployment) -> (String, String) {
    let share = |judged: &Judged| judged.ms / (judged.slo.limit.0.as_secs_f64() * 1e3);
    let judged = chosen.prediction.judged.iter();
    let nearest = judged.max_by(|a, b| share(a).total_cmp(&share(b)));
    nearest.map_or_else(Default::default, |it| {
        (it.slo.to_string(), percent(share(it)))
    })
}

/// By the figures that put the one before the other.
fn why_worse(best: &Deployment, next: &Deployment, place: usize, lang: Lang) -> String {
    let place = ("place", place.to_string());
    let more = next.cost_per_hour / best.cost_per_hour - 1.0;
    if more < 0.005 {
        let [own, best] = [next, best].map(nearest_limit);
        let mut values = vec![place, ("objective", own.0), ("share", own.1)];
        if values[2].1 == best.1 {
            return Text::SameCostAsNear.with(lang, &values);
        }
        values.extend([("best_objective", best.0), ("best", best.1)]);
        return Text::SameCost.with(lang, &values);
    }
    let cards = match next.cards() {
        1 => Text::OneCard.text(lang).to_owned(),
        n => Text::CardCount.with(lang, &[("n", n.to_string())]),
    };
    let mut values = vec![
        place,
        ("more", percent(more)),
        ("cards", cards),
        ("price", brief(next.price_per_hour)),
        ("best_cards", best.cards().to_string()),
        ("best_price", brief(best.price_per_hour)),
        ("rate", brief(next.rate_per_card())),
        ("best_rate", brief(best.rate_per_card())),
    ];
    let dearer = next.price_per_hour > best.price_per_hour;
    if dearer || next.rate_per_card() < best.rate_per_card() {
        return Text::CostsMore.with(lang, &values);
    }
    values.push(("each", next.prediction.cards.to_string()));
    Text::CostsMoreByRounding.with(lang, &values)
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
