//! Sessions of coding agents: a row is a session, its requests follow each other, and sub-agents
//! run beside them.

use super::reader::{Reader, Reading};
use super::trace::{Entry, name_of, nanoseconds, tokens};
use crate::data::error::Fault;
use crate::data::object::from_json;
use crate::data::row::{Link, Row};
use inferometer_core::work::Wait;
use serde::Deserialize;
use std::time::Duration;

/// Tokens of a block where the session does not say it.
const BLOCK: u32 = 64;

#[derive(Debug)]
pub struct Agentic {
    block_tokens: Option<u32>,
    /// Sessions read so far: they may have no name, or the same.
    sessions: u64,
}

#[derive(Deserialize)]
struct Session {
    block_size: Option<u32>,
    /// `global` where equal ids are equal text in all sessions, `local` within one; else within
    /// the agent.
    hash_id_scope: Option<String>,
    requests: Vec<Step>,
}

/// A request, or a sub-agent with requests of its own.
#[derive(Deserialize)]
struct Step {
    /// Seconds since the session, or its sub-agent, began.
    #[serde(default)]
    t: f64,
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default, rename = "in")]
    input: u64,
    #[serde(default)]
    out: u64,
    #[serde(default)]
    hash_ids: Vec<u64>,
    api_time: Option<f64>,
    think_time: Option<f64>,
    duration_ms: Option<f64>,
    #[serde(default)]
    requests: Vec<Step>,
}

/// A request that others may wait for.
#[derive(Clone, Copy)]
struct Sent {
    id: u64,
    at_ns: i64,
    end_ns: Option<i64>,
}

/// The rows of a session, made one by one.
struct Walk {
    session: u64,
    block_tokens: u32,
    global: bool,
    /// Each sub-agent has ids of its own.
    apart: bool,
    agents: u64,
    rows: Vec<Row>,
}

impl Agentic {
    pub fn new(block_tokens: Option<u32>) -> Self {
        Agentic {
            block_tokens,
            sessions: 0,
        }
    }
}

impl Reader for Agentic {
    fn read(&mut self, row: &str) -> Result<Reading, Fault> {
        let session: Session = from_json(row)?;
        let scope = session.hash_id_scope.as_deref();
        let stated = session.block_size.filter(|tokens| *tokens > 0);
        let mut walk = Walk {
            session: self.sessions,
            block_tokens: self.block_tokens.or(stated).unwrap_or(BLOCK),
            global: scope == Some("global"),
            apart: !matches!(scope, Some("global" | "local")),
            agents: 0,
            rows: Vec::new(),
        };
        self.sessions += 1;
        walk.chain(&session.requests, 0, &[])?;
        Ok(match walk.rows.len() {
            0 => Reading::Unusable,
            _ => Reading::Rows(walk.rows),
        })
    }
}

impl Walk {
    /// The requests of an agent that begins after others have ended; its last one.
    fn chain(
        &mut self,
        steps: &[Step],
        base_ns: i64,
        before: &[Sent],
    ) -> Result<Option<Sent>, Fault> {
        let agent = self.agents;
        self.agents += 1;
        let (mut last, mut own) = (before.to_vec(), None);
        // Sub-agents that go on beside.
        let mut beside: Vec<Sent> = Vec::new();
        for step in steps {
            let at_ns = base_ns.saturating_add(time(step.t, SECOND, "t")?);
            if step.kind == "subagent" {
                if let Some(mut done) = self.chain(&step.requests, at_ns, &last)? {
                    if let Some(lasted) = step.duration_ms {
                        let lasted = time(lasted, MILLISECOND, "duration_ms")?;
                        done.end_ns = Some(at_ns.saturating_add(lasted));
                    }
                    beside.push(done);
                }
                continue;
            }
            let wrong = |field: &str| Fault::WrongType {
                field: field.to_owned(),
                wanted: "a possible number of tokens",
            };
            let input_tokens = tokens(step.input).ok_or_else(|| wrong("in"))?;
            let output_tokens = tokens(step.out).ok_or_else(|| wrong("out"))?;
            if input_tokens == 0 || output_tokens == 0 {
                continue;
            }
            // What had ended by then was waited for; the rest was not.
            let has_ended = |sent: &Sent| sent.end_ns.is_none_or(|end| end <= at_ns);
            let joined = beside.extract_if(.., |sent| has_ended(sent));
            let joined: Vec<Sent> = joined.collect();
            let alone = joined.is_empty() && own.is_some();
            last.extend(joined);
            let wait = match step.think_time.filter(|_| alone) {
                Some(think) => {
                    let think = time(think, SECOND, "think_time")?;
                    Wait::SinceEnd(Duration::from_nanos(think.unsigned_abs()))
                }
                None => wait_since(&last, at_ns),
            };
            let id = name_of((self.session, self.rows.len()));
            let entry = Entry {
                time_ns: at_ns,
                input_tokens,
                output_tokens,
                blocks: step
                    .hash_ids
                    .iter()
                    .map(|id| self.block(agent, *id))
                    .collect(),
                block_tokens: self.block_tokens,
                link: Some(Link {
                    session: self.session,
                    id,
                    after: last.iter().map(|sent| sent.id).collect(),
                    wait,
                }),
            };
            self.rows
                .push(entry.row(Duration::from_nanos(at_ns.unsigned_abs())));
            let lasted = step.api_time.map(|span| time(span, SECOND, "api_time"));
            let sent = Sent {
                id,
                at_ns,
                end_ns: lasted.transpose()?.map(|span| at_ns.saturating_add(span)),
            };
            last = vec![sent];
            own = Some(sent);
        }
        Ok(own)
    }

