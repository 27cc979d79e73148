//! A load point on the simulated engine in virtual time: no server, no client, no waiting. What
//! comes out is stored and judged like any run, and says what it is.

use super::plan::{Planned, planned};
use super::texts::Verdicts;
use super::{Measured, PREFLIGHT_SESSION, Point};
use crate::error::{Context as _, RunnerError, bail};
use crate::keys::without_secrets;
use crate::launch::{CARDS, Launcher};
use crate::session::Session;
use crate::{host, work};
use inferometer_catalog::device::Device;
use inferometer_catalog::engine::{EngineKind, Version};
use inferometer_core::api::Answers;
use inferometer_core::content::Content;
use inferometer_core::environment::{EndCause, Ending, Environment, Health, Probe, StartedEngine};
use inferometer_core::note::{Known, Note};
use inferometer_core::record::{
    Chunks, Failure, FailureClass, Outcome, Phase, Record, Stage, Usage,
};
use inferometer_core::scenario::{Connection, Hold, Scenario, SimClock};
use inferometer_core::units::Offset;
use inferometer_core::window::{LoadSoFar, first_share};
use inferometer_engine::Failure as EngineDeath;
use inferometer_load::instrument::Rhythm;
use inferometer_sim::Death;
use inferometer_sim::engine::{Engine, Request, virtual_time};
use inferometer_sim::launch::{Host, Launch, USUAL_DEVICE};
use inferometer_sim::wish::{Granted, Wish};
use inferometer_sim::{Tokenizer, words};
use inferometer_store::error::StorageError;
use inferometer_store::journal::{Entry, Header, JournalWriter};
use inferometer_store::run_dir::RunDir;
use inferometer_workload::{Prompt, Workload};
use std::cell::RefCell;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;
use virtual_time::{Agenda, Happening, Keep, Served};

/// Tokens of an answer whose length nobody asked for.
const USUAL_ANSWER: u32 = 128;

/// Refuses what a run in virtual time cannot do.
pub fn check_computable(scenario: &Scenario) -> Result<(), RunnerError> {
    if scenario.connection.sim_clock != SimClock::Virtual {
        return Ok(());
    }
    if scenario.work.conversation.is_some() {
        bail!(
            "--sim-clock virtual knows no conversations and no sessions; leave out --turns, take a trace without sessions, or leave out the option"
        );
    }
    if scenario.connection.api.answers() == Answers::Items {
        bail!(
            "--sim-clock virtual computes answers of tokens; leave it out with --api {}",
            scenario.connection.api
        );
    }
    if scenario.connection.server_traces.is_some() {
        bail!("--sim-clock virtual has no server that sends traces; leave out --server-traces");
    }
    let models = scenario.connection.model.as_ref();
    if models.is_some_and(|mix| !mix.is_one()) {
        bail!("--sim-clock virtual computes one model; name one with --model");
    }
    let work = &scenario.work;
    if work.images.is_some() {
        bail!("--sim-clock virtual computes text only; leave out --images");
    }
    let of_text = scenario.objectives.check.is_some() || scenario.keep_text;
    if of_text || work.tools.is_some() || work.json_schema.is_some() {
        bail!(
            "--sim-clock virtual computes lengths and times, no text; leave out --check, --keep-text, --tools and --json-schema"
        );
    }
    if scenario.load.cancel.is_some() {
        bail!("--sim-clock virtual gives no request up; leave out --cancel");
    }
    if !scenario.load.stop_when.is_empty() {
        bail!("--sim-clock virtual computes every request; leave out --stop-when");
    }
    if scenario.load.until.is_some() {
        bail!(
            "--sim-clock virtual computes as many requests as --requests says; leave out --until"
        );
    }
    Ok(())
}

/// A load point that was computed, and what the engine died of under it, if it did.
pub struct Computed {
    pub measured: Measured,
    pub death: Option<EngineDeath>,
}

