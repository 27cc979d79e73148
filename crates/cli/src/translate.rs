//! Command lines of other benchmarks as ours: what is asked for, what we cannot express, and
//! what has another meaning here. Pure: words in, words out.

mod aiperf;
mod evalscope;
mod given;
mod guidellm;
mod mindie;
mod sglang;
mod url;
mod vllm;

use given::Given;
use inferometer_catalog::engine::words::{SplitError, split};

/// Our command line in place of theirs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Translation {
    pub tool: &'static str,
    /// `run` or `sweep`, and its arguments.
    pub words: Vec<String>,
    /// Options that we have no counterpart for, each with what can be done.
    pub not_expressed: Vec<String>,
    /// What has another meaning here.
    pub differs: Vec<String>,
    /// Options that are not needed here.
    pub not_needed: Vec<String>,
}

/// Why a command line cannot be translated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TranslateError {
    #[error("no command line was given; quote it, or put it after --")]
    Empty,
    /// It is not a plain command.
    #[error("the command line cannot be read: {0}")]
    Split(#[from] SplitError),
    #[error(
        "'{0}' is no benchmark known here; known are: vllm bench serve, benchmark_serving.py, evalscope perf, sglang.bench_serving, MindIE's benchmark, aiperf profile, guidellm run and benchmark"
    )]
    UnknownTool(String),
    /// A value that is none.
    #[error("--{name} {value} is not {expected}")]
    BadValue {
        name: String,
        value: String,
        expected: &'static str,
    },
}

/// Translates a command line, given as one text or as words.
pub fn translate(words: &[String]) -> Result<Translation, TranslateError> {
    let words = match words {
        [] => return Err(TranslateError::Empty),
        [text] => split(text.trim().trim_start_matches(['$', '>']))?,
        words => words.to_vec(),
    };
    let Some((tool, from)) = tool(&words) else {
        let shown = words.iter().take(4).cloned().collect::<Vec<_>>().join(" ");
        return Err(match words.is_empty() {
            true => TranslateError::Empty,
            false => TranslateError::UnknownTool(shown),
        });
    };
    let mut given = Given::parse(&words[from..]);
    let mut draft = Draft::default();
    match tool {
        Tool::Vllm => vllm::translate(&mut given, &mut draft)?,
        Tool::Evalscope => evalscope::translate(&mut given, &mut draft)?,
        Tool::Sglang => sglang::translate(&mut given, &mut draft)?,
        Tool::Mindie => mindie::translate(&mut given, &mut draft)?,
        Tool::Aiperf => aiperf::translate(&mut given, &mut draft)?,
        Tool::Guidellm => guidellm::translate(&mut given, &mut draft)?,
    }
    Ok(draft.finish(tool, given))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tool {
    Vllm,
    Evalscope,
    Sglang,
    Mindie,
    Aiperf,
    Guidellm,
}

impl Tool {
    fn name(self) -> &'static str {
        match self {
            Tool::Vllm => "vllm bench serve",
            Tool::Evalscope => "evalscope perf",
            Tool::Sglang => "sglang.bench_serving",
            Tool::Mindie => "MindIE benchmark",
            Tool::Aiperf => "aiperf profile",
            Tool::Guidellm => "guidellm",
        }
    }
}

/// Whose command it is, and where its options begin. Whatever starts it (python, env, nohup,
/// docker exec) stands before.
fn tool(words: &[String]) -> Option<(Tool, usize)> {
    let file = |word: &str| word.rsplit('/').next().unwrap_or(word).to_owned();
    words.iter().enumerate().find_map(|(at, word)| {
        let name = file(word);
        let next = words.get(at + 1).map(String::as_str);
        match name.as_str() {
            "vllm" if next == Some("bench") && words.get(at + 2).is_some_and(|w| w == "serve") => {
                Some((Tool::Vllm, at + 3))
            }
            "benchmark_serving.py" | "vllm.benchmarks.benchmark_serving" => {
                Some((Tool::Vllm, at + 1))
            }
            "evalscope" | "llmuses" if next == Some("perf") => Some((Tool::Evalscope, at + 2)),
            "sglang.bench_serving" | "bench_serving.py" => Some((Tool::Sglang, at + 1)),
            "sglang" if next == Some("bench_serving") => Some((Tool::Sglang, at + 2)),
            "benchmark" if words.iter().any(|word| is_mindies(word)) => {
                Some((Tool::Mindie, at + 1))
            }
            "aiperf" if next == Some("profile") => Some((Tool::Aiperf, at + 2)),
            "guidellm" if next == Some("run") => Some((Tool::Guidellm, at + 2)),
            "guidellm" if next == Some("benchmark") => {
                let run = words.get(at + 2).is_some_and(|word| word == "run");
                Some((Tool::Guidellm, at + 2 + usize::from(run)))
            }
            _ => None,
        }
    })
}

