//! The records of a finished run as one Parquet file, one row a request, for DuckDB, pandas and
//! Polars as much as for us.
//!
//! Rows are written and read one by one; what is held in memory is bounded by the size of a row
//! group, whatever the number of records.

mod cells;
mod table;

pub use table::SCHEMA;

use crate::error::StorageError;
use crate::whole_file;
use inferometer_core::record::{BareKind, Record, Stage};
use inferometer_guard::guarded;
use parquet::basic::{Compression, Encoding};
use parquet::column::page::{Page, PageReader as _};
use parquet::column::reader::get_column_reader;
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    ColumnChunkMetaData, KeyValue, ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData,
};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::serialized_reader::SerializedPageReader;
use parquet::file::statistics::Statistics;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{ColumnDescPtr, SchemaDescriptor, TypePtr};
use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use table::{MESSAGE, Table};

/// Key of the file's metadata that names its form.
const SCHEMA_KEY: &str = "inferometer.schema";

/// A row group ends at so many rows …
const GROUP_ROWS: usize = 20_000;

/// … or about so many bytes.
const GROUP_BYTES: usize = 64 << 20;

/// Rows that are decoded at once, and those that become records at once: few enough for the
/// nearest memory, since each column goes through all of them.
const BATCH_ROWS: usize = 1_024;
const RECORDS: usize = 64;

/// Writes records to a file that appears under its name only when it is complete.
pub struct RecordsWriter {
    path: PathBuf,
    partial: PathBuf,
    writer: Option<SerializedFileWriter<File>>,
    table: Box<Table>,
    rows: usize,
    bytes: usize,
}

impl RecordsWriter {
    /// Begins a file; until `finish` it has another name.
    pub fn create(path: &Path) -> Result<Self, StorageError> {
        let partial = whole_file::partial(path);
        let file =
            whole_file::fresh(&partial).map_err(|e| StorageError::io("create", &partial, e))?;
        Self::over(path, partial, file)
    }

    fn over(path: &Path, partial: PathBuf, file: File) -> Result<Self, StorageError> {
        let writer = SerializedFileWriter::new(file, schema(), Arc::new(properties()))
            .map_err(|error| write_error(path, error))?;
        Ok(RecordsWriter {
            path: path.to_owned(),
            partial,
            writer: Some(writer),
            table: Box::default(),
            rows: 0,
            bytes: 0,
        })
    }

    pub fn push(&mut self, record: &Record) -> Result<(), StorageError> {
        self.table.push(record);
        self.rows += 1;
        self.bytes += size(record);
        if self.rows < GROUP_ROWS && self.bytes < GROUP_BYTES {
            return Ok(());
        }
        self.write_group()
    }

    /// Completes the file and gives it its name.
    pub fn finish(mut self) -> Result<(), StorageError> {
        self.write_group()?;
        let Some(writer) = self.writer.take() else {
            return Ok(());
        };
        let done = writer.into_inner().and_then(|file| Ok(file.sync_all()?));
        done.map_err(|error| write_error(&self.path, error))?;
        fs::rename(&self.partial, &self.path).map_err(|e| StorageError::io("write", &self.path, e))
    }

    fn write_group(&mut self) -> Result<(), StorageError> {
        let Some(writer) = self.writer.as_mut().filter(|_| self.rows > 0) else {
            return Ok(());
        };
        self.rows = 0;
        self.bytes = 0;
        write_group(writer, &mut self.table).map_err(|error| write_error(&self.path, error))
    }
}

impl Drop for RecordsWriter {
    /// What was not finished leaves nothing behind.
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.partial);
    }
}

fn write_group(
    writer: &mut SerializedFileWriter<File>,
    table: &mut Table,
) -> Result<(), ParquetError> {
    let mut group = writer.next_row_group()?;
    for column in table.columns() {
        let mut to = group
            .next_column()?
            .expect("the schema has a column for each of the table");
        column.write(&mut to)?;
        to.close()?;
    }
    group.close()?;
    Ok(())
}

