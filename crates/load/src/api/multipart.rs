//! `multipart/form-data`: fields and a file as one body.

use inferometer_core::sound::Sound;
use memchr::memmem;
use serde_json::{Map, Value};

/// Bytes of a part beside its name and its content, more or less.
const AROUND: usize = 160;

/// The body with these fields and this file. Its boundary, with which it begins, is nowhere else.
pub(super) fn render(fields: &Map<String, Value>, file: Option<&Sound>) -> Vec<u8> {
    let fields: Vec<(&str, String)> = fields
        .iter()
        .flat_map(|(name, value)| texts(value).into_iter().map(move |text| (&**name, text)))
        .collect();
    let contents = || {
        let texts = fields.iter().map(|(_, text)| text.as_bytes());
        texts.chain(file.map(|file| &*file.bytes))
    };
    let is_free = |boundary: &String| {
        let finder = memmem::Finder::new(boundary);
        !contents().any(|content| finder.find(content).is_some())
    };
    let mut boundaries = (0_u64..).map(|number| format!("inferometer-{number:016x}"));
    let boundary = boundaries
        .find(is_free)
        .expect("no content holds every number");
    let length: usize = contents().map(|content| content.len() + AROUND).sum();
    let mut body = Vec::with_capacity(length + AROUND);
    let mut part = |about: &str, content: &[u8]| {
        let head = format!("--{boundary}\r\nContent-Disposition: form-data; {about}\r\n\r\n");
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(content);
        body.extend_from_slice(b"\r\n");
    };
    for (name, text) in &fields {
        part(&format!("name=\"{}\"", quoted(name)), text.as_bytes());
    }
    if let Some(file) = file {
        let (ending, kind) = (file.kind.into_str(), file.kind.media_type());
        let about = format!("name=\"file\"; filename=\"audio.{ending}\"\r\nContent-Type: {kind}");
        part(&about, &file.bytes);
    }
    body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    body
}

/// What a head says of a body that was rendered here.
pub(super) fn content_type(body: &[u8]) -> String {
    let line = body.split(|&byte| byte == b'\r').next().unwrap_or_default();
    let boundary = String::from_utf8_lossy(line.strip_prefix(b"--").unwrap_or_default());
    format!("multipart/form-data; boundary={boundary}")
}

/// A field as text; a list is a field for each of its values.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::Null => Vec::new(),
        Value::String(text) => vec![text.clone()],
        Value::Array(all) => all.iter().flat_map(texts).collect(),
        other => vec![other.to_string()],
    }
}

/// A name inside quotes, as browsers write it.
fn quoted(name: &str) -> String {
    name.replace('"', "%22")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rendered(fields: Value, file: Option<&Sound>) -> String {
        let body = render(fields.as_object().unwrap(), file);
        String::from_utf8(body).unwrap()
    }

    #[test]
    fn fields_and_file_are_parts_and_lists_are_several() {
        let fields = json!({"model": "m", "a[]": ["x", 2], "b": {"c": true}, "none": null});
        let sound = Sound::new(&b"ID3 sound"[..]).unwrap();
        let body = rendered(fields, Some(&sound));
        let line = "--inferometer-0000000000000000";
        let part = |name: &str, text: &str| {
            format!("{line}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{text}\r\n")
        };
        let expected = [
            part("a[]", "x"),
            part("a[]", "2"),
            part("b", "{\"c\":true}"),
            part("model", "m"),
            format!(
                "{line}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"audio.mp3\"\r\nContent-Type: audio/mpeg\r\n\r\nID3 sound\r\n"
            ),
            format!("{line}--\r\n"),
        ];
        assert_eq!(body, expected.concat());
        assert_eq!(
            content_type(body.as_bytes()),
            "multipart/form-data; boundary=inferometer-0000000000000000"
        );
    }

    #[test]
    fn a_boundary_does_not_stand_in_the_bytes_that_it_parts() {
        let first = "inferometer-0000000000000000";
        let sound = Sound::new([b"ID3", first.as_bytes()].concat()).unwrap();
        let second = "inferometer-0000000000000001";
        let body = rendered(json!({"prompt": second}), Some(&sound));
        assert!(
            body.starts_with("--inferometer-0000000000000002\r\n"),
            "{body}"
        );
        assert_eq!(body.matches("inferometer-0000000000000002").count(), 3);
    }

    #[test]
    fn a_name_cannot_end_its_line() {
        let body = rendered(json!({"a\"\r\nX: y": "z"}), None);
        assert!(body.contains("name=\"a%22%0D%0AX: y\"\r\n\r\nz"), "{body}");
    }
}
