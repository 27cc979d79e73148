//! inferometer-sim
