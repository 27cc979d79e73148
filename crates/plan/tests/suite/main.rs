//! What a calibration predicts, and what it must not be misled by.

mod accuracy;
mod choosing;
mod division;
mod doubtful;
mod front_end;
mod held_out;
mod prior;
mod start_logs;
mod validation;
#[path = "../../../campaign/tests/suite/wrong.rs"]
mod wrong;
