//! When an engine is ready.

use inferometer_catalog::engine::{EngineKind, ready_line};
use inferometer_fetch::url::root;
use inferometer_fetch::{Access, Client};
use serde_json::{Value, json};
use std::time::Duration;

/// Answers in a row that stand for the line of a log that we do not see.
const IN_A_ROW: u32 = 2;

/// What must hold before an engine counts as ready: all that is given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Readiness {
    /// Paths on the measured server, or whole addresses: one of them answers 200.
    pub probes: Vec<String>,
    /// A piece of a line that its log must have.
    pub line: Option<String>,
    /// What stands for that line where the log is silent or elsewhere: one of these, twice in a
    /// row.
    pub instead: Vec<Proof>,
}

/// An answer that only a warmed-up engine gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// A path on the measured server, or a whole address, answers 200.
    Answer(String),
    /// A completion of one token succeeds.
    Completion,
}

impl std::fmt::Display for Proof {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Proof::Answer(path) => f.write_str(path),
            Proof::Completion => f.write_str("a completion of one token"),
        }
    }
}

impl Readiness {
    /// As each engine shows it.
    pub fn of(engine: EngineKind) -> Self {
        let probes: &[&str] = match engine {
            EngineKind::Vllm
            | EngineKind::LlamaServer
            | EngineKind::Sglang
            | EngineKind::Trtllm => &["/health"],
            EngineKind::Mindie => &["/v1/models", "/health", "/v2/health/ready"],
            EngineKind::Custom => &["/health", "/v1/models"],
        };
        // These two answer probes before they have warmed up.
        let (line, instead) = match engine {
            EngineKind::Sglang => (
                ready_line(engine),
                vec![Proof::Answer("/health_generate".into()), Proof::Completion],
            ),
            EngineKind::Mindie => (
                ready_line(engine),
                vec![Proof::Answer("/v2/health/ready".into())],
            ),
            EngineKind::Vllm
            | EngineKind::LlamaServer
            | EngineKind::Trtllm
            | EngineKind::Custom => (None, Vec::new()),
        };
        Readiness {
            probes: probes.iter().map(|path| (*path).to_owned()).collect(),
            line: line.map(str::to_owned),
            instead,
        }
    }

    /// Does a probe answer? True without any.
    pub(crate) fn answers(&self, client: &Client, url: &str) -> bool {
        self.probes.is_empty() || self.probes.iter().any(|probe| is_ok(client, url, probe))
    }

    /// The probes as whole addresses, without a name and password.
    pub(crate) fn addresses(&self, url: &str) -> Vec<String> {
        let open = |probe: &String| {
            let address = at(url, probe);
            let (scheme, rest) = address.split_once("://")?;
            let end = rest.find('/').unwrap_or(rest.len());
            let place = rest[..end].rsplit('@').next()?;
            Some(format!("{scheme}://{place}{}", &rest[end..]))
        };
        self.probes.iter().filter_map(open).collect()
    }

    /// What is still waited for, for people.
    pub(crate) fn open(&self, has_line: bool) -> String {
        let line = self.line.as_ref().filter(|_| !has_line);
        match line {
            Some(line) if self.instead.is_empty() => format!("its log does not say '{line}'"),
            Some(line) => format!(
                "its log does not say '{line}', and what stands for it fails: {}",
                listed(&self.instead)
            ),
            None => format!("none of {} answers 200", self.probes.join(", ")),
        }
    }
}

fn listed(proofs: &[Proof]) -> String {
    let names: Vec<String> = proofs.iter().map(ToString::to_string).collect();
    names.join(", ")
}

#[derive(Debug, Default)]
pub(crate) struct Proven {
    in_a_row: u32,
}

impl Proven {
    /// Asks once more; whether that is enough.
    pub fn ask(&mut self, readiness: &Readiness, client: &Client, url: &str) -> bool {
        let holds = |proof: &Proof| match proof {
            Proof::Answer(probe) => is_ok(client, url, probe),
            Proof::Completion => completes(client, url),
        };
        self.in_a_row = if readiness.instead.iter().any(holds) {
            self.in_a_row + 1
        } else {
            0
        };
        self.in_a_row >= IN_A_ROW
    }
}

fn at(url: &str, probe: &str) -> String {
    if probe.contains("://") {
        return probe.to_owned();
    }
    format!("{}{probe}", root(url).unwrap_or(url))
}

fn is_ok(client: &Client, url: &str, probe: &str) -> bool {
    let reply = client.get(&at(url, probe));
    reply.is_ok_and(|reply| reply.status == 200)
}

fn completes(client: &Client, url: &str) -> bool {
    let models = client.get(&at(url, "/v1/models")).ok();
    let models = models.filter(|reply| reply.status == 200);
    let model = models.and_then(|reply| {
        let listed: Value = serde_json::from_str(&reply.body).ok()?;
        listed.pointer("/data/0/id")?.as_str().map(str::to_owned)
    });
    let Some(model) = model else { return false };
    let asked = json!({ "model": model, "prompt": "1", "max_tokens": 1 }).to_string();
    let reply = client.post_json(&at(url, "/v1/completions"), &asked);
    reply.is_ok_and(|reply| reply.status == 200)
}

/// Does a server still answer at one of these addresses? What a proxy says of a server that is
/// gone does not count.
pub(crate) fn still_answers(addresses: &[String], limit: Duration) -> bool {
    // Whether the certificate is right does not matter here, and no key is sent.
    let access = Access {
        insecure: true,
        ..Access::default()
    };
    let Ok(client) = Client::for_server(access, limit) else {
        return false;
    };
    let answers = |address: &String| {
        let reply = client.get(address);
        reply.is_ok_and(|reply| matches!(reply.status, 200..=299 | 401 | 403))
    };
    addresses.iter().any(answers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_whole_and_hold_no_password() {
        let ready = Readiness::of(EngineKind::Vllm);
        assert_eq!(
            ready.addresses("http://u:secret@gpu-7:8000/v1"),
            ["http://gpu-7:8000/health"]
        );
        assert!(ready.addresses("nonsense").is_empty());
    }

    #[test]
    fn what_is_waited_for_is_named() {
        let ready = Readiness::of(EngineKind::Sglang);
        let open = ready.open(false);
        assert!(open.contains("fired up") && open.contains("/health_generate"));
        assert!(ready.open(true).contains("/health answers"));
    }
}
