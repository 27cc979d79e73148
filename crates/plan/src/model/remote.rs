//! A model on a hub or at a URL: its `config.json`, and of its weights only the headers, by HTTP
//! range.

use super::{KnownModel, SourceError};
use inferometer_catalog::model::folder::{INDEX, LARGEST_INDEX};
use inferometer_catalog::model::safetensors::{header_length, tensor_bytes};
use inferometer_catalog::model::{LARGEST_CONFIG, Model};
use inferometer_fetch::url::{decoded, encoded};
use inferometer_fetch::{Client, Endpoints, FetchError, HubAccess, Response, Timeouts};
use inferometer_text::secret::without_credentials;
use serde_json::Value;
use std::fmt;
use std::time::Duration;
use thiserror::Error;

const LIMIT: Duration = Duration::from_secs(30);

/// Where pages of models are, whichever mirror answers for them.
const HUB: &str = "https://huggingface.co";

/// Why a server's file cannot be had.
#[derive(Debug, Error)]
pub enum RemoteError {
    #[error(transparent)]
    Fetch(#[from] FetchError),
    #[error("{address} does not name a model; write hf://ORG/NAME or hf://ORG/NAME@REVISION")]
    NoModel { address: String },
    /// Another answer than the file.
    #[error("{url} answers with status {status}; {}", Advice(*status))]
    Status { url: String, status: u16 },
    #[error("{url} is not UTF-8 text")]
    NotText { url: String },
}

struct Advice(u16);

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            // The hub answers 401 also for what does not exist.
            401 | 403 => {
                "check the address; if the model is gated or private, accept its terms on the hub and set HF_TOKEN"
            }
            _ => "check the address",
        })
    }
}

/// Whether a name is an address that is looked up here.
pub(super) fn is_address(name: &str) -> bool {
    ["hf://", "http://", "https://"]
        .iter()
        .any(|scheme| name.starts_with(scheme))
}

/// The model behind `hf://ORG/NAME` or a URL: a folder, a `config.json`, a weight file or a page
/// of Hugging Face.
pub(super) fn find(address: &str, hubs: &HubAccess) -> Result<KnownModel, SourceError> {
    let folder = folder(address, &hubs.endpoints)?;
    let client = Client::for_hubs(hubs, Timeouts::whole(LIMIT)).map_err(RemoteError::from)?;
    let config = whole(&client, &format!("{folder}/config.json"), LARGEST_CONFIG)?;
    let shown = without_credentials(&folder);
    let config = String::from_utf8(config).map_err(|_| RemoteError::NotText {
        url: format!("{shown}/config.json"),
    })?;
    let name = shown.trim_end_matches("/resolve/main");
    let described = Model::described(name, &config)?;
    let stored = stored(&client, &folder)?;
    Ok(KnownModel::of_description(described, stored)?)
}

/// The folder that an address names, or that holds the file which it names.
fn folder(address: &str, endpoints: &Endpoints) -> Result<String, RemoteError> {
    let hub = endpoints.hugging_face_base();
    if let Some(name) = address.strip_prefix("hf://") {
        return repository(&hub, name).ok_or_else(|| RemoteError::NoModel {
            address: without_credentials(address),
        });
    }
    let url = address.split(['?', '#']).next().unwrap_or(address);
    let url = url.trim_end_matches('/');
    let url = match url.strip_prefix(HUB) {
        Some(path) if path.starts_with('/') => format!("{hub}{path}"),
        _ => url.to_owned(),
    };
    if url.ends_with(".json") || url.ends_with(".safetensors") {
        let parent = url.rsplit_once('/').map(|(parent, _)| parent.to_owned());
        return Ok(parent.unwrap_or(url));
    }
    let page = url
        .strip_prefix(&hub)
        .and_then(|path| path.strip_prefix('/'));
    Ok(match page {
        Some(page) if page.split('/').count() == 2 => format!("{url}/resolve/main"),
        _ => url,
    })
}

/// The files of `ORG/NAME[@REVISION]`.
fn repository(hub: &str, name: &str) -> Option<String> {
    let (owner, name) = name.trim_end_matches('/').split_once('/')?;
    let (name, revision) = name.split_once('@').unwrap_or((name, "main"));
    let sound = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.contains('/');
    let revision = decoded(revision);
    (sound(owner) && sound(name) && !revision.is_empty()).then(|| {
        let (owner, name) = (encoded(owner), encoded(name));
        format!("{hub}/{owner}/{name}/resolve/{}", encoded(&revision))
    })
}

