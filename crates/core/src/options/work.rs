//! The options of the work: which source of prompts they mean, and back.

use super::error::{conflict, needs, out_of_range, small};
use super::*;
use std::mem::discriminant;

/// What the options say about where prompts come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Prompt,
    Continuation,
    Data,
    Synthetic,
}

impl WorkOptions {
    fn source_is_data(&self) -> bool {
        self.source() == Some(Source::Data)
    }

    /// The data set that prompts come from and whose format nobody has named yet.
    pub fn unnamed_data(&self) -> Option<&str> {
        let named = self.data_format.is_some_and(|format| format.0.is_some());
        self.data
            .as_deref()
            .filter(|_| !named && self.source_is_data())
    }

    /// The media that are asked for.
    pub(super) fn media(&self) -> MediaSpec {
        MediaSpec {
            images: self.images.clone(),
            video: self.video.clone(),
            audio: self.audio.clone(),
        }
    }

    /// The source that the given options belong to; absent if they would fit any.
    pub(super) fn source(&self) -> Option<Source> {
        let text = self.data_format == Some(FormatName(Some(DataFormat::Text)));
        let templated = self.template.is_some()
            || self.input_chars.is_some()
            || self.ask_chars.is_some()
            || text;
        let synthetic = self.input_tokens.is_some()
            || self.length_pairs.is_some()
            || self.workload.is_some()
            || self.prefix_tokens.is_some()
            || self.cache_hit.is_some();
        match () {
            () if self.prompt.is_some() => Some(Source::Prompt),
            () if templated => Some(Source::Continuation),
            () if self.data.is_some() => Some(Source::Data),
            () if synthetic => Some(Source::Synthetic),
            () => None,
        }
    }
}

