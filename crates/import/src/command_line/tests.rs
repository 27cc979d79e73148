use super::*;

fn ours(line: &str) -> Translation {
    translate(&[line.to_owned()]).unwrap_or_else(|error| panic!("{line}: {error}"))
}

fn text(translation: &Translation) -> String {
    translation.words.join(" ")
}

fn any(lines: &[String], said: &str) -> bool {
    lines.iter().any(|line| line.contains(said))
}

#[test]
fn command_lines_of_other_tools_become_ours() {
    let examples = include_str!("../../tests/command_lines.txt");
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
    assert!(text(&translate(&words).unwrap()).contains("--concurrency 2"));
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
        let error = translate(&[line.to_owned()]).unwrap_err().to_string();
        assert!(
            !error.contains('\n') && !error.is_empty(),
            "{line}: {error}"
        );
    }
    assert_eq!(translate(&[]), Err(TranslateError::Empty));
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
