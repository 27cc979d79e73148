//! How engines divide the memory of cards: a verdict, a table, a picture, and what would fit.

mod picture;

pub use picture::stacks;

use inferometer_catalog::engine::{EngineKind, Fp8Cache};
use inferometer_catalog::units::GIB;
use inferometer_message::PlanText as Text;
use inferometer_page::doc::{Block, Cell, Column, Pair, Section, Table, Tone, Unit, Verdict};
use inferometer_page::number;
use inferometer_plan::memory::{Answer, Fit, Part, Remedy};
use inferometer_plan::model::Weights;
use inferometer_text::Lang;

/// The document of `plan memory`; bars of characters stand in where no figure is shown.
pub fn sections(answers: &[Answer], bars: bool, lang: Lang) -> Vec<Section> {
    let verdicts = answers.iter().map(|answer| verdict(answer, lang));
    let mut sections = vec![Section::plain(verdicts)];
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

fn verdict(answer: &Answer, lang: Lang) -> Verdict {
    let values = |gib: f64, tokens: u64| {
        [
            ("engine", answer.engine.to_string()),
            ("device", placed(answer)),
            ("gib", format!("{gib:.2}")),
            ("tokens", number::grouped(tokens as f64, 0)),
            ("replicas", answer.replicas.to_string()),
        ]
    };
    let (reason, bytes, tokens) = match answer.fit {
        Fit::Fits if answer.replicas == 1 => (Text::Holds, 0.0, answer.kv_tokens.unwrap_or(0)),
        Fit::Fits => (Text::HoldsEach, 0.0, answer.kv_tokens.unwrap_or(0)),
        Fit::NoCache(bytes) => (Text::NoCache, bytes, 0),
        Fit::TooLong(bytes) => (Text::TooLong, bytes, answer.max_model_len),
        Fit::Cache(bytes) => (Text::CacheTooLarge, bytes, 0),
    };
    let (word, tone) = match answer.fit {
        Fit::Fits => (Text::Fits, Tone::Good),
        _ => (Text::DoesNotFit, Tone::Bad),
    };
    let reason = reason.with(lang, &values(bytes / GIB, tokens));
    Verdict::new(word.text(lang), tone, reason)
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
    let mut rows: Vec<(String, Vec<Option<f64>>, usize)> = Vec::new();
    let mut row = |name: &str, decimals: usize, value: &dyn Fn(&Answer) -> Option<f64>| {
        rows.push((
            name.to_owned(),
            answers.iter().map(value).collect(),
            decimals,
        ));
    };
    for part in PARTS {
        row(part_text(part).text(lang), 2, &|answer| gib(answer, part));
    }
    let kib = |bytes: f64| Some(bytes / 1024.0);
    let count = |value: Option<u64>| value.map(|value| value as f64);
    let say = |text: Text| text.text(lang);
    row(say(Text::Total), 2, &|a| Some(a.total / GIB));
    row(say(Text::KvPerToken), 1, &|a| kib(a.kv_per_token));
    row(say(Text::Popular), 1, &|a| kib(a.popular_kv_per_token));
    row(say(Text::Factor), 1, &|a| Some(a.popular_factor()));
    row(say(Text::KvTokens), 0, &|a| count(a.kv_tokens));
    row(say(Text::Blocks), 0, &|a| count(a.blocks));
    row(say(Text::MaxModelLen), 0, &|a| count(Some(a.max_model_len)));
    row(say(Text::Longest), 0, &|a| count(a.longest));
    // Engines that take requests of other lengths are compared at one that all take.
    let tokens = answers.iter().map(|answer| answer.request_tokens).min();
    let tokens = tokens.unwrap_or_default().max(1);
    let at_once = Text::Concurrency.with(lang, &[("tokens", tokens.to_string())]);
    row(&at_once, 1, &|a| {
        a.max_concurrency?;
        if a.request_tokens == tokens {
            a.max_concurrency
        } else {
            Some(a.kv_tokens? as f64 / tokens as f64)
        }
    });
    let rows = rows.into_iter().map(|(name, values, decimals)| {
        let cells = values.into_iter();
        let cells = cells.map(|value| Cell::number(value, Unit::Count, decimals));
        std::iter::once(Cell::text(name)).chain(cells).collect()
    });
    let rows = rows.collect();
    Table {
        columns,
        rows,
        footnotes: footnotes(answers, lang),
    }
}

/// What an engine does with a KV cache in FP8 on a card that does not compute in it.
pub fn fp8_note(does: Fp8Cache, device: &str, lang: Lang) -> String {
    let text = match does {
        Fp8Cache::Converted => Text::Fp8Converted,
        Fp8Cache::ByFlashInfer => Text::Fp8ByFlashInfer,
        Fp8Cache::Refused => Text::Fp8Refused,
    };
    text.with(lang, &[("device", device.to_owned())])
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
        notes.extend((answer.fp8_cache).map(|does| fp8_note(does, &answer.device, lang)));
        if !answer.not_counted.is_empty() {
            let names = answer.not_counted.join(", ");
            notes.push(Text::FlagsNotCounted.with(lang, &[("names", names)]));
        }
        let warns = |warning: &String| Text::EngineWarns.with(lang, &[("text", warning.clone())]);
        notes.extend(answer.warnings.iter().map(warns));
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
            Remedy::TensorParallel { size, host } => {
                let flag = match answer.engine {
                    EngineKind::Mindie => format!("worldSize={size}"),
                    EngineKind::Sglang => format!("--tp-size {size}"),
                    _ => format!("--tensor-parallel-size {size}"),
                };
                match host {
                    Some(cards) => {
                        let values = [("flag", flag), ("cards", cards.to_string())];
                        Text::OnCards.with(lang, &values)
                    }
                    None => flag,
                }
            }
            Remedy::Weights(dtype) => format!("{} {dtype:?}", Text::Weights.text(lang)),
            Remedy::Cache(_) => "--kv-cache-dtype fp8".to_owned(),
            Remedy::CacheBytes(bytes) => {
                let gib = format!("{:.0}", *bytes as f64 / GIB);
                Text::SmallerCache.with(lang, &[("gib", gib)])
            }
            Remedy::Share(share) => match answer.engine {
                EngineKind::Vllm => format!("--gpu-memory-utilization {share}"),
                _ => format!("--mem-fraction-static {share}"),
            },
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
    Section::headed(&heading, [block])
}

fn mindie(answer: &Answer, lang: Lang) -> Option<Section> {
    let sizes = answer.mindie?;
    let size = |size: Option<u64>| size.map_or("–".to_owned(), |size| size.to_string());
    let heading = Text::Mindie.with(
        lang,
        &[
            ("input", sizes.lengths.input.to_string()),
            ("output", sizes.lengths.output.to_string()),
        ],
    );
    let memory = [
        ("automatic", format!("{:.1}", sizes.npu_mem_size)),
        ("by_hand", format!("{:.0}", sizes.npu_mem_size_by_hand)),
    ];
    let blocks = format!("{} / {}", size(answer.blocks), sizes.blocks_per_request);
    let pairs = vec![
        Pair::new("npuMemSize", Text::NpuMemSize.with(lang, &memory)),
        Pair::new("maxBatchSize", size(sizes.max_batch_size)),
        Pair::new("maxPrefillBatchSize", size(sizes.max_prefill_batch_size)),
        Pair::new("maxPrefillTokens", sizes.max_prefill_tokens.to_string()),
        Pair::new(Text::Blocks.text(lang), blocks),
    ];
    Some(Section::headed(&heading, [pairs]))
}
