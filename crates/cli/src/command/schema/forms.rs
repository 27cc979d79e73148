//! Forms that are put together by hand where they are printed: their keys, for the schemas. The
//! end-to-end tests hold what is printed against these, so that they cannot drift apart.

// Only their schemas are used.
#![allow(dead_code)]

use inferometer_campaign::search::external::{FromSearcher, ToSearcher};
use inferometer_catalog::memory::CardStage;
use inferometer_catalog::model::Dtype;
use inferometer_catalog::timing::Basis;
use inferometer_core::doubt::{DoubtCode, Severity};
use inferometer_core::point::Point;
use inferometer_core::summary::{Distribution, ObjectiveResult, Summary};
use inferometer_import::{ImportedResult, Stored};
use inferometer_plan::calibrate::Extrapolation;
use inferometer_plan::choose::Process;
use inferometer_plan::memory::{MindieSizes, Part};
use inferometer_plan::observation::Start;
use inferometer_plan::validate::{ErrorGroup, Half, Latencies};
use inferometer_plan::what_if::PredictedVerdict;
use inferometer_store::sweep_dir::TrialState;
use schemars::JsonSchema;
use serde_json::Value;
use std::collections::BTreeMap;

/// A sweep, as `inferometer sweep --format json` prints it.
#[derive(JsonSchema)]
pub struct Sweep {
    schema: String,
    label: Option<String>,
    /// Options with more than one value, the one that changes fastest last.
    axes: Vec<String>,
    /// Measurements that are planned.
    planned: u64,
    points: Vec<SweepPoint>,
    /// What makes points invalid or changes how they are read, the worst first.
    doubts: Vec<SweepDoubt>,
    /// Where throughput saturates along the load, of every ladder where that is seen.
    knees: Vec<SweepKnee>,
    /// What the points show together.
    findings: Vec<SweepFinding>,
}

#[derive(JsonSchema)]
pub struct SweepDoubt {
    code: DoubtCode,
    severity: Severity,
    /// What it means; each point's own doubt has its numbers.
    text: String,
    remedy: String,
    points: Vec<Point>,
}

/// The lowest load that has nearly all of the highest throughput.
#[derive(JsonSchema)]
pub struct SweepKnee {
    /// The other settings of the ladder; empty where there is one.
    of: String,
    /// `concurrency`, `rate`.
    axis: String,
    load: f64,
    /// A measured load that is surely not above it.
    low: f64,
    /// A measured load that is surely not below it.
    high: f64,
}

#[derive(JsonSchema)]
pub struct SweepFinding {
    /// `knee`, `failures-from`, `out-of-memory`, `winner` and the like.
    kind: String,
    text: String,
    /// The numbers that support it.
    evidence: String,
}

/// One measurement.
#[derive(JsonSchema)]
pub struct SweepPoint {
    point: Option<Point>,
    /// Which repeat, from 0.
    repeat: u32,
    /// The seed that it is the repeat of, where a sweep was given several.
    seed: Option<u64>,
    state: TrialState,
    /// The run, as a path below the sweep, if there is one.
    directory: Option<String>,
    /// Why there is none, or why it was passed over.
    reason: Option<String>,
    /// The class of the failure of an engine that was started for it.
    class: Option<String>,
    summary: Option<Summary>,
}

/// What is stored in a folder, as `inferometer runs --format json` lists it.
#[derive(JsonSchema)]
pub struct Runs {
    schema: String,
    runs: Vec<ListedRun>,
}

#[derive(JsonSchema)]
pub struct ListedRun {
    name: String,
    /// Its folder, as `report` and `compare` take it.
    path: String,
    /// Wall time of its beginning, RFC 3339.
    started: Option<String>,
    /// `run`, `sweep`, `capacity`, `study`, `import`.
    kind: String,
    /// `valid`, `invalid`, `nothing-found`, `running`, `unfinished`, `damaged`, `newer`,
    /// `foreign`, `doubtful`; of a comparison or a study what it found: `better`, `no-certain-gain` …
    state: String,
    /// The load in a few characters, or how many points, trials or results there are.
    load: String,
    label: Option<String>,
    tags: BTreeMap<String, String>,
    /// Where the figures were measured, if it is a sweep.
    point: Option<String>,
    /// Computed in virtual time, not measured.
    computed: bool,
    requests_per_s: Option<f64>,
    output_tokens_per_s: Option<f64>,
    ttft_p50_ms: Option<f64>,
    /// Requests that failed, of those that the figures are of.
    failed: Option<u64>,
    /// Whether all objectives were met; absent where there were none, or that is not decidable.
    objectives_met: Option<bool>,
}

