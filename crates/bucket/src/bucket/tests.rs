use super::*;
use inferometer_fetch::test_server::{Sent, Server};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const SECRET: &str = "s3cr3t-of-the-test";

fn bucket(origin: &str, limit: Duration) -> Bucket {
    let place: Location = "s3://lab/runs".parse().unwrap();
    let variables = |name: &str| {
        Some(match name {
            "AWS_ENDPOINT_URL" => origin.to_owned(),
            "AWS_ACCESS_KEY_ID" => "AKID-of-the-test".to_owned(),
            "AWS_SECRET_ACCESS_KEY" => SECRET.to_owned(),
            _ => return None,
        })
    };
    let keys = Keys::find(&place, &variables).unwrap();
    Bucket::open(place, keys, None, Patience::silent(limit)).unwrap()
}

const AT_ONCE: Duration = Duration::ZERO;
const LONG: Duration = Duration::from_secs(120);

fn listing(keys: &[&str], next: Option<&str>) -> Sent {
    let objects = keys.iter().map(|key| {
        let key = escaped(key);
        format!("<Contents><Key>{key}</Key><ETag>&quot;e&quot;</ETag><Size>3</Size></Contents>")
    });
    let objects: String = objects.collect();
    let next = next.map(|next| format!("<NextContinuationToken>{next}</NextContinuationToken>"));
    let body = format!(
        "<ListBucketResult>{objects}{}</ListBucketResult>",
        next.unwrap_or_default()
    );
    Sent::status(200, &body)
}

fn names(objects: &[Object]) -> Vec<&str> {
    objects.iter().map(|object| object.key.as_str()).collect()
}

#[test]
fn all_pages_are_read_and_keys_that_are_no_paths_left_out() {
    let server = Server::start(|_, request| {
        Some(if request.target.contains("continuation-token=t%2B1") {
            listing(&["runs/c", "runs//d", "runs/e\\f"], None)
        } else {
            listing(
                &["runs/a/b.json", "runs/../../etc/passwd", "runs/", "other"],
                Some("t+1"),
            )
        })
    });
    let found = bucket(&server.origin, AT_ONCE).list().unwrap();
    assert_eq!(names(&found), ["a/b.json", "c"]);
    let first = server.requests()[0].clone();
    assert_eq!(first.target, "/lab?list-type=2&prefix=runs%2F");
    let signed = first.header("authorization").unwrap();
    assert!(
        signed.starts_with("AWS4-HMAC-SHA256 Credential=AKID"),
        "{signed}"
    );
    let all = format!("{:?}", server.requests());
    assert!(!all.contains(SECRET));
}

#[test]
fn a_store_that_repeats_itself_is_not_asked_for_ever() {
    let server = Server::start(|_, _| Some(listing(&["runs/a"], Some("same"))));
    let found = bucket(&server.origin, AT_ONCE).list().unwrap();
    assert_eq!(names(&found), ["a", "a"]);
}

#[test]
fn a_store_that_is_away_for_a_moment_is_asked_again() {
    let server = Server::start(|before, _| match before {
        0 => Some(Sent::status(503, "<Error><Code>SlowDown</Code></Error>")),
        1 => None,
        _ => Some(listing(&["runs/a"], None)),
    });
    let told = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&told);
    let mut patient = bucket(&server.origin, LONG);
    patient.patience.tell = Some(Box::new(move |error| {
        assert!(error.to_string().contains("503"), "{error}");
        count.fetch_add(1, Ordering::SeqCst);
    }));
    assert_eq!(names(&patient.list().unwrap()), ["a"]);
    assert_eq!(told.load(Ordering::SeqCst), 1);
    assert_eq!(server.requests().len(), 3);
}

#[test]
fn without_patience_one_answer_is_enough() {
    let server = Server::start(|_, _| Some(Sent::status(503, "")));
    let error = bucket(&server.origin, AT_ONCE).list().unwrap_err();
    assert!(
        matches!(error, BucketError::Answered { status: 503, .. }),
        "{error}"
    );
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_refusal_says_what_to_do_and_repeats_no_key() {
    let elsewhere = "<Error><Code>PermanentRedirect</Code><Region>eu-west-3</Region></Error>";
    let none = "is not an object store";
    let denied = "listing objects is not allowed (AccessDenied); give the key";
    for (status, code, said) in [
        (404, "NoSuchBucket", "no such bucket"),
        (403, "AccessDenied", denied),
        (403, "InvalidAccessKeyId", "check AWS_ACCESS_KEY_ID"),
        (403, "SignatureDoesNotMatch", "check AWS_ACCESS_KEY_ID"),
        (403, "RequestTimeTooSkewed", "clock is wrong"),
        (301, elsewhere, "set AWS_REGION=eu-west-3"),
        (404, "<html>nothing here", none),
        (200, "<html>welcome", none),
        (200, "{}", "check AWS_ENDPOINT_URL"),
        (418, "Odd\u{1b}[31m", "answered 418 Odd"),
    ] {
        let mut body = code.to_owned();
        if !code.starts_with(['<', '{']) {
            body = format!("<Error><Code>{code}</Code><Message>{SECRET}</Message></Error>");
        }
        let server = Server::start(move |_, _| Some(Sent::status(status, &body)));
        let error = bucket(&server.origin, AT_ONCE).list().unwrap_err();
        let error = error.to_string();
        assert!(error.contains(said), "{said}: {error}");
        assert!(error.starts_with("s3://lab/runs: "), "{error}");
        assert!(!error.contains(SECRET) && !error.contains('\u{1b}'));
    }
}

#[test]
fn nobody_there_is_told_with_the_variable_that_names_the_place() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let error = bucket(&format!("http://{address}"), AT_ONCE)
        .list()
        .unwrap_err();
    let said = error.to_string();
    assert!(
        said.contains(&address.to_string()) && said.contains("AWS_ENDPOINT_URL"),
        "{said}"
    );
}

#[test]
fn what_is_read_has_the_size_and_version_of_the_listing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let object = |bytes, etag: &str| Object {
        key: "a".into(),
        bytes,
        etag: etag.into(),
    };
    let server = Server::start(|before, request| {
        let sent = Sent::file(request, b"abc", "\"e\"");
        Some(if before == 0 {
            sent.broken_after(1)
        } else {
            sent
        })
    });
    let patient = bucket(&server.origin, LONG);
    patient.get(&object(3, "e"), &path).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"abc");
    assert_eq!(server.requests()[0].target, "/lab/runs/a");
    for other in [object(3, "f"), object(2, "e")] {
        let error = patient.get(&other, &path).unwrap_err();
        assert!(matches!(error, BucketError::Changed { .. }), "{error}");
    }
}
