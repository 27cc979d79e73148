//! The files of Inferometer: run and sweep directories, the journal, Parquet records and the
//! server's samples. The only place that knows how they are laid out.

pub mod copies;
pub mod error;
mod form;
mod growing_lines;
pub mod journal;
pub mod json_lines;
pub mod parquet_file;
pub mod run_dir;
pub mod samples_file;
pub mod spans_file;
pub mod stored;
mod summed_lines;
mod sums;
pub mod sweep_dir;
pub mod texts_file;
pub mod verify;
pub mod whole_file;
