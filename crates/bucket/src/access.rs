//! Where a store is and by which keys it is reached, from the variables that its own tools read.

use crate::error::BucketError;
use crate::location::{Location, Scheme};
use crate::sign::Ask;
use crate::sign::azure::AzureKeys;
use crate::sign::s3::S3Keys;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use inferometer_fetch::url::{root, split_scheme};
use inferometer_text::secret::Secrets;
use jiff::Timestamp;
use std::path::PathBuf;

/// An environment: the value of a variable that is set and not empty.
type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// How one bucket is reached. Nothing of it is ever shown.
pub struct Keys {
    signer: Signer,
    /// `https://HOST[:PORT]`.
    pub(crate) origin: String,
    /// Path of the bucket: empty, or with a slash at its beginning and none at its end.
    pub(crate) path: String,
    pub(crate) secrets: Secrets,
    /// File with certificate authorities in place of the system's.
    pub(crate) authorities: Option<PathBuf>,
    /// The variables by which another place or key is named.
    pub(crate) endpoint_variable: &'static str,
    pub(crate) key_variables: &'static str,
}

enum Signer {
    S3(S3Keys),
    Azure(AzureKeys),
}

impl Keys {
    pub fn find(place: &Location, variables: Variables<'_>) -> Result<Self, BucketError> {
        match place.scheme {
            Scheme::S3 => s3(place, variables),
            Scheme::Gs => gs(place, variables),
            Scheme::Az => az(place, variables),
        }
    }

    /// Whether the store speaks as S3 does.
    pub(crate) fn is_s3(&self) -> bool {
        matches!(self.signer, Signer::S3(_))
    }

    /// Host and port, as the header `Host` has them.
    pub fn host(&self) -> &str {
        split_scheme(&self.origin).map_or("", |(_, host)| host)
    }

