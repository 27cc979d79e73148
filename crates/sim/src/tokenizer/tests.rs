use super::*;
use crate::language::Language;
use crate::random::{Purpose, RandomStream};
use crate::render::AnswerTokens;
use serde_json::{Value as Json, json};

const CHAT_ML: &str = "{% for m in messages %}<s>{{ m['role'] }} {{ m['content'] }}</s>{% endfor %}{% if add_generation_prompt %}<s>assistant{% endif %}";

/// Words by themselves, and what is not known.
fn word_level() -> Json {
    let words = [
        "[UNK]",
        "<s>",
        "</s>",
        "user",
        "assistant",
        "stone",
        "river",
        "moon",
    ];
    let vocabulary: serde_json::Map<String, Json> = (words.iter().enumerate())
        .map(|(id, word)| ((*word).to_owned(), json!(id)))
        .collect();
    let special = |id: u32| json!({"id": id, "content": words[id as usize], "special": true, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false});
    json!({
        "version": "1.0", "truncation": null, "padding": null,
        "added_tokens": [special(0), special(1), special(2)],
        "normalizer": null, "pre_tokenizer": {"type": "Whitespace"}, "post_processor": null, "decoder": null,
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"}
    })
}

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

#[test]
fn answers_are_made_of_tokens_that_are_counted_again_alike() {
    let at = folder(&[(FILE, &word_level().to_string())]);
    let mut tokenizers = vec![Tokenizer::at(at.path()).unwrap()];
    tokenizers
        .extend(["words", "bytes", "cl100k", "o200k"].map(|name| Tokenizer::named(name).unwrap()));
    let languages = [Language::English, Language::Chinese];
    let pairs = (tokenizers.iter()).flat_map(|it| languages.map(|language| (it, language)));
    for (tokenizer, language) in pairs {
        let draw = RandomStream::new(1, 2, Purpose::Words);
        let mut words = AnswerTokens::new(draw, tokenizer, language);
        let ids: Vec<u32> = words.clone().ids(500).collect();
        let mut text = Vec::new();
        for _ in 0..500 {
            words.append(&mut text);
        }
        let text = String::from_utf8(text).unwrap();
        assert_eq!(tokenizer.encode(&text), ids, "{text}");
        assert_eq!(
            json!(text).to_string(),
            format!("\"{text}\""),
            "nothing is escaped"
        );
    }
}

#[test]
fn tokens_come_back_as_their_text() {
    for name in ["bytes", "cl100k", "o200k"] {
        let tokenizer = Tokenizer::named(name).unwrap();
        let text = "Größe: 3 “moons” 月\n";
        let ids = tokenizer.encode(text);
        assert_eq!(tokenizer.decode(&ids).unwrap(), text);
        assert_eq!(tokenizer.decode(&[u32::MAX]).unwrap(), "", "{name}");
    }
}

#[test]
fn a_template_says_what_goes_around_messages() {
    let text = word_level().to_string();
    let config = json!({"chat_template": CHAT_ML}).to_string();
    let at = folder(&[(FILE, &text), ("tokenizer_config.json", &config)]);
    let tokenizer = Tokenizer::at(&at.path().join(FILE)).unwrap();
    let body = json!({"messages": [
        {"role": "user", "content": [{"type": "text", "text": "moon stone"}]},
    ]});
    let body = body.as_object().unwrap();
    let tokens = |opens| crate::prompt::chat(&tokenizer, body, opens).unwrap();
    assert_eq!(tokens(OpensAnswer::Yes), [1, 3, 7, 5, 2, 1, 4]);
    assert_eq!(tokens(OpensAnswer::No), [1, 3, 7, 5, 2]);

    let fails = folder(&[
        (FILE, &text),
        (
            "chat_template.jinja",
            "{{ raise_exception('no such role') }}",
        ),
    ]);
    let tokenizer = Tokenizer::at(fails.path()).unwrap();
    let refusal = crate::prompt::chat(&tokenizer, body, OpensAnswer::Yes).unwrap_err();
    assert!(refusal.body.contains("no such role"), "{}", refusal.body);
}

#[test]
fn a_file_that_is_no_tokenizer_is_refused_in_one_line() {
    let mut unknown = word_level();
    unknown["model"] = json!({"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "[UNK]"});
    unknown["added_tokens"] = json!([]);
    for text in ["", "{", "[]", &unknown.to_string()] {
        let at = folder(&[(FILE, text)]);
        let message = Tokenizer::at(at.path()).err().unwrap().to_string();
        assert!(
            message.contains("cl100k") && !message.contains('\n'),
            "{message}"
        );
    }
    assert!(Tokenizer::named("/no/such/place").is_err());
}
