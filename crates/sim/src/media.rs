//! Images, videos and sounds of a request: how many tokens they are, by what their bytes state.

mod mp4;

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Map, Value};

use crate::reply::ErrorReply;

/// Pixels of a side that make a token, as in Qwen2-VL.
const PATCH: u32 = 28;
/// Frames of a video that share their tokens, as there.
const FRAMES: u32 = 2;
/// Tokens of what is somewhere else.
const ELSEWHERE: u32 = 256;
/// Characters of base64 that hold the head of a PNG.
const HEAD: usize = 32;
/// Positions for a second of sound: those of Whisper's encoder are 1,500 for 30 s. It fills up
/// shorter sounds with silence; here they have as many as they are long.
const POSITIONS_PER_S: f64 = 50.0;

/// Tokens that tell Whisper's decoder what to do: begin, language, task, no time-stamps.
pub const DECODER_PROMPT: usize = 4;
/// Tokens that are said in a second: some 150 words in a minute, and 4 tokens for 3 words.
const SAID_PER_S: f64 = 3.3;

/// Prompt tokens that stand for media.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MediaTokens {
    pub(crate) image: u32,
    pub(crate) video: u32,
    pub(crate) audio: u32,
}

impl MediaTokens {
    /// Of all media of a chat, with the ids that stand for them.
    pub(crate) fn of_chat(
        body: &Map<String, Value>,
    ) -> Result<(MediaTokens, Vec<u32>), ErrorReply> {
        let messages = body.get("messages").and_then(Value::as_array);
        let contents = messages
            .into_iter()
            .flatten()
            .map(|message| &message["content"]);
        let parts = contents.filter_map(Value::as_array).flatten();
        let (mut tokens, mut ids) = (MediaTokens::default(), Vec::new());
        let mut stand = |medium: &str, count: u32| {
            ids.extend(stand_in(medium.as_bytes(), count));
            count
        };
        let add = |sum: &mut u32, more: u32| *sum = sum.saturating_add(more);
        for part in parts {
            if let Some(url) = part["image_url"]["url"].as_str() {
                add(&mut tokens.image, stand(url, of_image(url)?));
            }
            if let Some(url) = part["video_url"]["url"].as_str() {
                add(&mut tokens.video, stand(url, of_video(url)?));
            }
            if let Some(data) = part["input_audio"]["data"].as_str() {
                add(&mut tokens.audio, stand(data, of_base64(data)?));
            }
            if let Some(url) = part["audio_url"]["url"].as_str() {
                let of_url = match url.split_once(";base64,") {
                    Some((_, data)) => of_base64(data)?,
                    None => ELSEWHERE,
                };
                add(&mut tokens.audio, stand(url, of_url));
            }
        }
        Ok((tokens, ids))
    }

    pub(crate) fn of_sound(seconds: f64) -> MediaTokens {
        MediaTokens {
            audio: of_seconds(seconds),
            ..MediaTokens::default()
        }
    }

    pub(crate) fn all(self) -> u32 {
        let seen = self.image.saturating_add(self.video);
        seen.saturating_add(self.audio)
    }

    /// Each kind that there is, by its name in usage.
    pub(crate) fn named(self) -> impl Iterator<Item = (&'static str, u32)> {
        let kinds = [
            ("image_tokens", self.image),
            ("video_tokens", self.video),
            ("audio_tokens", self.audio),
        ];
        kinds.into_iter().filter(|(_, tokens)| *tokens > 0)
    }
}

/// Ids of a medium, so that a cache of prefixes knows it again and takes no other for it.
pub(crate) fn stand_in(medium: &[u8], count: u32) -> impl Iterator<Item = u32> {
    let mut hasher = DefaultHasher::new();
    medium.hash(&mut hasher);
    std::iter::repeat_n(hasher.finish() as u32, count as usize)
}

fn of_image(url: &str) -> Result<u32, ErrorReply> {
    let Some(data) = url.strip_prefix("data:image/png;base64,") else {
        if url.starts_with("http") || url.starts_with("data:") {
            return Ok(ELSEWHERE);
        }
        return Err(ErrorReply::bad_request("image_url: neither http nor data"));
    };
    let head = data.get(..HEAD).and_then(|head| STANDARD.decode(head).ok());
    let side = |at: usize| {
        let bytes = head.as_ref()?.get(at..at + 4)?;
        Some(u32::from_be_bytes(bytes.try_into().ok()?))
    };
    let is_png = head
        .as_ref()
        .is_some_and(|head| head.starts_with(b"\x89PNG"));
    match side(16).zip(side(20)).filter(|_| is_png) {
        Some(size) => Ok(of_pixels(size)),
        None => Err(ErrorReply::bad_request("cannot identify image file")),
    }
}

/// Tokens of an image.
pub fn of_pixels((width, height): (u32, u32)) -> u32 {
    let patches = |side: u32| side.div_ceil(PATCH);
    patches(width).saturating_mul(patches(height))
}

