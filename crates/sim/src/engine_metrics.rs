//! Metrics of a scheduled engine, by the names and buckets that the engine's version has.

use std::borrow::Cow;

use inferometer_catalog::engine::{
    EngineKind, Version,
    metric::{Meaning, Metric, MetricKind, metrics},
};

use crate::{
    engine::{EngineConfig, Nanos, Stats},
    histogram::Histogram,
    metrics::FinishCounts,
};

/// Upper bounds in seconds of how late chunks were written.
const LATENESS_BOUNDS: [f64; 9] = [0.000_5, 0.001, 0.002, 0.003, 0.005, 0.01, 0.02, 0.05, 0.1];

/// What is observed. Where the catalog has no meaning for it, the metric goes by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumString)]
pub(crate) enum Quantity {
    FirstToken,
    BetweenTokens,
    Latency,
    QueueTime,
    PrefillTime,
    DecodeTime,
    IterationTokens,
    #[strum(serialize = "request_time_per_output_token_seconds")]
    PerToken,
    #[strum(serialize = "request_inference_time_seconds")]
    InferenceTime,
    #[strum(serialize = "request_prompt_tokens")]
    PromptTokens,
    #[strum(serialize = "request_prefill_kv_computed_tokens")]
    ComputedTokens,
    #[strum(serialize = "request_generation_tokens")]
    GenerationTokens,
    #[strum(
        serialize = "request_max_num_generation_tokens",
        serialize = "request_params_max_tokens"
    )]
    AskedTokens,
    #[strum(serialize = "request_params_n")]
    Choices,
    #[strum(serialize = "request_num_preemptions")]
    Preemptions,
}

impl Quantity {
    fn of(metric: &Metric) -> Option<Quantity> {
        Some(match metric.meaning {
            Some(Meaning::FirstToken) => Quantity::FirstToken,
            Some(Meaning::BetweenTokens) => Quantity::BetweenTokens,
            Some(Meaning::Latency) => Quantity::Latency,
            Some(Meaning::QueueTime) => Quantity::QueueTime,
            Some(Meaning::PrefillTime) => Quantity::PrefillTime,
            Some(Meaning::DecodeTime) => Quantity::DecodeTime,
            Some(Meaning::IterationTokens) => Quantity::IterationTokens,
            _ => return bare(metric).parse().ok(),
        })
    }
}

/// A metric's name without its engine.
fn bare(metric: &Metric) -> &str {
    let name = metric.name.as_str();
    name.split_once(':').map_or(name, |(_, bare)| bare)
}

/// The figures of an engine that its own [`Stats`] do not hold.
#[derive(Debug)]
pub(crate) struct EngineMetrics {
    kind: EngineKind,
    known: Vec<&'static Metric>,
    histograms: Vec<(Quantity, &'static Metric, Histogram)>,
    /// Seconds by which chunks were written later than they were due.
    pub(crate) lateness: Histogram,
    pub(crate) finished: FinishCounts,
    pub(crate) received: u64,
    pub(crate) cached_tokens: u64,
}

impl EngineMetrics {
    pub(crate) fn new(kind: EngineKind, version: Version, config: &EngineConfig) -> EngineMetrics {
        let known: Vec<_> = metrics(kind, version)
            .into_iter()
            .filter(|metric| !metric.optional || config.speculation.is_some())
            .collect();
        let histogram = |metric: &&'static Metric| {
            let quantity = Quantity::of(metric)?;
            let bounds = metric.bounds(config.max_model_len.into());
            Some((quantity, *metric, Histogram::new(bounds)))
        };
        let histograms = known.iter().filter_map(histogram).collect();
        EngineMetrics {
            kind,
            known,
            histograms,
            lateness: Histogram::new(LATENESS_BOUNDS.to_vec()),
            finished: FinishCounts::default(),
            received: 0,
            cached_tokens: 0,
        }
    }

    pub(crate) fn observe(&mut self, quantity: Quantity, value: f64) {
        for (of, _, histogram) in &mut self.histograms {
            if *of == quantity {
                histogram.observe(value);
            }
        }
    }

    pub(crate) fn observe_time(&mut self, quantity: Quantity, time: Nanos) {
        self.observe(quantity, time as f64 * 1e-9);
    }

    pub(crate) fn render(&self, model: &str, stats: &Stats, config: &EngineConfig) -> String {
        let mut labels = vec![("model_name", model)];
        match self.kind {
            EngineKind::Vllm => labels.push(("engine", "0")),
            EngineKind::Sglang => labels.extend([
                ("engine_type", "unified"),
                ("tp_rank", "0"),
                ("pp_rank", "0"),
            ]),
            _ => {}
        }
        let mut text = String::new();
        for metric in &self.known {
            if metric.kind == MetricKind::Histogram {
                self.write_histogram(&mut text, metric, &labels);
            } else if metric.meaning == Some(Meaning::CacheInfo) {
                write_cache_info(&mut text, metric, &labels, stats, config);
            } else {
                self.write_values(&mut text, metric, &labels, stats, config);
            }
        }
        // vLLM has it of its one API server; several share their metrics and leave it out.
        if self.kind == EngineKind::Vllm && config.api_servers == 1 && stats.front_end_busy > 0 {
            const NAME: &str = "process_cpu_seconds_total";
            let seconds = stats.front_end_busy as f64 * 1e-9;
            text.push_str(&format!("# TYPE {NAME} counter\n{NAME} {seconds}\n"));
        }
        self.write_lateness(&mut text);
        text
    }

