//! The commands that start one replica: a server; or workers of two kinds, each on its port and
//! its cards, and the router before them, which clients speak to.

use crate::device::CARDS_OF_HOST;
use crate::flags::{Flag, command};
use crate::mindie;
use crate::split::{Side, Split};
use inferometer_catalog::device::{Device, Kind};
use inferometer_catalog::engine::{EngineKind, words};
use serde::Serialize;

/// What a command starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Role {
    /// What computes prompts and answers.
    Server,
    Prefill,
    Decode,
    /// What clients speak to, where there are workers of two kinds.
    Router,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Process {
    pub role: Role,
    pub command: String,
}

/// Where clients find the router.
const ROUTER_PORT: u16 = 8000;
/// Between the ports of workers: engines take further ones above their own.
const PORTS_APART: u16 = 100;
/// Of SGLang, where prompts are handed over (its `--disaggregation-bootstrap-port`).
const BOOTSTRAP_PORT: u16 = 8998;
/// Of vLLM's connector (`VLLM_NIXL_SIDE_CHANNEL_PORT`).
const SIDE_CHANNEL_PORT: u16 = 5600;

/// Of MindIE's coordinator, as its scripts open it on the host.
const COORDINATOR_PORT: u16 = 31015;

/// Where clients find a replica that is started so.
pub(super) fn port(engine: EngineKind, split: Option<&Split>) -> u16 {
    match split {
        Some(_) if engine == EngineKind::Mindie => COORDINATOR_PORT,
        Some(_) => ROUTER_PORT,
        None => engine.default_port(),
    }
}

/// A server that computes prompts and answers.
pub(super) fn server(engine: EngineKind, model: &str, flags: &[Flag]) -> String {
    match engine {
        EngineKind::Mindie => mindie::started(model, flags),
        _ => line(engine, model, flags, None),
    }
}

/// A worker of one kind, wherever it runs; absent where no command tells the kinds apart.
pub(super) fn worker(
    engine: EngineKind,
    model: &str,
    flags: &[Flag],
    side: Side,
) -> Option<String> {
    side.flag(engine)?;
    Some(line(engine, model, flags, Some(side)))
}

fn line(engine: EngineKind, model: &str, flags: &[Flag], side: Option<Side>) -> String {
    let own = side.and_then(|side| side.flag(engine));
    let flags: Vec<Flag> = flags.iter().cloned().chain(own).collect();
    let started = command(engine, model, &flags);
    started.map_or(String::new(), |command| words::join(command.to_words()))
}

/// The cards, ports and hosts of the workers of a replica.
struct Workers<'a> {
    engine: EngineKind,
    model: &'a str,
    device: &'a Device,
    /// Of one worker.
    cards: u32,
    split: &'a Split,
}

/// All that one replica is made of, in the order in which it is started.
pub(super) fn workers(
    engine: EngineKind,
    model: &str,
    device: &Device,
    [prefill, decode]: [&[Flag]; 2],
    cards: u32,
    split: &Split,
) -> Vec<Process> {
    if engine == EngineKind::Mindie {
        return vec![Process {
            role: Role::Server,
            command: mindie::started_apart(model, decode, split.workers),
        }];
    }
    let workers = Workers {
        engine,
        model,
        device,
        cards,
        split,
    };
    let [x, y] = split.workers;
    let prefill = (0..x).map(|place| workers.start(place, Side::Prefill, prefill));
    let decode = (x..x + y).map(|place| workers.start(place, Side::Decode, decode));
    let router = Process {
        role: Role::Router,
        command: workers.router(),
    };
    prefill.chain(decode).chain([router]).collect()
}

