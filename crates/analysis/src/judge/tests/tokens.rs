//! Doubts about what was asked and counted: lengths, usage, prompts.

use crate::fold::testing::{MadeUp, scenario};
use inferometer_core::doubt::{DoubtCode as Code, Severity};
use inferometer_core::record::Record;

#[test]
fn answers_of_other_lengths_than_asked_warn_only_where_exact() {
    let short = |record: &mut Record| record.output_tokens_asked = Some(64);
    let run = MadeUp::closed(8, 128).each(short);
    assert_eq!(run.doubt(Code::OutputLengths), Some(Severity::Warn));
    // The server would not take ignore_eos; the wish was for an exact length all the same.
    let mut run = run.each(|record| record.output_exact = false);
    assert_eq!(run.doubt(Code::OutputLengths), Some(Severity::Warn));
    run.scenario = scenario("[load]\nconcurrency = 8\n[work]\nprompt = 'hi'\noutput-tokens = 64");
    assert_eq!(run.doubt(Code::OutputLengths), None);
    let one_less = MadeUp::closed(8, 128).each(|r| r.output_tokens_asked = Some(33));
    assert_eq!(one_less.doubt(Code::OutputLengths), None);
}

#[test]
fn token_counts_that_cannot_be_true_make_a_run_invalid() {
    let code = Code::ImplausibleUsage;
    let counting = |index: u64, tokens: u32| {
        MadeUp::closed(8, 128).each(move |record| {
            if record.index == index
                && let Some(usage) = &mut record.usage
            {
                usage.output = Some(tokens);
            }
        })
    };
    assert_eq!(MadeUp::closed(8, 128).doubt(code), None);
    assert_eq!(counting(5, 34).doubt(code), None, "the end of it");
    for tokens in [36, 64, 50 * 32, u32::MAX] {
        let run = counting(5, tokens);
        assert_eq!(run.doubt(code), Some(Severity::Invalid), "{tokens}");
        assert!(!run.summary().valid);
    }
    let many_chunks = MadeUp::closed(8, 128).each(|record| {
        record.chunks.at = vec![record.chunks.at[0]; 1_000];
        record.chunks.same_read = vec![false; 1_000];
        record.usage.as_mut().unwrap().output = Some(3);
    });
    assert_eq!(many_chunks.doubt(code), Some(Severity::Invalid));
    let textless = counting(1, 0);
    assert_eq!(
        textless.doubt(code),
        Some(Severity::Invalid),
        "text without a token"
    );
    let much_text = MadeUp::closed(8, 128).each(|record| record.output_chars = 1_000_000);
    assert_eq!(much_text.doubt(code), Some(Severity::Invalid));
}

#[test]
fn tokens_that_nobody_saw_warn_unless_the_end_of_the_sequence_was_ignored() {
    let hidden = |exact: bool| {
        MadeUp::closed(8, 128).each(move |record| {
            record.output_exact = exact;
            record.output_chars = 2;
        })
    };
    let code = Code::ImplausibleUsage;
    assert_eq!(hidden(false).doubt(code), Some(Severity::Warn));
    assert_eq!(hidden(true).doubt(code), None);
    // All of it at once, and less text than any token has.
    for chars in [0, 2] {
        let at_once = hidden(true).each(move |record| {
            record.output_chars = chars;
            record.chunks.at.truncate(1);
            record.chunks.same_read.truncate(1);
        });
        assert_eq!(at_once.doubt(code), Some(Severity::Warn), "{chars}");
    }
    let textless = hidden(false).each(|record| record.output_chars = 0);
    assert_eq!(textless.doubt(code), None);
}

#[test]
fn no_answer_is_longer_than_the_context_and_no_more_is_cached_than_was_asked() {
    let code = Code::ImplausibleUsage;
    let counting = |tokens: u32| {
        MadeUp::closed(8, 128).each(move |record| {
            record.output_tokens_asked = None;
            record.output_exact = false;
            record.output_chars = 4 * u64::from(tokens);
            record.usage.as_mut().unwrap().output = Some(tokens);
        })
    };
    assert_eq!(counting(40_000).doubt(code), None, "who knows the context?");
    let mut stated = counting(40_000);
    stated.environment.server.max_model_len = Some(32_768);
    assert_eq!(stated.doubt(code), Some(Severity::Invalid));
    assert_eq!(counting(u32::MAX).doubt(code), Some(Severity::Invalid));
    let cached = |tokens: u32| {
        MadeUp::closed(8, 128).each(move |record| {
            let usage = record.usage.as_mut().unwrap();
            (usage.input, usage.cached) = (Some(256), Some(tokens));
        })
    };
    assert_eq!(cached(256).doubt(code), None);
    assert_eq!(cached(257).doubt(code), Some(Severity::Invalid));
}

