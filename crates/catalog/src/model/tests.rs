use super::*;

fn preset(name: &str) -> Model {
    Model::named(name).unwrap_or_else(|| panic!("no preset {name}"))
}

#[test]
fn parameter_counts_are_those_that_publishers_state() {
    for (name, billions) in [
        ("qwen2-0.5b", 0.494),
        ("qwen1.5-7b", 7.721),
        ("qwen2.5-7b", 7.616),
        ("qwen2.5-14b", 14.77),
        ("qwen2.5-32b", 32.76),
        ("qwen2.5-72b", 72.71),
        ("llama-3.1-8b", 8.030),
        ("llama-3.1-70b", 70.55),
        ("deepseek-coder-6.7b", 6.74),
        ("sus-chat-34b", 34.39),
        ("mixtral-8x7b", 46.70),
        ("qwq-32b", 32.76),
        ("deepseek-v3", 671.0),
        ("qwen3-0.6b", 0.596),
        ("qwen3-1.7b", 1.721),
        ("qwen3-4b", 4.022),
        ("qwen3-8b", 8.191),
        ("qwen3-14b", 14.77),
        ("qwen3-32b", 32.76),
        ("qwen3-30b-a3b", 30.53),
        ("qwen3-235b-a22b", 235.1),
        ("llama-2-7b", 6.738),
        ("llama-2-13b", 13.02),
        ("llama-2-70b", 68.98),
        ("llama-3-8b", 8.030),
        ("llama-3-70b", 70.55),
        ("llama-3.1-405b", 405.9),
        ("llama-3.2-1b", 1.236),
        ("llama-3.2-3b", 3.213),
        ("llama-3.3-70b", 70.55),
        ("mistral-7b", 7.242),
        ("mistral-7b-v0.3", 7.248),
        ("gemma-2-9b", 9.242),
        ("phi-3-mini-4k", 3.821),
        ("phi-4", 14.66),
    ] {
        let count = preset(name).parameters() as f64 / 1e9;
        assert!((count / billions - 1.0).abs() < 0.002, "{name}: {count} B");
    }
    assert_eq!(preset("llama-3.1-8b").parameters(), 8_030_261_248);
    assert_eq!(preset("qwen2.5-7b").parameters(), 7_615_616_512);
}

#[test]
fn a_mixture_of_experts_uses_a_part_of_its_parameters() {
    let mixtral = preset("mixtral-8x7b").active_parameters() as f64 / 1e9;
    assert!((mixtral - 12.9).abs() < 0.1, "{mixtral}");
    let deepseek = preset("deepseek-v3").active_parameters() as f64 / 1e9;
    assert!((deepseek - 37.0).abs() < 1.0, "{deepseek}");
}

#[test]
fn a_step_reads_the_experts_that_its_tokens_visit() {
    let model = preset("mixtral-8x7b");
    let one = model.weight_bytes_read(1.0);
    let many = model.weight_bytes_read(256.0);
    assert!((one / 2e9 - 12.75).abs() < 0.1, "{one}");
    assert!((many / 2e9 - 46.57).abs() < 0.1, "{many}");
}

#[test]
fn the_cache_counts_key_value_heads_not_query_heads() {
    let llama = preset("llama-3.1-8b");
    assert_eq!(llama.kv_bytes_per_token(1, Dtype::Bf16), 131_072.0);
    assert_eq!(llama.kv_bytes_per_token(2, Dtype::Bf16), 65_536.0);
    assert_eq!(llama.kv_bytes_per_token(1, Dtype::Fp8), 65_536.0);
    let deepseek = preset("deepseek-v3");
    assert_eq!(
        deepseek.kv_bytes_per_token(8, Dtype::Bf16),
        576.0 * 61.0 * 2.0
    );
}

#[test]
fn heads_are_repeated_where_there_are_fewer_than_cards() {
    let qwen = preset("qwen2.5-7b");
    assert_eq!(
        qwen.kv_bytes_per_token(8, Dtype::Bf16),
        qwen.kv_bytes_per_token(4, Dtype::Bf16)
    );
}

#[test]
fn models_are_found_by_repository_and_by_path() {
    for (name, preset) in [
        ("Qwen/Qwen2.5-7B-Instruct", "qwen2.5-7b"),
        ("Qwen/Qwen1.5-7B-Chat", "qwen1.5-7b"),
        ("meta-llama/Meta-Llama-3.1-8B-Instruct", "llama-3.1-8b"),
        ("meta-llama/Llama-3.1-70B", "llama-3.1-70b"),
        ("mistralai/Mixtral-8x7B-Instruct-v0.1", "mixtral-8x7b"),
        (
            "deepseek-ai/deepseek-coder-6.7b-instruct",
            "deepseek-coder-6.7b",
        ),
        ("SUSTech/SUS-Chat-34B", "sus-chat-34b"),
        ("/weights/qwq32b_mindie/QwQ-32B/", "qwq-32b"),
        ("deepseek-ai/DeepSeek-R1", "deepseek-v3"),
        ("meta-llama/Llama-2-13b-chat-hf", "llama-2-13b"),
        ("mistralai/Mistral-7B-Instruct-v0.3", "mistral-7b-v0.3"),
        ("microsoft/Phi-3-mini-4k-instruct", "phi-3-mini-4k"),
    ] {
        assert_eq!(
            Model::named(name).map(|model| model.name),
            Some(preset.to_owned()),
            "{name}"
        );
    }
    for unknown in ["", "/", "gpt2", "Qwen/Qwen2.5-7B-Coder", "-", "qwen2.5-7b-"] {
        assert_eq!(Model::named(unknown), None, "{unknown}");
    }
}

#[test]
fn the_name_of_a_quantised_copy_sets_the_data_type() {
    let model = preset("Qwen/Qwen2.5-7B-Instruct-AWQ");
    assert_eq!(model.dtype, Dtype::Int4);
    let gb = model.weight_bytes() / 1e9;
    assert!((gb - 5.58).abs() < 0.06, "{gb}");
    assert_eq!(
        preset("Qwen/Qwen2.5-7B-Instruct-GPTQ-Int8").dtype,
        Dtype::Int8
    );
}

#[test]
fn the_copy_that_meta_made_of_its_largest_model_is_partly_in_16_bits() {
    // vLLM logged 57.75 GB on each of eight cards, of which some are not weights.
    for name in [
        "meta-llama/Llama-3.1-405B-Instruct-FP8",
        "/weights/Meta-Llama-3.1-405B-Instruct-FP8/",
    ] {
        let gib = Model::named(name).unwrap().weight_bytes() / 8.0 / 1024f64.powi(3);
        assert!((56.0..58.0).contains(&gib), "{name}: {gib}");
    }
}
