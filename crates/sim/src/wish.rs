//! What a prompt asks for in words: "Write about 500 characters". Nothing enforces it, so answers
//! are about so long, fall short where much is asked for, and now and then there is none.
//!
//! The shares are assumed, after what published grids of such prompts show of small models; a
//! study with the simulated engine has the shape of a real one, not its numbers.

use crate::language::{Language, texts};
use crate::random::{Purpose, RandomStream};
use crate::tokenizer::Tokenizer;
use serde_json::{Map, Value};

/// Answers of which one declines.
const ONE_DECLINES_OF: u64 = 64;
/// Tokens of an answer that declines: the least, and how many more at most.
const DECLINING: (u32, u64) = (8, 16);
/// An answer has half of what is asked for where so many characters are.
const HALF_AT: f64 = 4_000.0;
/// Answers to short wishes are a little longer than asked for.
const SHORT_WISH: f64 = 1.1;
/// Lengths lie within this share of their mean.
const SPREAD: f64 = 0.4;
/// Where a wish is looked for: at either end of a prompt.
const LOOKED_AT: usize = 600;

/// A length that a prompt asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wish {
    chars: u32,
    /// In which it is asked for.
    language: Language,
    /// In which the answer is written: a model goes on in the language of the text.
    answer: Language,
}

/// What comes of a wish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Granted {
    pub tokens: u32,
    /// Characters of such an answer.
    pub chars: u64,
    /// The words that it opens with, if it declines.
    pub declines: Option<&'static str>,
}

impl Wish {
    /// A number before "characters" or 字 at either end of a prompt.
    pub fn of(prompt: &str) -> Option<Wish> {
        let begin: String = prompt.chars().take(LOOKED_AT).collect();
        let end = prompt.char_indices().rev().nth(LOOKED_AT);
        let end = end.map_or("", |(at, _)| &prompt[at..]);
        let (chars, language) = Self::inside(&begin).or_else(|| Self::inside(end))?;
        Some(Wish {
            chars,
            language,
            answer: Language::of(prompt),
        })
    }

    /// The length that a text asks for, and in which language.
    fn inside(text: &str) -> Option<(u32, Language)> {
        let mut rest = text;
        while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
            rest = &rest[at..];
            let end = rest.find(|c: char| !c.is_ascii_digit())?;
            let (number, after) = rest.split_at(end);
            let after = after.trim_start();
            let language = if ["characters", "chars"]
                .iter()
                .any(|it| after.starts_with(it))
            {
                Some(Language::English)
            } else if ["个字", "字"].iter().any(|it| after.starts_with(it)) {
                Some(Language::Chinese)
            } else {
                None
            };
            if let Some((language, chars)) = language.zip(number.parse().ok()) {
                return Some((chars, language));
            }
            rest = &rest[end..];
        }
        None
    }

    /// The wish of a request's body, in its prompt or in its messages.
    pub(crate) fn in_body(body: &Map<String, Value>) -> Option<Wish> {
        texts(body).find_map(Wish::of)
    }

    /// The answer to a request, the same for the same seed and number.
    pub fn granted(self, tokenizer: &Tokenizer, seed: u64, number: u64) -> Granted {
        let mut draw = RandomStream::new(seed, number, Purpose::Length);
        let per_token = chars_per_token(tokenizer, self.answer);
        let declines = match self.language {
            Language::English => "Sorry, ",
            Language::Chinese => "抱歉，",
        };
        let declines = (draw.below(ONE_DECLINES_OF) == 0).then_some(declines);
        let tokens = if declines.is_some() {
            DECLINING.0 + draw.below(DECLINING.1) as u32
        } else {
            // Two draws lie nearer to the middle than one.
            let mut even = || draw.below(1 << 20) as f64 / f64::from(1 << 20);
            let around = 1.0 + SPREAD * (even() + even() - 1.0);
            let asked = f64::from(self.chars);
            let share = SHORT_WISH / (1.0 + asked / HALF_AT);
            (asked * share * around / per_token).ceil().max(1.0) as u32
        };
        Granted {
            tokens,
            chars: (f64::from(tokens) * per_token).round() as u64,
            declines,
        }
    }
}

fn chars_per_token(tokenizer: &Tokenizer, language: Language) -> f64 {
    let pieces = tokenizer.pieces(language);
    let chars: usize = pieces.iter().map(|piece| piece.text.chars().count()).sum();
    (chars as f64 / pieces.len() as f64).max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean_chars(asked: u32) -> f64 {
        let wish = Wish::of(&format!("Write about {asked} characters. Then the text.")).unwrap();
        let tokenizer = Tokenizer::default();
        let answers = (0..2_000).map(|number| wish.granted(&tokenizer, 1, number));
        let answers: Vec<Granted> = answers.filter(|it| it.declines.is_none()).collect();
        answers.iter().map(|it| it.chars as f64).sum::<f64>() / answers.len() as f64
    }

    #[test]
    fn a_length_in_words_is_found_in_either_language_and_nothing_else_is() {
        let chars = |text: &str| Wish::of(text).map(|wish| wish.chars);
        assert_eq!(chars("In 1999 … write about 500 characters."), Some(500));
        assert_eq!(chars("请续写大约2000个字。"), Some(2_000));
        let long = "word ".repeat(1_000);
        assert_eq!(chars(&format!("{long} Write 80 characters.")), Some(80));
        for plain in ["", "count to 10", "500", "99999999999999999999 characters"] {
            assert_eq!(chars(plain), None, "{plain}");
        }
    }

    #[test]
    fn answers_grow_with_what_is_asked_for_and_fall_short_of_much() {
        let [short, middle, long] = [100, 500, 4_000].map(mean_chars);
        assert!((90.0..130.0).contains(&short), "{short}");
        assert!((400.0..600.0).contains(&middle), "{middle}");
        assert!((1_800.0..2_600.0).contains(&long), "{long}");
    }

    #[test]
    fn a_chinese_answer_has_as_many_characters_as_an_english_one_in_more_tokens() {
        let tokenizer = Tokenizer::default();
        let per_token = |text: &str| {
            let wish = Wish::of(text).unwrap();
            let answers = (0..200).map(|number| wish.granted(&tokenizer, 1, number));
            let (chars, tokens) = answers.fold((0, 0), |(chars, tokens), it| {
                (chars + it.chars, tokens + u64::from(it.tokens))
            });
            chars as f64 / tokens as f64
        };
        let chinese = per_token("请根据下文续写大约1000个字。山谷里住着一位老人。");
        assert!((1.3..1.7).contains(&chinese), "{chinese}");
        assert!(per_token("Write about 1000 characters on rivers.") > 4.0);
    }

    #[test]
    fn lengths_are_spread_and_some_answers_decline() {
        let wish = Wish::of("大约1000个字").unwrap();
        let tokenizer = Tokenizer::default();
        let all: Vec<Granted> = (0..640).map(|it| wish.granted(&tokenizer, 7, it)).collect();
        let declined = all.iter().filter(|it| it.declines.is_some()).count();
        assert!((1..40).contains(&declined), "{declined}");
        let lengths = all.iter().filter(|it| it.declines.is_none());
        let lengths: std::collections::BTreeSet<u32> = lengths.map(|it| it.tokens).collect();
        let [least, most] =
            [lengths.first().unwrap(), lengths.last().unwrap()].map(|it| f64::from(*it));
        assert!(most / least > 1.5 && lengths.len() > 20);
        assert_eq!(
            wish.granted(&tokenizer, 7, 3),
            all[3],
            "the same for the same number"
        );
    }
}
