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
        let engine = match &models.litellm {
            Some(version) => Some(format!("LiteLLM {}", printable(version, LONGEST))),
            None => owner(&models.body).map(str::to_owned),
        };
        let engine = match (engine, told) {
            (Some(engine), _) if engine.contains(' ') => Some(engine),
            (None, Some(told)) => return Some(told),
            (Some(engine), Some(told)) if told.contains(&engine) => return Some(told),
            (engine, _) => self.with_version(site, engine.as_deref()).await.or(engine),
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
