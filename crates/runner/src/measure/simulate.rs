//! A load point on the simulated engine in virtual time: no server, no client, no waiting. What
//! comes out is stored and judged like any run, and says what it is.

mod computable;
mod load;
mod prompt_tokens;

pub use computable::check_computable;

use self::load::{Sent, VirtualLoad};
use self::prompt_tokens::{asked, hashed, media_of_row, seconds_of, tokens_of};
use super::plan::planned;
use super::stored::AfterLoad;
use super::{Measured, PREFLIGHT_SESSION, Point};
use crate::error::{Context as _, RunnerError, bail};
use crate::host;
use crate::keys::without_secrets;
use crate::launch::{CARDS, Launcher};
use crate::session::Session;
use crate::work::{self, WorkJobs};
use inferometer_catalog::device::Device;
use inferometer_catalog::engine::{EngineKind, Version};
use inferometer_core::api::Api;
use inferometer_core::content::Content;
use inferometer_core::environment::{EndCause, Ending, Environment, Health, Probe, StartedEngine};
use inferometer_core::first_wave::FirstWave;
use inferometer_core::note::{Known, Note};
use inferometer_core::record::{
    Chunks, Failure, FailureClass, Outcome, PerToken, Phase, Record, Stage, Usage,
};
use inferometer_core::scenario::{Connection, Scenario, Shape};
use inferometer_core::units::Offset;
use inferometer_core::work::{Follows, History};
use inferometer_engine::Failure as EngineDeath;
use inferometer_load::preflight::ANSWER_TOKENS;
use inferometer_load::recorder::{Kept, RecordBatches};
use inferometer_load::setup::{Jobs, RequestPlace};
use inferometer_sim::Death;
use inferometer_sim::engine::{Engine, Request, block_hashes, virtual_time};
use inferometer_sim::launch::{Host, Launch, USUAL_DEVICE};
use inferometer_sim::wish::{Granted, Wish};
use inferometer_sim::{Tokenizer, media, word_ids};
use inferometer_store::error::StorageError;
use inferometer_store::journal::{Entry, Header, JournalWriter};
use inferometer_store::run_dir::RunDir;
use inferometer_workload::{Prompt, Sketch, Workload};
use std::borrow::Cow;
use std::cell::RefCell;
use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use virtual_time::{Keep, Served};

/// Tokens of an answer whose length nobody asked for.
const USUAL_ANSWER: u32 = 128;

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
    check_model(&scenario.connection, launch)?;
    let nonce = (scenario.work.cache_nonce).then(work::new_nonce);
    let workload = Arc::new(work::open(&scenario, data.as_deref(), nonce, session)?);
    let planned = planned(&scenario, &workload);
    let mut engine = Engine::new(launch.config.clone(), scenario.seed);
    let keep = Keep {
        chunk_times: true,
        batches: launch.engine == EngineKind::Mindie,
        steps: false,
    };
    let work = VirtualWork {
        jobs: WorkJobs::new(Arc::clone(&workload), &scenario),
        workload: &workload,
        scenario: &scenario,
        block_size: launch.config.block_size,
        spare: planned.spare_session(),
        first_wave: planned.first_wave(&scenario, &workload),
    };
    let alone = virtual_time::latency_alone(&launch.config, work.preflight());
    let stagger = planned.stagger(Some(Duration::from_nanos(alone)));
    let load = RefCell::new(VirtualLoad::new(&planned, stagger, &work)?);
    let directory = RunDir::create(out)?;
    let mut records = RecordsInOrder {
        journal: directory.start_journal(&Header::new(planned.requests))?,
        kept: Kept::default(),
        work: &work,
        waiting: Vec::new(),
        failed: None,
    };
    let mut unended = Vec::new();
    let run = virtual_time::drive_each(
        &mut engine,
        keep,
        |agenda, happening| load.borrow_mut().hear(agenda, happening),
        |place, served| {
            let Some(sent) = load.borrow_mut().take(place) else {
                return;
            };
            if served.finished.is_some() || served.refused.is_some() {
                records.push(served, sent);
            } else {
                unended.push((served, sent));
            }
        },
    );
    let load = load.into_inner().accounts();
    let death = engine.died().map(|memory| {
        let (last_words, status) = launch.epitaph(Death::OutOfMemory(memory), "");
        let said = launch.log.iter().map(|(_, line)| line.clone());
        let said: Vec<String> = said.chain(last_words).collect();
        let after = Duration::from_nanos(run.ended.max(1));
        EngineDeath::computed(launch.engine, &said, status.into(), after)
    });

    let unsent = match death {
        Some(_) => load.unsent,
        None => 0,
    };

    let mut notes: Vec<Note> = vec![Known::VirtualTime.into()];
    notes.extend(workload.notes.iter().cloned().map(Note::from));
    let environment = Environment {
        inferometer: env!("CARGO_PKG_VERSION").to_owned(),
        typed,
        started: host::now(),
        nonce: nonce.map(|nonce| nonce.to_string()),
        distinct_prompts: workload.distinct(),
        host: host::host(),
        server: probe(launch, computed_api(&scenario.connection)),
        engine: about,
        notes,
        ..Environment::default()
    };
    let ending = Ending {
        cause: EndCause::Complete,
        // What an engine that died did not get was planned all the same.
        planned: load.sent + unsent,
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
    let records = records.finish(unended, death.as_ref())?;
    let scenario = without_secrets(scenario.clone())?;
    directory.write_scenario(&scenario)?;
    directory.write_environment(&environment)?;
    directory.write_ending(&ending)?;
    let measured = Measured::fold(
        directory,
        scenario,
        environment,
        ending,
        AfterLoad {
            records,
            ..AfterLoad::default()
        },
        session.lang,
    )?;
    Ok(Computed { measured, death })
}

