//! `inferometer capacity`: the highest load that still meets the objectives.

use crate::Exit;
use crate::arguments::{Format, MeasurementOptions, OutputOptions};
use crate::folder::new_folder;
use crate::launch::{EngineArguments, Flags};
use crate::measure::{Measured, Point, PrefixCache};
use crate::output::{Rendered, check_output, deliver, keep, language, style};
use crate::progress::Progress;
use crate::servers::Servers;
use crate::signals::interrupt_on_signals;
use anyhow::{Context, bail};
use inferometer_campaign::capacity::{
    Answer, Edge as FoundEdge, Ending, Next, Outcome, Probe, Purpose, Search, Seen, Settings, Step,
    Target, Verdict,
};
use inferometer_core::capacity::{
    Capacity, Edge, FILE, ProbeLine, SCHEMA, SearchEnding, TierCapacity,
};
use inferometer_core::environment::EndCause;
use inferometer_core::message::Lang;
use inferometer_core::options::{Count, Options, Positive};
use inferometer_core::record::Record;
use inferometer_core::run_dir::RunDir;
use inferometer_core::scenario::{Rate, SimClock, Warmup};
use inferometer_core::slo::{Slo, SloScope};
use inferometer_core::summary::Summary;
use inferometer_load::instrument::Control;
use inferometer_load::worker::Stop;
use inferometer_report::capacity::{compose, figures, json};
use inferometer_report::html::capacity::CapacityPage;
use inferometer_report::{html, markdown, text};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// How far the ends of the interval may be from the answer.
const USUAL_TOLERANCE: f64 = 0.04;
/// Most requests of a search.
const USUAL_BUDGET: u64 = 30_000;

/// `inferometer capacity`.
#[derive(clap::Args)]
pub struct CapacityArguments {
    #[command(flatten)]
    pub output: OutputOptions,
    #[command(flatten)]
    pub measurement: MeasurementOptions,
    /// Folder for the search and its probes [inferometer-runs/TIME-LABEL]
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub out: Option<PathBuf>,
    /// Do not write the page report.html
    #[arg(long, help_heading = "Output")]
    pub no_html: bool,
    /// Say nothing while it runs
    #[arg(long, help_heading = "Output")]
    pub quiet: bool,
    /// What to raise
    #[arg(
        long,
        value_name = "rate|concurrency",
        default_value = "rate",
        hide_possible_values = true,
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
    /// Most requests of the whole search
    #[arg(
        long,
        value_name = "N",
        default_value = "30000",
        help_heading = "Capacity"
    )]
    pub budget: Count,
    #[command(flatten)]
    pub engine: EngineArguments,
}

/// What is raised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Over {
    /// Poisson arrivals a second.
    Rate,
    /// Streams of a closed loop.
    Concurrency,
}

impl Over {
    fn word(self) -> &'static str {
        match self {
            Over::Rate => "rate",
            Over::Concurrency => "concurrency",
        }
    }
}

/// Objectives with a name.
#[derive(Clone, Debug)]
pub struct Tier {
    name: String,
    slos: Vec<Slo>,
}

impl std::str::FromStr for Tier {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let shape = "write NAME: SLO, …, as in batch: ttft.p99=5s, e2e.p99=60s";
        let (name, list) = text.split_once(':').ok_or(shape)?;
        let slos: Vec<Slo> = (list.split(','))
            .map(|slo| slo.parse().map_err(|error| format!("{error}")))
            .collect::<Result<_, String>>()?;
        match name.trim() {
            "" => Err(shape.into()),
            name => Ok(Tier {
                name: name.to_owned(),
                slos,
            }),
        }
    }
}

