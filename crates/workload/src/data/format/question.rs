//! Objects with a field for the prompt: openqa, custom, instruct and gsm8k.

use super::reader::{Reader, Reading, text_row};
use crate::data::error::Fault;
use crate::data::media::{self, sounds};
use crate::data::object::Object;
use crate::data::row::{Row, RowContent};

pub struct Question {
    pub kind: QuestionKind,
    /// The field of the prompt, where the user names it.
    pub field: Option<String>,
}

#[derive(Clone, Copy)]
pub enum QuestionKind {
    /// `{"question": …}`, whose other fields are left alone.
    OpenQa,
    /// `{"prompt": …, "output_tokens": …}`, the second if you like.
    Custom,
    /// `{"instruction": …, "input": …, "output": …}`, the last two if you like.
    Instruct,
    /// `{"question": …, "answer": …}`, where the answer ends in `#### N`.
    Gsm8k,
}

impl Reader for Question {
    fn read(&mut self, row: &str) -> Result<Reading, Fault> {
        let row = Object::parse(row)?;
        if let Some(heard) = self.only_sound(&row) {
            return Ok(heard);
        }
        let prompt = |usual| row.text(self.field.as_deref().unwrap_or(usual));
        let reading = match self.kind {
            QuestionKind::OpenQa => text_row(&prompt("question")?, None, None),
            QuestionKind::Custom => {
                let prompt = prompt("prompt")?;
                text_row(&prompt, row.optional_tokens("output_tokens")?, None)
            }
            QuestionKind::Instruct => {
                let output = row.optional_text("output")?;
                let mut prompt = prompt("instruction")?;
                // A field that is asked for by name is the whole prompt.
                if self.field.is_none()
                    && let Some(input) = row.optional_text("input")?
                    && !input.trim().is_empty()
                {
                    prompt.to_mut().push_str("\n\n");
                    prompt.to_mut().push_str(&input);
                }
                text_row(&prompt, None, output.as_deref())
            }
            QuestionKind::Gsm8k => {
                let prompt = prompt("question")?;
                text_row(&prompt, None, Some(&row.text("answer")?))
            }
        };
        let mut reading = reading.expecting(row.expected());
        if let Reading::Row(read) = &mut reading
            && let RowContent::Text(text) = &read.content
            && let Some(message) = media::message(text, &row)
        {
            read.content = RowContent::Messages(message);
        }
        Ok(reading)
    }
}

