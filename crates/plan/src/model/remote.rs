//! A model on a server: its `config.json`, and of its weights only the headers, by HTTP range.

use super::folder::{INDEX, LARGEST_INDEX};
use super::safetensors::{LONGEST_HEADER, header_length, tensor_bytes};
use super::{KnownModel, LARGEST_CONFIG, SourceError};
use inferometer_catalog::model::Model;
use inferometer_text::hostile::printable;
use serde_json::Value;
use std::io::Read;
use std::time::Duration;
use thiserror::Error;
use ureq::Agent;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

/// How long a server may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why a server's file cannot be had.
#[derive(Debug, Error)]
pub enum RemoteError {
    #[error("cannot reach {url}: {reason}")]
    Unreachable { url: String, reason: String },
    /// Another answer than the file.
    #[error("{url} answers with status {status}; check the address")]
    Status { url: String, status: u16 },
    /// The file is larger than any of its kind.
    #[error("{url} has more than {most} bytes, which is no file of its kind")]
    TooLarge { url: String, most: u64 },
    #[error("{url} is not UTF-8 text")]
    NotText { url: String },
}

/// The model behind a URL: a folder, a `config.json`, a weight file or a page of Hugging Face.
pub(super) fn find(url: &str) -> Result<KnownModel, SourceError> {
    let folder = folder(url);
    let agent = agent();
    let config = whole(&agent, &format!("{folder}/config.json"), LARGEST_CONFIG)?;
    let name = folder.trim_end_matches("/resolve/main");
    let described = Model::described(name, &text(&folder, config)?)?;
    Ok(KnownModel::of_description(
        described,
        stored(&agent, &folder)?,
    )?)
}

/// The folder that a URL names, or that holds the file which it names.
fn folder(url: &str) -> String {
    let url = url
        .split(['?', '#'])
        .next()
        .unwrap_or(url)
        .trim_end_matches('/');
    if url.ends_with(".json") || url.ends_with(".safetensors") {
        return url
            .rsplit_once('/')
            .map_or(url, |(folder, _)| folder)
            .to_owned();
    }
    let page = url.strip_prefix("https://huggingface.co/");
    match page.map(|page| page.split('/').count()) {
        Some(2) => format!("{url}/resolve/main"),
        _ => url.to_owned(),
    }
}

/// Bytes of the weights: as the index says, else from the header of the one file; `None` where
/// there is neither.
fn stored(agent: &Agent, folder: &str) -> Result<Option<f64>, SourceError> {
    let index = format!("{folder}/{INDEX}");
    if let Some(text) = optional(whole(agent, &index, LARGEST_INDEX))? {
        let index: Option<Value> = serde_json::from_slice(&text).ok();
        let total = index.and_then(|index| index.pointer("/metadata/total_size")?.as_f64());
        return Ok(total.filter(|total| total.is_finite() && *total > 0.0));
    }
    let file = format!("{folder}/model.safetensors");
    let Some(head) = optional(part(agent, &file, 0, 8))? else {
        return Ok(None);
    };
    let Ok(head) = <[u8; 8]>::try_from(head.as_slice()) else {
        return Ok(None);
    };
    let length = header_length(&file, head)?;
    let header = part(agent, &file, 8, length)?;
    Ok(Some(tensor_bytes(&file, &header)?))
}

