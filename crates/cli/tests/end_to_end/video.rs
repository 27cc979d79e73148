//! Videos in chat: made, named by rows, and counted.

use crate::support::{Place, Sim};
use inferometer_workload::{Clip, mp4};

const FEW: [&str; 4] = ["--requests", "12", "--concurrency", "3"];

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

#[test]
fn rows_name_videos_by_path_or_url_and_what_is_no_video_is_told_before_the_run() {
    let sim = Sim::start(&[]);
    let place = Place::new();
    let clip = Clip {
        size: (28, 56),
        frames: 5,
        fps: 4,
    };
    place.write("a.mp4", mp4(&clip, 3));
    let rows = [
        r#"{"question": "what", "video": "a.mp4"}"#,
        r#"{"question": "what", "videos": ["https://example.org/b.webm", "a.mp4"]}"#,
    ];
    let data = place.write("rows.jsonl", rows.join("\n") + "\n");
    let run = place.measure(&sim.url, &[&FEW[..], &["--data", &data]].concat());
    run.assert_all_ok(12);
    let media = run.summary.media.unwrap();
    assert_eq!((media.requests, media.parts), (12, 18));
    // 1 × 2 patches of three pairs of frames, and the one elsewhere.
    assert_eq!(media.media_tokens, Some(12 * 6 + 6 * 256));
    place.write("a.txt", "text");
    let data = place.write(
        "bad.jsonl",
        "{\"question\": \"what\", \"video\": \"a.txt\"}\n",
    );
    let refuse = |options: &[&str], words: &[&str]| {
        let ended = place.run(&[&["run", &sim.url], options].concat());
        ended.assert_refused(words);
    };
    refuse(&["--data", &data], &["line 1", "a.txt", "not an MP4"]);
    refuse(&["--video", "frames=0"], &["n=1,frames=16"]);
    refuse(&["--video", "n=1", "--api", "completions"], &["--api chat"]);
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

#[test]
fn transcriptions_in_virtual_time_have_a_real_time_factor_and_rows_are_refused() {
    let place = Place::new();
    let asked = ["--api", "transcriptions", "--sim-clock", "virtual"];
    let sounds = ["--audio", "seconds=uniform(1,3)"];
    let run = place.measure("", &[&FEW[..], &asked, &sounds].concat());
    run.assert_all_ok(12);
    assert_eq!(run.api, "transcriptions");
    for record in &run.records {
        let seconds = record.audio_ms.unwrap() / 1000;
        assert_eq!(record.input_tokens(), Some(50 * seconds + 4));
        assert_eq!(record.output_tokens(), Some((33 * seconds).div_ceil(10)));
        assert!(record.real_time_factor().unwrap() > 0.0);
    }
    assert!(run.summary.throughput.audio_s_per_s > Some(0.0));
    let data = place.write("sounds.jsonl", "{\"audio\": \"a.wav\"}\n");
    let ended = place.run(&[&["run"], &asked[..], &["--data", &data]].concat());
    ended.assert_refused(&["--sim-clock virtual", "--audio"]);
}
