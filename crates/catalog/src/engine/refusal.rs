//! Refusals: what an engine says before it ends at the start.
//!
//! Texts marked "run" in fixtures/engine/vllm were seen by starting vLLM 0.32; those of older
//! versions and of other engines are from their sources.

use serde::Serialize;

use super::command::GivenFlag;
use super::{EngineKind, Form, Value, Version, flag, value};

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// A flag or word that the engine does not know.
    UnknownFlag,
    /// The beginning of several flags.
    AmbiguousFlag,
    MissingValue,
    /// A value that cannot be read, or is not among the choices.
    BadValue,
    OutOfRange,
    /// `max_num_batched_tokens` < `max_num_seqs`.
    BatchedTokensBelowSeqs,
    /// `max_num_batched_tokens` < `max_model_len` without chunked prefill.
    BatchedTokensBelowModelLen,
    /// `long_prefill_token_threshold` > `max_model_len`.
    LongPrefillAboveModelLen,
    /// `max_model_len` longer than the model's own.
    ModelLenAboveModel,
    /// Heads that cannot be divided among the devices.
    HeadsNotDivisible,
    /// Expert parallelism of a model that has no experts.
    NoExperts,
    /// Groups of cards that do not divide those that share a layer.
    GroupsNotDivisible,
    /// More devices asked for than there are.
    TooManyDevices,
    /// A prompt chunk that is not a whole number of KV pages.
    ChunkNotOfPages,
    /// Cached values in a format that needs fused attention, which is off.
    QuantizedWithoutFlash,
    /// A KV cache in FP8 on a card for which there are no kernels that read it.
    Fp8CacheWithoutKernels,
    /// A KV block that the attention kernels cannot work with.
    BadBlockSize,
    NoModel,
    /// Two settings of a configuration file contradict each other.
    Inconsistent,
}

/// A start that the engine would refuse.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{}", self.with_hint(&self.message))]
pub struct Refusal {
    pub rule: Rule,
    /// The flag or key concerned, by our name; empty where there is none.
    pub flag: String,
    /// The engine's own words, in one line.
    pub message: String,
    /// What we know beyond its words: which versions have a flag that this one lacks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    pub printed: String,
    pub exit_code: i32,
}

impl Refusal {
    /// Its words with the flag, which pydantic names in a line of its own, and with the hint.
    pub fn with_flag(&self) -> String {
        match self.rule {
            Rule::OutOfRange if !self.message.contains(&self.flag) => {
                format!("--{}: {}", self.flag, self.message)
            }
            _ => self.to_string(),
        }
    }

    fn with_hint(&self, words: &str) -> String {
        match &self.hint {
            Some(hint) => format!("{words}; {hint}"),
            None => words.to_owned(),
        }
    }
}

/// Where a refusal is printed, which decides how it reads.
#[derive(Clone, Copy, Debug)]
pub(super) struct Voice {
    pub engine: EngineKind,
    pub form: Form,
    pub version: Version,
}

impl Voice {
    /// The program's name in its usage text, of the command and of the whole program.
    fn names(self) -> (&'static str, &'static str) {
        match self.form {
            Form::VllmServe => ("vllm serve", "vllm"),
            Form::VllmApiServer => ("api_server.py", "api_server.py"),
            Form::SglangModule => ("launch_server.py", "launch_server.py"),
            Form::SglangServe => ("sglang", "sglang"),
            Form::TrtllmServe => ("trtllm-serve", "trtllm-serve"),
            Form::LlamaServer => ("llama-server", "llama-server"),
            Form::MindieDaemon | Form::Other => ("", ""),
        }
    }

    /// argparse's error about one argument: status 2.
    pub fn argument(self, rule: Rule, flag: &str, spellings: &str, problem: &str) -> Refusal {
        if self.engine == EngineKind::LlamaServer {
            let message = format!("error while handling argument \"--{flag}\": {problem}");
            return self.plain(rule, flag, message);
        }
        self.command(rule, flag, format!("argument {spellings}: {problem}"))
    }

    /// argparse's error about words that no argument takes, among them these flags: status 2.
    pub fn unrecognized(self, flags: &[&GivenFlag], words: &[String]) -> Refusal {
        let words = words.join(" ");
        let flag = flags.first().map_or("", |flag| &flag.name);
        let refusal = if self.engine == EngineKind::LlamaServer {
            let message = format!("error: invalid argument: {words}");
            self.plain(Rule::UnknownFlag, flag, message)
        } else {
            let (_, program) = self.names();
            let message = format!("unrecognized arguments: {words}");
            usage_error(program, Rule::UnknownFlag, flag, message)
        };
        Refusal {
            hint: self.of_other_versions(flags),
            ..refusal
        }
    }

