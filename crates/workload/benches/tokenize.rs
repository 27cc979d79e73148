//! Speed of tokenizers on English prompts of about 512 tokens, one thread and all of them, and
//! of counts that are on disk already. Run with
//! `cargo bench -p inferometer-workload --bench tokenize`. An item is a token.

use divan::Bencher;
use divan::counter::ItemsCount;
use inferometer_core::work::TokenizerName;
use inferometer_workload::tokenizer::{CountCache, Tokenizer, count_all, open};
use std::hint::black_box;
use std::sync::Arc;

fn main() {
    divan::main();
}

/// A hundred words as people write them: punctuation, a number, a name, a contraction.
const PASSAGE: &str = "When the committee met on the 14th of March, nobody expected that the \
    discussion about storage costs would last until midnight. Dr. Okafor's figures showed that \
    the older machines, which weren't due to be replaced before 2027, used almost 38% more \
    energy than the estimate; two members asked whether the meters had been read correctly. \
    They had. \"We could, of course, turn half of them off,\" she said, \"but then the overnight \
    backups wouldn't finish in time.\" In the end the group agreed to test a smaller schedule \
    for six weeks, and to publish what they found, whether or not it was convenient. ";

fn prompts(number: usize) -> Vec<String> {
    // Numbered, so that no two prompts are equal.
    (0..number)
        .map(|place| format!("Report {place}. {}", PASSAGE.repeat(4)))
        .collect()
}

fn tokenizer(name: TokenizerName) -> Arc<dyn Tokenizer> {
    open(&name, None).expect("it is embedded")
}

fn tokens(texts: &[String], tokenizer: &dyn Tokenizer) -> ItemsCount {
    ItemsCount::new(
        texts
            .iter()
            .map(|text| tokenizer.count(text) as usize)
            .sum::<usize>(),
    )
}

#[divan::bench(args = [TokenizerName::Cl100k, TokenizerName::O200k])]
fn count(bencher: Bencher, name: &TokenizerName) {
    let tokenizer = tokenizer(name.clone());
    let texts = prompts(1);
    bencher
        .counter(tokens(&texts, &*tokenizer))
        .bench_local(|| tokenizer.count(black_box(&texts[0])));
}

#[divan::bench(args = [TokenizerName::Cl100k, TokenizerName::O200k])]
fn encode(bencher: Bencher, name: &TokenizerName) {
    let tokenizer = tokenizer(name.clone());
    let texts = prompts(1);
    bencher
        .counter(tokens(&texts, &*tokenizer))
        .bench_local(|| tokenizer.encode(black_box(&texts[0])));
}

/// A data set of some size on all cores.
#[divan::bench(sample_count = 10)]
fn count_all_cl100k(bencher: Bencher) {
    let tokenizer = tokenizer(TokenizerName::Cl100k);
    let texts = prompts(2_000);
    bencher
        .counter(tokens(&texts, &*tokenizer))
        .bench_local(|| count_all(black_box(&texts), &*tokenizer));
}

/// The same data set the second time.
#[divan::bench(sample_count = 10)]
fn count_all_cached(bencher: Bencher) {
    let tokenizer = tokenizer(TokenizerName::Cl100k);
    let texts = prompts(2_000);
    let folder = tempfile::tempdir().expect("a folder can be made");
    let cache = CountCache::at(folder.path().to_owned());
    cache.counts(&texts, &*tokenizer);
    bencher
        .counter(tokens(&texts, &*tokenizer))
        .bench_local(|| cache.counts(black_box(&texts), &*tokenizer));
}
