//! A comparison that is kept: what was compared, how, and what came out. Its report is made anew
//! from what was compared, so that it says what that holds today.

use super::Question;
use anyhow::{Context, bail};
use inferometer_bucket::Location;
use inferometer_compare::{Comparison, Headline, Metric, Row, Settings, Verdict};
use inferometer_core::slo::Slo;
use inferometer_report::runs::RunState;
use inferometer_runner::host;
use inferometer_store::stored::COMPARISON_FILE;
use inferometer_store::whole_file;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::{Component, Path, PathBuf};

const SCHEMA: &str = "inferometer.comparison/1";

#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Kept {
    /// `inferometer.comparison/1`.
    pub schema: String,
    /// Wall time, RFC 3339.
    pub compared: String,
    /// The baseline, then what was compared with it: below the folder that this one is in by their
    /// path from there, others as absolute paths or addresses.
    pub sides: Vec<String>,
    margin: f64,
    primary: Option<String>,
    seed: u64,
    slo: Vec<String>,
    /// What came out, as `inferometer compare --format json` prints it.
    result: Value,
}

/// Whose sides may be read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// Those in the folder that the comparison is in.
    Beside,
    Anywhere,
}

impl Kept {
    pub(super) fn new(question: &Question, comparison: &Comparison, folder: &Path) -> Self {
        let settings = &question.settings;
        Kept {
            schema: SCHEMA.to_owned(),
            compared: host::now(),
            sides: (question.sides.iter())
                .map(|side| from_beside(folder, side))
                .collect(),
            margin: settings.margin,
            primary: settings.primary.map(|it| it.to_string()),
            seed: settings.seed,
            slo: (question.objectives.iter())
                .map(ToString::to_string)
                .collect(),
            result: serde_json::to_value(comparison).unwrap_or_default(),
        }
    }

    pub fn open(folder: &Path) -> anyhow::Result<Self> {
        Ok(whole_file::read_summed(&folder.join(COMPARISON_FILE))?)
    }

    pub(super) fn write(&self, folder: &Path) -> anyhow::Result<()> {
        let is_empty = std::fs::read_dir(folder).map_or(true, |mut it| it.next().is_none());
        if !is_empty && !folder.join(COMPARISON_FILE).is_file() {
            bail!(
                "--out {} already holds files; choose another folder",
                folder.display()
            );
        }
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(whole_file::write_summed(folder, COMPARISON_FILE, self)?)
    }

    pub fn is_comparable(&self) -> bool {
        self.result["comparable"] == true
    }

    /// Worse by any metric, else what those say that decide.
    pub fn state(&self) -> RunState {
        let Ok(comparison) = Comparison::deserialize(&self.result) else {
            return RunState::CannotTell;
        };
        let deciding = comparison.rows.iter().filter(|row| row.primary);
        let deciding: Vec<&Row> = deciding.collect();
        let tests =
            deciding.chunk_by(|a, b| (&a.group, a.point.group()) == (&b.group, b.point.group()));
        let said = |rows: &[&Row]| {
            let pooled = comparison.pooled_of(&rows[0].group, rows[0].point.group());
            Headline::of(rows, pooled)
        };
        let headlines: Vec<Headline> = tests.map(said).collect();
        if comparison.is_worse(false) {
            RunState::Worse
        } else if headlines.contains(&Headline::Better) {
            RunState::Better
        } else if deciding.iter().all(|row| row.verdict == Verdict::Same) {
            RunState::Same
        } else {
            RunState::CannotTell
        }
    }

    /// What was asked, to be answered again.
    pub(super) fn question(self, folder: &Path, reach: Reach) -> anyhow::Result<Question> {
        let beside = beside(folder);
        // Named from here, as whoever compared named them.
        let here = std::env::current_dir().unwrap_or_default();
        let named = |path: &Path| {
            path.strip_prefix(&here)
                .unwrap_or(path)
                .display()
                .to_string()
        };
        let side = |side: &String| match Path::new(side) {
            path if is_below(side) && (reach == Reach::Anywhere || !has_link(&beside, path)) => {
                Ok(named(&beside.join(path)))
            }
            path if reach == Reach::Anywhere => Ok(named(path)),
            _ => bail!("{side} was compared, which does not lie in the folder that is shown"),
        };
        let primary = self.primary.as_deref().map(str::parse::<Metric>);
        let objectives = self.slo.iter().map(|slo| slo.parse::<Slo>());
        Ok(Question {
            sides: self.sides.iter().map(side).collect::<anyhow::Result<_>>()?,
            settings: Settings {
                margin: self.margin,
                primary: primary.transpose().map_err(anyhow::Error::msg)?,
                seed: self.seed,
                ..Settings::default()
            },
            objectives: objectives.collect::<Result<_, _>>()?,
        })
    }
}

/// The folder that a comparison lies in.
fn beside(folder: &Path) -> PathBuf {
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    folder.parent().map(Path::to_owned).unwrap_or(folder)
}

/// A side by its path from the folder that the comparison is in, so that both can be moved
/// together; another as it can be found from anywhere.
fn from_beside(folder: &Path, side: &str) -> String {
    if Location::is_meant_by(side) {
        return side.to_owned();
    }
    let path = std::path::absolute(side).unwrap_or_else(|_| PathBuf::from(side));
    let path = path.strip_prefix(beside(folder)).unwrap_or(&path);
    path.display().to_string()
}

fn is_below(side: &str) -> bool {
    let mut parts = Path::new(side).components();
    parts.all(|part| matches!(part, Component::Normal(_))) && !Location::is_meant_by(side)
}

/// Whether a part of a path is a link, which may lead out of the folder.
fn has_link(folder: &Path, path: &Path) -> bool {
    let parts = path.ancestors().filter(|it| !it.as_os_str().is_empty());
    parts.into_iter().any(|it| folder.join(it).is_symlink())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_of_a_folder_see_no_sides_from_elsewhere() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("shown");
        std::fs::create_dir_all(folder.join("a/b")).unwrap();
        std::os::unix::fs::symlink(place.path(), folder.join("link")).unwrap();
        let kept = |side: &str| Kept {
            schema: SCHEMA.to_owned(),
            compared: String::new(),
            sides: vec![side.to_owned()],
            margin: 0.03,
            primary: None,
            seed: 0,
            slo: vec!["ttft.p99=1s".to_owned()],
            result: Value::Null,
        };
        let sides = |side: &str, reach| {
            let question = kept(side).question(&folder.join("kept"), reach);
            question.map(|it| it.sides.concat()).ok()
        };
        let inside = folder.join("a/b").display().to_string();
        assert_eq!(sides("a/b", Reach::Beside), Some(inside));
        for side in ["/etc", "../secret", "link/secret", "s3://bucket/run"] {
            assert_eq!(sides(side, Reach::Beside), None, "{side}");
            assert!(sides(side, Reach::Anywhere).is_some(), "{side}");
        }
        assert_eq!(
            from_beside(
                &folder.join("kept"),
                &folder.join("a").display().to_string()
            ),
            "a"
        );
    }
}