/// Computes one load point on an engine, of which `about` tells where it has a command, and
/// keeps it in `out`.
pub fn simulate(
    point: Point,
    launch: &Launch,
    about: Option<StartedEngine>,
    out: &Path,
    session: &Session,
) -> Result<Computed, RunnerError> {
    let Point {
        typed,
        scenario,
        data,
        ..
    } = point;
    RunDir::check(out)?;
    let nonce = (scenario.work.cache_nonce).then(work::new_nonce);
    let workload = work::open(&scenario, data.as_deref(), nonce, session)?;
    let planned = planned(&scenario, &workload);
    let block = launch.config.block_size;
    let mut engine = Engine::new(launch.config.clone(), scenario.seed);
    let keep = Keep {
        chunk_times: true,
        steps: false,
    };
    let spare = planned.spare_session();
    let request = |session: u64| request(session, &workload.prompt(session, 0), block, &scenario);
    let alone = virtual_time::latency_alone(&launch.config, request(spare + PREFLIGHT_SESSION));
    let stagger = planned.stagger(Some(Duration::from_nanos(alone)));
    let load = RefCell::new(VirtualLoad::new(&planned, stagger, spare, &request)?);
    let directory = RunDir::create(out)?;
    let mut records = RecordsInOrder {
        journal: directory.start_journal(&Header::new(planned.requests))?,
        scenario: &scenario,
        workload: &workload,
        is_open: matches!(planned.rhythm, Rhythm::Open { .. }),
        waiting: Vec::new(),
        failed: None,
    };
    let mut unended = Vec::new();
    let run = virtual_time::drive_each(
        &mut engine,
        keep,
        |agenda, happening| load.borrow_mut().hear(agenda, happening),
        |place, served| {
            let stage = load.borrow().stage(place);
            if served.finished.is_some() || served.refused.is_some() {
                records.push(served, stage);
            } else {
                unended.push((served, stage));
            }
        },
    );
    let load = load.into_inner();
    let death = engine.died().map(|memory| {
        let (last_words, status) = launch.epitaph(Death::OutOfMemory(memory), "");
        let said = launch.log.iter().map(|(_, line)| line.clone());
        let said: Vec<String> = said.chain(last_words).collect();
        let after = Duration::from_nanos(run.ended.max(1));
        EngineDeath::computed(launch.engine, &said, status.into(), after)
    });

    let unsent = match death {
        Some(_) => load.requests.saturating_sub(load.measured),
        None => 0,
    };

    let mut notes: Vec<Note> = vec![Known::VirtualTime.into()];
    notes.extend(workload.notes.iter().cloned().map(Note::from));
    let environment = Environment {
        inferometer: env!("CARGO_PKG_VERSION").to_owned(),
        typed,
        started: host::now(),
        nonce: nonce.map(|nonce| nonce.to_string()),
        distinct_prompts: workload.prompts.distinct(),
        host: host::host(),
        server: probe(launch),
        engine: about,
        notes,
        ..Environment::default()
    };
    let ending = Ending {
        cause: EndCause::Complete,
        // What an engine that died did not get was planned all the same.
        planned: load.measured + unsent,
        unsent,
        measured_from: Offset(load.opened.unwrap_or_default()),
        sending_ended: Offset(load.last_measured),
        steady_window: planned.opening.is_some() && load.opened.is_some(),
        stagger_ns: stagger.map(|span| Offset::after(span).0),
        health: match &death {
            Some(death) => Health::Dead(death.to_string()),
            None => Health::Alive,
        },
        ..Ending::default()
    };
    records.finish(unended, death.as_ref())?;
    let scenario = without_secrets(scenario.clone())?;
    directory.write_scenario(&scenario)?;
    directory.write_environment(&environment)?;
    directory.write_ending(&ending)?;
    let measured = Measured::fold(
        directory,
        scenario,
        environment,
        ending,
        &Verdicts::default(),
        session.lang,
    )?;
    Ok(Computed { measured, death })
}

/// The device of a computed engine.
pub fn device(name: Option<&str>) -> Result<&'static Device, RunnerError> {
    let name = name.unwrap_or(USUAL_DEVICE);
    Device::named(name).with_context(|| {
        let known = Device::preset_names();
        format!("--sim-device {name} is not known; choose one of: {known}")
    })
}

/// A host with the cards of `--sim-device`.
pub fn simulated_host(name: Option<&str>, version: Option<Version>) -> Result<Host, RunnerError> {
    Ok(Host {
        device: device(name)?.clone(),
        cards: CARDS,
        version,
        timing: None,
        stamp: host::log_time(),
    })
}

