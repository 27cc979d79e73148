//! Records in, summary out. Records stream by once; of each only scalars are kept, and of so many
//! that memory is bounded: of a larger run a share, beside what is counted of all.

mod checked;
mod continuation;
mod crowd;
mod latency;
mod models;
mod objectives;
mod outages;
mod places;
pub(crate) mod pool;
pub mod precision;
mod rounds;
mod row;
mod run;
mod sessions;
mod tally;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;
mod totals;
mod treatment;
mod window;
mod wire;

use crate::context::RunContext;
use crate::judge::{self, Doubt, Evidence, FirstTokenEvidence, Reference, WindowEvidence};
use crate::server::between;
use crate::steady::{self, Steady};
use crate::thinning::MOST_KEPT;
use crowd::Moment;
use inferometer_core::doubt::DoubtCode;
use inferometer_core::quantile::{quantile, sort};
use inferometer_core::record::{Record, TokenSource};
use inferometer_core::scenario::Extent;
use inferometer_core::server::{DonePerSecond, ServerSummary};
use inferometer_core::slo::SloMetric;
use inferometer_core::summary::*;
use inferometer_core::thresholds::Thresholds;
use inferometer_core::units::Offset;
use inferometer_statistics::Accumulated;
use inferometer_text::Lang;
use latency::{ClientTimes, latencies, of_run};
use pool::Ordered;
use precision::{Precision, RestsOn};
use run::Run;
use sessions::{FoundSessions, Sessions};
use std::collections::BTreeMap;
use tally::{Answer, Figure, Handled, Sum, Tally, column, ms};
use window::WindowRates;

/// Requests that are kept one by one where a run is looked at while it goes on.
const MOST_KEPT_LIVE: usize = 1 << 14;

/// A summary, and its doubts before they are words.
#[derive(Clone, Debug)]
pub struct Folded {
    summary: Summary,
    doubts: Vec<Doubt>,
    first_token: Option<FirstTokenEvidence>,
    ended: Option<Ended>,
    thresholds: Thresholds,
}

/// Answers that ended inside the window, of any stage, as the server's own means count them: the
/// first of a window are of the warm-up, and shortened where it spreads the streams.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    pub(crate) output_mean: f64,
    pub(crate) e2e_mean_ms: f64,
}

impl Ended {
    /// Of a crowd those of the warm-up are too few to matter.
    fn of(run: &Run<'_>, handled: &[Handled]) -> Option<Self> {
        if let Some(crowd) = run.crowd {
            return Some(Ended {
                output_mean: run.totals.output.mean()?,
                e2e_mean_ms: crowd.figure(Figure::E2e).distribution()?.mean,
            });
        }
        Self::inside(run.window?, handled)
    }

    fn inside((from, to): (Offset, Offset), handled: &[Handled]) -> Option<Self> {
        let inside = (handled.iter())
            .filter(|it| it.complete && (from..=to).contains(&it.to))
            .filter_map(|it| Some((f64::from(it.output?), ms(it.to.since(it.from)))));
        let (mut n, mut output, mut e2e) = (0.0, 0.0, 0.0);
        for (tokens, ms) in inside {
            (n, output, e2e) = (n + 1.0, output + tokens, e2e + ms);
        }
        (n > 0.0).then(|| Ended {
            output_mean: output / n,
            e2e_mean_ms: e2e / n,
        })
    }
}

impl Folded {
    /// The same with the server's own view, which no record holds, and what lies between it and
    /// the client's.
    pub fn with_server(mut self, server: Option<ServerSummary>) -> Self {
        self.summary.server = server.map(|mut view| {
            view.between = between(&self.summary, self.ended, &view);
            let done = DonePerSecond {
                requests: self.summary.throughput.requests_per_s,
                output_tokens: self.summary.throughput.output_tokens_per_s,
                items: self.summary.throughput.items_per_s,
            };
            view.energy = view.energy.map(|energy| energy.beside(done));
            view
        });
        let server = self.summary.server.as_ref();
        let says = server.and_then(|server| server.ttft_mean_ms);
        let told = |doubt: &Doubt| doubt.code() == DoubtCode::DelayedAck;
        if let Some((seen, says)) = self.first_token.zip(says)
            && !self.doubts.iter().any(told)
        {
            let doubt = judge::delayed_ack(&seen, Reference::Server(says), &self.thresholds);
            self.doubts.extend(doubt);
        }
        self.doubts.extend(judge::front_end(&self.summary));
        by_severity(&mut self.doubts);
        self
    }

