//! inferometer-report
