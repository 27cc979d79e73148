//! Options as they were given, taken one by one; those left over have no counterpart.
//!
//! Names of one option are written `name|alias`.

/// Options in their order.
#[derive(Default)]
pub struct Options(Vec<GivenOption>);

pub struct GivenOption {
    /// With its dashes, for messages.
    pub written: String,
    /// Without dashes in front, with dashes inside, in lower case; empty for words before the
    /// first option.
    name: String,
    pub values: Vec<String>,
    used: bool,
}

impl Options {
    pub fn parse<W: AsRef<str>>(words: &[W]) -> Self {
        let mut options: Vec<GivenOption> = Vec::new();
        for word in words {
            let word = word.as_ref();
            // A negative number is a value.
            let is_option = word.starts_with('-') && word.parse::<f64>().is_err() && word.len() > 1;
            if !is_option && let Some(option) = options.last_mut() {
                option.values.push(word.to_owned());
                continue;
            }
            let (written, value) = match word.split_once('=').filter(|_| is_option) {
                Some((name, value)) => (name, Some(value)),
                None => (word, (!is_option).then_some(word)),
            };
            let name = written.trim_start_matches('-').replace('_', "-");
            options.push(GivenOption {
                written: written.to_owned(),
                name: if is_option {
                    name.to_lowercase()
                } else {
                    String::new()
                },
                values: value.map(str::to_owned).into_iter().collect(),
                used: false,
            });
        }
        Options(options)
    }

    pub fn iter(&self) -> impl Iterator<Item = &GivenOption> {
        self.0.iter()
    }

    fn take(&mut self, names: &str) -> impl Iterator<Item = &GivenOption> {
        let is_named =
            move |option: &&mut GivenOption| names.split('|').any(|it| it == option.name);
        self.0.iter_mut().filter(is_named).map(|option| {
            option.used = true;
            &*option
        })
    }

    /// The last occurrence, which is the one that counts.
    fn take_last(&mut self, names: &str) -> Option<&GivenOption> {
        self.take(names).last()
    }

    /// Values between commas and blanks.
    pub fn list(&mut self, names: &str) -> Option<Vec<String>> {
        let values = &self.take_last(names)?.values;
        let values = values.iter().flat_map(|value| value.split(','));
        let values = values.map(str::trim).filter(|value| !value.is_empty());
        Some(values.map(str::to_owned).collect())
    }

    pub fn value(&mut self, names: &str) -> Option<String> {
        self.take_last(names)?.values.first().cloned()
    }

    pub fn all(&mut self, names: &str) -> Vec<String> {
        self.take(names)
            .flat_map(|option| option.values.clone())
            .collect()
    }

    /// Whether an option is there; `--x false` is as if it were not.
    pub fn flag(&mut self, names: &str) -> bool {
        self.take_last(names).is_some_and(|option| {
            let word = option.values.first().map(|value| value.to_lowercase());
            !matches!(word.as_deref(), Some("false" | "0" | "no"))
        })
    }

    pub fn written(&mut self, names: &str) -> Vec<String> {
        self.take(names)
            .map(|option| option.written.clone())
            .collect()
    }

    /// Options that nobody took, with their values.
    pub fn unused(&self) -> impl Iterator<Item = String> {
        self.iter().filter(|option| !option.used).map(|option| {
            let values = if option.name.is_empty() {
                &[][..]
            } else {
                &option.values
            };
            [std::slice::from_ref(&option.written), values]
                .concat()
                .join(" ")
        })
    }
}
