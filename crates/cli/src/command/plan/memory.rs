//! `inferometer plan memory`.

use super::arguments::MemoryArguments;
use super::cards::{self, AskedCards, names};
use super::what_if::list;
use super::{Sheet, counted, each_once, titled};
use crate::exit::Exit;
use crate::options::Format;
use crate::session::session;
use anyhow::{Context, bail};
use inferometer_catalog::engine::mindie::Config;
use inferometer_catalog::engine::{EngineKind, LaunchCommand};
use inferometer_message::PlanText as Text;
use inferometer_plan::flags::{Flag, command, flags_of, shared_by, with_flags};
use inferometer_plan::memory::{Answer, Fit, Lengths, MemoryError, Question, answer};
use inferometer_plan::model::{KnownModel, find};
use inferometer_plan_report::memory::{sections, stacks};
use inferometer_text::Lang;
use inferometer_text::user_file;
use serde_json::json;
use std::path::Path;

/// Divides every card by every engine.
pub fn run(arguments: &MemoryArguments) -> anyhow::Result<Exit> {
    let (model, commands) = started(arguments)?;
    let lengths = arguments.input_tokens.zip(arguments.output_tokens);
    let sets = flag_sets(&arguments.flag)?;
    let mut answers = Vec::new();
    let mut impossible = None;
    for name in arguments.device.iter().flat_map(|text| names(text)) {
        let AskedCards {
            name,
            card,
            count,
            price,
        } = cards::counted(name)?;
        if price.is_some() {
            bail!("--device {name}: memory has no price; leave it out");
        }
        for command in &commands {
            for set in &sets {
                let mut command = with_flags(command.clone(), &set.flags);
                if let Some(count) = count {
                    let shared = shared_by(command.engine, &flags_of(&command), count);
                    command = with_flags(command, &Vec::from_iter(shared));
                    let own = command.parallelism().cards();
                    cards::enough(&name, Some(count), u32::try_from(own).unwrap_or(u32::MAX))?;
                }
                let question = Question {
                    model: &model,
                    device: &card.device,
                    cards: count.unwrap_or(arguments.settings.cards),
                    command,
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
    let models = answers.iter().map(|answer| answer.model.clone());
    let cards = answers
        .iter()
        .map(|answer| counted(answer.cards, &answer.device));
    let of = [each_once(models), each_once(cards)];
    let sheet = Sheet {
        title: &|lang| titled(&of, Text::Memory, lang),
        json: &json,
        // A page has the picture in place of the bars.
        sections: &|lang, format| sections(&answers, format != Format::Html, lang),
        figures: &|lang| vec![stacks(&answers, lang)],
    };
    sheet.show(&arguments.view)?;
    let all_fit = answers.iter().all(|answer| answer.fit == Fit::Fits);
    Ok(Exit::fine_if(all_fit))
}

/// The model, and the commands whose engines divide the cards.
fn started(arguments: &MemoryArguments) -> anyhow::Result<(KnownModel, Vec<LaunchCommand>)> {
    let named = arguments.model.as_deref();
    let proxy = arguments.proxy.as_deref();
    if let Some(file) = &arguments.mindie_config {
        let (model, config) = mindie_service(file, named, proxy)?;
        let command = command(EngineKind::Mindie, &config.model_name(), &config.flags())?;
        return Ok((model, vec![command]));
    }
    let hubs = session(Lang::default())?.hub_access(proxy);
    if arguments.command.is_empty() {
        let model = find(named.context("--model is missing")?, &hubs)?;
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
    Ok((find(named, &hubs)?, vec![command]))
}

/// What a MindIE's config.json sets, and the model that it serves unless another is named.
pub(super) fn mindie_service(
    file: &Path,
    named: Option<&str>,
    proxy: Option<&str>,
) -> anyhow::Result<(KnownModel, Config)> {
    let hubs = session(Lang::default())?.hub_access(proxy);
    let shown = file.display();
    let text = user_file::read_text(file)
        .with_context(|| format!("cannot read --mindie-config {shown}; check the path"))?;
    let config = Config::parse(&text).with_context(|| format!("--mindie-config {shown}"))?;
    let found = config.model_name();
    let model = find(named.unwrap_or(&found), &hubs)
        .with_context(|| format!("the model of {shown}; --model names another"))?;
    Ok((model, config))
}

/// Flags of one column, and those of them that other columns have otherwise.
#[derive(Clone, Default)]
struct FlagSet {
    flags: Vec<Flag>,
    varied: Vec<Flag>,
}

/// The most columns that anyone compares.
const MOST_SETS: usize = 64;

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
