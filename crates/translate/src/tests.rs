use super::*;

fn ours(line: &str) -> Translation {
    translate(&[line.to_owned()], &|_| None).unwrap_or_else(|error| panic!("{line}: {error}"))
}

fn text(translation: &Translation) -> String {
    translation.words.join(" ")
}

fn any(lines: &[String], said: &str) -> bool {
    lines.iter().any(|line| line.contains(said))
}

#[test]
fn command_lines_of_other_tools_become_ours() {
    let examples = include_str!("command_lines.txt");
    for example in examples.split("\n\n") {
        let (theirs, expected) = example.trim_end().split_once('\n').unwrap();
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
    assert!(text(&translate(&words, &|_| None).unwrap()).contains("--concurrency 2"));
}

#[test]
fn what_cannot_be_expressed_and_what_differs_is_named() {
    let translation = ours(
        "vllm bench serve --dataset-name sonnet --profile --save-result --lora-modules a b --request-rate inf",
    );
    let all = translation.not_expressed.join("\n");
    for expected in ["--dataset-name sonnet", "--profile"] {
        assert!(all.contains(expected), "{all}");
    }
    assert!(
        text(&translation).contains("--model a,b"),
        "{translation:?}"
    );
    assert_eq!(translation.not_needed, ["--save-result"]);
    assert!(any(&translation.differs, "infinite rate"));
    let translation = ours("python -m sglang.bench_serving --dataset-name random");
    assert!(any(&translation.differs, "range-ratio"));
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
        let error = translate(&[line.to_owned()], &|_| None)
            .unwrap_err()
            .to_string();
        assert!(
            !error.contains('\n') && !error.is_empty(),
            "{line}: {error}"
        );
    }
    assert_eq!(translate(&[], &|_| None), Err(TranslateError::Empty));
}

#[test]
fn a_ramp_beside_a_rate_is_kept_and_told() {
    let serve = "vllm bench serve --ramp-up-strategy linear --ramp-up-start-rps 2";
    let both = ours(&format!("{serve} --ramp-up-end-rps 20 --request-rate 5"));
    assert!(
        text(&both).contains("--rate 20 --ramp linear --ramp-from 2"),
        "{both:?}"
    );
    let refuses = |found: &Translation| any(&found.differs, "refuses --request-rate");
    assert!(refuses(&both), "{both:?}");
    let rate = ours(&format!("{serve} --request-rate 5"));
    assert!(
        text(&rate).contains("--rate 5 --ramp linear --ramp-from 2"),
        "{rate:?}"
    );
    let alone = ours(&format!("{serve} --ramp-up-end-rps 20"));
    assert!(
        !refuses(&alone) && alone.not_expressed.is_empty(),
        "{alone:?}"
    );
    let none = ours(serve);
    assert!(!text(&none).contains("--ramp"), "{none:?}");
    assert!(any(&none.not_expressed, "--ramp-up-end-rps"));
}

#[test]
fn requests_before_the_measured_ones_are_a_warm_up() {
    let found = ours("vllm bench serve --num-warmups 20 --max-concurrency 8");
    assert!(
        text(&found).contains("--warmup 20 --hold none"),
        "{found:?}"
    );
    assert!(any(&found.differs, "--num-warmups:"), "{found:?}");
    let none = ours("vllm bench serve --num-warmups 0");
    assert!(text(&none).contains("--warmup none"), "{none:?}");
}

#[test]
fn no_field_of_guidellms_options_is_dropped_without_a_word() {
    let translation = ours(
        "guidellm run --backend kind=openai_http,target=http://h:1,server_history=true --profile kind=concurrent,streams=2,rampup_duration=3 --constraint kind=max_errors,count=5 --data kind=synthetic_text,prompt_tokens=60,output_tokens=20,prompt_tokens_min=4,prefix_buckets=7",
    );
    let all = translation.not_expressed.join("\n");
    for expected in [
        "server_history=true",
        "rampup_duration=3",
        "max_errors",
        "prompt_tokens_min",
        "prefix_buckets=7",
    ] {
        assert!(all.contains(expected), "{expected}: {all}");
    }
    assert_eq!(translation.not_expressed.len(), 5, "{all}");
}