/// Bytes of the weights: as the index says, else from the header of the one file; `None` where
/// there is neither.
fn stored(client: &Client, folder: &str) -> Result<Option<f64>, SourceError> {
    let index = format!("{folder}/{INDEX}");
    if let Some(text) = optional(whole(client, &index, LARGEST_INDEX))? {
        let index: Option<Value> = serde_json::from_slice(&text).ok();
        let total = index.and_then(|index| index.pointer("/metadata/total_size")?.as_f64());
        return Ok(total.filter(|total| total.is_finite() && *total > 0.0));
    }
    let file = format!("{folder}/model.safetensors");
    let Some(head) = optional(part(client, &file, 0, 8))? else {
        return Ok(None);
    };
    let Ok(head) = <[u8; 8]>::try_from(head.as_slice()) else {
        return Ok(None);
    };
    let shown = without_credentials(&file);
    let length = header_length(&shown, head)?;
    let header = part(client, &file, 8, length)?;
    Ok(Some(tensor_bytes(&shown, &header)?))
}

/// A file that does not exist is not an error.
fn optional(answer: Result<Vec<u8>, RemoteError>) -> Result<Option<Vec<u8>>, RemoteError> {
    match answer {
        Ok(bytes) => Ok(Some(bytes)),
        Err(RemoteError::Status { status: 404, .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

fn whole(client: &Client, url: &str, limit: u64) -> Result<Vec<u8>, RemoteError> {
    Ok(get(client, url, &[])?.bytes(limit)?)
}

fn part(client: &Client, url: &str, from: u64, length: u64) -> Result<Vec<u8>, RemoteError> {
    let range = format!("bytes={from}-{}", from + length - 1);
    let response = get(client, url, &[("Range", &range)])?;
    // A server without ranges sends from the beginning.
    let skip = match response.head.status {
        206 => 0,
        _ => from,
    };
    let mut bytes = response.beginning(skip + length)?;
    bytes.drain(..bytes.len().min(skip as usize));
    Ok(bytes)
}

fn get(client: &Client, url: &str, headers: &[(&str, &str)]) -> Result<Response, RemoteError> {
    let response = client.open(url, headers)?;
    match response.head.status {
        200..=299 => Ok(response),
        status => Err(RemoteError::Status {
            url: without_credentials(url),
            status,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Weights;
    use super::*;
    use inferometer_fetch::Secret;
    use inferometer_fetch::test_server::{Request, Sent, Server};

    #[test]
    fn pages_folders_and_files_lead_to_the_folder() {
        let public = Endpoints::default();
        let mirror = Endpoints {
            hugging_face: "mirror:8443/hf/".to_owned(),
            ..Endpoints::default()
        };
        let page = "https://huggingface.co/Qwen/Qwen2.5-7B";
        let (ours, other) = (
            "https://mirror:8443/hf",
            "https://huggingface.community/o/n",
        );
        for (endpoints, address, expected) in [
            (&public, page, format!("{page}/resolve/main")),
            (
                &mirror,
                page,
                format!("{ours}/Qwen/Qwen2.5-7B/resolve/main"),
            ),
            (
                &mirror,
                &format!("{ours}/o/n"),
                format!("{ours}/o/n/resolve/main"),
            ),
            (&mirror, "hf://o/n", format!("{ours}/o/n/resolve/main")),
            (&mirror, other, other.to_owned()),
            (&public, "http://h/m/", "http://h/m".to_owned()),
            (
                &public,
                "http://h/m/config.json?x=1",
                "http://h/m".to_owned(),
            ),
            (
                &public,
                "http://h/m/model.safetensors",
                "http://h/m".to_owned(),
            ),
        ] {
            assert_eq!(folder(address, endpoints).unwrap(), expected);
        }
        let revision = folder("hf://o/n@refs%2Fpr%2F1", &public).unwrap();
        assert_eq!(revision, "https://huggingface.co/o/n/resolve/refs%2Fpr%2F1");
        for bad in "hf:// hf://o hf://o/ hf://datasets/o/n hf://../n hf://o/n@".split(' ') {
            let error = folder(bad, &public).unwrap_err().to_string();
            assert!(error.contains("hf://ORG/NAME"), "{error}");
        }
    }

    /// A weight file of one tensor.
    fn weights() -> Vec<u8> {
        let header = br#"{"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}"#;
        let length = (header.len() as u64).to_le_bytes();
        [&length[..], header, &[0; 16]].concat()
    }

    const CONFIG: &str = r#"{"hidden_size":64,"intermediate_size":128,"num_hidden_layers":2,
        "num_attention_heads":4,"vocab_size":1000}"#;

    /// Answers for a model of one weight file.
    fn model(request: &Request) -> Option<Sent> {
        let file = weights();
        Some(match request.target.as_str() {
            "/o/m/resolve/main/config.json" => Sent::status(200, CONFIG),
            "/o/m/resolve/main/model.safetensors" => Sent::file(request, &file, "\"v1\""),
            _ => Sent::status(404, ""),
        })
    }

    fn hubs(endpoint: &str) -> HubAccess {
        let mut hubs = HubAccess::default();
        hubs.endpoints.hugging_face = endpoint.to_owned();
        hubs.hugging_face_token = Some(Secret::new("hf_s3cr3t"));
        hubs
    }

    #[test]
    fn the_hub_is_asked_for_the_shape_and_the_header_alone_with_the_token() {
        let hub = Server::start(|_, request| model(request));
        let hubs = hubs(&hub.origin);
        for address in ["hf://o/m", "https://huggingface.co/o/m"] {
            let known = super::super::find(address, &hubs).unwrap();
            assert_eq!(known.weights, Weights::Stored(16.0));
            assert_eq!(known.model.heads, 4);
        }
        for request in hub.requests() {
            let token = request.header("authorization");
            assert_eq!(token, Some("Bearer hf_s3cr3t"), "{request:?}");
            assert!(request.target.ends_with(".json") || request.header("range").is_some());
        }
        let error = super::super::find("hf://o/n", &hubs).unwrap_err();
        assert!(error.to_string().contains("status 404"), "{error}");
    }

    #[test]
    fn the_token_does_not_follow_a_redirect_to_another_host() {
        let store = Server::start(|_, request| model(request));
        let origin = store.origin.clone();
        let hub = Server::start(move |_, request| {
            Some(Sent::redirect(&format!("{origin}{}", request.target)))
        });
        let known = super::super::find("hf://o/m", &hubs(&hub.origin)).unwrap();
        assert_eq!(known.weights, Weights::Stored(16.0));
        assert!(hub.requests()[0].header("authorization").is_some());
        for request in store.requests() {
            assert_eq!(request.header("authorization"), None, "{request:?}");
        }
        // A URL elsewhere never gets it.
        let folder = format!("{}/o/m/resolve/main", store.origin);
        super::super::find(&folder, &hubs(&hub.origin)).unwrap();
        let asked = store.requests();
        assert!(asked.iter().all(|r| r.header("authorization").is_none()));
    }

    #[test]
    fn a_gated_model_says_what_to_do() {
        let hub = Server::start(|_, _| Some(Sent::status(403, "")));
        let error = super::super::find("hf://o/m", &hubs(&hub.origin)).unwrap_err();
        assert!(error.to_string().contains("set HF_TOKEN"), "{error}");
    }

    #[test]
    fn a_proxy_that_is_given_is_asked_to_connect() {
        let proxy = Server::start(|_, _| Some(Sent::status(403, "")));
        let mut hubs = HubAccess::default();
        hubs.endpoints.hugging_face = "http://hub.invalid".to_owned();
        hubs.proxy = Some(Secret::new(&proxy.origin));
        let error = super::super::find("hf://o/m", &hubs).unwrap_err();
        assert!(error.to_string().contains("hub.invalid"), "{error}");
        assert_eq!(proxy.requests()[0].target, "hub.invalid:80");
    }

    #[test]
    fn a_config_without_end_is_refused() {
        let hub =
            Server::start(|_, _| Some(Sent::bare(200, &vec![b' '; LARGEST_CONFIG as usize + 1])));
        let error = super::super::find("hf://o/m", &hubs(&hub.origin)).unwrap_err();
        assert!(
            error.to_string().contains("more than 4194304 bytes"),
            "{error}"
        );
    }

    #[test]
    fn a_server_without_ranges_is_read_no_further_than_the_header() {
        let hub = Server::start(|_, request| {
            let sent = model(request)?;
            if request.header("range").is_none() {
                return Some(sent);
            }
            // The rest never comes.
            let file = weights();
            let sent = Sent::bare(200, &file[..file.len() - 16]);
            Some(sent.header("Content-Length", 1_u64 << 40).then_silent())
        });
        let known = super::super::find("hf://o/m", &hubs(&hub.origin)).unwrap();
        assert_eq!(known.weights, Weights::Stored(16.0));
    }
}
