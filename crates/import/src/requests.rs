//! Requests that a tool tells one by one, as records: the lists that `vllm bench serve
//! --save-detailed` and SGLang's `--output-details` add to their figures.

use crate::result::ImportedResult;
use inferometer_core::record::{BareChunk, BareKind, Chunks, Outcome, Record, Usage};
use inferometer_core::units::Offset;
use serde_json::Value;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::time::Duration;

/// Largest share by which the streams of a closed loop may have been busy for longer or shorter
/// than the tool says that it ran: else its requests did not follow each other.
const OFF_BY: f64 = 0.1;

/// Times of one answer, in seconds.
struct Answer<'a> {
    started: Option<f64>,
    ttft: f64,
    gaps: Vec<f64>,
    whole: f64,
    input: Option<u32>,
    output: Option<u32>,
    error: &'a str,
}

impl ImportedResult {
    /// Its answers, where the tool tells them one by one and it is known when each began: because
    /// it says so, or because the streams of a closed loop take the next request as soon as they
    /// are free.
    pub fn answers(&self) -> Option<Vec<Record>> {
        let summary = self.summary.as_ref()?;
        let answers = listed(&summary.other)?;
        let starts: Option<Vec<f64>> = answers.iter().map(|answer| answer.started).collect();
        let starts = starts.or_else(|| {
            let is_paced = self.point.get("rate").is_some_and(|rate| rate != "inf");
            let streams = summary.concurrency.configured.filter(|_| !is_paced)?;
            one_after_another(&answers, streams, summary.window_s?)
        })?;
        let first = starts.iter().copied().fold(f64::INFINITY, f64::min);
        let records = answers.iter().zip(starts).zip(0..);
        let records = records.filter(|((answer, _), _)| answer.error.is_empty());
        let records = records.map(|((answer, start), index)| answer.record(index, start - first));
        records.collect()
    }
}

/// Requests of lists of one length; absent where they are not such.
fn listed(other: &BTreeMap<String, Value>) -> Option<Vec<Answer<'_>>> {
    let list = |name: &str| other.get(name).and_then(Value::as_array);
    let (ttfts, itls) = (list("ttfts")?, list("itls")?);
    let count = ttfts.len();
    let of = |name: &str| list(name).filter(|list| list.len() == count);
    let (outputs, errors) = (of("output_lens")?, of("errors")?);
    let (inputs, starts, wholes) = (of("input_lens"), of("start_times"), of("latencies"));
    if itls.len() != count || count == 0 {
        return None;
    }
    let number = |list: Option<&Vec<Value>>, at: usize| list?[at].as_f64();
    let tokens = |list: Option<&Vec<Value>>, at: usize| u32::try_from(list?[at].as_u64()?).ok();
    let answer = |at: usize| {
        let ttft = ttfts[at].as_f64()?;
        let gaps: Option<Vec<f64>> = itls[at].as_array()?.iter().map(Value::as_f64).collect();
        let gaps = gaps?;
        let received = ttft + gaps.iter().sum::<f64>();
        Some(Answer {
            started: number(starts, at),
            ttft,
            whole: number(wholes, at).unwrap_or(received).max(received),
            gaps,
            input: tokens(inputs, at),
            output: tokens(Some(outputs), at),
            error: errors[at].as_str().unwrap_or_default(),
        })
    };
    (0..count).map(answer).collect()
}

/// When the requests of a closed loop began that takes them in their order; absent where its
/// streams were not as busy as that.
fn one_after_another(answers: &[Answer<'_>], streams: u64, window_s: f64) -> Option<Vec<f64>> {
    let streams = usize::try_from(streams).ok()?.min(answers.len());
    let mut free: BinaryHeap<Reverse<Offset>> =
        std::iter::repeat_n(Reverse(Offset::default()), streams).collect();
    let mut last = Offset::default();
    let mut starts = Vec::with_capacity(answers.len());
    for answer in answers {
        let Reverse(start) = free.pop()?;
        let end = start + seconds(answer.whole)?;
        starts.push(start.as_duration().as_secs_f64());
        last = last.max(end);
        free.push(Reverse(end));
    }
    let off = last.as_duration().as_secs_f64() / window_s - 1.0;
    (off.abs() <= OFF_BY).then_some(starts)
}

fn seconds(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).ok()
}

