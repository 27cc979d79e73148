//! `quantization_config`: how the weights of a quantised copy are stored, as each method says it.

use serde_json::{Map, Value};

use super::super::{Dtype, Plain, Quantised};
use super::keys::Config;
use super::pattern::Patterns;

/// The format of the layers, and the rest of what a quantised copy says.
pub(super) struct Stored {
    pub dtype: Dtype,
    pub quantised: Option<Quantised>,
}

/// Reads what the config says; `Err` names what is not known.
pub(super) fn read(config: &Config<'_>, layers: u32) -> Result<Option<Stored>, String> {
    // MindIE's copies have a word of their own.
    if let Some(word) = config.anywhere("quantize").and_then(Value::as_str) {
        let dtype = Dtype::named(word).ok_or_else(|| shown(word))?;
        return Ok(Some(Stored {
            dtype,
            quantised: None,
        }));
    }
    let Some(value) = config.anywhere("quantization_config") else {
        return Ok(None);
    };
    let map = value.as_object().ok_or_else(|| shown(&value.to_string()))?;
    let Some(format) = format(map)? else {
        return Ok(None);
    };
    let usual = Quantised {
        bytes: format.dtype.bytes(),
        plain: Plain::default(),
    };
    let quantised = Quantised {
        bytes: format.bytes,
        plain: plain(map, layers)?,
    };
    Ok(Some(Stored {
        dtype: format.dtype,
        quantised: (quantised != usual).then_some(quantised),
    }))
}

#[derive(Clone, Copy, PartialEq)]
struct Format {
    dtype: Dtype,
    bytes: f64,
}

impl Format {
    fn usual(dtype: Dtype) -> Format {
        Format {
            dtype,
            bytes: dtype.bytes(),
        }
    }

    /// Integers in groups that share a scale of 16 bits, with or without a zero point.
    fn integers(bits: u64, group: Option<u64>, zero_point: bool) -> Option<Format> {
        let dtype = match bits {
            4 => Dtype::Int4,
            8 => Dtype::Int8,
            _ => return None,
        };
        let zero = if zero_point { bits as f64 } else { 0.0 };
        let of_group = group.map_or(0.0, |group| (16.0 + zero) / group as f64);
        Some(Format {
            dtype,
            bytes: (bits as f64 + of_group) / 8.0,
        })
    }
}

/// `None` where the weights are not quantised after all.
fn format(map: &Map<String, Value>) -> Result<Option<Format>, String> {
    let number = |key: &str| map.get(key).and_then(Value::as_u64);
    let flag = |key: &str| map.get(key).and_then(Value::as_bool) == Some(true);
    let text = |key: &str| map.get(key).and_then(Value::as_str);
    let method = text("quant_method").unwrap_or("nameless");
    let group = || {
        let found = number("group_size").or_else(|| number("q_group_size"));
        found.filter(|&group| group > 0)
    };
    let known = match method {
        "fp8" | "fbgemm_fp8" => Some(Format::usual(Dtype::Fp8)),
        "mxfp4" => Some(Format::usual(Dtype::Mxfp4)),
        "awq" | "gptq" | "auto-round" | "auto_round" => {
            let bits = number("bits").or_else(|| number("w_bit")).unwrap_or(4);
            Format::integers(bits, group(), true)
        }
        "bitsandbytes" if flag("load_in_4bit") || flag("_load_in_4bit") => Some(Format {
            // Scales of blocks of 64 are themselves quantised to 8 bits, or have 32.
            bytes: if flag("bnb_4bit_use_double_quant") {
                (4.0 + 8.0 / 64.0 + 32.0 / (64.0 * 256.0)) / 8.0
            } else {
                Dtype::Nf4.bytes()
            },
            dtype: Dtype::Nf4,
        }),
        "bitsandbytes" => Some(Format::usual(Dtype::Int8)),
        "modelopt" | "modelopt_fp4" => match text("quant_algo") {
            Some("FP8" | "FP8_PB_WO" | "FP8_PER_CHANNEL_PER_TOKEN") => {
                Some(Format::usual(Dtype::Fp8))
            }
            Some("NVFP4") => Some(Format::usual(Dtype::Nvfp4)),
            _ => None,
        },
        "compressed-tensors" if text("format") == Some("dense") => return Ok(None),
        "compressed-tensors" => return Ok(Some(of_groups(map)?)),
        _ => None,
    };
    let algorithm = text("quant_algo").map_or(String::new(), |word| format!(" {word}"));
    let known = known.ok_or_else(|| shown(&format!("{method}{algorithm}")))?;
    Ok(Some(known))
}

