//! How engines divide the memory of cards: a verdict, a table, a picture, and what would fit.

mod picture;

pub use picture::stacks;

use crate::message::plan::PlanText as Text;
use inferometer_catalog::engine::EngineKind;
use inferometer_catalog::units::GIB;
use inferometer_page::doc::{Block, Cell, Column, Pair, Section, Table, Tone, Unit, Verdict};
use inferometer_page::number;
use inferometer_plan::memory::{Answer, Fit, Part, Remedy};
use inferometer_plan::model::Weights;
use inferometer_text::Lang;

/// The document of `plan memory`; bars of characters stand in where no figure is shown.
pub fn sections(answers: &[Answer], bars: bool, lang: Lang) -> Vec<Section> {
    let verdicts = answers.iter().map(|answer| verdict(answer, lang));
    let mut sections = vec![Section::plain(verdicts.collect())];
    let mut blocks = vec![Block::Table(numbers(answers, lang))];
    if bars {
        blocks.push(Block::Table(picture::bars(answers, lang)));
    }
    sections.push(Section::headed(Text::Memory.text(lang), blocks));
    for answer in answers {
        if answer.fit != Fit::Fits {
            sections.push(remedies(answer, lang));
        }
        sections.extend(mindie(answer, lang));
    }
    sections
}

fn verdict(answer: &Answer, lang: Lang) -> Block {
    let values = |gib: f64, tokens: u64| {
        [
            ("engine", answer.engine.to_string()),
            ("device", placed(answer)),
            ("gib", format!("{gib:.2}")),
            ("tokens", number::grouped(tokens as f64, 0)),
            ("replicas", answer.replicas.to_string()),
        ]
    };
    let (word, tone, reason) = match answer.fit {
        Fit::Fits => (
            Text::Fits,
            Tone::Good,
            match answer.replicas {
                1 => Text::Holds,
                _ => Text::HoldsEach,
            }
            .with(lang, &values(0.0, answer.kv_tokens.unwrap_or(0))),
        ),
        Fit::NoCache(bytes) => (
            Text::DoesNotFit,
            Tone::Bad,
            Text::NoCache.with(lang, &values(bytes / GIB, 0)),
        ),
        Fit::TooLong(bytes) => (
            Text::DoesNotFit,
            Tone::Bad,
            Text::TooLong.with(lang, &values(bytes / GIB, answer.max_model_len)),
        ),
        Fit::Cache(bytes) => (
            Text::DoesNotFit,
            Tone::Bad,
            Text::CacheTooLarge.with(lang, &values(bytes / GIB, 0)),
        ),
    };
    Block::Verdict(Verdict {
        word: word.text(lang).to_owned(),
        tone,
        reason,
        rest: String::new(),
    })
}

fn part_text(part: Part) -> Text {
    match part {
        Part::Weights => Text::Weights,
        Part::Activations => Text::Activations,
        Part::Graphs => Text::Graphs,
        Part::System => Text::System,
        Part::KvCache => Text::KvCache,
        Part::Unused => Text::Unused,
    }
}

/// Every part, the lowest of a stack first.
const PARTS: [Part; 6] = [
    Part::Weights,
    Part::Activations,
    Part::Graphs,
    Part::System,
    Part::KvCache,
    Part::Unused,
];

/// An answer by its engine and cards.
fn name(answer: &Answer) -> String {
    format!("{} {}", answer.engine, placed(answer))
}

/// Its cards, and what tells it from others on the same cards.
fn placed(answer: &Answer) -> String {
    let cards = match answer.cards {
        1 => String::new(),
        cards => format!(" ×{cards}"),
    };
    let varied = answer.varied.iter().map(|(name, value)| match value {
        Some(value) => format!(" {name}={value}"),
        None => format!(" {name}"),
    });
    format!("{}{cards}{}", answer.device, varied.collect::<String>())
}

fn gib(answer: &Answer, part: Part) -> Option<f64> {
    let found = answer.parts.iter().find(|(known, _)| *known == part);
    found.map(|(_, bytes)| bytes / GIB)
}

fn numbers(answers: &[Answer], lang: Lang) -> Table {
    let mut columns = vec![Column::left(Text::Gib.text(lang))];
    columns.extend(answers.iter().map(|answer| Column::right(&name(answer))));
    type Row<'a> = (String, Box<dyn Fn(&Answer) -> (Option<f64>, usize) + 'a>);
    let mut rows: Vec<Row<'_>> = Vec::new();
    for part in PARTS {
        let find = move |answer: &Answer| (gib(answer, part), 2);
        rows.push((part_text(part).text(lang).to_owned(), Box::new(find)));
    }
    let count = |value: Option<u64>| (value.map(|value| value as f64), 0);
    let text = |text: Text| text.text(lang).to_owned();
    rows.push((text(Text::Total), Box::new(|a| (Some(a.total / GIB), 2))));
    rows.push((
        text(Text::KvPerToken),
        Box::new(|a| (Some(a.kv_per_token / 1024.0), 1)),
    ));
    rows.push((
        text(Text::Popular),
        Box::new(|a| (Some(a.popular_kv_per_token / 1024.0), 1)),
    ));
    rows.push((
        text(Text::Factor),
        Box::new(|a| (Some(a.popular_factor()), 1)),
    ));
    rows.push((text(Text::KvTokens), Box::new(move |a| count(a.kv_tokens))));
    rows.push((text(Text::Blocks), Box::new(move |a| count(a.blocks))));
    rows.push((
        text(Text::MaxModelLen),
        Box::new(move |a| count(Some(a.max_model_len))),
    ));
    rows.push((text(Text::Longest), Box::new(move |a| count(a.longest))));
    let tokens = answers.first().map_or(0, |answer| answer.request_tokens);
    rows.push((
        Text::Concurrency.with(lang, &[("tokens", tokens.to_string())]),
        Box::new(|a| (a.max_concurrency, 1)),
    ));
    let rows = rows.into_iter().map(|(name, value)| {
        let cells = answers.iter().map(|answer| {
            let (value, decimals) = value(answer);
            Cell::number(value, Unit::Count, decimals)
        });
        std::iter::once(Cell::text(name)).chain(cells).collect()
    });
    let rows = rows.collect();
    Table {
        columns,
        rows,
        footnotes: footnotes(answers, lang),
    }
}

