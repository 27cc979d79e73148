use super::*;

fn class(text: &str, code: i32) -> FailureClass {
    explain(EngineKind::Vllm, text.lines().skip(3), Some(code)).class
}

fn recorded(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/engine/vllm");
    std::fs::read_to_string(format!("{folder}/{name}.txt")).unwrap()
}

#[test]
fn real_refusals_are_illegal_flags() {
    for (name, code) in [
        ("refused-batched-tokens-below-seqs", 1),
        ("refused-unknown-flag", 2),
        ("refused-zero-seqs", 1),
        ("refused-bad-block-size", 1),
        ("unforeseen-attention-backend", 1),
    ] {
        let text = recorded(name);
        assert_eq!(class(&text, code), FailureClass::IllegalFlags, "{name}");
    }
}

#[test]
fn the_cause_counts_and_not_its_echo() {
    let text = recorded("refused-kv-cache-too-small");
    let failure = explain(EngineKind::Vllm, text.lines(), Some(1));
    assert_eq!(failure.class, FailureClass::NoRoomForKvCache);
    assert!(matches!(
        failure.fact,
        Some(Fact::KvCacheTooSmall {
            fitting: Some(896),
            ..
        })
    ));
    let text = recorded("refused-port-taken");
    assert_eq!(class(&text, 1), FailureClass::PortTaken);
}

#[test]
fn out_of_memory_is_told_apart_by_when_it_came() {
    let oom = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.";
    let echo = "Engine core initialization failed. See root cause above.";
    for (before, class) in [
        ("Starting to load model", FailureClass::OutOfMemoryLoading),
        (
            "Model loading took 12.37 GiB memory and 3.000000 seconds",
            FailureClass::OutOfMemory,
        ),
        (
            "INFO:     Application startup complete.",
            FailureClass::OutOfMemoryUnderLoad,
        ),
    ] {
        let failure = explain(EngineKind::Vllm, [before, oom, echo], Some(1));
        assert_eq!(failure.class, class, "{before}");
    }
    let killed = explain(EngineKind::Vllm, [], Some(-9));
    assert_eq!(killed.class, FailureClass::Crash);
}

fn explained(engine: EngineKind, log: &str) -> (FailureClass, String) {
    let failure = explain(engine, log.lines(), Some(1));
    (failure.class, failure.evidence.unwrap_or_default())
}

#[test]
fn an_error_of_a_compiler_is_no_complaint_about_flags() {
    let log = "\
/tmp/tmpab/main.c:6:10: error: 'CUtensorMap' undeclared (first use in this function)
/cache/decode.cu(12): error: identifier \"foo\" is undefined
(EngineCore_DP0 pid=200) ERROR [core.py:708] subprocess.CalledProcessError: Command 'gcc' failed
(APIServer pid=100) RuntimeError: Engine core initialization failed. See root cause above.";
    let (class, evidence) = explained(EngineKind::Vllm, log);
    assert_eq!(class, FailureClass::Crash);
    assert!(evidence.contains("CalledProcessError"), "{evidence}");
    let (class, _) = explained(
        EngineKind::Sglang,
        "launch_server.py: error: unrecognized arguments: --mem-fraction 0.8",
    );
    assert_eq!(class, FailureClass::IllegalFlags);
}

#[test]
fn the_cause_is_quoted_and_not_that_a_child_failed() {
    let log = "\
(EngineCore_DP0 pid=200) RuntimeError: The NVIDIA driver on your system is too old
(EngineCore_DP0 pid=200) Exception: WorkerProc initialization failed due to an exception in a background process.
(APIServer pid=100) RuntimeError: Engine core initialization failed. See root cause above.";
    let (class, evidence) = explained(EngineKind::Vllm, log);
    assert_eq!(class, FailureClass::Crash);
    assert!(evidence.contains("driver on your system"), "{evidence}");
    let log = "\
[2026-11-15 10:00:25 TP1] Scheduler hit an exception: Traceback (most recent call last):
RuntimeError: Ninja build failed. Ninja output:
[2026-11-15 10:00:25] Received sigquit from a child process. It usually means the child failed.";
    let failure = explain(EngineKind::Sglang, log.lines(), None);
    assert!(failure.evidence.unwrap().starts_with("RuntimeError: Ninja"));
}

#[test]
fn memory_is_told_apart_by_who_lacked_it() {
    let at = |engine, log: &str| explained(engine, log).0;
    let llama = "\
alloc_buffer: allocating 16384.00 MiB on device 0: cudaMalloc failed: out of memory
llama_init_from_model: failed to initialize the context: failed to allocate buffer for kv cache
srv    load_model: failed to load model, 'x.gguf'";
    assert_eq!(
        at(EngineKind::LlamaServer, llama),
        FailureClass::NoRoomForKvCache
    );
    let taken = "ValueError: The memory capacity is unbalanced. Some GPUs may be occupied by other processes. pre_model_load_memory=78.2";
    assert_eq!(
        at(EngineKind::Sglang, taken),
        FailureClass::MemoryTakenAtStart
    );
    for line in [
        "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 448.00 MiB.",
        "Cuda failure 2 'out of memory'",
        "RuntimeError: CUDA driver error: out of memory",
    ] {
        assert_eq!(
            at(EngineKind::Vllm, line),
            FailureClass::OutOfMemoryLoading,
            "{line}"
        );
    }
}

