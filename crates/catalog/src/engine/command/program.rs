//! Which program a command starts, and what stands in front of it.

use super::super::EngineKind;
use super::super::words;
use super::{Container, LaunchCommand};

/// By which program an engine is started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// `vllm serve MODEL …`.
    VllmServe,
    /// `python -m vllm.entrypoints.openai.api_server --model …` (2023–24).
    VllmApiServer,
    /// `python -m sglang.launch_server --model-path …`.
    SglangModule,
    /// `sglang serve …`.
    SglangServe,
    /// `mindieservice_daemon`, or `mindie_llm_server` of newer releases.
    MindieDaemon,
    /// `trtllm-serve [serve] MODEL …`.
    TrtllmServe,
    /// `llama-server …`.
    LlamaServer,
    /// Anything else.
    #[default]
    Other,
}

/// Finds the engine's program among the words; the first match counts. Gives the command without
/// its arguments, and those.
pub(super) fn find(all: &[String]) -> (LaunchCommand, Vec<String>) {
    let mut environment = Vec::new();
    for start in 0..all.len() {
        let words = &all[start..];
        if let Some((engine, form, length)) = program(words) {
            let command = LaunchCommand {
                engine,
                form,
                wrapper: all[..start].to_vec(),
                environment,
                program: words[..length].to_vec(),
                ..LaunchCommand::default()
            };
            return (command, words[length..].to_vec());
        }
        if is_container_run(words)
            && let Some(found) = contained(all, start, environment.clone())
        {
            return found;
        }
        if let Some(pair) = assignment(&words[0]) {
            environment.push(pair);
        }
    }
    // `ssh host "vllm serve …"`, `bash -c '…'`: the engine hides in the last word.
    if let Some(last) = all.last().filter(|last| last.contains(char::is_whitespace))
        && let Ok(inner) = words::split(last)
        && inner.len() < last.len()
        && inner.last() != Some(last)
    {
        let (mut found, arguments) = find(&inner);
        if found.engine != EngineKind::Custom {
            let mut wrapper = all[..all.len() - 1].to_vec();
            wrapper.retain(|word| !word.is_empty());
            let before = std::mem::replace(&mut found.wrapper, wrapper);
            found.program.splice(0..0, before);
            found.environment.splice(0..0, environment);
            found.quoted = true;
            return (found, arguments);
        }
    }
    let custom = LaunchCommand {
        environment,
        ..LaunchCommand::default()
    };
    (custom, all.to_vec())
}

/// The engine that these words start, its form, and how many words its program has.
fn program(words: &[String]) -> Option<(EngineKind, Form, usize)> {
    let word = |index: usize| words.get(index).map(String::as_str).unwrap_or_default();
    let base = file_name(word(0));
    match base {
        "vllm" if word(1) == "serve" => Some((EngineKind::Vllm, Form::VllmServe, 2)),
        "sglang" if word(1) == "serve" => Some((EngineKind::Sglang, Form::SglangServe, 2)),
        "trtllm-serve" => {
            let length = if word(1) == "serve" { 2 } else { 1 };
            Some((EngineKind::Trtllm, Form::TrtllmServe, length))
        }
        "llama-server" | "llama-server.exe" => {
            Some((EngineKind::LlamaServer, Form::LlamaServer, 1))
        }
        "mindieservice_daemon" | "mindie_llm_server" => {
            Some((EngineKind::Mindie, Form::MindieDaemon, 1))
        }
        _ if base.starts_with("python") => {
            // Flags of the interpreter itself: -u, -O, …
            let mut at = 1;
            while word(at).starts_with('-') && word(at) != "-m" && word(at) != "-c" {
                at += 1;
            }
            let (module, length) = if word(at) == "-m" {
                (word(at + 1).to_owned(), at + 2)
            } else {
                let path = word(at).trim_end_matches(".py").replace('/', ".");
                (path, at + 1)
            };
            if module.ends_with("vllm.entrypoints.openai.api_server")
                || module.ends_with("vllm.entrypoints.api_server")
            {
                Some((EngineKind::Vllm, Form::VllmApiServer, length))
            } else if module.ends_with("sglang.launch_server") {
                Some((EngineKind::Sglang, Form::SglangModule, length))
            } else if module.ends_with("vllm.entrypoints.cli.main") && word(length) == "serve" {
                Some((EngineKind::Vllm, Form::VllmServe, length + 1))
            } else {
                None
            }
        }
        _ => None,
    }
}

