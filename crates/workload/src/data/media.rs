//! Images that rows name: columns of images become parts of a message, and files of this machine
//! become bytes when their request is made.

use super::object::Object;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Columns with images: a path, a URL or base64, or a list of them.
const COLUMNS: [&str; 5] = ["image", "images", "image_url", "image_path", "image_urls"];

/// First bytes of the kinds of images that servers take, and the same in base64.
const KINDS: [(&[u8], &str, &str); 4] = [
    (b"\x89PNG", "iVBOR", "image/png"),
    (b"\xff\xd8\xff", "/9j/", "image/jpeg"),
    (b"GIF8", "R0lG", "image/gif"),
    (b"RIFF", "UklGR", "image/webp"),
];

/// Characters from which on a text can be an image in base64.
const LEAST_BASE64: usize = 64;

/// The message of a row that has a text and images; absent where it has no image.
pub fn message(text: &str, row: &Object<'_>) -> Option<Arc<str>> {
    let column = COLUMNS.iter().find_map(|name| row.get(name))?;
    let listed: Vec<String> = match serde_json::from_str(column.get()).ok()? {
        Value::String(one) => vec![one],
        Value::Array(several) => several
            .iter()
            .filter_map(|it| it.as_str().map(str::to_owned))
            .collect(),
        _ => return None,
    };
    let image = |named: &String| json!({"type": "image_url", "image_url": {"url": url_of(named)}});
    let mut parts: Vec<Value> = listed.iter().map(image).collect();
    if parts.is_empty() {
        return None;
    }
    parts.push(json!({"type": "text", "text": text}));
    Some(
        json!([{"role": "user", "content": parts}])
            .to_string()
            .into(),
    )
}

/// Base64 gets the head of a data URL; a path or a URL stays.
fn url_of(named: &str) -> String {
    let is_base64 = |(_, begin, _): &&(&[u8], &str, &str)| {
        named.len() >= LEAST_BASE64 && named.starts_with(begin)
    };
    match KINDS.iter().find(is_base64) {
        Some((_, _, kind)) => format!("data:{kind};base64,{named}"),
        None => named.to_owned(),
    }
}

fn is_local(url: &str) -> bool {
    !["http://", "https://", "data:"]
        .iter()
        .any(|scheme| url.starts_with(scheme))
}

/// Calls `change` for the URL of each image of messages.
fn each_url(
    value: &mut Value,
    change: &mut impl FnMut(&mut String) -> io::Result<()>,
) -> io::Result<()> {
    match value {
        Value::Array(all) => all.iter_mut().try_for_each(|it| each_url(it, change)),
        Value::Object(fields) => {
            fields
                .iter_mut()
                .try_for_each(|(name, it)| match (name.as_str(), it) {
                    ("image_url", Value::String(url)) => change(url),
                    ("image_url", Value::Object(image)) => match image.get_mut("url") {
                        Some(Value::String(url)) => change(url),
                        _ => Ok(()),
                    },
                    (_, it) => each_url(it, change),
                })
        }
        _ => Ok(()),
    }
}

/// Files of this machine that messages or a body name.
pub fn local_files(json: &str) -> Vec<String> {
    let mut files = Vec::new();
    // Nearly all rows have no image; they are not parsed.
    if json.contains("\"image_url\"")
        && let Ok(mut value) = serde_json::from_str::<Value>(json)
    {
        let _ = each_url(&mut value, &mut |url| {
            if is_local(url) {
                files.push(url.clone());
            }
            Ok(())
        });
    }
    files
}

/// Longest file of an image.
const LONGEST_IMAGE: u64 = 64 << 20;

/// An image below the folder of its data set. Who wrote the data set must not choose what else of
/// this machine is sent to a server.
fn image(folder: &Path, url: &str) -> io::Result<(Vec<u8>, &'static str)> {
    let refused = |why: String| Err(io::Error::other(why));
    let path = (folder.join(url.trim_start_matches("file://"))).canonicalize()?;
    if !path.starts_with(folder.canonicalize()?) {
        return refused("it is not below the folder of the data set; copy it there".to_owned());
    }
    let about = path.metadata()?;
    if !about.is_file() || about.len() > LONGEST_IMAGE {
        let most = LONGEST_IMAGE >> 20;
        return refused(format!("it is not a regular file of at most {most} MiB"));
    }
    let bytes = std::fs::read(path)?;
    match KINDS.iter().find(|(begin, _, _)| bytes.starts_with(begin)) {
        Some((_, _, kind)) => Ok((bytes, kind)),
        None => refused("it is not a PNG, JPEG, GIF or WebP image".to_owned()),
    }
}

/// The same with the bytes of these files, which are named from a folder.
pub fn inlined(json: &str, folder: &Path) -> io::Result<Arc<str>> {
    let mut value: Value = serde_json::from_str(json)?;
    each_url(&mut value, &mut |url| {
        if is_local(url) {
            let (bytes, kind) = image(folder, url)?;
            *url = format!("data:{kind};base64,{}", STANDARD.encode(bytes));
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
        assert_eq!(local_files(&message), ["a.png"]);
        let whole = inlined(&message, folder.path()).unwrap();
        assert_eq!(local_files(&whole), [""; 0]);
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
