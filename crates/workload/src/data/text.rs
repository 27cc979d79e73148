//! A text cut into pieces of a length, at characters and never within one.

use super::error::{DataError, KEPT_BYTES};
use super::format::reader::Reading;
use super::opened::{End, ReadRow};
use super::row::Row;
use super::source::{self, Source};
use crate::tokenizer::Tokenizer;
use inferometer_core::work::PromptLength;
use std::io::{self, BufRead};
use std::path::Path;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    pub text: String,
    /// The line where it begins, counted from 1.
    pub line: u64,
}

impl From<Piece> for ReadRow {
    fn from(piece: Piece) -> Self {
        ReadRow {
            line: piece.line,
            reading: Ok(Reading::Row(Row::of_text(&piece.text))),
        }
    }
}

/// Cuts a file into pieces, at most `wanted`. What is left over at the end is
/// dropped, unless it is the only piece. Pieces in tokens need a tokenizer; one has as many
/// tokens as asked, or the most below that where no cut gives just as many.
pub fn pieces(
    path: &Path,
    length: PromptLength,
    wanted: Option<u64>,
    tokenizer: Option<&dyn Tokenizer>,
) -> Result<(Vec<Piece>, End), DataError> {
    if let (PromptLength::Tokens(tokens), None) = (length, tokenizer) {
        let asked = format!("a piece of {tokens} tokens");
        return Err(DataError::NoTokenizer { asked });
    }
    let (source, _) = source::open(path).map_err(|error| DataError::unreadable(path, error))?;
    pieces_of(path, source, length, wanted, tokenizer)
}

/// The same for a stream; `path` is what messages call it.
pub(super) fn pieces_of(
    path: &Path,
    source: Source,
    length: PromptLength,
    wanted: Option<u64>,
    tokenizer: Option<&dyn Tokenizer>,
) -> Result<(Vec<Piece>, End), DataError> {
    let mut text = Text::new(path, source);
    let (mut pieces, mut bytes) = (Vec::new(), 0);
    loop {
        let piece = match (length, tokenizer) {
            (PromptLength::Tokens(tokens), Some(tokenizer)) => {
                text.cut_tokens(tokens, tokenizer)?
            }
            (PromptLength::Tokens(chars) | PromptLength::Chars(chars), _) => {
                text.cut_chars(chars)?
            }
        };
        match piece {
            Some((piece, whole)) if whole || pieces.is_empty() => {
                bytes += piece.text.len();
                pieces.push(piece);
            }
            _ => return Ok((pieces, End::OfFile)),
        }
        if wanted.is_some_and(|wanted| pieces.len() as u64 >= wanted) {
            return Ok((pieces, End::Enough));
        }
        if bytes > KEPT_BYTES {
            return Ok((pieces, End::Memory));
        }
    }
}

/// A stream as text, of which a window is held.
struct Text<'a> {
    path: &'a Path,
    source: Source,
    /// Valid text that has not been cut off yet, from `begin`.
    window: String,
    begin: usize,
    /// Bytes of a character whose rest has not been read.
    part: Vec<u8>,
    line: u64,
    ended: bool,
}

impl<'a> Text<'a> {
    fn new(path: &'a Path, source: Source) -> Self {
        Text {
            path,
            source,
            window: String::new(),
            begin: 0,
            part: Vec::new(),
            line: 1,
            ended: false,
        }
    }

    fn held(&self) -> &str {
        &self.window[self.begin..]
    }

    /// The next `chars` characters, and whether there were as many.
    fn cut_chars(&mut self, chars: u32) -> Result<Option<(Piece, bool)>, DataError> {
        let mut have = Prefix::default();
        loop {
            have.extend(self.held(), chars as usize);
            if have.chars == chars as usize {
                return Ok(self.cut(have.bytes).map(|piece| (piece, true)));
            }
            if !self.read_more()? {
                return Ok(self.cut(have.bytes).map(|piece| (piece, false)));
            }
        }
    }

