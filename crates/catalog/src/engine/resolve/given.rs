//! The values that were given, read and checked one by one.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::super::command::{GivenFlag, LaunchCommand};
use super::super::flag::{self, Flag, Lookup};
use super::super::refusal::{BrokenBound, Refusal, Rule, Voice};
use super::super::{EngineKind, Kind, Value, Version, value};

#[derive(Debug, Default)]
pub(super) struct Given {
    pub values: BTreeMap<String, Value>,
    pub without_effect: Vec<String>,
    /// Numbers outside their range: the engine sees these after it has read all arguments.
    pub out_of_range: Vec<BrokenBound>,
}

impl Given {
    pub fn int(&self, name: &str) -> Option<i64> {
        self.values.get(name)?.as_i64()
    }

    /// A whole number that is not negative.
    pub fn count(&self, name: &str) -> Option<u64> {
        u64::try_from(self.int(name)?).ok()
    }

    pub fn size(&self, name: &str) -> u32 {
        self.count(name)
            .and_then(|size| u32::try_from(size).ok())
            .unwrap_or(1)
            .max(1)
    }

    pub fn float(&self, name: &str) -> Option<f64> {
        self.values.get(name)?.as_f64()
    }

    pub fn switch(&self, name: &str) -> Option<bool> {
        match self.values.get(name)? {
            Value::Bool(on) => Some(*on),
            _ => None,
        }
    }

    /// Was this switch given, and not switched off?
    pub fn is_on(&self, name: &str) -> bool {
        self.switch(name) == Some(true)
    }

    pub fn text(&self, name: &str) -> Option<String> {
        self.values.get(name)?.as_str().map(str::to_owned)
    }

    pub fn text_or(&self, name: &str, default: &str) -> String {
        self.text(name).unwrap_or_else(|| default.to_owned())
    }

    pub fn list(&self, name: &str) -> Vec<String> {
        match self.values.get(name) {
            Some(Value::List(list)) => list.clone(),
            Some(Value::Text(text)) => vec![text.clone()],
            _ => Vec::new(),
        }
    }
}

/// Reads all flags in order, as argparse does: the first bad value ends it; unknown words are
/// named together at the end.
pub(super) fn read(command: &LaunchCommand, voice: Voice) -> Result<Given, Refusal> {
    let mut given = Given::default();
    if voice.engine == EngineKind::Custom {
        return Ok(given);
    }
    refuse_ambiguous(command, voice)?;
    let mut unknown: Vec<String> = Vec::new();
    let mut unknown_flags = Vec::new();
    for place in 0..=command.flags.len() {
        let strays = command.extra.iter().filter(|stray| stray.after == place);
        unknown.extend(strays.map(|stray| stray.word.clone()));
        let Some(flag) = command.flags.get(place) else {
            break;
        };
        let flag = &*spelled_out(flag, voice);
        let known = match lookup(flag, voice) {
            Lookup::Found { flag, on } => {
                flag::flag(voice.engine, voice.version, flag).map(|known| (known, on))
            }
            _ => None,
        };
        match known {
            Some((known, on)) => unknown.extend(take(&mut given, flag, known, on, voice)?),
            None => {
                unknown_flags.push(flag.clone());
                unknown.extend(flag.words());
            }
        }
    }
    if !unknown.is_empty() {
        let flags: Vec<&GivenFlag> = unknown_flags.iter().collect();
        return Err(voice.unrecognized(&flags, &unknown));
    }
    Ok(given)
}

/// vLLM's `-O` by the name that it stands for: until 0.12 always the compilation's settings, of
/// which a bare number is the level.
fn spelled_out(flag: &GivenFlag, voice: Voice) -> Cow<'_, GivenFlag> {
    let is_short = flag.spelled == "-O" || flag.spelled.starts_with("-O.");
    if voice.engine != EngineKind::Vllm || !is_short || !flag.known {
        return Cow::Borrowed(flag);
    }
    let is_level = flag.name == "optimization-level" && voice.version < Version::new(0, 12, 0);
    let (name, key) = if is_level {
        ("compilation-config".to_owned(), Some("level".to_owned()))
    } else {
        (flag.name.clone(), flag.key.clone())
    };
    let spelled = match &key {
        Some(key) => format!("--{name}.{key}"),
        None => format!("--{name}"),
    };
    Cow::Owned(GivenFlag {
        name,
        key,
        spelled,
        ..flag.clone()
    })
}

