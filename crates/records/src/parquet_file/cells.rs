//! The cells of one column over a batch of rows, in the form in which Parquet stores them: the
//! values that are there, and levels that say to which row they belong.

use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, ByteArrayType, DataType};
use parquet::errors::{ParquetError, Result};
use parquet::file::writer::SerializedColumnWriter;

/// One column. Whether its rows hold one value, perhaps one, or many is fixed by the schema;
/// each of these has its `push_…` and its `take_…`.
pub(super) struct Cells<T: DataType> {
    values: Vec<T::T>,
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
    next_value: usize,
    next_level: usize,
    source: Option<ColumnReaderImpl<T>>,
}

impl<T: DataType> Default for Cells<T> {
    fn default() -> Self {
        Cells {
            values: Vec::new(),
            definitions: Vec::new(),
            repetitions: Vec::new(),
            next_value: 0,
            next_level: 0,
            source: None,
        }
    }
}

impl<T: DataType> Cells<T> {
    /// A row of a required column.
    pub(super) fn push_one(&mut self, value: T::T) {
        self.values.push(value);
    }

    /// A row of an optional column.
    pub(super) fn push_maybe(&mut self, value: Option<T::T>) {
        self.definitions.push(i16::from(value.is_some()));
        self.values.extend(value);
    }

    /// A row of a required list.
    pub(super) fn push_many(&mut self, values: impl Iterator<Item = T::T>) {
        self.push_list(values, 0);
    }

    /// A row of an optional list.
    pub(super) fn push_maybe_many(&mut self, values: Option<impl Iterator<Item = T::T>>) {
        match values {
            Some(values) => self.push_list(values, 1),
            None => self.push_levels(0, 0),
        }
    }

    /// A list; `empty` is the definition level of an empty one, an element has one more.
    fn push_list(&mut self, values: impl Iterator<Item = T::T>, empty: i16) {
        let before = self.values.len();
        self.values.extend(values);
        let count = self.values.len() - before;
        if count == 0 {
            return self.push_levels(empty, 0);
        }
        self.push_levels(empty + 1, 0);
        let levels = self.definitions.len() + count - 1;
        self.definitions.resize(levels, empty + 1);
        self.repetitions.resize(levels, 1);
    }

    fn push_levels(&mut self, definition: i16, repetition: i16) {
        self.definitions.push(definition);
        self.repetitions.push(repetition);
    }

    /// Whether it has nothing in any row of the row group, or nothing that is wanted.
    pub(super) fn is_left_out(&self) -> bool {
        self.source.is_none()
    }

    /// The next row of a required column.
    pub(super) fn see_one(&mut self) -> Result<&T::T> {
        self.next_value += 1;
        self.values.get(self.next_value - 1).ok_or_else(too_short)
    }

    /// The next row of an optional column.
    pub(super) fn see_maybe(&mut self) -> Result<Option<&T::T>> {
        let definition = *self
            .definitions
            .get(self.next_level)
            .ok_or_else(too_short)?;
        self.next_level += 1;
        (definition > 0).then(|| self.see_one()).transpose()
    }

    /// Lays the next rows of a required column into as many records, unless it was left out.
    pub(super) fn lay_ones<R>(
        &mut self,
        into: &mut [R],
        lay: impl Fn(&mut R, &T::T) -> Result<()>,
    ) -> Result<()> {
        if self.source.is_none() {
            return Ok(());
        }
        let until = self.next_value + into.len();
        let values = self.values.get(self.next_value..until);
        self.next_value = until;
        let rows = into.iter_mut().zip(values.ok_or_else(too_short)?);
        rows.into_iter()
            .try_for_each(|(row, value)| lay(row, value))
    }

    /// Lays the next rows of an optional column into as many records, unless it was left out.
    pub(super) fn lay_maybes<R>(
        &mut self,
        into: &mut [R],
        lay: impl Fn(&mut R, Option<&T::T>) -> Result<()>,
    ) -> Result<()> {
        if self.source.is_none() {
            return Ok(());
        }
        let until = self.next_level + into.len();
        let levels = self.definitions.get(self.next_level..until);
        self.next_level = until;
        for (row, &level) in into.iter_mut().zip(levels.ok_or_else(too_short)?) {
            let value = match level {
                0 => None,
                _ => {
                    self.next_value += 1;
                    Some(self.values.get(self.next_value - 1).ok_or_else(too_short)?)
                }
            };
            lay(row, value)?;
        }
        Ok(())
    }