impl Workers<'_> {
    fn on_a_host(&self) -> u32 {
        (CARDS_OF_HOST / self.cards.max(1)).max(1)
    }

    fn is_one_host(&self) -> bool {
        let [x, y] = self.split.workers;
        x + y <= self.on_a_host()
    }

    /// Its host; several have names that are to be filled in.
    fn host(&self, place: u32) -> String {
        if self.is_one_host() {
            "127.0.0.1".to_owned()
        } else {
            format!("HOST{}", place / self.on_a_host() + 1)
        }
    }

    /// A port of the worker, counted on its host.
    fn nth(&self, place: u32, from: u16, apart: u16) -> u16 {
        let nth = u16::try_from(place % self.on_a_host()).unwrap_or_default();
        from + nth * apart
    }

    fn port(&self, place: u32) -> u16 {
        let from = match self.engine {
            EngineKind::Sglang => self.engine.default_port(),
            // Beside the router.
            _ => ROUTER_PORT + PORTS_APART,
        };
        self.nth(place, from, PORTS_APART)
    }

    fn start(&self, place: u32, side: Side, flags: &[Flag]) -> Process {
        let mut flags = flags.to_vec();
        let mut set = |name: &str, value: String| flags.push((name.to_owned(), Some(value)));
        if !self.is_one_host() && self.engine != EngineKind::Vllm {
            // vLLM listens everywhere by itself.
            set("host", "0.0.0.0".to_owned());
        }
        set("port", self.port(place).to_string());
        let mut before = vec![self.visible_cards(place)];
        match (self.engine, side) {
            (EngineKind::Sglang, Side::Prefill) => {
                let port = self.nth(place, BOOTSTRAP_PORT, 1);
                set("disaggregation-bootstrap-port", port.to_string());
            }
            (EngineKind::Vllm, _) => {
                let port = self.nth(place, SIDE_CHANNEL_PORT, PORTS_APART);
                before.push(format!("VLLM_NIXL_SIDE_CHANNEL_PORT={port}"));
                if !self.is_one_host() {
                    let host = self.host(place);
                    before.push(format!("VLLM_NIXL_SIDE_CHANNEL_HOST={host}"));
                }
            }
            (EngineKind::Trtllm, _) => {
                let file = trtllm_file(side);
                set("extra_llm_api_options", file.0.to_owned());
                before.insert(0, format!("printf '{}' > {} &&", file.1, file.0));
            }
            _ => {}
        }
        before.push(line(self.engine, self.model, &flags, Some(side)));
        Process {
            role: match side {
                Side::Prefill => Role::Prefill,
                Side::Decode => Role::Decode,
            },
            command: before.join(" "),
        }
    }

    fn visible_cards(&self, place: u32) -> String {
        let variable = match self.device.kind {
            Kind::Cuda => "CUDA_VISIBLE_DEVICES",
            Kind::Rocm => "HIP_VISIBLE_DEVICES",
            Kind::Ascend => "ASCEND_RT_VISIBLE_DEVICES",
        };
        let first = place % self.on_a_host() * self.cards;
        let cards: Vec<String> = (first..first + self.cards)
            .map(|it| it.to_string())
            .collect();
        format!("{variable}={}", cards.join(","))
    }

    /// SGLang's router, the proxy in vLLM's repository, and TensorRT-LLM's own server before others.
    fn router(&self) -> String {
        let [x, y] = self.split.workers;
        let (prefill, decode) = (0..x, x..x + y);
        let address = |place: u32| format!("{}:{}", self.host(place), self.port(place));
        let joined = |all: Vec<String>| all.join(" ");
        match self.engine {
            EngineKind::Sglang => {
                let from = |place: u32| {
                    let handed = self.nth(place, BOOTSTRAP_PORT, 1);
                    format!("--prefill http://{} {handed}", address(place))
                };
                let to = |place: u32| format!("--decode http://{}", address(place));
                let all = prefill.map(from).chain(decode.map(to)).collect();
                format!(
                    "python -m sglang_router.launch_router --pd-disaggregation {} --host 0.0.0.0 --port {ROUTER_PORT}",
                    joined(all)
                )
            }
            EngineKind::Trtllm => {
                let urls = |places: std::ops::Range<u32>| {
                    let count = places.len();
                    let urls: Vec<String> =
                        places.map(|it| format!("\"{}\"", address(it))).collect();
                    format!("{{num_instances: {count}, urls: [{}]}}", urls.join(", "))
                };
                format!(
                    "printf 'hostname: 0.0.0.0\\nport: {ROUTER_PORT}\\nbackend: pytorch\\ncontext_servers: {}\\ngeneration_servers: {}\\n' > disagg.yaml && trtllm-serve disaggregated -c disagg.yaml",
                    urls(prefill),
                    urls(decode)
                )
            }
            _ => {
                let hosts =
                    |places: std::ops::Range<u32>| joined(places.map(|it| self.host(it)).collect());
                let ports = |places: std::ops::Range<u32>| {
                    joined(places.map(|it| self.port(it).to_string()).collect())
                };
                format!(
                    "python tests/v1/kv_connector/nixl_integration/toy_proxy_server.py --host 0.0.0.0 --port {ROUTER_PORT} --prefiller-hosts {} --prefiller-ports {} --decoder-hosts {} --decoder-ports {}",
                    hosts(prefill.clone()),
                    ports(prefill),
                    hosts(decode.clone()),
                    ports(decode)
                )
            }
        }
    }
}

