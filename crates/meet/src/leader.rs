//! Rank 0: listens until the others are there, then speaks with all of them.

use crate::connection::{
    Control, Event, Gone, Heard, Hello, Writer, into, listen, one_line, read_control, spawn,
};
use crate::error::{MeetError, ranks};
use crate::frame::{Kind, MOST_OF_STRANGERS};
use crate::time::Timeline;
use crate::{PROTOCOL, Terms};
use serde::Serialize;
use serde::de::DeserializeOwned;
use socket2::{Domain, Socket, Type};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time that somebody who connects has to say who it is.
const GREETING: Duration = Duration::from_secs(5);

/// Connections that may be greeting at once.
const MOST_GREETING: usize = 1024;

/// Events that may wait to be heard; then the connections wait.
const WAITING: usize = 256;

/// Between two words about those who are missing.
const TELL: Duration = Duration::from_secs(2);

/// How long those who are still on their way are waited for, to be told that nothing comes of it.
const LINGER: Duration = Duration::from_secs(10);

const LOOK: Duration = Duration::from_millis(20);

#[derive(Clone, Debug)]
pub struct Waiting {
    pub missing: Vec<u32>,
    pub of: u32,
    pub since: Duration,
}

pub struct Leader {
    timeline: Timeline,
    /// Those that take part in what is done now.
    members: BTreeMap<u32, Present>,
    /// Those that are there and wait.
    resting: BTreeMap<u32, Present>,
    events: Receiver<(u32, Event)>,
    missing: Vec<u32>,
    gone: BTreeMap<u32, Gone>,
    reception: Arc<Reception>,
}

struct Present {
    writer: Arc<Writer>,
    host: String,
}

/// Somebody who has greeted and fits.
struct Arrival {
    rank: u32,
    host: String,
    stream: TcpStream,
}

struct Reception {
    terms: Terms,
    /// Once it is there, nobody is admitted any more.
    closed: Mutex<Option<String>>,
    ended: AtomicBool,
    greeting: AtomicUsize,
    /// Ranks that were told why they are not admitted.
    refused: AtomicUsize,
}

impl Leader {
    /// Listens where others look for rank 0. Where the name is none of this host's own, as behind
    /// a translated address, it listens on all.
    pub fn listen(at: &str) -> Result<TcpListener, MeetError> {
        let failed = |error: io::Error| MeetError::Listen {
            at: at.to_owned(),
            error,
        };
        let named = at.to_socket_addrs().map_err(failed)?.next();
        let named = named.ok_or_else(|| failed(ErrorKind::AddrNotAvailable.into()))?;
        match bound(named) {
            Err(error) if error.kind() == ErrorKind::AddrNotAvailable => {
                let all = if named.is_ipv4() {
                    [0, 0, 0, 0].into()
                } else {
                    [0u16; 8].into()
                };
                bound(SocketAddr::new(all, named.port())).map_err(failed)
            }
            bound => bound.map_err(failed),
        }
    }

    /// Waits until all others are there, or as many as there must be at least when the time is
    /// over. One that does not fit ends it for all.
    pub fn gather(
        listener: TcpListener,
        terms: Terms,
        at_least: u32,
        within: Duration,
        mut tell: impl FnMut(&Waiting),
    ) -> Result<Leader, MeetError> {
        let of = terms.of;
        let (to_us, events) = sync_channel(WAITING);
        let (greeted, arrivals) = sync_channel::<Result<Arrival, String>>(WAITING);
        let reception = Arc::new(Reception {
            terms,
            closed: Mutex::default(),
            ended: AtomicBool::new(false),
            greeting: AtomicUsize::new(0),
            refused: AtomicUsize::new(0),
        });
        let receiving = Arc::clone(&reception);
        spawn("meeting", move || receive(&listener, &receiving, &greeted));
        let mut leader = Leader {
            timeline: Timeline::default(),
            members: BTreeMap::new(),
            resting: BTreeMap::new(),
            events,
            missing: Vec::new(),
            gone: BTreeMap::new(),
            reception,
        };
        let begun = Instant::now();
        let mut told = Instant::now();
        loop {
            let missing: Vec<u32> = (1..of)
                .filter(|rank| !leader.members.contains_key(rank))
                .collect();
            let since = begun.elapsed();
            let enough = of as usize - missing.len() >= at_least.max(1) as usize;
            if missing.is_empty() || since >= within && enough {
                leader.missing = missing;
                break;
            }
            if since >= within {
                return Err(leader.refuse(MeetError::Missing {
                    missing,
                    of,
                    within_s: within.as_secs(),
                }));
            }
            if told.elapsed() >= TELL {
                told = Instant::now();
                tell(&Waiting { missing, of, since });
            }
            match arrivals.recv_timeout(LOOK) {
                Ok(Ok(arrival)) => {
                    if let Err(why) = leader.admit(arrival, &to_us) {
                        return Err(leader.refuse_all(MeetError::Refused(why), &arrivals));
                    }
                }
                Ok(Err(why)) => {
                    return Err(leader.refuse_all(MeetError::Refused(why), &arrivals));
                }
                Err(_) => {}
            }
            // One that goes away before all are there would never come again.
            if let Some((rank, Heard::Gone(gone))) = leader.hear::<()>(Duration::ZERO) {
                return Err(leader.refuse(MeetError::Gone { rank, gone }));
            }
        }
        let begun = "the measurement has begun without it; start all ranks together".to_owned();
        leader.reception.close(begun);
        Ok(leader)
    }

