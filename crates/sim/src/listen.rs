//! Opening the listening socket.

use std::{
    io,
    net::{SocketAddr, TcpListener},
};

use rustix::{
    io::Errno,
    process::{Resource, Rlimit, getrlimit, setrlimit},
};
use socket2::{Domain, Protocol, Socket, Type};

use crate::error::SimError;

/// Room for a burst of connections while the accept loop is busy; the kernel caps it at
/// net.core.somaxconn.
const BACKLOG: i32 = 16_384;

/// Binds without blocking mode, and lets the process hold as many sockets as it may. The address
/// that is returned has the port that was really bound.
pub(crate) fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr), SimError> {
    raise_open_files();
    let open = || {
        let socket = Socket::new(
            Domain::for_address(address),
            Type::STREAM,
            Some(Protocol::TCP),
        )?;
        socket.set_reuse_address(true)?;
        socket.bind(&address.into())?;
        socket.listen(BACKLOG)?;
        socket.set_nonblocking(true)?;
        let listener = TcpListener::from(socket);
        let bound = listener.local_addr()?;
        Ok((listener, bound))
    };
    open().map_err(|source| SimError::Listen {
        listen: address,
        source,
    })
}

/// A stream is a file descriptor, and the usual soft limit is 1024. Failing is not an error:
/// the accept loop copes with a full table.
fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let wanted = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    let _ = setrlimit(Resource::Nofile, wanted);
}

/// Whether accepting may work again: the client gave up, or the file table is full.
pub(crate) fn is_transient(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    [
        Errno::CONNABORTED,
        Errno::MFILE,
        Errno::NFILE,
        Errno::NOBUFS,
        Errno::NOMEM,
    ]
    .iter()
    .any(|transient| errno == Some(*transient))
}
