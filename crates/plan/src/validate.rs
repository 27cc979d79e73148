//! How well predictions agree with measurements: every row of a published table, every load point of
//! our own runs and of other tools' results is predicted by the simulated engine and compared with
//! what was measured.

mod errors;
mod json;
mod observed;
mod recipe;
mod repeated;
mod row;
mod split_recipe;

pub use errors::{ErrorGroup, Grouping, group_errors, median};
pub use json::{SCHEMA, to_json};
pub use observed::{Observed, Unsaid};
pub use row::{
    Half, MeasuredRow, PrefillRow, Provenance, Sizes, TableError, is_published_table, read_table,
};

use crate::cores::on_all;
use crate::flags::Flag;
use crate::predict::{Subject, simulate};
use crate::split::Split;
use crate::work::{Load, Start, Work};
use inferometer_catalog::device::Device;
use inferometer_catalog::engine::EngineKind;
use inferometer_catalog::model::{Dtype, Model, Plain, Quantised};
use inferometer_catalog::timing::Profiles;
use inferometer_core::length::Distribution as Lengths;
use inferometer_sim::engine::EngineConfig;
use inferometer_sim::engine::virtual_time::{Run, Served};
use row::Role;
use serde::Serialize;
use strum::{IntoStaticStr, VariantArray};
use thiserror::Error;

/// Requests of a stream in a nightly run; all others are taken as much alike.
const REQUESTS_PER_STREAM: u32 = 10;
/// Requests of a row in all, as far as each stream has its least.
const MOST_REQUESTS: u32 = 16_384;
const LEAST_PER_STREAM: u32 = 4;
/// Rows with workers of two kinds were measured behind Dynamo, whose front ends are several and
/// compiled: they never were what others waited for.
const FRONT_ENDS: u32 = 64;
const SEED: u64 = 1;

/// What is compared.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, IntoStaticStr, VariantArray,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case", const_into_str)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Quantity {
    /// Latency of a whole answer.
    E2e,
    Tpot,
    Ttft,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Error)]
pub enum NotPredicted {
    #[error("the row does not say how many workers computed prompts and how many answered")]
    NoWorkers,
    #[error("the scheduler of {0} is not simulated")]
    Engine(String),
    #[error("the model {0} is not known")]
    Model(String),
    #[error("the card {0} is not known")]
    Card(String),
    #[error("the row has no concurrency")]
    NoConcurrency,
    #[error("nothing says which engine it was; say --engine")]
    NoEngine,
    #[error("nothing says which model it was; say --model")]
    NoModel,
    #[error("nothing says which card it was; say --device")]
    NoCard,
    #[error(
        "nothing says how long prompts and answers were; say --input-tokens and --output-tokens"
    )]
    NoLengths,
    #[error("it has no TTFT, TPOT or latency")]
    NoLatency,
    #[error("the measurement is not valid: {0}")]
    Invalid(String),
    #[error("refused: {0}")]
    Refused(String),
    #[error("no request was served")]
    NothingServed,
}

/// Latencies of one row, ms; absent where it has none. A prediction has all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Latencies {
    pub ttft_ms: Option<f64>,
    pub tpot_ms: Option<f64>,
    pub e2e_ms: Option<f64>,
}

impl Latencies {
    /// A whole answer is a first token and all others, for measured and predicted alike.
    fn of_parts(ttft_ms: f64, tpot_ms: f64, output_tokens: f64) -> Latencies {
        Latencies {
            ttft_ms: Some(ttft_ms),
            tpot_ms: Some(tpot_ms),
            e2e_ms: Some(ttft_ms + tpot_ms * (output_tokens - 1.0).max(0.0)),
        }
    }

    pub fn get(&self, quantity: Quantity) -> Option<f64> {
        match quantity {
            Quantity::E2e => self.e2e_ms,
            Quantity::Tpot => self.tpot_ms,
            Quantity::Ttft => self.ttft_ms,
        }
    }
}

/// A measurement, wherever it comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Measurement {
    Row(Box<MeasuredRow>),
    Observed(Box<Observed>),
}

/// What a measurement is called, and by what it is put together with others.
#[derive(Clone, Debug, PartialEq)]
pub struct Identity {
    pub id: String,
    pub engine: String,
    /// Whether prompts were computed by workers of their own.
    pub split: bool,
    pub card: String,
    pub model: String,
    /// Of rows by which coefficients may have been chosen.
    pub half: Option<Half>,
}

impl Measurement {
    pub fn identity(&self) -> Identity {
        match self {
            Measurement::Row(row) => Identity {
                id: row.id.clone(),
                engine: row.engine.clone(),
                split: row.prefill.is_some(),
                card: row.card.clone(),
                model: row.model_name(),
                half: Some(row.half()),
            },
            Measurement::Observed(observed) => observed.identity(),
        }
    }

    /// Of what was measured: the same in every order of the rows.
    fn hash(&self) -> u64 {
        match self {
            Measurement::Row(row) => row.hash,
            Measurement::Observed(observed) => row::fnv(&observed.fingerprint()),
        }
    }

