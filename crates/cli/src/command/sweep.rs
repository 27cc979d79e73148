//! `inferometer sweep`: a grid of load points, one after the other, kept in one directory.

mod dialect;
mod table;
mod typed;

use crate::exit::Exit;
use crate::live::{LiveOptions, Serve};
use crate::options::{
    ColumnOptions, EngineArguments, Format, NO_CHECKS, OutputOptions, RankOptions,
};
use crate::output::{Rendered, check_output, check_report_name, deliver, keep, language, style};
use crate::progress::Progress;
use crate::ranks;
use crate::session::session;
use crate::signals::interrupt_on_signals;
use crate::stores::{Kept, Measurement, Out, shown};
use crate::typed_words::typed_words;
use anyhow::{Context, bail};
use inferometer_campaign::axes::{Axis, Combination, Order, Setting, Values};
use inferometer_campaign::ladder::LadderStop;
use inferometer_core::environment::Environment;
use inferometer_core::summary::SummaryColumns;
use inferometer_core::units::Span;
use inferometer_load::instrument::Control;
use inferometer_load::worker::Stop;
use inferometer_message::ProgressText;
use inferometer_page::{html, markdown, text};
use inferometer_report::csv;
use inferometer_report::run::{Detail, RunReport};
use inferometer_report::sweep::{SweepReport, Visited, compose, compose_for_notes, figures, json};
use inferometer_runner::launch::EngineOptions;
use inferometer_runner::measure::PrefixCache;
use inferometer_runner::servers::Servers;
use inferometer_runner::sweep::{
    Again, EngineFlag, PlannedSweep, SweepDriver, SweepRequest, plan, read,
};
use inferometer_runner::{RunnerError, Session};
use inferometer_store::run_dir::RunDir;
use inferometer_store::sweep_dir::{SweepDir, TrialState};
use inferometer_text::Lang;
use std::num::NonZeroU32;
use std::sync::Arc;
use table::{SweepView, Table};
use typed::Typed;

#[derive(clap::Args)]
pub struct SweepArguments {
    #[command(flatten)]
    pub output: OutputOptions,
    #[command(flatten)]
    pub columns: ColumnOptions,
    #[command(flatten)]
    pub typed: Typed,
    /// Folder of the sweep, or s3://…, gs://… or az://… to which it is uploaded; the same plan is
    /// taken up where it ended [inferometer-runs/TIME-LABEL]
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
    /// Take the lists side by side, not each value with each other
    #[arg(long, help_heading = "Sweep")]
    pub zip: bool,
    /// How often each point is measured
    #[arg(long, value_name = "N", default_value = "1", help_heading = "Sweep")]
    pub repeat: NonZeroU32,
    /// Order of the repeats: forward and backward, drawn from the seed, or each point's together
    #[arg(
        long,
        value_name = "mirrored|random|sequential",
        default_value = "mirrored",
        hide_default_value = true,
        hide_possible_values = true,
        help_heading = "Sweep"
    )]
    pub order: OrderName,
    /// Measure each point on every server in turn, instead of on all in rotation
    #[arg(long, help_heading = "Sweep")]
    pub interleave: bool,
    /// Pause between points
    #[arg(long, value_name = "TIME", help_heading = "Sweep")]
    pub rest: Option<Span>,
    /// Leave the server's prefix cache as the last point left it
    #[arg(long, help_heading = "Sweep")]
    pub keep_cache: bool,
    /// Of a sweep that is taken up (--out), measure points again that were INVALID; the new
    /// measurement counts, and the old one is kept
    #[arg(long, value_name = "invalid", help_heading = "Sweep", value_parser = again)]
    pub again: Option<Again>,
    /// An axis of the started engine's launch flags, or one derived from others, as in
    /// 'max-num-seqs=min(256, max-num-batched-tokens)' (repeatable); the engine is restarted
    /// where a flag changes
    #[arg(long, value_name = "NAME=V1,V2,…", help_heading = "Sweep")]
    pub engine_flag: Vec<EngineFlag>,
    #[command(flatten)]
    pub ranks: RankOptions,
    #[command(flatten)]
    pub engine: EngineArguments,
}

