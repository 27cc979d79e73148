//! Any rank but 0: finds rank 0, greets it, and compares its clock with it.

use crate::connection::{
    Control, Event, Gone, Heard, Hello, Writer, into, listen, one_line, read_control, spawn,
};
use crate::error::MeetError;
use crate::frame::{Kind, MOST_OF_STRANGERS};
use crate::time::{Comparison, Timeline};
use crate::{PROTOCOL, Terms};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, ErrorKind};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

/// Questions of one comparison of clocks.
const QUESTIONS: u32 = 64;

/// Time between questions that only say that we are there.
const PULSE: Duration = Duration::from_secs(1);

/// Between two attempts to reach rank 0.
const RETRY: Duration = Duration::from_millis(100);
const TELL: Duration = Duration::from_secs(2);
const CONNECT: Duration = Duration::from_secs(5);

/// Events that may wait to be heard; then the connection waits.
const WAITING: usize = 256;

/// Numbers of questions that nobody counts.
const PULSE_NUMBER: u64 = u64::MAX;

pub struct Member {
    rank: u32,
    writer: Arc<Writer>,
    events: Receiver<Event>,
    timeline: Timeline,
    compared: Comparison,
    /// What came while the time was asked for.
    put_aside: Vec<Event>,
}

impl Member {
    /// Goes to rank 0, which may begin to listen later.
    pub fn join(
        at: &str,
        terms: Terms,
        rank: u32,
        host: &str,
        within: Duration,
        mut tell: impl FnMut(Duration),
    ) -> Result<Member, MeetError> {
        let begun = Instant::now();
        let mut told = Instant::now();
        let hello = Control::Hello(Hello {
            protocol: PROTOCOL,
            rank,
            terms,
            host: host.to_owned(),
        });
        let stranger = |said: String| MeetError::Stranger {
            at: at.to_owned(),
            said,
        };
        let (stream, writer, answer) = loop {
            let met = match connect(at).map(|stream| greet(stream, &hello)) {
                Ok(Err(error)) if !is_close(&error) => return Err(stranger(error.to_string())),
                Ok(met) => met,
                Err(error) => Err(error),
            };
            match met {
                Ok(met) => break met,
                Err(error) if begun.elapsed() >= within => {
                    return Err(MeetError::Unreachable {
                        at: at.to_owned(),
                        within_s: within.as_secs(),
                        error,
                    });
                }
                Err(_) => std::thread::sleep(RETRY),
            }
            if told.elapsed() >= TELL {
                told = Instant::now();
                tell(begun.elapsed());
            }
        };
        match answer {
            Control::Welcome => {}
            Control::Refused { why } | Control::GaveUp { why } => {
                return Err(MeetError::Refused(one_line(&why)));
            }
            _ => return Err(stranger("it answered no greeting".to_owned())),
        }
        let timeline = Timeline::default();
        let (to_us, events) = sync_channel(WAITING);
        let answering = Arc::clone(&writer);
        spawn("rank-0", move || {
            listen(stream, &answering, timeline, |event| match event {
                // A pulse has done its work by coming.
                Event::Time {
                    number: PULSE_NUMBER,
                    ..
                } => true,
                event => into(&to_us, event),
            });
        });
        let mut member = Member {
            rank,
            writer,
            events,
            timeline,
            compared: Comparison {
                ahead_ns: 0,
                error_ns: u64::MAX,
            },
            put_aside: Vec::new(),
        };
        member.compared = member.compare().map_err(|gone| match gone {
            Gone::GaveUp(why) => MeetError::Refused(why),
            gone => MeetError::Gone { rank: 0, gone },
        })?;
        let pulse = Arc::downgrade(&member.writer);
        spawn("pulse", move || {
            while let Some(writer) = pulse.upgrade() {
                let number = PULSE_NUMBER;
                if writer.control(&Control::Ask { number }).is_err() {
                    return;
                }
                drop(writer);
                std::thread::sleep(PULSE);
            }
        });
        Ok(member)
    }