/// The device of a computed engine.
pub fn device(name: Option<&str>) -> Result<&'static Device, RunnerError> {
    let name = name.unwrap_or(USUAL_DEVICE);
    Device::named(name).with_context(|| Device::unknown("--sim-device", name))
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

/// As a server does that is asked for a model which it does not have.
fn check_model(connection: &Connection, launch: &Launch) -> Result<(), RunnerError> {
    let mut asked = connection.model.iter().flat_map(|mix| mix.names());
    let served = |name: &str| launch.served.iter().any(|served| served == name);
    match asked.find(|name| !served(name)) {
        Some(name) => bail!(
            "the simulated engine does not serve the model '{name}'; it serves: {}; leave out --model, or name what it simulates with --sim-model or the engine's command",
            launch.served.join(", ")
        ),
        None => Ok(()),
    }
}

/// What is asked of an engine that has no paths: prompts, or sounds.
fn computed_api(connection: &Connection) -> Api {
    match connection.api {
        Api::Transcriptions => Api::Transcriptions,
        _ => Api::Completions,
    }
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

/// The work of a load in virtual time.
struct VirtualWork<'a> {
    jobs: WorkJobs,
    workload: &'a Workload,
    scenario: &'a Scenario,
    block_size: u32,
    /// Where the sessions of the warm-up begin.
    spare: u64,
    first_wave: Option<FirstWave>,
}