fn is_mindies(word: &str) -> bool {
    [
        "--Http",
        "--DatasetPath",
        "--DatasetType",
        "--ModelName",
        "--Concurrency",
        "--TestType",
    ]
    .iter()
    .any(|name| word == *name || word.starts_with(&format!("{name}=")))
}

/// Our words while they are collected.
#[derive(Default)]
struct Draft {
    url: Option<String>,
    words: Vec<String>,
    sweep: bool,
    extra: serde_json::Map<String, serde_json::Value>,
    not_expressed: Vec<String>,
    differs: Vec<String>,
    not_needed: Vec<String>,
}

impl Draft {
    fn push(&mut self, name: &str, value: impl Into<String>) {
        self.words.push(format!("--{name}"));
        self.words.push(value.into());
    }

    fn push_some(&mut self, name: &str, value: Option<impl Into<String>>) {
        if let Some(value) = value {
            self.push(name, value);
        }
    }

    fn flag(&mut self, name: &str) {
        self.words.push(format!("--{name}"));
    }

    fn differs(&mut self, text: impl Into<String>) {
        self.differs.push(text.into());
    }

    fn lacks(&mut self, text: impl Into<String>) {
        self.not_expressed.push(text.into());
    }

    /// A list makes an axis of a sweep.
    fn axis(&mut self, name: &str, values: &[String]) {
        self.sweep |= values.len() > 1;
        self.push(name, values.join(","));
    }

    /// A further field of the request's body.
    fn body(&mut self, name: &str, value: Option<String>) {
        if let Some(value) = value {
            let value = serde_json::from_str(&value).unwrap_or(serde_json::Value::String(value));
            self.extra.insert(name.to_owned(), value);
        }
    }

    /// Further fields of the request's body, as JSON.
    fn bodies(&mut self, option: &str, json: Option<String>) {
        match json.as_deref().map(serde_json::from_str) {
            Some(Ok(serde_json::Value::Object(fields))) => self.extra.extend(fields),
            Some(_) => self.lacks(format!("--{option}: its value is no JSON object")),
            None => {}
        }
    }

    /// A secret must not stand in a line that goes into notes.
    fn key(&mut self, option: &str, given: Option<String>) {
        if given.is_some() {
            self.differs(format!("--{option}: set the key as OPENAI_API_KEY in the environment; it is not repeated here"));
        }
    }

    fn header(&mut self, header: &str) {
        let name = header.split(['=', ':']).next().unwrap_or_default().trim();
        if ["authorization", "api-key", "x-api-key"].contains(&name.to_lowercase().as_str()) {
            self.differs(format!("the header {name}: set the key as OPENAI_API_KEY in the environment; it is not repeated here"));
        } else {
            self.push(
                "header",
                header.replacen(':', "=", usize::from(!header.contains('='))),
            );
        }
    }

    fn finish(mut self, tool: Tool, given: Given) -> Translation {
        let mut words = vec![if self.sweep { "sweep" } else { "run" }.to_owned()];
        words.extend(self.url);
        words.append(&mut self.words);
        if !self.extra.is_empty() {
            let extra = serde_json::Value::Object(self.extra);
            words.extend(["--extra".to_owned(), extra.to_string()]);
        }
        for name in given.unused() {
            self.not_expressed
                .push(format!("{name}: has no counterpart here"));
        }
        Translation {
            tool: tool.name(),
            words,
            not_expressed: self.not_expressed,
            differs: self.differs,
            not_needed: self.not_needed,
        }
    }
}

#[cfg(test)]
mod tests;
