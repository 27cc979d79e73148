//! How a command ends.

/// Errors are the fifth way: 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// 0: fine.
    Fine,
    /// 1: ran, but invalid or an objective missed.
    Doubtful,
    /// 130: interrupted, results saved.
    Interrupted,
    /// The simulated engine gave up at its start, with the status that the real one has.
    Engine(u8),
}

impl Exit {
    pub fn fine_if(fine: bool) -> Exit {
        if fine { Exit::Fine } else { Exit::Doubtful }
    }
}
