//! `inferometer capacity`: the highest load that still meets the objectives.

mod stored;

pub use stored::{exit, page, read, show};

use crate::exit::Exit;
use crate::live::{LiveOptions, Serve};
use crate::options::{
    EngineArguments, Format, MeasurementOptions, OutputOptions, RankOptions, no_table,
};
use crate::output::{check_output, check_report_name, keep, language};
use crate::progress::Progress;
use crate::ranks;
use crate::session::session;
use crate::signals::interrupt_or_say;
use crate::stores::{Kept, Measurement, Out};
use crate::typed_words::typed_words;
use anyhow::bail;
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use inferometer_campaign::capacity::Settings;
use inferometer_campaign::capacity::stored::SearchEnding;
use inferometer_core::options::{Count, LoadOptions, Positive};
use inferometer_load::instrument::Control;
use inferometer_message::CapacityText;
use inferometer_runner::Session;
use inferometer_runner::capacity::{
    CapacitySearch, Journal, OWN_TIER, Over, Tier, USUAL_BUDGET, at_level, levels, tiers,
};
use inferometer_runner::launch::{EngineOptions, Flags};
use inferometer_runner::measure::{Point, PrefixCache};
use inferometer_runner::servers::Servers;
use inferometer_text::secret::without_secrets;
use std::sync::Arc;

#[derive(clap::Args)]
#[command(mut_args(no_table))]
pub struct CapacityArguments {
    #[command(flatten)]
    pub output: OutputOptions,
    #[command(flatten)]
    pub measurement: MeasurementOptions,
    /// Folder for the search and its probes, or s3://…, gs://… or az://… to which they are uploaded;
    /// the same search is taken up where it ended [inferometer-runs/TIME-LABEL]
    #[arg(long, value_name = "DIR|URL", help_heading = "Output")]
    pub out: Option<Out>,
    /// Do not write the page report.html
    #[arg(long, help_heading = "Output")]
    pub no_html: bool,
    #[command(flatten)]
    pub live: LiveOptions,
    /// Say nothing while it runs
    #[arg(long, help_heading = "Output")]
    pub quiet: bool,
    /// What to raise
    #[arg(
        long,
        value_name = "rate|concurrency",
        default_value = "rate",
        hide_possible_values = true,
        value_parser = PossibleValuesParser::new(["rate", "concurrency"]).try_map(|word| word.parse::<Over>()),
        help_heading = "Capacity"
    )]
    pub over: Over,
    /// A further tier of objectives with a capacity of its own, as in
    /// --tier 'batch: ttft.p99=5s, e2e.p99=60s' (repeatable)
    #[arg(long, value_name = "NAME: SLO, …", help_heading = "Capacity")]
    pub tier: Vec<Tier>,
    /// First load that is tried [2 requests a second, or 8 streams]
    #[arg(long, value_name = "N", help_heading = "Capacity")]
    pub start: Option<Positive>,
    /// No lower load is tried [0.05 requests a second, or 1 stream]
    #[arg(long, value_name = "N", help_heading = "Capacity")]
    pub lowest: Option<Positive>,
    /// No higher load is tried [10000 requests a second, or 8192 streams]
    #[arg(long, value_name = "N", help_heading = "Capacity")]
    pub highest: Option<Positive>,
    /// How far the ends of the answer's interval may be from it, in percent
    #[arg(
        long,
        value_name = "PERCENT",
        default_value = "4",
        help_heading = "Capacity"
    )]
    pub tolerance: Positive,
    /// Most requests of the whole search, or sessions where objectives are of jobs; those of warm-up
    /// and hold are not counted [100000]
    #[arg(long, value_name = "N", help_heading = "Capacity")]
    pub budget: Option<Count>,
    #[command(flatten)]
    pub ranks: RankOptions,
    #[command(flatten)]
    pub engine: EngineArguments,
}