/// Tokens of a video.
pub fn of_frames(size: (u32, u32), frames: u32) -> u32 {
    of_pixels(size).saturating_mul(frames.div_ceil(FRAMES))
}

/// Tokens of a sound.
pub fn of_seconds(seconds: f64) -> u32 {
    (seconds * POSITIONS_PER_S).ceil() as u32
}

/// Tokens of what is said in a sound.
pub fn said_in(seconds: f64) -> u32 {
    ((seconds * SAID_PER_S).ceil() as u32).max(1)
}

/// Only MP4 is looked into; what is elsewhere or another kind of file has a number of its own.
fn of_video(url: &str) -> Result<u32, ErrorReply> {
    let Some(data) = url.strip_prefix("data:video/mp4;base64,") else {
        if url.starts_with("http") || url.starts_with("data:") {
            return Ok(ELSEWHERE);
        }
        return Err(ErrorReply::bad_request("video_url: neither http nor data"));
    };
    let film = STANDARD.decode(data).ok();
    match film.and_then(|bytes| mp4::film(&bytes)) {
        Some(film) => Ok(of_frames(film.size, film.frames)),
        None => Err(ErrorReply::bad_request("cannot read the video")),
    }
}

fn of_base64(data: &str) -> Result<u32, ErrorReply> {
    let wrong = |_| ErrorReply::bad_request("input_audio: the data is not base64");
    let sound = STANDARD.decode(data).map_err(wrong)?;
    Ok(MediaTokens::of_sound(seconds_of(&sound)?).audio)
}

/// How long a WAV lasts: it begins with chunks of a name and a length each, of which `fmt ` states
/// the bytes of a second and `data` is the rest.
pub(crate) fn seconds_of(sound: &[u8]) -> Result<f64, ErrorReply> {
    wav_seconds(sound).ok_or_else(|| ErrorReply::bad_request("Invalid or unsupported audio file."))
}

fn wav_seconds(sound: &[u8]) -> Option<f64> {
    let mut rest = sound
        .strip_prefix(b"RIFF")?
        .get(4..)?
        .strip_prefix(b"WAVE")?;
    let mut bytes_per_s = 0;
    while let Some((head, after)) = rest.split_at_checked(8) {
        let (name, length) = head.split_at(4);
        let length = u32::from_le_bytes(length.try_into().ok()?) as usize;
        let chunk = &after[..length.min(after.len())];
        match name {
            b"fmt " => bytes_per_s = u32::from_le_bytes(chunk.get(8..12)?.try_into().ok()?),
            b"data" if bytes_per_s > 0 => {
                return Some(chunk.len() as f64 / f64::from(bytes_per_s));
            }
            _ => {}
        }
        rest = after.get(length + length % 2..)?;
    }
    None
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use serde_json::json;

    /// Of 8 kHz in bytes.
    pub(crate) fn wav(samples: u32) -> Vec<u8> {
        let mut wav = b"RIFF\0\0\0\0WAVELIST\x03\0\0\0abc\0fmt \x10\0\0\0\x01\0\x01\0".to_vec();
        wav.extend_from_slice(&8000_u32.to_le_bytes());
        wav.extend_from_slice(&8000_u32.to_le_bytes());
        wav.extend_from_slice(b"\x01\0\x08\0data");
        wav.extend_from_slice(&samples.to_le_bytes());
        wav.resize(wav.len() + samples as usize, 128);
        wav
    }

    #[test]
    fn a_second_of_sound_is_fifty_positions() {
        assert_eq!(seconds_of(&wav(20_000)).unwrap(), 2.5);
        let data = STANDARD.encode(wav(20_000));
        let url = format!("data:audio/wav;base64,{data}");
        let body = json!({"messages": [{"role": "user", "content": [
            {"type": "input_audio", "input_audio": {"data": data, "format": "wav"}},
            {"type": "audio_url", "audio_url": {"url": url}},
            {"type": "audio_url", "audio_url": {"url": "https://h/a.mp3"}},
        ]}]});
        let (tokens, ids) = MediaTokens::of_chat(body.as_object().unwrap()).unwrap();
        assert_eq!(ids.len(), tokens.all() as usize);
        assert_eq!((tokens.image, tokens.video), (0, 0));
        assert_eq!(tokens.audio, 125 + 125 + ELSEWHERE);
        assert_eq!(tokens.named().collect::<Vec<_>>(), [("audio_tokens", 506)]);
    }

    #[test]
    fn what_is_no_sound_is_refused() {
        for sound in [
            &b""[..],
            b"RIFF",
            b"RIFF\0\0\0\0WAVEdata\x02\0\0\0ab",
            b"\x89PNG",
        ] {
            assert!(seconds_of(sound).is_err(), "{sound:?}");
        }
        let part = json!({"type": "input_audio", "input_audio": {"data": "?!"}});
        let body = json!({"messages": [{"role": "user", "content": [part]}]});
        assert!(MediaTokens::of_chat(body.as_object().unwrap()).is_err());
    }
}
