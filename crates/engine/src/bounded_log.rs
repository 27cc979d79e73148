//! What an engine writes, on its way to its log: secrets of its command are left out, and of a flood
//! only the beginning and the end stay, since the beginning has the facts and the end the cause.

use inferometer_text::secret::Secrets;
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read, Seek, SeekFrom, Write};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

/// Bytes of the beginning that stay.
const HEAD: u64 = 8 << 20;
/// Bytes of the end that stay, at least; at most twice as many.
const TAIL: u64 = 8 << 20;

/// Bytes that are read at once; a longer line is redacted in pieces.
const PIECE: usize = 64 * 1024;

/// Writes what comes through a pipe to a log, until all who hold the pipe are gone.
pub(crate) struct BoundedLog {
    ended: Receiver<()>,
}

impl BoundedLog {
    /// The log, and the pipe for the engine.
    pub fn start(log: File, secrets: Secrets) -> io::Result<(BoundedLog, PipeWriter)> {
        let (pipe, writer) = io::pipe()?;
        let (ends, ended) = mpsc::channel();
        std::thread::Builder::new()
            .name("log".into())
            .spawn(move || {
                // A log that cannot be written must not hold up the engine: it is read on.
                let mut kept = Kept::new(log, HEAD, TAIL);
                pass_on(pipe, &secrets, |text| {
                    let _ = kept.push(text);
                });
                drop(ends);
            })?;
        Ok((BoundedLog { ended }, writer))
    }

    /// Waits until all that the engine wrote is in its log; not for long, since a process that it
    /// left behind may hold the pipe.
    pub fn settle(&self, limit: Duration) {
        let _: Result<(), RecvTimeoutError> = self.ended.recv_timeout(limit);
    }
}

/// Hands on what comes, by whole lines where there are secrets to be found in them.
fn pass_on(mut pipe: PipeReader, secrets: &Secrets, mut hand_on: impl FnMut(&[u8])) {
    let mut waiting = Vec::new();
    let mut piece = vec![0; PIECE];
    loop {
        let count = match pipe.read(&mut piece) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        if secrets.is_empty() {
            hand_on(&piece[..count]);
            continue;
        }
        waiting.extend_from_slice(&piece[..count]);
        let is_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
        let whole = match waiting.iter().rposition(is_end) {
            Some(end) => end + 1,
            None if waiting.len() < PIECE => continue,
            None => waiting.len(),
        };
        let rest = waiting.split_off(whole);
        hand_on(
            secrets
                .redact(&String::from_utf8_lossy(&waiting))
                .as_bytes(),
        );
        waiting = rest;
    }
    if !waiting.is_empty() {
        hand_on(
            secrets
                .redact(&String::from_utf8_lossy(&waiting))
                .as_bytes(),
        );
    }
}

/// A log of which the middle goes when it becomes too long.
struct Kept {
    file: File,
    head: u64,
    tail: u64,
    /// Bytes that went.
    left_out: u64,
    /// Where the end begins: behind the head and the line that says what went.
    tail_from: Option<u64>,
}

impl Kept {
    fn new(file: File, head: u64, tail: u64) -> Self {
        Kept {
            file,
            head,
            tail,
            left_out: 0,
            tail_from: None,
        }
    }

    fn push(&mut self, text: &[u8]) -> io::Result<()> {
        self.file.write_all(text)?;
        let length = self.file.metadata()?.len();
        let from = self.tail_from.unwrap_or(self.head);
        if length < from + 2 * self.tail {
            return Ok(());
        }
        let mut end = Vec::new();
        self.file.seek(SeekFrom::Start(length - self.tail))?;
        (&self.file).take(self.tail).read_to_end(&mut end)?;
        // A first line that is cut in the middle would say something else.
        let first = end.iter().position(|&byte| byte == b'\n');
        let end = &end[first.map_or(0, |at| at + 1)..];
        self.left_out += length - from - end.len() as u64;
        self.file.set_len(self.head)?;
        let note = format!(
            "\n[inferometer: {} bytes of this log were left out here]\n",
            self.left_out
        );
        self.tail_from = Some(self.head + note.len() as u64);
        self.file.write_all(note.as_bytes())?;
        self.file.write_all(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, OpenOptions};
    use std::path::Path;

    fn log(path: &Path) -> File {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        options.open(path).unwrap()
    }

    #[test]
    fn of_a_flood_the_beginning_and_the_end_stay_and_the_rest_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("engine.log");
        let mut kept = Kept::new(log(&path), 1000, 1000);
        let mut written = 0;
        for line in 0..5000 {
            let text = format!("line {line}\n");
            written += text.len();
            kept.push(text.as_bytes()).unwrap();
            assert!(fs::metadata(&path).unwrap().len() < 3200);
        }
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("line 0\nline 1\n"), "{text}");
        assert!(text.ends_with("line 4998\nline 4999\n"), "{text}");
        let (before, note) = text.split_once("\n[inferometer: ").unwrap();
        let (count, after) = note
            .split_once(" bytes of this log were left out here]\n")
            .unwrap();
        assert_eq!(
            before.len() + count.parse::<usize>().unwrap() + after.len(),
            written
        );
    }

    #[test]
    fn secrets_do_not_reach_the_log_wherever_the_pipe_cuts_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("engine.log");
        let mut secrets = Secrets::default();
        secrets.add("sk-secret-4711");
        let (bounded, mut pipe) = BoundedLog::start(log(&path), secrets).unwrap();
        for piece in [
            "api_key=['sk-sec",
            "ret-4711'] ready\nlast sk-secret",
            "-4711",
        ] {
            pipe.write_all(piece.as_bytes()).unwrap();
        }
        drop(pipe);
        bounded.settle(Duration::from_secs(60));
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            "api_key=['[redacted]'] ready\nlast [redacted]"
        );
    }
}
