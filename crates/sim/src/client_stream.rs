//! One accepted connection: reads into a buffer, writes with the time of the write.

use std::{future, io, net::Shutdown, time::Duration};

use socket2::SockRef;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use crate::{clock::Stamp, http::RequestReader};

const READ_ROOM: usize = 4 << 10;
/// How much a client may send ahead while its request is being answered.
const MAX_AHEAD: usize = 64 << 10;
/// How long a client may go on sending after our last byte before it is cut off.
const DRAIN: Duration = Duration::from_secs(1);

pub(crate) struct ClientStream {
    socket: Socket,
    /// Takes what comes; a client may send ahead while its request is being answered.
    pub(crate) requests: RequestReader,
}

enum Socket {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// One `write()` that took at least a byte.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written {
    /// Immediately before the call.
    pub(crate) at: Stamp,
    pub(crate) bytes: usize,
}

impl ClientStream {
    /// Makes a connection ready; fails for a client that has gone or whose handshake fails.
    pub(crate) async fn open(
        stream: TcpStream,
        tls: Option<&TlsAcceptor>,
    ) -> io::Result<ClientStream> {
        stream.set_nodelay(true)?;
        let socket = match tls {
            None => Socket::Plain(stream),
            Some(acceptor) => Socket::Tls(Box::new(acceptor.accept(stream).await?)),
        };
        let requests = RequestReader::default();
        Ok(ClientStream { socket, requests })
    }

    fn socket(&self) -> SockRef<'_> {
        match &self.socket {
            Socket::Plain(stream) => SockRef::from(stream),
            Socket::Tls(stream) => SockRef::from(stream.get_ref().0),
        }
    }

    /// Takes what has come; 0 at the end. Loses nothing when cancelled.
    pub(crate) async fn read(&mut self) -> io::Result<usize> {
        let buf = &mut self.requests.buf;
        match &mut self.socket {
            Socket::Plain(stream) => loop {
                // Room is made only once there is something to read: an idle connection
                // holds no buffer.
                stream.readable().await?;
                make_room(buf);
                match stream.try_read_buf(buf) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    result => return result,
                }
            },
            Socket::Tls(stream) => {
                make_room(buf);
                stream.read_buf(buf).await
            }
        }
    }

    /// Returns when the client has gone away.
    pub(crate) async fn disconnected(&mut self) {
        while self.requests.buf.len() < MAX_AHEAD {
            if matches!(self.read().await, Ok(0) | Err(_)) {
                return;
            }
        }
        future::pending().await
    }

    /// Hands bytes to the kernel with one call, which may take only some of them. Under
    /// TLS it takes all, and the time is that before the first call.
    pub(crate) async fn write(&mut self, bytes: &[u8]) -> io::Result<Written> {
        match &mut self.socket {
            Socket::Plain(stream) => loop {
                stream.writable().await?;
                let at = Stamp::now();
                match stream.try_write(bytes) {
                    Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                    Ok(bytes) => return Ok(Written { at, bytes }),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    Err(error) => return Err(error),
                }
            },
            Socket::Tls(stream) => {
                let at = Stamp::now();
                stream.write_all(bytes).await?;
                stream.flush().await?;
                let bytes = bytes.len();
                Ok(Written { at, bytes })
            }
        }
    }

    /// Writes everything; the time is that of the last call.
    pub(crate) async fn write_all(&mut self, bytes: &[u8]) -> io::Result<Stamp> {
        let mut from = 0;
        loop {
            let written = self.write(&bytes[from..]).await?;
            from += written.bytes;
            if from == bytes.len() {
                return Ok(written.at);
            }
        }
    }

    /// Makes the coming close a reset instead of an orderly end.
    pub(crate) fn reset_on_close(&self) {
        // Failing leaves an orderly close, which the peer sees as a failure all the same.
        let _ = self.socket().set_linger(Some(Duration::ZERO));
    }

    /// Ends our side and reads the rest of what the client sends: closing with unread bytes
    /// would reset the connection and could destroy the answer on its way.
    pub(crate) async fn close(mut self) {
        let ended = match &mut self.socket {
            Socket::Plain(stream) => SockRef::from(&*stream).shutdown(Shutdown::Write),
            Socket::Tls(stream) => stream.shutdown().await,
        };
        if ended.is_err() {
            return;
        }
        let drain = async {
            while matches!(self.read().await, Ok(1..)) {
                self.requests.buf.clear();
            }
        };
        let _ = timeout(DRAIN, drain).await;
    }
}

fn make_room(buf: &mut Vec<u8>) {
    if buf.capacity() - buf.len() < READ_ROOM {
        buf.reserve(READ_ROOM);
    }
}
