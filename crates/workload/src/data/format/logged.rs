//! What servers and gateways log about requests, turned into rows of a trace: lengths, times,
//! which parts of prompts are the same, and which requests belong together. No text stays.

use super::reader::Reading;
use super::trace::{Entry, USUAL_BLOCK, name_of, tokens};
use crate::data::error::Fault;
use crate::data::row::Link;
use crate::tokenizer::Tokenizer;
use inferometer_core::work::Wait;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// Reads the rows of a log in their order.
pub trait LogReader: Send {
    /// The requests that a row completes; most rows of some logs complete none.
    fn read(&mut self, row: &str) -> Result<Vec<Logged>, Fault>;

    /// Requests that the log ends without completing.
    fn finish(&mut self) -> Vec<Logged> {
        Vec::new()
    }
}

/// A request as a log tells of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Logged {
    pub start_ns: i64,
    pub end_ns: Option<i64>,
    pub prompt: Said,
    /// As the log counts, for prompts that it does not have.
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    /// Where the log does not count the answer.
    pub answer: Option<String>,
    /// What it belongs to, by a name that was meant so.
    pub session: Option<String>,
    /// What it belongs to where nothing better is known.
    pub run: Option<String>,
}

/// What a log has of a prompt.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Said {
    #[default]
    Nothing,
    /// Messages, or one text.
    Parts(Vec<String>),
    Tokens(Vec<u32>),
}

impl Said {
    /// The messages of a request, or its prompt, as JSON.
    pub fn of_json(value: &Value) -> Self {
        let parts: Vec<String> = match value {
            Value::Array(messages) => messages.iter().map(said_in).collect(),
            Value::Null => Vec::new(),
            one => vec![said_in(one)],
        };
        if parts.iter().all(String::is_empty) {
            Said::Nothing
        } else {
            Said::Parts(parts)
        }
    }
}

/// What is said in a message: its role and all of its text, calls of tools included.
fn said_in(message: &Value) -> String {
    // Names of things and addresses are not what a model reads.
    const NOT_SAID: [&str; 9] = [
        "role",
        "type",
        "id",
        "tool_call_id",
        "index",
        "url",
        "image_url",
        "data",
        "input_audio",
    ];
    fn gather(value: &Value, text: &mut String) {
        match value {
            Value::String(said) => {
                if !text.is_empty() {
                    text.push('\n');
                }
                text.push_str(said);
            }
            Value::Array(parts) => parts.iter().for_each(|part| gather(part, text)),
            Value::Object(fields) => fields
                .iter()
                .filter(|(name, _)| !NOT_SAID.contains(&name.as_str()))
                .for_each(|(_, value)| gather(value, text)),
            _ => {}
        }
    }
    let mut text = message["role"].as_str().unwrap_or_default().to_owned();
    gather(message, &mut text);
    text
}

/// Times of a log that should not go back by more than requests overtake each other.
#[derive(Debug, Default)]
pub struct Steady {
    latest_ns: Option<i64>,
}

impl Steady {
    /// How far rows may be out of order: exporters write in batches.
    const OUT_OF_ORDER: Duration = Duration::from_secs(60);

    pub fn check(&mut self, time_ns: i64) -> Result<(), Fault> {
        let latest = self.latest_ns.unwrap_or(time_ns);
        let back = Duration::from_nanos(latest.saturating_sub(time_ns).max(0).unsigned_abs());
        if back > Self::OUT_OF_ORDER {
            let seconds = back.as_secs();
            return Err(Fault::ClockJump { seconds });
        }
        self.latest_ns = Some(latest.max(time_ns));
        Ok(())
    }

    /// The same for a request, which is logged when it ends.
    pub fn check_request(&mut self, request: &Logged) -> Result<(), Fault> {
        if request.end_ns.is_some_and(|end| end < request.start_ns) {
            return Err(Fault::EndsBeforeStart);
        }
        self.check(request.end_ns.unwrap_or(request.start_ns))
    }
}

