//! A real Chromium without a window, spoken to over its debugging protocol.
//!
//! Needs `chromium` on the path, or `INFEROMETER_TEST_CHROMIUM`; tests skip themselves without, except
//! with `CI=true`.

use crate::support::until;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

pub struct Browser {
    process: Child,
    address: String,
    _folder: tempfile::TempDir,
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn chromium() -> Option<PathBuf> {
    let named = std::env::var_os("INFEROMETER_TEST_CHROMIUM").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join("chromium"));
    named.or_else(|| found.into_iter().find(|file| file.is_file()))
}

impl Browser {
    /// Absent where there is none.
    pub fn start() -> Option<Browser> {
        let Some(chromium) = chromium() else {
            inferometer_testing::skipped(
                "no chromium; install it or set INFEROMETER_TEST_CHROMIUM",
            );
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let process = Command::new(chromium)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
            ])
            .args([
                "--no-first-run",
                "--disable-background-networking",
                "--disable-sync",
            ])
            .args(["--disable-component-update", "--remote-debugging-port=0"])
            .arg(format!("--user-data-dir={}", folder.path().display()))
            .env("HOME", folder.path())
            .stdout(Stdio::null())
            .stderr(File::create(&log).unwrap())
            .spawn()
            .unwrap();
        let address = until("a browser", || {
            let said = std::fs::read_to_string(&log).ok()?;
            let (_, rest) = said.split_once("DevTools listening on ws://")?;
            Some(rest.split_once('/')?.0.to_owned())
        });
        Some(Browser {
            process,
            address,
            _folder: folder,
        })
    }

    /// A page of this width, without having gone anywhere.
    pub fn page(&self, width: u32) -> BrowserPage {
        let mut http = TcpStream::connect(&self.address).unwrap();
        let ask = format!("PUT /json/new HTTP/1.1\r\nHost: {}\r\n\r\n", self.address);
        http.write_all(ask.as_bytes()).unwrap();
        // It keeps the connection open, whatever is asked.
        let head = head_of(&mut http).to_ascii_lowercase();
        let (_, length) = head.split_once("content-length:").unwrap();
        let length = length.lines().next().unwrap().trim();
        let mut body = vec![0; length.parse().unwrap()];
        http.read_exact(&mut body).unwrap();
        let target: Value = serde_json::from_slice(&body).unwrap();
        let socket = target["webSocketDebuggerUrl"].as_str().unwrap();
        let (host, path) = socket.trim_start_matches("ws://").split_once('/').unwrap();
        let mut stream = TcpStream::connect(host).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(120)))
            .unwrap();
        let upgrade = format!(
            "GET /{path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
        );
        stream.write_all(upgrade.as_bytes()).unwrap();
        head_of(&mut stream);
        let mut page = BrowserPage { stream, asked: 0 };
        let size = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false});
        page.call("Emulation.setDeviceMetricsOverride", size);
        page.call("Page.enable", json!({}));
        page
    }
}

/// The head of an HTTP answer, to the empty line.
fn head_of(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    String::from_utf8(head).unwrap()
}

pub struct BrowserPage {
    stream: TcpStream,
    asked: u64,
}

impl BrowserPage {
    /// Calls a method of the protocol and waits for its result.
    fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.asked += 1;
        let text = json!({"id": self.asked, "method": method, "params": parameters}).to_string();
        let length = text.len();
        // A text, masked by nothing.
        let mut frame = vec![0x81, 0x80 | 127];
        frame.extend_from_slice(&(length as u64).to_be_bytes());
        frame.extend_from_slice(&[0; 4]);
        frame.extend_from_slice(text.as_bytes());
        self.stream.write_all(&frame).unwrap();
        loop {
            let message: Value = serde_json::from_slice(&self.message()).unwrap();
            if message["id"] == self.asked {
                return message["result"].clone();
            }
        }
    }

    fn message(&mut self) -> Vec<u8> {
        let mut message = Vec::new();
        loop {
            let mut head = [0; 2];
            self.stream.read_exact(&mut head).unwrap();
            let length = match head[1] & 127 {
                126 => {
                    let mut length = [0; 2];
                    self.stream.read_exact(&mut length).unwrap();
                    u64::from(u16::from_be_bytes(length))
                }
                127 => {
                    let mut length = [0; 8];
                    self.stream.read_exact(&mut length).unwrap();
                    u64::from_be_bytes(length)
                }
                short => u64::from(short),
            };
            let mut part = vec![0; usize::try_from(length).unwrap()];
            self.stream.read_exact(&mut part).unwrap();
            message.extend(part);
            if head[0] & 0x80 != 0 {
                return message;
            }
        }
    }

    pub fn go(&mut self, url: &str) {
        self.call("Page.navigate", json!({"url": url}));
        self.until("document.readyState === 'complete'");
    }

    /// Loads the page again, and waits until it is a new one.
    pub fn reload(&mut self) {
        self.value("window.isOld = true");
        self.call("Page.reload", json!({}));
        self.until("window.isOld === undefined && document.readyState === 'complete'");
    }

    /// The value of an expression on the page.
    pub fn value(&mut self, expression: &str) -> Value {
        let parameters = json!({"expression": expression, "returnByValue": true});
        let result = self.call("Runtime.evaluate", parameters);
        assert!(
            result["exceptionDetails"].is_null(),
            "{expression}: {result}"
        );
        result["result"]["value"].clone()
    }

    /// Presses a key: Tab, Enter or Space.
    pub fn press(&mut self, key: &str) {
        let (number, text) = match key {
            "Tab" => (9, ""),
            "Enter" => (13, "\r"),
            _ => (32, " "),
        };
        let name = if key == "Space" { " " } else { key };
        let event = |kind: &str| json!({"type": kind, "key": name, "code": key, "text": text, "windowsVirtualKeyCode": number});
        self.call("Input.dispatchKeyEvent", event("keyDown"));
        self.call("Input.dispatchKeyEvent", event("keyUp"));
    }

    /// Presses Tab until an expression is true.
    #[track_caller]
    pub fn tab_to(&mut self, expression: &str) {
        for _ in 0..200 {
            self.press("Tab");
            if self.value(expression) == true {
                return;
            }
        }
        panic!("no key leads to {expression}");
    }

    /// What can be used or seen and has no name for those who hear the page.
    pub fn unnamed(&mut self) -> Vec<Value> {
        const NAMED: [&str; 9] = [
            "button",
            "link",
            "checkbox",
            "combobox",
            "searchbox",
            "textbox",
            "Date",
            "img",
            "image",
        ];
        let tree = self.call("Accessibility.getFullAXTree", json!({}));
        let nodes = tree["nodes"].as_array().unwrap().iter();
        let lacks_name = |node: &&Value| {
            node["ignored"] == false
                && NAMED.iter().any(|role| node["role"]["value"] == *role)
                && node["name"]["value"]
                    .as_str()
                    .is_none_or(|it| it.trim().is_empty())
        };
        nodes.filter(lacks_name).cloned().collect()
    }

    /// Waits until an expression is true on the page; what it asks for need not be there yet.
    #[track_caller]
    pub fn until(&mut self, expression: &str) {
        let careful =
            format!("(() => {{ try {{ return {expression}; }} catch {{ return false; }} }})()");
        until(expression, || (self.value(&careful) == true).then_some(()));
    }
}
