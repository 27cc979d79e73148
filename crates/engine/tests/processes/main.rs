//! The library on processes and sockets of the host.
#![allow(clippy::unwrap_used)]

mod launch;
mod orphans;
mod probe;
mod stand_in;
mod watch;
