//! Command lines in notes: of a server that was launched, and of a benchmark.

use inferometer_catalog::engine::flag::table;
use inferometer_catalog::engine::{EngineKind, Flag};
use inferometer_notes::{Notes, bare};
use inferometer_text::hostile::printable;
use inferometer_text::secret::without_secrets;
use inferometer_translate::Options;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const SERVERS: &str = "vllm serve |vllm.entrypoints|vllm/vllm-openai|sglang.launch_server|\
    sglang serve |lmsysorg/sglang|mindieservice_daemon|lmdeploy serve |trtllm-serve |\
    text-generation-launcher|llama-server |ktransformers.launch_server";

/// What a benchmark is known by.
const CLIENTS: &str = "benchmark_serving.py|vllm bench serve|bench_serving|evalscope perf|\
    guidellm benchmark|guidellm run|sglang.benchmark.serving|vllm-rs bench serve|aiperf profile|\
    benchmark --DatasetPath";

/// First words of a command line.
const PROGRAMS: &str = "vllm|docker|python|python3|nohup|sudo|sglang|evalscope|guidellm|aiperf|\
    benchmark|lmdeploy|trtllm-serve|llama-server|podman|time|text-generation-launcher|numactl|env|\
    export|./mindieservice_daemon|./bin/mindieservice_daemon";

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
        if notes.is_taken(first) {
            continue;
        }
        if !looks_like_command(notes.lines[first]) {
            let line = notes.lines[first];
            let launch = quoted_launch(line).or_else(|| flags_alone(line));
            commands.extend(launch.map(|launch| Command {
                lines: (first, first),
                launch: Some(launch),
                client: None,
            }));
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

/// The launch command that stands between back quotes in a sentence.
fn quoted_launch(line: &str) -> Option<String> {
    // A fence is no quotation.
    if line.trim_start().starts_with("```") {
        return None;
    }
    let mut quoted = line.split('`').skip(1).step_by(2);
    let quoted = quoted.find(|text| looks_like_command(text) && text.contains(" --"))?;
    split(quoted).0
}

/// Words of a line that names the flags of a launch without its program.
const LAUNCHED: &str =
    "启动|拉起|参数|起服务|部署|launch|started|start with|served with|flags|arguments|args";
/// Words of a line that speaks of flags: what might be set, was before, or is by default.
const SPOKEN_OF: &str = "从|改|调|换|去掉|不加|不带|没加|默认|建议|可以|如果|试试|尝试|试了|对比|报错|客户端|→|->| vs|\
    default|instead|without|try |change|from |client";
/// Longest line of flags, in bytes.
const LONGEST_FLAGS: usize = 1000;

/// The flags of a launch whose program is not named: `启动 --max-num-seqs 64`, `launched with -tp 4`,
/// or nothing else on the line. All of them must be an engine's, and one no benchmark's.
fn flags_alone(line: &str) -> Option<String> {
    let text = bare(line).trim_matches('`');
    let lower = text.to_lowercase();
    if text.len() > LONGEST_FLAGS || SPOKEN_OF.split('|').any(|word| lower.contains(word)) {
        return None;
    }
    let is_end = |c: char| c.is_whitespace() || "`,，;；。、:：)(（）".contains(c);
    let is_flag = |word: &str| word.starts_with('-') && word.contains(char::is_alphabetic);
    let words: Vec<&str> = text.split(is_end).filter(|word| !word.is_empty()).collect();
    let begin = words.iter().position(|word| is_flag(word))?;
    let is_said = LAUNCHED.split('|').any(|word| lower.contains(word));
    if begin > 0 && !is_said {
        return None;
    }
    // What follows a value and is no flag is prose again.
    let of_launch = words[begin..].windows(2);
    let prose = of_launch
        .clone()
        .position(|pair| !is_flag(pair[0]) && !is_flag(pair[1]));
    let of_launch = &words[begin..prose.map_or(words.len(), |at| begin + at + 1)];
    let of_launch = match of_launch {
        // `--enable-prefix-caching 然后压测`.
        [rest @ .., last] if !last.is_ascii() => rest,
        all => all,
    };
    let names = of_launch.iter().filter(|word| is_flag(word));
    let names = names.map(|word| word.split('=').next().unwrap_or(word));
    let known = |name: &str| flag_of_engine(name).is_some();
    let is_own = |name: &str| {
        flag_of_engine(name).is_some_and(|flag| !OF_CLIENTS.split('|').any(|it| it == flag.name))
    };
    let are_known = names.clone().all(known) && names.clone().any(is_own);
    are_known.then(|| safe(&of_launch.join(" ")))
}

/// Flags that benchmarks have as well.
const OF_CLIENTS: &str =
    "model|model-path|tokenizer|host|port|seed|trust-remote-code|served-model-name";

/// The flag of an engine as it is typed.
fn flag_of_engine(written: &str) -> Option<&'static Flag> {
    let name = written.trim_start_matches('-').replace('_', "-");
    let bare = name.strip_prefix("no-").unwrap_or(&name);
    let engines = [EngineKind::Vllm, EngineKind::Sglang];
    let mut flags = engines.into_iter().flat_map(|engine| table(engine).iter());
    flags.find(|flag| {
        let is_long = written.starts_with("--") && (flag.name == name || flag.name == bare);
        is_long || flag.aliases.iter().any(|it| it == written)
    })
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

/// Whether a line calls a program with options, whichever program that is.
pub(crate) fn is_program(line: &str) -> bool {
    let (text, first) = command_and_program(line);
    text.contains(" --") && PROGRAMS.split('|').any(|program| program == first)
}

fn command_and_program(line: &str) -> (&str, &str) {
    let text = bare(line).trim_start_matches(['$', '#', '`', ' ']);
    (text, text.split_whitespace().next().unwrap_or(""))
}

fn looks_like_command(line: &str) -> bool {
    if line.len() < 20_000 && line.contains("Namespace(") && line.contains("num_prompts=") {
        return true;
    }
    let (text, first) = command_and_program(line);
    let is_assignment = first.contains('=') && first.starts_with(|c: char| c.is_ascii_uppercase());
    let is_command = is_assignment || PROGRAMS.split('|').any(|program| program == first);
    let is_known = || {
        let is_server = SERVERS.split('|').any(|it| text.contains(it));
        is_server || CLIENTS.split('|').any(|it| is_called(text, it))
    };
    // The first line of several may hold nothing but `docker run \`.
    is_command && (text.ends_with('\\') || is_known())
}

/// Whether a benchmark is called and not only named, as in `vllm bench serve no longer sets …`:
/// what follows its name, if anything, is an option.
fn is_called(text: &str, client: &str) -> bool {
    let behind = text.split_once(client).map(|(_, behind)| behind);
    behind.is_some_and(|behind| {
        let rest = behind.trim_start();
        let rest = rest.strip_prefix("run ").unwrap_or(rest).trim_start();
        rest.is_empty() || rest.starts_with(['-', '\\', '`']) || rest == "run"
    })
}

/// Takes a server's command and a benchmark's apart, which notes often glue together.
fn split(text: &str) -> (Option<String>, Option<String>) {
    let server = SERVERS.split('|').filter_map(|word| text.find(word)).min();
    let client = CLIENTS.split('|').filter_map(|word| text.find(word)).min();
    match (server, client) {
        (Some(server), Some(client)) if server < client => {
            let begins = [
                "python3 ",
                "python ",
                "vllm bench",
                "evalscope ",
                "guidellm ",
                "aiperf ",
            ];
            let begin = begins
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
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    printable(&without_secrets(&[line]).concat(), 4000)
}

/// The flags of a command, from the engine's own name on; those of docker are not the engine's.
pub(crate) fn flags(command: &str) -> BTreeMap<String, Value> {
    let ends = (SERVERS.split('|').chain(CLIENTS.split('|')))
        .filter_map(|word| command.find(word).map(|at| at + word.trim_end().len()));
    let (program, arguments) = command.split_at(ends.min().unwrap_or(0));
    let words: Vec<&str> = (arguments.split_whitespace())
        .take_while(|word| !matches!(*word, "&" | ">" | "|" | "2>&1"))
        .collect();
    let mut flags = BTreeMap::new();
    // `vllm serve MODEL`.
    let is_positional = |word: &&&str| !word.starts_with('-') && program.ends_with("serve");
    if let Some(model) = words.first().filter(is_positional) {
        flags.insert("model".to_owned(), json!(model));
    }
    for option in Options::parse(&words).iter() {
        let name = option
            .written
            .strip_prefix("--")
            .or_else(|| of_short(&option.written));
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            let given = option.values.first();
            let given = given.map_or(Value::Bool(true), |word| value(word));
            flags.insert(name.replace('_', "-"), given);
        }
    }
    flags
}

/// The flag of a short spelling: `-tp`.
fn of_short(written: &str) -> Option<&'static str> {
    let engines = [
        EngineKind::Vllm,
        EngineKind::Sglang,
        EngineKind::LlamaServer,
    ];
    let mut flags = engines.into_iter().flat_map(|engine| table(engine).iter());
    let flag = flags.find(|flag| flag.aliases.iter().any(|it| it == written))?;
    Some(flag.name.as_str())
}

/// A value as it is written: true or false, a number, or text.
pub(crate) fn value(word: &str) -> Value {
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
    fn short_spellings_are_flags_too() {
        let flags = flags("vllm serve Qwen/Qwen2.5-14B -tp 4 -pp=2 --max-num-seqs 64");
        assert_eq!(flags.get("tensor-parallel-size"), Some(&json!(4)));
        assert_eq!(flags.get("pipeline-parallel-size"), Some(&json!(2)));
        assert_eq!(flags.get("model"), Some(&json!("Qwen/Qwen2.5-14B")));
    }

    #[test]
    fn keys_of_a_command_in_notes_are_not_kept() {
        for command in [
            "evalscope perf --url http://h/v1 --api-key KEPT --number 5",
            "curl -H 'Authorization: Bearer KEPT' http://h/v1",
            "OPENAI_KEY=KEPT vllm bench serve --num-prompts 5",
            "aiperf profile --url http://user:KEPT@h:8000 --request-count 5",
            "vllm serve m --hf-token=KEPT",
        ] {
            let kept = safe(command);
            assert!(!kept.contains("KEPT"), "{kept}");
            assert!(kept.contains("[redacted]"), "{kept}");
        }
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
    fn a_launch_is_read_in_a_sentence_and_above_a_table() {
        let notes = "## a\n\n单机。`vllm serve /data/m --max-num-seqs 256`，然后测。\n\n\
            | 并发 | QPS |\n|---|---|\n| 1 | 0.1 |\n| 4 | 0.4 |\n";
        let results = crate::read("notes", notes).results;
        assert_eq!(results.len(), 2);
        for found in results {
            let flags = found.flags.unwrap();
            assert_eq!(flags.get("max-num-seqs"), Some(&json!(256)), "{flags:?}");
            assert_eq!(flags.get("model"), Some(&json!("/data/m")));
        }
        assert!(find(&Notes::new("we used `vllm serve ` and liked it")).is_empty());
    }

    #[test]
    fn keys_do_not_leave_the_notes() {
        let text = safe("vllm serve m --api-key sk-123 -e HF_TOKEN=abc --max-num-batched-tokens 5");
        assert_eq!(
            text,
            "vllm serve m --api-key [redacted] -e HF_TOKEN=[redacted] --max-num-batched-tokens 5"
        );
    }
}
