//! Traces: when requests came and how long they were. Those whose rows name the blocks of their
//! prompts are here, tables are beside.

use super::reader::{Reader, Reading};
use crate::data::error::Fault;
use crate::data::object::from_json;
use crate::data::row::{Link, Row, RowContent};
use inferometer_core::length::LONGEST;
use inferometer_core::work::{DataFormat, Wait};
use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

/// The clock of a trace: it begins with the first row and never goes back.
#[derive(Debug, Default)]
pub struct Clock {
    first_ns: Option<i64>,
    last_ns: i64,
}

/// A request of a trace.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Since whenever.
    pub time_ns: i64,
    pub input_tokens: u32,
    pub output_tokens: u32,
    pub blocks: Arc<[u64]>,
    pub block_tokens: u32,
    pub link: Option<Link>,
}

impl Entry {
    /// One of which only the lengths are known.
    pub fn of_lengths(time_ns: i64, input_tokens: u32, output_tokens: u32) -> Self {
        Entry {
            time_ns,
            input_tokens,
            output_tokens,
            blocks: Arc::default(),
            block_tokens: USUAL_BLOCK,
            link: None,
        }
    }

    /// The row, at a time since the trace began.
    pub fn row(self, at: Duration) -> Row {
        Row {
            content: RowContent::Lengths {
                at,
                input_tokens: self.input_tokens,
                blocks: self.blocks,
                block_tokens: self.block_tokens,
                link: self.link.map(Arc::new),
            },
            output_tokens: Some(self.output_tokens),
            reference: None,
            expected: None,
        }
    }
}

impl Clock {
    pub fn row(&mut self, entry: Entry) -> Result<Reading, Fault> {
        let time_ns = entry.time_ns;
        let first = self.first_ns.unwrap_or(time_ns);
        // A later turn is sent when others have ended: sessions may lie one after the other.
        let starts = entry.link.as_ref().is_none_or(|link| link.after.is_empty());
        if starts && self.first_ns.is_some() && time_ns < self.last_ns {
            return Err(Fault::Backwards);
        }
        if entry.output_tokens > 0 && entry.input_tokens == 0 {
            return Err(Fault::NoTokens);
        }
        self.first_ns = Some(first);
        if starts {
            self.last_ns = time_ns;
        }
        if entry.output_tokens == 0 {
            return Ok(Reading::Unusable);
        }
        let at = time_ns.saturating_sub(first).max(0).unsigned_abs();
        Ok(Reading::Row(entry.row(Duration::from_nanos(at))))
    }
}

/// A time as a number of some unit, in nanoseconds; none if it is negative or beyond a century.
pub fn nanoseconds(time: f64, unit_ns: u32) -> Option<i64> {
    let nanoseconds = time * f64::from(unit_ns);
    (0.0..9e18)
        .contains(&nanoseconds)
        .then_some(nanoseconds.round() as i64)
}

/// A number of tokens that a model could take.
pub fn tokens(number: u64) -> Option<u32> {
    u32::try_from(number)
        .ok()
        .filter(|tokens| *tokens <= LONGEST)
}

/// A number for whatever names a thing.
pub fn name_of(thing: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    thing.hash(&mut hasher);
    hasher.finish()
}

const SECOND: u32 = 1_000_000_000;
const MILLISECOND: u32 = 1_000_000;
/// Tokens of a block where nothing says otherwise, as in vLLM.
pub const USUAL_BLOCK: u32 = 16;
const MOONCAKE_BLOCK: u32 = 512;

/// Rows of `timestamp`, `input_length`, `output_length` and `hash_ids`, as Mooncake, vLLM's
/// `timed_trace`, Bailian and our own traces have them.
#[derive(Debug)]
pub struct Hashed {
    format: DataFormat,
    block_tokens: Option<u32>,
    clock: Clock,
    /// When each turn of a session was sent, in their order.
    sessions: HashMap<u64, Vec<i64>>,
    /// Session and time of each request that others may name as the one before.
    chats: HashMap<i64, (u64, i64)>,
}

#[derive(Deserialize)]
struct Request {
    timestamp: Option<f64>,
    input_length: u64,
    output_length: u64,
    #[serde(default, deserialize_with = "ids")]
    hash_ids: Arc<[u64]>,
    block_size: Option<u32>,
    session_id: Option<Value>,
    /// Turns of the session that must have ended, counted from 0.
    after: Option<Vec<u32>>,
    /// From the end of those before, in milliseconds.
    delay: Option<f64>,
    chat_id: Option<i64>,
    parent_chat_id: Option<i64>,
}

/// Numbers for which a thread keeps room.
const MOST_KEPT: usize = 1 << 16;

/// A list of numbers. They are gathered in memory that is kept: growing a list for each row took a
/// tenth of the instructions.
fn ids<'de, D: Deserializer<'de>>(from: D) -> Result<Arc<[u64]>, D::Error> {
    struct Ids;
    impl<'de> Visitor<'de> for Ids {
        type Value = Arc<[u64]>;

        fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
            to.write_str("a sequence")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut given: A) -> Result<Self::Value, A::Error> {
            GATHERED.with_borrow_mut(|ids| {
                ids.clear();
                while let Some(id) = given.next_element()? {
                    ids.push(id);
                }
                let made = Arc::from(ids.as_slice());
                ids.shrink_to(MOST_KEPT);
                Ok(made)
            })
        }
    }
    thread_local! {
        static GATHERED: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
    }
    from.deserialize_seq(Ids)
}

