//! The library on processes and sockets of the host.
#![allow(clippy::unwrap_used)]

mod launch;
mod orphans;
mod stand_in;
mod watch;
