//! The tables of flags, by engine and version (data/engine/*.toml).

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use super::{EngineKind, Kind, Value, Version, value};

mod lookup;
mod names;

pub use lookup::{Lookup, lookup, nearest_names};
pub use names::name_for;

/// From here on vLLM makes its switches from the fields of its configuration, each with `--no-`
/// (read in the wheels of 0.8.4 and 0.8.5).
const VLLM_NEGATES_SINCE: Version = Version::new(0, 8, 5);
/// Formats of weights and caches that lose nothing worth a warning.
const FULL_FORMATS: &[&str] = &[
    "auto", "bfloat16", "bf16", "float16", "half", "f16", "float32", "float", "f32",
];

/// What a changed value costs at the next start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Restart {
    Live,
    /// Only the API server is concerned, yet the engine restarts.
    Frontend,
    /// The engine restarts; compiled graphs stay valid.
    #[default]
    Engine,
    /// Graphs are compiled or captured anew, so that the next start is slower.
    Compile,
    /// Other weights, or weights split otherwise, are loaded.
    Weights,
}

/// One flag of an engine, or one key of its configuration file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flag {
    /// Name without dashes in front; keys of a file are written with dots.
    pub name: String,
    /// Other spellings, with their dashes.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// Spellings that switch it off, besides `--no-NAME`.
    #[serde(default)]
    pub negative: Vec<String>,
    /// How its value is read.
    pub kind: Kind,
    /// The only words allowed; empty for any.
    #[serde(default)]
    pub choices: Vec<String>,
    pub min: Option<f64>,
    pub max: Option<f64>,
    /// The value must be larger than this.
    pub above: Option<f64>,
    default: Option<String>,
    #[serde(default)]
    defaults: Vec<EarlierDefault>,
    /// Before this version the number was a plain one, without `8k`.
    int_until: Option<Version>,
    /// First version that knows it; `None` for the first of all.
    pub since: Option<Version>,
    /// First version that no longer knows it.
    pub until: Option<Version>,
    /// The engine's own group of options.
    #[serde(default)]
    pub group: String,
    /// Does the simulated engine act on it? Otherwise it is accepted without effect.
    #[serde(default)]
    pub modelled: bool,
    /// First version that knows its `--no-` spelling, where that is not the engine's own.
    negated_since: Option<Version>,
    /// Values other than the default, and than full floating-point formats, may change what the
    /// model answers.
    #[serde(default)]
    changes_answers: bool,
    /// It is how many requests run at once: more than there are change nothing.
    #[serde(default)]
    pub counts_requests: bool,
    /// What a changed value costs.
    #[serde(default)]
    pub restart: Restart,
    /// One line for people; empty for the many flags that only the engine's own help explains.
    #[serde(default)]
    pub help: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct EarlierDefault {
    until: Version,
    default: String,
}

impl Flag {
    pub fn known_in(&self, version: Version) -> bool {
        self.since.is_none_or(|since| version >= since)
            && self.until.is_none_or(|until| version < until)
    }

    /// Its default in this version. `None` where there is none, or where it depends on the
    /// device and the model (`resolve` knows those).
    pub fn default_in(&self, version: Version) -> Option<&str> {
        self.defaults
            .iter()
            .find(|earlier| version < earlier.until)
            .map(|earlier| earlier.default.as_str())
            .or(self.default.as_deref())
    }

    /// Whether this version knows its `--no-` spelling.
    pub fn can_negate_in(&self, engine: EngineKind, version: Version) -> bool {
        let since = match engine {
            EngineKind::Vllm => self.negated_since.unwrap_or(VLLM_NEGATES_SINCE),
            _ => return self.kind == Kind::Switch,
        };
        self.kind == Kind::Switch && version >= since
    }

    /// Whether this value may change what the model answers, and not only how fast.
    pub fn changes_answers_at(&self, value: &str) -> bool {
        self.changes_answers
            && self.default.as_deref() != Some(value)
            && !FULL_FORMATS.contains(&value)
    }

    pub fn kind_in(&self, version: Version) -> Kind {
        match self.int_until {
            Some(until) if version < until => Kind::Int,
            _ => self.kind,
        }
    }

    /// Reads a value by the rules of the newest version.
    pub fn parse(&self, text: &str) -> Result<Value, String> {
        self.read(self.kind, text)
    }

