//! Bodies that differ only in their text and their limit, as those of most runs do: rendered once,
//! then filled in.

use super::dialect::{Dialect, Prompt, RequestOptions};
use inferometer_core::content::Content;
use std::borrow::Cow;
use std::io::Write as _;
use std::sync::OnceLock;

/// What stands for the text and for the limit while a template is rendered.
const TEXT: &str = "inferometer text 5f0c9a3e7b1d4c2f";
const LIMIT: u32 = 4_290_771_553;

/// The templates of a run's bodies, made at the first use. There is none where the user's own
/// fields replace the text.
#[derive(Default)]
pub struct BodyTemplates {
    with_limit: OnceLock<Option<BodyTemplate>>,
    without_limit: OnceLock<Option<BodyTemplate>>,
}

pub(crate) struct BodyTemplate {
    parts: Vec<Part>,
    /// Of the parts that stand as they are.
    fixed_bytes: usize,
    limits: usize,
}

enum Part {
    Fixed(Vec<u8>),
    Text,
    Limit,
}

/// A body that can be written.
pub(crate) enum Body<'a> {
    Whole(Vec<u8>),
    Filled {
        template: &'a BodyTemplate,
        text: &'a str,
        limit: u32,
    },
}

impl BodyTemplates {
    pub(crate) fn body<'a>(
        &'a self,
        dialect: &dyn Dialect,
        options: &RequestOptions,
        prompt: &Prompt<'a>,
        limit: Option<u32>,
    ) -> Body<'a> {
        if let Content::Text(text) = prompt.content
            && prompt.history.is_empty()
            && prompt.media.is_empty()
            && stands_in_json(text)
            && !options.is_shortened(limit)
        {
            let known = match limit {
                Some(_) => &self.with_limit,
                None => &self.without_limit,
            };
            let make = || BodyTemplate::new(dialect, options, limit.map(|_| LIMIT));
            if let Some(template) = known.get_or_init(make) {
                return Body::Filled {
                    template,
                    text,
                    limit: limit.unwrap_or_default(),
                };
            }
        }
        Body::Whole(dialect.body(options, prompt, limit))
    }
}

impl BodyTemplate {
    fn new(dialect: &dyn Dialect, options: &RequestOptions, limit: Option<u32>) -> Option<Self> {
        let content = Content::Text(TEXT.into());
        let rendered = |limit| {
            let body = dialect.body(options, &Prompt::from(&content), limit);
            String::from_utf8(body).ok()
        };
        let number = LIMIT.to_string();
        let body = rendered(limit)?;
        // What stands for text and limit must stand nowhere else.
        let is_clear = body.matches(TEXT).count() == 1 && !rendered(None)?.contains(&number);
        let (before, after) = body.split_once(TEXT).filter(|_| is_clear)?;
        let mut parts = Vec::new();
        for side in [before, after] {
            for fixed in side.split(&number) {
                parts.extend([Part::Fixed(fixed.into()), Part::Limit]);
            }
            parts.pop();
            parts.push(Part::Text);
        }
        parts.pop();
        let fixed_bytes = parts.iter().map(|part| match part {
            Part::Fixed(bytes) => bytes.len(),
            Part::Text | Part::Limit => 0,
        });
        let is_limit = |part: &&Part| matches!(part, Part::Limit);
        Some(BodyTemplate {
            fixed_bytes: fixed_bytes.sum(),
            limits: parts.iter().filter(is_limit).count(),
            parts,
        })
    }
}