/// Searches and shows the answer.
pub fn run(arguments: CapacityArguments) -> anyhow::Result<Exit> {
    check_output(&arguments.output)?;
    let lang = language(arguments.output.lang);
    let mut options = arguments.measurement.layered()?;
    let tiers = tiers(&options, arguments.tier)?;
    fixed_load(&options, arguments.over)?;
    // Every objective is watched in every probe.
    options.objectives.slo = Some(tiers.iter().flat_map(|tier| tier.slos.clone()).collect());
    let settings = Settings {
        over: arguments.over.word().to_owned(),
        tolerance: arguments.tolerance.0 / 100.0,
        budget: arguments.budget.0,
        ..levels(
            arguments.over,
            arguments.start,
            arguments.lowest,
            arguments.highest,
        )
    };
    let label = options.run.label.clone();
    let sought = Sought::new(options, arguments.over, &tiers, settings)?;
    let mut progress = Progress::of_campaign(arguments.quiet, lang);
    // What cannot be measured at any load is said before the first.
    Point::prepare(
        at_level(&sought.options, arguments.over, 1.0, 1),
        PrefixCache::Kept,
        &mut progress,
    )?;
    let out = (arguments.out).unwrap_or_else(|| new_folder(label.as_deref(), "capacity"));
    RunDir::check(&out)?;
    let mut servers = Servers::given(
        &arguments.engine,
        &sought.options,
        &Flags::new(),
        out.join("server"),
        &mut progress,
    )?;
    let control = Control::default();
    interrupt_on_signals(control.clone())?;
    let found = sought.find(&out, control, &mut servers, &mut progress);
    servers.stop(&progress);
    progress.end();
    let found = found?;
    show(&found, &out, &arguments.output)?;
    if !arguments.no_html {
        keep(&arguments.output, &out, || {
            Ok(page(&found, &out, language(arguments.output.lang)))
        });
    }
    Ok(match found.answer.ending {
        SearchEnding::Interrupted => Exit::Interrupted,
        _ => exit(&found),
    })
}

/// What is searched for.
pub struct Sought {
    options: Options,
    over: Over,
    watched: Watched,
    search: Search,
}

impl Sought {
    fn new(
        options: Options,
        over: Over,
        tiers: &[Tier],
        settings: Settings,
    ) -> anyhow::Result<Sought> {
        let watched = Watched::of(tiers, options.objectives.attainment)?;
        let search = Search::new(Settings {
            targets: watched.targets(),
            ..settings
        })?;
        Ok(Sought {
            options,
            over,
            watched,
            search,
        })
    }

    /// The highest rate at which these objectives hold, with the usual settings.
    pub fn rate(mut options: Options, slos: &[Slo]) -> anyhow::Result<Sought> {
        let over = Over::Rate;
        let tier = Tier {
            name: "slo".to_owned(),
            slos: slos.to_vec(),
        };
        options.objectives.slo = Some(slos.to_vec());
        let settings = Settings {
            tolerance: USUAL_TOLERANCE,
            budget: USUAL_BUDGET,
            ..levels(over, None, None, None)
        };
        Sought::new(options, over, &[tier], settings)
    }

    /// Searches on servers that are up, and keeps the answer and its probes in `out`.
    pub fn find(
        self,
        out: &Path,
        control: Control,
        servers: &mut Servers,
        progress: &mut Progress,
    ) -> anyhow::Result<Capacity> {
        let label = self.options.run.label.clone();
        let mut driver = Driver {
            options: self.options,
            over: self.over,
            watched: self.watched,
            out: out.to_owned(),
            control,
            servers,
            lines: Vec::new(),
            confirmed: None,
        };
        let (answers, spent) = driver.search(self.search, progress)?;
        let found = Capacity {
            schema: SCHEMA.to_owned(),
            label,
            over: self.over.word().to_owned(),
            answer: answers[0].clone(),
            requests_spent: spent,
            confirmed: driver.confirmed,
            tiers: match answers.len() {
                1 => Vec::new(),
                _ => answers,
            },
            probes: driver.lines,
        };
        std::fs::create_dir_all(out).with_context(|| format!("cannot make {}", out.display()))?;
        let file = out.join(FILE);
        std::fs::write(&file, json(&found))
            .with_context(|| format!("cannot write {}", file.display()))?;
        Ok(found)
    }
}

