use super::*;

const QWEN: &str = r#"{"architectures":["Qwen2ForCausalLM"],"model_type":"qwen2",
    "hidden_size":3584,"intermediate_size":18944,"num_hidden_layers":28,
    "num_attention_heads":28,"num_key_value_heads":4,"vocab_size":152064,
    "max_position_embeddings":32768,"tie_word_embeddings":false,"torch_dtype":"bfloat16",
    "sliding_window":131072,"use_sliding_window":false}"#;

const LLAMA_8B: &str = r#""model_type":"llama","hidden_size":4096,"intermediate_size":14336,
    "num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,"vocab_size":128256,
    "max_position_embeddings":131072,"tie_word_embeddings":false,"torch_dtype":"bfloat16""#;

const LLAMA_70B: &str = r#""model_type":"llama","hidden_size":8192,"intermediate_size":28672,
    "num_hidden_layers":80,"num_attention_heads":64,"num_key_value_heads":8,"vocab_size":128256,
    "max_position_embeddings":131072,"tie_word_embeddings":false,"torch_dtype":"bfloat16""#;

const KIMI_K2: &str = r#""model_type":"kimi_k2","hidden_size":7168,"intermediate_size":18432,
    "num_hidden_layers":61,"num_attention_heads":64,"num_key_value_heads":64,"vocab_size":163840,
    "n_routed_experts":384,"num_experts_per_tok":8,"moe_intermediate_size":2048,
    "n_shared_experts":1,"first_k_dense_replace":1,"moe_layer_freq":1,"q_lora_rank":1536,
    "kv_lora_rank":512,"qk_nope_head_dim":128,"qk_rope_head_dim":64,"v_head_dim":128,
    "tie_word_embeddings":false,"torch_dtype":"bfloat16""#;

const GPT_OSS_120B: &str = r#""model_type":"gpt_oss","hidden_size":2880,"intermediate_size":2880,
    "head_dim":64,"num_hidden_layers":36,"num_attention_heads":64,"num_key_value_heads":8,
    "num_local_experts":128,"num_experts_per_tok":4,"vocab_size":201088,"attention_bias":true,
    "tie_word_embeddings":false"#;