    /// The address of a request, and all of its headers.
    pub(crate) fn signed(
        &self,
        ask: &Ask<'_>,
        now: Timestamp,
    ) -> (String, Vec<(&'static str, String)>) {
        let mut query = ask.query_text();
        let headers = match &self.signer {
            Signer::S3(keys) => keys.signed(ask, self.host(), now),
            Signer::Azure(keys) => {
                if let AzureKeys::Token(token) = keys {
                    let mark = if query.is_empty() { "" } else { "&" };
                    query = [query.as_str(), mark, token].concat();
                }
                keys.signed(ask, self.host(), now)
            }
        };
        let mark = if query.is_empty() { "" } else { "?" };
        let url = format!("{}{}{mark}{query}", self.origin, ask.path);
        (url, headers)
    }
}

const OF_S3: &str = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and AWS_ENDPOINT_URL for a store that is not Amazon's; files such as ~/.aws/credentials are not read";
const OF_GS: &str =
    "set GS_ACCESS_KEY_ID and GS_SECRET_ACCESS_KEY to an HMAC key of the bucket's project";
const OF_AZ: &str = "set AZURE_STORAGE_ACCOUNT, and AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN";

/// The value of a variable without which there are no keys.
fn required(
    place: &Location,
    variables: Variables<'_>,
    variable: &'static str,
    remedy: &'static str,
) -> Result<String, BucketError> {
    let value = variables(variable).map(|value| value.trim().to_owned());
    value
        .filter(|value| !value.is_empty())
        .ok_or_else(|| BucketError::Missing {
            place: place.to_string(),
            variable,
            remedy,
        })
}

fn s3(place: &Location, variables: Variables<'_>) -> Result<Keys, BucketError> {
    let wanted = |variable| required(place, variables, variable, OF_S3);
    let region = variables("AWS_REGION").or_else(|| variables("AWS_DEFAULT_REGION"));
    let region = region.unwrap_or_else(|| "us-east-1".to_owned());
    let is_region = |text: &str| text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    if !is_region(&region) {
        return Err(BucketError::BadVariable {
            variable: "AWS_REGION",
            why: "a region has letters, digits and dashes, as eu-central-1",
        });
    }
    let bucket = &place.bucket;
    let given = (variables("AWS_ENDPOINT_URL_S3").map(|url| ("AWS_ENDPOINT_URL_S3", url)))
        .or_else(|| variables("AWS_ENDPOINT_URL").map(|url| ("AWS_ENDPOINT_URL", url)));
    let (origin, path) = match given {
        Some((variable, url)) => {
            let (origin, path) = endpoint(variable, &url)?;
            let by_name = variables("AWS_VIRTUAL_HOSTED_STYLE_REQUEST");
            match split_scheme(&origin) {
                Some((scheme, host)) if by_name.as_deref() == Some("true") => {
                    (format!("{scheme}://{bucket}.{host}"), path)
                }
                _ => (origin, format!("{path}/{bucket}")),
            }
        }
        None => {
            let china = if region.starts_with("cn-") { ".cn" } else { "" };
            let host = format!("s3.{region}.amazonaws.com{china}");
            if bucket.contains('.') {
                // No certificate is for such a name.
                (format!("https://{host}"), format!("/{bucket}"))
            } else {
                (format!("https://{bucket}.{host}"), String::new())
            }
        }
    };
    let keys = S3Keys {
        id: wanted("AWS_ACCESS_KEY_ID")?,
        secret: wanted("AWS_SECRET_ACCESS_KEY")?,
        token: variables("AWS_SESSION_TOKEN"),
        region,
    };
    Ok(Keys {
        secrets: secrets([Some(&keys.id), Some(&keys.secret), keys.token.as_ref()]),
        signer: Signer::S3(keys),
        origin,
        path,
        authorities: variables("AWS_CA_BUNDLE").map(PathBuf::from),
        endpoint_variable: "AWS_ENDPOINT_URL and AWS_REGION",
        key_variables: "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN",
    })
}

fn gs(place: &Location, variables: Variables<'_>) -> Result<Keys, BucketError> {
    let wanted = |variable| required(place, variables, variable, OF_GS);
    let url = variables("GS_ENDPOINT_URL");
    let url = url.unwrap_or_else(|| "https://storage.googleapis.com".to_owned());
    let (origin, path) = endpoint("GS_ENDPOINT_URL", &url)?;
    let keys = S3Keys {
        id: wanted("GS_ACCESS_KEY_ID")?,
        secret: wanted("GS_SECRET_ACCESS_KEY")?,
        token: None,
        region: "auto".to_owned(),
    };
    Ok(Keys {
        secrets: secrets([Some(&keys.id), Some(&keys.secret), None]),
        signer: Signer::S3(keys),
        origin,
        path: format!("{path}/{}", place.bucket),
        authorities: None,
        endpoint_variable: "GS_ENDPOINT_URL",
        key_variables: "GS_ACCESS_KEY_ID and GS_SECRET_ACCESS_KEY",
    })
}

fn az(place: &Location, variables: Variables<'_>) -> Result<Keys, BucketError> {
    let wanted = |variable| required(place, variables, variable, OF_AZ);
    let account = wanted("AZURE_STORAGE_ACCOUNT")?;
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    if !account.bytes().all(plain) {
        return Err(BucketError::BadVariable {
            variable: "AZURE_STORAGE_ACCOUNT",
            why: "an account has lower-case letters and digits",
        });
    }
    let url = variables("AZURE_STORAGE_SERVICE_ENDPOINT");
    let url = url.unwrap_or_else(|| format!("https://{account}.blob.core.windows.net"));
    let (origin, path) = endpoint("AZURE_STORAGE_SERVICE_ENDPOINT", &url)?;
    let mut known = [None, None, None];
    let keys = match variables("AZURE_STORAGE_SAS_TOKEN") {
        Some(token) => {
            let token = token.trim().trim_start_matches('?').to_owned();
            let is_query = |b: u8| b.is_ascii_graphic() && !b"#\"<>".contains(&b);
            if token.is_empty() || !token.bytes().all(is_query) {
                return Err(BucketError::BadVariable {
                    variable: "AZURE_STORAGE_SAS_TOKEN",
                    why: "a token is a query of a URL, as sv=…&sig=…",
                });
            }
            let signature = token.split('&').find_map(|pair| pair.strip_prefix("sig="));
            known = [Some(token.clone()), signature.map(str::to_owned), None];
            AzureKeys::Token(token)
        }
        None => {
            let text = wanted("AZURE_STORAGE_KEY")?;
            let key = STANDARD.decode(&text);
            known[0] = Some(text);
            AzureKeys::Shared {
                account,
                key: key.map_err(|_| BucketError::BadVariable {
                    variable: "AZURE_STORAGE_KEY",
                    why: "a key is text in base64, as the portal shows it",
                })?,
            }
        }
    };
    Ok(Keys {
        secrets: secrets(known.each_ref().map(Option::as_ref)),
        signer: Signer::Azure(keys),
        origin,
        path: format!("{path}/{}", place.bucket),
        authorities: None,
        endpoint_variable: "AZURE_STORAGE_ACCOUNT and AZURE_STORAGE_SERVICE_ENDPOINT",
        key_variables: "AZURE_STORAGE_ACCOUNT, AZURE_STORAGE_KEY and AZURE_STORAGE_SAS_TOKEN",
    })
}

fn secrets(known: [Option<&String>; 3]) -> Secrets {
    let mut secrets = Secrets::default();
    known
        .into_iter()
        .flatten()
        .for_each(|secret| secrets.add(secret));
    secrets
}

/// The origin and the path of an endpoint, without a slash at the end.
fn endpoint(variable: &'static str, url: &str) -> Result<(String, String), BucketError> {
    let url = url.trim();
    let is_web = url.starts_with("http://") || url.starts_with("https://");
    let odd = |c: char| c.is_whitespace() || c.is_control() || "?#@".contains(c);
    match root(url).filter(|_| is_web && !url.contains(odd)) {
        Some(origin) => {
            let path = url[origin.len()..].trim_end_matches('/');
            Ok((origin.to_owned(), path.to_owned()))
        }
        None => Err(BucketError::BadVariable {
            variable,
            why: "an endpoint is written like https://HOST:PORT",
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(place: &str, variables: &[(&str, &str)]) -> Result<Keys, BucketError> {
        let look = |name: &str| {
            let mut found = variables.iter().filter(|(known, _)| *known == name);
            found.next().map(|(_, value)| (*value).to_owned())
        };
        Keys::find(&place.parse().unwrap(), &look)
    }

    const AWS: [(&str, &str); 2] = [
        ("AWS_ACCESS_KEY_ID", "id-of-key"),
        ("AWS_SECRET_ACCESS_KEY", "s3cr3t"),
    ];

    fn at(place: &str, more: &[(&str, &str)]) -> String {
        let keys = found(place, &[&AWS[..], more].concat()).unwrap();
        format!("{}{}", keys.origin, keys.path)
    }

    #[test]
    fn amazons_buckets_have_names_of_their_own_and_others_a_path() {
        let own = ("AWS_ENDPOINT_URL", "http://h:9000/");
        let of_s3 = ("AWS_ENDPOINT_URL_S3", "https://oss.example");
        let by_name = ("AWS_VIRTUAL_HOSTED_STYLE_REQUEST", "true");
        let china = ("AWS_DEFAULT_REGION", "cn-north-1");
        for (more, address) in [
            (&[][..], "https://lab.s3.us-east-1.amazonaws.com"),
            (&[china], "https://lab.s3.cn-north-1.amazonaws.com.cn"),
            (&[own], "http://h:9000/lab"),
            (&[own, of_s3], "https://oss.example/lab"),
            (&[of_s3, by_name], "https://lab.oss.example"),
        ] {
            assert_eq!(at("s3://lab/x", more), address);
        }
        let dotted = at("s3://lab.one/x", &[("AWS_REGION", "eu-west-1")]);
        assert_eq!(dotted, "https://s3.eu-west-1.amazonaws.com/lab.one");
    }

    #[test]
    fn what_is_missing_is_named_with_its_remedy() {
        let account = [("AZURE_STORAGE_ACCOUNT", "a")];
        for (place, variables, missing) in [
            ("s3://lab/x", &[][..], "AWS_ACCESS_KEY_ID"),
            ("s3://lab/x", &AWS[..1], "AWS_SECRET_ACCESS_KEY"),
            ("gs://lab/x", &AWS[..], "GS_ACCESS_KEY_ID"),
            ("az://lab/x", &[], "AZURE_STORAGE_ACCOUNT"),
            ("az://lab/x", &account, "AZURE_STORAGE_KEY"),
        ] {
            let error = found(place, variables).err().unwrap().to_string();
            assert!(error.contains(&format!("needs {missing}")), "{error}");
            assert!(error.contains("; set "), "{error}");
        }
    }

    #[test]
    fn odd_values_are_refused_unrepeated() {
        for (place, name, value) in [
            ("s3://lab/x", "AWS_ENDPOINT_URL", "h:9000"),
            ("s3://lab/x", "AWS_ENDPOINT_URL", "http://me:pw1234@h"),
            ("s3://lab/x", "AWS_REGION", "a/b pw1234"),
            ("az://lab/x", "AZURE_STORAGE_KEY", "pw1234!"),
            ("az://lab/x", "AZURE_STORAGE_SAS_TOKEN", "pw1234\n"),
            ("az://lab/x", "AZURE_STORAGE_ACCOUNT", "Pw1234"),
        ] {
            let account = ("AZURE_STORAGE_ACCOUNT", "lab");
            let variables = [&[(name, value)], &AWS[..], &[account]].concat();
            let error = found(place, &variables)
                .err()
                .map(|error| error.to_string());
            // A line end after a token is not the user's fault.
            let Some(error) = error else {
                assert!(value.ends_with('\n'));
                continue;
            };
            assert!(error.contains(name) && !error.contains("1234"), "{error}");
        }
    }

    #[test]
    fn a_token_of_azure_goes_into_the_query_only() {
        let variables = [
            ("AZURE_STORAGE_ACCOUNT", "lab"),
            ("AZURE_STORAGE_SAS_TOKEN", "?sv=1&sig=abc%3D"),
        ];
        let keys = found("az://box/x", &variables).unwrap();
        let ask = Ask {
            method: inferometer_fetch::Method::Get,
            path: format!("{}/x", keys.path),
            query: vec![("comp", "list".into())],
            headers: Vec::new(),
            body: b"",
        };
        let (url, _) = keys.signed(&ask, "2026-11-17T16:00:05Z".parse().unwrap());
        assert_eq!(
            url,
            "https://lab.blob.core.windows.net/box/x?comp=list&sv=1&sig=abc%3D"
        );
        let none = Ask {
            query: Vec::new(),
            ..ask
        };
        let (url, _) = keys.signed(&none, "2026-11-17T16:00:05Z".parse().unwrap());
        assert!(url.ends_with("/box/x?sv=1&sig=abc%3D"), "{url}");
    }
}
