//! What an engine refuses, asked before it is started: a refused point is moved to the nearest
//! legal one or skipped, and costs nothing.

use super::definition::Space;
use super::value::{Point, Value};
use inferometer_catalog::engine::{
    DeviceClass, EngineKind, LaunchCommand, ModelLimits, Version, flag, mindie, repair, resolve,
};
use serde_json::Value as Json;

#[derive(Clone, Debug, PartialEq)]
pub enum Admission {
    Legal(Point),
    /// It was moved to the nearest point of the space that may.
    Repaired {
        point: Point,
        /// The engine's words about the other.
        because: String,
    },
    /// Nothing near it is legal and in the space.
    Refused {
        /// The flag that is wrong; empty where there is none.
        flag: String,
        because: String,
    },
}

impl Admission {
    pub fn point(self) -> Option<Point> {
        match self {
            Admission::Legal(point) | Admission::Repaired { point, .. } => Some(point),
            Admission::Refused { .. } => None,
        }
    }
}

pub trait Rules {
    /// Whether a point of the space may be started.
    fn admit(&self, space: &Space, point: Point) -> Admission;

    /// The values that the searched flags have when none is given, as far as they are known.
    fn defaults(&self, space: &Space) -> Point;

    /// The same where these flags are given: what an engine does by itself may depend on them.
    fn values(&self, space: &Space, flags: &Point) -> Point {
        let defaults = self.defaults(space);
        known_values(space, |name| {
            flags.get(name).or_else(|| defaults.get(name)).cloned()
        })
    }
}

/// An engine of which nothing is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoRules;

impl Rules for NoRules {
    fn admit(&self, space: &Space, point: Point) -> Admission {
        match space.flags(&point) {
            Ok(_) => Admission::Legal(point),
            Err(error) => refused("", error),
        }
    }

    fn defaults(&self, _space: &Space) -> Point {
        Point::default()
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct FlagRules {
    /// The command that the flags of a point are added to.
    pub command: LaunchCommand,
    pub version: Version,
    pub device: DeviceClass,
    pub model: ModelLimits,
}

impl Rules for FlagRules {
    fn admit(&self, space: &Space, point: Point) -> Admission {
        let flags = match space.flags(&point) {
            Ok(flags) => flags,
            Err(error) => return refused("", error),
        };
        let command = command_with(&self.command, Some(self.version), &flags);
        let Err(refusal) = resolve(&command, self.version, &self.device, &self.model) else {
            return Admission::Legal(point);
        };
        let out = || Admission::Refused {
            flag: refusal.flag.clone(),
            because: refusal.to_string(),
        };
        let Ok(repaired) = repair(&command, self.version, &self.device, &self.model) else {
            return out();
        };
        let mut moved = point;
        for change in &repaired.changes {
            // What the user fixed, and what follows from other flags, is not ours to change.
            let Some(value) = (moved.0.get_mut(&change.flag)).zip(change.value.as_deref()) else {
                return out();
            };
            *value.0 = like(value.0, value.1);
        }
        // Derived flags follow the moved ones, so the result is looked at once more.
        let Ok(flags) = space.flags(&moved) else {
            return out();
        };
        let command = command_with(&self.command, Some(self.version), &flags);
        let legal = resolve(&command, self.version, &self.device, &self.model).is_ok();
        if !(legal && space.contains(&moved)) {
            return out();
        }
        Admission::Repaired {
            point: moved,
            because: refusal.message,
        }
    }

    fn defaults(&self, space: &Space) -> Point {
        self.values(space, &Point::default())
    }

    fn values(&self, space: &Space, flags: &Point) -> Point {
        let command = command_with(&self.command, Some(self.version), flags);
        let Ok(resolved) = resolve(&command, self.version, &self.device, &self.model) else {
            return known_values(space, |name| flags.get(name).cloned());
        };
        let resolved = serde_json::to_value(resolved).unwrap_or_default();
        let engine = self.command.engine;
        let own = |name: &str| {
            // Settings are named like vLLM's flags, and switches without their `enable-`.
            let key = name.trim_start_matches("enable-").replace('-', "_");
            let settled = resolved.get(&key).filter(|_| engine == EngineKind::Vllm);
            let settled = settled.and_then(|json| serde_json::from_value(json.clone()).ok());
            settled.or_else(|| read(flag(engine, self.version, name)?.default_in(self.version)?))
        };
        known_values(space, |name| flags.get(name).cloned().or_else(|| own(name)))
    }
}

/// The rules of MindIE, whose flags are keys of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyRules {
    /// The file that the keys of a point are put into.
    pub config: Json,
}

impl Rules for KeyRules {
    fn admit(&self, space: &Space, point: Point) -> Admission {
        let flags = match space.flags(&point) {
            Ok(flags) => flags,
            Err(error) => return refused("", error),
        };
        let parsed =
            config_with(&self.config, &flags).map(|json| mindie::Config::parse(&json.to_string()));
        match parsed {
            None => refused(
                "",
                "a key of the space has no place in the configuration file",
            ),
            Some(Err(error)) => refused("", error),
            Some(Ok(config)) => match config.refusals().into_iter().next() {
                None => Admission::Legal(point),
                Some(refusal) => refused(&refusal.flag, refusal.message),
            },
        }
    }