    fn write_histogram(&self, text: &mut String, metric: &Metric, labels: &[(&str, &str)]) {
        let mut known = self.histograms.iter();
        if let Some((_, _, known)) = known.find(|(_, of, _)| of.name == metric.name) {
            metric.write_head(text);
            metric.write_histogram(text, labels, &known.bounds, &known.counts, known.sum);
        }
    }

    fn write_values(
        &self,
        text: &mut String,
        metric: &Metric,
        labels: &[(&str, &str)],
        stats: &Stats,
        config: &EngineConfig,
    ) {
        let values = self.values(metric, stats, config);
        if values.is_empty() {
            return;
        }
        metric.write_head(text);
        for (series, value) in values {
            let mut labels = labels.to_vec();
            if let (Some(label), Some(series)) = (&metric.label, &series) {
                labels.push((label, series));
            }
            metric.write_value(text, &labels, value);
        }
    }

    /// The series of a counter or gauge; none where we cannot tell.
    fn values(
        &self,
        metric: &Metric,
        stats: &Stats,
        config: &EngineConfig,
    ) -> Vec<(Option<Cow<'static, str>>, f64)> {
        let finished = self.finished;
        let served = finished.stopped + finished.reached_length;
        let one = |value: f64| vec![(None, value)];
        let count = |value: u64| one(value as f64);
        match metric.meaning {
            Some(Meaning::Running) => count(stats.running.into()),
            Some(Meaning::Waiting) => count(stats.waiting.into()),
            Some(Meaning::KvUse) => one(ratio(stats.blocks_used.into(), stats.blocks.into())),
            Some(Meaning::PrefixQueries) => count(stats.prefix_queries),
            Some(Meaning::PrefixHits) if metric.label.is_some() => {
                vec![(Some("device".into()), stats.prefix_hits as f64)]
            }
            Some(Meaning::PrefixHits) => count(stats.prefix_hits),
            Some(Meaning::PrefixHitRate) => one(ratio(stats.prefix_hits, stats.prefix_queries)),
            Some(Meaning::Preemptions) => count(stats.preemptions),
            Some(Meaning::PromptTokens) => count(stats.prompt_tokens),
            Some(Meaning::GenerationTokens) => count(stats.generation_tokens),
            Some(Meaning::Successes) if metric.label.is_some() => [
                ("stop", finished.stopped),
                ("length", finished.reached_length),
                ("abort", finished.aborted),
                ("error", 0),
            ]
            .map(|(reason, count): (&'static str, u64)| (Some(reason.into()), count as f64))
            .to_vec(),
            Some(Meaning::Successes) => count(served),
            Some(Meaning::Drafts) => count(stats.drafts),
            Some(Meaning::DraftTokens) => count(stats.draft_tokens),
            Some(Meaning::AcceptedTokens) => count(stats.accepted_tokens),
            Some(Meaning::AcceptedByPosition) => {
                let drafted = config.speculation.map_or(0, |it| it.tokens as usize);
                let places = stats.accepted_by_position.iter().enumerate().take(drafted);
                places
                    .map(|(place, &count)| (Some(place.to_string().into()), count as f64))
                    .collect()
            }
            Some(Meaning::AcceptLength) => one(1.0 + ratio(stats.accepted_tokens, stats.drafts)),
            Some(Meaning::AcceptRate) => one(ratio(stats.accepted_tokens, stats.draft_tokens)),
            Some(Meaning::CacheTokens) => {
                count(u64::from(stats.blocks) * u64::from(config.block_size))
            }
            Some(_) => Vec::new(),
            None => match bare(metric) {
                "num_requests_waiting_by_reason" => vec![
                    (Some("capacity".into()), f64::from(stats.waiting)),
                    (Some("deferred".into()), 0.0),
                ],
                "num_requests_swapped" | "cpu_cache_usage_perc" => one(0.0),
                "prompt_tokens_cached_total" => count(self.cached_tokens),
                "request_received_total" => count(self.received),
                "request_failed_total" => count(finished.aborted),
                "failed_request_perc" => one(ratio(finished.aborted, self.received)),
                _ => Vec::new(),
            },
        }
    }

    /// Not the engine's but ours: whether the simulator kept its own time.
    fn write_lateness(&self, text: &mut String) {
        const NAME: &str = "inferometer_sim:write_lateness_seconds";
        let help = "How much later than due the simulator wrote chunks.";
        text.push_str(&format!("# HELP {NAME} {help}\n"));
        self.lateness.write(text, NAME, "");
    }
}

fn write_cache_info(
    text: &mut String,
    metric: &Metric,
    labels: &[(&str, &str)],
    stats: &Stats,
    config: &EngineConfig,
) {
    let blocks = stats.blocks.to_string();
    let size = config.block_size.to_string();
    let caching = if config.prefix_caching {
        "True"
    } else {
        "False"
    };
    let own = labels.iter().filter(|(name, _)| *name == "engine");
    let mut labels: Vec<_> = own.copied().collect();
    labels.extend([
        ("num_gpu_blocks", blocks.as_str()),
        ("block_size", size.as_str()),
        ("enable_prefix_caching", caching),
    ]);
    metric.write_head(text);
    metric.write_value(text, &labels, 1.0);
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}
