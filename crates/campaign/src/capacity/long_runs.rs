//! What the long runs of a tier say, each by itself and together. A load is met the easier the lower
//! it is, so a run is evidence for every load below its own: runs that are each too short to show
//! that their level lasts may show together that the lowest of them does.

use super::probe::{ProbeOutcome, least_independent};
use super::stored::LongRun;
use super::tier::Tier;

/// A run that has less than this part of what its queue asks for saw one mood of it, mostly a calm
/// one, since it began idle: it does not count together with others, unless it speaks against them.
pub(super) const SHORTEST_PART: f64 = 0.25;

/// A long run with what it says: its objectives are met or not, or that is not shown.
type Told = (Option<bool>, LongRun);

/// Takes the last of all probes, which was to confirm a tier.
pub(super) fn confirm(tier: &mut Tier, history: &[ProbeOutcome]) {
    let runs: Vec<&ProbeOutcome> = tier.long_runs(history).collect();
    if let [earlier @ .., last] = runs.as_slice() {
        tier.confirmations += u32::from(!earlier.iter().any(|run| run.level == last.level));
    }
    let runs = told(&runs, tier);
    tier.long_run = strongest(&runs, tier.least());
}

/// Each run, with all that speak for its level.
fn told(runs: &[&ProbeOutcome], tier: &Tier) -> Vec<Told> {
    let at = |level: f64| -> Vec<&ProbeOutcome> {
        let here = runs.iter().filter(|run| run.level == level);
        here.copied().collect()
    };
    let misses = |level: f64| tier.are_met(&at(level)) == Some(false);
    let missed = runs
        .iter()
        .map(|run| run.level)
        .filter(|level| misses(*level));
    let lowest_missed = missed.reduce(f64::min);
    let one = |run: &&ProbeOutcome| {
        let here = at(run.level);
        let speaks = |other: &&&ProbeOutcome| {
            let is_below = lowest_missed.is_none_or(|missed| other.level < missed);
            other.level >= run.level && is_below
        };
        let all = Together::of(runs.iter().filter(speaks).copied(), tier);
        match (tier.is_met(run), here.len()) {
            (Some(is_met), 1) => alone(run, Some(is_met), tier),
            _ if misses(run.level) => together(run, &Together::all(here), Some(false), tier),
            (is_met, _) if all.runs.len() < 2 => alone(run, is_met, tier),
            _ => together(run, &all, None, tier),
        }
    };
    runs.iter().map(one).collect()
}

/// Runs that are looked at together.
struct Together<'a> {
    runs: Vec<&'a ProbeOutcome>,
    /// Runs that are too short to add to these, of whose requests more missed.
    against: Vec<&'a ProbeOutcome>,
    /// Least requests beside the memory of the queue.
    for_queue: f64,
}

impl<'a> Together<'a> {
    fn all(runs: Vec<&'a ProbeOutcome>) -> Self {
        let worths = runs.iter().filter_map(|run| run.worth.as_ref());
        let for_queue = worths.map(|worth| worth.for_queue).fold(0.0, f64::max);
        Together {
            runs,
            against: Vec::new(),
            for_queue,
        }
    }

    /// Those that count, and those against. The memory of a queue seems longest to a run that saw
    /// much of it: were all that are short beside it left out, those that were calm would remain.
    fn of(runs: impl Iterator<Item = &'a ProbeOutcome>, tier: &Tier) -> Self {
        let is_long = |run: &&ProbeOutcome| {
            let worth = run.worth.as_ref();
            let least = worth.map_or(f64::INFINITY, |worth| SHORTEST_PART * worth.for_queue);
            run.requests as f64 >= least
        };
        let (long, short): (Vec<_>, Vec<_>) = runs.partition(is_long);
        let mut found = Together::all(long);
        let usual = missed(&found.runs, tier);
        let is_worse = |run: &&ProbeOutcome| {
            let own = missed(&[*run], tier);
            own.iter().zip(&usual).any(|(own, usual)| own > usual)
        };
        found.against = short.into_iter().filter(is_worse).collect();
        found
    }

    /// The share of all requests, also of those against, that missed each target.
    fn missed(&self, tier: &Tier) -> Vec<f64> {
        missed(&[self.runs.as_slice(), &self.against].concat(), tier)
    }
}

/// The share of all requests of some runs that missed each target.
fn missed(runs: &[&ProbeOutcome], tier: &Tier) -> Vec<f64> {
    let requests: u64 = runs.iter().map(|run| run.requests).sum();
    let met = |at: usize| -> u64 { runs.iter().map(|run| run.met[at]).sum() };
    let missed = |&(at, _): &(usize, f64)| missed_share(met(at), requests);
    tier.targets.iter().map(missed).collect()
}

