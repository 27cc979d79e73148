//! What headings say of a measurement: which engine, on which card, with which model and data.

use crate::announced::{Announced, Facts};
use crate::brackets::without_brackets;
use crate::result::ImportedResult;
use crate::section::Section;
use inferometer_catalog::device::Device;

/// Engines and what serves them, as they are written.
const ENGINES: [&str; 13] = [
    "vLLM",
    "SGLang",
    "MindIE",
    "XInference",
    "TGI",
    "llama.cpp",
    "LMDeploy",
    "TensorRT-LLM",
    "Ollama",
    "MLX",
    "FastChat",
    "LightLLM",
    "Dynamo",
];

/// Cards as people name them in short, beside the names of presets; some have none.
const CARDS: [&str; 17] = [
    "T4", "V100", "A100", "P40", "A10", "A30", "A40", "A6000", "L4", "L40", "L40S", "H20", "H800",
    "3090", "4090", "5090", "910B",
];

const DATA_ENDS: [&str; 5] = [".jsonl", ".json", ".csv", ".parquet", ".txt"];

/// Reads the facts of each result: from its headings, of which the nearest counts; else from what a
/// log announced above it, from commands, and last from the name of its file.
pub(crate) fn read(
    file: &str,
    results: &mut [ImportedResult],
    announced: &Announced,
    sections: &[Section],
) {
    let of_file = version_in(file.rsplit(['/', '\\']).next().unwrap_or(file));
    for found in results {
        let line = found.span().0;
        for title in &found.section {
            let mut facts: Facts = of_title(title).collect();
            facts.extend(version_in(title).map(|version| (VERSION.to_owned(), version)));
            found.facts.extend(facts);
        }
        let mut further = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                found.facts.entry(name.to_owned()).or_insert(value);
            }
        };
        for (name, value) in announced.at(line, sections).into_iter().flatten() {
            further(name, Some(value.clone()));
        }
        further(
            "model",
            found.client_command.as_deref().and_then(asked_model),
        );
        let served = found
            .flags
            .as_ref()
            .and_then(|flags| flags.get("model")?.as_str());
        further("model", served.map(str::to_owned));
        further(VERSION, found.command.as_deref().and_then(version_in));
        further(VERSION, of_file.clone());
    }
}

pub(crate) const VERSION: &str = "version";
/// When a result was saved, to the minute.
pub(crate) const DATE: &str = "date";

/// The version of an engine that stands behind its name: `vLLM v0.8.5`, `vllm-openai:v0.8.5`,
/// `sglang-0.5.5-c16`.
fn version_in(text: &str) -> Option<String> {
    let text = text.to_lowercase();
    let of = |engine: &str| {
        let engine = engine.to_lowercase();
        let behind = text.match_indices(&engine).map(|(at, name)| {
            let rest = &text[at + name.len()..];
            let rest = rest.strip_prefix("-openai").unwrap_or(rest);
            let rest = rest.trim_start_matches([' ', '-', '_', ':', '=']);
            let rest = rest
                .strip_prefix("version")
                .unwrap_or(rest)
                .trim_start_matches([' ', ':', '=']);
            rest.strip_prefix('v').unwrap_or(rest)
        });
        behind.filter_map(version).next()
    };
    ENGINES.iter().find_map(|engine| of(engine))
}

/// `0.8.5`, `0.8.5.post1` or `0.9.0rc2` at the beginning of a text.
fn version(text: &str) -> Option<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '.';
    let word = text.split(|c: char| !is_part(c)).next()?;
    let word = ENDS_OF_FILES
        .iter()
        .find_map(|end| word.strip_suffix(end))
        .unwrap_or(word);
    let mut parts = word.split('.');
    let is_number = |part: Option<&str>| {
        part.is_some_and(|part| part.len() <= 4 && part.starts_with(|c: char| c.is_ascii_digit()))
    };
    let is_version = is_number(parts.next()) && is_number(parts.next()) && word.len() <= 20;
    is_version.then(|| word.trim_end_matches('.').to_owned())
}

const ENDS_OF_FILES: [&str; 6] = [".jsonl", ".json", ".csv", ".txt", ".log", ".md"];

/// The model that a client's command asks for.
fn asked_model(command: &str) -> Option<String> {
    let mut words = command.split_whitespace();
    while let Some(word) = words.next() {
        let (name, value) = word.split_once('=').unzip();
        let value = match name.unwrap_or(word) {
            "--model" => value.or_else(|| words.next()),
            _ => continue,
        };
        let value = value?.trim_matches(['"', '\'']);
        return (!value.is_empty() && !value.starts_with('-')).then(|| value.to_owned());
    }
    None
}

fn of_title(title: &str) -> impl Iterator<Item = (String, String)> {
    let facts = [
        ("engine", engines(title)),
        ("card", cards(title)),
        ("model", model(title)),
        ("data", data(title)),
    ];
    let known = facts.into_iter();
    known.filter_map(|(name, value)| Some((name.to_owned(), value?)))
}

/// What a heading that names an engine says beside it, its version and its cards, which tell servers
/// apart and not what they were asked: nothing of `1. vLLM 0.6.3 (A100)`. Others stay as they are.
pub(crate) fn without_server(title: &str) -> String {
    if engines(title).is_none() {
        return title.to_owned();
    }
    let is_of_server = |word: &str| {
        let bare = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        let number = bare.strip_prefix(['v', 'V']).unwrap_or(bare);
        engines(bare).is_some() || cards(bare).is_some() || version(number).is_some()
    };
    let (bare, _) = without_brackets(title);
    let is_end = |c: char| c.is_whitespace() || ",，、:：".contains(c);
    let is_number = |word: &str| {
        let word = word.trim_end_matches('.');
        word.chars()
            .all(|c| c.is_ascii_digit() || "一二三四五六七八九十".contains(c))
    };
    let words = bare
        .split(is_end)
        .filter(|word| !word.is_empty() && !is_of_server(word));
    let words: Vec<&str> = words.collect();
    let begin = usize::from(words.first().is_some_and(|word| is_number(word)));
    words[begin..].join(" ")
}

