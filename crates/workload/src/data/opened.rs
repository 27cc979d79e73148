//! A data set that is being read: its rows in order, each with its line and meaning.

use super::detect;
use super::error::{DataError, Fault};
use super::format::logged::Weaver;
use super::format::reader::{Reader, Reading};
use super::format::{Manner, log_reader, reader};
use super::head::{head_of, shape_of};
use super::rows::{Rows, Shape};
use super::source::{self, Source};
use crate::survey::Packing;
use crate::tokenizer;
use inferometer_core::work::DataFormat;
use inferometer_core::work::TokenizerName;
use std::collections::VecDeque;
use std::io::{Chain, Cursor, Read};
use std::path::{Path, PathBuf};

/// An open data set. The file is read once and in order, so that it may be a pipe.
pub struct Opened {
    path: PathBuf,
    format: DataFormat,
    packing: Packing,
    rows: Rows<Chain<Cursor<Vec<u8>>, Source>>,
    reader: Box<dyn Reader>,
    /// Rows that were read before their turn: those of a session, or all of a log.
    ahead: VecDeque<ReadRow>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadRow {
    /// The line where it begins, counted from 1.
    pub line: u64,
    pub reading: Result<Reading, Fault>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// There was no further row.
    OfFile,
    /// The run needs no more.
    Enough,
    /// No more were to be looked at.
    Limit,
    /// The part of the trace that was asked for is over.
    Window,
    /// Any more would fill the memory.
    Memory,
}

impl Opened {
    /// Opens a file; without a format, finds it out.
    pub fn open(
        path: &Path,
        format: Option<DataFormat>,
        manner: Manner<'_>,
    ) -> Result<Self, DataError> {
        let (source, packing) =
            source::open(path).map_err(|error| DataError::unreadable(path, error))?;
        let opened = Self::of_source(path, source, format, manner)?;
        Ok(Opened { packing, ..opened })
    }

    /// The data set in a stream; `path` is what messages call it.
    pub(super) fn of_source(
        path: &Path,
        mut source: Source,
        format: Option<DataFormat>,
        manner: Manner<'_>,
    ) -> Result<Self, DataError> {
        let head = head_of(&mut source).map_err(|error| DataError::unreadable(path, error))?;
        let format = match format {
            Some(format) => format,
            None => detect::format_of(path, &head, manner.field)?,
        };
        let json = detect::holds_json(&head);
        let shape = match format {
            DataFormat::BurstGpt | DataFormat::Azure => Shape::Csv,
            DataFormat::Line | DataFormat::VllmLog if !json => Shape::Lines,
            _ => shape_of(&head),
        };
        let mut opened = Opened {
            path: path.to_owned(),
            format,
            packing: Packing::Plain,
            rows: Rows::new(Cursor::new(head).chain(source), shape),
            reader: reader(format, manner, json),
            ahead: VecDeque::new(),
        };
        opened.read_log(manner)?;
        Ok(opened)
    }

    /// Reads all of a log, if it is one: its requests are in order of their ends, and only all of
    /// them say which belong together. Their texts do not stay.
    fn read_log(&mut self, manner: Manner<'_>) -> Result<(), DataError> {
        let Some(mut log) = log_reader(self.format) else {
            return Ok(());
        };
        let common = tokenizer::open(&TokenizerName::Cl100k, None);
        let common = common.expect("it is part of the program");
        let mut weaver = Weaver::new(manner.tokenizer.unwrap_or(&*common), manner.block_tokens);
        let mut last = 0;
        while let Some(row) =
            (self.rows.next_row()).map_err(|error| DataError::unreadable(&self.path, error))?
        {
            last = row.line;
            match row.text.and_then(|text| log.read(text)) {
                Ok(requests) => {
                    (requests.into_iter()).for_each(|request| weaver.add(last, request));
                }
                Err(fault) => self.ahead.push_back(ReadRow {
                    line: last,
                    reading: Err(fault),
                }),
            }
        }
        (log.finish().into_iter()).for_each(|request| weaver.add(last, request));
        self.ahead
            .extend(weaver.finish().into_iter().map(|(line, reading)| ReadRow {
                line,
                reading: Ok(reading),
            }));
        Ok(())
    }

    pub fn format(&self) -> DataFormat {
        self.format
    }

    pub fn packing(&self) -> Packing {
        self.packing
    }

