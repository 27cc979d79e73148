//! Our command line while it is written: their options are taken from it, ours are pushed.

use super::options::Options;
use inferometer_catalog::engine::words::SplitError;
use serde_json::{Map, Value};
use std::str::FromStr;

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
    pub not_needed: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TranslateError {
    #[error("no command line was given; quote it, or put it after --")]
    Empty,
    #[error("the command line cannot be read: {0}")]
    Split(#[from] SplitError),
    #[error(
        "'{0}' is not a known benchmark; known are: vllm bench serve and vllm bench sweep serve, benchmark_serving.py, evalscope perf, sglang.bench_serving, MindIE's benchmark, aiperf profile, guidellm run and benchmark"
    )]
    UnknownTool(String),
    #[error("--{name} {value} is not {expected}")]
    BadValue {
        name: String,
        value: String,
        expected: &'static str,
    },
}

/// The benchmark client whose command is translated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
pub(super) enum Client {
    #[strum(serialize = "vllm bench serve")]
    Vllm,
    #[strum(serialize = "vllm bench sweep serve")]
    VllmSweep,
    /// What it was before.
    #[strum(serialize = "benchmark_serving.py")]
    VllmScript,
    #[strum(serialize = "evalscope perf")]
    Evalscope,
    #[strum(serialize = "sglang.bench_serving")]
    Sglang,
    #[strum(serialize = "MindIE benchmark")]
    Mindie,
    #[strum(serialize = "aiperf profile")]
    Aiperf,
    #[strum(serialize = "guidellm")]
    Guidellm,
}

#[derive(Default)]
pub(super) struct Translator {
    pub(super) options: Options,
    pub(super) url: Option<String>,
    /// Further servers, asked in turn.
    pub(super) more_urls: Vec<String>,
    words: Vec<String>,
    /// An option has several values.
    pub(super) is_sweep: bool,
    /// Requests that are sent before the measured ones, or their time.
    warmup: Option<String>,
    /// Further fields of the request's body.
    pub(super) extra: Map<String, Value>,
    not_expressed: Vec<String>,
    differs: Vec<String>,
    not_needed: Vec<String>,
}

impl Translator {
    pub(super) fn new(options: Options) -> Self {
        Translator {
            options,
            ..Translator::default()
        }
    }

    // Their options. Names of one option are written `name|alias`.

    pub(super) fn value(&mut self, names: &str) -> Option<String> {
        self.options.value(names)
    }

    pub(super) fn value_or(&mut self, names: &str, default: &str) -> String {
        self.value(names).unwrap_or_else(|| default.to_owned())
    }

    pub(super) fn list_or(&mut self, names: &str, default: &str) -> Vec<String> {
        let list = self.options.list(names);
        list.unwrap_or_else(|| vec![default.to_owned()])
    }

    pub(super) fn flag(&mut self, names: &str) -> bool {
        self.options.flag(names)
    }

    pub(super) fn count(&mut self, names: &str) -> Result<Option<u64>, TranslateError> {
        self.number(names, "a whole number")
    }

    pub(super) fn count_or(&mut self, names: &str, default: u64) -> Result<u64, TranslateError> {
        Ok(self.count(names)?.unwrap_or(default))
    }

    pub(super) fn real(&mut self, names: &str) -> Result<Option<f64>, TranslateError> {
        let real: Option<f64> = self.number(names, "a number")?;
        Ok(real.filter(|number| !number.is_nan()))
    }

