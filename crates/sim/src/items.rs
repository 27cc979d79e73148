//! Endpoints that answer with a vector or a score for each text, in vLLM's forms: embeddings,
//! rerank, score, classify and pooling. To the engine each text is a prompt whose first token ends
//! it; a document is read with its query before it, as a cross-encoder does.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use inferometer_catalog::engine::EngineKind;
use serde_json::{Map, Value, json};

use crate::{
    clock::unix_seconds,
    config::Config,
    fields::{check_model, count, flag, token_ids},
    random::{Purpose, RandomStream},
    reply::ErrorReply,
};

/// Length of a vector where nobody asks for another.
const DIMENSIONS: u32 = 64;

const MOST_TEXTS: usize = 2048;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ItemsApi {
    Embeddings,
    Rerank,
    Score,
    Classify,
    Pooling,
}

impl ItemsApi {
    pub(crate) fn of(path: &str, kind: Option<EngineKind>) -> Option<ItemsApi> {
        let api = match path {
            "/v1/embeddings" => ItemsApi::Embeddings,
            "/rerank" | "/v1/rerank" => ItemsApi::Rerank,
            "/score" | "/v1/score" => ItemsApi::Score,
            "/classify" => ItemsApi::Classify,
            "/pooling" => ItemsApi::Pooling,
            _ => return None,
        };
        // MindIE has none of these.
        let is_served = match kind {
            Some(EngineKind::Mindie) => false,
            Some(EngineKind::Sglang) => api != ItemsApi::Pooling,
            _ => true,
        };
        is_served.then_some(api)
    }

