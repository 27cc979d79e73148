//! What a runner knows of the program around it: read once by the caller, never looked up here.

use inferometer_fetch::{Endpoints, HubAccess, Secret};
use inferometer_text::Lang;
use std::collections::BTreeMap;
use std::path::PathBuf;

#[derive(Clone, Debug)]
pub struct Session {
    /// Language of the doubts in a summary.
    pub lang: Lang,
    /// This program's own file: called again, it supervises engines and serves as one.
    pub program: PathBuf,
    /// The environment: places of caches and hubs, keys, and what engines inherit.
    pub variables: BTreeMap<String, String>,
}

impl Session {
    /// An environment variable that is set and not empty.
    pub fn variable(&self, name: &str) -> Option<&str> {
        let value = self.variables.get(name)?;
        Some(value.as_str()).filter(|value| !value.is_empty())
    }

    /// Our folder in the user's cache; absent on a host without a home.
    pub fn cache_folder(&self) -> Option<PathBuf> {
        let cache = match self.variable("XDG_CACHE_HOME") {
            Some(cache) => PathBuf::from(cache),
            None => PathBuf::from(self.variable("HOME")?).join(".cache"),
        };
        Some(cache.join("inferometer"))
    }

    /// How hubs are reached: mirrors and the token from the environment, the proxy from an option.
    pub fn hub_access(&self, proxy: Option<&str>) -> HubAccess {
        let variable = |name: &str| self.variable(name).map(str::to_owned);
        let public = Endpoints::default();
        HubAccess {
            endpoints: Endpoints {
                hugging_face: variable("HF_ENDPOINT").unwrap_or(public.hugging_face),
                modelscope: variable("MODELSCOPE_DOMAIN").unwrap_or(public.modelscope),
            },
            hugging_face_token: variable("HF_TOKEN").map(|token| Secret::new(&token)),
            proxy: proxy.map(Secret::new),
        }
    }
}