pub fn run(mut arguments: CapacityArguments, serve: Serve) -> anyhow::Result<Exit> {
    check_output(&arguments.output)?;
    check_report_name(&arguments.output)?;
    // Told before the search, not after it.
    if arguments.output.format.contains(&Format::Csv) {
        bail!("a capacity is not a table; use --format text, md, json, html, svg or png");
    }
    let lang = language(arguments.output.lang);
    let typed = arguments.measurement.load.clone();
    fixed_load(&typed, arguments.over)?;
    let mut options = std::mem::take(&mut arguments.measurement).layered()?;
    // The load of a stored run gives way to the search; its work is what counts.
    options.load = LoadOptions {
        concurrency: None,
        rate: None,
        requests: None,
        duration: None,
        soak: None,
        until: None,
        stop_when: None,
        ramp: None,
        ramp_from: None,
        ramp_over: None,
        warmup: typed.warmup,
        hold: typed.hold,
        ..options.load
    };
    let tiers = tiers(&options, std::mem::take(&mut arguments.tier))?;
    // Every objective is watched in every probe.
    options.objectives.slo = Some(tiers.iter().flat_map(|tier| tier.slos.clone()).collect());
    let settings = Settings {
        over: arguments.over.word().to_owned(),
        tolerance: arguments.tolerance.0 / 100.0,
        budget: arguments.budget.map_or(USUAL_BUDGET, |budget| budget.0),
        ..levels(
            arguments.over,
            arguments.start,
            arguments.lowest,
            arguments.highest,
        )
    };
    let mut repeat = repeat(&settings, &tiers, &typed);
    // Values of headers are never stored, so the reader has to give them again.
    let headers = options.connection.header.iter().flatten();
    repeat.extend(headers.flat_map(|header| ["--header".to_owned(), format!("{}=…", header.key)]));
    let engine = arguments.engine.options()?;
    repeat.extend(engine.words());
    if !arguments.engine.engine.is_empty() {
        repeat.push("--".to_owned());
        repeat.extend(without_secrets(&arguments.engine.engine));
    }
    let mut search = CapacitySearch::new(options, arguments.over, &tiers, settings)?;
    search.repeat = repeat;
    search.typed = typed_words(std::env::args().skip(1));
    let session = session(lang)?;
    let board = arguments.live.board()?;
    let mut progress = Progress::of_search(arguments.quiet, lang).on(board.as_ref());
    let rank = arguments.ranks.found()?;
    if let Some(rank) = &rank {
        ranks::check(&search.options, &arguments.engine)?;
        if rank.rank > 0 {
            let (ranks, out) = (&arguments.ranks, arguments.out.as_ref());
            return ranks::follow(rank, ranks, out, &search.options, &session, &mut progress);
        }
    }
    let prepared = prepare(&arguments, &search, &engine, &session, &mut progress);
    let ((mut kept, journal, mut servers), leader) =
        ranks::gather(rank.as_ref(), &arguments.ranks, prepared, &mut progress)?;
    servers.share_with(leader);
    let control = Control::default();
    let out = kept.folder.clone();
    let values = [("folder", out.display().to_string())];
    let end = interrupt_or_say(control.clone(), CapacityText::GoesOn.with(lang, &values))?;
    let mut followers = (arguments.live).follow(serve, &out, end, board, arguments.output.lang)?;
    kept.start()?;
    let found = search.find(journal, control, &mut servers, &session, &mut progress);
    servers.stop(&mut progress);
    progress.end();
    followers.clear();
    let found = found?;
    show(&found, &out, &arguments.output)?;
    if !arguments.no_html {
        keep(&arguments.output, &out, || {
            Ok(page(&found, &out, language(arguments.output.lang)))
        });
    }
    followers.end();
    kept.finish(arguments.quiet, lang)?;
    Ok(match found.answer.ending {
        SearchEnding::Interrupted => Exit::Interrupted,
        _ => exit(&found),
    })
}

/// Where the search is kept and on which servers it goes: all that can be refused before anything
/// is sent.
fn prepare(
    arguments: &CapacityArguments,
    search: &CapacitySearch,
    engine: &EngineOptions,
    session: &Arc<Session>,
    progress: &mut Progress,
) -> anyhow::Result<(Kept, Journal, Servers)> {
    // What cannot be measured at any load is said before the first.
    let point = at_level(&search.options, arguments.over, 1.0, 1);
    Point::prepare(point, PrefixCache::Kept, session, progress)?;
    let label = search.options.run.label.as_deref();
    let (out, proxy) = (
        arguments.out.as_ref(),
        search.options.connection.proxy.as_deref(),
    );
    let kept = Kept::find(out, label, Measurement::Capacity, session, proxy)?;
    let journal = search.begin(&kept.folder)?;
    arguments.engine.check(&search.options.connection)?;
    let servers = Servers::given(
        engine,
        &search.options.connection,
        &Flags::new(),
        kept.folder.join("server"),
        Arc::clone(session),
        progress,
    )?;
    Ok((kept, journal, servers))
}

/// The words of a command that follow `--config` of a probe's scenario to search so again.
fn repeat(settings: &Settings, tiers: &[Tier], typed: &LoadOptions) -> Vec<String> {
    let mut words = vec!["--over".to_owned(), settings.over.clone()];
    for tier in tiers {
        let slos: Vec<String> = tier.slos.iter().map(ToString::to_string).collect();
        match tier.name.as_str() {
            OWN_TIER => {
                let each = slos.into_iter();
                words.extend(each.flat_map(|slo| ["--slo".to_owned(), slo]));
            }
            name => words.extend(["--tier".to_owned(), format!("{name}: {}", slos.join(", "))]),
        }
    }
    let tolerance = (settings.tolerance * 100.0 * 1e6).round() / 1e6;
    let numbers = [
        ("--start", settings.start),
        ("--lowest", settings.floor),
        ("--highest", settings.ceiling),
        ("--tolerance", tolerance),
        ("--budget", settings.budget as f64),
    ];
    words.extend(
        numbers
            .iter()
            .flat_map(|(name, value)| [(*name).to_owned(), value.to_string()]),
    );
    if let Some(warmup) = &typed.warmup {
        words.extend(["--warmup".to_owned(), warmup.to_string()]);
    }
    if let Some(hold) = typed.hold {
        words.extend(["--hold".to_owned(), hold.to_string()]);
    }
    words
}

/// The search chooses the load and how much of it.
fn fixed_load(load: &LoadOptions, over: Over) -> anyhow::Result<()> {
    let given = [
        ("--concurrency", load.concurrency.is_some()),
        ("--rate", load.rate.is_some()),
        ("--requests", load.requests.is_some()),
        ("--duration", load.duration.is_some()),
        ("--soak", load.soak.is_some()),
        ("--until", load.until.is_some()),
        ("--stop-when", load.stop_when.is_some()),
        ("--ramp", load.ramp.is_some()),
    ];
    if let Some((name, _)) = given.iter().find(|(_, given)| *given) {
        bail!(
            "capacity chooses {name} by itself; leave it out (--over {} says what it raises, --budget how many requests it may send)",
            over.word()
        );
    }
    Ok(())
}