/// Refuses the first of some options that is given though what it belongs to is not there.
fn only_with(
    is_there: bool,
    needed: &'static str,
    why: &'static str,
    given: &[(&'static str, bool)],
) -> Result<(), OptionError> {
    match given.iter().find(|(_, given)| *given) {
        Some((name, _)) if !is_there => needs(name, needed, why),
        _ => Ok(()),
    }
}

pub(super) fn resolve_work(
    options: WorkOptions,
    batch_size: Option<u32>,
) -> Result<Work, OptionError> {
    let source = options.source().unwrap_or(Source::Synthetic);
    refuse_strays(&options, source)?;
    let prompts = match source {
        Source::Prompt => PromptSource::Text(options.prompt.clone().unwrap_or_default()),
        Source::Data => PromptSource::Data(resolve_data(&options)?),
        Source::Continuation => PromptSource::Continuation(resolve_continuation(&options)?),
        Source::Synthetic => PromptSource::Synthetic(resolve_synthetic(&options)?),
    };
    let output = resolve_output(&options, &prompts)?;
    let conversation = resolve_conversation(&options, &prompts);
    let as_token_ids = options.as_token_ids.unwrap_or(false);
    if as_token_ids && options.tokenizer.is_none() {
        return needs(
            "--as-token-ids",
            "--tokenizer",
            "give the model's own, since ids mean nothing to another",
        );
    }
    if as_token_ids && conversation.is_some() && !prompts.is_synthetic_trace() {
        return conflict("--as-token-ids", "conversations", "their history is text");
    }
    // Text that is ours: it may be made new, and its answers have no end of their own.
    let ours = prompts.is_synthetic();
    let makes_content = ours || !options.media().is_empty();
    let exact_by_default = ours && matches!(output, Output::Tokens(_) | Output::FromWork);
    let temperature = options.temperature;
    if let Some(bad) = temperature.filter(|t| !(0.0..=10.0).contains(t)) {
        return out_of_range("--temperature", bad, "give a number from 0 to 10");
    }
    if let Some(bad) = options.top_p.filter(|p| !(*p > 0.0 && *p <= 1.0)) {
        return out_of_range("--top-p", bad, "give a share above 0, at most 1");
    }
    let answers = (options.extra.as_ref()).and_then(|extra| extra.0.get("n"));
    if let Some(bad) = answers.filter(|n| n.as_f64() != Some(1.0) && !n.is_null()) {
        return out_of_range(
            "--extra n",
            bad,
            "leave it out: a request is measured by one answer",
        );
    }
    let media = options.media();
    Ok(Work {
        prompts,
        output,
        tokenizer: options.tokenizer,
        conversation,
        batch_size,
        as_token_ids,
        ignore_eos: !options.no_ignore_eos && options.ignore_eos.unwrap_or(exact_by_default),
        min_tokens: options.min_tokens,
        temperature,
        top_p: options.top_p,
        stop: options.stop.unwrap_or_default(),
        extra: options.extra,
        media,
        tools: options.tools,
        json_schema: options.json_schema,
        cache_nonce: !options.no_cache_nonce && options.cache_nonce.unwrap_or(makes_content),
    })
}

/// An option that the chosen source cannot follow is refused, never ignored.
fn refuse_strays(options: &WorkOptions, source: Source) -> Result<(), OptionError> {
    if source == Source::Prompt && options.data.is_some() {
        return conflict("--prompt", "--data", "choose one source of prompts");
    }
    if source == Source::Data && options.input_tokens.is_some() {
        return conflict(
            "--input-tokens",
            "--data",
            "it is the length of synthetic prompts; choose rows by --min-prompt and --max-prompt",
        );
    }
    if source == Source::Prompt && options.template.is_some() {
        return conflict(
            "--template",
            "--prompt",
            "a template goes around pieces of a text; give --data, or neither",
        );
    }
    let makes_text = source == Source::Synthetic
        || (source == Source::Continuation && options.template.is_none());
    only_with(
        makes_text,
        "synthetic prompts or the embedded template",
        "other work has a language of its own",
        &[("--text", options.text.is_some())],
    )?;
    let data = source == Source::Data;
    only_with(
        data,
        "--data",
        "it chooses rows of a data set",
        &[
            ("--field", options.field.is_some()),
            ("--filter", options.filter.is_some()),
            ("--limit", options.limit.is_some()),
            ("--shuffle", options.shuffle == Some(true)),
            ("--min-prompt", options.min_prompt.is_some()),
            ("--max-prompt", options.max_prompt.is_some()),
            ("--skip-bad", options.skip_bad == Some(true)),
            ("--from", options.from.is_some()),
            ("--for", options.window.is_some()),
            ("--block-tokens", options.block_tokens.is_some()),
        ],
    )?;
    let format = options.data_format.and_then(|format| format.0);
    only_with(
        data || source == Source::Continuation,
        "--data",
        "it is the format of a data set",
        &[("--data-format", format.is_some())],
    )?;
    only_with(
        source == Source::Synthetic,
        "synthetic prompts",
        "leave out the other source of prompts",
        &[
            ("--length-pairs", options.length_pairs.is_some()),
            ("--workload", options.workload.is_some()),
            ("--prefix-tokens", options.prefix_tokens.is_some()),
            ("--cache-hit", options.cache_hit.is_some()),
        ],
    )?;
    let trace = data && format.is_some_and(DataFormat::is_trace);
    only_with(
        source == Source::Synthetic || trace || !options.media().is_empty(),
        "synthetic prompts",
        "a user's data is never altered",
        &[("--cache-nonce", options.cache_nonce == Some(true))],
    )?;
    only_with(
        options.prefix_tokens.is_some() || options.cache_hit.is_some(),
        "--prefix-tokens or --cache-hit",
        "they say how much prompts share",
        &[
            ("--prefix-groups", options.prefix_groups.is_some()),
            ("--prefix-spread", options.prefix_spread.is_some()),
        ],
    )?;
    let turns = match source {
        Source::Synthetic => options.turns.is_some(),
        Source::Data => format.is_some_and(has_turns),
        Source::Prompt | Source::Continuation => false,
    };
    let remedy = match source {
        Source::Data => "--data-format conversations, or a trace with sessions",
        _ => "--turns with synthetic prompts, or --data-format conversations",
    };
    only_with(
        turns,
        remedy,
        "other work has one turn",
        &[
            ("--turns", options.turns.is_some()),
            ("--think", options.think.is_some()),
            ("--history", options.history.is_some()),
        ],
    )?;
    if trace && options.history.is_some() {
        return conflict(
            "--history",
            "a trace",
            "its prompts hold their history already",
        );
    }
    if source == Source::Synthetic && options.history == Some(History::Data) {
        return conflict(
            "--history data",
            "synthetic prompts",
            "there are no answers but the server's",
        );
    }
    Ok(())
}

fn resolve_data(options: &WorkOptions) -> Result<DataSource, OptionError> {
    let format = options.data_format.and_then(|format| format.0);
    only_with(
        format.is_none_or(DataFormat::has_clock),
        "a trace with a clock",
        "other data have none",
        &[
            ("--from", options.from.is_some()),
            ("--for", options.window.is_some()),
        ],
    )?;
    only_with(
        format.is_none_or(DataFormat::names_blocks),
        "a trace or a log with blocks",
        "other data do not say which parts of prompts are the same",
        &[("--block-tokens", options.block_tokens.is_some())],
    )?;
    let has_no_field = |format| {
        matches!(format, DataFormat::ShareGpt | DataFormat::Conversations)
            || DataFormat::is_trace(format)
    };
    only_with(
        !format.is_some_and(has_no_field),
        "another format",
        "this one has its own fields",
        &[("--field", options.field.is_some())],
    )?;
    if let (Some(min), Some(max)) = (options.min_prompt, options.max_prompt)
        && discriminant(&min) == discriminant(&max)
        && PromptLength::number(min) > PromptLength::number(max)
    {
        return out_of_range("--min-prompt", min, "it is more than --max-prompt");
    }
    Ok(DataSource {
        location: options.data.clone().unwrap_or_default(),
        format,
        field: options.field.clone(),
        filter: options.filter,
        limit: options.limit.map(|limit| limit.0),
        shuffle: options.shuffle.unwrap_or(false),
        min_prompt: options.min_prompt,
        max_prompt: options.max_prompt,
        skip_bad: options.skip_bad.unwrap_or(false),
        window: Window {
            from: options.from.unwrap_or_default(),
            length: options.window,
        },
        block_tokens: (options.block_tokens)
            .map(|tokens| small("--block-tokens", tokens, crate::length::LONGEST))
            .transpose()?,
    })
}

fn resolve_continuation(options: &WorkOptions) -> Result<Continuation, OptionError> {
    const LONGEST: u32 = crate::length::LONGEST;
    let piece = match (&options.input_tokens, options.input_chars) {
        (Some(spec), None) => match spec.longest() {
            Some(length) if *spec == LengthSpec::fixed(length) => PromptLength::Tokens(length),
            _ => {
                return out_of_range(
                    "--input-tokens",
                    spec,
                    "pieces of text have one length; give a number",
                );
            }
        },
        (_, chars) => {
            let chars = chars.unwrap_or(Count(1000));
            PromptLength::Chars(small("--input-chars", chars, LONGEST)?)
        }
    };
    Ok(Continuation {
        location: options.data.clone(),
        piece,
        ask_chars: small(
            "--ask-chars",
            options.ask_chars.unwrap_or(Count(1000)),
            LONGEST,
        )?,
        template: options
            .template
            .clone()
            .unwrap_or(Template::Embedded(options.text.unwrap_or_default())),
    })
}

fn resolve_synthetic(options: &WorkOptions) -> Result<Synthetic, OptionError> {
    let language = options.text.unwrap_or_default();
    if language == Language::Zh && options.tokenizer.is_none() {
        return needs(
            "--text zh",
            "--tokenizer",
            "no Chinese word has the same number of tokens for every model",
        );
    }
    let lengths = match (
        &options.length_pairs,
        &options.input_tokens,
        options.workload,
    ) {
        (Some(pairs), _, _) => SyntheticLengths::Pairs(pairs.clone()),
        (None, Some(spec), _) => SyntheticLengths::Input(spec.clone()),
        (None, None, Some(preset)) => SyntheticLengths::Input(preset.lengths().0),
        (None, None, None) => SyntheticLengths::Input(LengthSpec::fixed(256)),
    };
    let length = match (options.prefix_tokens, options.cache_hit) {
        (Some(tokens), _) => Some(PrefixLength::Tokens(small(
            "--prefix-tokens",
            tokens,
            crate::length::LONGEST,
        )?)),
        (None, Some(share)) if share > 0.0 && share < 1.0 => Some(PrefixLength::Share(share)),
        (None, Some(share)) => {
            return out_of_range("--cache-hit", share, "give a share above 0 and below 1");
        }
        (None, None) => None,
    };
    let groups = options.prefix_groups.unwrap_or(Count(1));
    let groups = small("--prefix-groups", groups, 1_000_000)?;
    let prefix = length.map(|length| Prefix {
        length,
        groups,
        spread: options.prefix_spread.unwrap_or_default(),
    });
    Ok(Synthetic {
        lengths,
        language,
        prefix,
    })
}

fn resolve_output(options: &WorkOptions, prompts: &PromptSource) -> Result<Output, OptionError> {
    if options.output_tokens.is_some() && options.max_tokens.is_some() {
        return conflict(
            "--output-tokens",
            "--max-tokens",
            "the second is just a limit",
        );
    }
    let pairs = options.length_pairs.is_some();
    if pairs && (options.output_tokens.is_some() || options.max_tokens.is_some()) {
        return conflict(
            "--length-pairs",
            "--output-tokens or --max-tokens",
            "the pairs say both lengths",
        );
    }
    if let Some(limit) = options.max_tokens {
        return Ok(Output::AtMost(small("--max-tokens", limit, u32::MAX)?));
    }
    let from_data = matches!(prompts, PromptSource::Data(_));
    Ok(match &options.output_tokens {
        Some(OutputSpec::Tokens(spec)) => Output::Tokens(spec.clone()),
        Some(OutputSpec::Free) => Output::Free,
        Some(OutputSpec::Data) if from_data || pairs => Output::FromWork,
        Some(OutputSpec::Data) => {
            return needs(
                "--output-tokens data",
                "--data",
                "other work says nothing about answers",
            );
        }
        None if from_data || pairs => Output::FromWork,
        None if matches!(prompts, PromptSource::Continuation(_)) => Output::Free,
        None => Output::Tokens(match options.workload {
            Some(preset) => preset.lengths().1,
            None => LengthSpec::fixed(128),
        }),
    })
}

fn has_turns(format: DataFormat) -> bool {
    format == DataFormat::Conversations || format.has_sessions()
}

fn resolve_conversation(options: &WorkOptions, prompts: &PromptSource) -> Option<Conversation> {
    let many = match prompts {
        PromptSource::Data(data) => data.format.is_some_and(has_turns),
        PromptSource::Synthetic(_) => options.turns.is_some(),
        PromptSource::Text(_) | PromptSource::Continuation(_) => false,
    };
    let traced = matches!(prompts, PromptSource::Data(data) if data.format.is_some_and(DataFormat::has_sessions));
    let unsaid = (!traced).then(Span::default);
    many.then(|| Conversation {
        turns: options.turns.clone(),
        think: options.think.or(unsaid),
        history: options.history.unwrap_or_default(),
    })
}
