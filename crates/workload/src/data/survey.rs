//! A look through a whole data set: what is in it, how long, and what is wrong.
//!
//! Rows pass by and are not kept, so that the size of a file costs time but no memory.

use super::count::Counted;
use super::error::{DataError, KEPT_BYTES};
use super::filter::{FilteredOut, Filters, RowVerdict};
use super::format::Manner;
use super::format::reader::Reading;
use super::opened::{End, Opened, ReadRow};
use super::row::{Picked, Row, RowContent};
use super::sample::KeptRows;
use super::select::{BATCH_BYTES, BATCH_ROWS};
use super::source;
use super::text::{self, Piece};
use crate::survey::{Arrivals, BadLine, LengthCounts, Packing, RowCounts, SCHEMA, Survey};
use crate::tokenizer::{Tokenizer, count_all};
use inferometer_core::work::{DataFormat, DataSource, PromptLength};
use inferometer_text::hostile::printable;
use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

/// Bad rows that are listed with their reason; all are counted.
const BAD_ROWS_LISTED: usize = 20;
/// Prompts that are shown, and characters of each.
const FIRST_PROMPTS: usize = 3;
const FIRST_CHARS: usize = 200;
/// Length of the pieces into which a text is cut, as a run cuts it.
const PIECE: PromptLength = PromptLength::Chars(1000);

#[derive(Clone, Copy)]
pub struct Surveyor<'a> {
    pub data: &'a DataSource,
    /// Where the file is, be it as given or downloaded.
    pub path: &'a Path,
    /// Decides the order of shuffled rows.
    pub seed: u64,
    pub tokenizer: &'a dyn Tokenizer,
    pub tokenizer_given: bool,
    /// The caller of [`Surveyor::run`] wants every row, also in a drawn order.
    pub all_rows: bool,
}

/// A row that a run could send.
#[derive(Clone, Copy, Debug)]
pub struct Taken<'a> {
    pub row: &'a Row,
    /// The line where it begins.
    pub line: u64,
    /// Tokens of its answer: as the data ask, else those of the first answer in the data.
    pub output_tokens: Option<u32>,
}

impl Surveyor<'_> {
    /// Looks through the data. Each usable row is passed to `each`, in the order in which a run
    /// would send it; `read` is called now and then with the number of rows read.
    pub fn run<E: From<DataError>>(
        &self,
        mut each: impl FnMut(Taken<'_>) -> Result<(), E>,
        mut read: impl FnMut(u64),
    ) -> Result<Survey, E> {
        let (mut rows, format, packing, filters) = self.open()?;
        let trace = format.is_trace();
        if self.data.shuffle && trace {
            let path = self.path.to_owned();
            return Err(DataError::ShuffledTrace { path }.into());
        }
        let mut found = Found::new(self);
        loop {
            let (batch, ended) = self.batch(&mut rows, found.rows.seen)?;
            found.partial |= matches!(ended, Some(End::Limit));
            let stop = found.add(batch, &filters, trace, &mut each)?;
            read(found.rows.seen);
            if ended.is_some() || stop {
                break;
            }
        }
        found.finish(self, format, packing, each)
    }

    fn open(&self) -> Result<(Rows, DataFormat, Packing, Filters), DataError> {
        let data = self.data;
        if data.format == Some(DataFormat::Text) {
            let source =
                source::open(self.path).map_err(|error| DataError::unreadable(self.path, error));
            let (source, packing) = source?;
            let length = data.max_prompt.unwrap_or(PIECE);
            let tokenizer = Some(self.tokenizer);
            let (pieces, _) = text::pieces_of(self.path, source, length, data.limit, tokenizer)?;
            let rows = Rows::Pieces(pieces.into_iter());
            return Ok((rows, DataFormat::Text, packing, Filters::default()));
        }
        let opened = Opened::open(
            self.path,
            data.format,
            Manner {
                field: data.field.as_deref(),
                block_tokens: data.block_tokens,
                tokenizer: Some(self.tokenizer),
            },
        )?;
        let (format, packing) = (opened.format(), opened.packing());
        let filters = Filters::new(data, format.is_trace(), true)?;
        Ok((Rows::Read(Box::new(opened)), format, packing, filters))
    }

    /// The next rows, whose tokens are counted together.
    fn batch(&self, rows: &mut Rows, seen: u64) -> Result<(Vec<ReadRow>, Option<End>), DataError> {
        let (mut batch, mut bytes) = (Vec::with_capacity(BATCH_ROWS), 0);
        while batch.len() < BATCH_ROWS && bytes < BATCH_BYTES {
            if (self.data.limit).is_some_and(|limit| seen + batch.len() as u64 >= limit) {
                return Ok((batch, Some(End::Limit)));
            }
            let Some(row) = rows.next()? else {
                return Ok((batch, Some(End::OfFile)));
            };
            if let Ok(Reading::Row(row)) = &row.reading {
                bytes += row.held_bytes();
            }
            batch.push(row);
        }
        Ok((batch, None))
    }
}

