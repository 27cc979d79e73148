//! Command lines as users type them, taken apart.

use super::flag::{self, Lookup};
use super::words::{self, SplitError};
use super::{EngineKind, Kind, Version, value};

mod program;

pub use program::Form;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenFlag {
    /// Our name of it, without dashes; for an unknown one what was typed, without dashes.
    pub name: String,
    /// The key behind the first dot of `--speculative-config.method`.
    pub key: Option<String>,
    /// As typed, with dashes, without the value.
    pub spelled: String,
    /// False for `--no-x`.
    pub on: bool,
    /// The words that belong to it.
    pub values: Vec<String>,
    /// Was the value joined by `=`?
    pub joined: bool,
    /// Is it in our table, in any version?
    pub known: bool,
}

impl GivenFlag {
    pub fn value(&self) -> Option<&str> {
        self.values.first().map(String::as_str)
    }

    /// The words to type it again.
    pub fn words(&self) -> Vec<String> {
        if let ([value], true) = (self.values.as_slice(), self.joined) {
            return vec![format!("{}={value}", self.spelled)];
        }
        let mut words = vec![self.spelled.clone()];
        words.extend(self.values.iter().cloned());
        words
    }
}

/// A word that belongs to no flag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stray {
    pub word: String,
    /// How many flags stand before it.
    pub after: usize,
}

/// The options of `docker run` in front of the engine's arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Container {
    /// The image, without its tag.
    pub image: String,
    /// The tag, often a version.
    pub tag: Option<String>,
    /// Ports as (on the host, in the container).
    pub published: Vec<(u16, u16)>,
    pub name: Option<String>,
}

/// A launch command, taken apart. It is parsed once and passed on in this form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaunchCommand {
    pub engine: EngineKind,
    pub form: Form,
    /// Words in front of the engine's program: `sudo`, `docker run …`, `ssh host`.
    pub wrapper: Vec<String>,
    /// `NAME=value` in front of the command, or by `-e` of docker.
    pub environment: Vec<(String, String)>,
    /// The program's own words, such as `vllm serve`; empty behind an image with an entry point.
    pub program: Vec<String>,
    /// The model, however it was given.
    pub model: Option<String>,
    /// The flags in order; the model too if it came by a flag.
    pub flags: Vec<GivenFlag>,
    /// Words that belong to nothing; all words of a custom command.
    pub extra: Vec<Stray>,
    pub container: Option<Container>,
    /// Was the engine's part one quoted word, as in `ssh host "…"`?
    pub quoted: bool,
}

/// Why a command line is not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    #[error("the launch command is empty; give the engine's command after `--`")]
    Empty,
    /// The string cannot be split into words.
    #[error(transparent)]
    Split(#[from] SplitError),
}

impl LaunchCommand {
    /// Takes apart one string, as pasted from a shell.
    pub fn parse_line(line: &str) -> Result<Self, CommandError> {
        Self::parse(&words::split(line)?)
    }

    /// Takes apart words. A command of no known engine is custom, not an error.
    pub fn parse<W: AsRef<str>>(words: &[W]) -> Result<Self, CommandError> {
        let words: Vec<String> = words.iter().map(|word| word.as_ref().to_owned()).collect();
        if words.iter().all(|word| word.trim().is_empty()) {
            return Err(CommandError::Empty);
        }
        let (mut command, arguments) = program::find(&words);
        if command.engine == EngineKind::Custom {
            let stray = |word| Stray { word, after: 0 };
            command.extra = arguments.into_iter().map(stray).collect();
        } else {
            command.take_arguments(&arguments);
        }
        Ok(command)
    }

    /// A shell's text, as in `sh -c "…"`, behind which flags would be lost: the shell takes them
    /// for the text's own arguments.
    pub fn loses_flags(&self) -> bool {
        let [.., option, text] = &self.extra[..] else {
            return false;
        };
        let is_text = option.word.starts_with('-') && option.word.ends_with('c');
        let is_shell = |stray: &Stray| {
            let base = stray.word.rsplit('/').next().unwrap_or_default();
            matches!(base, "sh" | "bash" | "dash" | "zsh" | "ksh")
        };
        self.engine == EngineKind::Custom
            && is_text
            && self.extra.iter().any(is_shell)
            && !text.word.contains("$@")
            && !text.word.contains("$*")
    }

