//! Other tools' results: text in, results out. A file of notes may hold many between prose;
//! each is found, with the lines it was read from, in the units of `summary.json`, with the
//! doubts that its own numbers raise. What looks like a result and cannot be read is named.
//!
//! Readers go over the text in turn, from the most certain form to the least: JSON objects,
//! tables, blocks of `label: value`. Each takes its lines away from the next.
//!

mod aiperf_aggregate;
mod aiperf_export;
mod aiperf_metrics;
mod aiperf_records;
mod aiperf_table;
mod announced;
mod assumption;
mod assumption_texts;
mod block;
mod brackets;
mod builder;
mod column_labels;
mod commands;
mod comparable;
mod conclude;
mod context;
mod copies;
mod cross_check;
mod crossed_table;
mod doubt;
mod doubt_texts;
mod doubt_words;
mod evalscope_database;
mod evalscope_table;
mod facts;
mod failed_point;
mod failure_words;
mod group;
mod guidellm;
mod heading;
mod json;
mod json_result;
mod judge;
mod load_table;
mod mindie_table;
mod objective;
mod off_ladder;
mod one_run;
mod own;
mod percentiles;
mod python_object;
mod read;
mod remarks;
mod remeasured;
mod requests;
mod result;
mod rounding;
mod section;
mod select;
mod served_by;
mod settings;
mod source;
mod stated_requests;
mod statistics_table;
mod store;
mod summary;
mod tables;
mod time_unit;
mod told_failures;
mod unread;

use inferometer_label::{self as label, quantity};

pub use assumption::{Assumption, TimeUnit};
pub use brackets::{meeting, without_brackets};
pub use comparable::{
    MeasuredResult, ResultsOfCard, by_card, measured, measured_in, out_of_memory,
};
pub use conclude::doubts;
pub use copies::repeats;
pub use doubt::{ImportDoubt, ImportDoubtCode, RepeatedNumber, StatedImportDoubt, ToldFailures};
pub use group::{ResultGroup, groups};
pub use judge::shrunk_concurrency;
pub use read::read;
pub use result::{EngineDefaults, Imported, ImportedResult, SCHEMA, Tool};
pub use select::{SelectError, under, with_fact};
pub use source::{LOOKED_FOR, SourceError, read_path};
pub use store::{STORED, StoreError, Stored};
pub use summary::{
    ImportedConcurrency, ImportedLatencies, ImportedRequests, ImportedSlo, ImportedSpeed,
    ImportedSummary, ImportedThroughput, ImportedTokens, Spread,
};
pub use unread::UnreadReason;
