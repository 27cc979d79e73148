use super::*;
use proptest::prelude::*;

fn parse(line: &str) -> LaunchCommand {
    LaunchCommand::parse_line(line).unwrap()
}

fn value<'a>(command: &'a LaunchCommand, name: &str) -> Option<&'a str> {
    command.flag(name).and_then(GivenFlag::value)
}

#[test]
fn vllm_serve_takes_its_model_and_flags() {
    let command = parse(
        "CUDA_VISIBLE_DEVICES=0 /opt/bin/vllm serve Qwen/Qwen2.5-7B --max-num-seqs 64 \\\n\
         --max_num_batched_tokens=2048 -tp 2 --no-enable-prefix-caching -O3 \
         --speculative-config '{\"method\": \"ngram\"}' --served-model-name a b --seed -1",
    );
    assert_eq!(command.engine, EngineKind::Vllm);
    assert_eq!(command.form, Form::VllmServe);
    assert_eq!(command.model.as_deref(), Some("Qwen/Qwen2.5-7B"));
    assert_eq!(
        command.environment,
        [("CUDA_VISIBLE_DEVICES".into(), "0".into())]
    );
    assert_eq!(value(&command, "max-num-seqs"), Some("64"));
    assert_eq!(value(&command, "max-num-batched-tokens"), Some("2048"));
    assert_eq!(value(&command, "tensor-parallel-size"), Some("2"));
    assert_eq!(value(&command, "optimization-level"), Some("3"));
    assert_eq!(value(&command, "seed"), Some("-1"));
    assert_eq!(
        command.flag("served-model-name").unwrap().values,
        ["a", "b"]
    );
    assert!(!command.flag("enable-prefix-caching").unwrap().on);
    assert!(command.extra.is_empty() && command.unknown().next().is_none());
}

#[test]
fn the_python_module_of_2024_is_vllm() {
    for line in [
        "python -m vllm.entrypoints.openai.api_server --model m --enable-chunked-prefill false",
        "python3 -u -m vllm.entrypoints.openai.api_server --model=m --enable-chunked-prefill=False",
        "nohup /usr/bin/python3.10 /opt/vllm/entrypoints/openai/api_server.py --model m \
         --enable-chunked-prefill False",
    ] {
        let command = parse(line);
        assert_eq!(command.form, Form::VllmApiServer, "{line}");
        assert_eq!(command.model.as_deref(), Some("m"));
        let chunked = value(&command, "enable-chunked-prefill")
            .unwrap()
            .to_lowercase();
        assert_eq!(chunked, "false", "{line}");
    }
}

#[test]
fn arguments_behind_an_image_are_the_engines() {
    let command = parse(
        "docker run --runtime nvidia --gpus all --rm -it --name qwen -p 8001:8000 \
         -e HF_TOKEN=x -v ~/models:/models --ipc=host vllm/vllm-openai:v0.6.3 \
         --model Qwen/Qwen2-7B --max-num-seqs 8",
    );
    assert_eq!(command.engine, EngineKind::Vllm);
    let container = command.container.as_ref().unwrap();
    assert_eq!(container.image, "vllm/vllm-openai");
    assert_eq!(container.tag.as_deref(), Some("v0.6.3"));
    assert_eq!(container.name.as_deref(), Some("qwen"));
    assert_eq!(command.outer_port(8000), 8001);
    assert_eq!(command.model.as_deref(), Some("Qwen/Qwen2-7B"));
    assert_eq!(value(&command, "max-num-seqs"), Some("8"));
    assert_eq!(command.environment, [("HF_TOKEN".into(), "x".into())]);

    let command = parse(
        "sudo docker run -d -p 30000:30000 lmsysorg/sglang:latest \
         python3 -m sglang.launch_server --model-path m --tp 2",
    );
    assert_eq!(command.form, Form::SglangModule);
    assert_eq!(value(&command, "tp-size"), Some("2"));
}

#[test]
fn other_engines_are_known_by_their_programs() {
    let command = parse("python -m sglang.launch_server --model-path m --disable-radix-cache");
    assert_eq!(command.engine, EngineKind::Sglang);
    assert_eq!(command.model.as_deref(), Some("m"));
    let command = parse("./build/bin/llama-server -m x.gguf -c 8192 -np 4 -ngl 99 -nocb");
    assert_eq!(command.engine, EngineKind::LlamaServer);
    assert_eq!(value(&command, "parallel"), Some("4"));
    assert!(!command.flag("cont-batching").unwrap().on);
    assert_eq!(
        parse("./bin/mindieservice_daemon").engine,
        EngineKind::Mindie
    );
    let command = parse("./my-server --fast");
    assert_eq!(command.engine, EngineKind::Custom);
    assert_eq!(command.to_string(), "./my-server --fast");
}

#[test]
fn a_flag_of_an_unknown_engine_is_replaced_as_it_is_spelled() {
    let given = "./serve model.bin --max_batch 8 --mode=fast -t 4 --warm --max_batch 9 --quiet x";
    let mut command = parse(given);
    assert_eq!(command.stray_value("max-batch"), Some(Some("8")));
    assert_eq!(command.stray_value("absent"), None);
    for (name, value) in [
        ("max-batch", Some("16")),
        ("mode", Some("slow")),
        ("t", Some("2")),
        ("warm", None),
        ("new", Some("1")),
    ] {
        command.set(name, value);
    }
    let changed = "./serve model.bin --max_batch 16 --mode=slow -t 2 --warm --quiet x --new 1";
    assert_eq!(command.to_string(), changed);
    command.remove("quiet");
    command.remove("new");
    let less = "./serve model.bin --max_batch 16 --mode=slow -t 2 --warm x";
    assert_eq!(command.to_string(), less);
}

