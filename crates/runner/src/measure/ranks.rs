//! A measurement that several processes share. Rank 0 prepares it as if it were alone and tells
//! the others all that was decided or drawn; each then prepares the same from its own machine, and
//! sends its share. What they recorded comes to rank 0, which folds all of it.

mod handover;

use super::plan::Planned;
use super::{Point, PrefixCache, load_point};
use crate::error::{Context as _, RunnerError, bail};
use crate::observer::Observer;
use crate::session::Session;
use crate::{host, with_causes};
use handover::hand_over;
use inferometer_core::environment::{EndCause, Probe, RankEnding, RankHost, Ranks};
use inferometer_core::options::Options;
use inferometer_core::record::Stage;
use inferometer_core::scenario::{Scenario, Shape};
use inferometer_core::value::JsonObject;
use inferometer_load::clock::Clock;
use inferometer_load::http::url::{REDACTED, Target};
use inferometer_load::instrument::{
    Control, Follow, Lead, LoadReport, RankReport, Rhythm, Share, Team,
};
use inferometer_load::setup::Jobs;
use inferometer_meet::{Gone, Heard, Leader, Member};
use inferometer_store::run_dir::RunDir;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::time::Duration;

pub(super) use handover::collect;

/// A rank that is there is waited for, whatever it prepares, sends or folds; one that is gone is
/// noticed at once, and one that hangs after some seconds of silence.
const PATIENCE: Duration = Duration::from_secs(86_400);

/// Prompts and due times by which two plans are compared.
const COMPARED: u64 = 16;

/// With whom points are measured, one after the other.
#[derive(Default)]
pub enum Crew {
    #[default]
    Alone,
    Lead {
        leader: Leader,
        /// Whether the others were told of the point that is being measured.
        told: bool,
    },
    Follow(Member, Box<Brief>),
    /// The others were lost or sent away, for this reason.
    Parted(String),
}

/// What rank 0 has decided or drawn, and the share of the one who is told.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Brief {
    /// The scenario, without secrets.
    options: String,
    share: Share,
    nonce: Option<u64>,
    pub(super) run_id: String,
    pub(super) chunk_usage: bool,
    stagger_ns: Option<u64>,
    /// The origin of the run's clock on rank 0's timeline.
    origin_ns: i64,
    pub(super) traced: bool,
}

/// A rank is ready for the load.
#[derive(Debug, Serialize, Deserialize)]
struct Ready {
    about: RankHost,
    /// What its preflight found.
    found: Found,
    /// A hash of what it plans.
    plan: u64,
}

/// All are ready: from now on they speak of the load.
#[derive(Debug, Serialize, Deserialize)]
struct Begin;

/// What must be the same for every rank, since requests are made by it.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Found {
    api: String,
    model: String,
    fields: String,
}

impl Found {
    fn of(probe: &Probe) -> Found {
        let Probe {
            limit_field,
            ignore_eos,
            min_tokens,
            stream_usage,
            token_ids,
            refused_fields,
            ..
        } = probe;
        Found {
            api: probe.api.clone(),
            model: probe.model.clone(),
            fields: format!(
                "{limit_field} ignore_eos={ignore_eos:?} min_tokens={min_tokens:?} usage={stream_usage} ids={token_ids:?} refused={refused_fields:?}"
            ),
        }
    }
}

/// What is drawn for a run and must be the same on every rank.
pub(super) struct Drawn {
    pub nonce: Option<u64>,
    pub run_id: String,
}

impl Crew {
    /// Our share of a point. Where it has fewer streams than there are ranks, the last of them
    /// wait for the next point.
    pub(super) fn call(&mut self, scenario: &Scenario) -> Result<Share, RunnerError> {
        match self {
            Crew::Alone => Ok(Share::WHOLE),
            Crew::Follow(_, brief) => Ok(brief.share),
            Crew::Parted(why) => bail!("the other ranks are no longer there: {why}"),
            Crew::Lead { leader, .. } => {
                let streams = streams(scenario).map_or(usize::MAX, |(_, streams)| streams as usize);
                leader.call(streams.saturating_sub(1));
                Ok(Share {
                    place: 0,
                    of: leader.present().count() as u64 + 1,
                })
            }
        }
    }

