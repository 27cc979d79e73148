//! Files of the repository that are written from the code: option tables and JSON Schemas. A test
//! fails where one is stale; the same test writes them all with `INFEROMETER_UPDATE=1`.

mod option_tables;

use std::path::Path;

/// How to bring them up to date, for the messages of failed tests.
const HOW: &str = "INFEROMETER_UPDATE=1 cargo test --workspace --bin inferometer";

pub struct Generated {
    /// Below the repository.
    pub path: String,
    pub current: String,
    pub wanted: String,
}

/// Fails if a file is not as it is wanted, or writes it where that was asked for.
pub fn check(files: &[Generated]) {
    let stale: Vec<&Generated> = (files.iter())
        .filter(|file| file.current != file.wanted)
        .collect();
    if std::env::var_os("INFEROMETER_UPDATE").is_some() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for file in stale {
            std::fs::write(root.join(&file.path), &file.wanted).unwrap();
        }
        return;
    }
    let names: Vec<&str> = stale.iter().map(|file| file.path.as_str()).collect();
    assert!(names.is_empty(), "{} stale; run {HOW}", names.join(", "));
}
