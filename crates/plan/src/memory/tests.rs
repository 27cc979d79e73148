use super::*;
use inferometer_catalog::model::Model;

fn preset(name: &str) -> KnownModel {
    KnownModel::of_shape(Model::named(name).unwrap())
}

fn ask(model: &KnownModel, device: &str, engine: EngineKind, flags: &[(&str, &str)]) -> Answer {
    try_ask(model, device, engine, flags).unwrap()
}

fn try_ask(
    model: &KnownModel,
    device: &str,
    engine: EngineKind,
    flags: &[(&str, &str)],
) -> Result<Answer, MemoryError> {
    let flags = flags
        .iter()
        .map(|(name, value)| ((*name).to_owned(), Some((*value).to_owned())));
    answer(&Question {
        model,
        device: Device::named(device).unwrap(),
        cards: 8,
        engine,
        version: None,
        flags: flags.collect(),
        lengths: None,
    })
}

fn gib(bytes: f64) -> f64 {
    bytes / GIB
}

/// vLLM 0.26 reported 12.37 GiB of weights and 2,152,576 tokens for this server.
#[test]
fn an_h200_holds_what_vllm_reported() {
    let mut model = preset("qwen2.5-7b");
    model.model.vocabulary = 8192;
    model = KnownModel::of_shape(model.model);
    let flags = [
        ("max-model-len", "8192"),
        ("gpu-memory-utilization", "0.92"),
    ];
    let answer = ask(&model, "h200", EngineKind::Vllm, &flags);
    let weights = gib(answer.weights.bytes());
    assert!((weights / 12.37 - 1.0).abs() < 0.03, "{weights}");
    let tokens = answer.kv_tokens.unwrap() as f64;
    assert!((tokens / 2_152_576.0 - 1.0).abs() < 0.03, "{tokens}");
    assert_eq!(answer.fit, Fit::Fits);
    let sum: f64 = answer.parts.iter().map(|(_, bytes)| bytes).sum();
    assert!(
        (sum / answer.total - 1.0).abs() < 1e-9,
        "the parts are the card"
    );
}

/// The bytes of all tensors that the models' own `model.safetensors.index.json` states.
#[test]
fn weights_are_those_of_the_published_files() {
    for (name, total_size) in [
        ("llama-3.1-8b", 16_060_522_496.0),
        ("qwen2.5-7b", 15_231_233_024.0),
    ] {
        let answer = ask(&preset(name), "h100", EngineKind::Vllm, &[]);
        let weights = answer.weights.bytes();
        assert!(
            (weights / total_size - 1.0).abs() < 0.002,
            "{name}: {weights}"
        );
    }
}

#[test]
fn the_popular_formula_overstates_grouped_heads_and_latents() {
    let llama = ask(&preset("llama-3.1-8b"), "h100", EngineKind::Vllm, &[]);
    assert_eq!(llama.kv_per_token, 131_072.0);
    assert_eq!(llama.popular_kv_per_token, 524_288.0);
    let flags = [("tensor-parallel-size", "8")];
    let deepseek = ask(&preset("deepseek-v3"), "h200", EngineKind::Vllm, &[]);
    assert!((deepseek.popular_factor() - 56.9).abs() < 0.1);
    let shared = ask(&preset("deepseek-v3"), "h200", EngineKind::Vllm, &flags);
    assert_eq!(
        shared.kv_per_token, deepseek.kv_per_token,
        "a latent is never divided"
    );
}

#[test]
fn heads_are_divided_by_cards_and_repeated_beyond() {
    let per_token = |cards: &str| {
        let flags = [("tensor-parallel-size", cards)];
        ask(&preset("qwen2.5-32b"), "h100", EngineKind::Vllm, &flags).kv_per_token
    };
    assert_eq!(per_token("2"), 2.0 * per_token("4"));
    assert_eq!(per_token("4"), 2.0 * per_token("8"));
    let mut few = preset("qwen2.5-32b").model;
    few.kv_heads = 4;
    let few = KnownModel::of_shape(few);
    let at = |cards| {
        ask(
            &few,
            "h100",
            EngineKind::Vllm,
            &[("tensor-parallel-size", cards)],
        )
    };
    assert_eq!(at("4").kv_per_token, at("8").kv_per_token);
}

#[test]
fn an_eight_bit_cache_holds_twice_as_much() {
    let model = preset("llama-3.1-8b");
    let half = ask(&model, "h100", EngineKind::Vllm, &[]);
    let eight = ask(
        &model,
        "h100",
        EngineKind::Vllm,
        &[("kv-cache-dtype", "fp8")],
    );
    assert_eq!(eight.kv_per_token * 2.0, half.kv_per_token);
    assert!(eight.kv_tokens.unwrap() >= 2 * half.kv_tokens.unwrap());
}

