//! One measurement from several machines: which rank this process is, and where they meet.

use anyhow::bail;
use clap::Args;
use inferometer_core::units::Span;
use inferometer_meet::Rank;
use inferometer_meet::launcher::{Given, find};
use std::time::Duration;

/// How long ranks wait for each other.
const WITHIN: Duration = Duration::from_secs(120);

#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "More than one machine")]
pub struct RankOptions {
    /// Send a share of the load as this rank, counted from 0 [the launcher's: Slurm, MPI or an
    /// Indexed Job]
    #[arg(long, value_name = "I")]
    pub rank: Option<u32>,
    /// Number of ranks that share the load [the launcher's]
    #[arg(long, value_name = "N")]
    pub of: Option<u32>,
    /// Where rank 0 listens and the others find it [the first node of a Slurm step]
    #[arg(long, value_name = "HOST:PORT")]
    pub meet: Option<String>,
    /// How long ranks wait for each other [2m]
    #[arg(long, value_name = "TIME")]
    pub meet_within: Option<Span>,
    /// Go on with so many ranks when that time is over [all]
    #[arg(long, value_name = "M")]
    pub at_least: Option<u32>,
}

impl RankOptions {
    /// The rank that this process is; absent where there is but one.
    pub fn found(&self) -> anyhow::Result<Option<Rank>> {
        let given = Given {
            rank: self.rank,
            of: self.of,
            meet: self.meet.clone(),
        };
        let rank = find(&given, |name| std::env::var(name).ok())?;
        if let (Some(least), Some(rank)) = (self.at_least, &rank)
            && !(1..=rank.of).contains(&least)
        {
            bail!(
                "--at-least {least} is none of 1 to {}, the number of ranks",
                rank.of
            );
        }
        Ok(rank)
    }

    pub fn within(&self) -> Duration {
        self.meet_within.map_or(WITHIN, |span| span.0)
    }
}

/// Refuses what only one process can do, before several do it at once.
pub fn refuse_ranks(command: &str) -> anyhow::Result<()> {
    if let Some(rank) = RankOptions::default().found()? {
        bail!(
            "inferometer {command} sends from one machine, and this is rank {} of {}; start it as one task; run, sweep and capacity can be shared",
            rank.rank,
            rank.of
        );
    }
    Ok(())
}
