//! What the preflight has learned about the servers.

use crate::api::{Dialect, RequestOptions};
use crate::connect::Network;
use crate::setup::Route;
use inferometer_core::environment::Probe;
use inferometer_core::note::Note;

pub struct ServerProfile {
    pub routes: Vec<Route<Network>>,
    pub dialect: &'static dyn Dialect,
    pub options: RequestOptions,
    pub probe: Probe,
    pub notes: Vec<Note>,
    pub counts_output: bool,
    /// Path to probe the health with, for each route.
    pub(super) health: Vec<[String; 2]>,
    /// Paths by which a prefix cache may be emptied, for each route.
    pub(super) empty_cache: Vec<[String; 2]>,
    /// Path of the tokenizer that some servers offer.
    pub(super) tokenize: String,
}