    /// The fields of the query and of the texts.
    fn fields(self) -> (Option<&'static str>, &'static str) {
        match self {
            ItemsApi::Embeddings | ItemsApi::Classify | ItemsApi::Pooling => (None, "input"),
            ItemsApi::Rerank => (Some("query"), "documents"),
            ItemsApi::Score => (Some("text_1"), "text_2"),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ItemsRequest {
    api: ItemsApi,
    /// The prompt of each item.
    pub(crate) prompts: Vec<Vec<u32>>,
    base64: bool,
    dimensions: u32,
    /// How many of the best are wanted.
    top_n: usize,
}

impl ItemsRequest {
    pub(crate) fn parse(
        api: ItemsApi,
        body: &[u8],
        config: &Config,
    ) -> Result<ItemsRequest, ErrorReply> {
        let body: Map<String, Value> = serde_json::from_slice(body).map_err(|error| {
            ErrorReply::bad_request(format!("the body is not a JSON object: {error}"))
        })?;
        let rejected = &config.faults.reject_fields;
        if let Some(field) = rejected.iter().find(|field| body.contains_key(*field)) {
            return Err(ErrorReply::extra_field(field, &body[field]));
        }
        check_model(&body, config)?;
        if flag(&body, "stream")? {
            return Err(ErrorReply::bad_request(
                "stream: this endpoint has no stream",
            ));
        }
        let (query, texts) = api.fields();
        let mut prompts = texts_of(&body, texts, config)?;
        if let Some(query) = query {
            let [query] = <[Vec<u32>; 1]>::try_from(texts_of(&body, query, config)?)
                .map_err(|_| ErrorReply::bad_request(format!("{query}: should be one text")))?;
            prompts = prompts
                .iter()
                .map(|text| [&query[..], text].concat())
                .collect();
        }
        let most = config.max_model_len as usize;
        if let Some(long) = prompts.iter().map(Vec::len).find(|length| *length > most) {
            return Err(ErrorReply::bad_request(format!(
                "This model's maximum context length is {most} tokens. However, you requested \
                 {long} tokens in the input. Please reduce the length of the input."
            )));
        }
        let top_n = count(&body, "top_n")?.filter(|best| *best > 0);
        Ok(ItemsRequest {
            api,
            top_n: top_n.map_or(prompts.len(), |best| (best as usize).min(prompts.len())),
            prompts,
            base64: body.get("encoding_format").and_then(Value::as_str) == Some("base64"),
            dimensions: count(&body, "dimensions")?
                .unwrap_or(DIMENSIONS)
                .clamp(1, 1 << 16),
        })
    }

    pub(crate) fn prompt_tokens(&self) -> u32 {
        let tokens: usize = self.prompts.iter().map(Vec::len).sum();
        u32::try_from(tokens).unwrap_or(u32::MAX)
    }

    /// The answer; `usage` says whether it tells of tokens.
    pub(crate) fn render(&self, id: &str, config: &Config, usage: bool) -> String {
        let items = (self.prompts.iter().enumerate())
            .map(|(index, prompt)| self.item(index, numbers(config.seed, prompt)));
        let (list, items): (&str, Vec<Value>) = match self.api {
            ItemsApi::Rerank => {
                let mut ranked: Vec<Value> = items.collect();
                let score = |item: &Value| item["relevance_score"].as_f64().unwrap_or_default();
                ranked.sort_by(|a, b| score(b).total_cmp(&score(a)));
                ranked.truncate(self.top_n);
                ("results", ranked)
            }
            _ => ("data", items.collect()),
        };
        let mut answer = json!({
            "id": id, "object": "list", "created": unix_seconds(), "model": config.model,
            list: items,
        });
        if usage {
            let tokens = self.prompt_tokens();
            answer["usage"] =
                json!({"prompt_tokens": tokens, "total_tokens": tokens, "completion_tokens": 0});
        }
        answer.to_string()
    }

    fn item(&self, index: usize, mut numbers: impl Iterator<Item = f32>) -> Value {
        let mut score = || numbers.next().unwrap_or_default();
        match self.api {
            ItemsApi::Rerank => json!({"index": index, "relevance_score": score()}),
            ItemsApi::Score => json!({"index": index, "object": "score", "score": score()}),
            ItemsApi::Classify => {
                let yes = score();
                let label = if yes > 0.5 { "LABEL_1" } else { "LABEL_0" };
                json!({"index": index, "label": label, "probs": [1.0 - yes, yes], "num_classes": 2})
            }
            ItemsApi::Embeddings => {
                let vector = self.vector(numbers);
                json!({"index": index, "object": "embedding", "embedding": vector})
            }
            ItemsApi::Pooling => {
                json!({"index": index, "object": "pooling", "data": self.vector(numbers)})
            }
        }
    }

    fn vector(&self, numbers: impl Iterator<Item = f32>) -> Value {
        let numbers = numbers.take(self.dimensions as usize);
        if self.base64 {
            let bytes: Vec<u8> = numbers.flat_map(f32::to_le_bytes).collect();
            return STANDARD.encode(bytes).into();
        }
        numbers.collect::<Vec<f32>>().into()
    }
}

/// Numbers from 0 to 1 that a text always has.
fn numbers(seed: u64, prompt: &[u32]) -> impl Iterator<Item = f32> {
    let text = prompt.iter().fold(0_u64, |text, id| {
        text.wrapping_mul(0x100_0000_01b3) ^ u64::from(*id)
    });
    let mut draw = RandomStream::new(seed, text, Purpose::Items);
    std::iter::repeat_with(move || draw.below(1 << 20) as f32 / (1 << 20) as f32)
}

/// The texts of a field as tokens: a text, token ids, or a list of either.
fn texts_of(
    body: &Map<String, Value>,
    field: &str,
    config: &Config,
) -> Result<Vec<Vec<u32>>, ErrorReply> {
    let wrong = || {
        ErrorReply::bad_request(format!(
            "{field}: should be a text, an array of token ids, or a list of these"
        ))
    };
    let one = |value: &Value| match value {
        Value::String(text) => Some(config.tokenizer.encode(text)),
        Value::Array(ids) if !ids.is_empty() => token_ids(ids),
        _ => None,
    };
    let value = match body.get(field) {
        None | Some(Value::Null) => {
            return Err(ErrorReply::bad_request(format!("{field}: field required")));
        }
        Some(value) => value,
    };
    let texts = match value {
        Value::Array(list) if !list.iter().all(Value::is_u64) => list.iter().map(one).collect(),
        value => one(value).map(|text| vec![text]),
    };
    let texts: Vec<Vec<u32>> = texts.ok_or_else(wrong)?;
    if texts.is_empty() || texts.len() > MOST_TEXTS || texts.iter().any(Vec::is_empty) {
        return Err(wrong());
    }
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(api: ItemsApi, body: Value) -> Result<Value, ErrorReply> {
        let config = Config::default();
        let request = ItemsRequest::parse(api, body.to_string().as_bytes(), &config)?;
        Ok(serde_json::from_str(&request.render("r", &config, true)).unwrap())
    }

    #[test]
    fn each_text_has_its_item() {
        let two = json!({"input": ["a b", "c"], "dimensions": 5});
        let two = answer(ItemsApi::Embeddings, two).unwrap();
        assert_eq!(two["data"].as_array().unwrap().len(), 2);
        assert_eq!(two["data"][1]["embedding"].as_array().unwrap().len(), 5);
        assert_eq!(two["usage"]["prompt_tokens"], 3);
        let ids = answer(ItemsApi::Pooling, json!({"input": [1, 2, 3]})).unwrap();
        assert_eq!(ids["data"].as_array().unwrap().len(), 1);
        let packed = json!({"input": "a", "encoding_format": "base64", "dimensions": 3});
        let packed = answer(ItemsApi::Embeddings, packed).unwrap();
        assert_eq!(packed["data"][0]["embedding"].as_str().unwrap().len(), 16);
    }

    #[test]
    fn a_ranking_is_sorted_and_may_be_cut() {
        let body = json!({"query": "q", "documents": ["a", "b", "c"], "top_n": 2});
        let ranked = answer(ItemsApi::Rerank, body).unwrap();
        let results = ranked["results"].as_array().unwrap();
        assert_eq!(results.len(), 2);
        assert!(results[0]["relevance_score"].as_f64() >= results[1]["relevance_score"].as_f64());
        // The query is read with each document.
        assert_eq!(ranked["usage"]["prompt_tokens"], 6);
    }

    #[test]
    fn what_is_no_text_and_what_asks_for_a_stream_is_refused() {
        for body in [
            json!({}),
            json!({"input": []}),
            json!({"input": [{"a": 1}]}),
            json!({"input": "a", "stream": true}),
            json!({"input": "a", "model": "other"}),
        ] {
            let answer = answer(ItemsApi::Embeddings, body.clone());
            assert!(answer.is_err(), "{body}");
        }
    }
}
