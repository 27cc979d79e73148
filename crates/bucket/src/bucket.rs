//! A bucket: what is asked of it, again where it is away for a moment, and what its refusals mean.

use crate::access::Keys;
use crate::error::BucketError;
use crate::listing::{Object, Page, Said, unquoted};
use crate::location::{Location, is_path};
use crate::sign::{Ask, escaped_key, hex};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use inferometer_fetch::{Access, Client, FetchError, Method, Response, Secret, Timeouts};
use inferometer_text::hostile::{escaped, printable};
use jiff::Timestamp;
use ring::digest::{Context, SHA256};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Bytes that are sent in one request; larger files go in parts. So much is held in memory, too.
const PART_BYTES: u64 = 16 << 20;
/// Most parts that stores take.
const MOST_PARTS: u64 = 10_000;
/// Objects of one listing.
const MOST_OBJECTS: usize = 100_000;
/// Bytes of a page of a listing, or of a reason.
const PAGE_BYTES: u64 = 8 << 20;

const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(8);

/// Hears why a store is waited for.
pub type Listener = Box<dyn Fn(&BucketError) + Send + Sync>;

/// How a store is waited for that does not answer, or is too busy.
pub struct Patience {
    /// No request begins later than this after its first try.
    pub limit: Duration,
    /// Hears why, once in each wait.
    pub tell: Option<Listener>,
}

impl Patience {
    pub fn silent(limit: Duration) -> Self {
        Patience { limit, tell: None }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    pub bytes: u64,
    /// SHA-256 of the content, in hexadecimal digits.
    pub sha256: String,
    /// The version that the store gave it.
    pub etag: String,
}

pub struct Bucket {
    place: Location,
    keys: Keys,
    client: Client,
    pub patience: Patience,
}

impl Bucket {
    pub fn open(
        place: Location,
        keys: Keys,
        proxy: Option<&Secret>,
        patience: Patience,
    ) -> Result<Self, BucketError> {
        let read = |path: &std::path::PathBuf| {
            std::fs::read(path).map_err(|source| BucketError::File {
                action: "read AWS_CA_BUNDLE",
                path: path.clone(),
                source,
            })
        };
        let access = Access {
            authorities_pem: keys.authorities.as_ref().map(read).transpose()?,
            ..Access::default()
        };
        let timeouts = Timeouts {
            connect: Duration::from_secs(10),
            read: Duration::from_secs(60),
            whole: None,
        };
        Ok(Bucket {
            client: Client::for_store(&access, proxy, timeouts)?,
            place,
            keys,
            patience,
        })
    }

    pub fn place(&self) -> &Location {
        &self.place
    }

    /// Host and port of the store.
    pub fn host(&self) -> &str {
        self.keys.host()
    }

    /// All objects below the place whose names can be paths there; others are none of ours.
    /// Their keys are those paths.
    pub fn list(&self) -> Result<Vec<Object>, BucketError> {
        let prefix = self.place.key("");
        let mut found: Vec<Object> = Vec::new();
        let mut next: Option<String> = None;
        loop {
            let page = self.again(|| self.page(&prefix, next.as_deref()))?;
            let below = page.objects.into_iter().filter_map(|object| {
                let path = object.key.strip_prefix(&prefix)?.to_owned();
                is_path(&path).then_some(Object {
                    key: path,
                    ..object
                })
            });
            found.extend(below);
            if found.len() > MOST_OBJECTS {
                return Err(BucketError::TooMany {
                    place: self.place.to_string(),
                    most: MOST_OBJECTS,
                });
            }
            match page.next {
                // A store that repeats itself would be asked for ever.
                Some(token) if next.as_ref() != Some(&token) => next = Some(token),
                _ => return Ok(found),
            }
        }
    }

    fn page(&self, prefix: &str, next: Option<&str>) -> Result<Page, BucketError> {
        let next = next.map(str::to_owned);
        let (mut query, token) = if self.keys.is_s3() {
            (vec![("list-type", "2".to_owned())], "continuation-token")
        } else {
            let listing = [("restype", "container"), ("comp", "list")];
            let listing = listing.map(|(name, value)| (name, value.to_owned()));
            (listing.to_vec(), "marker")
        };
        query.push(("prefix", prefix.to_owned()));
        query.extend(next.map(|next| (token, next)));
        let ask = Ask {
            path: self.path_of(None),
            query,
            ..self.ask(Method::Get, "")
        };
        let answer = self.answer("listing objects", &ask)?;
        let text = self.text(answer)?;
        Page::read(&text).map_err(|error| self.not_a_store(error.to_string()))
    }

