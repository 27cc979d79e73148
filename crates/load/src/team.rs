//! One load from several machines. Rank 0 counts what all have done and decides when the window
//! opens and when the load ends; the others say what they did and follow. Their clocks tell its
//! time, so that a moment is the same number everywhere.

use crate::clock::Clock;
use crate::control::Control;
use crate::live::Snapshot;
use crate::plan::Share;
use crate::wakeup::Wakeups;
use crate::worker::{Stop, Window};
use inferometer_core::environment::EndCause;
use inferometer_core::record::Stage;
use inferometer_core::units::Offset;
use inferometer_meet::{Gone, Heard, Leader, Member};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Time for all ranks to hear of a moment before it comes, beside the way there and back.
const NOTICE: Duration = Duration::from_millis(100);

/// Between two reports of what a rank has done.
const EVERY: Duration = Duration::from_millis(100);

const LOOK: Duration = Duration::from_millis(20);

/// With whom a load is shared.
pub enum Team {
    Alone,
    Lead(Box<Lead>),
    Follow(Box<Follow>),
}

/// What rank 0 says while a load runs.
#[derive(Debug, Serialize, Deserialize)]
enum Order {
    Start(Offset),
    Window(Window),
    Stop(Stop, EndCause),
    /// All are through.
    Ended,
}

/// What the others say.
#[derive(Debug, Serialize, Deserialize)]
enum Report {
    /// The first requests are made.
    Made,
    /// What was done so far, by stage.
    Counted(Vec<Snapshot>),
    /// It must end, for a reason of its own.
    Wants(Stop, EndCause),
    Done(RankReport),
}

/// What one rank did in a load.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RankReport {
    /// By stage.
    pub counts: Vec<Snapshot>,
    pub last_sent: Offset,
    pub cpu_shares: Vec<f64>,
    pub wakeups: Option<Wakeups>,
    /// Why it is no longer there; then the counts are the last that it told.
    pub lost: Option<String>,
}

impl RankReport {
    pub fn count(&self, stage: Stage) -> Snapshot {
        self.counts.get(stage as usize).cloned().unwrap_or_default()
    }
}

impl Team {
    pub(crate) fn share(&self) -> Share {
        match self {
            Team::Alone => Share::WHOLE,
            Team::Lead(lead) => lead.share,
            Team::Follow(follow) => follow.share,
        }
    }

    /// Whether it is for us to decide when the window opens and the load ends.
    pub(crate) fn decides(&self) -> bool {
        !matches!(self, Team::Follow(_))
    }

    /// Time for all to hear of a moment before it comes.
    pub(crate) fn notice(&self) -> Duration {
        match self {
            Team::Lead(lead) => NOTICE + lead.way,
            Team::Alone | Team::Follow(_) => Duration::ZERO,
        }
    }

    /// How old what we know of the others may be.
    pub(crate) fn delay(&self) -> Duration {
        match self {
            Team::Lead(lead) => 3 * EVERY + NOTICE + lead.way,
            Team::Alone | Team::Follow(_) => Duration::ZERO,
        }
    }

    /// The beginning of a load, once all have made their first requests.
    pub(crate) fn start(
        &mut self,
        clock: &Clock,
        lead_time: Duration,
        control: &Control,
    ) -> Offset {
        match self {
            Team::Alone => clock.now() + lead_time,
            Team::Lead(lead) => lead.start(clock, lead_time, control),
            Team::Follow(follow) => follow.start(clock, control),
        }
    }

    /// Hears what the others say, and says what we did. Returns what rank 0 decided on the window,
    /// where it is not us.
    pub(crate) fn look(
        &mut self,
        control: &Control,
        counts: impl FnOnce() -> Vec<Snapshot>,
    ) -> Vec<Window> {
        match self {
            Team::Alone => Vec::new(),
            Team::Lead(lead) => {
                while lead.hear(Duration::ZERO, control) {}
                Vec::new()
            }
            Team::Follow(follow) => follow.look(control, counts),
        }
    }

