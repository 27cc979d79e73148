//! Options for prompts on workers of their own, of a prediction and of the simulated server.

use anyhow::{Context, bail};
use clap::Args;
use inferometer_catalog::device::Device;
use inferometer_catalog::engine::LaunchCommand;
use inferometer_plan::flags::{cards, flags_of};
use inferometer_plan::split::Split;

/// Prompts on workers of their own.
#[derive(Args)]
pub struct SplitArguments {
    /// Compute prompts on workers of their own, which this command would start; the command behind
    /// -- starts those that answer
    #[arg(long, value_name = "ENGINE COMMAND", requires = "command")]
    pub prefill: Option<String>,
    /// Workers that compute prompts, and workers that answer, as in 2:1 [1:1]
    #[arg(long, value_name = "X:Y", requires = "prefill", value_parser = workers)]
    pub workers: Option<[u32; 2]>,
    /// GB/s at which a card hands over what was computed of a prompt [the card's link; among more
    /// cards than it reaches, 50]
    #[arg(long, value_name = "GB/S", requires = "prefill", value_parser = positive)]
    pub link: Option<f64>,
}

impl SplitArguments {
    /// The workers that compute prompts for those that a command starts, and what starts one;
    /// absent where none are asked for.
    pub fn beside(
        &self,
        decode: &LaunchCommand,
        device: &Device,
    ) -> anyhow::Result<Option<(LaunchCommand, Split)>> {
        let Some(line) = &self.prefill else {
            return Ok(None);
        };
        let prefill = LaunchCommand::parse_line(line).context("--prefill")?;
        if prefill.engine != decode.engine {
            bail!(
                "--prefill starts {}, and the command {}; prompts are handed over between workers of one engine",
                prefill.engine,
                decode.engine
            );
        }
        if prefill.model.is_some() && prefill.model != decode.model {
            bail!("--prefill names another model than the command; both must serve one");
        }
        let prefill = LaunchCommand {
            model: decode.model.clone(),
            ..prefill
        };
        let flags = flags_of(&prefill);
        let each = [&flags, &flags_of(decode)].map(|flags| cards(decode.engine, flags));
        let mut split = Split::new(&flags, self.workers.unwrap_or([1, 1]), each, device);
        split.link_gbs = self.link.unwrap_or(split.link_gbs);
        Ok(Some((prefill, split)))
    }
}

/// `2:1`: prefill workers and those that decode.
fn workers(text: &str) -> Result<[u32; 2], String> {
    let counts = text.split_once(':').map(|(x, y)| [x, y].map(str::parse));
    match counts {
        Some([Ok(x), Ok(y)]) if (1..=1024).contains(&x) && (1..=1024).contains(&y) => Ok([x, y]),
        _ => Err("write prefill and decode workers as in 2:1".to_owned()),
    }
}

pub(in crate::command) fn positive(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok();
    number
        .filter(|number| number.is_finite() && *number > 0.0)
        .ok_or_else(|| "write a number above 0".to_owned())
}
