//! Load from several machines: rank 0 waits for the others, the others go to rank 0.

use crate::exit::Exit;
use crate::folder::kept_in;
use crate::options::{EngineArguments, RankOptions};
use crate::progress::Progress;
use crate::signals::interrupt_on_signals;
use crate::stores::Out;
use anyhow::{anyhow, bail};
use inferometer_core::environment::EndCause;
use inferometer_core::options::Options;
use inferometer_core::scenario::SimClock;
use inferometer_load::instrument::Control;
use inferometer_meet::{Leader, Member, Rank, Waiting};
use inferometer_message::ProgressText;
use inferometer_page::number::clock;
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

/// Refuses a single load that has fewer streams than there are ranks.
pub fn check_streams(options: &Options, rank: &Rank) -> anyhow::Result<()> {
    let scenario = options.clone().resolve()?;
    match measure::streams(&scenario) {
        Some((option, streams)) if streams < rank.of => bail!(
            "{option} {streams} cannot be shared by {} ranks; start fewer ranks, or raise {option}",
            rank.of
        ),
        _ => Ok(()),
    }
}

/// Rank 0: waits for the others with what is prepared. Where that was refused, they are told.
pub fn gather<T>(
    rank: Option<&Rank>,
    options: &RankOptions,
    prepared: anyhow::Result<T>,
    progress: &mut Progress,
) -> anyhow::Result<(T, Option<Leader>)> {
    let Some(rank) = rank else {
        return Ok((prepared?, None));
    };
    let (at_least, within) = match &prepared {
        Ok(_) => (options.at_least.unwrap_or(rank.of), options.within()),
        Err(_) => (1, TO_BE_TOLD.min(options.within())),
    };
    let listener = Leader::listen(&rank.meet)?;
    let terms = rank.terms(env!("CARGO_PKG_VERSION"));
    let leader = Leader::gather(listener, terms, at_least, within, |waiting| {
        progress.waiting_for_ranks(waiting);
    })?;
    match prepared {
        Ok(prepared) => Ok((prepared, Some(leader))),
        Err(error) => {
            leader.give_up(&format!("rank 0: {}", with_causes(error.as_ref())));
            Err(error)
        }
    }
}

/// Any other rank: sends what rank 0 says, and hands over what it recorded.
pub fn follow(
    rank: &Rank,
    ranks: &RankOptions,
    out: Option<&Out>,
    options: &Options,
    session: &Session,
    progress: &mut Progress,
) -> anyhow::Result<Exit> {
    let out = match out.and_then(Out::folder) {
        Some(out) => PathBuf::from(format!("{}-rank{}", out.display(), rank.rank)),
        None => kept_in(None, Some(&format!("rank{}", rank.rank)), "run")?,
    };
    RunDir::check(&out)?;
    let control = Control::default();
    interrupt_on_signals(control.clone())?;
    let terms = rank.terms(env!("CARGO_PKG_VERSION"));
    let waiting = |since| progress.waiting_for_rank_0(rank, since);
    let within = ranks.within();
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