/// Results of other tools: as `inferometer import --format json` prints those of all files, and
/// as `import.json` keeps those of one.
#[derive(JsonSchema)]
#[serde(untagged)]
pub enum Import {
    Printed(PrintedImport),
    Kept(Stored),
}

#[derive(JsonSchema)]
pub struct PrintedImport {
    schema: String,
    results: Vec<ImportedResult>,
    /// What the results of each file show together.
    findings: Vec<ImportFinding>,
    /// Each result judged by the objectives of `--slo`, where there are any.
    slo: Option<Vec<JudgedImport>>,
    /// First and last line of each part that looks like a result and could not be read.
    unread: Vec<(u64, u64)>,
    /// The same by file.
    unread_of: BTreeMap<String, Vec<(u64, u64)>>,
    /// The folder in which each file's results are kept.
    kept: Vec<Option<String>>,
}

#[derive(JsonSchema)]
pub struct JudgedImport {
    file: String,
    /// Of the result.
    number: u64,
    /// Absent where nothing is missed and not all is stated.
    met: Option<bool>,
    objectives: Vec<ObjectiveResult>,
}

#[derive(JsonSchema)]
pub struct ImportFinding {
    /// The file that it is about.
    source: String,
    /// Title of the group of results; empty where there is one.
    group: String,
    /// `knee`, `failures-from`, `least-efficient`, `winner`, `no-difference`, `hidden-stalls`,
    /// `lost-requests`, `client-bottleneck`.
    kind: String,
    text: String,
    /// The numbers that support it.
    evidence: String,
}

/// Our equivalent of another benchmark's command line.
#[derive(JsonSchema)]
pub struct From {
    schema: String,
    tool: String,
    /// The command, word by word.
    words: Vec<String>,
    /// Options without a counterpart, each with what can be done.
    not_expressed: Vec<String>,
    /// What has another meaning here.
    differs: Vec<String>,
    not_needed: Vec<String>,
}

/// How a card is divided: one answer, or several where several were asked for.
#[derive(JsonSchema)]
#[serde(untagged)]
pub enum Memory {
    One(Box<MemoryAnswer>),
    Several {
        schema: String,
        answers: Vec<MemoryAnswer>,
    },
}

/// Bytes are those of one card.
#[derive(JsonSchema)]
pub struct MemoryAnswer {
    schema: String,
    model: String,
    device: String,
    engine: String,
    version: String,
    cards: u32,
    /// Replicas of data parallelism, each with a cache of its own.
    replicas: u32,
    /// The stage of a pipeline that is shown, where there are several.
    stage: Option<CardStage>,
    /// Flags that tell it from the other answers.
    varied: BTreeMap<String, Option<String>>,
    /// Given flags that change memory in ways that are not counted.
    flags_not_counted: Vec<String>,
    /// What the engine warns of when it starts.
    warnings: Vec<String>,
    /// What the engine does with a KV cache in FP8, where the card does not compute in it:
    /// `converted` to 16 bits in every step, or so `by-flash-infer` alone.
    fp8_cache: Option<String>,
    fits: bool,
    /// What a card lacks where it does not fit.
    lacking_gib: Option<f64>,
    total_gib: f64,
    weights_gib: Option<f64>,
    /// `shape`, or `safetensors` where the files were at hand.
    weights_from: String,
    /// Encoders that are not counted.
    weights_without: Vec<String>,
    kv_bytes_per_token: f64,
    kv_dtype: Dtype,
    /// What the popular formula, with query heads, says.
    popular_kv_bytes_per_token: f64,
    popular_factor: f64,
    kv_gib: f64,
    kv_tokens: Option<u64>,
    block_size: u32,
    blocks: Option<u64>,
    max_model_len: u64,
    largest_max_model_len: Option<u64>,
    /// Tokens of a request for which `max_concurrency` holds.
    request_tokens: u64,
    max_concurrency: Option<f64>,
    parts: Vec<MemoryPart>,
    /// Changes with which it fits, each a flag and its value.
    remedies: Vec<BTreeMap<String, Value>>,
    mindie: Option<MindieSizes>,
}

#[derive(JsonSchema)]
pub struct MemoryPart {
    name: Part,
    gib: f64,
}

/// Predictions of published measurements, and their errors.
#[derive(JsonSchema)]
pub struct Validation {
    schema: String,
    /// Rows of the tables, copies left out.
    read: u64,
    /// Rows left after `--sample`.
    sampled: u64,
    rows: Vec<PredictedRow>,
    groups: Vec<ErrorGroup>,
    not_predicted: Vec<UnpredictedRow>,
}