fn wrong(field: &str, wanted: &'static str) -> Fault {
    Fault::WrongType {
        field: field.to_owned(),
        wanted,
    }
}

impl Hashed {
    pub fn new(format: DataFormat, block_tokens: Option<u32>) -> Self {
        Hashed {
            format,
            block_tokens,
            clock: Clock::default(),
            sessions: HashMap::new(),
            chats: HashMap::new(),
        }
    }

    /// The place in a session of our own form.
    fn turn(&mut self, request: &Request, time_ns: i64) -> Result<Option<Link>, Fault> {
        let Some(name) = request.session_id.as_ref().filter(|name| !name.is_null()) else {
            return Ok(None);
        };
        let session = name_of(name.to_string());
        let sent = self.sessions.entry(session).or_default();
        let turn = sent.len() as u32;
        let before: Vec<u32> = match &request.after {
            Some(turns) => turns.clone(),
            None => turn.checked_sub(1).into_iter().collect(),
        };
        let delay = match request.delay {
            Some(delay) => Some(
                nanoseconds(delay, MILLISECOND)
                    .ok_or_else(|| wrong("delay", "a time in milliseconds"))?,
            ),
            None => None,
        };
        let sent_before = before.iter().filter_map(|turn| sent.get(*turn as usize));
        let since = |from: i64| Duration::from_nanos(time_ns.saturating_sub(from).max(0) as u64);
        let wait = match (delay, sent_before.max()) {
            (Some(delay), _) => Wait::SinceEnd(Duration::from_nanos(delay as u64)),
            (None, Some(from)) if request.timestamp.is_some() => Wait::SinceStart(since(*from)),
            // What begins with the session may still begin later than it.
            (None, None) if turn > 0 => Wait::SinceStart(since(sent[0])),
            (None, _) => Wait::SinceEnd(Duration::ZERO),
        };
        sent.push(time_ns);
        Ok(Some(Link {
            session,
            id: name_of((session, turn)),
            after: before.iter().map(|turn| name_of((session, turn))).collect(),
            wait,
        }))
    }

    /// The place in a conversation whose requests name the one before.
    fn chat(&mut self, request: &Request, time_ns: i64) -> Result<Link, Fault> {
        let chat = request
            .chat_id
            .ok_or_else(|| wrong("chat_id", "a number"))?;
        let parent = request.parent_chat_id.filter(|parent| *parent >= 0);
        let known = parent.and_then(|parent| self.chats.get(&parent)).copied();
        let (session, from) = known.unwrap_or((name_of(chat), time_ns));
        self.chats.insert(chat, (session, time_ns));
        let gap = time_ns.saturating_sub(from).max(0).unsigned_abs();
        Ok(Link {
            session,
            id: name_of(chat),
            after: parent.into_iter().map(name_of).collect(),
            wait: Wait::SinceStart(Duration::from_nanos(gap)),
        })
    }
}