    fn block(&self, agent: u64, id: u64) -> u64 {
        match (self.global, self.apart) {
            (true, _) => id,
            (false, true) => name_of((self.session, agent, id)),
            (false, false) => name_of((self.session, id)),
        }
    }
}

/// How long a request waited for those before it.
fn wait_since(before: &[Sent], at_ns: i64) -> Wait {
    let since = |from: i64| Duration::from_nanos(at_ns.saturating_sub(from).max(0) as u64);
    let ends: Option<Vec<i64>> = before.iter().map(|sent| sent.end_ns).collect();
    match ends.and_then(|ends| ends.into_iter().max()) {
        Some(end) => Wait::SinceEnd(since(end)),
        None => match before.iter().map(|sent| sent.at_ns).max() {
            Some(start) => Wait::SinceStart(since(start)),
            None => Wait::SinceEnd(Duration::ZERO),
        },
    }
}

const SECOND: u32 = 1_000_000_000;
const MILLISECOND: u32 = 1_000_000;

fn time(number: f64, unit_ns: u32, field: &str) -> Result<i64, Fault> {
    nanoseconds(number, unit_ns).ok_or_else(|| Fault::WrongType {
        field: field.to_owned(),
        wanted: "a time, 0 or later",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::row::RowContent;

    fn links(session: &str) -> Vec<Link> {
        let Ok(Reading::Rows(rows)) = Agentic::new(None).read(session) else {
            panic!("{session} is a session");
        };
        let link = |row: Row| match row.content {
            RowContent::Lengths { link, .. } => link.unwrap().as_ref().clone(),
            other => panic!("{other:?}"),
        };
        rows.into_iter().map(link).collect()
    }

    #[test]
    fn sub_agents_run_beside_and_are_waited_for_if_they_had_ended() {
        let found = links(
            r#"{"id":"s","block_size":64,"requests":[
            {"t":0,"type":"n","in":100,"out":9,"hash_ids":[1,2],"api_time":2,"think_time":0},
            {"t":3,"type":"subagent","duration_ms":5000,"requests":[
                {"t":0,"type":"n","in":50,"out":4,"hash_ids":[1],"api_time":1},
                {"t":2,"type":"n","in":60,"out":4,"hash_ids":[1],"api_time":3,"think_time":1}]},
            {"t":3,"type":"subagent","duration_ms":60000,"requests":[
                {"t":0,"type":"n","in":50,"out":4,"hash_ids":[1],"api_time":50}]},
            {"t":9,"type":"s","in":200,"out":9,"hash_ids":[1,2,3],"api_time":2,"think_time":7}]}"#,
        );
        let ids: Vec<u64> = found.iter().map(|link| link.id).collect();
        let wait = |seconds| Wait::SinceEnd(Duration::from_secs(seconds));
        let seen: Vec<(&[u64], Wait)> =
            found.iter().map(|link| (&*link.after, link.wait)).collect();
        let expected: [(&[u64], Wait); 5] = [
            (&[], wait(0)),
            (&[ids[0]], wait(1)),
            (&[ids[1]], wait(1)),
            (&[ids[0]], wait(1)),
            (&[ids[0], ids[2]], wait(1)),
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn ids_of_blocks_mean_the_same_only_where_the_session_says_so() {
        let blocks = |scope: &str| {
            let mut reader = Agentic::new(None);
            let session = format!(
                r#"{{"hash_id_scope":"{scope}","requests":[{{"t":0,"in":64,"out":1,"hash_ids":[7]}},{{"t":1,"type":"subagent","requests":[{{"t":0,"in":64,"out":1,"hash_ids":[7]}}]}}]}}"#
            );
            let mut of_rows = Vec::new();
            for _ in 0..2 {
                let Ok(Reading::Rows(rows)) = reader.read(&session) else {
                    panic!("{session}");
                };
                of_rows.extend(rows.into_iter().map(|row| match row.content {
                    RowContent::Lengths { blocks, .. } => blocks[0],
                    other => panic!("{other:?}"),
                }));
            }
            let first = of_rows[0];
            of_rows
                .into_iter()
                .map(|id| id == first)
                .collect::<Vec<bool>>()
        };
        assert_eq!(blocks("global"), [true, true, true, true]);
        assert_eq!(blocks("local"), [true, true, false, false]);
        assert_eq!(blocks("per_context"), [true, false, false, false]);
    }

    #[test]
    fn times_before_the_session_are_bad() {
        let bad = r#"{"requests":[{"t":-1,"in":3,"out":1}]}"#;
        assert!(Agentic::new(None).read(bad).is_err());
        let empty = r#"{"requests":[]}"#;
        assert_eq!(Agentic::new(None).read(empty), Ok(Reading::Unusable));
    }
}
