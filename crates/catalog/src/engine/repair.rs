//! The nearest command that an engine does not refuse.

use super::command::LaunchCommand;
use super::defaults::{DeviceClass, ModelLimits};
use super::refusal::{Refusal, Rule};
use super::resolve::{block_unit, resolve};
use super::{Kind, Version, flag, value};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub flag: String,
    /// Its new value; `None` if it was taken out.
    pub value: Option<String>,
    /// The engine's words that made it necessary.
    pub because: String,
}

/// A command that passes, and how it got there.
#[derive(Clone, Debug, PartialEq)]
pub struct Repaired {
    pub command: LaunchCommand,
    /// The changes, in order; none if it was legal.
    pub changes: Vec<Change>,
}

/// Each flag is touched a few times at most; more steps mean that our rules turn in circles.
const MOST_CHANGES: usize = 200;

/// Changes as little as the rules ask for. What the user would serve stays: the model's length is
/// changed only if it is itself the problem. Fails with a refusal that no flag can mend.
pub fn repair(
    command: &LaunchCommand,
    version: Version,
    device: &DeviceClass,
    model: &ModelLimits,
) -> Result<Repaired, Refusal> {
    let mut command = command.clone();
    let mut changes = Vec::new();
    loop {
        let refusal = match resolve(&command, version, device, model) {
            Ok(_) => return Ok(Repaired { command, changes }),
            Err(refusal) if changes.len() >= MOST_CHANGES => return Err(refusal),
            Err(refusal) => refusal,
        };
        let Some((name, value)) = mend(&mut command, &refusal, version, device, model) else {
            return Err(refusal);
        };
        changes.push(Change {
            flag: name,
            value,
            because: refusal.message,
        });
    }
}

/// Mends one refusal: the flag and its new value.
fn mend(
    command: &mut LaunchCommand,
    refusal: &Refusal,
    version: Version,
    device: &DeviceClass,
    model: &ModelLimits,
) -> Option<(String, Option<String>)> {
    let name = refusal.flag.clone();
    let count = |command: &LaunchCommand, name: &str| -> Option<u64> {
        let kind = flag::flag(command.engine, version, name)?.kind_in(version);
        value::read(kind, command.flag(name)?.value()?)
            .ok()?
            .as_i64()?
            .try_into()
            .ok()
    };
    let set = |command: &mut LaunchCommand, name: &str, value: String| {
        command.set(name, Some(&value));
        Some((name.to_owned(), Some(value)))
    };
    let remove = |command: &mut LaunchCommand, name: String| {
        let had = command.flags.len();
        command.remove(&name);
        (command.flags.len() < had).then_some((name, None))
    };
    match refusal.rule {
        Rule::UnknownFlag => mend_unknown(command, version),
        Rule::AmbiguousFlag | Rule::MissingValue | Rule::BadValue => remove(command, name),
        Rule::OutOfRange => {
            let known = flag::flag(command.engine, version, &name)?;
            let kind = known.kind_in(version);
            let given = command.flag(&name).and_then(|given| given.value());
            let number = given.and_then(|text| value::read(kind, text).ok()?.as_f64());
            let nearest = match (number, known.min, known.max) {
                (Some(number), Some(min), _) if number < min => Some(min),
                (Some(number), _, Some(max)) if number > max => Some(max),
                _ => None,
            };
            match nearest {
                Some(nearest) => set(command, &name, nearest.to_string()),
                // Not above its bound, or not given at all: the default is the nearest we know.
                None => remove(command, name),
            }
        }
        Rule::BatchedTokensBelowModelLen => {
            let length = count(command, "max-model-len").unwrap_or(model.max_position);
            set(command, "max-num-batched-tokens", length.to_string())
        }
        Rule::BatchedTokensBelowSeqs => {
            // Fewer sequences take no more memory; more tokens would.
            match count(command, "max-num-batched-tokens") {
                Some(tokens) if tokens > 0 => set(command, "max-num-seqs", tokens.to_string()),
                _ => {
                    let seqs = count(command, "max-num-seqs")?;
                    set(command, "max-num-batched-tokens", seqs.to_string())
                }
            }
        }
        Rule::LongPrefillAboveModelLen => {
            let length = count(command, "max-model-len").unwrap_or(model.max_position);
            set(command, &name, length.min(model.max_position).to_string())
        }
        Rule::ModelLenAboveModel => set(command, &name, model.max_position.to_string()),
        Rule::HeadsNotDivisible => {
            let asked = count(command, &name)?.min(model.heads.into());
            let fits = model
                .divisors(u32::try_from(asked).unwrap_or(u32::MAX))
                .pop()?;
            set(command, &name, fits.to_string())
        }
        Rule::NoExperts | Rule::GroupsNotDivisible => remove(command, name),
        Rule::TooManyDevices => {
            // Fewer stages first: a layer that is split stays split.
            if count(command, "pipeline-parallel-size").is_some_and(|stages| stages > 1) {
                return set(command, "pipeline-parallel-size", "1".into());
            }
            let fits = u64::from(device.count.max(1));
            (count(command, &name)? > fits).then_some(())?;
            set(command, &name, fits.to_string())
        }
        Rule::ChunkNotOfPages => {
            let page = count(command, "page-size").filter(|page| *page > 0)?;
            let chunk = count(command, &name)?;
            let whole = (chunk / page).max(1).checked_mul(page)?;
            set(command, &name, whole.to_string())
        }
        Rule::QuantizedWithoutFlash => set(command, &name, "on".into()),
        Rule::Fp8CacheWithoutKernels => set(command, &name, "auto".into()),
        Rule::BadBlockSize => {
            let unit = block_unit(device)?;
            let asked = count(command, &name).unwrap_or(unit);
            let nearest = (asked / unit).max(1).checked_mul(unit)?;
            set(command, &name, nearest.to_string())
        }
        Rule::NoModel | Rule::Inconsistent => None,
    }
}