    /// The summary with its doubts in a language.
    pub fn summary(&self, lang: Lang) -> Summary {
        Summary {
            doubts: self.doubts.iter().map(|doubt| doubt.state(lang)).collect(),
            ..self.summary.clone()
        }
    }
}

/// Folds the records of a run, in any order, to its summary.
pub fn summarize(context: &RunContext<'_>, records: impl IntoIterator<Item = Record>) -> Summary {
    fold(context, records).summary(context.lang)
}

/// Folds the records of a run, in any order, for reports in several languages.
pub fn fold(context: &RunContext<'_>, records: impl IntoIterator<Item = Record>) -> Folded {
    let mut folding = Folding::new(context);
    for record in records {
        folding.add(&record);
    }
    folding.finish(context)
}

/// A fold that is fed record by record.
#[derive(Clone, Debug)]
pub struct Folding {
    tally: Tally,
    sessions: Sessions,
}

impl Folding {
    /// Whether a run of so many records is folded from parts to the same figures as from one
    /// stream. Of a smaller one all is kept, and some sums follow the order of its records.
    pub fn takes_parts(context: &RunContext<'_>, records: u64) -> bool {
        records > MOST_KEPT as u64 && !tally::keeps_all(context)
    }

    /// One without records.
    pub fn new(context: &RunContext<'_>) -> Self {
        Self::keeping(MOST_KEPT, context)
    }

    /// One that is copied and finished again and again while it is fed: that takes as long after a
    /// million requests as after some thousands.
    pub fn live(context: &RunContext<'_>) -> Self {
        let mut folding = Self::keeping(MOST_KEPT_LIVE, context);
        folding.tally.count_times();
        folding
    }

    /// One that keeps so many requests one by one.
    fn keeping(most: usize, context: &RunContext<'_>) -> Self {
        Folding {
            tally: Tally::new(context, most),
            sessions: Sessions::new(context),
        }
    }

    pub fn add(&mut self, record: &Record) {
        self.tally.add(record);
        self.sessions.add(record);
    }

    /// Takes what another part of the same run was folded to. However a run is cut into parts,
    /// and in whatever order these are put together, its figures are the same to the last digit.
    pub fn merge(&mut self, other: Self) {
        self.tally.merge(other.tally);
        self.sessions.merge(other.sessions);
    }

    pub fn finish(self, context: &RunContext<'_>) -> Folded {
        conclude(context, self.tally, self.sessions)
    }
}

