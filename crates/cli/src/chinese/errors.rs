//! Errors in Chinese: those of the command line from their parts, and ours by their English.
//!
//! `data/errors.zh.toml` has the Chinese of the errors that users meet first, as templates with the
//! same `{name}`s that the source has. What is not there stays English.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use inferometer_text::hostile::printable;

/// Longest text that is shown on a page.
const MOST_CHARS: usize = 2_000;

const TEXTS: &str = include_str!("../../data/errors.zh.toml");

#[derive(Default, serde::Deserialize)]
struct Texts {
    /// As the source has them.
    ours: toml::Table,
    /// What stands inside them: lists, and what the system and libraries say.
    parts: toml::Table,
}

/// An error and its causes in Chinese, as far as they are known.
pub fn with_causes(error: &anyhow::Error) -> String {
    let mut english = String::new();
    let mut parts = Vec::new();
    for cause in error.chain().map(ToString::to_string) {
        if !english.contains(&cause) {
            parts.push(in_chinese(&cause));
            english.push_str(&cause);
        }
    }
    parts.join("：")
}

/// An error and its causes in English and in Chinese, short enough for a page.
pub fn in_both(error: &anyhow::Error) -> [String; 2] {
    let english = inferometer_runner::with_causes(error.as_ref());
    [english, with_causes(error)].map(|text| printable(&text, MOST_CHARS))
}

/// The same text in Chinese if it is known, parts of it included; else as it is.
pub fn in_chinese(english: &str) -> String {
    let texts: Texts = toml::from_str(TEXTS).unwrap_or_default();
    translated(english, &templates(&texts))
}

/// English and Chinese, what says most in its own words first.
fn templates(texts: &Texts) -> Vec<(&str, &str)> {
    let all = texts.ours.iter().chain(&texts.parts);
    let mut all: Vec<(&str, &str)> = all
        .filter_map(|(english, chinese)| Some((english.as_str(), chinese.as_str()?)))
        .collect();
    let own_words = |template: &str| template.len() - values_of(template).concat().len();
    all.sort_by_key(|(english, _)| std::cmp::Reverse(own_words(english)));
    all
}

fn translated(english: &str, templates: &[(&str, &str)]) -> String {
    let fitting = templates.iter().find_map(|(template, chinese)| {
        let values = fitted(template, english)?;
        // What begins with a value begins with an option, an address or a path.
        let is_name = |value: &str| value.starts_with("--") || !value.contains(' ');
        let is_ours = !template.starts_with('{') || is_name(values.first()?.1);
        is_ours.then_some((chinese, values))
    });
    let Some((chinese, values)) = fitting else {
        return english.to_owned();
    };
    (values.into_iter()).fold((*chinese).to_owned(), |told, (name, value)| {
        let value = translated(&listed(name, value), templates);
        // Once for each: values without a name follow each other as in the English.
        told.replacen(&format!("{{{name}}}"), &value, 1)
    })
}

/// Choices stand in a row with Chinese signs.
fn listed(name: &str, value: &str) -> String {
    match name {
        "list" => value.replace(", ", "、").replace(" or ", " 或 "),
        _ => value.to_owned(),
    }
}

/// `{name}` by `{name}`, as they stand in a template.
fn values_of(template: &str) -> Vec<&str> {
    let pieces = template.split_inclusive('}');
    pieces
        .filter_map(|piece| piece.ends_with('}').then_some(&piece[piece.find('{')?..]))
        .collect()
}

/// The values that make the text of the template, if any do.
fn fitted<'a>(template: &'a str, text: &'a str) -> Option<Vec<(&'a str, &'a str)>> {
    let Some((words, rest)) = template.split_once('{') else {
        return (template == text).then(Vec::new);
    };
    let (name, rest) = rest.split_once('}')?;
    let text = text.strip_prefix(words)?;
    let next = rest.split('{').next().unwrap_or_default();
    if rest.is_empty() {
        return Some(vec![(name, text)]);
    }
    text.match_indices(next).find_map(|(end, _)| {
        let mut values = vec![(name, &text[..end])];
        values.extend(fitted(rest, &text[end..])?);
        Some(values)
    })
}

/// What is wrong with a command line, if its kind is known here; without a remedy.
pub fn of_command_line(error: &clap::Error) -> Option<String> {
    let text = |kind| match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(texts) => Some(texts.join("、")),
        _ => None,
    };
    let argument = text(ContextKind::InvalidArg);
    let value = text(ContextKind::InvalidValue);
    let said = match error.kind() {
        ErrorKind::UnknownArgument => format!("没有选项或参数 '{}'", argument?),
        ErrorKind::InvalidSubcommand => {
            format!("没有命令 '{}'", text(ContextKind::InvalidSubcommand)?)
        }
        ErrorKind::InvalidValue if value.as_deref() == Some("") => {
            format!("'{}' 缺少值", argument?)
        }
        ErrorKind::InvalidValue => format!("'{}' 的值 '{}' 无效", argument?, value?),
        ErrorKind::ValueValidation => {
            let why = std::error::Error::source(error)?.to_string();
            let (argument, value) = (argument?, value?);
            // The value is told once.
            let known = format!("'{value}' is not possible; ");
            let why = in_chinese(why.strip_prefix(&known).unwrap_or(&why));
            format!("'{argument}' 的值 '{value}' 无效：{why}")
        }
        ErrorKind::ArgumentConflict => match text(ContextKind::PriorArg) {
            Some(prior) if Some(&prior) == argument.as_ref() => {
                format!("'{prior}' 只能给出一次")
            }
            prior => format!("'{}' 不能与 '{}' 同时使用", argument?, prior?),
        },
        ErrorKind::MissingRequiredArgument => format!("缺少必需的参数：{}", argument?),
        ErrorKind::TooManyValues => format!("'{}' 的值 '{}' 是多余的", argument?, value?),
        _ => return None,
    };
    let near = [
        ContextKind::SuggestedArg,
        ContextKind::SuggestedSubcommand,
        ContextKind::SuggestedValue,
    ];
    let near: Vec<String> = near.into_iter().filter_map(text).collect();
    let choices = text(ContextKind::ValidValue).filter(|choices| !choices.is_empty());
    let near = (!near.is_empty()).then(|| format!("；是不是想写 '{}'", near.join("、")));
    let choices = choices.map(|choices| format!("；可选值：{choices}"));
    Some(said + &near.unwrap_or_default() + &choices.unwrap_or_default())
}

#[cfg(test)]
mod tests;