/// Shows a search.
pub fn show(found: &Capacity, folder: &Path, options: &OutputOptions) -> anyhow::Result<()> {
    let lang = language(options.lang);
    deliver(options, folder, |format| {
        Ok(Rendered::Whole(match format {
            Format::Text => text::render(&compose(found, folder, lang), style()),
            Format::Md => markdown::render(&compose(found, folder, lang)),
            Format::Json => json(found),
            Format::Csv => bail!("a capacity is no table; use --format text or json"),
            Format::Html => page(found, folder, lang),
            Format::Svg | Format::Png => {
                let drawn = figures(found, &probed(found, folder), lang);
                return Ok(Rendered::Figures(drawn));
            }
        }))
    })
}

/// The levels of the probes whose runs can be read, and their numbers.
fn probed(found: &Capacity, folder: &Path) -> Vec<(f64, Summary)> {
    let probes = found.probes.iter();
    probes
        .filter_map(|probe| {
            let run = RunDir::open(folder.join(&probe.directory)).ok()?;
            Some((probe.level, run.summary().ok()?))
        })
        .collect()
}

/// The page of a search.
pub fn page(found: &Capacity, folder: &Path, lang: Lang) -> String {
    let probes = probed(found, folder);
    let mut runs = found.probes.iter();
    let environment = runs.find_map(|probe| {
        let run = RunDir::open(folder.join(&probe.directory)).ok()?;
        run.environment().ok()
    });
    let page = CapacityPage {
        found,
        probes: &probes,
        environment: environment.as_ref(),
        directory: folder,
    };
    html::render(&html::capacity::compose_page(&page, lang))
}

/// The stored search of a folder.
pub fn read(folder: &Path) -> anyhow::Result<Capacity> {
    let file = folder.join(FILE);
    let text = std::fs::read_to_string(&file)
        .with_context(|| format!("cannot read {}", file.display()))?;
    serde_json::from_str(&text)
        .with_context(|| format!("{} cannot be understood; search again", file.display()))
}

/// Fine if every tier has an answer that was confirmed, or reached the highest load.
pub fn exit(found: &Capacity) -> Exit {
    let all = std::iter::once(&found.answer).chain(&found.tiers);
    let fine = |tier: &TierCapacity| {
        matches!(
            tier.ending,
            SearchEnding::Confirmed | SearchEnding::AtCeiling
        )
    };
    match all.into_iter().all(fine) {
        true => Exit::Fine,
        false => Exit::Doubtful,
    }
}

/// The objectives of the options, then those of `--tier`.
fn tiers(options: &Options, further: Vec<Tier>) -> anyhow::Result<Vec<Tier>> {
    let own = options.objectives.slo.clone().unwrap_or_default();
    let own = (!own.is_empty()).then(|| Tier {
        name: "slo".to_owned(),
        slos: own,
    });
    let tiers: Vec<Tier> = own.into_iter().chain(further).collect();
    if tiers.is_empty() {
        bail!(
            "capacity needs an objective: give --slo ttft.p99=1s, or --slo ttft=1s with --attainment 0.95"
        );
    }
    Ok(tiers)
}

/// The search chooses the load and how much of it.
fn fixed_load(options: &Options, over: Over) -> anyhow::Result<()> {
    let load = &options.load;
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
            "capacity chooses {name} by itself; leave it out (--over {} says what it raises, --budget how long)",
            over.word()
        );
    }
    Ok(())
}

fn levels(
    over: Over,
    start: Option<Positive>,
    lowest: Option<Positive>,
    highest: Option<Positive>,
) -> Settings {
    let (from, low, high): (f64, f64, f64) = match over {
        Over::Rate => (2.0, 0.05, 10_000.0),
        Over::Concurrency => (8.0, 1.0, 8192.0),
    };
    let floor = lowest.map_or(low, |level| level.0);
    let ceiling = highest.map_or(high, |level| level.0);
    Settings {
        over: over.word().to_owned(),
        targets: Vec::new(),
        start: start.map_or(from.clamp(floor, ceiling.max(floor)), |level| level.0),
        floor,
        ceiling,
        whole: over == Over::Concurrency,
        tolerance: 0.04,
        budget: 0,
    }
}

