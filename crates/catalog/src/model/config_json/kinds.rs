//! Which layer is of which kind, in every spelling that config files have for it.

use serde_json::Value;

use super::super::Layers;
use super::keys::Config;
use super::{ModelError, Problem, recurrent};

/// What a layer is. Where some layers are nothing but a feed-forward part, all layers are one
/// thing only; elsewhere each has a feed-forward part as well.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Full,
    Window,
    State,
    Dense,
    Sparse,
}

/// The layers of a model with `layers` layers of width `hidden`.
pub(super) fn read(
    config: &Config<'_>,
    layers: u32,
    hidden: u32,
    window: Option<u32>,
    routed: Routed,
) -> Result<Layers, ModelError> {
    let kinds = kinds(config, layers, window)?;
    let count = |kind: Kind| kinds.iter().filter(|&&known| known == kind).count() as u32;
    let (mut full, mut windowed) = (count(Kind::Full), count(Kind::Window));
    if window.is_none() {
        full += std::mem::take(&mut windowed);
    }
    let (mut dense, mut sparse) = (count(Kind::Dense), count(Kind::Sparse));
    if dense + sparse == 0 {
        sparse = match routed {
            Routed::Experts => sparse_layers(config, layers)?,
            Routed::Nothing => 0,
        };
        dense = layers - sparse;
    }
    Ok(Layers {
        full,
        windowed,
        recurrent: match count(Kind::State) {
            0 => None,
            layers => Some(recurrent::read(config, layers, hidden)?),
        },
        dense,
        sparse,
    })
}

/// Whether tokens are routed to experts.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Routed {
    Experts,
    Nothing,
}

fn kinds(config: &Config<'_>, layers: u32, window: Option<u32>) -> Result<Vec<Kind>, ModelError> {
    if let Some(words) = config
        .any(&["layer_types", "layers_block_type"])
        .and_then(Value::as_array)
    {
        let kinds = words
            .iter()
            .map(|word| of_word(config, word.as_str().unwrap_or_default()));
        return counted(config, layers, kinds.collect::<Result<_, _>>()?);
    }
    // Nemotron-H: a sign for each layer.
    if let Some(pattern) = config.text("hybrid_override_pattern") {
        let kinds = pattern.chars().map(|sign| match sign {
            'M' => Ok(Kind::State),
            '*' => Ok(Kind::Full),
            '-' => Ok(Kind::Dense),
            'E' => Ok(Kind::Sparse),
            other => Err(unknown(config, &other.to_string())),
        });
        return counted(config, layers, kinds.collect::<Result<_, _>>()?);
    }
    let each = |kind: &dyn Fn(u32) -> Kind| (0..layers).map(kind).collect();
    // Jamba: attention in every n-th layer.
    if let Some(period) = config.number(&["attn_layer_period"], 1)? {
        let offset = config.number(&["attn_layer_offset"], 0)?.unwrap_or(0);
        return Ok(each(&|layer| {
            if layer % period == offset % period {
                Kind::Full
            } else {
                Kind::State
            }
        }));
    }
    // Qwen3-Next: the last of every n layers sees everything.
    if let Some(interval) = config.number(&["full_attention_interval"], 1)? {
        return Ok(each(&|layer| match (layer + 1) % interval {
            0 => Kind::Full,
            _ => Kind::State,
        }));
    }
    // A number for each layer (MiniMax): 0 is linear, 1 sees everything.
    if let Some(list) = config.get("attn_type_list").and_then(Value::as_array) {
        let kinds = list.iter().map(|kind| match kind.as_u64() {
            Some(0) => Ok(Kind::State),
            Some(1) => Ok(Kind::Full),
            _ => Err(unknown(config, &kind.to_string())),
        });
        return counted(config, layers, kinds.collect::<Result<_, _>>()?);
    }
    // States without a word on which layers have them: all alike would be an invention.
    if let Some(key) = state_key(config) {
        return Err(config.refused(Problem::Which(key)));
    }
    if window.is_none() {
        return Ok(vec![Kind::Full; layers as usize]);
    }
    // Llama 4: layers with positions attend to a chunk, those without to everything.
    if let Some(list) = config.get("no_rope_layers").and_then(Value::as_array)
        && list.len() == layers as usize
    {
        let kinds = list.iter().map(|positions| match positions.as_u64() {
            Some(0) => Kind::Full,
            _ => Kind::Window,
        });
        return Ok(kinds.collect());
    }
    // Gemma, Command R7B: the last of every n layers sees everything.
    if let Some(pattern) = config.number(&["sliding_window_pattern"], 1)? {
        return Ok(each(&|layer| match (layer + 1) % pattern {
            0 => Kind::Full,
            _ => Kind::Window,
        }));
    }
    // Qwen2 with a window: the layers below `max_window_layers` see everything.
    let below = match config.flag("use_sliding_window") {
        Some(true) => config.number(&["max_window_layers"], 0)?.unwrap_or(0),
        _ => 0,
    };
    Ok(each(&|layer| {
        if layer < below {
            Kind::Full
        } else {
            Kind::Window
        }
    }))
}