/// Words of a title; a hyphen and a dot belong to a name.
fn words(title: &str) -> impl Iterator<Item = &str> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-._/".contains(c);
    let words = title.split(move |c: char| !is_name(c));
    words
        .map(|word| word.trim_matches(['-', '.', '/', '_']))
        .filter(|word| !word.is_empty())
}

/// All engines that are named, in their order: one may serve the other.
pub(crate) fn engines(title: &str) -> Option<String> {
    let spelling = |word: &str| {
        let mut known = ENGINES.into_iter();
        known.find(|engine| engine.eq_ignore_ascii_case(word))
    };
    let mut named: Vec<&str> = Vec::new();
    for word in words(title) {
        let whole = spelling(word);
        let parts = word.split(['/', '-', '_']).filter_map(spelling);
        for engine in whole.into_iter().chain(parts) {
            if !named.contains(&engine) {
                named.push(engine);
            }
        }
    }
    (!named.is_empty()).then(|| named.join(" + "))
}

/// Whether a word is the name of a card.
pub(crate) fn is_card(word: &str) -> bool {
    let presets = Device::presets().iter().map(|device| device.name.as_str());
    let mut known = presets.chain(CARDS);
    known.any(|card| card.eq_ignore_ascii_case(word))
}

/// A card without its number: `4xH20`, `H20x8`.
fn of_counted(word: &str) -> &str {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    match word.split_once(['x', 'X']) {
        Some((number, card)) if is_number(number) => card,
        Some((card, number)) if is_number(number) => card,
        _ => word,
    }
}

fn cards(title: &str) -> Option<String> {
    let mut named: Vec<String> = Vec::new();
    for word in words(title).flat_map(|word| word.split(['-', '/', '_'])) {
        let is_card = is_card(of_counted(word));
        let word = of_counted(word).to_uppercase();
        if is_card && !named.contains(&word) {
            named.push(word);
        }
    }
    (!named.is_empty()).then(|| named.join(" + "))
}

/// A word with a size in it: `Qwen1.5-7B-Chat`, `mixtral-8x7b`.
pub(crate) fn model(title: &str) -> Option<String> {
    let is_size = |part: &str| {
        let part = part.to_lowercase();
        let Some(number) = part.strip_suffix('b') else {
            return false;
        };
        let number = number.strip_prefix('a').unwrap_or(number);
        number.starts_with(|c: char| c.is_ascii_digit())
            && number
                .chars()
                .all(|c| c.is_ascii_digit() || ".x".contains(c))
    };
    let mut models = words(title).filter(|word| word.split(['-', '_', '/']).any(is_size));
    Some(models.next()?.to_owned())
}

/// A file of data: `long.jsonl`.
fn data(title: &str) -> Option<String> {
    let is_data = |word: &&str| {
        let word = word.to_lowercase();
        DATA_ENDS.iter().any(|end| word.ends_with(end))
    };
    words(title).find(is_data).map(ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_client_command_names_its_model() {
        for (command, expected) in [
            (
                "vllm bench serve --model Qwen/Qwen2.5-7B --port 1",
                Some("Qwen/Qwen2.5-7B"),
            ),
            ("evalscope perf --url u --model='m'", Some("m")),
            ("bench --model --port 1", None),
            ("bench --model-name x", None),
        ] {
            assert_eq!(asked_model(command).as_deref(), expected, "{command}");
        }
    }

    #[test]
    fn what_a_heading_says_beside_its_server_is_the_test() {
        for (title, expected) in [
            ("1. vLLM 0.6.3（A100-80G，单卡）", ""),
            ("二、MindIE 1.0.RC3 910B4", ""),
            ("vLLM v0.8.5 long prompts", "long prompts"),
            ("SGLang: 短输入", "短输入"),
            ("3. 短输入 (A100)", "3. 短输入 (A100)"),
        ] {
            assert_eq!(without_server(title), expected, "{title}");
        }
    }

    #[test]
    fn headings_name_engine_card_model_and_data() {
        for (title, expected) in [
            ("实验结果（MindIE）", "engine=MindIE"),
            (
                "🏆 MindIE (910B4: 8X32G) ⚔️ vLLM (T4: 4X16G)",
                "card=910B4 + T4 engine=MindIE + vLLM",
            ),
            (
                "Nvidia T4: XInference - vLLM",
                "card=T4 engine=XInference + vLLM",
            ),
            (
                "Qwen1.5-7B-Chat (long.jsonl)",
                "data=long.jsonl model=Qwen1.5-7B-Chat",
            ),
            ("Qwen3-30B-A3B on h200", "card=H200 model=Qwen3-30B-A3B"),
            ("vLLM (A100-80G)", "card=A100 engine=vLLM"),
            ("DeepSeek-Coder-6.7B", "model=DeepSeek-Coder-6.7B"),
            ("8xH20, A100X4", "card=H20 + A100"),
            ("Notes on 16 GB cards", ""),
        ] {
            let facts: BTreeMap<String, String> = of_title(title).collect();
            let facts: Vec<String> = facts.iter().map(|(k, v)| format!("{k}={v}")).collect();
            assert_eq!(facts.join(" "), expected, "{title}");
        }
    }
}
