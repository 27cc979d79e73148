//! The options of a measurement as they were typed, each perhaps a list. One value of each
//! makes the command line of one run, so a point of a sweep means exactly what `run` means.

use crate::options::{ConfigFile, MeasurementOptions};
use anyhow::{Context, anyhow, bail};
use clap::{ArgAction, Args, FromArgMatches};
use inferometer_campaign::axes::{Axis, Combination, Setting, Values, settings};
use inferometer_core::options::Options;
use inferometer_runner::sweep::LOAD_AXES;

/// Options whose comma is part of the value, or that may be given more than once.
const NO_AXES: &str = "\
    prompt stop length-pairs tag label header slo threshold stop-when config url until field \
    api-key-env server-metrics";

/// Options that an expression of others may give.
const DERIVED: &str = "\
    requests concurrency rate max-concurrency warmup input-tokens output-tokens max-tokens \
    min-tokens";

#[derive(Clone, Debug, Default)]
pub struct Typed {
    given: Vec<Given>,
    /// Options below those, with the lists that are axes, too.
    file: Option<ConfigFile>,
}

#[derive(Clone, Debug)]
struct Given {
    /// Its long name; `url` for what stands alone.
    name: String,
    /// Place on the command line.
    index: usize,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Switch,
    Values(Vec<String>),
}

