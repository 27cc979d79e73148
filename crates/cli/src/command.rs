//! One file per command.

pub mod capacity;
pub mod compare;
pub mod completions;
pub mod data;
pub mod doctor;
pub mod from;
pub mod history;
pub mod import;
pub mod manifest;
pub mod manual;
pub mod null_server;
pub mod plan;
pub mod report;
pub mod run;
pub mod runs;
pub mod schema;
pub mod serve;
pub mod sim;
pub mod site;
pub mod split;
pub mod sweep;
pub mod tune;
pub mod upload;
pub mod verify;
pub mod watch;
