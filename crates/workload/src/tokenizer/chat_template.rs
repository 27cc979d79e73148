//! What a model's chat template puts around a message: Jinja, as Hugging Face runs it.

use inferometer_guard::{Endless, Most, bounded, guarded};
use jiff::civil;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Value;
use minijinja::{Environment, Error, ErrorKind, context};
use minijinja_contrib::pycompat;
use serde_json::{Map, Value as Json};
use std::fmt::Display;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Steps after which a template is given up. Real ones take some thousands.
const MOST_STEPS: u64 = 1_000_000;
/// Memory after which it is given up: a few steps suffice to double a text beyond all bounds.
const MOST_BYTES: u64 = 256 << 20;
/// Time after which it is given up: one step may go through a list that was doubled many times.
/// Real ones take milliseconds.
pub(super) const MOST_TIME: Duration = Duration::from_secs(5);
/// Real tags have some hundred bytes; with some thousand the stack of a thread may not suffice.
const LONGEST_TAG: usize = 2_000;

/// More than such a file has.
const LARGEST_FILE: u64 = 64 << 20;

/// A regular file of a bearable size: a pipe in a stranger's folder would be waited for.
fn read(path: &Path) -> Option<Vec<u8>> {
    let about = fs::metadata(path).ok()?;
    let is_bearable = about.is_file() && about.len() <= LARGEST_FILE;
    is_bearable.then(|| fs::read(path).ok())?
}

/// A chat template and the tokens that it may name.
pub(super) struct ChatTemplate {
    source: String,
    /// `bos_token`, `eos_token` and their like.
    named_tokens: Vec<(String, String)>,
}

impl ChatTemplate {
    /// The template in a model's folder; absent if there is none.
    pub(super) fn in_folder(folder: &Path) -> Option<Self> {
        let config = read(&folder.join("tokenizer_config.json"))
            .and_then(|bytes| serde_json::from_slice::<Map<String, Json>>(&bytes).ok())
            .unwrap_or_default();
        // The file wins over the key, as in the library that writes both.
        let source = read(&folder.join("chat_template.jinja"))
            .and_then(|bytes| String::from_utf8(bytes).ok())
            .or_else(|| main_template(config.get("chat_template")?))?;
        if longest_tag(&source) > LONGEST_TAG {
            return None;
        }
        Some(ChatTemplate {
            source: without_generation_marks(&source),
            named_tokens: named_tokens(&config),
        })
    }

    /// The same as `render`, within bounds.
    pub(super) fn render_bounded(
        self,
        message: &'static str,
        time: Duration,
    ) -> Result<Option<String>, Endless> {
        let most = Most {
            bytes: MOST_BYTES,
            time,
        };
        bounded(most, move || {
            guarded(|| self.render(message)).ok().flatten()
        })
    }

    /// The text that a server makes of one message of a user, before the model answers; absent
    /// if the template fails or leaves the message out.
    pub(super) fn render(&self, message: &str) -> Option<String> {
        let as_text = Value::from(message);
        // Templates of models that also see take a list of parts.
        let as_parts = Value::from(vec![context! { type => "text", text => message }]);
        [as_text, as_parts]
            .into_iter()
            .filter_map(|content| self.render_content(content).ok())
            .find(|text| text.contains(message))
    }

    fn render_content(&self, content: Value) -> Result<String, Error> {
        let mut environment = Environment::new();
        environment.set_syntax(
            SyntaxConfig::builder()
                .trim_blocks(true)
                .lstrip_blocks(true)
                .build()?,
        );
        environment.set_fuel(Some(MOST_STEPS));
        environment.set_unknown_method_callback(pycompat::unknown_method_callback);
        environment.add_function("raise_exception", raise_exception);
        environment.add_function("strftime_now", strftime_now);
        for (name, token) in &self.named_tokens {
            environment.add_global(name.clone(), token.as_str());
        }
        environment
            .template_from_str(&self.source)?
            .render(context! {
                messages => vec![context! { role => "user", content }],
                add_generation_prompt => true,
                tools => Value::from(()),
                documents => Value::from(()),
            })
    }
}

/// Bytes of code in the longest tag, without texts: as deep as that the library's parser and
/// compiler may call themselves.
fn longest_tag(source: &str) -> usize {
    let bytes = source.as_bytes();
    let (mut longest, mut at) = (0, 0);
    while at + 1 < bytes.len() {
        if bytes[at] != b'{' || !matches!(bytes[at + 1], b'{' | b'%') {
            at += 1;
            continue;
        }
        at += 2;
        let (mut code, mut braces, mut quote) = (0, 0, None);
        while at < bytes.len() {
            match (bytes[at], quote) {
                (b'\\', Some(_)) => at += 1,
                (byte, Some(open)) if byte == open => quote = None,
                (_, Some(_)) => {}
                (byte @ (b'"' | b'\''), None) => quote = Some(byte),
                (b'{', None) => braces += 1,
                (b'}', None) if braces > 0 => braces -= 1,
                (b'}', None) => break,
                (_, None) => code += 1,
            }
            at += 1;
        }
        longest = longest.max(code);
    }
    longest
}

fn raise_exception(message: String) -> Result<Value, Error> {
    Err(Error::new(ErrorKind::InvalidOperation, message))
}

/// A day like any other, so that the count is the same tomorrow.
fn strftime_now(format: String) -> Result<String, Error> {
    let failed = |error: &dyn Display| Error::new(ErrorKind::InvalidOperation, error.to_string());
    let day = civil::date(2026, 1, 15).at(12, 30, 15, 0);
    jiff::fmt::strtime::format(format, day).map_err(|error| failed(&error))
}