    pub(super) fn rank(&self) -> Option<u32> {
        match self {
            Crew::Alone | Crew::Parted(_) => None,
            Crew::Lead { .. } => Some(0),
            Crew::Follow(member, _) => Some(member.rank()),
        }
    }

    /// What rank 0 said, where it is not us.
    pub(super) fn brief(&self) -> Option<&Brief> {
        match self {
            Crew::Follow(_, brief) => Some(brief),
            Crew::Alone | Crew::Lead { .. } | Crew::Parted(_) => None,
        }
    }

    pub(super) fn drawn(&self, scenario: &Scenario) -> Drawn {
        match self.brief() {
            Some(brief) => Drawn {
                nonce: brief.nonce,
                run_id: brief.run_id.clone(),
            },
            None => Drawn {
                nonce: scenario.work.cache_nonce.then(host::random),
                run_id: format!("{:08x}", host::random() as u32),
            },
        }
    }

    /// The clock of the run: rank 0's, wherever we are.
    pub(super) fn clock(&self) -> Result<Clock, RunnerError> {
        let Crew::Follow(member, brief) = self else {
            return Ok(Clock::start());
        };
        let origin = member.instant(brief.origin_ns);
        let origin = origin.context("rank 0 names an origin that no clock reaches")?;
        Ok(Clock::with_origin(origin))
    }

    pub(super) fn stagger(&self, planned: &Planned, alone: Option<Duration>) -> Option<Duration> {
        match self.brief() {
            Some(brief) => brief.stagger_ns.map(Duration::from_nanos),
            None => planned.stagger(alone),
        }
    }

    /// Tells the others what was decided, and waits until they are ready; those who were told say
    /// that they are.
    pub(super) fn agree(&mut self, decided: &Decided<'_>) -> Result<Option<Ranks>, RunnerError> {
        let found = Found::of(decided.probe);
        let plan = decided.plan_hash();
        match self {
            Crew::Alone | Crew::Parted(_) => Ok(None),
            Crew::Lead { leader, told } => {
                *told = true;
                let others = brief_all(leader, decided, &found, plan)?;
                let missing = leader.missing().to_vec();
                let ranks = Ranks {
                    of: (others.len() + missing.len()) as u32 + 1,
                    missing,
                    others,
                };
                Ok(Some(ranks).filter(|ranks| ranks.of > 1))
            }
            Crew::Follow(member, _) => {
                let about = RankHost {
                    rank: member.rank(),
                    name: host::name(),
                    host: host::host(),
                    workers: decided.workers,
                    clock_error_ns: member.compared().error_ns,
                };
                said(member.say(&Ready { about, found, plan }))?;
                let Begin = heard(member, PATIENCE)?;
                Ok(None)
            }
        }
    }

    /// As those who share the load; `take_back` undoes it.
    pub(super) fn team(&mut self, ranks: Option<&Ranks>) -> (Team, Option<Box<Brief>>) {
        match std::mem::replace(self, Crew::Alone) {
            Crew::Alone | Crew::Parted(_) => (Team::Alone, None),
            Crew::Lead { leader, .. } => {
                let errors = ranks.into_iter().flat_map(|ranks| &ranks.others);
                let way = errors.map(|other| 2 * other.clock_error_ns).max();
                let way = Duration::from_nanos(way.unwrap_or_default());
                (Team::Lead(Box::new(Lead::new(leader, way))), None)
            }
            Crew::Follow(member, brief) => {
                let follow = Follow::new(member, brief.share);
                (Team::Follow(Box::new(follow)), Some(brief))
            }
        }
    }