#[test]
fn answers_that_all_end_at_the_limit_are_noted() {
    let mut run = MadeUp::closed(8, 128).each(|record| record.output_exact = false);
    run.scenario = scenario("[load]\nconcurrency = 8\n[work]\nmax-tokens = 32");
    assert_eq!(run.doubt(Code::OutputCapped), Some(Severity::Note));
    let blames_server = |run: &MadeUp| {
        let doubts = run.summary().doubts;
        let capped = doubts.iter().find(|it| it.code == Code::OutputCapped);
        capped.unwrap().remedy.contains("maxIterTimes")
    };
    assert!(!blames_server(&run), "the limit is that of the requests");
    let run = run.each(|record| record.output_tokens_asked = Some(4096));
    assert!(blames_server(&run), "nobody asked for so few");
    let run = run.each(|record| record.finish = Some("stop".to_owned()));
    assert_eq!(run.doubt(Code::OutputCapped), None);
}

#[test]
fn prompt_counts_may_differ_by_a_constant_and_no_more() {
    let with = |asked: fn(u64) -> u32, got: fn(u64) -> u32| {
        MadeUp::closed(8, 128).each(|record| {
            record.input_tokens_asked = Some(asked(record.index));
            record.usage.as_mut().unwrap().input = Some(got(record.index));
        })
    };
    let template = with(|i| 100 + i as u32, |i| 120 + i as u32);
    assert_eq!(template.doubt(Code::InputLengths), None);
    let long_template = with(|i| 100 + i as u32, |i| 300 + i as u32);
    assert_eq!(long_template.doubt(Code::InputLengths), None);
    let other_tokenizer = with(|i| 100 + i as u32, |i| (100 + i as u32) * 3 / 2);
    assert_eq!(
        other_tokenizer.doubt(Code::InputLengths),
        Some(Severity::Warn)
    );
    let same_length = with(|_| 256, |_| 400);
    assert_eq!(same_length.doubt(Code::InputLengths), Some(Severity::Warn));
}

#[test]
fn missing_usage_is_noted_and_leaves_no_number() {
    let run = MadeUp::closed(8, 128).each(|record| record.usage = None);
    assert_eq!(run.doubt(Code::TokenSource), Some(Severity::Note));
    let summary = run.summary();
    assert_eq!(summary.throughput.output_tokens_per_s, None);
    assert_eq!(summary.tokens.output, None);
    assert_eq!(summary.latency.tpot_ms, None);
    let run = run.each(|record| record.retokenized = Some(32));
    assert_eq!(run.doubt(Code::TokenSource), Some(Severity::Note));
    assert_eq!(run.summary().tokens.output, Some(128 * 32));
}

#[test]
fn several_tokens_a_chunk_are_noted() {
    let run = MadeUp::closed(8, 128).each(|record| {
        record.usage.as_mut().unwrap().output = Some(128);
        record.output_tokens_asked = Some(128);
    });
    assert_eq!(run.doubt(Code::ChunkNotToken), Some(Severity::Note));
    let run = run.each(|record| record.chunks.tokens = Some(vec![4; 32]));
    assert_eq!(run.doubt(Code::ChunkNotToken), None);
}

#[test]
fn a_warm_cache_warns_but_a_shared_template_does_not() {
    let cached = |tokens: u32| {
        MadeUp::closed(8, 128).each(|record| record.usage.as_mut().unwrap().cached = Some(tokens))
    };
    assert_eq!(cached(64).doubt(Code::WarmCache), None);
    assert_eq!(cached(65).doubt(Code::WarmCache), Some(Severity::Warn));
    assert_eq!(cached(0).doubt(Code::WarmCache), None);
    assert_eq!(cached(240).doubt(Code::WarmCache), Some(Severity::Warn));
    let short = cached(60).each(|record| record.usage.as_mut().unwrap().input = Some(60));
    assert_eq!(short.doubt(Code::WarmCache), Some(Severity::Warn));
    assert_eq!(cached(240).summary().tokens.cached, Some(128 * 240));
    // Rows of a file cannot be made new.
    let mut of_data = cached(240);
    of_data.scenario = scenario("[load]\nconcurrency = 8\n[work]\ndata = 'f.jsonl'");
    for (run, nonce) in [(cached(240), true), (of_data, false)] {
        let doubts = run.summary().doubts;
        let warm = doubts.iter().find(|it| it.code == Code::WarmCache).unwrap();
        assert_eq!(
            warm.remedy.contains("--cache-nonce"),
            nonce,
            "{}",
            warm.remedy
        );
    }
    // The others had none, and the server says nothing of them.
    let mut one = MadeUp::closed(8, 128);
    one.records[5].usage.as_mut().unwrap().cached = Some(240);
    assert_eq!(one.doubt(Code::WarmCache), None);
}

#[test]
fn repeated_prompts_warn() {
    let mut run = MadeUp::closed(8, 128);
    run.environment.distinct_prompts = Some(13);
    assert_eq!(run.doubt(Code::RepeatedPrompts), None);
    run.environment.distinct_prompts = Some(1);
    assert_eq!(run.doubt(Code::RepeatedPrompts), Some(Severity::Warn));
}
