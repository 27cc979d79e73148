//! Framing of an answer's body: by length, in chunks, or until the connection closes.

use memchr::memchr;

const LONGEST_LINE: usize = 16 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    #[error("a chunk without a valid size")]
    ChunkSize,
    #[error("a chunk without its line end")]
    ChunkEnd,
    #[error("a chunk header that does not end")]
    LongLine,
}

/// Takes the framing off a body that comes in pieces of any size.
#[derive(Debug)]
pub enum BodyDecoder {
    /// Bytes that are still to come.
    Length(u64),
    UntilClose,
    Chunked(Chunked),
    Done,
}

#[derive(Debug)]
pub enum Chunked {
    /// In the line with the size; what came of it so far.
    Size(Vec<u8>),
    /// In the data; what is missing of it.
    Data(u64),
    /// Before the line end that follows the data.
    DataEnd,
    /// In the trailers; length of the current line, and of all of them.
    Trailers { line: usize, all: usize },
}

impl BodyDecoder {
    pub fn length(length: u64) -> Self {
        match length {
            0 => BodyDecoder::Done,
            length => BodyDecoder::Length(length),
        }
    }

    pub fn chunked() -> Self {
        BodyDecoder::Chunked(Chunked::Size(Vec::new()))
    }

    pub fn is_done(&self) -> bool {
        matches!(self, BodyDecoder::Done)
    }

    /// The body is whole if the connection closes now.
    pub fn may_close(&self) -> bool {
        matches!(self, BodyDecoder::Done | BodyDecoder::UntilClose)
    }

    /// Takes the framing off a piece, gives the data in it, and says how many bytes of the
    /// piece belong to this body.
    pub fn decode(
        &mut self,
        piece: &[u8],
        mut give: impl FnMut(&[u8]),
    ) -> Result<usize, BodyError> {
        match self {
            BodyDecoder::Done => Ok(0),
            BodyDecoder::UntilClose => {
                give(piece);
                Ok(piece.len())
            }
            BodyDecoder::Length(left) => {
                let take = piece
                    .len()
                    .min(usize::try_from(*left).unwrap_or(usize::MAX));
                *left -= take as u64;
                if *left == 0 {
                    *self = BodyDecoder::Done;
                }
                give(&piece[..take]);
                Ok(take)
            }
            BodyDecoder::Chunked(state) => {
                let mut rest = piece;
                while !rest.is_empty() {
                    match state.step(rest, &mut give)? {
                        Some(used) => rest = &rest[used..],
                        None => {
                            // The blank line after the trailers; it is one byte of `rest`.
                            *self = BodyDecoder::Done;
                            return Ok(piece.len() - rest.len() + 1);
                        }
                    }
                }
                Ok(piece.len())
            }
        }
    }
}

impl Chunked {
    /// Takes what it can of a non-empty piece; `None` means that the body is over.
    fn step(
        &mut self,
        piece: &[u8],
        give: &mut impl FnMut(&[u8]),
    ) -> Result<Option<usize>, BodyError> {
        match self {
            Chunked::Size(kept) => {
                let Some(end) = memchr(b'\n', piece) else {
                    if kept.len() + piece.len() > LONGEST_LINE {
                        return Err(BodyError::LongLine);
                    }
                    kept.extend_from_slice(piece);
                    return Ok(Some(piece.len()));
                };
                let size = if kept.is_empty() {
                    chunk_size(&piece[..end])?
                } else {
                    kept.extend_from_slice(&piece[..end]);
                    chunk_size(kept)?
                };
                *self = match size {
                    0 => Chunked::Trailers { line: 0, all: 0 },
                    size => Chunked::Data(size),
                };
                Ok(Some(end + 1))
            }
            Chunked::Data(left) => {
                let take = piece
                    .len()
                    .min(usize::try_from(*left).unwrap_or(usize::MAX));
                *left -= take as u64;
                if *left == 0 {
                    *self = Chunked::DataEnd;
                }
                give(&piece[..take]);
                Ok(Some(take))
            }
            Chunked::DataEnd => match piece[0] {
                b'\r' => Ok(Some(1)),
                b'\n' => {
                    *self = Chunked::Size(Vec::new());
                    Ok(Some(1))
                }
                _ => Err(BodyError::ChunkEnd),
            },
            Chunked::Trailers { line, all } => {
                *all += 1;
                if *all > LONGEST_LINE {
                    return Err(BodyError::LongLine);
                }
                match piece[0] {
                    b'\n' if *line == 0 => return Ok(None),
                    b'\n' => *line = 0,
                    b'\r' => {}
                    _ => *line += 1,
                }
                Ok(Some(1))
            }
        }
    }
}

