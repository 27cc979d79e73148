//! Profiles that are wrong by 30 %.

use inferometer_catalog::timing::Timing;

/// Signs by which the coefficients of wrong profiles are off.
pub const WRONG: [u32; 4] = [
    0b00_1011_0110,
    0b11_0100_1001,
    0b01_0001_1100,
    0b10_1110_0011,
];

/// Step times of which each is off by 30 %: up or down as the bits of `signs` say.
pub fn off_by_thirty_percent(timing: &Timing, signs: u32) -> Timing {
    let mut timing = timing.clone();
    let coefficients = [
        &mut timing.linear,
        &mut timing.attention,
        &mut timing.weights,
        &mut timing.kv,
        &mut timing.layer_us,
        &mut timing.step_us,
        &mut timing.sequence_us,
        &mut timing.prefill_us,
        &mut timing.api.chunk_us,
        &mut timing.api.request_us,
    ];
    for (bit, coefficient) in coefficients.into_iter().enumerate() {
        *coefficient *= if signs >> bit & 1 == 1 { 1.3 } else { 0.7 };
    }
    timing
}