    fn admit(&mut self, arrival: Arrival, to_us: &SyncSender<(u32, Event)>) -> Result<(), String> {
        let Arrival { rank, host, stream } = arrival;
        let failed = |error: io::Error| format!("rank {rank}: {error}");
        let writer = Arc::new(Writer::of(&stream).map_err(failed)?);
        if let Some(present) = self.members.get(&rank) {
            let why = format!(
                "two ranks have the number {rank} (on {} and on {host}); give each its own --rank",
                present.host
            );
            let _ = writer.control(&Control::Refused { why: why.clone() });
            self.reception.refused.fetch_add(1, Ordering::Relaxed);
            return Err(why);
        }
        writer.control(&Control::Welcome).map_err(failed)?;
        let (to_us, answering, timeline) = (to_us.clone(), Arc::clone(&writer), self.timeline);
        spawn("rank", move || {
            listen(stream, &answering, timeline, |event| {
                into(&to_us, (rank, event))
            });
        });
        self.members.insert(rank, Present { writer, host });
        Ok(())
    }

    /// Tells all why nothing comes of it.
    fn refuse(&self, error: MeetError) -> MeetError {
        self.give_up(&error.to_string());
        error
    }

    /// The same, also for those who have greeted and for those who have not come yet: they would
    /// look for rank 0 in vain.
    fn refuse_all(
        &self,
        error: MeetError,
        arrivals: &Receiver<Result<Arrival, String>>,
    ) -> MeetError {
        let error = self.refuse(error);
        let others = self.reception.terms.of as usize - 1;
        let begun = Instant::now();
        let told = || self.members.len() + self.reception.refused.load(Ordering::Relaxed);
        while told() < others && begun.elapsed() < LINGER {
            if let Ok(Ok(Arrival { stream, .. })) = arrivals.recv_timeout(LOOK)
                && let Ok(writer) = Writer::of(&stream)
            {
                let why = error.to_string();
                let _ = writer.control(&Control::Refused { why });
                self.reception.refused.fetch_add(1, Ordering::Relaxed);
            }
        }
        error
    }

    /// Ends it for all, with the reason.
    pub fn give_up(&self, why: &str) {
        self.reception.close(why.to_owned());
        let control = Control::GaveUp { why: one_line(why) };
        for member in self.all() {
            let _ = member.writer.control(&control);
        }
    }

    fn all(&self) -> impl Iterator<Item = &Present> {
        self.members.values().chain(self.resting.values())
    }

    /// From now on the first so many of the others take part, and the rest wait.
    pub fn call(&mut self, others: usize) {
        self.members.append(&mut self.resting);
        if let Some(&first) = self.members.keys().nth(others) {
            self.resting = self.members.split_off(&first);
        }
    }

    pub fn missing(&self) -> &[u32] {
        &self.missing
    }

    /// The others that came and take part.
    pub fn present(&self) -> impl Iterator<Item = u32> + '_ {
        self.members.keys().copied()
    }

    /// Why a rank is no longer there, if it was heard to be gone.
    pub fn gone(&self, rank: u32) -> Option<&Gone> {
        self.gone.get(&rank)
    }

    pub fn host(&self, rank: u32) -> &str {
        self.members.get(&rank).map_or("", |member| &member.host)
    }

    pub fn timeline(&self) -> Timeline {
        self.timeline
    }

    /// Whom it does not reach is found to be gone by the reader of its connection.
    pub fn tell_all(&self, message: &impl Serialize) {
        for rank in self.members.keys() {
            self.tell(*rank, message);
        }
    }

    pub fn tell(&self, rank: u32, message: &impl Serialize) {
        if let Some(member) = self.members.get(&rank)
            && member.writer.say(message).is_err()
        {
            member.writer.close();
        }
    }

    /// Whatever comes next, within a time. A rank that is gone is told once, and last.
    pub fn hear<T: DeserializeOwned>(&mut self, wait: Duration) -> Option<(u32, Heard<T>)> {
        let until = Instant::now() + wait;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let (rank, event) = self.events.recv_timeout(left).ok()?;
            if let Some(heard) = Heard::of(event) {
                if let Heard::Gone(gone) = &heard {
                    self.gone.insert(rank, gone.clone());
                    let known = self.members.get(&rank).or(self.resting.get(&rank));
                    if let Some(member) = known {
                        member.writer.close();
                    }
                }
                return Some((rank, heard));
            }
        }
    }

    /// All is done.
    pub fn end(self) {
        for member in self.all() {
            let _ = member.writer.control(&Control::Bye);
        }
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        self.reception.ended.store(true, Ordering::Relaxed);
    }
}

