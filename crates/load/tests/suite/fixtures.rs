//! The reader of answers against answers of real servers, byte for byte (`fixtures/sse`), with
//! what a right reader must find stated by a program that shares nothing with it.

use inferometer_core::record::{FailureClass, Outcome, Phase, Record};
use inferometer_core::units::Offset;
use inferometer_load::answer::{AnswerProgress, AnswerReader};
use inferometer_load::api::named_by;
use proptest::prelude::*;
use serde_json::Value;
use std::path::PathBuf;

#[derive(Clone, Debug)]
struct Fixture {
    name: String,
    raw: Vec<u8>,
    expected: Value,
}

impl Fixture {
    fn text(&self, field: &str) -> Option<&str> {
        self.expected[field].as_str()
    }

    fn number(&self, field: &str) -> Option<u32> {
        self.expected[field]
            .as_u64()
            .map(|number| u32::try_from(number).unwrap())
    }

    fn is(&self, field: &str) -> bool {
        self.expected[field].as_bool().unwrap()
    }

    fn status(&self) -> u16 {
        u16::try_from(self.expected["status"].as_u64().unwrap()).unwrap()
    }

    /// Characters of all that the model said. The expectation leaves out the names of tools,
    /// which are tokens as well, so they are taken from the bytes.
    fn chars(&self) -> u64 {
        let said: usize = ["text", "reasoning", "tool"]
            .iter()
            .map(|field| self.text(field).unwrap().chars().count())
            .sum();
        let names = match self.text("tool") {
            Some("") | None => 0,
            Some(_) => String::from_utf8_lossy(&self.raw)
                .split(r#""name":""#)
                .skip(1)
                .map(|rest| rest.split('"').next().unwrap().chars().count())
                .sum(),
        };
        (said + names) as u64
    }
}

fn fixtures() -> Vec<Fixture> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/sse");
    let mut found: Vec<Fixture> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "txt"))
        .map(|path| Fixture {
            name: path.file_stem().unwrap().to_string_lossy().into_owned(),
            raw: std::fs::read(&path).unwrap(),
            expected: serde_json::from_slice(&std::fs::read(path.with_extension("json")).unwrap())
                .unwrap(),
        })
        .collect();
    found.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(
        found.len() > 50,
        "fixtures are missing in {}",
        folder.display()
    );
    found
}

/// The record of an answer that comes in these pieces, and then the connection ends. The time
/// stands still, so that the same answer gives the same record.
fn read<'a>(fixture: &Fixture, pieces: impl IntoIterator<Item = &'a [u8]>) -> Record {
    let now = Offset(1_000_000);
    let path = match fixture.text("api").unwrap() {
        "chat" => "/chat/completions".to_owned(),
        "transcriptions" => "/audio/transcriptions".to_owned(),
        name => format!("/{name}"),
    };
    let (_, dialect) = named_by(&path).unwrap_or_else(|| panic!("{}: {path}", fixture.name));
    let mut record = Record {
        streamed: true,
        ..Record::default()
    };
    let mut reader = AnswerReader::new(dialect);
    let mut over = false;
    for piece in pieces {
        if matches!(
            reader.take(piece, now, &mut record),
            AnswerProgress::Over { .. }
        ) {
            over = true;
            break;
        }
    }
    if !over {
        reader.close(now, &mut record);
    }
    record
}

