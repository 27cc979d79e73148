//! The files of Inferometer: run and sweep directories, and the server's samples. The only place
//! that knows how they are laid out.

pub mod copies;
pub mod json_lines;
pub mod run_dir;
pub mod samples_file;
pub mod spans_file;
pub mod stored;
mod sums;
pub mod sweep_dir;
pub mod texts_file;
pub mod verify;

// Whoever has a run directory handles its records by these.
pub use inferometer_records::{error, journal, parquet_file, whole_file};
