//! Whether a text is there in both languages, found while it is compiled.

/// Texts that are the same in both languages: names of metrics, units and options.
const SAME: [&str; 16] = [
    "API",
    "E2E",
    "GiB",
    "HTTP {status}",
    "ITL",
    "SLO",
    "SLO {objective}",
    "TPOT",
    "TTFT",
    "TTFT p50",
    "max-model-len",
    "temperature {value}",
    "tok/J",
    "tok/s",
    "tokens",
    "top-p {value}",
];

/// What is wrong with a text in its two languages, if anything.
pub const fn fault(english: &str, chinese: &str) -> Option<&'static str> {
    if english.is_empty() || chinese.is_empty() {
        return Some("a text is empty");
    }
    if !english.is_ascii() && !has_only_signs(english.as_bytes()) {
        return Some("an English text holds Chinese");
    }
    if chinese.is_ascii() && !is_same(english, chinese) {
        return Some("a text has no Chinese, and is not on the list of those that need none");
    }
    if !holds_names(chinese.as_bytes(), english.as_bytes())
        || !holds_names(english.as_bytes(), chinese.as_bytes())
    {
        return Some("a text has other {names} in the other language");
    }
    None
}

/// Whether no character is beyond the Latin letters and the general signs: `×`, `–`, `…`, `µ`.
const fn has_only_signs(text: &[u8]) -> bool {
    let mut at = 0;
    while at < text.len() {
        // Chinese characters and punctuation begin with these bytes in UTF-8.
        if text[at] >= 0xe3 {
            return false;
        }
        at += 1;
    }
    true
}

const fn is_same(english: &str, chinese: &str) -> bool {
    let mut place = 0;
    while place < SAME.len() {
        let word = SAME[place].as_bytes();
        if starts_with(english.as_bytes(), word)
            && english.len() == word.len()
            && starts_with(chinese.as_bytes(), word)
            && chinese.len() == word.len()
        {
            return true;
        }
        place += 1;
    }
    false
}

/// Whether every `{name}` of one text is in the other.
const fn holds_names(text: &[u8], names_of: &[u8]) -> bool {
    let mut rest = names_of;
    while let Some((first, after)) = rest.split_first() {
        if *first == b'{' {
            let name = rest.split_at(through_brace(rest)).0;
            if !contains(text, name) {
                return false;
            }
        }
        rest = after;
    }
    true
}

/// Bytes up to and with the closing brace.
const fn through_brace(text: &[u8]) -> usize {
    let mut at = 0;
    while at < text.len() {
        at += 1;
        if text[at - 1] == b'}' {
            return at;
        }
    }
    at
}

const fn contains(text: &[u8], part: &[u8]) -> bool {
    let mut rest = text;
    loop {
        if starts_with(rest, part) {
            return true;
        }
        match rest.split_first() {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
}

const fn starts_with(text: &[u8], part: &[u8]) -> bool {
    if text.len() < part.len() {
        return false;
    }
    let mut at = 0;
    while at < part.len() {
        if text[at] != part[at] {
            return false;
        }
        at += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_left_in_english_is_found() {
        assert_eq!(fault("bread", "面包"), None);
        assert_eq!(fault("TTFT", "TTFT"), None);
        assert!(fault("bread", "bread").is_some());
        assert!(fault("bread", "brood").is_some());
        assert!(fault("bread", "").is_some());
        assert!(fault("面包", "面包").is_some());
        assert_eq!(fault("{speed} × its pace", "{speed} 倍速"), None);
    }

    #[test]
    fn a_template_that_lost_or_renamed_a_value_is_found() {
        assert_eq!(fault("{a} of {b}", "{b} 中的 {a}"), None);
        assert!(fault("{a} of {b}", "{b} 中的").is_some());
        assert!(fault("{a}", "{a} 与 {b}").is_some());
        assert!(fault("{count}", "{counts} 个").is_some());
    }
}