enum Rows {
    Read(Box<Opened>),
    Pieces(std::vec::IntoIter<Piece>),
}

impl Rows {
    fn next(&mut self) -> Result<Option<ReadRow>, DataError> {
        match self {
            Rows::Read(opened) => opened.next_row(),
            Rows::Pieces(pieces) => Ok(pieces.next().map(ReadRow::from)),
        }
    }
}

struct Found<'a> {
    surveyor: &'a Surveyor<'a>,
    rows: RowCounts,
    filtered: FilteredOut,
    bad: Vec<BadLine>,
    partial: bool,
    prompt_chars: LengthCounts,
    prompt_tokens: LengthCounts,
    output_tokens: LengthCounts,
    turns: LengthCounts,
    times: Times,
    /// Requests of each session of a trace.
    sessions: HashMap<u64, u64>,
    first_prompts: Vec<String>,
    /// Rows that are to be put into another order.
    shuffled: Option<KeptRows>,
}

impl<'a> Found<'a> {
    fn new(surveyor: &'a Surveyor<'a>) -> Self {
        let kept = (!surveyor.all_rows).then_some(FIRST_PROMPTS as u64);
        let shuffle = surveyor.data.shuffle;
        Found {
            surveyor,
            rows: RowCounts::default(),
            filtered: FilteredOut::default(),
            bad: Vec::new(),
            partial: false,
            prompt_chars: LengthCounts::default(),
            prompt_tokens: LengthCounts::default(),
            output_tokens: LengthCounts::default(),
            turns: LengthCounts::default(),
            times: Times::default(),
            sessions: HashMap::new(),
            first_prompts: Vec::new(),
            shuffled: shuffle.then(|| KeptRows::new(kept, Some(surveyor.seed))),
        }
    }

