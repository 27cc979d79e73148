//! The file of a calibration.

use anyhow::Context;
use inferometer_plan::calibrate::Calibration;
use inferometer_store::whole_file;
use std::path::Path;

/// Writes a calibration, whole or not at all.
pub(super) fn write(file: &Path, calibration: &Calibration) -> anyhow::Result<()> {
    let name = file.file_name().context("it is not a file name")?;
    let folder = match file.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    whole_file::write(folder, &name.to_string_lossy(), &calibration.to_toml())?;
    Ok(())
}