#[test]
fn lists_of_aiperf_are_axes_and_what_it_spreads_is_spread() {
    let swept = ours(
        "aiperf profile -m m -u http://a:1 -u http://b:1/v1 --isl 60,120 --osl 10 20 --request-count 10,20 --request-rate 10 --concurrency 4,8",
    );
    let expected = "sweep http://a:1 http://b:1 --api chat --no-stream --model m --rate 10 --max-concurrency 4,8 --requests 10,20 --input-tokens 60,120 --output-tokens 10,20 ";
    assert!(text(&swept).starts_with(expected), "{swept:?}");
    let spread = ours(
        "aiperf profile -m m -u h:1 --streaming --isl 100 --osl 10 --random-range-ratio 0.5 --shared-system-prompt-length 20 --warmup-duration 3",
    );
    assert!(
        text(&spread).contains(
            "--input-tokens uniform(70,170) --prefix-tokens 20 --output-tokens uniform(5,15)"
        ),
        "{spread:?}"
    );
    assert!(text(&spread).contains("--warmup 3s"), "{spread:?}");
    let burst = ours(
        "aiperf profile -m m -u h:1 --request-rate 10 --concurrency 4 --arrival-pattern concurrency_burst",
    );
    assert!(
        text(&burst).contains("--concurrency 4") && !text(&burst).contains("--rate"),
        "{burst:?}"
    );
    let batch = ours("aiperf profile -m m -u h:1 --batch-size-text 2");
    assert!(
        any(&batch.not_expressed, "--batch-size-text 2"),
        "{batch:?}"
    );
}

#[test]
fn evalscopes_other_apis_have_nothing_about_tokens_and_its_shares_are_counted() {
    let embedding = ours(
        "evalscope perf --url http://h:1/v1/embeddings --api embedding --model m --parallel 4 --number 40 --dataset random --min-prompt-length 32 --max-prompt-length 32 --warmup-num 0.1",
    );
    let expected = "run http://h:1 --api embeddings --model m --concurrency 4 --requests 40 --input-tokens 32 --warmup 4 --hold none --stagger none";
    assert_eq!(text(&embedding), expected);
    let seen = ours(
        "evalscope perf --url http://h:1/v1/chat/completions --model m --dataset random_vl --max-prompt-length 100 --min-prompt-length 100 --max-tokens 8 --image-width 512 --image-height 256 --image-num 2 --prefix-length 50 --prefix-count 4",
    );
    assert!(
        text(&seen).contains("--images n=2,size=512x256"),
        "{seen:?}"
    );
    assert!(
        text(&seen).contains("--input-tokens 150 --prefix-tokens 50 --prefix-groups 4"),
        "{seen:?}"
    );
}

#[test]
fn evalscopes_conversations_and_objectives_are_ours() {
    let found = ours(
        "evalscope perf --url http://h:1/v1/chat/completions --model m --parallel 4 --number 40 --dataset share_gpt_zh_multi_turn --multi-turn --max-turns 4 --max-tokens 64 --sla-auto-tune --sla-variable rate --sla-params '[{\"p99_ttft\":\"<=2s\",\"avg_tpot\":\"< 50ms\",\"tps\":\"max\"}]'",
    );
    let text = text(&found);
    assert!(
        text.contains("--data ms://datasets/swift/sharegpt/common_zh_70k.jsonl --data-format conversations --turns 4"),
        "{found:?}"
    );
    assert!(text.contains("--slo ttft.p99=2s"), "{found:?}");
    assert!(text.contains("--slo tpot.mean=50ms"), "{found:?}");
    assert!(any(&found.not_expressed, "--over rate"), "{found:?}");
    assert!(any(&found.not_expressed, "tps"), "{found:?}");
    assert!(!any(&found.not_expressed, "--multi-turn"), "{found:?}");
}

#[test]
fn guidellms_streams_prefixes_seeds_and_objectives_are_ours() {
    let found = ours(
        "guidellm benchmark --target http://h:1 --profile throughput --rate 16 --request-format text_completions --data prompt_tokens=60,output_tokens=20,prefix_tokens=20,prefix_count=2 --seed kind=static,seed=9 --metrics '{\"kind\":\"generative\",\"slo\":{\"ttft_ms\":200}}'",
    );
    let expected = "run http://h:1 --api completions --concurrency 16 --input-tokens 80 --output-tokens 20 --prefix-tokens 20 --prefix-groups 2 --seed 9 --slo ttft=200ms --warmup none";
    assert!(text(&found).starts_with(expected), "{found:?}");
    assert!(found.not_expressed.is_empty(), "{found:?}");
}

#[test]
fn turns_and_adapters_of_sglang_are_ours() {
    let found = ours(
        "python -m sglang.bench_serving --dataset-name generated-shared-prefix --gsp-num-groups 2 --gsp-prompts-per-group 3 --gsp-num-turns 3 --lora-name a b",
    );
    assert!(text(&found).contains("--model a,b"), "{found:?}");
    assert!(
        text(&found).contains("--turns 3 --requests 18"),
        "{found:?}"
    );
}