impl Answer<'_> {
    fn record(&self, index: u64, start_s: f64) -> Option<Record> {
        let sent = Offset::after(seconds(start_s)?);
        let first = sent + seconds(self.ttft)?;
        let end = sent + seconds(self.whole)?;
        let streamed = !self.gaps.is_empty();
        let mut at = Vec::with_capacity(self.gaps.len() + 1);
        if streamed {
            at.push(first);
            let mut last = first;
            for gap in &self.gaps {
                last = last + seconds(*gap)?;
                at.push(last);
            }
        }
        Some(Record {
            index,
            sent: Some(sent),
            chunks: Chunks {
                same_read: vec![false; at.len()],
                at,
                tokens: None,
            },
            bare: vec![BareChunk {
                at: end,
                kind: BareKind::Finish,
            }],
            end: Some(end),
            outcome: Outcome::Done,
            usage: Some(Usage {
                input: self.input,
                output: self.output,
                cached: None,
            }),
            streamed,
            ..Record::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::read::read;
    use inferometer_core::record::Record;
    use serde_json::json;

    fn answers(change: impl Fn(&mut serde_json::Value)) -> Option<Vec<Record>> {
        let mut saved = json!({
            "num_prompts": 4, "completed": 4, "failed": 0, "duration": 0.5, "max_concurrency": 2,
            "request_rate": "inf", "request_throughput": 8.0, "mean_ttft_ms": 100.0,
            "ttfts": [0.1, 0.1, 0.1, 0.1],
            "itls": [[0.1, 0.1], [0.05, 0.05], [0.1, 0.1], [0.05, 0.05]],
            "input_lens": [7, 7, 7, 7], "output_lens": [3, 3, 3, 3], "errors": ["", "", "", ""],
        });
        change(&mut saved);
        read("saved.json", &saved.to_string()).results[0].answers()
    }

    fn millis(answers: &[Record]) -> Vec<(u64, u128)> {
        let of = |it: &Record| {
            (
                it.sent.unwrap().0 / 1_000_000,
                it.e2e().unwrap().as_millis(),
            )
        };
        answers.iter().map(of).collect()
    }

    #[test]
    fn streams_of_a_closed_loop_take_one_request_after_another() {
        let found = answers(|_| ()).unwrap();
        assert_eq!(millis(&found), [(0, 300), (0, 200), (200, 300), (300, 200)]);
        assert_eq!(found[0].ttft().unwrap().as_millis(), 100);
        assert_eq!(found[0].tpot().unwrap().as_millis(), 100);
        assert_eq!(found[1].input_tokens(), Some(7));
    }

    #[test]
    fn starts_that_are_told_are_taken_and_what_failed_is_left_out() {
        let found = answers(|saved| {
            saved["start_times"] = json!([1000.0, 1000.1, 1000.2, 1000.3]);
            saved["errors"] = json!(["", "gone", "", ""]);
            saved["request_rate"] = json!(10.0);
        });
        assert_eq!(millis(&found.unwrap()), [(0, 300), (200, 300), (300, 200)]);
    }

    #[test]
    fn lists_that_do_not_say_when_requests_began_are_none() {
        // Arrivals of a rate that nobody wrote down, streams that were idle, lists of two lengths.
        assert_eq!(answers(|saved| saved["request_rate"] = json!(10.0)), None);
        assert_eq!(answers(|saved| saved["duration"] = json!(5.0)), None);
        assert_eq!(answers(|saved| saved["errors"] = json!([""])), None);
        assert_eq!(
            answers(|saved| saved["ttfts"] = json!([-1.0, 0.1, 0.1, 0.1])),
            None
        );
    }
}
