//! Shows the requests of a run to its probe.

use super::objectives::Watched;
use super::over::Over;
use crate::error::RunnerError;
use inferometer_campaign::capacity::{ObservedRequest, Probe, Step};
use inferometer_core::record::Record;
use inferometer_store::run_dir::RunDir;

pub struct ProbeWatcher {
    pub probe: Probe,
    pub over: Over,
    pub watched: Watched,
    /// When requests ended, in order, to know how many were under way.
    pub ends: Vec<u64>,
}

impl ProbeWatcher {
    pub fn observe(&mut self, record: &Record) -> Step {
        if !record.is_measured() {
            return Step::Continue;
        }
        let sent = record.sent.map_or(u64::MAX, |sent| sent.0);
        let ended_before = self.ends.partition_point(|&end| end <= sent) as u64;
        let end = record.end.map_or(sent, |end| end.0);
        let place = self.ends.partition_point(|&other| other <= end);
        self.ends.insert(place, end);
        self.probe.observe(ObservedRequest {
            order: record.index,
            sent_s: (record.sent)
                .filter(|_| self.over == Over::Rate)
                .map(|sent| sent.0 as f64 * 1e-9),
            in_flight: (record.index + 1).saturating_sub(ended_before),
            ttft_s: record
                .ttft()
                .filter(|_| record.is_done())
                .map(|ttft| ttft.as_secs_f64()),
            within: &self.watched.within(record),
        })
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
