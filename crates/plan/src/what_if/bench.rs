//! An engine at a setting: what it does under a load, and what it would do if it were as slow as
//! the interval of its prediction allows.

use super::bounds::{Bound, bound_of, bounds, worst};
use super::objective::PredictedVerdict;
use super::question::{Question, SEED, TooLong};
use super::setting::Setting;
use crate::calibrate::Extrapolation;
use crate::device::Card;
use crate::flags::{self, Flag};
use crate::means::{MeanMetric, Means};
use crate::predict::{Subject, simulate_keeping};
use crate::work::{Load, Sizes, Start, Work};
use inferometer_core::length::Distribution as Lengths;
use inferometer_core::slo::Slo;
use inferometer_sim::engine::virtual_time::{Run, latency_alone};
use inferometer_sim::engine::{EngineConfig, Request};

pub(crate) struct Bench<'a> {
    pub(super) question: &'a Question<'a>,
    pub(super) cards: u32,
    pub(super) price_per_hour: Option<f64>,
    pub(super) watts: Option<f64>,
    config: EngineConfig,
    settled: Vec<Flag>,
    /// Where the card is another than the calibrated one.
    elsewhere: Option<Extrapolation>,
}

/// A load that was served.
pub(crate) struct Trial {
    pub(crate) work: Work,
    pub(crate) seed: u64,
    pub(super) run: Run,
    pub(super) beyond: Vec<Extrapolation>,
    pub(super) bounds: Vec<Bound>,
}

/// The arrivals of a trial on a server whose every step takes longer.
pub(super) struct Slower {
    /// On the clock of the server as it was predicted.
    run: Run,
    /// How many times longer.
    times: f64,
}

impl Slower {
    /// What is completed in real time, and latencies by the clock of `run`: none where the server
    /// falls behind, since those grow without end.
    pub(super) fn means(&self) -> Means {
        let means = Means::of(&self.run);
        let slower = |rate: Option<f64>| rate.map(|rate| rate / self.times);
        let rates = Means {
            requests_per_s: slower(means.requests_per_s),
            output_tokens_per_s: slower(means.output_tokens_per_s),
            ..Means::default()
        };
        if keeps_up(&self.run) {
            Means {
                ttft_ms: means.ttft_ms,
                tpot_ms: means.tpot_ms,
                e2e_ms: means.e2e_ms,
                ..rates
            }
        } else {
            rates
        }
    }
}

/// Why there is none.
pub(crate) enum NoBench {
    /// The engine does not start, in its own words.
    Refused(String),
    /// It rejects most of the requests.
    TooLong(TooLong),
}

/// Less than this share of what arrives is completed where a queue grows.
const KEPT_UP: f64 = 0.95;
/// Requests of drawn lengths at least: with fewer, their mean is that of the draw.
const LEAST_DRAWN: u32 = 1_000;

/// Busy share of a server that requests find idle.
const IDLE: f64 = 0.05;