    /// The next `tokens` tokens, and whether there were as many.
    fn cut_tokens(
        &mut self,
        tokens: u32,
        tokenizer: &dyn Tokenizer,
    ) -> Result<Option<(Piece, bool)>, DataError> {
        // Windows grow until they hold more than is wanted, so that the text after the cut has
        // its say in where tokens end.
        let mut bytes = (tokens as usize).saturating_mul(6).max(64);
        loop {
            while self.held().len() < bytes && self.read_more()? {}
            let window = self.held();
            let all = window.len() <= bytes;
            let window = &window[..char_boundary(window, bytes)];
            if tokenizer.count(window) > tokens {
                let cut = longest_prefix(window, tokens, tokenizer);
                return Ok(self.cut(cut).map(|piece| (piece, true)));
            }
            if all && self.ended {
                let (rest, whole) = (window.len(), tokenizer.count(window) == tokens);
                return Ok(self.cut(rest).map(|piece| (piece, whole)));
            }
            bytes = bytes.saturating_mul(2);
        }
    }

    fn cut(&mut self, bytes: usize) -> Option<Piece> {
        let text = self.held()[..bytes].to_owned();
        if text.is_empty() {
            return None;
        }
        let line = self.line;
        self.line += memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64;
        self.begin += bytes;
        Some(Piece { text, line })
    }

    /// Reads some more; false at the end.
    fn read_more(&mut self) -> Result<bool, DataError> {
        if self.ended {
            return Ok(false);
        }
        // What was cut off goes once it is most of the window, so that moving costs little.
        if self.begin * 2 > self.window.len() {
            self.window.drain(..self.begin);
            self.begin = 0;
        }
        let read = match self.source.fill_buf() {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(true),
            Err(error) => return Err(DataError::unreadable(self.path, error)),
        };
        self.ended = read.is_empty();
        let used = read.len();
        self.part.extend_from_slice(read);
        self.source.consume(used);
        let (good, bad) = match std::str::from_utf8(&self.part) {
            Ok(text) => (text.len(), false),
            Err(error) => (
                error.valid_up_to(),
                error.error_len().is_some() || self.ended,
            ),
        };
        self.window
            .push_str(&String::from_utf8_lossy(&self.part[..good]));
        self.part.drain(..good);
        if bad {
            let before = memchr::memchr_iter(b'\n', self.held().as_bytes()).count() as u64;
            return Err(DataError::NotText {
                path: self.path.to_owned(),
                line: self.line + before,
            });
        }
        Ok(!self.ended)
    }
}

/// A beginning of a text, measured as the text comes in.
#[derive(Default)]
struct Prefix {
    bytes: usize,
    chars: usize,
}

impl Prefix {
    fn extend(&mut self, text: &str, chars: usize) {
        let mut rest = text[self.bytes..].chars();
        while self.chars < chars && rest.next().is_some() {
            self.chars += 1;
        }
        self.bytes = text.len() - rest.as_str().len();
    }
}

