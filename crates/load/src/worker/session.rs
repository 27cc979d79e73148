//! The turns of a session: one after the other, or as a graph whose turns wait for others, for
//! their tools and for sub-agents that run beside each other.

use super::{Counted, Ended, Gate, Worker};
use crate::connect::Transport;
use crate::setup::{PreparedRequest, RequestPlace};
use inferometer_core::content::Exchange;
use inferometer_core::units::Offset;
use inferometer_core::work::{Follows, History, Wait};
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::sync::Semaphore;

/// A turn under way: which it is, when it was due, and how it ended.
type UnderWay<'a> = Pin<Box<dyn Future<Output = (u32, Offset, Option<Ended>)> + 'a>>;

impl<T: Transport> Worker<T> {
    /// All turns of a session. One that failed does not end it: the next are sent all the same,
    /// so that every planned request is.
    pub(super) async fn session(
        &self,
        first: PreparedRequest,
        cap: Option<&Semaphore>,
        gate: &Gate,
    ) {
        match self.setup.follows(first.place) {
            Some(_) => self.graph(first, cap, gate).await,
            None => self.conversation(first, cap, gate).await,
        }
    }

    /// Turns one after the other, each with what was said before. A turn that failed leaves no
    /// trace in the history.
    async fn conversation(&self, first: PreparedRequest, cap: Option<&Semaphore>, gate: &Gate) {
        let mut history: Vec<Exchange> = Vec::new();
        let mut request = first;
        let conversation = self.setup.conversation.as_ref();
        let mut unfinished =
            conversation.map(|_| Counted::begin(&gate.tasks, |tasks| &tasks.open_conversations));
        loop {
            let next = request.place.next();
            let said = request.said.take();
            if next.is_none() {
                unfinished.take();
            }
            let Some(ended) = self.send_under(request, cap, gate).await else {
                return;
            };
            let (Some(conversation), Some(place)) = (conversation, next) else {
                return;
            };
            if let (Some((user, in_work)), true) = (said, ended.well) {
                let assistant = match conversation.history {
                    History::Server => ended.answer.map(Arc::from),
                    History::Data => in_work,
                };
                let assistant = assistant.unwrap_or_else(|| "".into());
                history.push(Exchange { user, assistant });
            }
            let due = ended.at + conversation.think.unwrap_or_default().0;
            tokio::select! {
                biased;
                () = gate.stopped() => return,
                () = self.pacer.until(&self.setup.clock, due) => {}
            }
            if !gate.is_open() {
                return;
            }
            let next = self.setup.prepare(place, Some(due), &history);
            match gate.admit(next, Some(due)) {
                Some(next) => request = next,
                None => return,
            }
        }
    }

    /// Turns that wait for others, as the work says; several may be under way at once.
    async fn graph(&self, first: PreparedRequest, cap: Option<&Semaphore>, gate: &Gate) {
        let _unfinished = Counted::begin(&gate.tasks, |tasks| &tasks.open_conversations);
        let place = first.place;
        let began = first.record.due.unwrap_or_else(|| self.setup.clock.now());
        let mut graph = Graph::new(place, |turn| self.setup.follows(place.at(turn)));
        let mut under_way: Vec<UnderWay<'_>> = vec![Box::pin(async move {
            (0, began, self.send_under(first, cap, gate).await)
        })];
        let mut ready = graph.at_the_beginning(began);
        loop {
            for (turn, due) in ready {
                under_way.push(Box::pin(async move {
                    (
                        turn,
                        due,
                        self.turn_at(place.at(turn), due, cap, gate).await,
                    )
                }));
            }
            if under_way.is_empty() {
                return;
            }
            let (turn, due, ended) = any_of(&mut under_way).await;
            // What was not sent any more ends the session, once the rest is answered.
            ready = match ended {
                Some(ended) => graph.ended(turn, due, ended.at),
                None => Vec::new(),
            };
        }
    }

    /// Sends a turn when it is due, unless the load has ended by then.
    async fn turn_at(
        &self,
        place: RequestPlace,
        due: Offset,
        cap: Option<&Semaphore>,
        gate: &Gate,
    ) -> Option<Ended> {
        tokio::select! {
            biased;
            () = gate.stopped() => return None,
            () = self.pacer.until(&self.setup.clock, due) => {}
        }
        if !gate.is_open() {
            return None;
        }
        let request = gate.admit(self.setup.prepare(place, Some(due), &[]), Some(due))?;
        self.send_under(request, cap, gate).await
    }
}