impl<'a> Bench<'a> {
    pub(crate) fn start(
        question: &'a Question<'a>,
        subject: &Subject,
        setting: &Setting,
        card: &Card,
    ) -> Result<Bench<'a>, NoBench> {
        let calibration = question.calibration;
        let elsewhere = (setting.device != calibration.device)
            .then(|| Extrapolation::card(&subject.device, &card.device));
        let subject = Subject {
            device: card.device.clone(),
            ..subject.clone()
        };
        let (flags, timing) = (&setting.flags, &calibration.timing);
        let started = subject
            .start(flags, timing)
            .and_then(|config| Ok((config, subject.settled(flags, timing)?)));
        let (config, settled) =
            started.map_err(|error| NoBench::Refused(subject.refusal(&error)))?;
        let bench = Bench {
            question,
            cards: cards(question, setting),
            price_per_hour: (question.card_prices.get(&setting.device).copied())
                .or(question.price_per_hour),
            watts: question.watts.or(card.watts),
            config,
            settled,
            elsewhere,
        };
        let some = bench.work(setting.load.unwrap_or(Load::Closed(1)), None);
        match too_long(&some, bench.config.max_model_len) {
            Some(why) => Err(NoBench::TooLong(why)),
            None => Ok(bench),
        }
    }

    fn work(&self, load: Load, requests: Option<u32>) -> Work {
        let workload = &self.question.calibration.workload;
        let requests = self.question.requests.or(requests);
        let output = workload.output(self.question.output);
        let is_drawn = [self.question.input, output]
            .iter()
            .any(|lengths| !matches!(lengths, Lengths::Fixed(_)));
        let is_measured = workload.requests.is_some() || workload.requests_a_stream.is_some();
        let usual = || match load {
            Load::Closed(_) if is_drawn && !is_measured => {
                workload.requests_at(load).max(LEAST_DRAWN)
            }
            load => workload.requests_at(load),
        };
        Work {
            load,
            // Arrivals come before the window and after it, as those of `run`.
            start: match load {
                Load::Open(_) => Start::Spread,
                Load::Closed(_) => workload.start,
            },
            input: self.question.input,
            output,
            requests: requests.unwrap_or_else(usual),
            trace: self.question.trace.clone(),
        }
    }

    /// Serves a load, with as many requests as are asked for or are usual.
    pub(crate) fn serve(&self, load: Load, requests: Option<u32>, seed: u64) -> Trial {
        let work = self.work(load, requests);
        let run = self.run(&work, seed);
        let envelope = &self.question.calibration.envelope;
        let mut beyond = envelope.beyond(&work, &self.settled, &Means::of(&run));
        beyond.extend(self.elsewhere.clone());
        Trial {
            bounds: bounds(self.question, load, &beyond),
            work,
            seed,
            run,
            beyond,
        }
    }

    fn run(&self, work: &Work, seed: u64) -> Run {
        let keep = self.question.objectives.keep();
        simulate_keeping(self.config.clone(), work, seed, keep)
    }

    /// Whether the prediction itself meets the objectives.
    pub(crate) fn is_met(&self, trial: &Trial) -> bool {
        self.question.objectives.met(&trial.run)
    }

    /// The arrivals of a trial on a server that is as slow as its interval allows. One whose every
    /// step takes twice as long does with a rate what the predicted one does with twice that rate,
    /// in twice the time. Absent where there is no interval, and for streams, which wait.
    pub(super) fn slower(&self, trial: &Trial) -> Option<Slower> {
        let times = slowness(trial)?;
        let run = self.run_at(trial, times)?;
        Some(Slower { run, times })
    }

    /// The arrivals of a trial at so many times their rate; absent for streams.
    fn run_at(&self, trial: &Trial, times: f64) -> Option<Run> {
        let Load::Open(rate) = trial.work.load else {
            return None;
        };
        let work = Work {
            load: Load::Open(rate * times),
            ..trial.work.clone()
        };
        Some(self.run(&work, trial.seed))
    }

    /// Whether the whole interval meets the objectives; `slower` is what an open loop comes to at
    /// its upper end.
    fn is_met_wholly(&self, trial: &Trial, slower: Option<&Slower>) -> bool {
        let run = match trial.work.load {
            Load::Closed(_) => Some(&trial.run),
            Load::Open(_) => slower.map(|slower| &slower.run),
        };
        let objectives = &self.question.objectives;
        run.is_some_and(|run| objectives.met_at(run, &|slo| worst(&trial.bounds, slo)))
    }

    pub(super) fn verdict(&self, trial: &Trial, slower: Option<&Slower>) -> PredictedVerdict {
        match (self.is_met(trial), self.is_met_wholly(trial, slower)) {
            (false, _) => PredictedVerdict::Missed,
            (true, false) => PredictedVerdict::Uncertain,
            (true, true) => PredictedVerdict::Met,
        }
    }

    /// Whether arrivals are carried: within the objectives, and none is left behind.
    pub(crate) fn carries(&self, trial: &Trial) -> bool {
        self.is_met(trial) && keeps_up(&trial.run)
    }

    /// The same at the slow end of the interval.
    pub(crate) fn carries_wholly(&self, trial: &Trial) -> bool {
        self.slower(trial)
            .is_some_and(|it| self.is_met_wholly(trial, Some(&it)) && keeps_up(&it.run))
    }

    /// The same at the fast end.
    pub(crate) fn carries_at_best(&self, trial: &Trial) -> bool {
        let faster = slowness(trial).and_then(|times| self.run_at(trial, 1.0 / times));
        let best = |slo: &Slo| Some(1.0 / worst(&trial.bounds, slo)?);
        let objectives = &self.question.objectives;
        faster.is_some_and(|run| objectives.met_at(&run, &best) && keeps_up(&run))
    }

    /// How near a trial comes to its limits: the largest figure as a share of its limit.
    pub(crate) fn strain(&self, trial: &Trial) -> f64 {
        let strains = self.question.objectives.strains(&trial.run);
        strains.into_iter().fold(0.0, f64::max)
    }

    /// Requests/s of which hardly one meets another.
    pub(crate) fn idle_rate(&self) -> f64 {
        let lengths = [self.question.input, self.question.output];
        let [input, output] = lengths.map(|lengths| lengths.mean() as u32);
        let alone = latency_alone(&self.config, Request::new(0, input.max(1), output.max(1)));
        IDLE / (alone.max(1) as f64 * 1e-9)
    }
}

impl Trial {
    /// Requests under way on average.
    pub(crate) fn in_flight(&self) -> f64 {
        Means::of(&self.run).in_flight().unwrap_or_default()
    }
}

/// How many times longer its steps may take; absent where there is no interval.
fn slowness(trial: &Trial) -> Option<f64> {
    let slower = [MeanMetric::Requests, MeanMetric::E2e, MeanMetric::Tpot];
    let mut slower = slower.into_iter();
    Some(1.0 + slower.find_map(|it| bound_of(&trial.bounds, it))?)
}

/// Whether as much is completed in the window as arrives.
fn keeps_up(run: &Run) -> bool {
    let Some([from, to]) = run.window else {
        return true;
    };
    let taken = run.served.iter().filter(|it| it.refused.is_none()).count();
    let completed = run.requests_per_second() * (to - from) as f64 * 1e-9;
    completed >= KEPT_UP * taken as f64
}

/// Whether an engine rejects most of the requests: what remains is other work than was asked for.
fn too_long(work: &Work, most: u32) -> Option<TooLong> {
    let mut lengths: Vec<u64> = work.sizes(SEED).into_iter().map(Sizes::total).collect();
    lengths.sort_unstable();
    let median = *lengths.get(lengths.len() / 2)?;
    (median > u64::from(most)).then_some(TooLong { median, most })
}

/// Cards of all that one server is.
fn cards(question: &Question<'_>, setting: &Setting) -> u32 {
    let of = |flags: &[Flag]| flags::cards(question.calibration.engine, flags);
    let own = of(&setting.flags);
    match &question.calibration.split {
        Some(split) => split.cards([of(&split.prefill_flags()), own]),
        None => own,
    }
}