/// Makes rows of a trace from the requests of a log.
pub struct Weaver<'a> {
    tokenizer: &'a dyn Tokenizer,
    block_tokens: u32,
    /// Numbers of blocks, by everything from the beginning of the prompt to their end.
    blocks: HashMap<u64, u64>,
    /// Requests by their whole prompts.
    prompts: HashMap<u64, usize>,
    counted: HashMap<u64, Arc<[u32]>>,
    counted_tokens: usize,
    woven: Vec<Woven>,
    unusable: Vec<u64>,
}

struct Woven {
    line: u64,
    start_ns: i64,
    end_ns: Option<i64>,
    input_tokens: u32,
    output_tokens: u32,
    blocks: Arc<[u64]>,
    session: Option<String>,
    run: Option<String>,
    /// The request whose prompt this one goes on from.
    before: Option<usize>,
}

/// Tokens of messages that are kept, since a conversation says them again and again.
const KEPT_TOKENS: usize = 16 << 20;

impl<'a> Weaver<'a> {
    pub fn new(tokenizer: &'a dyn Tokenizer, block_tokens: Option<u32>) -> Self {
        Weaver {
            tokenizer,
            block_tokens: block_tokens.unwrap_or(USUAL_BLOCK).max(1),
            blocks: HashMap::new(),
            prompts: HashMap::new(),
            counted: HashMap::new(),
            counted_tokens: 0,
            woven: Vec::new(),
            unusable: Vec::new(),
        }
    }

    /// Takes a request of the log, in its order.
    pub fn add(&mut self, line: u64, request: Logged) {
        let ids = match request.prompt {
            Said::Nothing => Vec::new(),
            Said::Tokens(ids) => ids,
            Said::Parts(parts) => {
                let mut ids = Vec::new();
                parts
                    .iter()
                    .for_each(|part| ids.extend_from_slice(&self.encoded(part)));
                ids
            }
        };
        let answered = match (request.output_tokens, &request.answer) {
            (Some(count), _) => tokens(count),
            (None, Some(answer)) => Some(self.tokenizer.count(answer)),
            (None, None) => None,
        };
        let counted = match ids.len() {
            0 => request.input_tokens.and_then(tokens),
            length => tokens(length as u64),
        };
        let (Some(input_tokens), Some(output_tokens)) =
            (counted.filter(|n| *n > 0), answered.filter(|n| *n > 0))
        else {
            self.unusable.push(line);
            return;
        };
        let (blocks, before) = self.blocks_of(&ids);
        self.woven.push(Woven {
            line,
            start_ns: request.start_ns,
            end_ns: request.end_ns,
            input_tokens,
            output_tokens,
            blocks,
            session: request.session,
            run: request.run,
            before,
        });
    }

    fn encoded(&mut self, text: &str) -> Arc<[u32]> {
        let name = name_of(text);
        if let Some(ids) = self.counted.get(&name) {
            return Arc::clone(ids);
        }
        let ids: Arc<[u32]> = self.tokenizer.encode(text).into();
        if self.counted_tokens > KEPT_TOKENS {
            self.counted.clear();
            self.counted_tokens = 0;
        }
        self.counted_tokens += ids.len();
        self.counted.insert(name, Arc::clone(&ids));
        ids
    }

    /// The whole blocks of a prompt, and the request with the longest prompt that it goes on from.
    fn blocks_of(&mut self, ids: &[u32]) -> (Arc<[u64]>, Option<usize>) {
        let (mut hash, mut before) = (0u64, None);
        let mut blocks = Vec::with_capacity(ids.len() / self.block_tokens as usize);
        for (place, id) in ids.iter().enumerate() {
            hash = (hash.rotate_left(23) ^ u64::from(*id) ^ 0x51_7c_c1)
                .wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let length = place + 1;
            if length < ids.len() {
                before = self.prompts.get(&hash).copied().or(before);
            }
            if length % self.block_tokens as usize == 0 {
                let next = self.blocks.len() as u64;
                blocks.push(*self.blocks.entry(hash).or_insert(next));
            }
        }
        if !ids.is_empty() {
            self.prompts.insert(hash, self.woven.len());
        }
        (blocks.into(), before)
    }

