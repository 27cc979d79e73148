//! A small web server for a few browsers: whole answers and server-sent events, a thread for each
//! connection, every request checked by one gate. It knows nothing of what it serves.
//!
//! A framework would bring more code than all of this: there are no forms to parse, no uploads, no
//! compression and no HTTP/2. What a browser sends is hostile: heads are bounded, bodies are not
//! read, and whoever is slow is left.

pub mod access;
mod answer;
mod request;
mod server;

pub use access::Access;
pub use answer::{Answer, Events, Status};
pub use request::{Method, Request};
pub use server::{Server, ServerHandle};