    /// Which versions have what this one lacks; absent where none is known to.
    fn of_other_versions(self, flags: &[&GivenFlag]) -> Option<String> {
        let Voice {
            engine, version, ..
        } = self;
        let known = flags.iter().filter_map(|given| {
            let spelled = given.spelled.split('.').next().unwrap_or_default();
            let found = flag::in_other_version(engine, version, spelled)?;
            Some(format!("{spelled} ({found})"))
        });
        let known: Vec<String> = known.collect();
        let list = known.join(", ");
        (!known.is_empty()).then(|| format!("{engine} {version} lacks what others have: {list}"))
    }

    /// An error of argparse that names no argument: status 2.
    pub fn command(self, rule: Rule, flag: &str, message: String) -> Refusal {
        let (command, _) = self.names();
        usage_error(command, rule, flag, message)
    }

    /// A `ValueError` of a configuration class: status 1. Since 0.9.1 pydantic wraps it.
    pub fn value_error(self, rule: Rule, flag: &str, class: &str, message: String) -> Refusal {
        let wrapped = self.engine == EngineKind::Vllm && self.version >= Version::new(0, 9, 1);
        let printed = if wrapped {
            format!(
                "pydantic_core._pydantic_core.ValidationError: 1 validation error for {class}\n  \
                 Value error, {message} [type=value_error]"
            )
        } else {
            format!("ValueError: {message}")
        };
        Refusal {
            rule,
            flag: flag.into(),
            message,
            hint: None,
            printed,
            exit_code: 1,
        }
    }

    /// A rule whose words, if the engine has any, are not known: status 1.
    pub fn plain(self, rule: Rule, flag: &str, message: String) -> Refusal {
        Refusal {
            rule,
            flag: flag.into(),
            printed: message.clone(),
            message,
            hint: None,
            exit_code: 1,
        }
    }

    /// Numbers outside their ranges, all of one class: status 1.
    ///
    /// `flag` is the one that the user gave; another may only follow from it.
    pub fn out_of_range(self, flag: &str, class: &str, broken: &[BrokenBound]) -> Refusal {
        let own = broken
            .iter()
            .find(|bound| bound.flag == flag)
            .or(broken.first());
        if self.engine != EngineKind::Vllm {
            let message = own.map(BrokenBound::plainly).unwrap_or_default();
            return self.plain(Rule::OutOfRange, flag, message);
        }
        let plural = if broken.len() == 1 { "" } else { "s" };
        let mut printed = format!(
            "pydantic_core._pydantic_core.ValidationError: {} validation error{plural} for {class}",
            broken.len()
        );
        for bound in broken {
            printed.push_str(&format!(
                "\n{}\n  {}",
                bound.flag.replace('-', "_"),
                bound.message
            ));
        }
        Refusal {
            rule: Rule::OutOfRange,
            flag: flag.into(),
            message: own.map(|bound| bound.message.clone()).unwrap_or_default(),
            hint: None,
            printed,
            exit_code: 1,
        }
    }
}

/// argparse's usage text and an error below it: status 2.
fn usage_error(program: &str, rule: Rule, flag: &str, message: String) -> Refusal {
    let usage = match program {
        "vllm serve" => "usage: vllm serve [model_tag] [options]",
        // Run: vLLM 0.32.
        "vllm" => {
            "usage: vllm [-h] [-v]\n            {chat,complete,serve,launch,bench,\
             collect-env,download-kernels,preload,run-batch,snapshot}\n            ..."
        }
        other => &format!("usage: {other} [-h] [options]"),
    };
    Refusal {
        rule,
        flag: flag.into(),
        printed: format!("{usage}\n{program}: error: {message}"),
        message,
        hint: None,
        exit_code: 2,
    }
}

/// A number outside its range.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct BrokenBound {
    pub flag: String,
    pub class: String,
    pub message: String,
    /// `1.2, and must be less than or equal to 1`.
    plain: String,
}

impl BrokenBound {
    fn plainly(&self) -> String {
        format!("--{} is out of range: it is {}", self.flag, self.plain)
    }

    /// `bound` is pydantic's words, its name for them, and the limit.
    pub fn new(flag: &str, class: &str, given: &Value, bound: (&str, &str, f64)) -> Self {
        let (words, kind, limit) = bound;
        let (given, given_type) = match given {
            Value::Int(number) => (number.to_string(), "int"),
            // Debug keeps the `.0` that Python writes too.
            Value::Float(number) => (format!("{number:?}"), "float"),
            other => (value::quote(&format!("{other:?}")), "str"),
        };
        Self {
            flag: flag.into(),
            class: class.into(),
            plain: format!("{given}, and must be {words} {limit}"),
            message: format!(
                "Input should be {words} {limit} [type={kind}, input_value={given}, \
                 input_type={given_type}]"
            ),
        }
    }
}
