//! Rules for which rows are taken.

use super::count::Counted;
use super::error::DataError;
use super::row::{Row, RowContent};
use inferometer_core::work::{DataSource, Filter, PromptLength};
use std::time::Duration;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Filters {
    filter: Option<Filter>,
    min_prompt: Option<PromptLength>,
    max_prompt: Option<PromptLength>,
    from: Duration,
    to: Option<Duration>,
    /// Tokens must be counted before it is known whether a row is taken.
    pub by_tokens: bool,
}

/// Rows that were not taken, by the rule that they fell to first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FilteredOut {
    /// Prompts below `--min-prompt`.
    pub too_short: u64,
    /// Prompts above `--max-prompt`.
    pub too_long: u64,
    /// Rows against `--filter`.
    pub by_filter: u64,
    /// Rows of a trace before its window, and those of sessions after it.
    pub outside_window: u64,
}

impl FilteredOut {
    pub fn total(&self) -> u64 {
        self.too_short + self.too_long + self.by_filter + self.outside_window
    }
}

pub(super) enum RowVerdict {
    Take,
    /// Not taken, and counted in this field.
    Skip(fn(&mut FilteredOut) -> &mut u64),
    /// Neither this row nor any after it.
    End,
}

impl Filters {
    /// The rules that a user gives; refused if they need a tokenizer and there is none. A trace
    /// needs none, as it says how long its prompts are.
    pub fn new(data: &DataSource, trace: bool, tokenizer: bool) -> Result<Self, DataError> {
        let window = &data.window;
        let mut filters = Filters {
            filter: data.filter,
            min_prompt: data.min_prompt,
            max_prompt: data.max_prompt,
            from: window.from.0,
            to: window
                .length
                .map(|length| window.from.0.saturating_add(length.0)),
            by_tokens: false,
        };
        let asked = filters.asks_for_tokens();
        filters.by_tokens = asked.is_some() && !trace;
        match asked {
            Some(asked) if !trace && !tokenizer => Err(DataError::NoTokenizer { asked }),
            _ => Ok(filters),
        }
    }

    fn asks_for_tokens(&self) -> Option<String> {
        if let Some(filter) = self.filter {
            return Some(format!("--filter {filter}"));
        }
        [
            ("--min-prompt", self.min_prompt),
            ("--max-prompt", self.max_prompt),
        ]
        .into_iter()
        .find_map(|(option, length)| match length {
            Some(PromptLength::Tokens(tokens)) => Some(format!("{option} {tokens}")),
            _ => None,
        })
    }

    /// Judges a row. One of a trace within the window is moved so that the window begins at 0.
    pub fn judge(&self, row: &mut Row, counted: Counted) -> RowVerdict {
        let mut tokens = counted.prompt;
        if let RowContent::Lengths {
            at,
            input_tokens,
            link,
            ..
        } = &mut row.content
        {
            if self.to.is_some_and(|to| *at >= to) {
                // Sessions may lie one after the other in the file.
                return match link {
                    Some(_) => RowVerdict::Skip(|out| &mut out.outside_window),
                    None => RowVerdict::End,
                };
            }
            match at.checked_sub(self.from) {
                Some(since) => *at = since,
                None => return RowVerdict::Skip(|out| &mut out.outside_window),
            }
            tokens = Some(*input_tokens);
        }
        let length = |limit: PromptLength| match limit {
            PromptLength::Tokens(limit) => (tokens.map(u64::from), u64::from(limit)),
            PromptLength::Chars(limit) => {
                let chars = row.content.prompt_text().chars().count() as u64;
                (Some(chars), u64::from(limit))
            }
        };
        let breaks = |limit: Option<PromptLength>, wrong: fn(&u64, &u64) -> bool| matches!(limit.map(length), Some((Some(length), limit)) if wrong(&length, &limit));
        if breaks(self.min_prompt, u64::lt) {
            RowVerdict::Skip(|out| &mut out.too_short)
        } else if breaks(self.max_prompt, u64::gt) {
            RowVerdict::Skip(|out| &mut out.too_long)
        } else if self.filter.is_some_and(|filter| {
            let output = row.output_tokens.or(counted.reference);
            !passes(filter, tokens, output)
        }) {
            RowVerdict::Skip(|out| &mut out.by_filter)
        } else {
            RowVerdict::Take
        }
    }

    /// How many rows fell to which rule, for a message.
    pub fn describe(&self, out: &FilteredOut) -> Vec<String> {
        let length = |limit: Option<PromptLength>| limit.map(|l| l.to_string()).unwrap_or_default();
        let filter = self.filter.map(|filter| filter.to_string());
        [
            (
                out.too_short,
                format!("shorter than --min-prompt {}", length(self.min_prompt)),
            ),
            (
                out.too_long,
                format!("longer than --max-prompt {}", length(self.max_prompt)),
            ),
            (
                out.by_filter,
                format!("against --filter {}", filter.unwrap_or_default()),
            ),
            (
                out.outside_window,
                "outside the window of the trace".to_owned(),
            ),
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, rule)| format!("{count} {rule}"))
        .collect()
    }
}

/// A filter can judge only lengths that are known.
fn passes(filter: Filter, prompt: Option<u32>, output: Option<u32>) -> bool {
    match filter {
        Filter::Vllm => {
            let together = prompt.unwrap_or(0).saturating_add(output.unwrap_or(0));
            prompt.is_none_or(|prompt| (4..=1024).contains(&prompt))
                && output.is_none_or(|output| output >= 4)
                && together <= 2048
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_keeps_what_vllm_keeps() {
        for (prompt, output, kept) in [
            (4, 4, true),
            (3, 4, false),
            (4, 3, false),
            (1024, 1024, true),
            (1024, 1025, false),
            (1025, 4, false),
        ] {
            assert_eq!(passes(Filter::Vllm, Some(prompt), Some(output)), kept);
        }
        assert!(passes(Filter::Vllm, Some(5), None));
    }
}
