//! The records of a run as files: a journal while it goes on, Parquet once it is done; and how files
//! are written so that they are whole or not there, and read so that damage is seen.
//!
//! This is what grows with the number of requests, and it is optimised in full. What a folder of
//! results holds beside it is small, and in `store`.

pub mod error;
pub mod form;
mod growing_lines;
pub mod journal;
pub mod parquet_file;
pub mod summed_lines;
pub mod whole_file;
