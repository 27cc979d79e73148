//! The tokenizer that some servers offer, to hold ours against.

use super::ServerProfile;
use crate::exchange::Timeouts;
use crate::plain::post;
use serde_json::{Value, json};

impl ServerProfile {
    /// Tokens of a text by the server itself (vLLM, SGLang and llama.cpp can be asked); absent
    /// if it does not say.
    pub async fn count_tokens(&self, text: &str, timeouts: Timeouts) -> Option<u32> {
        // The text goes by either of the names that servers know.
        let body = json!({
            "model": self.options.model,
            "prompt": text,
            "content": text,
            "add_special_tokens": false,
            "add_special": false,
        });
        let route = self.routes.first()?;
        let reply = post(route, &self.tokenize, body.to_string().as_bytes(), timeouts).await;
        let reply = reply.ok().filter(|reply| reply.status == 200)?;
        count(&serde_json::from_str(&reply.body).ok()?)
    }
}

fn count(reply: &Value) -> Option<u32> {
    let stated = reply["count"].as_u64();
    let listed = || reply["tokens"].as_array().map(|tokens| tokens.len() as u64);
    u32::try_from(stated.or_else(listed)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forms_that_servers_use_are_understood() {
        assert_eq!(count(&json!({"count": 3, "tokens": [1, 2, 3]})), Some(3));
        assert_eq!(count(&json!({"tokens": [1, 2]})), Some(2));
        assert_eq!(count(&json!({"error": "no"})), None);
        assert_eq!(count(&json!({"count": -1})), None);
    }
}
