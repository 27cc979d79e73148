//! Where a started engine answers.

use crate::error::{Context as _, RunnerError, bail};
use inferometer_catalog::engine::{EngineKind, LaunchCommand};
use inferometer_engine::{Engine, free_port, is_listening};
use std::net::IpAddr;

/// The word that stands for a free port.
const PLACEHOLDER: &str = "{port}";

/// A port, and the server's address on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// What replaces `{port}`.
    pub port: u16,
    pub url: String,
}

/// Finds the address of an engine; the command gets a port of its own where its usual one is
/// taken, which is said.
pub fn choose(
    engine: Engine,
    given: Option<&str>,
    notice: impl FnOnce(String),
) -> Result<(Engine, Address), RunnerError> {
    let command = engine.command();
    let mut texts = command.to_words();
    texts.extend(given.map(str::to_owned));
    if texts.iter().any(|text| text.contains(PLACEHOLDER)) {
        let port = free_port().context("there is no free port")?;
        let url = url(&engine, port, given);
        return Ok((engine, Address { port, url }));
    }
    let is_unknown = engine.kind() == EngineKind::Custom && given.is_none();
    if is_unknown {
        bail!(
            "it is not known where `{command}` answers; write {{port}} in the command where its port belongs, or give --engine-url"
        );
    }
    let port = engine.port();
    let own = Address {
        port,
        url: url(&engine, port, given),
    };
    let takes_port = match engine.kind() {
        EngineKind::Vllm | EngineKind::Sglang | EngineKind::Trtllm | EngineKind::LlamaServer => {
            true
        }
        // The one has its port in a file, of the other nothing is known.
        EngineKind::Mindie | EngineKind::Custom => false,
    };
    let is_free_to_move =
        given.is_none() && takes_port && engine.is_local() && command.flag("port").is_none();
    if !(is_free_to_move && is_listening(&own.url)) {
        return Ok((engine, own));
    }
    let port = free_port().context("there is no free port")?;
    notice(format!(
        "port {} is taken; the engine gets port {port}",
        own.port
    ));
    let mut command: LaunchCommand = command.clone();
    command.set("port", Some(&port.to_string()));
    let engine = engine.with_command(command);
    let url = url(&engine, port, None);
    Ok((engine, Address { port, url }))
}

fn url(engine: &Engine, port: u16, given: Option<&str>) -> String {
    if let Some(given) = given {
        return given.replace(PLACEHOLDER, &port.to_string());
    }
    let host = engine.command().flag("host");
    let host: Option<IpAddr> = host
        .and_then(|host| host.value()?.parse().ok())
        .filter(|host: &IpAddr| engine.is_local() && !host.is_unspecified());
    let port = engine.outer_port(port);
    match host {
        Some(IpAddr::V6(host)) => format!("http://[{host}]:{port}"),
        Some(host) => format!("http://{host}:{port}"),
        None => format!("http://127.0.0.1:{port}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn engine(line: &str) -> Engine {
        Engine::of(LaunchCommand::parse_line(line).unwrap())
    }

    fn address(line: &str, given: Option<&str>) -> String {
        choose(engine(line), given, |_| {}).unwrap().1.url
    }

    #[test]
    fn the_address_follows_the_command_or_the_users_word() {
        let vllm = "vllm serve m --port 7001";
        assert_eq!(address(vllm, None), "http://127.0.0.1:7001");
        assert_eq!(
            address("vllm serve m --host 127.0.0.2 --port 7001", None),
            "http://127.0.0.2:7001"
        );
        assert_eq!(
            address(
                "docker run -p 9001:8000 vllm/vllm-openai:v0.10.1 --model m",
                None
            ),
            "http://127.0.0.1:9001"
        );
        let far = Some("http://gpu-7:7001/v1");
        assert_eq!(
            address("ssh gpu-7 vllm serve m --port 7001", far),
            "http://gpu-7:7001/v1"
        );
        let (_, chosen) =
            choose(engine("my-server --listen 127.0.0.1:{port}"), None, |_| {}).unwrap();
        assert_eq!(chosen.url, format!("http://127.0.0.1:{}", chosen.port));
    }

    #[test]
    fn a_command_that_says_nothing_of_its_port_asks_for_it() {
        let said = choose(engine("my-server"), None, |_| {}).unwrap_err();
        assert!(said.to_string().contains("--engine-url"), "{said}");
    }

    #[test]
    fn a_port_that_was_asked_for_is_never_changed() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = taken.local_addr().unwrap().port();
        let line = format!("vllm serve m --port {port}");
        assert_eq!(address(&line, None), format!("http://127.0.0.1:{port}"));
    }
}
