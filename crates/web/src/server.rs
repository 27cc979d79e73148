//! The server itself: connections, a thread for each, and their end.

use crate::access::Access;
use crate::answer::{Answer, Status};
use crate::request::{BadRequest, Method, Request};
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Connections at once: some browsers with some pages each.
const MOST_CONNECTIONS: usize = 64;
/// Time after which a browser that takes nothing, or sends nothing, is left.
const PATIENCE: Duration = Duration::from_secs(10);

type Handler = dyn Fn(&Request) -> Answer + Send + Sync;

pub struct Server {
    listener: TcpListener,
    access: Access,
}

impl Server {
    pub fn bind(address: impl ToSocketAddrs, access: Access) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        Ok(Server { listener, access })
    }

    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Answers until the handle is dropped.
    pub fn start(
        self,
        handler: impl Fn(&Request) -> Answer + Send + Sync + 'static,
    ) -> io::Result<ServerHandle> {
        let address = self.address()?;
        let stopped = Arc::new(AtomicBool::new(false));
        let watched = Arc::clone(&stopped);
        let (handler, access): (Arc<Handler>, _) = (Arc::new(handler), Arc::new(self.access));
        let open = Arc::new(AtomicUsize::new(0));
        let accept = move || {
            for stream in self.listener.incoming() {
                if watched.load(Ordering::Relaxed) {
                    return;
                }
                // A connection that failed at once, or too few file descriptors: others may come.
                let Ok(stream) = stream else {
                    thread::sleep(Duration::from_millis(50));
                    continue;
                };
                let (handler, access) = (Arc::clone(&handler), Arc::clone(&access));
                let slot = Slot::take(&open);
                let serve = move || match slot {
                    Some(_slot) => serve(stream, &access, &*handler),
                    None => refuse(stream),
                };
                // Without a thread the connection is dropped, and the browser told so.
                let _ = thread::Builder::new().name("browser".into()).spawn(serve);
            }
        };
        thread::Builder::new().name("web".into()).spawn(accept)?;
        Ok(ServerHandle { address, stopped })
    }
}

/// A place among the connections, given back when it is dropped.
struct Slot(Arc<AtomicUsize>);

impl Slot {
    fn take(open: &Arc<AtomicUsize>) -> Option<Self> {
        let before = open.fetch_add(1, Ordering::Relaxed);
        let slot = Slot(Arc::clone(open));
        (before < MOST_CONNECTIONS).then_some(slot)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A running server; it ends with this.
pub struct ServerHandle {
    address: SocketAddr,
    stopped: Arc<AtomicBool>,
}

impl ServerHandle {
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for ServerHandle {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        // The thread waits for a connection: this is the last.
        let _ = TcpStream::connect_timeout(&self.address, Duration::from_secs(1));
    }
}

fn refuse(mut stream: TcpStream) {
    let _ = stream.set_write_timeout(Some(PATIENCE));
    let text = "too many connections; close some pages";
    let _ = Answer::text(Status::TooMany, text).write(false, &mut stream);
}

fn serve(mut stream: TcpStream, access: &Access, handler: &Handler) {
    let _ = stream.set_read_timeout(Some(PATIENCE));
    let _ = stream.set_write_timeout(Some(PATIENCE));
    let _ = stream.set_nodelay(true);
    let (head_only, answer) = match Request::read(&mut stream) {
        Ok(request) => {
            let answer = access
                .refusal(&request)
                .unwrap_or_else(|| answered(&request, handler));
            (request.method == Method::Head, answer)
        }
        Err(BadRequest::Gone) => return,
        Err(BadRequest::OtherMethod) => {
            let text = "only GET, HEAD and POST are understood";
            (false, Answer::text(Status::MethodNotAllowed, text))
        }
        Err(BadRequest::Malformed | BadRequest::TooLong) => {
            let text = "this is not a request that a browser makes";
            (false, Answer::text(Status::BadRequest, text))
        }
    };
    let _ = answer.write(head_only, &mut stream);
    let _ = stream.shutdown(Shutdown::Write);
}

/// What cannot be answered because of a mistake of ours costs one page, not the server.
fn answered(request: &Request, handler: &Handler) -> Answer {
    catch_unwind(AssertUnwindSafe(|| handler(request))).unwrap_or_else(|_| {
        let text = "this page could not be made";
        Answer::text(Status::Failed, text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::sync::mpsc;

    fn started(handler: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> ServerHandle {
        let server = Server::bind("127.0.0.1:0", Access::Loopback).unwrap();
        server.start(handler).unwrap()
    }

    fn asked(handle: &ServerHandle, head: &str) -> String {
        let mut stream = TcpStream::connect(handle.address()).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    const HEAD: &str = "GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n";

    #[test]
    fn pages_errors_and_mistakes_are_answered_and_the_server_goes_on() {
        let handle = started(|request| match request.path.first().map(String::as_str) {
            Some("a") => Answer::json("{}".to_owned()),
            Some("bad") => panic!("a mistake"),
            _ => Answer::text(Status::NotFound, "no such page"),
        });
        assert!(asked(&handle, HEAD).ends_with("\r\n\r\n{}"));
        let bad = asked(&handle, &HEAD.replace("/a", "/bad"));
        assert!(bad.starts_with("HTTP/1.1 500"), "{bad}");
        let none = asked(&handle, &HEAD.replace("/a", "/b"));
        assert!(none.starts_with("HTTP/1.1 404"), "{none}");
        let head = asked(&handle, &HEAD.replace("GET", "HEAD"));
        assert!(
            head.contains("Content-Length: 2") && head.ends_with("\r\n\r\n"),
            "{head}"
        );
        assert!(asked(&handle, "nonsense\r\n\r\n").starts_with("HTTP/1.1 400"));
        assert!(asked(&handle, HEAD).ends_with("{}"));
    }

    #[test]
    fn a_browser_that_stops_reading_is_left_and_others_are_answered() {
        struct Told(mpsc::Sender<()>);
        impl Drop for Told {
            fn drop(&mut self) {
                let _ = self.0.send(());
            }
        }
        let (left, heard) = mpsc::channel();
        let handle = started(move |request| {
            if request.path != ["events"] {
                return Answer::text(Status::Ok, "fine");
            }
            let told = Told(left.clone());
            Answer::events(Box::new(move || {
                let _ = &told;
                Some("x".repeat(1 << 20))
            }))
        });
        let mut deaf = TcpStream::connect(handle.address()).unwrap();
        let head = HEAD.replace("/a", "/events");
        deaf.write_all(head.as_bytes()).unwrap();
        assert!(asked(&handle, HEAD).ends_with("fine\n"));
        heard.recv_timeout(12 * PATIENCE).expect("it is left");
        drop(deaf);
    }

    #[test]
    fn a_dropped_server_gives_its_port_back() {
        let handle = started(|_| Answer::json("{}".to_owned()));
        let address = handle.address();
        drop(handle);
        let again = (0..200).find_map(|_| {
            thread::sleep(Duration::from_millis(10));
            TcpListener::bind(address).ok()
        });
        assert!(again.is_some());
    }
}
