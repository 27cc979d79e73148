//! Sounds in chat and in transcriptions: made, named by rows, counted, and refused.

use crate::endpoints::assert_faults_have_their_class;
use crate::support::{Place, Run, Sim};

const FEW: [&str; 4] = ["--requests", "12", "--concurrency", "3"];
const SOUNDS: [&str; 2] = ["--audio", "n=1,seconds=uniform(1,3)"];

/// Every sound has its whole seconds, and the figures of sounds agree with the records.
fn assert_heard(run: &Run) {
    let lengths: Vec<u32> = (run.records.iter())
        .filter(|record| record.is_measured())
        .map(|record| record.audio_ms.unwrap())
        .collect();
    assert!(
        lengths
            .iter()
            .all(|millis| [1000, 2000, 3000].contains(millis)),
        "{lengths:?}"
    );
    let media = run.summary.media.unwrap();
    let seconds = f64::from(lengths.iter().sum::<u32>()) / 1e3;
    assert_eq!((media.requests, media.audio_s), (12, Some(seconds)));
    let factors = run.records.iter().filter(|record| record.is_measured());
    let factors: Vec<f64> = factors
        .map(|record| record.real_time_factor().unwrap())
        .collect();
    let mean = factors.iter().sum::<f64>() / factors.len() as f64;
    assert!((media.rtf.unwrap().mean - mean).abs() < 1e-6);
    assert!(run.summary.throughput.audio_s_per_s > Some(0.0));
    let shown = &run.ended.stdout;
    for word in ["Audio throughput", "RTF", "Media"] {
        assert!(shown.contains(word), "{word}: {shown}");
    }
}

#[test]
fn transcriptions_have_a_first_token_and_a_real_time_factor() {
    let sim = Sim::start(&[]);
    let options = [&FEW[..], &["--api", "transcriptions"], &SOUNDS].concat();
    let run = Place::new().measure(&sim.url, &options);
    run.assert_all_ok(12);
    assert_heard(&run);
    assert_eq!(run.api, "transcriptions");
    for record in &run.records {
        let seconds = record.audio_ms.unwrap() / 1000;
        assert_eq!(record.url, format!("{}/v1/audio/transcriptions", sim.url));
        // 50 positions for a second, and 4 that say what to do.
        assert_eq!(record.input_tokens(), Some(50 * seconds + 4));
        assert_eq!(record.output_tokens(), Some((33 * seconds).div_ceil(10)));
        assert!(record.streamed && record.ttft().is_some());
        assert_eq!((record.media, record.input_chars), (Some(1), 0));
        assert!(record.upload_bytes > Some(u64::from(seconds) * 32_000));
    }
    assert!(run.summary.latency.ttft_ms.is_some());
}

#[test]
fn the_address_names_the_endpoint_an_engine_serves_it_and_answers_may_come_whole() {
    let sim = Sim::scheduled(&["--", "vllm", "serve", "qwen2.5-7b"]);
    let url = format!("{}/v1/audio/transcriptions", sim.url);
    let limited = [
        "--no-stream",
        "--max-tokens",
        "4",
        "--extra",
        r#"{"language": "en"}"#,
    ];
    let place = Place::new();
    let run = place.measure(&url, &[&FEW[..], &SOUNDS, &limited].concat());
    run.assert_all_ok(12);
    assert_heard(&run);
    for record in &run.records {
        assert!(!record.streamed && record.output_chars > 0);
        // Its usage is of seconds.
        assert_eq!(record.output_tokens(), None);
    }
    let again = place.run(&[
        "run",
        "--config",
        run.path.join("scenario.toml").to_str().unwrap(),
        "--out",
        place.path("again").to_str().unwrap(),
    ]);
    Run::read(again, place.path("again")).assert_all_ok(12);
}

#[test]
fn sounds_go_with_the_text_of_a_chat() {
    let sim = Sim::start(&[]);
    let options = [&FEW[..], &SOUNDS, &["--input-tokens", "20"]].concat();
    let run = Place::new().measure(&sim.url, &options);
    run.assert_all_ok(12);
    assert_heard(&run);
    assert_eq!(run.api, "chat");
    for record in &run.records {
        let seconds = record.audio_ms.unwrap() / 1000;
        assert_eq!(record.media_tokens, Some(50 * seconds));
        assert!(record.input_tokens() > Some(50 * seconds + 20));
    }
}

#[test]
fn rows_name_sounds_and_what_is_said_in_them_is_expected() {
    let sim = Sim::start(&[]);
    let place = Place::new();
    place.write("a.wav", inferometer_workload::wav(2, 3));
    let rows = [
        r#"{"audio_filepath": "a.wav", "duration": 2.0, "text": "what is said"}"#,
        r#"{"audio": {"path": "a.wav"}, "text": "what is said"}"#,
    ];
    let data = place.write("rows.jsonl", rows.join("\n") + "\n");
    for api in ["transcriptions", "chat"] {
        let place = Place::new();
        let options = [&FEW[..], &["--api", api, "--data", &data]].concat();
        let run = place.measure(&sim.url, &options);
        run.assert_all_ok(12);
        for record in &run.records {
            assert_eq!(
                (record.media, record.audio_ms),
                (Some(1), Some(2000)),
                "{api}"
            );
        }
    }
}

#[test]
fn faults_of_transcriptions_are_failures_of_their_class() {
    let few = ["--concurrency", "2", "--api", "transcriptions"];
    assert_faults_have_their_class(&[&few[..], &SOUNDS].concat());
}

#[test]
fn what_cannot_be_heard_is_refused_in_one_line() {
    let sim = Sim::start(&[]);
    let place = Place::new();
    let refuse = |options: &[&str], words: &[&str]| {
        let ended = place.run(&[&["run", &sim.url], options].concat());
        ended.assert_refused(words);
    };
    let transcribe = ["--api", "transcriptions"];
    refuse(&transcribe, &["--audio or --data"]);
    refuse(&["--audio", "seconds=0"], &["n=1,seconds=uniform(5,30)"]);
    refuse(
        &["--audio", "n=1", "--api", "completions"],
        &["--api chat or --api transcriptions"],
    );
    refuse(
        &[&transcribe[..], &SOUNDS, &["--input-tokens", "5"]].concat(),
        &["--input-tokens", "asked with a sound"],
    );
    refuse(
        &[&transcribe[..], &["--audio", "n=2"]].concat(),
        &["one sound"],
    );
    place.write("b.wav", "no sound at all");
    for (row, words) in [
        (r#"{"audio": "gone.wav"}"#, ["line 1", "gone.wav"]),
        (r#"{"audio": "b.wav"}"#, ["b.wav", "is not a WAV"]),
        (r#"{"question": "why?"}"#, ["line 1", "has 0 sounds"]),
        (r#"{"audio": "https://h/a.mp3"}"#, ["URL", "download"]),
    ] {
        let data = place.write("bad.jsonl", format!("{row}\n"));
        refuse(&[&transcribe[..], &["--data", &data]].concat(), &words);
    }
    // TensorRT-LLM has no such endpoint.
    let sim = Sim::scheduled(&["--", "trtllm-serve", "qwen2.5-7b"]);
    let asked = [&["run", &sim.url], &transcribe[..], &SOUNDS].concat();
    place
        .run(&asked)
        .assert_refused(&["no API at", "it offers chat"]);
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