/// How the weights are known, and what the figures leave out.
fn footnotes(answers: &[Answer], lang: Lang) -> Vec<String> {
    let mut notes = Vec::new();
    for answer in answers {
        notes.push(match answer.weights {
            Weights::Computed(_) => Text::FromShape.text(lang).to_owned(),
            Weights::Stored(_) => Text::FromHeaders.text(lang).to_owned(),
        });
        if !answer.left_out.is_empty() {
            let names = answer.left_out.join(", ");
            notes.push(Text::NotCounted.with(lang, &[("names", names)]));
        }
        if answer.replicas > 1 {
            let values = [("n", answer.replicas.to_string())];
            notes.push(Text::PerReplica.with(lang, &values));
        }
        if let Some(stage) = answer.stage {
            let values = [
                ("n", stage.number.to_string()),
                ("all", stage.of.to_string()),
                ("layers", stage.layers.to_string()),
            ];
            notes.push(Text::PoorestStage.with(lang, &values));
        }
        if !answer.not_counted.is_empty() {
            let names = answer.not_counted.join(", ");
            notes.push(Text::FlagsNotCounted.with(lang, &[("names", names)]));
        }
        if answer.request_tokens > answer.max_model_len {
            let values = [
                ("tokens", number::grouped(answer.request_tokens as f64, 0)),
                ("most", number::grouped(answer.max_model_len as f64, 0)),
            ];
            notes.push(Text::LongerThanMax.with(lang, &values));
        }
    }
    let mut told = std::collections::HashSet::new();
    notes.retain(|note| told.insert(note.clone()));
    notes
}

fn remedies(answer: &Answer, lang: Lang) -> Section {
    let lines: Vec<String> = answer
        .remedies
        .iter()
        .map(|remedy| match remedy {
            Remedy::TensorParallel(cards) => match answer.engine {
                EngineKind::Mindie => format!("worldSize={cards}"),
                EngineKind::Sglang => format!("--tp-size {cards}"),
                _ => format!("--tensor-parallel-size {cards}"),
            },
            Remedy::Weights(dtype) => format!("{} {dtype:?}", Text::Weights.text(lang)),
            Remedy::Cache(_) => "--kv-cache-dtype fp8".to_owned(),
            Remedy::CacheBytes(bytes) => {
                let gib = format!("{:.0}", *bytes as f64 / GIB);
                Text::SmallerCache.with(lang, &[("gib", gib)])
            }
            Remedy::Share(share) => format!("--mem-fraction-static {share}"),
            Remedy::MaxModelLen(tokens) => match answer.engine {
                EngineKind::Mindie => format!("maxSeqLen={tokens}"),
                EngineKind::Sglang => format!("--context-length {tokens}"),
                _ => format!("--max-model-len {tokens}"),
            },
        })
        .collect();
    let heading = format!(
        "{} {}: {}",
        answer.engine,
        placed(answer),
        Text::WouldFit.text(lang)
    );
    let block = if lines.is_empty() {
        Block::Paragraph(Text::NothingFits.text(lang).to_owned())
    } else {
        Block::Quotes(lines)
    };
    Section::headed(&heading, vec![block])
}

fn mindie(answer: &Answer, lang: Lang) -> Option<Section> {
    let sizes = answer.mindie?;
    let pair = |name: &str, value: String| Pair::new(name, value);
    let size = |size: Option<u64>| size.map_or("–".to_owned(), |size| size.to_string());
    let heading = Text::Mindie.with(
        lang,
        &[
            ("input", sizes.lengths.input.to_string()),
            ("output", sizes.lengths.output.to_string()),
        ],
    );
    let pairs = vec![
        pair(
            "npuMemSize",
            Text::NpuMemSize.with(
                lang,
                &[
                    ("automatic", format!("{:.1}", sizes.npu_mem_size)),
                    ("by_hand", format!("{:.0}", sizes.npu_mem_size_by_hand)),
                ],
            ),
        ),
        pair("maxBatchSize", size(sizes.max_batch_size)),
        pair("maxPrefillBatchSize", size(sizes.max_prefill_batch_size)),
        pair("maxPrefillTokens", sizes.max_prefill_tokens.to_string()),
        pair(
            Text::Blocks.text(lang),
            format!("{} / {}", size(answer.blocks), sizes.blocks_per_request),
        ),
    ];
    Some(Section::headed(&heading, vec![Block::Pairs(pairs)]))
}
