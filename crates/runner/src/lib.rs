//! One conductor: measures a load point, launches engines, drives sweeps, capacity searches and
//! studies.
//!
//! It takes no arguments and prints nothing. What the environment says comes in a [`Session`],
//! what happens meanwhile goes to an [`Observer`], and what goes wrong is a [`RunnerError`].

pub mod capacity;
pub mod certificate;
pub mod embedded;
pub mod engine_defaults;
pub mod engine_failure;
pub mod error;
pub mod fetched;
pub mod host;
pub mod keys;
pub mod launch;
pub mod measure;
pub mod now;
pub mod observer;
pub mod servers;
pub mod session;
pub mod sweep;
pub mod tune;
pub mod upload;
pub mod work;

pub use error::{RunnerError, with_causes};
pub use observer::{Event, Observer};
pub use session::Session;
