//! `/metrics` of an engine under our names, and where to find it.

use inferometer_catalog::engine::metric::{Meaning, Metric, MetricKind, find, read};
use inferometer_catalog::engine::{EngineKind, mindie};
use inferometer_core::server::{EngineState, MOST_POSITIONS, Total};
use inferometer_fetch::Client;
use inferometer_fetch::url::{host_and_port, root};
use std::collections::HashMap;
use std::ops::RangeInclusive;

/// What a count, a time or a share of an engine may be; what it is not is not known.
const POSSIBLE: RangeInclusive<f64> = 0.0..=1e18;

/// What one meaning has gathered so far.
struct Gathered {
    /// The metric's name: transitional versions give one value under two names.
    name: &'static str,
    engine: EngineKind,
    kind: MetricKind,
    total: Total,
    series: u32,
}

/// Reads the text of `/metrics`; `None` if it has nothing that we know.
pub fn engine_state(text: &str) -> Option<EngineState> {
    let mut seen: HashMap<Meaning, Gathered> = HashMap::new();
    let mut front_end_cpu_s = None;
    let mut accepted_by_position: Vec<f64> = Vec::new();
    for sample in read(text) {
        // Of the process that serves this page, as Prometheus' clients count it.
        if sample.name == "process_cpu_seconds_total" {
            front_end_cpu_s = Some(sample.value).filter(|seconds| seconds.is_finite());
        }
        if sample.name.ends_with("_bucket") || !POSSIBLE.contains(&sample.value) {
            continue;
        }
        let Some((engine, metric, is_count)) = identify(sample.name) else {
            continue;
        };
        let Some(meaning) = metric.meaning else {
            continue;
        };
        if meaning == Meaning::AcceptedByPosition {
            let place = sample
                .label("position")
                .and_then(|place| place.parse().ok());
            if let Some(place) = place.filter(|place: &usize| *place < MOST_POSITIONS) {
                if accepted_by_position.len() <= place {
                    accepted_by_position.resize(place + 1, 0.0);
                }
                accepted_by_position[place] += sample.value;
            }
            continue;
        }
        let gathered = seen.entry(meaning).or_insert(Gathered {
            name: &metric.name,
            engine,
            kind: metric.kind,
            total: Total::default(),
            series: 0,
        });
        if gathered.name != metric.name {
            continue;
        }
        if is_count {
            gathered.total.count += sample.value;
        } else {
            gathered.total.sum += sample.value;
            gathered.series += 1;
        }
    }
    if seen.is_empty() {
        return None;
    }
    let sum = |meaning| seen.get(&meaning).map(|it: &Gathered| it.total.sum);
    let mean = |meaning| Some(sum(meaning)? / f64::from(seen.get(&meaning)?.series.max(1)));
    let total = |meaning| {
        let gathered: &Gathered = seen.get(&meaning)?;
        (gathered.kind == MetricKind::Histogram).then_some(gathered.total)
    };
    let mut state = EngineState {
        running: sum(Meaning::Running),
        waiting: sum(Meaning::Waiting),
        kv_use: mean(Meaning::KvUse),
        preemptions: sum(Meaning::Preemptions),
        prefix_queries: sum(Meaning::PrefixQueries),
        prefix_hits: sum(Meaning::PrefixHits),
        prefix_hit_rate: mean(Meaning::PrefixHitRate),
        prompt_tokens: sum(Meaning::PromptTokens),
        generation_tokens: sum(Meaning::GenerationTokens),
        successes: sum(Meaning::Successes),
        drafts: sum(Meaning::Drafts),
        draft_tokens: sum(Meaning::DraftTokens),
        accepted_tokens: sum(Meaning::AcceptedTokens),
        accepted_by_position,
        accept_length: mean(Meaning::AcceptLength),
        accept_rate: mean(Meaning::AcceptRate),
        batch_size: mean(Meaning::BatchSize),
        step_tokens: total(Meaning::IterationTokens),
        queue_s: total(Meaning::QueueTime),
        prefill_s: total(Meaning::PrefillTime),
        decode_s: total(Meaning::DecodeTime),
        ttft_s: total(Meaning::FirstToken),
        e2e_s: total(Meaning::Latency),
        front_end_cpu_s,
    };
    // Engines that count hits beside prompt tokens, and not what was looked up.
    if let (None, Some(hits), Some(prompts)) =
        (state.prefix_queries, state.prefix_hits, state.prompt_tokens)
    {
        let counted = seen.get(&Meaning::PromptTokens);
        if counted.is_some_and(|it| it.engine == EngineKind::LlamaServer) {
            // Its prompt tokens leave out the cached ones.
            state.prompt_tokens = Some(prompts + hits);
        }
        state.prefix_queries = state.prompt_tokens;
    }
    Some(state)
}

/// The metric of a sample's name, and whether it is the count of a histogram.
fn identify(name: &str) -> Option<(EngineKind, &'static Metric, bool)> {
    if let Some((engine, metric)) = find(name)
        && metric.kind != MetricKind::Histogram
    {
        return Some((engine, metric, false));
    }
    for (ending, is_count) in [("_sum", false), ("_count", true)] {
        if let Some((engine, metric)) = name.strip_suffix(ending).and_then(find)
            && metric.kind == MetricKind::Histogram
        {
            return Some((engine, metric, is_count));
        }
    }
    // TGI's counters have the ending in some releases only.
    let (engine, metric) = name.strip_suffix("_total").and_then(find)?;
    (metric.kind == MetricKind::Counter).then_some((engine, metric, false))
}