    /// The next row; none at the end.
    pub fn next_row(&mut self) -> Result<Option<ReadRow>, DataError> {
        loop {
            if let Some(row) = self.ahead.pop_front() {
                return Ok(Some(row));
            }
            let row = self.rows.next_row();
            let Some(row) = row.map_err(|error| DataError::unreadable(&self.path, error))? else {
                return Ok(None);
            };
            let line = row.line;
            let reading = row.text.and_then(|text| self.reader.read(text));
            match reading {
                Ok(Reading::Header) => {}
                Ok(Reading::Rows(rows)) => self.ahead.extend(rows.into_iter().map(|row| ReadRow {
                    line,
                    reading: Ok(Reading::Row(row)),
                })),
                reading => return Ok(Some(ReadRow { line, reading })),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::BufReader;

    const FORMATS: [Option<DataFormat>; 19] = [
        None,
        Some(DataFormat::ShareGpt),
        Some(DataFormat::OpenQa),
        Some(DataFormat::Line),
        Some(DataFormat::Custom),
        Some(DataFormat::Instruct),
        Some(DataFormat::Gsm8k),
        Some(DataFormat::Mooncake),
        Some(DataFormat::BurstGpt),
        Some(DataFormat::Azure),
        Some(DataFormat::Trace),
        Some(DataFormat::TimedTrace),
        Some(DataFormat::Bailian),
        Some(DataFormat::Agentic),
        Some(DataFormat::Otel),
        Some(DataFormat::LiteLlm),
        Some(DataFormat::VllmLog),
        Some(DataFormat::Text),
        Some(DataFormat::Conversations),
    ];

    fn read(bytes: &[u8], buffer: usize, format: Option<DataFormat>) -> Option<Vec<ReadRow>> {
        let source = Box::new(BufReader::with_capacity(
            buffer,
            Cursor::new(bytes.to_vec()),
        ));
        let mut opened =
            Opened::of_source("data".as_ref(), source, format, Manner::default()).ok()?;
        let mut rows = Vec::new();
        while let Some(row) = opened.next_row().unwrap() {
            rows.push(row);
        }
        Some(rows)
    }

    /// Text that comes near to what readers know, so that tests get past their first check.
    fn near_data() -> impl Strategy<Value = Vec<u8>> {
        let words = prop::sample::select(
            &[
                "{",
                "}",
                "[",
                "]",
                ",",
                ":",
                "\"",
                "\\",
                "\n",
                " ",
                "null",
                "1",
                "-2.5e9",
                "\u{feff}",
                "\"conversations\":",
                "\"from\":\"human\"",
                "\"value\":\"a\"",
                "\"question\":\"a\"",
                "\"messages\":[",
                "\"role\":\"user\"",
                "\"content\":\"b\"",
                "\"timestamp\":1",
                "\"input_length\":2",
                "\"output_length\":3",
                "\"hash_ids\":[1]",
                "\"session_id\":1",
                "\"after\":[0]",
                "\"requests\":[",
                "\"attributes\":{",
                "\"startTime\":1",
                "INFO 11-17 05:13:48 [l] Received request a: prompt: 'b', params: x\n",
                "\"prompt\":\"c\"",
                "\"instruction\":\"d\"",
                "\"answer\":\"#### 4\"",
                "\"model\":\"m\"",
                "Timestamp,Request tokens,Response tokens\n",
                "1.5,2,3\n",
                "TIMESTAMP,ContextTokens,GeneratedTokens\n",
                "2023-11-16 18:15:46.68,1,2\n",
                "你好",
            ][..],
        );
        prop::collection::vec(
            prop_oneof![9 => words.prop_map(|word| word.as_bytes().to_vec()),
                1 => prop::collection::vec(any::<u8>(), 0..4)],
            0..40,
        )
        .prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn no_bytes_make_a_reader_panic(bytes in near_data(), noise in any::<Vec<u8>>()) {
            for format in FORMATS {
                read(&bytes, 64, format);
                read(&noise, 64, format);
            }
        }

        #[test]
        fn rows_survive_however_the_stream_is_cut(bytes in near_data(), buffer in 1usize..50) {
            for format in FORMATS {
                prop_assert_eq!(read(&bytes, buffer, format), read(&bytes, 1 << 16, format));
            }
        }
    }
}
