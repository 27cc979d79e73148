//! Conversations as ShareGPT or a list of messages tells them: one question of each, or turn
//! by turn.

use super::reader::{Reader, Reading, text_row};
use crate::data::error::Fault;
use crate::data::object::from_json;
use crate::data::row::{Row, RowContent, Turn};
use serde::Deserialize;
use std::borrow::Cow;

#[derive(Deserialize)]
struct Chat<'a> {
    #[serde(borrow, alias = "conversation", alias = "messages")]
    conversations: Vec<Message<'a>>,
}

/// A question and its answer in one part, as in ModelScope's copy of ShareGPT.
#[derive(Deserialize)]
struct PairedChat<'a> {
    #[serde(borrow)]
    conversation: Vec<Pair<'a>>,
}

#[derive(Deserialize)]
struct Pair<'a> {
    #[serde(borrow)]
    human: Cow<'a, str>,
    #[serde(borrow)]
    assistant: Cow<'a, str>,
}

impl<'a> Chat<'a> {
    fn read(row: &'a str) -> Result<Self, Fault> {
        from_json(row).or_else(|fault| {
            let paired: PairedChat = from_json(row).map_err(|_| fault)?;
            let message = |from, value| Message {
                from: Cow::Borrowed(from),
                value,
            };
            let pairs = paired.conversation.into_iter();
            let parts =
                pairs.flat_map(|it| [message("human", it.human), message("gpt", it.assistant)]);
            Ok(Chat {
                conversations: parts.collect(),
            })
        })
    }
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, alias = "role")]
    from: Cow<'a, str>,
    #[serde(borrow, alias = "content")]
    value: Cow<'a, str>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    User,
    Assistant,
    Other,
}

impl Message<'_> {
    fn role(&self) -> Role {
        match &*self.from {
            "human" | "user" => Role::User,
            "gpt" | "assistant" | "chatgpt" | "bard" | "bing" => Role::Assistant,
            _ => Role::Other,
        }
    }
}

/// The first two parts of a conversation, whoever speaks: the prompt and the reference. This is
/// how the tools read it that made the data set known, so their rows are these rows.
pub struct ShareGpt;

impl Reader for ShareGpt {
    fn read(&mut self, row: &str) -> Result<Reading, Fault> {
        let chat = Chat::read(row)?;
        Ok(match &chat.conversations[..] {
            [prompt, answer, ..] => text_row(&prompt.value, None, Some(&answer.value)),
            _ => Reading::Unusable,
        })
    }
}

/// All questions of a conversation, each with its answer.
pub struct Conversations;

impl Reader for Conversations {
    fn read(&mut self, row: &str) -> Result<Reading, Fault> {
        let chat = Chat::read(row)?;
        let mut turns: Vec<(String, Option<String>)> = Vec::new();
        for part in &chat.conversations {
            let value = &*part.value;
            match (part.role(), turns.last_mut()) {
                // Two messages in a row of one speaker count as one.
                (Role::User, Some((user, None))) => append(user, value),
                (Role::User, _) if !value.trim().is_empty() => {
                    turns.push((value.to_owned(), None));
                }
                (Role::Assistant, Some((_, Some(answer)))) => append(answer, value),
                (Role::Assistant, Some((_, answer))) => *answer = Some(value.to_owned()),
                // Messages before the first question, or of a tool.
                _ => {}
            }
        }
        if turns.is_empty() {
            return Ok(Reading::Unusable);
        }
        let turns = turns.into_iter().map(|(user, answer)| Turn {
            user: user.into(),
            answer: answer.map(Into::into),
        });
        Ok(Reading::Row(Row {
            content: RowContent::Turns(turns.collect()),
            output_tokens: None,
            reference: None,
            expected: None,
        }))
    }
}

fn append(text: &mut String, more: &str) {
    text.push_str("\n\n");
    text.push_str(more);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_part_is_the_prompt_and_the_second_the_reference() {
        let row = r#"{"id": "x", "conversations": [
            {"from": "human", "value": "Hi \"you\"", "lang": "en"},
            {"from": "gpt", "value": "Hello"}, {"from": "human", "value": "Bye"}]}"#;
        let expected = text_row("Hi \"you\"", None, Some("Hello"));
        assert_eq!(ShareGpt.read(row), Ok(expected));
    }

    #[test]
    fn questions_and_answers_may_stand_in_pairs() {
        let row = r#"{"conversation_id": 1, "conversation": [
            {"human": "Hi", "assistant": "Hello"}, {"human": "Bye", "assistant": "See you"}]}"#;
        let expected = text_row("Hi", None, Some("Hello"));
        assert_eq!(ShareGpt.read(row), Ok(expected));
        let pair = |user: &str, answer: &str| (user.to_owned(), Some(answer.to_owned()));
        assert_eq!(turns(row), [pair("Hi", "Hello"), pair("Bye", "See you")]);
    }

    #[test]
    fn a_conversation_of_fewer_than_two_parts_is_unusable_and_not_bad() {
        for turns in [
            "",
            r#"{"from": "human", "value": "Hi"}"#,
            r#"{"from": "human", "value": ""}, {"from": "gpt", "value": "Hi"}"#,
        ] {
            let row = format!(r#"{{"conversations": [{turns}]}}"#);
            assert_eq!(ShareGpt.read(&row), Ok(Reading::Unusable), "{row}");
        }
    }

    #[test]
    fn a_row_of_another_form_is_bad() {
        for row in [
            "{}",
            r#"{"conversations": 3}"#,
            r#"{"conversations": [{"from": "human"}]}"#,
            r#"{"conversations": [{"from": "human", "value": 3}]}"#,
        ] {
            assert!(matches!(ShareGpt.read(row), Err(Fault::Json(_))), "{row}");
        }
    }

    fn turns(row: &str) -> Vec<(String, Option<String>)> {
        match Conversations.read(row) {
            Ok(Reading::Row(Row {
                content: RowContent::Turns(turns),
                ..
            })) => turns
                .iter()
                .map(|turn| {
                    (
                        turn.user.to_string(),
                        turn.answer.as_deref().map(str::to_owned),
                    )
                })
                .collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn conversations_keep_their_turns_whatever_the_names_of_their_fields() {
        let expected = [
            ("a".to_owned(), Some("b".to_owned())),
            ("c\n\nd".to_owned(), Some("e\n\nf".to_owned())),
            ("g".to_owned(), None),
        ];
        let row = r#"{"messages": [
            {"role": "system", "content": "s"},
            {"role": "user", "content": "a"}, {"role": "assistant", "content": "b"},
            {"role": "user", "content": "c"}, {"role": "user", "content": "d"},
            {"role": "assistant", "content": "e"}, {"role": "assistant", "content": "f"},
            {"role": "user", "content": "g"}]}"#;
        assert_eq!(turns(row), expected);
        let share = (row.replace("messages", "conversations"))
            .replace("role", "from")
            .replace("content", "value")
            .replace("\"user\"", "\"human\"")
            .replace("assistant", "gpt");
        assert_eq!(turns(&share), expected);
        let silent = r#"{"messages": [{"role": "assistant", "content": "b"}]}"#;
        assert_eq!(Conversations.read(silent), Ok(Reading::Unusable));
    }
}