    /// What the other ranks have done in a stage; of those that are led, nothing.
    pub(crate) fn others(&self, stage: Stage) -> Option<Snapshot> {
        let Team::Lead(lead) = self else {
            return None;
        };
        let counts = lead.others.values().map(|other| other.report.count(stage));
        counts.reduce(|sum, count| sum.with(&count))
    }

    /// Tells the others what was decided.
    pub(crate) fn announce(&mut self, window: Window, control: &Control) {
        if let Team::Lead(lead) = self {
            lead.announce(window, control);
        }
    }

    /// Whether the other ranks are through; whoever is led does not wait for them.
    pub(crate) fn others_are_done(&self) -> bool {
        match self {
            Team::Lead(lead) => lead.others.values().all(|other| other.done),
            Team::Alone | Team::Follow(_) => true,
        }
    }

    /// Our own part is done: whoever is led says so and waits for the end of the whole, whoever
    /// leads tells that it has come.
    pub(crate) fn finish(&mut self, report: &RankReport, control: &Control) {
        match self {
            Team::Alone => {}
            Team::Lead(lead) => lead.leader.tell_all(&Order::Ended),
            Team::Follow(follow) => follow.finish(report, control),
        }
    }

    /// What the other ranks did, when the load is over. One that is not through by then is lost.
    pub(crate) fn reports(&self) -> BTreeMap<u32, RankReport> {
        let Team::Lead(lead) = self else {
            return BTreeMap::new();
        };
        let report = |other: &Other| {
            let mut report = other.report.clone();
            if !other.done {
                report.lost = Some("it did not end when it was told to".to_owned());
            }
            report
        };
        (lead.others.iter())
            .map(|(&rank, other)| (rank, report(other)))
            .collect()
    }
}

/// Rank 0 of a load.
pub struct Lead {
    pub leader: Leader,
    share: Share,
    /// The longest round trip to any of the others.
    way: Duration,
    others: BTreeMap<u32, Other>,
    told_window: Option<Window>,
    told_stop: Stop,
}

#[derive(Default)]
struct Other {
    made: bool,
    done: bool,
    report: RankReport,
}

impl Lead {
    /// With those that are there; `way` is the longest round trip to one of them.
    pub fn new(leader: Leader, way: Duration) -> Lead {
        let others: BTreeMap<u32, Other> = leader
            .present()
            .map(|rank| (rank, Other::default()))
            .collect();
        Lead {
            share: Share {
                place: 0,
                of: others.len() as u64 + 1,
            },
            leader,
            way,
            others,
            told_window: None,
            told_stop: Stop::Go,
        }
    }

    fn start(&mut self, clock: &Clock, lead_time: Duration, control: &Control) -> Offset {
        self.told_window = None;
        for other in self.others.values_mut() {
            let lost = other.report.lost.take();
            (other.made, other.done) = (lost.is_some(), lost.is_some());
            let counts = if lost.is_some() {
                other.report.counts.clone()
            } else {
                Vec::new()
            };
            other.report = RankReport {
                counts,
                lost,
                ..RankReport::default()
            };
        }
        while !self.others.values().all(|other| other.made) && control.state() < Stop::Leave {
            self.hear(LOOK, control);
        }
        let start = clock.now() + lead_time + NOTICE + self.way;
        self.leader.tell_all(&Order::Start(start));
        start
    }

    /// Hears one of them; false if none has anything to say.
    fn hear(&mut self, wait: Duration, control: &Control) -> bool {
        let Some((rank, heard)) = self.leader.hear::<Report>(wait) else {
            return false;
        };
        let Some(other) = self.others.get_mut(&rank) else {
            return true;
        };
        match heard {
            Heard::Said(Report::Made) => other.made = true,
            Heard::Said(Report::Counted(counts)) => other.report.counts = counts,
            Heard::Said(Report::Wants(stop, cause)) => control.end(stop, cause),
            Heard::Said(Report::Done(report)) => {
                other.report = report;
                other.done = true;
            }
            Heard::Piece(_) => self.lose(rank, "it sent a file in the middle of a load", control),
            Heard::Gone(gone) => self.lose(rank, &gone.to_string(), control),
        }
        true
    }

