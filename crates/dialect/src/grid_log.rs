//! The log of the length-grid study: text in pieces of so many characters, put into a template
//! that asks for so many, at one concurrency a block of lines.
//!
//! Labels, Chinese ones included, and the numbers of source lines in the prefix are the log's
//! own, so that what greps such logs still works. Its definitions, worked out from the figures
//! of a real extract:
//!
//! - `duration`: the clock at the end minus the clock at the begin, each cut to whole seconds
//!   (10:37:31.15 to 11:07:05.99 is printed as 1774 and not 1775). All rates divide by it.
//! - `n-request`: answers that were kept; failures and cut answers are not in it, though
//!   `总测试文本块数目` counts every piece that was planned. 143 of 500 in the extract.
//! - `QPS`: n-request / duration.
//! - `prompt-tokens/second`, `completion-tokens/second`, `prompt-chars/second`,
//!   `completion-chars/second`: totals over the kept answers / duration. Prompts are counted
//!   with their template: 4,027 characters a prompt for pieces of 4,000.
//! - `completion tokens per request`: total completion tokens / n-request.
//! - `tokens-speed-per-request/second`: the mean over kept answers of completion tokens / time
//!   of the request. The extract cannot tell this from the total of tokens over the total of
//!   times (the answers that were thrown away took a third of the streams' time in it); the
//!   label names the request.
//!
//! The log knows no percentile and no TTFT. Tokens that nobody counted are 0, as in a tool that
//! adds up what it has.

use crate::object::Object;
use crate::python::Real;
use crate::{DialectError, Source, input_tokens, latency, start, successes};
use inferometer_core::record::Record;
use inferometer_core::work::{PromptLength, PromptSource};
use jiff::civil::DateTime;
use serde_json::Value;

#[derive(Clone, Debug, PartialEq)]
pub struct Numbers {
    began: DateTime,
    ended: DateTime,
    /// Lengths of pieces and of wanted answers; absent for other work.
    chunk_size: Option<u32>,
    generate_size: Option<u32>,
    pieces: u64,
    concurrency: Option<u32>,
    duration: u64,
    prompt_tokens: u64,
    completion_tokens: u64,
    prompt_chars: u64,
    completion_chars: u64,
    requests: u64,
    /// Mean of completion tokens over time, of each answer.
    speed: f64,
}

/// The run's numbers as the log would have had them. Its tool divides by the answers and by
/// whole seconds, and breaks off where there are none.
pub fn measure(source: &Source<'_>) -> Result<Numbers, DialectError> {
    let records = source.measured();
    let done = successes(&records, "grid-log")?;
    let begin = records.iter().map(|record| start(record)).min();
    let end = records
        .iter()
        .filter_map(|record| record.end.max(record.completed()))
        .max();
    let began = source.wall_time(begin.unwrap_or_default());
    let ended = source.wall_time(end.unwrap_or_default());
    let duration = whole_seconds(began, ended);
    if duration == 0 {
        return Err(DialectError::NoSecond("grid-log"));
    }
    let (chunk_size, generate_size) = match &source.scenario.work.prompts {
        PromptSource::Continuation(spec) => match spec.piece {
            PromptLength::Chars(length) | PromptLength::Tokens(length) => {
                (Some(length), Some(spec.ask_chars))
            }
        },
        PromptSource::Text(_) | PromptSource::Data(_) | PromptSource::Synthetic(_) => (None, None),
    };
    let total = |count: fn(&Record) -> u64| {
        let counts = done.iter().map(|record| count(record));
        counts.fold(0, u64::saturating_add)
    };
    Ok(Numbers {
        began,
        ended,
        chunk_size,
        generate_size,
        pieces: source.ending.planned,
        concurrency: source.max_concurrency(),
        duration,
        prompt_tokens: total(|record| u64::from(input_tokens(record))),
        completion_tokens: total(|record| u64::from(record.output_tokens().unwrap_or(0))),
        prompt_chars: total(|record| record.input_chars),
        completion_chars: total(|record| record.output_chars),
        requests: done.len() as u64,
        speed: done.iter().map(|record| speed(record)).sum::<f64>() / done.len() as f64,
    })
}

