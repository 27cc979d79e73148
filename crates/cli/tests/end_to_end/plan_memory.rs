//! `inferometer plan memory`: cards, flags and lists of them.

use crate::support::{Ended, Place};
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