    fn take_arguments(&mut self, arguments: &[String]) {
        let mut rest = arguments.iter().peekable();
        while let Some(word) = rest.next() {
            if !looks_like_flag(word) {
                if self.model.is_none() && self.takes_positional_model() {
                    self.model = Some(word.clone());
                } else {
                    self.stray(word);
                }
                continue;
            }
            let mut given = self.identify(word);
            // A lone -O takes a level from 0 to 3, or the JSON of a compilation, and nothing else.
            if word == "-O"
                && self.engine == EngineKind::Vllm
                && let Some(value) = rest.next_if(|next| {
                    matches!(next.as_str(), "0" | "1" | "2" | "3") || next.starts_with('{')
                })
            {
                given = self.identify(&format!("-O={value}"));
            }
            let kind = self.kind_of(&given.name).filter(|_| given.known);
            let mut next_value = || rest.next_if(|next| !looks_like_flag(next)).cloned();
            if given.joined {
                // Its value came with it.
            } else if given.key.is_some() {
                given.values.extend(next_value());
            } else {
                match kind {
                    Some(Kind::List) => {
                        while let Some(value) = next_value() {
                            given.values.push(value);
                        }
                    }
                    Some(kind) if kind.takes_value() => given.values.extend(next_value()),
                    // `--enable-chunked-prefill false`, as 2024 had it.
                    Some(_) => given
                        .values
                        .extend(rest.next_if(|next| value::boolean(next).is_some()).cloned()),
                    None if self.model.is_some() || !self.takes_positional_model() => {
                        given.values.extend(next_value());
                    }
                    None => {}
                }
            }
            if matches!(given.name.as_str(), "model" | "model-path") && given.known {
                // vLLM takes the flag's model and does not know what to do with the other.
                let positional = self
                    .model
                    .take()
                    .filter(|_| self.flag(&given.name).is_none());
                if let (Some(word), true) = (&positional, given.value().is_some()) {
                    self.stray(word);
                }
                self.model = given.value().map(str::to_owned).or(positional);
            }
            self.flags.push(given);
        }
    }

    /// The version that it starts: as given, else as its image says, else the newest known.
    pub fn version(&self, given: Option<Version>) -> Version {
        let tag = || self.container.as_ref()?.tag.as_deref()?.parse().ok();
        given.or_else(tag).unwrap_or(self.engine.newest())
    }

    fn stray(&mut self, word: &str) {
        let after = self.flags.len();
        self.extra.push(Stray {
            word: word.to_owned(),
            after,
        });
    }

    fn takes_positional_model(&self) -> bool {
        matches!(
            self.form,
            Form::VllmServe | Form::SglangServe | Form::TrtllmServe
        )
    }

    /// The flag of a word, by the newest version that knows it.
    fn identify(&self, word: &str) -> GivenFlag {
        if self.engine == EngineKind::Vllm
            && let Some(rest) = word.strip_prefix("-O").filter(|rest| !rest.is_empty())
        {
            return optimization(rest);
        }
        let (spelled, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (word, None),
        };
        let (base, key) = match spelled.split_once('.') {
            Some((base, key)) if self.engine == EngineKind::Vllm => (base, Some(key.to_owned())),
            _ => (spelled, None),
        };
        let newest = Some(self.engine.newest());
        let mut found = flag::lookup(self.engine, newest, base);
        if !matches!(found, Lookup::Found { .. }) {
            found = flag::lookup(self.engine, None, base);
        }
        let (name, on, known) = match found {
            Lookup::Found { flag, on } => (flag.to_owned(), on, true),
            _ => (base.trim_start_matches('-').to_owned(), true, false),
        };
        GivenFlag {
            name,
            key,
            spelled: spelled.to_owned(),
            on,
            joined: value.is_some(),
            values: value.into_iter().collect(),
            known,
        }
    }

