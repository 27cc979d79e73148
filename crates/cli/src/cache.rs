//! Where things are kept between runs: in the user's cache.

use std::path::PathBuf;

/// Our folder in the user's cache; absent on a host without a home.
pub fn folder() -> Option<PathBuf> {
    let cache = match std::env::var_os("XDG_CACHE_HOME").filter(|path| !path.is_empty()) {
        Some(cache) => PathBuf::from(cache),
        None => {
            PathBuf::from(std::env::var_os("HOME").filter(|home| !home.is_empty())?).join(".cache")
        }
    };
    Some(cache.join("inferometer"))
}
