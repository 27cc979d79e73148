//! Data sets from file to prompt, as users bring them.

use inferometer_core::units::Span;
use inferometer_core::work::{DataFormat, DataSource, Filter, PromptLength, Window};
use inferometer_workload::data::{
    DataError, DataSet, End, Picked, RowContent, Selected, Selection, detect,
};
use inferometer_workload::tokenizer::{Bytes, Tokenizer};
use inferometer_workload::{Content, Prompts};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures/data")
        .join(name)
}

fn plain() -> DataSource {
    DataSource {
        location: String::new(),
        format: None,
        field: None,
        filter: None,
        limit: None,
        shuffle: false,
        min_prompt: None,
        max_prompt: None,
        skip_bad: false,
        window: Window::default(),
        block_tokens: None,
    }
}

struct Ask<'a> {
    data: DataSource,
    wanted: Option<u64>,
    seed: u64,
    tokenizer: Option<&'a dyn Tokenizer>,
}

impl Default for Ask<'_> {
    fn default() -> Self {
        Ask {
            data: plain(),
            wanted: None,
            seed: 1,
            tokenizer: None,
        }
    }
}

impl Ask<'_> {
    fn of_path(&self, path: &Path) -> Result<Selected, DataError> {
        let selection = Selection {
            data: &self.data,
            path,
            wanted: self.wanted,
            seed: self.seed,
            tokenizer: self.tokenizer,
            cache: None,
        };
        selection.run()
    }

    fn of_bytes(&self, bytes: &[u8]) -> Result<Selected, DataError> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        self.of_path(file.path())
    }

    fn refusal(&self, bytes: &[u8]) -> String {
        self.of_bytes(bytes).unwrap_err().to_string()
    }
}

fn taken(name: &str) -> Selected {
    Ask::default().of_path(&fixture(name)).unwrap()
}

fn texts(selected: &Selected) -> Vec<String> {
    let text = |row: &Picked| row.row.content.prompt_text().into_owned();
    selected.rows.iter().map(text).collect()
}

fn lines(selected: &Selected) -> Vec<u64> {
    selected.rows.iter().map(|row| row.line).collect()
}

/// `{"question": "question N"}` a line.
fn questions(count: usize) -> String {
    (0..count)
        .map(|number| format!("{{\"question\": \"question {number}\"}}\n"))
        .collect()
}

#[test]
fn every_fixture_is_told_by_its_content() {
    for (name, format) in [
        ("sharegpt.json", DataFormat::ShareGpt),
        ("sharegpt.json.zst", DataFormat::ShareGpt),
        ("openqa.jsonl", DataFormat::OpenQa),
        ("openqa.jsonl.gz", DataFormat::OpenQa),
        ("prompts.txt", DataFormat::Line),
        ("messages.jsonl", DataFormat::Line),
        ("bodies.jsonl", DataFormat::Line),
        ("custom.jsonl", DataFormat::Custom),
        ("instruct.json", DataFormat::Instruct),
        ("gsm8k.jsonl", DataFormat::Gsm8k),
        ("mooncake.jsonl", DataFormat::Mooncake),
        ("bailian.jsonl", DataFormat::Bailian),
        ("trace.jsonl", DataFormat::Trace),
        ("agentic.json", DataFormat::Agentic),
        ("otel.jsonl", DataFormat::Otel),
        ("litellm.jsonl", DataFormat::LiteLlm),
        ("vllm.log", DataFormat::VllmLog),
        ("burstgpt.csv", DataFormat::BurstGpt),
        ("azure.csv", DataFormat::Azure),
        ("conversations.jsonl", DataFormat::Line),
        ("text.txt", DataFormat::Line),
    ] {
        assert_eq!(detect(&fixture(name), None).unwrap(), format, "{name}");
    }
}

#[test]
fn packed_files_give_the_rows_of_plain_ones() {
    for (packed, name) in [
        ("sharegpt.json.zst", "sharegpt.json"),
        ("openqa.jsonl.gz", "openqa.jsonl"),
    ] {
        assert_eq!(taken(packed).rows, taken(name).rows);
    }
}

#[test]
fn sharegpt_takes_first_questions_and_counts_what_it_cannot_use() {
    let selected = taken("sharegpt.json");
    assert_eq!(lines(&selected), [2, 23, 49]);
    assert_eq!((selected.seen, selected.unusable), (4, 1));
    assert_eq!(selected.end, End::OfFile);
    assert_eq!(texts(&selected)[2], "Name three rivers that flow north.");
    let reference = selected.rows[2].row.reference.as_deref();
    assert_eq!(reference, Some("The Nile, the Ob and the Mackenzie."));
}

