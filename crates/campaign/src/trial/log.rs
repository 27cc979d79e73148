//! `trials.jsonl`: proposals and endings in the order in which they happened, the only truth of
//! a study. A line is written whole or not at all, and has a checksum; a last line that a kill cut
//! off is dropped.

use super::record::{Ending, Proposal, Trial};
use crate::space::RefusedValue;
use inferometer_core::summed_json::{SumCheck, end_object};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};

pub const FORM: &str = "inferometer.trials/1";
/// Longest line that is read: a summary has some ten kilobytes.
const LONGEST_LINE: u64 = 64 << 20;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Header {
    /// `inferometer.trials/1`.
    pub form: String,
    /// The study's text, so that another one is not continued by mistake.
    pub study: String,
    /// Logs of earlier versions do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bed: Option<Bed>,
}

/// Where a study runs, and what of its space can be tried there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Bed {
    /// Nothing is started: trials are computed on the simulated engine.
    pub computed: bool,
    pub engine: String,
    /// The engine's version, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The name of its cards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Cards that the command uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cards: Option<u64>,
    /// Values of the space that the engine takes with no others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<RefusedValue>,
    /// Points of the space that the engine takes, where they could be counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub legal_points: Option<u64>,
}

impl Header {
    pub fn new(study: &str, bed: Option<Bed>) -> Self {
        Header {
            form: FORM.to_owned(),
            study: study.to_owned(),
            bed,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Event {
    Study(Header),
    /// A trial is about to start.
    Proposed(Proposal),
    Ended {
        id: u64,
        #[serde(flatten)]
        ending: Ending,
    },
    /// Nothing was left to start.
    Complete {
        trials: u64,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct TrialLog {
    pub header: Header,
    /// Trials that ended, in the order of their ends.
    pub trials: Vec<Trial>,
    /// Trials that were proposed and did not end: they were under way when the study was
    /// killed, and are to be run again.
    pub pending: Vec<Proposal>,
    /// The study came to its end.
    pub complete: bool,
    /// Bytes of whole lines. Whoever goes on writing cuts the file here first.
    pub whole_bytes: u64,
}

/// Why a file cannot be read as a log of trials.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    #[error("the trials cannot be read: {0}")]
    Io(#[from] io::Error),
    #[error("this is not a log of trials: it must begin with a line of the form {FORM}")]
    NoHeader,
    #[error(
        "the trials have the form '{0}', and this version reads {FORM}; use the version that wrote them"
    )]
    OtherForm(String),
    #[error(
        "line {line} of the trials is damaged ({why}); the lines before it are intact: cut the file there to go on"
    )]
    Damaged {
        /// Counted from 1.
        line: u64,
        why: String,
    },
}

/// Writes one line, whole: the caller flushes it to disk.
pub fn append(mut writer: impl Write, event: &Event) -> io::Result<()> {
    let mut line = serde_json::to_vec(event)?;
    end_object(&mut line, 0);
    writer.write_all(&line)?;
    writer.flush()
}

impl TrialLog {
    /// Reads what there is. `None` for an empty file, also for one whose first line was cut off.
    pub fn read(mut reader: impl BufRead) -> Result<Option<Self>, LogError> {
        let mut log: Option<TrialLog> = None;
        let mut proposed: BTreeMap<u64, Proposal> = BTreeMap::new();
        let (mut text, mut whole_bytes, mut line) = (Vec::new(), 0, 0);
        let mut check = SumCheck::default();
        loop {
            text.clear();
            line += 1;
            let count = io::Read::take(&mut reader, LONGEST_LINE).read_until(b'\n', &mut text)?;
            let damaged = |why: String| LogError::Damaged { line, why };
            if !text.ends_with(b"\n") {
                if count as u64 >= LONGEST_LINE {
                    return Err(damaged("too long".to_owned()));
                }
                break; // the end, or what a kill left of a line
            }
            whole_bytes += count as u64;
            if !check.passes(&mut text) {
                return Err(damaged("its checksum is wrong or missing".to_owned()));
            }
            let event: Result<Event, _> = serde_json::from_slice(&text);
            let Some(log) = &mut log else {
                let Ok(Event::Study(header)) = event else {
                    return Err(LogError::NoHeader);
                };
                if header.form != FORM {
                    return Err(LogError::OtherForm(header.form));
                }
                log = Some(TrialLog {
                    header,
                    trials: Vec::new(),
                    pending: Vec::new(),
                    complete: false,
                    whole_bytes: 0,
                });
                continue;
            };
            match event.map_err(|error| damaged(error.to_string()))? {
                Event::Study(_) => return Err(damaged("a second beginning".to_owned())),
                Event::Proposed(proposal) => {
                    let ended = log
                        .trials
                        .iter()
                        .any(|trial| trial.proposal.id == proposal.id);
                    if ended || proposed.contains_key(&proposal.id) {
                        return Err(damaged(format!("trial {} is proposed twice", proposal.id)));
                    }
                    proposed.insert(proposal.id, proposal);
                    log.complete = false;
                }
                Event::Complete { .. } => log.complete = true,
                Event::Ended { id, ending } => {
                    let Some(proposal) = proposed.remove(&id) else {
                        return Err(damaged(format!("trial {id} ends and was not proposed")));
                    };
                    log.trials.push(Trial { proposal, ending });
                }
            }
        }
        Ok(log.map(|log| TrialLog {
            pending: proposed.into_values().collect(),
            whole_bytes,
            ..log
        }))
    }