#[test]
fn what_does_not_fit_says_by_how_much_and_what_would() {
    let model = preset("qwen2.5-72b");
    let answer = ask(&model, "a100-80g", EngineKind::Vllm, &[]);
    assert!(answer.lacking().unwrap() > 50.0 * GIB);
    assert_eq!((answer.kv_tokens, answer.max_concurrency), (None, None));
    assert!(
        answer.remedies.contains(&Remedy::TensorParallel(4)),
        "{:?}",
        answer.remedies
    );
    assert!(answer.remedies.contains(&Remedy::Weights(Dtype::Int4)));
    let long = ask(&preset("llama-3.1-8b"), "l20", EngineKind::Vllm, &[]);
    assert_eq!(long.fit, Fit::Fits);
    let short = ask(
        &preset("llama-3.1-8b"),
        "l20",
        EngineKind::Vllm,
        &[("gpu-memory-utilization", "0.5")],
    );
    let Some(Remedy::MaxModelLen(tokens)) = short.remedies.first() else {
        panic!("{:?}", short.remedies)
    };
    let tokens = tokens.to_string();
    let flags = [
        ("gpu-memory-utilization", "0.5"),
        ("max-model-len", tokens.as_str()),
    ];
    assert_eq!(
        ask(&preset("llama-3.1-8b"), "l20", EngineKind::Vllm, &flags).fit,
        Fit::Fits
    );
}

#[test]
fn an_engine_refuses_in_its_own_words() {
    let model = preset("qwen2.5-7b");
    for (flags, said) in [
        ([("max-model-len", "999999999")], "max_position_embeddings"),
        ([("tensor-parallel-size", "3")], "divisible"),
        ([("no-such-flag", "1")], "no-such-flag"),
    ] {
        let error = try_ask(&model, "h100", EngineKind::Vllm, &flags).unwrap_err();
        assert!(error.to_string().contains(said), "{error}");
    }
    assert!(matches!(
        try_ask(&model, "h100", EngineKind::Mindie, &[]),
        Err(MemoryError::NotAscend(_))
    ));
}

#[test]
fn sglang_keeps_activations_outside_its_share() {
    let model = preset("llama-3.1-8b");
    let flags = [("gpu-memory-utilization", "0.8")];
    let sglang = ask(&model, "h100", EngineKind::Sglang, &flags);
    let vllm = ask(&model, "h100", EngineKind::Vllm, &flags);
    assert!(sglang.kv > vllm.kv);
    let share = 0.8 * gib(sglang.total) - gib(sglang.weights.bytes()) - 0.15;
    assert!((gib(sglang.kv) - share).abs() < 0.01);
}

/// SGLang logged 367,404 tokens for Qwen3-235B-A22B-FP8 on four H100 (vLLM's issue 21348).
#[test]
fn sglang_has_as_many_tokens_as_it_logged() {
    let model = preset("qwen3-235b-a22b-fp8");
    let flags = [
        ("tensor-parallel-size", "4"),
        ("mem-fraction-static", "0.93"),
    ];
    let answer = ask(&model, "h100", EngineKind::Sglang, &flags);
    let tokens = answer.kv_tokens.unwrap() as f64;
    assert!((tokens / 367_404.0 - 1.0).abs() < 0.03, "{tokens}");
}

#[test]
fn a_cache_that_the_flags_ask_for_must_have_room() {
    let model = preset("llama-3.1-8b");
    for (device, engine, flag) in [
        (
            "h100",
            EngineKind::Vllm,
            ("num-gpu-blocks-override", "9999999"),
        ),
        (
            "h100",
            EngineKind::Vllm,
            ("kv-cache-memory-bytes", "200000000000"),
        ),
        ("h100", EngineKind::Sglang, ("mem-fraction-static", "0.999")),
        ("910b3", EngineKind::Mindie, ("npuMemSize", "100")),
    ] {
        let answer = ask(&model, device, engine, &[flag]);
        let beyond: f64 = answer.parts.iter().map(|(_, bytes)| bytes).sum();
        assert_eq!(answer.fit, Fit::Cache(answer.kv - answer.room), "{flag:?}");
        assert!((answer.lacking().unwrap() - (beyond - answer.total)).abs() < 1.0);
        assert_eq!((answer.kv_tokens, answer.max_concurrency), (None, None));
        let first = answer.remedies.first();
        assert!(
            matches!(first, Some(Remedy::CacheBytes(_) | Remedy::Share(_))),
            "{flag:?}: {first:?}"
        );
    }
}

