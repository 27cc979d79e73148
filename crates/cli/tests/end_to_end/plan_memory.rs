//! `inferometer plan memory`: cards, flags and lists of them.

use crate::support::{Crooked, Ended, Place, Started, answer};
use serde_json::Value;

fn memory(place: &Place, words: &[&str]) -> Ended {
    let words: Vec<&str> = ["plan", "memory"].iter().chain(words).copied().collect();
    place.run(&words)
}

fn widest(text: &str) -> usize {
    let widths = text.lines().map(|line| line.chars().count());
    widths.max().unwrap_or_default()
}

#[test]
fn values_of_a_flag_stand_side_by_side() {
    let place = Place::new();
    let words = [
        "--model",
        "qwen2.5-72b",
        "--device",
        "h100",
        "--flag",
        "tensor-parallel-size=2,4,8",
        "--flag",
        "max-model-len=8192",
    ];
    let ended = memory(&place, &[&words[..], &["--format", "json"]].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let answers: Value = serde_json::from_str(&ended.stdout).unwrap();
    let cards: Vec<u64> = (answers["answers"].as_array().unwrap().iter())
        .filter_map(|answer| answer["cards"].as_u64())
        .collect();
    assert_eq!(cards, [2, 4, 8]);
    let ended = memory(&place, &[&words[..], &["--lang", "en"]].concat());
    for column in ["×2", "×4", "×8", "tensor-parallel-size=8"] {
        assert!(ended.stdout.contains(column), "{column}: {ended:?}");
    }
    let many = [
        "--model",
        "qwen2.5-7b",
        "--device",
        "h100",
        "--flag",
        "max-num-seqs=1..100:+1",
    ];
    memory(&place, &many).assert_refused(&["combinations"]);
}

#[test]
fn replicas_and_flags_that_are_not_counted_are_told_in_both_languages() {
    let place = Place::new();
    let words = [
        "--model",
        "deepseek-v3",
        "--device",
        "h200",
        "--flag",
        "data-parallel-size=8",
        "--flag",
        "enable-expert-parallel=true",
        "--flag",
        "speculative-config={\"method\":\"mtp\",\"num_speculative_tokens\":1}",
    ];
    for (lang, replicas, not_counted) in [
        (
            "en",
            "each of 8 replicas",
            "not counted: speculative-config",
        ),
        ("zh", "共 8 个副本", "未计入：speculative-config"),
    ] {
        for format in ["text", "md"] {
            let view = ["--lang", lang, "--format", format, "-o", "answer"];
            let ended = memory(&place, &[&words[..], &view].concat());
            assert_eq!(ended.code, Some(0), "{ended:?}");
            let answer = std::fs::read_to_string(place.path("answer")).unwrap();
            for said in [replicas, not_counted, "×8"] {
                assert!(answer.contains(said), "{said}: {answer}");
            }
        }
    }
    let few = [&words[..], &["--cards", "4"]].concat();
    memory(&place, &few).assert_refused(&["8 cards", "--cards"]);
}

#[test]
fn mindie_speaks_chinese_where_chinese_is_asked_for() {
    let place = Place::new();
    let words = [
        "--model",
        "qwen2.5-7b",
        "--device",
        "910b3",
        "--engine",
        "mindie",
        "--lang",
        "zh",
    ];
    let ended = memory(&place, &words);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains("剩余显存 × 0.8"), "{ended:?}");
    assert!(!ended.stdout.contains("rest"), "{ended:?}");
    assert!(widest(&ended.stdout) <= 100);
}

#[test]
fn a_model_is_looked_up_at_the_endpoint_of_the_environment_with_its_token() {
    let hub = Crooked::answering(|head| {
        let config = r#"{"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
            "num_attention_heads": 4, "vocab_size": 1000, "max_position_embeddings": 4096}"#;
        let is_config = head.starts_with("GET /org/name/resolve/main/config.json ");
        let is_known = head
            .to_lowercase()
            .contains("authorization: bearer hf_test\r\n");
        if !is_known {
            answer("401 Unauthorized", "text/plain", "")
        } else if is_config {
            answer("200 OK", "application/json", config)
        } else {
            answer("404 Not Found", "text/plain", "")
        }
    });
    let place = Place::new();
    let ask = |token: &str, more: &[&str]| {
        let words = "plan memory --model hf://org/name --device h100";
        let mut command = place.command(words.split(' ').chain(more.iter().copied()));
        command.env("HF_ENDPOINT", hub.url()).env("HF_TOKEN", token);
        Started::new(command).wait()
    };
    let ended = ask("hf_test", &[]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ask("hf_wrong", &[]).assert_refused(&["status 401", "HF_TOKEN"]);
    let ended = ask("hf_test", &["--proxy", "gopher://me:s3cr3t@x"]);
    ended.assert_refused(&["proxy", "http://HOST:PORT"]);
    assert!(!ended.stderr.contains("s3cr3t"), "{ended:?}");
}
