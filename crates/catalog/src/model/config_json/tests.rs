use super::*;

const QWEN: &str = r#"{"architectures":["Qwen2ForCausalLM"],"model_type":"qwen2",
    "hidden_size":3584,"intermediate_size":18944,"num_hidden_layers":28,
    "num_attention_heads":28,"num_key_value_heads":4,"vocab_size":152064,
    "max_position_embeddings":32768,"tie_word_embeddings":false,"torch_dtype":"bfloat16",
    "sliding_window":131072,"use_sliding_window":false}"#;

const LLAMA_8B: &str = r#""model_type":"llama","hidden_size":4096,"intermediate_size":14336,
    "num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,"vocab_size":128256,
    "max_position_embeddings":131072,"tie_word_embeddings":false,"torch_dtype":"bfloat16""#;

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

#[derive(serde::Deserialize)]
struct Quantised {
    name: String,
    bytes: f64,
    config: serde_json::Value,
}

#[test]
fn quantised_weights_are_as_large_as_the_published_files() {
    let lines = include_str!("../../../../../fixtures/model/quantised.jsonl").lines();
    let mut computed: Vec<(String, f64, f64)> = lines
        .map(|line| {
            let of: Quantised = serde_json::from_str(line).unwrap();
            let computed = model(&of.config.to_string()).weight_bytes();
            (of.name, computed, of.bytes)
        })
        .collect();
    // As vLLM loads it onto each of eight cards, in GiB.
    let on_card = model(&llama_405b()).weight_bytes() / 8.0 / 1024_f64.powi(3);
    computed.push(("Llama-3.1-405B FP8".to_owned(), on_card, 57.75));
    for (name, computed, stated) in computed {
        let apart = (computed / stated - 1.0).abs();
        assert!(apart < 0.025, "{name}: {computed} instead of {stated}");
    }
}

#[test]
fn weights_of_an_unknown_size_are_refused_and_the_shape_is_still_read() {
    let odd = r#""quant_method":"fp8","ignored_layers":["re:(?<x>a)"]"#;
    let mixed = r#""quant_method":"modelopt","quant_algo":"MIXED_PRECISION""#;
    for (how, named) in [
        (r#""quant_method":"hqq""#, "hqq"),
        (r#""quant_method":"gptq","bits":3"#, "gptq"),
        (mixed, "MIXED_PRECISION"),
        (r#""quant_method":"compressed-tensors""#, "config_groups"),
        (r#""bits":"many""#, "nameless"),
        (odd, "except for"),
    ] {
        let text = quantised(LLAMA_8B, how);
        let error = Model::from_config_json("m", &text).unwrap_err().to_string();
        assert!(error.contains(named), "{error}");
        assert!(error.contains("safetensors"), "{error}");
        let described = Model::described("m", &text).unwrap();
        assert_eq!(described.model.kv_heads, 8);
        assert!(described.uncountable.is_some());
    }
}

#[derive(serde::Deserialize)]
struct Published {
    name: String,
    billions: f64,
    kv_heads: u32,
    longest: u32,
    config: serde_json::Value,
}

/// What `fixtures/model/README.md` says of them.
#[test]
fn parameters_of_published_configs_are_those_that_publishers_state() {
    let lines = include_str!("../../../../../fixtures/model/shapes.jsonl").lines();
    let shapes: Vec<Published> = lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let read = |name: &str| {
        let found = shapes.iter().find(|shape| shape.name == name).unwrap();
        Model::described(name, &found.config.to_string()).unwrap()
    };
    for shape in &shapes {
        let (name, model) = (&shape.name, read(&shape.name).model);
        let count = model.parameters() as f64 / 1e9;
        let apart = (count / shape.billions - 1.0).abs();
        assert!(apart < 0.01, "{name}: {count} B");
        let found = (model.kv_heads, model.max_position);
        assert_eq!(found, (shape.kv_heads, shape.longest), "{name}");
    }
    let described = read("Gemma-3-4B, text");
    assert_eq!(described.encoders, ["vision_config"]);
    let kinds = described.model.kinds();
    let found = (kinds.full, kinds.windowed);
    assert_eq!(found, (5, 29), "one of six sees everything");
    let kinds = read("Llama-4-Scout, text").model.kinds();
    assert_eq!((kinds.full, kinds.windowed, kinds.sparse), (12, 36, 48));
    let kinds = read("Nemotron-H-8B").model.kinds();
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
    let yarn = r#"{"type":"yarn","factor":4.0,"original_max_position_embeddings":32768}"#;
    for (scaling, expected) in [
        ("null", 32768),
        (yarn, 131_072),
        (r#"{"rope_type":"linear","factor":2.0}"#, 65536),
        (r#"{"rope_type":"llama3","factor":8.0}"#, 32768),
        (r#"{"rope_type":"linear","factor":-2.0}"#, 32768),
        (r#"{"rope_type":"linear","factor":1e300}"#, 1 << 28),
    ] {
        let scaled = format!("\"rope_scaling\":{scaling},\"torch_dtype\"");
        let model = model(&QWEN.replace("\"torch_dtype\"", &scaled));
        assert_eq!(model.max_position, expected, "{scaling}");
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
        let kinds = |more: &str| {
            let model = read(more).unwrap();
            let kinds = model.kinds();
            (kinds.full, kinds.windowed, model.sliding_window)
        };
        assert_eq!(kinds(""), (4, 0, None));
        let window = |more: &str| kinds(&format!(r#","sliding_window":512{more}"#));
        assert_eq!(window(""), (0, 4, Some(512)));
        let unused = r#","use_sliding_window":false"#;
        assert_eq!(window(unused), (4, 0, None));
        let first_full = r#","use_sliding_window":true,"max_window_layers":3"#;
        assert_eq!(window(first_full), (3, 1, Some(512)));
        assert_eq!(window(r#","sliding_window_pattern":4"#), (1, 3, Some(512)));
        assert_eq!(window(r#","model_type":"gemma2""#), (2, 2, Some(512)));
        let pair = r#""sliding_attention","full_attention""#;
        let types = format!(r#","layer_types":[{pair},{pair}]"#);
        assert_eq!(window(&types), (2, 2, Some(512)));
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
