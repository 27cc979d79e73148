//! What engines, their models and their devices say.

use super::Scratch;
use crate::seeds;
use inferometer_catalog::device::Device;
use inferometer_catalog::engine::{EngineKind, LaunchCommand, mindie, read_line};
use inferometer_catalog::model::{KnownModel, Model, safetensors};
use inferometer_engine::{
    Help, LogFollower, changed_config, device_class, engine_state, facts_of_log, read_cpu_times,
    read_memory, read_npu_smi, read_nvidia_smi,
};
use inferometer_sim::launch::{Host, Launch};
use inferometer_text::secret::without_secrets;
use std::sync::LazyLock;

static HOST: LazyLock<Host> = LazyLock::new(|| Host {
    device: Device::named("a100-80g").expect("a preset").clone(),
    cards: 8,
    version: None,
    timing: None,
    stamp: "01-01 00:00:00".to_owned(),
});

pub fn logs() -> Vec<Vec<u8>> {
    let mut all = seeds::files("fixtures/engine", &[".log", ".txt"]);
    all.extend(seeds::literals("crates/catalog/src/engine/log", 30));
    all.extend(seeds::literals("crates/engine/src/failure", 30));
    all
}

pub fn log(input: &[u8], scratch: &Scratch) -> bool {
    let path = scratch.file("engine.log", input);
    let known = facts_of_log(&path).is_ok_and(|facts| facts.is_some());
    for line in LogFollower::new(&path).look() {
        for engine in [
            EngineKind::Vllm,
            EngineKind::Sglang,
            EngineKind::Trtllm,
            EngineKind::Mindie,
            EngineKind::LlamaServer,
            EngineKind::Custom,
        ] {
            let _ = read_line(engine, &line).map(|fact| fact.failure());
        }
    }
    known
}

pub fn metrics(input: &[u8], _: &Scratch) -> bool {
    engine_state(&String::from_utf8_lossy(input)).is_some()
}

/// Objects with a model's keys in the tests.
pub fn model_configs() -> Vec<Vec<u8>> {
    let mut all = seeds::literals("crates/catalog/src/model", 60);
    all.extend(seeds::literals("crates/plan/src/model", 60));
    all.extend(seeds::literals("crates/cli/tests/end_to_end/", 60));
    all.retain(|text| text.trim_ascii().starts_with(b"{") && text.len() < 8192);
    all
}

pub fn model_config(input: &[u8], _: &Scratch) -> bool {
    let text = &*String::from_utf8_lossy(input);
    let _ = Model::described("fuzzed", text);
    let Ok(model) = KnownModel::of_config("fuzzed", text) else {
        return false;
    };
    for line in [
        "vllm serve fuzzed -tp 2",
        "python -m sglang.launch_server --model-path fuzzed",
    ] {
        let command = LaunchCommand::parse_line(line).expect("a command");
        let _ = Launch::of_model(&command, &model, &HOST);
    }
    true
}

pub fn mindie_configs() -> Vec<Vec<u8>> {
    let mut all = seeds::literals("crates/catalog/src/engine", 40);
    all.extend(seeds::literals("crates/engine/src", 40));
    all.extend(seeds::literals("crates/sim", 40));
    all.retain(|text| text.trim_ascii().starts_with(b"{"));
    all
}

pub fn mindie_config(input: &[u8], scratch: &Scratch) -> bool {
    let text = &*String::from_utf8_lossy(input);
    let _ = mindie::Config::parse(text);
    let path = scratch.file("config.json", input);
    let change = ("maxBatchSize".to_owned(), serde_json::json!(7));
    let _ = changed_config(&path, &[change]);
    Launch::of_mindie(text, &HOST).is_ok()
}

pub fn commands() -> Vec<Vec<u8>> {
    let mut all = seeds::literals("crates/catalog/src/engine", 20);
    all.extend(seeds::literals("crates/sim/src/launch", 20));
    all.extend(seeds::literals("crates/cli/tests/end_to_end/launch.rs", 20));
    let names = ["vllm", "sglang", "llama-server", "mindie"];
    let named = |text: &str| names.iter().any(|name| text.contains(name));
    all.retain(|text| text.len() < 400 && str::from_utf8(text).is_ok_and(named));
    all
}

pub fn command(input: &[u8], _: &Scratch) -> bool {
    let Ok(command) = LaunchCommand::parse_line(&String::from_utf8_lossy(input)) else {
        return false;
    };
    let words = command.clone().with_port(1234).to_words();
    without_secrets(&words);
    // A model that is a path would read this machine's files.
    let preset = command
        .model
        .as_deref()
        .is_none_or(|model| Model::named(model).is_some());
    preset && Launch::of_command(&command, &HOST).is_ok()
}

pub fn device_texts() -> Vec<Vec<u8>> {
    let mut all = seeds::literals("crates/engine/src", 40);
    all.retain(|text| {
        text.contains(&b'|') || text[0].is_ascii_digit() || text.starts_with(b"usage")
    });
    all.push(b"MemTotal:       24000000 kB\nMemAvailable:   20000000 kB\n".to_vec());
    all.push(b"cpu  100 2 30 4000 50 0 7 8 0 0\ncpu0 1 1 1 1\n".to_vec());
    all
}

pub fn devices(input: &[u8], _: &Scratch) -> bool {
    let text = &*String::from_utf8_lossy(input);
    let mut any = false;
    for (kind, devices) in [
        (
            inferometer_catalog::engine::DeviceKind::Gpu,
            read_nvidia_smi(text),
        ),
        (
            inferometer_catalog::engine::DeviceKind::Npu,
            read_npu_smi(text),
        ),
    ] {
        any |= device_class(kind, &devices).is_some();
    }
    let _ = Help::read(text).map(|help| help.names().count());
    let _ = read_cpu_times(text);
    read_memory(text);
    let _ = safetensors::tensor_bytes("fuzzed", input);
    if let Some(length) = input.first_chunk() {
        let _ = safetensors::header_length("fuzzed", *length);
    }
    any
}
