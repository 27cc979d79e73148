//! Addresses of data sets: what a user may write, and the URL that it stands for.

use inferometer_fetch::url::{decoded, encoded, escape_stray, is_web, split_scheme, without_query};
use inferometer_fetch::{Endpoints, Uri};
use inferometer_text::hostile::printable;
use std::fmt;
use std::path::PathBuf;

const SHOWN_CHARS: usize = 300;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// A file on this machine.
    Local(PathBuf),
    Remote(Remote),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remote {
    /// `hf://datasets/ORG/NAME[@REVISION]/FILE`
    HuggingFace(HubFile),
    /// `ms://datasets/ORG/NAME[@REVISION]/FILE`
    ModelScope(HubFile),
    /// `http://…` or `https://…`
    Web(WebFile),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubFile {
    owner: String,
    name: String,
    revision: Option<String>,
    /// At least one segment, none of them empty or made of dots.
    path: Vec<String>,
}

/// A file at a URL without credentials and without a fragment.
#[derive(Clone, PartialEq, Eq)]
pub struct WebFile(Uri);

#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    #[error(
        "{scheme}:// addresses cannot be downloaded, only hf://, ms://, https:// and http://; \
         download the data set with its own tool and give the file"
    )]
    UnknownScheme { scheme: String },
    /// The address of a hub names no file.
    #[error(
        "{address} is not a complete address; \
         write {scheme}://datasets/ORG/NAME/FILE or {scheme}://datasets/ORG/NAME@REVISION/FILE"
    )]
    Incomplete {
        address: String,
        /// `hf` or `ms`.
        scheme: &'static str,
    },
    #[error("{address} cannot be downloaded: {reason}; write https://HOST/PATH")]
    BadAddress {
        /// What was given, without its secrets.
        address: String,
        reason: &'static str,
    },
    #[error("`{endpoint}` is not the endpoint of a hub; write it like https://huggingface.co")]
    BadEndpoint { endpoint: String },
}

impl Location {
    /// Reads what a user wrote. What has no scheme is a path.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let Some((scheme, rest)) = split_scheme(text) else {
            return Ok(Location::Local(PathBuf::from(text)));
        };
        let hub = |scheme| {
            let address = shown(text);
            HubFile::parse(rest).ok_or(AddressError::Incomplete { address, scheme })
        };
        let remote = match scheme.to_ascii_lowercase().as_str() {
            "hf" => Remote::HuggingFace(hub("hf")?),
            "ms" => Remote::ModelScope(hub("ms")?),
            "http" | "https" => Remote::Web(WebFile::parse(text)?),
            _ => {
                return Err(AddressError::UnknownScheme {
                    scheme: shown(scheme),
                });
            }
        };
        Ok(Location::Remote(remote))
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Location::Local(path) => path.display().fmt(f),
            Location::Remote(remote) => remote.fmt(f),
        }
    }
}

/// As the user wrote it, but for the query of a URL: that of a signed one is a secret.
impl fmt::Display for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Remote::HuggingFace(file) => format!("hf://{file}"),
            Remote::ModelScope(file) => format!("ms://{file}"),
            Remote::Web(WebFile(url)) => without_query(url),
        };
        f.write_str(&shown(&text))
    }
}

impl fmt::Display for HubFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "datasets/{}/{}", self.owner, self.name)?;
        if let Some(revision) = &self.revision {
            write!(f, "@{revision}")?;
        }
        write!(f, "/{}", self.path.join("/"))
    }
}

impl fmt::Debug for WebFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WebFile({})", without_query(&self.0))
    }
}

impl Remote {
    pub(super) fn url(&self, endpoints: &Endpoints) -> Result<Uri, AddressError> {
        let text = match self {
            Remote::HuggingFace(file) => format!(
                "{}/datasets/{}/{}/resolve/{}/{}",
                endpoints.hugging_face_base(),
                encoded(&file.owner),
                encoded(&file.name),
                encoded(file.revision.as_deref().unwrap_or("main")),
                file.encoded_path("/"),
            ),
            // The address that ModelScope's own Python client asks
            // (`HubApi.get_dataset_file_url`, seen in its source of July 2026). It is not
            // documented as stable.
            Remote::ModelScope(file) => format!(
                "{}/api/v1/datasets/{}/{}/repo?Revision={}&FilePath={}",
                endpoints.modelscope_base(),
                encoded(&file.owner),
                encoded(&file.name),
                encoded(file.revision.as_deref().unwrap_or("master")),
                file.encoded_path("%2F"),
            ),
            Remote::Web(WebFile(url)) => return Ok(url.clone()),
        };
        // The segments are encoded, so only the endpoint can be at fault.
        text.parse()
            .ok()
            .filter(is_web)
            .ok_or_else(|| AddressError::BadEndpoint {
                endpoint: match self {
                    Remote::ModelScope(_) => shown(&endpoints.modelscope),
                    _ => shown(&endpoints.hugging_face),
                },
            })
    }