impl Question {
    /// A row with a sound and nothing that is asked of it; what is said in it is expected.
    fn only_sound(&self, row: &Object<'_>) -> Option<Reading> {
        let is_asked = self.field.is_some() || row.get("question").is_some();
        if is_asked || !matches!(self.kind, QuestionKind::OpenQa) || !sounds::are_in(row) {
            return None;
        }
        let said = sounds::transcript(row).map(Into::into);
        Some(Reading::Row(Row {
            content: RowContent::Messages(media::message("", row)?),
            output_tokens: None,
            reference: None,
            expected: said.or_else(|| row.expected()),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(kind: QuestionKind) -> Question {
        Question { kind, field: None }
    }

    fn of_input(kind: QuestionKind) -> Question {
        Question {
            kind,
            field: Some("input".to_owned()),
        }
    }

    fn row(reader: &mut dyn Reader, text: &str) -> Row {
        match reader.read(text) {
            Ok(Reading::Row(row)) => row,
            other => panic!("{other:?}"),
        }
    }

    fn prompt(row: &Row) -> &str {
        match &row.content {
            RowContent::Text(text) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_question_is_the_prompt_and_the_field_may_have_another_name() {
        let text = r#"{"id": 3, "question": "为什么？\n", "input": "why"}"#;
        assert_eq!(
            prompt(&row(&mut reader(QuestionKind::OpenQa), text)),
            "为什么？\n"
        );
        assert_eq!(
            prompt(&row(&mut of_input(QuestionKind::OpenQa), text)),
            "why"
        );
    }

    #[test]
    fn a_missing_field_is_named_with_those_that_are_there() {
        let fault = reader(QuestionKind::OpenQa).read(r#"{"id": 3, "query": "a"}"#);
        let message = fault.unwrap_err().to_string();
        assert_eq!(
            message,
            "it has no field 'question' but 'id', 'query'; see --field"
        );
    }

    #[test]
    fn what_is_no_text_is_no_prompt() {
        for text in [r#"{"question": 3}"#, r#"{"question": ["a"]}"#] {
            let fault = reader(QuestionKind::OpenQa).read(text).unwrap_err();
            assert_eq!(fault.to_string(), "its field 'question' should be text");
        }
        for text in ["3", "[]", "{\"question\"", "", "null"] {
            let fault = reader(QuestionKind::OpenQa).read(text).unwrap_err();
            assert!(matches!(fault, Fault::Json(_)), "{fault}");
        }
        let empty = reader(QuestionKind::OpenQa).read(r#"{"question": " "}"#);
        assert_eq!(empty, Ok(Reading::Unusable));
    }

    #[test]
    fn custom_rows_may_ask_for_a_length() {
        let mut custom = reader(QuestionKind::Custom);
        assert_eq!(row(&mut custom, r#"{"prompt": "a"}"#).output_tokens, None);
        let asked = row(&mut custom, r#"{"prompt": "a", "output_tokens": 7}"#);
        assert_eq!(asked.output_tokens, Some(7));
        for bad in ["0", "-1", "1.5", "\"7\"", "99999999999"] {
            let text = format!(r#"{{"prompt": "a", "output_tokens": {bad}}}"#);
            assert!(custom.read(&text).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_instruction_comes_with_its_input_and_the_output_is_the_reference() {
        let mut instruct = reader(QuestionKind::Instruct);
        let text = r#"{"instruction": "Translate.", "input": "Guten Tag", "output": "Good day"}"#;
        let full = row(&mut instruct, text);
        assert_eq!(prompt(&full), "Translate.\n\nGuten Tag");
        assert_eq!(full.reference.as_deref(), Some("Good day"));
        for text in [
            r#"{"instruction": "Go.", "input": ""}"#,
            r#"{"instruction": "Go.", "input": null}"#,
            r#"{"instruction": "Go."}"#,
        ] {
            let bare = row(&mut instruct, text);
            assert_eq!((prompt(&bare), bare.reference.as_deref()), ("Go.", None));
        }
        let named = row(&mut of_input(QuestionKind::Instruct), text);
        assert_eq!(prompt(&named), "Guten Tag");
    }

    #[test]
    fn what_is_expected_has_one_of_the_usual_names_and_asks_for_no_length() {
        for (text, expected) in [
            (r#"{"question": "a", "answer": "B"}"#, Some("B")),
            (r#"{"question": "a", "target": 7, "label": "x"}"#, Some("7")),
            (r#"{"question": "a", "answer": null}"#, None),
            (r#"{"question": "a"}"#, None),
        ] {
            let row = row(&mut reader(QuestionKind::OpenQa), text);
            assert_eq!(row.expected.as_deref(), expected, "{text}");
            assert_eq!(row.reference, None);
        }
    }

    #[test]
    fn a_sound_needs_no_question_and_what_is_said_in_it_is_expected() {
        let text = r#"{"audio_filepath": "a.wav", "duration": 2.5, "text": "said"}"#;
        let heard = row(&mut reader(QuestionKind::OpenQa), text);
        assert_eq!(heard.expected.as_deref(), Some("said"));
        let RowContent::Messages(json) = &heard.content else {
            panic!("{heard:?}");
        };
        assert!(json.contains("a.wav") && !json.contains("said"), "{json}");
        let text = r#"{"question": "what is said?", "audio": "a.wav"}"#;
        let asked = row(&mut reader(QuestionKind::OpenQa), text);
        assert_eq!(asked.content.prompt_text(), "what is said?");
    }

    #[test]
    fn the_answer_of_a_sum_is_its_reference() {
        let text = r#"{"question": "2+2?", "answer": "Four.\n#### 4"}"#;
        let sum = row(&mut reader(QuestionKind::Gsm8k), text);
        assert_eq!(sum.reference.as_deref(), Some("Four.\n#### 4"));
        assert!(
            reader(QuestionKind::Gsm8k)
                .read(r#"{"question": "2+2?"}"#)
                .is_err()
        );
    }
}
