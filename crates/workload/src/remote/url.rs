//! Pieces of URLs: origins, redirects and escapes.

use ureq::http::Uri;

/// Scheme and host, as far as a URL has both and is one of the web.
pub(super) fn is_web(url: &Uri) -> bool {
    matches!(url.scheme_str(), Some("http" | "https")) && url.host().is_some_and(|h| !h.is_empty())
}

/// Scheme, host and port: what a bearer token belongs to.
pub(super) type Origin = (String, String, u16);

/// The origin of a URL that has one.
pub(super) fn origin(url: &Uri) -> Option<Origin> {
    let scheme = url.scheme_str()?;
    let port = url
        .port_u16()
        .unwrap_or(if scheme == "https" { 443 } else { 80 });
    Some((scheme.to_owned(), url.host()?.to_ascii_lowercase(), port))
}

/// Where a redirect leads: `Location` may be a URL or any part of one.
pub(super) fn redirected(from: &Uri, location: &str) -> Option<Uri> {
    let location = escape_stray(location.split('#').next()?);
    let scheme = from.scheme_str()?;
    let authority = from.authority()?.as_str();
    let text = if split_scheme(&location).is_some() {
        location
    } else if location.starts_with("//") {
        format!("{scheme}:{location}")
    } else if location.starts_with('/') {
        format!("{scheme}://{authority}{location}")
    } else if location.starts_with('?') {
        format!("{scheme}://{authority}{}{location}", from.path())
    } else {
        let folder = &from.path()[..=from.path().rfind('/')?];
        format!("{scheme}://{authority}{folder}{location}")
    };
    text.parse().ok().filter(is_web)
}

/// A redirect gives up the protection that the address has.
pub(super) fn is_downgrade(from: &Uri, to: &Uri) -> bool {
    from.scheme_str() == Some("https") && to.scheme_str() != Some("https")
}

/// A URL as it may be shown and kept.
pub(super) fn without_query(url: &Uri) -> String {
    format!(
        "{}://{}{}",
        url.scheme_str().unwrap_or("http"),
        url.host().unwrap_or_default(),
        match url.port_u16() {
            Some(port) => format!(":{port}{}", url.path()),
            None => url.path().to_owned(),
        }
    )
}

/// The scheme and what follows `://`.
pub(super) fn split_scheme(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once("://")?;
    let letters = |c: char| c.is_ascii_alphanumeric() || "+.-".contains(c);
    let named = scheme.starts_with(|c: char| c.is_ascii_alphabetic());
    (named && scheme.chars().all(letters)).then_some((scheme, rest))
}

/// One segment of a path or value of a query.
pub(super) fn encoded(text: &str) -> String {
    escape(text, |b| b.is_ascii_alphanumeric() || b"-._~".contains(&b))
}

/// A URL whose blanks and letters beyond ASCII are escaped, as a browser would.
pub(super) fn escape_stray(text: &str) -> String {
    escape(text.trim(), |b| {
        b.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&b)
    })
}

fn escape(text: &str, stays: impl Fn(u8) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if stays(byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// A segment of a path as it was before it was encoded.
pub(super) fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escaped = (bytes[at] == b'%')
            .then(|| text.get(at + 1..at + 3))
            .flatten()
            .filter(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()))
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        out.push(escaped.unwrap_or(bytes[at]));
        at += if escaped.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_may_name_any_part_of_a_url() {
        let from: Uri = "https://h:1/a/b?c=d".parse().unwrap();
        for (location, to) in [
            ("http://x/y?z#f", "http://x/y?z"),
            ("//x/y", "https://x/y"),
            ("/y", "https://h:1/y"),
            ("y", "https://h:1/a/y"),
            ("?y", "https://h:1/a/b?y"),
        ] {
            assert_eq!(redirected(&from, location).unwrap().to_string(), to);
        }
        for bad in ["ftp://x/y", "https://", "http://a b/"] {
            assert_eq!(redirected(&from, bad), None, "{bad}");
        }
    }

    #[test]
    fn only_from_https_to_http_is_a_downgrade() {
        let (plain, secure) = (
            Uri::from_static("http://h/"),
            Uri::from_static("https://h/"),
        );
        assert!(is_downgrade(&secure, &plain));
        assert!(!is_downgrade(&secure, &secure));
        assert!(!is_downgrade(&plain, &plain));
        assert!(!is_downgrade(&plain, &secure));
    }
}
