//! The load as the instrument drives it, in virtual time: sessions begin by streams or arrivals,
//! and each turn follows those that it waits for.

use super::VirtualWork;
use crate::error::{RunnerError, bail};
use crate::measure::plan::Planned;
use inferometer_core::record::Stage;
use inferometer_core::scenario::Hold;
use inferometer_core::session_graph::SessionGraph;
use inferometer_core::units::Offset;
use inferometer_core::window::LoadSoFar;
use inferometer_load::instrument::Rhythm;
use inferometer_load::setup::RequestPlace;
use inferometer_sim::engine::virtual_time::{self, Agenda, Happening};
use std::collections::HashMap;
use std::time::Duration;

pub(super) struct VirtualLoad<'a> {
    planned: &'a Planned,
    spread: Duration,
    work: &'a VirtualWork<'a>,
    /// Requests to measure; absent for a trace that is replayed to its end.
    requests: Option<u64>,
    so_far: LoadSoFar,
    due: Box<dyn Iterator<Item = Offset>>,
    /// The arrival that comes next, by its place on the agenda.
    next: Option<usize>,
    sent: u64,
    ended: u64,
    /// Of the warm-up, and from the opening on.
    begun: [Begun; 2],
    /// Turns of measured sessions.
    to_measure: u64,
    /// Of them, those that were scheduled, and those that have ended.
    measured: u64,
    measured_ended: u64,
    /// Sessions of which turns are still to come or under way.
    sessions: HashMap<(Stage, u64), OpenSession>,
    /// Requests of all stages that were scheduled.
    scheduled: usize,
    /// By their places on the agenda, until they are over.
    under_way: HashMap<usize, Sent>,
    opened: Option<u64>,
    last_measured: u64,
}

/// What was begun of a part of the load.
#[derive(Clone, Copy, Default)]
struct Begun {
    sessions: u64,
    requests: u64,
}

struct OpenSession {
    graph: SessionGraph,
    /// Turns that have not ended.
    left: u32,
    /// Tokens of what was said before, answers included.
    history: Vec<u32>,
}

/// A request that was scheduled.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub(super) place: RequestPlace,
    /// When the schedule or the turns before it wanted it sent; absent for what a stream begins.
    pub(super) due: Option<Offset>,
    pub(super) prompt_tokens: u32,
    arrival: Offset,
    /// All that is said once it is answered.
    said: Vec<u32>,
}

impl<'a> VirtualLoad<'a> {
    pub(super) fn new(
        planned: &'a Planned,
        stagger: Option<Duration>,
        work: &'a VirtualWork<'a>,
    ) -> Result<Self, RunnerError> {
        if planned.requests.is_none() && !work.ends_by_itself() {
            bail!("--sim-clock virtual needs a number of requests: give --requests");
        }
        let opened = planned.opening.is_none().then_some(0);
        Ok(VirtualLoad {
            planned,
            spread: stagger.unwrap_or_default(),
            work,
            requests: planned.requests,
            so_far: LoadSoFar::default(),
            due: match &planned.rhythm {
                Rhythm::Closed { .. } => Box::new(std::iter::empty()),
                Rhythm::Open { measured, .. } if opened.is_some() => measured(),
                Rhythm::Open { warmup, .. } => warmup(),
            },
            next: None,
            sent: 0,
            ended: 0,
            begun: [Begun::default(); 2],
            to_measure: 0,
            measured: 0,
            measured_ended: 0,
            sessions: HashMap::new(),
            scheduled: 0,
            under_way: HashMap::new(),
            opened,
            last_measured: 0,
        })
    }

    pub(super) fn hear(&mut self, agenda: &mut Agenda, happening: Happening) {
        match happening {
            Happening::Begin => match self.planned.rhythm {
                Rhythm::Closed { streams, .. } => {
                    let span = Offset::after(self.spread).0;
                    for start in virtual_time::spread_over(span, streams) {
                        self.begin(agenda, Offset(start), None);
                    }
                }
                Rhythm::Open { .. } => self.next_arrival(agenda),
            },
            Happening::Arrived { at, place } => {
                self.sent += 1;
                let is_next = self.next.take_if(|next| *next == place).is_some();
                self.look(agenda, at);
                // Where the window has just opened, the next arrival is known already.
                if is_next && self.next.is_none() {
                    self.next_arrival(agenda);
                }
            }
            Happening::Ended { at, place, refused } => {
                self.ended += 1;
                self.look(agenda, at);
                self.go_on(agenda, at, place, refused);
            }
        }
    }

    /// Opens the window when its time has come. Arrivals begin anew with it: one of the warm-up
    /// that is still to come is none, as on a real clock.
    fn look(&mut self, agenda: &mut Agenda, at: u64) {
        if self.opened.is_some() {
            return;
        }
        let elapsed = Duration::from_nanos(at);
        self.so_far.advance(elapsed, self.sent, self.ended);
        if (self.planned.opening).is_some_and(|opening| opening.is_due(&self.so_far)) {
            self.opened = Some(at);
            if let Rhythm::Open { measured, .. } = &self.planned.rhythm {
                self.due = measured();
                if let Some(place) = self.next.take() {
                    agenda.withdraw(place);
                    if let Some(sent) = self.under_way.remove(&place) {
                        self.sessions
                            .remove(&(part(sent.place.stage), sent.place.session));
                    }
                }
                self.next_arrival(agenda);
            }
        }
    }