fn conclude(context: &RunContext<'_>, mut tally: Tally, sessions: Sessions) -> Folded {
    let thresholds = &context.scenario.objectives.thresholds;
    tally
        .rows
        .sort_unstable_by_key(|row| (row.start, row.index, row.sent, row.end));
    if tally.crowd.is_some() {
        (tally.handled)
            .sort_unstable_by_key(|it| (it.to, it.from, it.first_token, it.output_chars));
    }
    let token_gaps = tally.token_gaps().map(pool::Pool::into_ordered);
    let chunk_gaps = std::mem::take(&mut tally.chunk_gaps).into_ordered();
    let client_times = ClientTimes::of(&mut tally);
    let outages = std::mem::take(&mut tally.contacts).outages(context, &tally.rows);
    let models = std::mem::take(&mut tally.models).results();
    let check = std::mem::take(&mut tally.checked).result(context);
    let wire = std::mem::take(&mut tally.wire);
    let tally = tally;
    let run = Run::new(context, &tally);
    let itl = token_gaps.as_ref().unwrap_or(&chunk_gaps);
    let sessions = sessions.finish(context, run.window_s());
    let events = tally.timeline.accumulate(0);
    let requests = accounts(context, &tally, wire.connected);
    let course = run.course();
    // A handful of answers settles by chance.
    let steady = steady::find(&course, |from, to, count| events.bins(from, to, count))
        .filter(|_| requests.ok >= thresholds.steady_requests);
    let tokens = tokens(&run, &tally);
    let scale = tokens_per_event(&run);
    let precision = run.precision();
    let rates = WindowRates::new(&run, &tally.handled, &tokens);
    let throughput = match &rates {
        Some(rates) => rates.throughput(&tokens, &run, &precision),
        None => throughput(&run, &tally, &tokens, &precision),
    };
    let window = run.window.map(|(from, to)| WindowSpan {
        start_s: from.as_duration().as_secs_f64(),
        end_s: to.as_duration().as_secs_f64(),
        steady_by_construction: run.is_steady(),
    });
    let mut summary = Summary {
        schema: SCHEMA.to_owned(),
        label: context.scenario.label.clone(),
        tags: tags(context),
        valid: true,
        doubts: Vec::new(),
        requests,
        window_s: run.window_s(),
        window,
        steady_s: steady.map(|steady| steady.seconds()),
        throughput,
        steady: steady.map(|steady| steady_throughput(&run, steady, &events, scale)),
        concurrency: run.concurrency(),
        latency: latencies(&run, &tally, &client_times, itl, &chunk_gaps, &precision),
        speed: speed(&run, &precision),
        tokens,
        items: items(&run),
        failures: failures(&tally),
        outages,
        slo: objectives::judge(
            &context.scenario.objectives,
            &tally,
            throughput.requests_per_s.filter(|_| rates.is_some()),
            run.window_s(),
            &precision,
            sessions.as_ref(),
            |metric, p| match metric {
                SloMetric::Job => sessions.as_ref().and_then(|sessions| sessions.time(p)),
                _ => of_run(&run, itl, metric, p),
            },
        ),
        client: client(context, &client_times.lag, &events),
        server: None,
        drift: drift(&run, &events, scale),
        continuation: continuation::fold(context, &run.answers),
        media: tally
            .media
            .map(|media| with_sounds(media, &run, &precision)),
        structured: tally.structured.result(),
        models,
        sessions: sessions.map(|sessions| sessions.result),
        cost: None,
        check,
    };
    summary.cost = (context.scenario.price_per_hour).map(|price| CostResult::of(price, &summary));
    let ended = Ended::of(&run, &tally.handled);
    let evidence = Evidence {
        window: rates.as_ref().map(|rates| WindowEvidence {
            waves: rates.waves(),
            off_by: rates.off_by(),
        }),
        duplicates: tally.totals.duplicates,
        in_flight: run.in_flight_evidence(),
        waves: (summary.latency.e2e_ms).and_then(|e2e| {
            let median = |it: Option<Distribution>| it.map_or(0.0, |it| it.p50);
            run.wave_evidence(e2e.p50, median(summary.latency.ttft_ms))
        }),
        drift: run.drift(&precision, thresholds.significance),
        stragglers: run.stragglers(),
        overload: run.overload(thresholds.significance),
        unmeasured_failures: tally.unmeasured_failures.clone(),
        sent: tally.totals.sent,
        without_count: tally.totals.without_count,
        tokens_per_event: scale,
        lengths: tally.lengths.clone(),
        usage: tally.usage,
        stalls: tally.stalls,
        wire: wire.evidence(),
    };
    let mut doubts = judge::judge(context, thresholds, &summary, &evidence);
    by_severity(&mut doubts);
    summary.valid = doubts
        .iter()
        .all(|doubt| doubt.severity() < inferometer_core::doubt::Severity::Invalid);
    Folded {
        summary,
        doubts,
        first_token: evidence.wire.first_token,
        ended,
        thresholds: thresholds.clone(),
    }
}

/// What the user tagged it with; the number of cards also as the engine's command has it.
fn tags(context: &RunContext<'_>) -> BTreeMap<String, String> {
    let engine = context.environment.engine.as_ref();
    let cards = engine.and_then(|engine| Some((CARDS.to_owned(), engine.cards?.to_string())));
    let given = context.scenario.tags.iter();
    let given = given.map(|tag| (tag.key.clone(), tag.value.clone()));
    cards.into_iter().chain(given).collect()
}

fn by_severity(doubts: &mut [Doubt]) {
    doubts.sort_by_key(|doubt| std::cmp::Reverse(doubt.severity()));
}

/// planned = ok + failed + cut + cancelled + unsent. A run that was killed left no ending: what its
/// scenario planned and no record tells of was not sent, as far as anyone knows.
fn accounts(context: &RunContext<'_>, tally: &Tally, connected: u64) -> Accounts {
    let ended = tally.totals.requests;
    let failed = tally.failures.values().map(|(_, kind)| kind.count).sum();
    let ending = context.ending;
    let (planned, unsent) = if ending.cause.is_without_ending() {
        let asked = context.scenario.load.extent.requests().unwrap_or(ended);
        let planned = ending.planned.max(asked).max(ended);
        (planned, planned - ended)
    } else {
        (ending.planned, ending.unsent)
    };
    Accounts {
        planned,
        ok: ended - failed - tally.cut - tally.cancelled,
        cancelled: tally.cancelled,
        failed,
        // What a lost rank had begun ended with it, and nobody knows how.
        cut: tally.cut + ending.lost_requests(),
        unsent,
        resent: tally.resent,
        connected,
        warmup: tally.warmup,
        hold: tally.hold,
    }
}