    /// Reads a value of this kind. The error is argparse's text, without the flag's name.
    pub(super) fn read(&self, kind: Kind, text: &str) -> Result<Value, String> {
        let value = value::read(kind, text)?;
        let allowed = |choice: &String| value::read(kind, choice).as_ref() == Ok(&value);
        if self.choices.is_empty() || self.choices.iter().any(allowed) {
            return Ok(value);
        }
        // Python writes numbers without quotes, and None among the choices.
        let written = |word: &str| match kind {
            Kind::Int => value::read(kind, word)
                .ok()
                .and_then(|value| value.as_i64())
                .map_or_else(|| value::quote(word), |number| number.to_string()),
            _ => value::quote(word),
        };
        let choices: Vec<String> = self
            .choices
            .iter()
            .map(|choice| match choice.as_str() {
                "None" => "None".to_owned(),
                word => written(word),
            })
            .collect();
        Err(format!(
            "invalid choice: {} (choose from {})",
            written(text),
            choices.join(", ")
        ))
    }

    /// All spellings in argparse's order, as its messages name the flag.
    pub fn spellings(&self) -> String {
        let mut all = vec![format!("--{}", self.name)];
        if self.kind == Kind::Switch {
            all.push(format!("--no-{}", self.name));
        }
        all.extend(self.aliases.iter().cloned());
        all.join("/")
    }

    /// The bound that a number breaks, as pydantic words it.
    pub fn broken_bound(&self, number: f64) -> Option<(&'static str, &'static str, f64)> {
        if let Some(min) = self.min.filter(|min| number < *min) {
            return Some(("greater than or equal to", "greater_than_equal", min));
        }
        if let Some(above) = self.above.filter(|above| number <= *above) {
            return Some(("greater than", "greater_than", above));
        }
        if let Some(max) = self.max.filter(|max| number > *max) {
            return Some(("less than or equal to", "less_than_equal", max));
        }
        None
    }
}

#[derive(Deserialize)]
struct Table {
    flag: Vec<Flag>,
}

pub fn table(engine: EngineKind) -> &'static [Flag] {
    static TABLES: [OnceLock<Vec<Flag>>; 5] = [const { OnceLock::new() }; 5];
    let (index, text) = match engine {
        EngineKind::Vllm => (0, include_str!("../../data/engine/vllm.toml")),
        EngineKind::Sglang => (1, include_str!("../../data/engine/sglang.toml")),
        EngineKind::Mindie => (2, include_str!("../../data/engine/mindie.toml")),
        EngineKind::LlamaServer => (3, include_str!("../../data/engine/llama-server.toml")),
        EngineKind::Trtllm => (4, include_str!("../../data/engine/trtllm.toml")),
        EngineKind::Custom => return &[],
    };
    TABLES[index].get_or_init(|| {
        toml::from_str::<Table>(text)
            .expect("the shipped tables parse: a test reads them all")
            .flag
    })
}

/// Versions of an engine at which its flags changed, the newest first.
pub fn versions(engine: EngineKind) -> Vec<Version> {
    let newest = engine.newest();
    let changes = table(engine)
        .iter()
        .flat_map(|flag| flag.since.into_iter().chain(flag.until));
    let mut all: Vec<Version> = changes.chain([newest]).collect();
    all.retain(|version| *version <= newest);
    all.sort_unstable();
    all.dedup();
    all.reverse();
    all
}

pub fn flags(engine: EngineKind, version: Version) -> Vec<&'static Flag> {
    table(engine)
        .iter()
        .filter(|flag| flag.known_in(version))
        .collect()
}

/// `since 0.9.0` or `gone since 0.8.0` of a spelling that this version lacks and others have.
pub fn in_other_version(engine: EngineKind, version: Version, spelled: &str) -> Option<String> {
    let Lookup::Found { flag, on } = lookup(engine, None, spelled) else {
        return None;
    };
    let flag = table(engine).iter().find(|known| known.name == flag)?;
    if let Some(until) = flag.until.filter(|until| version >= *until) {
        return Some(format!("gone since {until}"));
    }
    let named = flag.since.filter(|since| version < *since);
    let negated = match engine {
        EngineKind::Vllm if !on => Some(flag.negated_since.unwrap_or(VLLM_NEGATES_SINCE)),
        _ => None,
    };
    let since = named.max(negated.filter(|since| version < *since))?;
    Some(format!("since {since}"))
}