/// Waits for the first of several to end.
async fn any_of<R>(futures: &mut Vec<Pin<Box<dyn Future<Output = R> + '_>>>) -> R {
    poll_fn(|context| {
        for place in 0..futures.len() {
            if let Poll::Ready(result) = futures[place].as_mut().poll(context) {
                drop(futures.swap_remove(place));
                return Poll::Ready(result);
            }
        }
        Poll::Pending
    })
    .await
}

/// Which turns wait for which, and since when.
struct Graph {
    turns: Vec<Turn>,
}

struct Turn {
    follows: Follows,
    /// Turns that it still waits for.
    missing: usize,
    /// When the last of those before it was due, and when it ended.
    sent: Offset,
    ended: Offset,
}

impl Graph {
    fn new(place: RequestPlace, follows: impl Fn(u32) -> Option<Follows>) -> Self {
        let turn = |turn: u32| {
            let follows = follows(turn).unwrap_or_else(|| Follows {
                after: turn.checked_sub(1).into_iter().collect(),
                wait: Wait::SinceEnd(Duration::ZERO),
            });
            Turn {
                missing: follows.after.len(),
                follows,
                sent: Offset::default(),
                ended: Offset::default(),
            }
        };
        Graph {
            turns: (0..place.turns).map(turn).collect(),
        }
    }

    /// Turns that wait for none but begin later than the first.
    fn at_the_beginning(&self, began: Offset) -> Vec<(u32, Offset)> {
        let turns = (0..).zip(&self.turns).skip(1);
        turns
            .filter(|(_, turn)| turn.missing == 0)
            .map(|(place, turn)| (place, due(turn.follows.wait, began, began)))
            .collect()
    }

    /// Turns that nothing holds any more, with their due times.
    fn ended(&mut self, ended: u32, sent: Offset, at: Offset) -> Vec<(u32, Offset)> {
        let mut ready = Vec::new();
        for (place, turn) in (0..).zip(&mut self.turns) {
            if !turn.follows.after.contains(&ended) {
                continue;
            }
            turn.missing -= 1;
            turn.sent = turn.sent.max(sent);
            turn.ended = turn.ended.max(at);
            if turn.missing == 0 {
                ready.push((place, due(turn.follows.wait, turn.sent, turn.ended)));
            }
        }
        ready
    }
}

/// When a turn is due, of whose predecessors the last was sent and has ended at these times.
fn due(wait: Wait, sent: Offset, ended: Offset) -> Offset {
    match wait {
        Wait::SinceEnd(wait) => ended + wait,
        Wait::SinceStart(wait) => ended.max(sent + wait),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_core::record::Stage;

    fn at(seconds: u64) -> Offset {
        Offset::after(Duration::from_secs(seconds))
    }

    #[test]
    fn a_turn_is_due_when_all_it_waits_for_have_ended() {
        let place = RequestPlace {
            session: 0,
            turn: 0,
            turns: 5,
            index: 40,
            stage: Stage::Measured,
        };
        let second = Duration::from_secs(1);
        let mut graph = Graph::new(place, |turn| {
            let after: &[u32] = match turn {
                0 | 4 => &[],
                1 | 2 => &[0],
                _ => &[1, 2],
            };
            let wait = match turn {
                2 => Wait::SinceStart(9 * second),
                _ => Wait::SinceEnd(second),
            };
            let after = after.into();
            Some(Follows { after, wait })
        });
        assert_eq!(graph.at_the_beginning(at(10)), [(4, at(11))]);
        // The second waits since the end, the third since the start of the first.
        assert_eq!(graph.ended(0, at(10), at(12)), [(1, at(13)), (2, at(19))]);
        assert_eq!(graph.ended(2, at(19), at(30)), []);
        assert_eq!(graph.ended(1, at(13), at(20)), [(3, at(31))]);
        assert_eq!(graph.ended(3, at(31), at(33)), []);
        assert_eq!(place.at(3).index, 43);
    }
}