    /// The next row of a required list.
    pub(super) fn see_many(&mut self) -> Result<&[T::T]> {
        self.see_list(0)
    }

    /// The next row of an optional list.
    pub(super) fn see_maybe_many(&mut self) -> Result<Option<&[T::T]>> {
        match self.definitions.get(self.next_level) {
            Some(0) => {
                self.next_level += 1;
                Ok(None)
            }
            _ => self.see_list(1).map(Some),
        }
    }

    fn see_list(&mut self, empty: i16) -> Result<&[T::T]> {
        let definition = *self
            .definitions
            .get(self.next_level)
            .ok_or_else(too_short)?;
        let further = self
            .repetitions
            .get(self.next_level + 1..)
            .unwrap_or_default()
            .iter()
            .take_while(|&&repetition| repetition > 0)
            .count();
        self.next_level += 1 + further;
        if definition <= empty {
            return Ok(&[]);
        }
        let range = self.next_value..self.next_value + 1 + further;
        self.next_value = range.end;
        self.values.get(range).ok_or_else(too_short)
    }

    fn clear(&mut self) {
        self.values.clear();
        self.definitions.clear();
        self.repetitions.clear();
        self.next_value = 0;
        self.next_level = 0;
    }
}

impl Cells<ByteArrayType> {
    /// A text as a value. Most columns of text say the same in row after row: such a value is
    /// shared, not copied.
    fn shared(&self, text: &str) -> ByteArray {
        let last = self.values.last();
        let same = last.filter(|last| last.data() == text.as_bytes());
        same.cloned().unwrap_or_else(|| ByteArray::from(text))
    }

    /// A row of a required column.
    pub(super) fn push_text(&mut self, text: &str) {
        self.push_one(self.shared(text));
    }

    /// A row of an optional column.
    pub(super) fn push_maybe_text(&mut self, text: Option<&str>) {
        self.push_maybe(text.map(|text| self.shared(text)));
    }
}

fn too_short() -> ParquetError {
    ParquetError::General("a column has fewer rows than the others".to_owned())
}

pub(super) trait Column {
    /// Writes all rows and forgets them.
    fn write(&mut self, to: &mut SerializedColumnWriter<'_>) -> Result<()>;

    /// Reads from this column of a row group from now on.
    fn open(&mut self, from: ColumnReader) -> Result<()>;

    /// Has nothing in any row of a row group.
    fn leave_out(&mut self);

    /// Replaces the rows by the next ones of the row group.
    fn fill(&mut self, rows: usize) -> Result<()>;
}

impl<T: DataType> Column for Cells<T>
where
    T::T: Default,
{
    fn write(&mut self, to: &mut SerializedColumnWriter<'_>) -> Result<()> {
        to.typed::<T>().write_batch(
            &self.values,
            Some(&self.definitions[..]).filter(|levels| !levels.is_empty()),
            Some(&self.repetitions[..]).filter(|levels| !levels.is_empty()),
        )?;
        self.clear();
        Ok(())
    }

    fn open(&mut self, from: ColumnReader) -> Result<()> {
        let source = T::get_column_reader(from)
            .ok_or_else(|| ParquetError::General("a column has another type".to_owned()))?;
        self.source = Some(source);
        Ok(())
    }

    fn leave_out(&mut self) {
        self.source = None;
        self.clear();
    }

    fn fill(&mut self, rows: usize) -> Result<()> {
        if self.source.is_none() {
            // A column that came later than the file, or holds nothing that is wanted.
            self.next_level = 0;
            self.definitions.resize(rows, 0);
            return Ok(());
        }
        self.clear();
        let Some(source) = self.source.as_mut() else {
            return Ok(());
        };
        let (found, _, _) = source.read_records(
            rows,
            Some(&mut self.definitions),
            Some(&mut self.repetitions),
            &mut self.values,
        )?;
        if found == rows {
            Ok(())
        } else {
            Err(too_short())
        }
    }
}
