use super::*;
use crate::probe::Help;
use inferometer_catalog::device::Device;

fn engine(line: &str) -> Engine {
    Engine::of(LaunchCommand::parse_line(line).unwrap())
}

fn gpu() -> DeviceClass {
    DeviceClass::of(Device::named("h200").unwrap(), 1)
}

#[test]
fn a_refusal_is_foreseen_in_the_engines_words() {
    let bad = engine("vllm serve m --max-num-batched-tokens 8 --max-num-seqs 16");
    let found = bad.check(&gpu(), None);
    assert!(
        found[0].message.contains("max_num_batched_tokens"),
        "{found:?}"
    );
    assert!(
        engine("vllm serve m --max-num-seqs 16 --port {port}")
            .check(&gpu(), None)
            .is_empty()
    );
}

#[test]
fn a_mistyped_flag_finds_its_neighbour() {
    let found = engine("vllm serve m --max-num-sqs 16").check(&gpu(), None);
    assert!(
        found[0].nearest.contains(&"max-num-seqs".to_owned()),
        "{found:?}"
    );
    assert!(found[0].to_string().contains("did you mean --max-num-seqs"));
}

#[test]
fn the_installed_engine_is_right_about_its_flags() {
    let mut new = engine("vllm serve m --brand-new 3 --max-num-seqs 4 --swap-space 2");
    let help = "--brand-new N --max-num-seqs N --model M --port P --host H -h";
    new.installed.help = Help::read(help);
    let found = new.check(&gpu(), None);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].message.contains("--swap-space"));
}

#[test]
fn assignments_become_environment_and_a_container_has_its_stop_command() {
    let local = engine("CUDA_VISIBLE_DEVICES=1 vllm serve m --port 8123");
    let (words, environment) = local.spawnable();
    assert_eq!(words[0], "vllm");
    assert_eq!(environment, [("CUDA_VISIBLE_DEVICES".into(), "1".into())]);
    assert_eq!((local.port(), local.stop_command()), (8123, None));
    let contained = engine("sudo docker run --name bench -p 8001:8000 vllm/vllm-openai --model m");
    assert_eq!(contained.outer_port(contained.port()), 8001);
    assert_eq!(
        contained.stop_command().unwrap(),
        ["sudo", "docker", "stop", "bench"]
    );
}

#[test]
fn of_an_unknown_version_only_what_every_version_refuses_is_certain() {
    // Newer versions have no swap space; a container without a tag may be an older one.
    let old = engine("docker run -p 1:8000 vllm/vllm-openai --model m --swap-space 4");
    assert_eq!(old.check(&gpu(), None), []);
    let (objection, older) = old.doubt(&gpu(), None).unwrap();
    assert!(objection.message.contains("--swap-space"), "{objection}");
    assert!(older < old.version(), "{older}");
    let newest = old.clone().of_version(Some(EngineKind::Vllm.newest()));
    assert!(
        newest.check(&gpu(), None)[0]
            .message
            .contains("--swap-space")
    );
    assert_eq!(newest.doubt(&gpu(), None), None);
    // What none of them takes is refused without knowing which it is.
    let bad = engine("docker run -p 1:8000 vllm/vllm-openai --model m --max-num-sqs 4");
    assert_eq!(bad.check(&gpu(), None)[0].flag, "max-num-sqs");
    assert_eq!(bad.doubt(&gpu(), None), None);
}

#[test]
fn a_value_out_of_range_is_told_with_its_flag() {
    let said = |line: &str| engine(line).check(&gpu(), None)[0].to_string();
    let vllm = said("vllm serve m --gpu-memory-utilization 1.2");
    assert!(vllm.starts_with("--gpu-memory-utilization: Input should be less"));
    // SGLang's own words are not known.
    let sglang = said("python -m sglang.launch_server --model-path m --tp 0");
    assert_eq!(
        sglang,
        "--tp-size is out of range: it is 0, and must be greater than or equal to 1"
    );
}
