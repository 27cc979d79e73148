//! The embedded servers, as child processes of the same binary, so that their CPU is not the
//! client's. They end when the pipe to their standard input closes, so none is left over.

use crate::error::{Context as _, RunnerError, bail};
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A server that lives as long as this value.
pub struct EmbeddedServer {
    child: Child,
    pub url: String,
}

impl EmbeddedServer {
    /// Starts `PROGRAM ARGUMENTS…`, which says where it listens in its first line.
    pub fn start(program: &Path, arguments: &[&str]) -> Result<EmbeddedServer, RunnerError> {
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            // Ctrl-C is for the measurement; the server must live while answers drain.
            .process_group(0)
            .spawn()
            .context("cannot start the embedded server")?;
        let mut line = String::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout)
                .read_line(&mut line)
                .context("cannot read from the embedded server")?;
        }
        let Some(url) = line
            .trim()
            .rsplit(' ')
            .next()
            .filter(|url| url.starts_with("http"))
        else {
            let _ = child.kill();
            let _ = child.wait();
            bail!("the embedded server did not start: {}", line.trim());
        };
        Ok(EmbeddedServer {
            url: url.to_owned(),
            child,
        })
    }

    /// Ends the server and waits until it has written its logs.
    pub fn stop(mut self) {
        self.close();
    }

    fn close(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

impl Drop for EmbeddedServer {
    fn drop(&mut self) {
        self.close();
    }
}