    pub(super) fn take_back(&mut self, team: Team, brief: Option<Box<Brief>>) {
        *self = match (team, brief) {
            (Team::Lead(lead), _) => Crew::Lead {
                leader: lead.leader,
                told: true,
            },
            (Team::Follow(follow), Some(brief)) => Crew::Follow(follow.member, brief),
            (Team::Alone | Team::Follow(_), _) => Crew::Alone,
        };
    }

    /// A point was measured, or not. What went wrong after the others had been told of it is told
    /// to them, and nothing more is done with them; the same where one of them was lost.
    pub(crate) fn after(&mut self, measured: Result<EndCause, &RunnerError>) {
        let why = match measured {
            Err(error) => with_causes(error),
            Ok(EndCause::RankLost) => "one of them was lost".to_owned(),
            Ok(_) => {
                if let Crew::Lead { told, .. } = self {
                    *told = false;
                }
                return;
            }
        };
        match self {
            Crew::Lead { told: false, .. } | Crew::Alone | Crew::Parted(_) => {}
            Crew::Lead { leader, .. } => {
                leader.give_up(&format!("rank 0: {why}"));
                *self = Crew::Parted(why);
            }
            Crew::Follow(member, _) if measured.is_err() => member.give_up(&why),
            // Rank 0 knows it.
            Crew::Follow(..) => {}
        }
    }

    /// No other point follows.
    pub(crate) fn end(&mut self) {
        if let Crew::Lead { leader, .. } = std::mem::take(self) {
            leader.end();
        }
    }
}

/// What was decided before the load, as the others must know it.
pub(super) struct Decided<'a> {
    pub scenario: &'a Scenario,
    pub drawn: &'a Drawn,
    pub probe: &'a Probe,
    pub planned: &'a Planned,
    pub jobs: &'a dyn Jobs,
    pub stagger: Option<Duration>,
    pub clock: &'a Clock,
    pub workers: u32,
    pub traced: bool,
}

impl Decided<'_> {
    /// What is planned, in a number: other data or another schedule have another one.
    fn plan_hash(&self) -> u64 {
        let mut hash = DefaultHasher::new();
        self.planned.requests.hash(&mut hash);
        for session in 0..COMPARED {
            format!("{:?}", self.jobs.job(session, 0)).hash(&mut hash);
            self.jobs.turns(session).hash(&mut hash);
        }
        if let Rhythm::Open { measured, .. } = &self.planned.rhythm {
            let due: Vec<_> = measured().take(COMPARED as usize).collect();
            due.hash(&mut hash);
        }
        hash.finish()
    }

    fn brief(&self, leader: &Leader, share: Share) -> Brief {
        Brief {
            options: self.scenario.options().to_toml(),
            share,
            nonce: self.drawn.nonce,
            run_id: self.drawn.run_id.clone(),
            chunk_usage: self.probe.chunk_usage,
            stagger_ns: self.stagger.map(|span| span.as_nanos() as u64),
            origin_ns: leader.timeline().ns(self.clock.origin()),
            traced: self.traced,
        }
    }
}

fn brief_all(
    leader: &mut Leader,
    decided: &Decided<'_>,
    found: &Found,
    plan: u64,
) -> Result<Vec<RankHost>, RunnerError> {
    let present: Vec<u32> = leader.present().collect();
    let of = present.len() as u64 + 1;
    for (place, &rank) in (1..).zip(&present) {
        if let Some(gone) = leader.gone(rank) {
            bail!("{}", gone.of_rank(rank, leader.host(rank)));
        }
        leader.tell(rank, &decided.brief(leader, Share { place, of }));
    }
    let mut ready = BTreeMap::new();
    while ready.len() < present.len() {
        let Some((rank, heard)) = leader.hear::<Ready>(PATIENCE) else {
            bail!("not all ranks became ready");
        };
        match heard {
            Heard::Said(said) if said.found != *found => bail!(
                "rank {rank} found the server otherwise than rank 0 ({} instead of {}); give all ranks the same URL and key",
                differing(&said.found, found),
                differing(found, &said.found)
            ),
            Heard::Said(said) if said.plan != plan => bail!(
                "rank {rank} plans other requests than rank 0; give all ranks the same data files and tokenizer"
            ),
            Heard::Said(said) => {
                let about = RankHost { rank, ..said.about };
                ready.insert(rank, about);
            }
            Heard::Piece(_) => bail!("rank {rank} sent a file before the load"),
            Heard::Gone(gone) => bail!("{}", gone.of_rank(rank, leader.host(rank))),
        }
    }
    leader.tell_all(&Begin);
    Ok(ready.into_values().collect())
}