/// What is not there is no error.
fn optional(answer: Result<Vec<u8>, RemoteError>) -> Result<Option<Vec<u8>>, RemoteError> {
    match answer {
        Ok(bytes) => Ok(Some(bytes)),
        Err(RemoteError::Status { status: 404, .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

fn agent() -> Agent {
    let native = rustls_native_certs::load_native_certs().certs;
    let certificates = native
        .iter()
        .map(|der| Certificate::from_der(der).to_owned());
    let roots = match native.is_empty() {
        true => RootCerts::WebPki,
        false => RootCerts::from(certificates),
    };
    Agent::config_builder()
        // Its default would be taken from the environment.
        .proxy(None)
        .tls_config(TlsConfig::builder().root_certs(roots).build())
        .user_agent(concat!("inferometer/", env!("CARGO_PKG_VERSION")))
        .accept_encoding("identity")
        .http_status_as_error(false)
        .max_redirects(5)
        .timeout_global(Some(PATIENCE))
        .build()
        .new_agent()
}

fn whole(agent: &Agent, url: &str, most: u64) -> Result<Vec<u8>, RemoteError> {
    get(agent, url, None, most)
}

fn part(agent: &Agent, url: &str, from: u64, length: u64) -> Result<Vec<u8>, RemoteError> {
    let range = format!("bytes={from}-{}", from + length - 1);
    let skip = from as usize;
    let mut bytes = get(agent, url, Some(&range), LONGEST_HEADER + 8)?;
    // A server without ranges sends from the beginning.
    if bytes.len() as u64 > length {
        bytes.drain(..skip.min(bytes.len()));
        bytes.truncate(length as usize);
    }
    Ok(bytes)
}

fn get(agent: &Agent, url: &str, range: Option<&str>, most: u64) -> Result<Vec<u8>, RemoteError> {
    let mut request = agent.get(url);
    if let Some(range) = range {
        request = request.header("Range", range);
    }
    let unreachable = |reason: String| RemoteError::Unreachable {
        url: url.to_owned(),
        reason: printable(&reason, 200),
    };
    let response = request
        .call()
        .map_err(|error| unreachable(error.to_string()))?;
    let status = response.status().as_u16();
    if !(200..300).contains(&status) {
        return Err(RemoteError::Status {
            url: url.to_owned(),
            status,
        });
    }
    let mut bytes = Vec::new();
    let limit = match (range, status) {
        // The whole file where a part was asked: take no more of it than the part may need.
        (Some(_), 200) => most,
        _ => most + 1,
    };
    response
        .into_body()
        .into_reader()
        .take(limit)
        .read_to_end(&mut bytes)
        .map_err(|error| unreachable(error.to_string()))?;
    if bytes.len() as u64 > most {
        return Err(RemoteError::TooLarge {
            url: url.to_owned(),
            most,
        });
    }
    Ok(bytes)
}

fn text(url: &str, bytes: Vec<u8>) -> Result<String, RemoteError> {
    String::from_utf8(bytes).map_err(|_| RemoteError::NotText {
        url: url.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::Weights;
    use super::*;
    use std::io::Write;
    use std::net::TcpListener;

    #[test]
    fn pages_folders_and_files_lead_to_the_folder() {
        for (url, expected) in [
            (
                "https://huggingface.co/Qwen/Qwen2.5-7B",
                "https://huggingface.co/Qwen/Qwen2.5-7B/resolve/main",
            ),
            ("http://h/m/", "http://h/m"),
            ("http://h/m/config.json?x=1", "http://h/m"),
            ("http://h/m/model.safetensors", "http://h/m"),
        ] {
            assert_eq!(folder(url), expected);
        }
    }

    /// Serves a model of one weight file, by ranges.
    fn serve() -> String {
        let config = br#"{"hidden_size":64,"intermediate_size":128,"num_hidden_layers":2,
            "num_attention_heads":4,"vocab_size":1000}"#;
        let header = br#"{"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}"#;
        let mut file = (header.len() as u64).to_le_bytes().to_vec();
        file.extend_from_slice(header);
        file.extend_from_slice(&[0; 16]);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/m", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    let mut byte = [0];
                    if stream.read_exact(&mut byte).is_err() {
                        break;
                    }
                    head.push(byte[0]);
                }
                let head = String::from_utf8_lossy(&head).to_lowercase();
                let range = head
                    .lines()
                    .find_map(|line| line.strip_prefix("range: bytes="));
                let (status, body) = if head.starts_with("get /m/config.json") {
                    ("200 OK", config.to_vec())
                } else if head.starts_with("get /m/model.safetensors ") {
                    let (from, to) = range.unwrap().trim().split_once('-').unwrap();
                    let (from, to): (usize, usize) = (from.parse().unwrap(), to.parse().unwrap());
                    ("206 Partial Content", file[from..=to].to_vec())
                } else {
                    ("404 Not Found", Vec::new())
                };
                let length = body.len();
                let _ = write!(
                    stream,
                    "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
                );
                let _ = stream.write_all(&body);
            }
        });
        url
    }

    #[test]
    fn a_server_is_asked_for_the_shape_and_the_header_alone() {
        let url = serve();
        let known = find(&url).unwrap();
        assert_eq!(known.weights, Weights::Stored(16.0));
        assert_eq!(known.model.heads, 4);
        let error = find(&url.replace("/m", "/n")).unwrap_err();
        assert!(error.to_string().contains("status 404"), "{error}");
    }
}
