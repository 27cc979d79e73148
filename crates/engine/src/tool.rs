//! Short commands: `nvidia-smi`, which is asked for its text, and a stop command.

use crate::exit::Exit;
use crate::processes::{signal_group, wait_until};
use rustix::process::Signal;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// Most text of a tool that is kept; the rest is read and dropped.
const MOST_TEXT: usize = 4 << 20;

#[derive(Clone, Debug)]
pub(crate) struct ToolOutput {
    pub stdout: String,
    /// Absent if it had to be killed because its time was over.
    pub exit: Option<Exit>,
}

/// Runs a command to its end, or for as long as it may, without a terminal and in a group of
/// its own.
pub(crate) fn run(
    words: &[String],
    environment: &[(String, String)],
    limit: Duration,
) -> io::Result<ToolOutput> {
    let mut child = command(words, environment)?
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let stdout = collect(child.stdout.take());
    let exit = finish(&mut child, limit);
    Ok(ToolOutput {
        stdout: text(&stdout),
        exit,
    })
}

/// What was collected of a command that has ended. A grandchild may hold the pipe open; what came
/// so far must do.
pub(crate) fn text(collected: &mpsc::Receiver<Vec<u8>>) -> String {
    let mut bytes = Vec::new();
    while let Ok(piece) = collected.recv_timeout(Duration::from_millis(500)) {
        bytes.extend(piece);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A command of these words in a group of its own.
pub(crate) fn command(words: &[String], environment: &[(String, String)]) -> io::Result<Command> {
    let (program, arguments) = words
        .split_first()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the command is empty"))?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .process_group(0);
    Ok(command)
}

/// Waits for a child of its own group; ends the group when the time is over.
pub(crate) fn finish(child: &mut Child, limit: Duration) -> Option<Exit> {
    let mut exit = None;
    wait_until(limit, || {
        exit = child.try_wait().ok().flatten().map(Exit::from);
        exit.is_some()
    });
    if exit.is_none() {
        signal_group(child.id() as i32, Signal::KILL);
        let _ = child.wait();
    }
    exit
}

/// Reads a pipe to its end on a thread of its own.
pub(crate) fn collect(source: Option<impl Read + Send + 'static>) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    if let Some(mut source) = source {
        std::thread::spawn(move || {
            let mut kept = 0;
            let mut buffer = [0; 16 * 1024];
            while let Ok(read) = source.read(&mut buffer) {
                if read == 0 {
                    break;
                }
                let keep = read.min(MOST_TEXT - kept);
                kept += keep;
                if keep > 0 && sender.send(buffer[..keep].to_vec()).is_err() {
                    break;
                }
            }
        });
    }
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        ["sh", "-c", text].map(str::to_owned).to_vec()
    }

    #[test]
    fn a_tool_is_read_to_its_end() {
        let output = run(&words("echo a; exit 3"), &[], Duration::from_secs(60)).unwrap();
        assert_eq!(output.stdout.trim(), "a");
        assert_eq!(output.exit, Some(Exit::Code(3)));
    }

    #[test]
    fn a_tool_that_does_not_end_is_ended() {
        let output = run(
            &words("echo early; sleep 600"),
            &[],
            Duration::from_millis(300),
        )
        .unwrap();
        assert_eq!(output.exit, None);
        assert!(run(&["/no/such/tool".to_owned()], &[], Duration::ZERO).is_err());
        assert!(run(&[], &[], Duration::ZERO).is_err());
    }
}