#[test]
fn a_method_whose_size_nobody_knows_is_refused() {
    let model = preset("llama-3.1-8b");
    let weights = |method: &str| {
        let flags = [("quantization", method)];
        try_ask(&model, "h100", EngineKind::Vllm, &flags).map(|answer| answer.weights.bytes())
    };
    let error = weights("compressed-tensors").unwrap_err().to_string();
    assert!(error.contains("quantization=compressed-tensors"), "{error}");
    assert!((weights("bitsandbytes").unwrap() / 6.03e9 - 1.0).abs() < 0.01);
    let text = r#"{"model_type":"llama","hidden_size":4096,"intermediate_size":14336,
        "num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,
        "vocab_size":128256,"max_position_embeddings":131072,"quantization_config":{
        "quant_method":"compressed-tensors","config_groups":{"group_0":{
        "weights":{"num_bits":8,"type":"float"}}}}}"#;
    let own = KnownModel::of_config("m", text).unwrap();
    for flag in [("quantization", "compressed-tensors"), ("dtype", "half")] {
        let answer = ask(&own, "h100", EngineKind::Vllm, &[flag]);
        assert_eq!(answer.weights, own.weights, "{flag:?}");
    }
}

#[test]
fn requests_longer_than_the_longest_have_no_concurrency() {
    let model = preset("llama-3-8b");
    let asked = |input| {
        let question = Question {
            model: &model,
            device: Device::named("h100").unwrap(),
            cards: 1,
            engine: EngineKind::Vllm,
            version: None,
            flags: Vec::new(),
            lengths: Some(Lengths { input, output: 100 }),
        };
        answer(&question).unwrap()
    };
    assert!(asked(8000).max_concurrency.is_some());
    let long = asked(100_000);
    assert_eq!((long.fit, long.max_concurrency), (Fit::Fits, None));
    assert!(long.request_tokens > long.max_model_len);
}

#[test]
fn an_ascend_card_is_offered_what_it_has() {
    let model = preset("qwen2.5-72b");
    let answer = ask(&model, "910b3", EngineKind::Mindie, &[]);
    assert!(answer.lacking().is_some());
    let sizes = answer.mindie.unwrap();
    assert_eq!(
        (sizes.max_batch_size, sizes.max_prefill_batch_size),
        (None, None)
    );
    assert!(!answer.remedies.contains(&Remedy::Weights(Dtype::Fp8)));
}

#[test]
fn mindie_sizes_follow_its_manual() {
    let model = preset("qwen2.5-72b");
    let question = Question {
        model: &model,
        device: Device::named("910b3").unwrap(),
        cards: 8,
        engine: EngineKind::Mindie,
        version: None,
        flags: vec![
            ("worldSize".to_owned(), Some("8".to_owned())),
            ("npuMemSize".to_owned(), Some("34".to_owned())),
        ],
        lengths: Some(Lengths {
            input: 1024,
            output: 512,
        }),
    };
    let answer = answer(&question).unwrap();
    let sizes = answer.mindie.unwrap();
    // 80 layers × 128 tokens × 1 head × 128 × 2 bytes × 2 = 5 MiB a block and card.
    assert_eq!(answer.blocks, Some(34 * 1024 / 5));
    assert_eq!(sizes.blocks_per_request, 12);
    assert_eq!(sizes.max_batch_size, Some(34 * 1024 / 5 / 12));
    assert_eq!(sizes.max_prefill_batch_size, Some(34 * 1024 / 5 / 12 / 2));
    // 64 × 0.8 − 135.4 / 8 − 2 − 3.4
    assert!(
        (sizes.npu_mem_size - 28.87).abs() < 0.1,
        "{}",
        sizes.npu_mem_size
    );
    let unknown = Question {
        flags: vec![("maxSpeed".to_owned(), Some("9".to_owned()))],
        ..question
    };
    assert!(
        super::answer(&unknown)
            .unwrap_err()
            .to_string()
            .contains("maxSpeed")
    );
}

#[test]
fn windows_and_states_leave_room_for_more() {
    let text = |more: &str| {
        format!(
            r#"{{"hidden_size":4096,"intermediate_size":14336,"num_hidden_layers":32,
            "num_attention_heads":32,"num_key_value_heads":8,"vocab_size":32000,
            "max_position_embeddings":32768{more}}}"#
        )
    };
    let concurrency = |more: &str| {
        let model = KnownModel::of_config("m", &text(more)).unwrap();
        ask(&model, "h100", EngineKind::Vllm, &[])
            .max_concurrency
            .unwrap()
    };
    let (full, window) = (concurrency(""), concurrency(r#","sliding_window":4096"#));
    assert!((window / full - 8.0).abs() < 0.1, "{window} {full}");
}
