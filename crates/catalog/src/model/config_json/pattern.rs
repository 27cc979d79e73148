//! Names of modules that a quantised copy leaves alone: plain names, globs, and the few forms of
//! regular expressions that config files have (`re:.*self_attn.*`).

use std::collections::HashMap;

/// Alternatives that one expression may have.
const MOST_ALTERNATIVES: usize = 64;
/// Names that a list may have: above any model, and matched in a moment.
const MOST_NAMES: usize = 1 << 16;

/// A list of names, ready to be asked about modules of a layer.
#[derive(Default)]
pub(super) struct Patterns {
    everywhere: Vec<String>,
    of_layer: HashMap<u32, Vec<String>>,
}

impl Patterns {
    /// Reads the names; `Err` is one that is not understood.
    pub fn new<'a>(names: impl Iterator<Item = &'a str>) -> Result<Patterns, &'a str> {
        let mut patterns = Patterns::default();
        for (place, name) in names.enumerate() {
            if place >= MOST_NAMES {
                return Err(name);
            }
            let globs = match name.strip_prefix("re:") {
                Some(expression) => globs(expression).ok_or(name)?,
                None => vec![name.to_owned()],
            };
            for glob in globs {
                patterns.add(&glob);
            }
        }
        Ok(patterns)
    }

    fn add(&mut self, glob: &str) {
        let elsewhere = ["vision", "visual", "audio", "multi_modal", "mtp"];
        if elsewhere.iter().any(|part| glob.contains(part)) {
            return;
        }
        // What stands before the layers differs between models of one and of several modalities.
        let Some(start) = glob.find("layers") else {
            self.everywhere.push(glob.to_owned());
            return;
        };
        let glob = &glob[start..];
        let numbered = glob.strip_prefix("layers.").and_then(|rest| {
            let (number, module) = rest.split_once('.').unwrap_or((rest, "*"));
            Some((number.parse().ok()?, module))
        });
        match numbered {
            Some((layer, module)) => {
                let modules = self.of_layer.entry(layer).or_default();
                modules.push(module.to_owned());
            }
            None => self.everywhere.push(glob.to_owned()),
        }
    }

    /// Which share of the modules of `layers` layers they name; a module has several spellings.
    pub fn share(&self, layers: u32, modules: &[&[&str]]) -> f64 {
        let modules: Vec<Vec<String>> = modules
            .iter()
            .map(|spellings| spellings.iter().flat_map(|path| runs(path)).collect())
            .collect();
        let named = |globs: &[String], module: &[String]| {
            let names = |glob: &String| module.iter().any(|run| matches(glob, run));
            globs.iter().any(names)
        };
        let (everywhere, rest): (Vec<_>, Vec<_>) = modules
            .iter()
            .partition(|module| named(&self.everywhere, module));
        let of_layers = self.of_layer.iter().filter(|(layer, _)| **layer < layers);
        let single: usize = of_layers
            .map(|(_, globs)| rest.iter().filter(|module| named(globs, module)).count())
            .sum();
        let all = f64::from(layers.max(1)) * modules.len().max(1) as f64;
        (everywhere.len() as f64 * f64::from(layers) + single as f64) / all
    }
}

/// All runs of whole parts of a module's path, each of which a name may mean.
fn runs(module: &str) -> Vec<String> {
    let path: Vec<&str> = ["layers", "0"]
        .into_iter()
        .chain(module.split('.'))
        .collect();
    let ends = |start: usize| (start + 1..=path.len()).map(move |end| (start, end));
    (0..path.len())
        .flat_map(ends)
        .map(|(start, end)| path[start..end].join("."))
        .collect()
}

/// Whether a glob with `*` for anything matches a text.
fn matches(glob: &str, text: &str) -> bool {
    let mut parts = glob.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    if !glob.contains('*') {
        return rest.is_empty();
    }
    let mut parts: Vec<&str> = parts.collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// A regular expression as globs, one for each alternative; `None` where it has other signs than
/// those that are known.
fn globs(expression: &str) -> Option<Vec<String>> {
    let expression = expression.trim_start_matches('^');
    let (expression, open) = match expression.strip_suffix('$') {
        Some(closed) => (closed, ""),
        None => (expression, "*"),
    };
    let plain = expression
        .replace("(?:", "(")
        .replace(r"\d+", "*")
        .replace("[0-9]+", "*")
        .replace(".*", "*")
        .replace(".+", "*")
        .replace(r"\.", ".");
    let mut found = vec![String::new()];
    let mut rest = plain.as_str();
    while let Some((before, after)) = rest.split_once('(') {
        let (choices, after) = after.split_once(')')?;
        let choices: Vec<&str> = choices.split('|').collect();
        if found.len() * choices.len() > MOST_ALTERNATIVES {
            return None;
        }
        let joined = |start: &String| {
            let start = format!("{start}{before}");
            choices
                .iter()
                .map(move |choice| format!("{start}{choice}"))
                .collect::<Vec<_>>()
        };
        found = found.iter().flat_map(joined).collect();
        rest = after;
    }
    let whole: Vec<String> = found
        .iter()
        .map(|start| format!("{start}{rest}{open}"))
        .collect();
    let strange = |sign: char| r"\[](){}?+|^$".contains(sign);
    whole
        .iter()
        .all(|glob| !glob.contains(strange))
        .then_some(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(names: &[&str], modules: &[&[&str]]) -> f64 {
        let patterns = Patterns::new(names.iter().copied());
        patterns.map_or(f64::NAN, |patterns| patterns.share(10, modules))
    }

    #[test]
    fn modules_are_named_in_every_form() {
        let query: &[&[&str]] = &[&["self_attn.q_proj"]];
        let gate: &[&[&str]] = &[&["mlp.gate_proj"]];
        for (names, modules, expected) in [
            (&["lm_head"][..], query, 0.0),
            (&["self_attn"], query, 1.0),
            (&["model.layers.*.self_attn"], query, 1.0),
            (&["language_model.model.layers.*.self_attn*"], query, 1.0),
            (&["re:.*self_attn.*"], query, 1.0),
            (&["re:model.layers.*self_attn"], query, 1.0),
            (&["model.layers.3.self_attn.q_proj"], query, 0.1),
            (&["model.layers.3", "model.layers.4.mlp"], query, 0.1),
            (&["visual.layers.3.self_attn.q_proj"], query, 0.0),
            (&["mlp.gate"], gate, 0.0),
            (&["re:.*mlp.gate$"], gate, 0.0),
            (&[r"re:.*mlp\.(gate|up|down)_proj.*"], gate, 1.0),
            (&[r"re:.*layers\.(0|1)\.mlp.*"], gate, 0.2),
        ] {
            assert_eq!(share(names, modules), expected, "{names:?}");
        }
        assert!(share(&[r"re:.*(?!x)\w"], query).is_nan());
    }
}