/// The flag of this name (without dashes) in this version.
pub fn flag(engine: EngineKind, version: Version, name: &str) -> Option<&'static Flag> {
    table(engine)
        .iter()
        .find(|flag| flag.name == name && flag.known_in(version))
}

/// The whole key of MindIE's file for one that is given whole or by its last part.
pub fn mindie_key(given: &str) -> Option<&'static str> {
    let mut names = table(EngineKind::Mindie).iter().map(|flag| &*flag.name);
    names.find(|name| *name == given || name.rsplit('.').next() == Some(given))
}

#[cfg(test)]
mod tests {
    use super::*;
    use strum::VariantArray as _;

    const NEW: Version = Version::new(0, 32, 0);
    const OLD: Version = Version::new(0, 6, 3);

    #[test]
    fn all_shipped_tables_parse_and_name_each_flag_once_per_version() {
        for &engine in EngineKind::VARIANTS {
            let table = table(engine);
            for flag in table {
                let name = &flag.name;
                let twins = table.iter().filter(|other| other.name == *name).count();
                assert_eq!(twins, 1, "{engine} {name}");
                assert!(!flag.modelled || !flag.help.is_empty(), "{engine} {name}");
                let default = flag.default_in(engine.newest());
                if let Some(default) = default.filter(|_| flag.kind.is_number()) {
                    assert!(flag.parse(default).is_ok(), "{engine} {name} {default}");
                }
            }
        }
        assert!(flags(EngineKind::Vllm, NEW).len() > 300);
        assert!(flags(EngineKind::Sglang, EngineKind::Sglang.newest()).len() > 400);
    }

    #[test]
    fn flags_come_and_go_with_versions() {
        let has = |version, name: &str| {
            let all = flags(EngineKind::Vllm, version);
            all.iter().any(|flag| flag.name == name)
        };
        let gone = "scheduler-delay-factor use-v2-block-manager num-scheduler-steps swap-space";
        for name in gone.split(' ') {
            assert!(has(OLD, name) && !has(NEW, name), "{name}");
        }
        let new = "stream-interval kv-offloading-size performance-mode async-scheduling";
        for name in new.split(' ') {
            assert!(!has(OLD, name) && has(NEW, name), "{name}");
        }
        assert!(has(OLD, "disable-custom-all-reduce"));
    }

    #[test]
    fn the_default_of_memory_utilization_rose_in_0_20() {
        let flag = flag(EngineKind::Vllm, OLD, "gpu-memory-utilization").unwrap();
        assert_eq!(flag.default_in(OLD), Some("0.9"));
        assert_eq!(flag.default_in(Version::new(0, 19, 1)), Some("0.9"));
        assert_eq!(flag.default_in(Version::new(0, 20, 0)), Some("0.92"));
    }

    #[test]
    fn spellings_are_found_as_the_engine_finds_them() {
        let found = |spelled: &str| lookup(EngineKind::Vllm, Some(NEW), spelled);
        let switched = |flag, on| Lookup::Found { flag, on };
        assert_eq!(found("--max_num_seqs"), switched("max-num-seqs", true));
        assert_eq!(found("-tp"), switched("tensor-parallel-size", true));
        assert_eq!(found("--max-num-seq"), switched("max-num-seqs", true));
        assert!(matches!(found("--max-num"), Lookup::Ambiguous(_)));
        let off = found("--no-enable-prefix-caching");
        assert_eq!(off, switched("enable-prefix-caching", false));
        assert_eq!(found("--nonsense"), Lookup::Unknown);
        let llama = lookup(EngineKind::LlamaServer, None, "-nocb");
        assert_eq!(llama, switched("cont-batching", false));
    }

    #[test]
    fn a_mistyped_name_finds_its_neighbours() {
        assert_eq!(
            nearest_names(EngineKind::Vllm, NEW, "--max-nun-seqs")[0],
            "max-num-seqs"
        );
        assert!(nearest_names(EngineKind::Vllm, NEW, "--zzzzzzzzz").is_empty());
    }
}
