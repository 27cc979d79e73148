//! Run directories as users have them.

#![allow(clippy::unwrap_used)]

mod stored_run;