/// The options of a probe.
fn at_level(options: &Options, over: Over, level: f64, requests: u64) -> Options {
    let mut options = options.clone();
    let load = &mut options.load;
    match over {
        Over::Rate => load.rate = Some(Rate(level)),
        Over::Concurrency => load.concurrency = Some(Count(level as u64)),
    }
    load.requests = Some(Count(requests));
    options
}

/// The objectives as targets of the search: each percentile by itself, those of single
/// requests together.
#[derive(Clone)]
struct Watched {
    tiers: Vec<WatchedTier>,
}

#[derive(Clone)]
struct WatchedTier {
    name: String,
    slos: Vec<Slo>,
    /// Name, share, and the objectives that a request must meet.
    targets: Vec<(String, f64, Vec<Slo>)>,
}

impl Watched {
    fn of(tiers: &[Tier], attainment: Option<f64>) -> anyhow::Result<Watched> {
        let watch = |tier: &Tier| {
            let mut targets = Vec::new();
            let mut single = Vec::new();
            for slo in &tier.slos {
                match slo.scope {
                    SloScope::Percentile(percent) => {
                        let name = slo.to_string();
                        let name = name.split('=').next().unwrap_or_default().to_owned();
                        targets.push((name, percent / 100.0, vec![*slo]));
                    }
                    SloScope::Request => single.push(*slo),
                    SloScope::Mean => bail!(
                        "a mean cannot be searched for: a few slow requests move it at any load; give a percentile, as in --slo ttft.p50=200ms"
                    ),
                }
            }
            if !single.is_empty() {
                let share = attainment.filter(|share| *share < 1.0).context(
                    "objectives of single requests need --attainment below 1, such as 0.95: no sample shows that every request meets them",
                )?;
                let names: Vec<String> = single.iter().map(ToString::to_string).collect();
                targets.push((names.join(" and "), share, single));
            }
            Ok(WatchedTier {
                name: tier.name.clone(),
                slos: tier.slos.clone(),
                targets,
            })
        };
        let tiers = tiers.iter().map(watch).collect::<anyhow::Result<_>>()?;
        Ok(Watched { tiers })
    }

    fn targets(&self) -> Vec<Target> {
        let of_tier = |(tier, watched): (usize, &WatchedTier)| {
            let target = |(name, share, _): &(String, f64, Vec<Slo>)| Target {
                name: name.clone(),
                share: *share,
                tier,
            };
            watched.targets.iter().map(target).collect::<Vec<_>>()
        };
        self.tiers.iter().enumerate().flat_map(of_tier).collect()
    }

    /// Whether a request was within the limits of each target.
    fn within(&self, record: &Record) -> Vec<bool> {
        (self.tiers.iter())
            .flat_map(|tier| &tier.targets)
            .map(|(_, _, slos)| record.is_done() && slos.iter().all(|slo| slo.met_by(record)))
            .collect()
    }

    fn answers(&self, answers: &[Answer]) -> Vec<TierCapacity> {
        let answer = |(tier, answer): (&WatchedTier, &Answer)| TierCapacity {
            tier: (self.tiers.len() > 1).then(|| tier.name.clone()),
            objectives: tier.slos.iter().map(ToString::to_string).collect(),
            value: answer.value,
            low: answer.low,
            high: answer.high,
            binding: answer.binding.clone(),
            edge: answer.edge.map(|edge| match edge {
                FoundEdge::Slope => Edge::Slope,
                FoundEdge::Cliff => Edge::Cliff,
            }),
            ending: match answer.ending {
                Ending::Confirmed => SearchEnding::Confirmed,
                Ending::Unconfirmed => SearchEnding::Unconfirmed,
                Ending::BudgetSpent => SearchEnding::BudgetSpent,
                Ending::AtCeiling => SearchEnding::AtCeiling,
                Ending::NeverMet => SearchEnding::NeverMet,
                Ending::TooFewSamples => SearchEnding::TooFewSamples,
            },
            needs: answer.needs,
        };
        self.tiers.iter().zip(answers).map(answer).collect()
    }