fn model(text: &str) -> Model {
    Model::from_config_json("m", text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn quantised(shape: &str, how: &str) -> String {
    format!(r#"{{{shape},"quantization_config":{{{how}}}}}"#)
}

/// Meta's list: attention of every layer, and all of the first and the last.
fn llama_405b() -> String {
    let shape = r#""model_type":"llama","hidden_size":16384,"intermediate_size":53248,
        "num_hidden_layers":126,"num_attention_heads":128,"num_key_value_heads":8,
        "vocab_size":128256,"tie_word_embeddings":false,"torch_dtype":"bfloat16""#;
    let attention = ["q", "k", "v", "o"].map(|name| format!("self_attn.{name}_proj"));
    let outer = ["gate", "up", "down"].map(|name| format!("mlp.{name}_proj"));
    let mut kept = vec!["\"lm_head\"".to_owned()];
    for layer in 0..126 {
        let mlp = outer.iter().filter(|_| layer == 0 || layer == 125);
        let names = attention.iter().chain(mlp);
        kept.extend(names.map(|name| format!("\"model.layers.{layer}.{name}\"")));
    }
    let list = kept.join(",");
    quantised(
        shape,
        &format!(r#""quant_method":"fbgemm_fp8","modules_to_not_convert":[{list}]"#),
    )
}

/// Bytes of the published safetensors files, or of what an engine says that it loaded.
#[test]
fn quantised_weights_are_as_large_as_the_published_files() {
    let gib = 1024.0 * 1024.0 * 1024.0;
    let kimi = r#""quant_method":"compressed-tensors","format":"pack-quantized",
        "ignore":["lm_head","re:.*self_attn.*","re:.*shared_experts.*",
        "re:.*mlp\\.(gate|up|gate_up|down)_proj.*"],
        "config_groups":{"group_0":{"targets":["Linear"],
        "weights":{"num_bits":4,"type":"int","group_size":32,"symmetric":true}}}"#;
    let eight_bits = r#""quant_method":"compressed-tensors","format":"float-quantized",
        "ignore":["lm_head"],"config_groups":{"group_0":{"targets":["Linear"],
        "weights":{"num_bits":8,"type":"float"}}}"#;
    let nested = format!(
        r#"{{"model_type":"v","text_config":{{{LLAMA_8B}}},"vision_config":{{}},
        "quantization_config":{{"quant_method":"awq","bits":4,"group_size":128}}}}"#
    );
    for (name, text, bytes) in [
        (
            "openai/gpt-oss-120b",
            quantised(
                GPT_OSS_120B,
                r#""quant_method":"mxfp4","modules_to_not_convert":["model.layers.*.self_attn",
                "model.layers.*.mlp.router","model.embed_tokens","lm_head"]"#,
            ),
            65.25e9,
        ),
        (
            "Llama-3.1-70B FP8",
            quantised(LLAMA_70B, eight_bits),
            67.7 * gib,
        ),
        ("Llama-3.1-405B FP8", llama_405b(), 8.0 * 57.75 * gib),
        (
            "Llama-3.1-8B bnb 4-bit",
            quantised(
                LLAMA_8B,
                r#""quant_method":"bitsandbytes","load_in_4bit":true,
                "bnb_4bit_use_double_quant":true,"llm_int8_skip_modules":null"#,
            ),
            5.70e9,
        ),
        (
            "nvidia/Llama-3.1-8B-Instruct-FP8",
            quantised(
                LLAMA_8B,
                r#""quant_method":"modelopt","quant_algo":"FP8","ignore":["lm_head"]"#,
            ),
            9.08e9,
        ),
        (
            "moonshotai/Kimi-K2-Thinking",
            quantised(KIMI_K2, kimi),
            594e9,
        ),
        ("an AWQ copy beside a vision tower", nested, 5.73e9),
    ] {
        let computed = model(&text).weight_bytes();
        assert!(
            (computed / bytes - 1.0).abs() < 0.025,
            "{name}: {computed} instead of {bytes}"
        );
    }
}

#[test]
fn weights_of_an_unknown_size_are_refused_and_the_shape_is_still_read() {
    for (how, named) in [
        (r#""quant_method":"hqq""#, "hqq"),
        (r#""quant_method":"gptq","bits":3"#, "gptq"),
        (
            r#""quant_method":"modelopt","quant_algo":"MIXED_PRECISION""#,
            "MIXED_PRECISION",
        ),
        (r#""quant_method":"compressed-tensors""#, "config_groups"),
        (r#""bits":"many""#, "nameless"),
        (
            r#""quant_method":"fp8","ignored_layers":["re:(?<x>a)"]"#,
            "except for",
        ),
    ] {
        let text = quantised(LLAMA_8B, how);
        let error = Model::from_config_json("m", &text).unwrap_err().to_string();
        assert!(
            error.contains(named) && error.contains("safetensors"),
            "{error}"
        );
        let described = Model::described("m", &text).unwrap();
        assert_eq!(described.model.kv_heads, 8);
        assert!(described.uncountable.is_some());
    }
}

#[test]
fn parameters_of_published_configs_are_those_that_publishers_state() {
    let jamba = r#"{"model_type":"jamba","attn_layer_offset":4,"attn_layer_period":8,
        "expert_layer_offset":1,"expert_layer_period":2,"hidden_size":4096,
        "intermediate_size":14336,"mamba_d_conv":4,"mamba_d_state":16,"mamba_dt_rank":256,
        "mamba_expand":2,"num_attention_heads":32,"num_experts":16,"num_experts_per_tok":2,
        "num_hidden_layers":32,"num_key_value_heads":8,"tie_word_embeddings":false,
        "vocab_size":65536}"#;
    let nemotron = r#"{"model_type":"nemotron_h","hidden_size":4096,"intermediate_size":21504,
        "num_hidden_layers":52,"num_attention_heads":32,"num_key_value_heads":8,
        "attention_head_dim":128,"vocab_size":131072,"mamba_num_heads":128,"mamba_head_dim":64,
        "n_groups":8,"ssm_state_size":128,"conv_kernel":4,"expand":2,"tie_word_embeddings":false,
        "hybrid_override_pattern":"M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-"}"#;
    let qwen3_next = r#"{"model_type":"qwen3_next","decoder_sparse_step":1,
        "full_attention_interval":4,"head_dim":256,"hidden_size":2048,"intermediate_size":5120,
        "linear_conv_kernel_dim":4,"linear_key_head_dim":128,"linear_num_key_heads":16,
        "linear_num_value_heads":32,"linear_value_head_dim":128,"mlp_only_layers":[],
        "moe_intermediate_size":512,"num_attention_heads":16,"num_experts":512,
        "num_experts_per_tok":10,"num_hidden_layers":48,"num_key_value_heads":2,
        "shared_expert_intermediate_size":512,"tie_word_embeddings":false,"vocab_size":151936}"#;
    let scout = r#"{"model_type":"llama4","text_config":{"model_type":"llama4_text",
        "attention_chunk_size":8192,"head_dim":128,"hidden_size":5120,"intermediate_size":8192,
        "intermediate_size_mlp":16384,"interleave_moe_layer_step":1,"num_attention_heads":40,
        "num_experts_per_tok":1,"num_hidden_layers":48,"num_key_value_heads":8,
        "num_local_experts":16,"vocab_size":202048},"vision_config":{}}"#;
    let command_r = r#"{"model_type":"cohere","hidden_size":8192,"intermediate_size":22528,
        "model_max_length":131072,"max_position_embeddings":8192,"num_attention_heads":64,
        "num_hidden_layers":40,"num_key_value_heads":64,"vocab_size":256000}"#;
    let gemma3_27b = r#"{"model_type":"gemma3","text_config":{"model_type":"gemma3_text",
        "head_dim":128,"hidden_size":5376,"intermediate_size":21504,"num_attention_heads":32,
        "num_hidden_layers":62,"num_key_value_heads":16,"sliding_window":1024,
        "rope_scaling":{"factor":8.0,"rope_type":"linear"}},"vision_config":{}}"#;
    let gemma3_4b = r#"{"model_type":"gemma3","text_config":{"model_type":"gemma3_text",
        "hidden_size":2560,"intermediate_size":10240,"num_hidden_layers":34,
        "sliding_window":1024},"vision_config":{}}"#;
    let glm4 = r#"{"model_type":"chatglm","add_qkv_bias":true,"ffn_hidden_size":13696,
        "hidden_size":4096,"kv_channels":128,"multi_query_attention":true,
        "multi_query_group_num":2,"num_attention_heads":32,"num_layers":40,
        "padded_vocab_size":151552,"seq_length":131072,"torch_dtype":"bfloat16"}"#;
    let falcon = r#"{"model_type":"falcon","hidden_size":4544,"multi_query":true,
        "new_decoder_architecture":false,"num_attention_heads":71,"num_hidden_layers":32,
        "vocab_size":65024}"#;
    let starcoder = r#"{"model_type":"gpt_bigcode","n_embd":6144,"n_head":48,"n_layer":40,
        "n_inner":24576,"n_positions":8192,"multi_query":true,"vocab_size":49152}"#;
    let glm_air = r#"{"model_type":"glm4_moe","attention_bias":true,"first_k_dense_replace":1,
        "head_dim":128,"hidden_size":4096,"intermediate_size":10944,"moe_intermediate_size":1408,
        "n_routed_experts":128,"n_shared_experts":1,"num_attention_heads":96,
        "num_experts_per_tok":8,"num_hidden_layers":46,"num_key_value_heads":8,
        "tie_word_embeddings":false,"vocab_size":151552}"#;
    let qwen = r#"{"model_type":"qwen","hidden_size":4096,"intermediate_size":22016,
        "kv_channels":128,"num_attention_heads":32,"num_hidden_layers":32,"vocab_size":151936,
        "seq_length":8192,"max_position_embeddings":8192,"no_bias":true}"#;
    let minicpm3 = r#"{"model_type":"minicpm3","hidden_size":2560,"intermediate_size":6400,
        "kv_lora_rank":256,"q_lora_rank":768,"qk_nope_head_dim":64,"qk_rope_head_dim":32,
        "num_attention_heads":40,"num_key_value_heads":40,"num_hidden_layers":62,
        "vocab_size":73448,"max_position_embeddings":32768,"tie_word_embeddings":true}"#;
    // Billions of parameters, key/value heads, the longest context.
    for (name, text, billions, kv_heads, longest) in [
        ("Jamba mini", jamba, 51.6, 8, 2048),
        ("Nemotron-H-8B", nemotron, 8.1, 8, 2048),
        ("Qwen3-Next-80B-A3B", qwen3_next, 80.0, 2, 2048),
        ("Llama-4-Scout, text", scout, 107.8, 8, 2048),
        ("Command R", command_r, 34.98, 64, 131072),
        ("Gemma-3-27B, text", gemma3_27b, 27.01, 16, 131072),
        ("Gemma-3-4B, text", gemma3_4b, 3.88, 4, 131072),
        ("GLM-4-9B", glm4, 9.40, 2, 131072),
        ("Falcon-7B", falcon, 6.92, 1, 2048),
        ("StarCoder", starcoder, 15.5, 1, 8192),
        ("GLM-4.5-Air", glm_air, 106.8, 8, 2048),
        ("Qwen-7B", qwen, 7.721, 32, 8192),
        ("MiniCPM3-4B", minicpm3, 4.07, 40, 32768),
    ] {
        let model = model(text);
        let count = model.parameters() as f64 / 1e9;
        assert!((count / billions - 1.0).abs() < 0.01, "{name}: {count} B");
        assert_eq!(
            (model.kv_heads, model.max_position),
            (kv_heads, longest),
            "{name}"
        );
    }
    let described = Model::described("m", gemma3_4b).unwrap();
    assert_eq!(described.encoders, ["vision_config"]);
    let kinds = described.model.kinds();
    assert_eq!(
        (kinds.full, kinds.windowed),
        (5, 29),
        "one of six sees everything"
    );
    let kinds = model(scout).kinds();
    assert_eq!((kinds.full, kinds.windowed, kinds.sparse), (12, 36, 48));
    let kinds = model(nemotron).kinds();
    assert_eq!((kinds.full, kinds.dense), (4, 24));
}

