//! Units of memory.

pub const GIB: f64 = 1024.0 * 1024.0 * 1024.0;
