//! Alerts: each told once, to whoever wants to hear it, and kept beside the probes.

use crate::output::fitted;
use crate::stderr::say;
use anyhow::Context;
use inferometer_fetch::{Client, HubAccess, Timeouts};
use inferometer_message::WatchText;
use inferometer_runner::host;
use inferometer_text::Lang;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Longest that a command or a webhook may take.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum AlertKind {
    /// A metric has changed for the worse.
    Worse,
    /// The server cannot be measured.
    Away,
    /// It can be measured again.
    Back,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alert {
    pub kind: AlertKind,
    /// What makes it the same as one that was told before.
    pub key: String,
    pub text: String,
}

/// A line of the file of alerts.
#[derive(Serialize, Deserialize)]
struct Told {
    time: String,
    kind: AlertKind,
    key: String,
    text: String,
}

pub struct Alerts {
    file: PathBuf,
    told: BTreeSet<String>,
    /// The key of the alert that the server is away, as long as it is.
    away: Option<String>,
    command: Option<String>,
    webhook: Option<(Client, String)>,
    lang: Lang,
}

fn tell(line: &str) {
    say(fitted(line, &std::io::stderr()));
}

impl Alerts {
    /// Those of a folder of probes, with what was told there before.
    pub fn open(
        folder: &Path,
        command: Option<String>,
        webhook: Option<String>,
        access: HubAccess,
        lang: Lang,
    ) -> anyhow::Result<Self> {
        let file = folder.join("alerts.jsonl");
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let told = text.lines().filter_map(|it| serde_json::from_str(it).ok());
        let told: Vec<Told> = told.collect();
        let of_server = |it: &&Told| it.kind != AlertKind::Worse;
        let away = (told.iter().rfind(of_server)).filter(|it| it.kind == AlertKind::Away);
        let away = away.map(|it| it.key.clone());
        // The token of a hub is nobody else's.
        let access = HubAccess {
            hugging_face_token: None,
            ..access
        };
        let webhook = (webhook.map(|url| {
            let client = Client::for_hubs(&access, Timeouts::whole(PATIENCE))?;
            Ok::<_, inferometer_fetch::FetchError>((client, url))
        }))
        .transpose()?;
        Ok(Alerts {
            file,
            told: told.into_iter().map(|it| it.key).collect(),
            away,
            command,
            webhook,
            lang,
        })
    }

    /// That the server is away, or back.
    pub fn of_server(&mut self, error: Option<String>) -> Option<Alert> {
        let new_key = |kind: AlertKind| format!("{} {}", <&str>::from(kind), host::now());
        let kind = match error {
            Some(_) => AlertKind::Away,
            None => AlertKind::Back,
        };
        let (key, text) = match error {
            Some(why) => {
                let key = self.away.get_or_insert_with(|| new_key(kind)).clone();
                (key, WatchText::Away.with(self.lang, &[("why", why)]))
            }
            None => {
                self.away.take()?;
                (new_key(kind), WatchText::Back.text(self.lang).to_owned())
            }
        };
        Some(Alert { kind, key, text })
    }

    /// Tells what was not told before.
    pub fn tell(&mut self, alerts: &[Alert]) -> anyhow::Result<()> {
        for alert in alerts {
            if !self.told.insert(alert.key.clone()) {
                continue;
            }
            self.keep(alert)?;
            let kind: &str = alert.kind.into();
            tell(&format!("{}: {}", kind.to_uppercase(), alert.text));
            if let Some(command) = &self.command
                && let Err(why) = run(command, alert)
            {
                tell(&WatchText::AlertFailed.with(self.lang, &[("why", why)]));
            }
            if let Some((client, url)) = &self.webhook
                && let Err(why) = post(client, url, alert)
            {
                let why = [("why", why.replace(&**url, "the URL"))];
                tell(&WatchText::WebhookFailed.with(self.lang, &why));
            }
        }
        Ok(())
    }

    fn keep(&self, alert: &Alert) -> anyhow::Result<()> {
        let told = Told {
            time: host::now(),
            kind: alert.kind,
            key: alert.key.clone(),
            text: alert.text.clone(),
        };
        let mut file = (std::fs::OpenOptions::new().append(true).create(true))
            .open(&self.file)
            .with_context(|| format!("cannot write {}", self.file.display()))?;
        writeln!(file, "{}", serde_json::to_string(&told)?)?;
        Ok(())
    }
}

fn run(command: &str, alert: &Alert) -> Result<(), String> {
    let kind: &str = alert.kind.into();
    let mut child = Command::new("sh")
        .args(["-c", command])
        .env("INFEROMETER_ALERT", &alert.text)
        .env("INFEROMETER_ALERT_KIND", kind)
        .stdin(Stdio::null())
        .spawn()
        .map_err(|error| error.to_string())?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(status.to_string()),
            Ok(None) if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(20));
            }
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("it did not end within {} s", PATIENCE.as_secs()));
            }
            Err(error) => return Err(error.to_string()),
        }
    }
}

fn post(client: &Client, url: &str, alert: &Alert) -> Result<(), String> {
    let kind: &str = alert.kind.into();
    let body = serde_json::json!({ "text": format!("{kind}: {}", alert.text), "kind": kind });
    let reply = client.post_json(url, &body.to_string());
    let reply = reply.map_err(|error| error.to_string())?;
    match reply.status {
        200..300 => Ok(()),
        status => Err(format!("status {status}")),
    }
}