#[test]
fn a_command_inside_ssh_is_found_and_given_back_quoted() {
    let mut command = parse("ssh gpu1 \"cd x; vllm serve m --max-num-seqs 4\"");
    // An operator inside the quoted part cannot be split, so that it stays custom.
    assert_eq!(command.engine, EngineKind::Custom);
    command = parse("ssh gpu1 'A=1 vllm serve m --max-num-seqs 4'");
    assert_eq!(command.engine, EngineKind::Vllm);
    command.set("max-num-seqs", Some("8"));
    assert_eq!(
        command.to_string(),
        "ssh gpu1 'A=1 vllm serve m --max-num-seqs 8'"
    );
}

#[test]
fn a_flag_can_be_set_and_the_command_pasted() {
    let mut command = parse("vllm serve m --max-num-seqs 4 --max_num_seqs=5 --enforce-eager");
    command.set("max-num-seqs", Some("16"));
    command.set("enable-chunked-prefill", Some("false"));
    command.set("enforce-eager", Some("true"));
    assert_eq!(
        command.to_string(),
        "vllm serve m --max-num-seqs 16 --enforce-eager --no-enable-chunked-prefill"
    );
}

#[test]
fn a_switch_goes_off_as_the_version_says_it() {
    let off = |name: &str, version: Version| {
        let mut command =
            parse("vllm serve m --enable-chunked-prefill --disable-custom-all-reduce");
        command.switch_off(name, version);
        command.to_string()
    };
    let (old, new) = (Version::new(0, 6, 3), Version::new(0, 11, 0));
    // What is off by itself needs no word, in no version.
    for version in [old, new] {
        let said = off("disable-custom-all-reduce", version);
        assert_eq!(said, "vllm serve m --enable-chunked-prefill");
    }
    let rest = "--disable-custom-all-reduce";
    let said = off("enable-chunked-prefill", old);
    assert_eq!(
        said,
        format!("vllm serve m --enable-chunked-prefill false {rest}")
    );
    let said = off("enable-chunked-prefill", new);
    assert_eq!(
        said,
        format!("vllm serve m --no-enable-chunked-prefill {rest}")
    );
    let caching = |version| off("enable-prefix-caching", version).contains("prefix-caching");
    assert!(!caching(old) && caching(Version::new(0, 7, 3)));
}

#[test]
fn a_switch_takes_every_usual_word_for_on_and_off() {
    let set = |name: &str, word: &str| {
        let mut command = parse("vllm serve m");
        command.set(name, Some(word));
        command.to_string()
    };
    for on in ["true", "on", "yes", "1", "ON", "True"] {
        let said = set("enable-prefix-caching", on);
        assert_eq!(said, "vllm serve m --enable-prefix-caching", "{on}");
        assert_eq!(set("enforce-eager", on), "vllm serve m --enforce-eager");
    }
    for off in ["false", "off", "no", "0", "Off"] {
        let said = set("enable-prefix-caching", off);
        assert_eq!(said, "vllm serve m --no-enable-prefix-caching", "{off}");
    }
    // What says neither is not taken for on: the engine would refuse it, and so do its rules.
    let said = set("enable-prefix-caching", "maybe");
    assert_eq!(said, "vllm serve m --enable-prefix-caching=maybe");
}

#[test]
fn unknown_flags_are_kept_apart() {
    let command = parse("vllm serve m --nonsense 1 --max-num-seqs 4 stray");
    assert_eq!(
        command
            .unknown()
            .map(|f| f.name.as_str())
            .collect::<Vec<_>>(),
        ["nonsense"]
    );
    assert_eq!(
        command.extra,
        [Stray {
            word: "stray".into(),
            after: 2
        }]
    );
    assert_eq!(LaunchCommand::parse_line("  "), Err(CommandError::Empty));
}

#[test]
fn the_text_of_a_shell_loses_flags_unless_it_passes_them_on() {
    let loses = |line: &str| LaunchCommand::parse_line(line).unwrap().loses_flags();
    assert!(loses("sh -c 'python3 server.py --port {port}'"));
    assert!(loses("env A=1 /bin/bash -lc 'cd x && ./server'"));
    assert!(!loses("sh -c 'python3 server.py \"$@\"' sh"));
    assert!(!loses("sh start.sh"));
    assert!(!loses("python3 -c 'print(1)'"));
    assert!(!loses("bash -c 'vllm serve m'"), "flags are set inside");
}

proptest! {
    #[test]
    fn any_words_are_taken_apart_and_put_together(
        words in prop::collection::vec(
            prop_oneof![
                any::<String>(),
                Just("vllm".into()), Just("serve".into()), Just("docker".into()),
                Just("run".into()), Just("-p".into()), Just("--model".into()),
                Just("vllm/vllm-openai".into()), Just("python".into()), Just("-m".into()),
                Just("--entrypoint".into()), Just("-O".into()), Just("--api-key".into()),
            ],
            0..12,
        )
    ) {
        if let Ok(command) = LaunchCommand::parse(&words) {
            let _ = command.to_string();
            let again = LaunchCommand::parse(&command.to_words());
            prop_assert!(again.is_ok());
        }
    }
}