    /// What there is to say of a search that was stopped.
    fn unanswered(&self) -> Vec<TierCapacity> {
        let tier = |tier: &WatchedTier| TierCapacity {
            tier: (self.tiers.len() > 1).then(|| tier.name.clone()),
            objectives: tier.slos.iter().map(ToString::to_string).collect(),
            ..TierCapacity::default()
        };
        self.tiers.iter().map(tier).collect()
    }
}

struct Driver<'a> {
    options: Options,
    over: Over,
    watched: Watched,
    out: PathBuf,
    control: Control,
    servers: &'a mut Servers,
    lines: Vec<ProbeLine>,
    confirmed: Option<Summary>,
}

impl Driver<'_> {
    fn search(
        &mut self,
        mut search: Search,
        progress: &mut Progress,
    ) -> anyhow::Result<(Vec<TierCapacity>, u64)> {
        loop {
            let probe = match search.ask() {
                Next::Done(answers) => return Ok((self.watched.answers(&answers), search.spent())),
                Next::Probe(probe) => probe,
            };
            let purpose = probe.purpose;
            let (outcome, measured) = self.probe(probe, progress)?;
            self.keep(&outcome, &measured, progress);
            if measured.ending.cause == EndCause::Signal {
                return Ok((self.watched.unanswered(), search.spent() + outcome.sent));
            }
            if purpose == Purpose::Confirm {
                self.confirmed = Some(measured.summary);
            }
            search.tell(outcome);
        }
    }

    /// Runs a probe until enough is known.
    fn probe(
        &mut self,
        probe: Probe,
        progress: &mut Progress,
    ) -> anyhow::Result<(Outcome, Measured)> {
        let level = probe.level;
        let directory = self.out.join(format!(
            "probes/{:03}-{}",
            self.lines.len() + 1,
            short(level)
        ));
        let mut options = at_level(&self.options, self.over, level, probe.most_requests);
        if !self.lines.is_empty() && options.load.warmup.is_none() {
            // The server is warm from the probe before.
            options.load.warmup = Some(Warmup::Requests(0));
        }
        if options.connection.sim_clock == Some(SimClock::Virtual) {
            return self.compute(probe, &options, &directory, progress);
        }
        let mut point = Point::prepare(options, PrefixCache::Kept, progress)?;
        self.control.renew();
        let watch = Arc::new(Mutex::new(Eye {
            probe,
            watched: self.watched.clone(),
            ends: Vec::new(),
        }));
        let (eye, control) = (Arc::clone(&watch), self.control.clone());
        point.watch = Some(Box::new(move |record| {
            let mut eye = eye.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            match eye.see(record) {
                // What waits in the queue of an overloaded server would wait for minutes.
                Step::Stop(Verdict::Misses) => control.enough(Stop::Leave),
                Step::Stop(_) => control.enough(Stop::Drain),
                Step::Continue => {}
            }
        }));
        let measured = self
            .servers
            .measure(point, &directory, &self.control, progress)?;
        let sent = measured.ending.planned - measured.ending.unsent;
        let eye = watch
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        Ok((eye.probe.clone().finish(sent), measured))
    }

    /// The same in virtual time. A run that is computed cannot be stopped, so it is made
    /// longer until it suffices: the same seed gives the same beginning.
    fn compute(
        &mut self,
        probe: Probe,
        options: &Options,
        directory: &Path,
        progress: &mut Progress,
    ) -> anyhow::Result<(Outcome, Measured)> {
        const SHORTEST: u64 = 1024;
        let most = probe.most_requests;
        let mut requests = SHORTEST.min(most);
        loop {
            let options = at_level(options, self.over, probe.level, requests);
            let point = Point::prepare(options, PrefixCache::Kept, progress)?;
            let measured = self
                .servers
                .measure(point, directory, &self.control, progress)?;
            let mut eye = Eye {
                probe: probe.clone(),
                watched: self.watched.clone(),
                ends: Vec::new(),
            };
            let sent = eye.review(&measured.directory)?;
            if sent.is_some() || requests >= most {
                return Ok((eye.probe.finish(sent.unwrap_or(requests)), measured));
            }
            std::fs::remove_dir_all(directory)
                .with_context(|| format!("cannot replace {}", directory.display()))?;
            requests = (requests * 2).min(most);
        }
    }

    fn keep(&mut self, outcome: &Outcome, measured: &Measured, progress: &Progress) {
        let purpose = match outcome.purpose {
            Purpose::Bracket => "bracket",
            Purpose::Bisect => "bisect",
            Purpose::Confirm => "confirm",
        };
        let verdict = match outcome.verdict {
            Verdict::Meets => "meets",
            Verdict::Misses => "misses",
            Verdict::Near => "near",
        };
        let directory = measured.directory.path();
        let below = directory.strip_prefix(&self.out).unwrap_or(directory);
        progress.keep(&format!(
            "{purpose:>8} {} {:>9}: {verdict:<6} after {} requests",
            self.over.word(),
            short(outcome.level),
            outcome.sent
        ));
        self.lines.push(ProbeLine {
            level: outcome.level,
            purpose: purpose.to_owned(),
            requests: outcome.sent,
            verdict: verdict.to_owned(),
            directory: below.display().to_string(),
        });
    }
}

