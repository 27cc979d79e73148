//! inferometer-load
