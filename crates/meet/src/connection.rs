//! A connection between rank 0 and another: what this crate says on it, and the thread that
//! reads it.

use crate::frame::{self, Kind};
use crate::time::Timeline;
use crate::{SILENCE, Terms};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Control {
    Hello(Hello),
    Welcome,
    Refused {
        why: String,
    },
    /// What time is it?
    Ask {
        number: u64,
    },
    Time {
        number: u64,
        ns: i64,
    },
    /// Whoever says so ends, and so must the others.
    GaveUp {
        why: String,
    },
    /// All is done.
    Bye,
}

/// The first thing that a rank says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Hello {
    pub protocol: u32,
    pub rank: u32,
    pub terms: Terms,
    /// Its host, for people.
    pub host: String,
}

/// Why a rank is no longer there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Gone {
    /// It fell silent, or its connection broke.
    #[error("lost ({0})")]
    Lost(String),
    /// It said why it ends.
    #[error("{0}")]
    GaveUp(String),
    /// It ended in order.
    #[error("it has ended")]
    Ended,
}

pub(crate) enum Event {
    Said(Vec<u8>),
    Piece(Vec<u8>),
    /// The answer to a question about the time, and when it came.
    Time {
        number: u64,
        ns: i64,
        heard: Instant,
    },
    Gone(Gone),
}

/// What came from another rank.
#[derive(Debug)]
pub enum Heard<T> {
    Said(T),
    /// Bytes of a file.
    Piece(Vec<u8>),
    Gone(Gone),
}

impl<T: DeserializeOwned> Heard<T> {
    /// Times are for whoever compares clocks.
    pub(crate) fn of(event: Event) -> Option<Heard<T>> {
        match event {
            Event::Said(text) => Some(match serde_json::from_slice(&text) {
                Ok(said) => Heard::Said(said),
                Err(_) => {
                    let why = "it said what has no meaning at this point".to_owned();
                    Heard::Gone(Gone::Lost(why))
                }
            }),
            Event::Piece(bytes) => Some(Heard::Piece(bytes)),
            Event::Gone(gone) => Some(Heard::Gone(gone)),
            Event::Time { .. } => None,
        }
    }
}

/// The writing side, which several threads share.
pub(crate) struct Writer(Mutex<TcpStream>);

impl Writer {
    pub(crate) fn of(stream: &TcpStream) -> io::Result<Writer> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(SILENCE))?;
        stream.set_write_timeout(Some(SILENCE))?;
        Ok(Writer(Mutex::new(stream.try_clone()?)))
    }

    pub(crate) fn frame(&self, kind: Kind, body: &[u8]) -> io::Result<()> {
        let mut stream = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        frame::write(&mut *stream, kind, body)
    }

    pub(crate) fn control(&self, control: &Control) -> io::Result<()> {
        self.frame(Kind::Control, &serde_json::to_vec(control)?)
    }

    pub(crate) fn say(&self, message: &impl Serialize) -> io::Result<()> {
        self.frame(Kind::Said, &serde_json::to_vec(message)?)
    }

    /// Ends the connection, so that its reader ends, too.
    pub(crate) fn close(&self) {
        let stream = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = stream.shutdown(std::net::Shutdown::Both);
    }
}

/// Reads one message of this crate's own.
pub(crate) fn read_control(stream: &mut TcpStream, most: usize) -> io::Result<Control> {
    match frame::read(stream, most)? {
        (Kind::Control, body) => Ok(serde_json::from_slice(&body)?),
        _ => Err(io::Error::new(
            ErrorKind::InvalidData,
            "it sent no greeting",
        )),
    }
}

/// Reads until the other side is gone, which is the last event. Questions about the time are
/// answered at once.
pub(crate) fn listen(
    mut stream: TcpStream,
    writer: &Arc<Writer>,
    timeline: Timeline,
    mut tell: impl FnMut(Event) -> bool,
) {
    let gone = loop {
        let event = match frame::read(&mut stream, frame::MOST) {
            Ok((Kind::Said, body)) => Event::Said(body),
            Ok((Kind::Piece, body)) => Event::Piece(body),
            Ok((Kind::Control, body)) => match serde_json::from_slice(&body) {
                Ok(Control::Ask { number }) => {
                    let ns = timeline.ns(Instant::now());
                    let _ = writer.control(&Control::Time { number, ns });
                    continue;
                }
                Ok(Control::Time { number, ns }) => Event::Time {
                    number,
                    ns,
                    heard: Instant::now(),
                },
                Ok(Control::GaveUp { why }) => break Gone::GaveUp(one_line(&why)),
                Ok(Control::Bye) => break Gone::Ended,
                Ok(_) | Err(_) => break Gone::Lost("it sent no message of ours".to_owned()),
            },
            Err(error) => break Gone::Lost(said(&error)),
        };
        if !tell(event) {
            return;
        }
    };
    tell(Event::Gone(gone));
}

pub(crate) fn spawn(name: &str, work: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(work)
        .expect("the system gives a thread");
}

/// An event into a channel; false if nobody listens any more.
pub(crate) fn into<T>(to: &SyncSender<T>, event: T) -> bool {
    to.send(event).is_ok()
}

/// Longest reason of another rank that is repeated.
const LONGEST_REASON: usize = 600;

/// What another rank says, for one line of a terminal.
pub(crate) fn one_line(text: &str) -> String {
    let plain = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    plain.take(LONGEST_REASON).collect()
}

fn said(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => {
            format!("it was silent for {} s", SILENCE.as_secs())
        }
        ErrorKind::UnexpectedEof => "its connection was closed".to_owned(),
        _ => error.to_string(),
    }
}
