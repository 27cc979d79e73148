//! An engine as its command describes it: what it is, whether it would start, how it is asked to
//! begin and to end.

use crate::probe::{Installed, Interview, is_local, probe};
use crate::supervisor::StopSignal;
use inferometer_catalog::engine::command::CommandError;
use inferometer_catalog::engine::flag::versions;
use inferometer_catalog::engine::{
    DeviceClass, EngineKind, LaunchCommand, ModelLimits, Refusal, Rule, Version, nearest,
    nearest_names, resolve,
};
use inferometer_catalog::model::Model;
use std::path::Path;

/// Largest `config.json` of a model that is read.
const LARGEST_CONFIG: u64 = 16 << 20;

/// Why an engine would not start, known before it is tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Objection {
    /// The flag concerned, without dashes; empty where there is none.
    pub flag: String,
    /// The engine's own words, or the broken rule.
    pub message: String,
    /// Names that were perhaps meant.
    pub nearest: Vec<String>,
}

impl std::fmt::Display for Objection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.message)?;
        if !self.nearest.is_empty() {
            write!(f, "; did you mean --{}?", self.nearest.join(" or --"))?;
        }
        Ok(())
    }
}

/// An engine, by the command that starts it.
#[derive(Clone, Debug, Default)]
pub struct Engine {
    command: LaunchCommand,
    installed: Installed,
}

impl Engine {
    /// The engine of a command. One that we do not know is custom.
    pub fn new<W: AsRef<str>>(words: &[W]) -> Result<Self, CommandError> {
        Ok(Self::of(LaunchCommand::parse(words)?))
    }

    pub fn of(command: LaunchCommand) -> Self {
        Engine {
            command,
            ..Engine::default()
        }
    }

    /// The same installed engine, started by another command.
    pub fn with_command(mut self, command: LaunchCommand) -> Self {
        self.command = command;
        self
    }

    /// With this version, as the user gives it; the engine is not asked.
    pub fn of_version(mut self, version: Option<Version>) -> Self {
        self.installed.version = version;
        self
    }

    /// With the version and flags that the installed engine reports.
    pub fn probed(mut self, interview: &mut Interview) -> Self {
        let (_, environment) = self.spawnable();
        self.installed = probe(&self.command, &environment, interview);
        self
    }

    pub fn kind(&self) -> EngineKind {
        self.command.engine
    }

    pub fn command(&self) -> &LaunchCommand {
        &self.command
    }

    pub fn installed(&self) -> &Installed {
        &self.installed
    }

    /// The installed version, else the newest that the tables know.
    pub fn version(&self) -> Version {
        self.installed.version.unwrap_or(self.kind().newest())
    }

    pub fn port(&self) -> u16 {
        let given = self.command.flag("port").and_then(|given| given.value());
        given
            .and_then(|text| text.parse().ok())
            .unwrap_or(self.kind().default_port())
    }

    /// Is it started on this host, without a container, another host or a queue in between?
    pub fn is_local(&self) -> bool {
        is_local(&self.command)
    }

    /// The port that a client on this host uses when the engine listens on `port`.
    pub fn outer_port(&self, port: u16) -> u16 {
        self.command.outer_port(port)
    }

    /// How it prefers to be asked to end.
    pub fn stop_signal(&self) -> StopSignal {
        match self.kind() {
            // As by Ctrl-C: both then release their devices in order.
            EngineKind::Vllm | EngineKind::LlamaServer => StopSignal::Interrupt,
            EngineKind::Sglang | EngineKind::Mindie | EngineKind::Trtllm | EngineKind::Custom => {
                StopSignal::Terminate
            }
        }
    }

    pub fn stop_command(&self) -> Option<Vec<String>> {
        let name = self.command.container.as_ref()?.name.clone()?;
        let is_tool = |word: &String| {
            let base = word.rsplit('/').next().unwrap_or(word);
            matches!(base, "docker" | "podman" | "nerdctl")
        };
        let mut before = self.command.wrapper.iter();
        let at = before.position(is_tool)?;
        // What stands in front, such as sudo, is needed to stop it too.
        let mut words = self.command.wrapper[..=at].to_vec();
        words.extend(["stop".to_owned(), name]);
        Some(words)
    }

    /// Words to spawn, and the environment of assignments in front of them.
    pub fn spawnable(&self) -> (Vec<String>, Vec<(String, String)>) {
        let mut words = self.command.to_words();
        let is_assignment = |word: &String| {
            let name = word.split_once('=').map(|(name, _)| name);
            name.is_some_and(|name| {
                !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            })
        };
        let assigned = words.iter().take_while(|word| is_assignment(word)).count();
        let environment = words
            .drain(..assigned)
            .filter_map(|word| {
                let (name, value) = word.split_once('=')?;
                Some((name.to_owned(), value.to_owned()))
            })
            .collect();
        (words, environment)
    }

    /// Limits of the model: from its folder on this host, else from our presets by its name.
    pub fn model_limits(&self) -> Option<ModelLimits> {
        let name = self.command.model.as_deref()?;
        let path = Path::new(name).join("config.json");
        let is_small = std::fs::metadata(&path).is_ok_and(|data| data.len() <= LARGEST_CONFIG);
        let text = is_small
            .then(|| std::fs::read_to_string(&path).ok())
            .flatten();
        let model = match text {
            Some(text) => Model::from_config_json(name, &text).ok()?,
            None => Model::named(name)?,
        };
        Some(ModelLimits::of(&model))
    }

