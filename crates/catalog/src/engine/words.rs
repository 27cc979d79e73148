//! A command line in one string, split as a shell splits it.

/// Why a command line cannot be split.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SplitError {
    /// A quote without its partner.
    #[error("the command has a {0} without its partner")]
    OpenQuote(char),
    /// An operator that only a shell understands.
    #[error("the command has `{0}`, which only a shell understands; give one plain command")]
    Operator(char),
}

/// Splits as POSIX shells do: quotes, backslashes, line continuations, comments after `#`.
///
/// Nothing is expanded: `$HOME` stays as it is, since the command may run elsewhere.
pub fn split(text: &str) -> Result<Vec<String>, SplitError> {
    let mut words = Vec::new();
    // `None` between words, so that '' is a word and blanks are not.
    let mut word: Option<String> = None;
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '\\' => match rest.next() {
                Some('\n') | None => {}
                Some('\r') if rest.peek() == Some(&'\n') => {
                    rest.next();
                }
                Some(escaped) => word.get_or_insert_default().push(escaped),
            },
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match rest.next() {
                        Some('\'') => break,
                        Some(inside) => word.push(inside),
                        None => return Err(SplitError::OpenQuote('\'')),
                    }
                }
            }
            '"' => quoted(&mut rest, word.get_or_insert_default())?,
            '#' if word.is_none() => {
                for skipped in rest.by_ref() {
                    if skipped == '\n' {
                        break;
                    }
                }
            }
            ';' | '|' | '&' | '<' | '>' | '`' => {
                // A single & or ; at the end changes nothing that we care about.
                if matches!(character, '&' | ';') && rest.clone().all(char::is_whitespace) {
                    break;
                }
                return Err(SplitError::Operator(character));
            }
            blank if blank.is_whitespace() => words.extend(word.take()),
            plain => word.get_or_insert_default().push(plain),
        }
    }
    words.extend(word);
    Ok(words)
}

fn quoted(
    rest: &mut std::iter::Peekable<std::str::Chars<'_>>,
    word: &mut String,
) -> Result<(), SplitError> {
    loop {
        match rest.next() {
            Some('"') => return Ok(()),
            Some('\\') => match rest.next() {
                Some('\n') => {}
                Some(escaped @ ('"' | '\\' | '$' | '`')) => word.push(escaped),
                Some(other) => word.extend(['\\', other]),
                None => return Err(SplitError::OpenQuote('"')),
            },
            Some(inside) => word.push(inside),
            None => return Err(SplitError::OpenQuote('"')),
        }
    }
}

/// Joins words so that a shell splits them the same way.
pub fn join<W: AsRef<str>>(words: impl IntoIterator<Item = W>) -> String {
    let mut line = String::new();
    for word in words {
        if !line.is_empty() {
            line.push(' ');
        }
        let word = word.as_ref();
        let plain = |c: char| c.is_alphanumeric() || "-_./:=,@%+".contains(c);
        if !word.is_empty() && word.chars().all(plain) {
            line.push_str(word);
        } else {
            line.push('\'');
            line.push_str(&word.replace('\'', r"'\''"));
            line.push('\'');
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_pasted_command_over_several_lines_is_one_command() {
        let pasted = "vllm serve \\\n  model/x \\\r\n --a=1 # note\n--b '{\"k\": 1}' \"a b\"\\ c &";
        let words = split(pasted).unwrap().join("|");
        assert_eq!(words, "vllm|serve|model/x|--a=1|--b|{\"k\": 1}|a b c");
    }

    #[test]
    fn an_empty_quote_is_a_word_and_an_open_one_is_named() {
        assert_eq!(split("a '' b").unwrap(), ["a", "", "b"]);
        assert_eq!(split("a 'b"), Err(SplitError::OpenQuote('\'')));
        assert_eq!(split("a \"b"), Err(SplitError::OpenQuote('"')));
        assert_eq!(split("a | b"), Err(SplitError::Operator('|')));
    }

    proptest! {
        #[test]
        fn joined_words_split_to_themselves(words in prop::collection::vec(any::<String>(), 0..6)) {
            let words: Vec<String> = words.into_iter().map(|w| w.replace(['\r'], "")).collect();
            prop_assert_eq!(split(&join(&words)).unwrap(), words);
        }

        #[test]
        fn any_text_is_split_or_refused(text in any::<String>()) {
            let _ = split(&text);
        }
    }
}
