//! Options as they were given, taken one by one; what nobody takes has no counterpart.

use super::TranslateError;
use std::str::FromStr;

/// Options in their order, each with its values.
pub(super) struct Given {
    options: Vec<Entry>,
}

struct Entry {
    /// As it was written, for messages.
    written: String,
    /// Without dashes in front, with dashes inside, in lower case.
    name: String,
    values: Vec<String>,
    used: bool,
}

impl Given {
    pub(super) fn parse(words: &[String]) -> Self {
        let mut options: Vec<Entry> = Vec::new();
        for word in words {
            // A negative number is a value.
            let is_option = word.starts_with('-') && word.parse::<f64>().is_err() && word.len() > 1;
            if !is_option {
                match options.last_mut() {
                    Some(option) => option.values.push(word.clone()),
                    None => options.push(Entry {
                        written: word.clone(),
                        name: String::new(),
                        values: vec![word.clone()],
                        used: false,
                    }),
                }
                continue;
            }
            let (written, value) = match word.split_once('=') {
                Some((name, value)) => (name, vec![value.to_owned()]),
                None => (word.as_str(), Vec::new()),
            };
            options.push(Entry {
                written: written.to_owned(),
                name: written
                    .trim_start_matches('-')
                    .replace('_', "-")
                    .to_lowercase(),
                values: value,
                used: false,
            });
        }
        Given { options }
    }

    /// All values of an option by any of its names; the last time it is given counts.
    pub(super) fn list(&mut self, names: &[&str]) -> Option<Vec<String>> {
        let mut found = None;
        for option in &mut self.options {
            if names.contains(&option.name.as_str()) {
                option.used = true;
                let values = option.values.iter().flat_map(|value| value.split(','));
                let values = values.map(|value| value.trim().to_owned());
                found = Some(values.filter(|value| !value.is_empty()).collect());
            }
        }
        found
    }

    pub(super) fn value(&mut self, names: &[&str]) -> Option<String> {
        let mut found = None;
        for option in &mut self.options {
            if names.contains(&option.name.as_str()) {
                option.used = true;
                found = option.values.first().cloned();
            }
        }
        found
    }

    /// Every value of a repeated option.
    pub(super) fn all(&mut self, names: &[&str]) -> Vec<String> {
        let mut found = Vec::new();
        for option in &mut self.options {
            if names.contains(&option.name.as_str()) {
                option.used = true;
                found.extend(option.values.iter().cloned());
            }
        }
        found
    }

    /// Whether an option is there; `--x false` is as if it were not.
    pub(super) fn flag(&mut self, names: &[&str]) -> bool {
        let mut found = false;
        for option in &mut self.options {
            if names.contains(&option.name.as_str()) {
                option.used = true;
                let word = option.values.first().map(|value| value.to_lowercase());
                found = !matches!(word.as_deref(), Some("false" | "0" | "no"));
            }
        }
        found
    }

    /// One value of a type.
    pub(super) fn number<T: FromStr>(
        &mut self,
        names: &[&str],
        expected: &'static str,
    ) -> Result<Option<T>, TranslateError> {
        let Some(value) = self.value(names) else {
            return Ok(None);
        };
        let number = value.parse().map_err(|_| TranslateError::BadValue {
            name: names.first().copied().unwrap_or_default().to_owned(),
            value: value.clone(),
            expected,
        })?;
        Ok(Some(number))
    }

    pub(super) fn count(&mut self, names: &[&str]) -> Result<Option<u64>, TranslateError> {
        self.number(names, "a whole number")
    }

    pub(super) fn real(&mut self, names: &[&str]) -> Result<Option<f64>, TranslateError> {
        let real: Option<f64> = self.number(names, "a number")?;
        Ok(real.filter(|number| !number.is_nan()))
    }

    /// Names of those of these options that are given, taken.
    pub(super) fn not_needed(&mut self, names: &[&str]) -> Vec<String> {
        let known = |option: &&mut Entry| names.contains(&option.name.as_str());
        let options = self.options.iter_mut().filter(known);
        options
            .map(|option| {
                option.used = true;
                option.written.clone()
            })
            .collect()
    }

    pub(super) fn unused(&self) -> impl Iterator<Item = String> {
        self.options
            .iter()
            .filter(|option| !option.used)
            .map(|option| {
                let values = match option.name.is_empty() {
                    true => &[],
                    false => option.values.as_slice(),
                };
                [std::slice::from_ref(&option.written), values]
                    .concat()
                    .join(" ")
            })
    }
}

/// A length that is drawn from `low` to `high`.
pub(super) fn uniform(low: f64, high: f64) -> String {
    let whole = |length: f64| length.round().clamp(1.0, 1e7) as u64;
    let (low, high) = (whole(low), whole(high));
    match low >= high {
        true => high.to_string(),
        false => format!("uniform({low},{high})"),
    }
}

pub(super) fn seconds(value: f64) -> String {
    match value.fract() == 0.0 {
        true => format!("{value}s"),
        false => format!("{}ms", (value * 1e3).round()),
    }
}
