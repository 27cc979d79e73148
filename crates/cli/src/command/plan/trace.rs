//! A trace as the work of a prediction: its lengths, and how often requests come.

use crate::progress::Progress;
use crate::session::session;
use anyhow::{Context, bail};
use inferometer_core::length::Distribution;
use inferometer_plan::work::{Load, Sizes};
use inferometer_runner::work::fetch;
use inferometer_text::Lang;
use inferometer_workload::data::{Manner, Opened, Reading, RowContent};
use std::sync::Arc;
use std::time::Duration;

/// The requests of a trace.
pub struct Trace {
    pub sizes: Arc<[Sizes]>,
    /// From the first to the last.
    lasts: Duration,
}

impl Trace {
    /// Reads a trace of Mooncake, BurstGPT or Azure, or any data that says lengths alone.
    pub fn read(location: &str, lang: Lang) -> anyhow::Result<Trace> {
        let path = fetch(
            location,
            None,
            &*session(lang)?,
            &mut Progress::new(false, lang),
        )?;
        let said = || format!("--data {location}");
        let mut opened = Opened::open(&path, None, Manner::default()).with_context(said)?;
        let (mut sizes, mut lasts) = (Vec::new(), Duration::ZERO);
        while let Some(row) = opened.next_row().with_context(said)? {
            let reading = row.reading;
            let reading =
                reading.with_context(|| format!("--data {location} line {}", row.line))?;
            let Reading::Row(row) = reading else { continue };
            let (
                RowContent::Lengths {
                    at, input_tokens, ..
                },
                Some(output),
            ) = (row.content, row.output_tokens)
            else {
                bail!(
                    "--data {location} is not a trace with lengths; give one of mooncake, burstgpt or azure, or --input-tokens and --output-tokens"
                );
            };
            lasts = lasts.max(at);
            sizes.push(Sizes {
                input: input_tokens,
                output: output.max(1),
            });
        }
        if sizes.is_empty() {
            bail!("--data {location} holds no request");
        }
        let sizes = sizes.into();
        Ok(Trace { sizes, lasts })
    }

    /// The load that it was itself, as arrivals at its mean rate.
    pub fn load(&self) -> Option<Load> {
        self.rate().map(Load::Open)
    }

    /// Its mean rate, requests/s; absent where it has no times.
    pub fn rate(&self) -> Option<f64> {
        let seconds = self.lasts.as_secs_f64();
        (seconds > 0.0).then(|| self.sizes.len() as f64 / seconds)
    }

    /// The mean lengths of prompts and answers.
    pub fn means(&self) -> (Distribution, Distribution) {
        let mean = |length: fn(&Sizes) -> u32| {
            let sum: f64 = self
                .sizes
                .iter()
                .map(|sizes| f64::from(length(sizes)))
                .sum();
            let mean = (sum / self.sizes.len() as f64).round();
            Distribution::Fixed((mean as u32).max(1))
        };
        (mean(|sizes| sizes.input), mean(|sizes| sizes.output))
    }
}
