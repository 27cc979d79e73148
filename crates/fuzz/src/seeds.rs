//! Where mutation begins: the repository's fixtures, texts in tests, and what was found before.

use std::fs;
use std::path::{Path, PathBuf};

/// The root of the repository: where it is started, so that a copy of it can be fuzzed while
/// somebody works on the original.
pub fn root() -> PathBuf {
    PathBuf::from(".")
}

/// What once broke a target, or what its fixtures lack.
pub fn kept(target: &str) -> Vec<Vec<u8>> {
    files(&format!("fixtures/fuzz/{target}"), &[""])
}

/// The content of the files below a folder whose names end so, in the order of their names.
pub fn files(folder: &str, endings: &[&str]) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    collect(&root().join(folder), endings, &mut found);
    found.sort();
    found
        .iter()
        .filter_map(|file| fs::read(file).ok())
        .collect()
}

fn collect(folder: &Path, endings: &[&str], found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, endings, found);
        } else if endings
            .iter()
            .any(|ending| path.to_string_lossy().ends_with(ending))
        {
            found.push(path);
        }
    }
}

/// The lines of a file, each a seed.
pub fn lines(file: &str) -> Vec<Vec<u8>> {
    let text = fs::read(root().join(file)).unwrap_or_default();
    let lines = text.split(|byte| *byte == b'\n');
    lines
        .filter(|line| !line.is_empty())
        .map(<[u8]>::to_vec)
        .collect()
}

/// The texts of at least `shortest` bytes that stand in Rust sources below a folder: what the
/// tests of a parser try is where its corners are.
pub fn literals(folder: &str, shortest: usize) -> Vec<Vec<u8>> {
    let sources = files(folder, &[".rs"]);
    let texts = sources.iter().flat_map(|source| literals_of(source));
    texts.filter(|text| text.len() >= shortest).collect()
}

fn literals_of(source: &[u8]) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let mut rest = source;
    while let Some(quote) = rest.iter().position(|byte| *byte == b'"') {
        let is_letter = rest[..quote].ends_with(b"'") || rest[..quote].ends_with(b"'\\");
        if is_letter && rest[quote + 1..].starts_with(b"'") {
            rest = &rest[quote + 1..];
            continue;
        }
        let hashes = rest[..quote]
            .iter()
            .rev()
            .take_while(|byte| **byte == b'#')
            .count();
        let raw = rest[..quote - hashes].ends_with(b"r");
        rest = &rest[quote + 1..];
        let (text, length) = if raw {
            raw_text(rest, hashes)
        } else {
            plain_text(rest)
        };
        found.push(text);
        rest = &rest[length.min(rest.len())..];
    }
    found
}

/// The text up to the closing quote, and how many bytes it takes with that.
fn raw_text(rest: &[u8], hashes: usize) -> (Vec<u8>, usize) {
    let close = [b"\"".as_slice(), &b"#".repeat(hashes)].concat();
    let end = rest.windows(close.len()).position(|part| part == close);
    let end = end.unwrap_or(rest.len());
    (rest[..end].to_vec(), end + close.len())
}

fn plain_text(rest: &[u8]) -> (Vec<u8>, usize) {
    let (mut text, mut at) = (Vec::new(), 0);
    while at < rest.len() && rest[at] != b'"' {
        if rest[at] != b'\\' {
            text.push(rest[at]);
            at += 1;
            continue;
        }
        match rest.get(at + 1) {
            Some(b'n') => text.push(b'\n'),
            Some(b't') => text.push(b'\t'),
            Some(b'r') => text.push(b'\r'),
            // A line that goes on; the spaces that are left do no harm.
            Some(b'\n') | None => {}
            Some(other) => text.push(*other),
        }
        at += 2;
    }
    (text, at + 1)
}

#[cfg(test)]
mod tests {
    use super::literals_of;

    #[test]
    fn texts_are_found_in_rust() {
        let source = br####"let a = "one\n\"two\""; // it's
            let b = r#"{"k": 1}"#; f(r"\d", b'"', '\"', b"x");"####;
        let found = literals_of(source);
        let shown: Vec<_> = found
            .iter()
            .map(|text| String::from_utf8_lossy(text))
            .collect();
        assert_eq!(shown, ["one\n\"two\"", r#"{"k": 1}"#, r"\d", "x"]);
    }
}
