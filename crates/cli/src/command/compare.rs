//! `inferometer compare`: runs, sweeps and imports against a baseline, with a verdict.

mod kept;

pub use kept::Kept;

use crate::exit::Exit;
use crate::folder::folder_here;
use crate::options::{ColumnOptions, Format, OutputOptions, TableOutput};
use crate::output::{Rendered, annotations, check_report, deliver, deliver_apart, language, style};
use crate::parts;
use crate::registry;
use crate::sides::{Side, open, separate};
use crate::stderr::say;
use crate::stores::local;
use anyhow::bail;
use inferometer_bucket::Location;
use inferometer_compare::{Comparison, Group, Metric, Settings, compare};
use inferometer_core::slo::Slo;
use inferometer_core::summary::SummaryColumns;
use inferometer_page::{html, markdown, text};
use inferometer_report::compare::{CompareReport, checks, compose, csv, figures};
use inferometer_runner::fetched::Wanted;
use inferometer_text::Lang;
use kept::Reach;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct CompareArguments {
    /// The baseline, then what to compare with it: run directories, folders of repeated runs,
    /// sweeps, imports, or files that import reads, or those of an object store by their URL; PATH#N is the N-th result of an import,
    /// PATH#HEADING what stands under a heading of notes,
    /// PATH@NAME=VALUE the runs of a folder with that url, option, tag or launch flag
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<String>,
    /// Ratios within this are no difference
    #[arg(long, value_name = "PERCENT", default_value = "3%", value_parser = margin, allow_negative_numbers = true)]
    pub margin: f64,
    /// The metric that decides, such as ttft.p99 [output tokens a second of a closed
    /// loop; mean latency of an open one]
    #[arg(long, value_name = "METRIC", value_parser = Metric::named)]
    pub primary: Option<Metric>,
    /// Exit with 1 if any metric, or the primary one, is worse
    #[arg(long, value_name = "worse|primary-worse")]
    pub fail_on: Option<FailOn>,
    /// Judge every load by these objectives instead of the runs' own (repeatable); the highest
    /// load that meets them is shown for each side
    #[arg(long, value_name = "METRIC[.pNN]=TIME")]
    pub slo: Vec<Slo>,
    /// Seed of the resampling
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Folder to keep the comparison in, and a page or pictures of it: `runs`, `report` and `serve`
    /// find it there
    #[arg(long, value_name = "DIR", value_parser = folder_here)]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub columns: ColumnOptions,
    #[command(flatten)]
    pub output: TableOutput,
}

/// What makes the comparison fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumString)]
#[strum(serialize_all = "kebab-case", parse_err_ty = String, parse_err_fn = no_failure)]
pub enum FailOn {
    Worse,
    PrimaryWorse,
}

fn no_failure(_: &str) -> String {
    "choose worse or primary-worse".to_owned()
}

/// `3%` or `0.03`.
pub fn margin(text: &str) -> Result<f64, String> {
    let number = match text.trim().strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|percent| percent / 100.0),
        None => text.trim().parse(),
    };
    (number.ok())
        .filter(|share| *share > 0.0 && *share < 1.0)
        .ok_or_else(|| "give a share above 0 and below 1, such as 3% or 0.03".to_owned())
}

pub fn run(arguments: &CompareArguments) -> anyhow::Result<Exit> {
    let output = arguments.output.options();
    check_report(&output)?;
    let question = Question {
        sides: arguments.paths.clone(),
        settings: Settings {
            margin: arguments.margin,
            primary: arguments.primary,
            seed: arguments.seed,
            ..Settings::default()
        },
        objectives: arguments.slo.clone(),
    };
    let answered = question.answered()?;
    for left_out in &answered.left_out {
        say(format_args!("left out: {left_out}"));
    }
    if let Some(folder) = &arguments.out {
        Kept::new(&question, &answered.comparison, folder).write(folder)?;
        registry::remember(folder);
    }
    let columns = arguments.columns.columns.as_ref();
    let report = answered.report(&question, columns, language(output.lang));
    let primary_only = arguments.fail_on == Some(FailOn::PrimaryWorse);
    let rendered = |format| render(&report, primary_only, format);
    match &arguments.out {
        Some(folder) => deliver(&output, folder, rendered)?,
        None => deliver_apart(&output, "compare", rendered)?,
    }
    verdict(&answered.comparison, arguments.fail_on)
}

struct Question {
    sides: Vec<String>,
    settings: Settings,
    objectives: Vec<Slo>,
}

struct Answered {
    groups: Vec<Group>,
    comparison: Comparison,
    left_out: Vec<String>,
}

impl Question {
    fn answered(&self) -> anyhow::Result<Answered> {
        let (mut groups, mut left_out) = (Vec::new(), Vec::new());
        for side in sides_of(&self.sides, &self.objectives)? {
            left_out.extend(side.left_out);
            groups.push(side.group);
        }
        Ok(Answered {
            comparison: compare(&groups, &self.settings),
            groups,
            left_out,
        })
    }

    fn page(&self, lang: Lang) -> anyhow::Result<String> {
        let answered = self.answered()?;
        let report = answered.report(self, None, lang);
        Ok(html::render(
            &inferometer_site::pages::compare::compose_page(&report),
        ))
    }
}

