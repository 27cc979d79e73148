use super::*;
use crate::arguments::Cli;
use clap::Parser;

fn ours(line: &str) -> Translation {
    let translation =
        translate(&[line.to_owned()]).unwrap_or_else(|error| panic!("{line}: {error}"));
    assert_accepted(&translation);
    translation
}

/// What is printed must be a command of ours. `sweep` takes lists where `run` takes one value,
/// so there each option is tried with its first value.
fn assert_accepted(translation: &Translation) {
    let mut words = vec!["inferometer".to_owned()];
    if translation.words[0] == "run" {
        words.extend(translation.words.iter().cloned());
    } else {
        words.push("run".to_owned());
        let mut rest = translation.words[1..].iter().peekable();
        while let Some(word) = rest.next() {
            match word.as_str() {
                "--zip" => {}
                "--rest" => drop(rest.next()),
                option if option.starts_with("--") => words.push(word.clone()),
                value if value.contains('*') => words.push("10".to_owned()),
                value if value.contains('(') => words.push(value.to_owned()),
                value => words.push(value.split(',').next().unwrap_or_default().to_owned()),
            }
        }
    }
    if let Err(error) = Cli::try_parse_from(&words) {
        panic!("{words:?}: {error}");
    }
}

fn text(translation: &Translation) -> String {
    translation.words.join(" ")
}

#[test]
fn command_lines_of_other_tools_become_ours() {
    for (theirs, expected) in [
        (
            "vllm bench serve --model Qwen/Qwen2.5-7B --host 10.0.0.1 --port 8001 --dataset-name random --random-input-len 512 --random-output-len 64 --num-prompts 300 --request-rate 4 --max-concurrency 32 --ignore-eos",
            "run http://10.0.0.1:8001 --api completions --model Qwen/Qwen2.5-7B --input-tokens 512 --output-tokens 64 --requests 300 --rate 4 --max-concurrency 32 --warmup 1 --seed 0",
        ),
        (
            "vllm bench serve --backend openai-chat --endpoint /v1/chat/completions --base-url http://h:9/ --random-range-ratio 0.5 --max-concurrency 16 --goodput ttft:200 e2el:3000",
            "run http://h:9 --api chat --input-tokens uniform(512,1536) --output-tokens uniform(64,192) --no-ignore-eos --requests 1000 --concurrency 16 --stagger none --warmup 1 --slo ttft=200ms --slo e2e=3000ms --seed 0",
        ),
        (
            "python3 benchmarks/benchmark_serving.py --backend vllm --model m --dataset ShareGPT_V3.json --num-prompts=500 --request-rate inf",
            "run http://localhost:8000 --api completions --model m --data ShareGPT_V3.json --data-format sharegpt --filter vllm --shuffle --requests 500 --rate inf --warmup 1 --seed 0",
        ),
        (
            "vllm bench serve --random-range-ratio '{\"input\": 0.5, \"output\": 0}' --chat-template-kwargs '{\"enable_thinking\": false}' --request-rate 1 --no-stream",
            "run http://localhost:8000 --api completions --input-tokens uniform(512,1536) --output-tokens 128 --no-ignore-eos --requests 1000 --rate 1 --warmup 1 --seed 0 --extra {\"chat_template_kwargs\":{\"enable_thinking\":false}}",
        ),
        (
            "vllm bench serve --dataset-name prefix_repetition --burstiness 0.5 --request-rate 2.5 --top-k 20 --extra-body '{\"a\": 1}'",
            "run http://localhost:8000 --api completions --input-tokens 512 --prefix-tokens 256 --prefix-groups 10 --output-tokens 128 --no-ignore-eos --requests 1000 --rate 2.5 --arrival gamma --burstiness 0.5 --warmup 1 --seed 0 --extra {\"a\":1,\"top_k\":20}",
        ),
        (
            "evalscope perf --url http://127.0.0.1:8000/v1/chat/completions --parallel 8 --number 100 --model qwen --dataset openqa --dataset-path open_qa.jsonl --max-prompt-length 2000 --max-tokens 512 --stream --temperature 0.7",
            "run http://127.0.0.1:8000 --api chat --model qwen --concurrency 8 --requests 100 --data open_qa.jsonl --data-format openqa --max-prompt 2000chars --max-tokens 512 --temperature 0.7",
        ),
        (
            "evalscope perf --url http://h:1/v1/completions --parallel 1 10 50 --number 10 100 500 --dataset random --min-prompt-length 1024 --max-prompt-length 1024 --max-tokens 1024 --min-tokens 1024 --tokenizer-path /models/q --extra-args '{\"ignore_eos\": true}'",
            "sweep http://h:1 --api completions --concurrency 1,10,50 --requests concurrency*10 --rest 5s --tokenizer /models/q --input-tokens 1024 --output-tokens 1024 --no-ignore-eos --min-tokens 1024 --temperature 0 --extra {\"ignore_eos\":true}",
        ),
        (
            "evalscope perf --url http://h:1/v1/chat/completions --parallel 5 20 --number 20 30 --no-stream --prompt 'say hi'",
            "sweep http://h:1 --api chat --no-stream --concurrency 5,20 --requests 20,30 --zip --rest 5s --prompt say hi --max-tokens 2048 --temperature 0",
        ),
        (
            "python -m sglang.bench_serving --backend sglang --dataset-name random --random-input-len 1000 --random-output-len 100 --random-range-ratio 0.2 --num-prompts 64 --max-concurrency 8",
            "run http://localhost:30000 --api completions --input-tokens uniform(200,1000) --output-tokens uniform(20,100) --requests 64 --concurrency 8 --stagger none --warmup 1 --temperature 0 --seed 42",
        ),
        (
            "python3 -m sglang.bench_serving --backend sglang-oai-chat --dataset-name generated-shared-prefix --gsp-num-groups 4 --gsp-prompts-per-group 5 --port 1234 --temperature 0.7 --top-p 0.9",
            "run http://localhost:1234 --api chat --input-tokens 2176 --prefix-tokens 2048 --prefix-groups 4 --output-tokens 256 --requests 20 --rate inf --warmup 1 --temperature 0.7 --top-p 0.9 --seed 42",
        ),
        (
            "benchmark --DatasetPath /data/gsm8k.jsonl --DatasetType gsm8k --ModelName QwQ --ModelPath /w/QwQ --TestType client --Http http://127.0.0.1:1025 --Concurrency 10 --TaskKind stream --MaxOutputLen 512 --RequestCount 200",
            "run http://127.0.0.1:1025 --api chat --model QwQ --tokenizer /w/QwQ --data /data/gsm8k.jsonl --data-format gsm8k --max-tokens 512 --concurrency 10 --requests 200 --temperature 0",
        ),
        (
            "aiperf profile --model m --url localhost:8000 --endpoint-type chat --streaming --concurrency 4 --request-count 40 --isl 300 --isl-stddev 30 --osl 50",
            "run http://localhost:8000 --api chat --model m --concurrency 4 --requests 40 --input-tokens normal(300,30) --output-tokens 50 --no-ignore-eos",
        ),
        (
            "aiperf profile -m m -u localhost:8000 --request-rate 5 --osl 50",
            "run http://localhost:8000 --api chat --no-stream --model m --rate 5 --requests 10 --input-tokens 550 --output-tokens 50 --no-ignore-eos",
        ),
        (
            "guidellm run --backend kind=openai_http,target=http://h:8000,request_format=/v1/chat/completions --profile kind=concurrent,streams=[4,16] --constraint kind=max_duration,seconds=30 --constraint kind=max_requests,count=500 --data kind=synthetic_text,prompt_tokens=256,output_tokens=128",
            "sweep http://h:8000 --api chat --concurrency 4,16 --requests 500 --duration 30s --input-tokens 256 --output-tokens 128",
        ),
        (
            "guidellm benchmark --target http://h:8000/v1 --rate-type concurrent --rate 1,8,32 --max-seconds 60 --data prompt_tokens=256,output_tokens=128",
            "sweep http://h:8000 --concurrency 1,8,32 --duration 60s --input-tokens 256 --output-tokens 128",
        ),
    ] {
        assert_eq!(text(&ours(theirs)), expected, "{theirs}");
    }
}