/// About the bytes that a record takes in memory as a row.
fn size(record: &Record) -> usize {
    // A value, its two levels and its same-read flag with levels.
    const CHUNK: usize = 8 + 4 + 1 + 4;
    const COUNTED_CHUNK: usize = CHUNK + 4 + 4;
    const BARE: usize = 8 + 4 + 32 + 4;
    const SCALARS: usize = 600;
    let chunk = match record.chunks.tokens {
        Some(_) => COUNTED_CHUNK,
        None => CHUNK,
    };
    let detail = record.failure().map_or(0, |failure| failure.detail.len());
    SCALARS + record.chunks.len() * chunk + record.bare.len() * BARE + detail
}

fn schema() -> TypePtr {
    Arc::new(parse_message_type(MESSAGE).expect("the schema is a constant that a test parses"))
}

fn properties() -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_key_value_metadata(Some(vec![KeyValue::new(
            SCHEMA_KEY.to_owned(),
            SCHEMA.to_owned(),
        )]));
    // Times rise in small steps, ids never repeat: a dictionary would help neither.
    for column in SchemaDescriptor::new(schema()).columns() {
        let path = column.path().clone();
        let name = path.parts().first().map_or("", String::as_str);
        if name.ends_with("_ns") || name == "index" {
            properties = properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
        } else if name == "id" {
            properties = properties.set_column_dictionary_enabled(path, false);
        }
    }
    properties.build()
}

/// Reads the records of a file in the order in which they were written.
pub fn read_records(path: &Path) -> Result<ParquetRecords, StorageError> {
    let file = whole_file::open(path)?;
    let found = RecordsFile::of(path, &file)?;
    let groups = 0..found.groups();
    Ok(found.records(file, groups, Wanted::All))
}

/// What a reader of records looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    All,
    /// What a fold needs; other fields are left as they are.
    Folded,
}

/// A file of records whose end was read, which says what it holds.
#[derive(Clone, Debug)]
pub struct RecordsFile {
    path: PathBuf,
    metadata: Arc<ParquetMetaData>,
    columns: Vec<Option<usize>>,
}

impl RecordsFile {
    pub fn open(path: &Path) -> Result<Self, StorageError> {
        Self::of(path, &whole_file::open(path)?)
    }

    fn of(path: &Path, file: &File) -> Result<Self, StorageError> {
        let metadata = guarded(|| ParquetMetaDataReader::new().parse_and_finish(file))
            .unwrap_or_else(|panic| Err(ParquetError::General(panic)))
            .map_err(|error| read_error(path, error))?;
        let columns = columns(path, &metadata)?;
        Ok(RecordsFile {
            path: path.to_owned(),
            metadata: Arc::new(metadata),
            columns,
        })
    }

    pub fn groups(&self) -> usize {
        self.metadata.num_row_groups()
    }

    /// Records of a row group.
    pub fn rows_of(&self, group: usize) -> u64 {
        u64::try_from(self.metadata.row_group(group).num_rows()).unwrap_or_default()
    }

    /// Shows what a fold needs of each record of some row groups.
    pub fn each(
        &self,
        groups: Range<usize>,
        mut see: impl FnMut(&Record),
    ) -> Result<(), StorageError> {
        // Of its own: readers of one open file would move each other's place in it.
        let file = whole_file::open(&self.path)?;
        let mut records = self.clone().records(file, groups, Wanted::Folded);
        while records.advance()? {
            records.laid.iter().for_each(&mut see);
        }
        Ok(())
    }

    /// Columns of a row group in which a fold would find nothing.
    fn unfolded(
        &self,
        file: &Arc<File>,
        group: &RowGroupMetaData,
    ) -> Result<Vec<usize>, ParquetError> {
        let named = |name: &str| {
            let of_it = |chunk: &&ColumnChunkMetaData| is_named(chunk, name);
            group.columns().iter().find(of_it)
        };
        let ends_apart = match named("bare_kind") {
            Some(kinds) => may_hold(kinds, BareKind::Finish.into_str(), file)?,
            None => false,
        };
        // Who counted is told by the column that our own counts are in.
        let ours = named("retokenized").is_none_or(|chunk| !is_empty(chunk));
        let is_unfolded = |chunk: &ColumnChunkMetaData| {
            (Table::UNFOLDED.iter()).any(|name| is_named(chunk, name))
                || is_empty(chunk)
                || is_usual(chunk)
                || !ends_apart
                    && ["bare_ns", "bare_kind"]
                        .iter()
                        .any(|name| is_named(chunk, name))
                || !ours && is_named(chunk, "token_source")
        };
        let places = (self.columns.iter().flatten().copied())
            .filter(|&place| is_unfolded(group.column(place)));
        Ok(places.collect())
    }