impl Reader for Hashed {
    fn read(&mut self, row: &str) -> Result<Reading, Fault> {
        let request: Request = from_json(row)?;
        let (unit, unit_said) = match self.format {
            DataFormat::TimedTrace | DataFormat::Bailian => (SECOND, "a time in seconds"),
            _ => (MILLISECOND, "a time in milliseconds"),
        };
        let time_ns = match request.timestamp {
            Some(time) => nanoseconds(time, unit).ok_or_else(|| wrong("timestamp", unit_said))?,
            // A later turn may say only how long it waits.
            None if request.session_id.is_some() => self.clock.last_ns,
            None => return Err(wrong("timestamp", unit_said)),
        };
        let input_tokens = tokens(request.input_length)
            .ok_or_else(|| wrong("input_length", "a possible number of tokens"))?;
        let output_tokens = tokens(request.output_length)
            .ok_or_else(|| wrong("output_length", "a possible number of tokens"))?;
        let link = match self.format {
            DataFormat::Trace => self.turn(&request, time_ns)?,
            DataFormat::Bailian => Some(self.chat(&request, time_ns)?),
            _ => None,
        };
        let usual = match self.format {
            DataFormat::Mooncake => MOONCAKE_BLOCK,
            _ => USUAL_BLOCK,
        };
        let stated = request.block_size.filter(|tokens| *tokens > 0);
        self.clock.row(Entry {
            time_ns,
            input_tokens,
            output_tokens,
            blocks: request.hash_ids,
            block_tokens: self.block_tokens.or(stated).unwrap_or(usual),
            link,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(timestamp: &str, input: u32, output: u32) -> String {
        format!(
            r#"{{"timestamp": {timestamp}, "input_length": {input}, "output_length": {output}, "hash_ids": [1, 2]}}"#
        )
    }

    #[test]
    fn times_count_from_the_first_row() {
        let mut trace = Hashed::new(DataFormat::Mooncake, None);
        let mut at = |timestamp| match trace.read(&request(timestamp, 600, 5)) {
            Ok(Reading::Row(row)) => {
                assert_eq!(row.output_tokens, Some(5));
                match row.content {
                    RowContent::Lengths { at, blocks, .. } => {
                        assert_eq!(*blocks, [1, 2]);
                        at
                    }
                    other => panic!("{other:?}"),
                }
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(at("27482"), Duration::ZERO);
        assert_eq!(at("27482.5"), Duration::from_micros(500));
        assert_eq!(at("30482"), Duration::from_secs(3));
    }

    #[test]
    fn a_trace_that_goes_back_is_bad_and_its_clock_stays() {
        let mut trace = Hashed::new(DataFormat::Mooncake, None);
        assert!(trace.read(&request("10", 6, 5)).is_ok());
        assert_eq!(trace.read(&request("9", 6, 5)), Err(Fault::Backwards));
        assert!(trace.read(&request("10", 6, 5)).is_ok());
    }

    #[test]
    fn requests_without_an_answer_are_unusable_and_without_a_prompt_bad() {
        let mut trace = Hashed::new(DataFormat::Mooncake, None);
        assert_eq!(trace.read(&request("1", 6, 0)), Ok(Reading::Unusable));
        assert_eq!(trace.read(&request("1", 0, 6)), Err(Fault::NoTokens));
        for timestamp in ["-1", "1e300", "\"1\"", "null"] {
            assert!(trace.read(&request(timestamp, 6, 5)).is_err());
        }
        assert!(trace.read(&request("1", u32::MAX, 5)).is_err());
    }

    fn links(format: DataFormat, rows: &[&str]) -> Vec<(u64, Vec<u64>, Wait)> {
        let mut trace = Hashed::new(format, None);
        let mut read = |row: &&str| match trace.read(row) {
            Ok(Reading::Row(row)) => match row.content {
                RowContent::Lengths { link, .. } => {
                    let link = link.expect("it has a place in a session");
                    (link.session, link.after.to_vec(), link.wait)
                }
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        };
        rows.iter().map(&mut read).collect()
    }

    #[test]
    fn bailian_counts_in_seconds_and_follows_parents() {
        let found = links(
            DataFormat::Bailian,
            &[
                r#"{"chat_id":7,"parent_chat_id":-1,"timestamp":61.1,"input_length":40,"output_length":9,"type":"text","turn":1,"hash_ids":[1,2,3]}"#,
                r#"{"chat_id":8,"parent_chat_id":-1,"timestamp":61.2,"input_length":40,"output_length":9,"turn":1,"hash_ids":[1,2,4]}"#,
                r#"{"chat_id":9,"parent_chat_id":7,"timestamp":63.6,"input_length":80,"output_length":9,"turn":2,"hash_ids":[1,2,3,5,6]}"#,
            ],
        );
        assert_eq!(found[0].0, found[2].0);
        assert_ne!(found[0].0, found[1].0);
        assert_eq!(found[2].1, [name_of(7i64)]);
        assert_eq!(found[2].2, Wait::SinceStart(Duration::from_millis(2_500)));
    }

    #[test]
    fn turns_of_a_session_follow_each_other_unless_they_say_whom() {
        let found = links(
            DataFormat::Trace,
            &[
                r#"{"timestamp":10,"session_id":"a","input_length":4,"output_length":5}"#,
                r#"{"session_id":"a","delay":250,"input_length":4,"output_length":5}"#,
                r#"{"timestamp":70,"session_id":"a","after":[0],"input_length":4,"output_length":5}"#,
                r#"{"session_id":"a","after":[1,2],"input_length":4,"output_length":5}"#,
            ],
        );
        let turn = |turn: u32| name_of((found[0].0, turn));
        assert!(found[0].1.is_empty());
        assert_eq!(
            (&found[1].1[..], found[1].2),
            (&[turn(0)][..], Wait::SinceEnd(Duration::from_millis(250)))
        );
        assert_eq!(found[2].2, Wait::SinceStart(Duration::from_millis(60)));
        assert_eq!(found[3].1, [turn(1), turn(2)]);
    }

    #[test]
    fn blocks_are_as_long_as_the_row_the_user_or_the_format_says() {
        let tokens = |format, given, more: &str| {
            let row = format!(
                r#"{{"timestamp":1,"input_length":2,"output_length":3,"hash_ids":[1],"session_id":1{more}}}"#
            );
            match Hashed::new(format, given).read(&row) {
                Ok(Reading::Row(Row {
                    content: RowContent::Lengths { block_tokens, .. },
                    ..
                })) => block_tokens,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(tokens(DataFormat::Mooncake, None, ""), 512);
        assert_eq!(tokens(DataFormat::TimedTrace, None, ""), 16);
        assert_eq!(tokens(DataFormat::Trace, None, ",\"block_size\":32"), 32);
        assert_eq!(
            tokens(DataFormat::Trace, Some(64), ",\"block_size\":32"),
            64
        );
    }
}
