//! From where on a sight becomes a doubt.

use crate::value::{BadValue, Tag};
use serde::{Deserialize, Serialize};

/// The limits, each with its default. Shares are from 0 to 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Thresholds {
    /// Lag p99 of a late client, in milliseconds.
    pub lag_ms: f64,
    /// The same as a share of the median TTFT.
    pub lag_ttft_share: f64,
    /// Least lag that counts by the share: timers are no better.
    pub lag_floor_ms: f64,
    /// How many times its limit makes a late client's run invalid.
    pub lag_invalid_factor: f64,
    /// Wake-ups of a late client at the 99th percentile, in milliseconds.
    pub pulse_ms: f64,
    /// Wake-ups of a client whose run is invalid, as a share of the median TTFT.
    pub pulse_ttft_share: f64,
    /// Share of the client's ceiling.
    pub ceiling_share: f64,
    /// CPU use of a client thread.
    pub thread_cpu_share: f64,
    /// Requests under way as a share of those expected.
    pub in_flight_share: f64,
    pub failures_warn: f64,
    /// Share of failures that makes the run invalid.
    pub failures_invalid: f64,
    /// Difference of lengths received and asked.
    pub length_share: f64,
    /// Share of answers that end at one length.
    pub capped_share: f64,
    /// Fewest answers for such a share.
    pub capped_requests: u64,
    /// Prompt tokens that a chat template may add.
    pub template_tokens: f64,
    /// Share of the prompt that it may add.
    pub template_share: f64,
    /// Spread of prompt lengths that two tokenizers may have by chance, in tokens.
    pub input_spread_tokens: f64,
    /// Prompt tokens found in the cache, as a share.
    pub cache_share: f64,
    /// Prompt tokens that the cache may hold of a chat template and the run's nonce, as long as
    /// they are less than half of the prompt.
    pub cached_template_tokens: f64,
    /// Distinct prompts as a share of requests.
    pub distinct_share: f64,
    /// Largest gap of a request over its median gap.
    pub stall_factor: f64,
    /// Least gap that is a stall, in milliseconds: shorter ones nobody sees.
    pub stall_floor_ms: f64,
    /// Fewest gaps of a request with a stall.
    pub stall_gaps: usize,
    pub stall_share: f64,
    /// Requests sent about together over as many as would be if they were sent evenly.
    pub in_step_factor: f64,
    /// Length of the measured window in mean answers.
    pub window_waves: f64,
    /// Times per token at the end over those at the beginning, or the other way round.
    pub drift_ratio: f64,
    /// Share of the window in which fewer than half of the streams still have work.
    pub straggler_share: f64,
    /// Probability below which a trend is one.
    pub significance: f64,
    /// Share of requests that had to be sent once more.
    pub resent_share: f64,
    /// Share of requests on a new connection from which a server is said to close them.
    pub closed_share: f64,
    /// Share of streamed answers that came whole.
    pub whole_share: f64,
    /// Time by which an acknowledgement is delayed, in milliseconds, as Linux does.
    pub delayed_ack_ms: f64,
    /// Least time that this costs a first token, in milliseconds.
    pub delayed_ack_cost_ms: f64,
    /// Fewest answers from which a steady state is looked for and expected.
    pub steady_requests: u64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Thresholds {
            lag_ms: 5.0,
            lag_ttft_share: 0.05,
            lag_floor_ms: 0.5,
            lag_invalid_factor: 10.0,
            pulse_ms: 5.0,
            pulse_ttft_share: 0.25,
            ceiling_share: 0.7,
            thread_cpu_share: 0.9,
            in_flight_share: 0.8,
            failures_warn: 0.01,
            failures_invalid: 0.2,
            length_share: 0.05,
            capped_share: 0.5,
            capped_requests: 10,
            template_tokens: 64.0,
            template_share: 0.2,
            input_spread_tokens: 8.0,
            cache_share: 0.05,
            cached_template_tokens: 64.0,
            resent_share: 0.01,
            closed_share: 0.5,
            whole_share: 0.01,
            delayed_ack_ms: 40.0,
            delayed_ack_cost_ms: 12.0,
            distinct_share: 0.1,
            stall_factor: 20.0,
            stall_floor_ms: 50.0,
            stall_gaps: 10,
            stall_share: 0.01,
            in_step_factor: 4.0,
            window_waves: 2.9,
            drift_ratio: 1.25,
            straggler_share: 0.25,
            significance: 0.01,
            steady_requests: 50,
        }
    }
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
        for text in [
            "speed=1",
            "lag-ms=fast",
            "lag-ms=-1",
            "lag-ms=nan",
            "stall-gaps=1.5",
        ] {
            let message = Thresholds::with(&tags(&[text])).unwrap_err().to_string();
            assert!(message.contains("NAME=NUMBER"), "{message}");
        }
    }
}
