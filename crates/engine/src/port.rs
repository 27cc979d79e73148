//! Ports of this host and of servers.

use inferometer_fetch::url::host_and_port;
use std::io;
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

/// Does anybody take connections there?
pub fn is_listening(url: &str) -> bool {
    let Some((host, port)) = host_and_port(url) else {
        return false;
    };
    let Ok(mut addresses) = (host.as_str(), port).to_socket_addrs() else {
        return false;
    };
    addresses.any(|address| TcpStream::connect_timeout(&address, Duration::from_secs(2)).is_ok())
}

/// Below those that systems give to connections and to listeners without a port of their own, of
/// which one could be given away until the engine listens.
const FIRST_PORT: u16 = 20_000;
const PORTS: u16 = 10_000;
const MOST_TRIED: u16 = 200;

/// A port of this host that nobody uses now, and that was not given out before.
pub fn free_port() -> io::Result<u16> {
    static GIVEN: AtomicU16 = AtomicU16::new(0);
    // Processes begin at places of their own.
    let begin = std::process::id().wrapping_mul(7_919);
    for _ in 0..MOST_TRIED {
        let given = u32::from(GIVEN.fetch_add(1, Ordering::Relaxed));
        let place = begin.wrapping_add(given) % u32::from(PORTS);
        let port = u16::try_from(place).map_or(FIRST_PORT, |place| FIRST_PORT + place);
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return Ok(port);
        }
    }
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}
