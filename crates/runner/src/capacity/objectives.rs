//! The objectives of a search: tiers, and what each request must meet.

use super::sessions::{Sessions, WholeSession};
use crate::error::{Context as _, RunnerError, bail};
use inferometer_campaign::capacity::Target;
use inferometer_campaign::capacity::stored::{TOGETHER, TierCapacity};
use inferometer_core::options::Options;
use inferometer_core::record::Record;
use inferometer_core::slo::{Slo, SloMetric, SloScope};
use inferometer_core::summary::Latencies;
use inferometer_core::units::Offset;
use inferometer_store::run_dir::RunDir;
use std::time::Duration;

/// The name of the objectives that `--slo` gives.
pub const OWN_TIER: &str = "slo";

#[derive(Clone, Debug)]
pub struct Tier {
    pub name: String,
    pub slos: Vec<Slo>,
}

impl std::str::FromStr for Tier {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let shape = "write NAME: SLO, …, as in batch: ttft.p99=5s, e2e.p99=60s";
        let (name, list) = text.split_once(':').ok_or(shape)?;
        let slos: Vec<Slo> = (list.split(','))
            .map(|slo| slo.parse().map_err(|error| format!("{error}")))
            .collect::<Result<_, String>>()?;
        match name.trim() {
            "" => Err(shape.into()),
            name => Ok(Tier {
                name: name.to_owned(),
                slos,
            }),
        }
    }
}

/// The objectives of the options, then those of `--tier`.
pub fn tiers(options: &Options, further: Vec<Tier>) -> Result<Vec<Tier>, RunnerError> {
    let own = options.objectives.slo.clone().unwrap_or_default();
    let own = (!own.is_empty()).then(|| Tier {
        name: OWN_TIER.to_owned(),
        slos: own,
    });
    let tiers: Vec<Tier> = own.into_iter().chain(further).collect();
    if tiers.is_empty() {
        bail!(
            "capacity needs an objective: give --slo ttft.p99=1s, or --slo ttft=1s with --attainment 0.95"
        );
    }
    Ok(tiers)
}

/// What a search counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    Requests,
    /// Whole sessions, where the objectives are of these.
    Sessions,
}

/// The objectives as targets of the search: each percentile by itself, those of single
/// requests or sessions together.
#[derive(Clone)]
pub struct Watched {
    pub counted: Counted,
    tiers: Vec<WatchedTier>,
}

#[derive(Clone)]
struct WatchedTier {
    name: String,
    /// The objectives as given, and the share of requests where there are some of single ones.
    objectives: Vec<String>,
    /// Name, share, and the objectives that a request must meet.
    targets: Vec<(String, f64, Vec<Slo>)>,
}

impl Watched {
    pub fn of(tiers: &[Tier], attainment: Option<f64>) -> Result<Watched, RunnerError> {
        let slos = || tiers.iter().flat_map(|tier| &tier.slos);
        let (job, request) = (
            slos().find(|slo| slo.is_of_sessions()),
            slos().find(|slo| !slo.is_of_sessions()),
        );
        let counted = match (job, request) {
            (Some(job), Some(request)) => bail!(
                "--slo {job} is about sessions and --slo {request} about requests, and a search counts one of them; search for each by itself: the lower capacity meets both"
            ),
            (Some(_), None) => Counted::Sessions,
            (None, _) => Counted::Requests,
        };
        let watch = |tier: &Tier| {
            let mut targets = Vec::new();
            let mut single = Vec::new();
            for slo in &tier.slos {
                match slo.scope {
                    SloScope::Percentile(_) if slo.metric == SloMetric::Itl => bail!(
                        "--slo {slo} is about all gaps of all answers, and capacity is searched for by single requests; give tpot for the pace of an answer, or max-gap for its longest pause"
                    ),
                    SloScope::Percentile(percent) => {
                        let name = slo.to_string();
                        let name = name.split(['>', '=']).next().unwrap_or_default().to_owned();
                        targets.push((name, percent / 100.0, vec![*slo]));
                    }
                    SloScope::Request | SloScope::Session => single.push(*slo),
                    SloScope::Mean => bail!(
                        "a mean cannot be searched for: a few slow requests move it at any load; give a percentile, as in --slo ttft.p50=200ms"
                    ),
                }
            }
            let mut objectives: Vec<String> = tier.slos.iter().map(ToString::to_string).collect();
            if !single.is_empty() {
                let share = attainment.filter(|share| *share < 1.0).context(
                    "objectives of single requests or sessions need --attainment below 1, such as 0.95: no sample shows that every one meets them",
                )?;
                let names: Vec<String> = single.iter().map(ToString::to_string).collect();
                targets.push((names.join(TOGETHER), share, single));
                objectives.push(format!("attainment={share}"));
            }
            Ok(WatchedTier {
                name: tier.name.clone(),
                objectives,
                targets,
            })
        };
        let tiers = tiers
            .iter()
            .map(watch)
            .collect::<Result<_, RunnerError>>()?;
        Ok(Watched { counted, tiers })
    }

    pub fn targets(&self) -> Vec<Target> {
        let of_tier = |(tier, watched): (usize, &WatchedTier)| {
            let target = |(name, share, _): &(String, f64, Vec<Slo>)| Target {
                name: name.clone(),
                share: *share,
                tier,
            };
            watched.targets.iter().map(target).collect::<Vec<_>>()
        };
        self.tiers.iter().enumerate().flat_map(of_tier).collect()
    }