fn file_name(word: &str) -> &str {
    word.rsplit(['/', '\\']).next().unwrap_or(word)
}

fn assignment(word: &str) -> Option<(String, String)> {
    let (name, value) = word.split_once('=')?;
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let named = !name.is_empty()
        && name.chars().all(plain)
        && !name.starts_with(|c: char| c.is_ascii_digit());
    named.then(|| (name.to_owned(), value.to_owned()))
}

fn is_container_run(words: &[String]) -> bool {
    words.len() > 2
        && matches!(file_name(&words[0]), "docker" | "podman" | "nerdctl")
        && words[1] == "run"
}

/// Options of `docker run` without a value; every other one takes the next word.
const BARE_OPTIONS: &str =
    "-d --detach -i --interactive -t --tty -it -ti -itd -dit --rm --privileged --init -P";

fn contained(
    all: &[String],
    start: usize,
    mut environment: Vec<(String, String)>,
) -> Option<(LaunchCommand, Vec<String>)> {
    let mut container = Container::default();
    let mut entry_point = None;
    let mut at = start + 2;
    while let Some(option) = all.get(at).filter(|word| word.starts_with('-')) {
        let (name, joined) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (option.as_str(), None),
        };
        at += 1;
        if BARE_OPTIONS.split(' ').any(|bare| bare == name) {
            continue;
        }
        let value = match joined {
            Some(value) => value,
            None => {
                // `-p8001:8000` is one word.
                if let Some(port) = name.strip_prefix("-p").filter(|rest| rest.contains(':')) {
                    container.published.extend(published(port));
                    continue;
                }
                at += 1;
                all.get(at - 1)?.clone()
            }
        };
        match name {
            "-p" | "--publish" => container.published.extend(published(&value)),
            "-e" | "--env" => environment.extend(assignment(&value)),
            "--name" => container.name = Some(value),
            "--entrypoint" => entry_point = Some(value),
            _ => {}
        }
    }
    let image = all.get(at)?;
    let arguments = &all[at + 1..];
    let (repository, tag) = match image.rsplit_once(':') {
        Some((repository, tag)) if !tag.contains('/') => (repository, Some(tag.to_owned())),
        _ => (image.as_str(), None),
    };
    container.image = repository.to_owned();
    container.tag = tag;
    let mut wrapper = all[..=at].to_vec();
    // A program named behind the image, or as its entry point, says more than the image.
    let mut inner: Vec<String> = entry_point.clone().into_iter().collect();
    inner.extend(arguments.iter().cloned());
    let (named, named_arguments) = find(&inner);
    if named.engine != EngineKind::Custom {
        let hidden = usize::from(entry_point.is_some());
        wrapper.extend(named.wrapper.into_iter().skip(hidden));
        let program = if wrapper.len() > at + 1 {
            named.program
        } else {
            named.program.into_iter().skip(hidden).collect()
        };
        environment.extend(named.environment);
        let command = LaunchCommand {
            wrapper,
            environment,
            program,
            container: Some(container),
            ..named
        };
        return Some((command, named_arguments));
    }
    let (engine, form) = if repository.contains("vllm") {
        (EngineKind::Vllm, Form::VllmServe)
    } else if repository.contains("llama.cpp") {
        (EngineKind::LlamaServer, Form::LlamaServer)
    } else if repository.contains("sglang") {
        (EngineKind::Sglang, Form::SglangModule)
    } else if repository.contains("mindie") {
        (EngineKind::Mindie, Form::MindieDaemon)
    } else {
        return None;
    };
    let command = LaunchCommand {
        engine,
        form,
        wrapper,
        environment,
        container: Some(container),
        ..LaunchCommand::default()
    };
    Some((command, arguments.to_vec()))
}

/// `8001:8000`, `127.0.0.1:8001:8000/tcp`.
fn published(text: &str) -> Option<(u16, u16)> {
    let text = text.split('/').next()?;
    let mut parts = text.rsplit(':');
    let inner = parts.next()?.parse().ok()?;
    let outer = parts.next()?.parse().ok()?;
    Some((outer, inner))
}
