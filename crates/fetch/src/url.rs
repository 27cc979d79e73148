//! Pieces of URLs: origins, redirects and escapes.

use inferometer_text::hostile::printable;
use ureq::http::Uri;

/// Characters of foreign words that are shown.
pub(crate) const SHOWN_CHARS: usize = 200;

/// Whether a URL is http or https and names a host.
pub fn is_web(url: &Uri) -> bool {
    matches!(url.scheme_str(), Some("http" | "https")) && url.host().is_some_and(|h| !h.is_empty())
}

/// Scheme, host and port: what a bearer token belongs to.
pub type Origin = (String, String, u16);

pub fn origin(url: &Uri) -> Option<Origin> {
    let scheme = url.scheme_str()?;
    let port = url
        .port_u16()
        .unwrap_or(if scheme == "https" { 443 } else { 80 });
    Some((scheme.to_owned(), url.host()?.to_ascii_lowercase(), port))
}

/// Where a redirect leads: `Location` may be a URL or any part of one.
pub fn redirected(from: &Uri, location: &str) -> Option<Uri> {
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

/// Whether a redirect gives up the protection that the address has.
pub fn is_downgrade(from: &Uri, to: &Uri) -> bool {
    from.scheme_str() == Some("https") && to.scheme_str() != Some("https")
}

/// A URL as it may be shown and kept.
pub fn without_query(url: &Uri) -> String {
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

pub fn host_shown(url: &Uri) -> String {
    let authority = url.authority().map_or("", |authority| authority.as_str());
    printable(
        authority.rsplit('@').next().unwrap_or_default(),
        SHOWN_CHARS,
    )
}

/// `http://host:port` of an address, whatever its path.
pub fn root(url: &str) -> Option<&str> {
    let scheme = url.find("://")? + 3;
    let end = url[scheme..]
        .find(['/', '?', '#'])
        .map_or(url.len(), |at| scheme + at);
    (end > scheme).then(|| &url[..end])
}

/// Host and port of an address; an IPv6 host without its brackets.
pub fn host_and_port(url: &str) -> Option<(String, u16)> {
    let (scheme, place) = root(url)?.split_once("://")?;
    let place = place.rsplit('@').next()?;
    let standard = if scheme.eq_ignore_ascii_case("https") {
        443
    } else {
        80
    };
    match place.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => {
            Some((host.trim_matches(['[', ']']).to_owned(), port.parse().ok()?))
        }
        _ => Some((place.trim_matches(['[', ']']).to_owned(), standard)),
    }
}

/// The scheme and what follows `://`.
pub fn split_scheme(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once("://")?;
    let letters = |c: char| c.is_ascii_alphanumeric() || "+.-".contains(c);
    let named = scheme.starts_with(|c: char| c.is_ascii_alphabetic());
    (named && scheme.chars().all(letters)).then_some((scheme, rest))
}

/// One segment of a path or value of a query.
pub fn encoded(text: &str) -> String {
    escape(text, |b| b.is_ascii_alphanumeric() || b"-._~".contains(&b))
}

/// A URL whose blanks and letters beyond ASCII are escaped, as a browser would.
pub fn escape_stray(text: &str) -> String {
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
pub fn decoded(text: &str) -> String {
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
    fn root_host_and_port_of_an_address_are_found() {
        assert_eq!(root("http://h:8000/v1/chat"), Some("http://h:8000"));
        assert_eq!(root("https://[::1]:1?x"), Some("https://[::1]:1"));
        assert_eq!((root("h:8000"), root("http:///x")), (None, None));
        assert_eq!(host_and_port("http://u:p@h:81/"), Some(("h".into(), 81)));
        assert_eq!(host_and_port("https://h"), Some(("h".into(), 443)));
        assert_eq!(host_and_port("http://[::1]:9"), Some(("::1".into(), 9)));
        assert_eq!(host_and_port("http://h:99999"), None);
    }

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