    /// Reads an object of a listing into a file, which is made anew.
    pub fn get(&self, object: &Object, path: &Path) -> Result<(), BucketError> {
        let failed = |action: &'static str| {
            let path = path.to_owned();
            move |source: io::Error| BucketError::File {
                action,
                path,
                source,
            }
        };
        self.again(|| {
            let ask = self.ask(Method::Get, &object.key);
            let mut answer = self.answer("reading an object", &ask)?;
            let etag = answer.head.header("etag").map(unquoted);
            let changed = || BucketError::Changed {
                place: self.place.to_string(),
                key: printable(&object.key, 200),
            };
            if etag.is_some_and(|etag| etag != object.etag) {
                return Err(changed());
            }
            let mut file = File::create(path).map_err(failed("write"))?;
            let mut piece = vec![0; 256 << 10];
            let mut left = object.bytes;
            loop {
                let count = match answer.body.read(&mut piece) {
                    Ok(0) if left == 0 => return Ok(()),
                    Ok(0) => return Err(self.away("the answer broke off".to_owned())),
                    Ok(count) => count,
                    Err(error) => return Err(self.away(inferometer_fetch::reason(&error))),
                };
                left = left.checked_sub(count as u64).ok_or_else(changed)?;
                file.write_all(&piece[..count]).map_err(failed("write"))?;
            }
        })
    }

    /// Writes an object, whole or not at all.
    pub fn put(&self, name: &str, content: &[u8]) -> Result<Written, BucketError> {
        let mut ask = Ask {
            body: content,
            ..self.ask(Method::Put, name)
        };
        ask.headers.push(("content-type", kind_of(name).to_owned()));
        if !self.keys.is_s3() {
            ask.headers.push(("x-ms-blob-type", "BlockBlob".to_owned()));
        }
        let etag = self.again(|| {
            let answer = self.answer("writing", &ask)?;
            self.etag(&answer)
        })?;
        Ok(Written {
            bytes: content.len() as u64,
            sha256: hex(ring::digest::digest(&SHA256, content).as_ref()),
            etag,
        })
    }

    /// Writes the content of a file, whole or not at all; a large one in parts.
    pub fn put_file(&self, name: &str, path: &Path) -> Result<Written, BucketError> {
        let failed = |source| BucketError::File {
            action: "read",
            path: path.to_owned(),
            source,
        };
        let mut file = File::open(path).map_err(failed)?;
        let bytes = file.metadata().map_err(failed)?.len();
        // Rounded up to whole MiB, so that the last part is not one too many.
        let part_bytes = PART_BYTES.max((bytes / MOST_PARTS + 1).next_multiple_of(1 << 20));
        let mut part = Vec::new();
        let mut next = |part: &mut Vec<u8>| {
            part.clear();
            let read = (&mut file).take(part_bytes).read_to_end(part);
            read.map_err(failed)
        };
        next(&mut part)?;
        if bytes <= part_bytes {
            return self.put(name, &part);
        }
        let upload = self.begin_parts(name)?;
        let mut hash = Context::new(&SHA256);
        let (mut parts, mut sent) = (Vec::new(), 0);
        let done = loop {
            if part.is_empty() {
                break self.end_parts(name, &upload, &parts);
            }
            match self.put_part(name, &upload, parts.len() + 1, &part) {
                Ok(etag) => parts.push(etag),
                Err(error) => break Err(error),
            }
            hash.update(&part);
            sent += part.len() as u64;
            next(&mut part)?;
        };
        if done.is_err() && self.keys.is_s3() {
            // Parts of an upload that is never ended would be kept, and paid for.
            let ask = Ask {
                query: vec![("uploadId", upload)],
                ..self.ask(Method::Delete, name)
            };
            let _ = self.answer("giving up an upload", &ask);
        }
        Ok(Written {
            bytes: sent,
            sha256: hex(hash.finish().as_ref()),
            etag: done?,
        })
    }

