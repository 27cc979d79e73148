//! inferometer-core