#[test]
fn lines_of_text_are_prompts_as_they_stand() {
    let selected = taken("prompts.txt");
    assert_eq!(lines(&selected), [1, 3, 4, 5]);
    assert_eq!(
        texts(&selected)[2],
        "[Scene: a station] Continue the dialogue."
    );
}

#[test]
fn messages_and_bodies_reach_the_prompt_in_their_form() {
    let set = DataSet::new(taken("messages.jsonl")).unwrap();
    assert!(matches!(set.prompt(0, 0).content, Content::Messages(_)));
    assert_eq!(set.prompt(1, 0).chars, 35);
    assert_eq!(set.answer(1, 0).as_deref(), Some("Bonne nuit."));
    let set = DataSet::new(taken("bodies.jsonl")).unwrap();
    let body = set.prompt(0, 0);
    assert!(matches!(body.content, Content::Body(_)));
    assert_eq!(body.output_tokens, Some(16));
}

#[test]
fn lengths_come_from_the_row_or_else_from_the_reference() {
    let set = DataSet::new(taken("custom.jsonl")).unwrap();
    assert_eq!(set.prompt(0, 0).output_tokens, Some(64));
    assert_eq!(set.prompt(1, 0).output_tokens, None);
    let ask = Ask {
        tokenizer: Some(&Bytes),
        ..Ask::default()
    };
    let selected = ask.of_path(&fixture("instruct.json")).unwrap();
    let prompt = DataSet::new(selected).unwrap().prompt(0, 0);
    assert_eq!(
        prompt.input_tokens,
        Some("Sort the words.\n\npear, apple, fig".len() as u32)
    );
    assert_eq!(prompt.output_tokens, Some("apple, fig, pear".len() as u32));
}

#[test]
fn prompts_begin_again_when_they_are_used_up_and_equal_ones_count_once() {
    let selected = Ask::default().of_bytes(b"a\nb\na\n").unwrap();
    let set = DataSet::new(selected).unwrap();
    assert_eq!(set.prompt(4, 0).content, Content::Text("b".into()));
    assert_eq!(set.distinct(), Some(2));
    assert_eq!(set.turns(0), 1);
}

#[test]
fn conversations_are_told_turn_by_turn() {
    let mut ask = Ask::default();
    ask.data.format = Some(DataFormat::Conversations);
    ask.tokenizer = Some(&Bytes);
    let set = DataSet::new(ask.of_path(&fixture("conversations.jsonl")).unwrap()).unwrap();
    assert_eq!((set.turns(0), set.turns(1), set.turns(2)), (3, 1, 3));
    let second = set.prompt(0, 1);
    assert_eq!(second.content, Content::Text("Is it long?".into()));
    assert_eq!(
        (second.input_tokens, second.output_tokens),
        (Some(11), Some(18))
    );
    assert_eq!(set.answer(0, 1).as_deref(), Some("Two hundred pages."));
    assert_eq!(set.answer(0, 2), None);
    assert_eq!(set.distinct(), Some(2));
}

fn trace(selected: &Selected) -> Vec<(u64, u32, u32)> {
    let lengths = |row: &Picked| match &row.row.content {
        RowContent::Lengths {
            at, input_tokens, ..
        } => (
            at.as_millis() as u64,
            *input_tokens,
            row.row.output_tokens.unwrap(),
        ),
        other => panic!("{other:?}"),
    };
    selected.rows.iter().map(lengths).collect()
}

#[test]
fn traces_have_times_and_lengths() {
    let mooncake = taken("mooncake.jsonl");
    assert_eq!(
        trace(&mooncake),
        [(0, 1100, 52), (0, 600, 9), (3000, 2048, 300), (6000, 17, 4)]
    );
    assert_eq!(mooncake.rows[0].prompt_tokens, Some(1100));
    let burst = taken("burstgpt.csv");
    assert_eq!(trace(&burst), [(0, 472, 18), (113_500, 417, 276)]);
    assert_eq!((burst.seen, burst.unusable), (3, 1));
    let azure = taken("azure.csv");
    assert_eq!(
        trace(&azure),
        [(0, 374, 44), (4314, 396, 109), (60_000, 879, 55)]
    );
    assert!(matches!(
        DataSet::new(azure),
        Err(DataError::LengthsOnly { line: 2 })
    ));
}

#[test]
fn a_window_of_a_trace_begins_at_zero_and_ends_the_reading() {
    let mut ask = Ask::default();
    ask.data.window = Window {
        from: Span(Duration::from_secs(2)),
        length: Some(Span(Duration::from_secs(4))),
    };
    let selected = ask.of_path(&fixture("mooncake.jsonl")).unwrap();
    assert_eq!(trace(&selected), [(1000, 2048, 300)]);
    assert_eq!(selected.filtered_out.outside_window, 2);
    assert_eq!(selected.end, End::Window);
    // Lengths of a trace are in tokens without any tokenizer.
    let mut ask = Ask::default();
    ask.data.max_prompt = Some(PromptLength::Tokens(1000));
    let selected = ask.of_path(&fixture("mooncake.jsonl")).unwrap();
    assert_eq!(trace(&selected), [(0, 600, 9), (6000, 17, 4)]);
}