    pub fn next_id(&self) -> u64 {
        let ended = self.trials.iter().map(|trial| trial.proposal.id);
        let all = ended.chain(self.pending.iter().map(|proposal| proposal.id));
        all.max().map_or(0, |id| id.saturating_add(1))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Level, Measurement, Origin, State};
    use super::*;
    use crate::space::{Point, Value};
    use proptest::prelude::*;

    fn proposal(id: u64) -> Proposal {
        let flags: Point = [("max-num-seqs", Value::Int(16 << id))]
            .into_iter()
            .collect();
        Proposal {
            id,
            origin: if id == 0 {
                Origin::Default
            } else {
                Origin::Search
            },
            point: flags.clone(),
            flags,
            implied: None,
            repaired: None,
        }
    }

    fn written() -> (Vec<u8>, Vec<Event>) {
        let measured = Measurement {
            load: Level::Concurrency(64),
            summary: serde_json::json!({"throughput": {"output_tokens_per_s": 1234.5}}),
            seconds: Some(60.0),
        };
        let crashed = Ending::failed(
            State::Crashed,
            "no-room-for-kv-cache",
            Some("ValueError".into()),
        );
        let events = vec![
            Event::Study(Header::new("[engine]", None)),
            Event::Proposed(proposal(0)),
            Event::Proposed(proposal(1)),
            Event::Ended {
                id: 1,
                ending: crashed,
            },
            Event::Proposed(proposal(2)),
            Event::Ended {
                id: 0,
                ending: Ending::done(vec![measured]),
            },
        ];
        let mut bytes = Vec::new();
        for event in &events {
            append(&mut bytes, event).unwrap();
        }
        (bytes, events)
    }

    #[test]
    fn a_log_reads_back_with_what_was_under_way() {
        let (bytes, _) = written();
        let log = TrialLog::read(&bytes[..]).unwrap().unwrap();
        let ids: Vec<u64> = log.trials.iter().map(|trial| trial.proposal.id).collect();
        assert_eq!(ids, [1, 0]);
        assert_eq!(
            log.trials[0].ending.class.as_deref(),
            Some("no-room-for-kv-cache")
        );
        let figure = log.trials[1].ending.measurements[0].figure("throughput.output_tokens_per_s");
        assert_eq!(figure, Some(1234.5));
        assert_eq!(log.pending, [proposal(2)]);
        assert_eq!((log.next_id(), log.whole_bytes), (3, bytes.len() as u64));
    }

    #[test]
    fn a_log_cut_anywhere_is_what_was_written_whole_before() {
        let (bytes, events) = written();
        for cut in 0..=bytes.len() {
            let read = TrialLog::read(&bytes[..cut]).unwrap();
            let whole = bytes[..cut].iter().filter(|&&byte| byte == b'\n').count();
            let seen = read.map_or(0, |log| {
                assert!(bytes[..log.whole_bytes as usize].ends_with(b"\n"));
                1 + 2 * log.trials.len() + log.pending.len()
            });
            assert_eq!(seen, whole.min(events.len()), "cut at {cut}");
        }
    }

    #[test]
    fn no_flipped_bit_becomes_another_trial() {
        let (bytes, _) = written();
        let known = TrialLog::read(&bytes[..]).unwrap();
        for bit in 0..(bytes.len() - 1) * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            if let Ok(read) = TrialLog::read(&flipped[..]) {
                assert_eq!(read, known, "bit {bit}");
            }
        }
    }

    #[test]
    fn a_log_of_a_version_without_checksums_is_read() {
        let (bytes, events) = written();
        let lines = events
            .iter()
            .map(|event| serde_json::to_string(event).unwrap() + "\n");
        let old: String = lines.collect();
        let read = TrialLog::read(old.as_bytes()).unwrap().unwrap();
        assert_eq!(
            read.trials,
            TrialLog::read(&bytes[..]).unwrap().unwrap().trials
        );
    }

    #[test]
    fn other_files_are_refused_with_the_reason() {
        let message = |text: &str| TrialLog::read(text.as_bytes()).unwrap_err().to_string();
        assert!(message("{\"a\":1}\n").contains(FORM));
        assert!(
            message("{\"study\":{\"form\":\"inferometer.trials/2\",\"study\":\"\"}}\n")
                .contains("trials/2")
        );
        let (mut bytes, _) = written();
        let second = bytes.iter().position(|&byte| byte == b'\n').unwrap() + 1;
        bytes[second] = b'#';
        assert!(message(&String::from_utf8(bytes).unwrap()).contains("line 2"));
        assert!(TrialLog::read(&b""[..]).unwrap().is_none());
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let (mut all, _) = written();
            let _ = TrialLog::read(&bytes[..]);
            all.extend(bytes);
            let _ = TrialLog::read(&all[..]);
        }
    }
}