/// The engine that `sim` would be with the same command, or without one.
pub fn computed(
    connection: &Connection,
    launcher: Option<&Launcher>,
) -> Result<Launch, RunnerError> {
    let version = launcher.and_then(Launcher::given_version);
    let host = simulated_host(connection.sim_device.as_deref(), version)?;
    if let Some(launcher) = launcher {
        let engine = launcher.engine();
        if engine.kind() == EngineKind::Custom {
            bail!(
                "--sim-clock virtual computes known engines only: vllm, sglang, llama-server or mindieservice_daemon"
            );
        }
        if let Some(config) = launcher.config_text()? {
            return Ok(Launch::of_mindie(&config, &host)?);
        }
        if engine.kind() == EngineKind::Mindie {
            bail!("MindIE is computed from its config.json; give --mindie-config");
        }
        return Ok(Launch::of_command(engine.command(), &host)?);
    }
    let model = connection.sim_model.as_deref();
    Ok(Launch::of_defaults(model, &host)?)
}

/// The load as the instrument drives it, in virtual time.
struct VirtualLoad<'a> {
    planned: &'a Planned,
    spread: Duration,
    /// The request of a session.
    request: &'a dyn Fn(u64) -> Request,
    /// Where the sessions of the warm-up begin.
    spare: u64,
    /// Requests to measure.
    requests: u64,
    so_far: LoadSoFar,
    due: Box<dyn Iterator<Item = Offset>>,
    sent: u64,
    ended: u64,
    warmup: u64,
    measured: u64,
    measured_ended: u64,
    /// Requests of all stages that were scheduled.
    scheduled: u64,
    opened: Option<u64>,
    last_measured: u64,
}

impl<'a> VirtualLoad<'a> {
    fn new(
        planned: &'a Planned,
        stagger: Option<Duration>,
        spare: u64,
        request: &'a dyn Fn(u64) -> Request,
    ) -> Result<Self, RunnerError> {
        let Some(requests) = planned.requests else {
            bail!("--sim-clock virtual needs a number of requests: give --requests");
        };
        let opened = planned.opening.is_none().then_some(0);
        Ok(VirtualLoad {
            planned,
            spread: stagger.unwrap_or_default(),
            request,
            spare,
            requests,
            so_far: LoadSoFar::default(),
            due: match &planned.rhythm {
                Rhythm::Closed { .. } => Box::new(std::iter::empty()),
                Rhythm::Open { measured, .. } if opened.is_some() => measured(),
                Rhythm::Open { warmup, .. } => warmup(),
            },
            sent: 0,
            ended: 0,
            warmup: 0,
            measured: 0,
            measured_ended: 0,
            scheduled: 0,
            opened,
            last_measured: 0,
        })
    }

    fn hear(&mut self, agenda: &mut Agenda, happening: Happening) {
        match happening {
            Happening::Begin => match self.planned.rhythm {
                Rhythm::Closed { streams, .. } => {
                    let span = Offset::after(self.spread).0;
                    for start in virtual_time::spread_over(span, streams) {
                        self.send(agenda, start);
                    }
                }
                Rhythm::Open { .. } => self.next_arrival(agenda),
            },
            Happening::Arrived { at } => {
                self.sent += 1;
                self.look(at);
                if let Rhythm::Open { .. } = self.planned.rhythm {
                    self.next_arrival(agenda);
                }
            }
            Happening::Ended { at, place } => {
                self.ended += 1;
                self.measured_ended += u64::from(self.stage(place) == Stage::Measured);
                self.look(at);
                if let Rhythm::Closed { .. } = self.planned.rhythm {
                    self.send(agenda, at);
                }
            }
        }
    }

    /// Opens the window when its time has come.
    fn look(&mut self, at: u64) {
        if self.opened.is_some() {
            return;
        }
        let elapsed = Duration::from_nanos(at);
        self.so_far.advance(elapsed, self.sent, self.ended);
        if (self.planned.opening).is_some_and(|opening| opening.is_due(&self.so_far)) {
            self.opened = Some(at);
            if let Rhythm::Open { measured, .. } = &self.planned.rhythm {
                self.due = measured();
            }
        }
    }

    fn next_arrival(&mut self, agenda: &mut Agenda) {
        if let Some(due) = self.due.next() {
            let at = self.opened.unwrap_or_default() + due.0;
            self.send(agenda, at);
        }
    }