#[test]
fn a_trace_that_goes_back_or_is_to_be_shuffled_is_refused() {
    let trace = b"Timestamp,Request tokens,Response tokens\n5,1,1\n4,1,1\n6,1,1\n";
    let message = Ask::default().refusal(trace);
    assert!(message.starts_with("line 3 of "), "{message}");
    assert!(message.contains("earlier than the row before") && message.contains("--skip-bad"));
    let mut ask = Ask::default();
    ask.data.skip_bad = true;
    assert_eq!(ask.of_bytes(trace).unwrap().rows.len(), 2);
    ask.data.shuffle = true;
    assert!(ask.refusal(trace).contains("--shuffle"));
}

#[test]
fn a_text_is_cut_into_prompts() {
    let mut ask = Ask::default();
    ask.data.format = Some(DataFormat::Text);
    ask.wanted = Some(3);
    let refusal = ask.of_path(&fixture("text.txt")).unwrap_err().to_string();
    assert!(refusal.contains("--max-prompt"), "{refusal}");
    ask.data.max_prompt = Some(PromptLength::Chars(200));
    let selected = ask.of_path(&fixture("text.txt")).unwrap();
    assert_eq!(lines(&selected), [1, 3, 6]);
    assert!(
        texts(&selected)
            .iter()
            .all(|text| text.chars().count() == 200)
    );
    assert_eq!(selected.end, End::Enough);
}

#[test]
fn bad_rows_name_file_line_and_reason_or_are_counted() {
    for (bytes, line, reason) in [
        (
            &b"{\"question\": \"a\"}\n{\"question\": \n"[..],
            2,
            "JSON does not fit",
        ),
        (
            b"[{\"question\": \"a\"},\n {\"question\": \"b",
            2,
            "the file ends in the middle of it",
        ),
        (
            b"{\"question\": \"a\"}\n\n{\"query\": \"b\"}\n",
            3,
            "no field 'question' but 'query'",
        ),
        (
            b"{\"question\": \"a\"}\n{\"question\": 4}\n",
            2,
            "'question' should be text",
        ),
        (
            b"{\"question\": \"a\"}\n{\"question\": \"\xff\"}\n",
            2,
            "not UTF-8",
        ),
    ] {
        let message = Ask::default().refusal(bytes);
        assert!(
            message.starts_with(&format!("line {line} of /")),
            "{message}"
        );
        assert!(
            message.contains(reason) && message.contains("--skip-bad"),
            "{message}"
        );
        let mut ask = Ask::default();
        ask.data.skip_bad = true;
        let selected = ask.of_bytes(bytes).unwrap();
        assert_eq!(
            (selected.rows.len(), selected.bad_count, selected.seen),
            (1, 1, 2)
        );
        assert_eq!(selected.bad[0].line, line);
    }
}

#[test]
fn a_row_beyond_all_measure_is_skipped_and_counted() {
    let mut file = questions(1);
    file.push_str("{\"question\": \"");
    file.extend(std::iter::repeat_n('x', 33 << 20));
    file.push_str("\"}\n");
    file.push_str(&questions(2));
    assert!(
        Ask::default()
            .refusal(file.as_bytes())
            .contains("longer than 32 MiB")
    );
    let mut ask = Ask::default();
    ask.data.skip_bad = true;
    let selected = ask.of_bytes(file.as_bytes()).unwrap();
    assert_eq!((lines(&selected), selected.bad_count), (vec![1, 3, 4], 1));
}

#[test]
fn all_bad_rows_are_counted_and_the_first_hundred_kept() {
    let mut ask = Ask::default();
    ask.data.skip_bad = true;
    let selected = ask
        .of_bytes((questions(1) + &"{\"a\": 1}\n".repeat(250)).as_bytes())
        .unwrap();
    assert_eq!((selected.bad_count, selected.bad.len()), (250, 100));
}

#[test]
fn reading_ends_when_enough_is_taken_and_what_lies_behind_does_not_matter() {
    let file = questions(5) + "{\"question\": \n";
    for tokenizer in [None, Some(&Bytes as &dyn Tokenizer)] {
        let mut ask = Ask {
            wanted: Some(3),
            tokenizer,
            ..Ask::default()
        };
        ask.data.min_prompt = tokenizer.map(|_| PromptLength::Tokens(2));
        let selected = ask.of_bytes(file.as_bytes()).unwrap();
        assert_eq!((lines(&selected), selected.seen), (vec![1, 2, 3], 3));
        assert_eq!(selected.end, End::Enough);
        assert_ne!(selected.end, End::OfFile);
    }
}

