//! Images, videos and sounds that rows name: their columns become parts of a message, and files of this
//! machine become bytes when their request is made.

pub mod sounds;

use super::media_kind::MediaKind;
use super::object::Object;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;

/// Characters from which on a text can be a file in base64.
const LEAST_BASE64: usize = 64;
/// Base64 that holds enough of a file to know its kind.
const HEAD_BASE64: usize = 24;

/// The message of a row that has media, and a text as a rule; absent where it has only the text.
pub fn message(text: &str, row: &Object<'_>) -> Option<Arc<str>> {
    let by_url = |kind: MediaKind| {
        let part = kind.part();
        let urls = named(kind, row)
            .into_iter()
            .map(move |it| url_of(kind, &it));
        urls.map(move |url| json!({"type": part, part: {"url": url}}))
    };
    let mut parts: Vec<Value> = MediaKind::BY_URL.into_iter().flat_map(by_url).collect();
    parts.extend(sounds::parts(row));
    if parts.is_empty() {
        return None;
    }
    if !text.is_empty() {
        parts.push(json!({"type": "text", "text": text}));
    }
    Some(
        json!([{"role": "user", "content": parts}])
            .to_string()
            .into(),
    )
}

/// What the first column of a kind names.
fn named(kind: MediaKind, row: &Object<'_>) -> Vec<String> {
    let column = kind.columns().iter().find_map(|name| row.get(name));
    column
        .map(|column| listed(column.get()))
        .unwrap_or_default()
}

/// What a column names: one or several, each a text or an object with a path.
fn listed(column: &str) -> Vec<String> {
    let name = |it: &Value| it.as_str().or(it["path"].as_str()).map(str::to_owned);
    match serde_json::from_str(column) {
        Ok(Value::Array(several)) => several.iter().filter_map(name).collect(),
        Ok(one) => name(&one).into_iter().collect(),
        Err(_) => Vec::new(),
    }
}

/// Base64 gets the head of a data URL; a path or a URL stays.
fn url_of(kind: MediaKind, named: &str) -> String {
    let head = named.get(..HEAD_BASE64);
    let head = head.filter(|_| named.len() >= LEAST_BASE64);
    let head = head.and_then(|head| STANDARD.decode(head).ok());
    match head.and_then(|head| kind.media_type(&head)) {
        Some(of) => format!("data:{of};base64,{named}"),
        None => named.to_owned(),
    }
}

fn is_local(url: &str) -> bool {
    !["http://", "https://", "data:"]
        .iter()
        .any(|scheme| url.starts_with(scheme))
}

/// Calls `change` for the URL of each image and video of messages.
fn each_url(
    value: &mut Value,
    change: &mut impl FnMut(MediaKind, &mut String) -> io::Result<()>,
) -> io::Result<()> {
    let kind_of = |name: &str| MediaKind::BY_URL.into_iter().find(|it| it.part() == name);
    match value {
        Value::Array(all) => all.iter_mut().try_for_each(|it| each_url(it, change)),
        Value::Object(fields) => {
            fields
                .iter_mut()
                .try_for_each(|(name, it)| match (kind_of(name), it) {
                    (Some(kind), Value::String(url)) => change(kind, url),
                    (Some(kind), Value::Object(medium)) => match medium.get_mut("url") {
                        Some(Value::String(url)) => change(kind, url),
                        _ => Ok(()),
                    },
                    (_, it) => each_url(it, change),
                })
        }
        _ => Ok(()),
    }
}

/// Files of this machine that messages or a body name.
pub fn local_files(json: &str) -> Vec<(MediaKind, String)> {
    let mut files = Vec::new();
    // Nearly all rows have none; they are not parsed.
    let parts = ["\"image_url\"", "\"video_url\"", "\"audio_url\""];
    if parts.iter().any(|part| json.contains(part))
        && let Ok(mut value) = serde_json::from_str::<Value>(json)
    {
        let _ = each_url(&mut value, &mut |kind, url| {
            if is_local(url) {
                files.push((kind, url.clone()));
            }
            Ok(())
        });
        let _ = sounds::each_named(&mut value, &mut |_, url| {
            if is_local(url) {
                files.push((MediaKind::Sound, url.to_owned()));
            }
            Ok(())
        });
    }
    files
}

