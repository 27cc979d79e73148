//! What the preflight has learned about the servers, and what they are asked beside the
//! measured requests.

use super::error::LONGEST_QUOTE;
use crate::api::{Dialect, RequestOptions};
use crate::connect::Network;
use crate::exchange::Timeouts;
use crate::plain::{get, post};
use crate::setup::Route;
use inferometer_core::environment::{Health, Probe};
use inferometer_core::note::Note;
use inferometer_text::hostile::printable;
use serde_json::{Value, json};
use std::time::Duration;

/// Tries while a server still holds blocks of the last requests.
const TRIES: u32 = 5;

pub struct ServerProfile {
    pub routes: Vec<Route<Network>>,
    pub dialect: &'static dyn Dialect,
    pub options: RequestOptions,
    pub probe: Probe,
    pub notes: Vec<Note>,
    pub counts_output: bool,
    /// Path to probe the health with, for each route.
    pub(super) health: Vec<[String; 2]>,
    /// Paths by which a prefix cache may be emptied, for each route.
    pub(super) empty_cache: Vec<[String; 2]>,
    /// Path of the tokenizer that some servers offer.
    pub(super) tokenize: String,
}

impl ServerProfile {
    pub async fn health(&self, timeouts: Timeouts) -> Health {
        for (route, paths) in self.routes.iter().zip(&self.health) {
            if let Err(said) = is_alive(route, paths, timeouts).await {
                return Health::Dead(format!("{}: {said}", route.url));
            }
        }
        Health::Alive
    }

    /// Lets every server forget the prompts that it has seen. Whether all of them did: vLLM has
    /// `/reset_prefix_cache`, in its development mode only, and SGLang `/flush_cache`.
    pub async fn empty_cache(&self, timeouts: Timeouts) -> bool {
        for (route, paths) in self.routes.iter().zip(&self.empty_cache) {
            let mut emptied = false;
            'tries: for attempt in 0..TRIES {
                // What was just answered may hold its blocks for a moment.
                tokio::time::sleep(Duration::from_millis(200) * attempt.min(1)).await;
                for path in paths {
                    match post(route, path, b"", timeouts).await {
                        Ok(reply) if reply.status == 200 => {
                            emptied = true;
                            break 'tries;
                        }
                        Ok(reply) if reply.status == 404 || reply.status == 405 => {}
                        // It knows the path and is not ready.
                        Ok(_) => continue 'tries,
                        Err(_) => break 'tries,
                    }
                }
                break;
            }
            if !emptied {
                return false;
            }
        }
        true
    }

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

/// What a health probe shows: `/health` decides where there is one, else the list of models.
async fn is_alive(
    route: &Route<Network>,
    [health, models]: &[String; 2],
    timeouts: Timeouts,
) -> Result<(), String> {
    let mut seen = String::new();
    // A server that is just busy gets three chances.
    for pause in [0, 300, 1000] {
        tokio::time::sleep(Duration::from_millis(pause)).await;
        let mut reply = get(route, health, timeouts).await;
        if reply
            .as_ref()
            .is_ok_and(|reply| (400..500).contains(&reply.status))
        {
            reply = get(route, models, timeouts).await;
        }
        match reply {
            Ok(reply) if reply.status < 500 => return Ok(()),
            Ok(reply) => {
                seen = format!(
                    "status {}: {}",
                    reply.status,
                    printable(&reply.body, LONGEST_QUOTE)
                );
            }
            Err(failure) => seen = failure.detail,
        }
    }
    Err(seen)
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