    fn records(self, file: File, groups: Range<usize>, wanted: Wanted) -> ParquetRecords {
        ParquetRecords {
            file: Arc::new(file),
            found: self,
            wanted,
            groups,
            rows_in_group: 0,
            rows_in_table: 0,
            table: Box::default(),
            laid: Vec::new(),
            given: 0,
        }
    }
}

/// Where a file has our columns, if it is one of ours.
fn columns(path: &Path, metadata: &ParquetMetaData) -> Result<Vec<Option<usize>>, StorageError> {
    let metadata = metadata.file_metadata();
    let stated = metadata
        .key_value_metadata()
        .and_then(|pairs| pairs.iter().find(|pair| pair.key == SCHEMA_KEY))
        .and_then(|pair| pair.value.as_deref());
    match stated {
        Some(SCHEMA) => {}
        Some(other) if other.starts_with("inferometer.records/") => {
            return Err(StorageError::Newer {
                path: path.to_owned(),
                found: other.to_owned(),
                known: SCHEMA.to_owned(),
            });
        }
        _ => return Err(StorageError::damaged(path, "it holds no records of ours")),
    }
    places(metadata.schema_descr()).map_err(|e| StorageError::damaged(path, e))
}

/// Where the file has our columns; it may have more, and in another order. One that may be
/// empty may also be missing, since it may be newer than the file.
fn places(found: &SchemaDescriptor) -> Result<Vec<Option<usize>>, String> {
    let same = |one: &ColumnDescPtr, other: &ColumnDescPtr| {
        one.path() == other.path()
            && one.physical_type() == other.physical_type()
            && one.max_def_level() == other.max_def_level()
            && one.max_rep_level() == other.max_rep_level()
    };
    let place = |known: &ColumnDescPtr| {
        let place = found.columns().iter().position(|one| same(one, known));
        let named = found.columns().iter().any(|one| one.path() == known.path());
        let may_be_missing = known.max_def_level() > known.max_rep_level();
        match place {
            None if named || !may_be_missing => {
                Err(format!("it has no column {} as we write it", known.path()))
            }
            place => Ok(place),
        }
    };
    let known = SchemaDescriptor::new(schema());
    known.columns().iter().map(place).collect()
}

pub struct ParquetRecords {
    found: RecordsFile,
    file: Arc<File>,
    wanted: Wanted,
    /// Row groups that are still to be read.
    groups: Range<usize>,
    rows_in_group: usize,
    rows_in_table: usize,
    table: Box<Table>,
    /// Rows that are records already, and how many of them were given away.
    laid: Vec<Record>,
    given: usize,
}

impl ParquetRecords {
    pub fn total(&self) -> u64 {
        let rows = self.found.metadata.file_metadata().num_rows();
        u64::try_from(rows).unwrap_or_default()
    }

    /// Lays the next records over the last ones; false where there are none.
    fn advance(&mut self) -> Result<bool, StorageError> {
        // The library panics on some damaged pages.
        let found = match self.rows_in_table {
            0 => guarded(|| self.fill()).unwrap_or_else(|panic| Err(ParquetError::General(panic))),
            _ => Ok(true),
        };
        self.given = 0;
        let rows = self.rows_in_table.min(RECORDS);
        self.laid.resize_with(rows, Record::default);
        let taken = found.and_then(|found| {
            self.rows_in_table -= rows;
            self.table.take(&mut self.laid)?;
            Ok(found)
        });
        taken.map_err(|error| {
            // Nothing sensible follows a damaged batch.
            self.groups = 0..0;
            self.rows_in_group = 0;
            self.rows_in_table = 0;
            self.laid.clear();
            read_error(&self.found.path, error)
        })
    }

