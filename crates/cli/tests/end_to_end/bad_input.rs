//! What cannot run says why in one line, with what to do about it, and leaves nothing behind.

use crate::support::{Crooked, Ended, Place, Sim, answer};
use std::io::Write;
use std::net::TcpListener;
use std::sync::Mutex;

#[track_caller]
fn assert_refused(place: &Place, arguments: &[&str], remedies: &[&str]) -> Ended {
    let ended = place.run(arguments);
    ended.assert_refused(remedies);
    assert!(!ended.stderr.contains("panicked"));
    assert!(place.files("inferometer-runs").is_empty() && !place.path("inferometer-runs").exists());
    ended
}

#[test]
fn values_that_are_not_possible_are_refused_with_those_that_are() {
    let place = Place::new();
    for (option, value, remedy) in [
        (
            "--format",
            "pdf",
            "choose text, md, json, csv, html, svg or png",
        ),
        ("--dialect", "klingon", "choose one of ours, vllm"),
        ("--lang", "xx", "choose en or zh"),
        ("--api", "smoke", "choose auto, chat, completions"),
        ("--concurrency", "0", "from 1"),
        ("--concurrency", "-3", "from 1"),
        ("--concurrency", "many", "from 1"),
        ("--rate", "0", "above 0, or inf"),
        ("--rate", "-1", "above 0, or inf"),
        ("--rate", "NaN", "above 0, or inf"),
        ("--requests", "0", "from 1"),
        ("--requests", "-1", "from 1"),
        ("--max-tokens", "0", "from 1"),
        ("--workers", "0", "from 1"),
        ("--duration", "0s", "above 0"),
        ("--duration", "5", "as in 200ms"),
        ("--duration", "-5s", ""),
        ("--read-timeout", "0s", "above 0"),
        ("--input-tokens", "0", ""),
        ("--input-tokens", "uniform(9,3)", ""),
        ("--output-tokens", "normal(x)", ""),
        ("--temperature", "-1", "from 0"),
        ("--top-p", "0", "above 0"),
        ("--slo", "speed=1s", "ttft"),
        ("--slo", "ttft=fast", "500ms"),
        ("--attainment", "2", "at most 1"),
        ("--stop-when", "bored", "failures>20%"),
        ("--extra", "{", ""),
        ("--header", "bad name=x", "NAME=VALUE"),
        ("--header", "alone", ""),
        ("--tag", "alone", ""),
        (
            "--arrival",
            "sometimes",
            "choose constant, poisson or gamma",
        ),
    ] {
        let given = format!("{option}={value}");
        let refused = assert_refused(
            &place,
            &["run", "http://127.0.0.1:1", &given],
            &[option, remedy],
        );
        assert!(
            !refused.stderr.contains("cannot reach"),
            "{given} passed: {}",
            refused.stderr
        );
    }
}

#[test]
fn options_that_do_not_go_together_are_refused_with_the_reason() {
    let place = Place::new();
    let cases: [(&[&str], &[&str]); 12] = [
        (
            &["--rate", "5", "--concurrency", "3"],
            &["--max-concurrency"],
        ),
        (&["--max-concurrency", "5"], &["--rate"]),
        (&["--arrival", "gamma"], &["--rate"]),
        (&["--rate", "5", "--arrival", "gamma"], &["--burstiness"]),
        (&["--rate", "5", "--ramp-over", "5s"], &["--ramp"]),
        (&["--rate", "inf", "--duration", "5s"], &["--requests"]),
        (
            &["--soak", "5s", "--requests", "9"],
            &["--soak", "--requests"],
        ),
        (&["--prompt", "x", "--data", "y"], &["--prompt", "--data"]),
        (
            &["--prompt", "x", "--input-tokens", "9"],
            &["--prompt", "--input-tokens"],
        ),
        (
            &["--output-tokens", "5", "--max-tokens", "5"],
            &["--output-tokens", "--max-tokens"],
        ),
        (&["--stop-when", "slo-missed"], &["--slo"]),
        (
            &["--no-such-option"],
            &["--no-such-option", "inferometer help"],
        ),
    ];
    for (options, remedies) in cases {
        let refused = assert_refused(
            &place,
            &[&["run", "http://127.0.0.1:1"], options].concat(),
            remedies,
        );
        assert!(
            !refused.stderr.contains("cannot reach"),
            "{options:?} passed: {}",
            refused.stderr
        );
    }
}

#[test]
fn servers_that_are_not_there_are_told_apart() {
    let place = Place::new();
    // Bound and closed again, so that nobody listens there.
    let closed = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    assert_refused(
        &place,
        &["run", &format!("http://{closed}")],
        &["Connection refused", "start the server"],
    );
    assert_refused(
        &place,
        &["run", "http://no-such-host.invalid"],
        &["no-such-host.invalid", "correct the host's name"],
    );
    assert_refused(&place, &["run", "ftp://127.0.0.1"], &["http"]);
    assert_refused(&place, &["run", "http://"], &["http"]);
    assert_refused(&place, &["run", "http://127.0.0.1:99999"], &["port"]);
}

