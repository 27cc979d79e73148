//! The order of the house: modules beside each other never use each other in a circle, and no
//! crate outgrows what one can keep in mind. Edges between crates are kept by the compiler.

#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Most lines of a crate's sources.
const LARGEST_CRATE: usize = 16_000;

type Module = Vec<String>;

/// What the children of one module use of each other.
type Uses = BTreeMap<String, BTreeSet<String>>;

#[test]
fn modules_beside_each_other_do_not_use_each_other_in_circles() {
    let mut circles = Vec::new();
    for source in crates() {
        let modules = modules(&source);
        let mut levels: BTreeMap<Module, Uses> = BTreeMap::new();
        for (module, text) in &modules {
            for path in paths(text) {
                let Some(used) = resolved(&path, module, &modules) else {
                    continue;
                };
                let shared = (module.iter().zip(&used))
                    .take_while(|(a, b)| a == b)
                    .count();
                if let (Some(from), Some(to)) = (module.get(shared), used.get(shared)) {
                    let level = levels.entry(module[..shared].to_vec()).or_default();
                    level.entry(from.clone()).or_default().insert(to.clone());
                }
            }
        }
        for (level, uses) in levels {
            let name = source.parent().unwrap().file_name().unwrap().to_owned();
            let place = [&[name.into_string().unwrap()][..], &level]
                .concat()
                .join("::");
            circles.extend(circle(&uses).map(|names| format!("{place}: {}", names.join(" -> "))));
        }
    }
    assert!(circles.is_empty(), "circles:\n{}", circles.join("\n"));
}

#[test]
fn no_crate_outgrows_the_others() {
    for source in crates() {
        let lines = |file: PathBuf| read(&file).lines().count();
        let lines: usize = files(&source).into_iter().map(lines).sum();
        assert!(
            lines <= LARGEST_CRATE,
            "{}: {lines} lines",
            source.display()
        );
    }
}

/// The first circle that is found.
fn circle(uses: &Uses) -> Option<Vec<String>> {
    let mut done = BTreeSet::new();
    uses.keys()
        .find_map(|name| walk(name, uses, &mut Vec::new(), &mut done))
}

fn walk(
    name: &str,
    uses: &Uses,
    path: &mut Vec<String>,
    done: &mut BTreeSet<String>,
) -> Option<Vec<String>> {
    if let Some(start) = path.iter().position(|known| known == name) {
        return Some([&path[start..], &[name.to_owned()]].concat());
    }
    if done.contains(name) {
        return None;
    }
    path.push(name.to_owned());
    let used = uses.get(name).into_iter().flatten();
    let found = used
        .into_iter()
        .find_map(|next| walk(next, uses, path, done));
    path.pop();
    done.insert(name.to_owned());
    found
}

/// The module that a path leads to, as far as modules go; absent for names of other crates.
fn resolved(
    path: &[String],
    module: &[String],
    modules: &BTreeMap<Module, String>,
) -> Option<Module> {
    let supers = path.iter().take_while(|part| *part == "super").count();
    let absolute: Module = match path.first()?.as_str() {
        "crate" => path[1..].to_vec(),
        "self" => [module, &path[1..]].concat(),
        "super" => [
            &module[..module.len().checked_sub(supers)?],
            &path[supers..],
        ]
        .concat(),
        _ => {
            let child = [module, &path[..1]].concat();
            modules.get(&child)?;
            [module, path].concat()
        }
    };
    let mut depth = 0;
    while depth < absolute.len() && modules.contains_key(&absolute[..=depth]) {
        depth += 1;
    }
    Some(absolute[..depth].to_vec())
}

/// Paths in `use` declarations, and those that begin with a keyword elsewhere.
fn paths(text: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut rest = String::new();
    for (number, part) in text.split("use ").enumerate() {
        match part.split_once(';') {
            Some((tree, after)) if number > 0 && !tree.contains(['(', '=', '"']) => {
                flatten(tree, &[], &mut found);
                rest.push_str(after);
            }
            _ => rest.push_str(part),
        }
    }
    let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    for word in rest.split(|c| !is_name(c)) {
        if ["crate::", "super::", "self::"]
            .iter()
            .any(|key| word.starts_with(key))
        {
            found.push(word.split("::").map(str::to_owned).collect());
        }
    }
    found
}

fn flatten(tree: &str, prefix: &[String], found: &mut Vec<Vec<String>>) {
    let tree = tree.trim();
    if let Some((before, inside)) = tree.strip_suffix('}').and_then(|tree| tree.split_once('{')) {
        let own = before
            .split("::")
            .map(str::trim)
            .filter(|part| !part.is_empty());
        let prefix: Vec<String> = prefix
            .iter()
            .cloned()
            .chain(own.map(str::to_owned))
            .collect();
        let (mut depth, mut begin) = (0, 0);
        for (at, c) in inside.char_indices() {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    flatten(&inside[begin..at], &prefix, found);
                    begin = at + 1;
                }
                _ => {}
            }
        }
        flatten(&inside[begin..], &prefix, found);
    } else if !tree.is_empty() {
        let name = tree.split(" as ").next().unwrap();
        let own = name.split("::").map(|part| part.trim().to_owned());
        found.push(prefix.iter().cloned().chain(own).collect());
    }
}

/// Every module of a crate with its text, without comments, strings and tests.
fn modules(source: &Path) -> BTreeMap<Module, String> {
    let module = |file: &PathBuf| -> Module {
        let path = file.strip_prefix(source).unwrap().with_extension("");
        let parts = path.iter().map(|part| part.to_str().unwrap().to_owned());
        parts
            .filter(|part| part != "lib" && part != "main")
            .collect()
    };
    let is_test = |module: &Module| {
        let for_tests = ["tests", "testing", "contract", "generated"];
        module.iter().any(|part| for_tests.contains(&part.as_str()))
    };
    let modules = files(source)
        .into_iter()
        .map(|file| (module(&file), code(&read(&file))));
    modules.filter(|(module, _)| !is_test(module)).collect()
}

fn code(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        if line.starts_with("#[cfg(test)]") {
            break;
        }
        out.push_str(line.split("//").next().unwrap());
        out.push('\n');
    }
    out
}

fn crates() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let folders = fs::read_dir(root)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    folders
        .map(|folder| folder.join("src"))
        .filter(|source| source.is_dir())
        .collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
    found
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).unwrap()
}