/// A worker's further settings, which TensorRT-LLM reads from a file.
fn trtllm_file(side: Side) -> (&'static str, &'static str) {
    match side {
        Side::Prefill => (
            "prefill.yaml",
            "disable_overlap_scheduler: true\\ncache_transceiver_config: {backend: DEFAULT}\\n",
        ),
        Side::Decode => (
            "decode.yaml",
            "cache_transceiver_config: {backend: DEFAULT}\\n",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inferometer_catalog::engine::LaunchCommand;

    fn started(engine: EngineKind, cards: u32, count: [u32; 2]) -> Vec<Process> {
        let device = Device::named("h20").unwrap();
        let tensor = crate::flags::cards(engine, &[]);
        assert_eq!(tensor, 1);
        let flags = [("tensor-parallel-size".to_owned(), Some(cards.to_string()))];
        let split = Split::new(&flags, count, [cards; 2], device);
        workers(engine, "m", device, [&flags, &flags], cards, &split)
    }

    /// What follows a word, up to the next blank.
    fn after<'a>(line: &'a str, word: &str) -> &'a str {
        let (_, rest) = line
            .split_once(word)
            .unwrap_or_else(|| panic!("{word}: {line}"));
        rest.trim_start_matches([' ', '='])
            .split(' ')
            .next()
            .unwrap()
    }

    #[test]
    fn workers_of_one_host_share_neither_ports_nor_cards_and_the_router_knows_them_all() {
        for engine in [EngineKind::Sglang, EngineKind::Vllm, EngineKind::Trtllm] {
            let processes = started(engine, 2, [2, 1]);
            let (router, workers) = processes.split_last().unwrap();
            assert_eq!(router.role, Role::Router);
            let mut seen = std::collections::HashSet::new();
            for worker in workers {
                let port = after(&worker.command, "--port");
                let cards = after(&worker.command, "CUDA_VISIBLE_DEVICES");
                assert!(seen.insert(port.to_owned()) && seen.insert(cards.to_owned()));
                assert!(router.command.contains(port), "{}", router.command);
                let (_, command) = worker.command.rsplit_once("VISIBLE_DEVICES=").unwrap();
                let command = command.split_once(' ').unwrap().1;
                let command = LaunchCommand::parse_line(command).unwrap();
                assert_eq!(command.engine, engine, "{}", worker.command);
                assert!(!seen.contains("8000"), "the router's");
            }
            assert_eq!(
                workers.iter().map(|it| it.role).collect::<Vec<_>>(),
                [Role::Prefill, Role::Prefill, Role::Decode]
            );
            assert!(router.command.contains("8000"));
        }
        let sglang = started(EngineKind::Sglang, 1, [2, 1]);
        let handed: Vec<&str> = (sglang[..2].iter())
            .map(|it| after(&it.command, "--disaggregation-bootstrap-port"))
            .collect();
        assert_eq!(handed, ["8998", "8999"]);
        assert!(
            sglang[3]
                .command
                .contains("--prefill http://127.0.0.1:30100 8999")
        );
    }

    #[test]
    fn workers_of_several_hosts_are_placed_on_them_and_can_be_reached() {
        let processes = started(EngineKind::Sglang, 4, [2, 2]);
        let router = &processes.last().unwrap().command;
        assert!(
            router.contains("--prefill http://HOST1:30000 8998"),
            "{router}"
        );
        assert!(router.contains("--decode http://HOST2:30100"), "{router}");
        assert!(
            processes[0].command.contains("--host 0.0.0.0"),
            "{processes:?}"
        );
        assert_eq!(
            after(&processes[3].command, "CUDA_VISIBLE_DEVICES"),
            "4,5,6,7"
        );
    }
}
