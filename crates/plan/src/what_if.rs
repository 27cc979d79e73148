//! What the calibrated engine would do at settings that nobody has measured.

mod answers;
mod objective;
mod prediction;
mod question;
mod setting;
mod verify;

pub(crate) use answers::setting_json;
pub use answers::{Answers, Outcome, SCHEMA, to_json};
pub use objective::{Objectives, PredictedVerdict};
pub use prediction::{Prediction, Replicas};
pub use question::{MOST_SETTINGS, Question, TAIL, TooLong, WhatIfError};
pub use setting::Setting;
pub use verify::{VerifyError, on_simulated};

use crate::calibrate::Extrapolation;
use crate::cores::on_all;
use crate::device::Card;
use crate::means::Means;
use crate::predict::{Subject, simulate};
use crate::work::{Load, Sizes, Work};
use inferometer_sim::engine::virtual_time::Run;
use prediction::{bounds, prediction, worst};
use question::SEED;
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
    let calibration = question.calibration;
    let elsewhere = setting.device != calibration.device;
    let measured_on = &subject.device;
    let subject = Subject {
        device: card.device.clone(),
        ..subject.clone()
    };
    let (flags, timing) = (&setting.flags, &calibration.timing);
    let started = subject
        .start(flags, timing)
        .and_then(|config| Ok((config, subject.settled(flags, timing)?)));
    let (config, settled) = match started {
        Ok(started) => started,
        Err(error) => return Outcome::Refused(error.to_string()),
    };
    let work = |load: Load| Work {
        load,
        start: calibration.workload.start,
        input: question.input,
        output: calibration.workload.output(question.output),
        requests: (question.requests).unwrap_or_else(|| calibration.workload.requests_at(load)),
        trace: question.trace.clone(),
    };
    let some = work(setting.load.unwrap_or(Load::Closed(1)));
    if let Some(why) = too_long(&some, config.max_model_len) {
        return Outcome::TooLong(why);
    }
    let serve = |load: Load| {
        let work = work(load);
        let run = simulate(config.clone(), &work, SEED);
        (work, run)
    };
    let beyond = |work: &Work, run: &Run| {
        let mut beyond = calibration.envelope.beyond(work, &settled, &Means::of(run));
        if elsewhere {
            beyond.push(Extrapolation::card(measured_on, &subject.device));
        }
        beyond
    };
    let judge = |work: &Work, run: &Run| {
        let bounds = bounds(question, work.load, &beyond(work, run));
        let objectives = &question.objectives;
        objectives.verdict(run, &|slo| worst(&bounds, slo))
    };
    let (work, run) = match setting.load {
        Some(load) => serve(load),
        // Where no load is certain to meet the objectives, the greatest that is expected to.
        None => match capacity(PredictedVerdict::Met, judge, serve)
            .or_else(|| capacity(PredictedVerdict::Uncertain, judge, serve))
        {
            Some(found) => found,
            None => return Outcome::NeverMet,
        },
    };
    let beyond = beyond(&work, &run);
    let watts = question.watts.or(card.watts);
    Outcome::Predicted(Box::new(prediction(
        question, setting, work, &run, beyond, watts,
    )))
}

/// Whether an engine rejects most of the requests: what remains is other work than was asked for.
fn too_long(work: &Work, most: u32) -> Option<TooLong> {
    let mut lengths: Vec<u64> = work.sizes(SEED).into_iter().map(Sizes::total).collect();
    lengths.sort_unstable();
    let median = *lengths.get(lengths.len() / 2)?;
    (median > u64::from(most)).then_some(TooLong { median, most })
}

/// The greatest number of streams of which at least so much can be said, and its run.
fn capacity(
    least: PredictedVerdict,
    judge: impl Fn(&Work, &Run) -> PredictedVerdict,
    serve: impl Fn(Load) -> (Work, Run),
) -> Option<(Work, Run)> {
    let tried = |streams: u32| {
        Some(serve(Load::Closed(streams))).filter(|(work, run)| judge(work, run) >= least)
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
