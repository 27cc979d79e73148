//! Sounds that rows name: columns of sounds become parts of a message. What is named by its path or
//! URL is an `audio_url` until its bytes are there; then it is an `input_audio`, as OpenAI has it.

use super::{HEAD_BASE64, LEAST_BASE64, named, refused};
use crate::data::media_kind::MediaKind;
use crate::data::object::Object;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use inferometer_core::sound::SoundKind;
use serde_json::{Map, Value, json};
use std::io;

/// Columns with what is said in a sound.
const TRANSCRIPTS: [&str; 4] = ["text", "transcript", "transcription", "sentence"];

pub fn are_in(row: &Object<'_>) -> bool {
    let mut columns = MediaKind::Sound.columns().iter();
    columns.any(|name| row.get(name).is_some())
}

/// What is said in the sound of a row, where the row says so.
pub fn transcript(row: &Object<'_>) -> Option<String> {
    let mut named = TRANSCRIPTS.iter();
    named.find_map(|name| Some(row.optional_text(name).ok()??.into_owned()))
}

/// The sounds of a row as parts of a message.
pub fn parts(row: &Object<'_>) -> Vec<Value> {
    named(MediaKind::Sound, row).iter().map(part).collect()
}

fn part(named: &String) -> Value {
    match base64_of(named) {
        Some((data, kind)) => input_audio(data, kind),
        None => json!({"type": "audio_url", "audio_url": {"url": named}}),
    }
}

fn input_audio(data: &str, kind: SoundKind) -> Value {
    json!({"type": "input_audio", "input_audio": {"data": data, "format": kind.into_str()}})
}

/// The base64 of a sound, bare or in a data URL.
fn base64_of(named: &str) -> Option<(&str, SoundKind)> {
    let data = match named.strip_prefix("data:") {
        Some(url) => url.split_once(";base64,")?.1,
        // A path of some length has a dot before its ending.
        None if named.len() < LEAST_BASE64 || named.contains('.') => return None,
        None => named,
    };
    let head = STANDARD.decode(data.get(..HEAD_BASE64)?).ok()?;
    Some((data, SoundKind::of(&head)?))
}

/// Calls `change` for each part that names a sound, with what it names.
pub fn each_named(
    value: &mut Value,
    change: &mut impl FnMut(&mut Map<String, Value>, &str) -> io::Result<()>,
) -> io::Result<()> {
    match value {
        Value::Array(all) => all.iter_mut().try_for_each(|it| each_named(it, change)),
        Value::Object(fields) => {
            let named = fields.get("audio_url").map(|it| match it {
                Value::String(url) => Some(url.clone()),
                other => other["url"].as_str().map(str::to_owned),
            });
            match named {
                Some(Some(url)) => change(fields, &url),
                _ => fields
                    .values_mut()
                    .try_for_each(|it| each_named(it, change)),
            }
        }
        _ => Ok(()),
    }
}

/// Makes a part that named a file one that holds its bytes.
pub fn hold(part: &mut Map<String, Value>, bytes: &[u8]) -> io::Result<()> {
    let Some(kind) = SoundKind::of(bytes) else {
        return refused(format!("it is not {}", MediaKind::Sound.types()));
    };
    part.remove("audio_url");
    if let Value::Object(held) = input_audio(&STANDARD.encode(bytes), kind) {
        part.extend(held);
    }
    Ok(())
}

/// The parts of messages or of a body that hold sounds, and those that name one elsewhere.
pub fn held_and_named(json: &str) -> (usize, usize) {
    let held = json.matches("\"input_audio\"").count() / 2;
    let mut named = 0;
    if json.contains("\"audio_url\"")
        && let Ok(mut value) = serde_json::from_str::<Value>(json)
    {
        let _ = each_named(&mut value, &mut |_, url| {
            named += usize::from(!super::is_local(url));
            Ok(())
        });
    }
    (held, named)
}
