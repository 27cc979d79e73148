//! Layers with a state: how many parameters they have and how large the state is.

use super::super::Recurrent;
use super::keys::Config;
use super::{ModelError, Problem};

/// Reads the layers of linear attention or of a state-space model. The state is that of the
/// recurrence, in 32 bits, and that of the short convolution before it, in 16.
pub(super) fn read(config: &Config<'_>, layers: u32, hidden: u32) -> Result<Recurrent, ModelError> {
    let number = |keys: &[&'static str]| -> Result<f64, ModelError> {
        let found = config.number(keys, 1)?.map(f64::from);
        found.ok_or_else(|| config.refused(Problem::State(keys[0])))
    };
    let hidden = f64::from(hidden);
    let of = |parameters: f64, state_bytes: f64| Recurrent {
        layers,
        parameters: parameters as u64,
        state_bytes,
    };
    // Gated delta net (Qwen3-Next): a matrix for each value head.
    if config.get("linear_num_value_heads").is_some() {
        let values = number(&["linear_num_value_heads"])?;
        let value_width = values * number(&["linear_value_head_dim"])?;
        let key_dim = number(&["linear_key_head_dim"])?;
        let key_width = number(&["linear_num_key_heads"])? * key_dim;
        let taps = number(&["linear_conv_kernel_dim"])?;
        let channels = 2.0 * key_width + value_width;
        let parameters = hidden * (channels + value_width + 2.0 * values)
            + channels * taps
            + value_width * hidden;
        let state = value_width * key_dim * 4.0 + channels * (taps - 1.0) * 2.0;
        return Ok(of(parameters, state));
    }
    let state = number(&["mamba_d_state", "ssm_state_size", "state_size"])?;
    let taps = number(&["mamba_d_conv", "conv_kernel", "conv_kernel_size"])?;
    let heads = config.number(&["mamba_n_heads", "mamba_num_heads"], 1)?;
    // Mamba 1 has no heads, only a width.
    let Some(heads) = heads.map(f64::from) else {
        let inner = number(&["mamba_expand", "expand"])? * hidden;
        let by_width = (hidden / 16.0).ceil();
        let rank = ["mamba_dt_rank", "time_step_rank"]
            .iter()
            .find_map(|key| config.get(key)?.as_f64())
            .unwrap_or(by_width);
        let parameters = hidden * 2.0 * inner
            + inner * (taps + rank + 2.0 * state)
            + rank * inner
            + inner * state
            + inner * hidden;
        let bytes = inner * state * 4.0 + inner * (taps - 1.0) * 2.0;
        return Ok(of(parameters, bytes));
    };
    let inner = heads * number(&["mamba_d_head", "mamba_head_dim"])?;
    let groups = number(&["mamba_n_groups", "n_groups"])?;
    let channels = inner + 2.0 * groups * state;
    let parameters = hidden * (inner + channels + heads) + channels * taps + inner * hidden;
    let bytes = inner * state * 4.0 + channels * (taps - 1.0) * 2.0;
    Ok(of(parameters, bytes))
}
