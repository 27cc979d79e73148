//! Shows the requests of a run to its probe.

use super::objectives::{Counted, Watched};
use super::over::Over;
use super::sessions::Sessions;
use crate::error::RunnerError;
use inferometer_campaign::capacity::{ObservedRequest, Probe, Step};
use inferometer_core::record::Record;
use inferometer_core::units::Offset;
use inferometer_store::run_dir::RunDir;
use std::time::Duration;

pub struct ProbeWatcher {
    pub probe: Probe,
    pub over: Over,
    pub watched: Watched,
    /// When requests or sessions ended, in order, to know how many were under way.
    pub ends: Vec<u64>,
    pub sessions: Sessions,
}

/// A request or a session that has ended.
struct Ended {
    order: u64,
    sent: Option<Offset>,
    end: Option<Offset>,
    waited: Option<Duration>,
    within: Vec<bool>,
}

impl ProbeWatcher {
    pub fn observe(&mut self, record: &Record) -> Step {
        let Some(ended) = self.ended(record) else {
            return Step::Continue;
        };
        let sent = ended.sent.map_or(u64::MAX, |sent| sent.0);
        let ended_before = self.ends.partition_point(|&end| end <= sent) as u64;
        let end = ended.end.map_or(sent, |end| end.0);
        let place = self.ends.partition_point(|&other| other <= end);
        self.ends.insert(place, end);
        self.probe.observe(ObservedRequest {
            order: ended.order,
            sent_s: (ended.sent)
                .filter(|_| self.over == Over::Rate)
                .map(|sent| sent.0 as f64 * 1e-9),
            in_flight: (ended.order + 1).saturating_sub(ended_before),
            ttft_s: ended.waited.map(|waited| waited.as_secs_f64()),
            within: &ended.within,
        })
    }

    /// What is over with this request and counts.
    fn ended(&mut self, record: &Record) -> Option<Ended> {
        if !record.is_measured() {
            return None;
        }
        match self.watched.counted {
            Counted::Requests => Some(Ended {
                order: record.index,
                sent: record.sent,
                end: record.end,
                waited: record.ttft().filter(|_| record.is_done()),
                within: self.watched.within(record),
            }),
            Counted::Sessions => {
                let session = self.sessions.add(record)?;
                Some(Ended {
                    order: session.number,
                    sent: session.sent,
                    end: Some(session.ended),
                    waited: session.waited,
                    within: self.watched.session_within(&session),
                })
            }
        }
    }

    /// What was sent of what counts, in a run of so many requests.
    pub fn sent(&self, requests: u64) -> u64 {
        match self.watched.counted {
            Counted::Requests => requests,
            Counted::Sessions => self.sessions.begun,
        }
    }

    /// Shows the records of a computed run until enough is known; the requests that were sent
    /// by then, if it was.
    pub fn review(&mut self, directory: &RunDir) -> Result<Option<u64>, RunnerError> {
        let records: Vec<Record> = directory.records()?.collect::<Result<_, _>>()?;
        for record in &records {
            if let Step::Stop(_) = self.observe(record) {
                let now = record.end;
                let measured = records.iter().filter(|other| other.is_measured());
                let sent = measured.filter(|other| other.sent <= now).count();
                return Ok(Some(sent as u64));
            }
        }
        Ok(None)
    }
}