/// Takes out what this version does not know; `--enable-x false` becomes `--no-enable-x`.
fn mend_unknown(command: &mut LaunchCommand, version: Version) -> Option<(String, Option<String>)> {
    let engine = command.engine;
    if let Some(given) = command.flags.iter_mut().find(|given| {
        let spelled = given.spelled.split('.').next().unwrap_or_default();
        let found = flag::lookup(engine, Some(version), spelled);
        !matches!(found, flag::Lookup::Found { .. })
    }) {
        let name = given.name.clone();
        command.remove(&name);
        return Some((name, None));
    }
    let switched = command.flags.iter().find_map(|given| {
        let known = flag::flag(engine, version, &given.name)?;
        let word = value::boolean(given.value()?)?;
        (!known.kind.takes_value()).then(|| (given.name.clone(), word == given.on, known.kind))
    });
    if let Some((name, on, kind)) = switched {
        if kind == Kind::Enable && !on {
            command.remove(&name);
            return Some((name, None));
        }
        command.set(&name, Some(if on { "true" } else { "false" }));
        return Some((name, Some(on.to_string())));
    }
    if command.extra.is_empty() {
        return None;
    }
    command.extra.clear();
    Some((String::new(), None))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Device;
    use crate::model::Model;
    use proptest::prelude::*;

    const NEW: Version = Version::new(0, 32, 0);

    fn h100(count: u32) -> DeviceClass {
        DeviceClass::of(Device::named("h100").unwrap(), count)
    }

    fn model() -> ModelLimits {
        ModelLimits::of(&Model::named("qwen2.5-7b").unwrap())
    }

    #[test]
    fn repairs_are_small_and_by_the_rules_of_each_engine() {
        let lines = include_str!("../../../../fixtures/engine/repairs.txt").lines();
        for (bad, good) in lines.filter_map(|line| line.split_once(" => ")) {
            let command = LaunchCommand::parse_line(bad).unwrap();
            let version = command.engine.newest();
            let mended = repair(&command, version, &h100(4), &model()).unwrap();
            assert_eq!(mended.command.to_string(), good);
            assert_eq!(mended.changes.is_empty(), bad == good, "{bad}");
        }
    }

    #[test]
    fn what_no_flag_mends_stays_a_refusal() {
        let command = LaunchCommand::parse_line("python -m sglang.launch_server --tp 2").unwrap();
        let refusal = repair(&command, Version::new(0, 5, 18), &h100(4), &model()).unwrap_err();
        assert_eq!(refusal.rule, Rule::NoModel);
    }

    fn word() -> impl Strategy<Value = String> {
        prop_oneof![
            4 => prop::sample::select(vec!["--max-num-seqs", "--max-num-batched-tokens", "--max-model-len",
                "--long-prefill-token-threshold", "-tp", "-pp", "--block-size", "--gpu-memory-utilization",
                "--stream-interval", "--no-enable-chunked-prefill", "--enable-chunked-prefill",
                "--enable-prefix-caching", "--use-v2-block-manager", "--scheduler-delay-factor",
                "--kv-cache-dtype", "--scheduling-policy", "-O3", "--max-num", "--speculative-config",
                "--served-model-name", "--api-key", "--performance-mode", "--nonsense", "--swap-space=9"]).prop_map(str::to_owned),
            4 => prop::sample::select(vec!["0", "1", "3", "7", "64", "512", "8192", "8k", "1M", "0.5", "1.5",
                "-4", "abc", "false", "true", "auto", "throughput", "{}", "99999999999"]).prop_map(str::to_owned),
            1 => any::<String>(),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn a_repaired_configuration_passes_the_rules(
            words in prop::collection::vec(word(), 0..12),
            old in any::<bool>(),
            devices in 1..8_u32,
            heads in 1..40_u32,
            kv_heads in 1..40_u32,
        ) {
            let mut line = vec!["vllm".to_owned(), "serve".to_owned(), "m".to_owned()];
            line.extend(words);
            let command = LaunchCommand::parse(&line).unwrap();
            let version = if old { Version::new(0, 6, 3) } else { NEW };
            let limits = ModelLimits { max_position: 32768, heads, kv_heads: Some(kv_heads), multimodal: false, dense: true };
            let repaired = repair(&command, version, &h100(devices), &limits).unwrap();
            prop_assert!(resolve(&repaired.command, version, &h100(devices), &limits).is_ok());
            // Legal commands are left alone.
            if resolve(&command, version, &h100(devices), &limits).is_ok() {
                prop_assert!(repaired.changes.is_empty());
            }
        }
    }
}
