//! A candidate becomes a deployment: so many servers alike, each judged with its share of the
//! traffic.

use super::candidate::Candidate;
use super::{Deployment, Wish};
use crate::calibrate::{Calibration, Grounds};
use crate::flags::{Flag, command};
use crate::split::{Side, Split};
use crate::unmeasured::stand_in;
use crate::what_if::{
    Bench, Care, Count, NoBench, Question, Replicas, SEED, Setting, SizeBy, Sizing, WhatIfError,
    prediction, share,
};
use crate::work::Load;
use inferometer_catalog::engine::{EngineKind, words};
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

/// All that is told of a deployment.
pub(super) fn deployment(
    wish: &Wish<'_>,
    candidate: &Candidate<'_>,
    count: u64,
) -> Option<Deployment> {
    let made = on_bench(wish, candidate, |bench, grounds| {
        // What does not decide is found by one draw.
        let sizing = Sizing {
            bench,
            traffic: wish.traffic,
            care: Care::Once,
        };
        let other = |from, most, by| sizing.fewest(from, most, by).known();
        let replicas = match wish.size_by {
            SizeBy::Estimate => Replicas {
                count,
                least: count,
                most: other(count, None, SizeBy::Interval),
            },
            SizeBy::Interval => Replicas {
                count,
                least: other(candidate.least, Some(count), SizeBy::Estimate).unwrap_or(count),
                most: Some(count),
            },
        };
        let trial = sizing.trial(share(wish.traffic, count), SEED);
        let prediction = prediction(bench, trial, Some(replicas));
        let cost_per_hour = candidate.cost(count);
        let tokens_per_hour = wish.traffic * prediction.output_mean * 3600.0;
        let subject = &candidate.subject;
        let launch = |flags: &[Flag], side| launch(subject.engine, wish.name, flags, side);
        let side = subject.split.as_ref().map(|_| Side::Decode);
        let prefill = subject.split.as_ref().map(Split::prefill_flags);
        Found::Sized(Deployment {
            engine: subject.engine,
            command: launch(&candidate.flags, side),
            prefill_command: prefill.map(|flags| launch(&flags, Some(Side::Prefill))),
            split: subject.split.clone(),
            setting: setting(candidate),
            replicas,
            price_per_hour: candidate.offer.price_per_hour,
            cost_per_hour,
            cost_per_million: cost_per_hour / tokens_per_hour * 1e6,
            headroom: sizing.headroom(count, wish.size_by),
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

fn fewest(sizing: &Sizing<'_>, candidate: &Candidate<'_>, least: u64, by: SizeBy) -> Found<u64> {
    let most = candidate.most();
    let by_estimate = || sizing.fewest(least, most, SizeBy::Estimate).known();
    match sizing.fewest(least, most, by) {
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
    let question = question(wish, &calibration, offer.price_per_hour, Vec::new());
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
    price_per_hour: f64,
    loads: Vec<Load>,
) -> Question<'a> {
    Question {
        calibration,
        cards: Vec::new(),
        flags: Vec::new(),
        loads,
        input: wish.input,
        output: wish.output,
        trace: None,
        requests: None,
        objectives: wish.objectives.clone(),
        price_per_hour: Some(price_per_hour),
        card_prices: BTreeMap::new(),
        traffic: Some(wish.traffic),
        watts: None,
    }
}

/// The command that starts a server, or a worker of one kind.
fn launch(engine: EngineKind, model: &str, flags: &[Flag], side: Option<Side>) -> String {
    let own = side.and_then(|side| side.flag(engine));
    let flags: Vec<Flag> = flags.iter().cloned().chain(own).collect();
    let started = command(engine, model, &flags);
    started.map_or(String::new(), |command| words::join(command.to_words()))
}
