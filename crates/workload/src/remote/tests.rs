//! Downloads from a server on loopback: whole, resumed, redirected and kept.

mod refusal;

use super::*;
use inferometer_fetch::test_server::{Request, Sent, Server};
use inferometer_fetch::{Endpoints, Secret};
use std::sync::mpsc;
use tempfile::TempDir;

/// Larger than any buffer on the way.
fn data() -> Vec<u8> {
    (0..700_000u32).map(|i| (i * 7 + i / 251) as u8).collect()
}

fn sha256(bytes: &[u8]) -> String {
    partial::hex(ring::digest::digest(&ring::digest::SHA256, bytes).as_ref())
}

fn fetcher(folder: &TempDir) -> Fetcher {
    let mut fetcher = Fetcher::new(folder.path(), HubAccess::default());
    fetcher.patience.pause = Duration::ZERO;
    fetcher
}

fn fetch(fetcher: &Fetcher, address: &str) -> Result<PathBuf, RemoteError> {
    fetcher.fetch(&Location::parse(address)?, &mut |_| {})
}

fn one_line(error: &RemoteError) -> String {
    let text = error.to_string();
    assert!(!text.contains(['\n', '\u{1b}']), "{text}");
    text
}

/// Breaks off its first answers after so many bytes.
fn breaking_off(times: usize, bytes: usize, etag: &'static str) -> Server {
    Server::start(move |before, request| {
        let sent = Sent::file(request, &data(), etag);
        Some(match before {
            before if before < times => sent.broken_after(bytes),
            _ => sent,
        })
    })
}

/// Files of the cache that are not the lock.
fn kept_files(folder: &TempDir) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder.path())
        .unwrap()
        .flat_map(|entry| fs::read_dir(entry.unwrap().path()).unwrap())
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != ".lock")
        .collect();
    names.sort();
    names
}