    /// Asks rank 0 for the time, many times.
    pub fn compare(&mut self) -> Result<Comparison, Gone> {
        let lost = |error: io::Error| Gone::Lost(error.to_string());
        let mut best = None;
        for question in 0..u64::from(QUESTIONS) {
            let asked = Instant::now();
            (self.writer.control(&Control::Ask { number: question })).map_err(lost)?;
            loop {
                match self.events.recv() {
                    Ok(Event::Time { number, ns, heard }) if number == question => {
                        let (asked, heard) = (self.timeline.ns(asked), self.timeline.ns(heard));
                        best = Some(Comparison::of(asked, ns, heard).better_of(best));
                        break;
                    }
                    Ok(Event::Time { .. }) => {}
                    Ok(Event::Gone(gone)) => return Err(gone),
                    Ok(event) => self.put_aside.push(event),
                    Err(_) => return Err(Gone::Ended),
                }
            }
        }
        Ok(best.unwrap_or(self.compared))
    }

    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// The clocks as they were compared at the beginning.
    pub fn compared(&self) -> Comparison {
        self.compared
    }

    /// Begins anew: clocks drift, and what is measured next may be hours later.
    pub fn compare_anew(&mut self) -> Result<(), Gone> {
        self.compared = self.compare()?;
        Ok(())
    }

    /// A moment of rank 0's timeline on our clock.
    pub fn instant(&self, leader_ns: i64) -> Option<Instant> {
        let ours = leader_ns.checked_sub(self.compared.ahead_ns)?;
        self.timeline.instant(ours)
    }

    pub fn say(&self, message: &impl Serialize) -> Result<(), Gone> {
        self.writer
            .say(message)
            .map_err(|error| Gone::Lost(error.to_string()))
    }

    pub fn send_piece(&self, bytes: &[u8]) -> Result<(), Gone> {
        let sent = self.writer.frame(Kind::Piece, bytes);
        sent.map_err(|error| Gone::Lost(error.to_string()))
    }

    /// Tells rank 0 why we end.
    pub fn give_up(&self, why: &str) {
        let _ = self.writer.control(&Control::GaveUp { why: one_line(why) });
    }

    /// Whatever comes next, within a time. That rank 0 is gone is told once, and last.
    pub fn hear<T: DeserializeOwned>(&mut self, wait: Duration) -> Option<Heard<T>> {
        if !self.put_aside.is_empty() {
            return Heard::of(self.put_aside.remove(0));
        }
        let until = Instant::now() + wait;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if let Some(heard) = Heard::of(self.events.recv_timeout(left).ok()?) {
                return Some(heard);
            }
        }
    }
}

impl Drop for Member {
    /// What was said last still arrives; then the reader ends.
    fn drop(&mut self) {
        self.writer.close();
    }
}

/// Says who we are, and hears what rank 0 says to that.
fn greet(mut stream: TcpStream, hello: &Control) -> io::Result<(TcpStream, Arc<Writer>, Control)> {
    let writer = Arc::new(Writer::of(&stream)?);
    writer.control(hello)?;
    let answer = read_control(&mut stream, MOST_OF_STRANGERS)?;
    Ok((stream, writer, answer))
}

/// Whether the other side closed without a word, as a proxy does that cannot pass on yet: rank 0
/// may come later.
fn is_close(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::UnexpectedEof
            | ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted
            | ErrorKind::BrokenPipe
    )
}

fn connect(at: &str) -> io::Result<TcpStream> {
    let mut failed = io::Error::from(ErrorKind::AddrNotAvailable);
    for address in at.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, CONNECT) {
            // Where nobody listens, a connection within one host can meet itself.
            Ok(stream) if stream.local_addr()? == address => {
                failed = ErrorKind::ConnectionRefused.into();
            }
            Ok(stream) => return Ok(stream),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}