#[test]
fn pasted_lines_keep_their_quotes_and_continuations() {
    let pasted = "$ CUDA_VISIBLE_DEVICES=0 python3 \\\n  vllm/benchmarks/benchmark_serving.py \\\r\n  --model \"a b\" \\\n  --num-prompts 7\n";
    let translation = ours(pasted);
    assert!(
        text(&translation).contains("--model a b"),
        "{translation:?}"
    );
    let words: Vec<String> = ["evalscope", "perf", "--parallel", "2"]
        .map(str::to_owned)
        .into();
    assert!(text(&translate(&words).unwrap()).contains("--concurrency 2"));
}

#[test]
fn what_cannot_be_expressed_and_what_differs_is_named() {
    let translation = ours(
        "vllm bench serve --dataset-name sonnet --profile --save-result --lora-modules a b --request-rate inf",
    );
    let all = translation.not_expressed.join("\n");
    for expected in ["--dataset-name sonnet", "--profile", "--lora-modules a b"] {
        assert!(all.contains(expected), "{all}");
    }
    assert_eq!(translation.not_needed, ["--save-result"]);
    assert!(
        translation
            .differs
            .iter()
            .any(|text| text.contains("infinite rate"))
    );
    let translation = ours("python -m sglang.bench_serving --dataset-name random");
    assert!(
        translation
            .differs
            .iter()
            .any(|text| text.contains("range-ratio"))
    );
}

#[test]
fn keys_are_not_repeated() {
    let translation = ours(
        "evalscope perf --url http://h/v1 --api-key sk-1234 --headers Authorization='Bearer sk-1234' X-Team=a",
    );
    let all = format!("{translation:?}");
    assert!(!all.contains("sk-1234"), "{all}");
    assert!(text(&translation).contains("--header X-Team=a"), "{all}");
}

#[test]
fn what_is_no_benchmark_is_refused_in_one_line() {
    for line in [
        "",
        "ls -l",
        "vllm serve m",
        "vllm bench serve --num-prompts many",
        "vllm bench serve 'open",
    ] {
        let error = translate(&[line.to_owned()]).unwrap_err().to_string();
        assert!(
            !error.contains('\n') && !error.is_empty(),
            "{line}: {error}"
        );
    }
    assert_eq!(translate(&[]), Err(TranslateError::Empty));
}
