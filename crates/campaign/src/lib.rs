//! Campaigns as pure data: the points of a sweep in their order, and the search for the
//! highest load that meets the objectives. Whoever drives them measures; nothing here does.

pub mod axes;
pub mod capacity;
pub mod ladder;