impl Answered {
    fn report<'a>(
        &'a self,
        question: &Question,
        columns: Option<&'a SummaryColumns>,
        lang: Lang,
    ) -> CompareReport<'a> {
        CompareReport {
            comparison: &self.comparison,
            groups: &self.groups,
            run_deviation: question.settings.run_deviation,
            columns,
            lang,
        }
    }
}

/// The page of a comparison with the usual settings.
pub fn page(paths: &[String], lang: Lang) -> anyhow::Result<String> {
    let question = Question {
        sides: paths.to_vec(),
        settings: Settings::default(),
        objectives: Vec::new(),
    };
    question.page(lang)
}

/// Shows a comparison that was kept, made anew from what was compared.
pub fn show_kept(folder: &Path, output: &OutputOptions) -> anyhow::Result<Exit> {
    let question = Kept::open(folder)?.question(folder, Reach::Anywhere)?;
    let answered = question.answered()?;
    let report = answered.report(&question, output.columns.as_ref(), language(output.lang));
    deliver(output, folder, |format| render(&report, false, format))?;
    verdict(&answered.comparison, None)
}

/// The page of one for readers who may see no more than what lies beside it.
pub fn kept_page(folder: &Path, lang: Lang) -> anyhow::Result<String> {
    let question = Kept::open(folder)?.question(folder, Reach::Beside)?;
    question.page(lang)
}

fn sides_of(paths: &[String], objectives: &[Slo]) -> anyhow::Result<Vec<Side>> {
    parts::refuse_shared(paths)?;
    let mut sides = open_all(paths, objectives)?;
    if let [_] = sides.as_slice() {
        sides = sides.into_iter().flat_map(Side::by_server).collect();
    }
    if sides.len() < 2 {
        bail!(
            "there is nothing to compare with; give two paths or more, the baseline first, or parts of one as PATH@NAME=VALUE"
        );
    }
    separate(&mut sides);
    Ok(sides)
}

/// Reads everything that was named, side by side: records of large runs take their time.
fn open_all(paths: &[String], objectives: &[Slo]) -> anyhow::Result<Vec<Side>> {
    let mut opened: Vec<Side> = std::thread::scope(|scope| {
        let readers: Vec<_> = paths
            .iter()
            .map(|path| scope.spawn(|| opened(path, objectives)))
            .collect();
        let read = readers.into_iter().map(|reader| match reader.join() {
            Ok(read) => read,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        let read: anyhow::Result<Vec<Vec<Side>>> = read.collect();
        read.map(|sides| sides.into_iter().flatten().collect())
    })?;
    // The same path twice is two groups all the same.
    let mut names = BTreeSet::new();
    for side in &mut opened {
        let plain = side.group.name.clone();
        let mut again = 1;
        while !names.insert(side.group.name.clone()) {
            again += 1;
            side.group.name = format!("{plain} ({again})");
        }
    }
    Ok(opened)
}

/// A side, called as it was named where it comes from a store.
fn opened(name: &str, objectives: &[Slo]) -> anyhow::Result<Vec<Side>> {
    let path = local(name, Wanted::All)?;
    let mut sides = open(&path, objectives)?;
    if Location::is_meant_by(name) {
        for side in &mut sides {
            let part = side.group.name.strip_prefix(path.as_str());
            side.group.name = format!("{name}{}", part.unwrap_or_default());
        }
    }
    Ok(sides)
}

fn render(
    report: &CompareReport<'_>,
    primary_only: bool,
    format: Format,
) -> anyhow::Result<Rendered> {
    Ok(Rendered::Whole(match format {
        Format::Text => text::render(&compose(report), style()),
        Format::Md => markdown::render(&compose(report)),
        Format::Csv => csv(report.comparison),
        Format::Json => serde_json::to_string_pretty(report.comparison)? + "\n",
        Format::Html => html::render(&inferometer_site::pages::compare::compose_page(report)),
        Format::Junit => checks(report, primary_only).junit(),
        Format::Github => annotations(&checks(report, primary_only), &compose(report))?,
        Format::Svg | Format::Png => return Ok(Rendered::Figures(figures(report))),
    }))
}

fn verdict(comparison: &Comparison, fail_on: Option<FailOn>) -> anyhow::Result<Exit> {
    let both = comparison
        .rows
        .iter()
        .any(|row| row.a.is_some() && row.b.is_some());
    if !both {
        if comparison.why_not.is_empty() {
            bail!("nothing can be compared: no metric is known of both");
        }
        bail!("nothing can be compared, for the reasons that the report gives");
    }
    let worse = fail_on.is_some_and(|on| comparison.is_worse(on == FailOn::PrimaryWorse));
    Ok(Exit::fine_if(!worse && comparison.is_answered()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_margin_is_a_share_or_percent() {
        assert_eq!(margin("3%"), Ok(0.03));
        assert_eq!(margin("0.05"), Ok(0.05));
        for bad in ["0", "-1%", "100%", "x", "NaN"] {
            assert!(margin(bad).is_err(), "{bad}");
        }
    }
}