#[test]
fn a_config_file_gives_the_same_shape_as_the_preset() {
    let mut read = model(QWEN);
    read.name = "qwen2.5-7b".to_owned();
    assert_eq!(Some(read), Model::named("qwen2.5-7b"));
}

#[test]
fn experts_and_latents_are_read_by_their_hugging_face_names() {
    let text = r#"{"model_type":"deepseek_v3","hidden_size":7168,"intermediate_size":18432,
        "num_hidden_layers":61,"num_attention_heads":128,"num_key_value_heads":128,
        "vocab_size":129280,"max_position_embeddings":163840,"n_routed_experts":256,
        "num_experts_per_tok":8,"moe_intermediate_size":2048,"n_shared_experts":1,
        "first_k_dense_replace":3,"q_lora_rank":1536,"kv_lora_rank":512,
        "qk_nope_head_dim":128,"qk_rope_head_dim":64,"v_head_dim":128,
        "rope_scaling":{"type":"yarn","factor":40,"original_max_position_embeddings":4096},
        "quantization_config":{"quant_method":"fp8"}}"#;
    let mut read = model(text);
    read.name = "deepseek-v3".to_owned();
    let preset = Model::named("deepseek-v3").unwrap();
    read.repositories = preset.repositories.clone();
    assert_eq!(read, preset);
}

