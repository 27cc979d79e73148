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
    let lines = "|ls -l|vllm serve m|vllm bench serve --num-prompts many|vllm bench serve 'open";
    for line in lines.split('|') {
        let error = translate(&[line.to_owned()], &|_| None).unwrap_err();
        let error = error.to_string();
        let is_line = !error.contains('\n') && !error.is_empty();
        assert!(is_line, "{line}: {error}");
    }
    assert_eq!(translate(&[], &|_| None), Err(TranslateError::Empty));
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
    let has = |command: &str, parts: &[&str]| {
        for part in parts {
            assert!(command.contains(part), "{part}: {command}");
        }
    };
    let serve = r#"[{"max_num_seqs": 32, "enable_prefix_caching": false}, {"max_num_seqs": 64, "enable_prefix_caching": false}]"#;
    let bench = r#"{"low": {"max_concurrency": 8, "num_prompts": 80}, "mid": {"max-concurrency": 16, "num_prompts": 160}}"#;
    let found = swept(serve, bench, "--num-runs 5");
    // Both loads with both servers, but no load with the requests of another.
    let zipped = [
        "sweep --engine-flag enable-prefix-caching=false --engine-flag max-num-seqs=32,32,64,64 ",
        " --requests 80,160,80,160 --concurrency 8,16,8,16 ",
        " --zip --repeat 5 -- vllm serve m --port 8123",
    ];
    has(&text(&found), &zipped);
    assert!(found.not_expressed.is_empty(), "{found:?}");
    assert_eq!(found.not_needed, ["-o"]);
    let lengths = r#"[{"random_input_len": 128, "random_output_len": 32}, {"random_input_len": 256, "random_output_len": 32}]"#;
    let product = text(&swept(serve, lengths, ""));
    let parts = [
        "max-num-seqs=32,64 ",
        "--input-tokens 128,256 --output-tokens 32 ",
    ];
    has(&product, &parts);
    assert!(!product.contains("--zip"), "{product}");
    has(&product, &["--repeat 3 --"]);
    let loads = r#"[{"max_concurrency": 32}, {"max_concurrency": 64}]"#;
    let linked = swept(serve, loads, "--link-vars max_num_seqs=max_concurrency");
    let parts = ["max-num-seqs=32,64", "--concurrency 32,64", "--zip"];
    has(&text(&linked), &parts);
}

#[test]
fn settings_of_a_sweep_that_are_no_axes_are_named() {
    let loads = r#"[{"max_concurrency": 8}, {"request_rate": 3}]"#;
    let mixed = swept("[{}]", loads, "");
    let told = any(&mixed.not_expressed, "differ in more than values");
    assert!(
        told && text(&mixed).contains("--concurrency 8"),
        "{mixed:?}"
    );
    let unread = swept("max_num_seqs: 3", "[{}]", "--after-bench-cmd true");
    for part in ["--serve-params serve.json", "--after-bench-cmd"] {
        assert!(any(&unread.not_expressed, part), "{unread:?}");
    }
}

#[test]
fn what_is_ours_what_is_not_expressed_and_what_differs_is_told() {
    let examples = include_str!("said.txt").split("\n\n");
    for example in examples.skip(1) {
        let mut lines = example.lines().filter(|line| !line.starts_with('#'));
        let found = ours(lines.next().unwrap());
        let (command, lacks) = (text(&found), &found.not_expressed);
        for line in lines {
            let (sign, part) = line.split_at(1);
            let part = part.strip_prefix(' ').unwrap_or_default();
            let is_so = match sign {
                "+" => command.contains(part),
                "-" => !command.contains(part),
                "=" => command.starts_with(part),
                "~" => any(&found.differs, part),
                "!" => any(lacks, part),
                "n" => lacks.len().to_string() == part,
                "/" if part.is_empty() => lacks.is_empty(),
                "/" => !any(lacks, part),
                _ => panic!("{line}"),
            };
            assert!(is_so, "{line}: {found:?}");
        }
    }
    let saved = ours("vllm bench serve --save-result");
    assert_eq!(saved.not_needed, ["--save-result"]);
}
