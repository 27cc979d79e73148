//! `inferometer tune`: the best launch flags of an engine, by trials that start it.

mod shown;
mod table;
mod view;

pub use shown::{read_stored, show_stored, stored_page};

use crate::exit::Exit;
use crate::folder::{folder_here, kept_in};
use crate::live::{LiveOptions, Serve};
use crate::options::{Format, OutputOptions, no_table_of_ours};
use crate::output::{check_output, check_report_name, language, print};
use crate::progress::Progress;
use crate::session::session;
use crate::signals::interrupt_campaign_on_signals;
use anyhow::{Context, bail};
use inferometer_campaign::study::{Study, template};
use inferometer_catalog::engine::LaunchCommand;
use inferometer_core::scenario::SimClock;
use inferometer_load::instrument::Control;
use inferometer_runner::Observer;
use inferometer_runner::tune::{
    Finish, GivenRules, Journal, StudyDriver, TestBed, check, check_measurable, check_space,
    read_prior, without_secrets_of,
};
use inferometer_text::user_file;
use std::num::NonZeroU32;
use std::path::PathBuf;
use table::Table;
use view::StudyView;

const MOST_PARALLEL: u32 = 64;

#[derive(clap::Args)]
#[command(mut_args(no_table_of_ours))]
pub struct TuneArguments {
    /// The study
    #[arg(value_name = "STUDY.toml", required_unless_present = "init")]
    pub study: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputOptions,
    /// Folder of the study; one with the same study is taken up where it ended
    /// [inferometer-runs/TIME-tune]
    #[arg(long, value_name = "DIR", value_parser = folder_here, help_heading = "Output")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub live: LiveOptions,
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
pub fn run(arguments: TuneArguments, serve: Serve) -> anyhow::Result<Exit> {
    crate::options::refuse_ranks("tune")?;
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
    check_report_name(&arguments.output)?;
    if arguments.output.format.contains(&Format::Csv) {
        bail!("a study is not a table; use --format text, md or json");
    }
    let text = user_file::read_text(file)
        .with_context(|| format!("cannot read {}; check the path", file.display()))?;
    let mut study: Study = text.parse().with_context(|| file.display().to_string())?;
    if arguments.sim_clock == Some(SimClock::Virtual) {
        study = study.computed();
    }
    check(&study)?;
    let lang = language(arguments.output.lang);
    let session = session(lang)?;
    let board = arguments.live.board()?;
    let mut progress = Progress::of_campaign(arguments.quiet, lang).on(board.as_ref());
    let clock = arguments.sim_clock.unwrap_or_default();
    check_measurable(&study, clock, &session, &mut progress)?;
    let parallel = arguments.parallel.get();
    if parallel > MOST_PARALLEL {
        bail!("--parallel {parallel} is too much; give at most {MOST_PARALLEL}");
    }
    let bed = TestBed::of(
        &study,
        arguments.sim_clock,
        arguments.sim_device.as_deref(),
        &session,
        &mut progress,
    )?;
    let slots = bed.slots(&study, parallel)?;
    let rules = GivenRules::new(&study.engine, bed.rules(&study)?)?;
    check_space(&study, &rules)?;
    let prior = arguments.prior.as_deref();
    let prior = prior.map(|file| read_prior(file, &study, &rules));
    let out = kept_in(arguments.out.as_deref(), None, "tune")?;
    let kept = without_secrets_of(&study, &text);
    let journal = Journal::open(&out, &kept, bed.about(&study, &rules))?;
    let controls: Vec<Control> = slots.iter().map(|_| Control::default()).collect();
    let leave = Control::default();
    let all = controls.iter().chain([&leave]).cloned();
    let end = interrupt_campaign_on_signals(all.collect())?;
    let quiet = arguments.quiet;
    let observer = |quiet| -> Box<dyn Observer + Send> {
        Box::new(Progress::of_campaign(quiet, lang).on(board.as_ref()))
    };
    let mut driver = StudyDriver {
        study: &study,
        bed: &bed,
        rules: &rules,
        prior: prior.transpose()?,
        slots,
        controls,
        leave,
        folder: out.clone(),
        journal,
        // Several lines that change at once cannot be read.
        trial_observer: &|| observer(quiet || parallel > 1),
        searcher_observer: &|| observer(quiet),
    };
    let mut followers =
        (arguments.live).follow(serve, &out, end, board.clone(), arguments.output.lang)?;
    let ran = driver.run(&mut StudyView {
        // A view has a table of its own.
        table: Table::new(&study, quiet || arguments.live.tui, lang),
        progress: &mut progress,
    });
    progress.end();
    followers.clear();
    // Its journal is open as long as the study goes on.
    drop(driver);
    let exit = shown::show_stored(&out, &arguments.output)?;
    let finish = ran?;
    if !arguments.no_html {
        shown::keep_page(&out, &arguments.output)?;
    }
    followers.end();
    match finish {
        Finish::Interrupted => Ok(Exit::Interrupted),
        Finish::Complete => Ok(exit),
    }
}

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
