//! What a server is, by what it lists, says in its headers and answers about itself.

use super::prober::Prober;
use super::site::Site;
use crate::plain::{Reply, get};
use crate::setup::Route;
use inferometer_text::hostile::printable;
use serde_json::Value;

/// Engines by the owner that they give their models.
const OWNERS: [(&str, &str); 9] = [
    ("vllm", "vLLM"),
    ("sglang", "SGLang"),
    ("llamacpp", "llama.cpp"),
    ("lmdeploy", "LMDeploy"),
    ("tensorrt_llm", "TensorRT-LLM"),
    ("nvidia", "NVIDIA Dynamo"),
    ("library", "Ollama"),
    ("litellm", "LiteLLM"),
    ("mindie server", "MindIE"),
];

/// Servers of which the `Server` header does not tell what runs inside.
const FRAMEWORKS: [&str; 5] = ["uvicorn", "hypercorn", "nginx", "envoy", "basehttp"];

/// Where engines tell their version, the key of it, and which engine that is if nothing said so.
const VERSIONS: [(&str, &str, &str); 3] = [
    ("/version", "version", ""),
    ("/api/version", "version", "Ollama"),
    ("/info", "version", "TGI"),
];

const LONGEST: usize = 80;

impl Prober {
    /// Names the software of a server from the reply with its models; asks for the version
    /// where only a framework has said its name.
    pub(super) async fn name_software(&self, site: &Site, models: &Reply) -> Option<String> {
        let header = models
            .server
            .as_deref()
            .map(|text| printable(text, LONGEST));
        let told = header.clone().filter(|text| {
            let text = text.to_lowercase();
            !FRAMEWORKS.iter().any(|name| text.starts_with(name))
        });
        let owner = owner(&models.body);
        // A header that tells all of it.
        if let Some(told) = told.filter(|told| owner.is_none_or(|owner| told.contains(owner))) {
            return Some(told);
        }
        let engine = match self.with_version(site, owner).await {
            Some(engine) => Some(engine),
            None => owner.map(str::to_owned),
        };
        match (engine, header) {
            (Some(engine), Some(header)) => Some(format!("{engine}, {header}")),
            (engine, header) => engine.or(header),
        }
    }

    async fn with_version(&self, site: &Site, engine: Option<&str>) -> Option<String> {
        for (path, key, whose) in VERSIONS {
            let engine = match engine {
                Some(engine) if whose.is_empty() || whose == engine => engine,
                None if !whose.is_empty() => whose,
                _ => continue,
            };
            let path = format!("{}{path}", site.prefix);
            let route = Route::new(site.network.clone(), &path, self.request.headers.clone());
            let reply = get(&route, &route.path, self.look_timeouts()).await.ok()?;
            let told: Option<Value> = serde_json::from_str(&reply.body).ok();
            if let Some(version) = told.as_ref().and_then(|told| told[key].as_str())
                && reply.status == 200
            {
                return Some(format!("{engine} {}", printable(version, LONGEST)));
            }
        }
        None
    }
}

/// The engine by the owner of its models.
fn owner(models: &str) -> Option<&'static str> {
    let value: Value = serde_json::from_str(models).ok()?;
    let owner = value["data"][0]["owned_by"].as_str()?.to_lowercase();
    let known = OWNERS.iter().find(|(name, _)| *name == owner);
    known.map(|(_, engine)| *engine)
}

#[cfg(test)]
mod tests {
    use super::owner;

    #[test]
    fn engines_are_known_by_the_owner_of_their_models() {
        for (list, engine) in [
            (r#"{"data":[{"id":"a","owned_by":"vllm"}]}"#, Some("vLLM")),
            (
                r#"{"data":[{"id":"a","owned_by":"sglang"}]}"#,
                Some("SGLang"),
            ),
            (r#"{"data":[{"id":"a","owned_by":"me"}]}"#, None),
            (r#"{"data":[]}"#, None),
            ("<html>", None),
        ] {
            assert_eq!(owner(list), engine, "{list}");
        }
    }
}
