//! `inferometer tune`: the best launch flags of an engine, by trials that start it.

mod campaign;
mod given_rules;
mod ground;
mod journal;
mod outside;
mod prior;
mod shown;
mod table;
mod trial;

pub use shown::{is_virtual, read_stored, show_stored, stored_page};

use crate::Exit;
use crate::arguments::{Format, OutputOptions};
use crate::folder::new_folder;
use crate::output::{check_output, language, print};
use crate::progress::Progress;
use crate::signals::interrupt_campaign_on_signals;
use anyhow::{Context, bail};
use campaign::Campaign;
use given_rules::GivenRules;
use ground::Ground;
use inferometer_campaign::space::{Admission, Rules};
use inferometer_campaign::study::{SearcherName, Study, template};
use inferometer_campaign::trial::Level;
use inferometer_catalog::engine::LaunchCommand;
use inferometer_core::scenario::SimClock;
use inferometer_engine::without_secrets;
use inferometer_load::instrument::Control;
use journal::Journal;
use std::num::NonZeroU32;
use std::path::PathBuf;

const MOST_PARALLEL: u32 = 64;
/// Points that are looked at before a space counts as impossible.
const LOOKED_AT: usize = 2000;

/// `inferometer tune`.
#[derive(clap::Args)]
pub struct TuneArguments {
    /// The study
    #[arg(value_name = "STUDY.toml", required_unless_present = "init")]
    pub study: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputOptions,
    /// Folder of the study; one with the same study is taken up where it ended
    /// [inferometer-runs/TIME-tune]
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub out: Option<PathBuf>,
    /// Say nothing while it runs
    #[arg(long, help_heading = "Output")]
    pub quiet: bool,
    /// Write no report.html beside the trials
    #[arg(long, help_heading = "Output")]
    pub no_html: bool,
    /// Print a commented study for the engine's command after --, to start from
    #[arg(long, conflicts_with = "study")]
    pub init: bool,
    /// Trials at once, each on devices and a port of its own
    #[arg(
        long,
        value_name = "N",
        default_value = "1",
        hide_default_value = true,
        help_heading = "Tune"
    )]
    pub parallel: NonZeroU32,
    /// A profile of `plan calibrate`: what it expects of the candidates guides the search
    #[arg(long, value_name = "FILE", help_heading = "Tune")]
    pub prior: Option<PathBuf>,
    /// virtual: compute every trial on the simulated engine, without waiting
    #[arg(long, value_name = "real|virtual", help_heading = "Tune")]
    pub sim_clock: Option<SimClock>,
    /// Card of the simulated engine [a100-80g]
    #[arg(long, value_name = "PRESET", help_heading = "Tune")]
    pub sim_device: Option<String>,
    /// An engine's command line, after --
    #[arg(last = true, value_name = "ENGINE COMMAND")]
    pub engine: Vec<String>,
}

