//! Options of sounds: which API takes them, and what a transcription leaves no choice of.

use super::error::{OptionError, conflict, needs};
use super::*;

/// The API, where media decide which one can be meant: chat, unless the URL names another.
pub(super) fn api(options: &Options, found: Api) -> Api {
    if found != Api::Auto || options.work.media().is_empty() {
        return found;
    }
    let first = options.connection.url.iter().flatten().next();
    first
        .and_then(|url| Api::named_by(url))
        .unwrap_or(Api::Chat)
}

/// Refuses what a transcription cannot follow and sets what it leaves no choice of: a sound is all
/// that it is asked, and the answer ends where the sound does.
pub(super) fn settle(options: &mut Options, api: Api) -> Result<(), OptionError> {
    if api != Api::Transcriptions {
        return Ok(());
    }
    let work = &mut options.work;
    let of_text = [
        ("--input-tokens", work.input_tokens.is_some()),
        ("--length-pairs", work.length_pairs.is_some()),
        ("--workload", work.workload.is_some()),
        ("--prefix-tokens", work.prefix_tokens.is_some()),
        ("--cache-hit", work.cache_hit.is_some()),
        ("--text", work.text.is_some()),
        ("--template", work.template.is_some()),
        ("--input-chars", work.input_chars.is_some()),
        ("--ask-chars", work.ask_chars.is_some()),
        ("--turns", work.turns.is_some()),
        ("--as-token-ids", work.as_token_ids == Some(true)),
        ("--ignore-eos", work.ignore_eos == Some(true)),
        ("--min-tokens", work.min_tokens.is_some()),
        (
            "--stop",
            work.stop.as_ref().is_some_and(|stop| !stop.is_empty()),
        ),
    ];
    if let Some((name, _)) = of_text.into_iter().find(|(_, given)| *given) {
        return needs(
            name,
            "an API that is asked in text, such as chat",
            "--api transcriptions is asked with a sound (--audio or --data)",
        );
    }
    match (work.audio.is_some(), work.data.is_some()) {
        (false, false) => {
            return needs(
                "--api transcriptions",
                "--audio or --data",
                "say which sounds to transcribe, as in --audio 'seconds=uniform(5,30)'",
            );
        }
        (true, true) => {
            return conflict(
                "--audio",
                "--data with --api transcriptions",
                "a request has one sound: choose where it comes from",
            );
        }
        // What else is said of the sound; servers take it as a hint.
        (true, false) => {
            work.prompt.get_or_insert_default();
        }
        (false, true) => {}
    }
    if work.audio.as_ref().and_then(|spec| spec.count.longest()) > Some(1) {
        return conflict(
            "--audio with n above 1",
            "--api transcriptions",
            "a request has one sound; leave out n",
        );
    }
    if work.output_tokens.is_none() && work.max_tokens.is_none() {
        work.output_tokens = Some(OutputSpec::Free);
    }
    work.ignore_eos = Some(false);
    Ok(())
}