/// Longest file.
const LONGEST_FILE: u64 = 64 << 20;
/// Bytes at the beginning of a file that say what it is.
const HEAD: u64 = 16;

fn refused<T>(why: impl Into<String>) -> io::Result<T> {
    Err(io::Error::other(why.into()))
}

/// A file below the folder of its data set. Who wrote the data set must not choose what else of
/// this machine is sent to a server.
fn open(folder: &Path, url: &str) -> io::Result<std::fs::File> {
    let path = (folder.join(url.trim_start_matches("file://"))).canonicalize()?;
    if !path.starts_with(folder.canonicalize()?) {
        return refused("it is not below the folder of the data set; copy it there");
    }
    let about = path.metadata()?;
    if !about.is_file() || about.len() > LONGEST_FILE {
        let most = LONGEST_FILE >> 20;
        return refused(format!("it is not a regular file of at most {most} MiB"));
    }
    std::fs::File::open(path)
}

/// Whether a file can be sent, without reading all of it.
pub fn check(kind: MediaKind, folder: &Path, url: &str) -> io::Result<()> {
    let mut head = Vec::new();
    open(folder, url)?.take(HEAD).read_to_end(&mut head)?;
    media_type(kind, &head).map(|_| ())
}

fn media_type(kind: MediaKind, bytes: &[u8]) -> io::Result<&'static str> {
    match kind.media_type(bytes) {
        Some(of) => Ok(of),
        None => refused(format!("it is not {}", kind.types())),
    }
}

fn read(folder: &Path, url: &str) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(folder, url)?
        .take(LONGEST_FILE)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The same with the bytes of these files, which are named from a folder.