    /// The lines and rows in the order in which they were sent.
    pub fn finish(self) -> Vec<(u64, Reading)> {
        let mut order: Vec<usize> = (0..self.woven.len()).collect();
        order.sort_by_key(|place| self.woven[*place].start_ns);
        let first_ns = order.first().map_or(0, |place| self.woven[*place].start_ns);
        let mut sessions = Sessions::default();
        let mut rows = Vec::with_capacity(order.len());
        for place in order {
            let woven = &self.woven[place];
            let at_ns = woven.start_ns.saturating_sub(first_ns).unsigned_abs();
            let entry = Entry {
                time_ns: woven.start_ns,
                input_tokens: woven.input_tokens,
                output_tokens: woven.output_tokens,
                blocks: Arc::clone(&woven.blocks),
                block_tokens: self.block_tokens,
                link: Some(sessions.link(place, &self.woven)),
            };
            let row = entry.row(Duration::from_nanos(at_ns));
            rows.push((woven.line, Reading::Row(row)));
        }
        let unusable = self.unusable.into_iter();
        rows.extend(unusable.map(|line| (line, Reading::Unusable)));
        rows
    }
}

/// Sessions of a log, as its requests are gone through by their time.
#[derive(Default)]
struct Sessions {
    /// The session of each request so far.
    of: HashMap<usize, u64>,
    /// Of a session, when it began and the requests that a later one may have waited for.
    open: HashMap<u64, (i64, Vec<usize>)>,
}

impl Sessions {
    fn link(&mut self, place: usize, woven: &[Woven]) -> Link {
        let this = &woven[place];
        let named = this.session.as_deref().map(|name| name_of((1, name)));
        let before = this.before.filter(|before| self.of.contains_key(before));
        let run = this.run.as_deref().map(|name| name_of((2, name)));
        let session = named
            .or_else(|| before.and_then(|before| self.of.get(&before).copied()))
            .or(run)
            .unwrap_or_else(|| name_of((3, place)));
        self.of.insert(place, session);
        let (began, open) = (self.open.entry(session)).or_insert((this.start_ns, Vec::new()));
        let after = match before.filter(|_| named.is_none() && run.is_none()) {
            Some(before) => vec![before],
            None => waited_for(open, this.start_ns, woven),
        };
        open.push(place);
        let since =
            |from: i64| Duration::from_nanos(this.start_ns.saturating_sub(from).max(0) as u64);
        let ends: Option<Vec<i64>> = after.iter().map(|place| woven[*place].end_ns).collect();
        let ended = ends.and_then(|ends| ends.into_iter().max());
        let wait = match ended.filter(|end| *end <= this.start_ns) {
            Some(end) => Wait::SinceEnd(since(end)),
            None => {
                let starts = after.iter().map(|place| woven[*place].start_ns);
                Wait::SinceStart(since(starts.max().unwrap_or(*began)))
            }
        };
        Link {
            session,
            id: name_of(place),
            after: after.into_iter().map(name_of).collect(),
            wait,
        }
    }
}