    /// The name of the upload; Azure needs none.
    fn begin_parts(&self, name: &str) -> Result<String, BucketError> {
        if !self.keys.is_s3() {
            return Ok(String::new());
        }
        let mut ask = Ask {
            query: vec![("uploads", String::new())],
            ..self.ask(Method::Post, name)
        };
        ask.headers.push(("content-type", kind_of(name).to_owned()));
        self.again(|| {
            let answer = self.answer("writing", &ask)?;
            let text = self.text(answer)?;
            let upload = Said::read(&text).upload;
            upload.ok_or_else(|| self.not_a_store("an upload in parts has no name".to_owned()))
        })
    }

    fn put_part(
        &self,
        name: &str,
        upload: &str,
        number: usize,
        content: &[u8],
    ) -> Result<String, BucketError> {
        let query = if self.keys.is_s3() {
            vec![
                ("partNumber", number.to_string()),
                ("uploadId", upload.to_owned()),
            ]
        } else {
            vec![("comp", "block".to_owned()), ("blockid", block(number))]
        };
        let ask = Ask {
            query,
            body: content,
            ..self.ask(Method::Put, name)
        };
        self.again(|| {
            let answer = self.answer("writing", &ask)?;
            if self.keys.is_s3() {
                self.etag(&answer)
            } else {
                Ok(String::new())
            }
        })
    }

    fn end_parts(&self, name: &str, upload: &str, parts: &[String]) -> Result<String, BucketError> {
        let numbered = parts.iter().zip(1..);
        if !self.keys.is_s3() {
            let blocks = numbered.map(|(_, number)| format!("<Latest>{}</Latest>", block(number)));
            let list = format!("<BlockList>{}</BlockList>", blocks.collect::<String>());
            let kind = kind_of(name).to_owned();
            let ask = Ask {
                query: vec![("comp", "blocklist".to_owned())],
                headers: vec![("x-ms-blob-content-type", kind)],
                body: list.as_bytes(),
                ..self.ask(Method::Put, name)
            };
            return self.again(|| {
                let answer = self.answer("writing", &ask)?;
                self.etag(&answer)
            });
        }
        let parts = numbered.map(|(etag, number)| {
            let etag = escaped(etag);
            format!("<Part><PartNumber>{number}</PartNumber><ETag>\"{etag}\"</ETag></Part>")
        });
        let list = format!(
            "<CompleteMultipartUpload>{}</CompleteMultipartUpload>",
            parts.collect::<String>()
        );
        let ask = Ask {
            query: vec![("uploadId", upload.to_owned())],
            body: list.as_bytes(),
            ..self.ask(Method::Post, name)
        };
        self.again(|| {
            let answer = self.answer("writing", &ask)?;
            // It may be an error all the same: the head was sent before the parts were joined.
            let status = answer.head.status;
            let said = Said::read(&self.text(answer)?);
            let code = said.code.clone().unwrap_or_default();
            (said.etag).ok_or_else(|| self.answered("writing", status, &code))
        })
    }

    /// Removes an object; one that is not there is removed already.
    pub fn delete(&self, name: &str) -> Result<(), BucketError> {
        let ask = self.ask(Method::Delete, name);
        self.again(|| match self.answer("removing an object", &ask) {
            Err(BucketError::Answered { status: 404, .. }) => Ok(()),
            answer => answer.map(|_| ()),
        })
    }

    fn path_of(&self, name: Option<&str>) -> String {
        let path = &self.keys.path;
        match name {
            Some(name) => format!("{path}/{}", escaped_key(&self.place.key(name))),
            None if path.is_empty() => "/".to_owned(),
            None => path.clone(),
        }
    }

