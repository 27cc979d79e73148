//! Chinese for what is written in English where it arises: help texts stand beside their
//! arguments and errors beside what fails, so their Chinese is data here, found by the English.

pub mod errors;
pub mod help;
