//! What a server or a hub wants to see before it answers. None of it is ever stored.

use crate::url::{Origin, origin, split_scheme};
use std::fmt;

/// A value that is never shown.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// Blanks around the value are dropped.
    pub fn new(value: &str) -> Self {
        Secret(value.trim().to_owned())
    }

    /// The value, unless it is empty.
    pub(crate) fn value(&self) -> Option<&str> {
        Some(self.0.as_str()).filter(|value| !value.is_empty())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[derive(Clone, Default)]
pub struct Access {
    /// Headers of every request, such as the one with the API key.
    pub headers: Vec<(String, String)>,
    /// Accept any certificate.
    pub insecure: bool,
    /// Certificate authorities in place of the system's, as PEM.
    pub authorities_pem: Option<Vec<u8>>,
    /// Our own certificate chain and key, as PEM.
    pub identity_pem: Option<(Vec<u8>, Vec<u8>)>,
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        write!(f, "Access({names:?})")
    }
}

/// Hubs, either of which may be a mirror. Without a scheme, https is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoints {
    /// Hugging Face, as in `HF_ENDPOINT`.
    pub hugging_face: String,
    /// ModelScope, as in `MODELSCOPE_DOMAIN`.
    pub modelscope: String,
}

impl Default for Endpoints {
    fn default() -> Self {
        Endpoints {
            hugging_face: "https://huggingface.co".to_owned(),
            modelscope: "https://modelscope.cn".to_owned(),
        }
    }
}

impl Endpoints {
    /// The base URL of Hugging Face, without a slash at its end.
    pub fn hugging_face_base(&self) -> String {
        with_scheme(&self.hugging_face)
    }

    /// The base URL of ModelScope, without a slash at its end.
    pub fn modelscope_base(&self) -> String {
        with_scheme(&self.modelscope)
    }

    /// Where the Hugging Face token belongs.
    pub fn hugging_face_origin(&self) -> Option<Origin> {
        origin(&self.hugging_face_base().parse().ok()?)
    }
}

fn with_scheme(endpoint: &str) -> String {
    let (scheme, host) = split_scheme(endpoint.trim()).unwrap_or(("https", endpoint.trim()));
    format!("{scheme}://{}", host.trim_end_matches('/'))
}

/// How hubs are reached. The default is the public hubs, without a token and without a proxy.
#[derive(Clone, Debug, Default)]
pub struct HubAccess {
    pub endpoints: Endpoints,
    /// Sent to the Hugging Face endpoint and to no other host.
    pub hugging_face_token: Option<Secret>,
    /// `http://[USER:PASSWORD@]HOST:PORT`; none is used unless given.
    pub proxy: Option<Secret>,
}