/// A key that only models with linear or state-space layers have.
fn state_key(config: &Config<'_>) -> Option<String> {
    let begins = ["mamba_", "ssm_", "linear_num_", "time_mix", "rwkv"];
    let of_state = |key: &&String| begins.iter().any(|begin| key.starts_with(begin));
    let found = config.keys().find(of_state);
    found.map(|key| key.chars().take(40).collect())
}

fn counted(config: &Config<'_>, layers: u32, kinds: Vec<Kind>) -> Result<Vec<Kind>, ModelError> {
    if kinds.len() == layers as usize {
        Ok(kinds)
    } else {
        let given = kinds.len();
        Err(config.refused(Problem::KindCount { given, layers }))
    }
}

fn unknown(config: &Config<'_>, kind: &str) -> ModelError {
    config.refused(Problem::Kind(kind.chars().take(40).collect()))
}

fn of_word(config: &Config<'_>, word: &str) -> Result<Kind, ModelError> {
    Ok(match word {
        "full_attention" | "attention" | "global_attention" => Kind::Full,
        "sliding_attention" | "chunked_attention" | "local_attention" => Kind::Window,
        "linear_attention" | "mamba" | "mamba2" => Kind::State,
        "mlp" => Kind::Dense,
        "moe" => Kind::Sparse,
        other => return Err(unknown(config, other)),
    })
}

fn sparse_layers(config: &Config<'_>, layers: u32) -> Result<u32, ModelError> {
    let list = |key: &str| config.get(key).and_then(Value::as_array);
    let is_in = |list: &[Value], layer: u32| {
        let same = |value: &Value| value.as_u64() == Some(u64::from(layer));
        list.iter().any(same)
    };
    if let Some(listed) = list("moe_layers").filter(|listed| !listed.is_empty()) {
        return Ok((0..layers).filter(|&layer| is_in(listed, layer)).count() as u32);
    }
    if let Some(marks) = list("moe_layer_freq") {
        let marked = marks.iter().filter(|mark| mark.as_u64() == Some(1));
        return Ok((marked.count() as u32).min(layers));
    }
    let dense = config.number(&["first_k_dense_replace"], 0)?.unwrap_or(0);
    let period = config.number(&["expert_layer_period"], 1)?;
    let offset = config.number(&["expert_layer_offset"], 0)?.unwrap_or(0);
    let step = config.number(&["decoder_sparse_step", "interleave_moe_layer_step"], 1)?;
    let frequency = config.number(&["moe_layer_freq"], 1)?;
    let never = list("mlp_only_layers").map_or(&[][..], Vec::as_slice);
    let sparse = |&layer: &u32| {
        layer >= dense
            && period.is_none_or(|period| layer % period == offset % period)
            && step.is_none_or(|step| (layer + 1) % step == 0)
            && frequency.is_none_or(|frequency| layer % frequency == 0)
            && !is_in(never, layer)
    };
    Ok((0..layers).filter(sparse).count() as u32)
}
