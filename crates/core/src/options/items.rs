//! Options of the APIs whose answers are items: what speaks of tokens and streams is refused.

use super::error::{OptionError, conflict, needs, out_of_range, small};
use super::*;
use crate::api::Answers;
use crate::slo::SloMetric;

/// Most texts of one request, as OpenAI's embeddings have it.
const MOST_ITEMS: u32 = 2048;

/// Documents of a request where nobody says how many: one is not a ranking.
const DOCUMENTS: u32 = 10;

/// The API by its name. Where nobody names one whose answers are items, or whose prompts are
/// sounds, the URL may; of the others the preflight finds out.
pub(super) fn api(connection: &ConnectionOptions) -> Api {
    match connection.api.unwrap_or_default() {
        Api::Auto => {
            let first = connection.url.iter().flatten().next();
            let named = first.and_then(|url| Api::named_by(url));
            named
                .filter(|&api| api.answers() == Answers::Items || api == Api::Transcriptions)
                .unwrap_or_default()
        }
        api => api,
    }
}

/// Texts of a request, where the API takes several. Sets what such an API leaves no choice of.
pub(super) fn settle(options: &mut Options, api: Api) -> Result<Option<u32>, OptionError> {
    let given = options.work.batch_size;
    if api.answers() == Answers::Tokens {
        return match given {
            Some(_) => needs(
                "--batch-size",
                "--api embeddings, rerank, score, classify or pooling",
                "other APIs answer one prompt per request",
            ),
            None => Ok(None),
        };
    }
    refuse_streams(options)?;
    refuse_tokens(options)?;
    options.connection.stream = Some(false);
    options.work.output_tokens = Some(OutputSpec::Free);
    options.work.ignore_eos = Some(false);
    let usual = if api.has_query() { DOCUMENTS } else { 1 };
    match given {
        Some(Count(0)) => out_of_range("--batch-size", 0, "give a number from 1 to 2048"),
        Some(count) => small("--batch-size", count, MOST_ITEMS).map(Some),
        None => Ok(Some(usual)),
    }
}

fn refuse_streams(options: &Options) -> Result<(), OptionError> {
    let extra = options.work.extra.as_ref();
    let by_extra = extra.and_then(|extra| extra.0.get("stream")?.as_bool());
    if options.connection.stream == Some(true) || by_extra == Some(true) {
        return conflict(
            "a stream",
            "an API whose answers come whole (embeddings, rerank, score, classify, pooling)",
            "leave out stream",
        );
    }
    Ok(())
}

fn refuse_tokens(options: &Options) -> Result<(), OptionError> {
    let work = &options.work;
    let generation = [
        (
            "--output-tokens",
            !matches!(work.output_tokens, None | Some(OutputSpec::Free)),
        ),
        ("--max-tokens", work.max_tokens.is_some()),
        ("--min-tokens", work.min_tokens.is_some()),
        ("--ignore-eos", work.ignore_eos == Some(true)),
        ("--length-pairs", work.length_pairs.is_some()),
        ("--temperature", work.temperature.is_some()),
        ("--top-p", work.top_p.is_some()),
        (
            "--stop",
            work.stop.as_ref().is_some_and(|stop| !stop.is_empty()),
        ),
        ("--turns", work.turns.is_some()),
        ("--check", options.objectives.check.is_some()),
        ("--keep-text", options.run.keep_text == Some(true)),
    ];
    if let Some((name, _)) = generation.into_iter().find(|(_, given)| *given) {
        return needs(
            name,
            "an API that generates tokens, such as chat",
            "embeddings, rerank, score, classify and pooling generate none",
        );
    }
    let timed = |slo: &&Slo| slo.metric != SloMetric::E2e;
    if options
        .objectives
        .slo
        .iter()
        .flatten()
        .any(|slo| timed(&slo))
    {
        return needs(
            "--slo",
            "e2e where answers are items",
            "embeddings, rerank, score, classify and pooling have no first token; write --slo e2e=200ms",
        );
    }
    Ok(())
}
