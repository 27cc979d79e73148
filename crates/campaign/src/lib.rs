//! Campaigns as pure data: the points of a sweep in their order, the knee of a ladder, the search
//! for the highest load that meets the objectives, the search for the best launch flags, and since when runs of
//! one scenario differ. Whoever drives them measures; nothing here does.

pub mod axes;
pub mod capacity;
pub mod history;
pub mod knee;
pub mod ladder;
pub mod number_paths;
pub mod search;
pub mod space;
pub mod study;
pub mod trial;