impl Body<'_> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Body::Whole(bytes) => bytes.len(),
            Body::Filled {
                template,
                text,
                limit,
            } => {
                let digits = 1 + limit.checked_ilog10().unwrap_or_default() as usize;
                template.fixed_bytes + text.len() + template.limits * digits
            }
        }
    }

    /// What its head says of it.
    pub(crate) fn content_type(&self, dialect: &dyn Dialect) -> Cow<'static, str> {
        match self {
            Body::Whole(bytes) => dialect.content_type(bytes),
            // Only JSON is filled in.
            Body::Filled { .. } => dialect.content_type(&[]),
        }
    }

    pub(crate) fn write_to(&self, out: &mut Vec<u8>) {
        let (template, text, limit) = match self {
            Body::Whole(bytes) => return out.extend_from_slice(bytes),
            Body::Filled {
                template,
                text,
                limit,
            } => (template, text, limit),
        };
        for part in &template.parts {
            match part {
                Part::Fixed(bytes) => out.extend_from_slice(bytes),
                Part::Text => out.extend_from_slice(text.as_bytes()),
                Part::Limit => write!(out, "{limit}").expect("memory takes all that is written"),
            }
        }
    }
}

/// Whether a text needs no escapes inside a JSON string. Looks at every byte, which the compiler
/// makes faster than to stop at the first.
fn stands_in_json(text: &str) -> bool {
    let escaped = |byte: u8| (byte < 0x20) | (byte == b'"') | (byte == b'\\');
    !text.bytes().fold(false, |any, byte| any | escaped(byte))
}

#[cfg(test)]
mod tests {
    use super::super::{CHAT, COMPLETIONS};
    use super::*;
    use inferometer_core::content::Exchange;
    use proptest::prelude::*;
    use serde_json::json;

    fn written(body: &Body<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        body.write_to(&mut out);
        assert_eq!(out.len(), body.len());
        out
    }

    fn options(extra: serde_json::Value) -> RequestOptions {
        RequestOptions {
            model: "m".into(),
            stream: true,
            stream_usage: true,
            ignore_eos: true,
            extra: extra.as_object().cloned().unwrap_or_default(),
            ..RequestOptions::default()
        }
    }

    proptest! {
        #[test]
        fn a_filled_template_is_the_body_that_the_dialect_renders(
            text in "[ a-zé\"\\\\\n]{0,20}",
            limits in proptest::collection::vec(proptest::option::of(any::<u32>()), 1..4),
        ) {
            let extras = [
                json!({}),
                json!({"max_tokens": 7, "max_completion_tokens": 8}),
                json!({"messages": [], "prompt": "mine"}),
                json!({"note": TEXT}),
                json!({"note": LIMIT.to_string()}),
            ];
            let cases = extras.iter().flat_map(|extra| [(CHAT, extra), (COMPLETIONS, extra)]);
            for (dialect, extra) in cases {
                let options = options(extra.clone());
                let templates = BodyTemplates::default();
                let content = Content::Text(text.as_str().into());
                for &limit in &limits {
                    let prompt = Prompt::from(&content);
                    let body = templates.body(dialect, &options, &prompt, limit);
                    let expected = dialect.body(&options, &prompt, limit);
                    prop_assert_eq!(written(&body), expected);
                }
            }
        }
    }

    #[test]
    fn an_answer_that_is_to_be_shorter_need_not_be_as_long_as_others() {
        let options = RequestOptions {
            min_tokens: Some(256),
            ..options(json!({}))
        };
        let (templates, content) = (BodyTemplates::default(), Content::Text("next".into()));
        let least = |limit: u32| {
            let body = templates.body(CHAT, &options, &Prompt::from(&content), Some(limit));
            let body: serde_json::Value = serde_json::from_slice(&written(&body)).unwrap();
            body["min_tokens"].clone()
        };
        assert_eq!([least(256), least(132), least(256)], [256, 132, 256]);
    }

    #[test]
    fn what_was_said_before_is_not_left_out() {
        let history = [Exchange {
            user: "question".into(),
            assistant: "answer".into(),
        }];
        let content = Content::Text("next".into());
        let prompt = Prompt {
            history: &history,
            content: &content,
            media: &[],
        };
        let templates = BodyTemplates::default();
        let body = templates.body(CHAT, &options(json!({})), &prompt, Some(3));
        let text = String::from_utf8(written(&body)).unwrap();
        assert!(text.contains("question") && text.contains("next"), "{text}");
    }
}
