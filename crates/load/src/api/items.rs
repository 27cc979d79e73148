//! APIs that answer with a vector or a score for each text of a request, and never with tokens:
//! embeddings, rerank, score, classify and pooling.

use super::dialect::{BadMessage, Dialect, Message, Place, Prompt, RequestOptions, object_of};
use super::prompt_text::flattened;
use super::wire::read_items;
use inferometer_core::api::Api;
use inferometer_core::content::Content;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// One such endpoint: where it is, and the fields that hold its texts.
pub(super) struct Items {
    pub(super) api: Api,
    pub(super) path: &'static str,
    pub(super) place: Place,
    /// The field of the text that all others are held against, where there is one.
    pub(super) query: Option<&'static str>,
    pub(super) texts: &'static str,
}

impl Items {
    /// The fields with the texts of a prompt; the first of a batch is the query.
    fn fields(&self, content: &Content) -> Map<String, Value> {
        let mut texts = match content {
            Content::Batch(batch) => batch.iter().map(text).collect(),
            one => vec![text(one)],
        };
        let mut fields = Map::new();
        if let Some(query) = self.query {
            fields.insert(query.into(), texts.remove(0));
        }
        let texts = match (content, self.query) {
            (Content::Batch(_), _) | (_, Some(_)) => texts.into(),
            (_, None) => texts.remove(0),
        };
        fields.insert(self.texts.into(), texts);
        fields
    }
}

fn text(content: &Content) -> Value {
    match content {
        Content::Text(text) => (&**text).into(),
        Content::TokenIds(ids) => ids.to_vec().into(),
        Content::Messages(json) => flattened(&super::dialect::array_of(json)).into(),
        // A row that is a body of its own is sent alone.
        Content::Body(_) | Content::Batch(_) => "".into(),
    }
}

impl Dialect for Items {
    fn api(&self) -> Api {
        self.api
    }

    fn path(&self, _options: &RequestOptions) -> Cow<'static, str> {
        self.path.into()
    }

    fn place(&self) -> Place {
        self.place
    }

    fn body(&self, options: &RequestOptions, prompt: &Prompt<'_>, _limit: Option<u32>) -> Vec<u8> {
        let body = options.model_field();
        let own = match prompt.content {
            Content::Body(json) => object_of(json),
            content => self.fields(content),
        };
        options.merged(body, own)
    }

    fn items_asked(&self, options: &RequestOptions, prompt: &Prompt<'_>) -> Option<u32> {
        let query = usize::from(self.query.is_some());
        let asked = match prompt.content {
            Content::Batch(batch) => batch.len().saturating_sub(query),
            Content::Body(json) => match object_of(json).get(self.texts) {
                Some(Value::Array(texts)) if !texts.iter().all(Value::is_number) => texts.len(),
                _ => 1,
            },
            _ => 1,
        };
        // Rankings may be asked for their best only.
        let best = options.extra.get("top_n").and_then(Value::as_u64);
        let asked = best.map_or(asked as u64, |best| best.min(asked as u64));
        u32::try_from(asked).ok()
    }

    fn message(&self, json: &[u8]) -> Result<Message, BadMessage> {
        read_items(json)
    }
}

#[cfg(test)]
mod tests {
    use super::super::forms;
    use super::*;
    use serde_json::json;
    use std::sync::Arc;

    fn body(api: Api, content: &Content) -> Value {
        let options = RequestOptions {
            model: "m".into(),
            extra: json!({"dimensions": 8}).as_object().unwrap().clone(),
            ..RequestOptions::default()
        };
        let body = forms(api)[0].body(&options, &content.into(), None);
        serde_json::from_slice(&body).unwrap()
    }

    fn batch(texts: &[&str]) -> Content {
        let texts = texts.iter().map(|&text| Content::Text(text.into()));
        Content::Batch(texts.collect::<Arc<[_]>>())
    }

    #[test]
    fn a_body_holds_the_texts_and_nothing_about_tokens() {
        assert_eq!(
            body(Api::Embeddings, &batch(&["a", "b"])),
            json!({"model": "m", "input": ["a", "b"], "dimensions": 8})
        );
        assert_eq!(
            body(Api::Embeddings, &Content::Text("a".into()))["input"],
            "a"
        );
        assert_eq!(
            body(Api::Embeddings, &Content::TokenIds([1, 2].into()))["input"],
            json!([1, 2])
        );
        let ranked = body(Api::Rerank, &batch(&["q", "a", "b"]));
        assert_eq!(ranked["query"], "q");
        assert_eq!(ranked["documents"], json!(["a", "b"]));
        let row = Content::Body(r#"{"input": ["x", "y"], "user": "me"}"#.into());
        assert_eq!(body(Api::Pooling, &row)["user"], "me");
    }

    #[test]
    fn items_are_counted_as_they_are_asked_for() {
        let mut options = RequestOptions::default();
        let asked = |options: &RequestOptions, api: Api, content: &Content| {
            forms(api)[0].items_asked(options, &content.into())
        };
        let ranked = batch(&["q", "a", "b", "c"]);
        assert_eq!(asked(&options, Api::Rerank, &ranked), Some(3));
        assert_eq!(asked(&options, Api::Embeddings, &ranked), Some(4));
        let ids = Content::Body(r#"{"input": [1, 2, 3]}"#.into());
        assert_eq!(asked(&options, Api::Embeddings, &ids), Some(1));
        options.extra.insert("top_n".into(), 2.into());
        assert_eq!(asked(&options, Api::Rerank, &ranked), Some(2));
    }

    #[test]
    fn answers_are_counted_in_every_form_that_servers_use() {
        for (json, items) in [
            (
                r#"{"object":"list","data":[{"embedding":[0.1]},{"embedding":[1]}]}"#,
                2,
            ),
            (r#"{"results":[{"index":0,"relevance_score":0.5}]}"#, 1),
            (
                r#"[{"index":1,"score":0.9},{"index":0,"score":0.1},{"index":2,"score":0}]"#,
                3,
            ),
            (r#"{"scores":[0.1,0.2]}"#, 2),
            (r#"{"data":[]}"#, 0),
        ] {
            let message = read_items(json.as_bytes()).unwrap();
            assert_eq!(message.items, Some(items), "{json}");
            assert_eq!(message.has_choice, items > 0, "{json}");
        }
        let counted =
            read_items(br#"{"data":[1],"usage":{"prompt_tokens":7,"completion_tokens":0}}"#);
        let usage = counted.unwrap().usage.unwrap();
        assert_eq!((usage.input, usage.output), (Some(7), None));
        let failed = read_items(br#"{"error":{"message":"no"}}"#).unwrap();
        assert_eq!(failed.error.as_deref(), Some("no"));
        assert!(read_items(b"{\"data\":5}").is_err() && read_items(b"{").is_err());
    }
}
