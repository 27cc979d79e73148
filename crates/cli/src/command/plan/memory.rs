//! `inferometer plan memory`.

mod picture;

use super::Sheet;
use super::arguments::MemoryArguments;
use super::what_if::list;
use crate::exit::Exit;
use crate::options::Format;
use anyhow::{Context, bail};
use inferometer_catalog::engine::{EngineKind, LaunchCommand};
use inferometer_catalog::memory::GIB;
use inferometer_page::doc::{Block, Cell, Column, Pair, Section, Table, Tone, Unit, Verdict};
use inferometer_plan::device::Card;
use inferometer_plan::flags::{Flag, command, with_flags};
use inferometer_plan::memory::{Answer, Fit, Lengths, MemoryError, Part, Question, Remedy, answer};
use inferometer_plan::model::{KnownModel, Weights, find};
use inferometer_report::message::plan::PlanText as Text;
use inferometer_text::Lang;
use serde_json::json;

/// Divides every card by every engine.
pub fn run(arguments: &MemoryArguments) -> anyhow::Result<Exit> {
    let (model, commands) = started(arguments)?;
    let lengths = arguments.input_tokens.zip(arguments.output_tokens);
    let sets = flag_sets(&arguments.flag)?;
    let mut answers = Vec::new();
    let mut impossible = None;
    for name in arguments.device.iter().flat_map(|names| presets(names)) {
        let card: Card = name.parse().with_context(|| format!("--device {name}"))?;
        for command in &commands {
            for set in &sets {
                let question = Question {
                    model: &model,
                    device: &card.device,
                    cards: arguments.settings.cards,
                    command: with_flags(command.clone(), &set.flags),
                    version: arguments.settings.as_version,
                    varied: set.varied.clone(),
                    lengths: lengths.map(|(input, output)| Lengths { input, output }),
                };
                match answer(&question) {
                    Ok(answer) => answers.push(answer),
                    // Of several engines and cards, those pairs are compared that exist.
                    Err(error @ MemoryError::NotAscend(_)) => impossible = Some(error),
                    Err(error) => return Err(error.into()),
                }
            }
        }
    }
    if let Some(error) = impossible.filter(|_| answers.is_empty()) {
        return Err(error.into());
    }
    let json = || match answers.as_slice() {
        [one] => one.to_json(),
        many => json!({
            "schema": inferometer_plan::memory::SCHEMA,
            "answers": many.iter().map(Answer::to_json).collect::<Vec<_>>(),
        }),
    };
    let sheet = Sheet {
        title: &|lang| Text::Memory.text(lang).to_owned(),
        json: &json,
        sections: &|lang, format| sections(&answers, format, lang),
        figures: &|lang| vec![picture::stacks(&answers, lang)],
    };
    sheet.show(&arguments.view)?;
    Ok(match answers.iter().all(|answer| answer.fit == Fit::Fits) {
        true => Exit::Fine,
        false => Exit::Doubtful,
    })
}

/// The model, and the commands whose engines divide the cards.
fn started(arguments: &MemoryArguments) -> anyhow::Result<(KnownModel, Vec<LaunchCommand>)> {
    let named = arguments.model.as_deref();
    if arguments.command.is_empty() {
        let model = find(named.context("--model is missing")?)?;
        let engines = match arguments.engine.as_slice() {
            [] => &[EngineKind::Vllm],
            engines => engines,
        };
        let commands = engines
            .iter()
            .map(|&engine| command(engine, &model.model.name, &[]));
        let commands = commands.collect::<Result<_, _>>()?;
        return Ok((model, commands));
    }
    let command = LaunchCommand::parse(&arguments.command)?;
    let port = command.engine.default_port();
    let command = command.with_port(port);
    let named = named.or(command.model.as_deref());
    let named = named.context("the command names no model; name it there, or with --model")?;
    Ok((find(named)?, vec![command]))
}

/// A list of presets may be given at once; numbers of one card have commas of their own.
fn presets(names: &str) -> Vec<&str> {
    match names.contains('=') {
        true => vec![names],
        false => names.split(',').collect(),
    }
}

/// Flags of one column, and those of them that other columns have otherwise.
#[derive(Clone, Default)]
struct FlagSet {
    flags: Vec<Flag>,
    varied: Vec<Flag>,
}

/// The most columns that anyone compares.
const MOST_SETS: usize = 64;

/// Every combination of the values that flags are given.
fn flag_sets(given: &[Flag]) -> anyhow::Result<Vec<FlagSet>> {
    let mut sets = vec![FlagSet::default()];
    for (name, value) in given {
        let values = values(value.as_deref())?;
        if sets.len().saturating_mul(values.len()) > MOST_SETS {
            bail!("--flag {name}: more than {MOST_SETS} combinations; vary less");
        }
        let with = |set: &FlagSet, value: &Option<String>| {
            let flag = (name.clone(), value.clone());
            let mut set = set.clone();
            if values.len() > 1 {
                set.varied.push(flag.clone());
            }
            set.flags.push(flag);
            set
        };
        sets = (sets.iter())
            .flat_map(|set| values.iter().map(move |value| with(set, value)))
            .collect();
    }
    Ok(sets)
}

/// A list of values, as `what-if` takes it; JSON has commas of its own.
fn values(text: Option<&str>) -> anyhow::Result<Vec<Option<String>>> {
    Ok(match text {
        None => vec![None],
        Some(text) if text.trim_start().starts_with(['{', '[']) => vec![Some(text.to_owned())],
        Some(text) if text.contains(',') || is_range(text) => {
            list("--flag", text)?.into_iter().map(Some).collect()
        }
        Some(text) => vec![Some(text.to_owned())],
    })
}

/// Numbers on both sides, so that a path is none.
fn is_range(text: &str) -> bool {
    let ends = text.split_once("..");
    ends.is_some_and(|(low, _)| low.parse::<f64>().is_ok())
}

fn sections(answers: &[Answer], format: Format, lang: Lang) -> Vec<Section> {
    let verdicts = answers.iter().map(|answer| verdict(answer, lang));
    let mut sections = vec![Section::plain(verdicts.collect())];
    let mut blocks = vec![Block::Table(numbers(answers, lang))];
    // A page has the picture instead.
    if format != Format::Html {
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
            ("tokens", grouped(tokens)),
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

/// A number with commas between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> = (digits.as_bytes().rchunks(3).rev())
        .filter_map(|group| std::str::from_utf8(group).ok())
        .collect();
    groups.join(",")
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
                ("tokens", grouped(answer.request_tokens)),
                ("most", grouped(answer.max_model_len)),
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
    let block = match lines.is_empty() {
        true => Block::Paragraph(Text::NothingFits.text(lang).to_owned()),
        false => Block::Quotes(lines),
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
