//! The endpoints that do not generate: what the engine says of itself, and what it is told.

use std::{io, sync::PoisonError};

use inferometer_catalog::engine::EngineKind;
use serde_json::{Map, Value, json};

use crate::{
    engine::Policy,
    engine_driver::EngineDriver,
    fields::{check_model, token_ids},
    http::Request,
    native, profile, prompt,
    reply::{ErrorReply, JSON, model_list},
    shared::Shared,
    tokenizer::OpensAnswer,
};

const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";

/// The body of an answer with status 200.
pub(crate) struct Body {
    pub(crate) content_type: &'static str,
    pub(crate) text: String,
}

impl Body {
    fn empty() -> Body {
        Body::json(String::new())
    }

    fn json(text: String) -> Body {
        Body {
            content_type: JSON,
            text,
        }
    }
}

/// The methods that a path takes, as `allow` lists them; `None` where there is no such path.
pub(crate) fn methods(shared: &Shared, path: &str) -> Option<&'static str> {
    let kind = shared.kind();
    let profiles = shared
        .driver
        .as_ref()
        .is_some_and(|driver| driver.setup().profile.is_some());
    Some(match (path, kind) {
        ("/v1/models" | "/health" | "/version" | "/metrics", _) => "GET",
        ("/tokenize" | "/detokenize", _) => "POST",
        ("/reset_prefix_cache", Some(EngineKind::Vllm)) => "POST",
        ("/flush_cache", Some(EngineKind::Sglang)) => "GET, POST",
        (
            "/get_server_info" | "/server_info" | "/get_model_info" | "/health_generate",
            Some(EngineKind::Sglang),
        ) => "GET",
        ("/v2/health/live" | "/v2/health/ready" | "/info", Some(EngineKind::Mindie)) => "GET",
        (path, Some(EngineKind::Mindie))
            if native::model_and_verb(path)
                .is_some_and(|(model, verb)| model == shared.config.model && verb == "ready") =>
        {
            "GET"
        }
        ("/start_profile" | "/stop_profile", Some(_)) if profiles => "POST",
        _ => return None,
    })
}

/// Answers a request to one of the paths that [`methods`] knows.
pub(crate) async fn respond(
    shared: &Shared,
    path: &str,
    request: &Request,
) -> Result<Body, ErrorReply> {
    let config = &shared.config;
    match path {
        "/v1/models" if !shared.authorizes(request) => Err(ErrorReply::unauthorized()),
        "/v1/models" => Ok(Body::json(model_list(
            &config.model,
            &config.adapters,
            config.max_model_len,
        ))),
        "/version" => {
            let version = match &shared.driver {
                Some(driver) => driver.setup().version.to_string(),
                None => env!("CARGO_PKG_VERSION").to_owned(),
            };
            Ok(Body::json(json!({"version": version}).to_string()))
        }
        "/metrics" => {
            let text = match &shared.driver {
                Some(driver) => driver.metrics(&config.model),
                None => shared.metrics.render(&config.model),
            };
            Ok(Body {
                content_type: PROMETHEUS,
                text,
            })
        }
        "/health" | "/health_generate" | "/v2/health/live" | "/v2/health/ready"
            if shared.died().is_some() =>
        {
            Err(ErrorReply::unhealthy())
        }
        "/tokenize" => tokenize(shared, &request.body),
        "/detokenize" => detokenize(shared, &request.body),
        _ => match &shared.driver {
            Some(driver) => tell_engine(shared, driver, path).await,
            None => Ok(Body::empty()),
        },
    }
}

async fn tell_engine(
    shared: &Shared,
    driver: &EngineDriver,
    path: &str,
) -> Result<Body, ErrorReply> {
    match path {
        "/reset_prefix_cache" => {
            // As vLLM 0.32: 200 too where requests hold blocks and nothing is forgotten.
            let success = driver.reset_prefix_cache();
            Ok(Body::json(json!({"success": success}).to_string()))
        }
        "/flush_cache" if driver.reset_prefix_cache() => Ok(Body {
            content_type: TEXT,
            text: "Cache flushed.\nPlease check backend logs for more details. (When there are \
                   running or waiting requests, the operation will not be performed.)\n"
                .to_owned(),
        }),
        "/flush_cache" => Err(ErrorReply::bad_request(
            "the cache is not flushed while requests are running",
        )),
        "/get_server_info" | "/server_info" => {
            let setup = driver.setup();
            let tokens = u64::from(setup.config.blocks) * u64::from(setup.config.block_size);
            let info = json!({
                "model_path": shared.config.model, "served_model_name": shared.config.model,
                "context_length": setup.config.max_model_len, "max_total_num_tokens": tokens,
                "page_size": setup.config.block_size, "version": setup.version.to_string(),
                "disable_radix_cache": !setup.config.prefix_caching,
            });
            Ok(Body::json(info.to_string()))
        }
        "/get_model_info" => {
            let info = json!({
                "model_path": shared.config.model, "tokenizer_path": shared.config.model,
                "is_generation": true,
            });
            Ok(Body::json(info.to_string()))
        }
        "/info" => Ok(Body::json(mindie_info(shared, driver).to_string())),
        "/start_profile" => {
            driver.start_profile();
            Ok(Body::empty())
        }
        "/stop_profile" => stop_profile(driver).await,
        _ => Ok(Body::empty()),
    }
}

