//! Speed of synthetic prompts on one thread, in tokens: plain words, exact lengths in a
//! tokenizer, each counted to be sure, and the blocks of a trace. Run with
//! `cargo bench -p inferometer-workload --bench synthesize`.

use divan::Bencher;
use divan::counter::ItemsCount;
use inferometer_core::length::LengthSpec;
use inferometer_core::work::{Language, Synthetic as Spec, SyntheticLengths, TokenizerName};
use inferometer_workload::tokenizer::{self, Tokenizer};
use inferometer_workload::{Nonce, Prompts, Synthetic, TracePrompts, TraceRow};
use std::hint::black_box;
use std::sync::Arc;

fn main() {
    divan::main();
}

const TOKENS: u32 = 512;

fn opened(name: TokenizerName) -> Option<Arc<dyn Tokenizer>> {
    Some(tokenizer::open(&name, None).expect("it is embedded"))
}

fn make(bencher: Bencher, tokenizer: Option<Arc<dyn Tokenizer>>, language: Language, ids: bool) {
    let spec = Spec {
        lengths: SyntheticLengths::Input(LengthSpec::fixed(TOKENS)),
        language,
        prefix: None,
    };
    let nonce = Some(Nonce::from_random(7));
    let prompts = Synthetic::new(&spec, 1, nonce, tokenizer, ids).expect("it is possible");
    let mut index = 0;
    bencher.counter(ItemsCount::new(TOKENS)).bench_local(|| {
        index += 1;
        black_box(prompts.prompt(index, 0))
    });
}

#[divan::bench]
fn plain_words(bencher: Bencher) {
    make(bencher, None, Language::En, false);
}

#[divan::bench]
fn cl100k(bencher: Bencher) {
    make(bencher, opened(TokenizerName::Cl100k), Language::En, false);
}

#[divan::bench]
fn cl100k_ids(bencher: Bencher) {
    make(bencher, opened(TokenizerName::Cl100k), Language::En, true);
}

#[divan::bench]
fn cl100k_chinese(bencher: Bencher) {
    make(bencher, opened(TokenizerName::Cl100k), Language::Zh, false);
}

#[divan::bench]
fn o200k(bencher: Bencher) {
    make(bencher, opened(TokenizerName::O200k), Language::En, false);
}

#[divan::bench]
fn bytes(bencher: Bencher) {
    make(bencher, opened(TokenizerName::Bytes), Language::En, false);
}

/// What the verifying count alone costs.
#[divan::bench]
fn cl100k_count_alone(bencher: Bencher) {
    let tokenizer = opened(TokenizerName::Cl100k).expect("it is embedded");
    let text = "The quick answer to a long question is often wrong. ".repeat(47);
    let tokens = tokenizer.count(&text);
    bencher
        .counter(ItemsCount::new(tokens))
        .bench_local(|| tokenizer.count(black_box(&text)));
}

#[divan::bench]
fn trace_blocks_cl100k(bencher: Bencher) {
    const BLOCKS: u64 = 8;
    let row = |first: u64| TraceRow {
        input_tokens: TOKENS * BLOCKS as u32,
        output_tokens: None,
        blocks: (first..first + BLOCKS).collect(),
        block_tokens: 512,
        follows: None,
    };
    let prompts = TracePrompts::new(
        (0..64).map(row).collect(),
        Language::En,
        1,
        None,
        opened(TokenizerName::Cl100k),
        false,
    )
    .expect("it has rows");
    let mut index = 0;
    bencher
        .counter(ItemsCount::new(TOKENS as u64 * BLOCKS))
        .bench_local(|| {
            index += 1;
            black_box(prompts.prompt(index, 0))
        });
}

/// Counting every word when a generator is built.
#[divan::bench]
fn build_cl100k(bencher: Bencher) {
    let tokenizer = opened(TokenizerName::Cl100k);
    let spec = Spec {
        lengths: SyntheticLengths::Input(LengthSpec::fixed(TOKENS)),
        language: Language::En,
        prefix: None,
    };
    bencher.bench_local(|| {
        let prompts = Synthetic::new(&spec, 1, None, tokenizer.clone(), false);
        black_box(prompts.is_ok())
    });
}