/// The template of plain chat: the only one, or the one named `default` in a list of several.
fn main_template(templates: &Json) -> Option<String> {
    let source = match templates {
        Json::String(source) => source,
        Json::Array(named) => {
            let chosen = match named.as_slice() {
                [only] => only,
                several => several.iter().find(|one| one["name"] == "default")?,
            };
            chosen["template"].as_str()?
        }
        _ => return None,
    };
    Some(source.to_owned())
}

fn named_tokens(config: &Map<String, Json>) -> Vec<(String, String)> {
    config
        .iter()
        .filter(|(name, _)| name.ends_with("_token"))
        .filter_map(|(name, token)| {
            let text = token.as_str().or_else(|| token["content"].as_str())?;
            Some((name.clone(), text.to_owned()))
        })
        .collect()
}

/// Some templates mark what the model says for training, in a tag that only one library knows.
fn without_generation_marks(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    for (place, piece) in source.split("{%").enumerate() {
        if place > 0 {
            out.push_str("{%");
        }
        let tag = piece.split_once("%}").map_or("", |(tag, _)| tag);
        let word = tag.trim_matches(['-', '+']).trim();
        let plain = match word {
            "generation" if place > 0 => "if true",
            "endgeneration" if place > 0 => "endif",
            _ => "",
        };
        match plain {
            "" => out.push_str(piece),
            plain => out.push_str(&piece.replacen(word, plain, 1)),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn render(source: &str) -> Option<String> {
        ChatTemplate {
            source: without_generation_marks(source),
            named_tokens: vec![("bos_token".to_owned(), "<s>".to_owned())],
        }
        .render("Hi there")
    }

    #[test]
    fn what_templates_call_in_python_is_understood() {
        let source = "{{ bos_token }}{%- set ns = namespace(seen=false) -%}
            {%- if messages[0]['role'] == 'system' -%}{{ raise_exception('no system') }}{%- endif -%}
            {%- for message in messages -%}
                {%- if message.role.startswith('us') and not tools and documents is none -%}
                    {%- set ns.seen = true -%}
                    [{{ message['content'].strip() | trim }}]{{ message.role.upper() }}
                {%- endif -%}
                {%- if loop.last -%}{%- break -%}{%- endif -%}
            {%- endfor -%}
            {%- macro turn(name) -%}<{{ name }}>{%- endmacro -%}
            {%- if add_generation_prompt and ns.seen -%}
                {{ turn('assistant') }} {{ strftime_now('%d %b %Y') }} {{ {'a': [1]} | tojson }}
            {%- endif -%}";
        let text = render(source).expect("it can be rendered");
        assert!(
            text.starts_with("<s>[Hi there]USER<assistant> 15 Jan 2026"),
            "{text}"
        );
        assert!(!text.contains("no system"));
    }

    #[test]
    fn blocks_leave_no_blank_lines_behind() {
        let source = "{% for message in messages %}\n  {% if true %}\n{{ message.content }}\n  {% endif %}\n{% endfor %}\n";
        assert_eq!(render(source).as_deref(), Some("Hi there\n"));
    }

    #[test]
    fn marks_for_training_are_ignored() {
        let source = "{{ messages[0].content }} {%- generation -%} x {% endgeneration %}y";
        assert_eq!(render(source).as_deref(), Some("Hi therex y"));
    }

    #[test]
    fn a_template_that_wants_parts_gets_parts() {
        let source = "{% for part in messages[0].content %}{% if part.type == 'text' %}<{{ part.text }}>{% endif %}{% endfor %}";
        assert_eq!(render(source).as_deref(), Some("<Hi there>"));
    }

    #[test]
    fn a_template_that_fails_gives_nothing() {
        for source in [
            "{{ raise_exception('never') }}{{ messages[0].content }}",
            "{{ messages[0].content",
            "{{ messages[0].content | no_such_filter }}",
            "{{ strftime_now('%!') }}{{ messages[0].content }}",
            "the message is not in it",
            "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}{{ messages[0].content }}",
        ] {
            assert_eq!(render(source), None, "{source}");
        }
    }

    #[test]
    fn a_template_that_doubles_a_list_is_given_up() {
        let source = "{% set n = namespace(l=[1]) %}{% for i in range(36) %}{% set n.l = n.l + n.l %}{% endfor %}{{ n.l | sum }}{{ messages[0].content }}";
        let template = ChatTemplate {
            source: source.into(),
            named_tokens: Vec::new(),
        };
        let rendered = template.render_bounded("Hi there", Duration::from_millis(300));
        assert_eq!(rendered, Err(Endless));
    }

    #[test]
    fn the_default_is_taken_from_a_list_of_templates() {
        let several = serde_json::json!([
            {"name": "tool_use", "template": "tools"}, {"name": "default", "template": "plain"}
        ]);
        assert_eq!(main_template(&several).as_deref(), Some("plain"));
        let single = serde_json::json!([{"name": "other", "template": "only"}]);
        assert_eq!(main_template(&single).as_deref(), Some("only"));
        for useless in ["[]", "7", "[1, 2]", r#"{"default": 1}"#] {
            let useless: Json = serde_json::from_str(useless).expect("JSON");
            assert_eq!(main_template(&useless), None);
        }
    }

    #[test]
    fn a_tag_is_as_long_as_its_code() {
        assert_eq!(longest_tag("{ a } {# b #} c"), 0);
        assert_eq!(longest_tag("x{{a}}{%if b%}"), 5);
        assert_eq!(longest_tag(r#"{{'}} - \' -'+"}}"+a}}"#), 3);
        assert_eq!(longest_tag("{{ {'a': {}}--- }}"), 7);
        assert_eq!(longest_tag(&format!("{{{{{}", "-".repeat(9_000))), 9_000);
    }
}