/// All strings in a body, which is where its message is, escaped or not.
fn strings(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::String(text) => into.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| strings(item, into)),
        Value::Object(fields) => fields.values().for_each(|field| strings(field, into)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn tells(detail: &str, message: &str) -> bool {
    let mut said = vec![detail.to_owned()];
    if let Ok(body) = serde_json::from_str(detail) {
        strings(&body, &mut said);
    }
    let part_is_told = |part: &str| said.iter().any(|text| text.contains(part.trim()));
    part_is_told(message) || message.split("; ").all(part_is_told)
}

/// How the answer must have ended: the phase and class of its failure, or none.
fn ending(fixture: &Fixture) -> Option<(Phase, FailureClass)> {
    let empty = fixture.number("token_chunks") == Some(0);
    match fixture.status() {
        200 if fixture.text("error").is_some() => Some((Phase::Stream, FailureClass::InBandError)),
        200 if !fixture.is("complete") => Some((Phase::Truncated, FailureClass::CutStream)),
        200 if !fixture.is("stream") || fixture.text("finish").is_some() => None,
        200 if empty => Some((Phase::Stream, FailureClass::EmptyStream)),
        200 if fixture.is("done") => None,
        200 => Some((Phase::Truncated, FailureClass::CutStream)),
        404 | 405 => Some((Phase::Status, FailureClass::NotFound)),
        429 => Some((Phase::Status, FailureClass::RateLimited)),
        // Asking for more than the context holds is what these recordings did.
        _ if fixture.name.contains("too-long") => {
            Some((Phase::Status, FailureClass::ContextExceeded))
        }
        500.. => Some((Phase::Status, FailureClass::ServerError)),
        _ => Some((Phase::Status, FailureClass::BadRequest)),
    }
}

/// Everything in which the record differs from the expectation, one line each.
fn differences(fixture: &Fixture, record: &Record) -> Vec<String> {
    let mut found = Vec::new();
    let mut compare = |what: &str, seen: String, expected: String| {
        if seen != expected {
            found.push(format!(
                "{}: {what} is {seen}, expected {expected}",
                fixture.name
            ));
        }
    };
    let failure = record.failure();
    let usage = record.usage.unwrap_or_default();
    let show = |value: Option<u32>| format!("{value:?}");
    compare(
        "status",
        format!("{:?}", record.status),
        format!("{:?}", Some(fixture.status())),
    );
    compare(
        "ending",
        format!(
            "{:?}",
            failure.map(|failure| (failure.phase, failure.class))
        ),
        format!("{:?}", ending(fixture)),
    );
    compare(
        "finish",
        format!("{:?}", record.finish.as_deref()),
        format!("{:?}", fixture.text("finish")),
    );
    compare(
        "prompt tokens",
        show(usage.input),
        show(fixture.number("prompt_tokens")),
    );
    compare(
        "completion tokens",
        show(usage.output),
        show(fixture.number("completion_tokens")),
    );
    compare(
        "cached tokens",
        show(usage.cached),
        show(fixture.number("cached_tokens")),
    );
    compare(
        "characters",
        record.output_chars.to_string(),
        fixture.chars().to_string(),
    );
    compare("items", show(record.items), show(fixture.number("items")));
    let chunks = fixture.number("token_chunks").unwrap_or(0);
    compare(
        "number of token chunks",
        record.chunks.len().to_string(),
        chunks.to_string(),
    );
    let streamed = fixture.is("stream") || fixture.status() != 200;
    compare(
        "streamed",
        record.streamed.to_string(),
        streamed.to_string(),
    );
    if let Some(counts) = &record.chunks.tokens {
        let sum: u32 = counts.iter().sum();
        compare(
            "sum of tokens per chunk",
            show(Some(sum)),
            show(fixture.number("completion_tokens")),
        );
    }
    if let (Some(message), Some(failure)) = (fixture.text("error"), failure)
        && !tells(&failure.detail, message)
    {
        found.push(format!(
            "{}: '{}' does not tell '{message}'",
            fixture.name, failure.detail
        ));
    }
    if record.end.is_none() || matches!(record.outcome, Outcome::Cut) {
        found.push(format!("{}: the record has no end", fixture.name));
    }
    found
}

fn assert_none(differences: Vec<String>) {
    assert!(differences.is_empty(), "\n{}\n", differences.join("\n"));
}

#[test]
fn whole_answers_are_read_as_expected() {
    let differ = |fixture: &Fixture| differences(fixture, &read(fixture, [fixture.raw.as_slice()]));
    assert_none(fixtures().iter().flat_map(differ).collect());
}

#[test]
fn answers_that_come_byte_by_byte_are_read_as_expected() {
    let differ = |fixture: &Fixture| differences(fixture, &read(fixture, fixture.raw.chunks(1)));
    assert_none(fixtures().iter().flat_map(differ).collect());
}

/// A record without what depends on the reads: which chunks came together.
fn apart_from_reads(mut record: Record) -> Record {
    record.chunks.same_read.clear();
    record
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_split_gives_the_record_of_the_whole(
        fixture in prop::sample::select(fixtures()),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..24),
    ) {
        let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(fixture.raw.len())).collect();
        at.extend([0, fixture.raw.len()]);
        at.sort_unstable();
        at.dedup();
        let pieces = at.windows(2).map(|pair| &fixture.raw[pair[0]..pair[1]]);
        let split = read(&fixture, pieces);
        let whole = read(&fixture, [fixture.raw.as_slice()]);
        prop_assert_eq!(apart_from_reads(split), apart_from_reads(whole), "{}", fixture.name);
    }
}