/// The address of the metrics of a measured server, if it has any that we know: beside the API,
/// or on the port that MindIE keeps for them.
pub fn discover(client: &Client, measured: &str) -> Option<String> {
    let root = root(measured)?;
    let (host, _) = host_and_port(measured)?;
    let host = if host.contains(':') {
        format!("[{host}]")
    } else {
        host
    };
    let mindie = mindie::Server::default().metrics_port;
    let candidates = [
        format!("{root}/metrics"),
        format!("http://{host}:{mindie}/metrics"),
        format!("https://{host}:{mindie}/metrics"),
    ];
    candidates.into_iter().find(|address| {
        client
            .get(address)
            .is_ok_and(|reply| reply.status == 200 && engine_state(&reply.body).is_some())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn real_metrics_of_vllm_are_read_under_our_names() {
        let text = include_str!("../../../fixtures/engine/vllm/metrics.txt");
        let state = engine_state(text).unwrap();
        assert_eq!((state.running, state.waiting), (Some(0.0), Some(0.0)));
        assert!(state.generation_tokens.unwrap() > 0.0);
        let queue = state.queue_s.unwrap();
        assert_eq!(queue.count, 2.0);
        assert!(state.prefill_s.is_some() && state.decode_s.is_some() && state.kv_use.is_some());
        assert!(state.step_tokens.unwrap().count > 0.0);
        assert_eq!(state.front_end_cpu_s, Some(10.23));
    }

    #[test]
    fn replicas_are_summed_and_one_value_under_two_names_is_taken_once() {
        let text = "vllm:num_requests_running{engine=\"0\"} 3\nvllm:num_requests_running{engine=\"1\"} 4\nvllm:kv_cache_usage_perc{engine=\"0\"} 0.5\nvllm:kv_cache_usage_perc{engine=\"1\"} 0.7\nvllm:gpu_cache_usage_perc{engine=\"0\"} 0.5\nvllm:num_requests_waiting NaN\n";
        let state = engine_state(text).unwrap();
        assert_eq!(state.running, Some(7.0));
        assert!((state.kv_use.unwrap() - 0.6).abs() < 1e-12);
        assert_eq!(state.waiting, None);
    }

    #[test]
    fn what_no_engine_can_have_is_not_known() {
        for odd in ["-1e308", "-1", "1e308", "+Inf", "NaN"] {
            let text = format!("vllm:num_requests_running 3\nvllm:kv_cache_usage_perc {odd}\n");
            let state = engine_state(&text).unwrap();
            assert_eq!((state.running, state.kv_use), (Some(3.0), None), "{odd}");
        }
    }

    #[test]
    fn tgi_and_llama_cpp_are_read_too() {
        let tgi = "tgi_queue_size 7\ntgi_batch_current_size 4\ntgi_request_queue_duration_sum 2.5\ntgi_request_queue_duration_count 5\ntgi_request_generated_tokens_sum 900\ntgi_request_generated_tokens_count 9\ntgi_request_success_total{method=\"x\"} 9\n";
        let state = engine_state(tgi).unwrap();
        assert_eq!((state.running, state.waiting), (Some(4.0), Some(7.0)));
        assert_eq!(
            state.queue_s,
            Some(Total {
                sum: 2.5,
                count: 5.0
            })
        );
        assert_eq!(state.generation_tokens, Some(900.0));
        assert_eq!(state.successes, Some(9.0));
        let llama = "llamacpp:prompt_tokens_total 30\nllamacpp:prompt_tokens_cached_total 10\nllamacpp:requests_processing 2\nllamacpp:n_busy_slots_per_decode 1.5\n";
        let state = engine_state(llama).unwrap();
        assert_eq!(state.prefix_hits, Some(10.0));
        assert_eq!(state.prefix_queries, Some(40.0));
        assert_eq!(state.batch_size, Some(1.5));
    }

    #[test]
    fn drafts_are_read_by_their_counters_or_as_the_engine_sums_them_up() {
        let name = "vllm:spec_decode_num_accepted_tokens_per_pos_total";
        let text = format!(
            "vllm:spec_decode_num_drafts_total 10\nvllm:spec_decode_num_draft_tokens_total 30\nvllm:spec_decode_num_accepted_tokens_total 12\n{name}{{position=\"0\"}} 8\n{name}{{position=\"1\"}} 4\n{name}{{position=\"9999999\"}} 1\n"
        );
        let state = engine_state(&text).unwrap();
        assert_eq!((state.drafts, state.draft_tokens), (Some(10.0), Some(30.0)));
        assert_eq!(state.accepted_tokens, Some(12.0));
        assert_eq!(state.accepted_by_position, [8.0, 4.0]);
        let state = engine_state("sglang:spec_accept_length 2.5\nsglang:spec_accept_rate 0.7\n");
        let state = state.unwrap();
        assert_eq!(state.accept_length, Some(2.5));
        assert_eq!(state.accept_rate, Some(0.7));
    }

    #[test]
    fn foreign_metrics_are_no_engines() {
        assert_eq!(engine_state("process_cpu_seconds_total 3\n<html>"), None);
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_harm(text in any::<String>()) {
            engine_state(&text);
        }
    }
}