/// The requests of a session that had ended when another was sent, but for those that one of them
/// has waited for already. What this leaves out is left out for all later ones, too.
fn waited_for(open: &mut Vec<usize>, start_ns: i64, woven: &[Woven]) -> Vec<usize> {
    let end = |place: &usize| woven[*place].end_ns.unwrap_or(woven[*place].start_ns);
    let has_ended = |place: &&usize| end(place) <= start_ns;
    let latest = (open.iter().filter(has_ended)).map(|place| woven[*place].start_ns);
    let latest = latest.max().unwrap_or(i64::MIN);
    open.retain(|place| end(place) > latest || woven[*place].start_ns >= latest);
    open.iter().filter(has_ended).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::row::{Row, RowContent};
    use crate::tokenizer::Bytes;

    fn request(start_s: i64, end_s: i64, parts: &[&str]) -> Logged {
        Logged {
            start_ns: start_s * 1_000_000_000,
            end_ns: Some(end_s * 1_000_000_000),
            prompt: Said::Parts(parts.iter().map(|part| part.to_string()).collect()),
            output_tokens: Some(5),
            ..Logged::default()
        }
    }

    fn woven(requests: Vec<Logged>) -> Vec<(Vec<u64>, Link)> {
        let mut weaver = Weaver::new(&Bytes, Some(4));
        for (line, request) in requests.into_iter().enumerate() {
            weaver.add(line as u64 + 1, request);
        }
        let of = |(_, reading): (u64, Reading)| match reading {
            Reading::Row(Row {
                content: RowContent::Lengths { blocks, link, .. },
                ..
            }) => (blocks.to_vec(), link.unwrap().as_ref().clone()),
            other => panic!("{other:?}"),
        };
        weaver.finish().into_iter().map(of).collect()
    }

    #[test]
    fn whole_blocks_from_the_beginning_on_are_the_same_where_the_text_is() {
        let rows = woven(vec![
            request(0, 1, &["systemquestion"]),
            request(1, 2, &["system", "question"]),
            request(2, 3, &["systemother"]),
            request(3, 4, &["xystemquestion"]),
        ]);
        assert_eq!(rows[0].0, [0, 1, 2]);
        assert_eq!(rows[1].0, [0, 1, 2]);
        assert_eq!(rows[2].0[0], 0);
        assert_ne!(rows[2].0[1], 1);
        assert!(rows[3].0.iter().all(|block| !rows[0].0.contains(block)));
    }

    #[test]
    fn a_request_that_goes_on_from_another_is_its_next_turn() {
        let rows = woven(vec![
            request(0, 2, &["hello"]),
            request(1, 3, &["other"]),
            request(7, 9, &["hello", "answer", "again"]),
            request(12, 13, &["hello", "answer", "again", "sure", "more"]),
        ]);
        let links: Vec<&Link> = rows.iter().map(|(_, link)| link).collect();
        assert_eq!(links[2].session, links[0].session);
        assert_eq!(*links[2].after, [links[0].id]);
        assert_eq!(links[2].wait, Wait::SinceEnd(Duration::from_secs(5)));
        assert_eq!(*links[3].after, [links[2].id]);
        assert_ne!(links[1].session, links[0].session);
    }

    #[test]
    fn in_a_named_session_times_say_what_ran_side_by_side() {
        let in_session = |start, end, text: &str| Logged {
            session: Some("s".to_owned()),
            ..request(start, end, &[text])
        };
        // One, then two beside each other, then one that waited for both.
        let rows = woven(vec![
            in_session(0, 2, "a"),
            in_session(3, 6, "b"),
            in_session(4, 9, "c"),
            in_session(10, 11, "d"),
        ]);
        let links: Vec<&Link> = rows.iter().map(|(_, link)| link).collect();
        assert_eq!(*links[1].after, [links[0].id]);
        assert_eq!(*links[2].after, [links[0].id]);
        assert_eq!(links[2].wait, Wait::SinceEnd(Duration::from_secs(2)));
        assert_eq!(*links[3].after, [links[1].id, links[2].id]);
        assert!(links.iter().all(|link| link.session == links[0].session));
    }

    #[test]
    fn a_clock_that_is_set_back_is_told_and_a_little_disorder_is_none() {
        let mut steady = Steady::default();
        let second = 1_000_000_000;
        assert_eq!(steady.check(100 * second), Ok(()));
        assert_eq!(steady.check(50 * second), Ok(()));
        assert_eq!(
            steady.check(-3_500 * second),
            Err(Fault::ClockJump { seconds: 3_600 })
        );
        assert_eq!(
            steady.check_request(&request(200, 199, &["a"])),
            Err(Fault::EndsBeforeStart)
        );
    }
}
