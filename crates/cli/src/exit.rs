//! How a command ends.

use std::process::ExitCode;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Fine,
    /// It ran, but is invalid, or an objective was missed.
    Doubtful,
    /// Interrupted, results saved.
    Interrupted,
    /// Nothing could be done: one line said why.
    Error,
    /// The simulated engine gave up at its start, with the status that the real one has.
    Engine(u8),
}

impl Exit {
    pub fn fine_if(fine: bool) -> Exit {
        if fine { Exit::Fine } else { Exit::Doubtful }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(match exit {
            Exit::Fine => 0,
            Exit::Doubtful => 1,
            Exit::Error => 2,
            Exit::Interrupted => 130,
            Exit::Engine(status) => status,
        })
    }
}