/// The last place at or before `at` that is not within a character.
fn char_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Bytes of the longest beginning of a text with at most `tokens` tokens; the text has more. It
/// guesses by the tokens that a byte has, which is nearly right, and closes in from both sides.
fn longest_prefix(text: &str, tokens: u32, tokenizer: &dyn Tokenizer) -> usize {
    let (mut low, mut high) = (0, text.len());
    let (mut low_tokens, mut high_tokens) = (0, tokenizer.count(text));
    let (mut round, mut reach) = (0, 4);
    loop {
        let first = low + text[low..].chars().next().map_or(1, char::len_utf8);
        if first >= high {
            // A cut that leaves nothing would never end.
            return if low == 0 { first.min(text.len()) } else { low };
        }
        let (span, missing) = (high - low, tokens - low_tokens);
        round += 1;
        let step = if missing == 0 {
            // The end of the last token is near.
            reach *= 2;
            reach.min(span / 2)
        } else if round % 3 == 0 {
            // Whatever the guesses, the search ends soon.
            span / 2
        } else {
            (span as f64 * f64::from(missing) / f64::from(high_tokens - low_tokens)) as usize
        };
        let middle = char_boundary(text, low + step.min(span - 1)).max(first);
        match tokenizer.count(&text[..middle]) {
            count if count <= tokens => (low, low_tokens) = (middle, count),
            count => (high, high_tokens) = (middle, count),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::file;
    use crate::tokenizer::Bytes;
    use proptest::prelude::*;
    use std::io::{BufReader, Cursor};

    /// A word is a token, with the blank before it.
    struct Words;

    impl Tokenizer for Words {
        fn name(&self) -> &str {
            "words"
        }
        fn encode(&self, text: &str) -> Vec<u32> {
            vec![0; text.split(' ').filter(|word| !word.is_empty()).count()]
        }
        fn digest(&self) -> u64 {
            0
        }
    }

    fn cut(text: &[u8], length: PromptLength, wanted: Option<u64>) -> Vec<(String, u64)> {
        let file = file(text);
        let (pieces, _) = pieces(file.path(), length, wanted, Some(&Words)).unwrap();
        pieces
            .into_iter()
            .map(|piece| (piece.text, piece.line))
            .collect()
    }

    fn owned(pieces: &[(&str, u64)]) -> Vec<(String, u64)> {
        pieces
            .iter()
            .map(|(text, line)| ((*text).to_owned(), *line))
            .collect()
    }

    #[test]
    fn pieces_have_their_length_and_the_rest_is_dropped() {
        let text = "一二\n三四五六七".as_bytes();
        let three = PromptLength::Chars(3);
        let expected = owned(&[("一二\n", 1), ("三四五", 2)]);
        assert_eq!(cut(text, three, None), expected);
        assert_eq!(cut(text, three, Some(1)), expected[..1]);
        assert_eq!(cut("短".as_bytes(), three, None), owned(&[("短", 1)]));
        assert_eq!(cut(b"", three, None), []);
    }

    #[test]
    fn pieces_in_tokens_are_as_long_as_the_tokenizer_says() {
        let text: String = (0..999).map(|word| format!(" word{word}")).collect();
        let cut = cut(text.as_bytes(), PromptLength::Tokens(100), None);
        assert_eq!(cut.len(), 9);
        assert!(cut.iter().all(|piece| Words.count(&piece.0) == 100));
    }

    #[test]
    fn tokens_without_a_tokenizer_and_invalid_text_are_refused() {
        let file = file(b"good\n\xff");
        let refused = |length| {
            let result = pieces(file.path(), length, None, None);
            result.unwrap_err().to_string()
        };
        assert!(refused(PromptLength::Tokens(5)).contains("--tokenizer"));
        assert!(refused(PromptLength::Chars(50)).starts_with("line 2 of"));
    }

    proptest! {
        #[test]
        fn cutting_loses_nothing_however_the_stream_is_cut(
            text in "[a-c一二🙂\n ]{0,80}",
            length in 1u32..9,
            buffer in 1usize..9,
            by_tokens in any::<bool>(),
        ) {
            let stream = BufReader::with_capacity(buffer, Cursor::new(text.clone().into_bytes()));
            let mut stream = Text::new("text".as_ref(), Box::new(stream));
            let (mut whole, mut lines) = (String::new(), 1);
            let mut next = || if by_tokens { stream.cut_tokens(length, &Bytes) } else { stream.cut_chars(length) };
            while let Some((piece, _)) = next().unwrap() {
                prop_assert_eq!(piece.line, lines);
                let (bytes, chars) = (piece.text.len(), piece.text.chars().count());
                let counted = if by_tokens { bytes } else { chars };
                prop_assert!(counted <= length as usize || (by_tokens && chars == 1));
                lines += piece.text.matches('\n').count() as u64;
                whole += &piece.text;
            }
            prop_assert_eq!(whole, text);
        }
    }
}
