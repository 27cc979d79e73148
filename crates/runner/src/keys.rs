//! Secrets of a run: read here, handed to the requests, and known so that they are never
//! written.

use crate::error::{Context as _, RunnerError, bail};
use crate::session::Session;
use inferometer_core::options::Options;
use inferometer_core::scenario::{Connection, Scenario, ServerMetrics};
use inferometer_core::value::JsonObject;
use inferometer_engine::Access;
use inferometer_load::connect::base64;
use inferometer_load::http::Target;
use inferometer_text::secret::{REDACTED, Secrets, json_secrets};
use inferometer_text::user_file;
use std::path::PathBuf;

/// Headers with their secrets, and what must never be written.
pub struct Keys {
    pub headers: Vec<(String, String)>,
    /// Values to keep out of everything.
    pub secrets: Secrets,
    /// The model that the user names. Gateways want it in a header, too, where it is no secret.
    model: String,
}

impl Keys {
    /// Reads the API key and the user's headers.
    pub fn read(
        options: &Options,
        targets: &[Target],
        session: &Session,
    ) -> Result<Keys, RunnerError> {
        let mut keys = Keys {
            headers: Vec::new(),
            secrets: Secrets::default(),
            model: (options.connection.model.as_ref())
                .map_or(String::new(), |mix| mix.first().to_owned()),
        };
        if let Some(proxy) = &options.connection.proxy {
            keys.credentials(&Target::parse(proxy).context("--proxy")?);
        }
        for target in targets {
            keys.credentials(target);
            target
                .query_secrets()
                .for_each(|secret| keys.secrets.add(secret));
        }
        let fields = [
            ("--extra", &options.work.extra),
            ("--raw-body", &options.connection.raw_body),
        ];
        for (name, fields) in fields {
            let mut fields = fields.clone();
            let secrets = fields.iter_mut().flat_map(|it| json_secrets(&mut it.0));
            for secret in secrets {
                if secret == REDACTED {
                    bail!(
                        "{name} was stored without its secret; give {name} again on the command line"
                    );
                }
                keys.secrets.add(secret);
            }
        }
        for header in options.connection.header.iter().flatten() {
            keys.header(&header.key, &header.value)?;
        }
        if keys
            .headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("authorization"))
        {
            return Ok(keys);
        }
        if let Some(key) = api_key(options, session)? {
            keys.header("Authorization", &format!("Bearer {key}"))?;
            keys.secrets.add(&key);
        }
        Ok(keys)
    }

    /// What opens the servers' doors for questions beside the measured requests.
    pub fn access(&self, connection: &Connection) -> Result<Access, RunnerError> {
        let read = |file: &PathBuf| {
            user_file::read(file).with_context(|| format!("cannot read {}", file.display()))
        };
        let identity = connection.client_cert.as_ref();
        let identity = identity.zip(connection.client_key.as_ref());
        Ok(Access {
            headers: self.headers.clone(),
            insecure: connection.insecure,
            authorities_pem: connection.ca.as_ref().map(read).transpose()?,
            identity_pem: identity
                .map(|(cert, key)| Ok::<_, RunnerError>((read(cert)?, read(key)?)))
                .transpose()?,
        })
    }

    fn credentials(&mut self, of: &Target) {
        let Some(credentials) = &of.credentials else {
            return;
        };
        self.secrets.add(&base64(credentials.as_bytes()));
        self.secrets.add(credentials);
        // A server may repeat the password alone.
        if let Some((_, password)) = credentials.split_once(':') {
            self.secrets.add(password);
        }
    }

    fn header(&mut self, name: &str, value: &str) -> Result<(), RunnerError> {
        let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        if name.is_empty() || !name.chars().all(token) {
            bail!("--header '{name}' is not the name of a header; write NAME=VALUE");
        }
        if value.chars().any(|c| c.is_control() && c != '\t') {
            bail!("the value of --header {name} has a control character; write it on one line");
        }
        if !self.model.eq_ignore_ascii_case(value) {
            self.secrets.add(value);
        }
        // Servers repeat the key without `Bearer` before it.
        if let Some((_, key)) = value
            .split_once(' ')
            .filter(|_| name.eq_ignore_ascii_case("authorization"))
        {
            self.secrets.add(key);
        }
        self.headers.push((name.to_owned(), value.to_owned()));
        Ok(())
    }
}

/// A scenario as it may be stored and shown: without passwords and keys.
pub fn without_secrets(mut scenario: Scenario) -> Result<Scenario, RunnerError> {
    plain_connection(
        &mut scenario.connection.proxy,
        &mut scenario.connection.server_metrics,
    )?;
    plain_extra(&mut scenario.work.extra);
    if let Some(raw) = &mut scenario.connection.raw {
        plain_object(&mut raw.body);
    }
    Ok(scenario)
}

/// The same for what was typed.
pub fn options_without_secrets(mut options: Options) -> Result<Options, RunnerError> {
    let connection = &mut options.connection;
    for url in connection.url.iter_mut().flatten() {
        *url = Target::parse(url)?.to_string();
    }
    let mut metrics = connection.server_metrics.take().unwrap_or_default();
    plain_connection(&mut connection.proxy, &mut metrics)?;
    connection.server_metrics = Some(metrics).filter(|metrics| *metrics != ServerMetrics::Auto);
    plain_extra(&mut options.work.extra);
    plain_extra(&mut options.connection.raw_body);
    Ok(options)
}

fn plain_connection(
    proxy: &mut Option<String>,
    metrics: &mut ServerMetrics,
) -> Result<(), RunnerError> {
    if let Some(proxy) = proxy {
        *proxy = Target::parse(proxy)?.to_string();
    }
    if let ServerMetrics::At(url) = metrics {
        *url = Target::parse(url)?.to_string();
    }
    Ok(())
}

fn plain_extra(extra: &mut Option<JsonObject>) {
    if let Some(extra) = extra {
        plain_object(extra);
    }
}

fn plain_object(object: &mut JsonObject) {
    for value in json_secrets(&mut object.0) {
        *value = REDACTED.to_owned();
    }
}

/// The API key, from a file or from the environment.
fn api_key(options: &Options, session: &Session) -> Result<Option<String>, RunnerError> {
    if let Some(file) = &options.connection.api_key_file {
        let key = user_file::read_text(file).with_context(|| {
            format!(
                "cannot read --api-key-file {}; check the path and its permissions",
                file.display()
            )
        })?;
        return match key.trim() {
            "" => bail!(
                "--api-key-file {} is empty; put the key into it",
                file.display()
            ),
            key => Ok(Some(key.to_owned())),
        };
    }
    let named = options.connection.api_key_env.as_deref();
    let name = named.unwrap_or("OPENAI_API_KEY");
    match session.variable(name).map(str::trim) {
        Some(key) if !key.is_empty() => Ok(Some(key.to_owned())),
        // The default variable need not exist; one that was named must, unless it is the default.
        _ if named.is_some_and(|name| name != "OPENAI_API_KEY") => {
            bail!("the environment variable {name} of --api-key-env is not set; set it to the key")
        }
        _ => Ok(None),
    }
}
