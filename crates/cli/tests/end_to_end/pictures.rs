//! Images and videos in chat: made, named by rows, counted, and computed in virtual time.

use crate::support::{Crooked, Place, Run, Sim, answer};
use inferometer_core::record::Record;
use inferometer_workload::{Clip, mp4};

const FEW: [&str; 4] = ["--requests", "12", "--concurrency", "3"];

#[test]
fn synthetic_images_are_uploaded_with_each_request_and_counted() {
    let sim = Sim::start(&[]);
    let images = ["--images", "n=uniform(1,3),size=56x56|280x140"];
    let run = Place::new().measure(&sim.url, &[&FEW[..], &images].concat());
    run.assert_all_ok(12);
    let media = run.summary.media.unwrap();
    assert_eq!(media.requests, 12);
    assert!((13..=35).contains(&media.parts), "{media:?}");
    for record in &run.records {
        let images = record.media.unwrap();
        // 2 × 2 or 10 × 5 patches.
        let tokens = record.media_tokens.unwrap();
        assert!(
            (4 * images..=50 * images).contains(&tokens),
            "{tokens} {images}"
        );
        assert!(record.input_tokens() > Some(tokens));
        assert!(record.upload_bytes > Some(u64::from(images) * 4_000));
    }
    let shown = &run.ended.stdout;
    assert!(
        shown.contains("Media") && shown.contains("bytes uploaded"),
        "{shown}"
    );
}