    /// Name of the file as it is kept. Its end decides how it will be read, so that is kept
    /// when the name is too long.
    pub(super) fn file_name(&self) -> String {
        let name = match self {
            Remote::HuggingFace(file) | Remote::ModelScope(file) => {
                file.path.last().cloned().unwrap_or_default()
            }
            Remote::Web(WebFile(url)) => decoded(url.path().rsplit('/').next().unwrap_or_default()),
        };
        let name: String = name
            .chars()
            .map(|c| match c {
                c if c.is_alphanumeric() || "._-+".contains(c) => c,
                _ => '_',
            })
            .collect();
        let name = name.trim_start_matches('.');
        let mut cut = name.len().saturating_sub(LONGEST_NAME);
        while !name.is_char_boundary(cut) {
            cut += 1;
        }
        match &name[cut..] {
            "" => "data".to_owned(),
            name => name.to_owned(),
        }
    }
}

/// Bytes of a file name; room is left for what is appended to it.
const LONGEST_NAME: usize = 120;

impl HubFile {
    fn parse(rest: &str) -> Option<Self> {
        let mut segments = rest.split('/');
        if segments.next() != Some("datasets") {
            return None;
        }
        let owner = segments.next()?.to_owned();
        let repository = segments.next()?;
        let (name, revision) = match repository.split_once('@') {
            None => (repository, None),
            // Such revisions have slashes: `refs/convert/parquet`, `refs/pr/1`.
            Some((name, "refs")) => {
                let (kind, which) = (segments.next()?, segments.next()?);
                (name, Some(format!("refs/{kind}/{which}")))
            }
            Some((name, revision)) => (name, Some(decoded(revision))),
        };
        let name = name.to_owned();
        let path: Vec<String> = segments.map(str::to_owned).collect();
        let sound = |segment: &String| !matches!(segment.as_str(), "" | "." | "..");
        let whole = !path.is_empty()
            && path.iter().chain([&owner, &name]).all(sound)
            && revision.iter().all(sound);
        whole.then_some(HubFile {
            owner,
            name,
            revision,
            path,
        })
    }

    fn encoded_path(&self, separator: &str) -> String {
        let segments: Vec<String> = self.path.iter().map(|s| encoded(s)).collect();
        segments.join(separator)
    }
}

impl WebFile {
    fn parse(text: &str) -> Result<Self, AddressError> {
        let bad = |reason| AddressError::BadAddress {
            address: match text.split_once("://") {
                // Before it stands a user name, and perhaps a password.
                Some((scheme, rest)) if rest.contains('@') => format!("{scheme}://…"),
                _ => shown(text.split(['?', '#']).next().unwrap_or_default()),
            },
            reason,
        };
        let text = text.split('#').next().unwrap_or_default();
        let url: Uri = escape_stray(text)
            .parse()
            .map_err(|_| bad("it is not a URL"))?;
        if !is_web(&url) {
            return Err(bad("it names no host"));
        }
        if url.authority().is_some_and(|a| a.as_str().contains('@')) {
            return Err(bad("it holds a user name, which would be stored"));
        }
        Ok(WebFile(url))
    }
}

