//! Answers that decline to answer, told by how they open: in a study of lengths they are short
//! for another reason than speed.

const OPENINGS: [&str; 22] = [
    "i'm sorry",
    "i am sorry",
    "sorry,",
    "i apologize",
    "i cannot",
    "i can't",
    "i can’t",
    "i’m sorry",
    "i am unable",
    "i'm unable",
    "i'm not able",
    "as an ai",
    "unfortunately, i",
    "抱歉",
    "对不起",
    "很抱歉",
    "非常抱歉",
    "我无法",
    "我不能",
    "作为一个人工智能",
    "作为一个ai",
    "作为ai",
];

pub fn opens(text: &str) -> bool {
    let start: String = text.trim_start().chars().take(24).collect();
    let start = start.to_lowercase();
    OPENINGS.iter().any(|opening| start.starts_with(opening))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_told_from_answers_by_their_opening() {
        for refusal in [
            "I'm sorry, but",
            "\n抱歉，我",
            "As an AI language model",
            "I cannot",
        ] {
            assert!(opens(refusal), "{refusal}");
        }
        for answer in [
            "",
            "The sorry state",
            "I can do that",
            "抱着一本书",
            "Sorry",
        ] {
            assert!(!opens(answer), "{answer}");
        }
    }
}
