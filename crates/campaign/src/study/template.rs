//! A study to start from, for a command: the flags that usually matter, from the catalogue.

use crate::space::{Domain, PRESETS, Value};
use inferometer_catalog::engine::{EngineKind, LaunchCommand, Version, flag};
use std::fmt::Write;

/// A commented study for this command: flags that the command sets are left out of the space.
pub fn template(command: &LaunchCommand, version: Version) -> String {
    let engine = command.engine;
    let mut text = String::from(
        "# A study for `inferometer tune`. Change what you like; lines behind # are ideas.\n\n[engine]\n",
    );
    let mut line = |words: &str| {
        text.push_str(words);
        text.push('\n');
    };
    line(&format!("command = {}", quoted(&command.to_string())));
    if engine == EngineKind::Mindie {
        line("config = \"conf/config.json\"      # a copy of it is written for each trial");
    }
    line("# version = \"0.11.0\"              # else the engine is asked");
    line("# start-timeout = \"15m\"");
    line("# url = \"http://127.0.0.1:8001\"   # where a container's port is another one");
    line("# stop = \"docker stop NAME\"       # where the command is a wrapper");
    line(
        "\n[space]\n# name = { int = [low, high], log = true }, { float = [low, high], step = 0.05 },\n#        { bool = true }, [16, 32], or \"min(256, max-num-batched-tokens)\"",
    );
    let mut searched = 0;
    for preset in PRESETS.iter().filter(|preset| preset.engine == engine) {
        line(&format!("# as in preset = \"{}\"", preset.name));
        for dimension in preset.dimensions() {
            let known = flag(engine, version, &dimension.name);
            if command.flag(&dimension.name).is_some() || known.is_none() {
                continue;
            }
            searched += 1;
            let help = known
                .map(|flag| flag.help.as_str())
                .filter(|help| !help.is_empty());
            let help = help.map(|help| format!("   # {help}")).unwrap_or_default();
            line(&format!(
                "{} = {}{help}",
                key(&dimension.name),
                written(&dimension.domain)
            ));
        }
    }
    if searched == 0 {
        line("batch-size = { int = [1, 64], log = true }   # put a flag of the engine here");
    }
    line(
        "\n[work]                        # of equal lengths all streams march in step, and no seed changes a number\ninput-tokens = \"normal(512,100)\"\noutput-tokens = \"uniform(64,192)\"\n# data = \"ShareGPT.json\"",
    );
    line(
        "\n[load]\nconcurrency = [64]            # several levels are measured on each start: [16, 64, 256]\n# capacity = true             # instead: the highest load that meets the SLOs, with maximize = \"value\"\nrequests = 2048               # enough for a p99: requests that wait together count less than one each",
    );
    line(
        "\n[goal]\nmaximize = \"throughput.output_tokens_per_s\"   # any figure of summary.json; several in brackets\n# minimize = \"latency.ttft_ms.p99\"\n# slo = [\"ttft.p99=1s\", \"tpot.p99=50ms\"]\n# check = \"gsm8k\"                              # score answers, and keep the score:\n# require = [\"check.score>=0.7\"]",
    );
    line(
        "\n[budget]\ntrials = 30                   # of the search; the last stage adds its own starts\n# hours = 3",
    );
    line(
        "\n[search]\nsearcher = \"tpe\"              # or grid, random, halving; or a program: command = \"python3 docs/optuna-searcher.py\"\nseed = 0",
    );
    line(
        "\n[last-stage]                  # fresh starts decide: of the best few, then of the first of them and the default\nbest = 3\nrepeats = 5\ntrim = true                   # before that, without each of its flags: what costs nothing stays out",
    );
    text
}

fn written(domain: &Domain) -> String {
    let levels = domain.levels();
    let list = |values: &[Value]| {
        let words: Vec<String> = values.iter().map(value).collect();
        words.join(", ")
    };
    match (levels.as_slice(), domain.is_unordered()) {
        ([Value::Bool(_), ..], _) => "{ bool = true }".to_owned(),
        (values, true) => format!("[{}]", list(values)),
        ([first @ Value::Int(_), .., last], _) => {
            format!(
                "{{ int = [{}, {}], log = true, step = 2 }}",
                value(first),
                value(last)
            )
        }
        ([first, second, .., last], _) => {
            let step = match (first.number(), second.number()) {
                (Some(first), Some(second)) => format!(", step = {:.4}", second - first),
                _ => String::new(),
            };
            let step = step.trim_end_matches('0');
            format!("{{ float = [{}, {}]{step} }}", value(first), value(last))
        }
        (values, _) => format!("[{}]", list(values)),
    }
}

fn value(value: &Value) -> String {
    match value {
        Value::Text(text) => quoted(text),
        Value::Float(number) => format!("{number:?}"),
        other => other.to_string(),
    }
}

fn key(name: &str) -> String {
    if name.contains('.') {
        quoted(name)
    } else {
        name.to_owned()
    }
}

/// As TOML writes a text; nothing that a user typed can break out of it.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            other if other.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(other));
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}