#[test]
fn a_stretched_context_is_as_long_as_vllm_makes_it() {
    let longest = |scaling: &str| {
        let text = QWEN.replace("\"torch_dtype\"", &format!("{scaling},\"torch_dtype\""));
        model(&text).max_position
    };
    for (scaling, expected) in [
        (r#""rope_scaling":null"#, 32768),
        (
            r#""rope_scaling":{"type":"yarn","factor":4.0,"original_max_position_embeddings":32768}"#,
            131_072,
        ),
        (
            r#""rope_scaling":{"rope_type":"linear","factor":2.0}"#,
            65536,
        ),
        (
            r#""rope_scaling":{"rope_type":"llama3","factor":8.0}"#,
            32768,
        ),
        (
            r#""rope_scaling":{"rope_type":"linear","factor":-2.0}"#,
            32768,
        ),
        (
            r#""rope_scaling":{"rope_type":"linear","factor":1e300}"#,
            1 << 28,
        ),
    ] {
        assert_eq!(longest(scaling), expected, "{scaling}");
    }
}

#[test]
fn what_cannot_be_a_shape_is_refused_by_name() {
    let error = |text: &str| read("m", text).unwrap_err().to_string();
    assert!(error("[]").contains("not a JSON object"));
    assert!(error("{").contains("not a JSON object"));
    assert!(error("{}").contains("`hidden_size`"));
    let zero = QWEN.replace("\"num_attention_heads\":28", "\"num_attention_heads\":0");
    assert!(error(&zero).contains("`num_attention_heads` is 0"));
    let huge = QWEN.replace("18944", "18446744073709551615");
    assert!(error(&huge).contains("`intermediate_size`"));
    let deep = QWEN.replace("\"num_hidden_layers\":28", "\"num_hidden_layers\":16000000");
    assert!(error(&deep).contains("`num_hidden_layers`"));
    let mamba = r#"{"model_type":"mamba","hidden_size":2560,"num_hidden_layers":64,
        "state_size":16,"vocab_size":50280}"#;
    assert!(error(mamba).contains("no attention"));
}

