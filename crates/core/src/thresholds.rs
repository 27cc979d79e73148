//! From where on a sight becomes a doubt.

use crate::value::{BadValue, Tag};
use serde::{Deserialize, Serialize};

/// Defines the limits, each beside its default.
macro_rules! thresholds {
    ($($(#[$about:meta])* $name:ident: $type:ty = $default:expr,)+) => {
        /// The limits. Shares are from 0 to 1.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
        pub struct Thresholds { $($(#[$about])* pub $name: $type),+ }

        impl Default for Thresholds {
            fn default() -> Self {
                Thresholds { $($name: $default),+ }
            }
        }
    };
}

thresholds! {
    /// Lag p99 of a late client, in milliseconds.
    lag_ms: f64 = 5.0,
    /// The same as a share of the median TTFT.
    lag_ttft_share: f64 = 0.05,
    /// Least lag that counts by the share: timers are no better.
    lag_floor_ms: f64 = 0.5,
    /// How many times its limit makes a late client's run invalid.
    lag_invalid_factor: f64 = 10.0,
    /// Wake-ups of a late client at the 99th percentile, in milliseconds.
    pulse_ms: f64 = 5.0,
    /// Wake-ups of a client whose run is invalid, as a share of the median TTFT.
    pulse_ttft_share: f64 = 0.25,
    /// A single pause of the client, in milliseconds.
    pause_ms: f64 = 1000.0,
    /// Share of the client's ceiling.
    ceiling_share: f64 = 0.7,
    /// CPU use of a client thread.
    thread_cpu_share: f64 = 0.9,
    /// Requests under way as a share of those expected.
    in_flight_share: f64 = 0.8,
    failures_warn: f64 = 0.01,
    /// Share of failures that makes the run invalid.
    failures_invalid: f64 = 0.2,
    /// Difference of lengths received and asked.
    length_share: f64 = 0.05,
    /// Output tokens beyond the limit that was asked for, as the end of the sequence may add.
    usage_slack_tokens: f64 = 2.0,
    /// Output tokens for each character of text: no tokenizer needs more than one for a byte.
    usage_tokens_per_char: f64 = 4.0,
    /// Chunks for each output token: a proxy may send an answer letter by letter.
    usage_chunks_per_token: f64 = 20.0,
    /// Characters for each output token.
    usage_chars_per_token: f64 = 100.0,
    /// Share of answers that end at one length.
    capped_share: f64 = 0.5,
    /// Fewest answers for such a share.
    capped_requests: u64 = 10,
    /// Prompt tokens that a chat template may add.
    template_tokens: f64 = 64.0,
    /// Share of the prompt that it may add.
    template_share: f64 = 0.2,
    /// Spread of prompt lengths that two tokenizers may have by chance, in tokens.
    input_spread_tokens: f64 = 8.0,
    /// Prompt tokens found in the cache, as a share.
    cache_share: f64 = 0.05,
    /// Prompt tokens that the cache may hold of a chat template and the run's nonce, as long as
    /// they are less than half of the prompt.
    cached_template_tokens: f64 = 64.0,
    /// Distinct prompts as a share of requests.
    distinct_share: f64 = 0.1,
    /// Largest gap of a request over its median gap.
    stall_factor: f64 = 20.0,
    /// Least gap that is a stall, in milliseconds: shorter ones nobody sees.
    stall_floor_ms: f64 = 50.0,
    /// Fewest gaps of a request with a stall.
    stall_gaps: usize = 10,
    stall_share: f64 = 0.01,
    /// Requests sent about together over as many as would be if they were sent evenly.
    in_step_factor: f64 = 4.0,
    /// Length of the measured window in mean answers.
    window_waves: f64 = 2.9,
    /// Times per token at the end over those at the beginning, or the other way round.
    drift_ratio: f64 = 1.25,
    /// Share of the window in which fewer than half of the streams still have work.
    straggler_share: f64 = 0.25,
    /// Probability below which a trend is one.
    significance: f64 = 0.01,
    /// Share of requests that had to be sent once more.
    resent_share: f64 = 0.01,
    /// Share of requests on a new connection from which a server is said to close them.
    closed_share: f64 = 0.5,
    /// Share of streamed answers that came whole.
    whole_share: f64 = 0.01,
    /// Time by which an acknowledgement is delayed, in milliseconds, as Linux does.
    delayed_ack_ms: f64 = 40.0,
    /// Least time that this costs a first token, in milliseconds.
    delayed_ack_cost_ms: f64 = 12.0,
    /// Fewest answers from which a steady state is looked for and expected.
    steady_requests: u64 = 50,
}

impl Thresholds {
    /// The defaults with some limits changed by name, as in `failures-warn=0.05`.
    pub fn with(changes: &[Tag]) -> Result<Self, BadValue> {
        const TAKES: &str = "write NAME=NUMBER with a number from 0; the manual lists the names";
        let mut table = Thresholds::default().table();
        for change in changes {
            let bad = || BadValue::new(&change.to_string(), TAKES);
            let limit = table.get_mut(&change.key).ok_or_else(bad)?;
            let number: f64 = change.value.parse().map_err(|_| bad())?;
            if !(number.is_finite() && number >= 0.0) {
                return Err(bad());
            }
            *limit = match limit {
                // Counts stay whole.
                toml::Value::Integer(_) if number.fract() == 0.0 => {
                    toml::Value::Integer(number as i64)
                }
                toml::Value::Integer(_) => return Err(bad()),
                _ => toml::Value::Float(number),
            };
        }
        let text = BadValue::new("--threshold", TAKES);
        toml::Value::Table(table).try_into().map_err(|_| text)
    }

    /// The limits that differ from the defaults.
    pub fn changed(&self) -> Vec<Tag> {
        let defaults = Thresholds::default().table();
        (self.table().into_iter())
            .filter(|(name, value)| defaults.get(name) != Some(value))
            .map(|(key, value)| Tag {
                key,
                value: value.to_string(),
            })
            .collect()
    }

    fn table(&self) -> toml::Table {
        toml::Table::try_from(self).expect("limits are numbers")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(texts: &[&str]) -> Vec<Tag> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn limits_are_changed_by_name_and_told_again() {
        let changed = Thresholds::with(&tags(&["failures-warn=0.05", "stall-gaps=3"])).unwrap();
        assert_eq!((changed.failures_warn, changed.stall_gaps), (0.05, 3));
        assert_eq!(Thresholds::with(&changed.changed()).unwrap(), changed);
        assert_eq!(Thresholds::default().changed(), []);
    }

    #[test]
    fn unknown_names_and_impossible_limits_are_refused() {
        for text in "speed=1 lag-ms=fast lag-ms=-1 lag-ms=nan stall-gaps=1.5".split(' ') {
            let message = Thresholds::with(&tags(&[text])).unwrap_err().to_string();
            assert!(message.contains("NAME=NUMBER"), "{message}");
        }
    }
}