    fn defaults(&self, space: &Space) -> Point {
        let value = |name: &str| {
            let path = name
                .replace('.', "/")
                .replace("ModelConfig/", "ModelConfig/0/");
            let set = self.config.pointer(&format!("/{path}"));
            let set = set.and_then(|json| serde_json::from_value(json.clone()).ok());
            let newest = EngineKind::Mindie.newest();
            set.or_else(|| read(flag(EngineKind::Mindie, newest, name)?.default_in(newest)?))
        };
        known_values(space, value)
    }
}

fn known_values(space: &Space, value: impl Fn(&str) -> Option<Value>) -> Point {
    let names = space
        .dimensions()
        .iter()
        .map(|dimension| dimension.name.as_str());
    names
        .filter_map(|name| Some((name, value(name)?)))
        .collect()
}

fn refused(flag: &str, because: impl std::fmt::Display) -> Admission {
    Admission::Refused {
        flag: flag.to_owned(),
        because: because.to_string(),
    }
}

/// A command with these flags put in, in place of earlier ones of their names, as this version of
/// the engine spells them; without one, as the newest does.
pub fn command_with(
    command: &LaunchCommand,
    version: Option<Version>,
    flags: &Point,
) -> LaunchCommand {
    let mut command = command.clone();
    let version = version.unwrap_or(command.engine.newest());
    for (name, value) in &flags.0 {
        let known = flag::table(command.engine)
            .iter()
            .find(|flag| flag.name == *name);
        let is_switch = known.is_some_and(|flag| !flag.kind.takes_value());
        match value {
            // Of an unknown switch we know only how to say yes.
            Value::Bool(true) if known.is_none() => command.set(name, None),
            Value::Bool(false) if known.is_none() => command.remove(name),
            Value::Bool(false) if is_switch => command.switch_off(name, version),
            value => command.set(name, Some(&value.to_string())),
        }
    }
    command
}

/// What a command sets a flag to, which a point of the space replaces.
pub fn value_in(command: &LaunchCommand, name: &str) -> Option<Value> {
    let (on, value) = match command.flag(name) {
        Some(given) => (given.on, given.value()),
        None => (true, command.stray_value(name)?),
    };
    match value {
        None => Some(Value::Bool(on)),
        Some(text) => read(text),
    }
}

/// A configuration file with these keys put in; absent if one of them has no place in it.
pub fn config_with(config: &Json, flags: &Point) -> Option<Json> {
    let mut config = config.clone();
    for (name, value) in &flags.0 {
        let mut place = &mut config;
        for key in name.split('.') {
            // The file has a list of models; the standard template knows one.
            if let Json::Array(list) = place {
                place = list.first_mut()?;
            }
            place = place
                .as_object_mut()?
                .entry(key)
                .or_insert(Json::Object(Default::default()));
        }
        *place = serde_json::to_value(value).ok()?;
    }
    Some(config)
}

/// A text as a value of the kind that stood there.
fn like(old: &Value, text: &str) -> Value {
    match old {
        Value::Text(_) => Value::Text(text.to_owned()),
        _ => read(text).unwrap_or_else(|| Value::Text(text.to_owned())),
    }
}

fn read(text: &str) -> Option<Value> {
    Some(match text {
        "None" | "" => return None,
        "true" | "True" => Value::Bool(true),
        "false" | "False" => Value::Bool(false),
        text => match (text.parse(), text.parse()) {
            (Ok(number), _) => Value::Int(number),
            (_, Ok(number)) => Value::Float(number),
            _ => Value::Text(text.to_owned()),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Dimension, Domain, Spacing};
    use super::*;
    use inferometer_catalog::engine::DeviceKind;

    fn rules(command: &str) -> FlagRules {
        FlagRules {
            command: LaunchCommand::parse_line(command).unwrap(),
            version: EngineKind::Vllm.newest(),
            device: DeviceClass {
                kind: DeviceKind::Gpu,
                name: "NVIDIA L20".into(),
                memory_gib: 44.5,
                count: 1,
            },
            model: ModelLimits {
                max_position: 32768,
                heads: 28,
                kv_heads: Some(4),
                multimodal: false,
                dense: true,
            },
        }
    }

    fn space(most_tokens: i64) -> Space {
        let int = |high| Domain::int(16, high, Spacing::Log(None)).unwrap();
        let dimensions = [
            ("max-num-seqs", int(1024)),
            ("max-num-batched-tokens", int(most_tokens)),
            ("enable-chunked-prefill", Domain::bool()),
        ];
        let dimensions = dimensions.map(Dimension::from);
        Space::new(dimensions.to_vec(), Vec::new()).unwrap()
    }

    fn point(seqs: i64, tokens: i64, chunked: bool) -> Point {
        [
            ("max-num-seqs", Value::Int(seqs)),
            ("max-num-batched-tokens", Value::Int(tokens)),
            ("enable-chunked-prefill", Value::Bool(chunked)),
        ]
        .into_iter()
        .collect()
    }

    #[test]
    fn a_refused_point_is_moved_to_the_nearest_legal_one() {
        let rules = rules("vllm serve m");
        let admit = |point| rules.admit(&space(65536), point);
        assert_eq!(
            admit(point(64, 512, true)),
            Admission::Legal(point(64, 512, true))
        );
        let Admission::Repaired {
            point: moved,
            because,
        } = admit(point(512, 128, true))
        else {
            panic!("not moved");
        };
        assert_eq!(moved, point(128, 128, true));
        assert!(because.contains("max_num_batched_tokens"), "{because}");
        assert_eq!(
            admit(point(64, 512, false)).point(),
            Some(point(64, 32768, false))
        );
    }

    #[test]
    fn what_is_legal_only_outside_of_the_space_is_skipped() {
        let Admission::Refused { because, .. } =
            rules("vllm serve m").admit(&space(4096), point(64, 512, false))
        else {
            panic!("not refused");
        };
        assert!(because.contains("max_model_len (32768)"), "{because}");
        // The user's own flag is wrong: no point of the space is to blame or to mend it.
        let fixed = rules("vllm serve m --max-model-len 99999");
        assert_eq!(
            fixed.admit(&space(4096), point(64, 512, true)).point(),
            None
        );
    }

    #[test]
    fn defaults_are_those_of_the_device() {
        let defaults = rules("vllm serve m").defaults(&space(4096));
        assert_eq!(defaults, point(256, 2048, true));
    }

    #[test]
    fn keys_of_a_file_are_set_in_place_and_checked() {
        let config = serde_json::json!({"BackendConfig": {
            "ModelDeployConfig": {"ModelConfig": [{"npuMemSize": -1}]},
            "ScheduleConfig": {"maxBatchSize": 200}}});
        let batch = "BackendConfig.ScheduleConfig.maxBatchSize";
        let memory = "BackendConfig.ModelDeployConfig.ModelConfig.npuMemSize";
        let int = |low, high| Domain::int(low, high, Spacing::Linear(None)).unwrap();
        let dimensions = [(batch, int(1, 500)), (memory, int(1, 40))];
        let dimensions = dimensions.map(Dimension::from);
        let space = Space::new(dimensions.to_vec(), Vec::new()).unwrap();
        let rules = KeyRules { config };
        let point = |number| {
            [(batch, Value::Int(number)), (memory, Value::Int(8))]
                .into_iter()
                .collect::<Point>()
        };
        assert!(rules.admit(&space, point(100)).point().is_some());
        // The prefill batch of the default file is 50, and may not be larger than this one.
        assert!(matches!(
            rules.admit(&space, point(10)),
            Admission::Refused { .. }
        ));
        let made = config_with(&rules.config, &point(100)).unwrap();
        assert_eq!(
            made["BackendConfig"]["ModelDeployConfig"]["ModelConfig"][0]["npuMemSize"],
            8
        );
        assert_eq!(rules.defaults(&space).get(batch), Some(&Value::Int(200)));
    }
}