fn failures(tally: &Tally) -> Vec<FailureCount> {
    let kinds = tally.failures.values().map(|(_, kind)| kind.clone());
    let mut kinds: Vec<FailureCount> = kinds.collect();
    kinds.sort_by_key(|kind| std::cmp::Reverse(kind.count));
    kinds
}

/// Share of answers that may lack a count before the total is called unknown.
const UNCOUNTED: f64 = 0.01;

/// The sum where it is known of (nearly) all of so many.
fn total(of: Sum, all: u64) -> Option<u64> {
    let unknown = (all - of.known) as f64;
    (of.known > 0 && unknown <= UNCOUNTED * all as f64).then_some(of.sum)
}

fn tokens(run: &Run<'_>, tally: &Tally) -> Tokens {
    let totals = run.totals;
    let output = total(totals.output, totals.answers);
    Tokens {
        input: total(totals.input, totals.answers),
        output,
        source: match output {
            None => TokenSource::None,
            Some(_) if totals.retokenized => TokenSource::Retokenized,
            Some(_) => TokenSource::Usage,
        },
        cached: tally.lengths.cached,
        input_asked_mean: tally.input_asked.mean_of_all(totals.answers),
        input_mean: totals.input.mean(),
        output_asked_mean: tally.output_asked.mean_of_all(totals.answers),
        output_mean: totals.output.mean(),
        chars_per_token: chars_per_token(run).filter(|_| output.is_some()),
    }
}

/// Over the answers whose tokens are known.
fn chars_per_token(run: &Run<'_>) -> Option<f64> {
    let (chars, tokens) = (run.totals.counted_chars, run.totals.output.sum);
    // Tokens computed without a text have no characters.
    (tokens > 0 && chars > 0).then(|| chars as f64 / tokens as f64)
}

fn speed(run: &Run<'_>, precision: &Precision) -> Speed {
    let of = |figure| run.described(figure, RestsOn::Requests, precision);
    Speed {
        per_user_tokens_per_s: of(Figure::PerUser),
        decode_tokens_per_s: of(Figure::Decode),
    }
}

/// Over the window. Intervals are of the ratio of each answer's tokens to its share of the
/// time (since the completion before it), which adds up to the window.
fn throughput(run: &Run<'_>, tally: &Tally, tokens: &Tokens, precision: &Precision) -> Throughput {
    let Some((from, _)) = run.window.filter(|_| !run.answers.is_empty()) else {
        return Throughput::default();
    };
    let per_s = |amount: f64| run.window_s().map(|seconds| amount / seconds);
    let token_rate = |tokens: Option<u64>| tokens.and_then(|tokens| per_s(tokens as f64));
    // What was computed and not sent has no characters.
    let char_rate = |chars: u64| (chars > 0).then(|| per_s(chars as f64)).flatten();
    let mut ended: Vec<&&Answer> = run.answers.iter().collect();
    ended.sort_by_key(|answer| answer.completed);
    let mut before = from;
    let shares: Vec<f64> = ended
        .iter()
        .map(|answer| {
            let share = answer.completed.since(before).as_secs_f64();
            before = answer.completed;
            share
        })
        .collect();
    let amounts = |of: fn(&Answer) -> Option<u32>| -> Vec<f64> {
        let amount = |answer: &&&Answer| f64::from(of(answer).unwrap_or_default());
        ended.iter().map(amount).collect()
    };
    let items = items(run);
    let batches = precision.batches(RestsOn::Requests);
    // The answers have no part in the time after the last of them, in which requests failed: a rate
    // that it lowered is not the one that they are an interval of.
    let interval = |amounts: &[f64], of: Option<f64>| {
        let kept = batches.ok()?.ratio(amounts, &shares)?;
        let [low, high] = kept.map(|rate| rate * run.weight());
        (of.is_some_and(|rate| (low..=high).contains(&rate))).then_some([low, high])
    };
    let requests_per_s = per_s(run.totals.answers as f64);
    let output_tokens_per_s = token_rate(tokens.output);
    let items_per_s = token_rate(items);
    let audio_ms = total(run.totals.audio_ms, run.totals.answers);
    let of_sound = |per_s: f64| per_s / 1e3;
    let audio_ms_per_s = token_rate(audio_ms);
    Throughput {
        requests_per_s,
        input_tokens_per_s: token_rate(tokens.input),
        output_tokens_per_s,
        items_per_s,
        audio_s_per_s: audio_ms_per_s.map(of_sound),
        total_tokens_per_s: token_rate(tokens.input.zip(tokens.output).map(|(i, o)| i + o)),
        input_chars_per_s: char_rate(tally.input_chars),
        output_chars_per_s: char_rate(tally.output_chars),
        requests_per_s_interval: interval(&vec![1.0; shares.len()], requests_per_s),
        output_tokens_per_s_interval: interval(
            &amounts(|answer| answer.output),
            output_tokens_per_s,
        ),
        items_per_s_interval: interval(&amounts(|answer| answer.items), items_per_s),
        audio_s_per_s_interval: interval(&amounts(|answer| answer.audio_ms), audio_ms_per_s)
            .map(|ends| ends.map(of_sound)),
        requests_needed: batches.err(),
    }
}