#[derive(JsonSchema)]
pub struct PredictedRow {
    id: String,
    engine: String,
    /// Whether prompts are computed by workers of their own.
    split: bool,
    device: String,
    model: String,
    /// Whether coefficients were chosen by rows of this half; absent of measurements that are not of
    /// the published table.
    half: Option<Half>,
    measured: Latencies,
    predicted: Latencies,
}

#[derive(JsonSchema)]
pub struct UnpredictedRow {
    id: String,
    reason: String,
}

/// Predictions of settings that nobody has measured.
#[derive(JsonSchema)]
pub struct WhatIf {
    schema: String,
    settings: Vec<WhatIfSetting>,
    /// Place of the recommended setting in `settings`.
    recommended: Option<u64>,
    /// The last verification of this calibration.
    last_verified: Option<Verified>,
    /// The verification that `--verify` made.
    #[serde(skip_serializing_if = "Option::is_none")]
    verified: Option<Verified>,
}

/// Predictions without any measurement of one's own.
#[derive(JsonSchema)]
pub struct Prediction {
    schema: String,
    settings: Vec<ForecastSetting>,
    /// Place of the recommended setting in `settings`.
    recommended: Option<u64>,
}

#[derive(JsonSchema)]
pub struct ForecastSetting {
    #[serde(flatten)]
    setting: WhatIfSetting,
    /// What the interval rests on.
    basis: Basis,
    /// Published rows behind the interval.
    validated_rows: u32,
}

/// The cheapest deployments for a traffic.
#[derive(JsonSchema)]
pub struct Choice {
    schema: String,
    /// `estimate` or `interval`: what replicas are counted by.
    size_by: String,
    /// The cheapest first.
    deployments: Vec<ChosenDeployment>,
    considered: u64,
    /// Those that no engine starts.
    refused: u64,
    /// Those that miss the objectives even when idle.
    never_met: u64,
    /// Those that need more cards than there are.
    too_few_cards: u64,
    /// Those that carry the traffic by the estimate and not by the interval, which was asked for.
    only_by_estimate: u64,
    /// Those that were simulated with a few requests.
    simulated: u64,
    /// Those of them that were simulated with as many as the objectives need.
    confirmed: u64,
    /// Those of which no more is known than a formula or a few requests say.
    left_out: u64,
    /// Those of `left_out` that may be as cheap as what is listed, by what is known of them.
    in_doubt: u64,
}

/// One replica with its share of the traffic, and what all of them cost.
#[derive(JsonSchema)]
pub struct ChosenDeployment {
    #[serde(flatten)]
    setting: PredictedSetting,
    /// Cards of all replicas.
    all_cards: u64,
    cost_per_hour: f64,
    /// With as many replicas as the fast and as the slow end of the interval need; no upper end
    /// where no number is enough.
    cost_per_million_interval: (f64, Option<f64>),
    /// Joules of all cards for an output token at the traffic, if each drew its board's greatest
    /// power all the time; absent where that power is not published.
    most_joules_per_output_token: Option<f64>,
    /// With as many replicas as either end of the interval needs.
    most_joules_interval: Option<(f64, Option<f64>)>,
    /// What all replicas carry beyond the traffic, as a share.
    headroom: f64,
    /// At the slow end of the interval, absent where nothing is carried, and at the fast end, absent
    /// where it is more than was tried.
    headroom_interval: [Option<f64>; 2],
    rate_per_replica: CarriedRate,
    /// Whether the whole interval meets the objectives.
    certain: bool,
    basis: Basis,
    validated_rows: u32,
    /// What starts a replica; where prompts are computed apart, a worker that answers, unless the
    /// engine's files tell workers apart.
    command: String,
    /// What starts a worker that computes prompts, where those are others with a command.
    prefill_command: Option<String>,
    /// All that one replica is made of, in the order in which it is started; workers of two kinds
    /// with their ports and cards, and their router.
    processes: Vec<Process>,
    /// Where clients find the replica.
    port: u16,
    /// How many workers compute prompts, and how many answer, where those are others.
    workers: Option<[u32; 2]>,
    /// What measures it.
    verify: String,
    curve: Vec<CurvePoint>,
}

/// Requests/s that a replica carries within the objectives, at most.
#[derive(JsonSchema)]
pub struct CarriedRate {
    estimate: f64,
    /// At the slow end of the interval; absent where none is carried.
    slow: Option<f64>,
    /// Absent where it is more than was tried.
    fast: Option<f64>,
}

/// A load of the Pareto chart.
#[derive(JsonSchema)]
pub struct CurvePoint {
    concurrency: Option<u32>,
    output_tokens_per_s_per_card: f64,
    output_tokens_per_s_per_user: Option<f64>,
}

