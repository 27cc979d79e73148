//! Command lines in notes: of a server that was launched, and of a benchmark.

use crate::notes::{Notes, bare};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Words by which a launch of a server is known.
const SERVERS: [&str; 12] = [
    "vllm serve ",
    "vllm.entrypoints",
    "vllm/vllm-openai",
    "sglang.launch_server",
    "sglang serve ",
    "lmsysorg/sglang",
    "mindieservice_daemon",
    "lmdeploy serve ",
    "trtllm-serve ",
    "text-generation-launcher",
    "llama-server ",
    "ktransformers.launch_server",
];

/// Words by which a benchmark is known.
const CLIENTS: [&str; 7] = [
    "benchmark_serving.py",
    "vllm bench serve",
    "bench_serving",
    "evalscope perf",
    "guidellm benchmark",
    "aiperf profile",
    "benchmark --DatasetPath",
];

pub(crate) struct Command {
    pub(crate) lines: (usize, usize),
    pub(crate) launch: Option<String>,
    pub(crate) client: Option<String>,
}

/// All command lines outside results.
pub(crate) fn find(notes: &Notes<'_>) -> Vec<Command> {
    let mut commands = Vec::new();
    let mut at = 0;
    while at < notes.lines.len() {
        let first = at;
        at += 1;
        if notes.is_taken(first) || !looks_like_command(notes.lines[first]) {
            continue;
        }
        if let Some(client) = namespace(notes.lines[first]) {
            commands.push(Command {
                lines: (first, first),
                launch: None,
                client: Some(client),
            });
            continue;
        }
        let mut text = notes.lines[first]
            .trim()
            .trim_start_matches(['$', '#', '>', '-', '`', ' '])
            .to_owned();
        while text.ends_with('\\') && at < notes.lines.len() {
            text.pop();
            text.push(' ');
            text.push_str(notes.lines[at].trim());
            at += 1;
        }
        let text = text.trim_end_matches('`').replace(['\\'], " ");
        let (launch, client) = split(&text);
        if launch.is_some() || client.is_some() {
            commands.push(Command {
                lines: (first, at - 1),
                launch,
                client,
            });
        }
    }
    commands
}

/// `Namespace(num_prompts=5, …)`, which vLLM's benchmark prints of its own options, as the
/// command line that it stands for.
fn namespace(line: &str) -> Option<String> {
    let (_, options) = line.split_once("Namespace(")?;
    if !options.contains("num_prompts=") {
        return None;
    }
    let mut command = String::from("benchmark_serving.py");
    for (name, value) in options
        .trim_end_matches(')')
        .split(", ")
        .filter_map(|pair| pair.split_once('='))
    {
        let value = value.trim_matches(['"', '\'', ' ']);
        if name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
            && !matches!(value, "" | "None" | "False")
            && !value.contains(char::is_whitespace)
        {
            command.push_str(&format!(" --{} {value}", name.replace('_', "-")));
        }
    }
    Some(safe(&command))
}

fn looks_like_command(line: &str) -> bool {
    if line.len() < 20_000 && line.contains("Namespace(") && line.contains("num_prompts=") {
        return true;
    }
    let text = bare(line).trim_start_matches(['$', '#', '`', ' ']);
    let first = text.split_whitespace().next().unwrap_or("");
    let starts = matches!(
        first,
        "vllm"
            | "docker"
            | "python"
            | "python3"
            | "nohup"
            | "sudo"
            | "sglang"
            | "evalscope"
            | "guidellm"
            | "aiperf"
            | "benchmark"
            | "lmdeploy"
            | "trtllm-serve"
            | "llama-server"
            | "podman"
            | "time"
            | "text-generation-launcher"
            | "numactl"
            | "env"
            | "export"
            | "./mindieservice_daemon"
            | "./bin/mindieservice_daemon"
    ) || (first.contains('=') && first.starts_with(|c: char| c.is_ascii_uppercase()));
    // The first line of several may hold nothing but `docker run \`.
    starts
        && (text.ends_with('\\')
            || SERVERS
                .iter()
                .chain(&CLIENTS)
                .any(|word| text.contains(word)))
}

/// Takes a server's command and a benchmark's apart, which notes often glue together.
fn split(text: &str) -> (Option<String>, Option<String>) {
    let server = SERVERS.iter().filter_map(|word| text.find(word)).min();
    let client = CLIENTS.iter().filter_map(|word| text.find(word)).min();
    match (server, client) {
        (Some(server), Some(client)) if server < client => {
            let begin = [
                "python3 ",
                "python ",
                "vllm bench",
                "evalscope ",
                "guidellm ",
                "aiperf ",
            ]
            .iter()
            .filter_map(|word| text[server..].rfind(word).map(|at| server + at))
            .filter(|at| *at > server && *at <= client)
            .max()
            .unwrap_or(client);
            (Some(safe(&text[..begin])), Some(safe(&text[begin..])))
        }
        (_, Some(_)) => (None, Some(safe(text))),
        (Some(_), None) => (Some(safe(text)), None),
        (None, None) => (None, None),
    }
}

/// Printable, on one line, and without keys.
pub(crate) fn safe(text: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut hide_next = false;
    for word in text.split_whitespace() {
        let (name, value) = word
            .split_once('=')
            .map_or((word, None), |(name, value)| (name, Some(value)));
        if hide_next && !word.starts_with('-') {
            words.push("…".into());
            hide_next = false;
            continue;
        }
        hide_next = is_secret(name) && value.is_none() && name.starts_with('-');
        match value {
            Some(_) if is_secret(name) => words.push(format!("{name}=…")),
            _ => words.push(word.to_owned()),
        }
    }
    inferometer_text::hostile::printable(&words.join(" "), 4000)
}

