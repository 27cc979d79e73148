//! An open loop in virtual time as `run` sends it: the same arrivals and lengths by seed and
//! number, the same opening of the window, the same load after it. A prediction and a run of the
//! simulated engine are then the same requests at the same times.

use crate::work::{Start, Work};
use inferometer_core::options::{Count, Options};
use inferometer_core::scenario::{Arrival, Rate};
use inferometer_core::schedule::{Arrivals, Part};
use inferometer_core::window::{LoadSoFar, Opening, numbers_after_open};
use inferometer_sim::engine::virtual_time::{Agenda, Happening, Keep, Run, drive};
use inferometer_sim::engine::{Engine, EngineConfig, Request};
use std::time::Duration;

/// Rates that `run` takes; beyond them nothing changes.
const RATES: std::ops::RangeInclusive<f64> = 1e-6..=1e9;

pub(crate) fn serve(config: EngineConfig, work: &Work, rate: f64, seed: u64, keep: Keep) -> Run {
    if work.requests == 0 {
        return Run::default();
    }
    let rate = Rate(rate.clamp(*RATES.start(), *RATES.end()));
    let opening = opening(rate, work.requests).filter(|_| work.start == Start::Spread);
    let arrivals = |part| Arrivals::new(rate, Arrival::Poisson, None, seed, part);
    let mut load = ArrivingLoad {
        work,
        seed,
        longest: config.max_model_len,
        opening,
        opened: opening.is_none().then_some(0),
        due: arrivals(match opening {
            Some(_) => Part::Warmup,
            None => Part::Measured,
        }),
        measured_due: Some(arrivals(Part::Measured)),
        so_far: LoadSoFar::default(),
        sent: 0,
        ended: 0,
        measured_ended: 0,
        begun: [0; 2],
        next: None,
        stages: Vec::new(),
        last_measured: 0,
    };
    let mut engine = Engine::new(config, seed);
    let mut run = drive(&mut engine, keep, |agenda, happening| {
        load.hear(agenda, happening);
    });
    for (served, stage) in std::mem::take(&mut run.served)
        .into_iter()
        .zip(&load.stages)
    {
        match stage {
            Stage::Measured => run.served.push(served),
            Stage::Around => run.around.push(served),
            Stage::Withdrawn => {}
        }
    }
    let opened = load.opened.filter(|_| opening.is_some());
    run.window = opened.map(|opened| [opened, load.last_measured]);
    run
}

/// When `run` would open the window of such a load.
fn opening(rate: Rate, requests: u32) -> Option<Opening> {
    let mut options = Options::default();
    options.load.rate = Some(rate);
    options.load.requests = Some(Count(requests.into()));
    let scenario = options.resolve();
    let scenario = scenario.expect("a rate and a number that are within their limits");
    Opening::of(&scenario.load, None)
}

/// What a request is to the load.
#[derive(Clone, Copy)]
enum Stage {
    Measured,
    /// Before the window, or after its last arrival.
    Around,
    /// One of the warm-up that had not arrived when the window opened.
    Withdrawn,
}

struct ArrivingLoad<'a> {
    work: &'a Work,
    seed: u64,
    /// Tokens of the longest request that the server takes.
    longest: u32,
    opening: Option<Opening>,
    opened: Option<u64>,
    due: Arrivals,
    /// Arrivals from the opening on, until it.
    measured_due: Option<Arrivals>,
    so_far: LoadSoFar,
    sent: u64,
    ended: u64,
    measured_ended: u64,
    /// Requests of the warm-up, and from the opening on.
    begun: [u64; 2],
    /// The arrival that comes next, by its place on the agenda.
    next: Option<usize>,
    /// By places on the agenda.
    stages: Vec<Stage>,
    last_measured: u64,
}

impl ArrivingLoad<'_> {
    fn hear(&mut self, agenda: &mut Agenda, happening: Happening) {
        match happening {
            Happening::Begin => self.next_arrival(agenda),
            Happening::Arrived { at, place } => {
                self.sent += 1;
                let is_next = self.next.take_if(|next| *next == place).is_some();
                self.look(agenda, at);
                // Where the window has just opened, the next arrival is known already.
                if is_next && self.next.is_none() {
                    self.next_arrival(agenda);
                }
            }
            Happening::Ended { at, place, .. } => {
                self.ended += 1;
                self.look(agenda, at);
                let measured = matches!(self.stages[place], Stage::Measured);
                self.measured_ended += u64::from(measured);
            }
        }
    }

    /// Opens the window when its time has come; arrivals begin anew with it.
    fn look(&mut self, agenda: &mut Agenda, at: u64) {
        let Some(opening) = self.opening.filter(|_| self.opened.is_none()) else {
            return;
        };
        self.so_far
            .advance(Duration::from_nanos(at), self.sent, self.ended);
        if !opening.is_due(&self.so_far) {
            return;
        }
        self.opened = Some(at);
        if let Some(measured) = self.measured_due.take() {
            self.due = measured;
        }
        if let Some(place) = self.next.take() {
            agenda.withdraw(place);
            self.stages[place] = Stage::Withdrawn;
        }
        self.next_arrival(agenda);
    }

    fn next_arrival(&mut self, agenda: &mut Agenda) {
        let Some(due) = self.due.next() else {
            return;
        };
        let at = self.opened.unwrap_or_default() + due.0;
        let all = u64::from(self.work.requests);
        if self.opened.is_none() && self.begun[0] >= self.most_around() {
            // Nothing has ended yet; the first end opens the window.
            return;
        }
        let begun = &mut self.begun[usize::from(self.opened.is_some())];
        let number = *begun;
        *begun += 1;
        let (stage, number) = match self.opened {
            None => (Stage::Around, numbers_after_open(all) + number),
            Some(_) if number < all => (Stage::Measured, number),
            Some(_) if self.is_over(number - all) => return,
            Some(_) => (Stage::Around, number),
        };
        if let Stage::Measured = stage {
            self.last_measured = at;
        }
        self.next = Some(self.stages.len());
        self.stages.push(stage);
        agenda.schedule(at, self.request(number));
    }

    /// Requests before the window and after it, at most: at no rate are they without end.
    fn most_around(&self) -> u64 {
        u64::from(self.work.requests).max(64)
    }

    /// All that is measured has ended, or so much came after it that the server falls behind for
    /// good.
    fn is_over(&self, held: u64) -> bool {
        let all = u64::from(self.work.requests);
        let goes_on = self.opening.is_some() && held < self.most_around();
        self.measured_ended == all || !goes_on
    }

    /// One that is too long, answer included, is so long that the engine refuses it: servers do.
    fn request(&self, number: u64) -> Request {
        let sizes = self.work.numbered(self.seed, number);
        let input = if sizes.fit(self.longest) {
            sizes.input
        } else {
            sizes.input.max(self.longest)
        };
        Request::new(number, input, sizes.output)
    }
}