/// The same with the length of sounds, where it is known, and how fast they were answered.
fn with_sounds(media: MediaResult, run: &Run<'_>, precision: &Precision) -> MediaResult {
    let heard = run.totals.audio_ms;
    MediaResult {
        audio_s: (heard.known > 0).then(|| heard.sum as f64 / 1e3),
        rtf: run.described(Figure::RealTimeFactor, RestsOn::Requests, precision),
        ..media
    }
}

/// Vectors or scores of all answers, where they consist of those.
fn items(run: &Run<'_>) -> Option<u64> {
    total(run.totals.items, run.totals.answers)
}

/// Output tokens for each event of a stream.
fn tokens_per_event(run: &Run<'_>) -> Option<f64> {
    let (tokens, events) = (run.totals.output.sum, run.totals.counted_events);
    (events > 0).then(|| tokens as f64 / events as f64)
}

fn steady_throughput(
    run: &Run<'_>,
    steady: Steady,
    events: &Accumulated,
    scale: Option<f64>,
) -> SteadyThroughput {
    let seconds = steady.seconds();
    let inside = |at: Offset| steady.from <= at && at < steady.to;
    let completed = run.count(Moment::Completed, [steady.from, steady.to], inside);
    let count = events.between(steady.from, steady.to);
    SteadyThroughput {
        requests_per_s: Some(completed as f64 / seconds),
        output_tokens_per_s: scale.map(|scale| count * scale / seconds),
        span_s: [steady.from, steady.to].map(|at| at.as_duration().as_secs_f64()),
    }
}

fn client(context: &RunContext<'_>, lag: &Ordered, events: &Accumulated) -> Client {
    // Workers beyond the cores take turns.
    let workers = match context.environment.host.cores {
        0 => context.environment.workers,
        cores => context.environment.workers.min(cores),
    };
    let workers = f64::from(workers.max(1));
    let ceiling = context
        .environment
        .ceiling_tokens_per_s
        .map(|each| each * workers);
    let shares = &context.ending.thread_cpu_shares;
    Client {
        cpu_share: shares.iter().copied().reduce(f64::max),
        lag_p99_ms: lag.quantile(0.99),
        pulse_p99_ms: context.ending.pulse_p99_ms,
        longest_pause_ms: context.ending.longest_pause_ms,
        ceiling_tokens_per_s: ceiling,
        ceiling_share: ceiling
            .filter(|&ceiling| ceiling > 0.0)
            .and_then(|ceiling| Some(events.peak_per_second()? / ceiling)),
    }
}

const DRIFT_PARTS: u32 = 10;

/// Change over a soak, in parts of equal time.
fn drift(run: &Run<'_>, events: &Accumulated, scale: Option<f64>) -> Option<Vec<DriftPart>> {
    let Extent::Soak(_) = run.context.scenario.load.extent else {
        return None;
    };
    let (from, to) = run.window?;
    let width = to.since(from) / DRIFT_PARTS;
    let part = |index: u32| {
        let (begin, end) = (from + width * index, from + width * (index + 1));
        let last = index + 1 == DRIFT_PARTS;
        let inside = |at: Offset| begin <= at && (at < end || last);
        let answers = run.answers.iter().copied();
        let inside_it: Vec<&Answer> = answers.filter(|it| inside(it.completed)).collect();
        let mut ttft = column(&inside_it, Figure::Ttft);
        sort(&mut ttft);
        let count = |moment| run.count(moment, [begin, end], inside);
        DriftPart {
            from_s: begin.since(from).as_secs_f64(),
            ok: count(Moment::Completed),
            failed: count(Moment::Failed),
            output_tokens_per_s: scale
                .map(|scale| events.between(begin, end) * scale / width.as_secs_f64()),
            ttft_p50_ms: quantile(&ttft, 0.5),
        }
    };
    Some((0..DRIFT_PARTS).map(part).collect())
}