fn speed(record: &Record) -> f64 {
    match latency(record).as_secs_f64() {
        0.0 => 0.0,
        took => f64::from(record.output_tokens().unwrap_or(0)) / took,
    }
}

fn whole_seconds(from: DateTime, to: DateTime) -> u64 {
    let cut = |time: DateTime| time.with().subsec_nanosecond(0).build().unwrap_or(time);
    let seconds = cut(to).duration_since(cut(from)).as_secs();
    u64::try_from(seconds).unwrap_or(0)
}

/// A length that the log has and other work may not.
fn known(value: Option<u32>) -> String {
    value.map_or("None".to_owned(), |value| value.to_string())
}

impl Numbers {
    /// Numbers of lines, their labels, and what is told.
    fn rows(&self) -> [(u32, &'static str, Value); 12] {
        let rate = |amount: u64| Value::from(amount as f64 / self.duration as f64);
        let tokens_per_request = self.completion_tokens as f64 / self.requests as f64;
        [
            (243, "总测试文本块数目", self.pieces.into()),
            (244, "并发", self.concurrency.into()),
            (46, "duration", self.duration.into()),
            (47, "prompt-tokens/second", rate(self.prompt_tokens)),
            (48, "completion-tokens/second", rate(self.completion_tokens)),
            (49, "prompt-chars/second", rate(self.prompt_chars)),
            (50, "completion-chars/second", rate(self.completion_chars)),
            (51, "total completion tokens", self.completion_tokens.into()),
            (
                52,
                "completion tokens per request",
                tokens_per_request.into(),
            ),
            (53, "n-request", self.requests.into()),
            (54, "QPS", rate(self.requests)),
            (
                55,
                "tokens-speed-per-request/second(终端用户视角)",
                self.speed.into(),
            ),
        ]
    }

    pub fn text(&self) -> String {
        let mut log = Log(String::new());
        let (chunk, generate) = (known(self.chunk_size), known(self.generate_size));
        let sizes = format!("chunk_size: {chunk}, generate_size: {generate}");
        log.line(self.began, 261, &sizes);
        let rows = self.rows();
        let (first, rest) = rows.split_at(2);
        let sizes = [
            (245, "单个文本块长度", chunk.into()),
            (246, "生成文本长度", generate.into()),
        ];
        for (number, label, value) in first.iter().chain(&sizes).chain(rest) {
            log.line(self.ended, *number, &format!("{label}: {}", printed(value)));
        }
        // What the log's own function returned.
        log.line(self.ended, 247, "None");
        log.line(self.ended, 248, &"-".repeat(120));
        log.0
    }

    /// The same by the log's labels, one line of JSON.
    pub fn json(&self) -> String {
        let mut object = Object::default();
        object.put("chunk_size", self.chunk_size);
        object.put("generate_size", self.generate_size);
        for (_, label, value) in self.rows() {
            object.put(label, value);
        }
        object.finished()
    }
}

/// As the log's Python prints it.
fn printed(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::String(text) => text.clone(),
        value if value.is_f64() => Real(value.as_f64().unwrap_or_default()).to_string(),
        value => value.to_string(),
    }
}

/// What stands before the text of the last line of a log.
pub(super) fn line_begin(log: &str) -> &str {
    const LEVEL: &str = "[INFO] ";
    let last = log.lines().next_back().unwrap_or_default();
    let end = last.find(LEVEL).map_or(0, |at| at + LEVEL.len());
    &last[..end]
}

struct Log(String);

impl Log {
    /// `[2023-12-20 10:06:56,483][53][INFO] n-request: 143`.
    fn line(&mut self, at: DateTime, number: u32, text: &str) {
        let time = at.strftime("%Y-%m-%d %H:%M:%S");
        let millis = at.millisecond();
        self.0
            .push_str(&format!("[{time},{millis:03}][{number}][INFO] {text}\n"));
    }
}
