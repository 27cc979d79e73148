//! A candidate becomes a deployment: so many servers alike, each judged with its share of the
//! traffic.

use super::candidate::Candidate;
use super::launch::{self, Process, Role};
use super::{Carried, Carries, Deployment, Offer, Wish};
use crate::calibrate::{Calibration, Grounds};
use crate::flags::{self, Flag};
use crate::split::{Side, Split};
use crate::unmeasured::stand_in;
use crate::what_if::{
    Bench, Care, Count, End, NoBench, Question, Replicas, SEED, Setting, SizeBy, Sizing,
    WhatIfError, prediction, share,
};
use crate::work::Load;
use std::collections::BTreeMap;

/// What a closer look found.
pub(super) enum Found<T> {
    Sized(T),
    /// Not even one idle server meets the objectives.
    NeverMet,
    TooFewCards,
    /// The estimate carries the traffic, and its interval does not.
    OnlyByEstimate,
    Refused(String),
}

impl<T> Found<T> {
    fn map<U>(self, of: impl FnOnce(T) -> U) -> Found<U> {
        match self {
            Found::Sized(found) => Found::Sized(of(found)),
            Found::NeverMet => Found::NeverMet,
            Found::TooFewCards => Found::TooFewCards,
            Found::OnlyByEstimate => Found::OnlyByEstimate,
            Found::Refused(reason) => Found::Refused(reason),
        }
    }
}

/// The fewest servers by a few requests.
pub(super) fn screened(wish: &Wish<'_>, candidate: &Candidate<'_>) -> Found<u64> {
    on_bench(wish, candidate, |bench, _| {
        let sizing = Sizing {
            bench,
            traffic: wish.traffic,
            care: Care::Screen,
        };
        fewest(&sizing, candidate, candidate.least, wish.size_by)
    })
}

/// So many servers, judged with as many requests as the objectives need.
#[derive(Clone, Copy)]
pub(super) struct Confirmed {
    pub count: u64,
    /// How near one comes to its limits: the figure of an objective as a share of its limit.
    pub strain: f64,
}

/// The fewest servers by all requests, in several draws.
pub(super) fn confirmed(
    wish: &Wish<'_>,
    candidate: &Candidate<'_>,
    screened: u64,
) -> Found<Confirmed> {
    on_bench(wish, candidate, |bench, _| {
        let sizing = Sizing {
            bench,
            traffic: wish.traffic,
            care: Care::Confirm,
        };
        let least = candidate.least.max(screened.saturating_sub(1));
        fewest(&sizing, candidate, least, wish.size_by).map(|count| {
            let trial = sizing.trial(share(wish.traffic, count), SEED);
            let strain = bench.strain(&trial);
            Confirmed { count, strain }
        })
    })
}