#[test]
fn servers_that_do_not_serve_are_told_apart() {
    let place = Place::new();
    let closing = Crooked::start(drop);
    assert_refused(&place, &["run", &closing.url()], &["look at its log"]);

    let held = Mutex::new(Vec::new());
    let silent = Crooked::start(move |stream| held.lock().unwrap().push(stream));
    assert_refused(
        &place,
        &["run", &silent.url(), "--read-timeout", "500ms"],
        &["500ms", "--read-timeout"],
    );

    let noise = Crooked::start(|mut stream| {
        let _ = stream.write_all(b"220 mail.example ESMTP ready\r\n");
        std::thread::sleep(std::time::Duration::from_millis(200));
    });
    assert_refused(
        &place,
        &["run", &noise.url()],
        &["HTTP", "correct the port"],
    );

    let page = "<!DOCTYPE html><html><body>Welcome</body></html>";
    let proxy = Crooked::answering(move |_| answer("200 OK", "text/html", page));
    assert_refused(&place, &["run", &proxy.url()], &["web page", "--proxy"]);
    assert_refused(
        &place,
        &["run", &proxy.url(), "--model", "m"],
        &["web page", "--proxy"],
    );
    let gate = Crooked::answering(move |_| answer("502 Bad Gateway", "text/html", page));
    assert_refused(
        &place,
        &["run", &gate.url(), "--model", "m"],
        &["web page", "502"],
    );

    let forbidding = Crooked::answering(|_| answer("403 Forbidden", "application/json", "{}"));
    assert_refused(
        &place,
        &["run", &forbidding.url()],
        &["403", "--api-key-env"],
    );

    let elsewhere = Crooked::answering(|_| {
        "HTTP/1.1 307 Moved\r\nLocation: http://127.0.0.1:1/x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_owned()
    });
    assert_refused(
        &place,
        &["run", &elsewhere.url(), "--model", "m"],
        &["307", "http://127.0.0.1:1/x", "base URL"],
    );

    let broken = Crooked::answering(|head| {
        if head.starts_with("GET") {
            answer("200 OK", "application/json", r#"{"data":[{"id":"m"}]}"#)
        } else {
            answer(
                "500 Oh",
                "application/json",
                r#"{"error":{"message":"out of memory"}}"#,
            )
        }
    });
    assert_refused(
        &place,
        &["run", &broken.url()],
        &["out of memory", "server's log"],
    );
}

#[test]
fn a_wrong_path_and_a_prompt_beyond_the_context_are_told() {
    let place = Place::new();
    let sim = Sim::start(&["--max-model-len", "100"]);
    assert_refused(
        &place,
        &["run", &format!("{}/wrong", sim.url)],
        &["/wrong", "404", "correct the path"],
    );
    assert_refused(
        &place,
        &[
            "run",
            &format!("{}/wrong/v1/chat/completions", sim.url),
            "--model",
            "sim",
        ],
        &["404", "base URL"],
    );
    assert_refused(
        &place,
        &["run", &sim.url],
        &["context", "100", "--input-tokens"],
    );
    // Of lines nobody knows the length beforehand: the server itself says so.
    let long = place.write("long.txt", "word ".repeat(400));
    assert_refused(
        &place,
        &["run", &sim.url, "--data", &long, "--max-tokens", "5"],
        &["context"],
    );
}

#[test]
fn files_that_do_not_help_are_told() {
    let place = Place::new();
    let sim = Sim::start(&[]);
    let twice = assert_refused(
        &place,
        &["run", &sim.url, "--data", "nowhere.txt"],
        &["nowhere.txt", "check the path"],
    );
    assert_eq!(
        twice.stderr.matches("No such file").count(),
        1,
        "{}",
        twice.stderr
    );
    let empty = place.write("empty.txt", "\n\n");
    assert_refused(
        &place,
        &["run", &sim.url, "--data", &empty],
        &["empty.txt", "at least one row"],
    );
    let binary = place.write("binary.txt", [0xff, 0xfe, b'\n']);
    assert_refused(&place, &["run", &sim.url, "--data", &binary], &["UTF-8"]);
    assert_refused(
        &place,
        &["run", "--config", "nowhere.toml"],
        &["nowhere.toml", "check the path"],
    );
    let strange = place.write("strange.toml", "[load]\nconcurency = 5\n");
    assert_refused(
        &place,
        &["run", "--config", &strange],
        &["line 2", "concurency", "`concurrency`"],
    );
    let wrong = place.write("wrong.toml", "[load]\nconcurrency = 0\n");
    assert_refused(&place, &["run", "--config", &wrong], &["line 2", "from 1"]);
    let no_toml = place.write("no.toml", "concurrency: 5\n");
    assert_refused(&place, &["run", "--config", &no_toml], &["line 1"]);
}

#[test]
fn a_folder_that_holds_something_is_not_written_into() {
    let place = Place::new();
    let sim = Sim::start(&[]);
    std::fs::create_dir(place.path("full")).unwrap();
    place.write("full/mine.txt", "mine");
    assert_refused(
        &place,
        &["run", &sim.url, "--out", "full"],
        &["full", "--out"],
    );
    assert_eq!(place.files("full").len(), 1);
    place.write("file", "");
    assert_refused(
        &place,
        &["run", &sim.url, "--out", "file/run"],
        &["file/run"],
    );
}

#[test]
fn what_cannot_run_leaves_no_folder_behind() {
    let place = Place::new();
    assert_refused(
        &place,
        &["run", "http://127.0.0.1:1", "--out", "mine"],
        &["start the server"],
    );
    assert!(!place.path("mine").exists());
}

#[test]
fn a_simulated_engine_that_cannot_start_says_why() {
    let place = Place::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    assert_refused(&place, &["sim", "--listen", &address], &[&address]);
    assert_refused(&place, &["sim", "--listen", "here"], &["--listen"]);
    assert_refused(
        &place,
        &["sim", "--faults", "gremlins"],
        &["gremlins", "error500"],
    );
    assert_refused(
        &place,
        &["sim", "--api-key-env", "NO_SUCH_KEY"],
        &["NO_SUCH_KEY"],
    );
}