    /// Without one of them the load is not what it should be: it ends.
    fn lose(&mut self, rank: u32, why: &str, control: &Control) {
        if let Some(other) = self.others.get_mut(&rank) {
            (other.made, other.done) = (true, true);
            other.report.lost = Some(why.to_owned());
        }
        control.end(Stop::Leave, EndCause::RankLost);
    }

    fn announce(&mut self, window: Window, control: &Control) {
        if self.told_window != Some(window) && window != Window::Shut {
            self.told_window = Some(window);
            self.leader.tell_all(&Order::Window(window));
        }
        let stop = control.state();
        if stop != self.told_stop {
            self.told_stop = stop;
            self.leader.tell_all(&Order::Stop(stop, control.cause()));
        }
    }
}

/// Any other rank of a load.
pub struct Follow {
    pub member: Member,
    share: Share,
    reported: Instant,
    /// The furthest stop that rank 0 knows of.
    told_stop: Stop,
    gone: Option<Gone>,
}

impl Follow {
    pub fn new(member: Member, share: Share) -> Follow {
        Follow {
            member,
            share,
            reported: Instant::now(),
            told_stop: Stop::Go,
            gone: None,
        }
    }

    /// Why rank 0 is no longer there, if it is not.
    pub fn gone(&self) -> Option<&Gone> {
        self.gone.as_ref()
    }

    fn start(&mut self, clock: &Clock, control: &Control) -> Offset {
        let _ = self.member.say(&Report::Made);
        loop {
            self.tell_wish(control);
            match self.hear(LOOK, control) {
                Some(Order::Start(at)) => return at,
                // Whatever it is, there is no load any more.
                _ if control.state() == Stop::Leave => return clock.now(),
                _ => {}
            }
        }
    }

    fn look(&mut self, control: &Control, counts: impl FnOnce() -> Vec<Snapshot>) -> Vec<Window> {
        self.tell_wish(control);
        if self.reported.elapsed() >= EVERY {
            self.reported = Instant::now();
            let _ = self.member.say(&Report::Counted(counts()));
        }
        let mut decided = Vec::new();
        while let Some(order) = self.hear(Duration::ZERO, control) {
            if let Order::Window(window) = order {
                decided.push(window);
            }
        }
        decided
    }

    fn finish(&mut self, report: &RankReport, control: &Control) {
        // That rank 0 is gone is seen by whoever hears next.
        let _ = self.member.say(&Report::Done(report.clone()));
        while self.gone.is_none() {
            if let Some(Order::Ended) = self.hear(LOOK, control) {
                return;
            }
            self.tell_wish(control);
        }
    }

    /// A signal here, or a worker that died, ends the load everywhere.
    fn tell_wish(&mut self, control: &Control) {
        let stop = control.state();
        if stop > self.told_stop {
            self.told_stop = stop;
            let _ = self.member.say(&Report::Wants(stop, control.cause()));
        }
    }

    fn hear(&mut self, wait: Duration, control: &Control) -> Option<Order> {
        if self.gone.is_some() {
            return None;
        }
        match self.member.hear(wait)? {
            Heard::Said(Order::Stop(stop, cause)) => {
                self.told_stop = self.told_stop.max(stop);
                control.end(stop, cause);
                Some(Order::Stop(stop, cause))
            }
            Heard::Said(order) => Some(order),
            Heard::Piece(_) => None,
            Heard::Gone(gone) => {
                self.gone = Some(gone);
                self.told_stop = Stop::Leave;
                control.end(Stop::Leave, EndCause::RankLost);
                None
            }
        }
    }
}
