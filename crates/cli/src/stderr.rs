//! What is said beside the output.

use std::io::Write as _;

/// A line beside the output. Nobody may listen any longer, or its disk be full: what was measured
/// does not depend on that.
pub fn say(line: impl std::fmt::Display) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}
