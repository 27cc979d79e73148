//! Options of checked answers: what a check cannot do without, and the room that answers need.

use super::error::{OptionError, needs};
use super::work::Source;
use super::*;

/// Most tokens of a checked answer where nobody says how many: the length of the reference would
/// cut answers that reason before they conclude.
const ROOM: Count = Count(1024);

pub(super) fn settle(options: &mut Options) -> Result<(), OptionError> {
    let Some(check) = &options.objectives.check else {
        return Ok(());
    };
    let from_data = options.work.source() == Some(Source::Data);
    if check.needs_expected() && !from_data {
        return needs(
            "--check",
            "--data",
            "the expected answers are in its rows; regex:PATTERN, a schema, command: and same-as: need none",
        );
    }
    let is_same_as = matches!(check, Check::SameAs(_));
    let work = &mut options.work;
    let is_ours = work
        .source()
        .is_none_or(|source| source == Source::Synthetic);
    let is_ours = is_ours || !work.media().is_empty();
    if is_same_as && is_ours && !work.no_cache_nonce && work.cache_nonce != Some(false) {
        return needs(
            "--check same-as",
            "--no-cache-nonce",
            "synthetic prompts are new in each run without it; give it to both runs, with the same --seed",
        );
    }
    if from_data && !is_same_as && work.output_tokens.is_none() && work.max_tokens.is_none() {
        work.max_tokens = Some(ROOM);
    }
    Ok(())
}

/// Other APIs have forms of their own for tools and schemas.
pub(super) fn refuse_forms(work: &WorkOptions, api: Api) -> Result<(), OptionError> {
    if work.audio.is_some() && !matches!(api, Api::Auto | Api::Chat | Api::Transcriptions) {
        return needs(
            "--audio",
            "--api chat or --api transcriptions",
            "other APIs take no sound",
        );
    }
    let given = [
        ("--tools", work.tools.is_some()),
        ("--json-schema", work.json_schema.is_some()),
        ("--images", work.images.is_some()),
        ("--video", work.video.is_some()),
    ];
    let given = given.into_iter().find(|(_, given)| *given);
    match (given, api) {
        (Some((name, _)), api) if !matches!(api, Api::Auto | Api::Chat) => needs(
            name,
            "--api chat",
            "other APIs have other fields for it; give those with --extra, or rows that are whole bodies",
        ),
        _ => Ok(()),
    }
}
