//! What lies beside a model's weights.

use super::{SPENT, Scratch};
use crate::seeds;
use inferometer_workload::tokenizer::{HuggingFace, Tokenizer as _, TokenizerError};
use std::sync::LazyLock;

const TEXT: &str = "The tides follow the moon. 潮汐 1234\n\t<|end|> é";

/// The smallest of them serves templates.
static SMALLEST: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let all = files().into_iter();
    all.min_by_key(Vec::len).expect("a tokenizer")
});

pub fn files() -> Vec<Vec<u8>> {
    let mut all = seeds::literals("crates/workload", 60);
    all.extend(seeds::files("fixtures/fuzz/tokenizer", &[".json"]));
    all.retain(|text| {
        text.trim_ascii().starts_with(b"{") && text.windows(7).any(|part| part == b"\"vocab\"")
    });
    all
}

pub fn open(input: &[u8], scratch: &Scratch) -> bool {
    let file = scratch.file("tokenizer.json", input);
    let sim = inferometer_sim::Tokenizer::at(&file);
    if sim.is_err_and(|error| error.why.contains("ever more")) {
        spent();
    }
    match HuggingFace::open(&file, None) {
        Err(TokenizerError::Endless { .. }) => spent(),
        opened => opened.is_ok_and(|tokenizer| tokenizer.count(TEXT) > 0),
    }
}

pub fn templates() -> Vec<Vec<u8>> {
    let mut all = seeds::literals("crates/workload/src/tokenizer", 12);
    all.extend(seeds::literals("crates/sim/src/tokenizer", 12));
    let holds = |text: &[u8], part: &[u8]| text.windows(part.len()).any(|it| it == part);
    all.retain(|text| holds(text, b"{{") || holds(text, b"{%"));
    // One that doubles a list takes seconds until it is refused, and most of its mutants as well;
    // end-to-end tests have it.
    all.retain(|text| !holds(text, b" + n"));
    all
}

pub fn render(input: &[u8], scratch: &Scratch) -> bool {
    let file = scratch.0.join("tokenizer.json");
    if !file.exists() {
        scratch.file("tokenizer.json", &SMALLEST);
        scratch.file(
            "tokenizer_config.json",
            br#"{"bos_token": "<s>", "eos_token": "</s>"}"#,
        );
    }
    scratch.file("chat_template.jinja", input);
    if inferometer_sim::Tokenizer::at(scratch.path()).is_err() {
        spent();
    }
    match HuggingFace::open(&file, None) {
        Err(TokenizerError::EndlessTemplate { .. }) => spent(),
        opened => opened.is_ok_and(|tokenizer| tokenizer.template_tokens().is_some()),
    }
}

/// What makes ever more of a message was refused, but nobody can stop it.
fn spent() -> ! {
    std::process::exit(SPENT.into())
}