impl VirtualWork<'_> {
    /// A trace, whose requests are counted by replaying it.
    fn ends_by_itself(&self) -> bool {
        let load = &self.scenario.load;
        matches!(load.shape, Shape::Replay { .. }) && load.extent.duration().is_none()
    }

    /// The session of the work at a place of the load.
    fn session(&self, place: RequestPlace) -> u64 {
        match (place.stage, &self.first_wave) {
            (Stage::Warmup, Some(wave)) => self.spare + wave.session(place.session),
            (Stage::Warmup, None) => self.spare + place.session,
            (Stage::Measured | Stage::Hold, _) => place.session,
        }
    }

    fn prompt(&self, place: RequestPlace) -> Prompt {
        self.workload.prompt(self.session(place), place.turn)
    }

    fn turns(&self, place: RequestPlace) -> u32 {
        if self.scenario.work.conversation.is_none() {
            return 1;
        }
        let turns = self.jobs.turns(self.session(place)).max(1);
        match (place.stage, &self.first_wave) {
            (Stage::Warmup, Some(wave)) => wave.turns(place.session, turns),
            _ => turns,
        }
    }

    fn follows(&self, place: RequestPlace) -> Follows {
        let think = (self.scenario.work.conversation.as_ref()).and_then(|talk| talk.think);
        let follows = self.jobs.follows(self.session(place), place.turn);
        follows.unwrap_or_else(|| Follows::the_one_before(place.turn, think.unwrap_or_default().0))
    }

    /// Its turns go on from what was said before; prompts of a trace hold that themselves.
    fn is_told(&self, place: RequestPlace) -> bool {
        let is_whole = || self.jobs.follows(self.session(place), place.turn).is_some();
        self.scenario.work.conversation.is_some() && !is_whole()
    }

    /// The request of a turn, and the tokens of all that is said once it is answered; nothing
    /// where prompts hold what was said before.
    fn request(&self, place: RequestPlace, history: &[u32]) -> (Request, Vec<u32>) {
        let session = self.session(place);
        let prompt = self.prompt(place);
        let talk = (self.scenario.work.conversation.as_ref()).filter(|_| self.is_told(place));
        let sketches = self.sketches(place);
        let mut ids: Vec<u32> = history.to_vec();
        ids.extend(asked(&prompt.content));
        if self.is_heard() {
            ids.extend((0..media::DECODER_PROMPT).map(|place| hashed(&place)));
        }
        for sketch in &sketches {
            let count = tokens_of(sketch) as usize;
            ids.extend(std::iter::repeat_n(hashed(sketch), count));
        }
        let output = self.answer(place, &prompt, &sketches);
        if ids.is_empty() {
            let request = Request::new(session, prompt.input_tokens.unwrap_or(1), output);
            return (request, ids);
        }
        let mut request = Request::with_prompt(session, &ids, output, self.block_size);
        let Some(talk) = talk else {
            return (request, Vec::new());
        };
        match talk.history {
            History::Server => {
                ids.extend((0..output).map(|token| hashed(&(session, place.turn, token))));
                // The engine keeps what it answered, and the next turn begins with it.
                request.hashes = block_hashes(&ids, self.block_size);
            }
            History::Data => {
                let answer = self.workload.prompts.answer(session, place.turn);
                ids.extend(word_ids(&answer.unwrap_or_default()));
            }
        }
        (request, ids)
    }

    fn is_heard(&self) -> bool {
        self.scenario.connection.api == Api::Transcriptions
    }

    fn sketches(&self, place: RequestPlace) -> Vec<Sketch> {
        let media = &self.workload.media;
        media.sketches(self.session(place), place.turn)
    }

    /// Tokens of an answer: what is said in a sound, as many as a prompt in words asks for, or as
    /// many as were asked for.
    fn answer(&self, place: RequestPlace, prompt: &Prompt, sketches: &[Sketch]) -> u32 {
        if self.is_heard() {
            let said = media::said_in(seconds_of(sketches).unwrap_or_default());
            return said.min(prompt.output_tokens.unwrap_or(u32::MAX));
        }
        let granted = granted(self.session(place), prompt, self.scenario).map(|it| it.tokens);
        granted.or(prompt.output_tokens).unwrap_or(USUAL_ANSWER)
    }

    /// What a real run asks before it begins, with an answer as short as there.
    fn preflight(&self) -> Request {
        let place = RequestPlace {
            session: PREFLIGHT_SESSION,
            turn: 0,
            turns: 1,
            index: 0,
            stage: Stage::Warmup,
        };
        let mut request = self.request(place, &[]).0;
        request.output_tokens = request.output_tokens.min(ANSWER_TOKENS);
        request
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

fn probe(launch: &Launch, api: Api) -> Probe {
    Probe {
        endpoints: vec!["virtual".to_owned()],
        api: api.to_string(),
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
    kept: Kept,
    work: &'a VirtualWork<'a>,
    /// Those of the last moment.
    waiting: Vec<(Served, Sent)>,
    failed: Option<StorageError>,
}

fn ended((served, sent): &(Served, Sent)) -> (u64, u64, u32) {
    let at = served.finished.unwrap_or(served.arrived);
    (at, served.id, sent.place.turn)
}

impl RecordsInOrder<'_> {
    fn push(&mut self, served: Served, sent: Sent) {
        let one = (served, sent);
        if (self.waiting.last()).is_some_and(|last| ended(last).0 < ended(&one).0) {
            self.write(None);
        }
        self.waiting.push(one);
    }

    fn write(&mut self, death: Option<&EngineDeath>) {
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.sort_by_key(ended);
        for (served, sent) in waiting.drain(..) {
            let entry = Entry::End(Cow::Owned(self.record(&served, &sent, death)));
            if self.failed.is_none() {
                self.failed = self.journal.append(&entry).err();
            }
            self.kept.take(entry);
        }
        self.waiting = waiting;
    }

    /// Adds those that never ended, of which the engine may have died.
    fn finish(
        mut self,
        unended: Vec<(Served, Sent)>,
        death: Option<&EngineDeath>,
    ) -> Result<Option<RecordBatches>, RunnerError> {
        self.waiting.extend(unended);
        self.write(death);
        self.failed.map_or(Ok(()), Err)?;
        self.journal.flush()?;
        Ok(self.kept.all())
    }

    fn record(&self, served: &Served, sent: &Sent, death: Option<&EngineDeath>) -> Record {
        let (work, place) = (self.work, sent.place);
        let prompt = work.prompt(place);
        let talks = work.scenario.work.conversation.is_some();
        let index = match place.stage {
            Stage::Warmup => work.spare + place.index,
            Stage::Measured | Stage::Hold => place.index,
        };
        let granted = granted(work.session(place), &prompt, work.scenario);
        let told = work.is_told(place);
        let sketches = work.sketches(place);
        let seconds = seconds_of(&sketches);
        let (in_row, tokens_in_row) = media_of_row(&prompt.content);
        let media = u32::try_from(sketches.len()).unwrap_or(u32::MAX);
        let media = Some(media.saturating_add(in_row)).filter(|count| *count > 0);
        let mut answer = record(served, sent.prompt_tokens, &prompt, granted);
        // What was neither ended by the engine's own limit nor by that of the request.
        let is_whole = granted.map_or(work.is_heard(), |it| it.tokens == served.tokens);
        if is_whole && prompt.output_tokens.is_none_or(|most| served.tokens < most) {
            answer.finish = answer.finish.map(|_| "stop".to_owned());
        }
        let record = Record {
            id: format!("virtual-{index}"),
            index,
            session: talks.then_some(place.session),
            turn: talks.then_some(place.turn),
            turns: talks.then(|| work.turns(place)),
            stage: place.stage,
            due: sent.due,
            output_exact: work.scenario.work.ignore_eos,
            input_tokens_asked: prompt.input_tokens.filter(|_| !told || place.turn == 0),
            // Nobody wrote what the server said before.
            input_chars: if told { 0 } else { prompt.chars },
            media,
            media_tokens: media
                .map(|_| tokens_in_row + sketches.iter().map(tokens_of).sum::<u32>()),
            audio_ms: seconds.map(|seconds| (seconds * 1e3) as u32),
            ..answer
        };
        let record = match death {
            Some(death) if record.outcome == Outcome::Cut => abandoned(record, death),
            _ => record,
        };
        if work.scenario.connection.stream {
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

fn record(
    served: &Served,
    prompt_tokens: u32,
    prompt: &Prompt,
    granted: Option<Granted>,
) -> Record {
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
        usage: served.refused.is_none().then_some(Usage {
            input: Some(prompt_tokens),
            output: Some(served.tokens),
            cached: Some(served.cached_tokens),
        }),
        finish: served.finish.map(|_| "length".to_owned()),
        output_tokens_asked: prompt.output_tokens,
        // The engine may end an answer before all is said.
        output_chars: (granted.filter(|_| served.finished.is_some())).map_or(0, |it| {
            it.chars * u64::from(served.tokens) / u64::from(it.tokens.max(1))
        }),
        refused: granted.is_some_and(|it| it.declines.is_some()),
        url: "virtual".to_owned(),
        streamed: true,
        outcome,
        preemptions: served.refused.is_none().then_some(served.preemptions),
        per_token: per_token(served),
        ..Record::default()
    }
}

/// What a server that tells of each token says: only the first one waited in its queue.
fn per_token(served: &Served) -> Option<Box<PerToken>> {
    let waited = served.started?.saturating_sub(served.arrived) / 1000;
    let waited = u32::try_from(waited).unwrap_or(u32::MAX);
    let mut queue_wait_us = vec![0; served.batches.len()];
    *queue_wait_us.first_mut()? = waited;
    Some(Box::new(PerToken {
        batch_size: served.batches.clone(),
        queue_wait_us,
    }))
}