fn shown(text: &str) -> String {
    printable(text, SHOWN_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remote(text: &str) -> Remote {
        match Location::parse(text) {
            Ok(Location::Remote(remote)) => remote,
            other => panic!("{text}: {other:?}"),
        }
    }

    fn url(text: &str) -> String {
        remote(text).url(&Endpoints::default()).unwrap().to_string()
    }

    #[test]
    fn what_has_no_scheme_is_a_path() {
        for path in ["data.jsonl", "/tmp/a b.json", "./x://y", "C:\\x", ""] {
            let local = Location::Local(PathBuf::from(path));
            assert_eq!(Location::parse(path).unwrap(), local);
        }
    }

    #[test]
    fn hub_addresses_become_the_urls_that_the_hubs_document() {
        assert_eq!(
            url("hf://datasets/anon8231489123/ShareGPT/a b/ü#?.json"),
            "https://huggingface.co/datasets/anon8231489123/ShareGPT/resolve/main/a%20b/%C3%BC%23%3F.json"
        );
        assert_eq!(
            url("hf://datasets/o/n@v1.0/f.jsonl"),
            "https://huggingface.co/datasets/o/n/resolve/v1.0/f.jsonl"
        );
        let converted = "https://huggingface.co/datasets/o/n/resolve/refs%2Fconvert%2Fparquet/d/f";
        assert_eq!(url("hf://datasets/o/n@refs/convert/parquet/d/f"), converted);
        assert_eq!(
            url("hf://datasets/o/n@refs%2Fconvert%2Fparquet/d/f"),
            converted
        );
        assert_eq!(
            url("ms://datasets/o/n/d/f&.jsonl"),
            "https://modelscope.cn/api/v1/datasets/o/n/repo?Revision=master&FilePath=d%2Ff%26.jsonl"
        );
        assert_eq!(
            url("HTTPS://host:8443/a b/长.json?x=1#top"),
            "https://host:8443/a%20b/%E9%95%BF.json?x=1"
        );
    }

    #[test]
    fn a_mirror_is_given_with_or_without_scheme() {
        let mut endpoints = Endpoints {
            hugging_face: "http://mirror:8080/hub/".to_owned(),
            modelscope: "www.modelscope.cn".to_owned(),
        };
        let at = |e: &Endpoints, text: &str| remote(text).url(e).map(|url| url.to_string());
        assert_eq!(
            at(&endpoints, "hf://datasets/o/n/f").unwrap(),
            "http://mirror:8080/hub/datasets/o/n/resolve/main/f"
        );
        assert!(
            at(&endpoints, "ms://datasets/o/n/f")
                .unwrap()
                .starts_with("https://www.modelscope.cn/api/v1/")
        );
        for bad in ["", "ftp://x", "https://", "a b"] {
            endpoints.hugging_face = bad.to_owned();
            let error = at(&endpoints, "hf://datasets/o/n/f").unwrap_err();
            assert!(
                error.to_string().contains("https://huggingface.co"),
                "{bad}"
            );
        }
    }

    #[test]
    fn an_address_that_lacks_something_is_refused_with_its_form() {
        for text in [
            "hf://",
            "hf://o/n/f",
            "hf://datasets/o",
            "hf://datasets/o/n",
            "hf://datasets/o/n/",
            "hf://datasets/o/n@/f",
            "hf://datasets/o/n/../../x",
            "hf://datasets//n/f",
        ] {
            let error = Location::parse(text).unwrap_err().to_string();
            assert!(error.contains("hf://datasets/ORG/NAME/FILE"), "{error}");
        }
        let error = Location::parse("ms://datasets/o").unwrap_err().to_string();
        assert!(error.contains("ms://datasets/ORG/NAME/FILE"), "{error}");
        let error = Location::parse("s3://bucket/key").unwrap_err().to_string();
        assert!(
            error.contains("s3://") && error.contains("give the file"),
            "{error}"
        );
        assert!(Location::parse("https://").is_err());
        assert!(Location::parse("http:///x").is_err());
    }

    #[test]
    fn secrets_of_a_url_are_not_shown() {
        let signed = Location::parse("https://h/f.json?sig=s3cr3t").unwrap();
        assert_eq!(signed.to_string(), "https://h/f.json");
        assert!(!format!("{signed:?}").contains("s3cr3t"));
        let error = Location::parse("https://me:s3cr3t@h/f").unwrap_err();
        assert!(!error.to_string().contains("s3cr3t"), "{error}");
        let error = Location::parse("https://h h/f?sig=s3cr3t").map(|_| ());
        assert!(!format!("{error:?}").contains("s3cr3t"));
    }

    #[test]
    fn a_kept_name_is_readable_and_stays_in_its_folder() {
        for (text, name) in [
            ("https://h/a/b.jsonl.gz?x=/../y", "b.jsonl.gz"),
            ("https://h/", "data"),
            ("https://h/%2e%2e%2fpasswd", "_passwd"),
            ("https://h/..", "data"),
            ("https://h/.lock", "lock"),
            ("https://h/%E9%95%BF%00%e9.json", "长__.json"),
            ("hf://datasets/o/n/d/a b.json", "a_b.json"),
        ] {
            assert_eq!(remote(text).file_name(), name, "{text}");
        }
        let long = remote(&format!("https://h/{}.parquet", "长".repeat(200))).file_name();
        assert!(long.len() <= LONGEST_NAME && long.ends_with(".parquet"));
    }
}