    fn ask(&self, method: Method, name: &str) -> Ask<'static> {
        Ask {
            method,
            path: self.path_of(Some(name)),
            query: Vec::new(),
            headers: Vec::new(),
            body: b"",
        }
    }

    /// Tries until it works, cannot work, or patience is at its end.
    fn again<T>(&self, attempt: impl Fn() -> Result<T, BucketError>) -> Result<T, BucketError> {
        let begun = Instant::now();
        let mut pause = FIRST_PAUSE;
        let mut told = false;
        loop {
            match attempt() {
                Err(error) if error.passes() && begun.elapsed() < self.patience.limit => {
                    let tell = self.patience.tell.iter().filter(|_| !told);
                    tell.for_each(|tell| tell(&error));
                    told = true;
                    sleep(pause.min(self.patience.limit));
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
                other => return other,
            }
        }
    }

    /// An answer that says yes.
    fn answer(&self, action: &'static str, ask: &Ask<'_>) -> Result<Response, BucketError> {
        let (url, headers) = self.keys.signed(ask, Timestamp::now());
        let sent = self.client.exchange(ask.method, &url, &headers, ask.body);
        let answer = sent.map_err(|error| self.of_fetch(error))?;
        match answer.head.status {
            200..=299 => Ok(answer),
            _ => Err(self.refusal(action, answer)),
        }
    }

    fn text(&self, answer: Response) -> Result<String, BucketError> {
        let bytes = answer.bytes(PAGE_BYTES);
        let bytes = bytes.map_err(|error| self.of_fetch(error))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn etag(&self, answer: &Response) -> Result<String, BucketError> {
        let etag = answer.head.header("etag").map(unquoted);
        etag.ok_or_else(|| self.not_a_store("it writes without an ETag".to_owned()))
    }

    fn of_fetch(&self, error: FetchError) -> BucketError {
        match error {
            FetchError::NoAnswer { reason, .. } => self.away(reason),
            other => other.into(),
        }
    }

    fn away(&self, why: String) -> BucketError {
        BucketError::Away {
            place: self.place.to_string(),
            host: self.host().to_owned(),
            why,
            variable: self.keys.endpoint_variable,
        }
    }

    fn not_a_store(&self, why: String) -> BucketError {
        BucketError::NotAStore {
            place: self.place.to_string(),
            host: self.host().to_owned(),
            why,
            variable: self.keys.endpoint_variable,
        }
    }

    fn answered(&self, action: &'static str, status: u16, said: &str) -> BucketError {
        BucketError::Answered {
            place: self.place.to_string(),
            action,
            status,
            said: self.keys.secrets.redact(said),
        }
    }

    /// What a refusal means for a user.
    fn refusal(&self, action: &'static str, answer: Response) -> BucketError {
        let status = answer.head.status;
        let header = |name: &str| answer.head.header(name).map(|text| printable(text, 60));
        let (region, azure) = (header("x-amz-bucket-region"), header("x-ms-error-code"));
        let bytes = answer.beginning(64 << 10).unwrap_or_default();
        let said = Said::read(&String::from_utf8_lossy(&bytes));
        let code = said.code.or(azure).unwrap_or_default();
        let place = self.place.to_string();
        let region = region.or(said.region);
        match (code.as_str(), status, region) {
            ("NoSuchBucket" | "ContainerNotFound" | "InvalidBucketName", ..) => {
                BucketError::NoBucket { place, code }
            }
            (
                "PermanentRedirect"
                | "TemporaryRedirect"
                | "AuthorizationHeaderMalformed"
                | "IllegalLocationConstraintException",
                _,
                Some(region),
            ) => BucketError::Elsewhere { place, region },
            (_, 301 | 307, Some(region)) => BucketError::Elsewhere { place, region },
            ("RequestTimeTooSkewed" | "RequestExpired", ..) => BucketError::Clock { place, code },
            (
                "InvalidAccessKeyId"
                | "InvalidClientTokenId"
                | "SignatureDoesNotMatch"
                | "ExpiredToken"
                | "InvalidToken"
                | "AuthenticationFailed"
                | "NoAuthenticationInformation",
                ..,
            )
            | (_, 401, _) => BucketError::WrongKey {
                place,
                code,
                variables: self.keys.key_variables,
            },
            ("", 300..=399 | 400 | 404 | 405, _) => {
                self.not_a_store(format!("it answers {status} and gives no reason"))
            }
            (_, 403, _) => BucketError::Refused {
                place,
                action,
                code,
            },
            _ => {
                let message = said.message.unwrap_or_default();
                self.answered(action, status, format!("{code} {message}").trim())
            }
        }
    }
}

/// The name of a block of Azure's, all of one length.
fn block(number: usize) -> String {
    STANDARD.encode(format!("{number:08}"))
}

/// By which a browser knows how to show a file.
fn kind_of(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("json") => "application/json",
        Some("toml" | "md" | "txt" | "csv" | "jsonl" | "log") => "text/plain; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests;