    fn measured(&self) -> Latencies {
        match self {
            Measurement::Row(row) => {
                Latencies::of_parts(row.ttft_ms, row.tpot_ms, row.mean_output())
            }
            Measurement::Observed(observed) => observed.measured(),
        }
    }

    fn predict(&self, profiles: &Profiles) -> Result<Latencies, NotPredicted> {
        match self {
            Measurement::Row(row) => predict(row, profiles),
            Measurement::Observed(observed) => observed.predict(profiles),
        }
    }
}

impl Identity {
    /// The engine, and whether it computes prompts apart.
    pub fn engine_name(&self) -> String {
        if self.split {
            format!("{} split", self.engine)
        } else {
            self.engine.clone()
        }
    }
}

/// A measurement and what was predicted of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    pub row: Identity,
    pub measured: Latencies,
    pub predicted: Latencies,
}

impl Compared {
    /// Predicted / measured − 1; absent where it was not measured.
    pub fn error(&self, quantity: Quantity) -> Option<f64> {
        let measured = self.measured.get(quantity)?;
        Some(self.predicted.get(quantity)? / measured - 1.0)
    }
}

#[derive(Clone, Debug, Default)]
pub struct Validation {
    /// Rows of the tables.
    pub rows: usize,
    /// Rows left after `--sample`; as many as `rows` without.
    pub sampled: usize,
    pub compared: Vec<Compared>,
    pub not_predicted: Vec<(Identity, NotPredicted)>,
}

/// Predicts the rows; of a sample, those with the lowest hashes.
pub fn validate(
    mut rows: Vec<Measurement>,
    sample: Option<usize>,
    profiles: &Profiles,
) -> Validation {
    let all = rows.len();
    if let Some(sample) = sample {
        rows.sort_by_key(Measurement::hash);
        rows.truncate(sample);
    }
    let outcomes = on_all(rows.len(), |place| rows[place].predict(profiles));
    let mut validation = Validation {
        rows: all,
        sampled: rows.len(),
        ..Validation::default()
    };
    for (row, outcome) in rows.iter().zip(outcomes) {
        match outcome {
            Ok(predicted) => validation.compared.push(Compared {
                measured: row.measured(),
                predicted,
                row: row.identity(),
            }),
            Err(reason) => validation.not_predicted.push((row.identity(), reason)),
        }
    }
    validation
}

fn predict(row: &MeasuredRow, profiles: &Profiles) -> Result<Latencies, NotPredicted> {
    let run = serve(row, profiles)?;
    let mean = |figure: fn(&Served) -> Option<f64>| match row.concurrency {
        Some(streams) if !row.repeats_prompts() => mean_of_whole(&run, streams, figure),
        _ => run.mean(figure),
    };
    let (Some(ttft), Some(tpot)) = (mean(Served::ttft_ms), mean(Served::tpot_ms)) else {
        return Err(NotPredicted::NothingServed);
    };
    Ok(Latencies::of_parts(ttft, tpot, row.mean_output()))
}

/// The mean of a run with as many requests for each stream as were measured. All streams begin at
/// once and wait for each other's prompts; where fewer requests were simulated, those that came later
/// stand for all that did not, or that burst would count for more than it did.
fn mean_of_whole(run: &Run, streams: u32, figure: fn(&Served) -> Option<f64>) -> Option<f64> {
    let burst = (streams as usize).min(run.served.len());
    let (burst, later) = run.served.split_at(burst);
    let missing = f64::from(REQUESTS_PER_STREAM) - 1.0;
    let weight = missing * burst.len() as f64 / later.len().max(1) as f64;
    let parts = [(burst, 1.0), (later, weight)];
    let [mut sum, mut count] = [0.0; 2];
    for (served, weight) in parts {
        for figure in served.iter().filter_map(figure) {
            sum += figure * weight;
            count += weight;
        }
    }
    (count > 0.0).then(|| sum / count)
}

/// The row's load on the engine that it was measured on.
pub fn serve(row: &MeasuredRow, profiles: &Profiles) -> Result<Run, NotPredicted> {
    let (config, work) = experiment(row, profiles)?;
    Ok(match (work.load, row.repeats_prompts()) {
        (Load::Closed(streams), true) => repeated::serve(config, &work, streams, SEED),
        _ => simulate(config, &work, SEED),
    })
}

