//! vLLM's log of requests (`--enable-log-requests`, with `--enable-log-outputs` for the answers).

use super::logged::{LogReader, Logged, Said, Steady};
use crate::data::error::Fault;
use jiff::civil::DateTime;
use std::collections::HashMap;

#[derive(Debug, Default)]
pub struct VllmLog {
    clock: Steady,
    /// Requests that wait for their answers, by their ids, and in the order they came.
    open: HashMap<String, (u64, Logged)>,
    seen: u64,
}

/// A line of this log tells of a request.
pub fn is_request(line: &str) -> bool {
    line.contains("Received request ") && line.contains("params: ") && time(line).is_some()
}

impl LogReader for VllmLog {
    fn read(&mut self, line: &str) -> Result<Vec<Logged>, Fault> {
        let after = |what: &str| line.split_once(what).map(|(_, rest)| rest);
        if let Some(said) = after("Received request ") {
            let time_ns = self.time(line)?;
            let Some((id, said)) = said.split_once(": ") else {
                return Ok(Vec::new());
            };
            let limit = said
                .split_once("max_tokens=")
                .and_then(|(_, rest)| number(rest));
            let request = Logged {
                start_ns: time_ns,
                prompt: prompt(said),
                output_tokens: limit,
                ..Logged::default()
            };
            self.seen += 1;
            self.open.insert(id.to_owned(), (self.seen, request));
        } else if let Some((id, said)) =
            after("Request ").and_then(|said| said.split_once(" details: "))
        {
            if let Some((_, request)) = self.open.get_mut(id) {
                request.prompt = prompt(said);
            }
        } else if let Some(said) = after("Generated response ") {
            let time_ns = self.time(line)?;
            let id = said.split([' ', ':']).next().unwrap_or_default();
            // Pieces of a stream come before the whole.
            if said.contains("(streaming delta)") {
                return Ok(Vec::new());
            }
            if let Some((_, mut request)) = self.open.remove(id) {
                request.end_ns = Some(time_ns);
                let ids = said
                    .split_once("output_token_ids: ")
                    .and_then(|(_, ids)| list(ids));
                let answer = said
                    .split_once("output: ")
                    .and_then(|(_, text)| quoted(text));
                request.output_tokens = ids.map(|ids| ids.len() as u64);
                if request.output_tokens.is_none() {
                    request.answer = answer;
                }
                return Ok(vec![request]);
            }
        }
        Ok(Vec::new())
    }

    fn finish(&mut self) -> Vec<Logged> {
        let mut open: Vec<(u64, Logged)> = self.open.drain().map(|(_, open)| open).collect();
        open.sort_by_key(|(place, _)| *place);
        open.into_iter().map(|(_, request)| request).collect()
    }
}

impl VllmLog {
    fn time(&mut self, line: &str) -> Result<i64, Fault> {
        let time_ns = time(line).ok_or_else(|| Fault::NoTime("the line".to_owned()))?;
        self.clock.check(time_ns)?;
        Ok(time_ns)
    }
}

/// `INFO 11-17 05:13:48 [logger.py:43] …`: month and day, no year.
fn time(line: &str) -> Option<i64> {
    let mut words = line.split_whitespace();
    words.find(|word| matches!(*word, "INFO" | "DEBUG"))?;
    let (day, time) = (words.next()?, words.next()?);
    // Any year that has a 29th of February.
    let time: DateTime = format!("2000-{day} {time}").parse().ok()?;
    let time = jiff::tz::Offset::UTC.to_timestamp(time).ok()?;
    i64::try_from(time.as_nanosecond()).ok()
}

fn prompt(said: &str) -> Said {
    let ids = said
        .split_once("prompt_token_ids: ")
        .and_then(|(_, ids)| list(ids));
    match ids {
        Some(ids) => Said::Tokens(ids),
        None => {
            let text = said
                .split_once("prompt: ")
                .and_then(|(_, text)| quoted(text));
            text.map_or(Said::Nothing, |text| Said::Parts(vec![text]))
        }
    }
}

fn number(text: &str) -> Option<u64> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    text[..end].parse().ok()
}

/// `[1, 2, 3]`; none where it is something else, or empty.
fn list(text: &str) -> Option<Vec<u32>> {
    let (inside, _) = text.strip_prefix('[')?.split_once(']')?;
    let ids: Option<Vec<u32>> = inside.split(',').map(|id| id.trim().parse().ok()).collect();
    ids.filter(|ids| !ids.is_empty())
}

/// A text as Python writes it, with its quotes and escapes.
fn quoted(text: &str) -> Option<String> {
    let mut chars = text.chars();
    let quote = chars.next().filter(|c| matches!(c, '\'' | '"'))?;
    let mut out = String::new();
    loop {
        match chars.next()? {
            c if c == quote => return Some(out),
            '\\' => match chars.next()? {
                'n' => out.push('\n'),
                't' => out.push('\t'),
                'r' => out.push('\r'),
                form @ ('x' | 'u' | 'U') => {
                    let length = match form {
                        'x' => 2,
                        'u' => 4,
                        _ => 8,
                    };
                    let digits: String = chars.by_ref().take(length).collect();
                    let code = u32::from_str_radix(&digits, 16).ok();
                    out.push(
                        code.and_then(char::from_u32)
                            .unwrap_or(char::REPLACEMENT_CHARACTER),
                    );
                }
                other => out.push(other),
            },
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECEIVED: &str = "(APIServer pid=1) INFO 11-17 05:13:48 [logger.py:43] Received request chatcmpl-1: prompt: '<|user|>it\\'s\\n\\u4f60', params: SamplingParams(n=1, max_tokens=90, min_tokens=0), prompt_token_ids: None, lora_request: None.";

    #[test]
    fn prompts_limits_and_answers_are_found() {
        assert!(is_request(RECEIVED));
        let mut log = VllmLog::default();
        assert_eq!(log.read(RECEIVED), Ok(Vec::new()));
        assert_eq!(
            log.read("INFO:     Started server process [1]"),
            Ok(Vec::new())
        );
        let answered = "INFO 11-17 05:13:50 [logger.py:71] Generated response chatcmpl-1 (streaming complete): output: 'fine', output_token_ids: [5, 6, 7], finish_reason: stop";
        let request = log.read(answered).unwrap().remove(0);
        assert_eq!(
            request.prompt,
            Said::Parts(vec!["<|user|>it's\n你".to_owned()])
        );
        assert_eq!(request.output_tokens, Some(3));
        assert_eq!(request.end_ns.unwrap() - request.start_ns, 2_000_000_000);
        assert_eq!(log.finish(), []);
    }

    #[test]
    fn without_an_answer_the_limit_stands_for_its_length() {
        let mut log = VllmLog::default();
        log.read(RECEIVED).unwrap();
        let left = log.finish();
        assert_eq!((left[0].output_tokens, left[0].end_ns), (Some(90), None));
    }

    #[test]
    fn newer_releases_tell_the_prompt_in_a_line_of_its_own() {
        let mut log = VllmLog::default();
        log.read("DEBUG 11-17 05:13:48 [logger.py:50] Received request cmpl-2: params: SamplingParams(max_tokens=3), lora_request: None.").unwrap();
        log.read("DEBUG 11-17 05:13:48 [logger.py:44] Request cmpl-2 details: prompt: 'a b', prompt_token_ids: [4, 5], prompt_embeds shape: None.").unwrap();
        assert_eq!(log.finish()[0].prompt, Said::Tokens(vec![4, 5]));
    }
}