    /// Numbers between commas and blanks, which make an axis where there are several.
    pub(super) fn numbers(&mut self, names: &str) -> Result<Option<Vec<f64>>, TranslateError> {
        let Some(values) = self.options.list(names) else {
            return Ok(None);
        };
        let number = |value: String| match value.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(number),
            _ => Err(TranslateError::BadValue {
                name: names.split('|').next().unwrap_or_default().to_owned(),
                value,
                expected: "a number",
            }),
        };
        values
            .into_iter()
            .map(number)
            .collect::<Result<_, _>>()
            .map(Some)
    }

    fn number<T: FromStr>(
        &mut self,
        names: &str,
        expected: &'static str,
    ) -> Result<Option<T>, TranslateError> {
        let Some(value) = self.value(names) else {
            return Ok(None);
        };
        let number = value.parse().map_err(|_| TranslateError::BadValue {
            name: names.split('|').next().unwrap_or_default().to_owned(),
            value,
            expected,
        })?;
        Ok(Some(number))
    }

    /// Options that are not needed here.
    pub(super) fn skip(&mut self, names: &str) {
        self.not_needed.extend(self.options.written(names));
    }

    // Ours.

    pub(super) fn push(&mut self, name: &str, value: impl ToString) {
        self.switch(name);
        self.words.push(value.to_string());
    }

    pub(super) fn push_some(&mut self, name: &str, value: Option<impl ToString>) {
        if let Some(value) = value {
            self.push(name, value);
        }
    }

    pub(super) fn switch(&mut self, name: &str) {
        self.words.push(format!("--{name}"));
    }

    /// Takes back an option with its value.
    pub(super) fn leave_out(&mut self, name: &str) {
        let name = format!("--{name}");
        if let Some(place) = self.words.iter().position(|word| *word == name) {
            self.words.drain(place..(place + 2).min(self.words.len()));
        }
    }

    /// Adds to a length that was written as a number or `normal(mean,deviation)`.
    pub(super) fn lengthen(&mut self, name: &str, by: u64) {
        let name = format!("--{name}");
        let place = self.words.iter().position(|word| *word == name);
        let Some(value) = place.and_then(|place| self.words.get_mut(place + 1)) else {
            return;
        };
        let inner = value.strip_prefix("normal(").unwrap_or(value);
        let end = inner.find([',', ')']).unwrap_or(inner.len());
        if let Ok(mean) = inner[..end].parse::<f64>() {
            let longer = (mean + by as f64).to_string();
            *value = value.replacen(&inner[..end].to_owned(), &longer, 1);
        }
    }

    /// Takes back an option without a value.
    pub(super) fn leave_out_switch(&mut self, name: &str) {
        let name = format!("--{name}");
        self.words.retain(|word| *word != name);
    }

    pub(super) fn axis(&mut self, name: &str, values: &[String]) {
        self.is_sweep |= values.len() > 1;
        self.push(name, values.join(","));
    }

    pub(super) fn differs(&mut self, text: impl Into<String>) {
        self.differs.push(text.into());
    }

    pub(super) fn lacks(&mut self, text: impl Into<String>) {
        self.not_expressed.push(text.into());
    }

    /// A further field of the request's body, as JSON where it is JSON.
    pub(super) fn field(&mut self, name: &str, value: Option<String>) {
        if let Some(value) = value {
            let value = serde_json::from_str(&value).unwrap_or(Value::String(value));
            self.extra.insert(name.to_owned(), value);
        }
    }

    /// Further fields of the request's body, from the JSON object of an option.
    pub(super) fn body(&mut self, option: &str, json: &str) {
        match serde_json::from_str(json) {
            Ok(Value::Object(fields)) => self.extra.extend(fields),
            _ => self.lacks(format!("--{option}: its value is not a JSON object")),
        }
    }

    // Theirs as ours.

    pub(super) fn copy(&mut self, name: &str, theirs: &str) {
        let value = self.value(theirs);
        self.push_some(name, value);
    }

    pub(super) fn copy_count(&mut self, name: &str, theirs: &str) -> Result<(), TranslateError> {
        let count = self.count(theirs)?;
        self.push_some(name, count);
        Ok(())
    }

    pub(super) fn copy_seconds(&mut self, name: &str, theirs: &str) -> Result<(), TranslateError> {
        let time = self.real(theirs)?;
        self.push_some(name, time.map(seconds));
        Ok(())
    }

    /// Options that are fields of the request's body here.
    pub(super) fn copy_fields<const N: usize>(&mut self, fields: [(&str, &str); N]) {
        for (option, field) in fields {
            let value = self.value(option);
            self.field(field, value);
        }
    }

    /// An option that holds further fields of the request's body.
    pub(super) fn copy_body(&mut self, option: &str) {
        if let Some(json) = self.value(option) {
            self.body(option, &json);
        }
    }

    /// A tokenizer; that of a hub must be downloaded first.
    pub(super) fn copy_tokenizer(&mut self, option: &str) {
        let named = self.value(option);
        self.push_tokenizer(named, option);
    }

    pub(super) fn push_tokenizer(&mut self, named: Option<String>, option: &str) {
        match named {
            Some(path) if is_path(&path) => self.push("tokenizer", path),
            Some(name) => self.lacks(format!(
                "--{option} {name}: give --tokenizer a local folder or tokenizer.json for exact lengths"
            )),
            None => {}
        }
    }

    /// A tokenizer that may be given by the name of a model, which says nothing new.
    pub(super) fn copy_tokenizer_path(&mut self, option: &str) {
        let path = self.value(option);
        self.push_tokenizer_path(path);
    }

    pub(super) fn push_tokenizer_path(&mut self, path: Option<String>) {
        self.push_some("tokenizer", path.filter(|path| is_path(path)));
    }

    /// A secret must not stand in a line that goes into notes.
    pub(super) fn drop_key(&mut self, option: &str) {
        if self.value(option).is_some() {
            self.differs(format!("--{option}: set the key as OPENAI_API_KEY in the environment; it is not repeated here"));
        }
    }

    pub(super) fn copy_headers(&mut self, option: &str) {
        for header in self.options.all(option) {
            let name = header.split(['=', ':']).next().unwrap_or_default().trim();
            if ["authorization", "api-key", "x-api-key"].contains(&name.to_lowercase().as_str()) {
                self.differs(format!("the header {name}: set the key as OPENAI_API_KEY in the environment; it is not repeated here"));
            } else {
                let colons = usize::from(!header.contains('='));
                self.push("header", header.replacen(':', "=", colons));
            }
        }
    }

    /// A data set of a format that we read.
    pub(super) fn push_data(&mut self, path: Option<String>, format: &str) {
        if path.is_none() {
            self.lacks(format!(
                "no data set is named: put its path in place of FILE ({format})"
            ));
        }
        self.push("data", path.unwrap_or_else(|| "FILE".to_owned()));
        self.push("data-format", format);
    }

    pub(super) fn lacks_dataset(&mut self, option: &str, name: &str) {
        self.lacks(format!(
            "--{option} {name}: convert it to JSON lines, each with a prompt, and give --data FILE --data-format custom"
        ));
    }

    /// A cap without a rate is a closed loop; a rate is an open one.
    pub(super) fn push_load(&mut self, rate: f64, cap: Option<u64>, tool: &str) {
        match cap {
            Some(cap) if rate.is_infinite() => {
                self.push("concurrency", cap);
                self.differs("--max-concurrency with an infinite rate is a closed loop with that many streams");
            }
            None if rate.is_infinite() => {
                self.push("rate", "inf");
                self.differs("an infinite rate sends everything at once: time to first token is mostly the wait in the server's queue");
            }
            cap => {
                self.push("rate", rate);
                if let Some(cap) = cap {
                    self.push("max-concurrency", cap);
                    self.differs(format!("{tool}'s clock starts behind the cap; ours starts when the request was due, so that the wait is seen"));
                }
            }
        }
    }

    /// Requests that their tool sends and waits for before it measures.
    pub(super) fn sends_first(&mut self, names: &str) -> Result<(), TranslateError> {
        let count = self.real(names)?.filter(|count| *count >= 1.0);
        self.push_warmup(names, count.map(|count| (count as u64).to_string()));
        Ok(())
    }

    /// The same of a number or a time that is known already.
    pub(super) fn push_warmup(&mut self, names: &str, extent: Option<String>) {
        let Some(extent) = extent else { return };
        self.warmup = Some(extent);
        let name = names.split('|').next().unwrap_or(names);
        self.differs(format!(
            "--{name}: there the load stops after these requests and begins anew; here the measured ones follow without a pause, so that the start of the load is not measured"
        ));
    }

    /// Whether an option of ours was written.
    pub(super) fn has(&self, name: &str) -> bool {
        let name = format!("--{name}");
        self.words.contains(&name)
    }

    /// What every other tool measures: a load that begins and ends with the measured requests.
    fn push_burst(&mut self) {
        let closed = self.has("concurrency");
        let warmup = self.warmup.take().unwrap_or_else(|| "none".to_owned());
        self.push("warmup", &warmup);
        self.push("hold", "none");
        if closed {
            self.push("stagger", "none");
        }
        let streams = if closed { " --stagger none" } else { "" };
        self.differs(format!("a burst, as there: throughput counts from the first send to the last completion, start and end included; leave out --warmup {warmup} --hold none{streams} for the server's own rate, in a load that is steady around the measured window"));
    }

    pub(super) fn finish(mut self, client: Client) -> Translation {
        self.push_burst();
        let mut words = vec![if self.is_sweep { "sweep" } else { "run" }.to_owned()];
        words.extend(self.url);
        words.append(&mut self.more_urls);
        words.append(&mut self.words);
        if !self.extra.is_empty() {
            let extra = Value::Object(self.extra);
            words.extend(["--extra".to_owned(), extra.to_string()]);
        }
        let unused = self.options.unused();
        let unused = unused.map(|option| format!("{option}: has no counterpart here"));
        self.not_expressed.extend(unused);
        Translation {
            tool: client.into(),
            words,
            not_expressed: self.not_expressed,
            differs: self.differs,
            not_needed: self.not_needed,
        }
    }
}

fn is_path(text: &str) -> bool {
    text.starts_with(['/', '.'])
}

/// A length that is drawn from `low` to `high`.
pub(super) fn uniform(low: f64, high: f64) -> String {
    let whole = |length: f64| length.round().clamp(1.0, 1e7) as u64;
    let (low, high) = (whole(low), whole(high));
    if low >= high {
        high.to_string()
    } else {
        format!("uniform({low},{high})")
    }
}

/// A length that is drawn around `mean`, where it has a deviation.
pub(super) fn normal(mean: f64, deviation: Option<f64>) -> String {
    match deviation.filter(|deviation| *deviation > 0.0) {
        Some(deviation) => format!("normal({mean},{deviation})"),
        None => mean.round().to_string(),
    }
}

pub(super) fn seconds(value: f64) -> String {
    if value.fract() == 0.0 {
        format!("{value}s")
    } else {
        format!("{}ms", (value * 1e3).round())
    }
}