    /// Requests that a run must have for the percentiles of a tier, where it has too few.
    pub fn needed(&self, latency: &Latencies, tier: usize) -> Option<u64> {
        let targets = self.tiers.get(tier)?.targets.iter();
        let slos = targets.flat_map(|(_, _, slos)| slos);
        let needed = slos.filter_map(|slo| Some(latency.lacking(slo)?.1));
        needed.max()
    }

    /// Whether a request was within the limits of each target.
    pub fn within(&self, record: &Record) -> Vec<bool> {
        self.each(|slos| record.is_done() && slos.iter().all(|slo| slo.met_by(record)))
    }

    /// Whether a session was.
    pub fn session_within(&self, session: &WholeSession) -> Vec<bool> {
        let lasted = session.lasted();
        self.each(|slos| lasted.is_some_and(|lasted| slos.iter().all(|slo| lasted <= slo.limit.0)))
    }

    fn each(&self, met: impl Fn(&[Slo]) -> bool) -> Vec<bool> {
        (self.tiers.iter())
            .flat_map(|tier| &tier.targets)
            .map(|(_, _, slos)| met(slos))
            .collect()
    }

    /// What a stored run, which sent until some time, counts, and how many of them were within the
    /// limits of each target.
    pub fn tally(
        &self,
        run: &RunDir,
        sending_ended: Offset,
    ) -> Result<(u64, Vec<u64>), RunnerError> {
        let mut sessions = Sessions::default();
        let mut whole = Vec::new();
        let mut seen = Vec::new();
        for record in run.records()? {
            let record = record?;
            match self.counted {
                _ if !record.is_measured() => {}
                Counted::Requests => seen.push(self.within(&record)),
                Counted::Sessions => whole.extend(sessions.add(&record)),
            }
        }
        let cut: Vec<WholeSession> = sessions.into_cut().collect();
        // Those that the end has cut were not over in time; which of the last would have been is
        // not known, and that some of them were tells of the short ones only.
        let longest = self.longest_limit();
        let is_known = |session: &&WholeSession| {
            let began = session.began.unwrap_or_default();
            cut.is_empty() || sending_ended.since(began) >= longest
        };
        let known = whole.iter().chain(&cut).filter(is_known);
        seen.extend(known.map(|session| self.session_within(session)));
        let mut met = vec![0; self.targets().len()];
        for within in &seen {
            for (count, within) in met.iter_mut().zip(within) {
                *count += u64::from(*within);
            }
        }
        Ok((seen.len() as u64, met))
    }

    fn longest_limit(&self) -> Duration {
        let targets = self.tiers.iter().flat_map(|tier| &tier.targets);
        let slos = targets.flat_map(|(_, _, slos)| slos);
        slos.map(|slo| slo.limit.0).max().unwrap_or_default()
    }

    pub fn tier_name(&self, tier: usize) -> Option<String> {
        let several = self.tiers.len() > 1;
        several.then(|| self.tiers[tier].name.clone())
    }

    /// Answers of a search with the names and objectives of their tiers.
    pub fn named(&self, mut answers: Vec<TierCapacity>) -> Vec<TierCapacity> {
        for (at, (answer, tier)) in answers.iter_mut().zip(&self.tiers).enumerate() {
            answer.tier = self.tier_name(at);
            answer.objectives = tier.objectives.clone();
        }
        answers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tier(text: &str) -> Tier {
        text.parse().unwrap()
    }

    #[test]
    fn percentiles_are_targets_of_their_own_and_single_requests_one_together() {
        let tiers = [
            tier("chat: ttft.p99=1s, ttft=500ms, tpot=50ms"),
            tier("batch: e2e.p90=60s"),
        ];
        let watched = Watched::of(&tiers, Some(0.95)).unwrap();
        let objectives = &watched.tiers[0].objectives;
        assert_eq!(objectives.last().unwrap(), "attainment=0.95");
        let targets: Vec<(String, f64, usize)> = (watched.targets().into_iter())
            .map(|target| (target.name, target.share, target.tier))
            .collect();
        assert_eq!(
            targets,
            [
                ("ttft.p99".to_owned(), 0.99, 0),
                ("ttft=500ms and tpot=50ms".to_owned(), 0.95, 0),
                ("e2e.p90".to_owned(), 0.9, 1),
            ]
        );
    }

    #[test]
    fn objectives_of_jobs_count_sessions() {
        let watched = Watched::of(&[tier("a: job=30s, job.p50=9s")], Some(0.9)).unwrap();
        assert_eq!(watched.counted, Counted::Sessions);
        let targets: Vec<(String, f64)> = (watched.targets().into_iter())
            .map(|target| (target.name, target.share))
            .collect();
        assert_eq!(
            targets,
            [("job.p50".to_owned(), 0.5), ("job=30s".to_owned(), 0.9)]
        );
    }

    #[test]
    fn what_cannot_be_searched_for_is_refused_with_the_remedy() {
        let said = |text: &str| Watched::of(&[tier(text)], None).err().unwrap().to_string();
        assert!(said("a: ttft=1s").contains("--attainment"));
        assert!(said("a: ttft.mean=1s").contains("percentile"));
        assert!(said("a: job=30s").contains("--attainment"));
        assert!(said("a: job.p90=30s, ttft.p99=1s").contains("lower capacity"));
        // A pooled percentile is not that of the requests' means.
        assert!(said("a: itl.p90=25ms").contains("max-gap"));
        assert!("ttft.p99=1s".parse::<Tier>().is_err());
        assert!("a: ttft.p99".parse::<Tier>().is_err());
    }
}
