//! The options of `--api raw`.

use super::error::{OptionError, needs};
use super::*;
use crate::raw_form::RawForm;

/// A body without a place for the limit asks for no length.
pub(super) fn settle(options: &mut Options, api: Api) {
    let body = options.connection.raw_body.as_ref();
    if api != Api::Raw || body.is_none_or(|body| RawForm::has(body, RawForm::LIMIT)) {
        return;
    }
    // Stored runs of old have a length here that nobody was asked for.
    if options.work.max_tokens.is_none() {
        options.work.output_tokens.get_or_insert(OutputSpec::Free);
    }
}

/// The body as it is typed, which is no example of another option's object.
pub(super) fn body(text: &str) -> Result<JsonObject, BadValue> {
    let takes = r#"write a JSON object with {prompt} where the prompt goes, such as '{"text": "{prompt}"}'"#;
    text.parse().map_err(|_| BadValue::new(text, takes))
}

pub(super) fn form(options: &ConnectionOptions, api: Api) -> Result<Option<RawForm>, OptionError> {
    let given = [
        ("--raw-body", options.raw_body.is_some()),
        ("--raw-text", options.raw_text.is_some()),
        ("--raw-tokens", options.raw_tokens.is_some()),
        ("--raw-end", options.raw_end.is_some()),
    ];
    if api != Api::Raw {
        return match given.into_iter().find(|(_, given)| *given) {
            Some((name, _)) => needs(
                name,
                "--api raw",
                "it says how a service that speaks no known API is asked",
            ),
            None => Ok(None),
        };
    }
    let Some(body) = &options.raw_body else {
        return needs(
            "--api raw",
            "--raw-body",
            r#"give the body of a request, such as '{"text": "{prompt}"}'"#,
        );
    };
    if !RawForm::has(body, RawForm::PROMPT) {
        return needs(
            "--raw-body",
            "{prompt}",
            r#"put it where the prompt goes, as in '{"text": "{prompt}"}'"#,
        );
    }
    let Some(text) = &options.raw_text else {
        return needs(
            "--api raw",
            "--raw-text",
            "say where an answer has its text, such as choices.0.text",
        );
    };
    if options.url.as_ref().is_none_or(Vec::is_empty) {
        return needs(
            "--api raw",
            "a URL",
            "give the whole address of the service; the simulated engine has none of its own",
        );
    }
    Ok(Some(RawForm {
        body: body.clone(),
        text: text.clone(),
        tokens: options.raw_tokens.clone(),
        end: options.raw_end.clone(),
    }))
}
