//! Ports of this host and of servers.

use inferometer_fetch::url::host_and_port;
use std::io;
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
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

/// A port of this host that nobody uses now.
pub fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}