fn again(word: &str) -> Result<Again, &'static str> {
    (word == "invalid")
        .then_some(Again::Invalid)
        .ok_or("choose invalid")
}

/// Order of repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum OrderName {
    /// Forward, then backward: a steady drift falls on all points alike.
    Mirrored,
    /// Each round in an order of its own.
    Random,
    /// All repeats of a point, then the next.
    Sequential,
}

/// Numbers of requests mostly belong to loads: whoever gives a list of each may have meant
/// `--zip`. The option of the load is given back.
fn crossed_with_requests(axes: &[Axis]) -> Option<&'static str> {
    let is_list = |name: &str| {
        let mut axes = axes.iter().filter(|axis| axis.name == name);
        axes.any(|axis| matches!(&axis.values, Values::List(values) if values.len() > 1))
    };
    let load = ["concurrency", "rate"].into_iter().find(|it| is_list(it));
    load.filter(|_| is_list("requests"))
}

/// Measures every point that is not measured yet, and shows the table.
/// Every visit is planned and stored before the first is made.
const MOST_REPEATS: u32 = 1_000;

pub fn run(mut arguments: SweepArguments, serve: Serve) -> anyhow::Result<Exit> {
    arguments.output.columns = arguments.columns.columns.take();
    check_output(&arguments.output)?;
    check_report_name(&arguments.output)?;
    let lang = language(arguments.output.lang);
    let session = session(lang)?;
    let board = arguments.live.board()?;
    let mut progress = Progress::of_campaign(arguments.quiet, lang).on(board.as_ref());
    let mut typed = arguments.typed.clone();
    typed.read_config()?;
    let stop_when = ladder_stops(&mut typed)?;
    if arguments.repeat.get() > MOST_REPEATS {
        bail!(
            "--repeat {}: at most {MOST_REPEATS} are made; intervals hardly shrink beyond ten",
            arguments.repeat
        );
    }
    let engine = arguments.engine.options()?;
    let axes = typed.axes()?;
    if let Some(load) = crossed_with_requests(&axes).filter(|_| !arguments.zip) {
        progress.keep(&ProgressText::AllPairs.with(lang, &[("load", load.to_owned())]));
    }
    let request = SweepRequest {
        axes,
        combination: if arguments.zip {
            Combination::Zip
        } else {
            Combination::Product
        },
        options_at: &|point: &Setting| typed.at(point).map_err(RunnerError::other),
        repeat: arguments.repeat.get(),
        order: match arguments.order {
            OrderName::Mirrored => Order::Mirrored,
            OrderName::Random => Order::Random { seed: 0 },
            OrderName::Sequential => Order::Sequential,
        },
        interleaved: interleaved(&arguments)?,
        stop_when,
        engine_flags: &arguments.engine_flag,
        engine: &engine,
    };
    let mut planned = plan(request, &session, &mut progress)?;
    planned.plan.typed = typed_words(std::env::args().skip(1));
    let rank = arguments.ranks.found()?;
    if let Some(rank) = &rank {
        let mut options = planned.options[0].clone();
        ranks::check(&options, &arguments.engine)?;
        if rank.rank > 0 {
            // Each point names its own; the secrets of all may be needed.
            options.connection.url = Some(typed.urls().to_vec());
            let (ranks, out) = (&arguments.ranks, arguments.out.as_ref());
            return ranks::follow(rank, ranks, out, &options, &session, &mut progress);
        }
    }
    let prepared = prepare(&arguments, &planned, &engine, &session, &mut progress);
    let ((sweep, mut kept, mut servers), leader) =
        ranks::gather(rank.as_ref(), &arguments.ranks, prepared, &mut progress)?;
    servers.share_with(leader);
    let control = Control::default();
    let end = interrupt_on_signals(control.clone())?;
    let mut driver = SweepDriver::new(&planned, &sweep, servers, control.clone(), &session)?;
    let mut followers =
        (arguments.live).follow(serve, sweep.path(), end, board, arguments.output.lang)?;
    // A view has a table of its own.
    let quiet = arguments.quiet || arguments.live.tui;
    let mut view = SweepView {
        table: Table::new(&planned.plan, quiet, lang),
        progress: &mut progress,
    };
    driver.rest = arguments.rest.unwrap_or_default().0;
    driver.again = arguments.again.unwrap_or_default();
    if arguments.keep_cache {
        driver.cache = PrefixCache::Kept;
    }
    kept.start()?;
    driver.run(&mut view)?;
    followers.clear();
    control.renew();
    let interrupted = control.state() != Stop::Go;
    progress.end();
    show(&sweep, &arguments.output)?;
    let visited = read(&sweep)?;
    if !arguments.no_html {
        keep(&arguments.output, sweep.path(), || {
            let columns = arguments.output.columns.as_ref();
            Ok(page(&sweep, &visited, columns, lang))
        });
    }
    followers.end();
    kept.finish(arguments.quiet, lang)?;
    if let Some(reason) = nothing_measured(&visited) {
        bail!("no point could be measured; the last said: {reason}");
    }
    Ok(if interrupted {
        Exit::Interrupted
    } else {
        exit(&visited)
    })
}

