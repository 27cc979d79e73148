//! The tasks of a worker, counted so that their end can be awaited.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use tokio::sync::Notify;
use tokio::task::AbortHandle;

/// The tasks of a phase, counted so that their end can be awaited.
#[derive(Default)]
pub(super) struct Tasks {
    running: Cell<usize>,
    handles: RefCell<Vec<AbortHandle>>,
    exhausted: Cell<bool>,
    pub(super) open_conversations: Cell<usize>,
    changed: Notify,
}

impl Tasks {
    pub(super) fn spawn(tasks: &Rc<Tasks>, work: impl Future<Output = ()> + 'static) {
        let running = Counted::begin(tasks, |tasks| &tasks.running);
        let task = tokio::task::spawn_local(async move {
            // Moved in, so that it is dropped when the task ends in any way.
            let _running = running;
            work.await;
        });
        let mut handles = tasks.handles.borrow_mut();
        // Finished tasks are forgotten now and then, so that a long run does not pile them up.
        if handles.len() > 2 * tasks.running.get() + 64 {
            handles.retain(|handle| !handle.is_finished());
        }
        handles.push(task.abort_handle());
    }

    pub(super) async fn all_done(&self) {
        while self.running.get() > 0 {
            self.changed.notified().await;
        }
    }

    /// Ends what is still running, and waits until it is gone.
    pub(super) async fn end(&self) {
        for handle in self.handles.take() {
            handle.abort();
        }
        self.all_done().await;
    }

    pub(super) fn exhausted(&self) {
        if !self.exhausted.replace(true) {
            self.changed.notify_waiters();
        }
    }

    pub(super) async fn when_exhausted(&self) {
        while !self.exhausted.get() || self.open_conversations.get() > 0 {
            self.changed.notified().await;
        }
    }
}

/// Something that is counted as long as it lives; whoever waits for the last is told.
pub(super) struct Counted {
    tasks: Rc<Tasks>,
    count: fn(&Tasks) -> &Cell<usize>,
}

impl Counted {
    pub(super) fn begin(tasks: &Rc<Tasks>, count: fn(&Tasks) -> &Cell<usize>) -> Self {
        count(tasks).update(|all| all + 1);
        Counted {
            tasks: Rc::clone(tasks),
            count,
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let count = (self.count)(&self.tasks);
        count.update(|all| all - 1);
        if count.get() == 0 {
            self.tasks.changed.notify_waiters();
        }
    }
}