    /// All that is known to keep it from starting on these devices; empty if nothing is. Without
    /// the model's limits, rules about them are left out.
    pub fn check(&self, device: &DeviceClass, model: Option<&ModelLimits>) -> Vec<Objection> {
        let mut objections = self.unknown_to_help();
        if matches!(self.kind(), EngineKind::Custom | EngineKind::Mindie) {
            return objections;
        }
        let refusal = self.refusal(self.version(), device, model);
        // Of an unknown version, only what every version refuses is certain.
        let is_certain = || self.accepting_version(device, model).is_none();
        let refusal = refusal.filter(|_| is_certain());
        objections.extend(refusal.map(|refusal| self.objection(refusal)));
        objections
    }

    /// What the newest version would refuse, and the newest that would not; absent where the
    /// version is known, or where nothing depends on it.
    pub fn doubt(
        &self,
        device: &DeviceClass,
        model: Option<&ModelLimits>,
    ) -> Option<(Objection, Version)> {
        let accepting = self.accepting_version(device, model)?;
        let refusal = self.refusal(self.version(), device, model)?;
        Some((self.objection(refusal), accepting))
    }

    /// The newest version that would start, where the installed one is not known.
    fn accepting_version(
        &self,
        device: &DeviceClass,
        model: Option<&ModelLimits>,
    ) -> Option<Version> {
        if self.installed.version.is_some()
            || matches!(self.kind(), EngineKind::Custom | EngineKind::Mindie)
        {
            return None;
        }
        versions(self.kind())
            .into_iter()
            .find(|version| self.refusal(*version, device, model).is_none())
    }

    fn objection(&self, refusal: Refusal) -> Objection {
        Objection {
            nearest: match refusal.rule {
                Rule::UnknownFlag => self.nearest(&refusal.flag),
                _ => Vec::new(),
            },
            message: refusal.with_flag(),
            flag: refusal.flag,
        }
    }

    fn refusal(
        &self,
        version: Version,
        device: &DeviceClass,
        model: Option<&ModelLimits>,
    ) -> Option<Refusal> {
        let mut command = self.without(&self.known_only_to_help());
        let help = self.installed.help.as_ref();
        // What the engine itself does not know is named already.
        command.retain(|given| help.is_none_or(|help| help.knows(base(&given.spelled))));
        match model {
            Some(model) => resolve(&command, version, device, model).err(),
            None => {
                let given = command
                    .flag("max-model-len")
                    .and_then(|given| given.value());
                let length = given.and_then(|text| text.parse().ok());
                let guess = ModelLimits {
                    max_position: length.unwrap_or(1),
                    heads: 0,
                    kv_heads: None,
                    multimodal: false,
                    dense: false,
                };
                let refusal = resolve(&command, version, device, &guess).err()?;
                let about_model = matches!(
                    refusal.rule,
                    Rule::BatchedTokensBelowModelLen
                        | Rule::LongPrefillAboveModelLen
                        | Rule::ModelLenAboveModel
                        | Rule::HeadsNotDivisible
                );
                (length.is_some() || !about_model).then_some(refusal)
            }
        }
    }

    /// Flags that the installed engine's help does not name.
    fn unknown_to_help(&self) -> Vec<Objection> {
        let Some(help) = &self.installed.help else {
            return Vec::new();
        };
        let flags = self.command.flags.iter();
        flags
            .filter(|given| !help.knows(base(&given.spelled)))
            .map(|given| Objection {
                flag: given.name.clone(),
                message: format!("the installed engine does not know {}", given.spelled),
                nearest: self.nearest(&given.spelled),
            })
            .collect()
    }

    /// Spellings that the installed engine knows and our table does not.
    fn known_only_to_help(&self) -> Vec<String> {
        let Some(help) = &self.installed.help else {
            return Vec::new();
        };
        let in_table = |name: &str| {
            inferometer_catalog::engine::flag(self.kind(), self.version(), name).is_some()
        };
        let flags = self.command.flags.iter();
        flags
            .filter(|given| !in_table(&given.name) && help.knows(base(&given.spelled)))
            .map(|given| given.spelled.clone())
            .collect()
    }

    /// The command for the tables: without these flags, and with some port.
    fn without(&self, spelled: &[String]) -> LaunchCommand {
        // Any port will do for the check of a command whose port is still open.
        let mut command = self.command.clone().with_port(self.kind().default_port());
        command.retain(|given| !spelled.contains(&given.spelled));
        command
    }

    fn nearest(&self, name: &str) -> Vec<String> {
        let found = match &self.installed.help {
            Some(help) => nearest(help.names(), name),
            None => nearest_names(self.kind(), self.version(), name),
        };
        found.into_iter().map(str::to_owned).collect()
    }
}

/// The flag of `--speculative-config.method`.
fn base(spelled: &str) -> &str {
    spelled.split('.').next().unwrap_or(spelled)
}

#[cfg(test)]
mod tests;