#[derive(JsonSchema)]
#[serde(untagged)]
pub enum WhatIfSetting {
    Predicted(Box<PredictedSetting>),
    Refused(RefusedSetting),
}

/// A setting that cannot be served, or that never meets the objectives.
#[derive(JsonSchema)]
pub struct RefusedSetting {
    device: String,
    engine: String,
    flags: BTreeMap<String, Value>,
    point: Point,
    predicted: (),
    error: String,
}

#[derive(JsonSchema)]
pub struct PredictedSetting {
    device: String,
    engine: String,
    flags: BTreeMap<String, Value>,
    point: Point,
    predicted: Predicted,
    work: PredictedWork,
    /// Where the values lie in 9 of 10 cases.
    interval: Interval,
    inside_envelope: bool,
    /// What lies outside the envelope.
    outside: Vec<Extrapolation>,
    cards: u32,
    /// Servers for the asked traffic: those whose share the load is, or by the low end of what one
    /// carries at a given load.
    replicas: Option<u64>,
    /// By the estimate (at a given concurrency, by the high end), and by the slow end of the
    /// interval: absent where no number is enough.
    replicas_range: Option<(u64, Option<u64>)>,
    cost_per_million_output_tokens: Option<f64>,
    output_tokens_per_joule: Option<f64>,
}

/// Keys as in summary.json.
#[derive(JsonSchema)]
pub struct Predicted {
    requests: PredictedRequests,
    window_s: f64,
    throughput: PredictedThroughput,
    concurrency: PredictedConcurrency,
    latency: PredictedLatency,
    tokens: PredictedTokens,
    slo: Option<PredictedSlo>,
}

#[derive(JsonSchema)]
pub struct PredictedRequests {
    planned: u64,
    ok: u64,
    failed: u64,
    cut: u64,
    unsent: u64,
}

#[derive(JsonSchema)]
pub struct PredictedThroughput {
    requests_per_s: f64,
    input_tokens_per_s: f64,
    output_tokens_per_s: f64,
    total_tokens_per_s: f64,
}

#[derive(JsonSchema)]
pub struct PredictedConcurrency {
    configured: Option<u32>,
    mean: Option<f64>,
}

#[derive(JsonSchema)]
pub struct PredictedLatency {
    ttft_ms: Option<Distribution>,
    tpot_ms: Option<Distribution>,
    e2e_ms: Option<Distribution>,
    max_gap_ms: Option<Distribution>,
}

#[derive(JsonSchema)]
pub struct PredictedTokens {
    input_mean: f64,
    output_mean: f64,
}

#[derive(JsonSchema)]
pub struct PredictedSlo {
    met: bool,
    verdict: PredictedVerdict,
    objectives: Vec<PredictedObjective>,
}

#[derive(JsonSchema)]
pub struct PredictedObjective {
    objective: String,
    /// Its figure; absent where no request has it.
    value_ms: Option<f64>,
}

#[derive(JsonSchema)]
pub struct PredictedWork {
    input_tokens: String,
    output_tokens: String,
    /// Lengths were those of a trace.
    trace: bool,
    start: Start,
    /// Requests longer than max-model-len.
    too_long: u64,
}

#[derive(JsonSchema)]
pub struct Interval {
    throughput: IntervalThroughput,
    latency: IntervalLatency,
}

#[derive(JsonSchema)]
pub struct IntervalThroughput {
    requests_per_s: Option<[f64; 2]>,
    output_tokens_per_s: Option<[f64; 2]>,
}

#[derive(JsonSchema)]
pub struct IntervalLatency {
    ttft_ms: Option<LatencyInterval>,
    tpot_ms: Option<LatencyInterval>,
    e2e_ms: Option<LatencyInterval>,
}

#[derive(JsonSchema)]
pub struct LatencyInterval {
    mean: Option<[f64; 2]>,
    p50: Option<[f64; 2]>,
    p90: Option<[f64; 2]>,
    p99: Option<[f64; 2]>,
}

/// A prediction that was measured.
#[derive(JsonSchema)]
pub struct Verified {
    /// When, RFC 3339.
    at: String,
    setting: String,
    /// `sim`, or the server's address.
    on: Option<String>,
    /// The run, where a server was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    run: Option<String>,
    held: bool,
    /// predicted / measured − 1, by metric.
    errors: BTreeMap<String, f64>,
}

/// A line between the tuner and a searcher of one's own, either way.
#[derive(JsonSchema)]
#[serde(untagged)]
pub enum Searcher {
    /// What the tuner writes.
    Tuner(ToSearcher),
    /// What the searcher answers to `ask`.
    Searcher(FromSearcher),
}
