//! A file as a stream of its text's bytes, unpacked on the way.
//!
//! What a file is, its first bytes say: names are often wrong after a download.

use crate::survey::Packing;
use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// A stream of bytes that is read once.
pub type Source = Box<dyn BufRead + Send>;

const BUFFER: usize = 256 * 1024;
const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: u32 = 0xfd2f_b528;
/// Frames that a packer may add for itself, in the lowest four bits anything.
const ZSTD_SKIPPABLE: u32 = 0x184d_2a50;
const BYTE_ORDER_MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

/// Opens a file: plain, gzip or zstd, without its byte-order mark. A folder is all of its files
/// of JSON, by their names.
pub fn open(path: &Path) -> io::Result<(Source, Packing)> {
    if path.is_dir() {
        return Ok((
            Box::new(BufReader::new(Folder::open(path)?)),
            Packing::Plain,
        ));
    }
    let file = File::open(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_char_device() || kind.is_block_device() {
        // It may have no end.
        return Err(io::Error::other("it is a device, not a file or a pipe"));
    }
    unpacked(BufReader::with_capacity(BUFFER, file))
}

/// The files of a folder, one after the other.
struct Folder {
    left: std::vec::IntoIter<PathBuf>,
    open: Option<Source>,
}

impl Folder {
    fn open(path: &Path) -> io::Result<Self> {
        let mut files = Vec::new();
        for entry in std::fs::read_dir(path)? {
            let file = entry?.path();
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            if file.is_file() && name.contains(".json") && !name.starts_with('.') {
                files.push(file);
            }
        }
        if files.is_empty() {
            return Err(io::Error::other("the folder has no files of JSON"));
        }
        files.sort();
        Ok(Folder {
            left: files.into_iter(),
            open: None,
        })
    }
}

impl Read for Folder {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let Some(open) = &mut self.open else {
                match self.left.next() {
                    Some(file) => self.open = Some(open(&file)?.0),
                    None => return Ok(0),
                }
                continue;
            };
            match (open.read(into)?, into.first_mut()) {
                // The last line of a file may have no end.
                (0, Some(first)) => {
                    self.open = None;
                    *first = b'\n';
                    return Ok(1);
                }
                (read, _) => return Ok(read),
            }
        }
    }
}

fn unpacked(packed: impl BufRead + Send + 'static) -> io::Result<(Source, Packing)> {
    let (head, packed) = peeked::<4>(packed)?;
    let magic = head.first_chunk().map(|bytes| u32::from_le_bytes(*bytes));
    Ok(match magic {
        _ if head.starts_with(&GZIP) => {
            let text = BufReader::with_capacity(BUFFER, MultiGzDecoder::new(packed));
            (without_mark(text)?, Packing::Gzip)
        }
        Some(magic) if magic == ZSTD || magic & !0xf == ZSTD_SKIPPABLE => {
            let text = BufReader::with_capacity(BUFFER, ZstdFrames::new(packed));
            (without_mark(text)?, Packing::Zstd)
        }
        _ => (without_mark(packed)?, Packing::Plain),
    })
}

fn without_mark(text: impl BufRead + Send + 'static) -> io::Result<Source> {
    let (head, mut text) = peeked::<3>(text)?;
    if head == BYTE_ORDER_MARK {
        text.consume(head.len());
    }
    Ok(Box::new(text))
}

/// The first bytes of a stream, fewer if it is shorter, and the stream still with them.
fn peeked<const N: usize>(mut stream: impl BufRead) -> io::Result<(Vec<u8>, impl BufRead)> {
    let mut head = Vec::with_capacity(N);
    stream.by_ref().take(N as u64).read_to_end(&mut head)?;
    Ok((head.clone(), Cursor::new(head).chain(stream)))
}

/// All frames of a zstd file, one after the other, as `zstd` itself reads them.
struct ZstdFrames<R> {
    packed: R,
    decoder: FrameDecoder,
    inside: bool,
}

impl<R: BufRead> ZstdFrames<R> {
    fn new(packed: R) -> Self {
        ZstdFrames {
            packed,
            decoder: FrameDecoder::new(),
            inside: false,
        }
    }

    /// Begins the next frame; false at the end of the file.
    fn begin_frame(&mut self) -> io::Result<bool> {
        while !self.packed.fill_buf()?.is_empty() {
            match self.decoder.init(&mut self.packed) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let mut skipped = self.packed.by_ref().take(u64::from(length));
                    if io::copy(&mut skipped, &mut io::sink())? < u64::from(length) {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(bad) => return Err(io::Error::other(bad)),
            }
        }
        Ok(false)
    }
}

impl<R: BufRead> Read for ZstdFrames<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.inside && !self.begin_frame()? {
                return Ok(0);
            }
            self.inside = true;
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                (self.decoder)
                    .decode_blocks(&mut self.packed, BlockDecodingStrategy::UptoBlocks(1))
                    .map_err(io::Error::other)?;
            }
            match self.decoder.read(into)? {
                0 => self.inside = false,
                read => return Ok(read),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};
    use std::io::Write;

    fn gzip(text: &str) -> Vec<u8> {
        let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
        packer.write_all(text.as_bytes()).unwrap();
        packer.finish().unwrap()
    }

    fn zstd(text: &str) -> Vec<u8> {
        compress_to_vec(text.as_bytes(), CompressionLevel::Fastest)
    }

    fn read(bytes: Vec<u8>, buffer: usize) -> io::Result<String> {
        let mut text = String::new();
        unpacked(BufReader::with_capacity(buffer, Cursor::new(bytes)))?
            .0
            .read_to_string(&mut text)
            .map(|_| text)
    }

    #[test]
    fn packed_files_read_as_plain_ones_however_many_parts_they_have() {
        let (one, two) = ("first line\n".repeat(30_000), "二\n".repeat(30_000));
        let both = format!("{one}{two}");
        let skippable = [&[0x53, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 9, 9, 9][..]].concat();
        for bytes in [
            both.clone().into_bytes(),
            gzip(&both),
            [gzip(&one), gzip(&two)].concat(),
            zstd(&both),
            [zstd(&one), zstd(""), zstd(&two)].concat(),
            [skippable.clone(), zstd(&one), skippable, zstd(&two)].concat(),
        ] {
            for buffer in [1, 7, 4096] {
                assert_eq!(read(bytes.clone(), buffer).unwrap(), both);
            }
        }
    }

    #[test]
    fn a_byte_order_mark_is_no_text_and_a_short_file_is_whole() {
        assert_eq!(read(b"\xef\xbb\xbfhi".to_vec(), 1).unwrap(), "hi");
        assert_eq!(read(gzip("\u{feff}hi"), 1).unwrap(), "hi");
        for text in ["", "a", "ab", "abc", "abcd", "abcde"] {
            assert_eq!(read(text.as_bytes().to_vec(), 1).unwrap(), text);
        }
    }

    #[test]
    fn a_packed_file_that_breaks_off_is_an_error_and_no_shorter_text() {
        let text: String = (0..50_000).map(|n| format!("{n} ")).collect();
        for packed in [gzip(&text), zstd(&text)] {
            let half = packed[..packed.len() / 2].to_vec();
            assert!(read(half, 512).is_err());
        }
    }
}
