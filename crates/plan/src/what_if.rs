//! What the calibrated engine would do at settings that nobody has measured.

mod answers;
mod bench;
mod bounds;
mod objective;
mod prediction;
mod question;
mod setting;
mod size;
mod verify;

pub(crate) use answers::setting_json;
pub use answers::{Answers, Outcome, SCHEMA, to_json};
pub(crate) use bench::{Bench, NoBench, Trial};
pub use objective::{Objectives, PredictedVerdict};
pub use prediction::{Judged, Prediction, Replicas};
pub use question::{MOST_SETTINGS, Question, TAIL, TooLong, WhatIfError};
pub use setting::Setting;
pub(crate) use size::{Care, Count, End, Sizing, share};
pub use size::{Carries, DRAWS, FEW_REQUESTS, SizeBy};
pub use verify::{VerifyError, on_simulated};

use crate::cores::on_all;
use crate::device::Card;
use crate::predict::Subject;
use crate::work::Load;
pub(crate) use prediction::prediction;
pub(crate) use question::SEED;
use setting::settings;

/// Most streams that a search for capacity tries.
const MOST_STREAMS: u32 = 16_384;

pub fn ask(question: &Question<'_>) -> Result<Answers, WhatIfError> {
    if question.loads.is_empty() && question.objectives.is_empty() {
        return Err(WhatIfError::NoLoad);
    }
    let settings = settings(question)?;
    let subject = question.calibration.subject()?;
    let outcomes = on_all(settings.len(), |index| {
        outcome(question, &subject, &settings[index])
    });
    let mut too_long = outcomes.iter().map(|outcome| match outcome {
        Outcome::TooLong(why) => Some(*why),
        _ => None,
    });
    if let Some(Some(first)) = too_long.next()
        && too_long.all(|why| why.is_some())
    {
        return Err(WhatIfError::TooLong(first));
    }
    let settings = settings.into_iter().map(|(setting, _)| setting);
    Ok(Answers::of(settings.zip(outcomes).collect()))
}

fn outcome(
    question: &Question<'_>,
    subject: &Subject,
    (setting, card): &(Setting, Card),
) -> Outcome {
    let bench = match Bench::start(question, subject, setting, card) {
        Ok(bench) => bench,
        Err(NoBench::Refused(reason)) => return Outcome::Refused(reason),
        Err(NoBench::TooLong(why)) => return Outcome::TooLong(why),
    };
    let found = match (setting.load, question.traffic) {
        (Some(load), _) => Some((bench.serve(load, None, SEED), None)),
        (None, Some(traffic)) => sized(&bench, traffic),
        // Where no load is certain to meet the objectives, the greatest that is expected to.
        (None, None) => capacity(&bench, PredictedVerdict::Met)
            .or_else(|| capacity(&bench, PredictedVerdict::Uncertain))
            .map(|trial| (trial, None)),
    };
    match found {
        Some((trial, replicas)) => {
            Outcome::Predicted(Box::new(prediction(&bench, trial, replicas)))
        }
        None => Outcome::NeverMet,
    }
}

/// One of the fewest servers that carry a traffic, with its share of it.
fn sized(bench: &Bench<'_>, traffic: f64) -> Option<(Trial, Option<Replicas>)> {
    let sizing = |care| Sizing {
        bench,
        traffic,
        care,
    };
    let screened = sizing(Care::Screen).fewest(1, None, End::Estimate);
    let sizing = sizing(Care::Confirm);
    let least = screened.known()?.saturating_sub(1);
    let count = sizing.fewest(least, None, End::Estimate).known()?;
    let replicas = Replicas {
        count,
        least: count,
        most: sizing.fewest(count, None, End::Slow).known(),
    };
    let trial = sizing.trial(share(traffic, count), SEED);
    Some((trial, Some(replicas)))
}

/// The greatest number of streams of which at least so much can be said.
fn capacity(bench: &Bench<'_>, least: PredictedVerdict) -> Option<Trial> {
    let tried = |streams: u32| {
        let trial = bench.serve(Load::Closed(streams), None, SEED);
        Some(trial).filter(|trial| bench.verdict(trial, None) >= least)
    };
    let mut best = tried(1)?;
    let (mut low, mut high) = (1, 2);
    while high <= MOST_STREAMS {
        match tried(high) {
            Some(found) => best = found,
            None => break,
        }
        low = high;
        high *= 2;
    }
    // To 3 %: closer than any prediction is.
    while high - low > (low / 32).max(1) && high <= MOST_STREAMS {
        let middle = low + (high - low) / 2;
        match tried(middle) {
            Some(found) => (best, low) = (found, middle),
            None => high = middle,
        }
    }
    Some(best)
}
