//! Proxies: the one that was named and no other, and its password in no file.

use crate::support::{Crooked, Place, Sim};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

const FEW: [&str; 6] = [
    "--requests",
    "4",
    "--concurrency",
    "2",
    "--output-tokens",
    "4",
];

/// Passes plain HTTP on, and counts; wants a password.
fn proxy(passed: Arc<AtomicU32>) -> Crooked {
    Crooked::start(move |mut client| {
        let mut lines = BufReader::new(client.try_clone().unwrap());
        let mut head = String::new();
        while lines.read_line(&mut head).is_ok_and(|read| read > 2) {}
        // user:pass-word-4711
        if !head.contains("Proxy-Authorization: Basic dXNlcjpwYXNzLXdvcmQtNDcxMQ==") {
            let _ = client
                .write_all(b"HTTP/1.1 407 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            return;
        }
        let Some(url) = head
            .split(' ')
            .nth(1)
            .and_then(|url| url.strip_prefix("http://"))
        else {
            return;
        };
        let (host, path) = url.split_once('/').unwrap();
        let mut server = TcpStream::connect(host).unwrap();
        passed.fetch_add(1, Ordering::SeqCst);
        let head = head.replacen(&format!("http://{host}/{path}"), &format!("/{path}"), 1);
        server.write_all(head.as_bytes()).unwrap();
        std::thread::spawn(move || {
            let mut back = server.try_clone().unwrap();
            std::thread::spawn(move || {
                let mut piece = [0; 4096];
                while let Ok(read @ 1..) = lines.read(&mut piece) {
                    // The head of a further request on this connection still names the host.
                    let text = String::from_utf8_lossy(&piece[..read])
                        .replace(&format!(" http://{}", server.peer_addr().unwrap()), " ");
                    if server.write_all(text.as_bytes()).is_err() {
                        return;
                    }
                }
                let _ = server.shutdown(Shutdown::Write);
            });
            let _ = std::io::copy(&mut back, &mut client);
            let _ = client.shutdown(Shutdown::Both);
        });
    })
}

#[test]
fn a_named_proxy_is_used_and_its_password_is_written_nowhere() {
    let place = Place::new();
    let sim = Sim::start(&[]);
    let passed = Arc::new(AtomicU32::new(0));
    let proxy = proxy(Arc::clone(&passed));
    let with_password = proxy
        .url()
        .replace("http://", "http://user:pass-word-4711@");
    let run = place.measure(&sim.url, &[&FEW[..], &["--proxy", &with_password]].concat());
    run.assert_all_ok(4);
    assert!(passed.load(Ordering::SeqCst) > 2);
    assert!(!run.ended.stdout.contains("pass-word-4711"));
    for file in place.files("") {
        let content = std::fs::read(&file).unwrap();
        assert!(
            !String::from_utf8_lossy(&content).contains("pass-word-4711"),
            "{}",
            file.display()
        );
    }
    place
        .run(&["run", &sim.url, "--lang", "en", "--proxy", &proxy.url()])
        .assert_refused(&["407", "--proxy"]);
}

#[test]
fn the_proxies_of_the_environment_are_not_used() {
    let sim = Sim::start(&[]);
    let run = Place::new().measure_with(&sim.url, &FEW, |command| {
        for name in ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"] {
            command.env(name, "http://127.0.0.1:1");
        }
    });
    run.assert_all_ok(4);
}