#[test]
fn a_file_is_asked_for_once_and_then_taken_from_the_cache() {
    let server = Server::start(|_, request| Some(Sent::file(request, &data(), "\"v1\"")));
    let folder = TempDir::new().unwrap();
    let location = Location::parse(&format!("{}/d/a.jsonl", server.origin)).unwrap();
    let mut seen = Vec::new();
    let path = fetcher(&folder)
        .fetch(&location, &mut |progress| seen.push(progress))
        .unwrap();
    assert_eq!(fs::read(&path).unwrap(), data());
    assert_eq!(path.file_name().unwrap(), "a.jsonl");
    assert_eq!(kept_files(&folder), ["a.jsonl"]);
    let total = Some(data().len() as u64);
    assert_eq!(seen[0], DownloadProgress::Received { bytes: 0, total });
    let bytes = data().len() as u64;
    assert_eq!(
        seen.last(),
        Some(&DownloadProgress::Received { bytes, total })
    );

    let again = fetcher(&folder).fetch(&location, &mut |_| panic!("nothing to report"));
    assert_eq!(again.unwrap(), path);
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_local_path_is_left_alone() {
    let folder = TempDir::new().unwrap();
    let path = fetch(&fetcher(&folder), "no/such/file.json").unwrap();
    assert_eq!(path, PathBuf::from("no/such/file.json"));
}

#[test]
fn a_body_that_breaks_off_is_taken_up_where_it_ended() {
    let server = breaking_off(3, 200_000, "\"v1\"");
    let folder = TempDir::new().unwrap();
    let path = fetch(&fetcher(&folder), &format!("{}/a", server.origin)).unwrap();
    assert_eq!(fs::read(path).unwrap(), data());
    let ranges: Vec<Option<String>> = server
        .requests()
        .iter()
        .map(|request| request.header("range").map(str::to_owned))
        .collect();
    let from = |n| Some(format!("bytes={n}-"));
    assert_eq!(ranges, [None, from(200_000), from(400_000), from(600_000)]);
    assert_eq!(server.requests()[1].header("if-range"), Some("\"v1\""));
}

#[test]
fn after_the_last_retry_the_next_call_goes_on() {
    let server = breaking_off(4, 100_000, "\"v1\"");
    let folder = TempDir::new().unwrap();
    let address = format!("{}/a.json?sig=s3cr3t", server.origin);
    let error = fetch(&fetcher(&folder), &address).unwrap_err();
    assert!(
        one_line(&error).contains("400000 bytes of 700000"),
        "{error}"
    );
    assert!(one_line(&error).contains("repeat the command"), "{error}");
    assert_eq!(server.requests().len(), 4);
    assert_eq!(kept_files(&folder), ["a.json.part", "a.json.part.json"]);
    let note = kept_at(&fetcher(&folder), &address).with_extension("json.part.json");
    assert!(!fs::read_to_string(note).unwrap().contains("s3cr3t"));

    let path = fetch(&fetcher(&folder), &address).unwrap();
    assert_eq!(fs::read(path).unwrap(), data());
    let last = server.requests()[4].clone();
    assert_eq!(last.header("range"), Some("bytes=400000-"));
    assert_eq!(kept_files(&folder), ["a.json"]);
}

fn kept_at(fetcher: &Fetcher, address: &str) -> PathBuf {
    match Location::parse(address).unwrap() {
        Location::Remote(remote) => fetcher.kept_at(&remote).unwrap(),
        Location::Local(path) => path,
    }
}

/// Leaves the first half of the data behind, as a call that was killed does.
fn leave_half(fetcher: &Fetcher, address: &str, etag: &str) {
    let kept = kept_at(fetcher, address);
    fs::create_dir_all(kept.parent().unwrap()).unwrap();
    let note = Note {
        address: address.to_owned(),
        etag: Some(etag.to_owned()),
        total: Some(data().len() as u64),
        sha256: None,
    };
    let mut partial = Partial::of(&kept);
    partial.restart(&note).unwrap();
    let mut file = partial.append().unwrap();
    partial.write(&mut file, &data()[..350_000]).unwrap();
}

#[test]
fn a_file_that_changed_meanwhile_starts_anew() {
    let server = Server::start(|_, request| Some(Sent::file(request, &data(), "\"v2\"")));
    let folder = TempDir::new().unwrap();
    let address = format!("{}/a", server.origin);
    leave_half(&fetcher(&folder), &address, "\"v1\"");
    let path = fetch(&fetcher(&folder), &address).unwrap();
    assert_eq!(fs::read(path).unwrap(), data());
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_rest_that_does_not_fit_starts_anew() {
    type Misfit = fn(&Request) -> Sent;
    let misfits: [Misfit; 5] = [
        // It ignores If-Range.
        |_| {
            Sent::status(206, "x")
                .header("ETag", "\"v2\"")
                .header("Content-Range", "bytes 350000-350000/700000")
        },
        |_| Sent::status(206, "x").header("Content-Range", "bytes 0-0/700000"),
        |_| Sent::status(206, "x").header("Content-Range", "bytes 350000-350000/800000"),
        |_| Sent::status(206, "x"),
        |_| Sent::status(416, ""),
    ];
    for misfit in misfits {
        let server = Server::start(move |_, request| {
            Some(match request.header("range") {
                Some(_) => misfit(request),
                None => Sent::file(request, &data(), "\"v1\""),
            })
        });
        let folder = TempDir::new().unwrap();
        let address = format!("{}/a", server.origin);
        leave_half(&fetcher(&folder), &address, "\"v1\"");
        let path = fetch(&fetcher(&folder), &address).unwrap();
        assert_eq!(fs::read(path).unwrap(), data());
        assert_eq!(server.requests().len(), 2);
    }
}

#[test]
fn what_was_whole_when_the_process_died_needs_no_network() {
    let folder = TempDir::new().unwrap();
    // Nothing listens there.
    let address = "http://127.0.0.1:9/a";
    leave_half(&fetcher(&folder), address, "\"v1\"");
    let partial = Partial::of(&kept_at(&fetcher(&folder), address));
    let mut file = partial.append().unwrap();
    partial.write(&mut file, &data()[350_000..]).unwrap();
    let path = fetch(&fetcher(&folder), address).unwrap();
    assert_eq!(fs::read(path).unwrap(), data());
}

#[test]
fn without_a_strong_etag_nothing_is_resumed() {
    let server = breaking_off(1, 9, "W/\"v1\"");
    let folder = TempDir::new().unwrap();
    let path = fetch(&fetcher(&folder), &format!("{}/a", server.origin)).unwrap();
    assert_eq!(fs::read(path).unwrap(), data());
    assert_eq!(server.requests()[1].header("range"), None);
}

/// A hub that redirects to a store, as Hugging Face does for large files.
fn hub_and_store(checksum: String, size: usize) -> (Server, Server) {
    let store = Server::start(|_, request| Some(Sent::file(request, &data(), "\"store\"")));
    let target = format!("{}/blob?sig=signed", store.origin);
    let hub = Server::start(move |_, _| {
        let sent = Sent::redirect(&target).header("X-Linked-Size", size);
        Some(sent.header("X-Linked-Etag", format!("\"{checksum}\"")))
    });
    (hub, store)
}

fn hub_fetcher(folder: &TempDir, hub: &Server) -> Fetcher {
    let mut fetcher = fetcher(folder);
    fetcher.hubs.endpoints.hugging_face = hub.origin.clone();
    fetcher.hubs.hugging_face_token = Some(Secret::new("hf_s3cr3t\n"));
    fetcher
}

#[test]
fn the_token_goes_to_the_hub_and_not_along_a_redirect() {
    let (hub, store) = hub_and_store(sha256(&data()), data().len());
    let folder = TempDir::new().unwrap();
    let fetcher = hub_fetcher(&folder, &hub);
    assert!(!format!("{fetcher:?}").contains("s3cr3t"));
    let path = fetch(&fetcher, "hf://datasets/o/n/d/a.json").unwrap();
    assert_eq!(fs::read(path).unwrap(), data());
    let asked = &hub.requests()[0];
    assert_eq!(asked.target, "/datasets/o/n/resolve/main/d/a.json");
    assert_eq!(asked.header("authorization"), Some("Bearer hf_s3cr3t"));
    assert_eq!(store.requests()[0].header("authorization"), None);

    fetch(&fetcher, &format!("{}/other", store.origin)).unwrap();
    assert_eq!(store.requests()[1].header("authorization"), None);
}

#[test]
fn a_redirect_within_the_hub_keeps_the_token() {
    let hub = Server::start(|before, request| {
        Some(match before {
            0 => Sent::redirect("/cache/a"),
            _ => Sent::file(request, b"x", "\"v1\""),
        })
    });
    let folder = TempDir::new().unwrap();
    fetch(&hub_fetcher(&folder, &hub), "hf://datasets/o/n/a").unwrap();
    let last = hub.requests()[1].clone();
    assert_eq!(last.target, "/cache/a");
    assert_eq!(last.header("authorization"), Some("Bearer hf_s3cr3t"));
}

#[test]
fn modelscope_is_asked_as_its_own_client_does() {
    let server = Server::start(|_, request| Some(Sent::file(request, b"x", "\"v1\"")));
    let folder = TempDir::new().unwrap();
    let mut fetcher = hub_fetcher(&folder, &server);
    fetcher.hubs.endpoints = Endpoints {
        modelscope: server.origin.clone(),
        ..Endpoints::default()
    };
    fetch(&fetcher, "ms://datasets/o/n/d/a.json").unwrap();
    let asked = &server.requests()[0];
    let target = "/api/v1/datasets/o/n/repo?Revision=master&FilePath=d%2Fa.json";
    assert_eq!(asked.target, target);
    assert_eq!(asked.header("authorization"), None);
}

#[test]
fn two_at_once_make_one_download() {
    let (arrived, arrival) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    let (arrived, released) = (
        std::sync::Mutex::new(arrived),
        std::sync::Mutex::new(released),
    );
    let server = Server::start(move |_, request| {
        arrived.lock().unwrap().send(()).unwrap();
        released.lock().unwrap().recv().unwrap();
        Some(Sent::file(request, &data(), "\"v1\""))
    });
    let folder = TempDir::new().unwrap();
    let address = format!("{}/a", server.origin);
    let (one, two) = (fetcher(&folder), fetcher(&folder));
    let first = std::thread::spawn({
        let address = address.clone();
        move || fetch(&one, &address)
    });
    arrival.recv().unwrap();
    let location = Location::parse(&address).unwrap();
    let mut seen = Vec::new();
    let path = two.fetch(&location, &mut |progress| {
        seen.push(progress);
        release.send(()).unwrap();
    });
    assert_eq!(path.unwrap(), first.join().unwrap().unwrap());
    assert_eq!(seen, [DownloadProgress::Waiting]);
    assert_eq!(server.requests().len(), 1);
}