/// The first thing in which one finding is not the other.
fn differing<'a>(one: &'a Found, other: &Found) -> &'a str {
    let pairs = [
        (&one.api, &other.api),
        (&one.model, &other.model),
        (&one.fields, &other.fields),
    ];
    let differs = pairs.into_iter().find(|(one, other)| one != other);
    differs.map_or("", |(one, _)| one)
}

/// The streams of a load, and the option that says how many; absent where there is no limit.
pub fn streams(scenario: &Scenario) -> Option<(&'static str, u32)> {
    match scenario.load.shape {
        Shape::Closed { concurrency, .. } => Some(("--concurrency", concurrency)),
        Shape::Open {
            max_concurrency, ..
        }
        | Shape::Replay {
            max_concurrency, ..
        } => Some(("--max-concurrency", max_concurrency?)),
    }
}

fn said(said: Result<(), Gone>) -> Result<(), RunnerError> {
    said.map_err(|gone| RunnerError::Message(format!("rank 0: {gone}")))
}

/// Hears what rank 0 says next.
fn heard<T: DeserializeOwned>(member: &mut Member, within: Duration) -> Result<T, RunnerError> {
    meant((member.hear(within)).context("rank 0 is gone")?)
}

fn meant<T>(heard: Heard<T>) -> Result<T, RunnerError> {
    match heard {
        Heard::Said(said) => Ok(said),
        // The line names its rank already.
        Heard::Gone(Gone::GaveUp(why)) => Err(RunnerError::Message(why)),
        Heard::Gone(gone) => bail!("rank 0: {gone}"),
        Heard::Piece(_) => bail!("rank 0 sent a file"),
    }
}

/// Takes part as another rank in all points that rank 0 tells of, until it has no more: what is
/// measured is what it says, with the secrets that were given here. What was recorded is kept in
/// `out` until rank 0 has it.
pub fn follow(
    mut member: Member,
    given: &Options,
    out: &Path,
    session: &Session,
    control: &Control,
    observer: &mut dyn Observer,
) -> Result<EndCause, RunnerError> {
    while let Some(brief) = next_brief(&mut member)? {
        control.renew();
        let mut crew = Crew::Follow(member, Box::new(brief));
        let ended = follow_brief(&mut crew, given, out, session, control, observer);
        crew.after(ended.as_ref().copied());
        let cause = ended?;
        let Crew::Follow(still, _) = crew else {
            bail!("rank 0 is gone");
        };
        if cause.is_of_all() {
            return Ok(cause);
        }
        member = still;
    }
    Ok(EndCause::Complete)
}

/// The next point, if there is one.
fn next_brief(member: &mut Member) -> Result<Option<Brief>, RunnerError> {
    let lost = |gone: Gone| RunnerError::Message(format!("rank 0: {gone}"));
    let brief = match member.hear(PATIENCE) {
        Some(Heard::Gone(Gone::Ended)) => return Ok(None),
        Some(heard) => meant(heard)?,
        None => bail!("rank 0 is gone"),
    };
    member.compare_anew().map_err(lost)?;
    Ok(Some(brief))
}