    /// The last flag of this name, which is the one that counts.
    pub fn flag(&self, name: &str) -> Option<&GivenFlag> {
        self.flags
            .iter()
            .rev()
            .find(|given| given.name == name && given.key.is_none())
    }

    /// How the value of a flag is read, where any version knows it.
    fn kind_of(&self, name: &str) -> Option<Kind> {
        let mut flags = flag::table(self.engine).iter();
        flags.find(|flag| flag.name == name).map(|flag| flag.kind)
    }

    /// Flags that no version of the engine knows.
    pub fn unknown(&self) -> impl Iterator<Item = &GivenFlag> {
        self.flags.iter().filter(|given| !given.known)
    }

    /// Puts a flag in, in place of all earlier ones of that name. A switch is put in or switched
    /// off by [`value::switch`]; a word that says neither stays with it, for the engine's rules
    /// to refuse.
    pub fn set(&mut self, name: &str, value: Option<&str>) {
        if self.set_stray(name, value) {
            return;
        }
        let kind = self.kind_of(name);
        let is_switch = kind.is_some_and(|kind| !kind.takes_value());
        let switched = value.filter(|_| is_switch).and_then(value::switch);
        let off = switched == Some(false);
        let word = value.filter(|_| switched.is_none()).map(str::to_owned);
        let given = GivenFlag {
            name: name.to_owned(),
            key: None,
            spelled: format!("--{}{name}", if off { "no-" } else { "" }),
            on: !off,
            joined: is_switch && word.is_some(),
            values: word.into_iter().collect(),
            known: kind.is_some(),
        };
        let place = self.flags.iter().position(|old| old.name == name);
        let place = place.unwrap_or(self.flags.len());
        self.remove(name);
        // An `enable` flag has no way to say false but to be absent.
        let absent = kind == Some(Kind::Enable) && off;
        if !absent {
            self.flags.insert(place.min(self.flags.len()), given);
        }
    }

    /// Switches a known flag off as this version says it: `--no-x`, `--x false`, or by leaving it
    /// out where it is off by itself.
    pub fn switch_off(&mut self, name: &str, version: Version) {
        let known = flag::flag(self.engine, version, name);
        if known.is_none_or(|flag| flag.default_in(version) == Some("false")) {
            return self.remove(name);
        }
        self.set(name, Some("false"));
        let negates = known.is_some_and(|flag| flag.can_negate_in(self.engine, version));
        if let Some(given) = self.flags.iter_mut().find(|given| given.name == name)
            && !negates
        {
            given.spelled = format!("--{name}");
            given.on = true;
            given.values = vec!["false".to_owned()];
        }
    }

    pub fn remove(&mut self, name: &str) {
        self.retain(|given| given.name != name);
        self.take_strays(name, None);
    }

    /// The value that the words of an engine which we do not know give a flag, if any; absent
    /// without the flag.
    pub fn stray_value(&self, name: &str) -> Option<Option<&str>> {
        let (at, value) = self.stray_flag(name)?;
        let joined = self.extra[at].word.split_once('=').map(|(_, value)| value);
        Some(joined.or_else(|| Some(self.extra[value?].word.as_str())))
    }

    /// Changes a flag among the words of an engine that we do not know, as it is spelled there;
    /// false if it is not among them.
    fn set_stray(&mut self, name: &str, value: Option<&str>) -> bool {
        let Some((at, Stray { word, after })) = self.take_strays(name, value) else {
            return false;
        };
        let spelled = word.split_once('=').map_or(word.as_str(), |(name, _)| name);
        let words = match value {
            Some(value) if word.contains('=') => vec![format!("{spelled}={value}")],
            Some(value) => vec![spelled.to_owned(), value.to_owned()],
            None => vec![spelled.to_owned()],
        };
        let strays = words.into_iter().map(|word| Stray { word, after });
        self.extra.splice(at..at, strays);
        true
    }

    /// Takes all flags of a name out of the words of an engine that we do not know; where the first
    /// was, and how it was spelled. What follows a flag that gets no value may be a word of its own.
    fn take_strays(&mut self, name: &str, value: Option<&str>) -> Option<(usize, Stray)> {
        let mut first = None;
        while let Some((at, old)) = self.stray_flag(name) {
            let is_value =
                |&at: &usize| value.is_some() || value::boolean(&self.extra[at].word).is_some();
            let end = old.filter(is_value).unwrap_or(at);
            let mut taken = self.extra.drain(at..=end);
            first = first.or_else(|| Some((at, taken.next()?)));
        }
        first
    }

