//! The table of lines.
//!
//! vLLM (the numbers behind file names are those of one release): those of 0.32 from its installed package, most of them also seen by running it (on the
//! CPU; an H200 for graphs and memory, see the design notes); older ones from the release tags.
//! llama.cpp: slots and ready line by running it (October 2026), the rest from its source. SGLang:
//! source of August 2026. MindIE: its documentation and its open repository.

use super::super::EngineKind::{self, *};
use super::super::Version;
use super::Name;

pub(super) struct Line {
    pub engine: EngineKind,
    pub name: Name,
    pub since: Option<Version>,
    pub until: Option<Version>,
    /// The file that vLLM names in front of the line.
    pub source: &'static str,
    pub text: &'static str,
}

const fn line(engine: EngineKind, name: Name, source: &'static str, text: &'static str) -> Line {
    Line {
        engine,
        name,
        since: None,
        until: None,
        source,
        text,
    }
}

impl Line {
    const fn since(mut self, major: u32, minor: u32, patch: u32) -> Self {
        self.since = Some(Version::new(major, minor, patch));
        self
    }

    /// Read, and never written.
    const fn only_read(self) -> Self {
        self.since(0, 0, 0).until(0, 0, 0)
    }

    const fn until(mut self, major: u32, minor: u32, patch: u32) -> Self {
        self.until = Some(Version::new(major, minor, patch));
        self
    }
}

