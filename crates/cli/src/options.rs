//! Options that several commands share.

mod engine;
mod measurement;
mod output;
mod ranks;

pub use engine::EngineArguments;
pub use measurement::{ConfigFile, MeasurementOptions, from_variable};
pub use output::{
    ColumnOptions, DataView, Format, NO_CHECKS, OutputOptions, TableOutput, ViewArguments, lang,
    no_table, no_table_of_ours, theme,
};
pub use ranks::{RankOptions, refuse_ranks};

/// Folder of what is kept, unless another is given.
pub const RUNS: &str = "inferometer-runs";