/// The size in a chunk's first line; extensions after `;` are passed over.
fn chunk_size(line: &[u8]) -> Result<u64, BodyError> {
    let mut size: u64 = 0;
    let mut digits = 0;
    for &byte in line {
        let Some(digit) = (byte as char).to_digit(16) else {
            match byte {
                b';' | b'\r' | b' ' | b'\t' => break,
                _ => return Err(BodyError::ChunkSize),
            }
        };
        digits += 1;
        if digits > 15 {
            return Err(BodyError::ChunkSize);
        }
        size = size << 4 | u64::from(digit);
    }
    match digits {
        0 => Err(BodyError::ChunkSize),
        _ => Ok(size),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decode(decoder: &mut BodyDecoder, bytes: &[u8], piece: usize) -> (Vec<u8>, usize) {
        let mut data = Vec::new();
        let mut used = 0;
        for part in bytes.chunks(piece) {
            used += decoder
                .decode(part, |bytes| data.extend_from_slice(bytes))
                .unwrap();
            if decoder.is_done() {
                break;
            }
        }
        (data, used)
    }

    #[test]
    fn a_body_by_length_ends_after_its_length() {
        let mut decoder = BodyDecoder::length(5);
        assert_eq!(
            decode(&mut decoder, b"hello next", 3),
            (b"hello".to_vec(), 5)
        );
        assert!(decoder.is_done());
        assert!(BodyDecoder::length(0).is_done());
    }

    #[test]
    fn a_chunked_body_may_have_extensions_and_trailers() {
        let body = b"5;x=y\r\nhello\r\n1\r\n \r\nA\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\nHTTP";
        let mut decoder = BodyDecoder::chunked();
        let (data, used) = decode(&mut decoder, body, body.len());
        assert_eq!(data, b"hello 0123456789");
        assert_eq!(used, body.len() - 4);
        assert!(decoder.is_done());
    }

    #[test]
    fn only_a_body_until_close_is_whole_when_the_connection_closes_early() {
        assert!(BodyDecoder::UntilClose.may_close());
        assert!(!BodyDecoder::length(5).may_close());
        assert!(!BodyDecoder::chunked().may_close());
    }

    #[test]
    fn nonsense_in_place_of_a_chunk_is_an_error() {
        for body in [
            &b"xyz\r\n"[..],
            b"\r\n",
            b"5\r\nhelloX",
            b"fffffffffffffffff\r\n",
        ] {
            let mut decoder = BodyDecoder::chunked();
            assert!(decoder.decode(body, |_| {}).is_err(), "{body:?}");
        }
    }

    proptest! {
        #[test]
        fn any_chunking_in_any_pieces_gives_the_same_data(
            parts in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..40), 0..10),
            piece in 1usize..50,
        ) {
            let mut wire = Vec::new();
            for part in &parts {
                wire.extend_from_slice(format!("{:x}\r\n", part.len()).as_bytes());
                wire.extend_from_slice(part);
                wire.extend_from_slice(b"\r\n");
            }
            wire.extend_from_slice(b"0\r\n\r\n");
            let mut decoder = BodyDecoder::chunked();
            let (data, used) = decode(&mut decoder, &wire, piece);
            prop_assert_eq!(data, parts.concat());
            prop_assert_eq!(used, wire.len());
            prop_assert!(decoder.is_done());
        }

        #[test]
        fn no_bytes_whatever_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = BodyDecoder::chunked().decode(&bytes, |_| {});
        }
    }
}
