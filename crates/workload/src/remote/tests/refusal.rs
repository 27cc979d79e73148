//! Answers that are not the file, and how that is said.

use super::*;
use inferometer_fetch::FetchError;
use std::io::Write;
use std::net::TcpListener;

fn at(server: &Server, path: &str) -> String {
    format!("{}{path}", server.origin)
}

fn assert_refused(fetcher: &Fetcher, address: &str, words: &str) {
    let said = one_line(&fetch(fetcher, address).unwrap_err());
    assert!(said.contains(words), "{said}");
}

#[test]
fn what_does_not_match_the_hubs_checksum_is_deleted() {
    let (hub, _store) = hub_and_store(sha256(b"other"), data().len());
    let folder = TempDir::new().unwrap();
    assert_refused(
        &hub_fetcher(&folder, &hub),
        "hf://datasets/o/n/a",
        &sha256(b"other"),
    );
    assert!(kept_files(&folder).is_empty());
}

#[test]
fn a_wrong_length_is_refused() {
    let (hub, _store) = hub_and_store(sha256(&data()), 5);
    let folder = TempDir::new().unwrap();
    assert_refused(
        &hub_fetcher(&folder, &hub),
        "hf://datasets/o/n/a",
        "should have 5 bytes",
    );
    // Too much, where only the hub said how much.
    let server = Server::start(|_, _| Some(Sent::bare(200, b"123456").header("X-Linked-Size", 5)));
    assert_refused(&fetcher(&folder), &at(&server, "/a"), "but 6 came");
    // Too little, again and again.
    let server = Server::start(|_, _| Some(Sent::bare(200, b"1234").header("X-Linked-Size", 5)));
    assert_refused(
        &fetcher(&folder),
        &at(&server, "/a"),
        "broke off after 4 bytes of 5",
    );
    assert!(!kept_files(&folder).contains(&"a".to_owned()));
}

#[test]
fn refusals_say_what_to_do() {
    for (status, body, words) in [
        (401, "", "set HF_TOKEN"),
        (403, "", "set HF_TOKEN"),
        (404, "", "hf://datasets/ORG/NAME/FILE"),
        (500, "bad\u{1b}[2Jluck\r\n hf_s3cr3t", "luck"),
        (503, "", "it gave no reason"),
        (206, "x", "HTTP 206"),
    ] {
        let server = Server::start(move |_, _| Some(Sent::status(status, body)));
        let folder = TempDir::new().unwrap();
        let mut fetcher = hub_fetcher(&folder, &server);
        if status < 404 {
            fetcher.hubs.hugging_face_token = None;
        }
        let error = fetch(&fetcher, "hf://datasets/o/n/a").unwrap_err();
        let text = one_line(&error);
        assert!(text.contains(words) && !text.contains("s3cr3t"), "{text}");
        assert!(text.contains(&status.to_string()), "{text}");
        assert_eq!(server.requests().len(), 1);
        assert!(kept_files(&folder).is_empty());
    }
}

#[test]
fn pages_and_encodings_are_refused() {
    let folder = TempDir::new().unwrap();
    let server = Server::start(|_, _| {
        Some(Sent::status(200, "<html>").header("Content-Type", "Text/HTML; charset=utf-8"))
    });
    assert_refused(&fetcher(&folder), &at(&server, "/blob/a.json"), "/resolve/");
    assert!(fetch(&fetcher(&folder), &at(&server, "/a.html")).is_ok());
    let server =
        Server::start(|_, _| Some(Sent::status(200, "x").header("Content-Encoding", "gzip")));
    assert_refused(&fetcher(&folder), &at(&server, "/a.json"), "`gzip`");
}

#[test]
fn redirects_that_lead_nowhere_end() {
    for (location, words) in [
        ("/again", "more than 10"),
        ("ftp://x/y", "no URL"),
        ("", "more than 10"),
    ] {
        let server = Server::start(move |_, _| Some(Sent::redirect(location)));
        let folder = TempDir::new().unwrap();
        assert_refused(&fetcher(&folder), &at(&server, "/a"), words);
        assert!(server.requests().len() <= 11);
    }
}

#[test]
fn who_cannot_be_reached_is_named_with_a_way_out() {
    let folder = TempDir::new().unwrap();
    let mut unreachable = fetcher(&folder);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = listener.local_addr().unwrap().to_string();
    drop(listener);
    unreachable.hubs.endpoints.hugging_face = format!("http://{nobody}");
    let error = fetch(&unreachable, "hf://datasets/o/n/a").unwrap_err();
    let text = one_line(&error);
    for words in [nobody.as_str(), "give the file", "HF_ENDPOINT"] {
        assert!(text.contains(words), "{text}");
    }
    let server = Server::start(|_, _| None);
    assert_refused(&fetcher(&folder), &at(&server, "/a"), "not reachable");
}

#[test]
fn a_proxy_that_is_given_is_asked_to_connect() {
    let server = Server::start(|_, _| Some(Sent::status(403, "")));
    let folder = TempDir::new().unwrap();
    let mut behind = fetcher(&folder);
    behind.hubs.proxy = Some(Secret::new(&server.origin));
    assert_refused(&behind, "http://data.invalid/a", "data.invalid");
    assert_eq!(server.requests()[0].target, "data.invalid:80");
}

#[test]
fn a_server_without_tls_is_not_taken_for_a_secure_one() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("https://{}/a", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 8192]);
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        let _ = io::copy(&mut stream, &mut io::sink());
    });
    let folder = TempDir::new().unwrap();
    assert_refused(&fetcher(&folder), &address, "no secure connection");
}

#[test]
fn a_server_that_falls_silent_is_given_up() {
    let server = Server::start(|_, request| {
        Some(
            Sent::file(request, &data(), "\"v1\"")
                .broken_after(10)
                .then_silent(),
        )
    });
    let folder = TempDir::new().unwrap();
    let mut fetcher = fetcher(&folder);
    fetcher.patience.read = Duration::from_millis(200);
    fetcher.patience.retries = 1;
    assert_refused(&fetcher, &at(&server, "/a"), "no answer in time");
}

#[test]
fn an_unusable_proxy_or_token_is_not_repeated() {
    let folder = TempDir::new().unwrap();
    let mut odd = fetcher(&folder);
    odd.hubs.proxy = Some(Secret::new("gopher://me:s3cr3t@x"));
    let error = fetch(&odd, "https://h.invalid/a").unwrap_err();
    assert!(
        matches!(error, RemoteError::Setup(FetchError::BadProxy)),
        "{error}"
    );
    odd.hubs.proxy = None;
    odd.hubs.hugging_face_token = Some(Secret::new("a\nb"));
    let error = fetch(&odd, "https://h.invalid/a").unwrap_err();
    assert!(
        matches!(error, RemoteError::Setup(FetchError::BadToken)),
        "{error}"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_called_that() {
    let server = Server::start(|_, request| Some(Sent::file(request, &data(), "\"v1\"")));
    let folder = TempDir::new().unwrap();
    let address = format!("{}/a", server.origin);
    let kept = kept_at(&fetcher(&folder), &address);
    fs::create_dir_all(kept.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink("/dev/full", kept.with_extension("part")).unwrap();
    assert_refused(&fetcher(&folder), &address, "is full");
}
