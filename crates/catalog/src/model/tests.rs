use super::*;

fn preset(name: &str) -> Model {
    Model::named(name).unwrap_or_else(|| panic!("no preset {name}"))
}

#[test]
fn parameter_counts_are_those_that_publishers_state() {
    for line in include_str!("../../../../fixtures/model/parameters.txt").lines() {
        let (name, billions) = line.split_once(' ').unwrap();
        let billions: f64 = billions.parse().unwrap();
        let count = preset(name).parameters() as f64 / 1e9;
        assert!((count / billions - 1.0).abs() < 0.002, "{name}: {count} B");
    }
    assert_eq!(preset("llama-3.1-8b").parameters(), 8_030_261_248);
    assert_eq!(preset("qwen2.5-7b").parameters(), 7_615_616_512);
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
    for line in include_str!("../../../../fixtures/model/names.txt").lines() {
        let (name, preset) = line.split_once(' ').unwrap();
        assert_eq!(Model::named(name).unwrap().name, preset, "{name}");
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