fn follow_brief(
    crew: &mut Crew,
    given: &Options,
    out: &Path,
    session: &Session,
    control: &Control,
    observer: &mut dyn Observer,
) -> Result<EndCause, RunnerError> {
    let brief = crew
        .brief()
        .context("a rank that follows was told what to do")?;
    let options = Options::from_toml(&brief.options).context("what rank 0 says")?;
    let chunk_usage = brief.chunk_usage;
    let options = with_secrets(options, given);
    let mut point = Point::prepare(options, PrefixCache::Kept, session, observer)?;
    point.chunk_usage = Some(chunk_usage);
    let targets = point.targets.clone();
    RunDir::check(out)?;
    let loaded = match load_point(point, targets, out, session, control, crew, observer) {
        Ok(loaded) => loaded,
        Err(error) => {
            // Nothing was sent: nothing stays that could pass for a run.
            let _ = std::fs::remove_dir_all(out);
            return Err(error);
        }
    };
    let sent_any = loaded.ending.planned > 0;
    let (directory, cause) = (loaded.directory, loaded.ending.cause);
    directory.write_ending(&loaded.ending)?;
    directory.seal()?;
    let Crew::Follow(member, _) = crew else {
        bail!("rank 0 is gone");
    };
    match hand_over(member, &directory) {
        Ok(()) => {
            let path = directory.path();
            std::fs::remove_dir_all(path)
                .with_context(|| format!("cannot remove {}", path.display()))?;
            Ok(cause)
        }
        Err(error) if sent_any => Err(error.context(format!(
            "rank 0 did not take what this rank recorded, which is kept in {}",
            directory.path().display()
        ))),
        Err(error) => {
            let _ = std::fs::remove_dir_all(directory.path());
            Err(error)
        }
    }
}

/// What rank 0 says, with the secrets that it does not: they were given to every rank.
fn with_secrets(mut told: Options, given: &Options) -> Options {
    let redacted = |object: &Option<JsonObject>| {
        let stored = object
            .as_ref()
            .map(|object| serde_json::to_string(&object.0));
        stored.is_some_and(|text| text.is_ok_and(|text| text.contains(REDACTED)))
    };
    // Addresses of one host are none of another's.
    (told.connection.source_address).clone_from(&given.connection.source_address);
    told.connection.header_names = None;
    told.connection.header.clone_from(&given.connection.header);
    if given.connection.proxy.is_some() {
        told.connection.proxy.clone_from(&given.connection.proxy);
    }
    if redacted(&told.connection.raw_body) {
        told.connection
            .raw_body
            .clone_from(&given.connection.raw_body);
    }
    if redacted(&told.work.extra) {
        told.work.extra.clone_from(&given.work.extra);
    }
    for url in told.connection.url.iter_mut().flatten() {
        let same = |own: &&String| Target::parse(own).is_ok_and(|own| own.to_string() == *url);
        if let Some(own) = given.connection.url.iter().flatten().find(same) {
            url.clone_from(own);
        }
    }
    told
}

/// How the load went on each rank.
pub(super) fn endings(report: &LoadReport) -> Vec<RankEnding> {
    let ms = |span: Duration| span.as_secs_f64() * 1e3;
    let ending = |(&rank, told): (&u32, &RankReport)| RankEnding {
        rank,
        sent: told.count(Stage::Measured).started,
        thread_cpu_shares: told.cpu_shares.clone(),
        pulse_p99_ms: told.wakeups.map(|woken| ms(woken.p99)),
        longest_pause_ms: told.wakeups.map(|woken| ms(woken.longest)),
        lost: told.lost.clone(),
        ..RankEnding::default()
    };
    report.ranks.iter().map(ending).collect()
}

/// Of all ranks, or of this process where it is alone: the worst.
pub(super) fn worst(
    ranks: &[RankEnding],
    own: Option<f64>,
    of: fn(&RankEnding) -> Option<f64>,
) -> Option<f64> {
    let all = ranks.iter().filter_map(of).chain(own);
    all.reduce(f64::max)
}