/// In the order of reading: a longer text stands before its own beginning.
pub(super) const LINES: &[Line] = &[
    line(Vllm, Name::Version, "api_utils.py:347", "█  version {}").since(0, 14, 0),
    line(Vllm, Name::Version, "api_server.py:528", "vLLM API server version {}").until(0, 14, 0),
    line(Vllm, Name::MaxModelLen, "model.py:2152", "Using max model len {n}").since(0, 9, 2),
    line(Vllm, Name::WeightsLoaded, "gpu_model_runner.py:5150", "Model loading took {.2} GiB memory and {.6} seconds").since(0, 11, 1),
    line(Vllm, Name::WeightsLoaded, "gpu_model_runner.py:1347", "Model loading took {.4} GiB and {.6} seconds").since(0, 8, 0).until(0, 11, 1),
    line(Vllm, Name::WeightsLoaded, "model_runner.py:1071", "Loading model weights took {.4} GB").until(0, 8, 0),
    line(Vllm, Name::KvCacheMemory, "gpu_worker.py:760", "Available KV cache memory: {.2} GiB").since(0, 9, 1),
    line(Vllm, Name::KvCacheCapacity, "kv_cache_utils.py:2327", "GPU KV cache size: {,} tokens, Maximum concurrency for {,} tokens per request: {.2}x").since(0, 28, 0),
    line(Vllm, Name::KvCacheCapacity, "kv_cache_utils.py:2327", "CPU KV cache size: {,} tokens, Maximum concurrency for {,} tokens per request: {.2}x").since(0, 28, 0),
    // What other devices call it.
    line(Vllm, Name::KvCacheTokens, "kv_cache_utils.py:634", "KV cache size: {,} tokens").only_read(),
    line(Vllm, Name::KvCacheTokens, "kv_cache_utils.py:634", "GPU KV cache size: {,} tokens").since(0, 8, 0).until(0, 28, 0),
    line(Vllm, Name::KvCacheBlocks, "gpu_executor.py:122", "# GPU blocks: {n}, # CPU blocks: {n}").until(0, 8, 0),
    line(Vllm, Name::MaxConcurrency, "kv_cache_utils.py:637", "Maximum concurrency for {,} tokens per request: {.2}x").since(0, 8, 0).until(0, 28, 0),
    line(Vllm, Name::MaxConcurrency, "gpu_executor.py:126", "Maximum concurrency for {n} tokens per request: {.2}x").until(0, 8, 0),
    line(Vllm, Name::GraphsCaptured, "gpu_model_runner.py:6582", "Graph capturing finished in {n} secs, took {.2} GiB").since(0, 7, 0),
    line(Vllm, Name::GraphsCaptured, "model_runner.py:1530", "Graph capturing finished in {n} secs.").until(0, 7, 0),
    line(Vllm, Name::EngineStarted, "core.py:402", "init engine (profile, create kv cache, warmup model) took {.2} s").since(0, 20, 0),
    line(Vllm, Name::EngineStarted, "llm_engine.py:437", "init engine (profile, create kv cache, warmup model) took {.2} seconds").since(0, 6, 5).until(0, 20, 0),
    line(Vllm, Name::Listening, "entry.py:140", "Starting vLLM server on {}").since(0, 18, 0),
    line(Vllm, Name::Listening, "api_server.py:1800", "Starting vLLM API server 0 on {}").since(0, 7, 3).until(0, 18, 0),
    line(Vllm, Name::Ready, "", "Application startup complete."),
    line(Vllm, Name::Load, "loggers.py:335", "Avg prompt throughput: {.1} tokens/s, Avg generation throughput: {.1} tokens/s, Running: {n} reqs, Waiting: {n} reqs").since(0, 8, 0),
    line(Vllm, Name::FreeMemoryTooSmall, "", "Free memory on device ({.2}/{.2} GiB) on startup is less than desired GPU memory utilization ({.3}, {.2} GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.").until(0, 12, 0),
    line(Vllm, Name::FreeMemoryTooSmall, "", "Free memory on device cuda:0 ({.2}/{.2} GiB) on startup is less than desired GPU memory utilization ({.3}, {.2} GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.").since(0, 12, 0),
    // Any device: cuda:1, npu:0.
    line(Vllm, Name::FreeMemoryTooSmall, "", "Free memory on device {} ({.2}/{.2} GiB) on startup is less than desired {} memory utilization ({.3}, {.2} GiB)").only_read(),
    line(Vllm, Name::FreeMemoryTooSmall, "", "Free memory on device ({.2}/{.2} GiB) on startup is less than desired {} memory utilization ({.3}, {.2} GiB)").only_read(),
    line(Vllm, Name::MemoryOccupied, "", "Error in memory profiling. Initial free memory"),
    line(Vllm, Name::NoMemoryForKvCache, "", "No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine."),
    line(Vllm, Name::NoMemoryForKvCache, "", "No available memory for the cache blocks."),
    line(Vllm, Name::KvCacheTooSmall, "", "To serve at least one request with the model's max seq len ({n}), ({.2} GiB KV cache is needed, which is larger than the available KV cache memory ({.2} GiB). Based on the available memory, the estimated maximum model length is {n}.").since(0, 22, 0),
    line(Vllm, Name::KvCacheTooSmall, "", "To serve at least one request with the models's max seq len ({n}), ({.2} GiB KV cache is needed, which is larger than the available KV cache memory ({.2} GiB). Based on the available memory, the estimated maximum model length is {n}.").since(0, 8, 0).until(0, 22, 0),
    line(Vllm, Name::KvCacheTooSmall, "", "To serve at least one request with the model's max seq len ({n}), ({.2} GiB KV cache is needed, which is larger than the available KV cache memory ({.2} GiB)."),
    // 0.2 to 0.8.
    line(Vllm, Name::NoMemoryForKvCache, "", "is larger than the maximum number of tokens that can be stored in KV cache ({n})").only_read(),
    line(Vllm, Name::NoMemoryForWork, "", "out of memory occurred when warming up sampler"),
    line(Vllm, Name::DeviceOutOfMemory, "", "CUDA out of memory."),
    line(Vllm, Name::DeviceOutOfMemory, "", "XPU out of memory."),
    line(Vllm, Name::DeviceOutOfMemory, "", "NPU out of memory."),
    line(Vllm, Name::DeviceOutOfMemory, "", "HIP out of memory."),
    line(Vllm, Name::DeviceOutOfMemory, "", "CUDA error: out of memory"),
    line(Vllm, Name::DeviceOutOfMemory, "", "CUDA driver error: out of memory"),
    line(Vllm, Name::DeviceOutOfMemory, "", "Cuda failure 2 'out of memory'"),
    line(Vllm, Name::EngineCoreKilled, "", "Failed core proc(s): {*}"),
    line(Vllm, Name::EngineCoreFailed, "", "Engine core initialization failed. See root cause above."),
    line(Vllm, Name::EngineCoreFailed, "", "Engine process failed to start"),
    line(Vllm, Name::EngineCoreFailed, "", "EngineCore encountered an issue. See stack trace"),
    line(Vllm, Name::AddressInUse, "", "[Errno 98] Address already in use"),
    line(Vllm, Name::AddressInUse, "", "error while attempting to bind on address"),
    line(Vllm, Name::ModelMissing, "", "is not a local folder and is not a valid model identifier"),
    line(Vllm, Name::ModelMissing, "", "Cannot access gated repo for url"),
    line(Vllm, Name::ModelMissing, "", "You are trying to access a gated repo"),
    line(Vllm, Name::ModelMissing, "", "Repository Not Found for url"),
    line(Vllm, Name::ModelMissing, "", "Repo id must be in the form"),
    line(Vllm, Name::ModelMissing, "", "Invalid repository ID or local directory specified"),
    line(Vllm, Name::ModelMissing, "", "Cannot find any model weights with"),
    line(Vllm, Name::Refused, "", "  Value error, {*}"),
    line(Vllm, Name::Refused, "", ": error: {*}"),
    line(Vllm, Name::Refused, "", "  Input should be {*}"),
    line(Vllm, Name::Refused, "", "ValueError: max_num_batched_tokens {*}"),
    line(Vllm, Name::Refused, "", "ValueError: Total number of attention heads {*}"),
    line(Vllm, Name::Refused, "", "ValueError: User-specified max_model_len {*}"),
    line(Vllm, Name::Refused, "", "ValueError: No common block size for {*}"),
    line(Vllm, Name::Refused, "", "ValueError: Unknown attention backend: {*}"),
    line(Vllm, Name::Refused, "", "ValueError: Bfloat16 is only supported on GPUs {*}"),
    line(Vllm, Name::Refused, "", "The quantization method {*} is not supported for the current GPU"),
    line(Vllm, Name::Refused, "", "Quantization scheme is not supported for {*}"),
    line(Sglang, Name::WeightsLoaded, "", "avail mem={*} GB, mem usage={.2} GB."),
    line(Sglang, Name::PoolSized, "", "max_total_num_tokens={n}, chunked_prefill_size={n}, max_prefill_tokens={*}, max_running_requests={n}, context_len={n}"),
    line(Sglang, Name::KvCacheTokens, "", "KV Cache is allocated. #tokens: {n}, "),
    line(Sglang, Name::GraphsCaptured, "", "CUDA graph end. Time elapsed: {.2} s."),
    line(Sglang, Name::GraphsCaptured, "", "Capture cuda graph end. Time elapsed: {.2} s."),
    line(Sglang, Name::Listening, "", "Uvicorn running on {} "),
    line(Sglang, Name::Ready, "", "The server is fired up and ready to roll!"),
    line(Sglang, Name::MemoryOccupied, "", "The memory capacity is unbalanced. Some GPUs may be occupied by other processes."),
    line(Sglang, Name::NoMemoryForKvCache, "", "Not enough memory. Please try to increase --mem-fraction-static."),
    line(Sglang, Name::NoMemoryForKvCache, "", "Not enough memory. Please try increasing --mem-fraction-static."),
    line(Sglang, Name::DeviceOutOfMemory, "", "Decode out of memory. Try to lower your batch size."),
    line(Sglang, Name::DeviceOutOfMemory, "", "Prefill out of memory. Try to lower your batch size."),
    line(Sglang, Name::NoMemoryForWork, "", "Capture CUDA graph failed: CUDA out of memory."),
    line(Sglang, Name::DeviceOutOfMemory, "", "CUDA out of memory."),
    line(Sglang, Name::DeviceOutOfMemory, "", "XPU out of memory."),
    line(Sglang, Name::DeviceOutOfMemory, "", "NPU out of memory."),
    line(Sglang, Name::DeviceOutOfMemory, "", "HIP out of memory."),
    line(Sglang, Name::DeviceOutOfMemory, "", "CUDA error: out of memory"),
    line(Sglang, Name::DeviceOutOfMemory, "", "CUDA driver error: out of memory"),
    line(Sglang, Name::DeviceOutOfMemory, "", "Cuda failure 2 'out of memory'"),
    line(Sglang, Name::EngineCoreFailed, "", "Received sigquit from a child process"),
    line(Sglang, Name::AddressInUse, "", "[Errno 98] Address already in use"),
    line(Sglang, Name::AddressInUse, "", "error while attempting to bind on address"),
    line(Sglang, Name::ModelMissing, "", "is not a local folder and is not a valid model identifier"),
    line(Sglang, Name::ModelMissing, "", "Cannot access gated repo for url"),
    line(Sglang, Name::ModelMissing, "", "You are trying to access a gated repo"),
    line(Sglang, Name::ModelMissing, "", "Repository Not Found for url"),
    line(Sglang, Name::ModelMissing, "", "Cannot find any model weights with"),
    line(Sglang, Name::Refused, "", ": error: {*}"),
    line(Sglang, Name::Refused, "", "ValueError: Warning: User-specified context_length {*}"),
    line(Sglang, Name::Refused, "", "ValueError: User-specified context_length {*}"),
    line(Sglang, Name::Refused, "", "AssertionError: Tensor parallel size {*}"),
    line(Sglang, Name::Refused, "", "AssertionError: chunked_prefill_size {*}"),
    line(Sglang, Name::Refused, "", "ValueError: Bfloat16 is only supported on GPUs {*}"),
    line(Sglang, Name::Refused, "", "The quantization method {*} is not supported for the current GPU"),
    line(Mindie, Name::Ready, "", "Daemon start success!"),
    line(Mindie, Name::NoMemoryForWork, "", "inference out of memory when `{}` set to"),
    line(Mindie, Name::DeviceOutOfMemory, "", "NPU out of memory."),
    line(Mindie, Name::AddressInUse, "", "Address already in use"),
    line(Mindie, Name::Refused, "", "scheduleParam.{*}"),
    line(Mindie, Name::Refused, "", "The value of modelParam.{*}"),
    line(LlamaServer, Name::KvCacheTokens, "", " MiB ({n} cells,"),
    line(LlamaServer, Name::Slots, "", "n_slots = {n}, n_ctx_slot = {n}, "),
    line(LlamaServer, Name::Listening, "", "server is listening on {}"),
    line(LlamaServer, Name::Ready, "", "listening on http"),
    line(LlamaServer, Name::NoMemoryForKvCache, "", "failed to allocate buffer for kv cache"),
    line(LlamaServer, Name::DeviceOutOfMemory, "", "cudaMalloc failed: out of memory"),
    line(LlamaServer, Name::DeviceOutOfMemory, "", "ErrorOutOfDeviceMemory"),
    line(LlamaServer, Name::DeviceOutOfMemory, "", "aclrtMalloc failed"),
    line(LlamaServer, Name::DeviceOutOfMemory, "", "insufficient memory (attempted to allocate"),
    line(LlamaServer, Name::DeviceOutOfMemory, "", "error loading model: unable to allocate {} buffer"),
    line(LlamaServer, Name::DeviceOutOfMemory, "", "failed to allocate buffer, size = {*}"),
    line(LlamaServer, Name::NoMemoryForWork, "", "failed to allocate compute"),
    line(LlamaServer, Name::AddressInUse, "", "couldn't bind HTTP server socket"),
    line(LlamaServer, Name::ModelMissing, "", "failed to open GGUF file"),
    line(LlamaServer, Name::ModelMissing, "", ".gguf{*}No such file or directory"),
    line(LlamaServer, Name::ModelMissing, "", "GET failed (404)"),
    line(LlamaServer, Name::Refused, "", "error while handling argument {*}"),
    line(LlamaServer, Name::Refused, "", "error: invalid argument: {*}"),
    line(LlamaServer, Name::Refused, "", "V cache quantization requires {*}"),
    line(LlamaServer, Name::Refused, "", "quantized V cache was requested, but this requires {*}"),
    line(LlamaServer, Name::Refused, "", "unknown model architecture: {*}"),
];