    /// Reads rows into the empty table; false where there are none.
    fn fill(&mut self) -> Result<bool, ParquetError> {
        while self.rows_in_table == 0 {
            if self.rows_in_group > 0 {
                self.fill_table()?;
            } else if let Some(group) = self.groups.next() {
                self.open_group(group)?;
            } else {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn open_group(&mut self, group: usize) -> Result<(), ParquetError> {
        // Columns that are left out of this one may have been in the last.
        self.laid.clear();
        let metadata = &self.found.metadata;
        let schema = metadata.file_metadata().schema_descr();
        let group = metadata.row_group(group);
        let rows = usize::try_from(group.num_rows()).unwrap_or_default();
        let unfolded = match self.wanted {
            Wanted::All => Vec::new(),
            Wanted::Folded => self.found.unfolded(&self.file, group)?,
        };
        for (column, &place) in self.table.columns().into_iter().zip(&self.found.columns) {
            let Some(place) = place else { continue };
            let chunk = group.column(place);
            if unfolded.contains(&place) {
                column.leave_out();
                continue;
            }
            let pages = SerializedPageReader::new(Arc::clone(&self.file), chunk, rows, None)?;
            column.open(get_column_reader(schema.column(place), Box::new(pages)))?;
        }
        self.rows_in_group = rows;
        Ok(())
    }

    fn fill_table(&mut self) -> Result<(), ParquetError> {
        let rows = self.rows_in_group.min(BATCH_ROWS);
        for column in self.table.columns() {
            column.fill(rows)?;
        }
        self.rows_in_group -= rows;
        self.rows_in_table = rows;
        Ok(())
    }
}

impl Iterator for ParquetRecords {
    type Item = Result<Record, StorageError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.given == self.laid.len() {
            match self.advance() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
        let record = self.laid.get_mut(self.given)?;
        self.given += 1;
        Some(Ok(std::mem::take(record)))
    }
}

fn is_named(chunk: &ColumnChunkMetaData, name: &str) -> bool {
    (chunk.column_path().parts().first()).is_some_and(|first| first == name)
}

/// Whether no row of a group has a value in a column, not even an empty list in an optional one.
fn is_empty(chunk: &ColumnChunkMetaData) -> bool {
    let column = chunk.column_descr();
    let nothing = match column.max_def_level() {
        1 if column.max_rep_level() == 0 => {
            let nulls = chunk.statistics().and_then(|it| it.null_count_opt());
            nulls.and_then(|rows| i64::try_from(rows).ok())
        }
        0 => None,
        _ => {
            (chunk.definition_level_histogram()).and_then(|levels| levels.values().first().copied())
        }
    };
    nothing == Some(chunk.num_values())
}

/// Whether a word may be among those of a column of a group. Its dictionary says so, where it has
/// all words.
fn may_hold(
    chunk: &ColumnChunkMetaData,
    word: &str,
    file: &Arc<File>,
) -> Result<bool, ParquetError> {
    let is_whole = (chunk.page_encoding_stats_mask())
        .is_some_and(|mask| mask.is_only(Encoding::RLE_DICTIONARY));
    if !is_whole {
        return Ok(true);
    }
    let rows = usize::try_from(chunk.num_values()).unwrap_or_default();
    let mut pages = SerializedPageReader::new(Arc::clone(file), chunk, rows, None)?;
    let Some(Page::DictionaryPage { buf, .. }) = pages.get_next_page()? else {
        return Ok(true);
    };
    Ok((buf.windows(word.len())).any(|part| part == word.as_bytes()))
}

/// Whether all rows of a group are of the stage that a record is of unless another is said.
fn is_usual(chunk: &ColumnChunkMetaData) -> bool {
    let usual = Some(Stage::Measured.into_str().as_bytes());
    let all = |it: &&Statistics| it.null_count_opt() == Some(0);
    chunk.column_path().parts() == ["stage"]
        && (chunk.statistics().filter(all))
            .is_some_and(|it| [it.min_bytes_opt(), it.max_bytes_opt()] == [usual; 2])
}

fn write_error(path: &Path, error: ParquetError) -> StorageError {
    StorageError::io(
        "write",
        path,
        system_error(error).unwrap_or_else(io::Error::other),
    )
}

fn read_error(path: &Path, error: ParquetError) -> StorageError {
    match system_error(error) {
        Ok(error) => StorageError::io("read", path, error),
        Err(error) => StorageError::damaged(path, error),
    }
}

/// The system's error inside, if that is what it was.
fn system_error(error: ParquetError) -> Result<io::Error, ParquetError> {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => Ok(*error),
            Err(inner) => Err(ParquetError::External(inner)),
        },
        other => Err(other),
    }
}

#[cfg(test)]
mod tests;
