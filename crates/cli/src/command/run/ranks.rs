//! A run from several machines: rank 0 waits for the others, the others go to rank 0.

use super::RunArguments;
use crate::clock::clock;
use crate::exit::Exit;
use crate::folder::kept_in;
use crate::options::{EngineArguments, RankOptions};
use crate::progress::Progress;
use crate::signals::interrupt_on_signals;
use anyhow::{anyhow, bail};
use inferometer_core::environment::EndCause;
use inferometer_core::options::Options;
use inferometer_core::scenario::SimClock;
use inferometer_load::instrument::Control;
use inferometer_meet::{Leader, Member, Rank, Waiting};
use inferometer_message::ProgressText;
use inferometer_runner::{Session, host, measure, with_causes};
use inferometer_store::run_dir::RunDir;
use std::path::PathBuf;
use std::time::Duration;

/// How long ranks that are about to come are waited for only to be told that nothing comes of it.
const TO_BE_TOLD: Duration = Duration::from_secs(3);

/// What several machines cannot share.
pub fn check(options: &Options, engine: &EngineArguments) -> anyhow::Result<()> {
    if options.connection.sim_clock == Some(SimClock::Virtual) {
        bail!(
            "virtual time has no use for several ranks: one process computes all; leave out --rank, --of and the launcher"
        );
    }
    if !engine.engine.is_empty() || engine.engine_log.is_some() {
        bail!(
            "ranks share the load on a server that runs already; start the engine by itself, and give its URL to all ranks"
        );
    }
    if options.connection.url.as_ref().is_none_or(Vec::is_empty) {
        bail!("ranks share the load on a server that all of them reach; give its URL");
    }
    Ok(())
}

/// Rank 0: waits for the others. Where it is refused itself, they are told.
pub fn gather(
    rank: &Rank,
    options: &RankOptions,
    refused: Option<&anyhow::Error>,
    progress: &mut Progress,
) -> anyhow::Result<Leader> {
    let (at_least, within) = match refused {
        None => (options.at_least.unwrap_or(rank.of), options.within()),
        Some(_) => (1, TO_BE_TOLD.min(options.within())),
    };
    let listener = Leader::listen(&rank.meet)?;
    let terms = rank.terms(env!("CARGO_PKG_VERSION"));
    let leader = Leader::gather(listener, terms, at_least, within, |waiting| {
        progress.waiting_for_ranks(waiting);
    })?;
    if let Some(error) = refused {
        leader.give_up(&format!("rank 0: {}", with_causes(error.as_ref())));
    }
    Ok(leader)
}

/// Any other rank: sends what rank 0 says, and hands over what it recorded.
pub fn follow(
    rank: &Rank,
    arguments: &RunArguments,
    options: &Options,
    session: &Session,
    progress: &mut Progress,
) -> anyhow::Result<Exit> {
    // What is wrong with the options is said here as well as there.
    options.clone().resolve()?;
    let out = match &arguments.out {
        Some(out) => PathBuf::from(format!("{}-rank{}", out.display(), rank.rank)),
        None => kept_in(None, Some(&format!("rank{}", rank.rank)), "run")?,
    };
    RunDir::check(&out)?;
    let control = Control::default();
    interrupt_on_signals(control.clone())?;
    let terms = rank.terms(env!("CARGO_PKG_VERSION"));
    let within = arguments.ranks.within();
    let waiting = |since| progress.waiting_for_rank_0(rank, since);
    let member = Member::join(&rank.meet, terms, rank.rank, &host::name(), within, waiting)?;
    // One voice is enough: rank 0 says how far it is.
    let mut silent = Progress::new(true, session.lang);
    let ended = measure::follow(member, options, &out, session, &control, &mut silent);
    match ended.map_err(|error| anyhow!(error).context(format!("rank {}", rank.rank)))? {
        EndCause::Signal => Ok(Exit::Interrupted),
        EndCause::RankLost => Ok(Exit::Doubtful),
        _ => Ok(Exit::Fine),
    }
}

impl Progress {
    fn waiting_for_ranks(&mut self, waiting: &Waiting) {
        let numbers: Vec<String> = waiting
            .missing
            .iter()
            .take(16)
            .map(u32::to_string)
            .collect();
        let values = [
            ("missing", waiting.missing.len().to_string()),
            ("of", waiting.of.to_string()),
            ("since", clock(waiting.since)),
            ("numbers", numbers.join(", ")),
        ];
        self.say(&ProgressText::WaitingForRanks.with(self.lang(), &values));
    }

    fn waiting_for_rank_0(&mut self, rank: &Rank, since: Duration) {
        let values = [
            ("rank", rank.rank.to_string()),
            ("at", rank.meet.clone()),
            ("since", clock(since)),
        ];
        self.say(&ProgressText::WaitingForRankZero.with(self.lang(), &values));
    }
}
