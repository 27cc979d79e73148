//! Reading `multipart/form-data`: bytes in, parts out, with limits.

/// Most parts of a form.
const MOST_PARTS: usize = 64;
/// Longest head of a part.
const LONGEST_HEAD: usize = 4 << 10;
/// Longest boundary, as the standard has it.
const LONGEST_BOUNDARY: usize = 70;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part<'a> {
    pub name: String,
    pub is_file: bool,
    pub content: &'a [u8],
}

/// The parts of a form in their order, or what is wrong with it.
pub fn parts<'a>(content_type: &str, body: &'a [u8]) -> Result<Vec<Part<'a>>, &'static str> {
    let boundary = boundary(content_type).ok_or("Missing boundary in multipart.")?;
    let first = format!("--{boundary}");
    let between = format!("\r\n--{boundary}");
    // What stands before the first boundary is for people.
    let start = find(body, first.as_bytes()).ok_or("Did not find boundary at start of body.")?;
    let mut rest = &body[start + first.len()..];
    let mut parts = Vec::new();
    loop {
        if rest.starts_with(b"--") {
            return Ok(parts);
        }
        let after = rest
            .strip_prefix(b"\r\n")
            .ok_or("Expected a line end after the boundary.")?;
        if parts.len() == MOST_PARTS {
            return Err("Too many fields.");
        }
        let searched = &after[..after.len().min(LONGEST_HEAD)];
        let head = find(searched, b"\r\n\r\n").ok_or("The head of a part does not end.")?;
        let content = &after[head + 4..];
        let end = find(content, between.as_bytes()).ok_or("The last part does not end.")?;
        parts.push(part(&after[..head], &content[..end])?);
        rest = &content[end + between.len()..];
    }
}

fn part<'a>(head: &[u8], content: &'a [u8]) -> Result<Part<'a>, &'static str> {
    let head = std::str::from_utf8(head).map_err(|_| "The head of a part is not UTF-8.")?;
    let mut lines = head.split("\r\n").filter_map(|line| line.split_once(':'));
    let about = lines
        .find(|(name, _)| name.eq_ignore_ascii_case("content-disposition"))
        .map(|(_, value)| value)
        .ok_or("A part has no Content-Disposition.")?;
    let name = parameter(about, "name").ok_or("A part has no name.")?;
    Ok(Part {
        name,
        is_file: parameter(about, "filename").is_some(),
        content,
    })
}

fn boundary(content_type: &str) -> Option<String> {
    let (kind, _) = content_type.split_once(';')?;
    let is_form = kind.trim().eq_ignore_ascii_case("multipart/form-data");
    let boundary = parameter(content_type, "boundary").filter(|_| is_form)?;
    (1..=LONGEST_BOUNDARY)
        .contains(&boundary.len())
        .then_some(boundary)
}

/// A parameter of a header's value, with or without quotes.
fn parameter(value: &str, wanted: &str) -> Option<String> {
    let mut parameters = value.split(';').skip(1).filter_map(|it| it.split_once('='));
    let (_, text) = parameters.find(|(name, _)| name.trim().eq_ignore_ascii_case(wanted))?;
    Some(text.trim().trim_matches('"').to_owned())
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    // Boundaries begin with a byte that is rare in what they part.
    let (&first, _) = wanted.split_first()?;
    let mut from = 0;
    while let Some(at) = bytes[from..].iter().position(|&byte| byte == first) {
        if bytes[from + at..].starts_with(wanted) {
            return Some(from + at);
        }
        from += at + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const TYPE: &str = "multipart/form-data; boundary=\"b 1\"";

    #[test]
    fn fields_and_files_come_in_their_order() {
        let body = b"for people\r\n--b 1\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nm\r\n\
            --b 1\r\ncontent-type: audio/wav\r\ncontent-disposition: form-data; name=file; filename=\"a.wav\"\r\n\r\n\
            \r\n--b 2\r\n\r\n--b 1--\r\nend";
        let read = parts(TYPE, body).unwrap();
        assert_eq!((&*read[0].name, read[0].content), ("model", &b"m"[..]));
        assert!(!read[0].is_file && read[1].is_file);
        assert_eq!(read[1].content, b"\r\n--b 2\r\n");
        assert_eq!(
            parts("multipart/form-data; boundary=x", b"--x--").unwrap(),
            []
        );
    }

    #[test]
    fn a_form_that_is_none_is_refused_with_what_is_wrong() {
        let refused = |content_type: &str, body: &str, wrong: &str| {
            let refused = parts(content_type, body.as_bytes()).unwrap_err();
            assert!(refused.contains(wrong), "{body:.40}: {refused}");
        };
        refused("application/json", "{}", "boundary");
        refused("multipart/form-data", "--b 1--", "boundary");
        refused("multipart/form-data; boundary=", "--b 1--", "boundary");
        refused(TYPE, "nothing", "Did not find");
        refused(TYPE, "--b 1 and more", "line end");
        let part = |head: &str, end: &str| format!("--b 1\r\n{head}\r\n\r\nx{end}");
        let ended = "\r\n--b 1--";
        refused(TYPE, &part("A: b", ended), "Content-Disposition");
        let nameless = part("Content-Disposition: form-data", ended);
        refused(TYPE, &nameless, "no name");
        let endless = part("Content-Disposition: a; name=b", "");
        refused(TYPE, &endless, "does not end");
        let long = format!("--b 1\r\nA: {}", "x".repeat(5000));
        refused(TYPE, &long, "head");
        let many = part("Content-Disposition: form-data; name=a", "\r\n").repeat(65);
        refused(TYPE, &many, "Too many");
    }
}