/// Where the sweep is kept and on which servers it goes: all that can be refused before anything
/// is sent.
fn prepare(
    arguments: &SweepArguments,
    planned: &PlannedSweep,
    engine: &EngineOptions,
    session: &Arc<Session>,
    progress: &mut Progress,
) -> anyhow::Result<(SweepDir, Kept, Servers)> {
    let label = planned.plan.label.as_deref();
    let connection = &planned.options[0].connection;
    let (out, proxy) = (arguments.out.as_ref(), connection.proxy.as_deref());
    let kept = Kept::find(out, label, Measurement::Sweep, session, proxy)?;
    let sweep = SweepDir::begin(&kept.folder, planned.plan.clone())?;
    arguments.engine.check(connection)?;
    let servers = Servers::given(
        engine,
        connection,
        &planned.plan.points[0].flags,
        kept.folder.join("server"),
        Arc::clone(session),
        progress,
    )?;
    Ok((sweep, kept, servers))
}

/// The servers that take turns, if they are to.
fn interleaved(arguments: &SweepArguments) -> anyhow::Result<&[String]> {
    let urls = arguments.typed.urls();
    if !arguments.interleave {
        return Ok(&[]);
    }
    if urls.len() < 2 {
        bail!("--interleave needs two servers or more: inferometer sweep --interleave URL_A URL_B");
    }
    Ok(urls)
}

/// Conditions are those of the ladder. A point whose requests fail ends early itself, too.
fn ladder_stops(typed: &mut Typed) -> anyhow::Result<Vec<LadderStop>> {
    let texts = typed.take("stop-when");
    let stops: Vec<LadderStop> = (texts.iter())
        .map(|text| text.parse().context("--stop-when"))
        .collect::<anyhow::Result<_>>()?;
    let needs_slo = stops.contains(&LadderStop::SloMissedTwice);
    if needs_slo && typed.values("slo").is_empty() {
        bail!(
            "--stop-when slo-missed needs --slo: say what may be missed, as in --slo ttft.p99=1s"
        );
    }
    let of_points: Vec<String> = (stops.iter())
        .filter(|stop| matches!(stop, LadderStop::FailuresAbove(_)))
        .map(ToString::to_string)
        .collect();
    if !of_points.is_empty() {
        typed.add("stop-when", of_points);
    }
    Ok(stops)
}

