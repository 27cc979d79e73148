//! The turns of a session: one after the other, or as a graph whose turns wait for others, for
//! their tools and for sub-agents that run beside each other.

use super::{Counted, Ended, Gate, Worker};
use crate::connect::Transport;
use crate::setup::{PreparedRequest, RequestPlace};
use inferometer_core::content::Exchange;
use inferometer_core::session_graph::SessionGraph;
use inferometer_core::units::Offset;
use inferometer_core::work::{Follows, History};
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
        let mut graph = SessionGraph::new(place.turns, |turn| {
            let follows = self.setup.follows(place.at(turn));
            follows.unwrap_or_else(|| Follows::the_one_before(turn, Duration::ZERO))
        });
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
