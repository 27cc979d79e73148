//! Data sets that users bring: from a file to the rows that a run sends.
//!
//! ```text
//! source → rows → format → select → DataSet
//! bytes    text   Row      which    prompts
//! ```
//!
//! Files are streamed and may be packed; a row is held only if it is taken. Whatever a file
//! holds, the outcome is a row, a named fault with its line, or an error.

mod convert;
mod count;
mod detect;
mod error;
mod filter;
mod format;
mod head;
mod media;
mod media_kind;
mod object;
mod opened;
mod row;
mod rows;
mod sample;
mod select;
mod sessions;
mod set;
mod source;
mod survey;
mod text;

pub use convert::{TraceWriter, to_custom};
pub use detect::detect;
pub use error::{DataError, Fault, LONGEST_ROW};
pub use filter::FilteredOut;
pub use format::Manner;
pub use format::reader::Reading;
pub use opened::{End, Opened, ReadRow};
pub use row::{Link, Picked, Row, RowContent, Turn, TurnTokens};
pub use rows::{RawRow, Rows, Shape};
pub use select::{BadRow, Selected, Selection};
pub use sessions::{Grouped, grouped};
pub use set::DataSet;
pub use source::{Source, open};
pub use survey::{Surveyor, Taken};
pub use text::{Piece, pieces};
