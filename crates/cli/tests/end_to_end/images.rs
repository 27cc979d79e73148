//! Images in chat: made, named by rows, and counted.

use crate::support::{Place, Sim};

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
fn rows_name_images_by_path_url_or_parts_and_a_missing_file_is_told_before_the_run() {
    let sim = Sim::start(&[]);
    let place = Place::new();
    place.write("a.png", inferometer_workload::png((28, 56), 3));
    let rows = [
        r#"{"question": "what", "image": "a.png"}"#,
        r#"{"question": "what", "images": ["https://example.org/b.jpg", "a.png"]}"#,
    ];
    let data = place.write("rows.jsonl", rows.join("\n") + "\n");
    let run = place.measure(&sim.url, &[&FEW[..], &["--data", &data]].concat());
    run.assert_all_ok(12);
    let media = run.summary.media.unwrap();
    assert_eq!((media.requests, media.parts), (12, 18));
    assert_eq!(media.media_tokens, Some(12 * 2 + 6 * 256));
    let data = place.write(
        "bad.jsonl",
        "{\"question\": \"what\", \"image\": \"gone.png\"}\n",
    );
    let refuse = |options: &[&str], words: &[&str]| {
        let ended = place.run(&[&["run", &sim.url], options].concat());
        ended.assert_refused(words);
    };
    refuse(&["--data", &data], &["line 1", "gone.png"]);
    refuse(&["--images", "n=2,size=5"], &["n=2,size=512x512"]);
    refuse(
        &["--images", "n=2", "--api", "completions"],
        &["--api chat"],
    );
}
