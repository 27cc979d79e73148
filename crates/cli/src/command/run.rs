//! `inferometer run`: one load point.

use crate::exit::Exit;
use crate::live::{LiveOptions, Serve};
use crate::options::{EngineArguments, MeasurementOptions, OutputOptions, RankOptions};
use crate::otlp::{OtlpOptions, When};
use crate::output::{check_output, check_report_name, keep_page, language, show, verdict};
use crate::progress::Progress;
use crate::ranks;
use crate::session::session;
use crate::signals::interrupt_on_signals;
use crate::stderr::say;
use crate::stores::{Kept, Measurement, Out};
use crate::typed_words::typed_words;
use clap::Args;
use inferometer_core::environment::EndCause;
use inferometer_core::options::Options;
use inferometer_load::instrument::Control;
use inferometer_runner::launch::Flags;
use inferometer_runner::measure::{Point, PrefixCache};
use inferometer_runner::servers::Servers;
use inferometer_runner::{Session, with_causes};
use inferometer_store::run_dir::RunDir;
use std::sync::Arc;

#[derive(Args)]
pub struct RunArguments {
    #[command(flatten)]
    pub output: OutputOptions,
    #[command(flatten)]
    pub measurement: MeasurementOptions,
    /// Folder for everything that is kept of the run, or s3://…, gs://… or az://… to which it is
    /// uploaded [inferometer-runs/TIME-LABEL]
    #[arg(long, value_name = "DIR|URL", help_heading = "Output")]
    pub out: Option<Out>,
    /// Do not write the page report.html
    #[arg(long, help_heading = "Output")]
    pub no_html: bool,
    #[command(flatten)]
    pub otlp: OtlpOptions,
    #[command(flatten)]
    pub live: LiveOptions,
    /// Say nothing while it runs
    #[arg(long, help_heading = "Output")]
    pub quiet: bool,
    #[command(flatten)]
    pub ranks: RankOptions,
    #[command(flatten)]
    pub engine: EngineArguments,
}

pub fn run(mut arguments: RunArguments, serve: Serve) -> anyhow::Result<Exit> {
    let options = std::mem::take(&mut arguments.measurement).layered()?;
    check_output(&arguments.output)?;
    check_report_name(&arguments.output)?;
    arguments.otlp.check()?;
    let lang = language(arguments.output.lang);
    let session = session(lang)?;
    let board = arguments.live.board()?;
    let mut progress = Progress::new(arguments.quiet, lang).on(board.as_ref());
    let rank = arguments.ranks.found()?;
    if let Some(rank) = &rank {
        ranks::check(&options, &arguments.engine)?;
        ranks::check_streams(&options, rank)?;
        if rank.rank > 0 {
            let (ranks, out) = (&arguments.ranks, arguments.out.as_ref());
            return ranks::follow(rank, ranks, out, &options, &session, &mut progress);
        }
    }
    let prepared = prepare(&arguments, &options, &session, &mut progress);
    let ((point, kept, mut servers), leader) =
        ranks::gather(rank.as_ref(), &arguments.ranks, prepared, &mut progress)?;
    servers.share_with(leader);
    let control = Control::default();
    let end = interrupt_on_signals(control.clone())?;
    let mut followers =
        (arguments.live).follow(serve, &kept.folder, end, board, arguments.output.lang)?;
    let measured = servers.measure(point, &kept.folder, &control, &mut progress);
    servers.stop(&mut progress);
    progress.end();
    followers.clear();
    let measured = measured?;
    show(&measured, &arguments.output)?;
    if !arguments.no_html {
        keep_page(&measured, &arguments.output);
    }
    // A measurement does not fail for want of a listener.
    if let Err(error) = arguments.otlp.send(&measured, When::Now) {
        say(format_args!("warning: {}", with_causes(error.as_ref())));
    }
    followers.end();
    kept.finish(arguments.quiet, lang)?;
    Ok(match measured.ending.cause {
        EndCause::Signal => Exit::Interrupted,
        _ => verdict(&measured.summary),
    })
}

/// What is measured, where it is kept and on which servers: all that can be refused before
/// anything is sent.
fn prepare(
    arguments: &RunArguments,
    options: &Options,
    session: &Arc<Session>,
    progress: &mut Progress,
) -> anyhow::Result<(Point, Kept, Servers)> {
    let mut point = Point::prepare(options.clone(), PrefixCache::Kept, session, progress)?;
    point.typed = typed_words(std::env::args().skip(1));
    let label = point.scenario.label.as_deref();
    let proxy = options.connection.proxy.as_deref();
    let kept = Kept::find(
        arguments.out.as_ref(),
        label,
        Measurement::Run,
        session,
        proxy,
    )?;
    RunDir::check(&kept.folder)?;
    arguments.engine.check(&options.connection)?;
    let servers = Servers::given(
        &arguments.engine.options()?,
        &options.connection,
        &Flags::new(),
        kept.folder.join("server"),
        Arc::clone(session),
        progress,
    )?;
    Ok((point, kept, servers))
}