fn lookup(flag: &GivenFlag, voice: Voice) -> Lookup {
    // Only behind a key that was read as one: names of other engines have dots of their own.
    let spelled = match &flag.key {
        Some(_) => flag.spelled.split('.').next().unwrap_or_default(),
        None => &flag.spelled,
    };
    flag::lookup(voice.engine, Some(voice.version), spelled)
}

/// argparse looks at all spellings before it reads the first value.
fn refuse_ambiguous(command: &LaunchCommand, voice: Voice) -> Result<(), Refusal> {
    for flag in &command.flags {
        let flag = &*spelled_out(flag, voice);
        if let Lookup::Ambiguous(names) = lookup(flag, voice) {
            let spelled = if flag.joined {
                flag.words().concat()
            } else {
                flag.spelled.clone()
            };
            let text = format!(
                "ambiguous option: {spelled} could match {}",
                names.join(", ")
            );
            return Err(voice.command(Rule::AmbiguousFlag, &flag.name, text));
        }
    }
    Ok(())
}

/// Takes one flag; gives back words that it does not take.
fn take(
    given: &mut Given,
    flag: &GivenFlag,
    known: &'static Flag,
    on: bool,
    voice: Voice,
) -> Result<Vec<String>, Refusal> {
    let mut surplus = Vec::new();
    let problem = |rule, text: &str| voice.argument(rule, &known.name, &known.spellings(), text);
    let kind = known.kind_in(voice.version);
    let read = if let Some(key) = &flag.key {
        dotted(
            given.values.remove(&known.name),
            key,
            flag.value().unwrap_or_default(),
        )
    } else if !kind.takes_value() {
        match flag.value().and_then(value::boolean) {
            // `--enable-x false` was understood until 0.8 (run: 0.32 says unrecognized).
            Some(word)
                if voice.version < Version::new(0, 9, 0) || voice.engine != EngineKind::Vllm =>
            {
                Value::Bool(word == on)
            }
            Some(_) if !flag.joined => {
                surplus.extend(flag.values.iter().cloned());
                Value::Bool(on)
            }
            _ => match flag.value() {
                None => Value::Bool(on),
                Some(text) => {
                    let text = format!("ignored explicit argument {}", value::quote(text));
                    return Err(problem(Rule::BadValue, &text));
                }
            },
        }
    } else if kind == Kind::List {
        if flag.values.is_empty() {
            return Err(problem(
                Rule::MissingValue,
                "expected at least one argument",
            ));
        }
        for word in &flag.values {
            read_value(known, voice, word).map_err(|text| problem(Rule::BadValue, &text))?;
        }
        Value::List(flag.values.clone())
    } else {
        match flag.value() {
            None if kind == Kind::OptionalText => Value::Null,
            None => return Err(problem(Rule::MissingValue, "expected one argument")),
            Some(text) => {
                read_value(known, voice, text).map_err(|text| problem(Rule::BadValue, &text))?
            }
        }
    };
    if let Some(bound) = read.as_f64().and_then(|number| known.broken_bound(number))
        && !(known.kind == Kind::HumanIntOrAuto && read == Value::Int(-1))
    {
        given
            .out_of_range
            .push(BrokenBound::new(&known.name, &known.group, &read, bound));
    }
    if !known.modelled && !given.without_effect.contains(&known.name) {
        given.without_effect.push(known.name.clone());
    }
    given.values.insert(known.name.clone(), read);
    Ok(surplus)
}

/// Choices are known of the newest versions only; older ones may have had others.
fn read_value(known: &Flag, voice: Voice, text: &str) -> Result<Value, String> {
    let choices_known = voice.engine != EngineKind::Vllm || voice.version >= Version::new(0, 28, 0);
    let kind = known.kind_in(voice.version);
    if choices_known {
        known.read(kind, text)
    } else {
        value::read(kind, text)
    }
}

/// `--speculative-config.method ngram` sets one key of the JSON.
fn dotted(old: Option<Value>, key: &str, text: &str) -> Value {
    let mut object = match old {
        Some(Value::Json(serde_json::Value::Object(object))) => object,
        _ => serde_json::Map::new(),
    };
    let value = serde_json::from_str(text).unwrap_or_else(|_| serde_json::Value::from(text));
    object.insert(key.to_owned(), value);
    Value::Json(serde_json::Value::Object(object))
}