/// A level in a few digits.
fn short(level: f64) -> String {
    match level {
        level if level.fract() == 0.0 => format!("{level}"),
        level if level >= 10.0 => format!("{level:.1}"),
        level => format!("{level:.3}"),
    }
}

/// Shows the requests of a run to its probe.
struct Eye {
    probe: Probe,
    watched: Watched,
    /// When requests ended, in order, to know how many were under way.
    ends: Vec<u64>,
}

impl Eye {
    fn see(&mut self, record: &Record) -> Step {
        if record.warmup {
            return Step::Continue;
        }
        let sent = record.sent.map_or(u64::MAX, |sent| sent.0);
        let ended_before = self.ends.partition_point(|&end| end <= sent) as u64;
        let end = record.end.map_or(sent, |end| end.0);
        let place = self.ends.partition_point(|&other| other <= end);
        self.ends.insert(place, end);
        self.probe.observe(Seen {
            order: record.index,
            in_flight: (record.index + 1).saturating_sub(ended_before),
            ttft_s: record
                .ttft()
                .filter(|_| record.is_done())
                .map(|ttft| ttft.as_secs_f64()),
            within: &self.watched.within(record),
        })
    }

    /// Shows the records of a computed run until enough is known; the requests that were sent
    /// by then, if it was.
    fn review(&mut self, directory: &RunDir) -> anyhow::Result<Option<u64>> {
        let records: Vec<Record> = directory.records()?.collect::<Result<_, _>>()?;
        for record in &records {
            if let Step::Stop(_) = self.see(record) {
                let now = record.end;
                let sent = records.iter().filter(|other| other.sent <= now).count();
                return Ok(Some(sent as u64));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tier(text: &str) -> Tier {
        text.parse().unwrap()
    }

    #[test]
    fn percentiles_are_targets_of_their_own_and_single_requests_one_together() {
        let tiers = [
            tier("chat: ttft.p99=1s, ttft=500ms, tpot=50ms"),
            tier("batch: e2e.p90=60s"),
        ];
        let watched = Watched::of(&tiers, Some(0.95)).unwrap();
        let targets: Vec<(String, f64, usize)> = (watched.targets().into_iter())
            .map(|target| (target.name, target.share, target.tier))
            .collect();
        assert_eq!(
            targets,
            [
                ("ttft.p99".to_owned(), 0.99, 0),
                ("ttft=500ms and tpot=50ms".to_owned(), 0.95, 0),
                ("e2e.p90".to_owned(), 0.9, 1),
            ]
        );
    }

    #[test]
    fn what_cannot_be_searched_for_is_refused_with_the_remedy() {
        let said = |text: &str| Watched::of(&[tier(text)], None).err().unwrap().to_string();
        assert!(said("a: ttft=1s").contains("--attainment"));
        assert!(said("a: ttft.mean=1s").contains("percentile"));
        assert!("ttft.p99=1s".parse::<Tier>().is_err());
        assert!("a: ttft.p99".parse::<Tier>().is_err());
    }
}
