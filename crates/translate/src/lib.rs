//! Command lines of other benchmarks. Given one, [`translate`] writes ours in its place and says
//! what cannot be expressed and what has another meaning here. Pure: words in, words out.

mod address;
mod aiperf;
mod evalscope;
mod guidellm;
mod media;
mod mindie;
mod options;
mod sglang;
#[cfg(test)]
mod tests;
mod translator;
mod vllm;
mod vllm_sweep;

pub use options::{GivenOption, Options};
pub use translator::{TranslateError, Translation};

use inferometer_catalog::engine::words::split;
use translator::{Client, Translator};

/// What a file holds that a command line names; absent if it cannot be read.
pub type ReadFile<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Translates a command line, given as one text or as words.
pub fn translate(words: &[String], read: ReadFile<'_>) -> Result<Translation, TranslateError> {
    let words = match words {
        [] => return Err(TranslateError::Empty),
        [text] => split(text.trim().trim_start_matches(['$', '>']))?,
        words => words.to_vec(),
    };
    if words.is_empty() {
        return Err(TranslateError::Empty);
    }
    match sweep_options(&words) {
        Some(options) => vllm_sweep::translate(options, read),
        None => single(&words),
    }
}

/// A command that measures one load, or several by its own options.
fn single(words: &[String]) -> Result<Translation, TranslateError> {
    let Some((client, first_option)) = recognise(words) else {
        let shown = &words[..words.len().min(4)];
        return Err(TranslateError::UnknownTool(shown.join(" ")));
    };
    let mut translator = Translator::new(Options::parse(&words[first_option..]));
    match client {
        Client::Vllm | Client::VllmScript | Client::VllmSweep => {
            vllm::translate(&mut translator, client)?;
        }
        Client::Evalscope => evalscope::translate(&mut translator)?,
        Client::Sglang => sglang::translate(&mut translator)?,
        Client::Mindie => mindie::translate(&mut translator)?,
        Client::Aiperf => aiperf::translate(&mut translator)?,
        Client::Guidellm => guidellm::translate(&mut translator)?,
    }
    Ok(translator.finish(client))
}

/// The options of `vllm bench sweep serve`.
fn sweep_options(words: &[String]) -> Option<Options> {
    let begins = |four: &[String]| {
        let [program, rest @ ..] = four else {
            return false;
        };
        program.rsplit('/').next() == Some("vllm") && rest == ["bench", "sweep", "serve"]
    };
    let at = words.windows(4).position(begins)?;
    Some(Options::parse(&words[at + 4..]))
}

/// Whose command it is, and where its options begin. Whatever starts it (python, env, nohup,
/// docker exec) stands before.
fn recognise(words: &[String]) -> Option<(Client, usize)> {
    words.iter().enumerate().find_map(|(at, word)| {
        let name = word.rsplit('/').next().unwrap_or(word);
        let is_at = |offset: usize, word: &str| words.get(at + offset).is_some_and(|w| w == word);
        let (client, length) = match name {
            "vllm" | "vllm-rs" if is_at(1, "bench") && is_at(2, "serve") => (Client::Vllm, 3),
            "benchmark_serving.py" | "vllm.benchmarks.benchmark_serving" => (Client::VllmScript, 1),
            "evalscope" | "llmuses" if is_at(1, "perf") => (Client::Evalscope, 2),
            "sglang.bench_serving" | "sglang.benchmark.serving" | "bench_serving.py" => {
                (Client::Sglang, 1)
            }
            "sglang" if is_at(1, "bench_serving") => (Client::Sglang, 2),
            "benchmark" if words.iter().any(|word| is_mindie_option(word)) => (Client::Mindie, 1),
            // What AIPerf was before has the same options.
            "aiperf" | "genai-perf" if is_at(1, "profile") => (Client::Aiperf, 2),
            "guidellm" if is_at(1, "run") => (Client::Guidellm, 2),
            "guidellm" if is_at(1, "benchmark") => {
                (Client::Guidellm, 2 + usize::from(is_at(2, "run")))
            }
            _ => return None,
        };
        Some((client, at + length))
    })
}

fn is_mindie_option(word: &str) -> bool {
    let name = word.split('=').next().unwrap_or(word);
    matches!(
        name,
        "--Http"
            | "--DatasetPath"
            | "--DatasetType"
            | "--ModelName"
            | "--Concurrency"
            | "--TestType"
    )
}
