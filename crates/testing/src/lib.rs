//! What the tests of several crates share.

use std::io::Write;

/// Says that a test cannot run here and why. With `CI=true` that fails the test: there
/// everything that tests need is installed, and a test that is silently left out proves nothing.
///
/// # Panics
///
/// With `CI=true`.
#[track_caller]
pub fn skipped(why: &str) {
    assert!(
        std::env::var_os("CI").is_none_or(|ci| ci != "true"),
        "skipped, which CI=true forbids: {why}"
    );
    // Past the test harness, which hides what passing tests print.
    let _ = writeln!(std::io::stderr(), "skipped: {why}");
}

/// The interpreter with the packages that tests need: the one that `INFEROMETER_TEST_PYTHON`
/// names, else `python3`.
pub fn python() -> String {
    std::env::var("INFEROMETER_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned())
}
