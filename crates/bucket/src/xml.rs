//! A scanner for the small XML of object stores: elements and their text, in one pass, without
//! attributes, document types or entities of their own. What is deeper or odder is refused.

/// Elements inside elements; listings have three.
const DEEPEST: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is not the XML of an object store")]
pub struct NotXml;

/// Calls `ended` at the end of each element with the names from the outermost to it, and with its
/// text where there are no elements inside.
pub fn scan(text: &str, mut ended: impl FnMut(&[&str], Option<String>)) -> Result<(), NotXml> {
    let mut path: Vec<&str> = Vec::new();
    // Text since the last tag, if that opened an element.
    let mut held: Option<String> = None;
    let mut rest = text.trim_start_matches('\u{feff}');
    let mut roots = 0;
    loop {
        let at = rest.find('<').unwrap_or(rest.len());
        let (words, tail) = rest.split_at(at);
        match &mut held {
            Some(held) => held.push_str(&decoded(words)?),
            None if path.is_empty() && !words.trim().is_empty() => return Err(NotXml),
            None => {}
        }
        if tail.is_empty() {
            return if path.is_empty() && roots == 1 {
                Ok(())
            } else {
                Err(NotXml)
            };
        }
        if let Some(inside) = tail.strip_prefix("<![CDATA[") {
            let (inside, after) = inside.split_once("]]>").ok_or(NotXml)?;
            held.as_mut().ok_or(NotXml)?.push_str(inside);
            rest = after;
        } else if let Some(comment) = tail.strip_prefix("<!--") {
            rest = comment.split_once("-->").ok_or(NotXml)?.1;
        } else if let Some(instruction) = tail.strip_prefix("<?") {
            rest = instruction.split_once("?>").ok_or(NotXml)?.1;
        } else if let Some(end) = tail.strip_prefix("</") {
            let (name, after) = end.split_once('>').ok_or(NotXml)?;
            if path.last() != Some(&name.trim_end()) {
                return Err(NotXml);
            }
            ended(&path, held.take());
            path.pop();
            rest = after;
        } else {
            let (tag, after) = tail[1..].split_once('>').ok_or(NotXml)?;
            let is_empty = tag.ends_with('/');
            let name = tag.trim_end_matches('/').split_whitespace().next();
            let name = name.filter(|name| is_name(name)).ok_or(NotXml)?;
            roots += usize::from(path.is_empty());
            if path.len() == DEEPEST || roots > 1 {
                return Err(NotXml);
            }
            path.push(name);
            held = Some(String::new());
            if is_empty {
                ended(&path, held.take());
                path.pop();
            }
            rest = after;
        }
    }
}

fn is_name(name: &str) -> bool {
    let of_name = |c: char| c.is_ascii_alphanumeric() || ":._-".contains(c);
    name.len() <= 64 && name.chars().all(of_name)
}

/// Text whose five entities and numbers of characters stand for themselves.
fn decoded(text: &str) -> Result<String, NotXml> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        let (entity, after) = rest[at + 1..].split_once(';').ok_or(NotXml)?;
        out.push(match entity {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "apos" => '\'',
            number => {
                let number = number.strip_prefix('#').ok_or(NotXml)?;
                let code = match number.strip_prefix(['x', 'X']) {
                    Some(hex) => u32::from_str_radix(hex, 16),
                    None => number.parse(),
                };
                char::from_u32(code.map_err(|_| NotXml)?).ok_or(NotXml)?
            }
        });
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn leaves(text: &str) -> Result<Vec<(String, String)>, NotXml> {
        let mut found = Vec::new();
        scan(text, |path, text| {
            found.extend(text.map(|text| (path.join("/"), text)));
        })?;
        Ok(found)
    }

    #[test]
    fn elements_are_found_with_their_text() {
        let text = "<?xml version=\"1.0\"?>\n<!-- x -->\n<L xmlns=\"http://x/\"><K>a&amp;b&#x41;&#66;</K>\n <E/><C><K><![CDATA[<&]]></K></C></L>\n";
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(
            leaves(text).unwrap(),
            [pair("L/K", "a&bAB"), pair("L/E", ""), pair("L/C/K", "<&")]
        );
    }

    #[test]
    fn what_is_not_ours_to_read_is_refused() {
        let deep = "<a>".repeat(100) + &"</a>".repeat(100);
        for bad in [
            "",
            "<a>",
            "</a>",
            "<a></b>",
            "<a/><b/>",
            "text",
            "<a>&unknown;</a>",
            "<a>&#xD800;</a>",
            "<a>&amp</a>",
            "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>",
            "<html lang=en><p>hello<br></html>",
            "<![CDATA[x]]><a/>",
            &deep,
        ] {
            assert_eq!(leaves(bad), Err(NotXml), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic_and_escaped_text_comes_back(text in ".{0,80}", broken in "[<>/a-c&;#x!\\[\\]?-]{0,60}") {
            let _ = leaves(&text);
            let _ = leaves(&broken);
            let _ = leaves(&format!("<a>{broken}</a>"));
            let written = inferometer_text::hostile::escaped(&text);
            let kept = text.replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}");
            prop_assert_eq!(leaves(&format!("<a>{written}</a>")).unwrap(), [("a".to_owned(), kept)]);
        }
    }
}
