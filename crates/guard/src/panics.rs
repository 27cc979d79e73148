//! Foreign code that may panic on hostile input: a file that somebody damaged must end in an
//! error, whatever a library thinks of it.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static GUARDED: Cell<u32> = const { Cell::new(0) };
}

/// Runs foreign code; a panic in it is an error. What the code was changing must not be used
/// afterwards.
pub fn guarded<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    GUARDED.set(GUARDED.get() + 1);
    let result = catch_unwind(AssertUnwindSafe(run));
    GUARDED.set(GUARDED.get() - 1);
    result.map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        text.unwrap_or("it could not be understood").to_owned()
    })
}

/// Whether a panic on this thread will be caught and told as an error, so that nothing need be
/// printed about it.
pub fn is_guarded() -> bool {
    GUARDED.get() > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error_with_its_text() {
        assert_eq!(guarded(|| 7), Ok(7));
        let text = guarded(|| -> u32 {
            assert!(is_guarded());
            panic!("bad {}", "page")
        });
        assert_eq!(text, Err("bad page".to_owned()));
        assert!(!is_guarded());
    }
}