#[test]
fn llama_cpp_tells_apart_why_a_model_does_not_load() {
    use FailureClass::*;
    let load = "srv    load_model: failed to load model, '/data/x.gguf'";
    for (wanted, lines) in [
        (
            IllegalFlags,
            &[
                "llama_init_from_model: V cache quantization requires flash_attn",
                "failed to initialize the context: quantized V cache was requested, but this requires Flash Attention",
                "llama_model_load: error loading model: error loading model architecture: unknown model architecture: 'qwen9'",
            ][..],
        ),
        (
            OutOfMemoryLoading,
            &[
                "ggml_vulkan: vk::Device::allocateMemory: ErrorOutOfDeviceMemory",
                "alloc_buffer: allocating 8192.00 MiB on device 0: aclrtMalloc failed: EL0004",
            ][..],
        ),
        (
            MissingModel,
            &[
                "gguf_init_from_file: failed to open GGUF file '/x/y.gguf'",
                "get_repo_commit: error: GET failed (404): no such page",
            ][..],
        ),
        (
            Crash,
            &["llama_model_load: error loading model: tensor 'x' has wrong shape"][..],
        ),
    ] {
        for line in lines {
            let (class, evidence) = explained(EngineKind::LlamaServer, &format!("{line}\n{load}"));
            assert_eq!((class, evidence.as_str()), (wanted, *line));
        }
    }
    // The weights fitted, and what is computed with did not.
    let cpu = "\
ggml_aligned_malloc: insufficient memory (attempted to allocate 81920.00 MB)
llama_init_from_model: failed to initialize the context: failed to allocate compute pp buffers
srv    load_model: failed to load model, '/data/x.gguf'";
    let (class, evidence) = explained(EngineKind::LlamaServer, cpu);
    assert_eq!(class, OutOfMemory);
    assert!(evidence.starts_with("ggml_aligned_malloc"), "{evidence}");
}

#[test]
fn texts_of_users_reports_have_their_class() {
    use FailureClass::*;
    let vllm = EngineKind::Vllm;
    let sglang = EngineKind::Sglang;
    for (engine, wanted, lines) in [
        (
            vllm,
            MemoryTakenAtStart,
            &[
                "ValueError: Free memory on device cuda:1 (3.21/79.15 GiB) on startup is less than desired GPU memory utilization (0.9, 71.24 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.",
                "ValueError: Free memory on device (3.21/60.96 GiB) on startup is less than desired GPU memory utilization (0.9, 54.87 GiB). Decrease GPU memory utilization or reduce NPU memory used by other processes.",
                "AssertionError: Error in memory profiling. Initial free memory 15.28 GiB, current free memory 17.9 GiB.",
            ][..],
        ),
        (
            vllm,
            NoRoomForKvCache,
            &[
                "ValueError: The model's max seq len (131072) is larger than the maximum number of tokens that can be stored in KV cache (21840). Try increasing `gpu_memory_utilization`",
            ][..],
        ),
        (
            vllm,
            OutOfMemory,
            &[
                "RuntimeError: CUDA out of memory occurred when warming up sampler with 1024 dummy requests.",
            ][..],
        ),
        (
            vllm,
            OutOfMemoryLoading,
            &["torch.OutOfMemoryError: XPU out of memory. Tried to allocate 52.00 MiB."][..],
        ),
        (
            vllm,
            IllegalFlags,
            &[
                "ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0.",
                "ValueError: The quantization method awq is not supported for the current GPU. Minimum capability: 75.",
            ][..],
        ),
        (
            vllm,
            MissingModel,
            &["RuntimeError: Cannot find any model weights with `/data/models/Qwen`"][..],
        ),
        (
            sglang,
            IllegalFlags,
            &[
                "ValueError: User-specified context_length (65536) is greater than the derived context_length (32768).",
                "AssertionError: Tensor parallel size 3 is not divisible by number of attention heads 32",
                "AssertionError: chunked_prefill_size must be divisible by page_size",
            ][..],
        ),
        (
            sglang,
            NoRoomForKvCache,
            &[
                "RuntimeError: Not enough memory. Please try increasing --mem-fraction-static. Current value: 0.5",
            ][..],
        ),
    ] {
        for line in lines {
            assert_eq!(explained(engine, line), (wanted, (*line).to_owned()));
        }
    }
    let served = "\
[2026-03-29 18:18:34] The server is fired up and ready to roll!
ValueError: Decode out of memory. Try to lower your batch size. Try to allocate 33 tokens.";
    assert_eq!(explained(sglang, served).0, OutOfMemoryUnderLoad);
}

#[test]
fn a_killed_core_is_named_as_killed_and_a_dead_one_by_its_cause() {
    let log = "\
(EngineCore_DP0 pid=21) INFO Loading safetensors checkpoint shards:  40% Completed | 2/5
(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {'EngineCore_DP0': -9}";
    let (class, evidence) = explained(EngineKind::Vllm, log);
    assert_eq!(class, FailureClass::Crash);
    assert!(evidence.contains("killed, as by the kernel"), "{evidence}");
    let log = "\
INFO:     Application startup complete.
(EngineCore_DP0 pid=21) ERROR torch.AcceleratorError: CUDA error: an illegal memory access was encountered
(APIServer pid=1) vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause.";
    let (class, evidence) = explained(EngineKind::Vllm, log);
    assert_eq!(class, FailureClass::Crash);
    assert!(evidence.contains("illegal memory access"), "{evidence}");
}

#[test]
fn a_model_behind_a_gate_is_missing() {
    let log = "\
huggingface_hub.errors.GatedRepoError: 401 Client Error. (Request ID: Root=1-68)
Cannot access gated repo for url https://huggingface.co/m/resolve/main/config.json.
OSError: You are trying to access a gated repo.";
    let (class, evidence) = explained(EngineKind::Vllm, log);
    assert_eq!(class, FailureClass::MissingModel);
    assert!(
        evidence.starts_with("Cannot access gated repo"),
        "{evidence}"
    );
}
