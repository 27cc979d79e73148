//! HTTP/1.1 as far as a client needs it, without a library in between, so that a time-stamp
//! belongs to a read of the socket.

pub mod body;
pub mod head;
pub mod url;

pub use body::{BodyDecoder, BodyError};
pub use head::{Head, HeadError, Request};
pub use url::{Target, UrlError};
