//! inferometer-workload
