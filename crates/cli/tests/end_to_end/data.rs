//! Data sets that users bring: every format runs, bad ones are told, remote ones are fetched
//! once, and `inferometer data` shows what is in them.

use crate::support::{Crooked, Place, Run, Sim, answer};
use inferometer_core::doubt::{DoubtCode, Severity};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// A data set of ours.
pub fn fixture(name: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/data");
    folder.join(name).to_str().unwrap().to_owned()
}

/// All is answered, and nothing speaks against the work. Other doubts are about the times, which
/// a busy machine spoils, or about the simulated engine's own way to count tokens.
#[track_caller]
pub fn assert_sound(run: &Run) {
    let accounts = run.summary.requests;
    assert_eq!(accounts.ok, accounts.planned, "{:?}", run.summary.failures);
    let about_work = [
        DoubtCode::LostRequests,
        DoubtCode::UnfilledStreams,
        DoubtCode::Interrupted,
        DoubtCode::Failures,
        DoubtCode::OutputLengths,
        DoubtCode::OutputCapped,
        DoubtCode::TokenSource,
        DoubtCode::ChunkNotToken,
        DoubtCode::WarmCache,
        DoubtCode::RepeatedPrompts,
        DoubtCode::ServerDied,
        DoubtCode::NothingMeasured,
    ];
    let grave = (run.summary.doubts.iter())
        .find(|doubt| doubt.severity > Severity::Note && about_work.contains(&doubt.code));
    assert!(grave.is_none(), "{grave:?}");
}

#[track_caller]
fn noted(run: &Run, words: &str) {
    let found = run.notes.iter().any(|note| note.contains(words));
    assert!(found, "'{words}' is not in {:?}", run.notes);
}