    /// Schedules the next request of the stage that the load is in, if there is one.
    fn send(&mut self, agenda: &mut Agenda, at: u64) {
        let stage = match self.opened {
            None => Stage::Warmup,
            Some(_) if self.measured < self.requests => Stage::Measured,
            Some(_) => Stage::Hold,
        };
        let over = self.measured_ended >= self.requests || self.planned.hold == Hold::None;
        if stage == Stage::Hold && over {
            return;
        }
        let scheduled = self.scheduled;
        let (nth, session) = if stage == Stage::Warmup {
            (scheduled, self.spare + scheduled)
        } else {
            let nth = scheduled - self.warmup;
            (nth, nth)
        };
        let mut request = (self.request)(session);
        if let Some(streams) = self.planned.spread_first_answers().map(u64::from)
            && stage == Stage::Warmup
            && nth < streams
        {
            let share = first_share(nth, streams);
            request.output_tokens = (f64::from(request.output_tokens) * share).ceil() as u32;
        }
        self.warmup += u64::from(stage == Stage::Warmup);
        if stage == Stage::Measured {
            self.measured += 1;
            self.last_measured = self.last_measured.max(at);
        }
        self.scheduled += 1;
        agenda.schedule(at, request);
    }

    /// The stage of a request by its place: stages follow each other.
    fn stage(&self, place: usize) -> Stage {
        match (place as u64).checked_sub(self.warmup) {
            None => Stage::Warmup,
            Some(nth) if nth < self.measured => Stage::Measured,
            Some(_) => Stage::Hold,
        }
    }
}

/// A prompt's words stand for its tokens, as they do for the server.
fn request(session: u64, prompt: &Prompt, block_size: u32, scenario: &Scenario) -> Request {
    let word = |word: &str| {
        let mut hasher = DefaultHasher::new();
        word.hash(&mut hasher);
        hasher.finish() as u32
    };
    let ids: Vec<u32> = match &prompt.content {
        Content::Text(text) => words(text).map(word).collect(),
        Content::Messages(_) | Content::Body(_) | Content::TokenIds(_) | Content::Batch(_) => {
            Vec::new()
        }
    };
    let granted = granted(session, prompt, scenario).map(|it| it.tokens);
    let output = granted.or(prompt.output_tokens).unwrap_or(USUAL_ANSWER);
    if ids.is_empty() {
        Request::new(session, prompt.input_tokens.unwrap_or(1), output)
    } else {
        Request::with_prompt(session, &ids, output, block_size)
    }
}

/// The answer to a prompt that asks for its length in words, unless that is enforced.
fn granted(session: u64, prompt: &Prompt, scenario: &Scenario) -> Option<Granted> {
    let Content::Text(text) = &prompt.content else {
        return None;
    };
    let wish = Wish::of(text).filter(|_| !scenario.work.ignore_eos)?;
    // Words stand for tokens here.
    static WORDS: LazyLock<Tokenizer> = LazyLock::new(Tokenizer::default);
    let free = wish.granted(&WORDS, scenario.seed, session);
    let tokens = free.tokens.min(prompt.output_tokens.unwrap_or(u32::MAX));
    Some(Granted {
        tokens,
        chars: free.chars * u64::from(tokens) / u64::from(free.tokens),
        ..free
    })
}

fn probe(launch: &Launch) -> Probe {
    Probe {
        endpoints: vec!["virtual".to_owned()],
        api: "completions".to_owned(),
        model: launch.served[0].clone(),
        models: launch.served.clone(),
        max_model_len: Some(u64::from(launch.config.max_model_len)),
        stream_usage: true,
        ignore_eos: Some(true),
        ..Probe::default()
    }
}

/// The records of a run as its requests end, those that end at one moment in the order of their
/// numbers.
struct RecordsInOrder<'a> {
    journal: JournalWriter,
    scenario: &'a Scenario,
    workload: &'a Workload,
    is_open: bool,
    /// Those of the last moment.
    waiting: Vec<(Served, Stage)>,
    failed: Option<StorageError>,
}

fn ended((served, _): &(Served, Stage)) -> (u64, u64) {
    (served.finished.unwrap_or(served.arrived), served.id)
}