    /// Where the words of an engine that we do not know have a flag, and where its value.
    fn stray_flag(&self, name: &str) -> Option<(usize, Option<usize>)> {
        if self.engine != EngineKind::Custom {
            return None;
        }
        let plain = |name: &str| name.trim_start_matches('-').replace('_', "-");
        let is_flag = |stray: &Stray| {
            let (spelled, _) = (stray.word.split_once('=')).unwrap_or((&stray.word, ""));
            looks_like_flag(spelled) && plain(spelled) == plain(name)
        };
        let at = self.extra.iter().position(is_flag)?;
        let next = self.extra.get(at + 1);
        let has_value = !self.extra[at].word.contains('=')
            && next.is_some_and(|next| !looks_like_flag(&next.word));
        Some((at, has_value.then_some(at + 1)))
    }

    /// Takes out all flags but those that are to be kept.
    pub fn retain(&mut self, keep: impl FnMut(&GivenFlag) -> bool) {
        self.flags.retain(keep);
        let most = self.flags.len();
        for stray in &mut self.extra {
            stray.after = stray.after.min(most);
        }
    }

    /// The command with `port` in place of every `{port}`.
    pub fn with_port(mut self, port: u16) -> Self {
        let port = port.to_string();
        for value in self.flags.iter_mut().flat_map(|given| &mut given.values) {
            *value = value.replace("{port}", &port);
        }
        self
    }

    /// The port that a client on this host must use when the engine listens on `port`.
    pub fn outer_port(&self, port: u16) -> u16 {
        self.container
            .iter()
            .flat_map(|container| &container.published)
            .find(|(_, inner)| *inner == port)
            .map_or(port, |(outer, _)| *outer)
    }

    pub fn to_words(&self) -> Vec<String> {
        let mut inner = self.program.clone();
        if self.takes_positional_model()
            && self.flag("model").is_none()
            && self.flag("model-path").is_none()
        {
            inner.extend(self.model.clone());
        }
        for place in 0..=self.flags.len() {
            let strays = self.extra.iter().filter(|stray| stray.after == place);
            inner.extend(strays.map(|stray| stray.word.clone()));
            inner.extend(self.flags.get(place).into_iter().flat_map(GivenFlag::words));
        }
        let mut words = self.wrapper.clone();
        if self.quoted {
            words.push(words::join(&inner));
        } else {
            words.extend(inner);
        }
        words
    }
}

impl std::fmt::Display for LaunchCommand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&words::join(self.to_words()))
    }
}

/// vLLM's `-O`, by what stands behind it: `-O3` and `-O=3` are the level of optimization,
/// `-O.key=value` and `-O={…}` the compilation's settings.
fn optimization(rest: &str) -> GivenFlag {
    let (name, key, value) = match rest.strip_prefix('.') {
        Some(dotted) => match dotted.split_once('=') {
            Some((key, value)) => ("compilation-config", Some(key), Some(value)),
            None => ("compilation-config", Some(dotted), None),
        },
        None => match rest.strip_prefix('=').unwrap_or(rest) {
            json if json.starts_with('{') => ("compilation-config", None, Some(json)),
            level => ("optimization-level", None, Some(level)),
        },
    };
    GivenFlag {
        name: name.to_owned(),
        key: key.map(str::to_owned),
        spelled: key.map_or("-O".to_owned(), |key| format!("-O.{key}")),
        on: true,
        joined: value.is_some(),
        values: value.into_iter().map(str::to_owned).collect(),
        known: true,
    }
}

/// Does a word begin a flag? Negative numbers and a lone dash do not.
fn looks_like_flag(word: &str) -> bool {
    let Some(rest) = word.strip_prefix('-') else {
        return false;
    };
    !rest.is_empty() && rest.parse::<f64>().is_err()
}

#[cfg(test)]
mod tests;