/// A file, the format that it has, and options that it needs.
type Case<'a> = (&'a str, &'a str, &'a [&'a str]);

fn assert_each_runs(cases: &[Case<'_>]) {
    let sim = Sim::start(&[]);
    let place = Place::new();
    for (file, format, more) in cases {
        let data = fixture(file);
        let mut options = vec!["--data", &data, "--tokenizer", "cl100k"];
        // Answers as long as the data say.
        options.extend(["--warmup", "0", "--ignore-eos"]);
        options.extend(*more);
        if !more.contains(&"--speed") {
            options.extend(["--requests", "5", "--concurrency", "2"]);
        }
        let run = place.measure(&sim.url, &options);
        assert_sound(&run);
        noted(&run, &format!("read as {format}"));
        for record in &run.records {
            // What a server answered before is in the later turns, and nobody counted that.
            let counted = record.turn.is_none_or(|turn| turn == 0);
            assert_eq!(record.input_tokens_asked.is_some(), counted, "{file}");
            assert!(record.input_chars > 0, "{file}: {record:?}");
        }
    }
}

#[test]
fn every_data_set_of_questions_runs() {
    assert_each_runs(&[
        ("custom.jsonl", "custom", &[]),
        ("gsm8k.jsonl", "gsm8k", &[]),
        ("instruct.json", "instruct", &[]),
        ("openqa.jsonl", "openqa", &[]),
        ("openqa.jsonl.gz", "openqa", &[]),
    ]);
}

#[test]
fn every_data_set_of_lines_and_conversations_runs() {
    let talk = ["--data-format", "conversations"];
    assert_each_runs(&[
        ("bodies.jsonl", "line", &[]),
        ("messages.jsonl", "line", &[]),
        ("prompts.txt", "line", &[]),
        ("sharegpt.json", "sharegpt", &[]),
        ("sharegpt.json.zst", "sharegpt", &["--filter", "vllm"]),
        ("conversations.jsonl", "conversations", &talk),
    ]);
}

#[test]
fn every_trace_runs() {
    assert_each_runs(&[
        ("mooncake.jsonl", "mooncake", &["--speed", "60"]),
        ("burstgpt.csv", "burstgpt", &["--speed", "600"]),
        ("azure.csv", "azure", &["--speed", "600"]),
    ]);
}

#[test]
fn a_text_is_cut_into_pieces() {
    let sim = Sim::start(&[]);
    let text = fixture("text.txt");
    let run = Place::new().measure(
        &sim.url,
        &[
            "--data",
            &text,
            "--data-format",
            "text",
            "--input-chars",
            "300",
            "--max-tokens",
            "4",
            "--requests",
            "4",
            "--warmup",
            "0",
        ],
    );
    assert_sound(&run);
    let template = run.summary.continuation.as_ref().unwrap().template_chars;
    for record in &run.records {
        assert_eq!(record.input_chars, 300 + template.unwrap());
    }
}

#[test]
fn lengths_of_prompts_and_answers_are_those_of_the_data() {
    let sim = Sim::start(&[]);
    let place = Place::new();
    let data = place.write(
        "two.jsonl",
        "{\"prompt\":\"hello world\",\"output_tokens\":3}\n{\"prompt\":\"one two three four\",\"output_tokens\":7}\n",
    );
    let options = ["--data", &data, "--tokenizer", "cl100k", "--requests", "4"];
    let run = place.measure(&sim.url, &[&options[..], &["--warmup", "0"]].concat());
    let asked = |record: &inferometer_core::record::Record| {
        (
            record.input_tokens_asked,
            record.input_chars,
            record.output_tokens_asked,
        )
    };
    let lengths: Vec<_> = run.records.iter().map(asked).collect();
    let (first, second) = ((Some(2), 11, Some(3)), (Some(4), 18, Some(7)));
    assert_eq!(lengths, [first, second, first, second]);
    // The data are shorter than the run, which says so.
    noted(&run, "2 distinct prompts, which are reused in turn");
}

#[test]
fn without_a_tokenizer_no_length_is_claimed_and_the_stand_in_is_told() {
    let sim = Sim::start(&[]);
    let data = fixture("sharegpt.json");
    let run = Place::new().measure(&sim.url, &["--data", &data, "--requests", "3"]);
    assert!(
        run.records
            .iter()
            .all(|record| record.input_tokens_asked.is_none())
    );
    assert!(
        run.records
            .iter()
            .all(|record| record.output_tokens_asked.is_some())
    );
    noted(&run, "counted with cl100k");
}

#[test]
fn bad_data_are_told_in_one_line_with_their_place_and_a_remedy() {
    let place = Place::new();
    let cut = place.write("cut.json", "[{\"prompt\":\"a\"},{\"prompt\":\"b");
    let keys = place.write("keys.jsonl", "{\"id\":1,\"query\":\"why\"}\n");
    let empty = place.write("empty.jsonl", "");
    let latin = place.write("latin.txt", b"good\nbad \xff\n");
    let back = place.write(
        "back.jsonl",
        "{\"timestamp\":5000,\"input_length\":5,\"output_length\":5}\n{\"timestamp\":4000,\"input_length\":5,\"output_length\":5}\n",
    );
    let good = fixture("custom.jsonl");
    for (options, words) in [
        (
            &["--data", &cut][..],
            &["cut.json", "line 1", "ends in the middle", "--skip-bad"][..],
        ),
        (
            &["--data", &keys],
            &["keys.jsonl", "'id', 'query'", "--field query"],
        ),
        (&["--data", &empty], &["empty.jsonl is empty"]),
        (&["--data", &latin], &["latin.txt", "line 2", "UTF-8"]),
        (
            &["--data", &back],
            &["back.jsonl", "line 2", "earlier", "sort"],
        ),
        (
            &["--data", "missing.jsonl"],
            &["missing.jsonl", "check the path"],
        ),
        (
            &["--data", &good, "--tokenizer", "nowhere.json"],
            &["nowhere.json", "cl100k"],
        ),
        (
            &["--data", &good, "--speed", "2"],
            &["--speed needs a trace"],
        ),
        (
            &["--data", &good, "--min-prompt", "9000"],
            &["--min-prompt 9000", "other limits"],
        ),
        (
            &["--data", &good, "--input-tokens", "5"],
            &["--input-tokens", "--max-prompt"],
        ),
    ] {
        let arguments = [&["run", "--requests", "3"], options].concat();
        place.run(&arguments).assert_refused(words);
    }
    assert!(!place.path("inferometer-runs").exists());
}

#[test]
fn bad_rows_are_skipped_where_asked_and_counted() {
    let sim = Sim::start(&[]);
    let place = Place::new();
    let data = place.write(
        "some.jsonl",
        "{\"prompt\":\"a\"}\n{\"prompt\":\n{\"prompt\":\"b\"}\n{\"other\":1}\n",
    );
    let run = place.measure(
        &sim.url,
        &[
            "--data",
            &data,
            "--skip-bad",
            "--requests",
            "3",
            "--max-tokens",
            "3",
        ],
    );
    assert_sound(&run);
    noted(&run, "bad rows were skipped: 2, the first in line 2");
}

#[test]
fn remote_data_are_fetched_once_and_then_read_from_the_cache() {
    let sim = Sim::start(&[]);
    let place = Place::new();
    let asked = Arc::new(AtomicU32::new(0));
    let seen = Arc::clone(&asked);
    let server = Crooked::answering(move |_| {
        seen.fetch_add(1, Ordering::SeqCst);
        answer("200 OK", "text/plain", "{\"prompt\":\"from afar\"}\n")
    });
    let url = format!("{}/prompts.jsonl", server.url());
    let options = ["--data", &url, "--requests", "2", "--max-tokens", "3"];
    assert_sound(&place.measure(&sim.url, &options));
    assert!(asked.load(Ordering::SeqCst) > 0);
    drop(server);
    let run = place.measure(&sim.url, &options);
    assert_sound(&run);
    assert!(run.records.iter().all(|record| record.input_chars == 9));
}

#[test]
fn a_hub_that_cannot_be_reached_is_named() {
    let place = Place::new();
    let mut command = place.command(["run", "--data", "hf://datasets/org/name/file.json"]);
    command.env("HF_ENDPOINT", "http://127.0.0.1:1");
    let ended = crate::support::Started::new(command).wait();
    ended.assert_refused(&["127.0.0.1:1"]);
}

#[test]
fn a_look_at_data_shows_format_rows_lengths_and_bad_lines() {
    let place = Place::new();
    let mut rows: Vec<String> = (1..=30)
        .map(|row| {
            format!(
                "{{\"prompt\":\"{}\",\"output_tokens\":{row}}}",
                "word ".repeat(row)
            )
        })
        .collect();
    rows.insert(4, "{\"prompt\":".to_owned());
    rows.push("{\"prompt\":\"\\u001b[31mred\\n\"}".to_owned());
    let data = place.write("rows.jsonl", rows.join("\n"));
    let ended = place.run(&["data", &data]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(1), ""));
    for words in [
        "custom (found from the content)",
        "31 usable of 32 read, 1 bad",
        "line 5",
        "cl100k, as none was chosen",
        "Prompts in characters",
        "Answers in tokens",
        "█",
    ] {
        assert!(
            ended.stdout.contains(words),
            "'{words}' is not in {}",
            ended.stdout
        );
    }
    assert!(!ended.stdout.contains('\u{1b}'));
    assert!(ended.stdout.lines().all(|line| line.chars().count() <= 80));
    let skipped = place.run(&["data", &data, "--skip-bad", "--max-prompt", "60chars"]);
    assert_eq!(skipped.code, Some(0));
    assert!(
        skipped.stdout.contains("18 longer than --max-prompt"),
        "{}",
        skipped.stdout
    );
}

#[test]
fn a_look_at_every_data_set_says_what_it_is() {
    let place = Place::new();
    for (file, format, words) in [
        ("sharegpt.json.zst", "sharegpt", "packed with zstd"),
        ("openqa.jsonl.gz", "openqa", "packed with gzip"),
        (
            "mooncake.jsonl",
            "mooncake",
            "over 6.00 s, 0.500 per second",
        ),
        ("azure.csv", "azure", "burstiness"),
        ("burstgpt.csv", "burstgpt", "1 without a usable prompt"),
        ("prompts.txt", "line", "lighthouse"),
    ] {
        let ended = place.run(&["data", &fixture(file), "--tokenizer", "o200k"]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        for words in [words, &format!("{format} (found")] {
            assert!(ended.stdout.contains(words), "{file}: {}", ended.stdout);
        }
    }
    let talk = fixture("conversations.jsonl");
    let ended = place.run(&[
        "data",
        &talk,
        "--data-format",
        "conversations",
        "--format",
        "json",
    ]);
    let survey: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(survey["turns"]["max"], 3);
    assert_eq!(survey["schema"], "inferometer.data/1");
}

#[test]
fn rows_convert_to_custom_and_read_back_the_same() {
    let place = Place::new();
    let data = fixture("sharegpt.json");
    let ended = place.run(&["data", &data, "--to", "custom", "--tokenizer", "cl100k"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let first = ended.stdout.lines().next().unwrap();
    assert_eq!(
        first,
        r#"{"prompt":"How do I keep basil alive on a windowsill?","output_tokens":15}"#
    );
    assert!(ended.stderr.contains("3 rows to -"), "{}", ended.stderr);
    let out = place.path("custom.jsonl");
    let out = out.to_str().unwrap();
    let ended = place.run(&["data", &data, "--to", "custom", "-o", out, "--shuffle"]);
    assert!(ended.stdout.contains("3 rows to"), "{ended:?}");
    let again = place.run(&["data", out]);
    assert!(again.stdout.contains("custom (found"), "{again:?}");
    assert!(again.stdout.contains("3 usable of 3 read"), "{again:?}");
    let trace = fixture("mooncake.jsonl");
    place
        .run(&["data", &trace, "--to", "custom"])
        .assert_refused(&["trace"]);
    place
        .run(&["data", out, "--to", "custom", "-o", out])
        .assert_refused(&["another file"]);
}

#[test]
fn a_look_at_what_is_no_data_says_why() {
    let place = Place::new();
    let empty = place.write("empty", "\n");
    let keys = place.write("keys.jsonl", "{\"id\":1,\"query\":\"why\"}\n");
    place
        .run(&["data", "missing"])
        .assert_refused(&["missing", "check the path"]);
    place.run(&["data", &empty]).assert_refused(&["is empty"]);
    place
        .run(&["data", &keys])
        .assert_refused(&["--field query"]);
    let named = place.run(&["data", &keys, "--field", "query"]);
    assert_eq!(named.code, Some(0), "{named:?}");
    let trace = fixture("azure.csv");
    place
        .run(&["data", &trace, "--shuffle"])
        .assert_refused(&["leave out --shuffle"]);
}

#[test]
fn answers_that_end_before_the_length_in_the_data_are_told() {
    let sim = Sim::start(&[]);
    let data = fixture("gsm8k.jsonl");
    let run = Place::new().measure(&sim.url, &["--data", &data, "--requests", "6"]);
    let codes: Vec<_> = run
        .summary
        .doubts
        .iter()
        .map(|doubt| doubt.code.into_str())
        .collect();
    assert!(codes.contains(&"output-lengths"), "{codes:?}");
}
