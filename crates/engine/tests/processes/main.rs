//! The library on processes and sockets of the host.

mod launch;
mod orphans;
mod stand_in;
mod watch;