impl Reception {
    fn close(&self, why: String) {
        let mut closed = self.closed.lock().unwrap_or_else(PoisonError::into_inner);
        closed.get_or_insert(why);
    }

    fn closed(&self) -> Option<String> {
        self.closed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Why a rank cannot take part, and whether that is the others' business.
    fn objection(&self, hello: &Hello) -> Option<(String, Scope)> {
        let (ours, theirs) = (&self.terms, &hello.terms);
        let Hello { rank, host, .. } = hello;
        if let Some(why) = self.closed() {
            return Some((format!("rank {rank} came too late: {why}"), Scope::Stranger));
        }
        if ours.job != theirs.job {
            let why = format!(
                "another measurement meets here (job '{}', not '{}'); give it another --meet",
                ours.job,
                one_line(&theirs.job)
            );
            return Some((why, Scope::Stranger));
        }
        let why = if hello.protocol != PROTOCOL || ours.version != theirs.version {
            format!(
                "rank {rank} on {host} is inferometer {}, rank 0 is {}; install one version everywhere",
                one_line(&theirs.version),
                ours.version
            )
        } else if ours.of != theirs.of {
            format!(
                "rank {rank} on {host} is one of {}, rank 0 one of {}; give all ranks the same --of",
                theirs.of, ours.of
            )
        } else if *rank == 0 {
            format!("two ranks have the number 0 (here and on {host}); give each its own --rank")
        } else if *rank >= ours.of {
            format!(
                "{} on {host} is none of {}; ranks count from 0",
                ranks(&[*rank]),
                ours.of
            )
        } else {
            return None;
        };
        Some((why, Scope::All))
    }
}

/// Whom an objection concerns.
enum Scope {
    Stranger,
    All,
}

fn bound(at: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(at), Type::STREAM, None)?;
    // A measurement that follows another at the same place need not wait.
    socket.set_reuse_address(true)?;
    socket.bind(&at.into())?;
    socket.listen(1024)?;
    Ok(socket.into())
}

/// Greets whoever connects, each on a thread of its own.
fn receive(
    listener: &TcpListener,
    reception: &Arc<Reception>,
    greeted: &SyncSender<Result<Arrival, String>>,
) {
    if listener.set_nonblocking(true).is_err() {
        return;
    }
    while !reception.ended.load(Ordering::Relaxed) {
        let Ok((stream, _)) = listener.accept() else {
            std::thread::sleep(LOOK);
            continue;
        };
        if reception.greeting.fetch_add(1, Ordering::Relaxed) >= MOST_GREETING {
            reception.greeting.fetch_sub(1, Ordering::Relaxed);
            continue;
        }
        let (reception, greeted) = (Arc::clone(reception), greeted.clone());
        spawn("greeting", move || {
            let arrival = greet(stream, &reception);
            reception.greeting.fetch_sub(1, Ordering::Relaxed);
            if let Some(arrival) = arrival {
                let _ = greeted.send(arrival);
            }
        });
    }
}

/// Who is there; an error is the end of the meeting, and who is none of ours is not spoken of.
fn greet(mut stream: TcpStream, reception: &Reception) -> Option<Result<Arrival, String>> {
    stream.set_nonblocking(false).ok()?;
    stream.set_read_timeout(Some(GREETING)).ok()?;
    let Ok(Control::Hello(mut hello)) = read_control(&mut stream, MOST_OF_STRANGERS) else {
        return None;
    };
    hello.host = one_line(&hello.host);
    match reception.objection(&hello) {
        None => Some(Ok(Arrival {
            rank: hello.rank,
            host: hello.host,
            stream,
        })),
        Some((why, scope)) => {
            let refused = Control::Refused { why: why.clone() };
            let _ = crate::frame::write(
                &mut stream,
                Kind::Control,
                &serde_json::to_vec(&refused).ok()?,
            );
            reception.refused.fetch_add(1, Ordering::Relaxed);
            match scope {
                Scope::All => Some(Err(why)),
                Scope::Stranger => None,
            }
        }
    }
}

/// How a rank went, in words for the others.
impl Gone {
    pub fn of_rank(&self, rank: u32, host: &str) -> String {
        format!("rank {rank} on {host}: {self}")
    }
}
