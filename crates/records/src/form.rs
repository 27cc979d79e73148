//! The forms of stored files, such as `inferometer.summary/1`, by which a file of a later version is
//! told from a damaged one.

use crate::error::StorageError;
use std::path::Path;

/// The version of all forms of ours.
const VERSION: u32 = 1;

/// Where a file states its form: within its first bytes.
pub const HEAD: usize = 400;

/// Refuses what a later version has written.
pub fn check(path: &Path, content: &[u8]) -> Result<(), StorageError> {
    match newer(content) {
        Some((name, found)) => Err(StorageError::Newer {
            path: path.to_owned(),
            found: format!("inferometer.{name}/{found}"),
            known: format!("inferometer.{name}/{VERSION}"),
        }),
        None => Ok(()),
    }
}

/// The form that the head of a file states, if it is later than ours: its name and its version.
pub fn newer(content: &[u8]) -> Option<(String, u32)> {
    let head = String::from_utf8_lossy(&content[..content.len().min(HEAD)]);
    let key = ["\"schema\"", "\"form\""].into_iter();
    let stated = key.filter_map(|key| head.split_once(key)).map(|it| it.1);
    let stated = stated.map(|rest| rest.trim_start_matches([':', ' ']));
    let form = stated.filter_map(|rest| rest.strip_prefix("\"inferometer.")?.split_once('"'));
    let mut forms = form.filter_map(|(form, _)| form.split_once('/'));
    forms.find_map(|(name, version)| {
        let version: u32 = version.parse().ok()?;
        (version > VERSION).then(|| (name.to_owned(), version))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_version_is_told_from_ours_and_from_what_is_none() {
        let stated = |text: &str| newer(text.as_bytes());
        let later = Some(("summary".to_owned(), 2));
        assert_eq!(stated("{\n  \"schema\": \"inferometer.summary/2\","), later);
        let trials = "{\"study\":{\"form\":\"inferometer.trials/12\",\"study\":\"\"}}";
        assert_eq!(stated(trials), Some(("trials".to_owned(), 12)));
        for text in [
            "",
            "{}",
            "{\"schema\":\"inferometer.summary/1\"}",
            "{\"schema\":\"inferometer.summary/x\"}",
            "{\"schema\":\"other/2\"}",
            "{\"label\":\"inferometer.summary/2\"}",
        ] {
            assert_eq!(stated(text), None, "{text}");
        }
    }
}
