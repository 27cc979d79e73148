//! Facts of Inferometer: what is asked for, what was sent and received, and the forms in which
//! it is kept. No sockets, no clock, no files: the same input gives the same output.

pub mod api;
pub mod check;
pub mod content;
pub mod doubt;
pub mod environment;
pub mod first_wave;
pub mod length;
pub mod lifetimes;
pub mod medium;
pub mod model_mix;
pub mod note;
pub mod options;
pub mod point;
pub mod quantile;
pub mod raw_form;
pub mod record;
pub mod scenario;
pub mod schedule;
pub mod seed;
pub mod server;
pub mod session_graph;
pub mod slo;
pub mod sound;
mod sparse;
pub mod summary;
pub mod summed_json;
pub mod thresholds;
pub mod trace_id;
pub mod units;
pub mod value;
pub mod window;
pub mod work;
