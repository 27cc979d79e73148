//! Number formats of weights and of the KV cache.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Dtype {
    /// 32-bit floats.
    F32,
    #[default]
    Bf16,
    F16,
    /// 8-bit floats.
    Fp8,
    /// 8-bit integers.
    Int8,
    /// 4-bit integers in groups of 128 (AWQ, GPTQ).
    Int4,
    /// NVIDIA's 4-bit floats in blocks of 16.
    Nvfp4,
    /// 4-bit floats in blocks of 32 (gpt-oss).
    Mxfp4,
    /// bitsandbytes' 4 bits in blocks of 64.
    Nf4,
}

impl Dtype {
    /// Reads a name as engines and config files spell it: `bfloat16`, `half`, `fp8_e4m3`, `awq`…
    pub fn named(name: &str) -> Option<Dtype> {
        let name = name.trim().to_ascii_lowercase();
        Some(match name.as_str() {
            "f32" | "float32" | "float" | "fp32" => Dtype::F32,
            "bf16" | "bfloat16" => Dtype::Bf16,
            "f16" | "float16" | "half" | "fp16" => Dtype::F16,
            "fp8" | "fp8_e4m3" | "fp8_e5m2" | "float8_e4m3fn" => Dtype::Fp8,
            "fbgemm_fp8" | "ptpc_fp8" | "modelopt" | "modelopt_fp8" | "w8a8_fp8" => Dtype::Fp8,
            "fp8_per_tensor" | "fp8_per_block" | "fp8_per_channel" => Dtype::Fp8,
            "int8" | "w8a8" | "w8a16" | "smoothquant" | "w8a8_int8" => Dtype::Int8,
            "int8_per_channel_weight_only" => Dtype::Int8,
            "int4" | "w4a16" | "awq" | "awq_marlin" | "auto_awq" => Dtype::Int4,
            "gptq" | "gptq_marlin" | "auto_gptq" | "marlin" => Dtype::Int4,
            "nvfp4" | "modelopt_fp4" | "nvfp4_per_token" | "nvfp4_online" => Dtype::Nvfp4,
            "mxfp4" => Dtype::Mxfp4,
            "nf4" | "bitsandbytes" => Dtype::Nf4,
            _ => return None,
        })
    }

    /// The format that vLLM and SGLang run a checkpoint of this one in where nothing is asked:
    /// 32 bits are cut to 16.
    pub fn by_default(self) -> Dtype {
        match self {
            Dtype::F32 => Dtype::Bf16,
            other => other,
        }
    }

    /// The format of the KV cache that goes with weights of this one: quantised weights are still
    /// attended to in 16 bits.
    pub fn cache(self) -> Dtype {
        match self {
            Dtype::F32 | Dtype::Bf16 | Dtype::F16 => self,
            Dtype::Fp8 | Dtype::Int8 => Dtype::Bf16,
            Dtype::Int4 | Dtype::Nvfp4 | Dtype::Mxfp4 | Dtype::Nf4 => Dtype::Bf16,
        }
    }

    /// Bytes of a number, its share of scales and zero points included.
    pub fn bytes(self) -> f64 {
        match self {
            Dtype::F32 => 4.0,
            Dtype::Bf16 | Dtype::F16 => 2.0,
            Dtype::Fp8 | Dtype::Int8 => 1.0,
            Dtype::Int4 => 0.52,
            Dtype::Nvfp4 | Dtype::Nf4 => 0.5625,
            Dtype::Mxfp4 => 0.53125,
        }
    }
}