/// The one format of all groups of compressed-tensors.
fn of_groups(map: &Map<String, Value>) -> Result<Format, String> {
    let groups = map.get("config_groups").and_then(Value::as_object);
    let mut found = None;
    for group in groups.into_iter().flat_map(Map::values) {
        let weights = group.get("weights");
        let of = |key: &str| weights.and_then(|weights| weights.get(key));
        let kind = of("type").and_then(Value::as_str).unwrap_or("int");
        let bits = of("num_bits").and_then(Value::as_u64).unwrap_or_default();
        let size = of("group_size").and_then(Value::as_u64);
        let symmetric = of("symmetric").and_then(Value::as_bool) != Some(false);
        let format = match (kind, bits, size) {
            ("float", 8, _) => Some(Format::usual(Dtype::Fp8)),
            ("float", 4, Some(16)) => Some(Format::usual(Dtype::Nvfp4)),
            ("float", 4, Some(32)) => Some(Format::usual(Dtype::Mxfp4)),
            ("int", bits, size) => {
                Format::integers(bits, size.filter(|&size| size > 0), !symmetric)
            }
            _ => None,
        };
        let format =
            format.ok_or_else(|| shown(&format!("compressed-tensors, {bits} bits of {kind}")))?;
        if found.is_some_and(|found| found != format) {
            return Err(shown("compressed-tensors in several formats"));
        }
        found = Some(format);
    }
    found.ok_or_else(|| shown("compressed-tensors without config_groups"))
}

/// Where methods list what they leave alone.
const LISTS: [&str; 5] = [
    "modules_to_not_convert",
    "ignored_layers",
    "ignore",
    "exclude_modules",
    "llm_int8_skip_modules",
];

fn plain(map: &Map<String, Value>, layers: u32) -> Result<Plain, String> {
    let lists = LISTS.iter().filter_map(|key| map.get(*key)?.as_array());
    let names = lists.flatten().filter_map(Value::as_str);
    let patterns = Patterns::new(names).map_err(|name| shown(&format!("except for '{name}'")))?;
    let share = |modules: &[&[&str]]| patterns.share(layers, modules);
    Ok(Plain {
        attention: share(&[
            &["self_attn.q_proj", "self_attn.q_b_proj", "mixer.q_proj"],
            &["self_attn.k_proj", "self_attn.kv_b_proj", "mixer.k_proj"],
            &[
                "self_attn.v_proj",
                "self_attn.kv_a_proj_with_mqa",
                "mixer.v_proj",
            ],
            &["self_attn.o_proj", "mixer.o_proj"],
        ]),
        recurrent: share(&[
            &["mamba.in_proj", "mixer.in_proj", "linear_attn.in_proj_qkvz"],
            &["mamba.out_proj", "mixer.out_proj", "linear_attn.out_proj"],
        ]),
        feed_forward: share(&[
            &["mlp.gate_proj", "feed_forward.gate_proj"],
            &["mlp.up_proj", "feed_forward.up_proj", "mixer.up_proj"],
            &["mlp.down_proj", "feed_forward.down_proj", "mixer.down_proj"],
        ]),
        shared: share(&[&[
            "mlp.shared_experts.up_proj",
            "mlp.shared_expert.up_proj",
            "feed_forward.shared_expert.up_proj",
            "mixer.shared_experts.up_proj",
        ]]),
        experts: share(&[&[
            "mlp.experts.0.up_proj",
            "mlp.experts.gate_up_proj",
            "feed_forward.experts.gate_up_proj",
            "block_sparse_moe.experts.0.w1",
            "mixer.experts.0.up_proj",
        ]]),
    })
}

fn shown(text: &str) -> String {
    let printable = text.chars().filter(|sign| !sign.is_control());
    printable.take(60).collect()
}
