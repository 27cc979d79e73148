use super::*;
use proptest::prelude::*;

const REAL: &str = include_str!("../../../../../fixtures/engine/vllm/metrics.txt");
const NEW: Version = Version::new(0, 32, 0);

#[test]
fn the_tables_metrics_are_those_of_the_real_servers() {
    let llama = include_str!("../../../../../fixtures/engine/llama-server/metrics.txt");
    for (engine, text) in [(EngineKind::Vllm, REAL), (EngineKind::LlamaServer, llama)] {
        for metric in metrics(engine, engine.newest()) {
            if metric.optional {
                continue;
            }
            let mut head = String::new();
            metric.write_head(&mut head);
            assert!(text.contains(&head), "{head}");
            let real: Vec<f64> = read(text)
                .filter(|sample| sample.name == format!("{}_bucket", metric.name))
                .filter_map(|sample| sample.label("le")?.parse().ok())
                .filter(|bound: &f64| bound.is_finite())
                .collect();
            assert_eq!(metric.bounds(4096), real, "{}", metric.name);
        }
    }
}

#[test]
fn a_rendered_histogram_is_the_real_text() {
    let name = "vllm:time_to_first_token_seconds";
    let metric = metrics(EngineKind::Vllm, NEW)
        .into_iter()
        .find(|m| m.name == name)
        .unwrap();
    let labels = [("engine", "0"), ("model_name", "tiny")];
    let below: Vec<u64> = read(REAL)
        .filter(|s| s.name == format!("{name}_bucket"))
        .map(|s| s.value as u64)
        .collect();
    let mut counts = below.clone();
    for index in 1..counts.len() {
        counts[index] = below[index] - below[index - 1];
    }
    let sum = read(REAL)
        .find(|s| s.name == format!("{name}_sum"))
        .unwrap()
        .value;
    let mut text = String::new();
    metric.write_head(&mut text);
    metric.write_histogram(&mut text, &labels, &metric.bounds(4096), &counts, sum);
    assert!(REAL.contains(&text), "{text}");
}

#[test]
fn names_follow_the_version() {
    let has = |version, name: &str| {
        metrics(EngineKind::Vllm, version)
            .iter()
            .any(|m| m.name == name)
    };
    let old = Version::new(0, 6, 3);
    assert!(has(old, "vllm:gpu_cache_usage_perc") && !has(NEW, "vllm:gpu_cache_usage_perc"));
    assert!(!has(old, "vllm:kv_cache_usage_perc") && has(NEW, "vllm:kv_cache_usage_perc"));
}

#[test]
fn what_a_scraper_needs_is_mapped_for_every_engine() {
    use EngineKind::{LlamaServer, Mindie, Sglang, Vllm};
    use Meaning::{GenerationTokens, PromptTokens, Running, Waiting};
    for engine in [Vllm, Sglang, Mindie, LlamaServer] {
        let known = metrics(engine, engine.newest());
        for meaning in [Running, Waiting, PromptTokens, GenerationTokens] {
            let of_it = known.iter().filter(|m| m.meaning == Some(meaning));
            assert_eq!(of_it.count(), 1, "{engine} {meaning:?}");
        }
        for metric in known {
            let has_bounds = !metric.bounds(4096).is_empty();
            assert_eq!(metric.kind == MetricKind::Histogram, has_bounds);
        }
    }
    let (_, usage) = find("sglang:token_usage").unwrap();
    assert_eq!(usage.meaning, Some(Meaning::KvUse));
}

#[test]
fn block_numbers_are_in_labels() {
    let info = read(REAL)
        .find(|s| s.name == "vllm:cache_config_info")
        .unwrap();
    assert_eq!(info.label("block_size"), Some("128"));
    assert_eq!(info.label("num_gpu_blocks"), Some("8192"));
}

proptest! {
    #[test]
    fn any_text_is_read(text in any::<String>()) {
        let _ = read(&text).count();
    }

    #[test]
    fn labels_survive(value in "[^\r]*", sum in 0.0..1e9_f64) {
        let metric = metrics(EngineKind::Vllm, NEW)[0];
        let mut text = String::new();
        metric.write_value(&mut text, &[("model_name", &value)], sum);
        // A label with a line separator of Unicode stays one line.
        let samples: Vec<_> = read(&text).collect();
        prop_assert_eq!(samples.len(), 1);
        prop_assert_eq!(samples[0].label("model_name"), Some(value.as_str()));
        prop_assert_eq!(samples[0].value, sum);
    }
}