impl RecordsInOrder<'_> {
    fn push(&mut self, served: Served, stage: Stage) {
        let one = (served, stage);
        if (self.waiting.last()).is_some_and(|last| ended(last).0 < ended(&one).0) {
            self.write(None);
        }
        self.waiting.push(one);
    }

    fn write(&mut self, death: Option<&EngineDeath>) {
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.sort_by_key(ended);
        for (served, stage) in waiting.drain(..) {
            let record = self.record(&served, stage, death);
            if self.failed.is_none() {
                self.failed = self.journal.append(&Entry::end(&record)).err();
            }
        }
        self.waiting = waiting;
    }

    /// Adds those that never ended, of which the engine may have died.
    fn finish(
        mut self,
        unended: Vec<(Served, Stage)>,
        death: Option<&EngineDeath>,
    ) -> Result<(), RunnerError> {
        self.waiting.extend(unended);
        self.write(death);
        self.failed.map_or(Ok(()), Err)?;
        Ok(self.journal.flush()?)
    }

    fn record(&self, served: &Served, stage: Stage, death: Option<&EngineDeath>) -> Record {
        let prompt = self.workload.prompt(served.id, 0);
        let record = Record {
            stage,
            due: self.is_open.then_some(Offset(served.arrived)),
            output_exact: self.scenario.work.ignore_eos,
            ..record(served, &prompt, granted(served.id, &prompt, self.scenario))
        };
        let record = match death {
            Some(death) if record.outcome == Outcome::Cut => abandoned(record, death),
            _ => record,
        };
        if self.scenario.connection.stream {
            record
        } else {
            whole(record)
        }
    }
}

/// The record of a request whose engine died under it.
fn abandoned(record: Record, death: &EngineDeath) -> Record {
    let (phase, class) = match record.first_byte {
        Some(_) => (Phase::Truncated, FailureClass::CutStream),
        None => (Phase::Status, FailureClass::Disconnected),
    };
    Record {
        outcome: Outcome::Failed(Failure {
            phase,
            class,
            detail: death.to_string(),
        }),
        usage: None,
        ..record
    }
}

/// The record of an answer that is sent when it is complete.
fn whole(record: Record) -> Record {
    Record {
        first_byte: record.end.filter(|_| record.outcome == Outcome::Done),
        chunks: Chunks::default(),
        first_answer: None,
        streamed: false,
        ..record
    }
}

fn record(served: &Served, prompt: &Prompt, granted: Option<Granted>) -> Record {
    let words = match &prompt.content {
        Content::Text(text) => words(text).count(),
        _ => prompt.input_tokens.unwrap_or_default() as usize,
    };
    let outcome = match &served.refused {
        None if served.finished.is_some() => Outcome::Done,
        None => Outcome::Cut,
        Some(refusal) => Outcome::Failed(Failure {
            phase: Phase::Status,
            class: FailureClass::ContextExceeded,
            detail: refusal.to_string(),
        }),
    };
    let one_each = served.tokens == served.chunks;
    Record {
        id: format!("virtual-{}", served.id),
        index: served.id,
        sent: Some(Offset(served.arrived)),
        first_byte: served.first_token.map(Offset),
        chunks: Chunks {
            at: served.chunk_times.iter().copied().map(Offset).collect(),
            tokens: one_each.then(|| vec![1; served.chunk_times.len()]),
            same_read: vec![false; served.chunk_times.len()],
        },
        first_answer: served.first_token.map(Offset),
        end: Some(Offset(served.finished.unwrap_or(served.arrived))),
        status: Some(match served.refused {
            None => 200,
            Some(_) => 400,
        }),
        usage: served.refused.is_none().then(|| Usage {
            input: u32::try_from(words).ok(),
            output: Some(served.tokens),
            cached: Some(served.cached_tokens),
        }),
        finish: served.finish.map(|_| "length".to_owned()),
        input_tokens_asked: prompt.input_tokens,
        output_tokens_asked: prompt.output_tokens,
        input_chars: prompt.chars,
        output_chars: (granted.filter(|_| served.finished.is_some())).map_or(0, |it| it.chars),
        refused: granted.is_some_and(|it| it.declines.is_some()),
        url: "virtual".to_owned(),
        streamed: true,
        outcome,
        ..Record::default()
    }
}