#[test]
fn synthetic_videos_are_uploaded_with_each_request_and_counted() {
    let sim = Sim::start(&[]);
    let videos = ["--video", "n=uniform(1,2),frames=8,size=56x56,fps=4"];
    let place = Place::new();
    let run = place.measure(&sim.url, &[&FEW[..], &videos].concat());
    run.assert_all_ok(12);
    let media = run.summary.media.unwrap();
    assert_eq!(media.requests, 12);
    for record in &run.records {
        let videos = record.media.unwrap();
        // 2 × 2 patches, and two frames share them.
        assert_eq!(record.media_tokens, Some(16 * videos));
        assert!(record.upload_bytes > Some(u64::from(videos) * 8 * 300));
    }
    let shown = run.ended.stdout.split_whitespace().collect::<Vec<_>>();
    let shown = shown.join(" ");
    for words in [
        "synthetic videos, n=uniform(1,2),frames=8",
        "bytes uploaded",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
}

/// Two rows that name pictures under `image` or `video`: one of them by its path, the other by its
/// address and the same path.
fn assert_rows(kind: &str, (file, bytes): (&str, Vec<u8>), tokens: u32, wrong: (&str, &[&str])) {
    let sim = Sim::start(&[]);
    let place = Place::new();
    place.write(file, bytes);
    let rows = [
        format!(r#"{{"question": "what", "{kind}": "{file}"}}"#),
        format!(r#"{{"question": "what", "{kind}s": ["https://example.org/b.bin", "{file}"]}}"#),
    ];
    let data = place.write("rows.jsonl", rows.join("\n") + "\n");
    let options = [&FEW[..], &["--data", &data]].concat();
    let run = place.measure(&sim.url, &options);
    run.assert_all_ok(12);
    let media = run.summary.media.unwrap();
    assert_eq!((media.requests, media.parts), (12, 18));
    let counted = u64::from(12 * tokens + 6 * 256);
    assert_eq!(media.media_tokens, Some(counted));
    // Virtual time counts the same.
    let computed = place.measure("", &[&options[..], &["--sim-clock", "virtual"]].concat());
    computed.assert_all_ok(12);
    let media = computed.summary.media.unwrap();
    assert_eq!((media.parts, media.media_tokens), (18, Some(counted)));
    let lengths = |run: &Run| {
        let mut all: Vec<_> = run.records.iter().map(Record::input_tokens).collect();
        all.sort_unstable();
        all
    };
    assert_eq!(lengths(&run), lengths(&computed));
    let (name, words) = wrong;
    place.write("a.txt", "text");
    let row = format!("{{\"question\": \"what\", \"{kind}\": \"{name}\"}}\n");
    let data = place.write("bad.jsonl", row);
    let ended = place.run(&["run", &sim.url, "--data", &data]);
    ended.assert_refused(&[&["line 1", name], words].concat());
}

#[test]
fn rows_name_images_and_a_missing_file_is_told_before_the_run() {
    let png = inferometer_workload::png((28, 56), 3);
    assert_rows("image", ("a.png", png), 2, ("gone.png", &[]));
}

#[test]
fn rows_name_videos_and_what_is_no_video_is_told_before_the_run() {
    let clip = Clip {
        size: (28, 56),
        frames: 5,
        fps: 4,
    };
    // 1 × 2 patches of three pairs of frames.
    let film = ("a.mp4", mp4(&clip, 3));
    assert_rows("video", film, 6, ("a.txt", &["not an MP4"]));
}

#[test]
fn pictures_that_cannot_be_made_or_sent_are_refused() {
    for (options, words) in [
        (&["--images", "n=2,size=5"][..], "n=2,size=512x512"),
        (&["--images", "n=2", "--api", "completions"], "--api chat"),
        (&["--video", "frames=0"], "n=1,frames=16"),
        (&["--video", "n=1", "--api", "completions"], "--api chat"),
    ] {
        let ended = Place::new().run(&[&["run", "http://127.0.0.1:9"], options].concat());
        ended.assert_refused(&[words]);
    }
}

/// A server that lists a model and answers every question with an error.
fn refusing(status: &'static str, said: &'static str) -> Crooked {
    Crooked::answering(move |head| {
        if head.starts_with("GET") {
            return answer("200 OK", "application/json", r#"{"data":[{"id":"m"}]}"#);
        }
        answer(
            status,
            "application/json",
            &format!(r#"{{"error":"{said}"}}"#),
        )
    })
}

#[test]
fn a_server_that_sees_nothing_is_told_apart_from_one_that_is_broken() {
    for (status, said) in [
        ("400 Bad Request", "tiny is not a multimodal model"),
        ("500 Internal Server Error", "image input is not supported"),
    ] {
        let server = refusing(status, said);
        let ended = Place::new().run(&["run", &server.url(), "--images", "n=1,size=8x8"]);
        ended.assert_refused(&[said, "serve a model that takes", "--images"]);
    }
}

#[test]
fn a_server_that_was_not_started_for_tools_is_told_with_what_it_needs() {
    // In the words of vLLM, as it stands in JSON.
    let said = r#"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set"#;
    let server = refusing("400 Bad Request", said);
    let place = Place::new();
    let tool = r#"{"type": "function", "function": {"name": "weather", "parameters": {}}}"#;
    let tools = place.write("tools.json", format!("[{tool}]"));
    let row =
        format!(r#"{{"messages": [{{"role": "user", "content": "go"}}], "tools": [{tool}]}}"#);
    let rows = place.write("rows.jsonl", row + "\n");
    for options in [
        &["--tools", &tools][..],
        &["--data", &rows, "--data-format", "line"],
    ] {
        let ended = place.run(&[&["run", &server.url()], options].concat());
        ended.assert_refused(&[
            "--tool-call-parser to be set",
            "--tool-call-parser NAME",
            "leave out --tools",
        ]);
    }
}

#[test]
fn a_server_that_cannot_fetch_an_image_is_told_so_before_the_run() {
    let said = "Cannot connect to host 127.0.0.1:9";
    let server = refusing("400 Bad Request", said);
    let place = Place::new();
    let row = r#"{"question": "what", "image": "http://127.0.0.1:9/a.png"}"#;
    let data = place.write("rows.jsonl", format!("{row}\n"));
    let ended = place.run(&["run", &server.url(), "--data", &data]);
    ended.assert_refused(&[said, "it fetches media", "or files"]);
}

#[test]
fn virtual_time_counts_media_as_the_simulated_server_does_and_uploads_nothing() {
    let place = Place::new();
    let media = [
        "--images",
        "n=1,size=56x56",
        "--video",
        "n=1,frames=8,size=56x56",
        "--audio",
        "n=1,seconds=2",
        "--input-tokens",
        "100",
        "--output-tokens",
        "8",
        "--sim-clock",
        "virtual",
    ];
    let run = place.measure("", &[&FEW[..], &media].concat());
    run.assert_all_ok(12);
    let found = run.summary.media.unwrap();
    assert_eq!((found.requests, found.parts), (12, 36));
    assert_eq!(found.media_tokens, Some(12 * (4 + 16 + 100)));
    assert_eq!(found.upload_bytes, None);
    for record in &run.records {
        assert!(record.input_tokens() >= Some(4 + 16 + 100 + 100));
    }
    let shown = &run.ended.stdout;
    assert!(
        shown.contains("36 in 12 requests") && !shown.contains("uploaded"),
        "{shown}"
    );
}