/// The engine that a row was measured on, and the load that it was measured with.
pub fn experiment(
    row: &MeasuredRow,
    profiles: &Profiles,
) -> Result<(EngineConfig, Work), NotPredicted> {
    let engine = match row.engine.as_str() {
        "vllm" => EngineKind::Vllm,
        "sglang" => EngineKind::Sglang,
        "trtllm" => EngineKind::Trtllm,
        other => return Err(NotPredicted::Engine(other.to_owned())),
    };
    let model = row.preset().map(|model| stored(model, &row.precision));
    let model = model.ok_or_else(|| NotPredicted::Model(row.model.clone()))?;
    let device = Device::named(&row.card).ok_or_else(|| NotPredicted::Card(row.card.clone()))?;
    let concurrency = row.concurrency.ok_or(NotPredicted::NoConcurrency)?;
    let flags_of = |sizes, role| flags(row, &model, concurrency, sizes, role);
    let (split, flags) = match row.prefill {
        Some(prefill) => {
            let workers = prefill.workers.ok_or(NotPredicted::NoWorkers)?;
            let apart = flags_of(prefill.sizes, Role::Prefill);
            let cards = [prefill.sizes.cards(), row.sizes.cards()];
            let split = Split::new(&apart, workers, cards, device);
            (Some(split), flags_of(row.sizes, Role::Decode))
        }
        None => (None, flags_of(row.sizes, Role::All)),
    };
    let refused = |error: &dyn std::fmt::Display| NotPredicted::Refused(error.to_string());
    let subject = Subject {
        model,
        device: device.clone(),
        cards: row.sizes.cards(),
        engine,
        version: row.version.parse().ok(),
        split,
    };
    let timing = profiles.of(device, Some(engine));
    let timing = timing.ok_or_else(|| NotPredicted::Card(row.card.clone()))?;
    let mut config = subject
        .start(&flags, timing)
        .map_err(|error| refused(&error))?;
    if config.prefill.is_some() {
        config.api_servers = config.api_servers.max(FRONT_ENDS);
    }
    let each = (MOST_REQUESTS / concurrency.max(1)).clamp(LEAST_PER_STREAM, REQUESTS_PER_STREAM);
    let work = Work {
        load: Load::Closed(concurrency),
        start: Start::AtOnce,
        input: lengths(row, row.input),
        output: lengths(row, row.output),
        requests: concurrency.saturating_mul(each),
        trace: None,
    };
    Ok((config, work))
}

/// Nightly runs draw lengths from the last fifth below the stated one. How others were drawn is not
/// said: where answers of one length would keep the streams in step, first tokens came too early for
/// that, but for SGLang's rows with lengths of powers of two.
fn lengths(row: &MeasuredRow, stated: u32) -> Lengths {
    match row.provenance {
        Provenance::Nightly => Lengths::Uniform(stated / 5 * 4, stated),
        Provenance::Other if row.engine == "sglang" && row.input.is_power_of_two() => {
            Lengths::Fixed(stated)
        }
        Provenance::Other => Lengths::Uniform(stated - stated / 10, stated + stated / 10),
    }
}

fn flags(
    row: &MeasuredRow,
    model: &Model,
    concurrency: u32,
    sizes: Sizes,
    role: Role,
) -> Vec<Flag> {
    let mut flags: Vec<Flag> = Vec::new();
    let mut set = |name: &str, value: Option<String>| {
        flags.retain(|(known, _)| known != name);
        flags.push((name.to_owned(), value));
    };
    let longest = row.input.saturating_add(row.output);
    let longest = longest.saturating_add(longest / 10).saturating_add(256);
    set("max-model-len", Some(longest.to_string()));
    let number = |size: u32| Some(size.to_string());
    let cards = match row.engine.as_str() {
        "vllm" => sizes.tensor,
        // Their replicas are the cards of a group.
        _ => sizes.cards(),
    };
    set("tensor-parallel-size", number(cards));
    if sizes.replicas > 1 {
        match row.engine.as_str() {
            "trtllm" => set("enable_attention_dp", None),
            "sglang" => {
                set("data-parallel-size", number(sizes.replicas));
                set("enable-dp-attention", None);
            }
            _ => set("data-parallel-size", number(sizes.replicas)),
        }
    }
    if sizes.experts > 1 && model.experts.is_some() {
        match row.engine.as_str() {
            "sglang" => set("ep-size", number(sizes.experts)),
            "trtllm" => set("ep_size", number(sizes.experts)),
            _ => set("enable-expert-parallel", None),
        }
    }
    for (name, value) in recipe::flags(row, &model.name, concurrency, role) {
        set(&name, Some(value));
    }
    flags
}

/// The model in the precision that a table names. Published 4-bit copies of models with experts
/// leave attention in 16 bits.
fn stored(model: Model, precision: &str) -> Model {
    match precision {
        "fp8" if model.dtype != Dtype::Fp8 => model.stored_as(Dtype::Fp8),
        "fp4" if model.dtype != Dtype::Mxfp4 => {
            let sparse = f64::from(u8::from(model.experts.is_some()));
            let recurrent = f64::from(u8::from(model.kinds().recurrent.is_some()));
            let plain = Plain {
                attention: sparse,
                recurrent,
                shared: recurrent,
                ..Plain::default()
            };
            Model {
                quantised: Some(Quantised {
                    bytes: Dtype::Nvfp4.bytes(),
                    plain,
                }),
                ..model.stored_as(Dtype::Nvfp4)
            }
        }
        _ => model,
    }
}
