//! Frames on a connection: a length, a kind, so many bytes. Nothing is read beyond the limits.

use std::io::{self, ErrorKind, Read, Write};

/// Longest frame of a rank that is known.
pub(crate) const MOST: usize = 4 << 20;

/// Longest frame of somebody who has not yet said who it is.
pub(crate) const MOST_OF_STRANGERS: usize = 4 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// What this crate says itself.
    Control = 1,
    /// A message of those who use it.
    Said = 2,
    /// A piece of a file.
    Piece = 3,
}

pub(crate) fn write(to: &mut impl Write, kind: Kind, body: &[u8]) -> io::Result<()> {
    let length = u32::try_from(body.len())
        .ok()
        .filter(|_| body.len() <= MOST);
    let length = length.ok_or_else(|| io::Error::other("the message is too long"))?;
    // One write, so that no acknowledgement is waited for in between.
    let mut frame = Vec::with_capacity(5 + body.len());
    frame.extend(length.to_be_bytes());
    frame.push(kind as u8);
    frame.extend(body);
    to.write_all(&frame)
}

pub(crate) fn read(from: &mut impl Read, most: usize) -> io::Result<(Kind, Vec<u8>)> {
    let mut head = [0; 5];
    from.read_exact(&mut head)?;
    let [a, b, c, d, kind] = head;
    let length = u32::from_be_bytes([a, b, c, d]) as usize;
    let kind = match kind {
        1 => Kind::Control,
        2 => Kind::Said,
        3 => Kind::Piece,
        _ => return Err(no_frame()),
    };
    if length > most {
        return Err(no_frame());
    }
    let mut body = vec![0; length];
    from.read_exact(&mut body)?;
    Ok((kind, body))
}

fn no_frame() -> io::Error {
    io::Error::new(ErrorKind::InvalidData, "it sent no message of ours")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_and_what_others_write_is_refused() {
        let mut bytes = Vec::new();
        write(&mut bytes, Kind::Said, b"one").unwrap();
        write(&mut bytes, Kind::Piece, b"").unwrap();
        let mut from = bytes.as_slice();
        assert_eq!(read(&mut from, 3).unwrap(), (Kind::Said, b"one".to_vec()));
        assert_eq!(read(&mut from, 3).unwrap(), (Kind::Piece, vec![]));
        assert!(read(&mut from, 3).is_err(), "the end");
        for hostile in [
            b"GET / HTTP/1.1\r\n\r\n".as_slice(),
            &[0, 0, 0, 4, 2, 1, 2, 3, 4],
            &[0, 0, 0, 0, 9],
            &[0xff; 64],
        ] {
            let error = read(&mut &hostile[..], 3).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidData);
        }
        assert!(write(&mut Vec::new(), Kind::Piece, &vec![0; MOST + 1]).is_err());
    }
}