pub fn show(sweep: &SweepDir, options: &OutputOptions) -> anyhow::Result<()> {
    if let Some(foreign) = options.dialect.foreign() {
        return dialect::show(sweep, foreign, options);
    }
    let visited = read(sweep)?;
    let environment = environment(sweep, &visited);
    let directory = shown(sweep.path());
    let (plan, repeated) = sweep.plan().with_seeds_as_repeats(&visited);
    let report = SweepReport {
        plan: &plan,
        visited: &repeated,
        directory: &directory,
        environment: environment.as_ref(),
        columns: options.columns.as_ref(),
        lang: language(options.lang),
    };
    deliver(options, sweep.path(), |format| {
        Ok(Rendered::Whole(match format {
            Format::Text => text::render(&compose(&report), style()),
            Format::Md => markdown::render(&compose_for_notes(&report)),
            Format::Json => json(&report),
            Format::Junit | Format::Github => bail!(NO_CHECKS),
            Format::Csv => csv(sweep, &visited, report.columns, report.lang)?,
            Format::Html => page(sweep, &visited, report.columns, report.lang),
            Format::Svg | Format::Png => return Ok(Rendered::Figures(figures(&report))),
        }))
    })
}

/// Where and against what the first run of a sweep was.
fn environment(sweep: &SweepDir, visited: &[Visited]) -> Option<Environment> {
    (visited.iter())
        .filter_map(|visited| sweep.run_path(&visited.trial))
        .find_map(|path| RunDir::open(path).ok()?.environment().ok())
}

pub fn page(
    sweep: &SweepDir,
    visited: &[Visited],
    columns: Option<&SummaryColumns>,
    lang: Lang,
) -> String {
    let environment = environment(sweep, visited);
    let directory = shown(sweep.path());
    let (plan, visited) = sweep.plan().with_seeds_as_repeats(visited);
    let report = SweepReport {
        plan: &plan,
        visited: &visited,
        directory: &directory,
        environment: environment.as_ref(),
        columns,
        lang,
    };
    html::render(&inferometer_site::pages::sweep::compose_page(&report))
}

/// A row per measurement, the values of its axes first.
fn csv(
    sweep: &SweepDir,
    visited: &[Visited],
    columns: Option<&SummaryColumns>,
    lang: Lang,
) -> anyhow::Result<String> {
    let mut rows = Vec::new();
    for Visited { trial, summary } in visited {
        let (Some(path), Some(summary)) = (sweep.run_path(trial), summary) else {
            continue;
        };
        let planned = sweep
            .plan()
            .points
            .iter()
            .find(|point| point.id == trial.id);
        let run = RunDir::open(path)?;
        let mut place: Vec<(String, String)> = (planned.iter())
            .flat_map(|planned| &planned.point.0)
            .map(|(axis, value)| (format!("axis_{axis}"), table::shown(value)))
            .collect();
        place.push(("repeat".to_owned(), trial.repeat.to_string()));
        rows.push((
            place,
            run.scenario()?,
            run.environment()?,
            run.ending()?,
            summary,
        ));
    }
    let reports: Vec<(Vec<(String, String)>, RunReport<'_>)> = (rows.iter())
        .map(|(place, scenario, environment, ending, summary)| {
            let report = RunReport {
                summary,
                scenario,
                environment,
                ending,
                directory: None,
                lang,
                detail: Detail::Numbers,
            };
            (place.clone(), report)
        })
        .collect();
    Ok(csv::rows(&reports, columns))
}

/// The exit of a stored sweep: fine only if every measurement is valid and meets its objectives.
pub fn exit(visited: &[Visited]) -> Exit {
    let fine = |visited: &Visited| match (&visited.summary, visited.trial.state) {
        (_, TrialState::Skipped) => true,
        (Some(summary), TrialState::Done) => crate::output::verdict(summary) == Exit::Fine,
        _ => false,
    };
    let measured = !visited.is_empty() && nothing_measured(visited).is_none();
    Exit::fine_if(measured && visited.iter().all(fine))
}

/// Why the last point was not measured, if none was.
fn nothing_measured(visited: &[Visited]) -> Option<String> {
    let unmeasured = |visited: &Visited| {
        matches!(
            visited.trial.state,
            TrialState::Failed | TrialState::Skipped
        )
    };
    let last = visited.last().filter(|_| visited.iter().all(unmeasured))?;
    Some(last.trial.reason.clone().unwrap_or_default())
}