impl Args for Typed {
    fn augment_args(command: clap::Command) -> clap::Command {
        let own: Vec<clap::Id> = plain()
            .get_arguments()
            .map(|arg| arg.get_id().clone())
            .collect();
        MeasurementOptions::augment_args(command).mut_args(|argument| {
            let takes_text = own.contains(argument.get_id())
                && matches!(argument.get_action(), ArgAction::Set | ArgAction::Append);
            if takes_text {
                argument.value_parser(clap::value_parser!(String))
            } else {
                argument
            }
        })
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Typed {
    fn from_arg_matches(matches: &clap::ArgMatches) -> Result<Self, clap::Error> {
        let mut typed = Typed::default();
        typed.update_from_arg_matches(matches)?;
        Ok(typed)
    }

    fn update_from_arg_matches(&mut self, matches: &clap::ArgMatches) -> Result<(), clap::Error> {
        for argument in plain().get_arguments() {
            let id = argument.get_id().as_str();
            if matches.value_source(id) != Some(clap::parser::ValueSource::CommandLine) {
                continue;
            }
            let bare = matches!(argument.get_action(), ArgAction::SetTrue)
                || argument
                    .get_num_args()
                    .is_some_and(|count| count.max_values() == 0);
            let kind = if bare {
                Kind::Switch
            } else {
                let values = matches.get_many::<String>(id).into_iter().flatten();
                Kind::Values(values.cloned().collect())
            };
            self.given.push(Given {
                name: argument.get_long().unwrap_or(id).to_owned(),
                index: matches.index_of(id).unwrap_or_default(),
                kind,
            });
        }
        self.given.sort_by_key(|given| given.index);
        Ok(())
    }
}

fn is_in(names: &str, name: &str) -> bool {
    names.split(' ').any(|one| one == name)
}

/// A command with the options of a measurement and nothing else.
fn plain() -> clap::Command {
    MeasurementOptions::augment_args(clap::Command::new("inferometer").no_binary_name(true))
}

impl Typed {
    /// The servers that were named.
    pub fn urls(&self) -> &[String] {
        self.values("url")
    }

    pub fn values(&self, name: &str) -> &[String] {
        let found = self.given.iter().find(|given| given.name == name);
        match found.map(|given| &given.kind) {
            Some(Kind::Values(values)) => values,
            _ => &[],
        }
    }

    /// Takes an option away and gives its values.
    pub fn take(&mut self, name: &str) -> Vec<String> {
        let values = self.values(name).to_vec();
        self.given.retain(|given| given.name != name);
        values
    }

    pub fn add(&mut self, name: &str, values: Vec<String>) {
        self.given.push(Given {
            name: name.to_owned(),
            index: usize::MAX,
            kind: Kind::Values(values),
        });
    }

    /// Reads the file that `--config` or the environment names, once for all points.
    pub fn read_config(&mut self) -> anyhow::Result<()> {
        let config: Vec<String> = (self.take("config").iter())
            .map(|path| format!("--config={path}"))
            .collect();
        self.file = parsed(config)?.config_file()?;
        Ok(())
    }

    /// Axes of the file, but for those that a flag silences: options of two points that are the
    /// same whatever the list says.
    fn file_axes(&self, above: &[Axis]) -> anyhow::Result<Vec<Axis>> {
        let lists = self.file.iter().flat_map(ConfigFile::lists);
        let mut axes = Vec::new();
        for (_, name, text) in lists {
            if above.iter().any(|axis| axis.name == name) {
                continue;
            }
            axes.push(Axis {
                values: text
                    .parse()
                    .with_context(|| format!("{name} in --config"))?,
                name,
            });
        }
        let all: Vec<Axis> = above.iter().chain(&axes).cloned().collect();
        let points = settings(&all, Combination::Product)?;
        let Some(first) = points.first() else {
            return Ok(axes);
        };
        let matters = |axis: &Axis| -> anyhow::Result<bool> {
            let other = points.iter().find(|point| {
                let value = |setting: &Setting| setting.0.get(&axis.name).cloned();
                value(point) != value(first)
            });
            let Some(value) = other.and_then(|other| other.0.get(&axis.name)) else {
                return Ok(true);
            };
            let mut changed = first.clone();
            changed.0.insert(axis.name.clone(), value.clone());
            Ok(self.at(&changed)? != self.at(first)?)
        };
        let mut kept = Vec::new();
        for axis in axes {
            if matters(&axis)? {
                kept.push(axis);
            }
        }
        Ok(kept)
    }

    /// Options with a list, a dependence or an expression, those of the load last.
    pub fn axes(&self) -> anyhow::Result<Vec<Axis>> {
        let mut axes = Vec::new();
        for given in &self.given {
            let Kind::Values(values) = &given.kind else {
                continue;
            };
            if is_in(NO_AXES, &given.name) {
                continue;
            }
            let [text] = values.as_slice() else {
                bail!(
                    "--{} is given twice; give all of its values in one list",
                    given.name
                );
            };
            let values = match self.expression(&given.name, text) {
                Some(values) => values,
                None => text.parse().with_context(|| format!("--{}", given.name))?,
            };
            axes.push(Axis {
                name: given.name.clone(),
                values,
            });
        }
        axes.extend(self.file_axes(&axes)?);
        axes.sort_by_key(|axis| LOAD_AXES.contains(&axis.name.as_str()));
        Ok(axes)
    }

    /// `concurrency*10`: an expression that names other options of this command line.
    fn expression(&self, name: &str, text: &str) -> Option<Values> {
        let expression: inferometer_campaign::axes::Expression =
            is_in(DERIVED, name).then(|| text.parse().ok())??;
        let known = |other: &str| self.given.iter().any(|given| given.name == other);
        let derived = !expression.names().is_empty()
            && expression
                .names()
                .into_iter()
                .all(|other| other != name && known(other));
        derived.then_some(Values::Derived(expression))
    }

    /// The options of one point: those without an axis as they were typed, those with one at
    /// the point's value; below them the environment and the file.
    pub fn at(&self, point: &Setting) -> anyhow::Result<Options> {
        let mut words = Vec::new();
        for Given { name, kind, .. } in &self.given {
            match (kind, point.0.get(name)) {
                (Kind::Switch, _) => words.push(format!("--{name}")),
                (Kind::Values(_), Some(value)) if name == "url" => words.push(value.clone()),
                (Kind::Values(_), Some(value)) => words.push(format!("--{name}={value}")),
                (Kind::Values(values), None) if name == "url" => words.extend(values.clone()),
                (Kind::Values(values), None) => {
                    words.extend(values.iter().map(|value| format!("--{name}={value}")));
                }
            }
        }
        let options = parsed(words)?;
        let Some(file) = &self.file else {
            return options.layered();
        };
        let mut lists = file.lists();
        for (_, name, text) in &mut lists {
            let first = || text.split(',').next().unwrap_or_default().to_owned();
            *text = point.0.get(name).cloned().unwrap_or_else(first);
        }
        options.layered_over(file.options_with(&lists)?)
    }
}

fn parsed(words: Vec<String>) -> anyhow::Result<MeasurementOptions> {
    let matches = plain().try_get_matches_from(words).map_err(|error| {
        let text = error.render().to_string();
        let said = text.split("\n\n").next().unwrap_or_default();
        anyhow!("{}", said.trim_start_matches("error: ").replace('\n', " "))
    })?;
    Ok(MeasurementOptions::from_arg_matches(&matches)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(words: &[&str]) -> Typed {
        let command = Typed::augment_args(clap::Command::new("sweep").no_binary_name(true));
        Typed::from_arg_matches(&command.try_get_matches_from(words).unwrap()).unwrap()
    }

    fn points(words: &[&str]) -> Vec<Setting> {
        settings(&typed(words).axes().unwrap(), Combination::Product).unwrap()
    }

    #[test]
    fn a_point_of_a_sweep_is_the_command_line_of_a_run() {
        let line = "http://a --concurrency 8,16 --no-stream --input-tokens uniform(1,2),512 \
                    --requests concurrency*10";
        let words: Vec<&str> = line.split(' ').collect();
        let typed = typed(&words);
        let points = points(&words);
        assert_eq!(points.len(), 4);
        let options = typed.at(&points[3]).unwrap();
        assert_eq!(options.load.concurrency.unwrap().0, 16);
        assert_eq!(options.load.requests.unwrap().0, 160);
        assert_eq!(options.work.input_tokens.unwrap().to_string(), "512");
        assert!(options.connection.no_stream);
        assert_eq!(options.connection.url.unwrap(), ["http://a"]);
    }

    #[test]
    fn load_is_climbed_innermost_whatever_was_typed_first() {
        let points = points(&["--concurrency", "1,2", "--output-tokens", "10,20"]);
        let loads: Vec<&str> = points
            .iter()
            .map(|point| point.0["concurrency"].as_str())
            .collect();
        assert_eq!(loads, ["1", "2", "1", "2"]);
    }

    #[test]
    fn commas_of_texts_make_no_axis() {
        let typed = typed(&[
            "--prompt",
            "one, two",
            "--stop",
            "a,b",
            "--extra",
            r#"{"a":1,"b":2}"#,
        ]);
        let points = settings(&typed.axes().unwrap(), Combination::Product).unwrap();
        assert_eq!(points.len(), 1);
        let options = typed.at(&points[0]).unwrap();
        assert_eq!(options.work.prompt.as_deref(), Some("one, two"));
        assert_eq!(options.work.extra.unwrap().0.len(), 2);
    }

    #[test]
    fn lists_of_a_file_are_axes_unless_a_flag_silences_them() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("sweep.toml");
        let text = "[connection]\nurl = ['http://a']\n[load]\nconcurrency = [1, 2, 4]\n\
             requests = 30\n[work]\noutput-tokens = [16, 32]\n";
        std::fs::write(&file, text).unwrap();
        let from_file = |words: &[&str]| {
            let mut words = words.to_vec();
            words.extend(["--config", file.to_str().unwrap()]);
            let mut typed = typed(&words);
            typed.read_config().unwrap();
            let points = settings(&typed.axes().unwrap(), Combination::Product).unwrap();
            (typed, points)
        };
        let (typed, points) = from_file(&[]);
        assert_eq!(points.len(), 6);
        let options = typed.at(&points[5]).unwrap();
        assert_eq!(options.load.concurrency.unwrap().0, 4);
        assert_eq!(options.work.output_tokens.unwrap().to_string(), "32");
        assert_eq!(options.load.requests.unwrap().0, 30);
        let (typed, points) = from_file(&["--rate", "5"]);
        assert_eq!(points.len(), 2, "only the lengths are left");
        let options = typed.at(&points[1]).unwrap();
        assert!(options.load.concurrency.is_none() && options.load.rate.is_some());
        assert_eq!(from_file(&["--concurrency", "8,16"]).1.len(), 4);
    }

    #[test]
    fn a_bad_value_is_told_with_its_option() {
        let typed = typed(&["--concurrency", "8,x"]);
        let points = settings(&typed.axes().unwrap(), Combination::Product).unwrap();
        let said = typed.at(&points[1]).unwrap_err().to_string();
        assert!(
            said.contains("--concurrency") && said.contains('x'),
            "{said}"
        );
    }
}