/// MindIE's `/info`, by its source; what it does not fill in is null there too.
fn mindie_info(shared: &Shared, driver: &EngineDriver) -> Value {
    let setup = driver.setup();
    let (tokens, sequences) = match &setup.config.policy {
        Policy::Mindie(policy) => (policy.max_prefill_tokens, policy.max_batch_size),
        Policy::Vllm(policy) => (policy.max_num_batched_tokens, policy.max_num_seqs),
        Policy::Sglang(policy) => (policy.max_prefill_tokens, policy.max_running_requests),
        Policy::Trtllm(policy) => (policy.max_num_tokens, policy.max_batch_size),
    };
    json!({
        "docker_label": null, "max_batch_total_tokens": tokens, "max_best_of": 1,
        "max_concurrent_requests": sequences, "max_stop_sequences": null,
        "max_waiting_tokens": null, "sha": null, "validation_workers": null,
        "version": setup.version.to_string(), "waiting_served_ratio": null,
        "models": [{
            "model_device_type": "npu", "model_id": shared.config.model,
            "model_pipeline_tag": "text-generation", "model_sha": null,
            "max_total_tokens": setup.config.max_model_len,
        }],
    })
}

async fn stop_profile(driver: &EngineDriver) -> Result<Body, ErrorReply> {
    let Some((path, steps)) = driver.stop_profile() else {
        return Err(ErrorReply::bad_request(
            "no profile is under way; POST /start_profile first",
        ));
    };
    let name = path.display().to_string();
    let written = tokio::task::spawn_blocking(move || profile::write(&path, &steps)).await;
    match written.map_err(io::Error::from).flatten() {
        Ok(()) => Ok(Body::empty()),
        Err(error) => Err(ErrorReply::internal(&format!("profile {name}: {error}"))),
    }
}

fn object(body: &[u8]) -> Result<Map<String, Value>, ErrorReply> {
    serde_json::from_slice(body)
        .map_err(|error| ErrorReply::bad_request(format!("the body is not a JSON object: {error}")))
}

/// vLLM's `/tokenize`: of a prompt, or of a chat with its template.
fn tokenize(shared: &Shared, body: &[u8]) -> Result<Body, ErrorReply> {
    let body = object(body)?;
    check_model(&body, &shared.config)?;
    let asked = |field: &str| body.get(field).and_then(Value::as_bool);
    let tokenizer = &shared.config.tokenizer;
    let opens_answer = match asked("add_generation_prompt") {
        Some(false) => OpensAnswer::No,
        _ => OpensAnswer::Yes,
    };
    let tokens = if body.contains_key("messages") {
        prompt::chat(tokenizer, &body, opens_answer)?
    } else {
        prompt::completion(tokenizer, &body)?
    };
    let mut vocabulary = shared
        .vocabulary
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    if tokenizer.is_words() {
        each_text(&body, &mut |text| vocabulary.learn(text));
    }
    let text_of = |id: &u32| {
        let text = tokenizer.decode(std::slice::from_ref(id));
        text.unwrap_or_else(|| vocabulary.word(*id))
    };
    let texts = asked("return_token_strs").unwrap_or(false);
    let texts = texts.then(|| tokens.iter().map(text_of).collect::<Vec<_>>());
    let answer = json!({
        "count": tokens.len(), "max_model_len": shared.config.max_model_len, "tokens": tokens,
        "token_strs": texts,
    });
    Ok(Body::json(answer.to_string()))
}

/// The texts of a prompt or a chat.
fn each_text(body: &Map<String, Value>, visit: &mut impl FnMut(&str)) {
    if let Some(text) = body.get("prompt").and_then(Value::as_str) {
        visit(text);
    }
    let messages = body.get("messages").and_then(Value::as_array);
    for message in messages.into_iter().flatten() {
        for field in ["role", "content"] {
            if let Some(text) = message.get(field).and_then(Value::as_str) {
                visit(text);
            }
        }
        let parts = message.get("content").and_then(Value::as_array);
        for part in parts.into_iter().flatten() {
            if let Some(text) = part.get("text").and_then(Value::as_str) {
                visit(text);
            }
        }
    }
}

fn detokenize(shared: &Shared, body: &[u8]) -> Result<Body, ErrorReply> {
    let body = object(body)?;
    check_model(&body, &shared.config)?;
    let ids = body.get("tokens").and_then(Value::as_array);
    let ids = ids.and_then(|ids| token_ids(ids));
    let ids =
        ids.ok_or_else(|| ErrorReply::bad_request("tokens: should be an array of token ids"))?;
    let prompt = shared.config.tokenizer.decode(&ids).unwrap_or_else(|| {
        let vocabulary = shared.vocabulary.lock();
        let vocabulary = vocabulary.unwrap_or_else(PoisonError::into_inner);
        let words: Vec<String> = ids.iter().map(|id| vocabulary.word(*id)).collect();
        words.join(" ")
    });
    Ok(Body::json(json!({"prompt": prompt}).to_string()))
}