/// Runs a study, or goes on with it, and shows what it found.
pub fn run(arguments: TuneArguments) -> anyhow::Result<Exit> {
    if arguments.init {
        return init(&arguments.engine);
    }
    let Some(file) = &arguments.study else {
        bail!("tune needs a study; `inferometer tune --init -- vllm serve MODEL` prints one");
    };
    if !arguments.engine.is_empty() {
        bail!("the study has the engine's command; leave out what follows --, or use --init");
    }
    check_output(&arguments.output)?;
    if arguments.output.format.contains(&Format::Csv) {
        bail!("a study is not a table; use --format text, md or json");
    }
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("cannot read {}; check the path", file.display()))?;
    let study: Study = text.parse().with_context(|| file.display().to_string())?;
    check(&study)?;
    let lang = language(arguments.output.lang);
    let mut progress = Progress::of_campaign(arguments.quiet, lang);
    trial::check(&study, &mut progress)?;
    let parallel = arguments.parallel.get();
    if parallel > MOST_PARALLEL {
        bail!("--parallel {parallel} is too much; give at most {MOST_PARALLEL}");
    }
    let ground = Ground::of(
        &study,
        arguments.sim_clock,
        arguments.sim_device.as_deref(),
        &mut progress,
    )?;
    let slots = ground.slots(&study, parallel)?;
    let rules = ground.rules(&study)?;
    let given = &study.engine.rules;
    let rules = GivenRules::new(&study.engine.command, given, rules)?;
    check_space(&study, &rules)?;
    let prior = arguments.prior.as_deref();
    let prior = prior.map(|file| prior::read(file, &study, &rules));
    let out = (arguments.out.clone()).unwrap_or_else(|| new_folder(None, "tune"));
    let kept = without_secrets_of(&study, &text);
    let storable: Study = kept.parse().with_context(|| file.display().to_string())?;
    let journal = Journal::open(&out, &kept)?;
    let controls: Vec<Control> = slots.iter().map(|_| Control::default()).collect();
    let wish = Control::default();
    let all = controls.iter().chain([&wish]).cloned();
    interrupt_campaign_on_signals(all.collect())?;
    let mut campaign = Campaign {
        study: &study,
        ground: &ground,
        rules: &rules,
        prior: prior.transpose()?,
        slots,
        controls,
        wish,
        folder: out.clone(),
        journal,
        quiet: arguments.quiet,
        lang,
    };
    let ran = campaign.run(&progress);
    progress.end();
    let trials = campaign.journal.trials;
    shown::show(&storable, &trials, &out, &arguments.output)?;
    let finish = ran?;
    if !arguments.no_html {
        shown::keep_page(&storable, &trials, &out, &arguments.output);
    }
    match finish {
        campaign::Finish::Interrupted => Ok(Exit::Interrupted),
        campaign::Finish::Complete => Ok(shown::exit(&study, &trials)),
    }
}

/// A study as it may be stored and shown: without the secrets of its command.
fn without_secrets_of(study: &Study, text: &str) -> String {
    let words = study.engine.command.to_words();
    let plain = without_secrets(&words);
    let secret = |(word, plain): (&String, &String)| {
        let same = word.bytes().zip(plain.bytes()).take_while(|(a, b)| a == b);
        let beginning = same.count();
        (word != plain).then(|| (word[beginning..].to_owned(), plain[beginning..].to_owned()))
    };
    let secrets = words.iter().zip(&plain).filter_map(secret);
    secrets.fold(text.to_owned(), |text, (secret, left_out)| {
        text.replace(&secret, &left_out)
    })
}

/// Prints a study to start from.
fn init(words: &[String]) -> anyhow::Result<Exit> {
    if words.is_empty() {
        bail!(
            "--init needs the engine's command, as in tune --init -- vllm serve MODEL --port {{port}}"
        );
    }
    let command = LaunchCommand::parse(words)?;
    print(&template(&command, command.engine.newest()))?;
    Ok(Exit::Fine)
}

/// What no trial could mend.
fn check(study: &Study) -> anyhow::Result<()> {
    if !study.levels.contains(&Level::Capacity) {
        return Ok(());
    }
    if matches!(study.searcher, SearcherName::Halving(_)) {
        bail!(
            "[search] halving races at fixed loads; give [load] concurrency, or another searcher"
        );
    }
    let places = ["value", "low", "high", "requests_spent", "confirmed."];
    for objective in &study.goal.objectives {
        let known = places.iter().any(|place| match place.ends_with('.') {
            true => objective.path.starts_with(place),
            false => objective.path == *place,
        });
        if !known {
            bail!(
                "[goal] '{path}' is no figure of a capacity; give \"value\", the highest rate that meets the SLOs, or \"confirmed.{path}\"",
                path = objective.path
            );
        }
    }
    Ok(())
}

/// A space of which the engine refuses every point is said before anything is started.
fn check_space(study: &Study, rules: &dyn Rules) -> anyhow::Result<()> {
    let mut said = None;
    for point in study.space.grid().take(LOOKED_AT) {
        match rules.admit(&study.space, point) {
            Admission::Legal(_) | Admission::Repaired { .. } => return Ok(()),
            Admission::Refused { because, .. } => {
                said.get_or_insert(because);
            }
        }
    }
    match said {
        None => Ok(()),
        Some(because) => bail!("[space] the engine refuses every point of it: {because}"),
    }
}