mod layers {
    use super::*;

    fn read(more: &str) -> Result<Model, ModelError> {
        let text = format!(
            r#"{{"hidden_size":64,"intermediate_size":128,"num_hidden_layers":4,
            "num_attention_heads":4,"num_key_value_heads":2,"vocab_size":1000{more}}}"#
        );
        Model::from_config_json("m", &text)
    }

    #[test]
    fn windows_are_read_in_every_spelling() {
        for (more, expected) in [
            ("", (4, 0, None)),
            (r#","sliding_window":512"#, (0, 4, Some(512))),
            (
                r#","sliding_window":512,"use_sliding_window":false"#,
                (4, 0, None),
            ),
            (
                r#","sliding_window":512,"use_sliding_window":true,"max_window_layers":3"#,
                (3, 1, Some(512)),
            ),
            (
                r#","sliding_window":512,"sliding_window_pattern":4"#,
                (1, 3, Some(512)),
            ),
            (
                r#","sliding_window":512,"model_type":"gemma2""#,
                (2, 2, Some(512)),
            ),
            (
                r#","sliding_window":512,"layer_types":["sliding_attention","full_attention","sliding_attention","full_attention"]"#,
                (2, 2, Some(512)),
            ),
        ] {
            let model = read(more).unwrap();
            let kinds = model.kinds();
            assert_eq!(
                (kinds.full, kinds.windowed, model.sliding_window),
                expected,
                "{more}"
            );
        }
    }

    #[test]
    fn a_window_bounds_what_a_long_request_takes() {
        let model = read(r#","sliding_window":512"#).unwrap();
        let bytes = |tokens| model.request_bytes(1, Dtype::Bf16, tokens);
        assert_eq!(bytes(512), bytes(100_000));
        assert_eq!(bytes(256) * 2.0, bytes(512));
    }

    const DELTA_NET: &str = r#","linear_num_value_heads":4,"linear_num_key_heads":2,
        "linear_key_head_dim":8,"linear_value_head_dim":8,"linear_conv_kernel_dim":4"#;

    #[test]
    fn linear_layers_keep_a_state_that_does_not_grow() {
        for more in [
            r#","layer_types":["linear_attention","linear_attention","linear_attention","full_attention"]"#,
            r#","full_attention_interval":4"#,
            r#","attn_type_list":[0,0,0,1]"#,
            r#","attn_layer_period":4,"attn_layer_offset":3"#,
        ] {
            let kinds = read(&format!("{more}{DELTA_NET}")).unwrap().kinds();
            let recurrent = kinds.recurrent.unwrap();
            assert_eq!((kinds.full, recurrent.layers), (1, 3), "{more}");
            // 4 × 8 × 8 × 4 bytes, and 64 channels × 3 taps × 2 bytes.
            assert_eq!(recurrent.state_bytes, 1024.0 + 384.0);
        }
    }

    #[test]
    fn unknown_layers_are_refused_and_nothing_is_invented() {
        let error = |more: &str| read(more).unwrap_err().to_string();
        assert!(error(r#","layer_types":["a","b","c","d"]"#).contains("kind 'a'"));
        assert!(error(r#","layer_types":["mamba"]"#).contains("1 kinds"));
        assert!(error(r#","hybrid_override_pattern":"M*-M""#).contains("`mamba_d_state`"));
        assert!(error(r#","hybrid_override_pattern":"M?-M""#).contains("kind '?'"));
        assert!(error(r#","mamba_d_state":16"#).contains("`mamba_d_state` speaks of linear"));
    }
}