pub fn inlined(json: &str, folder: &Path) -> io::Result<Arc<str>> {
    let mut value: Value = serde_json::from_str(json)?;
    each_url(&mut value, &mut |kind, url| {
        if is_local(url) {
            let bytes = read(folder, url)?;
            let of = media_type(kind, &bytes)?;
            *url = format!("data:{of};base64,{}", STANDARD.encode(bytes));
        }
        Ok(())
    })?;
    sounds::each_named(&mut value, &mut |part, url| {
        if is_local(url) {
            let bytes = read(folder, url)?;
            sounds::hold(part, &bytes)?;
        }
        Ok(())
    })?;
    Ok(value.to_string().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_images_become_parts_and_files_become_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let png = crate::png((4, 4), 1);
        std::fs::write(folder.path().join("a.png"), &png).unwrap();
        let base64 = STANDARD.encode(&png);
        let row =
            format!(r#"{{"question": "q", "images": ["a.png", "https://h/b.jpg", "{base64}"]}}"#);
        let message = message("q", &Object::parse(&row).unwrap()).unwrap();
        assert_eq!(
            local_files(&message),
            [(MediaKind::Image, "a.png".to_owned())]
        );
        let whole = inlined(&message, folder.path()).unwrap();
        assert_eq!(local_files(&whole), []);
        let whole: Value = serde_json::from_str(&whole).unwrap();
        let url = |place: usize| {
            whole[0]["content"][place]["image_url"]["url"]
                .as_str()
                .unwrap()
        };
        let expected = format!("data:image/png;base64,{base64}");
        assert_eq!(
            (url(0), url(1), url(2)),
            (&*expected, "https://h/b.jpg", &*expected)
        );
        assert_eq!(whole[0]["content"][3]["text"], "q");
        assert!(inlined(&message, Path::new("/nowhere")).is_err());
    }

    #[test]
    fn columns_of_videos_become_parts_and_files_become_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let clip = crate::Clip {
            size: (16, 16),
            frames: 2,
            fps: 4,
        };
        let mp4 = crate::mp4(&clip, 3);
        std::fs::write(folder.path().join("a.mp4"), &mp4).unwrap();
        std::fs::write(folder.path().join("b.avi"), b"RIFF\0\0\0\0AVI LIST").unwrap();
        let base64 = STANDARD.encode(&mp4);
        let row = json!({
            "prompt": "seen?",
            "videos": ["a.mp4", "b.avi", base64, "https://h/c.webm"],
            "image": "https://h/d.png",
        });
        let row = row.to_string();
        let message = message("seen?", &Object::parse(&row).unwrap()).unwrap();
        let files = ["a.mp4", "b.avi"].map(|file| (MediaKind::Video, file.to_owned()));
        assert_eq!(local_files(&message), files);
        for (kind, file) in files {
            check(kind, folder.path(), &file).unwrap();
        }
        let whole = inlined(&message, folder.path()).unwrap();
        let whole: Value = serde_json::from_str(&whole).unwrap();
        let part = |place: usize| {
            let part = &whole[0]["content"][place];
            let of = part["type"].as_str().unwrap();
            (of.to_owned(), part[of]["url"].as_str().unwrap().to_owned())
        };
        assert_eq!(part(0), ("image_url".into(), "https://h/d.png".into()));
        let held = format!("data:video/mp4;base64,{base64}");
        assert_eq!(part(1), ("video_url".into(), held.clone()));
        assert!(part(2).1.starts_with("data:video/x-msvideo;base64,UklGR"));
        assert_eq!(part(3).1, held);
        assert_eq!(part(4).1, "https://h/c.webm");
        std::fs::write(folder.path().join("c.mp4"), "text").unwrap();
        let refused = check(MediaKind::Video, folder.path(), "c.mp4").unwrap_err();
        assert!(refused.to_string().contains("is not an MP4"), "{refused}");
    }

    #[test]
    fn columns_of_sounds_become_parts_and_files_become_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let wav = crate::wav(1, 3);
        std::fs::write(folder.path().join("a.wav"), &wav).unwrap();
        let base64 = STANDARD.encode(&wav);
        let audio = json!([
            "a.wav",
            "https://h/b.mp3",
            base64,
            format!("data:audio/wav;base64,{base64}")
        ]);
        let row = json!({"audio": audio, "text": "said"}).to_string();
        let row = Object::parse(&row).unwrap();
        assert_eq!(sounds::transcript(&row).as_deref(), Some("said"));
        let message = message("", &row).unwrap();
        assert_eq!(
            local_files(&message),
            [(MediaKind::Sound, "a.wav".to_owned())]
        );
        assert_eq!(sounds::held_and_named(&message), (2, 1));
        let whole = inlined(&message, folder.path()).unwrap();
        assert_eq!(sounds::held_and_named(&whole), (3, 1));
        let whole: Value = serde_json::from_str(&whole).unwrap();
        let held = json!({"type": "input_audio", "input_audio": {"data": base64, "format": "wav"}});
        let elsewhere = json!({"type": "audio_url", "audio_url": {"url": "https://h/b.mp3"}});
        assert_eq!(whole[0]["content"], json!([held, elsewhere, held, held]));
        // As `datasets` writes it.
        let row = Object::parse(r#"{"audio": {"path": "a.wav", "bytes": null}}"#).unwrap();
        assert_eq!(sounds::parts(&row)[0]["audio_url"]["url"], "a.wav");
    }

    #[test]
    fn what_is_no_sound_is_told_before_it_is_sent() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.wav"), crate::png((4, 4), 1)).unwrap();
        let check = |kind| check(kind, folder.path(), "a.wav").map_err(|it| it.to_string());
        assert!(
            check(MediaKind::Sound)
                .unwrap_err()
                .contains("is not a WAV")
        );
        assert_eq!(check(MediaKind::Image), Ok(()));
    }

    #[test]
    fn a_data_set_sends_no_other_file_of_this_machine() {
        let outside = tempfile::tempdir().unwrap();
        let folder = outside.path().join("set");
        std::fs::create_dir(&folder).unwrap();
        let png = crate::png((4, 4), 1);
        std::fs::write(outside.path().join("mine.png"), &png).unwrap();
        std::fs::write(folder.join("key"), "a secret").unwrap();
        std::fs::write(folder.join("a.png"), &png).unwrap();
        let inlined = |url: &str| {
            let message = serde_json::json!([{"image_url": {"url": url}}]).to_string();
            super::inlined(&message, &folder).map_err(|error| error.to_string())
        };
        let absolute = outside.path().join("mine.png");
        for url in ["../mine.png", &format!("file://{}", absolute.display())] {
            assert!(inlined(url).unwrap_err().contains("not below the folder"));
        }
        assert!(inlined("key").unwrap_err().contains("is not a PNG"));
        assert!(inlined("a.png").is_ok());
        assert!(inlined(&folder.join("a.png").display().to_string()).is_ok());
    }
}
