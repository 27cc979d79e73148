//! What `--version` says: the version and, where the sources are a git checkout, the commit.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=INFEROMETER_COMMIT");
    // Otherwise every file of the crate would count.
    println!("cargo::rerun-if-changed=build.rs");
    let version = env!("CARGO_PKG_VERSION");
    // A package's sources need not be a checkout; whoever builds it may know the commit.
    let given = std::env::var("INFEROMETER_COMMIT").ok();
    let commit = given.filter(|given| !given.is_empty()).or_else(from_git);
    let text = commit.map_or(version.to_owned(), |it| format!("{version} ({it})"));
    println!("cargo::rustc-env=VERSION_AND_COMMIT={text}");
}

fn from_git() -> Option<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    // Unpacked inside somebody else's checkout, that one's commit would be a lie.
    if !root.join(".git").exists() {
        return None;
    }
    let log = git(&root, &["rev-parse", "--git-path", "logs/HEAD"])?;
    let log = root.join(log);
    if log.exists() {
        println!("cargo::rerun-if-changed={}", log.display());
    }
    git(&root, &["rev-parse", "--short=12", "HEAD"])
}

fn git(root: &Path, words: &[&str]) -> Option<String> {
    let done = Command::new("git").current_dir(root).args(words).output();
    let done = done.ok().filter(|done| done.status.success())?;
    Some(String::from_utf8(done.stdout).ok()?.trim().to_owned())
}