    fn next_arrival(&mut self, agenda: &mut Agenda) {
        if let Some(due) = self.due.next() {
            let at = Offset(self.opened.unwrap_or_default() + due.0);
            let place = self.scheduled;
            self.begin(agenda, at, Some(at));
            self.next = (self.scheduled > place).then_some(place);
        }
    }

    /// All that is measured has ended.
    fn is_over(&self) -> bool {
        let requests = self.requests;
        requests.is_some_and(|requests| self.measured_ended >= requests)
    }

    /// Begins the next session of the stage that the load is in, if there is one.
    fn begin(&mut self, agenda: &mut Agenda, at: Offset, due: Option<Offset>) {
        let left = self.requests.map(|requests| requests - self.to_measure);
        let stage = match (self.opened, left) {
            (None, _) => Stage::Warmup,
            (Some(_), Some(0)) => Stage::Hold,
            (Some(_), _) => Stage::Measured,
        };
        if stage == Stage::Hold && (self.is_over() || self.planned.hold == Hold::None) {
            return;
        }
        let begun = &mut self.begun[usize::from(stage != Stage::Warmup)];
        let mut place = RequestPlace {
            session: begun.sessions,
            turn: 0,
            turns: 1,
            index: begun.requests,
            stage,
        };
        place.turns = self.work.turns(place);
        if let (Stage::Measured, Some(left)) = (stage, left) {
            place.turns = place.turns.min(u32::try_from(left).unwrap_or(u32::MAX));
        }
        begun.sessions += 1;
        begun.requests += u64::from(place.turns);
        if stage == Stage::Measured {
            self.to_measure += u64::from(place.turns);
        }
        let graph = SessionGraph::new(place.turns, |turn| self.work.follows(place.at(turn)));
        let beside = graph.at_the_beginning(at);
        let session = OpenSession {
            graph,
            left: place.turns,
            history: Vec::new(),
        };
        self.sessions.insert((part(stage), place.session), session);
        self.send(agenda, place, at, due);
        for (turn, due) in beside {
            self.send(agenda, place.at(turn), due, Some(due));
        }
    }

    /// Schedules a turn.
    fn send(&mut self, agenda: &mut Agenda, place: RequestPlace, at: Offset, due: Option<Offset>) {
        let session = self.sessions.get(&(part(place.stage), place.session));
        let history = session.map_or(&[][..], |session| &session.history);
        let (mut request, said) = self.work.request(place, history);
        if let Some(wave) = &self.work.first_wave
            && place.stage == Stage::Warmup
            && place.turn == 0
        {
            request.output_tokens = wave.tokens(place.session, request.output_tokens);
        }
        if place.stage == Stage::Measured {
            self.measured += 1;
            self.last_measured = self.last_measured.max(at.0);
        }
        let sent = Sent {
            place,
            due,
            prompt_tokens: request.prompt_tokens,
            arrival: at,
            said,
        };
        self.under_way.insert(self.scheduled, sent);
        self.scheduled += 1;
        agenda.schedule(at.0, request);
    }

    /// What follows the end of a request: the turns that waited for it, or the next session of
    /// its stream.
    fn go_on(&mut self, agenda: &mut Agenda, at: u64, place: usize, refused: bool) {
        let Some(sent) = self.under_way.get_mut(&place) else {
            return;
        };
        let (ended, arrival) = (sent.place, sent.arrival);
        let said = std::mem::take(&mut sent.said);
        self.measured_ended += u64::from(ended.stage == Stage::Measured);
        let key = (part(ended.stage), ended.session);
        let Some(session) = self.sessions.get_mut(&key) else {
            return;
        };
        session.left -= 1;
        // What failed leaves no trace in what was said.
        if !refused {
            session.history = said;
        }
        let ready = session.graph.ended(ended.turn, arrival, Offset(at));
        if session.left == 0 {
            self.sessions.remove(&key);
            if let Rhythm::Closed { .. } = self.planned.rhythm {
                self.begin(agenda, Offset(at), None);
            }
        }
        if ended.stage == Stage::Measured || !self.is_over() {
            for (turn, due) in ready {
                self.send(agenda, ended.at(turn), due, Some(due));
            }
        }
    }

    /// What was sent at a place, once it is over.
    pub(super) fn take(&mut self, place: usize) -> Option<Sent> {
        self.under_way.remove(&place)
    }

    pub(super) fn accounts(&self) -> Accounts {
        Accounts {
            sent: self.measured,
            unsent: self
                .requests
                .map_or(0, |all| all.saturating_sub(self.measured)),
            opened: self.opened,
            last_measured: self.last_measured,
        }
    }
}

/// What a load came to.
pub(super) struct Accounts {
    /// Measured requests.
    pub(super) sent: u64,
    pub(super) unsent: u64,
    pub(super) opened: Option<u64>,
    pub(super) last_measured: u64,
}

/// Sessions of the warm-up are counted apart.
fn part(stage: Stage) -> Stage {
    match stage {
        Stage::Warmup => Stage::Warmup,
        Stage::Measured | Stage::Hold => Stage::Measured,
    }
}
