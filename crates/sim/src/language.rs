//! The language of an answer: that of its prompt.

use serde_json::{Map, Value};

/// What of a prompt is looked at.
const LOOKED_AT: usize = 2_000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Language {
    #[default]
    English,
    Chinese,
}

impl Language {
    /// Chinese where most signs are.
    pub(crate) fn of(text: &str) -> Language {
        Language::of_signs(text.chars())
    }

    /// That of a request's body, by its prompt or its messages.
    pub(crate) fn of_body(body: &Map<String, Value>) -> Language {
        Language::of_signs(texts(body).flat_map(str::chars))
    }

    fn of_signs(signs: impl Iterator<Item = char>) -> Language {
        let signs = signs.filter(|sign| sign.is_alphanumeric()).take(LOOKED_AT);
        let (mut chinese, mut all) = (0, 0);
        for sign in signs {
            all += 1;
            chinese += usize::from(is_chinese(sign));
        }
        if 2 * chinese > all {
            Language::Chinese
        } else {
            Language::English
        }
    }
}

/// The texts that a request's body asks with.
pub(crate) fn texts(body: &Map<String, Value>) -> impl Iterator<Item = &str> {
    // OpenAI's responses have messages, or a text, in `input`.
    let messages = ["messages", "input"].iter();
    let messages = messages.filter_map(|key| body.get(*key)?.as_array());
    let messages = messages.flatten().filter_map(|it| it["content"].as_str());
    let texts = ["prompt", "inputs", "input", "text", "text_input"]
        .iter()
        .filter_map(|key| body.get(*key)?.as_str());
    texts.chain(messages)
}

fn is_chinese(sign: char) -> bool {
    matches!(sign, '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_prompt_of_mostly_chinese_signs_is_chinese() {
        assert_eq!(Language::of("请续写下文，TTFT 不变。"), Language::Chinese);
        let others = "|Write 500 characters about 河流.|12 34|日本のテキストです";
        for other in others.split('|') {
            assert_eq!(Language::of(other), Language::English, "{other}");
        }
        let of_body = |body: serde_json::Value| Language::of_body(body.as_object().unwrap());
        let chat = json!({"messages": [
            {"role": "system", "content": "You help."},
            {"role": "user", "content": "请写一个关于花园和邻居的故事。"},
        ]});
        assert_eq!(of_body(chat), Language::Chinese);
        assert_eq!(of_body(json!({"prompt": [1, 2, 3]})), Language::English);
    }
}
