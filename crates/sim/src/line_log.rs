//! A log of lines that a thread of its own formats and writes, so that serving does neither.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread::JoinHandle,
    time::{Duration, Instant},
};

/// The longest that a line stays in memory.
const FLUSH_EVERY: Duration = Duration::from_millis(200);

/// How a line is written, its line end included.
pub(crate) type WriteLine<T> = fn(&mut dyn Write, &T) -> io::Result<()>;

/// The open log; closing it waits until everything is on disk.
pub(crate) struct LineLog<T> {
    path: PathBuf,
    sender: Sender<T>,
    writer: JoinHandle<io::Result<()>>,
}

impl<T: Send + 'static> LineLog<T> {
    pub(crate) fn create(
        path: &Path,
        thread: &str,
        write_line: WriteLine<T>,
    ) -> io::Result<LineLog<T>> {
        let file = File::create(path)?;
        let (sender, receiver) = channel();
        let writer = std::thread::Builder::new()
            .name(thread.to_owned())
            .spawn(move || {
                // Where threads share a core, the one that serves goes first.
                let _ = rustix::process::nice(10);
                let out = BufWriter::with_capacity(1 << 16, file);
                write_lines(out, receiver, write_line)
            })?;
        Ok(LineLog {
            path: path.to_owned(),
            sender,
            writer,
        })
    }

    /// Where lines go. The writer stops only on a full disk, which [`Self::close`] reports; until
    /// then lines that cannot be sent are lost.
    pub(crate) fn sender(&self) -> Sender<T> {
        self.sender.clone()
    }

    /// Waits for the last line. Every sender must be gone by then.
    pub(crate) fn close(self) -> Result<(), (PathBuf, io::Error)> {
        drop(self.sender);
        let written = self.writer.join().expect("the log's writer does not panic");
        written.map_err(|source| (self.path, source))
    }
}

fn write_lines<T>(
    mut out: impl Write,
    lines: Receiver<T>,
    write_line: WriteLine<T>,
) -> io::Result<()> {
    let mut flush_at: Option<Instant> = None;
    loop {
        let received = match flush_at {
            Some(at) => lines.recv_timeout(at.saturating_duration_since(Instant::now())),
            None => lines.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match received {
            Ok(line) => {
                write_line(&mut out, &line)?;
                flush_at.get_or_insert_with(|| Instant::now() + FLUSH_EVERY);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return out.flush(),
        }
        if flush_at.is_some_and(|at| Instant::now() >= at) {
            out.flush()?;
            flush_at = None;
        }
    }
}