fn missed_share(met: u64, requests: u64) -> f64 {
    requests.saturating_sub(met) as f64 / requests.max(1) as f64
}

/// The one to go by. One that carries a claim stands, whatever ended a later one; and so does one
/// that met the objectives. Of others that may have met them, the one that comes nearest to showing
/// it, unless a run at its level or below missed them.
fn strongest(runs: &[Told], least: u64) -> Option<LongRun> {
    let missed = runs.iter().filter(|(is_met, _)| *is_met == Some(false));
    let lowest_missed = missed.map(|(_, run)| run.level).reduce(f64::min);
    let shown = |(is_met, run): &Told| {
        let is_open = is_met.is_none() && lowest_missed.is_none_or(|level| run.level < level);
        let needs = run.needs.unwrap_or(run.requests).max(1);
        if is_open {
            run.requests as f64 / needs as f64
        } else {
            0.0
        }
    };
    let rank = |told: &Told| (told.1.requests >= least, told.1.met);
    (runs.iter())
        .max_by(|a, b| rank(a).cmp(&rank(b)).then(shown(a).total_cmp(&shown(b))))
        .map(|(_, run)| *run)
}

fn alone(run: &ProbeOutcome, is_met: Option<bool>, tier: &Tier) -> Told {
    let of_all = run.stored.as_ref().filter(|_| {
        let counted = tier.seems_met(run);
        is_met == Some(false) && counted == Some(true)
    });
    let (within, asked) = match of_all {
        // What decided is told.
        Some((requests, met)) => {
            let missed = |&(at, _): &(usize, f64)| missed_share(met[at], *requests);
            worst(tier.targets.iter().map(missed).collect(), tier)
        }
        None => worst(missed(&[run], tier), tier),
    };
    let told = LongRun {
        level: run.level,
        offered: run.offered_instead(),
        runs: None,
        requests: run.requests,
        sent: Some(run.sent),
        within,
        asked,
        met: is_met == Some(true),
        // Where one request more or less decides, twice as many show it.
        needs: (is_met.is_none()).then(|| run.needs.unwrap_or(2 * run.requests)),
    };
    (is_met, told)
}

/// What several runs say of the level of one of them, where it is not known that they miss.
fn together(run: &ProbeOutcome, these: &Together<'_>, known: Option<bool>, tier: &Tier) -> Told {
    let all = these.runs.as_slice();
    let requests: u64 = all.iter().map(|run| run.requests).sum();
    let worths = || all.iter().filter_map(|run| run.worth.as_ref());
    let for_share = |(place, (&(_, share), missed)): (usize, (&(usize, f64), f64))| {
        let effects = worths().filter_map(|worth| worth.effects.get(place).copied());
        effects.fold(1.0, f64::max) * least_independent(missed, 1.0 - share)
    };
    let shares = these.missed(tier);
    let targets = tier.targets.iter().zip(shares.clone()).enumerate();
    let needs = targets.map(for_share).fold(these.for_queue, f64::max);
    let is_open = known.is_none() && needs.is_finite();
    let met = is_open && needs <= requests as f64;
    let (within, asked) = worst(shares, tier);
    // Those at its own level say at which rate.
    let here = || all.iter().filter(|other| other.level == run.level);
    let counted: u64 = here().map(|run| run.requests).sum();
    let weighed: f64 = here().map(|run| run.offered * run.requests as f64).sum();
    let told = LongRun {
        level: run.level,
        offered: Some(weighed / counted as f64).filter(|load| *load > 0.0 && *load != run.level),
        runs: Some(all.len() as u32),
        requests,
        sent: Some(all.iter().map(|run| run.sent).sum()),
        within,
        asked,
        met,
        needs: (is_open && !met).then(|| needs.ceil() as u64),
    };
    (known.or(met.then_some(true)), told)
}

/// Of the target that is farthest from its objective, the share within its limit and the share that
/// must be.
fn worst(missed: Vec<f64>, tier: &Tier) -> (f64, f64) {
    let far = |&(within, share): &(f64, f64)| (1.0 - within) / (1.0 - share);
    let shares = tier.targets.iter().zip(missed);
    shares
        .map(|(&(_, share), missed)| (1.0 - missed, share))
        .max_by(|a, b| far(a).total_cmp(&far(b)))
        .unwrap_or((1.0, 1.0))
}