#[test]
fn a_limit_is_the_first_rows_shuffled_or_not() {
    let mut ask = Ask::default();
    ask.data.limit = Some(4);
    let selected = ask.of_bytes(questions(50).as_bytes()).unwrap();
    assert_eq!(
        (lines(&selected), selected.end),
        (vec![1, 2, 3, 4], End::Limit)
    );
    ask.data.shuffle = true;
    let mut shuffled = lines(&ask.of_bytes(questions(50).as_bytes()).unwrap());
    shuffled.sort_unstable();
    assert_eq!(shuffled, [1, 2, 3, 4]);
}

#[test]
fn a_seed_draws_the_same_rows_in_the_same_order() {
    let file = questions(500);
    let draw = |seed| {
        let mut ask = Ask {
            seed,
            wanted: Some(20),
            ..Ask::default()
        };
        ask.data.shuffle = true;
        let selected = ask.of_bytes(file.as_bytes()).unwrap();
        assert_eq!(selected.end, End::OfFile);
        lines(&selected)
    };
    assert_eq!(draw(7), draw(7));
    assert_ne!(draw(7), draw(8));
    assert!(draw(7).iter().any(|line| *line > 20));
}

#[test]
fn prompts_of_the_wrong_length_are_left_and_counted() {
    let file = "四个汉字\nabc\nabcdefgh\nabcdefghijkl\n".as_bytes();
    let mut ask = Ask::default();
    ask.data.min_prompt = Some(PromptLength::Chars(4));
    ask.data.max_prompt = Some(PromptLength::Chars(8));
    let selected = ask.of_bytes(file).unwrap();
    assert_eq!(texts(&selected), ["四个汉字", "abcdefgh"]);
    assert_eq!(
        (
            selected.filtered_out.too_short,
            selected.filtered_out.too_long
        ),
        (1, 1)
    );
    ask.data.min_prompt = Some(PromptLength::Tokens(12));
    ask.data.max_prompt = None;
    assert!(ask.refusal(file).contains("--tokenizer"));
    ask.tokenizer = Some(&Bytes);
    let selected = ask.of_bytes(file).unwrap();
    assert_eq!(texts(&selected), ["四个汉字", "abcdefghijkl"]);
    assert_eq!(selected.rows[0].prompt_tokens, Some(12));
}

#[test]
fn the_filter_of_vllm_needs_a_tokenizer_and_judges_prompt_and_answer() {
    let row = |prompt: usize, answer: usize| {
        let (prompt, answer) = ("p".repeat(prompt), "a".repeat(answer));
        format!(
            r#"{{"conversations": [{{"from": "human", "value": "{prompt}"}}, {{"from": "gpt", "value": "{answer}"}}]}}"#
        )
    };
    let rows = [
        row(10, 10),
        row(10, 3),
        row(3, 10),
        row(1025, 10),
        row(1000, 1049),
    ];
    let file = format!("[{}]", rows.join(",\n"));
    let mut ask = Ask::default();
    ask.data.filter = Some(Filter::Vllm);
    assert!(ask.refusal(file.as_bytes()).contains("--tokenizer"));
    ask.tokenizer = Some(&Bytes);
    let selected = ask.of_bytes(file.as_bytes()).unwrap();
    assert_eq!(
        (lines(&selected), selected.filtered_out.by_filter),
        (vec![1], 4)
    );
    assert_eq!(selected.rows[0].reference_tokens, Some(10));
}

#[test]
fn nothing_left_says_why() {
    for empty in [&b""[..], b"\n\n", b"\xef\xbb\xbf"] {
        assert!(
            Ask::default()
                .refusal(empty)
                .ends_with("is empty; give a file with at least one row")
        );
    }
    assert!(Ask::default().refusal(b"[]").contains("is empty"));
    let mut ask = Ask::default();
    ask.data.min_prompt = Some(PromptLength::Chars(99));
    ask.data.skip_bad = true;
    let file = questions(3) + "{\"question\": \"\"}\n{\"question\": 3}\n";
    let message = ask.refusal(file.as_bytes());
    assert!(
        message.contains("of 5, 3 shorter than --min-prompt 99chars, 1 bad, 1 without a prompt"),
        "{message}"
    );
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let message = Ask::default()
        .of_path("/no/such/file".as_ref())
        .unwrap_err()
        .to_string();
    assert!(message.contains("/no/such/file"), "{message}");
    let empty = tempfile::tempdir().unwrap();
    let message = Ask::default()
        .of_path(empty.path())
        .unwrap_err()
        .to_string();
    assert!(
        message.contains(&*empty.path().to_string_lossy()),
        "{message}"
    );
}
