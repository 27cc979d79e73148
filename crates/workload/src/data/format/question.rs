//! Objects with a field for the prompt: openqa, custom, instruct and gsm8k.

use super::reader::{Reader, Reading, text_row};
use crate::data::error::Fault;
use crate::data::object::Object;

/// `{"question": …}`, whose other fields are left alone.
pub struct OpenQa {
    pub field: Option<String>,
}

impl Reader for OpenQa {
    fn read(&mut self, row: &str) -> Result<Reading, Fault> {
        let row = Object::parse(row)?;
        let prompt = row.text(self.field.as_deref().unwrap_or("question"))?;
        Ok(text_row(&prompt, None, None))
    }
}

/// `{"prompt": …, "output_tokens": …}`, the second if you like.
pub struct Custom {
    pub field: Option<String>,
}

impl Reader for Custom {
    fn read(&mut self, row: &str) -> Result<Reading, Fault> {
        let row = Object::parse(row)?;
        let prompt = row.text(self.field.as_deref().unwrap_or("prompt"))?;
        Ok(text_row(
            &prompt,
            row.optional_tokens("output_tokens")?,
            None,
        ))
    }
}

/// `{"instruction": …, "input": …, "output": …}`, the last two if you like.
pub struct Instruct {
    pub field: Option<String>,
}

impl Reader for Instruct {
    fn read(&mut self, row: &str) -> Result<Reading, Fault> {
        let row = Object::parse(row)?;
        let output = row.optional_text("output")?;
        let mut prompt = row.text(self.field.as_deref().unwrap_or("instruction"))?;
        // A field that is asked for by name is the whole prompt.
        if self.field.is_none()
            && let Some(input) = row.optional_text("input")?
            && !input.trim().is_empty()
        {
            prompt.to_mut().push_str("\n\n");
            prompt.to_mut().push_str(&input);
        }
        Ok(text_row(&prompt, None, output.as_deref()))
    }
}

/// `{"question": …, "answer": …}`, where the answer ends in `#### N`.
pub struct Gsm8k {
    pub field: Option<String>,
}

impl Reader for Gsm8k {
    fn read(&mut self, row: &str) -> Result<Reading, Fault> {
        let row = Object::parse(row)?;
        let prompt = row.text(self.field.as_deref().unwrap_or("question"))?;
        Ok(text_row(&prompt, None, Some(&row.text("answer")?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::row::{Row, RowContent};

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
            prompt(&row(&mut OpenQa { field: None }, text)),
            "为什么？\n"
        );
        let field = Some("input".to_owned());
        assert_eq!(prompt(&row(&mut OpenQa { field }, text)), "why");
    }

    #[test]
    fn a_missing_field_is_named_with_those_that_are_there() {
        let fault = OpenQa { field: None }.read(r#"{"id": 3, "query": "a"}"#);
        let message = fault.unwrap_err().to_string();
        assert_eq!(
            message,
            "it has no field 'question' but 'id', 'query'; see --field"
        );
    }

    #[test]
    fn what_is_no_text_is_no_prompt() {
        for text in [r#"{"question": 3}"#, r#"{"question": ["a"]}"#] {
            let fault = OpenQa { field: None }.read(text).unwrap_err();
            assert_eq!(fault.to_string(), "its field 'question' should be text");
        }
        for text in ["3", "[]", "{\"question\"", "", "null"] {
            let fault = OpenQa { field: None }.read(text).unwrap_err();
            assert!(matches!(fault, Fault::Json(_)), "{fault}");
        }
        let empty = OpenQa { field: None }.read(r#"{"question": " "}"#);
        assert_eq!(empty, Ok(Reading::Unusable));
    }

    #[test]
    fn custom_rows_may_ask_for_a_length() {
        let mut custom = Custom { field: None };
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
        let mut instruct = Instruct { field: None };
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
        let field = Some("input".to_owned());
        assert_eq!(prompt(&row(&mut Instruct { field }, text)), "Guten Tag");
    }

    #[test]
    fn the_answer_of_a_sum_is_its_reference() {
        let text = r#"{"question": "2+2?", "answer": "Four.\n#### 4"}"#;
        let sum = row(&mut Gsm8k { field: None }, text);
        assert_eq!(sum.reference.as_deref(), Some("Four.\n#### 4"));
        assert!(
            Gsm8k { field: None }
                .read(r#"{"question": "2+2?"}"#)
                .is_err()
        );
    }
}