fn is_secret(name: &str) -> bool {
    let name = name.to_lowercase().replace('_', "-");
    name.ends_with("api-key")
        || name.ends_with("-token")
        || name.contains("secret")
        || name.contains("password")
}

/// The flags of a command, from the engine's own name on; those of docker are not the engine's.
pub(crate) fn flags(command: &str) -> BTreeMap<String, Value> {
    let begin = SERVERS
        .iter()
        .chain(&CLIENTS)
        .filter_map(|word| command.find(word).map(|at| at + word.trim_end().len()))
        .min()
        .unwrap_or(0);
    let words: Vec<&str> = command[begin..].split_whitespace().collect();
    let mut flags = BTreeMap::new();
    // `vllm serve MODEL`.
    if let Some(model) = words
        .first()
        .filter(|word| !word.starts_with('-') && command[..begin].ends_with("serve"))
    {
        flags.insert("model".to_owned(), json!(model));
    }
    for (at, word) in words.iter().enumerate() {
        let Some(name) = word.strip_prefix("--").filter(|name| !name.is_empty()) else {
            continue;
        };
        if let Some((name, written)) = name.split_once('=') {
            flags.insert(name.replace('_', "-"), value(written));
            continue;
        }
        let next = words
            .get(at + 1)
            .filter(|next| !next.starts_with("--") && !matches!(**next, "&" | ">" | "|" | "2>&1"));
        let is_flag = next.is_none_or(|next| next.starts_with('-') && next.parse::<f64>().is_err());
        let given = if is_flag {
            Value::Bool(true)
        } else {
            next.map_or(Value::Bool(true), |next| value(next))
        };
        flags.insert(name.replace('_', "-"), given);
    }
    flags
}

fn value(word: &str) -> Value {
    let word = word.trim_matches(['"', '\'']);
    match word {
        "true" | "True" => return Value::Bool(true),
        "false" | "False" => return Value::Bool(false),
        _ => {}
    }
    if let Ok(integer) = word.parse::<i64>() {
        return json!(integer);
    }
    match word.parse::<f64>() {
        Ok(float) if float.is_finite() => json!(float),
        _ => json!(word),
    }
}

/// Whether a line says why a start was refused.
pub(crate) fn is_error(line: &str) -> bool {
    let text = bare(line);
    let first = text.split([':', ' ']).next().unwrap_or("");
    let typed = first.len() > 5
        && (first.ends_with("Error") || first.ends_with("Exception"))
        && first
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '.' || c == '_');
    typed
        || text.starts_with("error:")
        || text.contains("CUDA out of memory")
        || text.contains("NPU out of memory")
        || text.starts_with("启动失败")
        || text.starts_with("报错")
        || text == "Killed"
}

/// `19344MiB / 46068MiB`: what is in use, in GiB.
pub(crate) fn memory_gib(line: &str) -> Option<f64> {
    let text = bare(line).trim_matches('|').trim();
    let (used, all) = text.split_once('/')?;
    all.trim().strip_suffix("MiB")?.trim().parse::<f64>().ok()?;
    let used: f64 = used.trim().strip_suffix("MiB")?.trim().parse().ok()?;
    Some(used / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_the_engines_not_dockers() {
        let flags = flags(
            "docker run --gpus all --ipc=host vllm/vllm-openai --model m --max-num-seqs 7 --enable-chunked-prefill false --trust-remote-code",
        );
        assert_eq!(flags.get("max-num-seqs"), Some(&json!(7)));
        assert_eq!(flags.get("enable-chunked-prefill"), Some(&json!(false)));
        assert_eq!(flags.get("trust-remote-code"), Some(&json!(true)));
        assert!(!flags.contains_key("gpus") && !flags.contains_key("ipc"));
    }

    #[test]
    fn a_benchmark_glued_to_a_launch_is_cut_off() {
        let notes = Notes::new(
            "docker run \\--gpus all \\vllm/vllm-openai \\--max-num-seqs 9python3 benchmarks/benchmark_serving.py --num-prompts 50\n",
        );
        let commands = find(&notes);
        assert_eq!(commands.len(), 1);
        let launch = commands[0].launch.as_deref().unwrap_or("");
        assert_eq!(
            flags(launch).get("max-num-seqs"),
            Some(&json!(9)),
            "{launch}"
        );
        let client = commands[0].client.as_deref().unwrap_or("");
        assert_eq!(
            flags(client).get("num-prompts"),
            Some(&json!(50)),
            "{client}"
        );
    }

    #[test]
    fn options_that_a_benchmark_prints_are_its_command() {
        let notes =
            Notes::new("Namespace(backend='vllm', num_prompts=120, request_rate=2.0, seed=None)");
        let commands = find(&notes);
        assert_eq!(
            commands[0].client.as_deref(),
            Some("benchmark_serving.py --backend vllm --num-prompts 120 --request-rate 2.0")
        );
    }

    #[test]
    fn keys_do_not_leave_the_notes() {
        let text = safe("vllm serve m --api-key sk-123 -e HF_TOKEN=abc --max-num-batched-tokens 5");
        assert_eq!(
            text,
            "vllm serve m --api-key … -e HF_TOKEN=… --max-num-batched-tokens 5"
        );
    }

    #[test]
    fn a_memory_reading_is_in_gib() {
        assert_eq!(memory_gib("2048MiB /  4096MiB"), Some(2.0));
        assert_eq!(memory_gib("2048 / 4096"), None);
    }
}