    /// Takes some rows; true once no more are needed.
    fn add<E: From<DataError>>(
        &mut self,
        batch: Vec<ReadRow>,
        filters: &Filters,
        trace: bool,
        each: &mut impl FnMut(Taken<'_>) -> Result<(), E>,
    ) -> Result<bool, E> {
        let mut tokens = if trace {
            Vec::new()
        } else {
            count(&batch, self.surveyor.tokenizer)
        }
        .into_iter();
        for ReadRow { line, reading } in batch {
            self.rows.seen += 1;
            let mut row = match reading {
                Ok(Reading::Row(row)) => row,
                Ok(_) => {
                    self.rows.unusable += 1;
                    continue;
                }
                Err(fault) => {
                    self.rows.bad += 1;
                    if self.bad.len() < BAD_ROWS_LISTED {
                        let reason = fault.to_string();
                        self.bad.push(BadLine { line, reason });
                    }
                    continue;
                }
            };
            let tokens = tokens.next().unwrap_or_default();
            let counted = Counted {
                prompt: tokens.prompts.first().copied(),
                reference: tokens.answers.first().copied(),
            };
            match filters.judge(&mut row, counted) {
                RowVerdict::Take => {}
                RowVerdict::Skip(count) => {
                    *count(&mut self.filtered) += 1;
                    continue;
                }
                RowVerdict::End => {
                    self.rows.seen -= 1;
                    return Ok(true);
                }
            }
            self.measure(&row, &tokens);
            let output_tokens = row.output_tokens.or(counted.reference);
            match &mut self.shuffled {
                Some(kept) => {
                    kept.offer(Picked {
                        row,
                        line,
                        prompt_tokens: counted.prompt,
                        reference_tokens: output_tokens,
                        turns: Box::default(),
                    });
                    if kept.bytes() > KEPT_BYTES {
                        let path = self.surveyor.path.to_owned();
                        return Err(DataError::TooLargeToShuffle { path }.into());
                    }
                }
                None => {
                    self.show(&row);
                    each(Taken {
                        row: &row,
                        line,
                        output_tokens,
                    })?;
                }
            }
        }
        Ok(false)
    }

    /// Counts the lengths of a usable row.
    fn measure(&mut self, row: &Row, tokens: &Tokens) {
        self.rows.usable += 1;
        if let RowContent::Lengths {
            at,
            input_tokens,
            link,
            ..
        } = &row.content
        {
            self.prompt_tokens.add(u64::from(*input_tokens));
            self.times.add(*at);
            if let Some(link) = link {
                *self.sessions.entry(link.session).or_default() += 1;
            }
        } else {
            for text in prompts(row) {
                self.prompt_chars.add(text.chars().count() as u64);
            }
        }
        if let RowContent::Turns(turns) = &row.content {
            self.turns.add(turns.len() as u64);
        }
        let lengths = |tokens: &[u32], counts: &mut LengthCounts| {
            tokens
                .iter()
                .for_each(|&tokens| counts.add(u64::from(tokens)));
        };
        lengths(&tokens.prompts, &mut self.prompt_tokens);
        match row.output_tokens {
            Some(asked) => self.output_tokens.add(u64::from(asked)),
            None => lengths(&tokens.answers, &mut self.output_tokens),
        }
    }

    fn show(&mut self, row: &Row) {
        if self.first_prompts.len() < FIRST_PROMPTS
            && !matches!(row.content, RowContent::Lengths { .. })
        {
            let text = row.content.prompt_text();
            // Blanks are collapsed; of a long text its beginning is enough.
            let begin = text.chars().take(FIRST_CHARS * 4).collect::<String>();
            let words = begin.split_whitespace().collect::<Vec<_>>().join(" ");
            self.first_prompts.push(printable(&words, FIRST_CHARS));
        }
    }

    fn finish<E: From<DataError>>(
        mut self,
        surveyor: &Surveyor<'_>,
        format: DataFormat,
        packing: Packing,
        mut each: impl FnMut(Taken<'_>) -> Result<(), E>,
    ) -> Result<Survey, E> {
        if let Some(mut kept) = self.shuffled.take() {
            for picked in kept.take_rows() {
                self.show(&picked.row);
                if surveyor.all_rows {
                    each(Taken {
                        row: &picked.row,
                        line: picked.line,
                        output_tokens: picked.reference_tokens,
                    })?;
                }
            }
        }
        for requests in self.sessions.values() {
            self.turns.add(*requests);
        }
        if self.rows.seen == 0 {
            let path = surveyor.path.to_owned();
            return Err(DataError::Empty { path }.into());
        }
        let FilteredOut {
            too_short,
            too_long,
            by_filter,
            ..
        } = self.filtered;
        Ok(Survey {
            schema: SCHEMA.to_owned(),
            location: surveyor.data.location.clone(),
            format,
            format_given: surveyor.data.format.is_some(),
            packing,
            rows: RowCounts {
                too_short,
                too_long,
                by_filter,
                ..self.rows
            },
            partial: self.partial,
            bad_rows: self.bad,
            tokenizer: (!format.is_trace() || format.is_log())
                .then(|| surveyor.tokenizer.name().to_owned()),
            tokenizer_given: surveyor.tokenizer_given,
            prompt_chars: self.prompt_chars.lengths(),
            prompt_tokens: self.prompt_tokens.lengths(),
            output_tokens: self.output_tokens.lengths(),
            turns: self.turns.lengths(),
            arrivals: self.times.arrivals().filter(|_| format.has_clock()),
            first_prompts: self.first_prompts,
        })
    }
}

/// Tokens of the texts of a row, in their order.
#[derive(Clone, Debug, Default)]
struct Tokens {
    prompts: Vec<u32>,
    answers: Vec<u32>,
}

/// What a user says in a row: once, or in every turn.
fn prompts(row: &Row) -> Vec<Cow<'_, str>> {
    match &row.content {
        RowContent::Turns(turns) => turns.iter().map(|turn| (&*turn.user).into()).collect(),
        content => vec![content.prompt_text()],
    }
}

fn answers(row: &Row) -> Vec<&str> {
    match &row.content {
        RowContent::Turns(turns) => (turns.iter())
            .filter_map(|turn| turn.answer.as_deref())
            .collect(),
        _ => row.reference.as_deref().into_iter().collect(),
    }
}

/// Counts the texts of all sound rows on all cores.
fn count(batch: &[ReadRow], tokenizer: &dyn Tokenizer) -> Vec<Tokens> {
    let rows = || {
        batch.iter().filter_map(|row| match &row.reading {
            Ok(Reading::Row(row)) => Some(row),
            _ => None,
        })
    };
    let mut texts: Vec<Cow<'_, str>> = Vec::new();
    for row in rows() {
        texts.extend(prompts(row));
        texts.extend(answers(row).into_iter().map(Cow::from));
    }
    let mut counts = count_all(&texts, tokenizer).into_iter();
    rows()
        .map(|row| Tokens {
            prompts: counts.by_ref().take(prompts(row).len()).collect(),
            answers: counts.by_ref().take(answers(row).len()).collect(),
        })
        .collect()
}

/// Times of a trace that passes by.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    first: Option<Duration>,
    last: Duration,
    gaps: u64,
    /// Mean gap in seconds, and the sum of squared differences from it.
    mean: f64,
    squares: f64,
}