/// All that is told of a deployment. What one server carries is found in the draws by which
/// servers are counted, so that neither says what the other does not.
pub(super) fn deployment(
    wish: &Wish<'_>,
    candidate: &Candidate<'_>,
    count: u64,
) -> Option<Deployment> {
    let made = on_bench(wish, candidate, |bench, grounds| {
        let sizing = Sizing {
            bench,
            traffic: wish.traffic,
            care: Care::Confirm,
        };
        let replicas = match wish.size_by {
            SizeBy::Estimate => Replicas {
                count,
                least: count,
                most: sizing.fewest(count, None, End::Slow).known(),
            },
            SizeBy::Interval => {
                let least = sizing.fewest(candidate.least, Some(count), End::Estimate);
                Replicas {
                    count,
                    least: least.known().unwrap_or(count),
                    most: Some(count),
                }
            }
        };
        let trial = sizing.trial(share(wish.traffic, count), SEED);
        let prediction = prediction(bench, trial, Some(replicas));
        let cost_per_hour = candidate.cost(count);
        let tokens_per_s = wish.traffic * prediction.output_mean;
        let estimate = sizing.most_carried(replicas.least, End::Estimate).rate();
        let fastest = sizing.most_carried(replicas.least, End::Fast);
        let carried = Carried {
            estimate,
            least: (replicas.most).map(|most| sizing.most_carried(most, End::Slow).rate()),
            most: if fastest.rate() > estimate {
                fastest
            } else {
                Carries::AtLeast(estimate)
            },
        };
        let all_cards = count as f64 * f64::from(candidate.subject.cards);
        let watts = board_watts(candidate.offer).map(|watts| watts * all_cards);
        let subject = &candidate.subject;
        let flags = candidate.flags.as_slice();
        let prefill = subject.split.as_ref().map(Split::prefill_flags);
        let worker = |flags: &[Flag], side| launch::worker(subject.engine, wish.name, flags, side);
        let processes = match (&subject.split, &prefill) {
            (Some(split), Some(prefill)) => launch::workers(
                subject.engine,
                wish.name,
                &subject.device,
                [prefill, flags],
                flags::cards(subject.engine, flags),
                split,
            ),
            _ => vec![Process {
                role: Role::Server,
                command: launch::server(subject.engine, wish.name, flags),
            }],
        };
        let apart = prefill.as_ref().and(worker(flags, Side::Decode));
        let command = apart.unwrap_or_else(|| processes[0].command.clone());
        Found::Sized(Deployment {
            engine: subject.engine,
            command,
            prefill_command: prefill.and_then(|flags| worker(&flags, Side::Prefill)),
            processes,
            port: launch::port(subject.engine, subject.split.as_ref()),
            split: subject.split.clone(),
            setting: setting(candidate),
            replicas,
            traffic: wish.traffic,
            price_per_hour: candidate.offer.price_per_hour,
            cost_per_hour,
            cost_per_million: cost_per_hour / (tokens_per_s * 3600.0) * 1e6,
            most_joules_per_token: watts.map(|watts| watts / tokens_per_s),
            carried,
            prediction,
            grounds: *grounds,
            curve: Vec::new(),
        })
    });
    match made {
        Found::Sized(deployment) => Some(deployment),
        _ => None,
    }
}

/// What a card may draw: as it was given, or its board's greatest power.
fn board_watts(offer: &Offer) -> Option<f64> {
    offer.card.watts.or(offer.card.device.board_watts)
}

fn fewest(sizing: &Sizing<'_>, candidate: &Candidate<'_>, least: u64, by: SizeBy) -> Found<u64> {
    let most = candidate.most();
    let by_estimate = || sizing.fewest(least, most, End::Estimate).known();
    match sizing.fewest(least, most, by.into()) {
        Count::Fewest(count) => Found::Sized(count),
        Count::TooMany | Count::Never if by == SizeBy::Interval && by_estimate().is_some() => {
            Found::OnlyByEstimate
        }
        Count::TooMany => Found::TooFewCards,
        Count::Never => Found::NeverMet,
    }
}

fn setting(candidate: &Candidate<'_>) -> Setting {
    Setting {
        device: candidate.offer.name.clone(),
        engine: candidate.subject.engine,
        flags: candidate.flags.clone(),
        varied: Vec::new(),
        load: None,
    }
}

fn on_bench<T>(
    wish: &Wish<'_>,
    candidate: &Candidate<'_>,
    judged: impl FnOnce(&Bench<'_>, &Grounds) -> Found<T>,
) -> Found<T> {
    let (subject, offer) = (&candidate.subject, candidate.offer);
    let lengths = [wish.input, wish.output];
    let (calibration, grounds) = stand_in(subject, &offer.name, &candidate.flags, lengths);
    let question = question(wish, &calibration, offer, Vec::new());
    match Bench::start(&question, subject, &setting(candidate), &offer.card) {
        Ok(bench) => judged(&bench, &grounds),
        Err(NoBench::Refused(reason)) => Found::Refused(reason),
        Err(NoBench::TooLong(why)) => Found::Refused(WhatIfError::TooLong(why).to_string()),
    }
}

/// What is asked of an engine that stands for a calibrated one.
pub(super) fn question<'a>(
    wish: &Wish<'_>,
    calibration: &'a Calibration,
    offer: &Offer,
    loads: Vec<Load>,
) -> Question<'a> {
    Question {
        calibration,
        cards: Vec::new(),
        flags: Vec::new(),
        loads,
        input: wish.input,
        output: wish.output,
        trace: wish.trace.clone(),
        requests: None,
        objectives: wish.objectives.clone(),
        price_per_hour: Some(offer.price_per_hour),
        card_prices: BTreeMap::new(),
        traffic: Some(wish.traffic),
        watts: board_watts(offer),
    }
}