/// A sweep with these settings of the server and of the client.
fn swept(serve: &str, bench: &str, more: &str) -> Translation {
    let line = format!(
        "vllm bench sweep serve --serve-cmd 'vllm serve m --port 8123' --bench-cmd 'vllm bench serve --model m --dataset-name random --random-input-len 64 --request-rate inf --num-prompts 100' --serve-params serve.json --bench-params bench.json -o results {more}"
    );
    let read = |path: &str| {
        Some(match path {
            "serve.json" => serve.to_owned(),
            _ => bench.to_owned(),
        })
    };
    translate(&[line], &read).unwrap()
}

#[test]
fn a_sweep_of_vllm_becomes_ours_with_its_axes() {
    let serve = r#"[{"max_num_seqs": 32, "enable_prefix_caching": false}, {"max_num_seqs": 64, "enable_prefix_caching": false}]"#;
    let bench = r#"{"low": {"max_concurrency": 8, "num_prompts": 80}, "mid": {"max-concurrency": 16, "num_prompts": 160}}"#;
    let found = swept(serve, bench, "--num-runs 5");
    // Both loads with both servers, but no load with the requests of another.
    let zipped = text(&found);
    for expected in [
        "sweep --engine-flag enable-prefix-caching=false --engine-flag max-num-seqs=32,32,64,64 ",
        " --requests 80,160,80,160 --concurrency 8,16,8,16 ",
        " --zip --repeat 5 -- vllm serve m --port 8123",
    ] {
        assert!(zipped.contains(expected), "{zipped}");
    }
    assert!(found.not_expressed.is_empty(), "{found:?}");
    assert_eq!(found.not_needed, ["-o"]);
    let lengths = r#"[{"random_input_len": 128, "random_output_len": 32}, {"random_input_len": 256, "random_output_len": 32}]"#;
    let product = text(&swept(serve, lengths, ""));
    assert!(
        product.contains("max-num-seqs=32,64 ") && !product.contains("--zip"),
        "{product}"
    );
    assert!(
        product.contains("--input-tokens 128,256 --output-tokens 32 "),
        "{product}"
    );
    assert!(product.contains("--repeat 3 --"), "{product}");
    let linked = text(&swept(
        serve,
        r#"[{"max_concurrency": 32}, {"max_concurrency": 64}]"#,
        "--link-vars max_num_seqs=max_concurrency",
    ));
    assert!(
        linked.contains("max-num-seqs=32,64") && linked.contains("--concurrency 32,64"),
        "{linked}"
    );
    assert!(linked.contains("--zip"), "{linked}");
}

#[test]
fn settings_of_a_sweep_that_are_no_axes_are_named() {
    let mixed = swept(
        "[{}]",
        r#"[{"max_concurrency": 8}, {"request_rate": 3}]"#,
        "",
    );
    assert!(
        any(&mixed.not_expressed, "differ in more than values"),
        "{mixed:?}"
    );
    assert!(text(&mixed).contains("--concurrency 8"), "{mixed:?}");
    let unread = swept("max_num_seqs: 3", "[{}]", "--after-bench-cmd true");
    assert!(
        any(&unread.not_expressed, "--serve-params serve.json"),
        "{unread:?}"
    );
    assert!(
        any(&unread.not_expressed, "--after-bench-cmd"),
        "{unread:?}"
    );
}

#[test]
fn what_peers_ask_beside_the_text_is_ours_or_told() {
    for (line, told) in [
        (
            "vllm bench serve --probe-request-rate 2",
            "--probe-request-rate 2",
        ),
        (
            "vllm bench serve --dataset-name timed_trace --dataset-path t --timed-trace-label-timestamp ts",
            "rename that field of the trace to timestamp",
        ),
        (
            "aiperf profile -m m --endpoint-type chat_embeddings",
            "--api embeddings --data FILE",
        ),
        (
            "aiperf profile -m m --custom-endpoint /my/own",
            "--custom-endpoint /my/own",
        ),
        (
            "aiperf profile -m m --image-source pictures --image-width-mean 8 --image-height-mean 8",
            "--image-source pictures",
        ),
        (
            "aiperf profile -m m --accuracy-benchmark gsm8k",
            "--check gsm8k",
        ),
        (
            "aiperf profile -m m --endpoint-type image_generation",
            "there is no such endpoint here",
        ),
        (
            "aiperf profile -m m --endpoint-type nim_rankings",
            "not as NIM's /v1/ranking",
        ),
        (
            "guidellm benchmark --target http://h:1 --request-format audio_translations",
            "/v1/audio/transcriptions",
        ),
    ] {
        let found = ours(line);
        assert!(any(&found.not_expressed, told), "{line}: {found:?}");
    }
}