impl Times {
    fn add(&mut self, at: Duration) {
        if self.first.is_none() {
            self.first = Some(at);
        } else {
            self.gaps += 1;
            let gap = at.saturating_sub(self.last).as_secs_f64();
            let off = gap - self.mean;
            self.mean += off / self.gaps as f64;
            self.squares += off * (gap - self.mean);
        }
        self.last = at;
    }

    fn arrivals(&self) -> Option<Arrivals> {
        let span_s = self.last.saturating_sub(self.first?).as_secs_f64();
        let spread = (self.squares / self.gaps.saturating_sub(1) as f64).sqrt();
        Some(Arrivals {
            span_s,
            per_s: (span_s > 0.0).then(|| self.gaps as f64 / span_s),
            gap_variation: (self.gaps > 1 && self.mean > 0.0).then(|| spread / self.mean),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::file;
    use crate::tokenizer::Bytes;

    fn source(format: Option<DataFormat>) -> DataSource {
        DataSource {
            location: "data".to_owned(),
            format,
            ..DataSource::default()
        }
    }

    fn surveyed(text: &str, data: &DataSource) -> (Survey, Vec<String>) {
        let file = file(text);
        let surveyor = Surveyor {
            data,
            path: file.path(),
            seed: 1,
            tokenizer: &Bytes,
            tokenizer_given: true,
            all_rows: true,
        };
        let mut prompts = Vec::new();
        let survey = surveyor.run(
            |taken| {
                prompts.push(taken.row.content.prompt_text().into_owned());
                Ok::<_, DataError>(())
            },
            |_| {},
        );
        (survey.unwrap(), prompts)
    }

    #[test]
    fn every_row_is_accounted_for_and_a_bad_one_does_not_end_the_look() {
        let text = "{\"prompt\":\"abcd\",\"output_tokens\":9}\n{\"prompt\":\"ab\n{\"prompt\":\" \"}\n{\"prompt\":\"abcdefgh\"}\n{\"prompt\":\"好好好好\"}\n";
        let mut data = source(None);
        data.max_prompt = Some(PromptLength::Chars(6));
        let (survey, prompts) = surveyed(text, &data);
        assert_eq!(prompts, ["abcd", "好好好好"]);
        let rows = survey.rows;
        assert_eq!((rows.seen, rows.usable, rows.unusable), (5, 2, 1));
        assert_eq!((rows.bad, rows.too_long), (1, 1));
        assert_eq!(survey.bad_rows[0].line, 2);
        assert_eq!(survey.prompt_chars.unwrap().max, 4);
        assert_eq!(survey.prompt_tokens.unwrap().max, 12);
        assert_eq!(survey.output_tokens.unwrap().n, 1);
    }

    #[test]
    fn a_trace_has_arrivals_and_lengths_and_no_characters() {
        let row = |at: u64, input: u64| {
            format!("{{\"timestamp\":{at},\"input_length\":{input},\"output_length\":2}}\n")
        };
        let text = [row(0, 10), row(1000, 20), row(4000, 30)].concat();
        let (survey, _) = surveyed(&text, &source(Some(DataFormat::Mooncake)));
        let arrivals = survey.arrivals.unwrap();
        assert_eq!((arrivals.span_s, arrivals.per_s), (4.0, Some(0.5)));
        // Gaps of 1 s and 3 s: mean 2, deviation √2.
        assert!((arrivals.gap_variation.unwrap() - 0.5f64.sqrt()).abs() < 1e-9);
        assert_eq!(survey.prompt_tokens.unwrap().mean, 20.0);
        assert_eq!((survey.prompt_chars, survey.tokenizer), (None, None));
    }

    #[test]
    fn all_turns_of_a_conversation_are_measured() {
        let text = r#"{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"bcd"},{"role":"user","content":"ef"}]}"#;
        let (survey, _) = surveyed(text, &source(Some(DataFormat::Conversations)));
        let tokens = survey.prompt_tokens.unwrap();
        assert_eq!((tokens.n, tokens.min, tokens.max), (2, 1, 2));
        assert_eq!(survey.turns.unwrap().max, 2);
        assert_eq!(survey.output_tokens.unwrap().max, 3);
    }

    #[test]
    fn shuffled_rows_come_all_and_in_the_seed_s_order() {
        let text: String = (0..50).map(|row| format!("row {row}\n")).collect();
        let mut data = source(None);
        data.shuffle = true;
        let (survey, mut prompts) = surveyed(&text, &data);
        assert_eq!(survey.first_prompts, prompts[..3]);
        assert!(!prompts.is_sorted());
        prompts.sort();
        prompts.dedup();
        assert_eq!(prompts.len(), 50);
    }
}
