//! One file a command.

pub mod capacity;
pub mod compare;
pub mod data;
pub mod doctor;
pub mod from;
pub mod import;
pub mod null_server;
pub mod plan;
pub mod report;
pub mod run;
pub mod runs;
pub mod sim;
pub mod site;
pub mod sweep;
pub mod tune;
