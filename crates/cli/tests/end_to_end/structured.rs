//! Tools and structured output: what is asked, what counts as a token, what is valid.

use crate::support::{Place, Run, Sim};
use inferometer_store::texts_file::{RequestText, read_texts};

const FEW: [&str; 4] = ["--requests", "20", "--concurrency", "4"];

const TOOLS: &str = r#"[{"type": "function", "function": {"name": "weather", "parameters":
    {"type": "object", "required": ["city"], "properties":
        {"city": {"type": "string"}, "days": {"type": "integer"}}}}}]"#;

const SCHEMA: &str = r#"{"type": "object", "required": ["name"], "additionalProperties": false,
    "properties": {"name": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}}}}"#;

fn invalid(run: &Run) -> Vec<RequestText> {
    let path = run.path.join("records/invalid.jsonl");
    match read_texts(&path) {
        Ok(texts) => texts.map(Result::unwrap).collect(),
        Err(_) => Vec::new(),
    }
}

#[test]
fn calls_of_tools_end_ttft_count_as_output_and_are_held_against_their_tools() {
    let sim = Sim::start(&[]);
    let place = Place::new();
    let tools = place.write("tools.json", TOOLS);
    for stream in [&[][..], &["--no-stream"]] {
        let options = [&FEW[..], &["--tools", &tools], stream].concat();
        let run = place.measure(&sim.url, &options);
        run.assert_all_ok(20);
        let found = run.summary.structured.unwrap();
        assert_eq!(
            (found.tools_offered, found.with_calls, found.tool_calls),
            (20, 20, 20)
        );
        assert_eq!(found.valid_tool_calls, Some(1.0));
        assert_eq!(found.valid_json, None);
        for record in run.records.iter().filter(|record| record.streamed) {
            // The name of the tool is the first token.
            assert!(record.chunks.len() > 1 && record.first_answer == record.first_token());
            assert_eq!(record.output_tokens(), Some(record.chunks.len() as u32));
            assert_eq!(record.finish.as_deref(), Some("tool_calls"));
        }
        assert!(invalid(&run).is_empty());
    }
}

#[test]
fn invalid_json_and_invalid_calls_are_counted_and_kept_for_reading() {
    let sim = Sim::start(&["--seed", "3", "--faults", "invalid-json=50%"]);
    let place = Place::new();
    let tools = place.write("tools.json", TOOLS);
    let schema = place.write("schema.json", SCHEMA);
    for (option, file) in [("--tools", &tools), ("--json-schema", &schema)] {
        let run = place.measure(&sim.url, &[&FEW[..], &[option, file]].concat());
        let found = run.summary.structured.unwrap();
        let share = found.valid_json.or(found.valid_tool_calls).unwrap();
        assert!(share > 0.0 && share < 1.0, "{option}: {share}");
        let wrong = run.records.iter().filter(|record| {
            record.valid_json == Some(false) || record.valid_tool_calls < record.tool_calls
        });
        assert_eq!(wrong.count(), invalid(&run).len(), "{option}");
        assert!(
            run.ended.stdout.contains("records/invalid.jsonl"),
            "{}",
            run.ended.stdout
        );
    }
}

#[test]
fn rows_bring_their_own_tools_and_formats_and_bad_files_are_refused() {
    let sim = Sim::start(&[]);
    let place = Place::new();
    let messages = r#""messages": [{"role": "user", "content": "go"}]"#;
    let rows = [
        format!(
            "{{{messages}, \"response_format\": {{\"type\": \"json_object\"}}, \"max_tokens\": 40}}"
        ),
        format!(
            "{{{messages}, \"tools\": {}, \"max_tokens\": 40}}",
            TOOLS.replace('\n', " ")
        ),
    ];
    let data = place.write("rows.jsonl", rows.join("\n") + "\n");
    let run = place.measure(&sim.url, &[&FEW[..], &["--data", &data]].concat());
    run.assert_all_ok(20);
    let found = run.summary.structured.unwrap();
    assert_eq!((found.json_asked, found.valid_json), (10, Some(1.0)));
    assert_eq!(
        (found.tools_offered, found.valid_tool_calls),
        (10, Some(1.0))
    );
    let refuse = |options: &[&str], words: &[&str]| {
        let ended = place.run(&[&["run", &sim.url], options].concat());
        ended.assert_refused(words);
    };
    let none = place.write("none.json", r#"{"type": "text"}"#);
    refuse(&["--json-schema", &none], &["none.json", "JSON schema"]);
    refuse(&["--json-schema", "missing.json"], &["missing.json"]);
    refuse(&["--tools", &none], &["none.json", "tools"]);
    refuse(&["--api", "completions", "--tools", &none], &["--api chat"]);
}
