//! Which of several choices a text settles on.

/// Choices have letters up to this one.
const LAST: char = 'J';

/// Words after which the choice stands.
const ANNOUNCED: [&str; 6] = [
    "answer is",
    "answer:",
    "\\boxed{",
    "答案是",
    "答案为",
    "答案：",
];

/// The letter of an expected choice: `B`, `(B)`, `B. Paris`, or its number counted from 0.
pub fn expected(text: &str) -> Option<char> {
    let text = text.trim();
    match text.parse::<u8>() {
        Ok(number) => choice(char::from(b'A'.checked_add(number)?)),
        Err(_) => opening(text),
    }
}

/// The letter after the last announcement, else the one that the text opens with as a label, else
/// the last that stands alone.
pub fn chosen(text: &str) -> Option<char> {
    let lower = text.to_ascii_lowercase();
    let announced = ANNOUNCED.iter().filter_map(|words| {
        let at = lower.rfind(words)? + words.len();
        Some((at, opening(text.get(at..)?)?))
    });
    let announced = announced.max_by_key(|(at, _)| *at);
    announced
        .map(|(_, letter)| letter)
        .or_else(|| opening(text).filter(|_| opens_with_label(text)))
        .or_else(|| alone(text).last())
        .or_else(|| opening(text))
}

fn choice(letter: char) -> Option<char> {
    let letter = letter.to_ascii_uppercase();
    ('A'..=LAST).contains(&letter).then_some(letter)
}

fn inside_marks(text: &str) -> &str {
    text.trim_start_matches(|c: char| !c.is_alphanumeric())
}

/// The letter at the beginning, inside whatever marks, where no word goes on from it.
fn opening(text: &str) -> Option<char> {
    let mut rest = inside_marks(text).chars();
    let letter = choice(rest.next()?)?;
    let goes_on = |c: char| c.is_ascii_alphanumeric() || c == '\'';
    (!rest.next().is_some_and(goes_on)).then_some(letter)
}

/// As in `B`, `(B)` and `B. Paris`; the `A` of a sentence is none.
fn opens_with_label(text: &str) -> bool {
    inside_marks(text).chars().nth(1) != Some(' ')
}

/// Capital letters with no word around them, but for those that are words themselves.
fn alone(text: &str) -> impl Iterator<Item = char> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    let letters = words.filter_map(|word| {
        let mut chars = word.chars();
        let letter = chars.next().filter(char::is_ascii_uppercase)?;
        chars.next().is_none().then_some(letter)
    });
    letters
        .filter(|letter| !['A', 'I'].contains(letter))
        .filter_map(choice)
}
