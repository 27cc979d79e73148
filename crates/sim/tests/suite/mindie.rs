//! MindIE's own endpoints, by the forms of its published source.

use crate::support::{CHAT, Sim, chat, with};
use inferometer_catalog::{
    device::{Device, Parallel},
    model::Model,
    timing::{StepTime, Timing},
};
use inferometer_sim::{
    Config, EngineSetup,
    engine::{EngineConfig, MindiePolicy, Policy},
};
use serde_json::{Value, json};

fn serving() -> Sim {
    let device = Device::named("910b4").expect("a preset");
    let model = Model::named("qwen2-0.5b").expect("a preset");
    let time = StepTime::new(
        &model,
        device,
        &Parallel::default(),
        &Timing::shipped(device),
    );
    let policy = Policy::Mindie(MindiePolicy {
        max_iter_times: 30,
        ..MindiePolicy::default()
    });
    let config = EngineConfig::new(policy, time, (100, 128), 2048);
    Sim::start(Config {
        engine: Some(EngineSetup::new(config)),
        model: "qwen".to_owned(),
        ..Config::default()
    })
}

fn native(stream: bool) -> Value {
    json!({"inputs": "one two three", "stream": stream, "ignore_eos": true,
           "parameters": {"max_new_tokens": 4, "details": true, "seed": 7}})
}

#[test]
fn infer_answers_whole_or_token_by_token() {
    let sim = serving();
    let whole = sim.post("/infer", &native(false)).json();
    assert_eq!(whole["details"]["finish_reason"], "length");
    assert_eq!(whole["details"]["generated_tokens"], 4);
    assert_eq!(whole["details"]["seed"], 7);
    let text = whole["generated_text"].as_str().expect("a text");
    assert_eq!(text.split_whitespace().count(), 4);

    let events = sim.post("/infer", &native(true)).chunks();
    assert_eq!(events.len(), 4);
    assert!(events[0]["prefill_time"].is_f64() && events[0]["decode_time"].is_null());
    assert!(events[1]["prefill_time"].is_null() && events[1]["decode_time"].is_f64());
    assert_eq!(events[1]["token"]["id"].as_array().map(Vec::len), Some(1));
    assert!(events[3]["token"]["text"].is_null());
    assert_eq!(events[3]["details"]["generated_tokens"], 4);

    let by_tokens = json!({"input_id": [4, 5, 6], "parameters": {"max_new_tokens": 1}});
    assert!(sim.post("/infer_token", &by_tokens).json()["generated_text"].is_string());
}

#[test]
fn generate_tells_two_forms_apart_by_their_fields() {
    let sim = serving();
    let tgi = with(
        native(false),
        "parameters",
        json!({"max_new_tokens": 4, "details": true, "truncate": 2}),
    );
    let answer = sim.post("/generate", &tgi).json();
    assert_eq!(answer["details"]["prompt_tokens"], 2);
    assert_eq!(
        answer["details"]["tokens"].as_array().map(Vec::len),
        Some(4)
    );
    let events = sim.post("/generate_stream", &tgi).chunks();
    assert_eq!(events.len(), 4);
    assert!(events[0]["generated_text"].is_null());
    assert_eq!(events[3]["details"]["prompt_tokens"], 2);

    let vllm = json!({"prompt": "one two", "max_tokens": 3, "ignore_eos": true});
    let answer = sim.post("/generate", &vllm).json();
    let text = answer["text"][0].as_str().expect("a text");
    assert!(text.starts_with("one two "), "{text}");
    let streamed = sim.post("/generate", &with(vllm, "stream", json!(true)));
    let pieces: Vec<&str> = streamed.text().split_terminator('\0').collect();
    assert_eq!(pieces.len(), 3);
    let piece: Value = serde_json::from_str(pieces[0]).expect("JSON");
    assert!(piece["text"][0].is_string());
}

#[test]
fn tritons_endpoints_name_the_model_and_tell_of_the_batch() {
    let sim = serving();
    let body = json!({"id": "a1", "text_input": "one two",
                      "parameters": {"max_new_tokens": 3, "details": true}, "ignore_eos": true});
    let whole = sim.post("/v2/models/qwen/generate", &body).json();
    assert_eq!(
        (&whole["id"], &whole["model_name"]),
        (&json!("a1"), &json!("qwen"))
    );
    assert_eq!(whole["details"]["batch_size"], json!([1, 1, 1]));
    assert_eq!(
        whole["details"]["queue_wait_time"].as_array().map(Vec::len),
        Some(3)
    );
    let streamed = sim.post("/v2/models/qwen/versions/1/generate_stream", &body);
    let events: Vec<&str> = streamed.text().split_terminator("\n\n").collect();
    assert_eq!(events.len(), 3);
    let last: Value =
        serde_json::from_str(events[2].strip_prefix("data:").expect("data")).expect("JSON");
    assert_eq!(last["details"]["batch_size"], 1);
    assert_eq!(last["details"]["finish_reason"], "length");
    assert_eq!(sim.get("/v2/models/qwen/ready").status, 200);
    assert_eq!(sim.get("/info").json()["models"][0]["model_id"], "qwen");
}

#[test]
fn what_is_wrong_is_told_flat_and_with_422() {
    let sim = serving();
    for (path, body, says) in [
        ("/infer", json!({}), "Not found inputs."),
        ("/generate", json!({}), "`inputs` or `prompt`"),
        ("/generate_stream", json!({"inputs": 5}), "abnormal"),
        (
            "/v2/models/other/generate",
            json!({"text_input": "a"}),
            "Model not found",
        ),
        (
            "/infer",
            json!({"inputs": ""}),
            "token length must be in (0, ",
        ),
        ("/infer", json!({"inputs": "w ".repeat(2048)}), "2048"),
        (
            CHAT,
            with(
                with(chat(5), "model", json!("qwen")),
                "max_tokens",
                json!(-1),
            ),
            "max_tokens",
        ),
    ] {
        let answer = sim.post(path, &body);
        assert_eq!(answer.status, 422, "{path}");
        let body = answer.json();
        assert!(
            body["error"].as_str().expect("a text").contains(says),
            "{path}: {body}"
        );
        assert_eq!(body["error_type"], "Input Validation Error", "{path}");
    }
    let bounded = json!({"inputs": "a", "parameters": {"max_new_tokens": 500, "details": true}, "ignore_eos": true});
    assert_eq!(
        sim.post("/infer", &bounded).json()["details"]["generated_tokens"],
        30
    );
}
