//! Object stores: S3 and what speaks like it (MinIO, Ceph, OBS, OSS), Google Cloud Storage by its
//! S3 interface, Azure Blob Storage.
//!
//! A [`Bucket`] lists, reads and writes objects below a [`Location`]. It knows nothing of what is
//! in them. What a store answers is hostile text: bounded, and shown only in part and printable.
//! Keys come from variables that the caller looks up, and leave this crate only as signatures.

mod access;
mod bucket;
mod error;
mod listing;
mod location;
mod sign;
mod xml;

pub use access::Keys;
pub use bucket::{Bucket, Listener, Patience, Written};
pub use error::BucketError;
pub use listing::{Object, is_listing};
pub use location::{Location, Scheme};
