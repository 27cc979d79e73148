//! How hubs are reached: mirrors and the token from the environment, the proxy from an option.

use inferometer_fetch::{Endpoints, HubAccess, Secret};

/// Access to the hubs, through `--proxy` where it is given.
pub fn access(proxy: Option<&str>) -> HubAccess {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
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
